#include "translator/passes/exact_integers.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxValues = 2000, kMaxTerms = 100; ///< several divisions that use each other
constexpr std::size_t kFewTerms = 12; ///< what becomes of the upper half of a product of 64 bits on its way
constexpr unsigned kMaxSteps = 100, kMaxDepth = 8;
constexpr int kMaxBits = 100; ///< of a coefficient's m
constexpr int kFraction = 96;

int bits_of(i128 m) {
  __extension__ using u128 = unsigned __int128;
  const u128 x = m < 0 ? -static_cast<u128>(m) : static_cast<u128>(m);
  const auto upper = static_cast<u64>(x >> 64), lower = static_cast<u64>(x);
  return upper != 0 ? 64 + std::bit_width(upper) : std::bit_width(lower);
}

Dyadic normal(Dyadic c) {
  if (c.m == 0) return {};
  for (; c.m % 2 == 0; ++c.e) c.m /= 2;
  return c;
}

/// A sum of m * 2^e, with e >= -kFraction, in whole numbers and what is above them.
struct Bound {
  i128 whole = 0, above = 0; ///< `above` in 2^-kFraction
  void add(i128 m, int e) {
    if (e >= 0) {
      whole += m * (i128{1} << e);
      return;
    }
    const i128 floor = m >> -e;
    whole += floor;
    above += (m - floor * (i128{1} << -e)) * (i128{1} << (kFraction + e));
    whole += above >> kFraction;
    above &= (i128{1} << kFraction) - 1;
  }
};

/// The integer that a polynomial without words is.
std::optional<i128> as_number(const Polynomial& p) {
  if (p.empty()) return 0;
  const auto& [term, c] = *p.begin();
  if (p.size() != 1 || !term.empty() || c.e < 0 || bits_of(c.m) + c.e > kMaxBits) return {};
  return c.m * (i128{1} << c.e);
}

} // namespace

Polynomial ExactIntegers::constant(u64 x) {
  if (x == 0) return {};
  return {{{}, normal({static_cast<i128>(x), 0})}};
}

void ExactIntegers::add_to(Polynomial& p, const std::vector<u32>& term, Dyadic c) {
  Dyadic& sum = p[term];
  if (sum.m == 0) {
    sum = c;
  } else {
    const int e = std::min(sum.e, c.e);
    if (bits_of(sum.m) + sum.e - e > kMaxBits || bits_of(c.m) + c.e - e > kMaxBits) {
      failed_ = true;
      return;
    }
    sum = normal({sum.m * (i128{1} << (sum.e - e)) + c.m * (i128{1} << (c.e - e)), e});
  }
  if (sum.m == 0) p.erase(term);
}

Dyadic ExactIntegers::multiplied(const Dyadic& a, const Dyadic& b) {
  if (bits_of(a.m) + bits_of(b.m) <= kMaxBits) return {a.m * b.m, a.e + b.e};
  failed_ = true;
  return {};
}

Polynomial ExactIntegers::sum(const Polynomial& a, const Polynomial& b, int sign) {
  Polynomial p = a;
  for (const auto& [term, c] : b) add_to(p, term, {sign * c.m, c.e});
  if (p.size() > kMaxTerms) failed_ = true;
  return p;
}

Polynomial ExactIntegers::shifted(const Polynomial& a, int left) {
  Polynomial p = a;
  for (auto& [term, c] : p) c.e += left;
  return p;
}

Polynomial ExactIntegers::times(const Polynomial& a, const Polynomial& b) {
  Polynomial p;
  if (a.size() * b.size() > kMaxTerms) failed_ = true;
  if (failed_) return p;
  for (const auto& [x, c] : a)
    for (const auto& [y, d] : b) {
      std::vector<u32> term;
      std::ranges::merge(x, y, std::back_inserter(term));
      add_to(p, term, multiplied(c, d));
    }
  return p;
}

/// Whether the integer is in [0, 2^bits), by the largest and smallest that each term can be.
bool ExactIntegers::is_below(const Polynomial& p, int bits, Sign sign) const {
  Bound least, most;
  for (const auto& [term, c] : p) {
    i128 m = c.m;
    for (const u32 w : term) {
      if (bits_of(m) > 90) return false;
      m *= words_[w].max;
    }
    if (c.e < -kFraction || bits_of(m) + c.e > 64) return false;
    if (term.empty() || m < 0) least.add(m, c.e);
    if (term.empty() || m > 0) most.add(m, c.e);
  }
  const bool above_minus_one = least.whole >= 0 || (least.whole == -1 && least.above > 0);
  return (sign == Sign::NotNegative || above_minus_one) && most.whole < i128{1} << bits;
}

/// Coefficients modulo 2^32, since terms are integers: those nearest to 0.
void ExactIntegers::reduce(Polynomial& p) const {
  for (auto at = p.begin(); at != p.end();) {
    Dyadic& c = at->second;
    const int bits = 32 - c.e; // what is left of m
    if (bits <= 0) {
      c = {};
    } else if (bits < kMaxBits) {
      i128 m = c.m & ((i128{1} << bits) - 1);
      if (m > i128{1} << (bits - 1)) m -= i128{1} << bits;
      c = normal({m, c.e});
    }
    at = c.m == 0 ? p.erase(at) : std::next(at);
  }
}

