// Correctly rounded square roots of f32. Hardware's are off by up to an ulp, so compilers have corrections
// follow where the language wants the rounded root, HIP always; here v_sqrt_f32 is rounded to begin with.
// Both forms take operands that are scaled by 2^32 where they are below 2^-96:
//  - Where MODE keeps denormals: r = sqrt(x), the number below if x - below * r <= 0, the one above if
//    x - above * r > 0. Neither holds of the rounded root: x is more than (r - ulp / 2)^2 and a multiple of
//    ulp^2 that is less than (r + ulp / 2)^2, hence at most r^2 + r * ulp. Remainders of scaled denormals
//    might still vanish in rounding; the test tries all of them.
//  - Else Goldschmidt's steps from y = 1 / sqrt(x): g = x y, h = y / 2, r = 1/2 - h g, then g + g r, h + h r
//    and g + (x - g^2) h. That they make the rounded root of every significand the test shows. Of zeros and
//    infinity they make 0 * infinity, and flip the signs of NaNs once.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <array>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kSign = 0x8000'0000, kLeast = 0x0f80'0000 /* 2^-96 */, kScale = 0x4f80'0000 /* 2^32 */;
constexpr u32 kOne = 0x3f80'0000, kHalf = 0x3f00'0000;
constexpr u64 kLess = 1, kEqual = 2, kGreater = 4;

class RootCorrector {
public:
  explicit RootCorrector(Function& f) : f_(f), r_(f) {}

  void run() {
    if (!has_any(f_, [](const Inst& inst) { return inst.op == Op::FSqrt || inst.op == Op::FRsq; })) return;
    replace_results(f_, [&](InstId i, std::vector<InstId>& out) {
      r_.begin(i, out);
      return rounded_root(i);
    });
  }

private:
  Function& f_;
  Rewriter r_;

