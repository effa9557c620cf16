#include "translator/phases/empty_round.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 64; ///< of what is looked through: a switch has a join for each case

} // namespace

ValueId EmptyRound::as_before(ValueId v, unsigned depth) const {
  if (!is_inside(v) || (is_param(v) && is_per_lane(f_.type(v)))) return v;
  if (depth > kMaxDepth) return {};
  if (const auto it = known_.find(v.index); it != known_.end()) return it->second;
  const unsigned assumed = assumed_;
  const ValueId before = find(v, depth);
  if (assumed == assumed_ || joining_.empty()) known_[v.index] = before;
  return before;
}

ValueId EmptyRound::find(ValueId v, unsigned depth) const {
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

/// Round inner loops, parameters that are being looked through are what the others say.
ValueId EmptyRound::at_join(ValueId param, unsigned depth) const {
  ValueId same, around;
  const BlockId b = f_.def_block(param);
  const auto is_joining = [&](ValueId v) { return std::ranges::find(joining_, v) != joining_.end(); };
  if (b == loop_.header()) return {};
  if (is_joining(param)) {
    ++assumed_;
    return param;
  }
  joining_.push_back(param);
  bool agree = true;
  for (const BlockId p : cfg_.preds[b.index])
    for (const Successor& s : f_[p].successors) {
      if (s.block != b || !agree) continue;
      const ValueId before = as_before(s.args[f_[param].index], depth + 1);
      ValueId& known = before.valid() && is_joining(before) ? around : same;
      agree = before.valid() && (&known == &around || !same.valid() || same == before);
      if (before != param) known = before;
    }
  joining_.pop_back();
  return !agree ? ValueId{} : same.valid() ? same : around;
}

} // namespace lanewise::phases
