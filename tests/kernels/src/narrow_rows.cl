// A byte, a signed byte and a half-word for each work-item: differences, averages, bits and comparisons, which need no
// more than they are wide.
kernel void narrow_rows(uint n, global const uchar* a, global const uchar* b, global uchar* bytes,
                        global const char* c, global char* chars, global const ushort* d, global ushort* shorts) {
    uint i = get_global_id(0);
    if (i >= n) return;
    uchar x = a[i], y = b[i];
    uchar folded = x >= 'A' && x <= 'Z' ? x + 32 : x;
    bytes[i] = (folded == y ? 0 : abs_diff(folded, y)) + popcount((uchar)(x ^ y)) + ((x & 15) * (y >> 4));
    char s = c[i];
    chars[i] = max((char)(s >> 2), (char)-9) - (s < 3 ? s : (char)(s << 1));
    ushort w = d[i];
    shorts[i] = (w >> 3) + y - (ushort)(w * w) + min(w, (ushort)1000);
}
