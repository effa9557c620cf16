// Pointers, and counters, that a loop moves until they are equal to an end: `for (p = begin; p != end; ++p)`.
// A comparison for equality bounds nothing by itself. But what is moved by a constant distance that leads
// from where it begins to the end exactly meets it, and in lanes that go on it has not. Where these are is
// known if they are constants, or of a pointer of an outer loop, to an array of arrays.
//
// Counters of 64 bits, and those that go down without a sign, have no limits but by such a walk either: until
// they are not below, or not above, an end. Of one that they must be below it is enough to know what it is at
// most. So it is with the pointers of `for (; n >= 4; n -= 4, p += 4)`,
// which nobody compares: they have been moved as often as the counter, at most.
//
// Code that is not optimised has the halves of a pointer in two registers, which loops hand on each for
// itself.
#include "translator/passes/masked_limits.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxSteps = 8, kMaxWays = 12;

} // namespace

/// What `v` is the sum of in these lanes: a whole value or two halves, and a constant. Nothing if too much
/// was asked.
std::optional<MaskedLimits::Moved> MaskedLimits::moved(ValueId v, Lanes lanes) const {
  u64 by = 0;
  const u64 all = constant_bits(f_.type(v));
  if (++all_visits_ > kMaxAllVisits) return std::nullopt;
  for (unsigned n = 0; n < kMaxSteps; ++n) {
    v = seen(v, lanes);
    const Inst* inst = f_.def(v);
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return Moved{{}, (by + bits) & all};
    if (inst == nullptr) return Moved{{v, {}}, by};
    const auto x = f_.operands(f_.def_id(v));
    if (inst->op == Op::Add && (f_.is_const(x[1], &bits) || f_.is_const(x[0], &bits))) {
      by = (by + bits) & all;
      v = x[f_.is_const(x[1]) ? 0 : 1];
      continue;
    }
    if (inst->op == Op::Add) { // a constant whose halves are known in these lanes alone
      const auto if_joined = [&](ValueId w) {
        return f_.def(w) != nullptr && f_.def(w)->op == Op::Join ? moved(w, lanes) : std::nullopt;
      };
      const auto a = if_joined(x[0]), b = if_joined(x[1]);
      const bool is_first = a && !a->from.low.valid();
      if (!is_first && (!b || b->from.low.valid())) break;
      by = (by + (is_first ? a : b)->by) & all;
      v = x[is_first ? 1 : 0];
      continue;
    }
    if (inst->op != Op::Join) break;
    const auto joined = moved(Pointer{x[0], x[1]}, lanes);
    return joined ? std::optional(Moved{joined->from, joined->by + by}) : std::nullopt;
  }
  return Moved{{v, {}}, by};
}

std::optional<MaskedLimits::Moved> MaskedLimits::moved(Pointer p, Lanes lanes) const {
  if (!p.high.valid()) return moved(p.low, lanes);
  const ValueId low = moved_half(p.low, lanes), high = moved_half(p.high, lanes);
  const auto low_bits = constant(low, lanes), high_bits = constant(high, lanes);
  if (low_bits && high_bits) return Moved{{}, *low_bits | *high_bits << 32};
  const ValueId whole = whole_of_upper(high, lanes);
  if (whole.valid() && is_low_half(low, whole, lanes, 0)) return moved(whole, lanes);
  return Moved{{low, high}, 0};
}

/// On the way from `header` to block `from`, and on by its successor, the wave has gone where some lane's
/// comparison came out true, and all who were asked are in `set`.
bool MaskedLimits::is_true_for_some(ValueId comparison, Bdd::Node set, BlockId header, BlockId from,
                                    std::optional<unsigned> successor) const {
  const MaskFacts& facts = masks_.facts;
  const Bdd::Node asked = facts.bdd().and_(set, facts.lanes(comparison));
  for (BlockId b = from;;) {
    const auto& ways = f_[b].successors;
    if (successor == 0u && ways.size() == 2 && ways[0].block != ways[1].block)
      if (const ValueId m = f_.tested_mask(b); m.valid() && facts.is_subset(facts.lanes(m), asked, b))
        return true;
    if (b == header || masks_.cfg.preds[b.index].size() != 1) return false;
    const BlockId above = masks_.cfg.preds[b.index][0];
    successor = f_[above].successors[0].block == b ? 0 : 1;
    b = above;
  }
}

