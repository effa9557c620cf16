// What a kernel indexes by a counter of its own - the rows of a board that are set, the words on a stack - is
// an element of an array where a lane has its turn, and whether the index is one is asked each time
// (scalar_arrays.hpp). Mostly it cannot be another: it is counted up only if it is not the last. Ranges are
// first taken to be what comes in from before the loops, and grow with what comes round, by what branches
// leave of it, until nothing new does.
#include "translator/phases/scalar_ranges.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxSweeps = 40; ///< in which ranges may grow: more than there are elements
constexpr unsigned kMaxDepth = 6;   ///< of what is looked through
constexpr unsigned kMaxFacts = 24;  ///< of the branches on the way to a block

/// 32-bit numbers, signed; none if `min` is more than `max`.
struct Range {
  i64 min = std::numeric_limits<i32>::min(), max = std::numeric_limits<i32>::max();

  [[nodiscard]] bool is_empty() const { return min > max; }
  [[nodiscard]] bool fits() const { return min >= Range{}.min && max <= Range{}.max; }
  friend bool operator==(const Range&, const Range&) = default;
};
constexpr Range kNone{1, 0};

Range either(const Range& a, const Range& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

/// Those of `x` that can be `p` something in `y`.
Range those(Range x, IntPred p, const Range& y) {
  const bool is_small = y.min >= 0; // and so the same number, unsigned
  switch (p) {
  case IntPred::Eq: return {std::max(x.min, y.min), std::min(x.max, y.max)};
  case IntPred::Ne:
    if (y.min != y.max) return x;
    return {x.min + (x.min == y.min ? 1 : 0), x.max - (x.max == y.max ? 1 : 0)};
  case IntPred::ULt: return is_small ? Range{std::max<i64>(x.min, 0), std::min(x.max, y.max - 1)} : x;
  case IntPred::ULe: return is_small ? Range{std::max<i64>(x.min, 0), std::min(x.max, y.max)} : x;
  case IntPred::UGt: return is_small && x.min >= 0 ? Range{std::max(x.min, y.min + 1), x.max} : x;
  case IntPred::UGe: return is_small && x.min >= 0 ? Range{std::max(x.min, y.min), x.max} : x;
  case IntPred::SLt: return {x.min, std::min(x.max, y.max - 1)};
  case IntPred::SLe: return {x.min, std::min(x.max, y.max)};
  case IntPred::SGt: return {std::max(x.min, y.min + 1), x.max};
  case IntPred::SGe: return {std::max(x.min, y.min), x.max};
  }
  return x;
}

class ScalarRanges {
public:
  explicit ScalarRanges(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), ranges_(f.num_values(), kNone) {}

  bool run() {
    find();
    std::vector<std::pair<InstId, bool>> known; // Until all are found, the function stays as it is.
    std::vector<ValueId> map(f_.num_values());
    bool any = false;
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        if (is_comparison(i))
          if (const auto outcome = decided(i, {b, {}})) known.emplace_back(i, *outcome);
        const ValueId same = is_select(i) ? same_as(i) : ValueId{};
        if (!same.valid()) continue;
        map[f_.result(i).index] = same;
        any = true;
      }
    for (const auto& [i, outcome] : known) f_.become_constant(i, outcome ? 1 : 0);
    f_.replace_values(map);
    return any || !known.empty();
  }

private:
  /// That a comparison is true, or is not.
  struct Fact {
    InstId comparison;
    bool outcome = false;
  };
  /// Control is in the block, or has left it on a way on which more is known.
  struct Point {
    BlockId block;
    Fact way;
  };
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  std::vector<Range> ranges_; ///< of parameters

  bool is_number(ValueId v) const { return f_.type(v) == Type::U32 || f_.type(v) == Type::G32; }
  bool is_comparison(InstId i) const {
    return i.valid() && f_[i].op == Op::ICmp && f_.type(f_.result(i)) != Type::Mask &&
           is_number(f_.operands(i)[0]);
  }

  bool is_select(InstId i) const {
    return f_[i].op == Op::Select && is_number(f_.result(i)) && is_comparison(f_.def_id(f_.operands(i)[0]));
  }

  /// What a select is whichever it takes: the other is a constant, and the one as well where it is not taken.
  ValueId same_as(InstId i) const {
    const auto x = f_.operands(i);
    for (const unsigned n : {1u, 2u}) {
      u64 bits = 0;
      if (!f_.is_const(x[3 - n], &bits)) continue;
      const Range other{static_cast<i32>(bits), static_cast<i32>(bits)};
      if (of(x[n], {f_[i].block, {f_.def_id(x[0]), n == 2}}) == other) return x[n];
    }
    return {};
  }

  void find() {
    for (const ValueId p : f_[cfg_.rpo[0]].params) ranges_[p.index] = {};
    for (unsigned sweep = 0;; ++sweep) {
      bool changed = false;
      for (const BlockId b : cfg_.rpo)
        for (u32 n = 0; n < f_[b].params.size(); ++n) {
          const ValueId p = f_[b].params[n];
          if (!is_number(p) || ranges_[p.index] == Range{}) continue;
          const Range now = either(ranges_[p.index], handed_on(b, n));
          if (now == ranges_[p.index]) continue;
          ranges_[p.index] = sweep < kMaxSweeps ? now : Range{};
          changed = true;
        }
      if (!changed) return;
    }
  }

  Range handed_on(BlockId b, u32 n) const {
    Range all = kNone;
    BlockId last;
    for (const BlockId from : cfg_.preds[b.index]) {
      if (from == last) continue; // It is there for each way.
      last = from;
      for (u32 s = 0; s < f_[from].successors.size(); ++s)
        if (f_[from].successors[s].block == b)
          all = either(all, of(f_[from].successors[s].args[n], {from, fact_of_way(from, s)}));
    }
    return all;
  }

  /// What is known once control has left `b` by its successor `s`.
  Fact fact_of_way(BlockId b, u32 s) const {
    const InstId branch = f_.terminator(b);
    if (f_[branch].op != Op::Branch || f_[b].successors[0].block == f_[b].successors[1].block) return {};
    InstId i = f_.def_id(f_.operands(branch)[0]);
    if (const ValueId mask = f_.tested_mask(b); mask.valid()) {
      const InstId splat = is_gang_decided(f_, b) ? f_.def_id(mask) : InstId{};
      i = splat.valid() && f_[splat].op == Op::Splat ? f_.def_id(f_.operands(splat)[0]) : InstId{};
    }
    return is_comparison(i) ? Fact{i, s == 0} : Fact{};
  }
  /// Likewise once it is in `b`, to which one way leads.
  Fact fact_of(BlockId b) const {
    const auto preds = cfg_.preds[b.index];
    if (preds.size() != 1) return {};
    return fact_of_way(preds[0], f_[preds[0]].successors[0].block == b ? 0 : 1);
  }

  Range of(ValueId v, const Point& at, unsigned depth = 0) const {
    Range range = by_definition(v, at, depth);
    const auto apply = [&](const Fact& fact) {
      if (!fact.comparison.valid() || depth > kMaxDepth) return;
      const auto x = f_.operands(fact.comparison);
      auto p = static_cast<IntPred>(f_[fact.comparison].imm);
      if (!fact.outcome) p = inverse(p);
      for (const unsigned n : {0u, 1u})
        if (x[n] == v) range = those(range, n == 0 ? p : swapped(p), by_definition(x[1 - n], at, depth + 1));
    };
    if (f_.is_const(v)) return range;
    apply(at.way);
    BlockId b = at.block;
    for (unsigned n = 0; n < kMaxFacts && b.valid(); ++n, b = dom_.idom[b.index]) apply(fact_of(b));
    return range;
  }

  Range by_definition(ValueId v, const Point& at, unsigned depth) const {
    u64 bits = 0;
    if (!is_number(v)) return {};
    if (f_.is_const(v, &bits)) return {static_cast<i32>(bits), static_cast<i32>(bits)};
    const InstId i = f_.def_id(v);
    if (!i.valid()) return ranges_[v.index];
    if (depth > kMaxDepth || f_[i].num_results != 1) return {};
    const auto x = f_.operands(i);
    const auto in = [&](unsigned n) { return of(x[n], at, depth + 1); };
    const auto sum = [](const Range& a, const Range& b) {
      if (a.is_empty() || b.is_empty()) return kNone;
      const Range both{a.min + b.min, a.max + b.max};
      return both.fits() ? both : Range{};
    };
    switch (f_[i].op) {
    case Op::Splat: return in(0);
    case Op::Add: return sum(in(0), in(1));
    case Op::Sub: {
      const Range b = in(1);
      return sum(in(0), b.is_empty() ? b : Range{-b.max, -b.min});
    }
    case Op::Select: return either(in(1), in(2));
    case Op::And:
      for (const unsigned n : {0u, 1u})
        if (f_.is_const(x[n], &bits) && static_cast<i32>(bits) >= 0) return {0, static_cast<i32>(bits)};
      return {};
    default: return {};
    }
  }

  /// What a comparison always is, if its values can be something at all.
  std::optional<bool> decided(InstId i, const Point& at) const {
    const auto p = static_cast<IntPred>(f_[i].imm);
    const Range a = of(f_.operands(i)[0], at), b = of(f_.operands(i)[1], at);
    if (a.is_empty() || b.is_empty()) return std::nullopt;
    if (those(a, p, b).is_empty() || those(b, swapped(p), a).is_empty()) return false;
    if (those(a, inverse(p), b).is_empty() || those(b, swapped(inverse(p)), a).is_empty()) return true;
    return std::nullopt;
  }
};

} // namespace

bool decide_scalar_comparisons(Function& f) { return ScalarRanges(f).run(); }

} // namespace lanewise::phases
