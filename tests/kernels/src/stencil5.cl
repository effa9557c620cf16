// One Jacobi step of a 5-point stencil; the border is copied.
kernel void stencil5(uint width, uint height, float center, float side, global const float* in, global float* out) {
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    uint i = y * width + x;
    float v = in[i];
    if (x > 0 && y > 0 && x + 1 < width && y + 1 < height)
        v = fma(center, v, side * ((in[i - 1] + in[i + 1]) + (in[i - width] + in[i + width])));
    out[i] = v;
}
