// Products of rows with rows, summed where they belong in memory: whether the results are part of what is read, compilers
// do not know.
kernel void row_sums(uint width, uint columns, global const int* left, global const int* right, global int* sums,
                     global int* hashes) {
    uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    size_t place = (size_t)y * width + x;
    left += (size_t)y * columns;
    right += (size_t)x * columns;
    for (uint c = 0; c < columns; ++c) {
        sums[place] += left[c] * right[c];
        hashes[place] = hashes[place] * 5 ^ right[c];
    }
}
