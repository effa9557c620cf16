#include "tests/kernels/cases.hpp"

#include "tests/kernels/groups.hpp"

#include <charconv>

namespace lanewise::kernels {

std::vector<CaseEntry> all_cases() {
  std::vector<CaseEntry> all;
  for (auto group :
       {linear_algebra_cases, simulation_cases, graphics_cases,   parallel_cases,     sparse_cases,
        hash_cases,           fourier_cases,    stencil_cases,    control_flow_cases, integer_cases,
        half_cases,           math_cases,       memory_cases,     atomic_cases,       work_item_cases,
        wave_cases,           rounding_cases,   collective_cases, hip_cases,          stream_cases,
        image_cases}) {
    auto entries = group();
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

std::optional<KernelCase> find_case(std::string_view name, uint32_t scale) {
  for (const CaseEntry& entry : all_cases())
    if (entry.name == name) return entry.make(scale);
  return std::nullopt;
}

Dim3 KernelCase::groups() const {
  Dim3 groups;
  for (std::size_t d = 0; d < 3; ++d) groups[d] = (global[d] + local[d] - 1) / local[d];
  return groups;
}

std::size_t KernelCase::buffer_bytes() const {
  std::size_t sum = 0;
  for (const Arg& arg : args)
    if (arg.is_memory()) sum += arg.bytes.size();
  return sum;
}

std::string KernelCase::code_object(std::string_view target, std::string_view level) const {
  return "tests/kernels/bin/" + std::string(target) + "/" + kernel + "." + std::string(level) + ".co";
}

bool KernelCase::runs_on(std::string_view target) const {
  uint32_t number = 0;
  if (target.starts_with("gfx")) std::from_chars(target.data() + 3, target.data() + target.size(), number);
  return number >= min_target;
}

std::vector<Arg> KernelCase::expected() const {
  std::vector<Arg> result = args;
  reference(result);
  return result;
}

std::optional<std::string> KernelCase::check(std::span<const Arg> after) const {
  return compare(expected(), after);
}

} // namespace lanewise::kernels
