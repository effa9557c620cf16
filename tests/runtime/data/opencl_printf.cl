#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// What compilers store differently: nothing, text, floats in 4 and in 8 bytes, integers of all sizes, vectors.
kernel void opencl_printf(global const float* in, char4 bytes, long wide) {
  int i = get_global_id(0);
  printf("%d: %5.2f %e\n", i, in[i], in[i]);
  if (i & 1) {
    for (int k = 0; k < i; k += 2) printf("%s%s%c%d/%d=100%%\n", "odd", "", ' ', k, i);
    return;
  }
  printf("%v4hhd|%v3hd|%v2hlx|%v4hlf|%v2lf\n", bytes, (short3)(1, -2, i), (uint2)(-i, 255), (float4)(0.5f, i, in[i], -1),
         (double2)(i, 0.25));
  printf("%ld %hd %hhu %p\n", wide, (short)(wide >> 8), (uchar)wide, (global void*)(0x1000 + (long)i));
}
