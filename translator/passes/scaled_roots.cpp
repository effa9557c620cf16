// Roots of scaled operands. v_sqrt_f32 and v_rsq_f32 flush denormals; where MODE keeps them, compilers scale
// what is small before, and the result after:
//   select(x < least, root(x * 2^2n) * 2^-n, root(x))     (2^n for reciprocals of roots)
// which is one root that does not flush. Scaling is exact: x * 2^2n is not denormal, a root never is, and
// what was scaled changes no significand on its way. Zeros, negative numbers and infinities give the same
// with and without; a NaN is not less than anything.
//
// Where compilers expand the roots of f64 (divisions.cpp), they scale by 2^256 below 2^-767, and take zeros
// and infinity from the scaled operand y, since the expansion makes NaNs of them:
//   select(y is a zero or infinity, y, root(y) * 2^-128)
// often half by half. That is the root, which comes out rounded whether scaled or not.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/scaled_operands.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr int kDenormalBits = 23;

class RootUnscaler {
public:
  explicit RootUnscaler(Function& f) : f_(f) {}

  void run() {
    if (!has_any(f_, [](const Inst& inst) { return inst.op == Op::FSqrt; })) return;
    replace_results(f_, [&](InstId i, std::vector<InstId>& out) {
      if (f_[i].op != Op::Select) return ValueId{};
      const ValueId narrow = unscaled(i, out);
      return narrow.valid() ? narrow : unscaled_wide(i, out);
    });
  }

private:
  Function& f_;

  InstId take(ValueId v, Op op) const {
    const InstId i = f_.def_id(v);
    return i.valid() && f_[i].op == op && f_[i].fp.kind == FloatKind::F32 ? i : InstId{};
  }
  std::optional<float> constant(ValueId v) const {
    u64 bits = 0;
    if (!f_.is_const(v, &bits) || f_.type(v) != Type::V32) return {};
    return std::bit_cast<float>(static_cast<u32>(bits));
  }
  static bool keeps_denormals(const Inst& inst) { return !inst.fp.flush_in && !inst.fp.flush_out; }

  /// n if `v` is x * 2^n.
  std::optional<int> exponent_of_factor(ValueId v, ValueId x) const {
    const InstId i = take(v, Op::FMul);
    if (!i.valid() || !keeps_denormals(f_[i])) return {};
    const auto y = f_.operands(i);
    const auto factor = constant(y[0] == x ? y[1] : y[0]);
    if ((y[0] != x && y[1] != x) || !factor) return {};
    int exponent = 0;
    if (std::frexp(*factor, &exponent) != 0.5F) return {};
    return exponent - 1;
  }

