// Every work-item writes a row of its own, element by element: what it has summed so far, the mean of three neighbours,
// bytes in place, shorts, longs and quads.
kernel void row_updates(uint rows, uint columns, uint pitch, global const float* values, global float* sums,
                        global float* means, global uchar* bytes, global ushort* shorts, global ulong* longs,
                        global uint4* quads) {
    uint row = get_global_id(0);
    if (row >= rows) return;
    size_t start = (size_t)row * pitch;
    values += start;
    sums += start;
    means += start;
    bytes += start;
    shorts += start;
    longs += start;
    quads += start;
    float sum = 0.0f;
    for (uint c = 0; c < columns; ++c) {
        sum += values[c];
        sums[c] = sum;
    }
    for (uint c = 1; c + 1 < columns; ++c) means[c] = (sums[c - 1] + sums[c] + sums[c + 1]) / 3.0f;
    for (uint c = 0; c < columns; ++c) bytes[c] = bytes[c] * 5 + row;
    for (uint c = 0; c < columns; ++c) shorts[c] = row * 7 + c;
    ulong hash = row;
    for (uint c = 0; c < columns; ++c) {
        hash = hash * 6364136223846793005ul + 1442695040888963407ul;
        longs[c] ^= hash;
    }
    for (uint c = 0; c < columns; ++c) quads[c] = quads[c].yzxw + (uint4)(c, row, columns, 1);
}
