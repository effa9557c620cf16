// What a branch says holds in all blocks behind the way taken: there, branches on the same condition, or on
// whether the same mask has any lanes, are decided. Compilers ask after each if whether there is a lane left,
// and write scalar conditions as masks.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 6; ///< of the mask ops that a tested mask is looked for in

class BranchUser {
public:
  explicit BranchUser(Function& f) : f_(f), cfg_(f), dom_(f, cfg_) {}

  void run() {
    for (const BlockId b : cfg_.rpo) { // What dominates a block comes before it.
      note_way_into(b);
      look_behind_selects(b);
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
  std::optional<MaskFacts> mask_facts_;              ///< once they are asked for

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

  /// The first lane of m, if m has lanes, sees what `select m` takes. Of use where that is a scalar; else the
  /// select may stay, which asks for nothing outside m.
  void look_behind_selects(BlockId b) {
    for (std::size_t n = 0; n < f_[b].insts.size(); ++n) {
      const InstId i = f_[b].insts[n];
      if (f_[i].op != Op::ReadFirst || known(f_.operands(i)[1], b) != true) continue;
      std::vector<InstId> made;
      const ValueId seen = same_in_all(f_.operands(i)[0], f_.operands(i)[1], kMaxDepth, made);
      if (!seen.valid()) continue;
      f_.operands(i)[0] = seen;
      for (const InstId m : made) f_[m].block = b;
      f_[b].insts.insert(f_[b].insts.begin() + static_cast<std::ptrdiff_t>(n), made.begin(), made.end());
      n += made.size();
    }
  }

  /// A value that is computed from scalars and is what `v` is in the lanes of `mask`, or nothing; what has to
  /// be computed for it goes to `made`, and is in no block yet.
  ValueId same_in_all(ValueId v, ValueId mask, unsigned depth, std::vector<InstId>& made) {
    const InstId def = f_.def_id(v);
    if (is_uniform(f_.type(v)) || f_.is_const(v)) return v;
    if (!def.valid() || depth == 0 || !is_vector(f_.type(v))) return {};
    const Inst inst = f_[def];
    if (inst.op == Op::Splat) return v;
    const auto x = f_.operands(def);
    std::vector<ValueId> operands(x.begin(), x.end());
    if (inst.op == Op::Select && operands[0] == mask) return same_in_all(operands[1], mask, depth - 1, made);
    const OpInfo& op = info(inst.op);
    if (!op.is(kPure) || inst.num_results != 1 || operands.empty()) return {};
    for (unsigned n = 0; n < operands.size(); ++n) {
      if (op.reads_whole(n)) return {};
      operands[n] = same_in_all(operands[n], mask, depth - 1, made);
      if (!operands[n].valid()) return {};
    }
    const Type t = f_.type(v);
    made.push_back(f_.make(inst, operands, {&t, 1}));
    return f_.result(made.back());
  }

  /// any(x) is c where x is m & splat c, and not c where it is m & ~splat c, and m has lanes. The way on
  /// which it has some, x is m.
  void leave_out_mask(BlockId b, InstId branch) {
    const ValueId tested = f_.tested_mask(b);
    if (!tested.valid()) return;
    Parts parts;
    collect(tested, b, kMaxDepth, parts);
    for (const ValueId splat : parts.splats)
      for (const ValueId lanes : parts.with_lanes)
        for (const bool inverted : {false, true}) {
          if (!is_restriction(tested, lanes, splat, inverted, b)) continue;
          f_.operands(branch)[0] = f_.operands(f_.def_id(splat))[0];
          f_[branch].imm = 0; // Nobody decides any more.
          if (inverted) std::swap(f_[b].successors[0], f_[b].successors[1]);
          std::ranges::replace(f_[b].successors[inverted ? 1 : 0].args, tested, lanes);
          return;
        }
  }

  /// What a mask is made of: splats of scalars, and masks known to have lanes.
  struct Parts {
    std::vector<ValueId> splats, with_lanes;
  };
  void collect(ValueId v, BlockId at, unsigned depth, Parts& parts) const {
    if (known(v, at) == true) parts.with_lanes.push_back(v);
    const InstId def = f_.def_id(v);
    if (!def.valid()) return;
    const Op op = f_[def].op;
    if (op == Op::Splat) parts.splats.push_back(v);
    if (depth != 0 && (op == Op::And || op == Op::AndNot || op == Op::Or || op == Op::Not || op == Op::Xor))
      for (const ValueId x : f_.operands(def)) collect(x, at, depth - 1, parts);
  }

  /// x is m & splat, or m & ~splat.
  bool is_restriction(ValueId x, ValueId m, ValueId splat, bool inverted, BlockId at) {
    if (!mask_facts_) mask_facts_.emplace(f_, cfg_, dom_);
    Bdd& bdd = mask_facts_->bdd();
    const auto lanes = [&](ValueId v) { return mask_facts_->lanes(v); };
    const Bdd::Node restricted =
        inverted ? bdd.andnot(lanes(m), lanes(splat)) : bdd.and_(lanes(m), lanes(splat));
    return mask_facts_->is_empty(bdd.xor_(lanes(x), restricted), at) && !bdd.overflowed();
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
