// Escape-time counts; no contraction, so that the counts are the same on every IEEE machine.
#pragma OPENCL FP_CONTRACT OFF
kernel void mandelbrot(float left, float top, float step, uint width, uint limit, global uint* count) {
    uint px = get_global_id(0), py = get_global_id(1);
    float cx = left + (float)px * step, cy = top + (float)py * step;
    float x = 0.0f, y = 0.0f;
    uint i = 0;
    for (; i < limit; ++i) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    count[py * width + px] = i;
}
