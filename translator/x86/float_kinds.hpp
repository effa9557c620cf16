// What kind of number a value can be, where minima and maxima depend on it.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::x86 {

/// Which NaNs a value of 32 bits, seen as f32, or of 64 bits, seen as f64, can be. Arithmetic makes quiet
/// ones; a minimum or maximum of a number and anything quiet is a number, so that what starts as one stays
/// one through a loop that looks for the largest.
class FloatKinds {
public:
  enum class Kind : u8 { Any, Quiet, Number };

  explicit FloatKinds(const ir::Function& f) : f_(f) {}

  [[nodiscard]] Kind of(ir::ValueId v);
  /// Never a signalling NaN.
  [[nodiscard]] bool is_quiet(ir::ValueId v) { return of(v) >= Kind::Quiet; }
  /// Never a NaN.
  [[nodiscard]] bool is_number(ir::ValueId v) { return of(v) == Kind::Number; }

private:
  const ir::Function& f_;
  std::vector<Kind> kinds_; ///< per value; found when first asked

  void find();
  [[nodiscard]] Kind result_of(ir::InstId i) const;
  [[nodiscard]] Kind known(ir::ValueId v) const { return kinds_[v.index]; }
};

} // namespace lanewise::x86
