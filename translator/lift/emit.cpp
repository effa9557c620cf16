#include "translator/lift/emit.hpp"

#include "translator/ir/evaluate.hpp"

namespace lanewise::lift {

using ir::Op;

ValueId Emit::constant(Type type, u64 bits) {
  bits &= ir::constant_bits(type);
  const auto [it, inserted] = constants_.try_emplace({type, bits});
  if (inserted) it->second = builder_.constant(type, bits);
  return it->second;
}

ValueId Emit::splat(ValueId u) {
  u64 bits = 0;
  if (is_const(u, &bits)) {
    switch (type(u)) {
    case Type::U1: return maskc(bits != 0 ? kAllLanes : 0);
    case Type::U32: return v32c(static_cast<u32>(bits));
    default: return v64c(bits);
    }
  }
  return builder_.splat(u);
}

ValueId Emit::join(ValueId low, ValueId high) {
  u64 l = 0, h = 0;
  if (is_const(low, &l) && is_const(high, &h)) return constant(ir::wide_of(type(low)), l | h << 32);
  if (def(low, Op::Lo) != nullptr && def(high, Op::Hi) != nullptr && operand(low, 0) == operand(high, 0))
    return operand(low, 0);
  if (def(low, Op::Splat) != nullptr && def(high, Op::Splat) != nullptr)
    return splat(join(operand(low, 0), operand(high, 0)));
  return builder_.join(low, high);
}

ValueId Emit::lo(ValueId wide) {
  u64 bits = 0;
  if (is_const(wide, &bits)) return constant(ir::half_of(type(wide)), bits);
  if (def(wide, Op::Join) != nullptr || def(wide, Op::ZExt) != nullptr || def(wide, Op::SExt) != nullptr)
    return operand(wide, 0);
  if (def(wide, Op::Splat) != nullptr) return splat(lo(operand(wide, 0)));
  return builder_.lo(wide);
}

ValueId Emit::hi(ValueId wide) {
  u64 bits = 0;
  if (is_const(wide, &bits)) return constant(ir::half_of(type(wide)), bits >> 32);
  if (def(wide, Op::Join) != nullptr) return operand(wide, 1);
  if (def(wide, Op::ZExt) != nullptr) return constant(ir::half_of(type(wide)), 0);
  if (def(wide, Op::Splat) != nullptr) return splat(hi(operand(wide, 0)));
  return builder_.hi(wide);
}

ValueId Emit::zext(ValueId v) {
  u64 bits = 0;
  if (is_const(v, &bits)) return constant(type(v) == Type::U1 ? Type::U32 : ir::wide_of(type(v)), bits);
  return builder_.zext(v);
}

ValueId Emit::sext(ValueId v) {
  u64 bits = 0;
  if (is_const(v, &bits)) return constant(ir::wide_of(type(v)), static_cast<u64>(sign_extend(bits, 32)));
  return builder_.sext(v);
}

ValueId Emit::mask_to_u64(ValueId m) {
  u64 bits = 0;
  if (is_const(m, &bits)) return u64c(bits);
  if (def(m, Op::U64ToMask) != nullptr) return operand(m, 0);
  return builder_.mask_to_u64(m);
}

ValueId Emit::u64_to_mask(ValueId u) {
  u64 bits = 0;
  if (is_const(u, &bits)) return maskc(bits);
  if (def(u, Op::MaskToU64) != nullptr) return operand(u, 0);
  return builder_.u64_to_mask(u);
}

ValueId Emit::any(ValueId m) {
  u64 bits = 0;
  if (is_const(m, &bits)) return u1(bits != 0);
  return builder_.any(m);
}

ValueId Emit::unary(Op o, ValueId a) {
  u64 bits = 0;
  if (o == Op::Not) {
    if (is_const(a, &bits)) return same(a, ~bits);
    if (def(a, Op::Not) != nullptr) return operand(a, 0);
  }
  return builder_.op(o, type(a), {a});
}

/// a or b if `o` leaves one of them as it is, a constant if it ignores them; else invalid.
ValueId Emit::identity(Op o, ValueId a, ValueId b) {
  const u64 ones = ir::constant_bits(type(a));
  u64 bits = 0;
  if (is_const(b, &bits)) {
    const bool zero = bits == 0;
    switch (o) {
    case Op::Add:
    case Op::Sub:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::LShr:
    case Op::AShr:
    case Op::AndNot:
      if (zero) return a;
      if (o == Op::Or && bits == ones) return b;
      if (o == Op::AndNot && bits == ones) return same(a, 0);
      break;
    case Op::And:
      if (zero) return b;
      if (bits == ones) return a;
      break;
    default: break;
    }
  }
  if (a == b) {
    if (o == Op::And || o == Op::Or) return a;
    if (o == Op::Xor || o == Op::Sub || o == Op::AndNot) return same(a, 0);
  }
  return {};
}

ValueId Emit::binary(Op o, ValueId a, ValueId b) {
  u64 x = 0, y = 0;
  if (is_const(a, &x) && is_const(b, &y)) {
    const std::array<u64, 2> bits = {x, y};
    if (const auto value = ir::evaluate(o, type(a), type(a), 0, bits)) return same(a, *value);
  }
  if (const ValueId v = identity(o, a, b)) return v;
  // (z + c) + d = z + (c + d): a stack pointer comes back as the value it was.
  if (o == Op::Add && is_const(b, &y) && def(a, Op::Add) != nullptr && is_const(operand(a, 1), &x))
    return add(operand(a, 0), same(a, x + y));
  if (ir::info(o).is(ir::kCommutes))
    if (const ValueId v = identity(o, b, a)) return v;
  return builder_.op(o, type(a), {a, b});
}

ValueId Emit::field(ValueId a, unsigned offset, unsigned width) {
  if (width == 32) return a;
  if (offset + width == 32) return lshr(a, offset);
  return and_(lshr(a, offset), (u64{1} << width) - 1);
}

ValueId Emit::signed_field(ValueId a, unsigned offset, unsigned width) {
  return width == 32 ? a : ashr(shl(a, 32 - offset - width), 32 - width);
}

ValueId Emit::icmp(IntPred p, ValueId a, ValueId b) {
  u64 x = 0, y = 0;
  const Type t = type(a);
  if (is_const(a, &x) && is_const(b, &y)) {
    const std::array<u64, 2> bits = {x, y};
    const Type result = ir::is_uniform(t) ? Type::U1 : Type::Mask;
    return constant(result, *ir::evaluate(Op::ICmp, result, t, static_cast<u64>(p), bits));
  }
  return builder_.icmp(p, a, b);
}

ValueId Emit::select(ValueId c, ValueId a, ValueId b) {
  if (a == b) return a;
  u64 bits = 0;
  if (is_const(c, &bits)) {
    if (bits == ir::constant_bits(type(c))) return a;
    if (bits == 0) return b;
  }
  return builder_.select(c, a, b);
}

ValueId Emit::bit_to_32(ValueId m) {
  if (type(m) == Type::U1) return zext(m);
  return select(m, v32c(1), v32c(0));
}

ValueId Emit::read_lane(ValueId v, ValueId lane) {
  u64 wanted = 0, written = 0;
  if (is_const(v, &written)) return u32c(static_cast<u32>(written));
  if (def(v, Op::Splat) != nullptr) return operand(v, 0);
  if (is_const(lane, &wanted)) {
    // The chain is as long as there are lanes, unless the same lane is written over and over.
    ValueId from = v;
    for (unsigned steps = 0; steps < 4 * kWaveSize && def(from, Op::WriteLane) != nullptr; ++steps) {
      if (!is_const(operand(from, 2), &written)) break;
      if (((written ^ wanted) & (kWaveSize - 1)) == 0) return operand(from, 1);
      from = operand(from, 0);
      if (is_const(from, &written)) return u32c(static_cast<u32>(written));
    }
    v = from;
  }
  return builder_.op(Op::ReadLane, Type::U32, {v, lane});
}

} // namespace lanewise::lift