/// What it is at most without a sign, wherever it is.
u64 MaskedLimits::most_of(Pointer p) const {
  const u64 low = limits_.of(p.low).max;
  if (!p.high.valid()) return low;
  const u64 high = limits_.of(p.high).max;
  return high == 0 ? low : high << 32 | 0xffff'ffffu;
}

/// What both say.
MaskedLimits::Known MaskedLimits::weaker(Known a, const Known& b) {
  std::erase_if(a.not_these,
                [&](const Moved& e) { return std::ranges::find(b.not_these, e) == b.not_these.end(); });
  return {std::move(a.not_these), std::min(a.least, b.least), std::max(a.most, b.most)};
}

/// What is known of `p`, parameters of a loop, in these lanes, also when control goes on by a successor. In
/// lanes of `same` it is the same: what one of them knows all do.
MaskedLimits::Known MaskedLimits::known_of(Pointer p, Lanes lanes, std::optional<unsigned> successor,
                                           std::optional<Bdd::Node> same) const {
  Known known;
  const BlockId header = f_.def_block(p.low);
  const Type type = p.high.valid() ? Type::V64 : f_.type(p.low);
  const auto note = [&](InstId i, IntPred predicate, Lanes in) {
    const auto x = f_.operands(i);
    auto a = moved(x[0], in), b = moved(x[1], in);
    if (a && a->from != p) {
      std::swap(a, b);
      predicate = swapped(predicate);
    }
    if (!a || !b || a->from != p) return;
    if (predicate == IntPred::Ne) known.not_these.push_back({b->from, (b->by - a->by) & bits_of(p)});
    if (a->by != 0) return; // sums wrap
    const bool is_above = predicate == IntPred::ULt || predicate == IntPred::ULe;
    if (b->from.low.valid() && (b->by != 0 || !is_above)) return;
    const u64 end = b->from.low.valid() ? most_of(b->from) : b->by;
    const bool has_sign = end > bits_of(p) / 2; // or one of the two may have one
    const auto at_least = [&](u64 n) { known.least = std::max(known.least, n); };
    const auto at_most = [&](u64 n) { known.most = std::min(known.most, n); };
    switch (predicate) {
    case IntPred::Ne:
      if (end == 0) at_least(1);
      break;
    case IntPred::UGt:
      if (end != bits_of(p)) at_least(end + 1);
      break;
    case IntPred::UGe: at_least(end); break;
    case IntPred::ULt:
      if (end != 0) at_most(end - 1);
      break;
    case IntPred::ULe: at_most(end); break;
    case IntPred::SGt:
    case IntPred::SGe:
      if (has_sign) break;
      at_least(predicate == IntPred::SGt ? end + 1 : end);
      at_most(bits_of(p) / 2);
      break;
    default: break;
    }
  };
  const auto compared = compared_.find(p.low.index);
  if (compared == compared_.end()) return known;
  for (const InstId i : compared->second) {
    const BlockId b = f_[i].block;
    if (f_.type(f_.operands(i)[0]) != type || !masks_.dom.dominates(header, b) ||
        !masks_.dom.dominates(b, lanes.at)) // not of this round
      continue;
    const ValueId outcome = f_.result(i);
    const auto predicate = static_cast<IntPred>(f_[i].imm);
    if (are_inside(lanes, outcome))
      note(i, predicate, lanes);
    else if (are_outside(lanes, outcome))
      note(i, inverse(predicate), lanes);
    else if (same && is_true_for_some(outcome, *same, header, lanes.at, successor))
      note(i, predicate, {*same, lanes.at});
  }
  return known;
}

