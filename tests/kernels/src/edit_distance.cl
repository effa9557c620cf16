// Levenshtein distance of two strings of `length` per workgroup of length + 1, along anti-diagonals in dynamic LDS.
kernel void edit_distance(uint length, global const uchar* a, global const uchar* b, global uint* out,
                          local ushort* diagonals) {
    uint row = get_local_id(0), stride = length + 1, base = get_group_id(0) * length;
    for (uint d = 0; d <= 2 * length; ++d) {
        local ushort* now = diagonals + d % 3 * stride;
        local ushort* last = diagonals + (d + 2) % 3 * stride;
        local ushort* before = diagonals + (d + 1) % 3 * stride;
        if (row <= d && d - row <= length) {
            uint column = d - row;
            ushort cost;
            if (row == 0 || column == 0) {
                cost = (ushort)d;
            } else {
                ushort step = min(last[row - 1], last[row]) + 1;
                ushort swap = before[row - 1] + (a[base + row - 1] != b[base + column - 1]);
                cost = min(step, swap);
            }
            now[row] = cost;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row == length) out[get_group_id(0)] = diagonals[2 * length % 3 * stride + length];
}
