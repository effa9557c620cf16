// Every work-item reads a row of its own, element by element: floats, bytes, shorts and longs.
kernel void row_walks(uint rows, uint columns, global const float* weights, global const float* values,
                      global const uchar* bytes, global const short* shorts, global const ulong* longs,
                      global float* sums, global ulong* digests) {
    uint row = get_global_id(0);
    if (row >= rows) return;
    size_t start = (size_t)row * columns;
    values += start;
    bytes += start;
    shorts += start;
    longs += start;
    float sum = 0.0f;
    for (uint c = 0; c < columns; ++c) sum = fma(values[c], weights[c], sum);
    uint low = 1, high = 0;
    for (uint c = 0; c < columns; ++c) {
        low += bytes[c];
        high += low;
    }
    uint balance = 0;
    for (int c = columns - 1; c >= 0; --c) balance = balance * 3 + (uint)shorts[columns - 1 - c];
    ulong hash = high * 65536ul + low;
    for (uint c = 0; c < columns; ++c) hash = (hash ^ longs[c]) * 0x100000001b3ul;
    sums[row] = sum;
    digests[row] = hash + balance;
}
