#include "translator/passes/lane_steps.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Sums of so many such numbers do not wrap in 64 bits. Bases that may be beyond have no bounds.
constexpr i64 kMost = i64{1} << 56, kMostBetweenLanes = i64{1} << 20;

bool has_bounds(const LaneSteps& x) { return x.min >= -kMost && x.max <= kMost; }

void forget_bounds(LaneSteps& x) {
  x.min = -kMost - 1;
  x.max = kMost + 1;
}

/// Bounds of the base taken as the register has it.
void bound_by_width(LaneSteps& x, unsigned bits, bool is_signed) {
  if (bits == 64) return forget_bounds(x);
  x.min = is_signed ? -(i64{1} << 31) : 0;
  x.max = (is_signed ? i64{1} << 31 : i64{1} << 32) - 1;
}

bool fits(const LaneSteps& x, unsigned bits, bool is_signed, i64 low, i64 high) {
  if (!has_bounds(x)) return false;
  const unsigned room = std::min(bits - (is_signed ? 1 : 0), 60u);
  return x.min + low >= (is_signed ? -(i64{1} << room) : 0) && x.max + high < i64{1} << room;
}

} // namespace

/// Nothing is carried into the base.
bool LaneStepFinder::changes_below_base(const LaneSteps& x) const {
  return std::all_of(x.of_lane.begin(), x.of_lane.begin() + lanes(),
                     [&](i32 n) { return n >= 0 && i64{n} >> std::min(x.zero_bits, 40u) == 0; });
}

/// Of what is exact: the number that the base is then.
void LaneStepFinder::bound_base(LaneSteps& x, unsigned bits, bool is_signed) const {
  const auto [low, high] = std::minmax_element(x.of_lane.begin(), x.of_lane.begin() + lanes());
  if (!fits(x, bits, is_signed, *low, *high) && !fits(x, bits, is_signed, 0, 0))
    bound_by_width(x, bits, is_signed);
}

bool LaneStepFinder::is_exact(const LaneSteps& x, unsigned bits, bool is_signed) const {
  if (x.zero_bits < bits && changes_below_base(x)) return true;
  const auto [low, high] = std::minmax_element(x.of_lane.begin(), x.of_lane.begin() + lanes());
  return fits(x, bits, is_signed, *low, *high);
}

const LaneSteps* LaneStepFinder::of(ValueId v, unsigned depth) {
  constexpr unsigned kMaxDepth = 24;
  if (v.index >= shapes_.num_values() || !is_vector(f_.type(v)) || depth > kMaxDepth) return nullptr;
  auto known = known_.find(v.index);
  if (known == known_.end()) known = known_.emplace(v.index, compute(v, depth)).first;
  return known->second ? &*known->second : nullptr;
}

LaneStepFinder::Found LaneStepFinder::of_row(ValueId v) const {
  const LaneShape& s = shapes_[v];
  if (!s.strided() || std::abs(s.stride) > kMostBetweenLanes / kWaveSize) return std::nullopt;
  LaneSteps x{.zero_bits = s.zero_bits};
  for (unsigned l = 0; l < lanes(); ++l) x.of_lane[l] = static_cast<i32>(s.stride) * static_cast<i32>(l);
  const Limits limits = shapes_.limits().of(v);
  if (limits.max <= static_cast<u64>(kMost)) {
    x.min = static_cast<i64>(limits.min);
    x.max = static_cast<i64>(limits.max);
  } else {
    forget_bounds(x);
  }
  return x;
}

LaneStepFinder::Found LaneStepFinder::compute(ValueId v, unsigned depth) {
  const InstId i = f_.def_id(v);
  if (!i.valid() || f_[i].num_results != 1) return of_row(v);
  const auto x = f_.operands(i);
  const Op op = f_[i].op;
  // What is made of a row may be known better than the row that comes of it: x - 1 is below 0 at an edge.
  if (op == Op::Add || op == Op::Sub)
    if (Found found = sum(i, depth)) return found;
  if (shapes_[v].strided()) return of_row(v);
  switch (op) {
  case Op::Or:
  case Op::Xor:
  case Op::And: return logic(i, depth);
  case Op::Shl:
  case Op::LShr:
  case Op::AShr: return shift(i, depth);
  case Op::ZExt:
  case Op::SExt: {
    const LaneSteps* from = of(x[0], depth + 1);
    const bool is_signed = op == Op::SExt;
    if (from == nullptr || !is_exact(*from, 32, is_signed)) return std::nullopt;
    LaneSteps wide = *from;
    bound_base(wide, 32, is_signed);
    return wide;
  }
  case Op::Lo: {
    const LaneSteps* from = of(x[0], depth + 1);
    if (from == nullptr) return std::nullopt;
    LaneSteps low = *from;
    low.zero_bits = std::min(low.zero_bits, 32u);
    return low;
  }
  default: return std::nullopt;
  }
}

