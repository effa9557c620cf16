// Divisions and roots. Compilers expand a division into v_div_scale, v_rcp, Newton steps, v_div_fmas and
// v_div_fixup. That chain gives the quotient rounded to nearest wherever nothing near the ends of the
// exponent range happens; there it is replaced by a division, and the chain itself moves to a block of its
// own that only gangs with other operands enter.
//
// Why the replacement is exact (n numerator, d denominator, r reciprocal, all to nearest even):
//  - r starts as the rounded 1/d (runtime/math/gcn_math.hpp), and a Newton step keeps it: with p bits its
//    error e satisfies e < 2^-p d, the step changes 1/d by the factor 1 - e^2, and no midpoint between
//    numbers lies that close to a reciprocal.
//  - f32: the first correction makes the quotient faithful; the second, with the exact remainder and the
//    rounded reciprocal, makes it the rounded one (Markstein). Scaled or not, the remainder is exact unless
//    n's exponent is 24, the first that v_div_scale leaves alone: there the remainder may be denormal. Zeros,
//    infinities, NaNs, denormals: v_div_fixup does what a division does.
//  - f64 has only one correction, which misrounds some quotients. So its two last steps stay; only scaling,
//    the Newton steps and the fix-up go.
//    Of 1/d they keep the reciprocal, as Newton's do.
//  - Where MODE flushes f32 denormals around the chain, denormal operands are zeros to all of it, and nothing
//    is flushed in between unless the quotient is tiny: a divisor whose reciprocal would be is scaled, and so
//    is n with it. A tiny quotient is flushed before or after it is rounded, so below twice the smallest
//    normal number the chain decides, but for zeros that a zero n makes.
//  - In f64 operands must be in a range that is not scaled; n may also be +0, of which the steps that stay
//  make
//    the zero of the right sign (of -0 they do not).
//
// Square roots of f64 likewise are v_rsq and Goldschmidt's steps, g towards the root s and h towards 1 / 2s:
//  - The last step adds x - g^2, which is exact by then, times h: the sum is s (1 + e) with e < 3 * 2^-106
//    before it is rounded. Only a few roots lie that close to the middle between two numbers; the test
//    computes them, and the chain rounds them all as it should.
//  - Of zeros and infinity the chain makes 0 * infinity; of negative numbers and NaNs, in the order that
//    operands have here, what a root makes of them.
//  - Tiny operands, whose remainder would be denormal, must have been scaled before, or the chain is kept.
//
// Medians of f32 are those of the numbers' bits in the order that these have as numbers, where none is a NaN
// or -0. v_med3_f32 has a rule for NaNs, and which of two zeros it takes depends on their order.
#include "translator/ir/copy.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/scaled_operands.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// The chain's instructions, the last one last, and what it divides, or of what it is the root.
struct Chain {
  ValueId numerator, denominator;
  ValueId radicand;
  bool is_median = false;
  bool may_be_tiny = false; ///< the radicand
  std::vector<InstId> insts;
  bool flushes = false; ///< MODE flushes f32 denormals around it
};

/// Recognises one chain, from its end.
class Matcher {
public:
  Matcher(const Function& f, InstId fixup) : f_(f), fixup_(fixup) {}

  std::optional<Chain> match() {
    if (f_[fixup_].op == Op::FMed3) return match_median();
    return f_[fixup_].op == Op::DivFixup ? match_division() : match_root();
  }

private:
  using Operands = std::array<ValueId, 3>;
  const Function& f_;
  InstId fixup_; ///< the last one
  Chain chain_;
  ValueId d_, n_; ///< scaled

