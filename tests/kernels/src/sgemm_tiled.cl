// C (m x n) = A (m x k) * B (k x n) with 16 x 16 tiles of A and B in LDS. Sizes are multiples of 16.
#define TILE 16
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void sgemm_tiled(uint n, uint k, global const float* a,
                                                                             global const float* b, global float* c) {
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint tx = get_local_id(0), ty = get_local_id(1);
    uint col = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (uint base = 0; base < k; base += TILE) {
        tile_a[ty][tx] = a[row * k + base + tx];
        tile_b[ty][tx] = b[(base + ty) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; ++i) sum = fma(tile_a[ty][i], tile_b[i][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
