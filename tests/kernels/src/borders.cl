// Neighbours are loaded where the image has them, each under a condition of its own: grains that fall from piles of sand,
// the least of five bytes, and a row's neighbours. Only waves at the borders have lanes without one.
kernel void borders(int width, int height, global const short* piles, global short* fallen, global const uchar* in,
                    global uchar* least, global float* sums) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int i = y * width + x;
    short grains = piles[i] & 3;
    uchar low = in[i];
    float sum = 0;
    if (x > 0) {
        grains += piles[i - 1] >> 2;
        low = min(low, in[i - 1]);
        sum = in[i - 1];
    }
    if (x < width - 1) {
        grains += piles[i + 1] >> 2;
        low = min(low, in[i + 1]);
        sum -= in[i + 1];
    }
    if (y > 0) {
        grains += piles[i - width] >> 2;
        low = min(low, in[i - width]);
    }
    if (y < height - 1) {
        grains += piles[i + width] >> 2;
        low = min(low, in[i + width]);
    }
    fallen[i] = grains;
    least[i] = low;
    sums[i] = sum;
}
