// Bit counting, reversal and byte shuffles.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Set bits of each element, by nibbles through a table.
VReg Selector::popcount(VReg v, bool wide) {
  if (avx512() && options_.vpopcnt) return b_->op(wide ? Inst::kIdVpopcntq : Inst::kIdVpopcntd, v);
  const VReg bytes = popcount_of_bytes(v);
  if (wide) return b_->op(Inst::kIdVpsadbw, bytes, b_->splat32(0));
  const VReg words = b_->op(Inst::kIdVpmaddubsw, bytes, b_->splat32(0x01010101));
  return b_->op(Inst::kIdVpmaddwd, words, b_->splat32(0x00010001));
}

VReg Selector::popcount_of_bytes(VReg v) {
  static constexpr u8 kCounts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  const VReg counts = byte_table(kCounts), nibble = b_->splat32(0x0f0f0f0f);
  const VReg low = b_->op(Inst::kIdVpshufb, counts, vand(v, nibble));
  const VReg high = b_->op(Inst::kIdVpshufb, counts, vand(shr_imm(v, 4), nibble));
  return b_->op(Inst::kIdVpaddb, low, high);
}

/// 16 bytes repeated in every 128 bits.
VReg Selector::byte_table(const u8* bytes) {
  std::array<u8, 64> all{};
  for (unsigned n = 0; n < 64; ++n) all[n] = bytes[n % 16];
  return table(all.data());
}

/// The exponent of a number as f32 is where its top bit is, without rounding if the bit below it is clear.
VReg Selector::leading_zeros32(VReg v) {
  constexpr u32 kTopExponent = 127 + 31;
  const VReg number = b_->op(Inst::kIdVcvtdq2ps, vandn(shr_imm(v, 1), v));
  // With the top bit set it is negative, and the difference saturates; 0 has exponent 0.
  const VReg zeros = b_->op(Inst::kIdVpsubusw, b_->splat32(kTopExponent), shr_imm(number, 23));
  return b_->op(Inst::kIdVpminsw, zeros, or_mem(b_->splat32(32)));
}

VReg Selector::leading_zeros(VReg v, bool wide) {
  if (avx512()) return b_->op(wide ? Inst::kIdVplzcntq : Inst::kIdVplzcntd, v);
  const VReg zeros = leading_zeros32(v);
  if (!wide) return zeros;
  const VReg upper = shr_imm(zeros, 32, true); // The lower half's count if that is 32.
  const VReg whole = b_->op(Inst::kIdVpcmpeqq, upper, or_mem(b_->splat64(32)));
  const VReg lower = shr_imm(shl_imm(zeros, 32, true), 32, true);
  return b_->op(Inst::kIdVpaddq, upper, vand(lower, whole));
}

VReg Selector::trailing_zeros(VReg v, bool wide) {
  const VReg below = b_->op(wide ? Inst::kIdVpaddq : Inst::kIdVpaddd, v, b_->splat32(~0u));
  return popcount(vandn(v, below), wide);
}