  /// x if `v` is select(mask, x * 2^n, x).
  std::optional<ValueId> choice(ValueId mask, ValueId v, int& n) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != Op::Select || f_.operands(i)[0] != mask) return {};
    const auto exponent = exponent_of_factor(f_.operands(i)[1], f_.operands(i)[2]);
    if (!exponent) return {};
    n = *exponent;
    return f_.operands(i)[2];
  }

  /// `mask` is x < least, where all that is not denormal anyway may be left alone, and `scale` overflows
  /// nothing.
  bool is_small(ValueId mask, ValueId x, int scale) const {
    const InstId i = take(mask, Op::FCmp);
    if (!i.valid() || !keeps_denormals(f_[i])) return false;
    const auto y = f_.operands(i);
    constexpr u64 kLess = 1, kEqual = 2, kGreater = 4;
    const bool less = (f_[i].imm | kEqual) == (kLess | kEqual) && y[0] == x,
               greater = (f_[i].imm | kEqual) == (kGreater | kEqual) && y[1] == x;
    if (!less && !greater) return false;
    const auto least = constant(less ? y[1] : y[0]);
    return least && *least >= std::numeric_limits<float>::min() && std::isfinite(std::ldexp(*least, scale));
  }

  /// Instead of `i`, if it is the last step of such a root.
  ValueId unscaled(InstId i, std::vector<InstId>& before) {
    if (f_.type(f_.result(i)) != Type::V32) return {};
    const ValueId mask = f_.operands(i)[0];
    int after = 0, scale = 0;
    const auto result = choice(mask, f_.result(i), after);
    if (!result) return {};
    const InstId division = take(*result, Op::FDiv);
    const bool reciprocal = division.valid();
    if (reciprocal && constant(f_.operands(division)[0]) != 1.0F) return {};
    const InstId root = take(reciprocal ? f_.operands(division)[1] : *result, Op::FSqrt);
    if (!root.valid()) return {};
    const auto x = choice(mask, f_.operands(root)[0], scale);
    if (!x || scale < kDenormalBits || scale != (reciprocal ? 2 : -2) * after || !is_small(mask, *x, scale))
      return {};
    ValueId now = unflushed(root, *x, f_[i].block, before);
    if (reciprocal) now = unflushed(division, now, f_[i].block, before);
    return now;
  }

  enum : unsigned { kPlusZero = 1, kMinusZero = 2, kInfinity = 4 };

  /// Which of these `y` is in the lanes of `mask`; nothing if there are others.
  [[nodiscard]] std::optional<unsigned> specials(ValueId mask, ValueId y) const {
    constexpr u64 kMinus = u64{1} << 63, kInf = u64{0x7ff} << 52;
    const InstId i = f_.def_id(mask);
    if (!i.valid()) return {};
    const auto x = f_.operands(i);
    if (f_[i].op == Op::Or) {
      const auto a = specials(x[0], y), b = specials(x[1], y);
      return a && b ? std::optional(*a | *b) : std::nullopt;
    }
    u64 bits = 0;
    if (f_[i].op == Op::FClass) {
      constexpr unsigned kBits[] = {1U << 6, 1U << 5, 1U << 9}; // v_cmp_class's
      unsigned found = 0;
      if (x[0] != y || f_[i].fp.kind != FloatKind::F64 || !f_.is_const(x[1], &bits)) return {};
      for (unsigned n = 0; n < 3; ++n)
        if ((bits & kBits[n]) != 0) found |= 1U << n, bits &= ~u64{kBits[n]};
      return bits == 0 ? std::optional(found) : std::nullopt;
    }
    const bool bitwise = f_[i].op == Op::ICmp && f_[i].imm == static_cast<u64>(IntPred::Eq),
               by_value = f_[i].op == Op::FCmp && f_[i].imm == kEqual && !f_[i].fp.flush_in;
    if ((!bitwise && !by_value) || f_.type(y) != f_.type(x[0])) return {};
    if (!(x[0] == y && f_.is_const(x[1], &bits)) && !(x[1] == y && f_.is_const(x[0], &bits))) return {};
    if (bits == kInf) return kInfinity;
    if (bits != 0 && bits != kMinus) return {};
    return by_value ? kPlusZero | kMinusZero : bits == 0 ? unsigned{kPlusZero} : unsigned{kMinusZero};
  }

  /// What `v` is a half of, or `v` itself if it is not one.
  ValueId whole(ValueId v, Op& half) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || (f_[i].op != Op::Lo && f_[i].op != Op::Hi)) return v;
    half = f_[i].op;
    return f_.operands(i)[0];
  }

  /// Instead of `i`, if it is the last step of an f64 root, or of one of its halves.
  ValueId unscaled_wide(InstId i, std::vector<InstId>& before) {
    const auto x = f_.operands(i);
    Op of_operand = Op::Select, of_root = Op::Select; // Or a half of them.
    const ValueId y = whole(x[1], of_operand), result = whole(x[2], of_root);
    if (of_operand != of_root || f_.type(y) != Type::V64) return {};
    const auto root = scaled_operand(f_, result, kRootScale);
    const auto radicand = scaled_radicand(f_, y);
    if (!root || !radicand || root->where != radicand->where) return {};
    const InstId guarded = f_.def_id(root->operand);
    InstId plain = guarded;
    if (guarded.valid() && f_[guarded].op == Op::Select) {
      plain = f_.def_id(f_.operands(guarded)[2]);
      if (!specials(f_.operands(guarded)[0], y)) return {};
    }
    if (!plain.valid() || f_[plain].op != Op::FSqrt || f_.operands(plain)[0] != y) return {};
    const FpAttr& fp = f_[plain].fp;
    if (fp.round != Round::NearestEven || fp.flush_in || fp.flush_out) return {};
    if (specials(x[0], y) != unsigned{kPlusZero | kMinusZero | kInfinity}) return {};
    const ValueId unscaled = changed(f_[plain], {{radicand->operand}}, Type::V64, f_[i].block, before);
    if (of_root == Op::Select) return unscaled;
    return changed({.op = of_root, .pc = f_[i].pc}, {{unscaled}}, Type::V32, f_[i].block, before);
  }

  /// `i` with `x` as its last operand and without flushing.
  ValueId unflushed(InstId i, ValueId x, BlockId b, std::vector<InstId>& before) {
    Inst proto = f_[i];
    proto.fp.flush_in = proto.fp.flush_out = false;
    std::vector<ValueId> operands(f_.operands(i).begin(), f_.operands(i).end());
    operands.back() = x;
    return changed(proto, operands, Type::V32, b, before);
  }

  ValueId changed(const Inst& proto, const std::vector<ValueId>& operands, Type t, BlockId b,
                  std::vector<InstId>& before) {
    const InstId made = f_.make(proto, operands, {&t, 1});
    f_[made].block = b;
    before.push_back(made);
    return f_.result(made);
  }
};

} // namespace

void unscale_roots(Function& f) { RootUnscaler(f).run(); }

} // namespace lanewise::passes
