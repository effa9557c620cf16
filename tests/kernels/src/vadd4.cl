// c = a + b, one 16-byte vector per work-item.
kernel void vadd4(global const float4* a, global const float4* b, global float4* c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
