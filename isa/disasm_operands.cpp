#include "isa/disasm.hpp"
#include "isa/encoding.hpp"
#include "isa/registers.hpp"
#include "isa/symbols.hpp"

#include <fmt/format.h>

#include <bit>
#include <iterator>

namespace lanewise::isa {
namespace {

auto into(std::string& out) { return std::back_inserter(out); }

void append_decimal(std::string& out, i64 value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

/// `v5` or `v[4:5]`.
void append_tuple(std::string& out, std::string_view file, unsigned index, unsigned dwords) {
  out += file;
  if (dwords <= 1) return append_decimal(out, index);
  out += '[';
  append_decimal(out, index);
  out += ':';
  append_decimal(out, index + dwords - 1);
  out += ']';
}

/// A pair with a name of its own, or an empty view. `code` is the lower half's.
std::string_view pair_name(unsigned code, Target target) {
  if (code == kVccLo) return "vcc";
  if (code == kExecLo) return "exec";
  if (code == flat_scratch_code(target) && code) return "flat_scratch";
  if (code == xnack_mask_code(target) && code) return "xnack_mask";
  if (target <= Target::gfx803 && code == 108) return "tba";
  if (target <= Target::gfx803 && code == 110) return "tma";
  return {};
}

std::string_view special_name(unsigned code) {
  switch (code) {
  case kSharedBase: return "src_shared_base";
  case kSharedLimit: return "src_shared_limit";
  case kPrivateBase: return "src_private_base";
  case kPrivateLimit: return "src_private_limit";
  case kPopsExitingWaveId: return "src_pops_exiting_wave_id";
  case kVccz: return "src_vccz";
  case kExecz: return "src_execz";
  case kScc: return "src_scc";
  case kLdsDirect: return "src_lds_direct";
  default: return "src_reserved";
  }
}

bool is_double_width(const Operand& operand) {
  switch (operand.type) {
  case OperandType::B64:
  case OperandType::U64:
  case OperandType::I64:
  case OperandType::F64:
  case OperandType::Mask:
  case OperandType::B128: return true;
  default: return false;
  }
}

void append_inline(std::string& out, const Operand& operand) {
  static constexpr std::string_view kFloats[8] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  const unsigned code = operand.index;
  if (code == enc::kSrcInvTwoPi)
    out += is_double_width(operand) ? "0.15915494309189532" : "0.15915494";
  else if (code >= enc::kSrcHalf)
    out += kFloats[code - enc::kSrcHalf];
  else
    append_decimal(out, code <= 192 ? static_cast<int>(code) - 128 : 192 - static_cast<int>(code));
}

/// The inline constant that the plain text of the literal `dword` would be taken for, or 0.
unsigned inline_code_of(const Operand& operand, u32 dword, Target target) {
  const bool half = literal_constant(0xffffffff, operand.type) == 0xffff;
  const i64 number = half ? static_cast<i16>(dword) : static_cast<i32>(dword);
  if (number >= 0 && number <= 64) return enc::kSrcInlineZero + static_cast<unsigned>(number);
  if (is_double_width(operand)) return 0; // The text of other numbers is of their 32 bits.
  if (number < 0 && number >= -16) return 192 + static_cast<unsigned>(-number);
  if (half && operand.type != OperandType::F16) return 0;
  const unsigned last = target >= Target::gfx803 ? enc::kSrcInvTwoPi : enc::kSrcInvTwoPi - 1;
  for (unsigned code = enc::kSrcHalf; code <= last; ++code)
    if (inline_constant(code, operand.type) == dword) return code;
  return 0;
}

void append_literal(std::string& out, const Operand& operand, Target target, bool lit) {
  const bool high_half = operand.type == OperandType::F64;
  const u32 dword = static_cast<u32>(high_half ? operand.value >> 32 : operand.value);
  const unsigned code = inline_code_of(operand, dword, target);
  if (code && high_half &&
      dword) { // The double, since as an integer it would read back as an inline constant.
    fmt::format_to(into(out), "{}", std::bit_cast<double>(operand.value));
  } else if (code && !lit) {
    append_inline(out, {.type = operand.type, .index = static_cast<u16>(code)});
  } else {
    fmt::format_to(into(out), "{}{:#x}{}", code ? "lit(" : "", dword, code ? ")" : "");
  }
}

void append_hwreg(std::string& out, unsigned imm, Target target) {
  const unsigned id = imm & 63, offset = imm >> 6 & 31, width = (imm >> 11) + 1;
  out += "hwreg(";
  const std::string_view name = symbol_name(hwreg_symbols(), id, target);
  if (name.empty())
    fmt::format_to(into(out), "{}", id);
  else
    out += name;
  if (offset != 0 || width != 32) fmt::format_to(into(out), ", {}, {}", offset, width);
  out += ')';
}

/// Whether operation and stream are what LLVM accepts by name for the message.
bool is_named_message(unsigned id, unsigned op, unsigned stream, Target target) {
  if (symbol_name(message_symbols(), id, target).empty()) return false;
  if (id == kMsgSysmsg) return stream == 0 && !symbol_name(sysmsg_op_symbols(), op, target).empty();
  if (id != kMsgGs && id != kMsgGsDone) return op == 0 && stream == 0;
  if (op == 0) return id == kMsgGsDone && stream == 0;
  return op < 4;
}

void append_message(std::string& out, unsigned imm, Target target) {
  const unsigned id = imm & 15, op = imm >> 4 & 7, stream = imm >> 8 & 3;
  if (imm != (id | op << 4 | stream << 8)) {
    fmt::format_to(into(out), "{}", imm);
    return;
  }
  if (!is_named_message(id, op, stream, target)) {
    fmt::format_to(into(out), "sendmsg({}, {}, {})", id, op, stream);
    return;
  }
  fmt::format_to(into(out), "sendmsg({}", symbol_name(message_symbols(), id, target));
  if (id == kMsgSysmsg) fmt::format_to(into(out), ", {}", symbol_name(sysmsg_op_symbols(), op, target));
  if (id == kMsgGs || id == kMsgGsDone) {
    fmt::format_to(into(out), ", {}", symbol_name(gs_op_symbols(), op, target));
    if (op != 0) fmt::format_to(into(out), ", {}", stream);
  }
  out += ')';
}

/// Counters at their maximum are not waited for and not printed, unless all are.
void append_waitcnt(std::string& out, unsigned imm, Target target) {
  const WaitCounts counts = unpack_waitcnt(target, imm), none = unpack_waitcnt(target, 0xffff);
  const bool all = counts.vm == none.vm && counts.exp == none.exp && counts.lgkm == none.lgkm;
  std::string_view separator;
  const auto counter = [&](std::string_view name, unsigned value, unsigned maximum) {
    if (value == maximum && !all) return;
    fmt::format_to(into(out), "{}{}({})", separator, name, value);
    separator = " ";
  };
  counter("vmcnt", counts.vm, none.vm);
  counter("expcnt", counts.exp, none.exp);
  counter("lgkmcnt", counts.lgkm, none.lgkm);
}

void append_gpr_idx(std::string& out, unsigned imm) {
  if (imm > 15) {
    fmt::format_to(into(out), "{:#x}", imm);
    return;
  }
  out += "gpr_idx(";
  std::string_view separator;
  for (const Symbol& symbol : gpr_idx_symbols())
    if (imm & symbol.value) {
      fmt::format_to(into(out), "{}{}", separator, symbol.name);
      separator = ",";
    }
  out += ')';
}

} // namespace

void append_vgpr(std::string& out, unsigned index, unsigned dwords) { append_tuple(out, "v", index, dwords); }

void append_sgpr(std::string& out, unsigned code, unsigned dwords, Target target) {
  std::string_view file = "s";
  unsigned index = code;
  if (code >= first_ttmp(target) && code < kM0) {
    file = "ttmp";
    index = code - first_ttmp(target);
  } else if (code == kM0) {
    out += "m0";
    return;
  } else if (code >= num_sgprs(target)) {
    out += pair_name(code & ~1u, target);
    if (dwords == 1) out += code & 1 ? "_hi" : "_lo";
    return;
  }
  append_tuple(out, file, index, dwords);
}

void append_immediate(std::string& out, const Operand& operand, Target target) {
  const auto value = static_cast<i64>(operand.value);
  const auto imm = static_cast<u16>(operand.value);
  switch (operand.type) {
  case OperandType::HwReg: return append_hwreg(out, imm, target);
  case OperandType::SendMsg: return append_message(out, imm, target);
  case OperandType::WaitCnt: return append_waitcnt(out, imm, target);
  case OperandType::GprIdx: return append_gpr_idx(out, imm);
  case OperandType::InterpParam: out += symbol_name(interp_param_symbols(), imm, target); return;
  case OperandType::Label: fmt::format_to(into(out), "{}", imm); return;
  case OperandType::Simm16: fmt::format_to(into(out), "{:#x}", imm); return;
  default: break;
  }
  if (value >= -16 && value <= 64)
    append_decimal(out, value);
  else
    fmt::format_to(into(out), "{:#x}", value);
}

void append_operand(std::string& out, const Operand& operand, Target target, bool lit) {
  switch (operand.kind) {
  case OperandKind::None: out += "off"; break;
  case OperandKind::Vgpr: append_vgpr(out, operand.index, operand.dwords); break;
  case OperandKind::Sgpr: append_sgpr(out, operand.index, operand.dwords, target); break;
  case OperandKind::Special: out += special_name(operand.index); break;
  case OperandKind::Inline: append_inline(out, operand); break;
  case OperandKind::Literal: append_literal(out, operand, target, lit); break;
  case OperandKind::Imm: append_immediate(out, operand, target); break;
  }
}

} // namespace lanewise::isa
