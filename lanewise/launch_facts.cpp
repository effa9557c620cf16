#include "lanewise/launch_facts.hpp"

#include "abi/initial_state.hpp"
#include "lanewise/images.hpp"
#include "runtime/wave.hpp"

#include <algorithm>
#include <span>

namespace lanewise {
namespace {

using abi::SgprRole;
using abi::ValueKind;
using translator::LaunchFacts;

/// What a grid counts as along an axis. What matters is where ids times sizes overflow: at 2^28 work-items,
/// offsets of 8-byte elements do as signed numbers, at 2^31 the ids.
constexpr std::array<u64, 2> kGridLimits = {u64{1} << 28, u64{1} << 31};

/// The largest workgroup id in a grid of `items` work-items along an axis, in workgroups of `size`.
u32 last_group_id(u64 items, u32 size) { return static_cast<u32>(items / size - 1); }

/// The largest workgroup id of the launches that share a translation with one of `count` workgroups of `size`
/// work-items along an axis.
u32 max_group_id(u64 count, u32 size) {
  if (count == 1) return 0;
  for (const u64 limit : kGridLimits)
    if (count * size <= limit) return last_group_id(limit, size);
  return ~0u;
}

/// What is told of the number of work-items: 0 for grids whose output stays in the caches, and a few steps
/// above that.
u64 min_items(const abi::DispatchShape& shape) {
  const u64 items = u64{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  for (const unsigned step : {22, 21, 20, 19, 18})
    if (items >> step != 0) return u64{1} << step;
  return 0;
}

/// Whether workgroups may be lanes of a wave. Registers that count workgroups or waves would be wrong in it.
bool packs(const abi::SgprLayout& layout, const abi::DispatchShape& shape) {
  return shape.items() == 1 && layout.find(SgprRole::WorkgroupIdX) >= 0 &&
         layout.find(SgprRole::GridWorkgroupCountX) < 0 && layout.find(SgprRole::WorkgroupInfo) < 0;
}

std::array<i32, 3> group_id_sgprs(const abi::SgprLayout& layout) {
  return {layout.find(SgprRole::WorkgroupIdX), layout.find(SgprRole::WorkgroupIdY),
          layout.find(SgprRole::WorkgroupIdZ)};
}

std::vector<u32> sgpr_max(const abi::SgprLayout& layout, const abi::DispatchShape& shape) {
  constexpr u32 kMaxAddressHi = 0xffff; // x86-64 Linux: user space ends below 2^48
  std::vector<u32> max(layout.count, ~0u);
  for (u32 i = 0; i < layout.count; ++i) {
    const SgprRole role = layout.sgprs[i].role;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (role == static_cast<SgprRole>(static_cast<unsigned>(SgprRole::WorkgroupIdX) + axis))
        max[i] = max_group_id(shape.workgroups(axis), shape.workgroup[axis]);
    if (role == SgprRole::DispatchPtrHi || role == SgprRole::QueuePtrHi || role == SgprRole::KernargPtrHi)
      max[i] = kMaxAddressHi;
  }
  return max;
}

/// Collects bytes, since hidden arguments may be smaller than a dword.
class KnownBytes {
public:
  explicit KnownBytes(std::size_t bytes) : known_(bytes, false) {}
  void add(u64 offset, u64 size) {
    for (u64 at = offset; at < offset + size && at < known_.size(); ++at) known_[at] = true;
  }
  /// The dwords of `memory` of which all bytes are known.
  void put_into(LaunchFacts& facts, std::optional<u32> pointer_sgpr,
                std::span<const std::byte> memory) const {
    if (!pointer_sgpr) return;
    for (std::size_t at = 0; at + 4 <= known_.size(); at += 4)
      if (known_[at] && known_[at + 1] && known_[at + 2] && known_[at + 3])
        facts.dwords.push_back({*pointer_sgpr, static_cast<u32>(at),
                                load_le<u32>(reinterpret_cast<const u8*>(memory.data() + at))});
  }

private:
  std::vector<bool> known_;
};

/// Whether launches of the same class pass the same value.
bool is_steady(const abi::Argument& argument, const abi::DispatchShape& shape,
               std::span<const std::byte> value) {
  const auto axis = [&](ValueKind x) {
    return static_cast<unsigned>(argument.kind) - static_cast<unsigned>(x);
  };
  switch (argument.kind) {
  case ValueKind::HiddenGlobalOffsetX:
  case ValueKind::HiddenGlobalOffsetY:
  case ValueKind::HiddenGlobalOffsetZ:
    return std::all_of(value.begin(), value.end(), [](std::byte b) { return b == std::byte{0}; });
  case ValueKind::HiddenRemainderX:
  case ValueKind::HiddenRemainderY:
  case ValueKind::HiddenRemainderZ: return shape.remainder(axis(ValueKind::HiddenRemainderX)) == 0;
  case ValueKind::HiddenGroupSizeX:
  case ValueKind::HiddenGroupSizeY:
  case ValueKind::HiddenGroupSizeZ:
  case ValueKind::HiddenGridDims:
  case ValueKind::HiddenPrivateBase:
  case ValueKind::HiddenSharedBase: return true;
  default: return false;
  }
}

/// Where the pointer is, if whole, in the initial SGPRs.
std::optional<u32> pointer_sgpr(const abi::SgprLayout& layout, SgprRole lo, SgprRole hi) {
  const int first = layout.find(lo);
  if (first < 0 || layout.find(hi) != first + 1) return std::nullopt;
  return static_cast<u32>(first);
}

constexpr u32 kAxes = 3;

void add_kernarg(const abi::Kernel& kernel, const abi::DispatchShape& shape, const abi::HiddenValues& hidden,
                 std::span<const std::byte> given, const abi::SgprLayout& layout, LaunchFacts& facts) {
  if (!kernel.has_metadata) return;
  std::vector<std::byte> kernarg(given.begin(), given.end());
  kernarg.resize(abi::kernarg_segment_size(kernel));
  if (given.empty()) abi::place_hidden(kernel, shape, hidden, 0, kernarg);
  KnownBytes known(kernarg.size());
  for (const abi::Argument& argument : kernel.arguments)
    if (is_hidden(argument.kind) &&
        is_steady(argument, shape, std::span(kernarg).subspan(argument.offset, argument.size)))
      known.add(argument.offset, argument.size);
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  known.put_into(facts, pointer, kernarg);
  for (const abi::Argument& argument : kernel.arguments)
    if (const auto axis = static_cast<u32>(argument.kind) - static_cast<u32>(ValueKind::HiddenBlockCountX);
        pointer && axis < kAxes)
      facts.grid.push_back({*pointer, static_cast<u32>(argument.offset), axis, true});
}

void add_pointers(const abi::Kernel& kernel, const abi::SgprLayout& layout,
                  std::span<const std::byte> kernarg, LaunchFacts& facts) {
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  if (!pointer) return;
  for (const abi::Argument& argument : kernel.arguments) {
    if (argument.kind != ValueKind::GlobalBuffer || argument.size != 8) continue;
    if (argument.offset + u64{8} <= kernarg.size()) {
      const u64 address = load_le<u64>(reinterpret_cast<const u8*>(kernarg.data() + argument.offset));
      if (address % translator::kAlignedPointer != 0 || address >= translator::kPointerEnd) continue;
    }
    facts.pointers.push_back({*pointer, argument.offset});
  }
}

void add_local_memory(const abi::Kernel& kernel, const abi::SgprLayout& layout,
                      std::span<const std::byte> kernarg, u32 dynamic_bytes, LaunchFacts& facts) {
  if (dynamic_bytes == 0) return;
  facts.lds_bytes = kernel.resources.group_segment_fixed_size + dynamic_bytes;
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  for (const abi::Argument& argument : kernel.arguments)
    if (pointer && argument.kind == ValueKind::DynamicSharedPointer && argument.size == 4 &&
        argument.offset % 4 == 0 && argument.offset + u64{4} <= kernarg.size())
      facts.lds_pointers.push_back(
          {*pointer, static_cast<u32>(argument.offset),
           load_le<u32>(reinterpret_cast<const u8*>(kernarg.data() + argument.offset))});
}

void add_packet(const abi::DispatchShape& shape, const abi::SgprLayout& layout, LaunchFacts& facts) {
  const abi::KernelDispatchPacket packet = dispatch_packet(shape);
  KnownBytes known(sizeof packet);
  known.add(0, offsetof(abi::KernelDispatchPacket, grid_size_x));
  const auto pointer = pointer_sgpr(layout, SgprRole::DispatchPtrLo, SgprRole::DispatchPtrHi);
  known.put_into(facts, pointer, std::as_bytes(std::span(&packet, 1)));
  for (u32 axis = 0; pointer && axis < kAxes; ++axis)
    facts.grid.push_back({*pointer,
                          static_cast<u32>(offsetof(abi::KernelDispatchPacket, grid_size_x)) + 4 * axis, axis,
                          false});
}

/// The kernarg segment is allocated and the packet made for each launch.
void add_readable(const abi::Kernel& kernel, const abi::SgprLayout& layout, LaunchFacts& facts) {
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  if (pointer && kernel.has_metadata)
    facts.readable.push_back({*pointer, static_cast<u32>(abi::kernarg_segment_size(kernel))});
  if (const auto packet = pointer_sgpr(layout, SgprRole::DispatchPtrLo, SgprRole::DispatchPtrHi))
    facts.readable.push_back({*packet, sizeof(abi::KernelDispatchPacket)});
}

/// Dwords of a descriptor that programs rarely change: not where an image is, nor its size. Words 1, 3 and 6
/// of a T# have formats, layout and type, those of a V# the stride and the format; a texture's S# begins
/// at 12. Behind an image's descriptor the format is told again (abi/image.hpp).
std::span<const u32> steady_dwords(Argument::Kind kind) {
  static constexpr std::array<u32, 5> kImage = {1, 3, 6, 8, 9};
  static constexpr std::array<u32, 4> kSampler = {0, 1, 2, 3};
  static constexpr std::array<u32, 9> kTexture = {1, 3, 6, 8, 9, 12, 13, 14, 15};
  switch (kind) {
  case Argument::Kind::Image:
  case Argument::Kind::Surface: return kImage;
  case Argument::Kind::Sampler: return kSampler;
  case Argument::Kind::Texture: return kTexture;
  default: return {};
  }
}

constexpr u32 kPrivateHigh = static_cast<u32>(runtime::kPrivateAperture >> 32);
constexpr u32 kSharedHigh = static_cast<u32>(runtime::kSharedAperture >> 32);

/// Where code before gfx900 finds the apertures: in the queue, or among the hidden arguments.
void add_queue(const abi::Kernel& kernel, const abi::SgprLayout& layout, LaunchFacts& facts) {
  // A pointer to the queue in memory would be another way to it.
  facts.knows_apertures =
      std::none_of(kernel.arguments.begin(), kernel.arguments.end(),
                   [](const abi::Argument& a) { return a.kind == ValueKind::HiddenQueuePtr; });
  const auto pointer = pointer_sgpr(layout, SgprRole::QueuePtrLo, SgprRole::QueuePtrHi);
  if (!pointer) return;
  facts.dwords.push_back({*pointer, offsetof(abi::AmdQueue, group_segment_aperture_base_hi), kSharedHigh});
  facts.dwords.push_back({*pointer, offsetof(abi::AmdQueue, private_segment_aperture_base_hi), kPrivateHigh});
}

void add_hidden_apertures(const abi::Kernel& kernel, const abi::SgprLayout& layout, LaunchFacts& facts) {
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  for (const abi::Argument& argument : kernel.arguments) {
    const bool is_private = argument.kind == ValueKind::HiddenPrivateBase;
    if (pointer && (is_private || argument.kind == ValueKind::HiddenSharedBase) && argument.size == 4)
      facts.dwords.push_back(
          {*pointer, static_cast<u32>(argument.offset), is_private ? kPrivateHigh : kSharedHigh});
  }
}

/// Of the workgroup's size, or the number of dimensions.
bool tells_block(ValueKind kind) {
  switch (kind) {
  case ValueKind::HiddenGroupSizeX:
  case ValueKind::HiddenGroupSizeY:
  case ValueKind::HiddenGroupSizeZ:
  case ValueKind::HiddenGridDims: return true;
  default: return false;
  }
}

/// Forgets what dwords have of the workgroup's size.
void forget_block(const abi::Kernel& kernel, const abi::SgprLayout& layout, LaunchFacts& facts) {
  const auto packet = pointer_sgpr(layout, SgprRole::DispatchPtrLo, SgprRole::DispatchPtrHi);
  const auto kernarg = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  std::erase_if(facts.dwords, [&](const translator::KnownDword& dword) {
    if (packet == dword.pointer_sgpr) return true;
    return kernarg == dword.pointer_sgpr &&
           std::ranges::any_of(kernel.arguments, [&](const abi::Argument& argument) {
             return tells_block(argument.kind) && dword.offset + 4 > argument.offset &&
                    dword.offset < argument.offset + argument.size;
           });
  });
}

} // namespace

abi::HiddenValues steady_hidden_values() {
  abi::HiddenValues hidden;
  hidden.private_base = kPrivateHigh;
  hidden.shared_base = kSharedHigh;
  return hidden;
}

abi::KernelDispatchPacket dispatch_packet(const abi::DispatchShape& shape) {
  abi::KernelDispatchPacket packet;
  packet.header = abi::kPacketTypeKernelDispatch;
  packet.setup = static_cast<u16>(shape.dimensions());
  packet.workgroup_size_x = static_cast<u16>(shape.workgroup[0]);
  packet.workgroup_size_y = static_cast<u16>(shape.workgroup[1]);
  packet.workgroup_size_z = static_cast<u16>(shape.workgroup[2]);
  packet.grid_size_x = shape.grid[0];
  packet.grid_size_y = shape.grid[1];
  packet.grid_size_z = shape.grid[2];
  return packet;
}

LaunchFacts general_facts(const abi::Kernel& kernel, isa::Target target) {
  LaunchFacts facts;
  const abi::SgprLayout layout = abi::sgpr_layout(kernel.descriptor, target);
  add_hidden_apertures(kernel, layout, facts);
  add_readable(kernel, layout, facts);
  add_queue(kernel, layout, facts);
  facts.workgroup = kernel.resources.reqd_workgroup_size;
  if (facts.workgroup[0] == 0 || facts.workgroup[1] == 0 || facts.workgroup[2] == 0) facts.workgroup = {};
  facts.ragged.fill(!kernel.resources.uniform_work_group_size);
  return facts;
}

LaunchFacts launch_facts(const abi::Kernel& kernel, isa::Target target, const abi::DispatchShape& shape,
                         const abi::HiddenValues& hidden, std::span<const std::byte> kernarg,
                         u32 dynamic_lds_bytes) {
  const abi::SgprLayout layout = abi::sgpr_layout(kernel.descriptor, target);
  LaunchFacts facts;
  facts.workgroup = shape.workgroup;
  for (unsigned axis = 0; axis < 3; ++axis) facts.ragged[axis] = shape.remainder(axis) != 0;
  facts.sgpr_max = sgpr_max(layout, shape);
  facts.min_items = min_items(shape);
  facts.packs = packs(layout, shape);
  facts.group_id_sgpr = group_id_sgprs(layout);
  add_kernarg(kernel, shape, hidden, kernarg, layout, facts);
  add_pointers(kernel, layout, kernarg, facts);
  add_local_memory(kernel, layout, kernarg, dynamic_lds_bytes, facts);
  add_packet(shape, layout, facts);
  add_readable(kernel, layout, facts);
  add_queue(kernel, layout, facts);
  return facts;
}

std::vector<translator::KnownDword> values_passed(const abi::Kernel& kernel, isa::Target target,
                                                  std::span<const std::byte> kernarg) {
  constexpr std::size_t kMaxDwords = 64;
  const abi::SgprLayout layout = abi::sgpr_layout(kernel.descriptor, target);
  LaunchFacts facts;
  if (!kernel.has_metadata) return {};
  KnownBytes known(std::min(kernarg.size(), abi::kernarg_segment_size(kernel)));
  for (const abi::Argument& argument : kernel.arguments)
    if (argument.kind == ValueKind::ByValue) known.add(argument.offset, argument.size);
  known.put_into(facts, pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi), kernarg);
  if (facts.dwords.size() > kMaxDwords) facts.dwords.clear();
  return facts.dwords;
}

std::vector<PassedDescriptor> descriptors_among(const abi::Kernel& kernel, isa::Target target,
                                                std::span<const Argument> arguments) {
  std::vector<PassedDescriptor> found;
  std::size_t next = 0;
  for (const abi::Argument& declared : kernel.arguments) {
    if (is_hidden(declared.kind)) continue;
    if (next == arguments.size()) break;
    const Argument& argument = arguments[next++];
    if (!steady_dwords(argument.kind()).empty())
      found.push_back({static_cast<u32>(declared.offset), argument.kind(),
                       reinterpret_cast<const u32*>(object_for(argument, target))});
  }
  return found;
}

std::vector<translator::DescriptorDword> descriptors_passed(const abi::Kernel& kernel, isa::Target target,
                                                            std::span<const PassedDescriptor> descriptors) {
  const abi::SgprLayout layout = abi::sgpr_layout(kernel.descriptor, target);
  const auto pointer = pointer_sgpr(layout, SgprRole::KernargPtrLo, SgprRole::KernargPtrHi);
  std::vector<translator::DescriptorDword> known;
  if (!pointer || !kernel.has_metadata) return known;
  for (const PassedDescriptor& d : descriptors)
    for (const u32 dword : steady_dwords(d.kind))
      known.push_back({*pointer, d.offset, 4 * dword, d.object[dword]});
  return known;
}

translator::LaunchFacts for_any_local_memory(translator::LaunchFacts facts) {
  facts.descriptors.clear();
  facts.lds_pointers.clear();
  facts.lds_bytes = 0;
  return facts;
}

translator::LaunchFacts for_any_grid(translator::LaunchFacts facts) {
  facts = for_any_local_memory(std::move(facts));
  facts.min_items = 0;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (const i32 sgpr = facts.group_id_sgpr[axis]; sgpr >= 0) {
      u32& max = facts.sgpr_max[static_cast<u32>(sgpr)];
      max = std::max(max, last_group_id(kGridLimits.front(), facts.workgroup[axis]));
    }
  return facts;
}

std::optional<LaunchFacts> for_any_block(const abi::Kernel& kernel, isa::Target target,
                                         const LaunchFacts& launch) {
  constexpr u32 kRows = 16; // as many work-items as the widest gang has lanes
  LaunchFacts facts = for_any_local_memory(launch);
  if (!facts.full_waves() || facts.workgroup[0] % kRows != 0) return std::nullopt;
  facts.rows_only = facts.workgroup[1] == 1 && facts.workgroup[2] == 1;
  facts.row_multiple = facts.rows_only ? kWaveSize : kRows;
  facts.workgroup = {};
  facts.min_items = 0;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (const i32 sgpr = facts.group_id_sgpr[axis]; sgpr >= 0) {
      u32& max = facts.sgpr_max[static_cast<u32>(sgpr)];
      const u32 most = last_group_id(kGridLimits.front(), axis == 0 ? facts.row_multiple : 1);
      if (max > most) return std::nullopt;
      max = most;
    }
  forget_block(kernel, abi::sgpr_layout(kernel.descriptor, target), facts);
  return facts;
}

} // namespace lanewise
