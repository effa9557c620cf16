// Lines of lanes that are far apart.
#pragma once

#include "translator/ir/ir.hpp"

#include <vector>

namespace lanewise::x86 {

constexpr u32 kLinePiece = 16, kLinePieces = 4; ///< bytes that a load has; of a line

/// Loads, or stores, of 16 bytes each that make up a line of each lane: AVX-512 loads or stores it whole.
/// Records of 64 bytes and more that are loaded, or what sixteen rounds of a walk want (phases/walks.hpp).
struct Line {
  std::vector<ir::InstId> pieces; ///< in the order of their places
  ir::InstId at; ///< does it for all: of loads the first in the order of the block, of stores the last
};

/// Those of a block. Nothing stores between their loads, nothing is accessed between their stores.
std::vector<Line> find_lines(const ir::Function& f, ir::BlockId b);

} // namespace lanewise::x86
