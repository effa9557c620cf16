// What work-items are told about themselves, in three dimensions, with ragged edges and offsets.
#include "tests/kernels/builder.hpp"

#include <algorithm>

namespace lanewise::kernels {
namespace {

/// The ids of one work-item, from its zero-based place in the grid.
struct Place {
  Dim3 group{}, local{}, size{}, groups{}; ///< size: of its own, perhaps partial, workgroup
  Place(const Dim3& at, const Dim3& global, const Dim3& block) {
    for (int d = 0; d < 3; ++d) {
      group[d] = at[d] / block[d];
      local[d] = at[d] % block[d];
      size[d] = std::min(block[d], global[d] - group[d] * block[d]);
      groups[d] = (global[d] + block[d] - 1) / block[d];
    }
  }
};

uint32_t linear(const Dim3& at, const Dim3& extent) {
  return (at[2] * extent[1] + at[1]) * extent[0] + at[0];
}

/// Calls visit(at) for every place of a grid, x fastest.
template <class F>
void for_each_item(const Dim3& global, F visit) {
  for (uint32_t z = 0; z < global[2]; ++z)
    for (uint32_t y = 0; y < global[1]; ++y)
      for (uint32_t x = 0; x < global[0]; ++x) visit(Dim3{x, y, z});
}

KernelCase grid3d(std::string_view name, Dim3 global, Dim3 block, Dim3 box) {
  return Builder(name)
      .grid(global, block)
      .value("width", box[0])
      .value("height", box[1])
      .value("depth", box[2])
      .output<uint32_t>("out", size_t{box[0]} * box[1] * box[2])
      .reference([=](std::span<Arg> args) {
        for_each_item(box, [&](const Dim3& at) {
          Place p(at, global, block);
          args[3].as<uint32_t>()[linear(at, box)] =
              linear(p.group, p.groups) * 65536 + linear(p.local, p.size);
        });
      });
}

/// ROCm's device library computes get_local_linear_id from the enqueued local size, in a ragged workgroup
/// too; the OpenCL specification would have the actual one.
KernelCase work_item_functions(std::string_view name, Dim3 global, Dim3 block, Dim3 offset) {
  uint32_t count = global[0] * global[1] * global[2];
  return Builder(name)
      .grid(global, block)
      .offset(offset)
      .output<uint32_t>("out", count * 24)
      .reference([=](std::span<Arg> args) {
        for_each_item(global, [&](const Dim3& at) {
          Place p(at, global, block);
          auto row = args[0].as<uint32_t>().subspan(linear(at, global) * 24, 24);
          for (size_t d = 0; d < 3; ++d) {
            uint32_t told[] = {at[d] + offset[d], p.local[d],  p.group[d], global[d],
                               p.size[d],         p.groups[d], offset[d]};
            std::copy(told, told + 7, row.begin() + static_cast<long>(d) * 7);
          }
          row[21] = block[0];
          row[22] = linear(at, global);
          row[23] = linear(p.local, block);
        });
      });
}

constexpr CaseEntry kCases[] = {
    {"grid3d",
     [](uint32_t s) {
       return grid3d("grid3d", {24 * s, 12 * s, 8 * s}, {8, 4, 4}, {24 * s, 12 * s, 8 * s});
     }},
    {"grid3d.guarded",
     [](uint32_t s) {
       return grid3d("grid3d.guarded", {24 * s, 12 * s, 8 * s}, {8, 4, 4}, {19 * s, 11 * s, 7 * s});
     }},
    {"grid3d.short_rows",
     [](uint32_t s) {
       return grid3d("grid3d.short_rows", {24 * s, 12 * s, 8 * s}, {4, 4, 4}, {23 * s, 11 * s, 7 * s});
     }},
    {"grid3d.partial",
     [](uint32_t s) {
       return grid3d("grid3d.partial", {19 * s, 11 * s, 7 * s}, {7, 5, 3}, {19 * s, 11 * s, 7 * s});
     }},
    {"work_item_functions",
     [](uint32_t s) {
       return work_item_functions("work_item_functions", {16 * s, 8, 4}, {8, 4, 2}, {0, 0, 0});
     }},
    {"work_item_functions.offset",
     [](uint32_t s) {
       return work_item_functions("work_item_functions.offset", {64 * s, 2, 3}, {64, 1, 3}, {1000, 7, 12345});
     }},
    {"work_item_functions.partial",
     [](uint32_t s) {
       return work_item_functions("work_item_functions.partial", {29 * s, 5, 3}, {10, 2, 2}, {3, 0, 1});
     }},
};

} // namespace

std::span<const CaseEntry> work_item_cases() { return kCases; }

} // namespace lanewise::kernels
