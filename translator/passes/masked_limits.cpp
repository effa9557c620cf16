#include "translator/passes/masked_limits.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxSelects = 8, kMaxVisits = 200;
constexpr unsigned kNarrowings = 3;
constexpr unsigned kMaxWaysBack = 24;
constexpr Range kAnything = kAnyNumber;
constexpr i64 kLeast = kAnything.min, kMost = kAnything.max;

Range either(const Range& a, const Range& b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

std::optional<Range> either(const std::optional<Range>& a, const std::optional<Range>& b) {
  return a && b ? either(*a, *b) : a ? a : b;
}

bool is_inside(const Range& a, const Range& b) { return a.min >= b.min && a.max <= b.max; }

/// What may wrap may be anything.
Range fits(const Range& r) { return is_inside(r, kAnything) ? r : kAnything; }

std::optional<Range> add(const std::optional<Range>& a, const std::optional<Range>& b) {
  Range r;
  if (!a || !b || __builtin_add_overflow(a->min, b->min, &r.min) ||
      __builtin_add_overflow(a->max, b->max, &r.max))
    return std::nullopt;
  return r;
}

std::optional<Range> times(const std::optional<Range>& a, i64 n) {
  Range r;
  if (!a || __builtin_mul_overflow(a->min, n, &r.min) || __builtin_mul_overflow(a->max, n, &r.max))
    return std::nullopt;
  return n < 0 ? Range{r.max, r.min} : r;
}

std::optional<Range> negative(const std::optional<Range>& a) { return times(a, -1); }

Range product(const Range& a, const Range& b) {
  const auto [min, max] = std::minmax({a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max});
  return {min, max};
}

} // namespace

MaskedLimits::MaskedLimits(const Function& f) : f_(f), masks_(f), limits_(f) {
  std::vector<std::pair<u32, Argument>> arguments;
  for (const BlockId b : masks_.cfg.rpo) {
    for (const InstId i : f[b].insts) {
      if (f[i].op != Op::ICmp || !is_vector(f.type(f.operands(i)[0]))) continue;
      const auto x = f.operands(i);
      const auto p = static_cast<IntPred>(f[i].imm);
      note_comparison(i);
      if (f.type(x[0]) != Type::V32) continue;
      note(x[0], {f.result(i), p, x[1], {}});
      note(x[1], {f.result(i), swapped(p), x[0], {}});
    }
    for (u32 way = 0; way < f[b].successors.size(); ++way) {
      const Successor& s = f[b].successors[way];
      for (std::size_t n = 0; n < s.args.size(); ++n)
        if (f.type(s.args[n]) != Type::Mask)
          arguments.emplace_back(f[s.block].params[n].index, Argument{s.args[n], b, way});
    }
  }
  arguments_ = Lists<Argument>(f.num_values(), arguments);
}

/// A register that was written under EXEC is, in those lanes, what was written.
void MaskedLimits::note(ValueId v, Bound bound) {
  if (f_.is_const(v)) return;
  bounds_[v.index].push_back(bound);
  for (unsigned n = 0; n < kMaxSelects; ++n) {
    const Inst* inst = f_.def(v);
    if (inst == nullptr || inst->op != Op::Select) return;
    const auto x = f_.operands(f_.def_id(v));
    if (f_.type(x[0]) != Type::Mask) return;
    bound.within.push_back(x[0]);
    v = x[1];
    bounds_[v.index].push_back(bound);
  }
}

bool MaskedLimits::are_inside(Lanes lanes, ValueId mask) const {
  if (are_inside_here(lanes, mask)) return true;
  const auto before = before_loop(mask, lanes);
  return before && are_inside(*before, mask);
}

bool MaskedLimits::are_inside_here(Lanes lanes, ValueId mask) const {
  const MaskFacts& facts = masks_.facts;
  return facts.is_subset(lanes.set, facts.lanes(mask), lanes.at);
}

bool MaskedLimits::are_outside(Lanes lanes, ValueId mask) const {
  const MaskFacts& facts = masks_.facts;
  return facts.is_subset(lanes.set, facts.bdd().not_(facts.lanes(mask)), lanes.at);
}

ValueId MaskedLimits::seen(ValueId v, Lanes lanes) const {
  for (const Inst* inst = f_.def(v); inst != nullptr && inst->op == Op::Select; inst = f_.def(v)) {
    const auto x = f_.operands(f_.def_id(v));
    if (f_.type(x[0]) != Type::Mask) break;
    if (are_inside(lanes, x[0]))
      v = x[1];
    else if (are_outside(lanes, x[0]))
      v = x[2];
    else
      break;
  }
  return v;
}

template <class F>
void MaskedLimits::for_each_bound(ValueId v, Lanes lanes, F use) const {
  const auto known = bounds_.find(v.index);
  if (known == bounds_.end() || lanes.set == Bdd::kTrue) return;
  const MaskFacts& facts = masks_.facts;
  Bdd& bdd = facts.bdd();
  const auto set = lanes.set;
  for (const Bound& b : known->second) {
    if (!masks_.dom.dominates(f_.def_block(b.other), lanes.at)) continue; // not what it was compared with
    if (!std::ranges::all_of(b.within, [&](ValueId m) { return are_inside(lanes, m); })) continue;
    if (facts.is_subset(set, facts.lanes(b.comparison), lanes.at))
      use(b.p, b.other);
    else if (facts.is_subset(set, bdd.not_(facts.lanes(b.comparison)), lanes.at))
      use(inverse(b.p), b.other);
  }
}