  std::optional<Chain> match_division() {
    const auto x = f_.operands(fixup_);
    chain_.denominator = x[1];
    chain_.numerator = x[2];
    const FpAttr& fp = f_[fixup_].fp;
    if (fp.kind == FloatKind::F16 || fp.round != Round::NearestEven || fp.flush_in != fp.flush_out) return {};
    chain_.flushes = fp.flush_in;
    const InstId fmas = take(x[0], Op::DivFmas);
    if (!fmas.valid()) return {};
    const auto y = f_.operands(fmas);
    const ValueId remainder = y[0], reciprocal = y[1], quotient = y[2];
    if (!match_scaled(y[3]) || !match_reciprocal(reciprocal)) return {};
    if (!is_remainder(remainder, quotient)) return {};
    if (fp.kind == FloatKind::F32) { // one more correction
      const auto q = fma(quotient);
      if (!q) return {};
      if (!is_product_sum(*q, reciprocal)) return {};
      if (!is_remainder(factor(*q, reciprocal), (*q)[2]) || !is_first_quotient((*q)[2], reciprocal))
        return {};
    } else if (!is_first_quotient(quotient, reciprocal)) {
      return {};
    }
    chain_.insts.push_back(fixup_);
    return chain_;
  }

  std::optional<Chain> match_median() {
    const FpAttr& fp = f_[fixup_].fp;
    if (fp.kind != FloatKind::F32 || fp.flush_in != fp.flush_out) return {};
    chain_.insts.push_back(fixup_);
    chain_.is_median = true;
    return chain_;
  }

