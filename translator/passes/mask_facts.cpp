#include "translator/passes/mask_facts.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {
constexpr unsigned kMaxDepth = 12, kBudget = 400;
}

bool MaskFacts::implies(ValueId a, ValueId b) const {
  if (a == b) return true;
  const u64 key = u64{a.index} << 32 | b.index;
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  assumed_.clear();
  budget_ = kBudget;
  return known_[key] = implies(a, b, 0);
}

bool MaskFacts::implies(ValueId a, ValueId b, unsigned depth) const {
  if (a == b) return true;
  if (depth > kMaxDepth || budget_ == 0) return false;
  --budget_;
  u64 ca = 0, cb = 0;
  const bool const_a = f_.is_const(a, &ca), const_b = f_.is_const(b, &cb);
  if ((const_a && ca == 0) || (const_b && cb == ~u64{0})) return true;
  if (const_a && const_b) return (ca & ~cb) == 0;
  const InstId ia = f_.def_id(a), ib = f_.def_id(b);
  if (ia.valid()) {
    const auto x = f_.operands(ia);
    switch (f_[ia].op) {
    case Op::And:
      if (implies(x[0], b, depth + 1) || implies(x[1], b, depth + 1)) return true;
      break;
    case Op::AndNot:
      if (implies(x[0], b, depth + 1)) return true;
      break;
    case Op::Or:
      if (implies(x[0], b, depth + 1) && implies(x[1], b, depth + 1)) return true;
      break;
    case Op::Select:
      if (implies(x[1], b, depth + 1) && implies(x[2], b, depth + 1)) return true;
      break;
    default: break;
    }
  }
  if (ib.valid()) {
    const auto y = f_.operands(ib);
    if (f_[ib].op == Op::Or && (implies(a, y[0], depth + 1) || implies(a, y[1], depth + 1))) return true;
    if (f_[ib].op == Op::And && implies(a, y[0], depth + 1) && implies(a, y[1], depth + 1)) return true;
  }
  if (ia.valid()) return false;
  // A parameter: assume it holds and prove it for every argument. `b` must be the same mask on every way in,
  // so it is defined before the block and not inside the cycle: its block dominates the parameter's and is
  // another one.
  if (std::find(assumed_.begin(), assumed_.end(), std::pair{a, b}) != assumed_.end()) return true;
  const BlockId block = f_.def_block(a), other = f_.def_block(b);
  if (!const_b && (other == block || cfg_.rpo_index[other.index] >= cfg_.rpo_index[block.index]))
    return false;
  const std::size_t mark = assumed_.size();
  assumed_.emplace_back(a, b);
  const u32 index = f_[a].index;
  bool proved = true;
  for (const BlockId p : cfg_.preds[block.index])
    for (const Successor& s : f_[p].successors)
      if (proved && s.block == block) proved = implies(s.args[index], b, depth + 1);
  if (!proved) assumed_.resize(mark); // What was proved meanwhile rested on this assumption.
  return proved;
}

bool MaskFacts::disjoint(ValueId a, ValueId b) const {
  const auto excludes = [&](ValueId x, ValueId y) { // x = p & ~q with y inside q, or x = ~q
    for (unsigned depth = 0; depth < kMaxDepth; ++depth) {
      const InstId i = f_.def_id(x);
      if (!i.valid()) return false;
      const auto o = f_.operands(i);
      if (f_[i].op == Op::Not) return implies(y, o[0]);
      if (f_[i].op == Op::AndNot && implies(y, o[1])) return true;
      if (f_[i].op != Op::AndNot && f_[i].op != Op::And) return false;
      if (f_[i].op == Op::And)
        if (const Inst* n = f_.def(o[1]);
            n != nullptr && n->op == Op::Not && implies(y, f_.operands(f_.def_id(o[1]))[0]))
          return true;
      x = o[0];
    }
    return false;
  };
  u64 c = 1;
  return (f_.is_const(a, &c) && c == 0) || (f_.is_const(b, &c) && c == 0) || excludes(a, b) || excludes(b, a);
}

} // namespace lanewise::passes
