// The gradient's magnitude in an image of bytes. The neighbours are reached by constant negative offsets, which compilers put
// into the base of gfx600's addr64 accesses.
kernel void sobel(global const uchar* in, global uchar* out, int width, int height) {
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    global const uchar* p = in + y * width + x;
    int right = p[1 - width] + 2 * p[1] + p[width + 1], left = p[-width - 1] + 2 * p[-1] + p[width - 1];
    int below = p[width - 1] + 2 * p[width] + p[width + 1], above = p[-width - 1] + 2 * p[-width] + p[1 - width];
    out[y * width + x] = (uchar)min(abs(right - left) + abs(below - above), 255u);
}
