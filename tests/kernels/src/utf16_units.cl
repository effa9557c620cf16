// Every work-item writes a text of its own in UTF-16: the first byte of a character says how many of the next belong to it, and they
// are loaded if so. The texts lie behind one another, and the last one ends where its buffer does.
kernel void utf16_units(uint texts, global const uint* starts, global const uchar* bytes, global ushort* units, global uint* counts) {
    uint id = get_global_id(0);
    if (id >= texts) return;
    uint at = starts[id], end = starts[id + 1], to = at;
    while (at < end) {
        uint c = bytes[at++];
        if (c >= 0xf0) {
            c = (c & 7) << 18 | (bytes[at] & 63) << 12 | (bytes[at + 1] & 63) << 6 | (bytes[at + 2] & 63);
            at += 3;
        } else if (c >= 0xe0) {
            c = (c & 15) << 12 | (bytes[at] & 63) << 6 | (bytes[at + 1] & 63);
            at += 2;
        } else if (c >= 0xc0) {
            c = (c & 31) << 6 | (bytes[at++] & 63);
        }
        if (c >= 0x10000) {
            c -= 0x10000;
            units[to++] = 0xd800 | c >> 10;
            units[to++] = 0xdc00 | (c & 1023);
        } else {
            units[to++] = c;
        }
    }
    counts[id] = to - starts[id];
}
