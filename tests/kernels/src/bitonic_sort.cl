// Sorts each run of 2 * 128 signed keys in LDS.
#define WIDTH 256
kernel __attribute__((reqd_work_group_size(WIDTH / 2, 1, 1))) void bitonic_sort(global int* keys) {
    local int run[WIDTH];
    uint lane = get_local_id(0), base = get_group_id(0) * WIDTH;
    run[lane] = keys[base + lane];
    run[lane + WIDTH / 2] = keys[base + lane + WIDTH / 2];
    for (uint size = 2; size <= WIDTH; size *= 2) {
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint low = 2 * lane - (lane & (stride - 1));
            bool ascending = (low & size) == 0 || size == WIDTH;
            int a = run[low], b = run[low + stride];
            if ((a > b) == ascending) {
                run[low] = b;
                run[low + stride] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[base + lane] = run[lane];
    keys[base + lane + WIDTH / 2] = run[lane + WIDTH / 2];
}
