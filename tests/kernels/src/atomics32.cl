// Every 32-bit atomic of OpenCL 1.2, in LDS and in global memory; only results independent of order are kept.
#define OPS 8
kernel void atomics32(uint n, global const uint* in, global uint* totals, global uint* returned) {
    local uint shared[OPS];
    uint lane = get_local_id(0), i = get_global_id(0);
    if (lane < OPS) shared[lane] = lane == 4 ? 0xffffffffu : 0;
    if (lane == 0) shared[2] = 0x7fffffffu;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
        uint v = in[i];
        atomic_add(&shared[0], v);
        atomic_sub(&shared[1], v);
        atomic_min((local int*)&shared[2], (int)v);
        atomic_max(&shared[3], v);
        atomic_and(&shared[4], v | 0xff00ff00u);
        atomic_or(&shared[5], v & 0x00f0f0f0u);
        atomic_xor(&shared[6], v);
        atomic_inc(&shared[7]);
        uint ticket = atomic_dec(&totals[OPS]);
        atomic_or(&returned[ticket >> 5], 1u << (ticket & 31));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane != 0) return;
    atomic_add(&totals[0], shared[0]);
    atomic_sub(&totals[1], shared[1]);
    atomic_min((global int*)&totals[2], (int)shared[2]);
    atomic_max(&totals[3], shared[3]);
    atomic_and(&totals[4], shared[4]);
    atomic_or(&totals[5], shared[5]);
    atomic_xor(&totals[6], shared[6]);
    atomic_add(&totals[7], shared[7]);
}
