// The permutation Keccak-f[1600], one state of 25 lanes of 64 bits per work-item.
constant ulong round_constants[24] = {
    0x0000000000000001ul, 0x0000000000008082ul, 0x800000000000808aul, 0x8000000080008000ul, 0x000000000000808bul,
    0x0000000080000001ul, 0x8000000080008081ul, 0x8000000000008009ul, 0x000000000000008aul, 0x0000000000000088ul,
    0x0000000080008009ul, 0x000000008000000aul, 0x000000008000808bul, 0x800000000000008bul, 0x8000000000008089ul,
    0x8000000000008003ul, 0x8000000000008002ul, 0x8000000000000080ul, 0x000000000000800aul, 0x800000008000000aul,
    0x8000000080008081ul, 0x8000000000008080ul, 0x0000000080000001ul, 0x8000000080008008ul};
constant uchar turns[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
constant uchar places[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};

kernel void keccak(uint rounds, global ulong* states) {
    size_t base = get_global_id(0) * 25;
    ulong a[25], c[5];
    for (uint i = 0; i < 25; ++i) a[i] = states[base + i];
    for (uint r = 0; r < rounds; ++r) {
        for (uint x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (uint x = 0; x < 5; ++x) {
            ulong d = c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1ul);
            for (uint y = 0; y < 25; y += 5) a[y + x] ^= d;
        }
        ulong moving = a[1];
        for (uint i = 0; i < 24; ++i) {
            ulong next = a[places[i]];
            a[places[i]] = rotate(moving, (ulong)turns[i]);
            moving = next;
        }
        for (uint y = 0; y < 25; y += 5) {
            for (uint x = 0; x < 5; ++x) c[x] = a[y + x];
            for (uint x = 0; x < 5; ++x) a[y + x] = c[x] ^ (~c[(x + 1) % 5] & c[(x + 2) % 5]);
        }
        a[0] ^= round_constants[r];
    }
    for (uint i = 0; i < 25; ++i) states[base + i] = a[i];
}