std::optional<Range> MaskedLimits::sum(ValueId v, Lanes lanes, unsigned depth) const {
  v = seen(v, lanes);
  const bool is_wide = bit_width(f_.type(v)) == 64;
  u64 bits = 0;
  if (f_.is_const(v, &bits)) {
    const i64 n = signed_constant(f_.type(v), bits);
    return Range{n, n};
  }
  const Inst* inst = f_.def(v);
  if (inst != nullptr && depth < kMaxDepth && ++visits_ < kMaxVisits && ++all_visits_ < kMaxAllVisits) {
    const auto x = f_.operands(f_.def_id(v));
    const auto of = [&](unsigned n) { return sum(x[n], lanes, depth + 1); };
    switch (inst->op) {
    case Op::Add: return add(of(0), of(1));
    case Op::Not: return add(Range{-1, -1}, negative(of(0)));
    case Op::Splat: return of(0);
    case Op::Sub:
      if (!is_wide) break;
      return add(of(0), negative(of(1)));
    case Op::Shl:
      if (!f_.is_const(x[1], &bits)) break;
      return times(of(0), i64{1} << std::min<u64>(bits % bit_width(f_.type(v)), 62));
    case Op::Mul:
      for (const unsigned n : {0u, 1u})
        if (f_.is_const(x[n], &bits)) return times(of(1 - n), signed_constant(f_.type(v), bits));
      break;
    case Op::SExt: return range(x[0], lanes, depth + 1);
    case Op::ZExt:
      if (const Range r = range(x[0], lanes, depth + 1); r.min >= 0) return r;
      break;
    case Op::UMulWide:
    case Op::SMulWide: {
      const Range a = range(x[0], lanes, depth + 1), b = range(x[1], lanes, depth + 1);
      if (inst->op == Op::UMulWide && (a.min < 0 || b.min < 0)) break;
      return product(a, b);
    }
    case Op::Lo:
      if (const auto whole = of(0); whole && whole->min >> 32 == whole->max >> 32)
        return Range{whole->min & 0xffff'ffff, whole->max & 0xffff'ffff};
      break;
    case Op::Join: return sum_of_halves(x[0], x[1], lanes, depth + 1);
    default: break;
    }
  }
  if (!is_wide) return range(v, lanes, depth);
  if (inst == nullptr)
    if (const auto r = range_of_walk(Pointer{v, {}}, lanes, depth)) return r;
  if (const auto r = sum_by_ways({v, {}}, lanes, depth)) return r;
  const Limits wide = limits_.of(v);
  if (wide.max >> 63 != 0) return std::nullopt;
  return Range{static_cast<i64>(wide.min), static_cast<i64>(wide.max)};
}

/// How the comparison comes out in these lanes, if it is the same in all of them.
std::optional<bool> MaskedLimits::outcome(InstId comparison, Lanes lanes) const {
  visits_ = 0;
  const auto x = f_.operands(comparison);
  const Range all = f_.type(x[0]) == Type::V64 ? Range{-kFar, kFar} : kAnything;
  const auto range = [&](ValueId v) -> std::optional<Range> {
    const auto r = sum(v, lanes, 0);
    return r && is_inside(*r, all) ? r : std::nullopt; // else it may have wrapped
  };
  const auto a = range(x[0]);
  if (!a) return std::nullopt;
  const auto b = range(x[1]);
  if (!b) return std::nullopt;
  const auto p = static_cast<IntPred>(f_[comparison].imm);
  const bool has_sign = a->min < 0 || b->min < 0;
  if (has_sign && is_unsigned(p)) return std::nullopt;
  const auto decided = [](bool is_true, bool is_false) {
    return is_true || is_false ? std::optional(is_true) : std::nullopt;
  };
  const bool is_one = a->min == a->max && b->min == b->max && a->min == b->min;
  const bool is_apart = a->max < b->min || b->max < a->min;
  switch (p) {
  case IntPred::Eq: return decided(is_one, is_apart);
  case IntPred::Ne: return decided(is_apart, is_one);
  case IntPred::ULt:
  case IntPred::SLt: return decided(a->max < b->min, a->min >= b->max);
  case IntPred::ULe:
  case IntPred::SLe: return decided(a->max <= b->min, a->min > b->max);
  case IntPred::UGt:
  case IntPred::SGt: return decided(a->min > b->max, a->max <= b->min);
  case IntPred::UGe:
  case IntPred::SGe: return decided(a->min >= b->max, a->max < b->min);
  }
  return std::nullopt;
}

/// Those of these lanes, of a block behind this way in, that come by it, and where they come from.
MaskedLimits::Lanes MaskedLimits::before_edge(Lanes lanes, BlockId from, u32 successor) const {
  const MaskFacts& facts = masks_.facts;
  const Bdd::Node there = facts.before_edge(lanes.set, from, successor);
  return {facts.bdd().and_(there, facts.edge_condition(from, successor)), from};
}

