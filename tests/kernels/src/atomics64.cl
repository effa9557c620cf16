// 64-bit atomics in global memory and in LDS.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void atomics64(global const ulong* in, global ulong* totals) {
    local ulong shared[2];
    uint lane = get_local_id(0);
    ulong v = in[get_global_id(0)];
    if (lane < 2) shared[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atom_add(&shared[0], v);
    atom_xor(&shared[1], v);
    atom_max(&totals[2], v);
    atom_min((global long*)&totals[3], (long)v);
    atom_and(&totals[4], v | 0xffff0000ffff0000ul);
    atom_or(&totals[5], v & 0x0f0f0f0f0f0f0f0ful);
    ulong expected = totals[6], seen;
    while ((seen = atom_cmpxchg(&totals[6], expected, expected * 3 + 1)) != expected) expected = seen;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        atom_add(&totals[0], shared[0]);
        atom_xor(&totals[1], shared[1]);
    }
}
