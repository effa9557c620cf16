// Symbols of 6 bits are counted by each work-item alone: in a byte per symbol, whose columns lie side by side in the LDS, and the
// words that begin with each of 16 digits are added up in a table of its own. What the workgroup has counted is added up then.
#define ITEMS 64
#define SYMBOLS 64
#define DIGITS 16
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void lane_counters(uint words, global const uint* in,
                                                                             global uint* counts, global uint* sums) {
    local uchar columns[SYMBOLS * ITEMS];
    local uint tables[ITEMS * DIGITS];
    uint id = get_local_id(0);
    for (uint s = 0; s < SYMBOLS; ++s) columns[s * ITEMS + id] = 0;
    for (uint d = 0; d < DIGITS; ++d) tables[id * DIGITS + d] = 0;
    for (uint n = 0; n < words; ++n) {
        uint word = in[n * get_global_size(0) + get_global_id(0)];
        for (uint shift = 0; shift < 24; shift += 6) ++columns[(word >> shift & (SYMBOLS - 1)) * ITEMS + id];
        tables[id * DIGITS + (word >> 28)] += word;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint count = 0, sum = 0;
    for (uint n = 0; n < ITEMS; ++n) count += columns[id * ITEMS + n];
    for (uint n = 0; n < ITEMS; ++n) sum += tables[n * DIGITS + id % DIGITS];
    counts[get_global_id(0)] = count;
    sums[get_global_id(0)] = sum;
}
