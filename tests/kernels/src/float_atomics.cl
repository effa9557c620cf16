// Float addition and maximum built from compare-and-swap, in LDS and in global memory.
void add_local(volatile local uint* at, float value) {
    uint seen = *at, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(at, expected, as_uint(as_float(expected) + value));
    } while (seen != expected);
}

void add_global(volatile global uint* at, float value) {
    uint seen = *at, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(at, expected, as_uint(as_float(expected) + value));
    } while (seen != expected);
}

kernel void float_atomics(uint n, global const float* in, global float* sums, global int* maximum) {
    local uint partial[4];
    uint lane = get_local_id(0), i = get_global_id(0);
    if (lane < 4) partial[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
        add_local(&partial[i & 3], in[i]);
        atomic_max(maximum, as_int(in[i]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) add_global((global uint*)&sums[lane], as_float(partial[lane]));
}
