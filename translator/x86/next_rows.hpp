// Rows of global memory that a loop loads in its next round.
#pragma once

#include "translator/ir/ir.hpp"

#include <span>
#include <unordered_map>
#include <vector>

namespace lanewise::x86 {

/// Loads in loops with barriers. Waves take turns at barriers, so that a core, far as it looks ahead, never
/// gets to the loads of the next round: these have to be announced, which is possible as soon as it is known
/// where they go. That is the case for rows that start at a parameter of the loop, when its next value is
/// computed.
class NextRows {
public:
  explicit NextRows(const ir::Function& f);

  /// The loads that go to the result of `i` in the next round. They are in the block of `i`; what else their
  /// addresses are made of does not change in the loop.
  [[nodiscard]] std::span<const ir::InstId> announced_by(ir::InstId i) const {
    const auto at = loads_.find(i.index);
    return at == loads_.end() ? std::span<const ir::InstId>{} : std::span<const ir::InstId>(at->second);
  }

private:
  std::unordered_map<u32, std::vector<ir::InstId>> loads_;
};

} // namespace lanewise::x86
