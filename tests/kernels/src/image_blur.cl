// A 5 x 5 blur with binomial weights: whole coordinates, edges repeated by the sampler.
constant sampler_t edges = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void image_blur(read_only image2d_t in, write_only image2d_t out) {
    const int weights[5] = {1, 4, 6, 4, 1};
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= get_image_width(out) || y >= get_image_height(out)) return;
    float4 sum = 0.0f;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i)
            sum += read_imagef(in, edges, (int2)(x + i - 2, y + j - 2)) * (float)(weights[i] * weights[j]);
    write_imagef(out, (int2)(x, y), sum / 256.0f);
}
