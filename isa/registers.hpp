// Which scalar registers and constants exist on a target, and what inline constants are worth.
#pragma once

#include "isa/inst.hpp"

namespace lanewise::isa {

/// SGPRs that a program can name: s0 to s101 or s103.
constexpr unsigned num_sgprs(Target target) { return target >= Target::gfx803 ? 102 : 104; }

/// First code of the trap temporaries ttmp0.. (they end at 123).
constexpr unsigned first_ttmp(Target target) { return target >= Target::gfx900 ? 108 : 112; }

/// The code of flat_scratch_lo, or 0 where there is none.
constexpr unsigned flat_scratch_code(Target target) {
  return target >= Target::gfx803 ? 102 : target == Target::gfx700 ? 104 : 0;
}

/// The code of xnack_mask_lo, or 0 where there is none.
constexpr unsigned xnack_mask_code(Target target) { return target >= Target::gfx803 ? 104 : 0; }

/// How many consecutive scalar registers, from `code` on, belong to the same file or register pair: the
/// widest operand that may start there. 0: no such register on `target`.
constexpr unsigned sgpr_run(Target target, unsigned code) {
  if (code < num_sgprs(target)) return num_sgprs(target) - code;
  if (code >= kVccLo && code <= kVccHi) return kVccHi + 1u - code;
  if (code >= first_ttmp(target) && code < kM0) return kM0 - code;
  if (code == kM0) return 1;
  if (code == kExecLo || code == kExecLo + 1) return kExecLo + 2u - code;
  if (target <= Target::gfx803 && code >= 108 && code < 112) return 2 - code % 2; // tba, tma
  const unsigned flat = flat_scratch_code(target), xnack = xnack_mask_code(target);
  if ((flat && (code == flat || code == flat + 1)) || (xnack && (code == xnack || code == xnack + 1)))
    return 2 - code % 2;
  return 0;
}

/// The alignment of a tuple of `dwords` scalar registers, as a mask of the code's low bits (7nm guide 3.6.3).
constexpr unsigned tuple_alignment(unsigned dwords) { return dwords <= 1 ? 0 : dwords == 2 ? 1 : 3; }

/// The bits of the integer or float inline constant `code` (128..208, 240..248) as an operand of `type`.
/// Integers are sign-extended whatever the type; floats take the operand's width, 16-bit ones in the low half
/// of a packed operand.
u64 inline_constant(unsigned code, OperandType type);

/// The bits of the 32-bit literal `dword` as an operand of `type` (7nm guide 5.2, 6.2.1; LLVM's operand
/// syntax, Literals).
u64 literal_constant(u32 dword, OperandType type);

/// True for the types whose operands take neg and abs.
constexpr bool is_float(OperandType type) {
  return type == OperandType::F16 || type == OperandType::F32 || type == OperandType::F64;
}

} // namespace lanewise::isa
