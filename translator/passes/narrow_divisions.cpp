// Divisions of 32-bit integers. Compilers expand them: an f32 reciprocal of the denominator d, scaled to 2^32
// / d; one of Newton's steps in integers; the upper half of the product with the numerator n as an estimate
// of the quotient; two corrections:
//
//   z = f32 to integer(rcp(f32(d)) * 0x4f7ffffe);  z += umulhi(z, z * -d)
//   q = umulhi(n, z);  r = n - q * d
//   twice:  if (r >= d)  q += 1, r -= d
//
// In all lanes that is udiv(n, d). For d > 0, z d <= 2^32 and 2^32 - z d <= 2 d, as a test shows for all d;
// so the estimate is at most 2 less than the quotient: n (2^32 / d - z) / 2^32 < 2. For d = 0 the conversion
// saturates and z stays 2^32 - 1; the remainder is n, which is not less than 0, so that both corrections add:
// max(n, 1) + 1, as udiv is defined there.
#include "translator/passes/numbers.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <bit>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kScale = 0x4f7f'fffe; ///< 2^32 * (1 - 2^-23)

struct Division {
  Number n, d;
  bool remainder = false;
};

class Finder : Numbers {
public:
  using Numbers::Numbers;

  /// What a select by the outcome of the second correction divides.
  std::optional<Division> find(InstId root) const {
    const auto second = correction(root);
    if (!second) return {};
    const Number d = second->at_least.d;
    const auto rest = corrected(second->at_least.r); // after the first one
    if (!rest || rest->at_least != AtLeast{scalar(rest->less), d} ||
        !is_difference(rest->more, rest->less, d))
      return {};
    const Number n = minuend(rest->less);
    const auto is_estimate = [&](ValueId q) { return is_quotient(q, n, d) && is_rest(rest->less, n, q, d); };
    const bool remains = is_same(second->less, second->at_least.r);
    if (remains) {
      if (!is_difference(second->more, second->less, d)) return {};
      const InstId i = def(rest->less, Op::Sub);
      if (!i.valid()) return {};
      return std::ranges::any_of(factors(f_.operands(i)[1], d), is_estimate)
                 ? std::optional(Division{n, d, true})
                 : std::nullopt;
    }
    const auto first = corrected(second->less);
    if (!first || first->at_least != rest->at_least || !is_one_more(second->more, second->less) ||
        !is_one_more(first->more, first->less) || !is_estimate(first->less))
      return {};
    return Division{n, d, false};
  }

private:
  /// r >= d
  struct AtLeast {
    ValueId r;
    Number d;
    friend bool operator==(const AtLeast&, const AtLeast&) = default;
  };
  /// more if at_least, less otherwise
  struct Correction {
    AtLeast at_least;
    ValueId more, less;
  };

  [[nodiscard]] std::optional<Correction> correction(InstId select) const {
    const auto x = f_.operands(select);
    const InstId i = f_.def_id(scalar(x[0]));
    if (!i.valid() || f_[i].op != Op::ICmp) return {};
    const auto y = f_.operands(i);
    const auto p = static_cast<IntPred>(f_[i].imm);
    const bool inverted = p == IntPred::ULt || (p == IntPred::UGt && !f_.is_const(y[1]));
    switch (p) {
    case IntPred::UGe:
    case IntPred::ULt: return made({scalar(y[0]), number(y[1])}, x, inverted);
    case IntPred::ULe: return made({scalar(y[1]), number(y[0])}, x, inverted);
    case IntPred::UGt: {
      if (inverted) return made({scalar(y[1]), number(y[0])}, x, inverted);
      const Number d = number(y[1]); // r > d - 1
      if (*d.bits == ~u32{0}) return {};
      return made({scalar(y[0]), {{}, *d.bits + 1}}, x, false);
    }
    default: return {};
    }
  }
  static Correction made(const AtLeast& a, std::span<const ValueId> select, bool inverted) {
    return {a, select[inverted ? 2 : 1], select[inverted ? 1 : 2]};
  }
  [[nodiscard]] std::optional<Correction> corrected(ValueId v) const {
    const InstId i = def(v, Op::Select);
    return i.valid() ? correction(i) : std::nullopt;
  }

  /// v = a - d
  [[nodiscard]] bool is_difference(ValueId v, ValueId a, const Number& d) const {
    if (const InstId i = def(v, Op::Sub); i.valid())
      return is_same(f_.operands(i)[0], a) && number(f_.operands(i)[1]) == d;
    const InstId i = def(v, Op::Add);
    return i.valid() && d.bits && is_pair(i, a, {{}, 0 - *d.bits});
  }
  [[nodiscard]] bool is_one_more(ValueId v, ValueId than) const {
    const InstId i = def(v, Op::Add);
    return i.valid() && is_pair(i, than, {{}, 1});
  }
  /// Whether these are the operands, in either order.
  [[nodiscard]] bool is_pair(InstId i, ValueId a, const Number& b) const {
    const auto x = f_.operands(i);
    return (is_same(x[0], a) && number(x[1]) == b) || (is_same(x[1], a) && number(x[0]) == b);
  }
  [[nodiscard]] Number minuend(ValueId v) const {
    const InstId i = def(v, Op::Sub);
    return i.valid() ? number(f_.operands(i)[0]) : Number{};
  }
  /// What v may be the product of, with d.
  [[nodiscard]] std::vector<ValueId> factors(ValueId v, const Number& d) const {
    if (const InstId i = def(v, Op::Mul); i.valid()) return {f_.operands(i)[0], f_.operands(i)[1]};
    if (const InstId i = def(v, Op::Shl); i.valid()) return {f_.operands(i)[0]};
    return d.bits == 1 ? std::vector{v} : std::vector<ValueId>{};
  }
  /// v = n - q * d
  [[nodiscard]] bool is_rest(ValueId v, const Number& n, ValueId q, const Number& d) const {
    const InstId i = def(v, Op::Sub);
    if (!i.valid() || number(f_.operands(i)[0]) != n) return false;
    const ValueId product = f_.operands(i)[1];
    if (const InstId p = def(product, Op::Mul); p.valid()) return is_pair(p, q, d);
    if (const InstId p = def(product, Op::Shl); p.valid()) {
      const Number by = number(f_.operands(p)[1]);
      return is_same(f_.operands(p)[0], q) && by.bits && d.bits && *d.bits == u32{1} << (*by.bits & 31);
    }
    return d.bits == 1 && is_same(product, q);
  }

