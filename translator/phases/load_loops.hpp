// Innermost loops that only load: what each gang, or each lane, does there nobody else can see.
#pragma once

#include "translator/ir/cfg.hpp"

#include <optional>

namespace lanewise::phases {

/// A loop without inner ones, stores and atomics, that leads to one block. Gangs decide all its branches on
/// masks, and nothing in it looks at other lanes.
struct LoadLoop {
  const std::vector<ir::BlockId>* blocks = nullptr; ///< header first
  std::vector<bool> inside;                         ///< per block
  ir::BlockId exit;                                 ///< the one block that it leads to
  std::vector<ir::ValueId> escaping;                ///< values of it that are used behind it, once found

  [[nodiscard]] ir::BlockId header() const { return blocks->front(); }
  [[nodiscard]] bool contains(ir::BlockId b) const { return b.index < inside.size() && inside[b.index]; }
};

/// Loop number `l`, if it is such a loop, and not a very large one. The result points into `loops`.
std::optional<LoadLoop> find_load_loop(const ir::Function& f, const ir::Loops& loops, u32 l);

/// What is needed so that the loop may be there twice: finds the values that escape from it, false if copies
/// could not hand on theirs in the same way; and makes them parameters of the exit. `cfg` and `dom` are of
/// the function as it was before its loops were copied.
bool find_escaping_values(const ir::Function& f, const ir::Cfg& cfg, const ir::Dominators& dom,
                          LoadLoop& loop);
void pass_escaping_values(ir::Function& f, const ir::Cfg& cfg, const LoadLoop& loop);

} // namespace lanewise::phases
