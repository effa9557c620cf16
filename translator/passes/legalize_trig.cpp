// v_trig_preop_f64 (7nm guide 12.12): a 53-bit window of 2/pi, scaled to its weight.
#include "runtime/wave.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/two_over_pi.hpp"

#include <utility>

namespace lanewise::passes {

using namespace ir;
using translator::kTwoOverPi;

namespace {

constexpr u32 kLastWord = std::size(kTwoOverPi) - 2;

} // namespace

ValueId lower_trig_preop(Rewriter& r, ValueId x, ValueId segment) {
  const ValueId exponent = r.and_(r.lshr(r.op(Op::Hi, Type::V32, {x}), 20), 0x7ff);
  const ValueId beyond = r.sub(r.same(Op::UMax, exponent, r.v32(1077)), r.v32(1077));
  const ValueId shift = r.add(r.same(Op::Mul, r.and_(segment, 31), r.v32(53)), beyond);
  const ValueId word = r.same(Op::UMin, r.lshr(shift, 6), r.v32(kLastWord));
  const ValueId field = r.op(Op::FrameField, Type::U64, {}, offsetof(runtime::WaveFrame, two_over_pi));
  const ValueId table = r.op(Op::Splat, Type::V64, {field});
  const ValueId address = r.add(table, r.op(Op::ZExt, Type::V64, {r.shl(word, 3)}));
  const ValueId all = r.constant(Type::Mask, ~u64{0});
  const auto load = [&](u64 offset) { return r.load64(address, all, offset); };
  const ValueId first = load(0), second = load(8);
  const ValueId bit = r.and_(shift, 63);
  // second >> (64 - bit) in two steps, since a shift by 64 is one by 0
  const ValueId carried = r.same(Op::LShr, r.lshr(second, 1), r.sub(r.v32(63), bit));
  const ValueId window = r.lshr(r.same(Op::Or, r.same(Op::Shl, first, bit), carried), 11);
  const Round round = std::exchange(r.fp.round, Round::NearestEven); // the integer is exact
  const auto to_f64 = [&](ValueId half) { return r.op(Op::UIToFp, Type::V64, {half}, 32); };
  const ValueId high = to_f64(r.op(Op::Hi, Type::V32, {window})),
                low = to_f64(r.op(Op::Lo, Type::V32, {window}));
  const ValueId integer = r.fma(high, r.f64(0x1p32), low);
  ValueId scale = r.sub(r.v32(static_cast<u32>(-53)), shift);
  scale = r.add(scale, r.select(r.icmp(IntPred::UGe, exponent, r.v32(1968)), r.v32(128), r.v32(0)));
  r.fp.round = round;
  return r.op(Op::FLdexp, Type::V64, {integer, scale});
}

} // namespace lanewise::passes