bool MaskedLimits::is_never(ValueId mask, BlockId at) const {
  if (never_visits_ > kMaxAllVisits) return false;
  const unsigned before = all_visits_;
  const bool never = is_never(Lanes{masks_.facts.lanes(mask), at}, 0);
  never_visits_ += all_visits_ - before;
  all_visits_ = before;
  return never;
}

/// By what is compared on the ways here from where loops begin.
bool MaskedLimits::is_never(Lanes lanes, unsigned depth) const {
  const MaskFacts& facts = masks_.facts;
  Bdd& bdd = facts.bdd();
  for (const InstId i : f_[lanes.at].insts) {
    if (facts.is_empty(lanes.set, lanes.at)) return true;
    if (f_[i].op != Op::ICmp || f_.type(f_.result(i)) != Type::Mask) continue;
    const Bdd::Node is_so = facts.lanes(f_.result(i));
    if (const auto truth = outcome(i, lanes))
      lanes.set = *truth ? bdd.and_(lanes.set, is_so) : bdd.andnot(lanes.set, is_so);
  }
  if (facts.is_empty(lanes.set, lanes.at)) return true;
  const auto& ways = masks_.cfg.preds[lanes.at.index];
  if (is_header(lanes.at) || ways.empty() || depth >= kMaxWaysBack || ++all_visits_ > kMaxAllVisits)
    return false;
  return std::ranges::all_of(ways, [&](BlockId from) {
    const auto& successors = f_[from].successors;
    for (u32 n = 0; n < successors.size(); ++n) {
      if (successors[n].block != lanes.at) continue;
      if (!is_never(before_edge(lanes, from, n), depth + 1)) return false;
    }
    return true;
  });
}

/// A half of a 64-bit value without what only moves it about, as compilers do that put halves of products
/// together.
ValueId MaskedLimits::moved_half(ValueId v, Lanes lanes) const {
  const auto is_zero = [&](ValueId x) {
    u64 bits = 0, shift = 0;
    x = seen(x, lanes);
    if (f_.is_const(x, &bits)) return bits == 0;
    if (f_.def(x) == nullptr || f_.def(x)->op != Op::Lo) return false;
    const ValueId whole = seen(f_.operands(f_.def_id(x))[0], lanes);
    return f_.def(whole) != nullptr && f_.def(whole)->op == Op::Shl &&
           f_.is_const(f_.operands(f_.def_id(whole))[1], &shift) && shift == 32;
  };
  for (unsigned n = 0; n < kMaxSelects; ++n) {
    v = seen(v, lanes);
    const Inst* inst = f_.def(v);
    if (inst == nullptr || (inst->op != Op::Or && inst->op != Op::Hi && inst->op != Op::Lo)) return v;
    const auto x = f_.operands(f_.def_id(v));
    if (inst->op == Op::Or && (is_zero(x[0]) || is_zero(x[1]))) {
      v = x[is_zero(x[0]) ? 1 : 0];
      continue;
    }
    if (inst->op == Op::Or) return v;
    const ValueId whole = seen(x[0], lanes);
    const Inst* moved = f_.def(whole);
    if (moved == nullptr) return v;
    const bool is_extension = moved->op == Op::ZExt || moved->op == Op::SExt;
    if (moved->op == Op::Join || (is_extension && inst->op == Op::Lo)) {
      v = f_.operands(f_.def_id(whole))[inst->op == Op::Hi ? 1 : 0];
      continue;
    }
    // To or from where the other half is.
    u64 shift = 0;
    const auto shifted = f_.operands(f_.def_id(whole));
    if (moved->op != (inst->op == Op::Hi ? Op::Shl : Op::LShr) || !f_.is_const(shifted[1], &shift) ||
        shift != 32)
      return v;
    const ValueId from = seen(shifted[0], lanes);
    const Inst* joined = f_.def(from);
    if (joined == nullptr) return v;
    if (inst->op == Op::Lo && joined->op == Op::Join)
      v = f_.operands(f_.def_id(from))[1];
    else if (inst->op == Op::Hi && (joined->op == Op::ZExt || joined->op == Op::Join))
      v = f_.operands(f_.def_id(from))[0];
    else
      return v;
  }
  return v;
}

/// What `high` is the upper half of, also if it has been shifted down.
ValueId MaskedLimits::whole_of_upper(ValueId high, Lanes lanes) const {
  const Inst* inst = f_.def(high);
  if (inst == nullptr || (inst->op != Op::Hi && inst->op != Op::Lo)) return {};
  const ValueId of = f_.operands(f_.def_id(high))[0];
  if (inst->op == Op::Hi) return of;
  const ValueId shifted = seen(of, lanes);
  u64 n = 0;
  if (f_.def(shifted) == nullptr || f_.def(shifted)->op != Op::LShr) return {};
  const auto x = f_.operands(f_.def_id(shifted));
  return f_.is_const(x[1], &n) && n == 32 ? seen(x[0], lanes) : ValueId{};
}

