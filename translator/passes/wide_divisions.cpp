// Divisions of 64-bit integers. Compilers expand them: an f32 reciprocal of the denominator d, scaled to 2^64
// / d; two of Newton's steps in integers; the upper half of the product with the numerator n as an estimate
// of the quotient; two corrections. In all lanes that is udiv(n, d):
//  - Let y = 2^64 / d. What is left of it between steps is x, an integer, and a = y - x.
//  - The first x is f * 0x5f7ffffc, that is f * 2^64 * (1 - 2^-22), cut off, where f is 1 / d but for errors:
//    2^-23 in d as f32, whose upper half may be rounded besides the sum, and 2^-24 each in reciprocal and
//    product, and squares of these. So x <= y, and a < 2^-20 y + 1; the conversion is exact.
//  - A step adds floor(x * (2^64 - d x) / 2^64), where 2^64 - d x = d a, so that a becomes a^2 / y plus less
//    than 1. That is never negative. If y >= 16, a / y < 2^-4 + 2^-20, and after the first step a^2 <= y, by
//    which after the second a < 2. If y < 16, a < 1 + 2^-16 from the beginning, or the first x is 0 and y
//    less than 2, and it does not grow. (For d x = 2^64 and for x = 0 nothing is added.)
//  - So the estimate floor(n x / 2^64) is at most 2 less than the quotient: n a / 2^64 < 2.
//  - For d = 0 the conversions saturate: x is 0xffffffff'00000000 and stays it; the remainder is n, which is
//    not less than 0, so that both corrections add. That is how udiv is defined there.
// That the instructions compute all that is shown by ExactIntegers, whatever shape compiler and fold() have
// given them.
#include "translator/passes/exact_integers.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <bit>
#include <cmath>
#include <memory>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kScale = 0x5f7f'fffc; ///< 2^64 * (1 - 2^-22)

struct Pair {
  ValueId lo, hi;
};

/// 32 bits, which are a half of a value or, for Join, all of it.
struct Half {
  ValueId of;
  Op half = Op::Join;
  friend bool operator==(const Half&, const Half&) = default;
};

/// What 32 bits are compared with: a value, or a constant.
struct Limit {
  ValueId v;
  std::optional<u32> bits;
  friend bool operator==(const Limit&, const Limit&) = default;
};

/// a >= b of 32 bits.
struct HalfAtLeast {
  ValueId a;
  Limit b;
};

/// a >= b of 64 bits, or its opposite.
struct AtLeast {
  Pair a;
  Limit b_lo, b_hi;
  bool inverted = false;
};

class Finder {
public:
  Finder(const Function& f, std::function<ValueId(ValueId)> seen_through, const std::vector<bool>& inner)
      : f_(f), seen_through_(std::move(seen_through)), inner_(inner) {
    find_reciprocals();
  }

  struct Division {
    Half n_lo, n_hi;
    Limit d_lo, d_hi;
    bool remainder = false;
    Op half = Op::Join; ///< Lo or Hi: the result is that half
  };
  /// What a select by the outcome of the first correction divides.
  std::optional<Division> find(InstId root) {
    const auto x = f_.operands(root);
    const auto corrects = at_least(x[0]);
    if (!corrects) return {};
    const Choice outer = choice(root, *corrects);
    const auto inner_ids = selects(outer.if_true);
    if (!inner_ids) return {};
    const auto again = at_least(f_.operands(inner_ids->first)[0]);
    if (!again) return {};
    const Choice inner = choice(inner_ids->first, *again), upper = choice(inner_ids->second, *again);
    const Numbers numbers{minuend(corrects->a.lo), minuend(corrects->a.hi), corrects->b_lo, corrects->b_hi};
    const auto matches = [&](const Reciprocal& r) -> std::optional<Division> {
      Context& c = context(numbers, r);
      const bool corrects_it = c.is(corrects->a, c.rest[0]) && c.is(again->a, c.rest[1]) &&
                               c.is(again->b_lo, c.divisor, Op::Lo) && c.is(again->b_hi, c.divisor, Op::Hi);
      return corrects_it ? result_of(c, outer, inner, upper) : std::nullopt;
    };
    if (numbers.d_lo.bits && numbers.d_hi.bits) {
      const auto last = reciprocal_of(u64{*numbers.d_hi.bits} << 32 | *numbers.d_lo.bits);
      return last ? matches({{}, {}, *last}) : std::nullopt;
    }
    for (const Reciprocal& r : reciprocals_)
      if (is_of(r, numbers))
        if (const auto division = matches(r)) return division;
    return {};
  }

private:
  struct Choice {
    ValueId if_true, if_false;
  };
  /// The first x, in halves, and the f32 that it is made of; or the last one, if it is known.
  struct Reciprocal {
    Pair x;
    ValueId of;
    u64 constant = 0;
  };
  struct Numbers {
    Half n_lo, n_hi;
    Limit d_lo, d_hi;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  /// All that is computed for one division.
  struct Context {
    Numbers numbers;
    ValueId reciprocal;
    ExactIntegers integers;
    Polynomial divisor;
    std::array<Polynomial, 3> quotient, rest; ///< after 0 to 2 corrections