  /// g + (x - g^2) h, twice.
  std::optional<Chain> match_root() {
    const FpAttr& fp = f_[fixup_].fp;
    if (fp.kind != FloatKind::F64 || fp.round != Round::NearestEven || fp.flush_in || fp.flush_out) return {};
    const auto last = f_.operands(fixup_);
    const auto remainder = fma(last[0]);
    if (!remainder || !is_square_remainder(*remainder, last[2])) return {};
    const ValueId x = (*remainder)[2], h = last[1];
    const auto g = fma(last[2]);
    if (!g || (*g)[1] != h) return {};
    const auto first = fma((*g)[0]);
    if (!first || (*first)[2] != x || !is_square_remainder(*first, (*g)[2]) || !match_estimate((*g)[2], h, x))
      return {};
    chain_.insts.push_back(fixup_);
    chain_.radicand = x;
    chain_.may_be_tiny = !scaled_radicand(f_, x);
    return chain_;
  }
  /// x - g^2
  bool is_square_remainder(const Operands& v, ValueId g) { return v[1] == g && negated(v[0]) == g; }
  /// g = g0 + g0 r, h = h0 + h0 r with r = 0.5 - h0 g0, g0 = x y, h0 = 0.5 y, and y = 1 / sqrt(x).
  bool match_estimate(ValueId g, ValueId h, ValueId x) {
    const auto to_g = fma(g), to_h = fma(h);
    if (!to_g || !to_h || (*to_g)[0] != (*to_g)[2] || (*to_h)[0] != (*to_h)[2] || (*to_g)[1] != (*to_h)[1])
      return false;
    const ValueId g0 = (*to_g)[0], h0 = (*to_h)[0];
    const auto r = fma((*to_g)[1]);
    if (!r || negated((*r)[0]) != h0 || (*r)[1] != g0 || !is_half((*r)[2])) return false;
    const InstId product = take(g0, Op::FMul), half = take(h0, Op::FMul);
    if (!product.valid() || !half.valid()) return false;
    const ValueId y = f_.operands(half)[0];
    const InstId root = take(y, Op::FRsq);
    return root.valid() && f_.operands(root)[0] == x && f_.operands(product)[0] == x &&
           f_.operands(product)[1] == y && is_half(f_.operands(half)[1]);
  }
  [[nodiscard]] bool is_half(ValueId v) const {
    u64 bits = 0;
    return f_.is_const(v, &bits) && bits == std::bit_cast<u64>(0.5);
  }
  /// The instruction defining `v` if it is an `op` of the chain's format, rounding to nearest; it is noted.
  InstId take(ValueId v, Op op) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != op) return {};
    const FpAttr& fp = f_[i].fp;
    if (fp.kind != f_[fixup_].fp.kind || fp.round != Round::NearestEven) return {};
    // Scaling and its undoing happen in the mode of the surroundings; the steps between keep denormals.
    const bool outer = op == Op::DivScale || op == Op::DivFmas;
    const bool may_flush = op == Op::FRcp || op == Op::FRsq; // of numbers that are normal
    if (!may_flush && (fp.flush_in || fp.flush_out) != (outer && chain_.flushes)) return {};
    chain_.insts.push_back(i);
    return i;
  }
  [[nodiscard]] bool same(ValueId a, ValueId b) const {
    u64 x = 0, y = 0;
    return a == b || (f_.is_const(a, &x) && f_.is_const(b, &y) && x == y);
  }

  bool match_scaled(ValueId flag) {
    const Inst* def = f_.def(flag);
    if (def != nullptr && def->op == Op::Xor) return match_compared(flag);
    const InstId n = take(flag, Op::DivScale);
    if (!n.valid() || f_.result(n, 1) != flag || !scales(n, chain_.numerator)) return false;
    n_ = f_.result(n, 0);
    return true;
  }
  /// The flag of f64 for gfx600, whose own is wrong: one of both has been scaled, as upper halves tell.
  bool match_compared(ValueId flag) {
    const auto x = f_.operands(f_.def_id(flag));
    for (const unsigned n : {0u, 1u}) {
      const ValueId numerator = is_unscaled(x[n], chain_.numerator);
      if (!numerator.valid() || !is_unscaled(x[1 - n], chain_.denominator).valid()) continue;
      chain_.insts.push_back(f_.def_id(flag));
      n_ = numerator;
      return true;
    }
    return false;
  }
  /// What v_div_scale makes of `what` if the mask says where that has the same upper half; else nothing.
  ValueId is_unscaled(ValueId mask, ValueId what) {
    const InstId compare = f_.def_id(mask);
    if (!compare.valid() || f_[compare].op != Op::ICmp || f_[compare].imm != static_cast<u64>(IntPred::Eq))
      return {};
    const auto x = f_.operands(compare);
    for (const unsigned n : {0u, 1u}) {
      const InstId upper = f_.def_id(x[n]);
      if (!upper.valid() || f_[upper].op != Op::Hi || !is_upper_half(x[1 - n], what)) continue;
      const ValueId scaled = f_.operands(upper)[0];
      const InstId scale = take(scaled, Op::DivScale);
      if (!scale.valid() || f_.result(scale, 0) != scaled || !scales(scale, what)) continue;
      chain_.insts.insert(chain_.insts.end(), {compare, upper});
      return scaled;
    }
    return {};
  }
  [[nodiscard]] bool is_upper_half(ValueId v, ValueId whole) const {
    u64 x = 0, y = 0;
    if (f_.is_const(v, &x) && f_.is_const(whole, &y)) return x == y >> 32;
    const Inst *half = f_.def(v), *join = f_.def(whole);
    if (half != nullptr && half->op == Op::Hi && f_.operands(f_.def_id(v))[0] == whole) return true;
    if (half != nullptr && join != nullptr && half->op == Op::Splat && join->op == Op::Splat)
      return is_upper_half(f_.operands(f_.def_id(v))[0], f_.operands(f_.def_id(whole))[0]);
    if (half != nullptr && join != nullptr && half->op == join->op && // with the sign changed
        (half->op == Op::Xor || half->op == Op::And)) {
      const auto a = f_.operands(f_.def_id(v)), b = f_.operands(f_.def_id(whole));
      const unsigned m = f_.is_const(a[0]) ? 0 : 1, n = f_.is_const(b[0]) ? 0 : 1;
      return f_.is_const(a[m], &x) && f_.is_const(b[n], &y) && x == y >> 32 &&
             is_upper_half(a[1 - m], b[1 - n]);
    }
    return join != nullptr && join->op == Op::Join && f_.operands(f_.def_id(whole))[1] == v;
  }
  [[nodiscard]] bool scales(InstId i, ValueId what) const {
    const auto x = f_.operands(i);
    return same(x[0], what) && same(x[1], chain_.denominator) && same(x[2], chain_.numerator);
  }

  /// r = r0 + r0 (1 - d r0), once for f32 and twice for f64, of r0 = 1/d; finds d.
  bool match_reciprocal(ValueId r) {
    const unsigned steps = f_[fixup_].fp.kind == FloatKind::F64 ? 2 : 1;
    for (unsigned s = 0; s < steps; ++s) {
      const auto step = fma(r);
      if (!step) return false;
      const ValueId before = (*step)[2];
      if (!is_product_sum(*step, before)) return false;
      const auto e = fma(factor(*step, before));
      u64 one = 0;
      if (!e || !f_.is_const((*e)[2], &one)) return false;
      if (one != (steps == 2 ? 0x3ff0'0000'0000'0000u : 0x3f80'0000u)) return false;
      if (!is_product_sum(*e, before)) return false;
      const ValueId d = negated(factor(*e, before));
      if (!d.valid() || (d_.valid() && d != d_)) return false;
      d_ = d;
      r = before;
    }
    const InstId rcp = take(r, Op::FRcp), scale = take(d_, Op::DivScale);
    return rcp.valid() && scale.valid() && f_.operands(rcp)[0] == d_ && f_.result(scale, 0) == d_ &&
           scales(scale, chain_.denominator);
  }
  /// v = n - d q
  bool is_remainder(ValueId v, ValueId q) {
    const auto x = fma(v);
    return x && (*x)[2] == n_ && is_product_sum(*x, q) && negated(factor(*x, q)) == d_;
  }
  /// q = n r
  bool is_first_quotient(ValueId q, ValueId r) {
    const InstId i = take(q, Op::FMul);
    if (!i.valid()) return false;
    const auto x = f_.operands(i);
    return (x[0] == n_ && x[1] == r) || (x[0] == r && x[1] == n_);
  }

  std::optional<Operands> fma(ValueId v) {
    const InstId i = take(v, Op::FFma);
    if (!i.valid()) return {};
    const auto x = f_.operands(i);
    return Operands{x[0], x[1], x[2]};
  }
  /// One of the factors is `a`.
  static bool is_product_sum(const Operands& x, ValueId a) { return x[0] == a || x[1] == a; }
  static ValueId factor(const Operands& x, ValueId other) { return x[0] == other ? x[1] : x[0]; }
  /// What `v` is the negative of, or nothing.
  ValueId negated(ValueId v) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != Op::Xor) return {};
    const auto x = f_.operands(i);
    const u64 sign = f_.type(v) == Type::V64 ? u64{1} << 63 : 0x8000'0000u;
    for (unsigned k = 0; k < 2; ++k) {
      u64 bits = 0;
      if (!f_.is_const(x[k], &bits) || bits != sign) continue;
      chain_.insts.push_back(i);
      return x[1 - k];
    }
    return {};
  }
};

