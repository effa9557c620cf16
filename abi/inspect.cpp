#include "abi/inspect.hpp"

#include "abi/initial_state.hpp"
#include "isa/op.hpp"
#include "support/demangle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lanewise::abi {
namespace {

using nlohmann::json;

/// Names in damaged files need not be UTF-8, which dump() would throw at.
json with_valid_text(const json& value) {
  return json::parse(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

json argument_json(const Argument& a) {
  json out = {{"name", a.name},     {"type", a.type_name}, {"kind", std::string(to_string(a.kind))},
              {"offset", a.offset}, {"size", a.size},      {"hidden", is_hidden(a.kind)}};
  const auto add_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) out[key] = text;
  };
  add_text("address_space", a.address_space);
  add_text("access", a.access);
  add_text("actual_access", a.actual_access);
  if (a.pointee_align) out["pointee_align"] = a.pointee_align;
  const std::pair<const char*, bool> flags[] = {
      {"const", a.is_const}, {"restrict", a.is_restrict}, {"volatile", a.is_volatile}, {"pipe", a.is_pipe}};
  for (const auto& [key, set] : flags)
    if (set) out[key] = true;
  return out;
}

json resources_json(const Resources& r) {
  return {{"kernarg_segment_size", r.kernarg_segment_size},
          {"kernarg_segment_align", r.kernarg_segment_align},
          {"group_segment_fixed_size", r.group_segment_fixed_size},
          {"private_segment_fixed_size", r.private_segment_fixed_size},
          {"wavefront_size", r.wavefront_size},
          {"sgpr_count", r.sgpr_count},
          {"vgpr_count", r.vgpr_count},
          {"sgpr_spill_count", r.sgpr_spill_count},
          {"vgpr_spill_count", r.vgpr_spill_count},
          {"max_flat_workgroup_size", r.max_flat_workgroup_size},
          {"reqd_workgroup_size", r.reqd_workgroup_size},
          {"workgroup_size_hint", r.workgroup_size_hint},
          {"uses_dynamic_stack", r.uses_dynamic_stack},
          {"uniform_work_group_size", r.uniform_work_group_size}};
}

json descriptor_json(const KernelDescriptor& d, isa::Target target) {
  json sgprs = json::array();
  const auto layout = sgpr_layout(d, target);
  for (u32 i = 0; i < layout.count; ++i) sgprs.push_back(std::string(to_string(layout.sgprs[i].role)));
  return {{"compute_pgm_rsrc1", d.compute_pgm_rsrc1},
          {"compute_pgm_rsrc2", d.compute_pgm_rsrc2},
          {"compute_pgm_rsrc3", d.compute_pgm_rsrc3},
          {"kernel_code_properties", d.kernel_code_properties},
          {"vgprs_allocated", d.vgprs()},
          {"sgprs_allocated", d.sgprs(target)},
          {"float_round_mode_32", d.float_round_mode_32()},
          {"float_round_mode_16_64", d.float_round_mode_16_64()},
          {"float_denorm_mode_32", d.float_denorm_mode_32()},
          {"float_denorm_mode_16_64", d.float_denorm_mode_16_64()},
          {"dx10_clamp", d.enable_dx10_clamp()},
          {"ieee_mode", d.enable_ieee_mode()},
          {"user_sgpr_count", d.user_sgpr_count()},
          {"initial_sgprs", sgprs},
          {"initial_vgprs", 1 + std::min(d.enable_vgpr_workitem_id(), 2u)}};
}

const char* kind_name(Symbol::Kind kind) {
  constexpr const char* kNames[] = {"function", "descriptor", "object"};
  return kNames[static_cast<unsigned>(kind)];
}

/// "global const float* x" from qualifiers, type and name; hidden arguments by their kind.
std::string declaration(const Argument& a) {
  if (is_hidden(a.kind)) return std::string(to_string(a.kind));
  std::string text = a.address_space;
  const auto add = [&](std::string_view word) {
    if (!word.empty()) text += (text.empty() ? "" : " ") + std::string(word);
  };
  if (a.is_const) add("const");
  if (a.is_volatile) add("volatile");
  add(a.access);
  add(a.type_name.empty() ? to_string(a.kind) : std::string_view(a.type_name));
  if (a.is_restrict) add("restrict");
  add(a.name);
  return text;
}

/// "s[0:3]=private_segment_buffer s[4:5]=kernarg_segment_ptr s6=workgroup_id_x v0=workitem_id_x".
std::string initial_registers(const KernelDescriptor& descriptor, isa::Target target) {
  const auto layout = sgpr_layout(descriptor, target);
  // Roles that span several registers differ in their last part only: _lo, _hi or a digit.
  const auto stem = [&](u32 i) {
    auto name = to_string(layout.sgprs[i].role);
    if (name.ends_with("_lo") || name.ends_with("_hi")) name.remove_suffix(3);
    return name.substr(0, name.find_last_not_of("0123") + 1);
  };
  std::string text;
  for (u32 first = 0, end; first < layout.count; first = end) {
    for (end = first + 1; end < layout.count && stem(end) == stem(first);) ++end;
    text += end - first == 1 ? fmt::format("s{}={} ", first, to_string(layout.sgprs[first].role))
                             : fmt::format("s[{}:{}]={} ", first, end - 1, stem(first));
  }
  const char* ids[] = {"v0=workitem_id_x", "v0=workitem_id_x v1=workitem_id_y",
                       "v0=workitem_id_x v1=workitem_id_y v2=workitem_id_z"};
  return text + ids[std::min(descriptor.enable_vgpr_workitem_id(), 2u)];
}

std::string kernel_text(const Kernel& k, isa::Target target) {
  const auto& r = k.resources;
  auto text = fmt::format("\nkernel {}{}\n", k.name,
                          k.has_metadata ? "" : "  (no metadata: arguments are not known)");
  if (const auto source = demangle(k.name); source != k.name)
    text += fmt::format("  source      {}\n", source);
  text += fmt::format("  code        {} bytes at {:#x}\n", k.code_size, k.entry_address);
  text += fmt::format("  registers   {} SGPRs, {} VGPRs", r.sgpr_count, r.vgpr_count);
  if (r.sgpr_spill_count || r.vgpr_spill_count)
    text += fmt::format(" ({} SGPRs and {} VGPRs spilled)", r.sgpr_spill_count, r.vgpr_spill_count);
  text += fmt::format("\n  memory      {} bytes LDS per workgroup, {} bytes private per work-item{}\n",
                      r.group_segment_fixed_size, r.private_segment_fixed_size,
                      r.uses_dynamic_stack ? " and a dynamic stack" : "");
  if (r.max_flat_workgroup_size)
    text += fmt::format("  workgroup   at most {} work-items", r.max_flat_workgroup_size);
  if (r.reqd_workgroup_size[0]) text += fmt::format(", exactly {}", fmt::join(r.reqd_workgroup_size, ","));
  if (r.max_flat_workgroup_size || r.reqd_workgroup_size[0]) text += "\n";
  text += fmt::format("  starts with {}\n", initial_registers(k.descriptor, target));
  text += fmt::format("  arguments   {} bytes\n", r.kernarg_segment_size);
  for (const auto& a : k.arguments)
    text += fmt::format("    {:>5}  {:>4}  {}\n", a.offset, a.size, declaration(a));
  return text;
}

json kernel_json(const Kernel& k, isa::Target target) {
  json arguments = json::array();
  for (const auto& argument : k.arguments) arguments.push_back(argument_json(argument));
  return {{"name", k.name},
          {"source_name", demangle(k.name)},
          {"symbol", k.symbol},
          {"language", k.language},
          {"has_metadata", k.has_metadata},
          {"entry_address", k.entry_address},
          {"descriptor_address", k.descriptor_address},
          {"code_size", k.code_size},
          {"arguments", arguments},
          {"resources", resources_json(k.resources)},
          {"kind", k.kind},
          {"descriptor", descriptor_json(k.descriptor, target)}};
}

} // namespace

