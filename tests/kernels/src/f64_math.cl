// Double-precision division (exact), square root and library functions.
kernel void f64_math(global const double* a, global const double* b, global double* quotient, global double* out) {
    size_t i = get_global_id(0);
    double x = a[i], y = b[i];
    quotient[i] = x / y;
    out[6 * i + 0] = sqrt(fabs(x));
    out[6 * i + 1] = exp(y);
    out[6 * i + 2] = log(fabs(x));
    out[6 * i + 3] = sin(x);
    out[6 * i + 4] = pow(fabs(x), y);
    out[6 * i + 5] = cbrt(x) + rsqrt(fabs(y));
}