/// Calls use.move(what is given, lanes) for what is handed on for `p` where it is not what it was, and
/// use.stay(lanes) where it is. False if it is not seen, or `move` is.
bool MaskedLimits::for_each_move(Pointer p, ValueId mask, Pointer given, Lanes lanes, Path& path,
                                 unsigned depth, const Visitor& use) const {
  const MaskFacts& facts = masks_.facts;
  if (facts.is_empty(lanes.set, lanes.at)) return true;
  if (depth >= kMaxWays || (mask.valid() && !are_inside(lanes, mask))) return false;
  given.low = seen(given.low, lanes);
  if (given.high.valid()) given.high = seen(given.high, lanes);
  if (given == p) {
    use.stay(lanes);
    return true;
  }
  for (const ValueId v : {given.low, given.high}) {
    const Inst* inst = v.valid() ? f_.def(v) : nullptr;
    if (inst == nullptr || inst->op != Op::Select) continue;
    const ValueId m = f_.operands(f_.def_id(v))[0];
    if (f_.type(m) != Type::Mask) return false;
    Bdd& bdd = facts.bdd();
    const Lanes then{bdd.and_(lanes.set, facts.lanes(m)), lanes.at},
        otherwise{bdd.andnot(lanes.set, facts.lanes(m)), lanes.at};
    return for_each_move(p, mask, given, then, path, depth + 1, use) &&
           for_each_move(p, mask, given, otherwise, path, depth + 1, use);
  }
  const BlockId b = f_.def_block(given.low);
  const bool meet = f_.def(given.low) == nullptr && b != f_.def_block(p.low);
  if (!meet) return use.move(given, lanes);
  if (is_header(b) ||
      (given.high.valid() && (f_.def(given.high) != nullptr || f_.def_block(given.high) != b)))
    return false;
  bool all = true;
  for (const Argument& a : arguments_[given.low.index]) {
    const auto& args = f_[a.from].successors[a.successor].args;
    const Pointer before{a.value, given.high.valid() ? args[f_[given.high].index] : ValueId{}};
    path.emplace_back(a.from, a.successor);
    all =
        all && for_each_move(p, mask, before, before_edge(lanes, a.from, a.successor), path, depth + 1, use);
    path.pop_back();
  }
  return all;
}

u64 MaskedLimits::bits_of(Pointer p) const {
  return p.high.valid() ? ~u64{0} : constant_bits(f_.type(p.low));
}

/// How `p` is moved in lanes of `mask`, or in all: by a constant distance, again and again. With `is_same`,
/// it must be the same in all of them.
std::optional<MaskedLimits::Moves> MaskedLimits::find_moves(Pointer p, ValueId mask, bool is_same) const {
  const MaskFacts& facts = masks_.facts;
  const auto& order = masks_.cfg.rpo_index;
  const BlockId header = f_.def_block(p.low);
  const bool is_handed_on = mask.valid() && f_.def(mask) == nullptr && f_.def_block(mask) == header;
  if (is_handed_on && is_same) return std::nullopt;
  const auto is_from_before = [&](ValueId v) {
    return !v.valid() || (f_.def_block(v) != header && masks_.dom.dominates(f_.def_block(v), header));
  };
  Moves moves;
  moves.is_same = is_same;
  std::optional<Moved> first;
  std::optional<u64> step;
  for (const Argument& a : arguments_[p.low.index]) {
    const Successor& edge = f_[a.from].successors[a.successor];
    const ValueId there = is_handed_on ? edge.args[f_[mask].index] : mask;
    const Bdd::Node all = there.valid() ? facts.lanes(there) : Bdd::kTrue;
    const Pointer given{a.value, p.high.valid() ? edge.args[f_[p.high].index] : ValueId{}};
    if (order[a.from.index] < order[header.index]) {
      const auto begin = moved(given, {all, a.from});
      if (!begin || (first && *first != *begin)) return std::nullopt;
      if (begin->from.low.valid() && is_same) return std::nullopt;
      if (!is_from_before(begin->from.low) || !is_from_before(begin->from.high)) return std::nullopt;
      first = begin;
      continue;
    }
    Path path = {{a.from, a.successor}};
    const auto note = [&](Pointer to, Lanes lanes) {
      const auto m = moved(to, lanes);
      if (!m || m->from != p || (step && *step != m->by)) return false;
      step = m->by;
      if (is_same && (lanes.set != all || lanes.at != a.from)) return false;
      moves.ways.push_back({lanes, path});
      return true;
    };
    const Bdd::Node going = is_same ? all : facts.bdd().and_(all, facts.edge_condition(a.from, a.successor));
    if (!for_each_move(p, mask, given, {going, a.from}, path, 0, {note})) return std::nullopt;
  }
  const u64 bits = bits_of(p);
  if (!first || !step || *step == 0 || (*step > bits / 4 && *step < bits - bits / 4)) return std::nullopt;
  moves.first = *first;
  moves.step = *step > bits / 2 ? -static_cast<i64>(bits - *step) - 1 : static_cast<i64>(*step);
  return moves;
}

