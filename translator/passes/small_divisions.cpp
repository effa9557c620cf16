// Divisions of integers of at most 24 bits. Compilers expand them to arithmetic of f32:
//
//   q = trunc(f32(n) * rcp(f32(d)));  r = f32(n) - q * f32(d)
//   integer(q) + (|r| >= |f32(d)| ? 1 : 0)                          with signs: +-1, as n ^ d says
//
// For |n| < 2^23 and 0 < |d| < 2^24, that is the quotient: the product's relative error is below 2^-23, hence
// it does not reach the next whole number, which is 1 / |d| away or more; it may miss one that n / d is, and
// then r is d. One division, rounded once and cut off, is the quotient as well. For d = 0 both are what
// becomes of an infinity with n's sign, or of a NaN where n is 0, too.
//
// Where d is known not to be 0, it becomes a division of integers, of which more is known, as how large
// remainders are.
#include "translator/passes/numbers.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"

#include <bit>
#include <cmath>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr FloatPred kAtLeast = kEqual | kGreater;
constexpr u32 kSign = 0x8000'0000, kNoSign = ~kSign;
constexpr u64 kMostNumerator = (u64{1} << 23) - 1, kMostDenominator = (u64{1} << 24) - 1;

struct Division {
  InstId conversion; ///< from f32 to the integer
  ValueId n, d;      ///< as f32
  ValueId whole;     ///< n as an integer
  bool is_signed = false;
  bool is_defined = false; ///< d is not 0
};

class Finder : Numbers {
public:
  explicit Finder(const Function& f) : Numbers(f), limits_(f) {}

  /// What the sum of a quotient and its correction divides.
  std::optional<Division> find(InstId sum) const {
    const auto x = f_.operands(sum);
    for (const unsigned n : {0u, 1u})
      for (const Op op : {Op::FpToUI, Op::FpToSI})
        if (const InstId cut = def(x[n], op);
            cut.valid() && f_[cut].fp.kind == FloatKind::F32 && f_[cut].imm == 32)
          if (const auto division = find(cut, x[1 - n])) return division;
    return {};
  }

private:
  const ValueLimits limits_;

