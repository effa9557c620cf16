// Behind `if (i < n)` a load that all lanes of a gang do from one place - the start of a slice, what a row of
// a tile is about - gives one value, but for lanes without a part, which have 0. Where nobody looks at those,
// they may have it as well: then it is one value in all lanes (lane_shape.hpp), and addresses that are made
// of it are rows. Only such loads: for the rest, a mask costs nothing (slices of sparse matrices 1.5 times
// faster).
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxTurns = 4; ///< of loads of which one tells where the next goes

class LoadSpreader {
public:
  LoadSpreader(Function& f, unsigned gang_lanes) : f_(f), gang_lanes_(gang_lanes), cfg_(f) {}

  /// Whether there were any.
  bool run() {
    bool any = false;
    for (unsigned turn = 0; turn < kMaxTurns && run_once(); ++turn) any = true;
    return any;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  const Cfg cfg_;
  std::optional<LaneDemand> demand_; ///< made when wanted; which lanes have a value changes nothing
  bool has_demand_ = false;
  std::vector<u8> leads_; ///< per value: addresses are made of it

  static bool is_access(const Inst& inst) {
    return (inst.op == Op::Load || inst.op == Op::Store) &&
           (inst.mem.space == Space::Global || inst.mem.space == Space::Lds) &&
           inst.mem.form == AddressForm::Lanes && !inst.mem.spread;
  }

  bool run_once() {
    std::vector<InstId> loads;
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Load && f_[i].mem.space == Space::Global && is_access(f_[i]) &&
            !f_[i].mem.coherent && !f_.is_const(f_.operands(i).back()))
          loads.push_back(i);
    if (loads.empty()) return false;
    find_leading();
    std::erase_if(loads, [&](InstId i) { return !leads(i); });
    if (loads.empty()) return false;
    const LaneShapes shapes(f_, cfg_, gang_lanes_);
    std::erase_if(loads, [&](InstId i) {
      return !shapes[f_.operands(i)[0]].uniform() || shapes[f_.operands(i).back()].uniform();
    });
    if (loads.empty()) return false;
    if (!demand_) {
      demand_.emplace(f_);
      has_demand_ = demand_->find();
    }
    if (!has_demand_) return false;
    bool any = false;
    for (const InstId i : loads) {
      if (!is_looked_at_inside(i)) continue;
      f_[i].mem.spread = any = true;
    }
    return any;
  }

  void find_leading() {
    if (!leads_.empty()) return;
    leads_.assign(f_.num_values(), 0);
    std::vector<ValueId> work;
    const auto lead = [&](ValueId v) {
      if (leads_[v.index] != 0 || !is_per_lane(f_.type(v)) || f_.type(v) == Type::Mask) return;
      leads_[v.index] = 1;
      work.push_back(v);
    };
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (is_access(f_[i])) lead(f_.operands(i)[0]);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      if (const InstId i = f_.def_id(v); i.valid()) {
        if (info(f_[i].op).is(kPure)) std::ranges::for_each(f_.operands(i), lead);
        continue;
      }
      const BlockId b = f_.def_block(v);
      for (const BlockId from : cfg_.preds[b.index])
        for (const Successor& s : f_[from].successors)
          if (s.block == b) lead(s.args[f_[v].index]);
    }
  }
  [[nodiscard]] bool leads(InstId load) const {
    for (unsigned r = 0; r < f_[load].num_results; ++r)
      if (leads_[f_.result(load, r).index] != 0) return true;
    return false;
  }

  [[nodiscard]] bool is_looked_at_inside(InstId load) const {
    for (unsigned r = 0; r < f_[load].num_results; ++r)
      if (!demand_->is_inside(demand_->of(f_.result(load, r)), f_.operands(load).back(), f_[load].block))
        return false;
    return true;
  }
};

} // namespace

bool spread_loads(Function& f, unsigned gang_lanes) { return LoadSpreader(f, gang_lanes).run(); }

} // namespace lanewise::passes
