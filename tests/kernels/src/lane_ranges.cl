// Every work-item copies, fills and scales pieces of memory whose lengths and places differ: strings that are put
// together, matches that repeat what was just written, rows of a sparse matrix.
kernel void lane_ranges(uint n, global const uint* starts, global const uint* lengths, global const uchar* text,
                        global uchar* copies, global float* rows, global const float* factors, global ulong* firsts,
                        global ushort* seconds, global uint* ends) {
    uint id = get_global_id(0);
    if (id >= n) return;
    uint from = starts[id], end = starts[id + 1], at = from * 2, sum = 0;
    // Some pieces of a string, and behind each what lies a distance before, again.
    for (uint k = 0; k < 3; ++k) {
        uint place = id * 3 + k, length = lengths[place], in = (place * 37) & 1023;
        for (uint i = 0; i < length; ++i) copies[at++] = text[in++];
        uint distance = place % 23 + 1, again = lengths[place + 1];
        if (at - from * 2 >= distance)
            for (uint i = 0; i < again; ++i) {
                copies[at] = copies[at - distance];
                ++at;
            }
        sum += in;
    }
    for (uint e = from; e < end; ++e) rows[e] = fma(rows[e], factors[id], 1.0f);
    for (uint e = end; e != from; --e) {
        firsts[e - 1] = firsts[e - 1] * 5 + id;
        seconds[e] = (ushort)(e * id);
    }
    global uint* last = ends + from;
    for (uint e = from; e < end; ++e) *last++ = sum + e;
}
