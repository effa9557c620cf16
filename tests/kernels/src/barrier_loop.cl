// Heat diffusion on a ring of cells in LDS: a barrier in a loop, with a trip count known only at run time.
#ifdef __AMDGCN__  // the compiler's default limit is 256
__attribute__((amdgpu_flat_work_group_size(1, 1024)))
#endif
kernel void barrier_loop(uint steps, float rate, global const float* in, global float* out, local float* cells) {
    uint lane = get_local_id(0), width = get_local_size(0);
    uint left = lane == 0 ? width - 1 : lane - 1, right = lane + 1 == width ? 0 : lane + 1;
    cells[lane] = in[get_global_id(0)];
    for (uint s = 0; s < steps; ++s) {
        barrier(CLK_LOCAL_MEM_FENCE);
        float flow = (cells[left] + cells[right]) - 2.0f * cells[lane];
        float next = fma(rate, flow, cells[lane]);
        barrier(CLK_LOCAL_MEM_FENCE);
        cells[lane] = next;
    }
    out[get_global_id(0)] = cells[lane];
}
