// Sums of one channel of interleaved pixels: each work-item takes every items-th pixel, then a tree in LDS.
#define WIDTH 128
kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void strided_sum(uint pixels, uint channels, uint channel,
                                                                           global const float* in, global float* sums) {
    local float tree[WIDTH];
    uint lane = get_local_id(0), items = get_global_size(0);
    float sum = 0.0f;
    for (uint p = get_global_id(0); p < pixels; p += items) sum += in[p * channels + channel];
    tree[lane] = sum;
    for (uint half_width = WIDTH / 2; half_width > 0; half_width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_width) tree[lane] += tree[lane + half_width];
    }
    if (lane == 0) sums[get_group_id(0)] = tree[0];
}
