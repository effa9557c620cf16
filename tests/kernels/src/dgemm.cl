// C = alpha * A * B + beta * C in double precision, 16 x 16 tiles in LDS. Sizes are multiples of 16.
#define TILE 16
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void dgemm(uint n, uint k, double alpha, double beta,
                                                                       global const double* a, global const double* b,
                                                                       global double* c) {
    local double tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint tx = get_local_id(0), ty = get_local_id(1);
    uint col = get_global_id(0), row = get_global_id(1);
    double sum = 0.0;
    for (uint base = 0; base < k; base += TILE) {
        tile_a[ty][tx] = a[row * k + base + tx];
        tile_b[ty][tx] = b[(base + ty) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; ++i) sum = fma(tile_a[ty][i], tile_b[i][tx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = fma(alpha, sum, beta * c[row * n + col]);
}
