// LU decomposition of one 16 x 16 matrix per workgroup of 16 work-items: a wavefront that is mostly empty, rows and columns of
// the LDS in turn, and divisions under masks.
#define N 16
kernel __attribute__((reqd_work_group_size(N, 1, 1))) void lu_tiles(global const float* in, global float* out) {
    local float a[N][N];
    uint x = get_local_id(0);
    size_t at = get_group_id(0) * N * N + x;
    for (uint row = 0; row < N; ++row) a[row][x] = in[at + row * N];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < N - 1; ++k) {
        if (x > k) {
            for (uint j = 0; j < k; ++j) a[x][k] -= a[x][j] * a[j][k];
            a[x][k] /= a[k][k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x > k)
            for (uint j = 0; j <= k; ++j) a[k + 1][x] -= a[k + 1][j] * a[j][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint row = 0; row < N; ++row) out[at + row * N] = a[row][x];
}
