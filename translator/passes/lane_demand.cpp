#include "translator/passes/lane_demand.hpp"

#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxChanges = 32, kMaxRounds = 16;
constexpr std::size_t kMaxDemand = 128, kMaxVariables = 20; ///< of a demand that is not rounded up
constexpr std::size_t kMaxSkipped = 8; ///< ways that are looked at for what nobody looks at behind them
constexpr std::size_t kMaxPlaces = 64; ///< that are looked at to show that nobody is there
constexpr u32 kControls = 1000;        ///< the weight of a use that is more than mask algebra

} // namespace

LaneDemand::LaneDemand(const Function& f, std::shared_ptr<const MaskAnalysis> known)
    : f_(f), known_(std::move(known)), cfg_(known_->cfg), facts_(known_->facts), bdd_(facts_.bdd()),
      demand_(f.num_values(), {Bdd::kFalse, Bdd::kFalse}), changes_(f.num_values(), 0),
      skipped_(f.num_blocks()), weight_(f.num_values(), 0), logic_(f.num_values()) {
  find_skipped();
}

bool LaneDemand::find() {
  weigh_masks();
  stale_.assign(f_.num_blocks(), kNew);
  grown_.assign(f_.num_values(), 0);
  bool again = true;
  for (unsigned round = 0; again && round < kMaxRounds; ++round) {
    again = false;
    for (auto it = cfg_.rpo.rbegin(); it != cfg_.rpo.rend(); ++it) {
      const u8 stale = std::exchange(stale_[it->index], 0);
      if (stale == 0) continue;
      again = true;
      visit(*it, (stale & kNew) != 0);
    }
  }
  return !again && !bdd_.overflowed();
}

LaneDemand::Node LaneDemand::of_use(InstId i, unsigned n) {
  asked_ = {f_.operands(i)[n], {Bdd::kFalse, Bdd::kFalse}};
  here_ = f_[i].block;
  visit(i);
  const auto [low, high] = std::exchange(asked_, {}).of_halves;
  return bdd_.or_(low, high);
}

std::array<LaneDemand::Node, 2> LaneDemand::of_uses(ValueId v, std::span<const BlockId> blocks) {
  asked_ = {v, {Bdd::kFalse, Bdd::kFalse}};
  for (const BlockId b : blocks) visit(b, true);
  return std::exchange(asked_, {}).of_halves;
}

/// Behind a way that is taken because a mask is empty nobody looks at anything in that mask's lanes.
void LaneDemand::find_skipped() {
  for (const BlockId b : cfg_.rpo) {
    const BlockId above = known_->dom.idom[b.index];
    if (!above.valid()) continue;
    const auto& ways = f_[above].successors;
    const ValueId tested = f_.tested_mask(above);
    const bool skips = cfg_.preds[b.index].size() == 1 && tested.valid() && ways[0].block != b;
    skipped_[b.index] = skips ? Skipped{lanes(tested), b, above} : skipped_[above.index];
  }
}

/// Of lanes that somebody looks at here of `v`, those that ways since `v` was made leave; as far as that
/// makes the function no larger, which may be rounded up then.
LaneDemand::Node LaneDemand::without_skipped(ValueId v, Node lanes) const {
  const BlockId made = f_.def_block(v);
  const Skipped* skipped = &skipped_[here_.index];
  for (std::size_t n = 0; n < kMaxSkipped && skipped->by.valid(); ++n) {
    if (known_->dom.dominates(skipped->by, made)) break;
    const Node left = bdd_.andnot(lanes, skipped->lanes);
    if (bdd_.is_no_larger(left, lanes)) lanes = left;
    skipped = &skipped_[skipped->above.index];
  }
  return lanes;
}

/// EXEC, as it was or will be, selects, guards accesses and decides branches.
void LaneDemand::weigh_masks() {
  for (const BlockId b : cfg_.rpo)
    for (const InstId i : f_[b].insts) {
      const auto x = f_.operands(i);
      const Op op = f_[i].op;
      if (op == Op::Select || op == Op::AnyLane)
        weight_[x[0].index] += kControls;
      else if (info(op).is(kMemory))
        weight_[x.back().index] += kControls;
      else
        for (const ValueId v : x) ++weight_[v.index];
    }
}

