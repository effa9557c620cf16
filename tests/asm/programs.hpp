// Sources that several tests assemble.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lanewise::testing {

/// A kernel, which wants the kernarg pointer if it has arguments.
struct KernelText {
  std::string name;
  int kernarg_bytes = 0, lds_bytes = 0;
  /// Per work-item; its buffer is then in s[0:3], its offset behind the workgroup's ids.
  int private_bytes = 0;
  int work_item_ids = 1; ///< in v0 and the next
  int sgprs = 0, vgprs = 0, max_items = 0;
};

inline std::string line_of(int number) { return std::to_string(number) + "\n"; }

/// What follows a kernel's last instruction: size and descriptor.
inline std::string kernel_descriptor(const KernelText& k) {
  std::string text = ".Lsize: .size " + k.name + ", .Lsize-" + k.name + R"(
        .rodata
        .p2align 6
        .amdhsa_kernel )" +
                     k.name + "\n";
  if (k.lds_bytes != 0) text += "          .amdhsa_group_segment_fixed_size " + line_of(k.lds_bytes);
  if (k.kernarg_bytes != 0)
    text += "          .amdhsa_kernarg_size " + line_of(k.kernarg_bytes) +
            "          .amdhsa_user_sgpr_kernarg_segment_ptr 1\n";
  if (k.private_bytes != 0)
    text += "          .amdhsa_private_segment_fixed_size " + line_of(k.private_bytes) +
            "          .amdhsa_user_sgpr_private_segment_buffer 1\n"
            "          .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n";
  if (k.work_item_ids > 1)
    text += "          .amdhsa_system_vgpr_workitem_id " + line_of(k.work_item_ids - 1);
  return text + R"(          .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
          .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
        .end_amdhsa_kernel
)";
}

/// kernel_descriptor(), and metadata up to the list of the kernel's arguments.
inline std::string kernel_end(const KernelText& k) {
  return kernel_descriptor(k) + R"(        .amdgpu_metadata
---
amdhsa.version: [ 1, 1 ]
amdhsa.kernels:
  - .name: )" +
         k.name + "\n    .symbol: " + k.name + ".kd\n    .kernarg_segment_size: " + line_of(k.kernarg_bytes) +
         "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: " + line_of(k.lds_bytes) +
         "    .private_segment_fixed_size: " + line_of(k.private_bytes) +
         "    .wavefront_size: 64\n    .sgpr_count: " + line_of(k.sgprs) +
         "    .vgpr_count: " + line_of(k.vgprs) + "    .max_flat_workgroup_size: " + line_of(k.max_items) +
         "    .args:\n";
}

/// kernel_end() for a kernel whose arguments are pointers, of these kinds, then values of these sizes, and
/// the end of the metadata.
inline std::string kernel_end_with(const KernelText& k, std::initializer_list<std::string_view> kinds,
                                   std::initializer_list<int> values = {}) {
  std::string text = kernel_end(k);
  int offset = 0;
  for (const std::string_view kind : kinds) {
    text += "      - .size: 8\n        .offset: " + line_of(offset) +
            "        .value_kind: " + std::string(kind) + "\n        .address_space: global\n";
    offset += 8;
  }
  for (const int size : values) {
    text += "      - .size: " + line_of(size) + "        .offset: " + line_of(offset) +
            "        .value_kind: by_value\n";
    offset += size;
  }
  return text + "...\n        .end_amdgpu_metadata\n";
}

/// out[i] = a[i] + b[i], i the global id of a one-dimensional grid; four kernel arguments: a, b, out, n. With
/// what every target has.
inline std::string vector_add(std::string_view target) {
  const bool gfx9 = target >= "gfx900", gfx8 = target >= "gfx803", flat = target >= "gfx700";
  std::string text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--" + std::string(target) + "\"\n";
  text += gfx8 ? ".set UNIT, 1\n" : ".set UNIT, 4 // offsets of scalar loads count dwords\n";
  const auto add = [&](std::string_view operands) {
    return std::string(gfx9   ? "  v_add_co_u32 "
                       : gfx8 ? "  v_add_u32 "
                              : "  v_add_i32 ") +
           std::string(operands) + "\n";
  };
  const auto addc = [&](std::string_view operands) {
    return std::string(gfx9 ? "  v_addc_co_u32 " : "  v_addc_u32 ") + std::string(operands) + "\n";
  };
  text += R"(
        .macro pointer base, low, high     ; v[low:high] = base + v0 * 4
          v_mov_b32 v\high, s\base+1
)";
  text.replace(text.find("s\\base+1"), 8, "s[\\base+1]");
  text += add("v\\low, vcc, s[\\base], v1") + addc("v\\high, vcc, 0, v\\high, vcc");
  text += R"(        .endm
        .globl  vector_add
        .p2align 8
        .type   vector_add,@function
