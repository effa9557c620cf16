// Rows in the LDS of whose gangs only the first lanes take part, as in sums over a tree, where with each step
// half as many add what the others have left there. A processor hands a store's bytes to a load behind it
// only if one store has all that the load wants: a whole gang's row that begins in the middle of the last one
// waits until that is in the cache.
#include "translator/ir/rows.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

bool may_be_shorter(const Function& f, InstId i) {
  const MemAttr& mem = f[i].mem;
  const bool row = mem.space == Space::Lds && mem.form == AddressForm::Row && is_consecutive(mem);
  const bool whole = (mem.bytes == 4 || mem.bytes == 8) && mem.retry == 0 && !mem.spread;
  return (f[i].op == Op::Load || f[i].op == Op::Store) && row && whole && !f.is_const(f.operands(i).back());
}

} // namespace

void shorten_rows(Function& f, unsigned gang_lanes) {
  std::optional<IdValues> ids;
  for (const Block& b : f.blocks)
    for (const InstId i : b.insts) {
      if (!may_be_shorter(f, i)) continue;
      if (!ids) ids.emplace(f, gang_lanes);
      const auto* mask = ids->at_most(f.operands(i).back());
      if (mask == nullptr) continue;
      unsigned lanes = 2; // No register is shorter than that of four.
      for (std::size_t lane = 0; lane < mask->size(); ++lane)
        if ((*mask)[lane] != 0) lanes = std::max(lanes, static_cast<unsigned>(lane % gang_lanes) + 1);
      if (lanes <= gang_lanes / 2) f[i].mem.first_lanes_log2 = std::bit_width(lanes - 1) & 3;
    }
}

} // namespace lanewise::passes
