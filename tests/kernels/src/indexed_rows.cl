// Every work-item goes along a row by indices of 32 bits, which may wrap: a digest of bytes, and the bytes of the digest
// as it grows.
kernel void indexed_rows(uint rows, uint columns, uint first, global const uchar* bytes, global uchar* marks,
                         global uint* digests) {
    uint row = get_global_id(0);
    if (row >= rows) return;
    uint start = first + row * columns, digest = 1;
    for (uint c = 0; c < columns; ++c) digest = digest * 31 + bytes[start + c];
    digests[row] = digest;
    for (uint c = 0; c < columns; ++c) {
        marks[start + c] = digest >> 24;
        digest *= 5;
    }
}