/// Puts what a word is modulo 2^32 in its place: sums of few terms in a sum, single products in products.
bool ExactIntegers::expand_once(Polynomial& p) {
  for (const auto& [term, c] : p) {
    if (c.e < 0) continue;
    for (std::size_t n = 0; n < term.size(); ++n) {
      const Polynomial& same = words_[term[n]].same;
      const bool fits = term.size() == 1 ? !same.empty() && same.size() <= kFewTerms
                                         : same.size() == 1 && same.begin()->second.e >= 0;
      if (!fits) continue;
      std::vector<u32> others = term;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(n));
      const Polynomial instead = times(same, Polynomial{{others, c}});
      p.erase(std::vector<u32>(term));
      p = sum(p, instead);
      return true;
    }
  }
  return false;
}

/// Of integers that are equal modulo 2^32 the same, if they come by the same sums and products.
Polynomial ExactIntegers::canonical(Polynomial p) {
  reduce(p);
  for (unsigned n = 0; n < kMaxSteps && !failed_ && expand_once(p); ++n) reduce(p);
  return p;
}

/// Whether it is that of a word that is not 0.
bool ExactIntegers::is_negative_word(const Polynomial& p) const {
  if (p.size() != 1) return false;
  const auto& [term, c] = *p.begin();
  return term.size() == 1 && c == Dyadic{-1, 0} && words_[term[0]].is_positive;
}

Polynomial ExactIntegers::word(u32 max, Polynomial same) {
  const auto w = static_cast<u32>(words_.size());
  words_.push_back({max, std::move(same), false});
  return {{{w}, {1, 0}}};
}

Polynomial ExactIntegers::low(const Polynomial& p, Sign sign) {
  Polynomial key = canonical(p);
  if (const auto at = below_2_32_.find(key); at != below_2_32_.end()) return at->second;
  Polynomial low = p;
  if (const auto number = as_number(key)) {
    low = constant(static_cast<u32>(*number));
  } else if (is_negative_word(key)) {
    low = sum(constant(u64{1} << 32), key); // Then its high half is a constant, and fold() makes it one.
  } else if (!is_below(p, 32, sign)) {
    low = word(~u32{0}, key);
    below_2_32_.emplace(canonical(low), low); // where the word is not expanded again
  }
  return below_2_32_.emplace(std::move(key), low).first->second;
}

Polynomial ExactIntegers::wrapped(const Polynomial& p, Sign sign) {
  return is_below(p, 64, sign) ? p : sum(low(p, sign), shifted(high(p, sign), 32));
}
Polynomial ExactIntegers::wrapped(Type t, const Polynomial& p, Sign sign) {
  return is_wide(t) ? wrapped(p, sign) : low(p, sign);
}

Polynomial ExactIntegers::factor(const Polynomial& p) {
  if (p.empty()) return p;
  const auto& [term, c] = *p.begin();
  if (p.size() == 1 && (term.empty() || (term.size() == 1 && c == Dyadic{1, 0}))) return p;
  Polynomial key = canonical(p);
  if (const auto at = named_.find(key); at != named_.end()) return {{{at->second}, {1, 0}}};
  const Polynomial w = word(~u32{0}, key);
  named_.emplace(std::move(key), w.begin()->first[0]);
  return w;
}

Polynomial ExactIntegers::product(const Polynomial& a, const Polynomial& b) {
  const Polynomial x = sum(factor(low(a)), shifted(factor(high(a)), 32));
  return times(x, sum(factor(low(b)), shifted(factor(high(b)), 32)));
}

/// (a * b - what is cut off) / 2^64, where the lowest 32 bits are cut off first, then those above with the
/// carries into them.
Polynomial ExactIntegers::product_high(const Polynomial& a, const Polynomial& b) {
  const Polynomial al = factor(low(a)), ah = factor(high(a)), bl = factor(low(b)), bh = factor(high(b));
  const Polynomial lowest = times(al, bl);
  const Polynomial above = sum(sum(times(al, bh), times(ah, bl)), shifted(sum(lowest, low(lowest), -1), -32));
  return sum(times(ah, bh), shifted(sum(above, low(above), -1), -32));
}

Polynomial ExactIntegers::opaque(ValueId v) {
  const auto half = [&] {
    const Polynomial w = word(~u32{0});
    below_2_32_.emplace(w, w);
    return w;
  };
  const Polynomial low = half();
  return is_wide(f_.type(v)) ? sum(low, shifted(half(), 32)) : low;
}

/// Of words: the same for the same operands.
Polynomial ExactIntegers::logic(Op op, const Polynomial& a, const Polynomial& b) {
  const Polynomial& neutral = op == Op::And ? constant(~u32{0}) : Polynomial{};
  if (op != Op::AndNot && a == neutral) return b;
  if (b == neutral) return a;
  if (op == Op::And && (a.empty() || b.empty())) return {};
  const bool swap = op != Op::AndNot && b < a;
  const auto [at, is_new] = logic_.try_emplace({op, swap ? b : a, swap ? a : b});
  if (is_new) {
    at->second = word(~u32{0});
    below_2_32_.emplace(at->second, at->second);
  }
  return at->second;
}

