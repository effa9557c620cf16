// Masks of accesses that cannot fault in any lane. A load from the frame's rows, or from a place that is
// known to be inside the LDS or private memory, needs no mask if nobody looks at its other lanes: it is then
// an operand of what uses it, where a masked one is an instruction more. One that is inside only in the lanes
// of its mask keeps it for what follows from it: who else may go there. A store to the frame's rows needs
// none if no load looks at its other lanes, which it would have to keep; the mask must be of one moment,
// since the loads are at others.
#include "translator/ir/rows.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Unmasker {
public:
  explicit Unmasker(Function& f) : f_(f) {}

  void run() {
    find_candidates();
    if (loads_.empty()) return;
    LaneDemand demand(f_);
    if (!demand.find()) return;
    const Loops loops(f_, demand.cfg(), demand.dominators());
    std::vector<InstId> unmasked;
    for (const InstId i : loads_)
      if (is_looked_at_inside(demand, i, f_.operands(i).back())) unmasked.push_back(i);
    for (const InstId i : stores_) {
      const ValueId mask = f_.operands(i).back();
      const bool one_moment = !loops.irreducible && loops.innermost[f_.def_block(mask).index] < 0;
      if (one_moment && std::all_of(row_loads_.begin(), row_loads_.end(),
                                    [&](InstId load) { return is_looked_at_inside(demand, load, mask); }))
        unmasked.push_back(i);
    }
    if (unmasked.empty()) return;
    const ValueId all = f_.entry_constant(Type::Mask, ~u64{0});
    for (const InstId i : unmasked) {
      if (f_[i].mem.masked_in_range)
        f_[i].mem.any_lanes = true;
      else
        f_.operands(i).back() = all;
    }
  }

private:
  Function& f_;
  std::vector<InstId> loads_, stores_; ///< with masks that are worth dropping
  std::vector<InstId> row_loads_;      ///< all loads from the frame's rows

  void find_candidates() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) {
        const bool rows = f_[i].mem.space == Space::Registers;
        if (f_[i].op == Op::Load && rows) row_loads_.push_back(i);
        if (f_[i].op == Op::Load && (rows || cannot_fault(f_[i].mem)) && !f_.is_const(f_.operands(i).back()))
          loads_.push_back(i);
        if (f_[i].op == Op::Store && rows && !f_.is_const(f_.operands(i).back())) stores_.push_back(i);
      }
  }

  static bool cannot_fault(const MemAttr& mem) {
    if (mem.masked_in_range) return true; // What is around the LDS can be read.
    return (mem.space == Space::Lds || mem.space == Space::Scratch) && are_all_inside(mem);
  }

  bool is_looked_at_inside(const LaneDemand& demand, InstId load, ValueId mask) const {
    for (unsigned r = 0; r < f_[load].num_results; ++r)
      if (!demand.is_inside(demand.of(f_.result(load, r)), mask, f_[load].block)) return false;
    return true;
  }
};

} // namespace

void unmask_accesses(Function& f) { Unmasker(f).run(); }

} // namespace lanewise::passes
