// What a round of a loop leaves as it is in lanes that do not go on.
#pragma once

#include "translator/phases/load_loops.hpp"
#include "translator/phases/ranks.hpp"

#include <unordered_map>

namespace lanewise::phases {

/// A round of `loop` in lanes that are not in `mask`, a parameter of its header that says who goes on.
class EmptyRound {
public:
  EmptyRound(const ir::Function& f, const ir::Cfg& cfg, const LoadLoop& loop, ir::ValueId mask)
      : f_(f), cfg_(cfg), loop_(loop), among_(f, *loop.blocks, loop.inside, {&mask, 1}) {}

  /// No lane of `mask` is set.
  [[nodiscard]] bool is_empty(ir::ValueId mask) const { return among_.contains(mask); }
  /// What `v` is: one of the header's parameters, or a value from outside; invalid if that cannot be said.
  [[nodiscard]] ir::ValueId as_before(ir::ValueId v, unsigned depth = 0) const;

private:
  const ir::Function& f_;
  const ir::Cfg& cfg_;
  const LoadLoop& loop_;
  const MasksAmong among_;
  mutable std::vector<ir::ValueId> joining_; ///< parameters of inner loops that are being looked through
  mutable unsigned assumed_ = 0;             ///< how often one of these was what was looked for
  mutable std::unordered_map<u32, ir::ValueId> known_; ///< by value, but for what rests on such a one

  [[nodiscard]] bool is_inside(ir::ValueId v) const { return loop_.contains(f_.def_block(v)); }
  [[nodiscard]] bool is_param(ir::ValueId v) const {
    return !f_.def_id(v).valid() && f_.def_block(v) == loop_.header();
  }
  [[nodiscard]] ir::ValueId find(ir::ValueId v, unsigned depth) const;
  [[nodiscard]] ir::ValueId at_join(ir::ValueId param, unsigned depth) const;
};

} // namespace lanewise::phases