/// By induction: in lanes of `mask`, or in all, `p` is what it began with plus a number of steps, and not
/// beyond what it must not be to be moved again. With `is_same`, it must be the same in all of them.
std::optional<MaskedLimits::Walk> MaskedLimits::find_walk(Pointer p, ValueId mask, bool is_same) const {
  const auto moves = find_moves(p, mask, is_same);
  if (!moves || moves->ways.empty()) return std::nullopt;
  std::optional<Known> all;
  for (const Moves::Way& way : moves->ways) {
    const auto successor = way.path.size() == 1 ? std::optional<unsigned>(way.path[0].second) : std::nullopt;
    const auto same = is_same ? std::optional(way.lanes.set) : std::nullopt;
    const Known known = known_of(p, way.lanes, successor, same);
    all = all ? weaker(*all, known) : known;
  }
  const u64 bits = bits_of(p);
  const Moved& first = moves->first;
  const bool is_up = moves->step > 0;
  const u64 step = static_cast<u64>(is_up ? moves->step : -moves->step);
  std::optional<Walk> walk;
  const auto note = [&](u64 length) {
    if (length <= bits / 4 && (!walk || length < walk->length))
      walk = Walk{first, moves->step, length, is_same};
  };
  for (const Moved& end : all->not_these) {
    const u64 length = (is_up ? end.by - first.by : first.by - end.by) & bits;
    if (end.from == first.from && length % step == 0) note(length);
  }
  if (first.from.low.valid() || first.by > bits / 4) return walk;
  // So that the last step does not wrap. Of 32 bits upwards range_in_loop() knows as much.
  if (is_up && bits == ~u64{0} && all->most <= bits / 4)
    note(first.by > all->most ? 0 : ((all->most - first.by) / step + 1) * step);
  if (!is_up && all->least >= step)
    note(first.by < all->least ? 0 : ((first.by - all->least) / step + 1) * step);
  return walk;
}

/// Where what begins at `first` is when it has been moved by as much.
std::optional<Range> MaskedLimits::range_of_moves(const Moved& first, Range by, Lanes lanes,
                                                  unsigned depth) const {
  const auto [low, high] = first.from;
  const i64 begin =
      !low.valid() || high.valid() ? static_cast<i64>(first.by) : signed_constant(f_.type(low), first.by);
  if (begin < -kFar || begin > kFar) return std::nullopt;
  const Range moves{begin + by.min, begin + by.max};
  if (!low.valid()) return moves;
  const auto start = high.valid() ? sum_of_halves(low, high, lanes, depth + 1) : sum(low, lanes, depth + 1);
  if (!start || start->min < -kFar || start->max > kFar) return std::nullopt;
  return Range{start->min + moves.min, start->max + moves.max};
}

/// By the lanes that a loop began with, or by those alone that are still in it: what others have in their
/// registers is anything where nobody looks.
std::optional<Range>
MaskedLimits::in_masks_of_loop(BlockId header, Lanes lanes,
                               const std::function<std::optional<Range>(ValueId)>& range) const {
  const ValueId mask = mask_of_loop(header, lanes);
  const auto r = range(mask);
  if (r || !mask.valid()) return r;
  const ValueId handed_on = mask_of_loop(header, lanes, true);
  return handed_on.valid() && handed_on != mask ? range(handed_on) : std::nullopt;
}

/// Where `p`, parameters of a loop, is in these lanes, if it walks to an end.
std::optional<Range> MaskedLimits::range_of_walk(Pointer p, Lanes lanes, unsigned depth) const {
  const BlockId header = f_.def_block(p.low);
  if (depth >= kMaxDepth || !is_header(header) || !masks_.dom.dominates(header, lanes.at))
    return std::nullopt;
  if (compared_.contains(p.low.index))
    if (const auto r = in_masks_of_loop(header, lanes,
                                        [&](ValueId mask) { return range_of_walk(p, mask, lanes, depth); }))
      return r;
  return bits_of(p) == ~u64{0} ? range_along(p, lanes, depth) : std::nullopt;
}

std::optional<Range> MaskedLimits::range_of_walk(Pointer p, ValueId mask, Lanes lanes, unsigned depth) const {
  const auto [known, is_new] = walks_.try_emplace({p.low.index, p.high.index, mask.index});
  if (is_new) {
    auto walk = find_walk(p, mask, true);
    known->second = walk ? walk : find_walk(p, mask, false);
  }
  if (!known->second) return std::nullopt;
  const Walk& walk = *known->second;
  const Known here = known_in_walk(p, walk, mask, lanes);
  const bool is_up = walk.step > 0;
  const u64 step = static_cast<u64>(is_up ? walk.step : -walk.step);
  const u64 begin = walk.first.by, end = (is_up ? begin + walk.length : begin - walk.length) & bits_of(p);
  u64 least = 0, most = walk.length / step; // rounds
  if (most != 0 && std::ranges::find(here.not_these, Moved{walk.first.from, end}) != here.not_these.end())
    --most;
  if (!walk.first.from.low.valid() && begin <= bits_of(p) / 4) {
    const auto rounds = [&](u64 distance) { return std::min(distance / step, most); };
    if (is_up ? here.most < end : here.least > end)
      most = rounds(is_up ? here.most - std::min(begin, here.most) : begin - std::min(begin, here.least));
    if (is_up ? here.least > begin : here.most < begin)
      least = rounds((is_up ? here.least - begin : begin - here.most) + step - 1);
  }
  const i64 near = static_cast<i64>(least * step), far = static_cast<i64>(most * step);
  return range_of_moves(walk.first, is_up ? Range{near, far} : Range{-far, -near}, lanes, depth);
}

