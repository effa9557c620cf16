// Metadata of code object version 2 (AMDGPUUsage, "Code Object V2 Metadata"): other names, and no argument
// offsets.
#include "abi/json_fields.hpp"
#include "abi/metadata.hpp"
#include "abi/yaml.hpp"

#include <algorithm>

namespace lanewise::abi {
namespace {

using nlohmann::json;

std::string to_lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "ReadOnly" -> "read_only", as later versions spell access qualifiers; "Default" says nothing.
std::string access_name(const std::string& text) {
  if (text == "ReadOnly") return "read_only";
  if (text == "WriteOnly") return "write_only";
  return text == "ReadWrite" ? "read_write" : "";
}

/// Arguments are laid out in order, each at its own alignment; `end` is where the previous one ended.
Result<Argument> parse_argument(const json& map, const std::string& where, u64 end) {
  Argument a;
  std::string kind, access, actual_access;
  u32 alignment = 1;
  Fields fields(map, where);
  fields.require("Size").require("Align").require("ValueKind");
  fields.text("Name", a.name).text("TypeName", a.type_name).text("ValueKind", kind);
  fields.text("AddrSpaceQual", a.address_space).text("AccQual", access).text("ActualAccQual", actual_access);
  fields.number("Size", a.size).number("Align", alignment).number("PointeeAlign", a.pointee_align);
  fields.flag("IsConst", a.is_const).flag("IsRestrict", a.is_restrict);
  fields.flag("IsVolatile", a.is_volatile).flag("IsPipe", a.is_pipe);
  if (!fields.ok()) return fields.error();
  const auto known = value_kind_from_name(kind);
  if (!known) return Error{ErrorCode::Unsupported, fmt::format("{}: unknown ValueKind '{}'", where, kind)};
  if (!std::has_single_bit(alignment))
    return Error{ErrorCode::BadInput, where + ": Align is not a power of two"};
  a.kind = *known;
  a.address_space = to_lower(a.address_space);
  a.access = access_name(access);
  a.actual_access = access_name(actual_access);
  const u64 offset = align_up<u64>(end, alignment);
  if (offset + a.size > 0xffff'ffffu) return Error{ErrorCode::BadInput, where + ": lies beyond 4 GiB"};
  a.offset = static_cast<u32>(offset);
  return a;
}

Result<KernelMetadata> parse_kernel(const json& map) {
  KernelMetadata k;
  auto& r = k.resources;
  Fields name(map, "a kernel");
  if (!name.require("Name")
           .text("Name", k.name)
           .text("SymbolName", k.symbol)
           .text("Language", k.language)
           .ok())
    return name.error();
  const std::string where = fmt::format("kernel '{}'", k.name);
  static const json kEmpty = json::object();
  const auto member = [&](const char* key) -> const json& { return map.contains(key) ? map[key] : kEmpty; };
  Fields properties(member("CodeProps"), where);
  properties.number("KernargSegmentSize", r.kernarg_segment_size)
      .number("KernargSegmentAlign", r.kernarg_segment_align);
  properties.number("GroupSegmentFixedSize", r.group_segment_fixed_size);
  properties.number("PrivateSegmentFixedSize", r.private_segment_fixed_size);
  properties.number("WavefrontSize", r.wavefront_size)
      .number("NumSGPRs", r.sgpr_count)
      .number("NumVGPRs", r.vgpr_count);
  properties.number("NumSpilledSGPRs", r.sgpr_spill_count).number("NumSpilledVGPRs", r.vgpr_spill_count);
  properties.number("MaxFlatWorkGroupSize", r.max_flat_workgroup_size);
  properties.flag("IsDynamicCallStack", r.uses_dynamic_stack);
  Fields attributes(member("Attrs"), where);
  attributes.numbers("ReqdWorkGroupSize", r.reqd_workgroup_size)
      .numbers("WorkGroupSizeHint", r.workgroup_size_hint);
  Fields fields(map, where);
  const auto& arguments = fields.list("Args");
  for (const auto* part : {&properties, &attributes, &fields})
    if (!part->ok()) return part->error();
  u64 end = 0;
  for (const auto& map_of_argument : arguments) {
    auto a = parse_argument(map_of_argument, fmt::format("{}, argument {}", where, k.arguments.size()), end);
    if (!a) return std::move(a).error();
    end = u64{a->offset} + a->size;
    k.arguments.push_back(*std::move(a));
  }
  return k;
}

} // namespace

Result<Metadata> parse_metadata_v2(std::string_view note) {
  const auto document = parse_yaml(note);
  if (!document) return Error(document.error()).in("metadata");
  Metadata metadata;
  Fields fields(*document, "metadata");
  fields.numbers("Version", metadata.version).texts("Printf", metadata.printf_formats);
  const auto& kernels = fields.list("Kernels");
  if (!fields.ok()) return fields.error();
  for (const auto& map : kernels) {
    auto kernel = parse_kernel(map);
    if (!kernel) return std::move(kernel).error();
    metadata.kernels.push_back(*std::move(kernel));
  }
  return metadata;
}

} // namespace lanewise::abi
