#include "translator/phases/empty_round.hpp"

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of what is looked through

} // namespace

bool EmptyRound::is_empty(ValueId mask, unsigned depth) const {
  if (mask == mask_) return true;
  const InstId i = f_.def_id(mask);
  if (depth > kMaxDepth || !is_inside(mask) || !i.valid()) return false;
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::And: return is_empty(x[0], depth + 1) || is_empty(x[1], depth + 1);
  case Op::AndNot: return is_empty(x[0], depth + 1);
  case Op::Or: return is_empty(x[0], depth + 1) && is_empty(x[1], depth + 1);
  default: return false;
  }
}

ValueId EmptyRound::as_before(ValueId v, unsigned depth) const {
  if (!is_inside(v) || (is_param(v) && is_per_lane(f_.type(v)))) return v;
  if (depth > kMaxDepth) return {};
  const InstId i = f_.def_id(v);
  if (!i.valid()) return at_join(v, depth);
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::Select: return is_empty(x[0]) ? as_before(x[2], depth + 1) : ValueId{};
  case Op::Lo:
  case Op::Hi: { // Of what is selected and joined.
    InstId whole = f_.def_id(x[0]);
    while (whole.valid() && f_[whole].op == Op::Select && is_empty(f_.operands(whole)[0]))
      whole = f_.def_id(f_.operands(whole)[2]);
    if (!whole.valid() || f_[whole].op != Op::Join) return {};
    return as_before(f_.operands(whole)[f_[i].op == Op::Lo ? 0 : 1], depth + 1);
  }
  case Op::Or:
    for (const unsigned n : {0u, 1u})
      if (f_.type(v) == Type::Mask && is_empty(x[n])) return as_before(x[1 - n], depth + 1);
    return {};
  case Op::AndNot: return f_.type(v) == Type::Mask && is_empty(x[1]) ? as_before(x[0], depth + 1) : ValueId{};
  default: return {};
  }
}

ValueId EmptyRound::at_join(ValueId param, unsigned depth) const {
  ValueId same;
  const BlockId b = f_.def_block(param);
  if (b == loop_.header()) return {};
  for (const BlockId p : cfg_.preds[b.index])
    for (const Successor& s : f_[p].successors) {
      if (s.block != b) continue;
      const ValueId before = as_before(s.args[f_[param].index], depth + 1);
      if (!before.valid() || (same.valid() && same != before)) return {};
      same = before;
    }
  return same;
}

} // namespace lanewise::phases
