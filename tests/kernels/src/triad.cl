// a = b + s * c: two streams in, one out, nothing else. What memory bandwidth is measured with.
kernel void triad(float s, global const float* b, global const float* c, global float* a) {
    size_t i = get_global_id(0);
    a[i] = fma(s, c[i], b[i]);
}
