// Data-parallel primitives and LDS permutes of gfx8 and gfx9; the workgroup is one full wavefront.
// min-target: gfx803
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void wave_dpp(global const int* in, global int* out) {
    int lane = (int)get_local_id(0);
    size_t i = get_global_id(0);
    int v = in[i];
    out[8 * i + 0] = __builtin_amdgcn_mov_dpp(v, 0x1b /* quad_perm 3 2 1 0 */, 0xf, 0xf, true);
    out[8 * i + 1] = __builtin_amdgcn_update_dpp(-1, v, 0x111 /* row_shr:1 */, 0xf, 0xf, false);
    out[8 * i + 2] = __builtin_amdgcn_mov_dpp(v, 0x124 /* row_ror:4 */, 0xf, 0xf, true);
    out[8 * i + 3] = __builtin_amdgcn_mov_dpp(v, 0x140 /* row_mirror */, 0xf, 0xf, true);
    out[8 * i + 4] = __builtin_amdgcn_update_dpp(-7, v, 0x142 /* row_bcast:15 */, 0xa, 0xf, false);
    out[8 * i + 5] = __builtin_amdgcn_ds_bpermute((lane * 5 & 63) * 4, v);
    out[8 * i + 6] = __builtin_amdgcn_ds_permute(((lane + 13) & 63) * 4, v);
    int sum = v;
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x111, 0xf, 0xf, false);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x112, 0xf, 0xf, false);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x114, 0xf, 0xf, false);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x118, 0xf, 0xf, false);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x142, 0xa, 0xf, false);
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x143, 0xc, 0xf, false);
    out[8 * i + 7] = sum;
}
