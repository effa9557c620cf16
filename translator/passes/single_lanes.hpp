// Masks that have at most one lane of the wave, as behind `if (id == 0)`.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::passes {

/// The masks of a function as it is when they are asked for first; values made later have nothing known of
/// them.
class SingleLanes {
public:
  explicit SingleLanes(const ir::Function& f);

  /// Of a mask with at most one lane: the mask that this was found of, which has no more than that lane
  /// either and contains all of `mask`. Masks that have the same one have the same lane, if any, as long as
  /// that one is not computed anew. Invalid if nothing is known.
  [[nodiscard]] ir::ValueId operator[](ir::ValueId mask) const {
    return mask.index < known_.size() ? known_[mask.index].root : ir::ValueId{};
  }
  /// There is such a mask.
  [[nodiscard]] bool any() const { return any_; }

private:
  /// What all lanes of a mask have in common.
  struct Known {
    bool seen = false;  ///< else no lane has been found yet that can be in it
    u8 axes = 0;        ///< a bit for each axis along which they have the same work-item id
    ir::ValueId root{}; ///< there is at most one, and this is where that comes from
    friend bool operator==(const Known&, const Known&) = default;
  };
  std::vector<Known> known_; ///< per value
  bool any_ = false;
};

} // namespace lanewise::passes
