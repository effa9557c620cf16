// Cholesky factor of one symmetric 16 x 16 matrix per workgroup, in LDS and double precision.
#define N 16
kernel __attribute__((reqd_work_group_size(N, N, 1))) void cholesky(global const double* in, global double* out) {
    local double a[N][N];
    uint row = get_local_id(1), col = get_local_id(0);
    size_t at = get_group_id(0) * N * N + row * N + col;
    a[row][col] = in[at];
    for (uint k = 0; k < N; ++k) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row == k && col == k) a[k][k] = sqrt(a[k][k]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (col == k && row > k) a[row][k] /= a[k][k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (col > k && row >= col) a[row][col] -= a[row][k] * a[col][k];
    }
    out[at] = col <= row ? a[row][col] : 0.0;
}
