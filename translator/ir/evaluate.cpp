#include "translator/ir/evaluate.hpp"

namespace lanewise::ir {

namespace {

bool compare(IntPred p, u64 a, u64 b, unsigned width) {
  const i64 sa = sign_extend(a, width), sb = sign_extend(b, width);
  switch (p) {
  case IntPred::Eq: return a == b;
  case IntPred::Ne: return a != b;
  case IntPred::ULt: return a < b;
  case IntPred::ULe: return a <= b;
  case IntPred::UGt: return a > b;
  case IntPred::UGe: return a >= b;
  case IntPred::SLt: return sa < sb;
  case IntPred::SLe: return sa <= sb;
  case IntPred::SGt: return sa > sb;
  case IntPred::SGe: return sa >= sb;
  }
  return false;
}

u64 reverse_bits(u64 x, unsigned width) {
  u64 r = 0;
  for (unsigned i = 0; i < width; ++i) r |= ((x >> i) & 1) << (width - 1 - i);
  return r;
}

u32 byte_perm(u32 a, u32 b, u32 selector) { // v_perm_b32: a is the high dword of the pool
  const u64 pool = u64{a} << 32 | b;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 s = bits(selector, 8 * i, 8);
    u32 byte = 0;
    if (s < 8)
      byte = static_cast<u32>(pool >> (8 * s)) & 0xff;
    else if (s < 12)
      byte = (pool >> (16 * (s - 8) + 15)) & 1 ? 0xff : 0;
    else if (s == 12)
      byte = 0;
    else
      byte = 0xff;
    result |= byte << (8 * i);
  }
  return result;
}

/// Of 16 bits.
u64 evaluate_half(Op op, u64 a, u64 b) {
  const i64 x = sign_extend(a, 16), y = sign_extend(b, 16);
  const auto saturated = [](i64 v) { return static_cast<u64>(std::clamp<i64>(v, -0x8000, 0x7fff)) & 0xffff; };
  switch (op) {
  case Op::Add16: return (a + b) & 0xffff;
  case Op::Sub16: return (a - b) & 0xffff;
  case Op::Mul16: return (a * b) & 0xffff;
  case Op::SAdd16: return saturated(x + y);
  case Op::UAdd16: return std::min<u64>(a + b, 0xffff);
  case Op::SSub16: return saturated(x - y);
  case Op::USub16: return a < b ? 0 : a - b;
  case Op::SMin16: return x < y ? a : b;
  case Op::SMax16: return x > y ? a : b;
  case Op::UMin16: return std::min(a, b);
  case Op::UMax16: return std::max(a, b);
  case Op::Shl16: return (a << b) & 0xffff;
  case Op::LShr16: return a >> b;
  default: return static_cast<u64>(x >> b) & 0xffff; // AShr16
  }
}

} // namespace

std::optional<u64> evaluate(Op op, Type result, Type operand_type, u64 imm, std::span<const u64> x) {
  const unsigned width = bit_width(result);
  const unsigned amount_mask = width - 1;
  const u64 ones = constant_bits(result);
  switch (op) {
  case Op::Splat: return result == Type::Mask ? (x[0] != 0 ? ~u64{0} : 0) : x[0];
  case Op::Join: return x[1] << 32 | x[0];
  case Op::Lo: return x[0] & 0xffff'ffffu;
  case Op::Hi: return x[0] >> 32;
  case Op::ZExt: return x[0];
  case Op::SExt: return static_cast<u64>(sign_extend(x[0], 32));
  case Op::MaskToU64:
  case Op::U64ToMask: return x[0];
  case Op::AnyLane: return x[0] != 0;
  case Op::Add: return (x[0] + x[1]) & ones;
  case Op::Sub: return (x[0] - x[1]) & ones;
  case Op::Mul: return (x[0] * x[1]) & ones;
  case Op::UMulHi: return (x[0] * x[1]) >> 32;
  case Op::SMulHi: return static_cast<u64>((sign_extend(x[0], 32) * sign_extend(x[1], 32)) >> 32) & ones;
  case Op::Dot16:
    return static_cast<u64>(sign_extend(x[0] & 0xffff, 16) * sign_extend(x[1] & 0xffff, 16) +
                            sign_extend(x[0] >> 16, 16) * sign_extend(x[1] >> 16, 16)) &
           ones;
  case Op::UMulWide: return x[0] * x[1];
  case Op::SMulWide: return static_cast<u64>(sign_extend(x[0], 32) * sign_extend(x[1], 32));
  case Op::UDiv:
    if (x[1] != 0) return x[0] / x[1];
    if (width == 32) return (std::max<u64>(x[0], 1) + 1) & ones;
    return x[0] - (x[0] >> 32) + ((x[0] & 0xffff'ffffu) == 0 ? 2 : 1);
  case Op::And: return x[0] & x[1];
  case Op::Or: return x[0] | x[1];
  case Op::Xor: return x[0] ^ x[1];
  case Op::AndNot: return x[0] & ~x[1] & ones;
  case Op::Not: return ~x[0] & ones;
  case Op::Shl: return (x[0] << (x[1] & amount_mask)) & ones;
  case Op::LShr: return x[0] >> (x[1] & amount_mask);
  case Op::AShr: return static_cast<u64>(sign_extend(x[0], width) >> (x[1] & amount_mask)) & ones;
  case Op::FunnelShr: return ((x[0] << 32 | x[1]) >> (x[2] & 31)) & ones;
  case Op::UMin: return std::min(x[0], x[1]);
  case Op::UMax: return std::max(x[0], x[1]);
  case Op::SMin: return sign_extend(x[0], width) < sign_extend(x[1], width) ? x[0] : x[1];
  case Op::SMax: return sign_extend(x[0], width) > sign_extend(x[1], width) ? x[0] : x[1];
  case Op::BitRev: return reverse_bits(x[0], width);
  case Op::PopCount: return static_cast<u64>(std::popcount(x[0]));
  case Op::CountLz: return static_cast<u64>(std::countl_zero(x[0])) - (64 - width);
  case Op::CountTz: return x[0] == 0 ? width : static_cast<u64>(std::countr_zero(x[0]));
  case Op::BytePerm: return byte_perm(static_cast<u32>(x[0]), static_cast<u32>(x[1]), static_cast<u32>(x[2]));
  case Op::BitSelect: return (x[0] & x[1]) | (~x[0] & x[2] & ones);
  case Op::Add16:
  case Op::Sub16:
  case Op::Mul16:
  case Op::SAdd16:
  case Op::UAdd16:
  case Op::SSub16:
  case Op::USub16:
  case Op::SMin16:
  case Op::SMax16:
  case Op::UMin16:
  case Op::UMax16:
  case Op::Shl16:
  case Op::LShr16:
  case Op::AShr16: {
    const u64 a = x[0], b = x.size() > 1 ? x[1] : imm;
    const u64 low = evaluate_half(op, a & 0xffff, b & 0xffff);
    return low | evaluate_half(op, a >> 16, x.size() > 1 ? b >> 16 : b) << 16;
  }
  case Op::ICmp: {
    const bool c = compare(static_cast<IntPred>(imm), x[0], x[1], bit_width(operand_type));
    return result == Type::Mask ? (c ? ~u64{0} : 0) : static_cast<u64>(c);
  }
  default: return std::nullopt;
  }
}

} // namespace lanewise::ir
