// Division and remainder, 32 and 64 bits, signed and unsigned.
kernel void integer_division(global const ulong* a, global const ulong* b, global uint* out32, global ulong* out64) {
    size_t i = get_global_id(0);
    ulong x = a[i], y = b[i];
    uint x32 = (uint)x, y32 = (uint)y | 1;
    out32[6 * i + 0] = x32 / y32;
    out32[6 * i + 1] = x32 % y32;
    out32[6 * i + 2] = (uint)((int)(x32 >> 1) / (int)(y32 | 3));
    out32[6 * i + 3] = (uint)((int)(x32 | 0x80000001u) % (int)(y32 >> 1 | 5));
    out32[6 * i + 4] = x32 / 10;
    out32[6 * i + 5] = (uint)((int)x32 % 1000);
    out64[4 * i + 0] = x / y;
    out64[4 * i + 1] = x % y;
    out64[4 * i + 2] = (ulong)((long)x / (long)(y >> 1 | 1));
    out64[4 * i + 3] = (ulong)((long)x % (long)(y >> 1 | 1));
}
