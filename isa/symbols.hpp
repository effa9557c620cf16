// The symbolic names inside operands: hardware registers, messages, buffer formats, export targets, DPP and
// SDWA controls. Disassembler and assembler share these tables.
#pragma once

#include "isa/inst.hpp"

#include <span>
#include <string_view>

namespace lanewise::isa {

/// A name for a value, on targets from `since` to `until`.
struct Symbol {
  std::string_view name;
  u16 value = 0;
  Target since = Target::gfx600, until = Target::gfx906;

  [[nodiscard]] constexpr bool on(Target target) const { return target >= since && target <= until; }
};

std::span<const Symbol> hwreg_symbols();        ///< s_getreg, s_setreg: bits 5:0
std::span<const Symbol> message_symbols();      ///< s_sendmsg: bits 3:0
std::span<const Symbol> gs_op_symbols();        ///< bits 6:4 of MSG_GS and MSG_GS_DONE
std::span<const Symbol> sysmsg_op_symbols();    ///< bits 6:4 of MSG_SYSMSG
std::span<const Symbol> dfmt_symbols();         ///< MTBUF data format
std::span<const Symbol> nfmt_symbols();         ///< MTBUF number format
std::span<const Symbol> sdwa_sel_symbols();     ///< indexed by SdwaSel
std::span<const Symbol> dst_unused_symbols();   ///< indexed by Modifiers::dst_unused
std::span<const Symbol> gpr_idx_symbols();      ///< bits of s_set_gpr_idx_on and _mode
std::span<const Symbol> interp_param_symbols(); ///< v_interp_mov: p10, p20, p0

/// The name of `value`, or an empty view.
std::string_view symbol_name(std::span<const Symbol> symbols, unsigned value, Target target);

/// The value of `name`, or -1.
int symbol_value(std::span<const Symbol> symbols, std::string_view name, Target target);

/// Fields of the s_sendmsg immediate.
inline constexpr unsigned kMsgGs = 2, kMsgGsDone = 3, kMsgSysmsg = 15;

/// What a DPP control value is called, and the number after its colon, if any: {"row_shl", 3}, {"row_mirror",
/// -1}.
struct DppName {
  std::string_view name;
  int amount = -1;
};
DppName dpp_name(unsigned ctrl);

/// Bits of s_waitcnt's counters on a target. vmcnt is split from gfx900: `vm_hi` bits at 14.
struct WaitCounts {
  unsigned vm = 0, exp = 0, lgkm = 0;
};
constexpr WaitCounts unpack_waitcnt(Target target, unsigned imm) {
  const unsigned high = target >= Target::gfx900 ? (imm >> 14 & 3) << 4 : 0;
  return {.vm = (imm & 15) | high, .exp = imm >> 4 & 7, .lgkm = imm >> 8 & 15};
}
constexpr unsigned pack_waitcnt(Target target, WaitCounts counts) {
  const unsigned high = target >= Target::gfx900 ? (counts.vm >> 4 & 3) << 14 : 0;
  return (counts.vm & 15) | (counts.exp & 7) << 4 | (counts.lgkm & 15) << 8 | high;
}

} // namespace lanewise::isa
