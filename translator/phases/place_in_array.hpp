// Where rows of one array are likely to lie to one another, by how their addresses are made.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::phases {

/// Of an address: the pointers in its sum, and how much else. Only a guess, as if all that is not known were
/// one and the same positive number, and nothing wrapped.
struct PlaceInArray {
  std::vector<u32> arrays; ///< values
  i64 times = 0;           ///< of what is not known
  i64 constant = 0;
  friend bool operator<(const PlaceInArray& a, const PlaceInArray& b) {
    return a.times != b.times ? a.times < b.times : a.constant < b.constant;
  }
};

/// Of `address` plus so much.
PlaceInArray place_in_array(const ir::Function& f, ir::ValueId address, u64 offset);

} // namespace lanewise::phases
