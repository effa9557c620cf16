// Unoptimised code counts in vectors: what starts as the same number in all lanes, and goes on by the same
// from round to round, becomes a scalar. Then so do comparisons with what is the same in all lanes, and loops
// are those that a scalar counts, which other passes look for.
//
// A scalar is one for all gangs, but gangs go different ways, and what they come by on the way may be right
// for the lanes that look at it only. So that is for loops that gangs do not leave one by one, and not for
// what is chosen where ways meet.
#include "translator/ir/cfg.hpp"
#include "translator/passes/gang_scalars.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 6; ///< of the arithmetic between two rounds

class CounterScalarizer {
public:
  explicit CounterScalarizer(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  /// Whether there were any.
  bool run() {
    if (loops_.irreducible) return false;
    for (const Loops::Loop& loop : loops_.loops)
      for (const ValueId p : f_[loop.header].params)
        if (f_.type(p) == Type::V32) scalars_.emplace(p.index, ValueId{});
    for (bool changed = !scalars_.empty(); changed;) { // optimistically: all are, until something says no
      const std::size_t before = scalars_.size();
      for (u32 l = 0; l < loops_.loops.size(); ++l)
        if (gangs_leave_one_by_one(static_cast<i32>(l)))
          for (const ValueId p : f_[loops_.loops[l].header].params) scalars_.erase(p.index);
      for (const BlockId from : cfg_.rpo)
        for (const Successor& edge : f_[from].successors)
          for (std::size_t n = 0; n < edge.args.size(); ++n)
            if (const ValueId p = f_[edge.block].params[n];
                scalars_.contains(p.index) && !is_scalar(edge.args[n]))
              scalars_.erase(p.index);
      changed = scalars_.size() != before;
    }
    if (scalars_.empty()) return false;
    rewrite();
    return true;
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::unordered_map<u32, ValueId> scalars_; ///< by parameter: what takes its place, once it is there

  /// `v` is the same in all lanes by the way it is made.
  [[nodiscard]] bool is_scalar(ValueId v, unsigned depth = 0) const {
    if (f_.type(v) != Type::V32) return false;
    if (f_.is_const(v) || scalars_.contains(v.index)) return true;
    const Inst* def = f_.def(v);
    if (def == nullptr || depth == kMaxDepth) return false;
    if (def->op == Op::Splat) return true;
    return is_address_arithmetic(def->op) &&
           std::ranges::all_of(f_.operands(f_.def_id(v)), [&](ValueId x) { return is_scalar(x, depth + 1); });
  }

  /// Some way out of the loop is a gang's own decision, on what is not the same in all lanes.
  [[nodiscard]] bool gangs_leave_one_by_one(i32 loop) const {
    return std::ranges::any_of(loops_.loops[static_cast<u32>(loop)].blocks, [&](BlockId b) {
      return phases::is_gang_decided(f_, b) && !is_scalar_comparison(f_.tested_mask(b)) &&
             std::ranges::any_of(f_[b].successors,
                                 [&](const Successor& s) { return !loops_.contains(loop, s.block); });
    });
  }
  [[nodiscard]] bool is_scalar_comparison(ValueId mask) const {
    const Inst* def = f_.def(mask);
    return def != nullptr && def->op == Op::ICmp &&
           std::ranges::all_of(f_.operands(f_.def_id(mask)), [&](ValueId x) { return is_scalar(x); });
  }

  /// It as a scalar, at the end of `b`.
  ValueId scalar(ValueId v, BlockId b) {
    if (const auto p = scalars_.find(v.index); p != scalars_.end()) return p->second;
    const Inst def = *f_.def(v);
    if (def.op == Op::Splat) return f_.operands(f_.def_id(v))[0];
    std::vector<ValueId> operands;
    const std::size_t count = f_.operands(f_.def_id(v)).size();
    for (std::size_t n = 0; n < count; ++n) operands.push_back(scalar(f_.operands(f_.def_id(v))[n], b));
    Inst proto;
    proto.op = def.op;
    proto.imm = def.imm;
    const Type t = Type::U32;
    return f_.result(f_.insert_before_end(b, proto, operands, {&t, 1}));
  }

  void rewrite() {
    struct Param {
      BlockId block;
      u32 place;
      ValueId old;
    };
    std::vector<Param> params;
    for (const BlockId b : cfg_.rpo)
      for (u32 n = 0; n < f_[b].params.size(); ++n)
        if (scalars_.contains(f_[b].params[n].index)) params.push_back({b, n, f_[b].params[n]});
    for (const Param& p : params) scalars_[p.old.index] = f_.add_param(p.block, Type::U32);
    for (const BlockId from : cfg_.rpo)
      for (std::size_t s = 0; s < f_[from].successors.size(); ++s)
        for (const Param& p : params) {
          if (f_[from].successors[s].block != p.block) continue;
          const ValueId arg = scalar(f_[from].successors[s].args[p.place], from);
          f_[from].successors[s].args.push_back(arg);
        }
    std::vector<ValueId> map(f_.num_values());
    for (const Param& p : params) {
      Inst proto;
      proto.op = Op::Splat;
      const Type t = Type::V32;
      const ValueId q = scalars_[p.old.index];
      const ValueId splat = f_.result(f_.insert_first(p.block, proto, {&q, 1}, {&t, 1}));
      map[p.old.index] = splat;
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
  }
};

} // namespace

bool scalarize_counters(Function& f) { return CounterScalarizer(f).run(); }

} // namespace lanewise::passes
