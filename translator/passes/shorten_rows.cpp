// Rows in the LDS of whose gangs only the first lanes take part, as in sums and scans over a tree, where with
// each step half as many add what the others have left there. A processor hands a store's bytes to a load
// behind it only if one store has all that the load wants: a whole gang's row that begins in the middle of
// the last one waits until that is in the cache. And of elements with gaps between them, up to four are
// rather accessed one by one than by a gather or scatter.
#include "translator/ir/rows.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kOneByOne = 4; ///< lanes

/// Up to how many first lanes a row had better be shorter.
unsigned most_lanes(const Function& f, InstId i, unsigned gang_lanes) {
  const MemAttr& mem = f[i].mem;
  const bool row = mem.space == Space::Lds && mem.form == AddressForm::Row && mem.retry == 0 && !mem.spread;
  if ((f[i].op != Op::Load && f[i].op != Op::Store) || !row || f.is_const(f.operands(i).back())) return 0;
  if (is_consecutive(mem)) return mem.bytes == 4 || mem.bytes == 8 ? gang_lanes / 2 : 0;
  return mem.bytes == 4 && mem.stride > 4 ? kOneByOne : 0;
}

} // namespace

void shorten_rows(Function& f, unsigned gang_lanes) {
  std::optional<IdValues> ids;
  for (const Block& b : f.blocks)
    for (const InstId i : b.insts) {
      const unsigned most = most_lanes(f, i, gang_lanes);
      if (most == 0) continue;
      if (!ids) ids.emplace(f, gang_lanes);
      const auto* mask = ids->at_most(f.operands(i).back());
      if (mask == nullptr) continue;
      unsigned lanes = 1;
      for (std::size_t lane = 0; lane < mask->size(); ++lane)
        if ((*mask)[lane] != 0) lanes = std::max(lanes, static_cast<unsigned>(lane % gang_lanes) + 1);
      if (lanes <= most) f[i].mem.first_lanes_width = std::bit_width(std::bit_ceil(lanes)) & 7;
    }
}

} // namespace lanewise::passes
