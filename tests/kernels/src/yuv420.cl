// Planes of brightness and of colours, these at half the width and height, become pixels; the colour that is nearest to
// the left and above is mixed with the pixel's own.
kernel void yuv420(int width, int height, global const uchar* luma, global const uchar* u, global const uchar* v,
                   global uchar4* out) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int pitch = width / 2 + 1, here = y / 2 * pitch + x / 2, next = (y + 1) / 2 * pitch + (x + 1) / 2;
    int bright = (luma[y * width + x] - 16) * 298 + 128;
    int blue = (3 * u[here] + u[next]) / 4 - 128, red = (3 * v[here] + v[next]) / 4 - 128;
    out[y * width + x] = (uchar4)(convert_uchar_sat((bright + 409 * red) >> 8),
                                  convert_uchar_sat((bright - 100 * blue - 208 * red) >> 8),
                                  convert_uchar_sat((bright + 516 * blue) >> 8), 255);
}
