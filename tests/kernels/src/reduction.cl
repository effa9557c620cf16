// Sum of each workgroup's slice by a tree in dynamic LDS.
kernel void reduction(uint n, global const float* in, global float* sums, local float* scratch) {
    uint lane = get_local_id(0), i = get_global_id(0);
    scratch[lane] = i < n ? in[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_width = get_local_size(0) / 2; half_width > 0; half_width /= 2) {
        if (lane < half_width) scratch[lane] += scratch[lane + half_width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) sums[get_group_id(0)] = scratch[0];
}
