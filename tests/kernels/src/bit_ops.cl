// Bit counting, rotation, fields, byte permutation and wide multiplication.
kernel void bit_ops(global const uint* a, global const uint* b, global uint* out, global ulong* wide) {
    size_t i = get_global_id(0);
    uint x = a[i], y = b[i], shift = y & 31, width = (y >> 5) & 15;
    out[8 * i + 0] = popcount(x) * 256 + clz(x);
    out[8 * i + 1] = rotate(x, y);
    out[8 * i + 2] = (x >> shift) & ((1u << width) - 1);
    out[8 * i + 3] = (uint)((int)(x << (31 - shift)) >> (31 - width));
    out[8 * i + 4] = bitselect(x, y, 0x00ffff00u);
    out[8 * i + 5] = as_uint(as_uchar4(x).wzyx) ^ (x << 8 | y >> 24);
    out[8 * i + 6] = mul_hi(x, y) + abs_diff(x, y);
    out[8 * i + 7] = hadd(x, y) ^ add_sat(x, y) ^ sub_sat(x, y) ^ mul24(x & 0xffffff, y & 0xffffff);
    ulong z = (ulong)x << 32 | y;
    wide[4 * i + 0] = popcount(z) * 256 + clz(z);
    wide[4 * i + 1] = rotate(z, (ulong)x);
    wide[4 * i + 2] = (ulong)x * y + (ulong)((long)z >> (y & 63));
    wide[4 * i + 3] = mul_hi(z, z ^ 0x123456789abcdeful);
}
