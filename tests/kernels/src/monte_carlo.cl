// Points in a quarter of a circle, drawn by a xorshift generator; hits per work-item and in all.
#pragma OPENCL FP_CONTRACT OFF
kernel void monte_carlo(uint rounds, global const uint* seeds, global uint* hits, global uint* total) {
    size_t i = get_global_id(0);
    uint s = seeds[i], inside = 0;
    for (uint r = 0; r < rounds; ++r) {
        float point[2];
        for (int axis = 0; axis < 2; ++axis) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            point[axis] = (float)(s >> 8) * 0x1p-24f;
        }
        if (point[0] * point[0] + point[1] * point[1] < 1.0f) ++inside;
    }
    hits[i] = inside;
    atomic_add(total, inside);
}