vector_add:
        s_load_dwordx4 s[4:7], s[0:1], 0
        s_load_dwordx2 s[8:9], s[0:1], 16/UNIT
        s_load_dword s10, s[0:1], 24/UNIT
        s_lshl_b32 s2, s2, 6               // workgroups of 64
)";
  text += add("v0, vcc, s2, v0");
  text += R"(        s_waitcnt lgkmcnt(0)
        v_cmp_gt_u32 vcc, s10, v0
        s_and_saveexec_b64 s[12:13], vcc
        s_cbranch_execz .Lend
        v_lshlrev_b32 v1, 2, v0
        pointer 4, 2, 3
        pointer 6, 4, 5
        pointer 8, 6, 7
)";
  if (flat) {
    text += "  flat_load_dword v8, v[2:3]\n  flat_load_dword v9, v[4:5]\n  s_waitcnt vmcnt(0) & lgkmcnt(0)\n "
            " v_add_f32 v8, v8, v9\n"
            "  flat_store_dword v[6:7], v8\n";
  } else {
    text +=
        "  s_mov_b64 s[16:17], 0\n  s_mov_b32 s18, -1\n  s_mov_b32 s19, 0x27fac\n"
        "  buffer_load_dword v8, v[2:3], s[16:19], 0 addr64\n  buffer_load_dword v9, v[4:5], s[16:19], 0 "
        "addr64\n"
        "  s_waitcnt vmcnt(0)\n  v_add_f32 v8, v8, v9\n  buffer_store_dword v8, v[6:7], s[16:19], 0 addr64\n";
  }
  text += ".Lend:\n        s_endpgm\n" +
          kernel_end({.name = "vector_add", .kernarg_bytes = 28, .sgprs = 26, .vgprs = 10, .max_items = 64});
  for (int i = 0; i < 3; ++i)
    text += "      - .size: 8\n        .offset: " + std::to_string(8 * i) +
            "\n        .value_kind: global_buffer\n        .address_space: global\n";
  text += "      - .size: 4\n        .offset: 24\n        .value_kind: by_value\n...\n        "
          ".end_amdgpu_metadata\n";
  return text;
}

/// scalar_after_vector(out): each of a wave's 64 lanes stores a dword to out[lane], then s_load reads out[33]
/// and all lanes add that to what they store to out[64 + lane].
inline std::string scalar_after_vector() {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  scalar_after_vector
        .p2align 8
        .type   scalar_after_vector,@function
scalar_after_vector:
        s_load_dwordx2 s[8:9], s[0:1], 0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v1, s[8:9]
        s_load_dword s10, s[8:9], 132
        s_waitcnt lgkmcnt(0)
        v_add_u32 v2, s10, v0
        global_store_dword v1, v2, s[8:9] offset:256
        s_endpgm
)" + kernel_descriptor({.name = "scalar_after_vector", .kernarg_bytes = 8});
}

/// gfx900. hostcall(): reads the dwords 24 bytes behind its hidden pointer to the hostcall buffer, as printf
/// does.
inline std::string hostcall() {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  hostcall
        .p2align 8
        .type   hostcall,@function
hostcall:
        s_load_dwordx2 s[8:9], s[0:1], 0
        s_waitcnt lgkmcnt(0)
        s_load_dwordx2 s[10:11], s[8:9], 24
        v_mov_b32 v0, 0
        s_waitcnt lgkmcnt(0)
        global_store_dword v0, v0, s[10:11]
        s_endpgm
)" + kernel_end_with({.name = "hostcall", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 4, .max_items = 256},
                     {"hidden_hostcall_buffer"});
}

