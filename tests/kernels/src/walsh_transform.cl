// Walsh-Hadamard transform of each run of 2 * 128 numbers in LDS, in place: butterflies at all distances. Rows are padded, so
// that banks do not meet.
#define HALF 128
#define PLACE(i) ((i) + ((i) >> 5))
kernel __attribute__((reqd_work_group_size(HALF, 1, 1))) void walsh_transform(global const float* in, global float* out) {
    local float run[PLACE(2 * HALF)];
    uint lane = get_local_id(0), base = get_group_id(0) * 2 * HALF;
    run[PLACE(lane)] = in[base + lane];
    run[PLACE(lane + HALF)] = in[base + lane + HALF];
    for (uint distance = 1; distance <= HALF; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint low = 2 * lane - (lane & (distance - 1));
        float a = run[PLACE(low)], b = run[PLACE(low + distance)];
        run[PLACE(low)] = a + b;
        run[PLACE(low + distance)] = a - b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + lane] = run[PLACE(lane)];
    out[base + lane + HALF] = run[PLACE(lane + HALF)];
}
