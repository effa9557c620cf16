// Exact single-precision operations: rounding, fraction, exponent, sign, minimum, maximum, classification.
#pragma OPENCL FP_CONTRACT OFF
kernel void float_bits(global const float* a, global const float* b, global float* out, global int* flags) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    int exponent;
    float mantissa = frexp(x, &exponent);
    out[8 * i + 0] = floor(x) + ceil(y);
    out[8 * i + 1] = trunc(x) - rint(y);
    out[8 * i + 2] = mantissa;
    out[8 * i + 3] = ldexp(y, (int)(i % 9) - 4);
    out[8 * i + 4] = fmin(x, y) * fmax(x, 0.5f);
    out[8 * i + 5] = copysign(x, y) + fabs(y);
    out[8 * i + 6] = mad(x, 2.0f, -y) + clamp(x, -1.0f, 1.0f);
    out[8 * i + 7] = round(x) + fmod(y, 4.0f);
    flags[i] = exponent * 64 + isless(x, y) + 2 * isequal(x, y) + 4 * isnan(x) + 8 * isinf(x) + 16 * (signbit(x) != 0) +
               32 * (isunordered(x, y) != 0);
}
