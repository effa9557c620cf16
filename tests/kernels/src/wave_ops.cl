// Operations across the 64 lanes of a wavefront that all generations have; the workgroup is one full wavefront.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void wave_ops(global const uint* in, global uint* out,
                                                                     global ulong* masks) {
    uint lane = get_local_id(0);
    size_t i = get_global_id(0);
    uint v = in[i];
    ulong odd = __builtin_amdgcn_uicmp(v & 1, 0u, 33 /* not equal */);
    uint before = __builtin_amdgcn_mbcnt_hi((uint)(odd >> 32), __builtin_amdgcn_mbcnt_lo((uint)odd, 0));
    out[8 * i + 0] = before;
    out[8 * i + 1] = __builtin_amdgcn_readfirstlane(v);
    out[8 * i + 2] = __builtin_amdgcn_readlane(v, 37);
    out[8 * i + 3] = __builtin_amdgcn_ds_swizzle(v, 0x041f /* lane ^ 1 */);
    out[8 * i + 4] = __builtin_amdgcn_ds_swizzle(v, 0x801b /* quad permutation 3 2 1 0 */);
    uint leader = 0;
    if (v & 1) leader = __builtin_amdgcn_readfirstlane(v ^ lane);
    out[8 * i + 5] = leader;
    uint visited = 0;
    for (uint left = lane & 7; left > 0; --left) visited += (uint)popcount(__builtin_amdgcn_uicmp(left, 0u, 33));
    out[8 * i + 6] = visited;
    out[8 * i + 7] = __builtin_amdgcn_ubfe(v, 5, 11) + __builtin_amdgcn_sad_u8(v, lane * 0x01010101u, 3u);
    if (lane == 0) masks[get_group_id(0)] = odd;
}
