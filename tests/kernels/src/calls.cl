// Real function calls: mix is called from two places and from a nested call, under different EXEC masks.
__attribute__((noinline)) uint mix_bits(uint a, uint b) {
    a ^= rotate(b, 13u);
    a *= 0x9e3779b1u;
    return a ^ (a >> 15);
}

__attribute__((noinline)) uint digest(uint seed, uint rounds) {
    uint h = seed;
    for (uint r = 0; r < rounds; ++r) h = mix_bits(h, r);
    return h;
}

__attribute__((noinline)) void split(ulong value, uint* low, uint* high) {
    *low = (uint)value;
    *high = (uint)(value >> 32);
}

kernel void calls(uint n, global const uint* in, global uint* out) {
    uint i = get_global_id(0);
    if (i >= n) return;
    uint v = in[i], low, high;
    if (v & 1)
        v = digest(v, v & 7);
    else if (v & 2)
        v = mix_bits(v, i);
    split((ulong)v * 0x100000001b3ul, &low, &high);
    out[i] = mix_bits(low, high);
}