  [[nodiscard]] std::optional<std::span<const ValueId>> take(ValueId v, Op op) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != op) return {};
    const FpAttr& fp = f_[i].fp;
    if (info(op).is(kFloat) && (fp.kind != FloatKind::F32 || fp.round != Round::NearestEven)) return {};
    return f_.operands(i);
  }
  [[nodiscard]] bool flushes(ValueId v) const { return f_.def(v)->fp.flush_in || f_.def(v)->fp.flush_out; }
  [[nodiscard]] bool is(ValueId v, u32 bits) const {
    u64 found = 0;
    return f_.type(v) == Type::V32 && f_.is_const(v, &found) && found == bits;
  }
  /// Whether one of the two is the constant; then `other` is the other one.
  [[nodiscard]] bool one_is(std::span<const ValueId> x, u32 bits, ValueId& other) const {
    if (!is(x[0], bits) && !is(x[1], bits)) return false;
    other = is(x[0], bits) ? x[1] : x[0];
    return true;
  }
  [[nodiscard]] bool is_negative_of(ValueId v, ValueId x) const {
    const auto flipped = take(v, Op::Xor);
    ValueId other;
    return flipped && one_is(*flipped, kSign, other) && other == x;
  }
  /// Whether `mask` is an ordered comparison of `x` with the constant whose outcomes are `wanted`.
  [[nodiscard]] bool compares(ValueId mask, ValueId x, u64 wanted, u32 constant) const {
    const auto y = take(mask, Op::FCmp);
    if (!y) return false;
    const u64 outcomes = f_.def(mask)->imm;
    const u64 swapped = (outcomes & kEqual) | (outcomes & kLess) << 2 | (outcomes & kGreater) >> 2;
    if (outcomes > (kLess | kEqual | kGreater)) return false;
    return ((*y)[0] == x && is((*y)[1], constant) && outcomes == wanted) ||
           ((*y)[1] == x && is((*y)[0], constant) && swapped == wanted);
  }

  /// x = u * (u < 2^-96 ? 2^32 : 1)
  [[nodiscard]] bool is_scaled(ValueId x) const {
    const auto product = take(x, Op::FMul);
    if (!product) return false;
    for (unsigned n = 0; n < 2; ++n) {
      const auto factor = take((*product)[n], Op::Select);
      if (factor && is((*factor)[1], kScale) && is((*factor)[2], kOne) &&
          compares((*factor)[0], (*product)[1 - n], kLess, kLeast))
        return true;
    }
    return false;
  }

  /// Instead of `i`, if it is the last step of such a root.
  ValueId rounded_root(InstId i) {
    if (f_[i].num_results != 1 || f_.type(f_.result(i)) != Type::V32) return {};
    if (f_[i].op == Op::Select) return corrected(f_.result(i));
    return f_[i].op == Op::FFma ? improved(f_.result(i)) : ValueId{};
  }

  ValueId corrected(ValueId v) const {
    const auto outer = take(v, Op::Select), inner = take((*outer)[2], Op::Select);
    if (!inner) return {};
    const ValueId root = (*inner)[2], above = (*outer)[1], below = (*inner)[1];
    const auto radicand = take(root, Op::FSqrt);
    if (!radicand || !is_scaled((*radicand)[0])) return {};
    const ValueId x = (*radicand)[0];
    const bool right = is_next(above, root, 1) && is_next(below, root, ~0u) &&
                       tests_remainder((*outer)[0], kGreater, above, root, x) &&
                       tests_remainder((*inner)[0], kLess | kEqual, below, root, x);
    return right ? root : ValueId{};
  }
  [[nodiscard]] bool is_next(ValueId v, ValueId root, u32 step) const {
    const auto sum = take(v, Op::Add);
    ValueId other;
    return sum && one_is(*sum, step, other) && other == root;
  }
  /// `mask`: x - next * root compares with 0 as `wanted`, and is not flushed.
  [[nodiscard]] bool tests_remainder(ValueId mask, u64 wanted, ValueId next, ValueId root, ValueId x) const {
    const auto y = take(mask, Op::FCmp);
    if (!y || flushes(mask)) return false;
    for (const ValueId remainder : *y) {
      const auto z = take(remainder, Op::FFma);
      if (!z || flushes(remainder) || (*z)[2] != x || !compares(mask, remainder, wanted, 0)) continue;
      if (((*z)[1] == root && is_negative_of((*z)[0], next)) ||
          ((*z)[0] == root && is_negative_of((*z)[1], next)))
        return true;
    }
    return false;
  }

  ValueId improved(ValueId v) {
    const auto last = take(v, Op::FFma);
    if (!last) return {};
    const auto remainder = take((*last)[0], Op::FFma), to_h = take((*last)[1], Op::FFma),
               to_g = take((*last)[2], Op::FFma);
    if (!remainder || !to_h || !to_g) return {};
    const ValueId g1 = (*last)[2], x = (*remainder)[2], g = (*to_g)[0], h = (*to_h)[0], r = (*to_g)[1];
    if (!is_negative_of((*remainder)[0], g1) || (*remainder)[1] != g1) return {};
    if ((*to_g)[2] != g || (*to_h)[2] != h || (*to_h)[1] != r) return {};
    const auto error = take(r, Op::FFma), product = take(g, Op::FMul), half = take(h, Op::FMul);
    if (!error || !product || !half) return {};
    if (!is_negative_of((*error)[0], h) || (*error)[1] != g || !is((*error)[2], kHalf)) return {};
    ValueId y;
    if (!one_is(*half, kHalf, y) || (*product)[0] != x || (*product)[1] != y) return {};
    const auto radicand = take(y, Op::FRsq);
    if (!radicand || (*radicand)[0] != x || !is_scaled(x)) return {};
    constexpr u32 kZeroOrInfinity = 0x260, kNan = 0x7fc0'0000; // v_cmp_class's bits
    const ValueId root = r_.same(Op::FSqrt, x);
    const ValueId nan = r_.fcmp(8, root, root);
    const ValueId flipped = r_.select(nan, r_.same(Op::Xor, root, r_.v32(kSign)), root);
    const ValueId special = r_.op(Op::FClass, Type::Mask, {x, r_.v32(kZeroOrInfinity)});
    return r_.select(special, r_.v32(kNan), flipped);
  }
};

} // namespace

void drop_root_corrections(Function& f) { RootCorrector(f).run(); }

} // namespace lanewise::passes
