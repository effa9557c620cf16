// What is known of descriptors of images before their instructions are taken apart.
//
// That an access is short depends on what is constant in its T# and S#: for any descriptor it is some
// thousand instructions. Constants show when the function is complete, and those that launch facts give, once
// these have been used. So a kernel with image instructions is lifted again: first only to see their
// descriptors.
#pragma once

#include "translator/ir/ir.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace lanewise::lift {

inline constexpr unsigned kDescriptorWords = 12; ///< eight of a T#, four of an S#

/// The words of each image instruction's descriptors, by its pc: what they always are, if that is known.
using KnownDescriptors = std::map<u32, std::array<std::optional<u32>, kDescriptorWords>>;

/// The image instructions of a function that has only their descriptors.
class DescriptorUses {
public:
  /// Keeps the words to be found when the function is complete.
  void add(ir::Builder& b, std::span<const ir::ValueId> words);
  /// Adds to `known` what `f`, which is complete and lifted again, shows; true if there was any instruction.
  bool learn(ir::Function& f, KnownDescriptors& known) const;

private:
  std::vector<ir::InstId> witnesses_;
};

} // namespace lanewise::lift
