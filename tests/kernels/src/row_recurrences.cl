// Every work-item goes along a row of its own, from what it has written one to three elements before: a filter, an elimination,
// whole numbers.
kernel void row_recurrences(uint columns, uint pitch, global const float* in, global float* filtered, global const float* side,
                            global float* diagonal, global float* right, global ulong* longs) {
    size_t start = (size_t)get_global_id(0) * pitch;
    in += start;
    filtered += start;
    side += start;
    diagonal += start;
    right += start;
    longs += start;
    for (uint c = 2; c < columns; ++c)
        filtered[c] = 0.25f * in[c] + 0.5f * filtered[c - 1] + 0.125f * filtered[c - 2];
    for (uint c = 1; c < columns; ++c) {
        right[c] -= right[c - 1] * side[c] / diagonal[c - 1];
        diagonal[c] -= side[c] * side[c] / diagonal[c - 1];
    }
    for (uint c = 3; c < columns; ++c) longs[c] = 3 * longs[c] + longs[c - 1] - longs[c - 3];
}
