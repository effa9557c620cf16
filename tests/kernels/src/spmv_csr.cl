// y = A * x, A in compressed sparse rows, one row per work-item.
kernel void spmv_csr(uint rows, global const uint* row_start, global const uint* columns, global const float* values,
                     global const float* x, global float* y) {
    uint row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0.0f;
    for (uint i = row_start[row], end = row_start[row + 1]; i < end; ++i) sum = fma(values[i], x[columns[i]], sum);
    y[row] = sum;
}