VReg Selector::reverse_bits(VReg v, bool wide) {
  static constexpr u8 kSwap32[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
  static constexpr u8 kSwap64[16] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
  return reverse_bits_of_bytes(b_->op(Inst::kIdVpshufb, v, byte_table(wide ? kSwap64 : kSwap32)));
}

VReg Selector::reverse_bits_of_bytes(VReg v) {
  static constexpr u8 kLowNibble[16] = {0x00, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0,
                                        0x10, 0x90, 0x50, 0xd0, 0x30, 0xb0, 0x70, 0xf0};
  static constexpr u8 kHighNibble[16] = {0x0, 0x8, 0x4, 0xc, 0x2, 0xa, 0x6, 0xe,
                                         0x1, 0x9, 0x5, 0xd, 0x3, 0xb, 0x7, 0xf};
  const VReg nibble = b_->splat32(0x0f0f0f0f);
  const VReg from_low = b_->op(Inst::kIdVpshufb, byte_table(kLowNibble), vand(v, nibble));
  const VReg from_high = b_->op(Inst::kIdVpshufb, byte_table(kHighNibble), vand(shr_imm(v, 4), nibble));
  return vor(from_low, from_high);
}

/// v_perm_b32. Selector byte s: 0..3 bytes of b, 4..7 of a, 8..11 the sign of b's byte 1, 3, a's byte 1, 3;
/// 12 zero; above, 0xff.
VReg Selector::permute_bytes(VReg a, VReg b, VReg selector) {
  static constexpr u8 kSource[16] = {0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 5, 7, 0, 0, 0, 0};
  static constexpr u8 kKeep[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0};
  static constexpr u8 kSign[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
  static constexpr u8 kOnes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff};
  static constexpr u8 kDwordStart[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  const auto look_up = [&](const u8* values, VReg index) {
    return b_->op(Inst::kIdVpshufb, byte_table(values), index);
  };
  const VReg s = b_->op(Inst::kIdVpminub, selector, b_->splat32(0x0f0f0f0f));
  const VReg source = look_up(kSource, s);
  const VReg within = vor(vand(source, b_->splat32(0x03030303)), byte_table(kDwordStart));
  const VReg from_b = b_->op(Inst::kIdVpshufb, b, within), from_a = b_->op(Inst::kIdVpshufb, a, within);
  const VReg four = b_->splat32(0x04040404);
  const VReg data = byte_blend(vand(source, four), four, from_a, from_b);
  const VReg top = b_->splat32(0x80808080);
  const VReg zero = b_->splat32(0);
  const VReg sign = byte_blend(vand(data, top), top, look_up(kSign, s), zero);
  return vor(vor(vand(data, look_up(kKeep, s)), sign), look_up(kOnes, s));
}

/// Per byte: x == y ? if_equal : otherwise.
VReg Selector::byte_blend(VReg x, VReg y, VReg if_equal, VReg otherwise) {
  if (!avx512()) return b_->op(Inst::kIdVpblendvb, otherwise, if_equal, b_->op(Inst::kIdVpcmpeqb, x, y));
  const VReg equal = b_->op_k(Inst::kIdVpcmpeqb, x, y);
  b_->with_mask(equal);
  return b_->op(Inst::kIdVpblendmb, otherwise, if_equal);
}

/// With a constant selector that takes no signs: one shuffle per source that is used.
bool Selector::permute_bytes_constant(ValueId result, VReg a, VReg b, u32 selector) {
  u8 index[2][16] = {}; // of b and a
  u8 ones[16] = {};
  bool used[2] = {}, any_ones = false;
  for (unsigned n = 0; n < 16; ++n) {
    const u32 s = selector >> (n % 4 * 8) & 0xff;
    if (s >= 8 && s < 12) return false;
    for (unsigned source = 0; source < 2; ++source) {
      const bool from = s / 4 == source;
      used[source] |= from;
      index[source][n] = from ? static_cast<u8>(n / 4 * 4 + s % 4) : 0x80;
    }
    ones[n] = s > 12 ? 0xff : 0;
    any_ones |= s > 12;
  }
  VReg out;
  const auto add = [&](VReg v) { out = out.valid() ? vor(out, v) : v; };
  if (used[0]) add(b_->op(Inst::kIdVpshufb, b, byte_table(index[0])));
  if (used[1]) add(b_->op(Inst::kIdVpshufb, a, byte_table(index[1])));
  if (any_ones) add(byte_table(ones));
  set(result, out.valid() ? out : b_->splat32(0));
  return true;
}

bool Selector::bits_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 1 || !ir::is_vector(type(f_.result(i)))) return false;
  const ValueId result = f_.result(i);
  const Type t = type(result);
  const bool wide = t == Type::V64;
  const auto operands = f_.operands(i);
  if (inst.op == Op::BytePerm) {
    u64 selector = 0;
    const VReg a = reg1(operands[0]), b = reg1(operands[1]);
    if (f_.is_const(operands[2], &selector) &&
        permute_bytes_constant(result, a, b, static_cast<u32>(selector)))
      return true;
    return set(result, permute_bytes(a, b, reg1(operands[2]))), true;
  }
  Regs out;
  for (unsigned p = 0; p < parts(t); ++p) {
    switch (inst.op) {
    case Op::PopCount: out.r[p] = popcount(part(operands[0], p), wide); break;
    case Op::CountLz: out.r[p] = leading_zeros(part(operands[0], p), wide); break;
    case Op::CountTz: out.r[p] = trailing_zeros(part(operands[0], p), wide); break;
    case Op::BitRev: out.r[p] = reverse_bits(part(operands[0], p), wide); break;
    default: return false;
    }
  }
  return set(result, out), true;
}

} // namespace lanewise::x86
