// Colours are changed by a table with three dimensions, read between its entries.
constant sampler_t trilinear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_lookup3d(read_only image3d_t table, global const uchar4* in, global float4* out, uint n) {
    uint i = get_global_id(0);
    if (i >= n) return;
    float size = get_image_width(table);
    float4 at = convert_float4(in[i]) / 255.0f * ((size - 1.0f) / size) + 0.5f / size;
    out[i] = read_imagef(table, trilinear, at);
}
