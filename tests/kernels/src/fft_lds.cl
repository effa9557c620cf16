// A 256-point complex FFT per workgroup of 64: Stockham radix 4 through LDS, twiddles by native sine and cosine.
#define POINTS 256
float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

float2 twiddle(uint k, uint size) {
    float angle = -6.2831853071795864769f * (float)k / (float)size;
    return (float2)(cos(angle), sin(angle));
}

kernel __attribute__((reqd_work_group_size(POINTS / 4, 1, 1))) void fft_lds(global const float2* in,
                                                                            global float2* out) {
    local float2 data[POINTS];
    uint lane = get_local_id(0), base = get_group_id(0) * POINTS;
    float2 a = in[base + lane], b = in[base + lane + 64], c = in[base + lane + 128], d = in[base + lane + 192];
    for (uint done = 1; done < POINTS; done *= 4) {
        uint k = lane & (done - 1);
        b = times(b, twiddle(k, 4 * done));
        c = times(c, twiddle(2 * k, 4 * done));
        d = times(d, twiddle(3 * k, 4 * done));
        float2 even = a + c, odd = a - c, sum = b + d, diff = b - d;
        diff = (float2)(diff.y, -diff.x);
        uint to = (lane - k) * 4 + k;
        barrier(CLK_LOCAL_MEM_FENCE);
        data[to] = even + sum;
        data[to + done] = odd + diff;
        data[to + 2 * done] = even - sum;
        data[to + 3 * done] = odd - diff;
        barrier(CLK_LOCAL_MEM_FENCE);
        a = data[lane];
        b = data[lane + 64];
        c = data[lane + 128];
        d = data[lane + 192];
    }
    out[base + lane] = a;
    out[base + lane + 64] = b;
    out[base + lane + 128] = c;
    out[base + lane + 192] = d;
}
