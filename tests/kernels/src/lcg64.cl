// A 64-bit linear congruential generator per work-item; the high halves of the states are summed.
kernel void lcg64(uint rounds, global ulong* state, global uint* sum) {
    size_t i = get_global_id(0);
    ulong s = state[i];
    uint total = 0;
    for (uint r = 0; r < rounds; ++r) {
        s = s * 6364136223846793005ul + 1442695040888963407ul;
        total += (uint)(s >> 32);
    }
    state[i] = s;
    sum[i] = total;
}
