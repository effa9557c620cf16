#include "translator/phases/guards.hpp"
#include "translator/ir/rows.hpp"
#include "translator/ir/splats.hpp"

#include <algorithm>
#include <array>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 16;

/// An access to a row in global memory that is shorter without a mask. With AVX-512 those are bytes and
/// half-words, which are packed then, and of several rows in a wave, of which each has a mask of its own.
bool gains_without_mask(const Function& f, const MemAttr& mem, unsigned gang_lanes) {
  return mem.space == Space::Global && (is_consecutive(mem) || is_consecutive_in_short_rows(mem)) &&
         (gang_lanes < 16 || mem.bytes < 4 || !f.launch.x_counts(kWaveSize));
}

} // namespace

bool ends_with_guard(const Function& f, BlockId b) {
  if (!f.tested_mask(b).valid()) return false;
  const BlockId end = f[b].successors[1].block;
  return f[end].insts.size() == 1 && f[f.terminator(end)].op == Op::EndPgm;
}

ValueId Guards::all_pass() {
  ValueId test;
  for (const BlockId b : cfg_.rpo) {
    const ValueId all = ends_with_guard(f_, b) ? is_full(f_.tested_mask(b), Limits::All, 0) : ValueId{};
    if (!all.valid()) continue;
    test = both(test, all);
    guards_.push_back(b);
    full_.clear(); // found without this guard
  }
  return test;
}

ValueId Guards::all_inside() {
  full_.clear();                // found of all limits
  std::vector<ValueId> gaining; // without them accesses are shorter
  const auto find = [&](ValueId mask) {
    const ValueId all = f_.is_full(mask) ? ValueId{} : is_full(mask, Limits::Borders, 0);
    if (!all.valid() || f_.is_const(all)) return false;
    if (std::ranges::find(inside_, mask) == inside_.end()) inside_.push_back(mask);
    return true;
  };
  for (const BlockId b : cfg_.rpo) {
    for (const InstId i : f_[b].insts)
      if (f_[i].op == Op::Load || f_[i].op == Op::Store)
        if (const ValueId mask = f_.operands(i).back();
            find(mask) && gains_without_mask(f_, f_[i].mem, gang_lanes_))
          gaining.push_back(mask);
    if (f_.tested_mask(b).valid() && !ends_with_guard(f_, b)) find(f_.tested_mask(b));
  }
  // Where both sides of a limit load, as by a choice of two rows, nobody knows which one is inside.
  std::vector<Comparison> inside, outside;
  for (const ValueId mask : inside_) add_comparisons(mask, inside, outside);
  std::erase_if(inside_, [&](ValueId mask) {
    std::vector<Comparison> own, others;
    add_comparisons(mask, own, others);
    return std::ranges::any_of(
        own, [&](const Comparison& c) { return std::ranges::find(outside, c) != outside.end(); });
  });
  const auto is_inside = [&](ValueId mask) { return std::ranges::find(inside_, mask) != inside_.end(); };
  if (std::ranges::none_of(gaining, is_inside)) inside_.clear();
  ValueId test;
  for (const ValueId mask : inside_) test = both(test, full_.at(mask.index));
  return test;
}

/// Whether no lane of the wave is outside `mask`, as where the grid is no larger than what it is about, if it
/// passes the guards that are known by now. Nothing if a scalar cannot tell.
ValueId Guards::is_full(ValueId mask, Limits limits, unsigned depth) {
  if (f_.is_full(mask) || std::ranges::any_of(guards_, [&](BlockId g) { return f_.tested_mask(g) == mask; }))
    return head_.constant(Type::U1, 1);
  if (depth > kMaxDepth) return {};
  const auto [known, is_new] = full_.try_emplace(mask.index);
  if (!is_new) return known->second; // Nothing while it is being found, as of what a loop hands on.
  ValueId all;
  const InstId i = f_.def_id(mask);
  if (!i.valid()) {
    const BlockId b = f_.def_block(mask);
    const auto n = static_cast<std::size_t>(std::ranges::find(f_[b].params, mask) - f_[b].params.begin());
    bool known_of_all = true;
    for (const BlockId from : cfg_.preds[b.index])
      for (const Successor& way : f_[from].successors) {
        if (way.block != b || !known_of_all) continue;
        const ValueId one = is_full(way.args[n], limits, depth + 1);
        known_of_all = one.valid();
        all = known_of_all ? both(all, one) : ValueId{};
      }
  } else if (f_[i].op == Op::And) {
    const ValueId first = is_full(f_.operands(i)[0], limits, depth + 1);
    const ValueId second = first.valid() ? is_full(f_.operands(i)[1], limits, depth + 1) : ValueId{};
    if (second.valid()) all = both(first, second);
  } else if (f_[i].op == Op::ICmp && (limits == Limits::All || may_be_border(i))) {
    all = holds_at_ends(i);
  }
  return full_[mask.index] = all;
}

