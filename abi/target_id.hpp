// Which processor a code object is for, and which of the five instruction sets that means.
#pragma once

#include "isa/inst.hpp"
#include "support/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace lanewise::abi {

/// A target feature as a target ID writes it: absent, `:xnack-`, `:xnack+`, or unspecified ("any").
enum class Feature : u8 { Unsupported, Any, Off, On };

/// A processor with its features (AMDGPUUsage, "Target ID").
struct TargetId {
  isa::Target isa = isa::Target::gfx900; ///< the instruction set that executes it
  std::string_view processor;            ///< "gfx902"; static storage
  Feature xnack = Feature::Unsupported;
  Feature sramecc = Feature::Unsupported;

  /// Canonical text: "gfx906:sramecc-:xnack+".
  [[nodiscard]] std::string to_string() const;
};

/// Decodes e_flags of a code object of `version` 3 to 6 (AMDGPUUsage, "AMDGPU ELF Header e_flags"); for
/// version 2 only the processor. Unsupported names a processor that is known but belongs to no target of
/// Lanewise.
Result<TargetId> target_from_flags(u32 e_flags, unsigned version);

/// The processor called `name`, features unspecified; nothing if no target executes it.
std::optional<TargetId> target_from_name(std::string_view name);

/// Parses a target ID, with or without the triple in front: "gfx906:sramecc-:xnack+",
/// "amdgcn-amd-amdhsa--gfx900". Features that the text does not name are Any where the processor has them.
Result<TargetId> parse_target_id(std::string_view text);

/// e_flags of a code object of `version` 3 to 6: the inverse of target_from_flags.
u32 flags_of(const TargetId& target, unsigned version);

} // namespace lanewise::abi
