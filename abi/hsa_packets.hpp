// Structures in memory that kernels read through their dispatch and queue pointers.
#pragma once

#include "support/bits.hpp"

#include <cstddef>

namespace lanewise::abi {

/// hsa_kernel_dispatch_packet_t (HSA Runtime Programmer's Reference Manual 1.2, 2.6 "Architected Queuing
/// Language packets"). Kernels of code objects 2 to 4 read workgroup and grid sizes here.
struct alignas(64) KernelDispatchPacket {
  u16 header = 0;
  u16 setup = 0; ///< bits 1:0 = number of dimensions
  u16 workgroup_size_x = 1, workgroup_size_y = 1, workgroup_size_z = 1;
  u16 reserved0 = 0;
  u32 grid_size_x = 1, grid_size_y = 1, grid_size_z = 1; ///< work-items
  u32 private_segment_size = 0, group_segment_size = 0;  ///< bytes per work-item, per workgroup
  u64 kernel_object = 0;                                 ///< address of the kernel descriptor
  u64 kernarg_address = 0;
  u64 reserved2 = 0;
  u64 completion_signal = 0;
};
static_assert(sizeof(KernelDispatchPacket) == 64);
static_assert(offsetof(KernelDispatchPacket, workgroup_size_x) == 4 &&
              offsetof(KernelDispatchPacket, grid_size_x) == 12);
static_assert(offsetof(KernelDispatchPacket, private_segment_size) == 24);
static_assert(offsetof(KernelDispatchPacket, kernel_object) == 32 &&
              offsetof(KernelDispatchPacket, kernarg_address) == 40);
static_assert(offsetof(KernelDispatchPacket, completion_signal) == 56);

/// hsa_packet_type_t of a kernel dispatch, in bits 7:0 of the header.
inline constexpr u16 kPacketTypeKernelDispatch = 2;

/// amd_queue_t (ROCm Runtime, amd_hsa_queue.h), which begins with hsa_queue_t (HSA Runtime Programmer's
/// Reference Manual 1.2, 2.5). Kernels for gfx7 and gfx8 read the two aperture halves; the other fields exist
/// for the layout's sake.
struct alignas(64) AmdQueue {
  u32 type = 0, features = 0;
  u64 base_address = 0, doorbell_signal = 0;
  u32 size = 0, reserved_queue = 0;
  u64 id = 0;
  u32 reserved1[4] = {};
  u64 write_dispatch_id = 0;
  u32 group_segment_aperture_base_hi = 0;   ///< bits 63:32 of flat addresses that mean LDS
  u32 private_segment_aperture_base_hi = 0; ///< bits 63:32 of flat addresses that mean private memory
  u32 max_cu_id = 0, max_wave_id = 0;
  u64 max_legacy_doorbell_dispatch_id_plus_1 = 0;
  u32 legacy_doorbell_lock = 0;
  u32 reserved2[9] = {};
  u64 read_dispatch_id = 0;
  u32 read_dispatch_id_field_base_byte_offset = 0;
  u32 compute_tmpring_size = 0;
  u32 scratch_resource_descriptor[4] = {};
  u64 scratch_backing_memory_location = 0, scratch_backing_memory_byte_size = 0;
  u32 scratch_workitem_byte_size = 0;
  u32 queue_properties = 0;
  u32 reserved3[2] = {};
  u64 queue_inactive_signal = 0;
  u32 reserved4[14] = {};
};
static_assert(sizeof(AmdQueue) == 256);
static_assert(offsetof(AmdQueue, write_dispatch_id) == 56);
// AMDGPUUsage, "Flat Scratch": the offsets that compiled code has built in.
static_assert(offsetof(AmdQueue, group_segment_aperture_base_hi) == 0x40);
static_assert(offsetof(AmdQueue, private_segment_aperture_base_hi) == 0x44);
static_assert(offsetof(AmdQueue, read_dispatch_id) == 128 && offsetof(AmdQueue, compute_tmpring_size) == 140);
static_assert(offsetof(AmdQueue, scratch_backing_memory_location) == 160);
static_assert(offsetof(AmdQueue, queue_properties) == 180 &&
              offsetof(AmdQueue, queue_inactive_signal) == 192);

} // namespace lanewise::abi
