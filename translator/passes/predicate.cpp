// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). For each per-lane value this pass
// finds the lanes that anybody looks at - nothing, the lanes of one mask, or all - going backwards from the
// uses; then
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   and(a, m)       with demand inside m   -> a
//
// Demand is named by a mask value. At a use of v under mask m, both are defined and current, so an
// implication proved from their definitions holds there. Only a block parameter mixes times: its demand is
// restated, for each way in, by a mask that is current there (translate()).
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kNone = 0xffff'fffeu, kAll = 0xffff'fffdu;
constexpr unsigned kMaxChanges = 6, kMaxRounds = 12;

class Predicator {
public:
  explicit Predicator(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), facts_(f, cfg_), demand_(f.num_values(), kNone),
        changes_(f.num_values(), 0) {}

  void run() {
    unsigned round = 0;
    for (changed_ = true; changed_ && round < kMaxRounds; ++round) {
      changed_ = false;
      for (auto it = cfg_.rpo.rbegin(); it != cfg_.rpo.rend(); ++it) visit(*it);
    }
    if (changed_) return; // Not settled: the demands are too small, so nothing may be concluded.
    rewrite();
  }

private:
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  MaskFacts facts_;
  std::vector<u32> demand_; ///< per value: kNone, kAll or the index of a mask
  std::vector<u8> changes_;
  bool changed_ = false;

  void need(ValueId v, u32 lanes) {
    if (lanes == kNone || !is_per_lane(f_.type(v))) return;
    u32& mine = demand_[v.index];
    u32 now = unite(mine, lanes);
    if (now == mine) return;
    if (++changes_[v.index] > kMaxChanges)
      now = kAll; // A chain of masks each a little wider would take long.
    mine = now;
    changed_ = true;
  }

  u32 unite(u32 a, u32 b) const {
    if (a == kNone || a == b) return b;
    if (b == kNone) return a;
    if (a == kAll || b == kAll) return kAll;
    if (facts_.implies(ValueId{a}, ValueId{b})) return b;
    if (facts_.implies(ValueId{b}, ValueId{a})) return a;
    for (ValueId x = superset(ValueId{a}); x.valid(); x = superset(x))
      if (facts_.implies(ValueId{b}, x)) return x.index;
    return kAll;
  }
  /// A mask that contains `m` by its definition, or nothing.
  ValueId superset(ValueId m) const {
    const InstId i = f_.def_id(m);
    if (!i.valid()) return {};
    const auto x = f_.operands(i);
    if (f_[i].op == Op::AndNot) return x[0];
    if (f_[i].op != Op::And) return {};
    return x[1 - data_side(x)];
  }
  /// Of the two operands of and(comparison, EXEC), in either order, the comparison; EXEC is what other masks
  /// share.
  unsigned data_side(std::span<const ValueId> x) const {
    const Inst* second = f_.def(x[1]);
    return second != nullptr && (second->op == Op::ICmp || second->op == Op::FCmp || second->op == Op::FClass)
               ? 1
               : 0;
  }
  /// The lanes of both `lanes` and `m`, or something larger.
  u32 within(u32 lanes, ValueId m) const {
    if (lanes == kNone) return kNone;
    if (lanes != kAll && facts_.implies(ValueId{lanes}, m)) return lanes;
    u64 bits = 0;
    if (f_.is_const(m, &bits)) return bits == 0 ? kNone : lanes;
    return m.index;
  }

  /// `lanes`, the demand on a parameter of `b`, in terms of what is current at the end of a predecessor with
  /// these arguments.
  u32 translate(u32 lanes, BlockId b, const Successor& edge) const {
    if (lanes == kAll || lanes == kNone) return lanes;
    for (ValueId m{lanes}; m.valid(); m = superset(m)) {
      const BlockId at = f_.def_block(m);
      if (at == b && !f_.def_id(m).valid()) return edge.args[f_[m].index].index;
      if (at != b && dom_.dominates(at, b)) return m.index;
    }
    return kAll;
  }

  void visit(BlockId b) {
    for (const Successor& s : f_[b].successors) {
      const auto& params = f_[s.block].params;
      for (std::size_t a = 0; a < s.args.size(); ++a)
        need(s.args[a], translate(demand_[params[a].index], s.block, s));
    }
    const auto& insts = f_[b].insts;
    for (auto it = insts.rbegin(); it != insts.rend(); ++it) visit(*it);
  }

  void visit(InstId i) {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    u32 lanes = kNone;
    for (unsigned r = 0; r < inst.num_results; ++r) lanes = unite(lanes, demand_[f_.result(i, r).index]);
    switch (inst.op) {
    case Op::Select:
      if (f_.type(x[0]) != Type::Mask) break;
      need(x[0], lanes);
      if (is_disjoint(lanes, x[0]))
        need(x[2], lanes);
      else {
        need(x[1], within(lanes, x[0]));
        if (!is_inside(lanes, x[0])) need(x[2], lanes);
      }
      return;
    case Op::And:
      if (f_.type(x[0]) != Type::Mask) break;
      need(x[data_side(x)], within(lanes, x[1 - data_side(x)])); // Only one side may rest on the other.
      need(x[1 - data_side(x)], lanes);
      return;
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
      for (std::size_t n = 0; n + 1 < x.size(); ++n) need(x[n], x.back().index);
      need(x.back(), kAll);
      return;
    default: break;
    }
    const OpInfo& op = info(inst.op);
    // Work on a value nobody looks at asks for nothing; what must happen anyway asks for all.
    const bool elementwise = op.is(kPure) && inst.op != Op::ReadLane && inst.op != Op::ReadFirst;
    for (unsigned n = 0; n < x.size(); ++n) {
      if (op.reads_whole(n) || !elementwise || is_uniform_result(inst))
        need(x[n], kAll);
      else
        need(x[n], lanes);
    }
  }
  bool is_uniform_result(const Inst& inst) const {
    return inst.num_results != 0 && is_uniform(f_.type(inst.first_result));
  }
  bool is_inside(u32 lanes, ValueId m) const {
    u64 bits = 0;
    if (lanes == kAll) return f_.is_const(m, &bits) && bits == ~u64{0};
    return lanes == kNone || facts_.implies(ValueId{lanes}, m);
  }
  bool is_disjoint(u32 lanes, ValueId m) const {
    return lanes != kAll && lanes != kNone && facts_.disjoint(ValueId{lanes}, m);
  }

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        const auto x = f_.operands(i);
        if (inst.op == Op::Select && f_.type(x[0]) == Type::Mask) {
          const u32 lanes = demand_[inst.first_result.index];
          if (is_disjoint(lanes, x[0]))
            map[inst.first_result.index] = x[2];
          else if (is_inside(lanes, x[0]))
            map[inst.first_result.index] = x[1];
        } else if (inst.op == Op::And && f_.type(x[0]) == Type::Mask) {
          const unsigned data = data_side(x);
          if (is_inside(demand_[inst.first_result.index], x[1 - data]))
            map[inst.first_result.index] = x[data];
        }
      }
    f_.replace_values(map);
  }
};

} // namespace

void predicate(Function& f) { Predicator(f).run(); }

} // namespace lanewise::passes
