#include "abi/metadata.hpp"

#include "abi/json_fields.hpp"

namespace lanewise::abi {
namespace {

using nlohmann::json;

// Metadata nests four deep. nlohmann's MessagePack reader recurses once per level, so a hostile note could
// exhaust the stack: this pass without a tree gives up first, by returning false from the callback that opens
// the next level.
class DepthGuard : public nlohmann::json_sax<json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

private:
  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
};

Result<Argument> parse_argument(const json& map, const std::string& where) {
  Argument a;
  std::string kind;
  Fields fields(map, where);
  fields.require(".offset").require(".size").require(".value_kind");
  fields.text(".name", a.name).text(".type_name", a.type_name).text(".value_kind", kind);
  fields.text(".address_space", a.address_space)
      .text(".access", a.access)
      .text(".actual_access", a.actual_access);
  fields.number(".offset", a.offset).number(".size", a.size).number(".pointee_align", a.pointee_align);
  fields.flag(".is_const", a.is_const).flag(".is_restrict", a.is_restrict);
  fields.flag(".is_volatile", a.is_volatile).flag(".is_pipe", a.is_pipe);
  if (!fields.ok()) return fields.error();
  const auto known = value_kind_from_name(kind);
  if (!known) return Error{ErrorCode::Unsupported, fmt::format("{}: unknown value_kind '{}'", where, kind)};
  a.kind = *known;
  return a;
}

Result<KernelMetadata> parse_kernel(const json& map) {
  KernelMetadata k;
  auto& r = k.resources;
  Fields name(map, "a kernel");
  if (!name.require(".name").require(".symbol").text(".name", k.name).text(".symbol", k.symbol).ok())
    return name.error();
  Fields fields(map, fmt::format("kernel '{}'", k.name));
  fields.require(".kernarg_segment_size").text(".language", k.language).text(".kind", k.kind);
  fields.number(".kernarg_segment_size", r.kernarg_segment_size)
      .number(".kernarg_segment_align", r.kernarg_segment_align);
  fields.number(".group_segment_fixed_size", r.group_segment_fixed_size);
  fields.number(".private_segment_fixed_size", r.private_segment_fixed_size);
  fields.number(".wavefront_size", r.wavefront_size).number(".sgpr_count", r.sgpr_count);
  fields.number(".vgpr_count", r.vgpr_count).number(".sgpr_spill_count", r.sgpr_spill_count);
  fields.number(".vgpr_spill_count", r.vgpr_spill_count);
  fields.number(".max_flat_workgroup_size", r.max_flat_workgroup_size);
  fields.numbers(".reqd_workgroup_size", r.reqd_workgroup_size)
      .numbers(".workgroup_size_hint", r.workgroup_size_hint);
  fields.flag(".uses_dynamic_stack", r.uses_dynamic_stack);
  fields.flag(".uniform_work_group_size", r.uniform_work_group_size);
  const auto& arguments = fields.list(".args");
  if (!fields.ok()) return fields.error();
  for (const auto& map_of_argument : arguments) {
    auto a =
        parse_argument(map_of_argument, fmt::format("kernel '{}', argument {}", k.name, k.arguments.size()));
    if (!a) return std::move(a).error();
    k.arguments.push_back(*std::move(a));
  }
  return k;
}

} // namespace

Result<Metadata> parse_metadata(Bytes note) {
  const auto* begin = reinterpret_cast<const u8*>(note.data());
  const auto* end = begin + note.size();
  DepthGuard guard;
  if (!json::sax_parse(begin, end, &guard, json::input_format_t::msgpack))
    return Error{ErrorCode::BadInput, "the metadata note is not valid MessagePack"};
  const auto document = json::from_msgpack(begin, end, true, false);
  if (!document.is_object()) return Error{ErrorCode::BadInput, "the metadata note is not a map"};
  Metadata metadata;
  Fields fields(document, "metadata");
  fields.require("amdhsa.version").numbers("amdhsa.version", metadata.version);
  fields.text("amdhsa.target", metadata.target).texts("amdhsa.printf", metadata.printf_formats);
  const auto& kernels = fields.list("amdhsa.kernels");
  if (!fields.ok()) return fields.error();
  for (const auto& map : kernels) {
    auto kernel = parse_kernel(map);
    if (!kernel) return std::move(kernel).error();
    metadata.kernels.push_back(*std::move(kernel));
  }
  return metadata;
}

} // namespace lanewise::abi
