// Subtracts from floats in the LDS by compare-and-swap, infinity and NaNs included.
kernel void float_differences(global const float* in, global const uint* keys, global uint* out) {
    local uint bins[16];
    uint lane = get_local_id(0), i = get_global_id(0);
    if (lane < 16) bins[lane] = as_uint((float)lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    volatile local uint* at = &bins[keys[i] & 15];
    uint seen = *at, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(at, expected, as_uint(as_float(expected) - in[i]));
    } while (seen != expected);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) out[get_group_id(0) * 16 + lane] = bins[lane];
}
