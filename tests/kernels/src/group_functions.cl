// The collective functions of OpenCL 2.0 for workgroups and subgroups (wavefronts).
// options: -cl-std=CL2.0
// min-target: gfx700
// fold-library: yes
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void group_functions(global const int* in, global int* out) {
    size_t i = get_global_id(0);
    int v = in[i];
    out[12 * i + 0] = work_group_reduce_add(v);
    out[12 * i + 1] = work_group_scan_inclusive_add(v);
    out[12 * i + 2] = work_group_scan_exclusive_max(v);
    out[12 * i + 3] = work_group_broadcast(v, 5);
    out[12 * i + 4] = work_group_any(v > 990) + 2 * work_group_all(v > -990);
    out[12 * i + 5] = sub_group_reduce_min(v);
    out[12 * i + 6] = sub_group_scan_exclusive_add(v);
    out[12 * i + 7] = sub_group_broadcast(v, 3);
    out[12 * i + 8] = sub_group_any(v > 950) + 2 * sub_group_all(v > -950);
    out[12 * i + 9] = (int)(get_sub_group_id() * 1000 + get_sub_group_local_id());
    out[12 * i + 10] = (int)(get_num_sub_groups() * 1000 + get_sub_group_size());
    out[12 * i + 11] = sub_group_scan_inclusive_max(v);
}