/// gfx900. host_call(call, result): one lane calls the host as the device library does. call: the service, a
/// pad, then the 8 quadwords that it sends; result: the quadword that comes back.
inline std::string host_call() {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .macro send at
          global_load_dwordx4 v[4:7], v0, s[4:5] offset:\at+8
          s_waitcnt vmcnt(0)
          global_store_dwordx4 v0, v[4:7], s[14:15] offset:\at
        .endm
        .globl  host_call
        .p2align 8
        .type   host_call,@function
host_call:
        s_load_dwordx4 s[4:7], s[0:1], 0
        s_load_dwordx2 s[8:9], s[0:1], 16
        s_mov_b64 exec, 1
        v_mov_b32 v0, 0
        s_waitcnt lgkmcnt(0)
        s_load_dwordx8 s[12:19], s[8:9], 0      // headers, payloads, doorbell, free packets
        s_load_dword s20, s[8:9], 40            // mask of indices
        s_waitcnt lgkmcnt(0)
        s_and_b32 s20, s20, s18
        s_mul_i32 s21, s20, 24
        s_add_u32 s12, s12, s21                 // the packet's header
        s_addc_u32 s13, s13, 0
        s_lshl_b32 s20, s20, 12
        s_add_u32 s14, s14, s20                 // its payload
        s_addc_u32 s15, s15, 0
        s_load_dword s22, s[4:5], 0
        s_load_dwordx2 s[24:25], s[12:13], 0    // the next free packet
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, s24
        v_mov_b32 v3, s25
        global_store_dwordx2 v0, v[2:3], s[8:9] offset:24
        send 0
        send 16
        send 32
        send 48
        v_mov_b32 v2, 0
        v_mov_b32 v3, 0
        v_mov_b32 v4, 1                         // lanes
        v_mov_b32 v5, 0
        global_store_dwordx4 v0, v[2:5], s[12:13]
        v_mov_b32 v2, s22
        v_mov_b32 v3, 1
        global_store_dwordx2 v0, v[2:3], s[12:13] offset:16
        s_waitcnt vmcnt(0)
        v_mov_b32 v2, s18
        v_mov_b32 v3, s19
        global_store_dwordx2 v0, v[2:3], s[8:9] offset:32
        s_sendmsg sendmsg(MSG_INTERRUPT)
.Lwait: s_sleep 1
        global_load_dword v2, v0, s[12:13] offset:20 glc
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s22, v2
        s_cmp_lg_u32 s22, 0
        s_cbranch_scc1 .Lwait
        global_load_dwordx2 v[2:3], v0, s[14:15] glc
        s_waitcnt vmcnt(0)
        global_store_dwordx2 v0, v[2:3], s[6:7]
        s_endpgm
)" + kernel_end_with({.name = "host_call", .kernarg_bytes = 24, .sgprs = 32, .vgprs = 8, .max_items = 64},
                     {"global_buffer", "global_buffer", "hidden_hostcall_buffer"});
}

/// gfx900. heap(out): counts in the last dword of the heap of malloc, and gives what was there.
inline std::string heap() {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  heap
        .p2align 8
        .type   heap,@function
heap:
        s_load_dwordx4 s[4:7], s[0:1], 0
        s_mov_b64 exec, 1
        v_mov_b32 v0, 0x1fffc
        v_mov_b32 v1, 1
        v_mov_b32 v2, 0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v3, s7
        v_add_co_u32 v4, vcc, s6, v0
        v_addc_co_u32 v5, vcc, 0, v3, vcc
        global_atomic_add v1, v[4:5], v1, off glc
        s_waitcnt vmcnt(0)
        global_store_dword v2, v1, s[4:5]
        s_endpgm
)" + kernel_end_with({.name = "heap", .kernarg_bytes = 16, .sgprs = 16, .vgprs = 8, .max_items = 64},
                     {"global_buffer", "hidden_heap_v1"});
}

