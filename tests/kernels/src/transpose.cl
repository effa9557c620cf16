// out (width x height) = transpose of in (height x width) through a padded LDS tile; edges may be ragged.
#define TILE 16
kernel void transpose(global const float* in, global float* out, uint width, uint height) {
    local float tile[TILE][TILE + 1];
    uint tx = get_local_id(0), ty = get_local_id(1);
    uint x = get_group_id(0) * TILE + tx, y = get_group_id(1) * TILE + ty;
    if (x < width && y < height) tile[ty][tx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + tx;
    y = get_group_id(0) * TILE + ty;
    if (x < height && y < width) out[y * height + x] = tile[tx][ty];
}
