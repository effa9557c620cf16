// Inclusive prefix sum within each workgroup of 256 (Hillis-Steele, double-buffered in LDS).
#define WIDTH 256
kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void scan(global const uint* in, global uint* out,
                                                                    global uint* totals) {
    local uint buffer[2][WIDTH];
    uint lane = get_local_id(0), from = 0;
    buffer[0][lane] = in[get_global_id(0)];
    for (uint step = 1; step < WIDTH; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint value = buffer[from][lane];
        if (lane >= step) value += buffer[from][lane - step];
        from ^= 1;
        buffer[from][lane] = value;
    }
    out[get_global_id(0)] = buffer[from][lane];
    if (lane == WIDTH - 1) totals[get_group_id(0)] = buffer[from][lane];
}
