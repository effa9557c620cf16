// Every work-item goes through a piece of the arrays, one element after the other, as code written for few threads does.
kernel void pieces(uint n, uint piece, float factor, global const float* x, global float* y, global const int* in,
                   global int* out, global ulong* longs, global float* means, global float* sums) {
    uint id = get_global_id(0), first = min(id * piece, n), end = min(first + piece, n);
    for (uint i = first; i < end; ++i) y[i] = fma(factor, x[i], y[i]);
    for (int i = first; i < (int)end; ++i) out[i] = in[i] * 3 + i;
    for (size_t i = first; i < end; ++i) longs[i] = longs[i] * i + id;
    for (int i = first; i <= (int)end - 2; ++i) means[i] = (x[i] + x[i + 1]) * 0.5f;
    float sum = 0.0f;
    for (uint i = first; i < end; ++i) sum += x[i];
    sums[id] = sum;
}
