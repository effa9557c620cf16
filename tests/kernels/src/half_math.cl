// Half-precision arithmetic, comparison and conversion; results of single operations are exact.
// min-target: gfx803
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF
kernel void half_math(global const half* a, global const half* b, global half* out, global float* wide,
                      global short* narrow) {
    size_t i = get_global_id(0);
    half x = a[i], y = b[i];
    half best = x < y ? y : x;
    out[4 * i] = x + y;
    out[4 * i + 1] = x * y;
    out[4 * i + 2] = fabs(x) - best;
    out[4 * i + 3] = floor(x) + trunc(y);
    wide[i] = (float)x * (float)y;
    narrow[i] = convert_short_rte(x) + convert_short_rtz(y);
}
