// Machine code to Inst, for all five targets. What no document defines is refused, with the reason.
#pragma once

#include "isa/op.hpp"
#include "support/result.hpp"

#include <span>

namespace lanewise::isa {

/// Why some bytes are not an instruction.
enum class DecodeStatus : u8 {
  Ok,
  Truncated,        ///< the instruction's bytes go past the end of the input
  UnknownEncoding,  ///< the uppermost bits select no microcode format of the target
  UnknownOpcode,    ///< the format has no such opcode on the target
  UnknownForm,      ///< the opcode has no SDWA or DPP form on the target
  ReservedSource,   ///< a source field holds a code that names nothing on the target
  ReservedRegister, ///< a scalar register field holds a code that names no register on the target
  MisalignedScalar, ///< a multi-dword scalar operand does not start at a multiple of 2 or 4 (7nm guide 3.6.3)
  RegisterRange,    ///< a multi-dword operand goes past the last register
  LiteralNotAllowed,  ///< a literal in VOP3, SDWA or DPP
  LdsDirectMisplaced, ///< lds_direct anywhere but in the first source of a vector instruction
  ReservedControl,    ///< reserved value of dpp_ctrl, an SDWA selector, dst_unused or the FLAT segment
  ReservedBits, ///< a bit that the instruction does not define is set, or bits contradict each other (addr64
                ///< with idxen)
};

/// One sentence for `status`.
std::string_view reason(DecodeStatus status);

/// Decodes the first instruction of `code`, a whole number of dwords, into `out`, which is meaningless unless
/// the result is Ok. Never allocates. Bits that the instruction does not define must be zero.
DecodeStatus decode(Target target, std::span<const u32> code, Inst& out);

/// The same from bytes at any alignment (little-endian), as a value; the error names the dwords and the
/// reason.
Result<Inst> decode(Target target, std::span<const u8> bytes);

} // namespace lanewise::isa