/// gfx900. managed(out): gives what is in HIP's `__managed__ int total = 5`.
inline std::string managed() {
  return R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .data
        .globl  total.managed
        .type   total.managed,@object
        .size   total.managed, 4
total.managed:
        .long   5
        .globl  total
        .type   total,@object
        .size   total, 8
        .p2align 3
total:  .quad   0
        .text
        .globl  managed
        .p2align 8
        .type   managed,@function
managed:
        s_load_dwordx2 s[4:5], s[0:1], 0
        s_getpc_b64 s[6:7]
        s_add_u32 s6, s6, total@rel32@lo+4
        s_addc_u32 s7, s7, total@rel32@hi+12
        s_load_dwordx2 s[6:7], s[6:7], 0
        s_waitcnt lgkmcnt(0)
        s_load_dword s6, s[6:7], 0
        v_mov_b32 v0, 0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v1, s6
        global_store_dword v0, v1, s[4:5]
        s_endpgm
)" + kernel_descriptor({.name = "managed", .kernarg_bytes = 8});
}

/// The start of a kernel for any target whose only argument is a buffer: its V# in s[4:7], the workgroup in
/// s2, the work-item in v0.
inline std::string kernel_with_buffer(std::string_view target, const std::string& name) {
  return "\t.amdgcn_target \"amdgcn-amd-amdhsa--" + std::string(target) + "\"\n\t.globl " + name +
         "\n\t.p2align 8\n\t.type " + name + ",@function\n" + name + R"(:
        s_load_dwordx2 s[4:5], s[0:1], 0
        s_mov_b32 s6, -1
        s_mov_b32 s7, 0x27fac
        s_waitcnt lgkmcnt(0)
)";
}

/// gds_tickets(out): each work-item of the device takes a ticket from the counter at 16 in GDS, and puts
/// there what its wave found in the one at 20, which counts work-items by waves.
inline std::string gds_tickets(std::string_view target) {
  return kernel_with_buffer(target, "gds_tickets") + R"(
        v_mov_b32 v1, 0
        v_mov_b32 v2, 1
        s_mov_b32 m0, 0x00100008           // base 16, size 8
        ds_append v3 offset:4 gds
        ds_add_rtn_u32 v4, v1, v2 gds
        ds_add_rtn_u32 v5, v1, v2 offset:8 gds // out of range
        s_waitcnt lgkmcnt(0)
        v_or_b32 v3, v3, v5
        v_lshlrev_b32 v4, 2, v4
        buffer_store_dword v3, v4, s[4:7], 0 offen
        s_endpgm
)" +
         kernel_end_with(
             {.name = "gds_tickets", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 6, .max_items = 64},
             {"global_buffer"});
}

/// gws_init(): gives resource 1 of global wave sync this value.
inline std::string gws_init(std::string_view target, int value) {
  return kernel_with_buffer(target, "gws_init") + "v_mov_b32 v1, " + line_of(value) + R"(
        s_mov_b32 m0, 0
        ds_gws_init v1 offset:1 gds
        s_endpgm
)" +
         kernel_end_with({.name = "gws_init", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 6, .max_items = 64},
                         {"global_buffer"});
}

/// grid_sums(values): with 32 workgroups of 128, values[128 * g + i] becomes the sum over all g, by pairs,
/// with a barrier of the whole grid after each step. `waves`: of the grid.
inline std::string grid_sums(std::string_view target, int waves) {
  std::string text = kernel_with_buffer(target, "grid_sums") + "v_mov_b32 v6, " + line_of(waves - 1) + R"(
        s_mov_b32 m0, 0x00010000           // resource 1
        s_lshl_b32 s2, s2, 9
        v_lshlrev_b32 v0, 2, v0
        v_or_b32 v1, s2, v0
)";
  for (int bit = 512; bit < 512 * 32; bit *= 2)
    text += "v_mov_b32 v2, " + line_of(bit) + R"(
        v_xor_b32 v2, v1, v2
        buffer_load_dword v3, v1, s[4:7], 0 offen glc
        buffer_load_dword v4, v2, s[4:7], 0 offen glc
        s_waitcnt vmcnt(0)
        ds_gws_barrier v6 gds
        v_mad_u32_u24 v3, v3, 1, v4
        buffer_store_dword v3, v1, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        s_barrier
        ds_gws_barrier v6 gds
)";
  return text + "s_endpgm\n" +
         kernel_end_with({.name = "grid_sums", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 8, .max_items = 128},
                         {"global_buffer"});
}

