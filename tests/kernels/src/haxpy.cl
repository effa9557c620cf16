// y = a * x + y in half precision; two elements per work-item, which gfx9 does as packed math.
// min-target: gfx803
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void haxpy(half a, global const half2* x, global half2* y) {
    size_t i = get_global_id(0);
    y[i] = fma((half2)(a), x[i], y[i]);
}
