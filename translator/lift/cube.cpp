// Cube map coordinates (7nm guide 12.12): which of x, y, z is largest in magnitude decides; z wins ties, then
// y.
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using ir::FloatKind;
using ir::Op;

namespace {

struct Direction {
  ValueId x, y, z;
  ValueId major_z, major_y; ///< masks; neither: x
};

constexpr u64 kSign = 0x8000'0000u;

ValueId compare(Lifter& l, ir::FloatPred outcomes, ValueId x, ValueId y) {
  return l.b.fop_as(Op::FCmp, Type::Mask, l.fp(FloatKind::F32), {x, y}, outcomes);
}
ValueId is_negative(Lifter& l, ValueId v) { return compare(l, 1, v, l.b.v32c(0)); }
ValueId negated(Lifter& l, ValueId v) { return l.b.xor_(v, kSign); }

Direction direction(Lifter& l) {
  constexpr ir::FloatPred kGreaterOrEqual = 6;
  Direction d = {l.v32(0), l.v32(1), l.v32(2), {}, {}};
  const auto magnitude = [&](ValueId v) { return l.b.and_(v, ~kSign); };
  const ValueId x = magnitude(d.x), y = magnitude(d.y), z = magnitude(d.z);
  d.major_z = l.b.and_(compare(l, kGreaterOrEqual, z, x), compare(l, kGreaterOrEqual, z, y));
  d.major_y = compare(l, kGreaterOrEqual, y, x);
  return d;
}
ValueId choose(Lifter& l, const Direction& d, ValueId z, ValueId y, ValueId x) {
  return l.b.select(d.major_z, z, l.b.select(d.major_y, y, x));
}

ValueId id(Lifter& l, const Direction& d) {
  const auto face = [&](ValueId axis, u32 negative, u32 positive) {
    return l.b.select(is_negative(l, axis), l.b.v32c(negative), l.b.v32c(positive));
  };
  constexpr u32 kFloat[] = {0, 0x3f80'0000, 0x4000'0000, 0x4040'0000, 0x4080'0000, 0x40a0'0000};
  return choose(l, d, face(d.z, kFloat[5], kFloat[4]), face(d.y, kFloat[3], kFloat[2]),
                face(d.x, kFloat[1], kFloat[0]));
}
ValueId sc(Lifter& l, const Direction& d) {
  return choose(l, d, l.b.select(is_negative(l, d.z), negated(l, d.x), d.x), d.x,
                l.b.select(is_negative(l, d.x), d.z, negated(l, d.z)));
}
ValueId tc(Lifter& l, const Direction& d) {
  return choose(l, d, negated(l, d.y), l.b.select(is_negative(l, d.y), negated(l, d.z), d.z),
                negated(l, d.y));
}
ValueId ma(Lifter& l, const Direction& d) {
  return l.b.fop(Op::FMul, l.fp(FloatKind::F32), {choose(l, d, d.z, d.y, d.x), l.b.v32c(0x4000'0000)});
}

template <ValueId (*F)(Lifter&, const Direction&)>
void cube(Lifter& l) {
  l.set_f(F(l, direction(l)), FloatKind::F32);
}

} // namespace

void add_cube_rules(Rules& rules) {
  RULE(v_cubeid_f32) { cube<id>(l); };
  RULE(v_cubesc_f32) { cube<sc>(l); };
  RULE(v_cubetc_f32) { cube<tc>(l); };
  RULE(v_cubema_f32) { cube<ma>(l); };
}

} // namespace lanewise::lift
