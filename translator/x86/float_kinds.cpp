#include "translator/x86/float_kinds.hpp"

#include <algorithm>

namespace lanewise::x86 {

using namespace ir;

namespace {

using Kind = FloatKinds::Kind;

/// Of the bits of an f32 or f64.
Kind of_bits(u64 bits, bool wide) {
  const u64 magnitude = wide ? bits << 1 : bits << 33;
  const u64 infinity = wide ? u64{0x7ff} << 53 : u64{0xff} << 56, quiet = wide ? u64{1} << 52 : u64{1} << 55;
  return magnitude <= infinity ? Kind::Number : (magnitude & quiet) != 0 ? Kind::Quiet : Kind::Any;
}

/// The sign's bit, or all others, of what has so many.
bool is_about_sign(Op op, u64 bits, bool wide) {
  const u64 sign = wide ? u64{1} << 63 : u64{1} << 31, others = sign - 1;
  return op == Op::And ? bits == others : bits == sign;
}

} // namespace

FloatKinds::Kind FloatKinds::of(ValueId v) {
  if (kinds_.size() != f_.num_values()) find();
  return known(v);
}

/// From what all could be at best, down to what agrees.
void FloatKinds::find() {
  kinds_.assign(f_.num_values(), Kind::Number);
  for (bool changed = true; changed;) {
    changed = false;
    const auto lower = [&](ValueId v, Kind k) {
      if (k >= known(v)) return;
      kinds_[v.index] = k;
      changed = true;
    };
    for (const Block& b : f_.blocks) {
      for (const InstId i : b.insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r) lower(f_.result(i, r), result_of(i));
      for (const Successor& s : b.successors)
        for (std::size_t a = 0; a < s.args.size(); ++a) lower(f_[s.block].params[a], known(s.args[a]));
    }
  }
}

FloatKinds::Kind FloatKinds::result_of(InstId i) const {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const bool wide = inst.num_results == 1 && is_wide(f_.type(f_.result(i)));
  const bool is_float = info(inst.op).is(kFloat);
  if (is_float && inst.fp.kind == FloatKind::F16) return Kind::Any;
  switch (inst.op) {
  case Op::Const: return of_bits(inst.imm, wide);
  case Op::Splat:
  case Op::GangFirst:
  case Op::GangPick:
  case Op::LaneOf: return known(x[0]);
  case Op::Select: return std::min(known(x[1]), known(x[2]));
  case Op::And:
  case Op::Or:
  case Op::Xor:
    for (const unsigned n : {0u, 1u})
      if (u64 bits = 0; f_.is_const(x[n], &bits) && is_about_sign(inst.op, bits, wide))
        return known(x[1 - n]);
    return Kind::Any;
  case Op::FMin:
  case Op::FMax: {
    const Kind low = std::min(known(x[0]), known(x[1])), high = std::max(known(x[0]), known(x[1]));
    if (low == Kind::Any) return inst.fp.ieee ? Kind::Quiet : high == Kind::Number ? high : low;
    return high;
  }
  case Op::FClamp: return inst.fp.dx10_clamp ? Kind::Number : Kind::Quiet;
  case Op::FCanonical:
  case Op::FFloor:
  case Op::FCeil:
  case Op::FTrunc:
  case Op::FRndne: return std::max(Kind::Quiet, known(x[0]));
  case Op::SIToFp:
  case Op::UIToFp: return Kind::Number;
  case Op::FAdd:
  case Op::FSub:
  case Op::FMul:
  case Op::FMulLegacy:
  case Op::FFma:
  case Op::FSqrt:
  case Op::FDiv:
  case Op::FRcp:
  case Op::FRsq:
  case Op::FExp2:
  case Op::FLog2:
  case Op::FSin:
  case Op::FCos:
  case Op::FLdexp: return Kind::Quiet;
  default: return Kind::Any;
  }
}

} // namespace lanewise::x86
