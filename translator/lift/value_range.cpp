#include "translator/lift/value_range.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lanewise::lift {

using ir::BlockId;
using ir::InstId;
using ir::IntPred;
using ir::Op;
using ir::Type;
using ir::ValueId;

namespace {

constexpr std::size_t kMaxValues = 4096;

Range unite(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// The tighter bounds; those of `a` if no value has both.
Range intersect(Range a, Range b) {
  const Range both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

/// [low, high] if that fits into 32 bits, else everything.
Range bounded(u64 low, u64 high) {
  return high <= ~0u ? Range{static_cast<u32>(low), static_cast<u32>(high)} : Range{};
}

/// All ones up to the highest bit of `v`.
u32 ones_up_to(u32 v) { return v == 0 ? 0 : ~0u >> std::countl_zero(v); }

IntPred negated(IntPred p) {
  constexpr IntPred kNegated[] = {IntPred::Ne,  IntPred::Eq,  IntPred::UGe, IntPred::UGt, IntPred::ULe,
                                  IntPred::ULt, IntPred::SGe, IntPred::SGt, IntPred::SLe, IntPred::SLt};
  return kNegated[static_cast<unsigned>(p)];
}

} // namespace

ValueRanges::ValueRanges(const ir::Function& f) : f_(f), cfg_(f), dom_(f, cfg_) {}

Range ValueRanges::of(ValueId v) {
  if (f_.type(v) != Type::U32 && f_.type(v) != Type::V32) return {};
  Ranges& known = assumed_.empty() ? known_ : known_there_;
  if (const auto it = known.find(v.index); it != known.end()) return it->second;
  if (known.size() > kMaxValues) return {};
  known[v.index] = {};
  Range found = find(v);
  if (const auto it = assumed_.find(v.index); it != assumed_.end()) found = intersect(found, it->second);
  known[v.index] = found;
  return found;
}

Range ValueRanges::of(ValueId v, BlockId at) {
  for (BlockId b = at; dom_.idom[b.index].valid() && dom_.idom[b.index] != b; b = dom_.idom[b.index])
    if (const auto& preds = cfg_.preds[b.index]; preds.size() == 1)
      if (const auto test = test_before(preds[0], b)) {
        const Range range = passing(*test);
        const auto [it, is_new] = assumed_.try_emplace(test->value.index, range);
        if (!is_new) it->second = intersect(it->second, range);
        known_there_.clear();
      }
  const Range found = of(v);
  assumed_.clear();
  known_there_.clear();
  return found;
}

Range ValueRanges::find(ValueId v) {
  if (const InstId i = f_.def_id(v); i.valid()) return find(i);
  if (assumed_.empty()) return of_parameter(v);
  // What comes to a parameter may be from an earlier round, of which the branches on the way say nothing.
  const Ranges assumed = std::exchange(assumed_, {});
  const Range found = of(v);
  assumed_ = assumed;
  return found;
}

/// The comparison with a constant that leads from `block` to `next`.
std::optional<ValueRanges::Test> ValueRanges::test_before(BlockId block, BlockId next) const {
  const InstId end = f_.terminator(block);
  if (f_[end].op != Op::Branch) return std::nullopt;
  const auto& successors = f_[block].successors;
  if (successors[0].block == successors[1].block) return std::nullopt;
  bool holds = successors[0].block == next;
  ValueId condition = f_.operands(end)[0];
  while (f_.def(condition) != nullptr && f_.def(condition)->op == Op::Not) {
    condition = f_.operands(f_.def_id(condition))[0];
    holds = !holds;
  }
  const ir::Inst* compare = f_.def(condition);
  if (compare == nullptr || compare->op != Op::ICmp) return std::nullopt;
  const auto x = f_.operands(f_.def_id(condition));
  u64 limit = 0;
  if (f_.type(x[0]) != Type::U32 || !f_.is_const(x[1], &limit)) return std::nullopt;
  const auto pred = static_cast<IntPred>(compare->imm);
  return Test{x[0], holds ? pred : negated(pred), static_cast<u32>(limit)};
}

/// The bounds of `v` where `block` goes on to `next`.
Range ValueRanges::on_way(BlockId block, BlockId next, ValueId v) {
  const Range found = of(v);
  const auto test = test_before(block, next);
  return test && test->value == v ? intersect(found, passing(*test)) : found;
}

/// What passes the test, or more.
Range ValueRanges::passing(const Test& test) {
  constexpr u32 kMaxPositive = 0x7fff'ffff;
  const u32 limit = test.limit;
  const bool is_signed = test.pred == IntPred::SLt || test.pred == IntPred::SLe ||
                         test.pred == IntPred::SGt || test.pred == IntPred::SGe;
  if (is_signed && (limit > kMaxPositive || of(test.value).high > kMaxPositive)) return {};
  switch (test.pred) {
  case IntPred::Eq: return {limit, limit};
  case IntPred::ULt:
  case IntPred::SLt: return limit == 0 ? Range{} : Range{0, limit - 1};
  case IntPred::ULe:
  case IntPred::SLe: return {0, limit};
  case IntPred::UGt:
  case IntPred::SGt: return limit == ~0u ? Range{} : Range{limit + 1, ~0u};
  case IntPred::UGe:
  case IntPred::SGe: return {limit, ~0u};
  default: return {};
  }
}

Range ValueRanges::find(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const auto operand = [&](unsigned n) { return of(x[n]); };
  switch (inst.op) {
  case Op::Const: return {static_cast<u32>(inst.imm), static_cast<u32>(inst.imm)};
  case Op::LaneId: return {0, kWaveSize - 1};
  case Op::Splat:
  case Op::ReadLane:
  case Op::ReadFirst: return operand(0);
  case Op::ZExt: return {0, 1}; // 32 bits come of one.
  case Op::And: return {0, std::min(operand(0).high, operand(1).high)};
  case Op::Or:
  case Op::Xor: return {0, ones_up_to(operand(0).high | operand(1).high)};
  case Op::UMin:
    return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
  case Op::UMax:
    return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
  case Op::Select: return unite(operand(1), operand(2));
  case Op::PopCount:
  case Op::CountLz:
  case Op::CountTz: return {0, 64};
  case Op::Add: {
    const Range a = operand(0), b = operand(1);
    return bounded(u64{a.low} + b.low, u64{a.high} + b.high);
  }
  case Op::Sub: {
    const Range a = operand(0), b = operand(1);
    return a.low >= b.high ? Range{a.low - b.high, a.high - b.low} : Range{};
  }
  case Op::Mul: {
    const Range a = operand(0), b = operand(1);
    return bounded(u64{a.low} * b.low, u64{a.high} * b.high);
  }
  case Op::Shl:
  case Op::LShr: {
    const Range a = operand(0), n = operand(1);
    if (n.low != n.high) return {};
    const u32 count = n.low & 31;
    return inst.op == Op::LShr ? Range{a.low >> count, a.high >> count}
                               : bounded(u64{a.low} << count, u64{a.high} << count);
  }
  default: return {};
  }
}

Range ValueRanges::of_parameter(ValueId v) {
  const BlockId header = f_.def_block(v);
  const u32 index = f_[v].index;
  Range all{~0u, 0};
  bool any = false;
  for (const BlockId p : cfg_.preds[header.index]) {
    if (dom_.dominates(header, p)) continue;
    for (const ir::Successor& s : f_[p].successors)
      if (s.block == header) {
        all = unite(all, on_way(p, s.block, s.args[index]));
        any = true;
      }
  }
  if (!any) return {};
  const Range start = all;
  unsigned ways_back = 0;
  for (const BlockId p : cfg_.preds[header.index]) {
    if (!dom_.dominates(header, p)) continue;
    for (const ir::Successor& s : f_[p].successors) {
      if (s.block != header || s.args[index] == v) continue;
      Range next;
      if (++ways_back > 1) return {}; // Two steps can pass a limit that each alone would meet.
      if (!of_next(p, header, v, s.args[index], start, &next)) next = on_way(p, header, s.args[index]);
      all = unite(all, next);
    }
  }
  return all;
}

/// The bounds of `next`, which is `counter` plus a constant, where `latch` goes back to `header`.
bool ValueRanges::of_next(BlockId latch, BlockId header, ValueId counter, ValueId next, Range start,
                          Range* out) {
  u64 step = 0;
  const ir::Inst* add = f_.def(next);
  if (add == nullptr || add->op != Op::Add) return false;
  const auto x = f_.operands(f_.def_id(next));
  const unsigned constant = x[0] == counter ? 1 : 0;
  if (x[1 - constant] != counter || !f_.is_const(x[constant], &step) || step == 0 || step > 0x1'0000)
    return false;
  const auto test = test_before(latch, header);
  if (!test) return false;
  const bool tests_next = test->value == next;
  const u64 limit = test->limit;
  if ((!tests_next && test->value != counter) || limit > 0x7fff'0000) return false;
  const u64 slack = tests_next ? 0 : step; // `next` is that much more than what is tested.
  u64 high = 0;
  switch (test->pred) {
  case IntPred::ULt:
  case IntPred::SLt:
    if (limit == 0) return false;
    high = limit - 1 + slack;
    break;
  case IntPred::ULe:
  case IntPred::SLe: high = limit + slack; break;
  case IntPred::Ne: {
    // Comes out exactly at the limit, having started below it.
    const u64 first = u64{start.low} + (tests_next ? step : 0);
    if (start.low != start.high || first > limit || (limit - first) % step != 0) return false;
    high = limit - step + slack;
    break;
  }
  default: return false;
  }
  // Nothing wraps on the way: a step from at most `high` stays below 2^31.
  if (std::max<u64>(high, start.high) + step > 0x7fff'ffff) return false;
  *out = {start.low, static_cast<u32>(std::max<u64>(high, start.low))};
  return true;
}

} // namespace lanewise::lift