    bool is(const Pair& v, const Polynomial& p) { return is(v.lo, p, Op::Lo) && is(v.hi, p, Op::Hi); }
    bool is(ValueId v, const Polynomial& p, Op half) {
      const Polynomial wanted = half == Op::Join ? p : half == Op::Lo ? integers.low(p) : integers.high(p);
      return integers.of(v) == wanted && !integers.failed();
    }
    bool is(const Limit& l, const Polynomial& p, Op half) {
      if (!l.bits) return is(l.v, p, half);
      return ExactIntegers::constant(*l.bits) == (half == Op::Lo ? integers.low(p) : integers.high(p));
    }
  };
  const Function& f_;
  std::function<ValueId(ValueId)> seen_through_;
  const std::vector<bool>& inner_;
  std::vector<Reciprocal> reciprocals_;
  std::vector<std::unique_ptr<Context>> contexts_;

  /// Where the inner choice is made by halves, `upper` is that of the upper ones.
  std::optional<Division> result_of(Context& c, const Choice& outer, const Choice& inner,
                                    const Choice& upper) {
    for (const bool remainder : {false, true})
      for (const Op half : {Op::Join, Op::Lo, Op::Hi}) {
        if (is_wide(f_.type(outer.if_false)) != (half == Op::Join)) continue;
        const auto& wanted = remainder ? c.rest : c.quotient;
        const auto is = [&](ValueId low, ValueId high, const Polynomial& p) {
          return low == high ? c.is(low, p, half) : c.is(Pair{low, high}, p);
        };
        if (c.is(outer.if_false, wanted[0], half) && is(inner.if_false, upper.if_false, wanted[1]) &&
            is(inner.if_true, upper.if_true, wanted[2]))
          return Division{c.numbers.n_lo, c.numbers.n_hi, c.numbers.d_lo, c.numbers.d_hi, remainder, half};
      }
    return {};
  }

  /// What defines `v` if it is an `op`.
  InstId def(ValueId v, Op op) const {
    const InstId i = f_.def_id(seen_through_(v));
    return i.valid() && f_[i].op == op ? i : InstId{};
  }
  /// The select that `v` is, twice, or those that its halves are by one mask.
  std::optional<std::pair<InstId, InstId>> selects(ValueId v) const {
    if (const InstId whole = def(v, Op::Select); whole.valid()) return std::pair{whole, whole};
    const InstId join = def(v, Op::Join);
    if (!join.valid()) return {};
    const InstId low = def(f_.operands(join)[0], Op::Select), high = def(f_.operands(join)[1], Op::Select);
    if (!low.valid() || !high.valid() || f_.operands(low)[0] != f_.operands(high)[0]) return {};
    return std::pair{low, high};
  }
  InstId compare(ValueId mask, IntPred p) const {
    const InstId i = f_.def_id(mask);
    return i.valid() && f_[i].op == Op::ICmp && f_[i].imm == static_cast<u64>(p) ? i : InstId{};
  }
  bool is_constant(ValueId v, u64 bits) const {
    u64 x = 0;
    return f_.is_const(v, &x) && x == bits;
  }
  Choice choice(InstId select, const AtLeast& by) const {
    const auto x = f_.operands(select);
    return by.inverted ? Choice{x[2], x[1]} : Choice{x[1], x[2]};
  }

