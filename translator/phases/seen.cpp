#include "translator/phases/seen.hpp"

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxSteps = 2000, kMaxDepth = 200;
constexpr std::size_t kMaxOperands = 8; ///< pure ops have no more

Symbol meet(Symbol a, Symbol b) { return a == kTop || a == b ? b : b == kTop ? a : kConflict; }

/// These bits, as a value of 32 bits.
Symbol bits_symbol(u64 bits) { return u64{1} << 59 | (bits & 0xffff'ffffu); }

/// The half of what has symbol `whole`: no expression, even if that is one.
Symbol half_symbol(Symbol whole, unsigned half) {
  const u64 is_expression = whole >> 63;
  return (whole & ~u64{0} >> 1) | is_expression << 58 | u64{half + 1} << 56;
}

} // namespace

Symbol Seen::join_argument(u32 index, unsigned half) {
  const ValueId param = k_.f[side_.join()].params[index];
  Symbol all = kTop;
  for (const Side::Way& e : side_.ways_to_join())
    all = meet(all,
               ask_at_end(e, e.edge->args[index], half, demand_.on_edge(e.from, e.successor, param, half)));
  return all;
}

Symbol Seen::at_join(ValueId v, unsigned half, Lanes lanes) {
  Symbol all = kTop;
  for (const Side::Way& e : side_.ways_to_join())
    all = meet(all, ask_at_end(e, v, half, demand_.before_edge(lanes, e.from, e.successor)));
  return all;
}

/// What comes to J that way; nothing if the ways up to the branch say that nobody can look at it.
Symbol Seen::ask_at_end(const Side::Way& way, ValueId v, unsigned half, Lanes lanes) {
  const Lanes left = side_.without_mask(lanes, way.context, way.from);
  if (demand_.is_nobody(left, way.from)) return kTop;
  return ask({{way.context, way.from}, v, half, left});
}

/// What Side has found out, in all of the gang's lanes.
Symbol Seen::itself(const Question& q) const {
  const Symbol s = side_.symbol(q.at.context, q.v);
  if (s == kTop) return kConflict;
  return k_.f.type(q.v) == Type::V64 ? half_symbol(s, q.half) : s;
}

/// An answer that rests on a question still open holds for that one's time only.
Symbol Seen::ask(const Question& asked) {
  Question q = asked;
  q.lanes = side_.without_mask(q.lanes, q.at.context, q.at.block);
  if (q.lanes == passes::Bdd::kFalse) return kTop;
  if (++steps_ > kMaxSteps || depth_ > kMaxDepth) return kConflict;
  const std::array<u32, 4> key = {q.at.context, 2 * q.v.index + q.half, q.lanes, q.at.block.index};
  const auto [at, is_new] = answers_.try_emplace(key);
  if (!is_new) {
    if (at->second.depth != 0) rests_on_ = std::min(rests_on_, at->second.depth);
    return at->second.symbol;
  }
  const unsigned rested_on = std::exchange(rests_on_, kNone), depth = ++depth_;
  at->second.depth = depth;
  const Symbol s = find(q);
  --depth_;
  if (rests_on_ >= depth) {
    rests_on_ = kNone;
    at->second = {s, 0};
  } else {
    answers_.erase(at);
  }
  rests_on_ = std::min(rests_on_, rested_on);
  return s;
}

Symbol Seen::find(const Question& q) {
  u64 bits = 0;
  if (k_.f.type(q.v) != Type::Mask && is_per_lane(k_.f.type(q.v)) && k_.f.is_const(q.v, &bits))
    return bits_symbol(q.half == 0 ? bits : bits >> 32);
  if (k_.f.type(q.v) == Type::Mask) {
    if (demand_.is_inside(q.lanes, q.v, q.at.block)) return kFull;
    if (demand_.is_outside(q.lanes, q.v, q.at.block)) return kEmpty;
  }
  const InstId i = k_.f.def_id(q.v);
  if (!i.valid()) return of_parameter(q);
  if (!is_per_lane(k_.f.type(q.v))) return itself(q);
  const auto x = k_.f.operands(i);
  switch (k_.f[i].op) {
  case Op::Lo: return operand(q, x[0], 0);
  case Op::Hi: return operand(q, x[0], 1);
  case Op::Join: return operand(q, x[q.half]);
  case Op::ZExt: return q.half == 0 ? operand(q, x[0]) : bits_symbol(0);
  case Op::Select:
    if (k_.f.type(x[0]) != Type::Mask) break;
    if (demand_.is_outside(q.lanes, x[0], q.at.block) || side_.is_empty(q.at.context, x[0]))
      return operand(q, x[2], q.half);
    if (demand_.is_inside(q.lanes, x[0], q.at.block)) return operand(q, x[1], q.half);
    break;
  case Op::And:
  case Op::AndNot:
  case Op::Or:
    if (k_.f.type(q.v) == Type::Mask) return of_mask(q, i);
    break;
  default: break;
  }
  return of_operands(q, i);
}

/// Of two masks, the one that decides in these lanes.
Symbol Seen::of_mask(const Question& q, InstId i) {
  const auto x = k_.f.operands(i);
  const auto all = [&](ValueId m) { return demand_.is_inside(q.lanes, m, q.at.block); };
  const auto none = [&](ValueId m) { return demand_.is_outside(q.lanes, m, q.at.block); };
  const auto leaves_other = [&](ValueId m) { return k_.f[i].op == Op::And ? all(m) : none(m); };
  if (leaves_other(x[1])) return operand(q, x[0]);
  return k_.f[i].op != Op::AndNot && leaves_other(x[0]) ? operand(q, x[1]) : of_operands(q, i);
}

/// What all ways in bring. A question that is asked again on the way has the answer that the others give:
/// what goes round a loop unchanged is what came in.
Symbol Seen::of_parameter(const Question& q) {
  const BlockId b = k_.f.def_block(q.v);
  const u32 index = k_.f[q.v].index;
  if (side_.is_old(q.at.context, b)) return itself(q);
  Symbol all = kTop;
  bool any = false;
  const auto from = [&](const Side::Way& way) {
    any = true;
    const Lanes lanes = demand_.before_edge(q.lanes, way.from, way.successor);
    all = meet(all, ask({{way.context, way.from}, way.edge->args[index], q.half, lanes}));
  };
  side_.for_each_way_in(q.at.context, b, from);
  return !any || all == kConflict ? itself(q) : all;
}

/// The same of the same; what is of the past is not taken apart further than it has selects.
Symbol Seen::of_operands(const Question& q, InstId i) {
  const Inst& inst = k_.f[i];
  const bool is_select = inst.op == Op::Select;
  if (!info(inst.op).is(kPure) || inst.num_results != 1) return itself(q);
  if (!is_select && side_.is_old(q.at.context, inst.block)) return itself(q);
  const auto x = k_.f.operands(i);
  std::array<Symbol, kMaxOperands> symbols;
  if (x.size() > kMaxOperands) return itself(q);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const bool is_wide = k_.f.type(x[n]) == Type::V64;
    if (info(inst.op).reads_whole(static_cast<unsigned>(n)) || (is_wide && !is_select)) return itself(q);
    const unsigned rests_on = std::exchange(rests_on_, kNone);
    symbols[n] = operand(q, x[n], is_wide ? q.half : 0);
    const bool is_open = rests_on_ != kNone;
    rests_on_ = std::min(rests_on_, rests_on);
    if (is_open || symbols[n] == kTop || symbols[n] == kConflict) return itself(q);
  }
  if (!is_select && k_.f.type(q.v) == Type::V64) return itself(q);
  return symbols_.expression(i, 0, std::span(symbols).first(x.size()));
}

} // namespace lanewise::phases