LaneStepFinder::Found LaneStepFinder::sum(InstId i, unsigned depth) {
  const auto x = f_.operands(i);
  const unsigned bits = bit_width(f_.type(f_.result(i)));
  const bool adds = f_[i].op != Op::Sub;
  u64 number = 0;
  for (unsigned n = adds ? 0 : 1; n < 2; ++n) {
    if (!shapes_.constant(x[n], number)) continue;
    i64 more = bits == 32 ? i64{static_cast<i32>(number)} : static_cast<i64>(number);
    if (std::abs(more) > kMostBetweenLanes / 4) continue;
    if (!adds) more = -more;
    const LaneSteps* to = of(x[1 - n], depth + 1);
    if (to == nullptr) return std::nullopt;
    LaneSteps all = *to; // The base stays aligned.
    for (i32& lane : all.of_lane) lane += static_cast<i32>(more);
    const auto near = [](i32 lane) { return std::abs(lane) <= kMostBetweenLanes; };
    return std::ranges::all_of(all.of_lane, near) ? Found(all) : std::nullopt;
  }
  const LaneSteps* a = of(x[0], depth + 1);
  if (a == nullptr) return std::nullopt;
  const LaneSteps* b = of(x[1], depth + 1);
  if (b == nullptr) return std::nullopt;
  LaneSteps all{.zero_bits = std::min(a->zero_bits, b->zero_bits)};
  for (unsigned l = 0; l < lanes(); ++l) {
    all.of_lane[l] = adds ? a->of_lane[l] + b->of_lane[l] : a->of_lane[l] - b->of_lane[l];
    if (std::abs(all.of_lane[l]) > kMostBetweenLanes) return std::nullopt;
  }
  if (has_bounds(*a) && has_bounds(*b)) {
    all.min = adds ? a->min + b->min : a->min - b->max;
    all.max = adds ? a->max + b->max : a->max - b->min;
  } else {
    forget_bounds(all);
  }
  return all;
}

LaneStepFinder::Found LaneStepFinder::logic(InstId i, unsigned depth) {
  const auto x = f_.operands(i);
  const Op op = f_[i].op;
  const unsigned bits = bit_width(f_.type(f_.result(i)));
  u64 number = 0;
  for (unsigned n = 0; n < 2; ++n) {
    if (!shapes_.constant(x[n], number)) continue;
    const LaneSteps* to = of(x[1 - n], depth + 1);
    if (to == nullptr || to->zero_bits >= bits || !changes_below_base(*to)) return std::nullopt;
    LaneSteps all = *to;
    const u64 below = (u64{1} << all.zero_bits) - 1;
    for (unsigned l = 0; l < lanes(); ++l) {
      const auto own = static_cast<u64>(all.of_lane[l]), other = number & below;
      const u64 made = op == Op::And ? own & other : op == Op::Or ? own | other : own ^ other;
      if (made > static_cast<u64>(kMostBetweenLanes)) return std::nullopt;
      all.of_lane[l] = static_cast<i32>(made);
    }
    if (op == Op::And && number <= static_cast<u64>(kMost)) {
      all.min = 0;
      all.max = static_cast<i64>(number & ~below);
    } else if (op == Op::And || (number & ~below) != 0) {
      bound_by_width(all, bits, false);
    }
    return all;
  }
  return op != Op::And && shapes_.limits().disjoint_bits(x[0], x[1]) ? sum(i, depth) : std::nullopt;
}

LaneStepFinder::Found LaneStepFinder::shift(InstId i, unsigned depth) {
  const auto x = f_.operands(i);
  const Op op = f_[i].op;
  const unsigned bits = bit_width(f_.type(f_.result(i)));
  u64 number = 0;
  if (!shapes_.constant(x[1], number)) return std::nullopt;
  const auto n = static_cast<unsigned>(number & (bits - 1));
  const LaneSteps* from = of(x[0], depth + 1);
  if (from == nullptr) return std::nullopt;
  LaneSteps all = *from;
  if (op == Op::Shl) {
    if (n > 20) return std::nullopt;
    for (i32& lane : all.of_lane) {
      if (std::abs(i64{lane}) << n > kMostBetweenLanes) return std::nullopt;
      lane <<= n;
    }
    all.zero_bits = std::min(all.zero_bits + n, bits);
    if (has_bounds(all) && all.min >= -(kMost >> n) && all.max <= kMost >> n) {
      all.min *= i64{1} << n;
      all.max *= i64{1} << n;
    } else {
      forget_bounds(all);
    }
    return all;
  }
  // The base has nothing to lose, so that both parts are shifted for themselves.
  const bool is_signed = op == Op::AShr;
  if (all.zero_bits < n || all.zero_bits >= bits || !is_exact(all, bits, is_signed)) return std::nullopt;
  bound_base(all, bits, is_signed);
  for (i32& lane : all.of_lane) lane >>= n;
  all.zero_bits -= n;
  if (has_bounds(all)) {
    all.min >>= n;
    all.max >>= n;
  }
  return all;
}

} // namespace lanewise::passes
