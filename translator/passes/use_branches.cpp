// What a branch says holds in all blocks behind the way taken: there, branches on the same condition, or on
// whether the same mask has any lanes, are decided. Compilers ask after each if whether there is a lane left.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

class BranchUser {
public:
  explicit BranchUser(Function& f) : f_(f), cfg_(f), dom_(f, cfg_) {}

  void run() {
    for (const BlockId b : cfg_.rpo) { // What dominates a block comes before it.
      note_way_into(b);
      const InstId branch = f_.terminator(b);
      if (f_[branch].op != Op::Branch) continue;
      leave_out_mask(b, branch);
      if (const std::optional<bool> known = decided(f_.operands(branch)[0], b))
        f_.operands(branch)[0] = constant(b, *known);
    }
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  struct Fact {
    BlockId since; ///< holds in what this block dominates
    bool value;
  };
  std::unordered_map<u32, std::vector<Fact>> facts_; ///< of scalars, and of masks whether they have lanes

  void note_way_into(BlockId b) {
    if (cfg_.preds[b.index].size() != 1) return;
    const BlockId from = cfg_.preds[b.index].front();
    const InstId branch = f_.terminator(from);
    if (f_[branch].op != Op::Branch) return;
    const bool value = f_[from].successors[0].block == b;
    const auto note = [&](ValueId v) {
      if (v.valid() && !known(v, b)) facts_[v.index].push_back({b, value});
    };
    note(f_.operands(branch)[0]);
    note(f_.tested_mask(from));
  }

  [[nodiscard]] std::optional<bool> known(ValueId v, BlockId at) const {
    if (const auto it = facts_.find(v.index); it != facts_.end())
      for (const Fact& fact : it->second)
        if (dom_.dominates(fact.since, at)) return fact.value;
    return std::nullopt;
  }
  [[nodiscard]] ValueId operand_of(ValueId v, Op op, unsigned n) const {
    const InstId def = f_.def_id(v);
    return def.valid() && f_[def].op == op ? f_.operands(def)[n] : ValueId{};
  }
  [[nodiscard]] std::optional<bool> decided(ValueId condition, BlockId at) const {
    if (const auto value = known(condition, at)) return value;
    const ValueId mask = operand_of(condition, Op::AnyLane, 0);
    return mask.valid() ? known(mask, at) : std::nullopt;
  }

  /// any(m & splat c) is c, and any(m & ~splat c) is not c, where m has lanes.
  void leave_out_mask(BlockId b, InstId branch) {
    const ValueId mask = f_.tested_mask(b);
    if (!mask.valid()) return;
    for (const Op op : {Op::And, Op::AndNot})
      for (const unsigned n : {0u, 1u}) {
        const ValueId lanes = operand_of(mask, op, n);
        if (!lanes.valid() || (op == Op::AndNot && n == 1) || known(lanes, b) != true) continue;
        const ValueId scalar = operand_of(operand_of(mask, op, 1 - n), Op::Splat, 0);
        if (!scalar.valid()) continue;
        f_.operands(branch)[0] = scalar;
        if (op == Op::AndNot) std::swap(f_[b].successors[0], f_[b].successors[1]);
        return;
      }
  }

  ValueId constant(BlockId b, bool value) {
    Inst proto;
    proto.op = Op::Const;
    proto.imm = value ? 1 : 0;
    const Type t = Type::U1;
    return f_.result(f_.insert_before_end(b, proto, {}, {&t, 1}));
  }
};

} // namespace

void use_branches(Function& f) { BranchUser(f).run(); }

} // namespace lanewise::passes
