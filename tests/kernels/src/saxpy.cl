// y = a * x + y, guarded so that the grid may be larger than the vectors.
kernel void saxpy(uint n, float a, global const float* x, global float* y) {
    uint i = get_global_id(0);
    if (i < n) y[i] = fma(a, x[i], y[i]);
}