/// one_by_one(count): each wave adds 1, without an atomic, between P and V of a semaphore.
inline std::string one_by_one(std::string_view target) {
  return kernel_with_buffer(target, "one_by_one") + R"(
        s_mov_b32 m0, 0
        ds_gws_sema_p offset:1 gds
        s_mov_b64 exec, 1
        buffer_load_dword v1, off, s[4:7], 0 glc
        s_waitcnt vmcnt(0) & lgkmcnt(0)
        v_mad_u32_u24 v1, v1, 1, 1
        buffer_store_dword v1, off, s[4:7], 0
        s_waitcnt vmcnt(0)
        ds_gws_sema_v offset:1 gds
        s_endpgm
)" +
         kernel_end_with(
             {.name = "one_by_one", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 8, .max_items = 128},
             {"global_buffer"});
}

/// gfx900. out[0] = 3 * 10 + 5: a function address that lives in s[16:17] across calls of a function which
/// calls itself, so that all its callers share a copy; among more functions than an unknown call is compared
/// with.
inline std::string call_after_shared_calls() {
  std::string text = R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .macro address register, function
          s_getpc_b64 \register
1:
          s_add_u32 \register[0], \register[0], \function-1b
          s_addc_u32 \register[1], \register[1], 0
        .endm
        .globl  caller
        .p2align 8
        .type   caller,@function
caller:
        s_load_dwordx2 s[8:9], s[0:1], 0
        s_mov_b32 s12, 0
        s_mov_b32 s20, 2
        s_getpc_b64 s[16:17]
.Lpc0:  s_add_u32 s16, s16, f3-.Lpc0
        s_addc_u32 s17, s17, 0
        s_getpc_b64 s[18:19]
.Lpc1:  s_add_u32 s18, s18, down-.Lpc1
        s_addc_u32 s19, s19, 0
        s_swappc_b64 s[30:31], s[18:19]
        s_swappc_b64 s[30:31], s[16:17]
        s_mov_b32 s20, 2
        s_getpc_b64 s[16:17]
.Lpc2:  s_add_u32 s16, s16, f5-.Lpc2
        s_addc_u32 s17, s17, 0
        s_swappc_b64 s[30:31], s[18:19]
        s_swappc_b64 s[30:31], s[16:17]
        v_mov_b32 v0, s12
        v_mov_b32 v1, 0
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v0, s[8:9]
        s_endpgm
.Lsize: .size caller, .Lsize-caller
        .type   down,@function
down:                                   // calls itself while s20 counts down
        s_sub_u32 s20, s20, 1
        s_cmp_eq_u32 s20, 0
        s_cbranch_scc1 .Lback
        s_mov_b64 s[26:27], s[30:31]
        s_swappc_b64 s[30:31], s[18:19]
        s_mov_b64 s[30:31], s[26:27]
.Lback: s_setpc_b64 s[30:31]
.Ldown: .size down, .Ldown-down
)";
  for (int i = 0; i < 70; ++i) {
    const std::string name = "f" + std::to_string(i);
    text += "        .type " + name + ",@function\n" + name +
            ": s_mul_i32 s12, s12, 10\n  s_add_u32 s12, s12, " + std::to_string(i) +
            "\n  s_setpc_b64 s[30:31]\n.L" + name + ": .size " + name + ", .L" + name + "-" + name + "\n";
  }
  text += R"(
        .rodata
        .p2align 6
        .amdhsa_kernel caller
          .amdhsa_kernarg_size 8
          .amdhsa_user_sgpr_kernarg_segment_ptr 1
          .amdhsa_next_free_vgpr 4
          .amdhsa_next_free_sgpr 32
        .end_amdhsa_kernel
        .amdgpu_metadata
---
amdhsa.version: [ 1, 1 ]
amdhsa.kernels:
  - .name: caller
    .symbol: caller.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
...
        .end_amdgpu_metadata
)";
  return text;
}

} // namespace lanewise::testing
