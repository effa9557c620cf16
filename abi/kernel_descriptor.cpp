#include "abi/kernel_descriptor.hpp"

#include <cstddef>

namespace lanewise::abi {
namespace {

// AMDGPUUsage, "Code Object V3 Kernel Descriptor".
struct RawDescriptor {
  u32 group_segment_fixed_size, private_segment_fixed_size, kernarg_size;
  u8 reserved0[4];
  i64 kernel_code_entry_byte_offset;
  u8 reserved1[20];
  u32 compute_pgm_rsrc3, compute_pgm_rsrc1, compute_pgm_rsrc2;
  u16 kernel_code_properties;
  u8 reserved2[6];
};
static_assert(sizeof(RawDescriptor) == kDescriptorBytes);
static_assert(offsetof(RawDescriptor, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(RawDescriptor, compute_pgm_rsrc3) == 44 &&
              offsetof(RawDescriptor, kernel_code_properties) == 56);

// AMDGPUUsage, "AMDGPU amd_kernel_code_t" (the part that is used here).
struct RawKernelCode {
  u32 version_major, version_minor;
  u16 machine_kind, machine_major, machine_minor, machine_stepping;
  i64 kernel_code_entry_byte_offset, kernel_code_prefetch_byte_offset;
  u64 kernel_code_prefetch_byte_size, max_scratch_backing_memory_byte_size;
  u32 compute_pgm_rsrc1, compute_pgm_rsrc2, code_properties;
  u32 workitem_private_segment_byte_size, workgroup_group_segment_byte_size, gds_segment_byte_size;
  u64 kernarg_segment_byte_size;
};
static_assert(offsetof(RawKernelCode, compute_pgm_rsrc1) == 48 &&
              offsetof(RawKernelCode, kernarg_segment_byte_size) == 72);

constexpr u16 kEnableMask = 0x7f, kGridCountMask = 0x380, kWave32 = 1 << 10, kDynamicStack = 1 << 11;
constexpr u32 kDynamicCallStackV2 = 1u << 20;

} // namespace

Result<KernelDescriptor> decode_descriptor(Bytes bytes) {
  const auto raw = read_at<RawDescriptor>(bytes, 0);
  if (!raw) return Error{ErrorCode::BadInput, "the kernel descriptor is truncated"};
  if (raw->kernel_code_properties & kWave32)
    return Error{ErrorCode::BadInput,
                 "the kernel descriptor asks for 32-lane waves, which gfx6 to gfx9 do not have"};
  KernelDescriptor d;
  d.group_segment_fixed_size = raw->group_segment_fixed_size;
  d.private_segment_fixed_size = raw->private_segment_fixed_size;
  d.kernarg_size = raw->kernarg_size;
  d.kernel_code_entry_byte_offset = raw->kernel_code_entry_byte_offset;
  d.compute_pgm_rsrc1 = raw->compute_pgm_rsrc1;
  d.compute_pgm_rsrc2 = raw->compute_pgm_rsrc2;
  d.compute_pgm_rsrc3 = raw->compute_pgm_rsrc3;
  d.kernel_code_properties = raw->kernel_code_properties & (kEnableMask | kDynamicStack);
  return d;
}

Result<KernelDescriptor> decode_kernel_code(Bytes bytes) {
  const auto raw = read_at<RawKernelCode>(bytes, 0);
  if (!raw || bytes.size() < kKernelCodeBytes)
    return Error{ErrorCode::BadInput, "amd_kernel_code_t is truncated"};
  if (raw->version_major != 1) return Error{ErrorCode::BadInput, "amd_kernel_code_t is not of version 1"};
  KernelDescriptor d;
  d.group_segment_fixed_size = raw->workgroup_group_segment_byte_size;
  d.private_segment_fixed_size = raw->workitem_private_segment_byte_size;
  d.kernarg_size = static_cast<u32>(raw->kernarg_segment_byte_size);
  d.kernel_code_entry_byte_offset = raw->kernel_code_entry_byte_offset;
  d.compute_pgm_rsrc1 = raw->compute_pgm_rsrc1;
  d.compute_pgm_rsrc2 = raw->compute_pgm_rsrc2;
  d.kernel_code_properties = static_cast<u16>(raw->code_properties & (kEnableMask | kGridCountMask));
  if (raw->code_properties & kDynamicCallStackV2) d.kernel_code_properties |= kDynamicStack;
  return d;
}

} // namespace lanewise::abi
