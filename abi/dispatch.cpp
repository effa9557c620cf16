#include "abi/dispatch.hpp"

#include "isa/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanewise::abi {
namespace {

Error usage(const Kernel& kernel, std::string message) {
  return {ErrorCode::Usage, fmt::format("kernel '{}': {}", kernel.name, message)};
}

std::string text(const std::array<u32, 3>& size) { return fmt::format("{}", fmt::join(size, ",")); }

} // namespace

std::array<u32, 3> DispatchShape::size_of(const std::array<u32, 3>& id) const {
  std::array<u32, 3> size = workgroup;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (remainder(axis) != 0 && id[axis] == workgroups(axis) - 1) size[axis] = remainder(axis);
  return size;
}

u32 DispatchShape::items_of(const std::array<u32, 3>& id) const {
  const auto size = size_of(id);
  return size[0] * size[1] * size[2];
}

Result<void> check_dispatch(const Kernel& kernel, isa::Target target, const DispatchShape& shape,
                            u32 dynamic_lds_bytes) {
  const auto& r = kernel.resources;
  u64 items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.workgroup[axis] == 0)
      return usage(kernel, fmt::format("grid {} and workgroup {} must have no zero in them", text(shape.grid),
                                       text(shape.workgroup)));
    items *= shape.workgroup[axis];
    if (items > kMaxWorkgroupItems)
      return usage(kernel, fmt::format("a workgroup of {} is too large: at most {} work-items",
                                       text(shape.workgroup), kMaxWorkgroupItems));
  }
  // More would take centuries, and the sum of all workgroups would no longer fit 64 bits.
  if (shape.workgroups(0) > kMaxWorkgroups / shape.workgroups(1) / shape.workgroups(2))
    return usage(kernel, fmt::format("a grid of {} has too many workgroups of {}: at most 2^63 in all",
                                     text(shape.grid), text(shape.workgroup)));
  if (r.max_flat_workgroup_size != 0 && items > r.max_flat_workgroup_size)
    return usage(kernel,
                 fmt::format("a workgroup of {} is too large: it was compiled for at most {} work-items",
                             text(shape.workgroup), r.max_flat_workgroup_size));
  if (r.reqd_workgroup_size[0] != 0 && r.reqd_workgroup_size != shape.workgroup)
    return usage(kernel, fmt::format("needs workgroups of exactly {}, not {}", text(r.reqd_workgroup_size),
                                     text(shape.workgroup)));
  if (r.uniform_work_group_size && (shape.remainder(0) || shape.remainder(1) || shape.remainder(2)))
    return usage(kernel,
                 fmt::format("was compiled for grids that are a multiple of the workgroup; {} is none of {}",
                             text(shape.grid), text(shape.workgroup)));
  const u64 lds = u64{kernel.descriptor.group_segment_fixed_size} + dynamic_lds_bytes;
  if (lds > max_lds_bytes(target))
    return usage(kernel, fmt::format("needs {} bytes of local memory; {} has {}", lds,
                                     isa::target_name(target), max_lds_bytes(target)));
  if (kernel.descriptor.private_segment_fixed_size > kMaxPrivateBytes)
    return usage(kernel, fmt::format("needs {} bytes of private memory per work-item; the limit is {}",
                                     kernel.descriptor.private_segment_fixed_size, kMaxPrivateBytes));
  return {};
}

} // namespace lanewise::abi