  [[nodiscard]] std::optional<Division> find(InstId cut, ValueId more) const {
    const ValueId q = f_.operands(cut)[0];
    const InstId trunc = def(q, Op::FTrunc), correction = def(more, Op::Select);
    if (!trunc.valid() || f_[trunc].fp.kind != FloatKind::F32 || !correction.valid()) return {};
    Division x;
    x.conversion = cut;
    x.is_signed = f_[cut].op == Op::FpToSI;
    const auto choice = f_.operands(correction);
    const InstId compare = def(choice[0], Op::FCmp);
    if (!compare.valid() || f_[compare].fp.kind != FloatKind::F32 ||
        static_cast<FloatPred>(f_[compare].imm) != kAtLeast || !is_constant(choice[2], 0))
      return {};
    const ValueId r = magnitude(f_.operands(compare)[0]);
    if (!r.valid()) return {};
    const auto difference = single(r, Op::FAdd);
    for (unsigned n = 0; n < difference.size(); ++n) {
      x.n = difference[1 - n];
      x.d = multiplied(difference[n], q);
      if (x.d.valid() && is_quotient(f_.operands(trunc)[0], x.n, x.d) && is_small(x) &&
          is_magnitude(f_.operands(compare)[1], x) && is_step(choice[1], x))
        return x;
    }
    return {};
  }
  /// What |x| is of; nothing if `v` is not that.
  [[nodiscard]] ValueId magnitude(ValueId v) const {
    const InstId i = def(v, Op::And);
    if (!i.valid()) return {};
    const auto x = f_.operands(i);
    return is_constant(x[1], kNoSign) ? x[0] : is_constant(x[0], kNoSign) ? x[1] : ValueId{};
  }
  /// d, if v = -q * d.
  [[nodiscard]] ValueId multiplied(ValueId v, ValueId q) const {
    const auto product = single(v, Op::FMul);
    for (unsigned n = 0; n < product.size(); ++n) {
      const InstId minus = def(product[n], Op::Xor);
      if (!minus.valid()) continue;
      const auto x = f_.operands(minus);
      if ((is_same(x[0], q) && is_constant(x[1], kSign)) || (is_same(x[1], q) && is_constant(x[0], kSign)))
        return product[1 - n];
    }
    return {};
  }
  /// v = n * rcp(d)
  [[nodiscard]] bool is_quotient(ValueId v, ValueId n, ValueId d) const {
    const auto product = single(v, Op::FMul);
    for (unsigned k = 0; k < product.size(); ++k)
      if (is_same(product[k], n) && is_reciprocal(product[1 - k], d)) return true;
    return false;
  }
  [[nodiscard]] bool is_reciprocal(ValueId v, ValueId d) const {
    if (const auto bits = number(d).bits)
      return number(v).bits == std::bit_cast<u32>(1.0F / std::bit_cast<float>(*bits));
    const auto rcp = single(v, Op::FRcp);
    return !rcp.empty() && is_same(rcp[0], d);
  }
  /// Whether numerator and denominator are integers, and small enough; tells more of them in `x`.
  [[nodiscard]] bool is_small(Division& x) const {
    const auto most_n = most(x.n, x.is_signed), most_d = most(x.d, x.is_signed);
    if (!most_n || *most_n > kMostNumerator || !most_d || *most_d > kMostDenominator) return false;
    const InstId whole = def(x.n, x.is_signed ? Op::SIToFp : Op::UIToFp);
    if (!whole.valid()) return false; // a constant
    x.whole = f_.operands(whole)[0];
    const InstId divisor = def(x.d, Op::UIToFp);
    x.is_defined = !divisor.valid() || limits_.of(f_.operands(divisor)[0]).min > 0;
    return true;
  }
  /// The largest magnitude of a float that has been an integer.
  [[nodiscard]] std::optional<u64> most(ValueId v, bool is_signed) const {
    if (const auto bits = number(v).bits) {
      const float x = std::abs(std::bit_cast<float>(*bits));
      if (!(x >= 1 && x <= static_cast<float>(kMostDenominator)) || std::trunc(x) != x) return {};
      return is_signed || *bits == (*bits & kNoSign) ? std::optional(static_cast<u64>(x)) : std::nullopt;
    }
    const InstId i = def(v, is_signed ? Op::SIToFp : Op::UIToFp);
    if (!i.valid() || f_[i].fp.kind != FloatKind::F32 || f_[i].imm != 32) return {};
    const ValueId whole = f_.operands(i)[0];
    if (const u64 max = limits_.max(whole); !is_signed || max < kSign) return max;
    return most_signed(whole);
  }
  [[nodiscard]] std::optional<u64> most_signed(ValueId v) const {
    if (const InstId load = def(v, Op::Load); load.valid() && f_[load].mem.sign_extend)
      return u64{1} << (8 * f_[load].mem.bytes - 1);
    const InstId shift = def(v, Op::AShr);
    const auto by = shift.valid() ? number(f_.operands(shift)[1]).bits : std::nullopt;
    return by && *by % 32 != 0 ? std::optional(u64{1} << (31 - *by % 32)) : std::nullopt;
  }
  /// v = |d|, which may be d where there are no signs.
  [[nodiscard]] bool is_magnitude(ValueId v, const Division& x) const {
    if (const auto bits = number(x.d).bits) return is_constant(v, *bits & kNoSign);
    const ValueId of = magnitude(v);
    return of.valid() ? is_same(of, x.d) : !x.is_signed && is_same(v, x.d);
  }
  /// v = 1, or with signs 1 | (n ^ d) >> 30
  [[nodiscard]] bool is_step(ValueId v, const Division& x) const {
    if (!x.is_signed) return is_constant(v, 1);
    const InstId either = def(v, Op::Or);
    if (!either.valid()) return false;
    const auto y = f_.operands(either);
    const ValueId sign = is_constant(y[1], 1) ? y[0] : is_constant(y[0], 1) ? y[1] : ValueId{};
    const InstId shift = sign.valid() ? def(sign, Op::AShr) : InstId{};
    if (!shift.valid() || !is_constant(f_.operands(shift)[1], 30)) return false;
    const ValueId signs = f_.operands(shift)[0];
    if (const auto bits = number(x.d).bits; bits && (*bits & kSign) == 0) // n ^ d was folded, if at all
      if (is_same(signs, x.whole)) return true;
    const InstId differ = def(signs, Op::Xor);
    if (!differ.valid()) return false;
    const auto z = f_.operands(differ);
    for (const unsigned n : {0u, 1u})
      if (is_same(z[n], x.whole) && is_denominator(z[1 - n], x)) return true;
    return false;
  }
  [[nodiscard]] bool is_denominator(ValueId whole, const Division& x) const {
    if (const auto bits = number(x.d).bits)
      return is_constant(whole, static_cast<u32>(static_cast<i32>(std::bit_cast<float>(*bits))));
    const InstId i = def(x.d, Op::SIToFp);
    return i.valid() && is_same(f_.operands(i)[0], whole);
  }
};

ValueId quotient(Rewriter& r, const Division& x) {
  const Function& f = r.function();
  const Numbers numbers(f);
  const Type t = f.type(f.result(x.conversion));
  const auto lanes = [&](ValueId v) { return f.type(v) == t ? v : r.op(Op::Splat, t, {v}); };
  const auto bits = numbers.number(x.d).bits;
  if (x.is_defined && !x.is_signed) {
    const InstId divisor = numbers.def(x.d, Op::UIToFp);
    const ValueId d =
        bits ? r.constant(t, static_cast<u32>(std::bit_cast<float>(*bits))) : lanes(f.operands(divisor)[0]);
    return r.same(Op::UDiv, lanes(x.whole), d);
  }
  r.fp = f[x.conversion].fp;
  r.fp.round = Round::NearestEven;
  const ValueId real = r.fdiv(lanes(x.n), bits ? r.constant(t, *bits) : lanes(x.d));
  return r.op(f[x.conversion].op, t, {real}, 32);
}

} // namespace

bool replace_small_divisions(Function& f) {
  if (!has_any(f, [](const Inst& i) { return i.op == Op::FTrunc; })) return false;
  const Finder finder(f);
  std::map<InstId, Division> found;
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts) {
      if (f[i].op != Op::Add || f.type(f.result(i)) != Type::V32) continue;
      if (const auto division = finder.find(i)) found.emplace(i, *division);
    }
  if (found.empty()) return false;
  replace_found(f, found, [](Rewriter& r, InstId, const Division& x) { return quotient(r, x); });
  return true;
}

} // namespace lanewise::passes
