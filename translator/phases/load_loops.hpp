// Innermost loops that only load: what each gang, or each lane, does there nobody else can see. Some passes
// take loops with stores besides, and look after those themselves.
#pragma once

#include "translator/ir/cfg.hpp"

#include <optional>

namespace lanewise::phases {

/// A loop without inner ones, atomics and, unless they were asked for, stores, that leads to one block. Gangs
/// decide all its branches on masks, and nothing in it looks at other lanes.
struct LoadLoop {
  const std::vector<ir::BlockId>* blocks = nullptr; ///< header first
  std::vector<bool> inside;                         ///< per block
  ir::BlockId exit;                                 ///< the one block that it leads to
  std::vector<ir::ValueId> escaping;                ///< values of it that are used behind it, once found,
  std::vector<ir::ValueId> constants;               ///< but for these, which need not be handed on

  [[nodiscard]] ir::BlockId header() const { return blocks->front(); }
  [[nodiscard]] bool contains(ir::BlockId b) const { return b.index < inside.size() && inside[b.index]; }
};

/// Nothing in these blocks is seen by other gangs, nor sees them; but for stores, if they are asked for.
bool only_loads(const ir::Function& f, const std::vector<ir::BlockId>& blocks, bool with_stores = false);

/// Loop number `l`, if it is such a loop, and not a very large one. The result points into `loops`.
std::optional<LoadLoop> find_load_loop(const ir::Function& f, const ir::Loops& loops, u32 l,
                                       bool with_stores);

/// What comes of it depends on which of the wave's lanes it is for, or on more than a lane has: a copy of a
/// loop in which lanes are elsewhere cannot have it.
constexpr bool is_bound_to_lanes(ir::Op op) {
  using ir::Op;
  return op == Op::LaneId || op == Op::InitVgpr || op == Op::InitExec || op == Op::WriteLane ||
         op == Op::U64ToMask || op == Op::Clock;
}

/// A load or store that goes to each lane's private memory: lanes that stay where they are may do theirs at
/// any time.
constexpr bool is_private_access(const ir::Inst& inst) {
  return (inst.op == ir::Op::Load || inst.op == ir::Op::Store) && inst.mem.space == ir::Space::Scratch &&
         inst.mem.form == ir::AddressForm::Lanes && !inst.mem.spread;
}

/// An address that no load decides: by way of limits or quotients, ids may still make rows of it.
bool is_computed(const ir::Function& f, const ir::Cfg& cfg, ir::ValueId address);

/// What is needed so that the loop may be there twice: finds the values that escape from it, false if copies
/// could not hand on theirs in the same way; and makes them parameters of the exit, or, if they are
/// constants, puts those at the entry. `cfg` and `dom` are of the function as it was before its loops were
/// copied.
bool find_escaping_values(const ir::Function& f, const ir::Cfg& cfg, const ir::Dominators& dom,
                          LoadLoop& loop);
void pass_escaping_values(ir::Function& f, const LoadLoop& loop);

/// What passes that give such loops other versions have in common.
class LoadLoopPass {
protected:
  ir::Function& f_;
  // Of the function as it was before.
  const ir::Cfg cfg_;
  const ir::Dominators dom_;
  const ir::Loops loops_;
  std::optional<LoadLoop> loop_; ///< the current one
  ir::BlockId entry_, latch_;    ///< the blocks before its header, once they have been found

  explicit LoadLoopPass(ir::Function& f, bool with_stores = false)
      : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_), with_stores_(with_stores) {}

  /// Calls `change` for one loop after the other, until it has said of so many that it has changed them.
  /// Whether there was any.
  template <class Change>
  bool for_each_loop(unsigned most, Change change) {
    unsigned changed = 0;
    for (u32 l = 0; !loops_.irreducible && l < loops_.loops.size() && changed < most; ++l) {
      loop_ = find_load_loop(f_, loops_, l, with_stores_);
      if (loop_ && change()) ++changed;
    }
    return changed != 0;
  }
  [[nodiscard]] bool find_escaping() { return find_escaping_values(f_, cfg_, dom_, *loop_); }
  void pass_escaping() { pass_escaping_values(f_, *loop_); }

  [[nodiscard]] ir::BlockId header() const { return loop_->header(); }
  [[nodiscard]] const std::vector<ir::ValueId>& params() const { return f_[header()].params; }
  [[nodiscard]] bool is_inside(ir::ValueId v) const { return loop_->contains(f_.def_block(v)); }
  /// Whether there is one way in, and one way round.
  [[nodiscard]] bool find_entry_and_latch();
  /// Gives `b` the header's parameters.
  std::vector<ir::ValueId> take_params(ir::BlockId b);
  /// `b` comes after `before` alone, which has brought it the parameters of its own; now it takes over those.
  void take_parameters_of(ir::BlockId before, ir::BlockId b) { take_parameters_of(before, before, b); }
  /// The same, where a block `from` that is behind `before` alone has brought them.
  void take_parameters_of(ir::BlockId before, ir::BlockId from, ir::BlockId b);
  /// Whether the parameter grows by a constant from round to round.
  [[nodiscard]] bool counts_by(ir::ValueId param, ir::ValueId next, u64& step) const;
  /// Parameters that change by the same in all lanes, but those in `kept`, become what they were at first,
  /// plus a scalar, of the gang or of the wave. The loop is entered from block `entry` alone, and goes round
  /// from `latch`.
  void make_scalar_counters(ir::BlockId entry, ir::BlockId latch, const std::vector<ir::ValueId>& kept,
                            bool of_gangs);
  /// An empty block that whoever comes to the loop from outside now comes to.
  ir::BlockId add_entry();

private:
  const bool with_stores_;
};

} // namespace lanewise::phases
