// Loads and stores of 1, 2, 3, 4, 6, 8, 12 and 16 bytes, aligned to the element only, in global memory and in LDS.
kernel void memory_widths(global const uchar* in, global uchar* out, local uchar* shared) {
    uint lane = get_local_id(0);
    size_t at = get_global_id(0) * 64;
    local uchar* mine = shared + lane * 64;
    vstore16(vload16(0, in + at), 0, mine);
    vstore3(vload3(0, (global const ushort*)(in + at + 16)), 0, (local ushort*)(mine + 16));
    *(local short*)(mine + 22) = (short)(*(global const char*)(in + at + 22));
    *(local uint*)(mine + 24) = *(global const uchar*)(in + at + 24);
    *(local ulong*)(mine + 32) = *(global const ulong*)(in + at + 32);
    vstore3(vload3(0, (global const uint*)(in + at + 40)), 0, (local uint*)(mine + 40));
    vstore3(vload3(0, in + at + 52), 0, mine + 52);
    *(local uint*)(mine + 28) = 0;
    mine[55] = in[at + 55] + 1;
    *(local ulong*)(mine + 56) = (ulong)*(global const short*)(in + at + 56);
    barrier(CLK_LOCAL_MEM_FENCE);
    local uchar* next = shared + (lane + 1) % get_local_size(0) * 64;
    *(global ulong2*)(out + at) = *(local ulong2*)next;
    *(global uint4*)(out + at + 16) = *(local uint4*)(next + 16);
    vstore3(vload3(0, (local uint*)(next + 32)), 0, (global uint*)(out + at + 32));
    *(global ushort*)(out + at + 44) = *(local ushort*)(next + 44);
    out[at + 46] = next[46];
    out[at + 47] = next[47];
    vstore4(vload4(0, (local uint*)(next + 48)), 0, (global uint*)(out + at + 48));
}
