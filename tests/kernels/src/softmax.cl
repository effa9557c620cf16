// Softmax of each row, one workgroup of 64 per row: maximum, sum of exponentials, division.
#define WIDTH 64
float combine(local float* scratch, uint lane, float value, bool maximum) {
    barrier(CLK_LOCAL_MEM_FENCE);
    scratch[lane] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = WIDTH / 2; step > 0; step >>= 1) {
        if (lane < step) {
            float other = scratch[lane + step];
            scratch[lane] = maximum ? fmax(scratch[lane], other) : scratch[lane] + other;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void softmax(uint columns, global const float* in,
                                                                       global float* out) {
    local float scratch[WIDTH];
    uint lane = get_local_id(0), base = get_group_id(0) * columns;
    float top = -INFINITY;
    for (uint c = lane; c < columns; c += WIDTH) top = fmax(top, in[base + c]);
    top = combine(scratch, lane, top, true);
    float sum = 0.0f;
    for (uint c = lane; c < columns; c += WIDTH) {
        float e = exp(in[base + c] - top);
        out[base + c] = e;
        sum += e;
    }
    sum = combine(scratch, lane, sum, false);
    for (uint c = lane; c < columns; c += WIDTH) out[base + c] /= sum;
}
