// The median of each 3 x 3 neighbourhood with clamped edges, by a network of minima and maxima.
#define SORT(a, b)             \
    {                          \
        float low = fmin(a, b); \
        b = fmax(a, b);        \
        a = low;               \
    }

kernel void median_filter(int width, int height, global const float* in, global float* out) {
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x >= width || y >= height) return;
    float v[9];
    for (int k = 0; k < 9; ++k)
        v[k] = in[clamp(y + k / 3 - 1, 0, height - 1) * width + clamp(x + k % 3 - 1, 0, width - 1)];
    SORT(v[1], v[2]) SORT(v[4], v[5]) SORT(v[7], v[8])
    SORT(v[0], v[1]) SORT(v[3], v[4]) SORT(v[6], v[7])
    SORT(v[1], v[2]) SORT(v[4], v[5]) SORT(v[7], v[8])
    SORT(v[0], v[3]) SORT(v[5], v[8]) SORT(v[4], v[7])
    SORT(v[3], v[6]) SORT(v[1], v[4]) SORT(v[2], v[5])
    SORT(v[4], v[7]) SORT(v[4], v[2]) SORT(v[6], v[4])
    SORT(v[4], v[2])
    out[y * width + x] = v[4];
}