void LaneDemand::extend(ValueId v, unsigned half, Node lanes) {
  if (v == asked_.of) {
    asked_.of_halves[half] = bdd_.or_(asked_.of_halves[half], lanes);
    return;
  }
  Node& mine = demand_[v.index][half];
  Node now = bdd_.or_(mine, lanes);
  if (now == mine) return;
  // A chain of demands each a little wider would take long.
  if (++changes_[v.index] > kMaxChanges) {
    now = Bdd::kTrue;
  } else if (!is_simple(now)) {
    now = bdd_.or_(mine, facts_.without_comparisons(lanes));
    if (!is_simple(now)) now = Bdd::kTrue;
  }
  mine = now;
  grown_[v.index] = 1;
  if (f_.def_id(v).valid()) { // in this block, it is still to be visited
    if (f_.def_block(v) != here_) stale_[f_.def_block(v).index] |= kGrown;
  } else {
    for (const BlockId p : cfg_.preds[f_.def_block(v).index]) stale_[p.index] |= kGrown;
  }
}

bool LaneDemand::is_simple(Node n) const { return bdd_.is_simple(n, kMaxDemand, kMaxVariables); }

LaneDemand::Logic LaneDemand::logic(InstId i) const {
  std::optional<Logic>& known = logic_[f_[i].first_result.index];
  if (!known) known = find_logic(i);
  return *known;
}

LaneDemand::Logic LaneDemand::find_logic(InstId i) const {
  const auto x = f_.operands(i);
  const unsigned data = data_side(x);
  if (f_[i].op == Op::AndNot) return data == 0 ? Logic{x[0], x[1], false} : Logic{x[1], x[0], true, true};
  const bool is_and = f_[i].op == Op::And;
  // Of two masks of which one lies in the other, the op is one; that must be right everywhere.
  for (unsigned n = 0; n < 2; ++n)
    if (is_inside(lanes(x[n]), x[1 - n], f_[i].block))
      return is_and ? Logic{x[1 - n], x[n], true} : Logic{x[n], x[1 - n], false};
  return {x[data], x[1 - data], is_and};
}

LaneDemand::Node LaneDemand::matters(const Logic& l, Node demand) const {
  return l.matters ? bdd_.and_(demand, lanes(l.other)) : bdd_.andnot(demand, lanes(l.other));
}

/// Of the two operands of a mask op, usually EXEC and data in either order, the data: a comparison, or else
/// the one that decides less.
unsigned LaneDemand::data_side(std::span<const ValueId> x) const {
  for (const unsigned n : {1u, 0u})
    if (is_comparison(x[n])) return n;
  return weight_[x[1].index] < weight_[x[0].index] ? 1 : 0;
}

bool LaneDemand::is_comparison(ValueId v) const {
  const Inst* def = f_.def(v);
  if (def == nullptr) return false;
  switch (def->op) {
  case Op::ICmp:
  case Op::FCmp:
  case Op::FClass:
  case Op::DivScale: return true;
  default: return false;
  }
}

LaneDemand::Node LaneDemand::restated(Node demand, BlockId from, unsigned successor) const {
  const auto& successors = f_[from].successors;
  const Node before = facts_.before_edge(demand, from, successor);
  if (successor == 0 || successors[0].block == successors[1].block) return before;
  // Who goes this way because a mask is empty looks at nothing in its lanes: those of an `if` skipped.
  const ValueId skipped = f_.tested_mask(from);
  return skipped.valid() ? bdd_.andnot(before, lanes(skipped)) : before;
}

void LaneDemand::visit(BlockId b, bool is_new) {
  here_ = b;
  const auto& successors = f_[b].successors;
  for (unsigned n = 0; n < successors.size(); ++n) {
    const Successor& s = successors[n];
    const auto& params = f_[s.block].params;
    Node last = Bdd::kFalse, before = Bdd::kFalse; // parameters often have the same demand
    for (std::size_t a = 0; a < s.args.size(); ++a)
      for (unsigned half = 0; half < 2; ++half) {
        const Node demand = demand_[params[a].index][half];
        if (demand == Bdd::kFalse) continue;
        if (demand != last) {
          last = demand;
          before = restated(demand, b, n);
        }
        need_half(s.args[a], half, before);
      }
  }
  const auto& insts = f_[b].insts;
  for (auto it = insts.rbegin(); it != insts.rend(); ++it) {
    bool grown = is_new;
    for (unsigned r = 0; r < f_[*it].num_results; ++r)
      grown |= std::exchange(grown_[f_.result(*it, r).index], u8{0}) != 0;
    if (grown) visit(*it);
  }
}

