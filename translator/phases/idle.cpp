// Idle gangs. A gang behind the last work-item of its wave starts without lanes. It need not run at all if
//  - every access to memory goes by a mask without lanes beyond those of the start, and
//  - so does what is looked at whole: masks that are tested or counted, the lanes that permutations take part
//    with. Single lanes are read from the first gang, which always runs, or of what is 0 without such a mask.
// Lanes of the first gang do as well.
// The frame's slots are zero before the wave starts and gangs that do not run never write theirs, so in all
// slots the part of such a gang is that of a mask without lanes. What else it holds nobody sees.
#include "translator/ir/cfg.hpp"
#include "translator/ir/rows.hpp"
#include "translator/phases/phases.hpp"

namespace lanewise::phases {

using namespace ir;

namespace {

class IdleGangs {
public:
  IdleGangs(const Function& f, unsigned gang_lanes)
      : f_(f), cfg_(f), gang_lanes_(gang_lanes), within_start_(f.num_values(), false) {}

  bool are_unseen() {
    find_masks();
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (!is_blind(i)) return false;
    return true;
  }

private:
  const Function& f_;
  const Cfg cfg_;
  unsigned gang_lanes_;
  std::vector<bool> within_start_; ///< per value: a mask all lanes of which are active at the start

  /// Optimistic: everything is, until a definition says otherwise.
  void find_masks() {
    for (u32 v = 0; v < f_.num_values(); ++v) within_start_[v] = f_.type(ValueId{v}) == Type::Mask;
    for (bool again = true; again;) {
      again = false;
      for (const BlockId b : cfg_.rpo) {
        for (const InstId i : f_[b].insts)
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            if (is_within(f_.result(i, r)) && !is_within_start(i))
              within_start_[f_.result(i, r).index] = false;
        for (const Successor& s : f_[b].successors)
          for (std::size_t a = 0; a < s.args.size(); ++a) {
            const ValueId param = f_[s.block].params[a];
            if (!is_within(param) || is_within(s.args[a])) continue;
            within_start_[param.index] = false;
            again |= cfg_.rpo_index[s.block.index] <= cfg_.rpo_index[b.index]; // others are still to come
          }
      }
    }
  }
  /// It always runs, with all of its lanes.
  u64 first_gang() const { return ~u64{0} >> (kWaveSize - gang_lanes_); }
  bool is_within(ValueId mask) const { return within_start_[mask.index]; }
  bool is_within_start(InstId i) const {
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::InitExec: return true;
    case Op::ICmp: // As many as are left, from the first lane on.
      return f_[f_[i].block].in_ranks && f_.def(x[0]) != nullptr && f_.def(x[0])->op == Op::LaneId;
    case Op::U64ToMask: return are_no_more_lanes(x[0]);
    case Op::Const: return (f_[i].imm & ~(f_.launch.exec().value_or(0) | first_gang())) == 0;
    case Op::And: return is_within(x[0]) || is_within(x[1]);
    case Op::AndNot:
    case Op::FirstLane:
    case Op::GangMask: return is_within(x[0]);
    case Op::Or:
    case Op::Xor: return is_within(x[0]) && is_within(x[1]);
    case Op::Select: return is_within(x[2]) && (is_within(x[0]) || is_within(x[1]));
    default: return false;
    }
  }

  /// The bits of the first lanes, 2^n - 1, where a mask of such ones has n.
  bool are_no_more_lanes(ValueId bits) const {
    const auto operand_of = [&](Op op, ValueId v, unsigned n) {
      return f_.def(v) != nullptr && f_.def(v)->op == op ? f_.operands(f_.def_id(v))[n] : ValueId{};
    };
    const auto follow = [&](ValueId v, std::initializer_list<std::pair<Op, unsigned>> steps) {
      for (const auto& [op, n] : steps)
        if (v.valid()) v = operand_of(op, v, n);
      return v;
    };
    u64 one = 0, less = 0;
    const ValueId power = operand_of(Op::Add, bits, 0);
    if (!power.valid() || !f_.is_const(operand_of(Op::Add, bits, 1), &less) || ~less != 0) return false;
    const ValueId shifted = operand_of(Op::Shl, power, 0);
    const ValueId mask = follow(power, {{Op::Shl, 1}, {Op::Lo, 0}, {Op::PopCount, 0}, {Op::MaskToU64, 0}});
    return mask.valid() && f_.is_const(shifted, &one) && one == 1 && is_within(mask);
  }

  /// Cannot fault in any lane (passes/unmask_accesses.cpp).
  static bool is_harmless_load(const Inst& inst) { return inst.op == Op::Load && are_all_inside(inst.mem); }

  /// 0 in idle lanes, as are the slots that their gangs do not write.
  bool is_zero_beyond(ValueId v) const {
    const Inst* select = f_.def(v);
    u64 other = 1;
    return select != nullptr && select->op == Op::Select && is_within(f_.operands(f_.def_id(v))[0]) &&
           f_.is_const(f_.operands(f_.def_id(v))[2], &other) && other == 0;
  }

  /// Nothing that can be noticed comes from the idle lanes of the operands.
  bool is_blind(InstId i) const {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    if (info(inst.op).is(kMemory))
      return inst.mem.space == Space::Registers || is_within(x.back()) || is_harmless_load(inst);
    if (inst.op == Op::ReadLane) {
      u64 lane = 0;
      return (f_.is_const(x[1], &lane) && lane % kWaveSize < gang_lanes_) || is_zero_beyond(x[0]);
    }
    if (inst.op == Op::BPermute && (f_[inst.block].first_gangs != 0 || f_[inst.block].in_ranks))
      return true; // Of lanes that are left.
    if (inst.op == Op::ReadFirst || inst.op == Op::BPermute || inst.op == Op::Permute)
      return is_within(x.back());
    for (unsigned n = 0; n < x.size(); ++n)
      if (looks_across_gangs(inst, n, gang_lanes_) && !is_within(x[n]) && !is_zero_beyond(x[n])) return false;
    return true;
  }
};

} // namespace

bool idle_gangs_are_unseen(const Function& f, unsigned gang_lanes) {
  return IdleGangs(f, gang_lanes).are_unseen();
}

} // namespace lanewise::phases
