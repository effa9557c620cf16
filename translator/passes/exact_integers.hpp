// What integers values are, exactly. GPU code does arithmetic of more than 32 bits in pieces: products of
// halves, sums with carries. Here each value is a polynomial in words, which are integers below 2^32, with
// coefficients m * 2^e. Where something is cut off, what is left is a word of its own, so that everything is
// an equation between integers, not a congruence:
//   hi(a * b) = (a * b - l) / 2^32        with the word l = a * b mod 2^32
//   a + b < a as numbers of 32 bits: (a + b - s) / 2^32   with s = a + b mod 2^32
// Words are found again by what they are modulo 2^32. So however a product of 64-bit numbers has been put
// together, it is the same polynomial, and the carries in between are gone from it.
#pragma once

#include "translator/passes/value_limits.hpp"

#include <compare>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace lanewise::passes {

__extension__ using i128 = __int128;

/// m * 2^e, with m odd or 0.
struct Dyadic {
  i128 m = 0;
  int e = 0;
  friend auto operator<=>(const Dyadic&, const Dyadic&) = default;
};

/// Sum of products of words (ascending, repeated as often as they are a factor).
using Polynomial = std::map<std::vector<u32>, Dyadic>;

class ExactIntegers {
public:
  /// `seen_through` gives what a value may be taken for: itself, or what it is in all lanes that matter.
  /// Values that are not `inner` are looked into for a few steps only, to see which are the same.
  ExactIntegers(const ir::Function& f, std::function<ir::ValueId(ir::ValueId)> seen_through,
                const std::vector<bool>& inner)
      : f_(f), limits_(f), seen_through_(std::move(seen_through)), inner_(inner) {}

  /// Numbers have become too large, or values too many: nothing may be concluded.
  [[nodiscard]] bool failed() const { return failed_; }

  /// Values of 32 or 64 bits, of the wave or per lane.
  const Polynomial& of(ir::ValueId v);
  static Polynomial constant(u64 x);
  Polynomial sum(const Polynomial& a, const Polynomial& b, int sign = 1);
  Polynomial shifted(const Polynomial& a, int left);
  /// What is known of a number besides its polynomial, by which often nothing is known of its sign.
  enum class Sign { Any, NotNegative };
  /// Modulo 2^32.
  Polynomial low(const Polynomial& p, Sign sign = Sign::NotNegative);
  /// Bits 32 to 63 of what is modulo 2^64.
  Polynomial high(const Polynomial& p, Sign sign = Sign::NotNegative) {
    return low(shifted(sum(p, low(p, sign), -1), -32), sign);
  }
  /// Modulo 2^64.
  Polynomial wrapped(const Polynomial& p, Sign sign = Sign::NotNegative);
  /// The 128 bits, and the upper 64 of these.
  Polynomial product(const Polynomial& a, const Polynomial& b);
  Polynomial product_high(const Polynomial& a, const Polynomial& b);

private:
  struct Word {
    u32 max = 0;
    Polynomial same;          ///< modulo 2^32; empty if nothing is known
    bool is_positive = false; ///< known not to be 0
  };
  const ir::Function& f_;
  const ValueLimits limits_;
  std::function<ir::ValueId(ir::ValueId)> seen_through_;
  const std::vector<bool>& inner_;
  bool failed_ = false;
  unsigned depth_ = 0; ///< of values that are not
  std::vector<Word> words_;
  std::map<ir::ValueId, Polynomial> known_, truths_;
  std::map<Polynomial, Polynomial> below_2_32_; ///< by what they are modulo 2^32
  std::map<Polynomial, u32> named_;             ///< words for such polynomials as factors
  std::map<std::tuple<ir::Op, Polynomial, Polynomial>, Polynomial> logic_;

  Polynomial word(u32 max, Polynomial same = {});
  Polynomial find(ir::ValueId v);
  [[nodiscard]] bool is_negative_word(const Polynomial& p) const;
  Polynomial opaque(ir::ValueId v);
  Polynomial logic(ir::Op op, const Polynomial& a, const Polynomial& b);
  Polynomial wrapped(ir::Type t, const Polynomial& p, Sign sign = Sign::NotNegative);
  /// 1 or 0.
  const Polynomial& truth(ir::ValueId mask);
  Polynomial find_truth(ir::ValueId mask);
  Polynomial is_less(ir::ValueId a, ir::ValueId b);
  /// `p`, which is below 2^32, as a word or a constant.
  Polynomial factor(const Polynomial& p);
  Polynomial times(const Polynomial& a, const Polynomial& b);
  void add_to(Polynomial& p, const std::vector<u32>& term, Dyadic c);
  Dyadic multiplied(const Dyadic& a, const Dyadic& b);
  [[nodiscard]] bool is_below(const Polynomial& p, int bits, Sign sign = Sign::NotNegative) const;
  void reduce(Polynomial& p) const;
  Polynomial canonical(Polynomial p);
  bool expand_once(Polynomial& p);
};

} // namespace lanewise::passes
