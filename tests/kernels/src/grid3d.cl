// Every cell of a box records a mix of all the ids of its work-item; the grid is ragged in all three dimensions.
// options: -cl-std=CL2.0
kernel void grid3d(uint width, uint height, uint depth, global uint* out) {
    uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= width || y >= height || z >= depth) return;
    uint local_index = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
    uint group_index = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    out[(z * height + y) * width + x] = group_index * 65536u + local_index;
}
