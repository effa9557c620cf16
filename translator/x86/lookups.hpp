// Look-ups in small tables.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::x86 {

/// Loads whose addresses are made of a few bits cut out of what was loaded before: tables of ciphers,
/// checksums, permutations. Lanes go anywhere, so that asking whether they go side by side is in vain.
class LookUps {
public:
  explicit LookUps(const ir::Function& f) : f_(f) {}

  /// If no more than kMaxBits bits of a number decide where in its table each lane of the load `i` goes.
  [[nodiscard]] bool contains(ir::InstId i);

private:
  static constexpr unsigned kMaxBits = 12;
  const ir::Function& f_;
  std::vector<bool> loaded_; ///< per value: depends on what a load gave to lanes; found when first asked

  void find_loaded();
  [[nodiscard]] bool is_loaded(ir::ValueId v);
  [[nodiscard]] bool is_cut_out(ir::ValueId v, unsigned depth = 0);
};

} // namespace lanewise::x86
