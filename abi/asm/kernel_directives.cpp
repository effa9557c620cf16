#include "abi/asm/kernel_directives.hpp"

#include "isa/op.hpp"

#include <fmt/format.h>

namespace lanewise::abi::assembler {
namespace {

using isa::Target;

/// Where a field's bits go.
enum class Place : u8 { GroupSize, PrivateSize, KernargSize, Rsrc1, Rsrc2, Properties, Computed };

struct Field {
  std::string_view name; ///< of the directive, without the dot
  Place place = Place::Computed;
  u8 lo = 0;
  i64 max = 1, initial = 0;
  u8 user_sgprs = 0; ///< that the field adds when set
  Target since = Target::gfx600;
};

// clang-format off
constexpr Field kFields[] = {
  {"amdhsa_group_segment_fixed_size",                    Place::GroupSize, 0, UINT32_MAX},
  {"amdhsa_private_segment_fixed_size",                  Place::PrivateSize, 0, UINT32_MAX},
  {"amdhsa_kernarg_size",                                Place::KernargSize, 0, UINT32_MAX},
  {"amdhsa_user_sgpr_private_segment_buffer",            Place::Properties, 0, 1, 0, 4},
  {"amdhsa_user_sgpr_dispatch_ptr",                      Place::Properties, 1, 1, 0, 2},
  {"amdhsa_user_sgpr_queue_ptr",                         Place::Properties, 2, 1, 0, 2},
  {"amdhsa_user_sgpr_kernarg_segment_ptr",               Place::Properties, 3, 1, 0, 2},
  {"amdhsa_user_sgpr_dispatch_id",                       Place::Properties, 4, 1, 0, 2},
  {"amdhsa_user_sgpr_flat_scratch_init",                 Place::Properties, 5, 1, 0, 2},
  {"amdhsa_user_sgpr_private_segment_size",              Place::Properties, 6, 1, 0, 1},
  {"amdhsa_uses_dynamic_stack",                          Place::Properties, 11},
  {"amdhsa_system_sgpr_private_segment_wavefront_offset", Place::Rsrc2, 0},
  {"amdhsa_user_sgpr_count",                             Place::Computed, 0, 31},
  {"amdhsa_system_sgpr_workgroup_id_x",                  Place::Rsrc2, 7, 1, 1},
  {"amdhsa_system_sgpr_workgroup_id_y",                  Place::Rsrc2, 8},
  {"amdhsa_system_sgpr_workgroup_id_z",                  Place::Rsrc2, 9},
  {"amdhsa_system_sgpr_workgroup_info",                  Place::Rsrc2, 10},
  {"amdhsa_system_vgpr_workitem_id",                     Place::Rsrc2, 11, 2},
  {"amdhsa_next_free_vgpr",                              Place::Computed, 0, 256},
  {"amdhsa_next_free_sgpr",                              Place::Computed, 0, 104},
  {"amdhsa_reserve_vcc",                                 Place::Computed, 0, 1, 1},
  {"amdhsa_reserve_flat_scratch",                        Place::Computed, 0, 1, 1, 0, Target::gfx700},
  {"amdhsa_reserve_xnack_mask",                          Place::Computed, 0, 1, 0, 0, Target::gfx803},
  {"amdhsa_float_round_mode_32",                         Place::Rsrc1, 12, 3},
  {"amdhsa_float_round_mode_16_64",                      Place::Rsrc1, 14, 3},
  {"amdhsa_float_denorm_mode_32",                        Place::Rsrc1, 16, 3},
  {"amdhsa_float_denorm_mode_16_64",                     Place::Rsrc1, 18, 3, 3},
  {"amdhsa_dx10_clamp",                                  Place::Rsrc1, 21, 1, 1},
  {"amdhsa_ieee_mode",                                   Place::Rsrc1, 23, 1, 1},
  {"amdhsa_fp16_overflow",                               Place::Rsrc1, 26, 1, 0, 0, Target::gfx900},
  {"amdhsa_exception_fp_ieee_invalid_op",                Place::Rsrc2, 24},
  {"amdhsa_exception_fp_denorm_src",                     Place::Rsrc2, 25},
  {"amdhsa_exception_fp_ieee_div_zero",                  Place::Rsrc2, 26},
  {"amdhsa_exception_fp_ieee_overflow",                  Place::Rsrc2, 27},
  {"amdhsa_exception_fp_ieee_underflow",                 Place::Rsrc2, 28},
  {"amdhsa_exception_fp_ieee_inexact",                   Place::Rsrc2, 29},
  {"amdhsa_exception_int_div_zero",                      Place::Rsrc2, 30},
};
// clang-format on

/// Directives of later processors.
constexpr std::string_view kLater[] = {"amdhsa_accum_offset",
                                       "amdhsa_tg_split",
                                       "amdhsa_wavefront_size32",
                                       "amdhsa_workgroup_processor_mode",
                                       "amdhsa_memory_ordered",
                                       "amdhsa_forward_progress",
                                       "amdhsa_shared_vgpr_count",
                                       "amdhsa_enable_private_segment",
                                       "amdhsa_inst_pref_size",
                                       "amdhsa_user_sgpr_kernarg_preload_length",
                                       "amdhsa_user_sgpr_kernarg_preload_offset"};

const Field* find_field(std::string_view name) {
  for (const Field& field : kFields)
    if (field.name == name) return &field;
  return nullptr;
}

} // namespace

std::string KernelFields::set(std::string_view directive, i64 value) {
  const Field* field = find_field(directive);
  if (!field) {
    for (std::string_view later : kLater)
      if (later == directive)
        return fmt::format("'.{}' is for later processors than {}", directive, target_.processor);
    return fmt::format("unknown directive '.{}'", directive);
  }
  if (target_.isa < field->since)
    return fmt::format("'.{}' needs {} or later", directive, isa::target_name(field->since));
  if (value < 0 || value > field->max) return fmt::format("'.{}' takes 0 to {}", directive, field->max);
  if (directive == "amdhsa_reserve_xnack_mask" && (value != 0) != has_xnack_mask())
    return fmt::format("'.{}' is {} for {}", directive, int{has_xnack_mask()}, target_.to_string());
  if (!values_.emplace(field->name, value).second) return fmt::format("'.{}' is given twice", directive);
  return {};
}

i64 KernelFields::get(std::string_view directive) const {
  const auto it = values_.find(directive);
  return it != values_.end() ? it->second : find_field(directive)->initial;
}

/// SGPRs in units of 8, less one: those the kernel names and the reserved ones behind them (AMDGPUUsage,
/// granulated_wavefront_sgpr_count; LLVM counts units of 8 on gfx9 too).
std::variant<u32, std::string> KernelFields::granulated_sgprs() const {
  const bool flat = get("amdhsa_reserve_flat_scratch") != 0;
  i64 extra = get("amdhsa_reserve_vcc") ? 2 : 0;
  if (target_.isa < Target::gfx803)
    extra = flat ? 4 : extra;
  else
    extra = flat ? 6 : has_xnack_mask() ? 4 : extra;
  i64 count = get("amdhsa_next_free_sgpr");
  const bool init_bug = target_.processor == "gfx802"; // always has 96
  const i64 addressable = init_bug ? 96 : target_.isa < Target::gfx803 ? 104 : 102;
  const bool counts_extra = target_.isa < Target::gfx803 || init_bug;
  if (count + (counts_extra ? extra : 0) > addressable)
    return fmt::format("'.amdhsa_next_free_sgpr' is {}, but {} has {} scalar registers{}", count,
                       target_.processor, addressable,
                       counts_extra && extra ? fmt::format(", {} of them reserved", extra) : "");
  count = init_bug ? 96 : std::max<i64>(count + extra, 1);
  return static_cast<u32>((count + 7) / 8 - 1);
}

std::variant<std::array<u8, 64>, std::string> KernelFields::descriptor() const {
  for (std::string_view required : {"amdhsa_next_free_vgpr", "amdhsa_next_free_sgpr"})
    if (!has(required)) return fmt::format("'.{}' is missing", required);
  u32 words[7] = {}; // by Place
  i64 user_sgprs = 0;
  for (const Field& field : kFields) {
    const i64 value = get(field.name);
    words[static_cast<unsigned>(field.place)] |= static_cast<u32>(value) << field.lo;
    if (value) user_sgprs += field.user_sgprs;
  }
  if (has("amdhsa_user_sgpr_count")) {
    if (get("amdhsa_user_sgpr_count") < user_sgprs)
      return fmt::format("'.amdhsa_user_sgpr_count' is {}, but {} are enabled", get("amdhsa_user_sgpr_count"),
                         user_sgprs);
    user_sgprs = get("amdhsa_user_sgpr_count");
  }
  const auto sgprs = granulated_sgprs();
  if (auto* error = std::get_if<std::string>(&sgprs)) return *error;
  const u32 vgprs = static_cast<u32>((std::max<i64>(get("amdhsa_next_free_vgpr"), 1) + 3) / 4 - 1);
  const auto word = [&](Place place) -> u32& { return words[static_cast<unsigned>(place)]; };
  word(Place::Rsrc1) |= vgprs | std::get<u32>(sgprs) << 6;
  word(Place::Rsrc2) |= static_cast<u32>(user_sgprs) << 1;

  // AMDGPUUsage, "Code Object V3 Kernel Descriptor".
  std::array<u8, 64> bytes{};
  store_le(bytes.data() + 0, word(Place::GroupSize));
  store_le(bytes.data() + 4, word(Place::PrivateSize));
  store_le(bytes.data() + 8, word(Place::KernargSize));
  store_le(bytes.data() + 48, word(Place::Rsrc1));
  store_le(bytes.data() + 52, word(Place::Rsrc2));
  store_le(bytes.data() + 56, static_cast<u16>(word(Place::Properties)));
  return bytes;
}

} // namespace lanewise::abi::assembler
