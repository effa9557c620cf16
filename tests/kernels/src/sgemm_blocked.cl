// C (m x n) = A (m x k) * B (k x n): 64 x 64 tiles in LDS, 4 x 4 results in the registers of each of 256 work-items.
#define TILE 64
#define DEPTH 8
#define BLOCK 4
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void sgemm_blocked(uint n, uint k, global const float* a,
                                                                           global const float* b, global float* c) {
    local float tile_a[DEPTH][TILE], tile_b[DEPTH][TILE];
    uint tx = get_local_id(0), ty = get_local_id(1), lane = ty * 16 + tx;
    uint row0 = get_group_id(1) * TILE, col0 = get_group_id(0) * TILE;
    float sum[BLOCK][BLOCK];
    for (uint i = 0; i < BLOCK; ++i)
        for (uint j = 0; j < BLOCK; ++j) sum[i][j] = 0.0f;
    for (uint base = 0; base < k; base += DEPTH) {
        for (uint e = lane; e < DEPTH * TILE; e += 256) {
            tile_a[e % DEPTH][e / DEPTH] = a[(row0 + e / DEPTH) * k + base + e % DEPTH];
            tile_b[e / TILE][e % TILE] = b[(base + e / TILE) * n + col0 + e % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint d = 0; d < DEPTH; ++d) {
            float col[BLOCK], row[BLOCK];
            for (uint i = 0; i < BLOCK; ++i) {
                row[i] = tile_a[d][ty * BLOCK + i];
                col[i] = tile_b[d][tx * BLOCK + i];
            }
            for (uint i = 0; i < BLOCK; ++i)
                for (uint j = 0; j < BLOCK; ++j) sum[i][j] = fma(row[i], col[j], sum[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = 0; i < BLOCK; ++i)
        for (uint j = 0; j < BLOCK; ++j) c[(row0 + ty * BLOCK + i) * n + col0 + tx * BLOCK + j] = sum[i][j];
}
