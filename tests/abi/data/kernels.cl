// Sources of the code objects in this folder: see make.sh.
__constant int table[4] = {10, 20, 30, 40};

__attribute__((noinline)) int through_stack(int x) {
  volatile int slots[8];
  slots[x & 7] = x;
  return slots[(x + 1) & 7];
}

kernel void many_arguments(global int* restrict out, global const int* in, int n, local float* scratch, uchar c,
                           ulong d, float4 v) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  local int* s = (local int*)scratch;
  s[i & 63] = i;
  if (i < n) out[i] = in[i] + table[i & 3] + through_stack(i) + c + (int)d + (int)v.z + s[(i + 1) & 63];
}

kernel void hidden_words(global int* out) {
  constant int* hidden = (constant int*)__builtin_amdgcn_implicitarg_ptr();
  constant int* packet = (constant int*)__builtin_amdgcn_dispatch_ptr();
  out[0] = hidden[0] + hidden[3] + hidden[16] + packet[3];
}

__attribute__((reqd_work_group_size(8, 4, 2))) kernel void three_ids(global uint* out) {
  local uint fixed[64];
  const uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
  fixed[x + 8 * y + 32 * z] = x;
  out[__builtin_amdgcn_workgroup_id_y() + __builtin_amdgcn_workgroup_id_z()] = fixed[y] + z;
}
