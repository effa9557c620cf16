// The native functions and relaxed arithmetic.
// options: -cl-std=CL1.2 -cl-fast-relaxed-math
kernel void fast_math(global const float* a, global const float* b, global float* out) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    out[8 * i + 0] = native_exp(x) + native_exp2(y);
    out[8 * i + 1] = native_log(y) * native_log2(y);
    out[8 * i + 2] = native_sin(x);
    out[8 * i + 3] = native_cos(x);
    out[8 * i + 4] = native_recip(y) + native_divide(x, y);
    out[8 * i + 5] = native_sqrt(y) * native_rsqrt(y + 1.0f);
    out[8 * i + 6] = length((float3)(x, y, 1.0f)) / y;
    out[8 * i + 7] = mix(x, y, 0.25f) + smoothstep(-1.0f, 1.0f, x) + pow(y, 1.5f);
}