json to_json(const Kernel& kernel, isa::Target target) {
  return with_valid_text(kernel_json(kernel, target));
}

json to_json(const CodeObject& object) {
  json kernels = json::array(), symbols = json::array();
  for (const auto& kernel : object.kernels) kernels.push_back(kernel_json(kernel, object.target.isa));
  for (const auto& s : object.symbols)
    symbols.push_back({{"name", std::string(s.name)},
                       {"kind", kind_name(s.kind)},
                       {"address", s.address},
                       {"size", s.size}});
  return with_valid_text({{"name", object.name},
                          {"version", object.version},
                          {"target", object.target.to_string()},
                          {"isa", isa::target_name(object.target.isa)},
                          {"printf_formats", object.printf_formats},
                          {"kernels", kernels},
                          {"symbols", symbols}});
}

json to_json(const std::vector<CodeObject>& objects) {
  json list = json::array();
  for (const auto& object : objects) list.push_back(to_json(object));
  return list;
}

json to_json(const std::vector<BundleEntry>& entries) {
  json list = json::array();
  for (const auto& e : entries)
    list.push_back({{"id", e.id},
                    {"kind", e.kind},
                    {"triple", e.triple},
                    {"processor", e.processor},
                    {"offset", e.offset},
                    {"size", e.bytes.size()}});
  return with_valid_text(list);
}

std::string to_text(const CodeObject& object) {
  const auto isa = isa::target_name(object.target.isa);
  auto text = fmt::format("{}: code object version {} for {}", object.name, object.version,
                          object.target.to_string());
  if (isa != object.target.processor) text += fmt::format(" (runs as {})", isa);
  text += fmt::format(", {} kernel{}\n", object.kernels.size(), object.kernels.size() == 1 ? "" : "s");
  for (const auto& kernel : object.kernels) text += kernel_text(kernel, object.target.isa);
  return text;
}

std::string to_text(const std::vector<BundleEntry>& entries) {
  std::string text;
  for (const auto& e : entries)
    text +=
        fmt::format("{:>10} bytes at {:#010x}  {}\n", e.bytes.size(), e.offset, e.id.empty() ? e.kind : e.id);
  return text;
}

} // namespace lanewise::abi
