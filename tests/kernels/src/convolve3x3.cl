// 3 x 3 convolution of an 8-bit image with clamped edges; weights in sixteenths, saturated result.
kernel void convolve3x3(uint width, uint height, global const char* weights, global const uchar* in,
                        global uchar* out) {
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x >= (int)width || y >= (int)height) return;
    int sum = 8;
    for (int dy = -1; dy <= 1; ++dy) {
        int row = clamp(y + dy, 0, (int)height - 1) * (int)width;
        for (int dx = -1; dx <= 1; ++dx)
            sum += weights[(dy + 1) * 3 + dx + 1] * in[row + clamp(x + dx, 0, (int)width - 1)];
    }
    out[y * (int)width + x] = convert_uchar_sat(sum >> 4);
}