/// From workgroup to workgroup a border is mostly answered alike, but not what is behind the first few
/// work-items of all.
bool Guards::may_be_border(InstId icmp) const {
  const auto p = static_cast<IntPred>(f_[icmp].imm);
  const ValueId a = f_.operands(icmp)[0], b = f_.operands(icmp)[1];
  const auto ends_soon = [&](ValueId limit) {
    u64 end = 0;
    return f_.is_const(limit, &end) && end <= kWaveSize;
  };
  const bool less = p == IntPred::ULt || p == IntPred::ULe || p == IntPred::SLt || p == IntPred::SLe;
  if (moves_with_workgroup(a)) return p == IntPred::Ne || !less || !ends_soon(b);
  return moves_with_workgroup(b) && (p == IntPred::Ne || less || !ends_soon(a));
}
bool Guards::moves_with_workgroup(ValueId v, unsigned depth) const {
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth > kMaxDepth) return false;
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::ZExt: return moves_with_workgroup(x[0], depth + 1);
  case Op::Add: {
    const auto is_id = [&](ValueId y) { return !f_.is_const(y) && !is_splat_of_uniform(f_, y); };
    const bool splat = is_splat_of_uniform(f_, x[0]) || is_splat_of_uniform(f_, x[1]);
    return (splat && (is_id(x[0]) || is_id(x[1]))) || moves_with_workgroup(x[0], depth + 1) ||
           moves_with_workgroup(x[1], depth + 1);
  }
  default: return false;
  }
}

/// Of a comparison with a limit: it holds in all lanes if it does in the wave's last one or, where the
/// limit is the lower one, in its first.
ValueId Guards::holds_at_ends(InstId icmp) {
  auto p = static_cast<IntPred>(f_[icmp].imm);
  ValueId less = f_.operands(icmp)[0], more = f_.operands(icmp)[1];
  if (p == IntPred::UGt || p == IntPred::UGe || p == IntPred::SGt || p == IntPred::SGe) {
    std::swap(less, more);
    p = swapped(p);
  }
  if (p == IntPred::Ne) { // Not 0 is more than 0.
    if (is_zero(more)) std::swap(less, more);
    if (!is_zero(less)) return {};
    p = IntPred::ULt;
  }
  if (p == IntPred::Eq) return {};
  const auto is_scalar = [&](ValueId v) { return f_.is_const(v) || is_splat_of_uniform(f_, v); };
  if (is_scalar(more)) return is_below(less, p, more);
  if (!is_scalar(less)) return {};
  const ValueId least = lane_at(End::First, more), end = least.valid() ? head_.first_lane(less) : least;
  return end.valid() ? head_.compare(p, end, least) : end;
}
bool Guards::is_zero(ValueId v) const {
  u64 bits = 0;
  return f_.is_const(v, &bits) && bits == 0;
}
ValueId Guards::is_below(ValueId v, IntPred p, ValueId limit) {
  u64 down = 0; // Between two limits is what is below one as a number without sign, down from the other.
  const InstId i = f_.def_id(v);
  const bool is_lowered = is_unsigned(p) && i.valid() && f_[i].op == Op::Add && f_.type(v) == Type::V32 &&
                          f_.is_const(f_.operands(i)[1], &down) && down >> 31 != 0;
  const ValueId above = is_lowered ? f_.operands(i)[0] : v;
  ValueId most = lane_at(End::Last, above);
  const ValueId end = most.valid() ? head_.first_lane(limit) : most;
  if (!end.valid() || !is_lowered) return end.valid() ? head_.compare(p, most, end) : end;
  const ValueId least = lane_at(End::First, above);
  if (!least.valid()) return {};
  most = head_.make(Op::Add, Type::U32, {most, head_.constant(Type::U32, down)});
  const ValueId from = head_.constant(Type::U32, (u64{1} << 32) - down);
  return head_.make(Op::And, Type::U1,
                    {head_.compare(IntPred::ULe, from, least), head_.compare(p, most, end)});
}
/// What that lane of the wave has of `v`, if that is known not to be negative or wrap, and to be a sum of
/// work-item ids and scalars. No lane has less, or more.
ValueId Guards::lane_at(End end, ValueId v) {
  return limits_.max(v) >> 31 != 0 ? ValueId{} : lane_at(end, v, 0);
}
ValueId Guards::lane_at(End end, ValueId v, unsigned depth) {
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth > kMaxDepth) return {};
  const auto in = [&](unsigned n) { return lane_at(end, f_.operands(i)[n], depth + 1); };
  const Type type = uniform_of(f_.type(v));
  switch (f_[i].op) {
  case Op::Const:
  case Op::Splat: return head_.first_lane(v, depth);
  case Op::LaneId: return head_.constant(Type::U32, end == End::First ? 0 : kWaveSize - 1);
  case Op::InitVgpr: {
    const bool counts = f_[i].imm == 0 && f_.launch.x_counts(kWaveSize);
    if (!counts && end == End::First) return head_.constant(Type::U32, 0);
    if (!counts) return head_.constant(Type::U32, f_.launch.max_work_item(static_cast<u32>(f_[i].imm)));
    const ValueId first = head_.first_lane(v, depth);
    if (end == End::First) return first;
    return head_.make(Op::Add, Type::U32, {first, head_.constant(Type::U32, kWaveSize - 1)});
  }
  case Op::ZExt: {
    const ValueId narrow = in(0);
    return narrow.valid() ? head_.make(Op::ZExt, type, {narrow}) : narrow;
  }
  case Op::Add: {
    const ValueId a = in(0), b = a.valid() ? in(1) : ValueId{};
    return b.valid() ? head_.make(Op::Add, type, {a, b}) : b;
  }
  default: return {};
  }
}

