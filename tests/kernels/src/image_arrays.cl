// Layers of arrays: of rows and of pictures, read with and without a sampler, and written.
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

kernel void image_arrays(read_only image1d_array_t rows, read_only image2d_array_t pictures,
                         write_only image2d_array_t out, write_only image1d_array_t sums) {
    int x = get_global_id(0), y = get_global_id(1), layer = get_global_id(2);
    float4 row = read_imagef(rows, linear, (float2)(x * 0.75f, layer + 0.25f));
    float4 here = read_imagef(pictures, (int4)(x, y, layer, 0));
    // the layer is rounded, and layers are clamped
    float4 beside = read_imagef(pictures, linear, (float4)(x + 1.0f, y + 1.0f, layer + 0.75f, 0.0f));
    write_imagef(out, (int4)(x, y, layer, 0), row + here * 2.0f + beside);
    if (y == 0) write_imagef(sums, (int2)(x, layer), row + here);
}