/// Compilers add halves, of which the upper one alone is known to be one of the whole sum.
bool MaskedLimits::is_low_half(ValueId low, ValueId whole, Lanes lanes, unsigned depth) const {
  low = moved_half(low, lanes);
  whole = seen(whole, lanes);
  u64 bits = 0, all = 0;
  if (f_.is_const(whole, &all)) return f_.is_const(low, &bits) && bits == (all & 0xffff'ffffu);
  const Inst* half = f_.def(low);
  const Inst* inst = f_.def(whole);
  if (inst == nullptr) return false;
  const auto x = f_.operands(f_.def_id(whole));
  if (inst->op == Op::Join || inst->op == Op::ZExt || inst->op == Op::SExt)
    return moved_half(x[0], lanes) == low;
  if (half == nullptr || depth >= kMaxDepth) return false;
  const auto has_no_low_half = [&](ValueId v) { // as an aperture
    v = seen(v, lanes);
    if (f_.is_const(v, &all)) return (all & 0xffff'ffffu) == 0;
    const Inst* join = f_.def(v);
    return join != nullptr && join->op == Op::Join &&
           f_.is_const(seen(f_.operands(f_.def_id(v))[0], lanes), &all) && all == 0;
  };
  if (inst->op == Op::Add)
    for (const unsigned n : {0u, 1u})
      if (has_no_low_half(x[n])) return is_low_half(low, x[1 - n], lanes, depth + 1);
  const auto y = f_.operands(f_.def_id(low));
  if (half->op == Op::Lo) return seen(y[0], lanes) == whole;
  if (inst->op != Op::Add || half->op != Op::Add) return false;
  const auto are_halves = [&](unsigned n) {
    return is_low_half(y[n], x[0], lanes, depth + 1) && is_low_half(y[1 - n], x[1], lanes, depth + 1);
  };
  return are_halves(0) || are_halves(1);
}

/// The bits of a half that is a constant, or one of a constant that is moved about.
std::optional<u64> MaskedLimits::constant(ValueId half, Lanes lanes) const {
  u64 bits = 0, shift = 0;
  if (f_.is_const(half, &bits)) return bits;
  const Inst* inst = f_.def(half);
  if (inst == nullptr || (inst->op != Op::Lo && inst->op != Op::Hi)) return std::nullopt;
  ValueId whole = seen(f_.operands(f_.def_id(half))[0], lanes);
  const Inst* moved = f_.def(whole);
  if (moved != nullptr && moved->op == Op::LShr && f_.is_const(f_.operands(f_.def_id(whole))[1], &shift))
    whole = seen(f_.operands(f_.def_id(whole))[0], lanes);
  if (!f_.is_const(whole, &bits)) return std::nullopt;
  bits >>= shift % 64;
  return inst->op == Op::Lo ? bits & 0xffff'ffffu : bits >> 32;
}

/// What parameters of a block where ways meet are, or what a mask chooses: both halves of the same number.
std::optional<Range> MaskedLimits::sum_by_ways(Pointer p, Lanes lanes, unsigned depth) const {
  const MaskFacts& facts = masks_.facts;
  const auto block = [&](ValueId v) { return v.valid() ? f_.def_block(v) : f_.def_block(p.low); };
  const auto operands = [&](ValueId v) { return f_.operands(f_.def_id(v)); };
  const auto is_choice = [&](ValueId v) {
    const Inst* inst = f_.def(v);
    return inst != nullptr && inst->op == Op::Select && f_.type(operands(v)[0]) == Type::Mask;
  };
  const bool is_met = f_.def(p.low) == nullptr;
  if (p.high.valid() && (f_.def(p.high) == nullptr) != is_met) return std::nullopt;
  if (depth >= kMaxDepth || ++visits_ > kMaxVisits || ++all_visits_ > kMaxAllVisits) return std::nullopt;
  std::optional<Range> all;
  bool is_known = true;
  const auto note = [&](ValueId low, ValueId high, Lanes in) {
    if (!is_known || facts.is_empty(in.set, in.at)) return;
    const auto r = high.valid() ? sum_of_halves(low, high, in, depth + 1) : sum(low, in, depth + 1);
    is_known = r.has_value();
    all = either(all, r);
  };
  if (is_met) {
    const BlockId b = block(p.low);
    if (block(p.high) != b || is_header(b) || !masks_.dom.dominates(b, lanes.at)) return std::nullopt;
    for (const Argument& a : arguments_[p.low.index]) {
      note(a.value, p.high.valid() ? f_[a.from].successors[a.successor].args[f_[p.high].index] : ValueId{},
           before_edge(lanes, a.from, a.successor));
    }
  } else {
    if (!is_choice(p.low) ||
        (p.high.valid() && (!is_choice(p.high) || operands(p.low)[0] != operands(p.high)[0])))
      return std::nullopt;
    const Bdd::Node chosen = facts.lanes(operands(p.low)[0]);
    const auto high = [&](unsigned n) { return p.high.valid() ? operands(p.high)[n] : ValueId{}; };
    note(operands(p.low)[1], high(1), {facts.bdd().and_(lanes.set, chosen), lanes.at});
    note(operands(p.low)[2], high(2), {facts.bdd().andnot(lanes.set, chosen), lanes.at});
  }
  return is_known ? all : std::nullopt;
}

/// The number that `high` and `low` are the halves of.
std::optional<Range> MaskedLimits::sum_of_halves(ValueId low, ValueId high, Lanes lanes,
                                                 unsigned depth) const {
  low = moved_half(low, lanes);
  high = moved_half(high, lanes);
  u64 bits = 0;
  if (const Inst* inst = f_.def(high); inst != nullptr && inst->op == Op::AShr) {
    const auto x = f_.operands(f_.def_id(high));
    if (f_.is_const(x[1], &bits) && bits == 31 && moved_half(x[0], lanes) == low)
      return range(low, lanes, depth);
  }
  if (const ValueId whole = whole_of_upper(high, lanes);
      whole.valid() && is_low_half(low, whole, lanes, depth))
    return sum(whole, lanes, depth);
  if (f_.def(low) == nullptr && f_.def(high) == nullptr && f_.def_block(low) == f_.def_block(high))
    if (const auto r = range_of_walk(Pointer{low, high}, lanes, depth)) return r;
  if (const auto r = sum_by_ways({low, high}, lanes, depth)) return r;
  if (const auto known = constant(high, lanes)) {
    bits = *known;
  } else { // of a pointer
    const Range upper = range(high, lanes, depth);
    if (upper.min < 0) return std::nullopt;
    return Range{upper.min << 32, upper.max << 32 | 0xffff'ffffu};
  }
  const i64 start = static_cast<i64>(bits << 32);
  if (const auto known = constant(low, lanes)) {
    bits = *known;
    return Range{start + static_cast<i64>(bits & 0xffff'ffffu),
                 start + static_cast<i64>(bits & 0xffff'ffffu)};
  }
  const Range r = range(low, lanes, depth);
  return r.min >= 0 ? add(Range{start, start}, r) : std::nullopt;
}

Range MaskedLimits::range(ValueId v, Lanes lanes, unsigned depth) const {
  u64 bits = 0;
  if (f_.is_const(v, &bits)) return {static_cast<i32>(bits), static_cast<i32>(bits)};
  Range r = kAnything;
  const auto at_least = [&](i64 n) { r.min = std::max(r.min, n); };
  const auto at_most = [&](i64 n) { r.max = std::min(r.max, n); };
  if (const Limits all = limits_.of(v); all.max <= u64{kMost})
    r = {static_cast<i64>(all.min), static_cast<i64>(all.max)};
  if (depth >= kMaxDepth || ++visits_ > kMaxVisits || ++all_visits_ > kMaxAllVisits) return r;
  const auto use_bound = [&](IntPred p, ValueId other) {
    const Range o = range(other, lanes, depth + kMaxDepth / 2); // which may have been compared with v, too
    if (is_unsigned(p) && o.min < 0) return;
    switch (p) {
    case IntPred::Eq: at_least(o.min); [[fallthrough]];
    case IntPred::SLe: return at_most(o.max);
    case IntPred::SLt: return at_most(o.max - 1);
    case IntPred::SGe: return at_least(o.min);
    case IntPred::SGt: return at_least(o.min + 1);
    case IntPred::ULe: at_least(0); return at_most(o.max);
    case IntPred::ULt: at_least(0); return at_most(o.max - 1);
    case IntPred::UGe:
    case IntPred::UGt: // Numbers that are negative are greater, too.
      if (r.min >= 0) at_least(p == IntPred::UGe ? o.min : o.min + 1);
      return;
    default: return;
    }
  };
  for_each_bound(v, lanes, use_bound);
  if (f_.def(v) == nullptr)
    for (const ValueId same : bounded_equals(v, lanes)) for_each_bound(same, lanes, use_bound);
  const auto before = before_loop(v, lanes);
  const Range more = before                 ? range(v, *before, depth + 1)
                     : f_.def(v) != nullptr ? range_of_op(v, lanes, depth + 1)
                                            : range_of_parameter(v, lanes, depth + 1);
  at_least(more.min);
  at_most(more.max);
  return r;
}

/// The only block from which the loop that `header` begins is come into, if it does nothing else; else none.
BlockId MaskedLimits::way_into_loop(BlockId header) const {
  const auto& order = masks_.cfg.rpo_index;
  const auto& ways = masks_.cfg.preds[header.index];
  const auto is_above = [&](BlockId p) { return order[p.index] < order[header.index]; };
  if (ways.size() < 2 || std::ranges::count_if(ways, is_above) != 1) return {};
  const BlockId from = *std::ranges::find_if(ways, is_above);
  return masks_.dom.idom[header.index] == from && f_[from].successors.size() == 1 ? from : BlockId{};
}

/// The lanes that a loop around `lanes` began with, if all of these are among them and `v` is from before it:
/// what is known there need not be known of the masks in the loop.
std::optional<MaskedLimits::Lanes> MaskedLimits::before_loop(ValueId v, Lanes lanes) const {
  if (lanes.set == Bdd::kTrue) return std::nullopt;
  const MaskFacts& facts = masks_.facts;
  const BlockId last = f_.def_block(v);
  for (BlockId b = lanes.at; b.valid() && b != last; b = masks_.dom.idom[b.index]) {
    const BlockId from = way_into_loop(b);
    if (!from.valid()) continue;
    for (const ValueId mask : f_[from].successors[0].args)
      if (f_.type(mask) == Type::Mask && are_inside_here(lanes, mask)) return Lanes{facts.lanes(mask), from};
  }
  return std::nullopt;
}

Range MaskedLimits::range_of_op(ValueId v, Lanes lanes, unsigned depth) const {
  const auto x = f_.operands(f_.def_id(v));
  const auto of = [&](unsigned n) { return range(x[n], lanes, depth); };
  u64 bits = 0;
  switch (f_.def(v)->op) {
  case Op::Add: return fits(*add(of(0), of(1)));
  case Op::Sub:
    if (const u64 n = divisor_of_remainder(x[0], x[1], lanes, depth); n != 0)
      return {0, static_cast<i64>(n) - 1};
    return fits(*add(of(0), negative(of(1))));
  case Op::Not: return fits(*add(Range{-1, -1}, negative(of(0))));
  case Op::Mul: return fits(product(of(0), of(1)));
  case Op::Shl: return f_.is_const(x[1], &bits) ? fits(*times(of(0), i64{1} << (bits & 31))) : kAnything;
  case Op::AShr: {
    if (!f_.is_const(x[1], &bits)) return kAnything;
    const Range r = of(0);
    return {r.min >> (bits & 31), r.max >> (bits & 31)};
  }
  case Op::SMulHi: {
    const Range r = product(of(0), of(1));
    return {r.min >> 32, r.max >> 32};
  }
  case Op::LShr: {
    if (!f_.is_const(x[1], &bits)) return kAnything;
    const Range r = of(0);
    return r.min >= 0 ? Range{r.min >> (bits & 31), r.max >> (bits & 31)} : kAnything;
  }
  case Op::And: {
    const Range a = of(0), b = of(1);
    if (a.min < 0 && b.min < 0) return kAnything;
    return {0, std::min(a.min < 0 ? kMost : a.max, b.min < 0 ? kMost : b.max)};
  }
  case Op::Or:
  case Op::Xor: {
    const Range a = of(0), b = of(1);
    if (a.min < 0 || b.min < 0) return kAnything;
    const i64 all = static_cast<i64>(std::bit_ceil(static_cast<u64>(std::max(a.max, b.max)) + 1)) - 1;
    const bool is_or = f_.def(v)->op == Op::Or;
    return fits({is_or ? std::max(a.min, b.min) : 0, std::min(a.max + b.max, all)});
  }
  case Op::SMin: {
    const Range a = of(0), b = of(1);
    return {std::min(a.min, b.min), std::min(a.max, b.max)};
  }
  case Op::SMax: {
    const Range a = of(0), b = of(1);
    return {std::max(a.min, b.min), std::max(a.max, b.max)};
  }
  case Op::Lo: {
    const auto whole = sum(x[0], lanes, depth);
    return whole ? fits(*whole) : kAnything;
  }
  case Op::Select: return range_of_select(x, lanes, depth);
  default: return kAnything;
  }
}

/// Whether it is `a` in these lanes, but for a sum with what is 0 there, as in divisions by powers of 2,
/// which round numbers that are negative up.
bool MaskedLimits::is_same(ValueId v, ValueId a, Lanes lanes, unsigned depth) const {
  v = seen(v, lanes);
  a = seen(a, lanes);
  if (v == a) return true;
  const Inst* inst = f_.def(v);
  if (inst == nullptr || inst->op != Op::Add) return false;
  const auto x = f_.operands(f_.def_id(v));
  return std::ranges::any_of(std::array{0u, 1u}, [&](unsigned n) {
    const Range other = range(x[1 - n], lanes, depth);
    return seen(x[n], lanes) == a && other.min == 0 && other.max == 0;
  });
}

/// c, if `a` - `product` is a % c for a that is not negative: the product is c times the upper half of a
/// product of a with a rounded up reciprocal, shifted, or a without the bits below a power of 2. Compilers of
/// signed divisions add its sign, which it has not.
u64 MaskedLimits::divisor_of_remainder(ValueId a, ValueId product, Lanes lanes, unsigned depth) const {
  const auto with_constant = [&](ValueId v, std::initializer_list<Op> ops, u64& bits) {
    v = seen(v, lanes);
    const Inst* inst = f_.def(v);
    if (inst == nullptr || std::ranges::find(ops, inst->op) == ops.end()) return ValueId{};
    const auto x = f_.operands(f_.def_id(v));
    for (const unsigned n : {1u, 0u})
      if (f_.is_const(x[n], &bits) && (n == 1 || info(inst->op).is(kCommutes))) return x[1 - n];
    return ValueId{};
  };
  u64 c = 0, shift = 0, reciprocal = 0;
  if (const ValueId whole = with_constant(product, {Op::And}, c); whole.valid()) {
    const Range dividend = range(a, lanes, depth);
    const u64 most = static_cast<u64>(dividend.max), power = u64{1} << std::countr_zero(c | u64{1} << 31);
    const u64 bits = std::bit_ceil(most + 1) - 1; // of which those below the divisor are left
    return dividend.min >= 0 && (~c & bits) == ((power - 1) & bits) && is_same(whole, a, lanes, depth) ? power
                                                                                                       : 0;
  }
  ValueId quotient = with_constant(product, {Op::Mul}, c);
  if (!quotient.valid() || c == 0 || range(a, lanes, depth).min < 0) return 0;
  quotient = seen(quotient, lanes);
  ValueId sign;
  if (const Inst* inst = f_.def(quotient); inst != nullptr && inst->op == Op::Add)
    for (const ValueId x : f_.operands(f_.def_id(quotient))) {
      if (const ValueId v = with_constant(x, {Op::LShr}, shift); v.valid() && shift == 31 && !sign.valid())
        sign = seen(v, lanes);
      else
        quotient = x;
    }
  shift = 0;
  if (const ValueId v = with_constant(quotient, {Op::LShr, Op::AShr}, shift); v.valid()) quotient = v;
  quotient = seen(quotient, lanes);
  const ValueId divided = with_constant(quotient, {Op::UMulHi, Op::SMulHi}, reciprocal);
  if (!divided.valid() || seen(divided, lanes) != seen(a, lanes) || shift > 30) return 0;
  const bool is_signed = f_.def(quotient)->op == Op::SMulHi;
  if ((sign.valid() && sign != quotient) || (reciprocal > u64{kMost} && (is_signed || sign.valid())))
    return 0;
  const u64 one = u64{1} << (32 + shift); // The error, times a, stays below 1 / c.
  return reciprocal * c >= one && reciprocal * c - one <= u64{2} << shift ? c : 0;
}

Range MaskedLimits::range_of_select(std::span<const ValueId> x, Lanes lanes, unsigned depth) const {
  if (f_.type(x[0]) != Type::Mask) return either(range(x[1], lanes, depth), range(x[2], lanes, depth));
  const MaskFacts& facts = masks_.facts;
  const Bdd::Node chosen = facts.lanes(x[0]);
  const Lanes then{facts.bdd().and_(lanes.set, chosen), lanes.at};
  const Lanes otherwise{facts.bdd().andnot(lanes.set, chosen), lanes.at};
  if (facts.is_empty(then.set, then.at)) return range(x[2], otherwise, depth);
  const Range r = range(x[1], then, depth);
  return facts.is_empty(otherwise.set, otherwise.at) ? r : either(r, range(x[2], otherwise, depth));
}

/// What it is given on any way in that lanes of these come by.
Range MaskedLimits::range_of_parameter(ValueId v, Lanes lanes, unsigned depth) const {
  const auto given = arguments_[v.index];
  const BlockId b = f_.def_block(v);
  if (given.empty() || !masks_.dom.dominates(b, lanes.at)) return kAnything;
  if (const auto r = range_of_walk(v, lanes, depth)) return *r;
  if (is_header(b)) {
    const Range r = range_in_loop({v, mask_of_loop(b, lanes)}, depth);
    const auto along = range_along(Pointer{v, {}}, lanes, depth);
    return along && is_inside(*along, kAnything)
               ? Range{std::max(r.min, along->min), std::min(r.max, along->max)}
               : r;
  }
  std::optional<Range> all;
  for_each_way(v, lanes,
               [&](ValueId value, Lanes on_way) { all = either(all, range(value, on_way, depth)); });
  return all.value_or(kAnything);
}

bool MaskedLimits::is_header(BlockId b) const {
  const auto& order = masks_.cfg.rpo_index;
  return std::ranges::any_of(masks_.cfg.preds[b.index],
                             [&](BlockId p) { return order[p.index] >= order[b.index]; });
}

/// Calls use(argument, lanes) for each way on which lanes of these come by.
template <class F>
void MaskedLimits::for_each_way(ValueId param, Lanes lanes, F use) const {
  for (const Argument& a : arguments_[param.index]) {
    const Lanes there = before_edge(lanes, a.from, a.successor);
    if (!masks_.facts.is_empty(there.set, there.at)) use(a.value, there);
  }
}

bool MaskedLimits::for_each_source(ValueId v, Lanes lanes,
                                   const std::function<void(ValueId, Lanes)>& use) const {
  const Inst* inst = f_.def(v);
  if (inst == nullptr) {
    for_each_way(v, lanes, use);
    return true;
  }
  const MaskFacts& facts = masks_.facts;
  const auto x = f_.operands(f_.def_id(v));
  if (inst->op != Op::Select || f_.type(x[0]) != Type::Mask) return false;
  const auto use_in = [&](ValueId arm, Bdd::Node mask) {
    const Lanes there{facts.bdd().and_(lanes.set, mask), lanes.at};
    if (!facts.is_empty(there.set, there.at)) use(arm, there);
  };
  use_in(x[1], facts.lanes(x[0]));
  use_in(x[2], Bdd::not_(facts.lanes(x[0])));
  return true;
}

/// Of the masks that the loop began with, or else of those that it hands on, or of these alone, the least
/// that has all of these lanes. Without one, all lanes are meant.
ValueId MaskedLimits::mask_of_loop(BlockId header, Lanes lanes, bool handed_on) const {
  ValueId least;
  if (lanes.set == Bdd::kTrue) return least;
  const MaskFacts& facts = masks_.facts;
  const auto try_mask = [&](ValueId mask, BlockId at) {
    if (f_.type(mask) == Type::Mask && are_inside(lanes, mask) &&
        (!least.valid() || facts.is_subset(facts.lanes(mask), facts.lanes(least), at)))
      least = mask;
  };
  if (const BlockId from = way_into_loop(header); from.valid() && !handed_on)
    for (const ValueId mask : f_[from].successors[0].args) try_mask(mask, from);
  if (!least.valid())
    for (const ValueId mask : f_[header].params) try_mask(mask, header);
  return least;
}

/// What it is given on the ways into its loop, or from within it.
std::optional<Range> MaskedLimits::range_given(LoopValue v, bool from_within, unsigned depth) const {
  const MaskFacts& facts = masks_.facts;
  const auto& order = masks_.cfg.rpo_index;
  std::optional<Range> all;
  for (const Argument& a : arguments_[v.param.index]) {
    if ((order[a.from.index] >= order[f_.def_block(v.param).index]) != from_within) continue;
    const Successor& edge = f_[a.from].successors[a.successor];
    const bool is_handed_on =
        v.mask.valid() && f_.def(v.mask) == nullptr && f_.def_block(v.mask) == edge.block;
    const ValueId mask = is_handed_on ? edge.args[f_[v.mask].index] : v.mask;
    const Bdd::Node set = mask.valid() ? facts.lanes(mask) : Bdd::kTrue;
    all = either(all, from_within ? range_of_change(v, a.value, {set, a.from}, depth)
                                  : std::optional(range(a.value, {set, a.from}, depth)));
  }
  return all;
}

/// What `given` is, which is handed on for `v`, but for lanes in which it is what `v` was: nothing new comes
/// of it.
std::optional<Range> MaskedLimits::range_of_change(LoopValue v, ValueId given, Lanes lanes,
                                                   unsigned depth) const {
  const MaskFacts& facts = masks_.facts;
  if (facts.is_empty(lanes.set, lanes.at)) return std::nullopt;
  if (given == v.param && (!v.mask.valid() || are_inside(lanes, v.mask))) return std::nullopt;
  if (depth >= kMaxDepth || ++visits_ > kMaxVisits || ++all_visits_ > kMaxAllVisits)
    return range(given, lanes, depth);
  const Inst* inst = f_.def(given);
  if (inst != nullptr && inst->op == Op::Select) {
    const auto x = f_.operands(f_.def_id(given));
    if (f_.type(x[0]) == Type::Mask) {
      const Bdd::Node chosen = facts.lanes(x[0]);
      const auto of = [&](unsigned n, Bdd::Node set) {
        return range_of_change(v, x[n], {set, lanes.at}, depth + 1);
      };
      return either(of(1, facts.bdd().and_(lanes.set, chosen)), of(2, facts.bdd().andnot(lanes.set, chosen)));
    }
  }
  const BlockId b = f_.def_block(given);
  if (inst == nullptr && !is_header(b) && masks_.dom.dominates(b, lanes.at)) {
    std::optional<Range> all;
    for_each_way(given, lanes, [&](ValueId value, Lanes on_way) {
      all = either(all, range_of_change(v, value, on_way, depth + 1));
    });
    return all;
  }
  return range(given, lanes, depth);
}

/// By induction for all parameters of loops together that this one depends on: what is taken for granted of
/// them must hold for what they are given. A bound that does not hold is dropped; what is given then may have
/// one all the same, from the loop's condition.
Range MaskedLimits::range_in_loop(LoopValue v, unsigned depth) const {
  if (const auto known = in_loops_.find(v.key()); known != in_loops_.end()) return known->second;
  if (state_ == State::Narrowing) return kAnything;
  const auto first = range_given(v, false, depth);
  if (!first) return kAnything;
  in_loops_[v.key()] = *first;
  unsettled_.push_back(v);
  if (state_ == State::Widening) return *first;
  const unsigned visits = visits_;
  const auto given = [&](LoopValue p) {
    visits_ = 0;
    const Range outside = *range_given(p, false, 0);
    return either(outside, range_given(p, true, 0).value_or(outside));
  };
  state_ = State::Widening;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t n = 0; n < unsettled_.size(); ++n) { // those grow
      const Range found = given(unsettled_[n]);
      Range& granted = in_loops_[unsettled_[n].key()];
      changed |= !is_inside(found, granted);
      if (found.min < granted.min) granted.min = kLeast;
      if (found.max > granted.max) granted.max = kMost;
    }
  }
  state_ = State::Narrowing;
  for (unsigned n = 0; n < kNarrowings; ++n)
    for (const LoopValue& p : unsettled_) {
      const Range found = given(p);
      Range& granted = in_loops_[p.key()];
      granted = {std::max(granted.min, found.min), std::min(granted.max, found.max)};
    }
  state_ = State::Settled;
  unsettled_.clear();
  visits_ = visits;
  return in_loops_[v.key()];
}

} // namespace lanewise::passes
