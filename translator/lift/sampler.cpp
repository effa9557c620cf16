#include "translator/lift/sampler.hpp"

namespace lanewise::lift {

using ir::Op;
using ir::Type;

namespace {

constexpr u32 kOne = 0x3f80'0000, kHalf = 0x3f00'0000, kTwo = 0x4000'0000, kMinusTwo = 0xc000'0000,
              k256 = 0x4380'0000, k256th = 0x3b80'0000;
constexpr ir::FloatPred kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

/// f32, to nearest even, with denormals.
FpAttr f32() { return {}; }

enum ClampMode : u32 {
  Wrap,
  Mirror,
  Edge,
  MirrorOnceEdge,
  HalfBorder,
  MirrorOnceHalfBorder,
  Border,
  MirrorOnceBorder
};

/// c ? a() : b(), of which only what is needed is made.
template <class A, class B>
ValueId choose(Emit& b, ValueId condition, A yes, B no) {
  if (b.is_const_equal(condition, 0)) return no();
  if (b.is_const_equal(condition, 1)) return yes();
  const ValueId value = yes();
  return b.select(condition, value, no());
}

} // namespace

Sampler::Sampler(Emit& b, const std::array<ValueId, 4>& words, bool unorm) : b_(b), words_(words) {
  normalised_ = unorm ? b.u1(false) : b.icmp(IntPred::Eq, b.field(words[0], 15, 1), 0);
  for (unsigned d = 0; d < 3; ++d) mode_[d] = b.field(words[0], 3 * d, 3);
  truncates_ = b.icmp(IntPred::Eq, b.field(words[0], 27, 1), 1);
  border_ = b.field(words[3], 30, 2);
  xy_linear = b.icmp(IntPred::Eq, b.field(words[2], 20, 1), 1); // 1 and 3
  const ValueId z = b.field(words[2], 24, 2);
  z_linear = b.or_(b.icmp(IntPred::Eq, z, 2), b.and_(b.icmp(IntPred::Eq, z, 0), xy_linear));
}

/// The clamp mode is one of these.
ValueId Sampler::mode_is(unsigned dimension, u32 first, u32 last) {
  if (first == last) return b_.icmp(IntPred::Eq, mode_[dimension], first);
  return b_.icmp(IntPred::ULe, b_.sub(mode_[dimension], b_.u32c(first)), last - first);
}

ValueId Sampler::has_border(unsigned dimension) { return mode_is(dimension, HalfBorder, MirrorOnceBorder); }

ValueId Sampler::border(unsigned k, ValueId one) {
  const ValueId set = k == 3 ? b_.or_(b_.icmp(IntPred::Eq, border_, 1), b_.icmp(IntPred::Eq, border_, 2))
                             : b_.icmp(IntPred::Eq, border_, 2);
  return b_.select(set, one, b_.v32c(0));
}

ValueId Sampler::compare(ValueId reference, ValueId component) {
  Emit& b = b_;
  const ValueId op = b.field(words_[0], 12, 3);
  const auto outcome = [&](ir::FloatPred p) {
    return b.fop_as(Op::FCmp, Type::Mask, f32(), {reference, component}, p);
  };
  const auto wanted = [&](unsigned bit) { return b.splat(b.icmp(IntPred::Ne, b.field(op, bit, 1), 0)); };
  const ValueId unordered = b.splat(b.icmp(IntPred::Eq, b.and_(op, 5), 5)); // != and always
  ValueId holds = b.and_(wanted(0), outcome(kLess));
  holds = b.or_(holds, b.and_(wanted(1), outcome(kEqual)));
  holds = b.or_(holds, b.and_(wanted(2), outcome(kGreater)));
  holds = b.or_(holds, b.and_(unordered, outcome(kUnordered)));
  return b.select(holds, b.v32c(kOne), b.v32c(0));
}

/// In texels, before the first is chosen: u of the section.
ValueId Sampler::unwrapped(unsigned dimension, ValueId coordinate, ValueId offset, ValueId size) {
  Emit& b = b_;
  const auto op = [&](Op o, ValueId x, ValueId y) { return b.fop(o, f32(), {x, y}); };
  const auto number = [&](Op o, ValueId integer) { return b.fop_as(o, Type::V32, f32(), {integer}, 32); };
  const auto magnitude = [&](ValueId x) { return b.and_(x, 0x7fff'ffff); };
  const ValueId n = number(Op::UIToFp, b.splat(size));
  ValueId texels = coordinate, share = coordinate; // unnormalised and normalised
  if (offset.valid()) {
    const ValueId o = number(Op::SIToFp, offset);
    texels = op(Op::FAdd, coordinate, o);
    share = op(Op::FAdd, coordinate, op(Op::FDiv, o, n));
  }
  const auto s = [&] {
    return choose(
        b, normalised_, [&] { return share; }, [&] { return op(Op::FDiv, texels, n); });
  };
  const auto wrapped = [&] {
    const ValueId x = s();
    return op(Op::FMul, op(Op::FSub, x, b.fop(Op::FFloor, f32(), {x})), n);
  };
  const auto mirrored = [&] {
    const ValueId x = s();
    const ValueId pairs = b.fop(Op::FFloor, f32(), {op(Op::FMul, x, b.v32c(kHalf))});
    return op(Op::FMul, op(Op::FSub, x, op(Op::FMul, pairs, b.v32c(kTwo))), n);
  };
  const auto straight = [&] {
    ValueId u = choose(
        b, normalised_, [&] { return op(Op::FMul, share, n); }, [&] { return texels; });
    // 3, 5, 7
    const ValueId odd = b.icmp(IntPred::Eq, b.field(mode_[dimension], 0, 1), 1);
    u = choose(
        b, odd, [&] { return magnitude(u); }, [&] { return u; });
    return choose(
        b, mode_is(dimension, HalfBorder, MirrorOnceHalfBorder),
        [&] { return op(Op::FMin, op(Op::FMax, u, b.v32c(0)), n); }, [&] { return u; });
  };
  const ValueId u = choose(b, mode_is(dimension, Wrap, Wrap), wrapped,
                           [&] { return choose(b, mode_is(dimension, Mirror, Mirror), mirrored, straight); });
  return b.select(b.fop_as(Op::FCmp, Type::Mask, f32(), {u, u}, kUnordered), b.v32c(0), u);
}

Sampler::Axis Sampler::axis(unsigned dimension, ValueId coordinate, ValueId offset, ValueId size,
                            ValueId linear) {
  Emit& b = b_;
  const auto op = [&](Op o, ValueId x, ValueId y) { return b.fop(o, f32(), {x, y}); };
  const ValueId one = b.v32c(kOne);
  const ValueId u = unwrapped(dimension, coordinate, offset, size);
  const auto to_256ths = [&] {
    return op(Op::FMul, b.fop(Op::FRndne, f32(), {op(Op::FMul, u, b.v32c(k256))}), b.v32c(k256th));
  };
  const auto nearest = [&] {
    return choose(
        b, truncates_, [&] { return u; }, to_256ths);
  };
  const ValueId v = choose(
      b, linear, [&] { return op(Op::FSub, u, b.v32c(kHalf)); }, nearest);
  const ValueId floor = b.fop(Op::FFloor, f32(), {v});
  const ValueId n = b.splat(size), last = b.sub(n, b.v32c(1));
  const ValueId wraps = mode_is(dimension, Wrap, Wrap), mirrors = mode_is(dimension, Mirror, Mirror);
  const ValueId borders = has_border(dimension);
  const ValueId twice = b.shl(size, 1);
  const ValueId end = b.add(b.select(mirrors, twice, size), 1);
  const ValueId limit = b.fop_as(Op::UIToFp, Type::V32, f32(), {b.splat(end)}, 32);
  const ValueId first = b.fop_as(Op::FpToSI, Type::V32, f32(),
                                 {op(Op::FMin, op(Op::FMax, floor, b.v32c(kMinusTwo)), limit)}, 32);
  Axis axis;
  axis.linear = linear;
  const ValueId fraction = op(Op::FSub, v, floor);
  axis.weight[0] = b.select(linear, op(Op::FSub, one, fraction), one);
  axis.weight[1] = fraction;
  for (unsigned k = 0; k < 2; ++k) {
    const ValueId i = k == 0 ? first : b.add(first, 1);
    const ValueId beyond = b.icmp(IntPred::SGe, i, n);
    const auto wrapped = [&] {
      return b.select(beyond, b.sub(i, n), b.select(b.icmp(IntPred::SLt, i, 0), b.add(i, n), i));
    };
    const auto straight = [&] { return i; };
    const auto mirrored = [&] { return b.select(beyond, b.sub(b.splat(b.sub(twice, b.u32c(1))), i), i); };
    const ValueId number = choose(b, wraps, wrapped, [&] { return choose(b, mirrors, mirrored, straight); });
    axis.texel[k] = choose(
        b, borders, [&] { return i; },
        [&] { return b.binary(Op::SMax, b.binary(Op::SMin, number, last), b.v32c(0)); });
    axis.inside[k] = choose(
        b, borders, [&] { return b.icmp(IntPred::ULt, i, n); }, [&] { return b.maskc(kAllLanes); });
    // Lanes of a mode without border count even where the other case is possible.
    if (!b.is_const(borders)) axis.inside[k] = b.or_(axis.inside[k], b.splat(b.not_(borders)));
  }
  return axis;
}

} // namespace lanewise::lift
