// Turned about its middle: bilinear, black outside.
constant sampler_t bilinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

kernel void image_rotate(read_only image2d_t in, write_only image2d_t out, float cosine, float sine) {
    int x = get_global_id(0), y = get_global_id(1);
    float2 middle = convert_float2(get_image_dim(in)) * 0.5f;
    float2 from = (float2)(x + 0.5f, y + 0.5f) - middle;
    float2 turned = (float2)(cosine * from.x - sine * from.y, sine * from.x + cosine * from.y) + middle;
    write_imagef(out, (int2)(x, y), read_imagef(in, bilinear, turned));
}
