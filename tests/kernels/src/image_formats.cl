// Texels as numbers, and numbers as texels of another image.
kernel void image_formats(read_only image2d_t in, write_only image2d_t out, global float4* seen) {
    int x = get_global_id(0), y = get_global_id(1);
    float4 color = read_imagef(in, (int2)(x, y));
    seen[y * get_global_size(0) + x] = color;
    write_imagef(out, (int2)(x, y), 1.0f - color);
}
