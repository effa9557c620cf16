// A filter of 17 taps over a signal, which is zero beyond its ends; a tile with its margins in LDS.
#define WIDTH 128
#define RADIUS 8
kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void convolve1d(uint n, global const float* taps,
                                                                          global const float* in, global float* out) {
    local float tile[WIDTH + 2 * RADIUS];
    int lane = get_local_id(0), first = get_group_id(0) * WIDTH - RADIUS;
    for (int i = lane; i < WIDTH + 2 * RADIUS; i += WIDTH) {
        int at = first + i;
        tile[i] = at >= 0 && at < (int)n ? in[at] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int t = 0; t <= 2 * RADIUS; ++t) sum = fma(taps[t], tile[lane + t], sum);
    if (get_global_id(0) < n) out[get_global_id(0)] = sum;
}
