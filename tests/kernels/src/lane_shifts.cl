// Every work-item has pieces of arrays, of lengths of their own, and goes through them from the end: what is moved up,
// as memmove does, or handed down by so many elements has to be done in order; what goes from place to place need not.
kernel void lane_shifts(uint n, global const uint* starts, global const uint* shifts, global uint* moved,
                        global ushort* handed, global ulong* turned, global ushort* products, global uchar* reversed,
                        global const uchar* text) {
    uint id = get_global_id(0);
    if (id >= n) return;
    uint from = starts[id], end = starts[id + 1], shift = shifts[id], length = end - from;
    if (length > shift) {
        for (uint e = end; e != from + shift; --e) moved[e - 1] = moved[e - 1 - shift] + e;
        for (uint e = end - shift; e != from; --e) handed[e - 1] = handed[e - 1 + shift] * 3 + e;
    }
    for (uint e = end; e != from; --e) {
        turned[e - 1] = turned[e - 1] * 7 + id;
        products[e] = (ushort)(e * id);
    }
    // One goes up, the other one down.
    uint at = end;
    for (uint e = from; e != end; ++e) reversed[--at] = text[e];
    ulong sum = id;
    for (uint e = end; e != from; --e) {
        sum += turned[e - 1];
        turned[e - 1] = sum;
    }
}
