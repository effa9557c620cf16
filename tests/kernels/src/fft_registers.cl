// A 16-point complex FFT per work-item, radix 2, wholly in registers once unrolled.
constant float2 roots[8] = {
    (float2)(1.0f, 0.0f),           (float2)(0.92387953f, -0.38268343f),  (float2)(0.70710678f, -0.70710678f),
    (float2)(0.38268343f, -0.92387953f), (float2)(0.0f, -1.0f),          (float2)(-0.38268343f, -0.92387953f),
    (float2)(-0.70710678f, -0.70710678f), (float2)(-0.92387953f, -0.38268343f)};
constant uchar reversed[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

float2 multiply(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

kernel void fft_registers(global const float2* in, global float2* out) {
    size_t base = get_global_id(0) * 16;
    float2 v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = in[base + reversed[i]];
#pragma unroll
    for (int half_size = 1; half_size < 16; half_size *= 2) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            int k = i % half_size, low = (i / half_size) * 2 * half_size + k;
            float2 t = multiply(v[low + half_size], roots[k * (8 / half_size)]);
            v[low + half_size] = v[low] - t;
            v[low] += t;
        }
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) out[base + i] = v[i];
}