void LaneDemand::visit(InstId i) {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  if (visit_halves(inst, x)) return;
  Node demand = Bdd::kFalse;
  for (unsigned r = 0; r < inst.num_results; ++r) demand = bdd_.or_(demand, of(f_.result(i, r)));
  switch (inst.op) {
  case Op::Select:
    if (f_.type(x[0]) != Type::Mask) break;
    need(x[0], demand);
    need(x[1], bdd_.and_(demand, lanes(x[0])));
    if (!is_inside(demand, x[0], inst.block)) need(x[2], bdd_.andnot(demand, lanes(x[0])));
    return;
  case Op::And:
  case Op::Or:
  case Op::AndNot: {
    if (f_.type(x[0]) != Type::Mask) break;
    const Logic l = logic(i);
    need(l.base, matters(l, demand));
    need(l.other, demand);
    return;
  }
  case Op::Load:
  case Op::Store:
  case Op::Atomic:
    for (std::size_t n = 0; n + 1 < x.size(); ++n) need(x[n], lanes(x.back()));
    need(x.back(), Bdd::kTrue);
    return;
  default: break;
  }
  const OpInfo& op = info(inst.op);
  // Work on a value nobody looks at asks for nothing; what must happen anyway asks for all.
  const bool elementwise = op.is(kPure) && inst.op != Op::ReadLane && inst.op != Op::ReadFirst;
  const Node of_all = elementwise && !is_scalar_result(inst) ? demand : Bdd::kTrue;
  for (unsigned n = 0; n < x.size(); ++n) need(x[n], op.reads_whole(n) ? Bdd::kTrue : of_all);
}

bool LaneDemand::visit_halves(const Inst& inst, std::span<const ValueId> x) {
  if (inst.num_results != 1) return false;
  const auto [low, high] = demand_[inst.first_result.index];
  if (inst.op == Op::Lo || inst.op == Op::Hi) {
    need_half(x[0], inst.op == Op::Lo ? 0 : 1, low);
    return true;
  }
  if (f_.type(inst.first_result) != Type::V64 || low == high) return false;
  const Node any = bdd_.or_(low, high);
  switch (inst.op) {
  case Op::Join:
    need(x[0], low);
    need(x[1], high);
    return true;
  case Op::ZExt: need(x[0], low); return true;
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot:
  case Op::Not:
  case Op::Add:
  case Op::Sub:
  case Op::Mul: {
    const bool carries = inst.op == Op::Add || inst.op == Op::Sub || inst.op == Op::Mul;
    for (const ValueId v : x) {
      need_half(v, 0, carries ? any : low);
      need_half(v, 1, high);
    }
    return true;
  }
  case Op::Select: {
    if (f_.type(x[0]) != Type::Mask) return false;
    const Node m = lanes(x[0]);
    need(x[0], any);
    for (const unsigned half : {0u, 1u}) {
      const Node demand = half == 0 ? low : high;
      need_half(x[1], half, bdd_.and_(demand, m));
      need_half(x[2], half, bdd_.andnot(demand, m));
    }
    return true;
  }
  default: return false;
  }
}

bool LaneDemand::is_scalar_result(const Inst& inst) const {
  return inst.num_results != 0 && is_scalar(f_.type(inst.first_result));
}

bool LaneDemand::is_inside(Node demand, ValueId m, BlockId at) const {
  return facts_.is_subset(demand, lanes(m), at);
}

bool LaneDemand::is_outside(Node demand, ValueId m, BlockId at) const {
  return facts_.is_empty(bdd_.and_(demand, lanes(m)), at);
}

bool LaneDemand::is_nobody(Node lanes, BlockId at) const {
  std::set<std::pair<Node, u32>> seen;
  return is_nobody(lanes, at, seen);
}

/// Of loops, only what holds in each round by itself. What has been looked at need not be again: it holds, or
/// all has failed.
bool LaneDemand::is_nobody(Node lanes, BlockId at, std::set<std::pair<Node, u32>>& seen) const {
  if (facts_.is_empty(lanes, at) || seen.contains({lanes, at.index})) return true;
  if (cfg_.preds[at.index].empty() || seen.size() >= kMaxPlaces) return false;
  seen.emplace(lanes, at.index);
  for (const BlockId from : cfg_.preds[at.index]) {
    if (cfg_.rpo_index[from.index] >= cfg_.rpo_index[at.index]) return false;
    for (unsigned n = 0; n < f_[from].successors.size(); ++n)
      if (f_[from].successors[n].block == at && !is_nobody(restated(lanes, from, n), from, seen))
        return false;
  }
  return true;
}

std::optional<u64> LaneDemand::constant(InstId i) const {
  const Node demand = of(f_.result(i)), result = lanes(f_.result(i));
  if (facts_.is_subset(demand, bdd_.not_(result), f_[i].block)) return 0;
  if (facts_.is_subset(demand, result, f_[i].block)) return ~u64{0};
  return std::nullopt;
}

} // namespace lanewise::passes
