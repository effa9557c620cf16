// The kernel descriptor: what the command processor reads to start a kernel.
#pragma once

#include "abi/bytes.hpp"
#include "isa/inst.hpp"
#include "support/result.hpp"

namespace lanewise::abi {

/// AMDGPUUsage, "Kernel Descriptor" (code objects 3 and later, 64 bytes) and "amd_kernel_code_t" (version 2,
/// 256 bytes); both decode to this. Accessors name the fields of the registers as the vendor does.
struct KernelDescriptor {
  u32 group_segment_fixed_size = 0;   ///< bytes of LDS per workgroup
  u32 private_segment_fixed_size = 0; ///< bytes of scratch per work-item
  u32 kernarg_size = 0;               ///< bytes; 0 = unspecified
  i64 kernel_code_entry_byte_offset = 0;
  u32 compute_pgm_rsrc1 = 0, compute_pgm_rsrc2 = 0, compute_pgm_rsrc3 = 0;
  u16 kernel_code_properties = 0;

  // compute_pgm_rsrc1
  /// VGPRs allocated per work-item: granules of 4 on gfx6 to gfx9.
  [[nodiscard]] u32 vgprs() const { return (bits(compute_pgm_rsrc1, 0, 6) + 1) * 4; }
  /// SGPRs allocated per wave, VCC and the other special ones included: granules of 8, on gfx9 of 16 (the
  /// field is even).
  [[nodiscard]] u32 sgprs(isa::Target target) const {
    const u32 field = bits(compute_pgm_rsrc1, 6, 4);
    return target >= isa::Target::gfx900 ? (field / 2 + 1) * 16 : (field + 1) * 8;
  }
  [[nodiscard]] u32 priority() const { return bits(compute_pgm_rsrc1, 10, 2); }
  [[nodiscard]] u32 float_round_mode_32() const { return bits(compute_pgm_rsrc1, 12, 2); }
  [[nodiscard]] u32 float_round_mode_16_64() const { return bits(compute_pgm_rsrc1, 14, 2); }
  [[nodiscard]] u32 float_denorm_mode_32() const { return bits(compute_pgm_rsrc1, 16, 2); }
  [[nodiscard]] u32 float_denorm_mode_16_64() const { return bits(compute_pgm_rsrc1, 18, 2); }
  [[nodiscard]] bool enable_dx10_clamp() const { return rsrc1_bit(21); }
  [[nodiscard]] bool debug_mode() const { return rsrc1_bit(22); }
  [[nodiscard]] bool enable_ieee_mode() const { return rsrc1_bit(23); }
  [[nodiscard]] bool fp16_ovfl() const { return rsrc1_bit(26); } ///< gfx9

  // compute_pgm_rsrc2
  [[nodiscard]] bool enable_private_segment() const { return rsrc2_bit(0); }
  [[nodiscard]] u32 user_sgpr_count() const { return bits(compute_pgm_rsrc2, 1, 5); }
  [[nodiscard]] bool enable_trap_handler() const { return rsrc2_bit(6); }
  [[nodiscard]] bool enable_sgpr_workgroup_id(unsigned axis) const { return rsrc2_bit(7 + axis); }
  [[nodiscard]] bool enable_sgpr_workgroup_info() const { return rsrc2_bit(10); }
  [[nodiscard]] u32 enable_vgpr_workitem_id() const { return bits(compute_pgm_rsrc2, 11, 2); }
  [[nodiscard]] u32 granulated_lds_size() const { return bits(compute_pgm_rsrc2, 15, 9); }
  [[nodiscard]] u32 exception_enables() const { return bits(compute_pgm_rsrc2, 24, 7); }

  // kernel_code_properties
  [[nodiscard]] bool enable_sgpr_private_segment_buffer() const { return property(0); }
  [[nodiscard]] bool enable_sgpr_dispatch_ptr() const { return property(1); }
  [[nodiscard]] bool enable_sgpr_queue_ptr() const { return property(2); }
  [[nodiscard]] bool enable_sgpr_kernarg_segment_ptr() const { return property(3); }
  [[nodiscard]] bool enable_sgpr_dispatch_id() const { return property(4); }
  [[nodiscard]] bool enable_sgpr_flat_scratch_init() const { return property(5); }
  [[nodiscard]] bool enable_sgpr_private_segment_size() const { return property(6); }
  /// Version 2 only: user SGPRs with the number of workgroups per axis. Always off in later versions.
  [[nodiscard]] bool enable_sgpr_grid_workgroup_count(unsigned axis) const { return property(7 + axis); }
  [[nodiscard]] bool uses_dynamic_stack() const { return property(11); }

private:
  [[nodiscard]] bool rsrc1_bit(unsigned i) const { return (compute_pgm_rsrc1 >> i) & 1; }
  [[nodiscard]] bool rsrc2_bit(unsigned i) const { return (compute_pgm_rsrc2 >> i) & 1; }
  [[nodiscard]] bool property(unsigned i) const { return (kernel_code_properties >> i) & 1; }
};

inline constexpr u64 kDescriptorBytes = 64;  ///< versions 3 and later
inline constexpr u64 kKernelCodeBytes = 256; ///< amd_kernel_code_t of version 2

/// Decodes a descriptor of versions 3 and later; `bytes` holds at least kDescriptorBytes. Fails on wave32.
Result<KernelDescriptor> decode_descriptor(Bytes bytes);

/// Decodes an amd_kernel_code_t; `bytes` holds at least kKernelCodeBytes. Fails on versions other than 1.x.
Result<KernelDescriptor> decode_kernel_code(Bytes bytes);

} // namespace lanewise::abi
