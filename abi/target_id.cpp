#include "abi/target_id.hpp"

#include <fmt/format.h>

namespace lanewise::abi {
namespace {

using isa::Target;

struct Processor {
  u32 mach; ///< EF_AMDGPU_MACH
  std::string_view name;
  std::optional<Target> isa; ///< nothing: known, but not executed by Lanewise
};

// clang-format off
// AMDGPUUsage, "AMDGPU EF_AMDGPU_MACH Values". gfx904 counts as gfx906: its mixed-precision instructions are v_fma_mix_*, which
// gfx906 encodes alike, where gfx900 has v_mad_mix_* at the same opcodes.
constexpr Processor kProcessors[] = {
    {0x020, "gfx600", Target::gfx600}, {0x021, "gfx601", Target::gfx600}, {0x03a, "gfx602", Target::gfx600},
    {0x022, "gfx700", Target::gfx700}, {0x023, "gfx701", Target::gfx700}, {0x024, "gfx702", Target::gfx700},
    {0x025, "gfx703", Target::gfx700}, {0x026, "gfx704", Target::gfx700}, {0x03b, "gfx705", Target::gfx700},
    {0x028, "gfx801", Target::gfx803}, {0x029, "gfx802", Target::gfx803}, {0x02a, "gfx803", Target::gfx803},
    {0x03c, "gfx805", Target::gfx803}, {0x02b, "gfx810", Target::gfx803},
    {0x02c, "gfx900", Target::gfx900}, {0x02d, "gfx902", Target::gfx900}, {0x02e, "gfx904", Target::gfx906},
    {0x02f, "gfx906", Target::gfx906}, {0x031, "gfx909", Target::gfx900}, {0x032, "gfx90c", Target::gfx900},
    {0x051, "gfx9-generic", Target::gfx900},
    {0x030, "gfx908", {}},  {0x03f, "gfx90a", {}},  {0x040, "gfx940", {}},  {0x04b, "gfx941", {}},  {0x04c, "gfx942", {}},
    {0x033, "gfx1010", {}}, {0x034, "gfx1011", {}}, {0x035, "gfx1012", {}}, {0x042, "gfx1013", {}},
    {0x036, "gfx1030", {}}, {0x037, "gfx1031", {}}, {0x038, "gfx1032", {}}, {0x039, "gfx1033", {}},
    {0x03e, "gfx1034", {}}, {0x03d, "gfx1035", {}}, {0x045, "gfx1036", {}},
    {0x041, "gfx1100", {}}, {0x046, "gfx1101", {}}, {0x047, "gfx1102", {}}, {0x044, "gfx1103", {}},
};
// clang-format on

// Version 3 does not tell "off" from "unsupported", nor "any" from "on".
Feature feature_v3(u32 e_flags, u32 bit) { return e_flags & bit ? Feature::On : Feature::Unsupported; }
Feature feature_v4(u32 e_flags, unsigned shift) { return static_cast<Feature>(bits(e_flags, shift, 2)); }

std::string_view suffix(Feature feature, std::string_view on, std::string_view off) {
  return feature == Feature::On ? on : feature == Feature::Off ? off : "";
}

} // namespace

std::string TargetId::to_string() const {
  return fmt::format("{}{}{}", processor, suffix(sramecc, ":sramecc+", ":sramecc-"),
                     suffix(xnack, ":xnack+", ":xnack-"));
}

Result<TargetId> target_from_flags(u32 e_flags, unsigned version) {
  const u32 mach = e_flags & 0xff;
  for (const auto& processor : kProcessors) {
    if (processor.mach != mach) continue;
    if (!processor.isa)
      return Error{
          ErrorCode::Unsupported,
          fmt::format(
              "code for {}, but Lanewise runs gfx6 to gfx906 only: compile for one of gfx600, gfx700, "
              "gfx803, gfx900, gfx906",
              processor.name)};
    TargetId id{.isa = *processor.isa, .processor = processor.name};
    if (version == 3) {
      id.xnack = feature_v3(e_flags, 0x100);
      id.sramecc = feature_v3(e_flags, 0x200);
    } else if (version >= 4) {
      id.xnack = feature_v4(e_flags, 8);
      id.sramecc = feature_v4(e_flags, 10);
    }
    return id;
  }
  return Error{ErrorCode::Unsupported, fmt::format("unknown processor in e_flags {:#x}", e_flags)};
}

std::optional<TargetId> target_from_name(std::string_view name) {
  for (const auto& processor : kProcessors)
    if (processor.isa && processor.name == name)
      return TargetId{*processor.isa, processor.name, Feature::Any, Feature::Any};
  return std::nullopt;
}

Result<TargetId> parse_target_id(std::string_view text) {
  const std::string whole(text);
  const auto bad = [&](std::string_view why) {
    return Error{ErrorCode::BadInput, fmt::format("'{}': {}", whole, why)};
  };
  for (std::string_view triple :
       {"amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-", "amdgcn--amdhsa--", "amdgcn-amd-unknown--"})
    if (text.starts_with(triple)) {
      text.remove_prefix(triple.size());
      break;
    }
  const auto colon = std::min(text.find(':'), text.size());
  std::optional<TargetId> id = target_from_name(text.substr(0, colon));
  if (!id)
    return bad("not a processor that Lanewise knows; its targets are gfx600, gfx700, gfx803, gfx900, gfx906");
  // AMDGPUUsage, "AMDGPU Processors": which processors have the features.
  const bool has_xnack = id->isa >= Target::gfx900 || id->processor == "gfx801" || id->processor == "gfx810";
  const bool has_sramecc = id->processor == "gfx906";
  id->xnack = has_xnack ? Feature::Any : Feature::Unsupported;
  id->sramecc = has_sramecc ? Feature::Any : Feature::Unsupported;
  text.remove_prefix(colon);
  while (!text.empty()) {
    text.remove_prefix(1);
    const auto end = std::min(text.find(':'), text.size());
    const std::string_view feature = text.substr(0, end);
    text.remove_prefix(end);
    const char sign = feature.empty() ? '\0' : feature.back();
    if (sign != '+' && sign != '-') return bad("a feature ends in + or -");
    const std::string_view name = feature.substr(0, feature.size() - 1);
    Feature* which = name == "xnack"                           ? &id->xnack
                     : name == "sramecc" || name == "sram-ecc" ? &id->sramecc
                                                               : nullptr;
    if (!which || *which == Feature::Unsupported)
      return bad(fmt::format("{} has no feature '{}'", id->processor, name));
    *which = sign == '+' ? Feature::On : Feature::Off;
  }
  return *id;
}

u32 flags_of(const TargetId& target, unsigned version) {
  u32 flags = 0;
  for (const auto& processor : kProcessors)
    if (processor.name == target.processor) flags = processor.mach;
  const auto on_or_any = [](Feature feature) { return feature == Feature::On || feature == Feature::Any; };
  if (version == 3)
    return flags | (on_or_any(target.xnack) ? 0x100 : 0) | (on_or_any(target.sramecc) ? 0x200 : 0);
  return flags | static_cast<u32>(target.xnack) << 8 | static_cast<u32>(target.sramecc) << 10;
}

} // namespace lanewise::abi
