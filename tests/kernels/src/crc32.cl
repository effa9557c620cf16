// CRC-32 of one record of `bytes` bytes per work-item; the table is made in LDS by the workgroup.
kernel void crc32(uint n, uint bytes, global const uchar* records, global uint* out) {
    local uint table[256];
    for (uint t = get_local_id(0); t < 256; t += get_local_size(0)) {
        uint entry = t;
        for (int bit = 0; bit < 8; ++bit) entry = entry >> 1 ^ (entry & 1 ? 0xedb88320u : 0);
        table[t] = entry;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint i = get_global_id(0);
    if (i >= n) return;
    uint crc = 0xffffffffu;
    for (uint k = 0; k < bytes; ++k) crc = table[(crc ^ records[i * bytes + k]) & 0xff] ^ crc >> 8;
    out[i] = ~crc;
}