/// What is known of `p` in lanes of `began`, with which a loop began, that are no longer in `mask`, which it
/// hands on: what made them leave, as it is moved no more.
MaskedLimits::Known MaskedLimits::find_left(Pointer p, ValueId began, ValueId mask) const {
  const MaskFacts& facts = masks_.facts;
  Bdd& bdd = facts.bdd();
  const auto& order = masks_.cfg.rpo_index;
  std::optional<Known> all;
  const auto learn = [&](Lanes lanes) {
    const Known known = known_of(p, lanes, {}, {});
    all = all ? weaker(*all, known) : known;
  };
  const auto is_moved = [](Pointer, Lanes) { return false; };
  for (const Argument& a : arguments_[p.low.index]) {
    if (order[a.from.index] < order[f_.def_block(mask).index]) continue;
    const Successor& edge = f_[a.from].successors[a.successor];
    const Pointer given{a.value, p.high.valid() ? edge.args[f_[p.high].index] : ValueId{}};
    const Bdd::Node way = facts.edge_condition(a.from, a.successor), going = facts.lanes(mask);
    const Bdd::Node leaving = bdd.andnot(bdd.and_(going, way), facts.lanes(edge.args[f_[mask].index]));
    const Bdd::Node left = bdd.andnot(bdd.and_(facts.lanes(began), way), going);
    Path path = {{a.from, a.successor}};
    if (!for_each_move(p, mask, given, {leaving, a.from}, path, 0, {is_moved, learn}) ||
        !for_each_move(p, began, given, {left, a.from}, path, 0, {is_moved}))
      return {};
  }
  return all.value_or(Known{});
}

/// What is known of `p`, which walks in lanes of `mask`.
MaskedLimits::Known MaskedLimits::known_in_walk(Pointer p, const Walk& walk, ValueId mask,
                                                Lanes lanes) const {
  const MaskFacts& facts = masks_.facts;
  std::optional<Bdd::Node> same;
  if (walk.is_same) same = mask.valid() ? facts.lanes(mask) : Bdd::kTrue;
  Known known = known_of(p, lanes, std::nullopt, same);
  const BlockId header = f_.def_block(p.low), from = way_into_loop(header);
  if (!mask.valid() || !from.valid()) return known;
  const auto& args = f_[from].successors[0].args;
  for (const ValueId m : f_[header].params) {
    if (args[f_[m].index] != mask || are_inside(lanes, m)) continue;
    const auto [left, is_new] = left_.try_emplace({p.low.index, p.high.index, m.index});
    if (is_new) left->second = find_left(p, mask, m);
    const Lanes going{facts.bdd().and_(lanes.set, facts.lanes(m)), lanes.at};
    Known either = left->second;
    if (!facts.is_empty(going.set, going.at)) either = weaker(either, known_of(p, going, std::nullopt, same));
    known.least = std::max(known.least, either.least);
    known.most = std::min(known.most, either.most);
  }
  return known;
}

