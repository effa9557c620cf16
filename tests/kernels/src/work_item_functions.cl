// Records what every work-item function says, offsets and the ragged last workgroup included.
// options: -cl-std=CL2.0
kernel void work_item_functions(global uint* out) {
    size_t index = 0;
    for (int d = 2; d >= 0; --d) index = index * get_global_size(d) + (get_global_id(d) - get_global_offset(d));
    global uint* row = out + index * 24;
    for (uint d = 0; d < 3; ++d) {
        row[d * 7 + 0] = get_global_id(d);
        row[d * 7 + 1] = get_local_id(d);
        row[d * 7 + 2] = get_group_id(d);
        row[d * 7 + 3] = get_global_size(d);
        row[d * 7 + 4] = get_local_size(d);
        row[d * 7 + 5] = get_num_groups(d);
        row[d * 7 + 6] = get_global_offset(d);
    }
    row[21] = get_enqueued_local_size(0);
    row[22] = get_global_linear_id();
    row[23] = get_local_linear_id();
}
