#include "isa/symbols.hpp"

namespace lanewise::isa {
namespace {

using enum Target;

// clang-format off
constexpr Symbol kHwregs[] = {
  {"HW_REG_MODE", 1}, {"HW_REG_STATUS", 2}, {"HW_REG_TRAPSTS", 3}, {"HW_REG_HW_ID", 4}, {"HW_REG_GPR_ALLOC", 5},
  {"HW_REG_LDS_ALLOC", 6}, {"HW_REG_IB_STS", 7}, {"HW_REG_SH_MEM_BASES", 15, gfx900}, {"HW_REG_TBA_LO", 16, gfx900},
  {"HW_REG_TBA_HI", 17, gfx900}, {"HW_REG_TMA_LO", 18, gfx900}, {"HW_REG_TMA_HI", 19, gfx900},
};
constexpr Symbol kMessages[] = {
  {"MSG_INTERRUPT", 1}, {"MSG_GS", 2}, {"MSG_GS_DONE", 3}, {"MSG_SAVEWAVE", 4, gfx803}, {"MSG_STALL_WAVE_GEN", 5, gfx900},
  {"MSG_HALT_WAVES", 6, gfx900}, {"MSG_ORDERED_PS_DONE", 7, gfx900}, {"MSG_EARLY_PRIM_DEALLOC", 8, gfx900},
  {"MSG_GS_ALLOC_REQ", 9, gfx900}, {"MSG_GET_DOORBELL", 10, gfx900}, {"MSG_SYSMSG", 15},
};
constexpr Symbol kGsOps[] = {{"GS_OP_NOP", 0}, {"GS_OP_CUT", 1}, {"GS_OP_EMIT", 2}, {"GS_OP_EMIT_CUT", 3}};
constexpr Symbol kSysmsgOps[] = {
  {"SYSMSG_OP_ECC_ERR_INTERRUPT", 1}, {"SYSMSG_OP_REG_RD", 2}, {"SYSMSG_OP_HOST_TRAP_ACK", 3}, {"SYSMSG_OP_TTRACE_PC", 4},
};
constexpr Symbol kDfmts[] = {
  {"BUF_DATA_FORMAT_INVALID", 0}, {"BUF_DATA_FORMAT_8", 1}, {"BUF_DATA_FORMAT_16", 2}, {"BUF_DATA_FORMAT_8_8", 3},
  {"BUF_DATA_FORMAT_32", 4}, {"BUF_DATA_FORMAT_16_16", 5}, {"BUF_DATA_FORMAT_10_11_11", 6}, {"BUF_DATA_FORMAT_11_11_10", 7},
  {"BUF_DATA_FORMAT_10_10_10_2", 8}, {"BUF_DATA_FORMAT_2_10_10_10", 9}, {"BUF_DATA_FORMAT_8_8_8_8", 10},
  {"BUF_DATA_FORMAT_32_32", 11}, {"BUF_DATA_FORMAT_16_16_16_16", 12}, {"BUF_DATA_FORMAT_32_32_32", 13},
  {"BUF_DATA_FORMAT_32_32_32_32", 14}, {"BUF_DATA_FORMAT_RESERVED_15", 15},
};
constexpr Symbol kNfmts[] = {
  {"BUF_NUM_FORMAT_UNORM", 0}, {"BUF_NUM_FORMAT_SNORM", 1}, {"BUF_NUM_FORMAT_USCALED", 2}, {"BUF_NUM_FORMAT_SSCALED", 3},
  {"BUF_NUM_FORMAT_UINT", 4}, {"BUF_NUM_FORMAT_SINT", 5}, {"BUF_NUM_FORMAT_SNORM_OGL", 6, gfx600, gfx700},
  {"BUF_NUM_FORMAT_RESERVED_6", 6, gfx803}, {"BUF_NUM_FORMAT_FLOAT", 7},
};
constexpr Symbol kSdwaSels[] = {
  {"BYTE_0", 0}, {"BYTE_1", 1}, {"BYTE_2", 2}, {"BYTE_3", 3}, {"WORD_0", 4}, {"WORD_1", 5}, {"DWORD", 6},
};
constexpr Symbol kDstUnused[] = {{"UNUSED_PAD", 0}, {"UNUSED_SEXT", 1}, {"UNUSED_PRESERVE", 2}};
constexpr Symbol kGprIdx[] = {{"SRC0", 1}, {"SRC1", 2}, {"SRC2", 4}, {"DST", 8}};
constexpr Symbol kInterpParams[] = {{"p10", 0}, {"p20", 1}, {"p0", 2}};
// clang-format on

} // namespace

std::span<const Symbol> hwreg_symbols() { return kHwregs; }
std::span<const Symbol> message_symbols() { return kMessages; }
std::span<const Symbol> gs_op_symbols() { return kGsOps; }
std::span<const Symbol> sysmsg_op_symbols() { return kSysmsgOps; }
std::span<const Symbol> dfmt_symbols() { return kDfmts; }
std::span<const Symbol> nfmt_symbols() { return kNfmts; }
std::span<const Symbol> sdwa_sel_symbols() { return kSdwaSels; }
std::span<const Symbol> dst_unused_symbols() { return kDstUnused; }
std::span<const Symbol> gpr_idx_symbols() { return kGprIdx; }
std::span<const Symbol> interp_param_symbols() { return kInterpParams; }

std::string_view symbol_name(std::span<const Symbol> symbols, unsigned value, Target target) {
  for (const Symbol& symbol : symbols)
    if (symbol.value == value && symbol.on(target)) return symbol.name;
  return {};
}

int symbol_value(std::span<const Symbol> symbols, std::string_view name, Target target) {
  for (const Symbol& symbol : symbols)
    if (symbol.name == name && symbol.on(target)) return symbol.value;
  return -1;
}

DppName dpp_name(unsigned ctrl) {
  if (ctrl <= 0xff) return {"quad_perm"};
  const int amount = static_cast<int>(ctrl % 16);
  switch (ctrl & ~15u) {
  case 0x100: return {"row_shl", amount};
  case 0x110: return {"row_shr", amount};
  case 0x120: return {"row_ror", amount};
  default: break;
  }
  switch (ctrl) {
  case 0x130: return {"wave_shl", 1};
  case 0x134: return {"wave_rol", 1};
  case 0x138: return {"wave_shr", 1};
  case 0x13c: return {"wave_ror", 1};
  case 0x140: return {"row_mirror"};
  case 0x141: return {"row_half_mirror"};
  case 0x142: return {"row_bcast", 15};
  case 0x143: return {"row_bcast", 31};
  default: return {};
  }
}

} // namespace lanewise::isa
