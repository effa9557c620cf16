// Exclusive prefix sums of every row: 64 work-items share a row and walk along it, carrying the sum so far.
#define WIDTH 64
kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void prefix_sum_rows(uint columns, global const uint* in,
                                                                               global uint* out) {
    local uint sums[2][WIDTH];
    uint lane = get_local_id(0), row = get_group_id(0), carry = 0, from = 0;
    for (uint base = 0; base < columns; base += WIDTH) {
        uint column = base + lane, mine = column < columns ? in[row * columns + column] : 0;
        sums[from][lane] = mine;
        for (uint step = 1; step < WIDTH; step *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint value = sums[from][lane];
            if (lane >= step) value += sums[from][lane - step];
            from ^= 1;
            sums[from][lane] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (column < columns) out[row * columns + column] = carry + sums[from][lane] - mine;
        carry += sums[from][WIDTH - 1];
        from ^= 1;
    }
}