const Polynomial& ExactIntegers::of(ValueId v) {
  v = seen_through_(v);
  if (const auto at = known_.find(v); at != known_.end()) return at->second;
  if (known_.size() > kMaxValues) failed_ = true;
  const unsigned deeper = inner_[v.index] ? 0 : 1;
  depth_ += deeper;
  Polynomial p = failed_ ? Polynomial{} : depth_ > kMaxDepth ? opaque(v) : find(v);
  depth_ -= deeper;
  if (p.size() == 1 && p.begin()->first.size() == 1 && p.begin()->second == Dyadic{1, 0} &&
      limits_.of(v).min != 0)
    words_[p.begin()->first[0]].is_positive = true;
  return known_[v] = std::move(p);
}

Polynomial ExactIntegers::find(ValueId v) {
  const InstId i = f_.def_id(v);
  if (!i.valid() || f_[i].num_results != 1) return opaque(v);
  const Type t = f_.type(v);
  const auto x = f_.operands(i);
  u64 n = 0, m = 0;
  switch (f_[i].op) {
  case Op::Const: return constant(f_[i].imm);
  case Op::Splat: return is_uniform(f_.type(x[0])) && f_.type(x[0]) != Type::U1 ? of(x[0]) : opaque(v);
  case Op::Join: return sum(of(x[0]), shifted(of(x[1]), 32));
  case Op::Lo: return low(of(x[0]));
  case Op::Hi: return high(of(x[0]));
  case Op::ZExt: return f_.type(x[0]) == Type::U1 ? truth(x[0]) : of(x[0]);
  case Op::Add: return wrapped(t, sum(of(x[0]), of(x[1])));
  case Op::Sub: return wrapped(t, sum(of(x[0]), of(x[1]), -1), Sign::Any);
  case Op::Not: return wrapped(t, sum(constant(constant_bits(t)), of(x[0]), -1));
  case Op::Mul:
    return is_wide(t) ? wrapped(product(of(x[0]), of(x[1]))) : low(times(factor(of(x[0])), factor(of(x[1]))));
  case Op::UMulWide: return times(factor(of(x[0])), factor(of(x[1])));
  case Op::UMulHi: return high(times(factor(of(x[0])), factor(of(x[1]))));
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot: {
    const Op op = f_[i].op;
    const Polynomial a = of(x[0]), b = of(x[1]);
    const Polynomial l = logic(op, low(a), low(b));
    return is_wide(t) ? sum(l, shifted(logic(op, high(a), high(b)), 32)) : l;
  }
  case Op::LShr: return is_wide(t) && f_.is_const(x[1], &n) && n % 64 == 32 ? high(of(x[0])) : opaque(v);
  case Op::Shl:
    if (!f_.is_const(x[1], &n)) return opaque(v);
    return wrapped(t, shifted(of(x[0]), static_cast<int>(n % bit_width(t))));
  case Op::Select: {
    if (!f_.is_const(x[1], &n) || !f_.is_const(x[2], &m)) return opaque(v);
    const Polynomial difference = sum(constant(n), constant(m), -1);
    return wrapped(t, sum(constant(m), times(truth(x[0]), difference)));
  }
  default: return opaque(v);
  }
}

const Polynomial& ExactIntegers::truth(ValueId mask) {
  if (const auto at = truths_.find(mask); at != truths_.end()) return at->second;
  Polynomial p = find_truth(mask);
  return truths_[mask] = std::move(p);
}

/// a < b where b + (a - b) wraps.
Polynomial ExactIntegers::is_less(ValueId a, ValueId b) {
  const Type t = f_.type(a);
  const Polynomial x = of(a), y = of(b);
  const Polynomial difference = wrapped(t, sum(x, y, -1), Sign::Any);
  return shifted(sum(sum(y, difference), x, -1), is_wide(t) ? -64 : -32);
}

Polynomial ExactIntegers::find_truth(ValueId mask) {
  const InstId i = f_.def_id(mask);
  if (!i.valid() || failed_) return word(1);
  const auto x = f_.operands(i);
  const Polynomial one = constant(1);
  switch (f_[i].op) {
  case Op::Splat: return truth(x[0]);
  case Op::Not: return sum(one, truth(x[0]), -1);
  case Op::Or: {
    Polynomial both = sum(truth(x[0]), truth(x[1]));
    return is_below(both, 1) ? both : word(1);
  }
  case Op::ICmp:
    if (is_gang(f_.type(x[0]))) return word(1);
    switch (static_cast<IntPred>(f_[i].imm)) {
    case IntPred::ULt: return is_less(x[0], x[1]);
    case IntPred::UGt: return is_less(x[1], x[0]);
    case IntPred::UGe: return sum(one, is_less(x[0], x[1]), -1);
    case IntPred::ULe: return sum(one, is_less(x[1], x[0]), -1);
    default: return word(1);
    }
  default: return word(1);
  }
}

} // namespace lanewise::passes