/// Puts a division in place of a chain and moves the chain out of the way.
class Replacer {
public:
  /// What replaces the chain's result goes to `map`. Nobody looks at lanes outside of `lanes`, if given.
  Replacer(Function& f, BlockId block, std::size_t position, const Chain& chain, ValueId lanes,
           std::vector<ValueId>& map)
      : f_(f), r_(f), block_(block), position_(position), chain_(chain), lanes_(lanes), map_(map) {}

  /// The block in which the rest of `block` continues.
  BlockId run() {
    auto& insts = f_[block_].insts;
    const InstId fixup = insts[position_];
    std::vector<InstId> rest(insts.begin() + static_cast<std::ptrdiff_t>(position_) + 1, insts.end()), out;
    insts.resize(position_);
    r_.begin(fixup, out);
    const bool is_root = chain_.radicand.valid();
    if (chain_.is_median) flush_median_operands(fixup);
    const ValueId quotient = chain_.is_median ? median() : is_root ? root() : divide();
    const ValueId unusual = chain_.is_median ? unusual_numbers()
                            : is_root        ? unusual_radicand()
                                             : unusual_division(quotient);
    u64 bits = 1;
    ValueId result = quotient;
    BlockId next = block_;
    if (f_.is_const(unusual, &bits) && bits == 0) {
      insts.insert(insts.end(), out.begin(), out.end());
      f_[block_].insts.insert(f_[block_].insts.end(), rest.begin(), rest.end());
    } else {
      const ValueId matters = lanes_.valid() ? r_.same(Op::And, unusual, lanes_) : unusual;
      const ValueId any = r_.op(Op::AnyLane, Type::U1, {matters});
      insts.insert(insts.end(), out.begin(), out.end());
      next = split(any, quotient, std::move(rest));
      result = f_[next].params[0];
    }
    f_[fixup].block = BlockId{};
    map_.resize(f_.num_values());
    map_[f_.result(fixup).index] = result;
    return next;
  }

private:
  Function& f_;
  Rewriter r_;
  BlockId block_;
  std::size_t position_;
  const Chain& chain_;
  ValueId lanes_;
  std::vector<ValueId>& map_;
  std::vector<std::pair<InstId, InstId>> copies_;

