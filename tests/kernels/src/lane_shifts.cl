// Every work-item has pieces of arrays, of lengths of their own, and goes through them from the end: what is moved up,
// as memmove does, has to be so in order if it overlaps; what goes from place to place need not.
kernel void lane_shifts(uint n, global const uint* starts, global const uint* shifts, global uint* moved,
                        global uchar* reversed, global const uchar* text) {
    uint id = get_global_id(0);
    if (id >= n) return;
    uint from = starts[id], end = starts[id + 1], shift = shifts[id];
    if (end - from > shift)
        for (uint e = end; e != from + shift; --e) moved[e - 1] = moved[e - 1 - shift] + e;
    // One goes up, the other one down.
    uint at = end;
    for (uint e = from; e != end; ++e) reversed[--at] = text[e];
}
