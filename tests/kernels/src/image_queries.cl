// What kernels can ask images.
kernel void image_queries(read_only image1d_t d1, read_only image1d_buffer_t buffer, read_only image1d_array_t d1a,
                          read_only image2d_t d2, read_only image2d_array_t d2a, read_only image3d_t d3,
                          global int* out) {
    out[0] = get_image_width(d1);
    out[1] = get_image_width(buffer);
    out[2] = get_image_width(d1a);
    out[3] = get_image_array_size(d1a);
    out[4] = get_image_width(d2);
    out[5] = get_image_height(d2);
    out[6] = get_image_width(d2a);
    out[7] = get_image_height(d2a);
    out[8] = get_image_array_size(d2a);
    out[9] = get_image_width(d3);
    out[10] = get_image_height(d3);
    out[11] = get_image_depth(d3);
    out[12] = get_image_dim(d3).z;
    out[13] = get_image_channel_data_type(d1) == CLK_UNSIGNED_INT16;
    out[14] = get_image_channel_order(d1) == CLK_R;
    out[15] = get_image_channel_data_type(buffer) == CLK_FLOAT;
    out[16] = get_image_channel_order(d2) == CLK_BGRA;
    out[17] = get_image_channel_data_type(d2) == CLK_UNORM_INT8;
    out[18] = get_image_channel_data_type(d3) == CLK_HALF_FLOAT;
    out[19] = get_image_channel_order(d3) == CLK_RGBA;
}
