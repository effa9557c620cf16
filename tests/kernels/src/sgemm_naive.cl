// C (m x n) = A (m x k) * B (k x n), row major, one element per work-item.
kernel void sgemm_naive(uint m, uint n, uint k, global const float* a, global const float* b, global float* c) {
    uint col = get_global_id(0), row = get_global_id(1);
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (uint i = 0; i < k; ++i) sum = fma(a[row * k + i], b[i * n + col], sum);
    c[row * n + col] = sum;
}
