// Scaled to the size of `out`, by whatever the sampler does between texels; normalised coordinates.
kernel void image_scale(read_only image2d_t in, sampler_t sampler, write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1)), size = get_image_dim(out);
    if (at.x >= size.x || at.y >= size.y) return;
    write_imagef(out, at, read_imagef(in, sampler, (convert_float2(at) + 0.5f) / convert_float2(size)));
}
