// Arithmetic with subnormal operands and results, all of which count as zero.
// options: -cl-std=CL1.2 -cl-denorms-are-zero
#pragma OPENCL FP_CONTRACT OFF
kernel void flush_denormals(global const float* a, global const float* b, global float* out) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    out[4 * i + 0] = x + y;
    out[4 * i + 1] = x * y;
    out[4 * i + 2] = x * 0.0625f;
    out[4 * i + 3] = fma(x, y, x);
}
