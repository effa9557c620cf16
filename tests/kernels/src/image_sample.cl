// Colours at given coordinates, by samplers of all kinds.
kernel void image_sample(read_only image2d_t in, sampler_t sampler, global const float2* coordinates, global float4* out,
                         uint n) {
    uint i = get_global_id(0);
    if (i < n) out[i] = read_imagef(in, sampler, coordinates[i]);
}