/// Of two tests, if there are any.
ValueId Guards::both(ValueId a, ValueId b) {
  const ValueId yes = head_.constant(Type::U1, 1);
  if (!a.valid() || a == yes) return b;
  return !b.valid() || b == yes || a == b ? a : head_.make(Op::And, Type::U1, {a, b});
}

/// All lanes are in `mask`, and so in those that it is what is common to.
void Guards::fill(ValueId mask) {
  const InstId i = f_.def_id(mask);
  if (!i.valid()) return; // what an earlier block hands on
  if (f_[i].op == Op::And)
    for (const ValueId m : std::array{f_.operands(i)[0], f_.operands(i)[1]}) fill(m);
  f_.become_constant(i, ~u64{0});
}

void Guards::pass(BlockId b) {
  fill(f_.tested_mask(b));
  f_.become_jump(b, f_[b].successors[0]);
}

void Guards::stay_inside(const std::vector<BlockId>& blocks) {
  for (const BlockId b : blocks)
    if (std::ranges::find(inside_, f_.tested_mask(b)) != inside_.end())
      f_.become_jump(b, f_[b].successors[0]);
  std::vector<Comparison> hold, fail;
  for (const ValueId mask : inside_) add_comparisons(mask, hold, fail);
  for (const BlockId b : blocks)
    for (const InstId i : f_[b].insts)
      if (f_[i].op == Op::ICmp && std::ranges::find(fail, comparison(i)) != fail.end())
        f_.become_constant(i, 0);
  std::vector<ValueId> instead(f_.num_values());
  const ValueId full = f_.entry_constant(Type::Mask, ~u64{0});
  for (const ValueId mask : inside_) {
    fill(mask);
    instead[mask.index] = full;
  }
  const auto is_all = [&](ValueId mask) { return f_.is_full(mask) || instead[mask.index] == full; };
  const auto is_none = [&](ValueId mask) {
    u64 lanes = 0;
    return f_.is_const(mask, &lanes) && lanes == 0;
  };
  for (const BlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      if (f_[i].num_results != 1 || f_[i].num_operands == 0) continue;
      const auto x = f_.operands(i);
      ValueId& now = instead[f_.result(i).index];
      if (f_[i].op == Op::Select && f_.type(x[0]) == Type::Mask) {
        if (is_all(x[0])) now = x[1];
        if (is_none(x[0])) now = x[2];
      }
      if (f_[i].op == Op::And && f_.type(x[0]) == Type::Mask && (is_all(x[0]) || is_all(x[1])))
        now = is_all(x[0]) ? x[1] : x[0];
      if (f_[i].op == Op::Load && is_none(x.back())) {
        f_.become_constant(i, 0);
        f_[i].mem = {};
      }
    }
  f_.replace_values(instead);
}
/// With the operands in one order.
Guards::Comparison Guards::comparison(InstId icmp) const {
  const auto p = static_cast<IntPred>(f_[icmp].imm);
  const ValueId a = f_.operands(icmp)[0], b = f_.operands(icmp)[1];
  return a.index < b.index ? Comparison{a, b, p} : Comparison{b, a, swapped(p)};
}
/// Those that hold, or fail, for all if all are in `mask`.
void Guards::add_comparisons(ValueId mask, std::vector<Comparison>& hold,
                             std::vector<Comparison>& fail) const {
  const InstId i = f_.def_id(mask);
  if (!i.valid()) return;
  if (f_[i].op == Op::And)
    for (const ValueId m : f_.operands(i)) add_comparisons(m, hold, fail);
  if (f_[i].op != Op::ICmp) return;
  const auto [a, b, p] = comparison(i);
  hold.emplace_back(a, b, p);
  fail.emplace_back(a, b, inverse(p));
}

} // namespace lanewise::phases
