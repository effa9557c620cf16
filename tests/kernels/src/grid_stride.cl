// A loop over the grid: each work-item takes every element that is a whole grid further.
kernel void grid_stride(uint n, float a, global const float* x, global float* y, global float* differences) {
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        float before = y[i];
        y[i] = fma(a, x[i], before);
        differences[i] = y[i] - before;
    }
}
