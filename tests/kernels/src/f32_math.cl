// Single-precision library functions, one output row of eight per input.
kernel void f32_math(uint n, global const float* a, global const float* b, global float* out) {
    uint i = get_global_id(0);
    if (i >= n) return;
    float x = a[i], y = b[i];
    out[8 * i + 0] = sin(x);
    out[8 * i + 1] = cos(x);
    out[8 * i + 2] = exp(y);
    out[8 * i + 3] = log(fabs(x));
    out[8 * i + 4] = pow(fabs(x), y);
    out[8 * i + 5] = atan2(x, y);
    out[8 * i + 6] = x / y;
    out[8 * i + 7] = sqrt(fabs(x)) + tanh(y);
}
