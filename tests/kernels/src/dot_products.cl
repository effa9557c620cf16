// Integer and half dot products of gfx906.
// min-target: gfx906
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef short short2_t __attribute__((ext_vector_type(2)));
typedef ushort ushort2_t __attribute__((ext_vector_type(2)));
kernel void dot_products(global const uint* a, global const uint* b, global int* out, global float* sums) {
    size_t i = get_global_id(0);
    uint x = a[i], y = b[i];
    out[6 * i + 0] = __builtin_amdgcn_sdot4((int)x, (int)y, 5, false);
    out[6 * i + 1] = (int)__builtin_amdgcn_udot4(x, y, 5u, false);
    out[6 * i + 2] = __builtin_amdgcn_sdot8((int)x, (int)y, -9, false);
    out[6 * i + 3] = (int)__builtin_amdgcn_udot8(x, y, 9u, true);
    out[6 * i + 4] = __builtin_amdgcn_sdot2(as_short2(x), as_short2(y), 1, true);
    out[6 * i + 5] = (int)__builtin_amdgcn_udot2(as_ushort2(x), as_ushort2(y), 1u, false);
    half2 p = (half2)((half)(x & 15), (half)(y & 15)), q = (half2)((half)(y >> 28), (half)(x >> 28));
    sums[i] = __builtin_amdgcn_fdot2(p, q, 0.5f, false);
}
