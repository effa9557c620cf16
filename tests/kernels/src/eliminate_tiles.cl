// Gaussian elimination of one matrix per workgroup of 16 work-items, in loops whose rounds are known only at run time: each
// work-item goes along a row of its own in the LDS, and along the pivot's.
#define MAX 16
kernel __attribute__((reqd_work_group_size(MAX, 1, 1))) void eliminate_tiles(global const float* in, global float* out,
                                                                             uint n) {
    local float m[MAX][MAX + 1];
    uint x = get_local_id(0);
    size_t at = get_group_id(0) * MAX * MAX + x;
    for (uint row = 0; row < n; ++row) m[row][x] = in[at + row * MAX];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < n; ++k) {
        float inverse = 1.0f / m[k][k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x > k && x < n) {
            float factor = m[x][k] * inverse;
            for (uint j = k + 1; j < n; ++j) m[x][j] -= factor * m[k][j];
            m[x][k] = factor;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint row = 0; row < n; ++row) out[at + row * MAX] = m[row][x];
}
