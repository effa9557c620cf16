// Images of one dimension: with and without a sampler, and one that is a buffer.
constant sampler_t edges = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void image_lines(read_only image1d_t line, read_only image1d_buffer_t numbers, write_only image1d_t out,
                        write_only image1d_buffer_t packed, int count) {
    int x = get_global_id(0), n = get_image_width(line);
    uint4 mirrored = read_imageui(line, n - 1 - x);
    uint4 near = read_imageui(line, edges, (x + 0.5f) / n + 0.25f);
    uint4 number = read_imageui(numbers, x % count);
    write_imageui(out, x, mirrored + near + number);
    write_imageui(packed, x, number * 3 + mirrored);
}
