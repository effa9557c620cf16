// Integer texels, with and without a sign.
constant sampler_t edges = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

kernel void image_integers(read_only image2d_t naturals, read_only image2d_t integers, write_only image2d_t out,
                           global uint4* seen, global int4* signed_seen) {
    int x = get_global_id(0), y = get_global_id(1), at = y * get_global_size(0) + x;
    uint4 natural = read_imageui(naturals, edges, (int2)(x - 1, y - 1));
    int4 integer = read_imagei(integers, (int2)(x, y));
    seen[at] = natural;
    signed_seen[at] = integer;
    write_imagei(out, (int2)(x, y), integer + convert_int4(natural));
}
