// Which values all lanes of a gang have the same of, as in copies of loops that one lane goes through alone.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::x86 {

/// By the way values are made, through loops; valid while the function does not change.
class SameInLanes {
public:
  explicit SameInLanes(const ir::Function& f);

  /// In each gang, of lanes that take no part as well.
  [[nodiscard]] bool has(ir::ValueId v) const { return same_[v.index] != 0; }

private:
  const ir::Function& f_;
  std::vector<u8> same_; ///< per value; at first all are taken to be

  [[nodiscard]] bool is_made_same(ir::InstId i) const;
};

} // namespace lanewise::x86
