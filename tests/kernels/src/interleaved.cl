// Elements of one and two bytes at distances of three, four and one bytes: RGB pixels, stereo samples, and 16 bits at every byte.
kernel void interleaved(global const uchar* rgb, global uchar* yuv, global const short* stereo, global short* side, uint n) {
    uint i = (uint)get_global_id(0);
    if (i >= n) return;
    int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    yuv[3 * i] = (uchar)((77 * r + 150 * g + 29 * b) >> 8);
    yuv[3 * i + 1] = (uchar)(((-43 * r - 85 * g + 128 * b) >> 8) + 128);
    yuv[3 * i + 2] = (uchar)(((128 * r - 107 * g - 21 * b) >> 8) + 128);
    short pair = (short)(rgb[i] | rgb[i + 1] << 8);
    side[2 * i + 1] = (short)(stereo[2 * i] - stereo[2 * i + 1] + pair);
}
