#include "abi/kernarg.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::abi {
namespace {

Error usage(std::string message) { return {ErrorCode::Usage, std::move(message)}; }

std::string describe(const Argument& argument, std::size_t index) {
  auto text = fmt::format("argument {}", index);
  if (!argument.name.empty()) text += fmt::format(" '{}'", argument.name);
  if (!argument.type_name.empty()) text += fmt::format(" ({})", argument.type_name);
  return text;
}

/// The value of a hidden argument; `dynamic_lds` counts all local memory that is not of fixed size.
u64 hidden_value(ValueKind kind, const DispatchShape& shape, const HiddenValues& hidden, u32 dynamic_lds) {
  const auto axis = [&](ValueKind x) { return static_cast<unsigned>(kind) - static_cast<unsigned>(x); };
  switch (kind) {
  case ValueKind::HiddenGlobalOffsetX:
  case ValueKind::HiddenGlobalOffsetY:
  case ValueKind::HiddenGlobalOffsetZ: return hidden.global_offset[axis(ValueKind::HiddenGlobalOffsetX)];
  case ValueKind::HiddenBlockCountX: // Whole workgroups only: the partial one is the remainder's.
  case ValueKind::HiddenBlockCountY:
  case ValueKind::HiddenBlockCountZ: {
    const auto i = axis(ValueKind::HiddenBlockCountX);
    return shape.grid[i] / shape.workgroup[i];
  }
  case ValueKind::HiddenGroupSizeX:
  case ValueKind::HiddenGroupSizeY:
  case ValueKind::HiddenGroupSizeZ: return shape.workgroup[axis(ValueKind::HiddenGroupSizeX)];
  case ValueKind::HiddenRemainderX:
  case ValueKind::HiddenRemainderY:
  case ValueKind::HiddenRemainderZ: return shape.remainder(axis(ValueKind::HiddenRemainderX));
  case ValueKind::HiddenGridDims: return shape.dimensions();
  case ValueKind::HiddenPrintfBuffer: return hidden.printf_buffer;
  case ValueKind::HiddenHostcallBuffer: return hidden.hostcall_buffer;
  case ValueKind::HiddenDefaultQueue: return hidden.default_queue;
  case ValueKind::HiddenCompletionAction: return hidden.completion_action;
  case ValueKind::HiddenMultigridSyncArg: return hidden.multigrid_sync_arg;
  case ValueKind::HiddenHeapV1: return hidden.heap_v1;
  case ValueKind::HiddenDynamicLdsSize: return dynamic_lds;
  case ValueKind::HiddenPrivateBase: return hidden.private_base;
  case ValueKind::HiddenSharedBase: return hidden.shared_base;
  case ValueKind::HiddenQueuePtr: return hidden.queue_ptr;
  default: return 0; // HiddenNone: space without meaning.
  }
}

/// Hands out local memory to arguments behind the kernel's own.
class LocalMemory {
public:
  explicit LocalMemory(const Kernel& kernel)
      : fixed_(kernel.descriptor.group_segment_fixed_size), end_(fixed_) {}

