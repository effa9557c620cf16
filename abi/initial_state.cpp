#include "abi/initial_state.hpp"

#include <algorithm>

namespace lanewise::abi {
namespace {

using isa::Target;

constexpr std::string_view kRoleNames[] = {
    "undefined",
    "private_segment_buffer0",
    "private_segment_buffer1",
    "private_segment_buffer2",
    "private_segment_buffer3",
    "dispatch_ptr_lo",
    "dispatch_ptr_hi",
    "queue_ptr_lo",
    "queue_ptr_hi",
    "kernarg_segment_ptr_lo",
    "kernarg_segment_ptr_hi",
    "dispatch_id_lo",
    "dispatch_id_hi",
    "flat_scratch_init_lo",
    "flat_scratch_init_hi",
    "private_segment_size",
    "grid_workgroup_count_x",
    "grid_workgroup_count_y",
    "grid_workgroup_count_z",
    "workgroup_id_x",
    "workgroup_id_y",
    "workgroup_id_z",
    "workgroup_info",
    "private_segment_wavefront_offset",
};
static_assert(std::size(kRoleNames) == static_cast<unsigned>(SgprRole::WaveScratchOffset) + 1);

constexpr SgprRole operator+(SgprRole role, unsigned n) {
  return static_cast<SgprRole>(static_cast<unsigned>(role) + n);
}

bool has_offset_flat_scratch(Target target) { return target == Target::gfx700 || target == Target::gfx803; }

/// Fields of V# words 1 and 3 (Vega ISA guide, "Buffer Resource Descriptor"; Sea Islands and Volcanic Islands
/// guides).
constexpr u32 kSwizzleEnable = 1u << 31;
constexpr u32 kDstSelXyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9;
constexpr u32 kNumFormatUint = 4 << 12, kDataFormat32 = 4 << 15;
constexpr u32 kElementSize4 = 1 << 19, kIndexStride64 = 3 << 21, kAddTidEnable = 1 << 23;

u32 word3(Target target) {
  u32 word = kDstSelXyzw | kIndexStride64 | kAddTidEnable;
  if (target <= Target::gfx803) word |= kElementSize4;
  if (target <= Target::gfx700) word |= kNumFormatUint | kDataFormat32;
  return word;
}

/// Marks what is known of the V#, and of Flat Scratch Init where its offset is 0 by choice of the hidden
/// base.
void set_known(InitialSgpr& sgpr, Target target) {
  const auto know = [&](u32 mask, u32 value) { sgpr.known_mask = mask, sgpr.value = value & mask; };
  const auto words = private_segment_buffer(target, 0).words;
  switch (sgpr.role) {
  case SgprRole::PrivateSegmentBuffer1: know(0xffff'0000u, words[1]); break;
  case SgprRole::PrivateSegmentBuffer2: know(~0u, words[2]); break;
  case SgprRole::PrivateSegmentBuffer3: know(~0u, words[3]); break;
  case SgprRole::FlatScratchInitLo:
    if (has_offset_flat_scratch(target)) know(~0u, 0);
    break;
  default: break;
  }
}

struct UserData {
  bool enabled;
  SgprRole first;
  unsigned count;
};

/// A workgroup's number of waves and whether this is its first: {first_wavefront, 14'b0,
/// ordered_append_term[10:0], waves[5:0]}.
u32 workgroup_info(u32 waves, u32 wave) { return (wave == 0 ? 1u << 31 : 0) | (waves & 63); }

/// The value of an SGPR in one wave.
u32 value_of(SgprRole role, Target target, const DispatchInfo& d, const std::array<u32, 3>& id, u32 wave,
             u64 scratch_base, u64 wave_offset) {
  const auto lo = [](u64 x) { return static_cast<u32>(x); };
  const auto hi = [](u64 x) { return static_cast<u32>(x >> 32); };
  const auto index = [&](SgprRole first) {
    return static_cast<unsigned>(role) - static_cast<unsigned>(first);
  };
  switch (role) {
  case SgprRole::Undefined: return 0;
  case SgprRole::PrivateSegmentBuffer0:
  case SgprRole::PrivateSegmentBuffer1:
  case SgprRole::PrivateSegmentBuffer2:
  case SgprRole::PrivateSegmentBuffer3:
    return private_segment_buffer(target, scratch_base).words[index(SgprRole::PrivateSegmentBuffer0)];
  case SgprRole::DispatchPtrLo: return lo(d.dispatch_ptr);
  case SgprRole::DispatchPtrHi: return hi(d.dispatch_ptr);
  case SgprRole::QueuePtrLo: return lo(d.queue_ptr);
  case SgprRole::QueuePtrHi: return hi(d.queue_ptr);
  case SgprRole::KernargPtrLo: return lo(d.kernarg_ptr);
  case SgprRole::KernargPtrHi: return hi(d.kernarg_ptr);
  case SgprRole::DispatchIdLo: return lo(d.dispatch_id);
  case SgprRole::DispatchIdHi: return hi(d.dispatch_id);
  case SgprRole::FlatScratchInitLo: return has_offset_flat_scratch(target) ? 0 : lo(scratch_base);
  case SgprRole::FlatScratchInitHi:
    return has_offset_flat_scratch(target) ? d.scratch_lane_bytes : hi(scratch_base);
  case SgprRole::PrivateSegmentSize: return d.scratch_lane_bytes;
  case SgprRole::GridWorkgroupCountX:
  case SgprRole::GridWorkgroupCountY:
  case SgprRole::GridWorkgroupCountZ: return d.shape.workgroups(index(SgprRole::GridWorkgroupCountX));
  case SgprRole::WorkgroupIdX:
  case SgprRole::WorkgroupIdY:
  case SgprRole::WorkgroupIdZ: return id[index(SgprRole::WorkgroupIdX)];
  case SgprRole::WorkgroupInfo: return workgroup_info(d.shape.waves_of(id), wave);
  case SgprRole::WaveScratchOffset: return lo(wave_offset);
  }
  return 0;
}

} // namespace

std::string_view to_string(SgprRole role) { return kRoleNames[static_cast<unsigned>(role)]; }

int SgprLayout::find(SgprRole role) const {
  for (u32 i = 0; i < count; ++i)
    if (sgprs[i].role == role) return static_cast<int>(i);
  return -1;
}

SgprLayout sgpr_layout(const KernelDescriptor& d, Target target) {
  const UserData user[] = {
      {d.enable_sgpr_private_segment_buffer(), SgprRole::PrivateSegmentBuffer0, 4},
      {d.enable_sgpr_dispatch_ptr(), SgprRole::DispatchPtrLo, 2},
      {d.enable_sgpr_queue_ptr(), SgprRole::QueuePtrLo, 2},
      {d.enable_sgpr_kernarg_segment_ptr(), SgprRole::KernargPtrLo, 2},
      {d.enable_sgpr_dispatch_id(), SgprRole::DispatchIdLo, 2},
      {d.enable_sgpr_flat_scratch_init(), SgprRole::FlatScratchInitLo, 2},
      {d.enable_sgpr_private_segment_size(), SgprRole::PrivateSegmentSize, 1},
      {d.enable_sgpr_grid_workgroup_count(0), SgprRole::GridWorkgroupCountX, 1},
      {d.enable_sgpr_grid_workgroup_count(1), SgprRole::GridWorkgroupCountY, 1},
      {d.enable_sgpr_grid_workgroup_count(2), SgprRole::GridWorkgroupCountZ, 1},
  };
  const UserData system[] = {
      {d.enable_sgpr_workgroup_id(0), SgprRole::WorkgroupIdX, 1},
      {d.enable_sgpr_workgroup_id(1), SgprRole::WorkgroupIdY, 1},
      {d.enable_sgpr_workgroup_id(2), SgprRole::WorkgroupIdZ, 1},
      {d.enable_sgpr_workgroup_info(), SgprRole::WorkgroupInfo, 1},
      {d.enable_private_segment(), SgprRole::WaveScratchOffset, 1},
  };
  SgprLayout layout;
  // The command processor loads user_sgpr_count registers, 16 at most; what is enabled beyond that gets no
  // register.
  const u32 user_count = std::min(d.user_sgpr_count(), kMaxUserSgprs);
  u32 next = 0;
  for (const auto& data : user)
    for (unsigned i = 0; data.enabled && i < data.count && next < user_count; ++i)
      layout.sgprs[next++].role = data.first + i;
  next = user_count;
  for (const auto& data : system)
    if (data.enabled) layout.sgprs[next++].role = data.first;
  layout.count = next;
  for (auto& sgpr : layout.sgprs) set_known(sgpr, target);
  return layout;
}

PrivateSegmentBuffer private_segment_buffer(Target target, u64 base) {
  return {{static_cast<u32>(base), static_cast<u32>(bits(base, 32, 16)) | kSwizzleEnable, 0xffff'ffffu,
           word3(target)}};
}

u32 scratch_lane_bytes(const KernelDescriptor& descriptor, u32 extra) {
  const u64 bytes = align_up(u64{descriptor.private_segment_fixed_size} + extra, u64{4});
  return static_cast<u32>(std::min<u64>(bytes, 0xffff'fffcu));
}

u64 flat_scratch_value(Target target, u64 scratch_base, u64 wave_offset, u32 lane_bytes) {
  if (target == Target::gfx600) return 0;
  if (has_offset_flat_scratch(target)) return lane_bytes | (wave_offset >> 8) << 32;
  return scratch_base + wave_offset;
}

u32 initial_mode(const KernelDescriptor& d, Target target) {
  u32 mode = bits(d.compute_pgm_rsrc1, 12, 8); // FLOAT_MODE: rounding and denormals in MODE's own layout
  mode |= u32{d.enable_dx10_clamp()} << 8 | u32{d.enable_ieee_mode()} << 9 | u32{d.debug_mode()} << 11;
  mode |= d.exception_enables() << 12;
  if (target >= Target::gfx900) mode |= u32{d.fp16_ovfl()} << 23;
  return mode;
}

InitialStates::InitialStates(const KernelDescriptor& descriptor, Target target, const DispatchInfo& dispatch)
    : dispatch_(dispatch), target_(target), layout_(sgpr_layout(descriptor, target)),
      vgpr_count_(1 + std::min(descriptor.enable_vgpr_workitem_id(), 2u)),
      mode_(initial_mode(descriptor, target)) {
  for (unsigned axis = 0; axis < 3; ++axis)
    group_id_sgpr_[axis] = static_cast<i8>(layout_.find(SgprRole::WorkgroupIdX + axis));
}

WaveInit InitialStates::of(const std::array<u32, 3>& id, u32 wave, u64 scratch_base, u64 wave_offset) const {
  assert(wave < dispatch_.shape.waves_of(id) && wave_offset % 256 == 0);
  WaveInit init;
  init.sgpr_count = layout_.count;
  init.group_id_sgpr = group_id_sgpr_;
  for (u32 i = 0; i < layout_.count; ++i)
    init.sgpr[i] = value_of(layout_.sgprs[i].role, target_, dispatch_, id, wave, scratch_base, wave_offset);
  const auto size = dispatch_.shape.size_of(id);
  const u32 first = wave * kWaveSize;
  init.lanes = std::min(kWaveSize, dispatch_.shape.items_of(id) - first);
  init.exec = init.lanes == 64 ? ~u64{0} : (u64{1} << init.lanes) - 1;
  init.vgpr_count = vgpr_count_;
  const bool counts = dispatch_.shape.items() > 1;
  u32 ids[3] = {first % size[0], first / size[0] % size[1], first / size[0] / size[1]};
  for (u32 lane = 0; lane < kWaveSize; ++lane) {
    for (u32 i = 0; i < init.vgpr_count; ++i) init.vgpr[i][lane] = ids[i];
    ids[0] += counts;
    if (lane + 1 >= init.lanes || ids[0] < size[0]) continue;
    ids[0] = 0;
    if (++ids[1] == size[1]) ids[1] = 0, ++ids[2];
  }
  init.mode = mode_;
  init.flat_scratch = flat_scratch_value(target_, scratch_base, wave_offset, dispatch_.scratch_lane_bytes);
  return init;
}

WaveInit initial_state(const KernelDescriptor& descriptor, Target target, const DispatchInfo& dispatch,
                       const std::array<u32, 3>& id, u32 wave, u64 wave_offset) {
  return InitialStates(descriptor, target, dispatch).of(id, wave, dispatch.scratch_base, wave_offset);
}

} // namespace lanewise::abi
