// Vector shifts and rotations. IR amounts count modulo the width; x86 gives 0 for larger ones.
#include "translator/x86/selector.hpp"

#include <array>

namespace lanewise::x86 {

/// The masked amounts for part p's elements.
VReg Selector::shift_count(ValueId amount, unsigned p, bool wide) {
  const u64 limit = wide ? 63 : 31;
  VReg count = reg1(amount);
  if (limits().max(amount) > limit) count = vand(count, b_->splat32(static_cast<u32>(limit)));
  return wide ? widen(count, p, false) : count;
}

/// Elements of so many bytes, rotated to the right by whole ones.
VReg Selector::rotate_bytes(VReg v, unsigned bytes, unsigned size) {
  if (size == 8 && bytes == 4) return b_->op(Inst::kIdVpshufd, v, imm(0xb1));
  std::array<u8, 16> from{};
  for (unsigned n = 0; n < from.size(); ++n) from[n] = static_cast<u8>(n / size * size + (n + bytes) % size);
  return b_->op(Inst::kIdVpshufb, v, or_mem(byte_table(from.data())));
}

bool Selector::shift_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const Type t = type(result);
  const bool wide = t == Type::V64;
  const auto operands = f_.operands(i);
  u64 amount = 0;
  Regs out;
  const bool constant = operands.size() > 1 && f_.is_const(operands[1], &amount);
  switch (inst.op) {
  case Op::Shl:
  case Op::LShr:
    amount &= wide ? 63 : 31;
    for (unsigned p = 0; p < parts(t); ++p) {
      const VReg v = part(operands[0], p);
      if (constant) {
        out.r[p] = inst.op == Op::Shl ? shl_imm(v, static_cast<unsigned>(amount), wide)
                                      : shr_imm(v, static_cast<unsigned>(amount), wide);
        continue;
      }
      const u32 id = inst.op == Op::Shl ? (wide ? Inst::kIdVpsllvq : Inst::kIdVpsllvd)
                                        : (wide ? Inst::kIdVpsrlvq : Inst::kIdVpsrlvd);
      out.r[p] = b_->op(id, v, shift_count(operands[1], p, wide));
    }
    break;
  case Op::AShr:
    for (unsigned p = 0; p < parts(t); ++p) {
      const VReg v = part(operands[0], p);
      if (!wide && constant) {
        out.r[p] = sar_imm32(v, static_cast<unsigned>(amount & 31));
      } else if (!wide) {
        out.r[p] = b_->op(Inst::kIdVpsravd, v, shift_count(operands[1], p, false));
      } else if (avx512()) {
        out.r[p] = constant ? b_->op(Inst::kIdVpsraq, v, imm(static_cast<i64>(amount & 63)))
                            : b_->op(Inst::kIdVpsravq, v, shift_count(operands[1], p, true));
      } else { // Shift in zeros, the negative complemented before and after.
        const VReg sign = sign64(v);
        out.r[p] = vxor(b_->op(Inst::kIdVpsrlvq, vxor(v, sign), shift_count(operands[1], p, true)), sign);
      }
    }
    break;
  case Op::FunnelShr: {
    const VReg a = reg1(operands[0]), b = reg1(operands[1]);
    if (f_.is_const(operands[2], &amount)) {
      amount &= 31;
      if (amount == 0)
        out.r[0] = b;
      else if (avx512() && operands[0] == operands[1])
        out.r[0] = b_->op(Inst::kIdVprord, a, imm(static_cast<i64>(amount)));
      else if (amount % 8 == 0 && operands[0] == operands[1])
        out.r[0] = rotate_bytes(a, static_cast<unsigned>(amount / 8), 4);
      else
        out.r[0] =
            vor(shr_imm(b, static_cast<unsigned>(amount)), shl_imm(a, static_cast<unsigned>(32 - amount)));
      break;
    }
    if (avx512() && operands[0] == operands[1]) { // Rotates by its low bits.
      out.r[0] = b_->op(Inst::kIdVprorvd, a, or_mem(reg1(operands[2])));
      break;
    }
    const VReg count = shift_count(operands[2], 0, false);
    const VReg rest = b_->op(Inst::kIdVpsubd, b_->splat32(32), count); // 32 shifts everything out.
    out.r[0] = vor(b_->op(Inst::kIdVpsrlvd, b, count), b_->op(Inst::kIdVpsllvd, a, rest));
    break;
  }
  default: return false;
  }
  return set(result, out), true;
}

} // namespace lanewise::x86
