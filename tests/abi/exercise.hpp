// Everything that abi/ does with a file from outside, in one call: for mutation tests and fuzzing.
#pragma once

#include "abi/initial_state.hpp"
#include "abi/inspect.hpp"
#include "abi/kernarg.hpp"
#include "abi/loaded_image.hpp"

#include <nlohmann/json.hpp>

namespace lanewise::abi {

inline void exercise_kernel(const CodeObject& object, const Kernel& kernel) {
  const DispatchShape shape{.grid = {70, 3, 1}, .workgroup = {8, 4, 2}};
  std::vector<ArgumentValue> values;
  for (const auto* argument : kernel.explicit_arguments()) {
    if (argument->kind == ValueKind::DynamicSharedPointer)
      values.push_back(ArgumentValue::local(16));
    else
      values.push_back({std::vector<std::byte>(argument->size), {}});
  }
  const auto segment = build_kernarg(kernel, values, shape, {});
  if (!segment || !check_dispatch(kernel, object.target.isa, shape, segment->dynamic_lds_bytes)) return;
  DispatchInfo info{.shape = shape};
  info.scratch_lane_bytes = scratch_lane_bytes(kernel.descriptor, 0);
  (void)initial_state(kernel.descriptor, object.target.isa, info, {8, 0, 0}, 0,
                      scratch_wave_bytes(info.scratch_lane_bytes));
}

/// Returns whether the file holds a code object that loads.
inline bool exercise(Bytes bytes) {
  bool any = false;
  const auto entries = list_entries(bytes);
  if (!entries) return false;
  (void)to_text(*entries);
  const auto selected = select_entries(*entries, "");
  if (!selected) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(selected->size(), 4); ++i) {
    const auto object = load((*selected)[i].bytes, "input");
    if (!object) continue;
    any = true;
    (void)to_json(*object).dump();
    (void)to_text(*object);
    for (const auto& kernel : object->kernels) exercise_kernel(*object, kernel);
    const auto image = LoadedImage::create(*object, [](std::string_view) { return 0x1000; });
    if (!image) continue;
    for (const auto& text : image->texts()) {
      volatile std::byte last = text.bytes.back();
      (void)last;
      (void)image->describe(text.address);
    }
  }
  return any;
}

} // namespace lanewise::abi
