// `.amdhsa_kernel NAME` ... `.end_amdhsa_kernel`: the fields of a kernel descriptor (AMDGPUUsage, "Code
// Object V3 and Above Predefined Symbols / Directives").
#pragma once

#include "abi/target_id.hpp"
#include "isa/asm/token.hpp"

#include <array>
#include <map>
#include <string>
#include <variant>

namespace lanewise::abi::assembler {

/// The fields of one kernel, as its directives state them.
class KernelFields {
public:
  explicit KernelFields(const TargetId& target) : target_(target) {}

  /// Takes one directive, its name without the dot; empty, or what is wrong with it.
  std::string set(std::string_view directive, i64 value);

  /// The descriptor's 64 bytes, except for the entry's offset at byte 16; or what is missing or out of range.
  [[nodiscard]] std::variant<std::array<u8, 64>, std::string> descriptor() const;

private:
  [[nodiscard]] i64 get(std::string_view directive) const;
  [[nodiscard]] std::variant<u32, std::string> granulated_sgprs() const;
  [[nodiscard]] bool has_xnack_mask() const {
    return target_.xnack == Feature::On || target_.xnack == Feature::Any;
  }
  [[nodiscard]] bool has(std::string_view directive) const { return values_.contains(directive); }

  TargetId target_;
  std::map<std::string_view, i64> values_; ///< keys are static
};

} // namespace lanewise::abi::assembler