  Result<u32> allocate(u32 size, u32 alignment) {
    const u64 offset = align_up<u64>(end_, std::max(alignment, 1u));
    if (offset + size > kLimit)
      return usage(fmt::format("{} bytes of local memory are more than any target has", size));
    end_ = offset + size;
    return static_cast<u32>(offset);
  }
  [[nodiscard]] u32 dynamic_bytes() const { return static_cast<u32>(end_ - fixed_); }

private:
  static constexpr u64 kLimit = 1u << 30;
  u64 fixed_, end_;
};

/// Whether images and samplers are where the kernel takes them. Bytes of which nothing is known may be an
/// address of an object that the caller has made.
Result<void> check_kind(const Argument& argument, ArgumentValue::Kind given, const std::string& what) {
  using Kind = ArgumentValue::Kind;
  const bool takes_image = argument.kind == ValueKind::Image,
             takes_sampler = argument.kind == ValueKind::Sampler;
  if (given == Kind::Any) return {};
  if (takes_image && given != Kind::Image)
    return usage(what + " is an image: give image:GEOMETRY:SIZE:FORMAT:INIT");
  if (takes_sampler && given != Kind::Sampler)
    return usage(what + " is a sampler: give sampler:ADDRESSING,FILTER,COORDINATES");
  if (!takes_image && given == Kind::Image) return usage(what + " is no image");
  if (!takes_sampler && given == Kind::Sampler) return usage(what + " is no sampler");
  return {};
}

Result<void> place_explicit(const Argument& argument, const ArgumentValue& value, const std::string& what,
                            LocalMemory& local, std::vector<std::byte>& bytes) {
  std::byte* place = bytes.data() + argument.offset;
  if (argument.kind == ValueKind::DynamicSharedPointer) {
    if (!value.local_bytes) return usage(what + " is local memory: give its size, lds:BYTES");
    // The kernel's alignment wish, else that of the largest vector type.
    const u32 alignment = std::has_single_bit(argument.pointee_align) ? argument.pointee_align : 128;
    const auto offset = local.allocate(*value.local_bytes, alignment);
    if (!offset) return Error(offset.error()).in(what);
    std::memcpy(place, &*offset, std::min<std::size_t>(argument.size, sizeof *offset));
    return {};
  }
  if (value.local_bytes) return usage(what + " is not local memory");
  if (auto fits = check_kind(argument, value.kind, what); !fits) return fits;
  if (value.bytes.size() != argument.size)
    return usage(fmt::format("{} takes {} bytes, not {}", what, argument.size, value.bytes.size()));
  std::copy(value.bytes.begin(), value.bytes.end(), place);
  return {};
}

Result<KernargSegment> build_without_metadata(const Kernel& kernel, std::span<const ArgumentValue> values) {
  KernargSegment segment;
  LocalMemory local(kernel);
  for (const auto& value : values) {
    auto bytes = value.bytes;
    if (value.local_bytes) {
      const auto offset = local.allocate(*value.local_bytes, 128);
      if (!offset) return offset.error();
      bytes = ArgumentValue::of(*offset).bytes;
    }
    const auto alignment = std::bit_ceil(std::clamp<std::size_t>(bytes.size(), 1, 16));
    segment.bytes.resize(align_up(segment.bytes.size(), alignment));
    segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
  }
  const u32 declared = kernel.descriptor.kernarg_size;
  if (declared != 0 && segment.bytes.size() > declared)
    return usage(fmt::format("kernel '{}' takes {} bytes of arguments, not {}", kernel.name, declared,
                             segment.bytes.size()));
  segment.bytes.resize(std::max<std::size_t>(declared, segment.bytes.size()));
  segment.dynamic_lds_bytes = local.dynamic_bytes();
  return segment;
}

/// Whether `values` are one for each of `wanted`, and behind them at most local memory that no argument
/// stands for.
bool counts_fit(std::span<const ArgumentValue> values, std::size_t wanted) {
  if (values.size() < wanted) return false;
  const auto unclaimed = values.subspan(wanted);
  return std::all_of(unclaimed.begin(), unclaimed.end(), [](const auto& v) { return v.local_bytes; });
}

} // namespace

std::size_t kernarg_segment_size(const Kernel& kernel) {
  u64 size = std::max(kernel.resources.kernarg_segment_size, kernel.descriptor.kernarg_size);
  for (const auto& argument : kernel.arguments) size = std::max(size, u64{argument.offset} + argument.size);
  return size;
}

void place_hidden(const Kernel& kernel, const DispatchShape& shape, const HiddenValues& hidden,
                  u32 dynamic_lds_bytes, std::vector<std::byte>& segment) {
  for (const auto& argument : kernel.arguments) {
    if (!is_hidden(argument.kind)) continue;
    const u64 value = hidden_value(argument.kind, shape, hidden, dynamic_lds_bytes);
    assert(u64{argument.offset} + argument.size <= segment.size());
    std::memcpy(segment.data() + argument.offset, &value, std::min<std::size_t>(argument.size, sizeof value));
  }
}

Result<KernargSegment> build_kernarg(const Kernel& kernel, std::span<const ArgumentValue> values,
                                     const DispatchShape& shape, const HiddenValues& hidden) {
  if (!kernel.has_metadata) return build_without_metadata(kernel, values);
  const auto wanted = kernel.explicit_arguments();
  if (!counts_fit(values, wanted.size()))
    return usage(fmt::format("kernel '{}' takes {} arguments, {} are given", kernel.name, wanted.size(),
                             values.size()));
  KernargSegment segment;
  segment.bytes.resize(kernarg_segment_size(kernel));
  if (std::has_single_bit(kernel.resources.kernarg_segment_align))
    segment.alignment = std::clamp(kernel.resources.kernarg_segment_align, 16u, 4096u);
  LocalMemory local(kernel);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto what = fmt::format("kernel '{}': {}", kernel.name, describe(*wanted[i], i));
    if (auto placed = place_explicit(*wanted[i], values[i], what, local, segment.bytes); !placed)
      return std::move(placed).error();
  }
  for (const ArgumentValue& unclaimed : values.subspan(wanted.size()))
    if (auto placed = local.allocate(*unclaimed.local_bytes, 1); !placed) return std::move(placed).error();
  segment.dynamic_lds_bytes = local.dynamic_bytes();
  place_hidden(kernel, shape, hidden, segment.dynamic_lds_bytes, segment.bytes);
  return segment;
}

} // namespace lanewise::abi
