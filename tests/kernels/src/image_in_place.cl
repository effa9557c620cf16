// options: -cl-std=CL2.0
// Texels that are read and written, of a picture and of a volume.
kernel void image_in_place(read_write image2d_t picture, read_write image3d_t volume) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (z == 0) write_imageui(picture, (int2)(x, y), read_imageui(picture, (int2)(x, y)).wzyx + 1);
    int4 at = (int4)(x, y, z, 0);
    float4 sum = read_imagef(volume, at) * 2.0f;
    write_imagef(volume, at, sum + (float)z);
}
