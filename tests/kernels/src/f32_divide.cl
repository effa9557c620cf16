// Correctly rounded single-precision division and square root; generations without fast subnormals switch MODE for it.
// options: -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt
kernel void f32_divide(global const float* a, global const float* b, global float* quotient, global float* root) {
    size_t i = get_global_id(0);
    quotient[i] = a[i] / b[i];
    root[i] = sqrt(fabs(a[i]));
}
