// y = A * x, row major: 64 work-items share a row, whose partial sums meet in LDS.
#define WIDTH 64
kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void gemv(uint columns, global const float* a,
                                                                    global const float* x, global float* y) {
    local float partial[WIDTH];
    uint lane = get_local_id(0), row = get_group_id(0);
    float sum = 0.0f;
    for (uint c = lane; c < columns; c += WIDTH) sum = fma(a[row * columns + c], x[c], sum);
    partial[lane] = sum;
    for (uint half_width = WIDTH / 2; half_width > 0; half_width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_width) partial[lane] += partial[lane + half_width];
    }
    if (lane == 0) y[row] = partial[0];
}
