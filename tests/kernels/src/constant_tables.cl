// Tables in the constant address space: in the code object's read-only data and as an argument.
constant int powers[9] = {1, 3, 9, 27, 81, 243, 729, 2187, 6561};
constant float2 points[4] = {(float2)(0.5f, 1.0f), (float2)(-2.0f, 4.0f), (float2)(8.0f, -0.25f), (float2)(3.0f, 7.0f)};
constant char text[] = "recompiled";

kernel void constant_tables(constant uint* scale, global const uint* in, global int* out, global float* sums) {
    uint i = get_global_id(0), v = in[i];
    out[i] = powers[v % 9] * (int)scale[v & 7] + text[v % 10];
    sums[i] = points[v & 3].x * 2.0f + points[(v >> 2) & 3].y;
}