  std::array<ValueId, 3> numbers_; ///< of a median; those that are the same in all lanes first

  [[nodiscard]] bool wide() const { return r_.fp.kind == FloatKind::F64; }

  [[nodiscard]] bool is_same_in_all_lanes(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && (def->op == Op::Splat || def->op == Op::Const);
  }
  void flush_median_operands(InstId fixup) {
    std::copy_n(f_.operands(fixup).begin(), 3, numbers_.begin());
    std::stable_partition(numbers_.begin(), numbers_.end(),
                          [&](ValueId v) { return is_same_in_all_lanes(v); });
    if (r_.fp.flush_in)
      for (ValueId& v : numbers_) v = r_.same(Op::FCanonical, v);
  }
  ValueId median() {
    // Of negative numbers all bits but the sign count the other way round.
    const auto in_order = [&](ValueId v) { return r_.same(Op::Xor, v, r_.lshr(r_.ashr(v, 31), 1)); };
    const ValueId a = in_order(numbers_[0]), b = in_order(numbers_[1]), c = in_order(numbers_[2]);
    const ValueId low = r_.same(Op::SMin, a, b), high = r_.same(Op::SMax, a, b);
    return in_order(r_.same(Op::SMax, low, r_.same(Op::SMin, high, c)));
  }
  ValueId unusual_numbers() {
    ValueId all;
    for (const ValueId v : numbers_) {
      // As integers: MXCSR may be set up for something else, and scalars are tested once for all lanes.
      const ValueId nan = r_.icmp(IntPred::SGt, r_.and_(v, 0x7fff'ffffu), r_.v32(0x7f80'0000u));
      const ValueId either = r_.mask_or(nan, r_.icmp(IntPred::Eq, v, r_.v32(0x8000'0000u)));
      all = all.valid() ? r_.mask_or(all, either) : either;
    }
    return all;
  }

  ValueId root() {
    constexpr u32 kZeroOrInfinity = 0x260; // v_cmp_class's bits
    constexpr u64 kInvalid = 0xfff8'0000'0000'0000;
    const ValueId x = chain_.radicand;
    const ValueId special = r_.op(Op::FClass, Type::Mask, {x, r_.v32(kZeroOrInfinity)});
    return r_.select(special, r_.constant(Type::V64, kInvalid), r_.same(Op::FSqrt, x));
  }
  ValueId divide() {
    const ValueId n = chain_.numerator, d = chain_.denominator;
    if (!wide()) return r_.fdiv(n, d);
    const ValueId reciprocal = r_.fdiv(r_.f64(1.0), d);
    u64 bits = 0;
    if (f_.is_const(n, &bits) && bits == std::bit_cast<u64>(1.0)) return reciprocal;
    const ValueId quotient = r_.fmul(n, reciprocal);
    const ValueId minus_d = r_.same(Op::Xor, d, r_.constant(Type::V64, u64{1} << 63));
    return r_.fma(r_.fma(minus_d, quotient, n), reciprocal, quotient);
  }

  /// The lanes in which the replacement may differ.
  ValueId unusual_radicand() {
    if (!chain_.may_be_tiny) return r_.constant(Type::Mask, 0);
    const ValueId x = chain_.radicand;
    return r_.icmp(IntPred::ULt, r_.add(x, r_.constant(Type::V64, ~u64{0})),
                   r_.constant(Type::V64, kTinyRadicand - 1)); // Positive, but less.
  }
  ValueId unusual_division(ValueId quotient) {
    const ValueId n = chain_.numerator;
    if (wide()) {
      const ValueId zero = r_.is_zero_bits(n);
      const ValueId numerator = r_.same(Op::AndNot, outside(n), zero);
      return r_.mask_or(numerator, outside(chain_.denominator));
    }
    // Exponent field 24.
    const ValueId remainder_denormal = fold(r_.icmp(IntPred::Eq, r_.and_(n, 0x7f80'0000u), r_.v32(24u << 23)),
                                            [](u64 bits) { return (bits >> 23 & 0xff) == 24; });
    if (!chain_.flushes) return remainder_denormal;
    const ValueId zero = fold(is_below(n, 1u << 23), [](u64 bits) { return (bits >> 23 & 0xff) == 0; });
    const ValueId tiny = r_.same(Op::AndNot, is_below(quotient, 2u << 23), zero);
    return r_.mask_or(remainder_denormal, tiny);
  }
  /// |x| is less than the number with these bits, which is not a NaN.
  ValueId is_below(ValueId x, u32 bits) {
    return r_.icmp(IntPred::ULt, r_.and_(x, 0x7fff'ffffu), r_.v32(bits));
  }
  /// `test` on a numerator that is known, as 1/x has.
  template <class F>
  ValueId fold(ValueId mask, F test) {
    u64 n = 0;
    if (!f_.is_const(chain_.numerator, &n)) return mask;
    return r_.constant(Type::Mask, test(n) ? ~u64{0} : 0);
  }
  /// The f64 |x| is not in [2^-382, 2^383).
  ValueId outside(ValueId x) {
    constexpr unsigned kReach = 382, kBias = 1023, kMantissaBits = 52;
    constexpr u64 kLow = u64{kBias - kReach} << kMantissaBits, kSpan = u64{2 * kReach + 1} << kMantissaBits;
    const ValueId magnitude = r_.and_(x, (u64{1} << 63) - 1);
    return r_.icmp(IntPred::UGe, r_.add(magnitude, r_.constant(Type::V64, 0 - kLow)),
                   r_.constant(Type::V64, kSpan));
  }

  /// Ends `block` with a branch to the chain, for gangs that need it, and returns the block after both.
  BlockId split(ValueId any, ValueId quotient, std::vector<InstId> rest) {
    const u32 pc = f_[f_.def_id(quotient)].pc;
    const BlockId exact = f_.add_block(pc), next = f_.add_block(pc);
    f_.add_param(next, r_.type(quotient));
    for (const InstId i : rest) f_[i].block = next;
    f_[next].insts = std::move(rest);
    f_[next].successors = std::move(f_[block_].successors);
    f_[block_].successors.clear();
    Builder b(f_, exact);
    b.pc = pc;
    const InstId copied = copy(chain_.insts.back(), exact);
    b.jump(next, {f_.result(copied)});
    b.set_block(block_);
    b.branch(any, exact, next, {}, {quotient});
    f_[f_.terminator(block_)].imm = phases::gang_decided(next) | phases::kFirstIsRare;
    return next;
  }

  /// A copy of the chain's instruction `i` and of what it needs, at the end of `to`.
  InstId copy(InstId i, BlockId to) {
    for (const auto& [from, made] : copies_)
      if (from == i) return made;
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    for (ValueId& v : x) { // What it needs comes first.
      const InstId from = f_.def_id(v);
      if (std::find(chain_.insts.begin(), chain_.insts.end(), from) != chain_.insts.end())
        v = f_.result(copy(from, to), v.index - f_.result(from).index);
    }
    const InstId made = append_copy(f_, to, i);
    f_.set_operands(made, x);
    copies_.emplace_back(i, made);
    return made;
  }
};

/// Finds the mask with fewest lanes that has all in which somebody looks at a quotient: the others divide
/// whatever they hold, zeros mostly, and would enter the chain again and again. Of use while the function is
/// as it was.
class MaskFinder {
public:
  explicit MaskFinder(const Function& f) : f_(f), demand_(f) {
    if (!demand_.find()) return;
    for (const BlockId b : demand_.cfg().rpo) {
      for (const InstId i : f[b].insts)
        if (f[i].op == Op::Load || f[i].op == Op::Store || f[i].op == Op::Atomic) add(f.operands(i).back());
      add(f.tested_mask(b));
    }
  }
  /// Nothing if all lanes matter, or no mask is known. `position` is where `chain_end` is in its block.
  [[nodiscard]] ValueId find(InstId chain_end, std::size_t position) const {
    const BlockId b = f_[chain_end].block;
    const auto& insts = f_[b].insts;
    const auto before = insts.begin() + static_cast<std::ptrdiff_t>(position);
    ValueId best;
    for (const ValueId m : masks_) {
      const InstId def = f_.def_id(m);
      const bool is_known = f_.def_block(m) != b
                                ? demand_.dominators().dominates(f_.def_block(m), b)
                                : !def.valid() || std::find(insts.begin(), before, def) != before;
      if (is_known && demand_.is_inside(demand_.of(f_.result(chain_end)), m, b) &&
          (!best.valid() || demand_.facts().implies(m, best)))
        best = m;
    }
    return best;
  }

private:
  const Function& f_;
  LaneDemand demand_;
  std::vector<ValueId> masks_; ///< that restrict something

  void add(ValueId m) {
    if (m.valid() && !f_.is_full(m) && std::ranges::find(masks_, m) == masks_.end()) masks_.push_back(m);
  }
};

/// The mask of the lanes that waves start with, where some may start without and nobody looks at those. Else
/// nothing.
ValueId started_lanes(Function& f) {
  if (f.launch.full_waves() || !phases::idle_gangs_are_unseen(f, kWaveSize)) return {};
  for (const InstId i : f[BlockId{0}].insts)
    if (f[i].op == Op::InitExec) return f.result(i);
  const auto exec = f.launch.exec();
  return exec ? f.entry_constant(Type::Mask, *exec) : ValueId{};
}

} // namespace

void replace_divisions(Function& f, bool medians) {
  const bool any_roots =
      has_any(f, [](const Inst& inst) { return inst.op == Op::FRsq && inst.fp.kind == FloatKind::F64; });
  const auto may_end_chain = [&](InstId i) {
    if (f[i].op == Op::FMed3) {
      if (!medians) return false;
      const auto x = f.operands(i);
      Rewriter r(f);
      r.fp = f[i].fp;
      return !is_limited(r, x[0], x[1], x[2]);
    }
    return f[i].op == Op::DivFixup || (any_roots && f[i].op == Op::FFma && f[i].fp.kind == FloatKind::F64);
  };
  const auto divides = [&](BlockId b) { return std::ranges::any_of(f[b].insts, may_end_chain); };
  std::vector<ValueId> map;
  std::vector<BlockId> work;
  for (u32 b = f.num_blocks(); b-- > 0;)
    if (divides(BlockId{b})) work.emplace_back(b);
  if (work.empty()) return;
  struct Found {
    Chain chain;
    ValueId lanes; ///< that matter
  };
  std::map<InstId, Found> found; // by the chains' ends
  std::optional<MaskFinder> masks;
  for (const BlockId b : work)
    for (std::size_t n = 0; n < f[b].insts.size(); ++n) {
      const InstId i = f[b].insts[n];
      if (!may_end_chain(i)) continue;
      auto chain = Matcher(f, i).match();
      if (!chain) continue;
      if (!masks) masks.emplace(f);
      found.emplace(i, Found{std::move(*chain), masks->find(i, n)});
    }
  if (found.empty()) return;
  const ValueId started = started_lanes(f);
  for (auto& [end, division] : found)
    if (!division.lanes.valid()) division.lanes = started;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (std::size_t n = 0; n < f[b].insts.size(); ++n) {
      const InstId i = f[b].insts[n];
      const auto division = found.find(i);
      if (division == found.end()) continue;
      const BlockId next = Replacer(f, b, n, division->second.chain, division->second.lanes, map).run();
      if (next == b) continue;
      work.push_back(next);
      break;
    }
  }
  if (map.empty()) return;
  map.resize(f.num_values());
  f.replace_values(map);
  eliminate_dead_code(f);
}

} // namespace lanewise::passes