  /// Whether that is the estimate.
  [[nodiscard]] bool is_quotient(ValueId q, const Number& n, const Number& d) const {
    if (const InstId i = def(q, Op::UMulHi); i.valid()) {
      const auto x = f_.operands(i);
      return (number(x[0]) == n && is_reciprocal(x[1], d)) || (number(x[1]) == n && is_reciprocal(x[0], d));
    }
    const InstId i = def(q, Op::LShr); // where the reciprocal is a power of 2
    if (!i.valid() || number(f_.operands(i)[0]) != n || !d.bits || *d.bits == 0) return false;
    const Number by = number(f_.operands(i)[1]);
    return by.bits && *by.bits != 0 && u64{1} << (32 - (*by.bits & 31)) == reciprocal_of(*d.bits);
  }
  [[nodiscard]] bool is_reciprocal(ValueId z, const Number& d) const {
    if (d.bits) return *d.bits != 0 && number(z).bits == reciprocal_of(*d.bits);
    const InstId sum = def(z, Op::Add);
    if (!sum.valid()) return false;
    for (const unsigned first : {0u, 1u}) {
      const ValueId z0 = f_.operands(sum)[first];
      const InstId more = def(f_.operands(sum)[1 - first], Op::UMulHi);
      if (!more.valid() || !is_first(z0, d)) continue;
      const auto x = f_.operands(more);
      for (const unsigned n : {0u, 1u})
        if (is_same(x[n], z0) && is_product_with_minus(x[1 - n], z0, d)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_product_with_minus(ValueId v, ValueId z, const Number& d) const {
    const InstId i = def(v, Op::Mul);
    if (!i.valid()) return false;
    const auto x = f_.operands(i);
    for (const unsigned n : {0u, 1u}) {
      const InstId minus = def(x[1 - n], Op::Sub);
      if (is_same(x[n], z) && minus.valid() && is_constant(f_.operands(minus)[0], 0) &&
          number(f_.operands(minus)[1]) == d)
        return true;
    }
    return false;
  }
  /// The reciprocal before Newton's step. What is looked up in one lane of it is the same in all if d is.
  [[nodiscard]] bool is_first(ValueId z, const Number& d) const {
    if (const InstId i = def(z, Op::ReadFirst); i.valid()) {
      if (!is_uniform(f_.type(d.v))) return false;
      z = f_.operands(i)[0];
    }
    const InstId cut = def(z, Op::FpToUI);
    if (!cut.valid() || f_[cut].imm != 32 || f_[cut].fp.kind != FloatKind::F32) return false;
    const auto scaled = single(f_.operands(cut)[0], Op::FMul);
    for (unsigned n = 0; n < scaled.size(); ++n) {
      if (!is_constant(scaled[n], kScale)) continue;
      const auto rcp = single(scaled[1 - n], Op::FRcp);
      const auto whole = rcp.empty() ? rcp : single(rcp[0], Op::UIToFp);
      return !whole.empty() && f_[def(rcp[0], Op::UIToFp)].imm == 32 && number(whole[0]) == d;
    }
    return false;
  }
  /// What becomes of the reciprocal of a constant.
  static u32 reciprocal_of(u32 d) {
    const auto z = static_cast<u32>(1.0F / static_cast<float>(d) * std::bit_cast<float>(kScale));
    return z + static_cast<u32>(u64{z} * u32{z * (0 - d)} >> 32);
  }
};

} // namespace

bool replace_narrow_divisions(Function& f) {
  const Finder finder(f);
  std::map<InstId, Division> found;
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts) {
      if (f[i].op != Op::Select || bit_width(f.type(f.result(i))) != 32) continue;
      if (const auto division = finder.find(i)) found.emplace(i, *division);
    }
  if (found.empty()) return false;
  replace_found(f, found, [&](Rewriter& r, InstId i, const Division& x) {
    const Type t = f.type(f.result(i));
    const auto value = [&](const Number& y) {
      if (y.bits) return r.constant(t, *y.bits);
      return f.type(y.v) == t ? y.v : r.op(Op::Splat, t, {y.v});
    };
    const ValueId n = value(x.n), d = value(x.d), quotient = r.same(Op::UDiv, n, d);
    return x.remainder ? r.sub(n, r.same(Op::Mul, quotient, d)) : quotient;
  });
  return true;
}

} // namespace lanewise::passes
