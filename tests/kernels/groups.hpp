// The groups of cases, one source file each.
#pragma once

#include "tests/kernels/cases.hpp"

namespace lanewise::kernels {

std::span<const CaseEntry> linear_algebra_cases();
std::span<const CaseEntry> simulation_cases();
std::span<const CaseEntry> graphics_cases();
std::span<const CaseEntry> parallel_cases();
std::span<const CaseEntry> sparse_cases();
std::span<const CaseEntry> hash_cases();
std::span<const CaseEntry> fourier_cases();
std::span<const CaseEntry> stencil_cases();
std::span<const CaseEntry> control_flow_cases();
std::span<const CaseEntry> integer_cases();
std::span<const CaseEntry> half_cases();
std::span<const CaseEntry> math_cases();
std::span<const CaseEntry> memory_cases();
std::span<const CaseEntry> atomic_cases();
std::span<const CaseEntry> work_item_cases();
std::span<const CaseEntry> wave_cases();
std::span<const CaseEntry> rounding_cases();
std::span<const CaseEntry> collective_cases();
std::span<const CaseEntry> hip_cases();
std::span<const CaseEntry> stream_cases();
std::span<const CaseEntry> image_cases();

} // namespace lanewise::kernels