/// Likewise of a parameter that is the low half of a pointer, or the whole of a number.
std::optional<Range> MaskedLimits::range_of_walk(ValueId low, Lanes lanes, unsigned depth) const {
  const auto pointer = pointers_.find(low.index);
  const auto r = range_of_walk(pointer == pointers_.end() ? Pointer{low, {}} : pointer->second, lanes, depth);
  if (!r || r->min >> 32 != r->max >> 32 || (r->max & 0xffff'ffff) > 0x7fff'ffff) return std::nullopt;
  return Range{r->min & 0xffff'ffff, r->max & 0xffff'ffff};
}

/// Notes a comparison, and the parameters that what is compared seems to be the halves of.
void MaskedLimits::note_comparison(InstId i) {
  const auto without_moves = [&](ValueId v, Op half) {
    for (unsigned n = 0; n < kMaxSteps && f_.def(v) != nullptr; ++n) {
      const auto x = f_.operands(f_.def_id(v));
      switch (f_.def(v)->op) {
      case Op::Select: v = x[1]; break;
      case Op::Add: v = x[f_.is_const(x[0]) ? 1 : 0]; break;
      case Op::Lo:
      case Op::Hi: v = x[0]; break;
      case Op::Join: v = x[half == Op::Lo ? 0 : 1]; break;
      default: return ValueId{};
      }
    }
    return f_.def(v) == nullptr ? v : ValueId{};
  };
  for (const ValueId x : f_.operands(i)) {
    const ValueId low = without_moves(x, Op::Lo), high = without_moves(x, Op::Hi);
    if (low.valid()) compared_[low.index].push_back(i);
    if (!low.valid() || !high.valid() || f_.def_block(low) != f_.def_block(high)) continue;
    if (low == high)
      pointers_.try_emplace(low.index, Pointer{low, {}});
    else
      pointers_[low.index] = {low, high};
  }
}

/// The counters, of those that are compared, that `p` goes along with: it is moved only in lanes in which
/// they are, and so no more often.
std::vector<MaskedLimits::Along> MaskedLimits::find_along(Pointer p, ValueId mask) const {
  std::vector<Along> found;
  std::optional<Moves> of_p;
  const BlockId header = f_.def_block(p.low);
  for (const ValueId q : f_[header].params) {
    const auto pointer = pointers_.find(q.index);
    if (pointer == pointers_.end() || q == p.low) continue;
    if (!of_p) of_p = find_moves(p, mask, false);
    if (!of_p) break;
    const auto of_q = find_moves(pointer->second, mask, false);
    if (!of_q || of_q->first.from.low.valid()) continue;
    const auto are_moved = [&](const Moves::Way& way) {
      Bdd::Node set = Bdd::kFalse;
      for (const Moves::Way& w : of_q->ways)
        if (w.path == way.path) set = masks_.facts.bdd().or_(set, w.lanes.set);
      return masks_.facts.is_subset(way.lanes.set, set, way.lanes.at);
    };
    if (!std::ranges::all_of(of_p->ways, are_moved)) continue;
    const Type type = pointer->second.high.valid() ? Type::V64 : f_.type(q);
    found.push_back(
        {of_p->first, of_p->step, pointer->second, signed_constant(type, of_q->first.by), of_q->step});
  }
  return found;
}

/// Where `p`, parameters of a loop, is by how far such a counter has got in these lanes.
std::optional<Range> MaskedLimits::range_along(Pointer p, Lanes lanes, unsigned depth) const {
  if (is_along_ || depth >= kMaxDepth) return std::nullopt; // Two would ask for each other.
  return in_masks_of_loop(f_.def_block(p.low), lanes,
                          [&](ValueId mask) { return range_along(p, mask, lanes, depth); });
}

std::optional<Range> MaskedLimits::range_along(Pointer p, ValueId mask, Lanes lanes, unsigned depth) const {
  const BlockId header = f_.def_block(p.low);
  const auto [known, is_new] = along_.try_emplace({p.low.index, p.high.index, mask.index});
  if (is_new) known->second = find_along(p, mask);
  const Lanes all{mask.valid() ? masks_.facts.lanes(mask) : Bdd::kTrue, header};
  for (const Along& along : known->second) {
    const Pointer q = along.counter;
    const bool is_wide = bits_of(q) == ~u64{0};
    const auto of_counter = [&](Lanes in) {
      return is_wide ? range_of_walk(q, in, depth + 1) : std::optional(range(q.low, in, depth + 1));
    };
    is_along_ = true;
    const auto ever = of_counter(all), here = ever ? of_counter(lanes) : std::nullopt;
    is_along_ = false;
    if (!here) continue;
    // It has not wrapped if it could not even if it went on.
    const i64 least = is_wide ? -kFar : kAnyNumber.min, most = is_wide ? kFar : kAnyNumber.max;
    const i64 step = along.counter_step;
    if (step > 0 ? ever->max > most - step : ever->min < least - step) continue;
    const i64 rounds = std::max<i64>(0, ((step > 0 ? here->max : here->min) - along.counter_first) / step);
    i64 by = 0;
    if (__builtin_mul_overflow(rounds, along.step, &by) || by < -kFar || by > kFar) continue;
    return range_of_moves(along.first, {std::min<i64>(by, 0), std::max<i64>(by, 0)}, lanes, depth);
  }
  return std::nullopt;
}

} // namespace lanewise::passes
