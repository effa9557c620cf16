// Conversions between double and the other types.
kernel void f64_conversions(global const double* in, global const long* longs, global long* out,
                            global double* doubles, global float* floats) {
    size_t i = get_global_id(0);
    double x = in[i];
    long v = longs[i];
    out[4 * i + 0] = (long)x;
    out[4 * i + 1] = (long)(int)(x * 0.0001);
    out[4 * i + 2] = (long)(ulong)fabs(x);
    out[4 * i + 3] = convert_long_rte(x * 0.5);
    doubles[4 * i + 0] = (double)v;
    doubles[4 * i + 1] = (double)(ulong)v;
    doubles[4 * i + 2] = (double)(int)v + (double)(uint)(v >> 16);
    doubles[4 * i + 3] = floor(x) + rint(x * 0.25) + fmin(x, 3.0);
    floats[2 * i + 0] = (float)x;
    floats[2 * i + 1] = (float)v;
}