  /// select(a_hi == b_hi, a_lo >= b_lo, a_hi >= b_hi), where each is -1 or 0, is not 0.
  std::optional<AtLeast> at_least(ValueId mask) const {
    for (const IntPred p : {IntPred::Ne, IntPred::Eq}) {
      const InstId i = compare(mask, p);
      if (!i.valid()) continue;
      const auto x = f_.operands(i);
      const unsigned zero = is_constant(x[0], 0) ? 0 : 1;
      const InstId both = def(x[1 - zero], Op::Select);
      if (!is_constant(x[zero], 0) || !both.valid()) return {};
      const auto y = f_.operands(both);
      if (u64 first = 0, second = 0; f_.is_const(y[1], &first) && f_.is_const(y[2], &second)) {
        auto chosen = (first == 0) != (second == 0) ? at_least(y[0]) : std::nullopt;
        if (chosen) chosen->inverted ^= (first == 0) != (p == IntPred::Eq);
        return chosen;
      }
      const InstId equal = compare(y[0], IntPred::Eq);
      if (!equal.valid()) return {};
      const auto z = f_.operands(equal);
      const auto low = half_at_least(y[1]);
      auto high = half_at_least(y[2]);
      if (is_constant(y[2], 0xffff'ffffu)) // what is not less than 0
        for (const unsigned n : {0u, 1u})
          if (is_constant(z[n], 0)) high = HalfAtLeast{z[1 - n], limit(z[n])};
      if (!low || !high) return {};
      const auto are = [&](ValueId a, ValueId b) {
        return seen_through_(a) == seen_through_(high->a) && limit(b) == high->b;
      };
      if (!are(z[0], z[1]) && !are(z[1], z[0])) return {};
      return AtLeast{{low->a, high->a}, low->b, high->b, p == IntPred::Eq};
    }
    return less_than_half(mask);
  }
  Limit limit(ValueId v) const {
    if (u64 bits = 0; f_.is_const(v, &bits)) return {{}, static_cast<u32>(bits)};
    return {seen_through_(v), {}};
  }
  /// a < b of which b has no upper half: a_hi == 0 and not a_lo >= b.
  std::optional<AtLeast> less_than_half(ValueId mask) const {
    const InstId i = f_.def_id(mask);
    if (!i.valid() || (f_[i].op != Op::AndNot && f_[i].op != Op::And)) return {};
    const auto x = f_.operands(i);
    for (const unsigned n : {0u, 1u}) {
      if (n == 1 && f_[i].op == Op::AndNot) break;
      const InstId equal = compare(x[n], IntPred::Eq);
      const auto low = at_least(x[1 - n], f_[i].op == Op::And);
      if (!equal.valid() || !low) continue;
      const auto z = f_.operands(equal);
      for (const unsigned zero : {0u, 1u})
        if (is_constant(z[zero], 0)) return AtLeast{{low->a, z[1 - zero]}, low->b, limit(z[zero]), true};
    }
    return {};
  }
  /// a >= b where `v` is -1 or 0 by that.
  std::optional<HalfAtLeast> half_at_least(ValueId v) const {
    const InstId i = def(v, Op::Select);
    if (!i.valid()) return {};
    const auto x = f_.operands(i);
    const bool as_is = is_constant(x[1], 0xffff'ffffu) && is_constant(x[2], 0);
    const bool inverted = is_constant(x[2], 0xffff'ffffu) && is_constant(x[1], 0);
    return as_is || inverted ? at_least(x[0], inverted) : std::nullopt;
  }
  /// Where the mask is a >= b, or its opposite; with a constant also a > b - 1.
  std::optional<HalfAtLeast> at_least(ValueId mask, bool inverted) const {
    const InstId i = f_.def_id(mask);
    if (!i.valid() || f_[i].op != Op::ICmp) return {};
    auto p = static_cast<IntPred>(f_[i].imm);
    if (inverted) p = inverse(p);
    const auto x = f_.operands(i);
    if (p == IntPred::UGe || p == IntPred::ULe)
      if (const unsigned a = p == IntPred::UGe ? 0 : 1; !f_.is_const(x[a]))
        return HalfAtLeast{x[a], limit(x[1 - a])};
    if (p == IntPred::UGt || p == IntPred::ULt) {
      const unsigned a = p == IntPred::UGt ? 0 : 1;
      const Limit below = limit(x[1 - a]);
      if (below.bits && *below.bits != ~u32{0}) return HalfAtLeast{x[a], Limit{{}, *below.bits + 1}};
    }
    return {};
  }

  /// What the differences have begun with of which `v` is one, or a half of one.
  Half minuend(ValueId v) const {
    Half h{seen_through_(v), Op::Join};
    for (unsigned n = 0; n < 4; ++n) {
      const InstId i = f_.def_id(h.of);
      if (!i.valid()) break;
      const Op op = f_[i].op;
      const ValueId x =
          op == Op::Sub || op == Op::Lo || op == Op::Hi ? seen_through_(f_.operands(i)[0]) : ValueId{};
      const bool splits = x.valid() && op != Op::Sub;
      if (!x.valid() || (splits && !def(x, Op::Sub).valid())) break;
      h = {x, splits ? op : h.half};
    }
    return h;
  }

  Context& context(const Numbers& numbers, const Reciprocal& r) {
    for (const auto& c : contexts_)
      if (c->numbers == numbers && c->reciprocal == r.of) return *c;
    contexts_.push_back(std::make_unique<Context>(
        Context{numbers, r.of, ExactIntegers(f_, seen_through_, inner_), {}, {}, {}}));
    compute(*contexts_.back(), r);
    return *contexts_.back();
  }

  /// What the expansion computes from its reciprocal on.
  void compute(Context& c, const Reciprocal& r) {
    ExactIntegers& z = c.integers;
    constexpr auto kAny = ExactIntegers::Sign::Any;
    const auto limit_of = [&](const Limit& l) {
      return l.bits ? ExactIntegers::constant(*l.bits) : z.of(l.v);
    };
    c.divisor = z.sum(limit_of(c.numbers.d_lo), z.shifted(limit_of(c.numbers.d_hi), 32));
    const Polynomial minus_d = z.wrapped(z.sum({}, c.divisor, -1), kAny);
    const auto half = [&](const Half& h) {
      return h.half == Op::Join ? z.of(h.of) : h.half == Op::Lo ? z.low(z.of(h.of)) : z.high(z.of(h.of));
    };
    const Polynomial n = z.sum(half(c.numbers.n_lo), z.shifted(half(c.numbers.n_hi), 32));
    Polynomial x = ExactIntegers::constant(r.constant);
    if (r.of.valid()) {
      x = z.sum(z.of(r.x.lo), z.shifted(z.of(r.x.hi), 32));
      for (unsigned step = 0; step < 2; ++step)
        x = z.wrapped(z.sum(x, z.product_high(x, z.wrapped(z.product(minus_d, x)))));
    }
    c.quotient[0] = z.product_high(n, x);
    c.rest[0] = z.wrapped(z.sum(n, z.product(c.divisor, c.quotient[0]), -1), kAny);
    for (unsigned k = 1; k < 3; ++k) {
      c.quotient[k] = z.wrapped(z.sum(c.quotient[k - 1], ExactIntegers::constant(1)));
      c.rest[k] = z.wrapped(z.sum(c.rest[k - 1], c.divisor, -1), kAny);
    }
  }

  // ---- the reciprocal

  /// The operands of an `op` on f32 that rounds to nearest; nothing if `v` is none.
  std::span<const ValueId> single(ValueId v, Op op) const {
    const InstId i = def(v, op);
    const bool fits = i.valid() && f_[i].fp.kind == FloatKind::F32 && f_[i].fp.round == Round::NearestEven;
    return fits ? f_.operands(i) : std::span<const ValueId>{};
  }
  /// v = x * factor, where the factor is a constant.
  ValueId multiple(ValueId v, u32 factor) const {
    const auto x = single(v, Op::FMul);
    for (unsigned n = 0; n < x.size(); ++n)
      if (is_constant(x[n], factor)) return seen_through_(x[1 - n]);
    return {};
  }
  /// v = x * factor + y, rounded once or twice.
  std::optional<Pair> multiple_plus(ValueId v, u32 factor) const {
    if (const auto x = single(v, Op::FFma); !x.empty()) {
      for (unsigned n = 0; n < 2; ++n)
        if (is_constant(x[n], factor)) return Pair{seen_through_(x[1 - n]), seen_through_(x[2])};
      return {};
    }
    const auto x = single(v, Op::FAdd);
    for (unsigned n = 0; n < x.size(); ++n)
      if (const ValueId y = multiple(x[n], factor); y.valid()) return Pair{y, seen_through_(x[1 - n])};
    return {};
  }
  bool is_converted(ValueId v, const Limit& from) const {
    const auto x = single(v, Op::UIToFp);
    return !x.empty() && f_[def(v, Op::UIToFp)].imm == 32 && limit(x[0]) == from;
  }
  /// Whether the reciprocal is that of d as f32.
  bool is_of(const Reciprocal& r, const Numbers& d) const {
    const auto x = single(r.of, Op::FRcp);
    constexpr u32 kTwo32 = 0x4f80'0000;
    if (d.d_hi.bits == 0) {
      const auto sum = single(x[0], Op::FAdd);
      for (unsigned n = 0; n < sum.size(); ++n)
        if (is_constant(sum[n], 0)) return is_converted(sum[1 - n], d.d_lo);
      return is_converted(x[0], d.d_lo);
    }
    const auto sum = multiple_plus(x[0], kTwo32);
    return sum && is_converted(sum->lo, d.d_hi) && is_converted(sum->hi, d.d_lo);
  }
  /// The last x that the expansion of a division by a constant has, if by that the estimate is right.
  static std::optional<u64> reciprocal_of(u64 d) {
    __extension__ using u128 = unsigned __int128;
    constexpr float kTwo32 = 4294967296.0F;
    if (d < 2) return {};
    const float divisor = static_cast<float>(d >> 32) * kTwo32 + static_cast<float>(static_cast<u32>(d));
    const float scaled = 1.0F / divisor * std::bit_cast<float>(kScale), upper = std::trunc(scaled / kTwo32);
    u64 x = u64{static_cast<u32>(upper)} << 32 | static_cast<u32>(scaled - upper * kTwo32);
    for (unsigned step = 0; step < 2; ++step) x += static_cast<u64>(u128{x} * (0 - d * x) >> 64);
    const u128 one = u128{1} << 64, low = u128{x} * d;
    return low <= one && one - low < 2 * u128{d} ? std::optional(x) : std::nullopt;
  }
  void find_reciprocals() {
    constexpr u32 kTwoMinus32 = 0x2f80'0000, kMinusTwo32 = 0xcf80'0000;
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts) {
        if (f_[i].op != Op::FpToUI || f_[i].imm != 32 || f_[i].fp.kind != FloatKind::F32) continue;
        const auto sum = multiple_plus(f_.operands(i)[0], kMinusTwo32); // of the low half
        if (!sum) continue;
        const ValueId scaled = sum->hi, reciprocal = multiple(scaled, kScale);
        const auto upper = single(sum->lo, Op::FTrunc);
        if (!reciprocal.valid() || single(reciprocal, Op::FRcp).empty() || upper.empty() ||
            multiple(upper[0], kTwoMinus32) != scaled)
          continue;
        if (const ValueId high = converted_back(sum->lo); high.valid())
          reciprocals_.push_back({{f_.result(i), high}, reciprocal});
      }
  }
  ValueId converted_back(ValueId v) const {
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts)
        if (f_[i].op == Op::FpToUI && f_[i].imm == 32 && f_[i].fp.kind == FloatKind::F32 &&
            seen_through_(f_.operands(i)[0]) == v)
          return f_.result(i);
    return {};
  }
};

/// A select by a mask that has all lanes of those looked at is what it selects by it.
class Lanes {
public:
  explicit Lanes(const Function& f) : f_(f) {}

  /// From now on those of `root` are looked at. False if that changes an answer given before.
  bool look_at(InstId root) {
    root_ = root;
    return std::ranges::all_of(answers_, [&](const auto& a) { return find(a.first) == a.second; });
  }
  void forget() { answers_.clear(); }
  ValueId seen_through(ValueId v) {
    for (InstId i = f_.def_id(v); i.valid() && f_[i].op == Op::Select; i = f_.def_id(v)) {
      const auto x = f_.operands(i);
      const bool is_choice = f_.type(x[0]) == Type::Mask && !(f_.is_const(x[1]) && f_.is_const(x[2]));
      if (!is_choice || !has_all(x[0])) break;
      v = x[1];
    }
    return v;
  }

private:
  const Function& f_;
  InstId root_;
  std::optional<LaneDemand> demand_;
  bool found_ = false;
  std::map<ValueId, bool> answers_; ///< by masks

  bool has_all(ValueId mask) {
    const auto [at, is_new] = answers_.try_emplace(mask, false);
    if (is_new) at->second = find(mask);
    return at->second;
  }
  bool find(ValueId mask) {
    if (!demand_) found_ = demand_.emplace(f_).find();
    return found_ && demand_->is_inside(demand_->of(f_.result(root_)), mask, f_[root_].block);
  }
};

/// What is made of numbers that were f32, or of products with constants.
std::vector<bool> inner_values(const Function& f) {
  std::vector<bool> inner(f.num_values(), false);
  const auto starts = [&](InstId i) {
    if (f[i].op == Op::FpToUI) return true;
    if (f[i].op != Op::UMulHi && f[i].op != Op::UMulWide && f[i].op != Op::Mul) return false;
    return std::ranges::any_of(f.operands(i), [&](ValueId v) { return f.is_const(v); });
  };
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts) {
      const auto is_inner = [&](ValueId v) { return inner[v.index]; };
      if (!starts(i) && !(info(f[i].op).is(kPure) && std::ranges::any_of(f.operands(i), is_inner))) continue;
      for (unsigned n = 0; n < f[i].num_results; ++n) inner[f.result(i, n).index] = true;
    }
  return inner;
}

/// Whether one of the alternatives is a select itself, and all hangs on an unsigned comparison.
bool may_correct(const Function& f, InstId select) {
  const auto x = f.operands(select);
  const auto is = [&](ValueId v, Op op) {
    const Inst* def = f.def(v);
    return def != nullptr && def->op == op;
  };
  if (!is(x[0], Op::ICmp) && !is(x[0], Op::And) && !is(x[0], Op::AndNot)) return false;
  const auto chooses = [&](ValueId v) {
    return is(v, Op::Select) || (is(v, Op::Join) && is(f.operands(f.def_id(v))[0], Op::Select));
  };
  return chooses(x[1]) || chooses(x[2]);
}

} // namespace

bool replace_wide_divisions(Function& f) {
  std::map<InstId, Finder::Division> found;
  Lanes lanes(f);
  std::vector<bool> inner;
  std::optional<Finder> finder;
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts) {
      if (f[i].op != Op::Select || !is_vector(f.type(f.result(i))) || !may_correct(f, i)) continue;
      if (inner.empty()) inner = inner_values(f);
      if (!lanes.look_at(i) || !finder) {
        lanes.forget();
        finder.emplace(
            f, [&](ValueId v) { return lanes.seen_through(v); }, inner);
      }
      if (auto division = finder->find(i)) found.emplace(i, *division);
    }
  if (found.empty()) return false;
  replace_found(f, found, [](Rewriter& r, InstId, const Finder::Division& x) {
    const auto& [n_lo, n_hi, d_lo, d_hi, remainder, half] = x;
    // What the wave has computed in scalars may be chosen from per lane.
    const auto in_lanes = [&](ValueId v) {
      const Type t = r.function().type(v);
      return is_uniform(t) ? r.op(Op::Splat, per_lane_of(t), {v}) : v;
    };
    const auto value = [&](const Half& h) {
      return h.half == Op::Join ? in_lanes(h.of) : r.op(h.half, Type::V32, {in_lanes(h.of)});
    };
    const ValueId low = value(n_lo);
    const ValueId dividend = r.op(Op::Join, Type::V64, {low, value(n_hi)});
    const auto limit = [&](const Limit& l) { return l.bits ? r.v32(*l.bits) : in_lanes(l.v); };
    const ValueId divisor_low = limit(d_lo);
    const ValueId divisor = r.op(Op::Join, Type::V64, {divisor_low, limit(d_hi)});
    ValueId result = r.same(Op::UDiv, dividend, divisor);
    if (remainder) result = r.sub(dividend, r.same(Op::Mul, result, divisor));
    return half == Op::Join ? result : r.op(half, Type::V32, {result});
  });
  return true;
}

} // namespace lanewise::passes
