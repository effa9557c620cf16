#include "translator/x86/value_steps.hpp"
#include "translator/passes/aligned_counters.hpp"

#include <algorithm>

namespace lanewise::x86 {

using ir::Op;
using ir::ValueId;

namespace {

constexpr unsigned kMaxDepth = 64; ///< of definitions; addresses are shallow

i64 wrapped(u64 step, ir::Type t) {
  return ir::is_wide(t) ? static_cast<i64>(step) : i64{static_cast<i32>(step)};
}

/// Gives different lanes different results for the same operands.
bool looks_at_lane_numbers(Op op) { return op == Op::U64ToMask || op == Op::WriteLane || op == Op::NthLane; }

} // namespace

std::optional<i64> ValueSteps::of(ValueId v, unsigned depth) const {
  if (is_known_same(f_.type(v))) return 0;
  if (known_[v.index].computed) return known_[v.index].step;
  const std::optional<i64> step = depth < kMaxDepth ? compute(v, depth) : std::nullopt;
  known_[v.index] = {true, step};
  return step;
}

std::optional<i64> ValueSteps::compute(ValueId v, unsigned depth) const {
  const ir::Inst* inst = f_.def(v);
  if (inst == nullptr) return std::nullopt;
  const ir::OpInfo& op = ir::info(inst->op);
  const bool loads = inst->op == Op::ScalarLoad; // of arguments, mostly
  if ((!op.is(ir::kPure) && !loads) || looks_at_lane_numbers(inst->op)) return std::nullopt;
  const ir::Type t = f_.type(v);
  const auto x = f_.operands(f_.def_id(v));
  if (inst->op == Op::Const && (t != ir::Type::Mask || inst->imm == 0 || ~inst->imm == 0)) return 0;
  if (x.empty()) return of_input(*inst);
  std::vector<i64> in;
  for (unsigned n = 0; n < x.size(); ++n) {
    const std::optional<i64> step = op.reads_whole(n) ? std::nullopt : of(x[n], depth + 1);
    if (!step) return std::nullopt;
    in.push_back(*step);
  }
  if (std::ranges::all_of(in, [](i64 step) { return step == 0; })) return 0;
  const auto step = [&](unsigned n) { return static_cast<u64>(in[n]); };
  u64 factor = 0;
  switch (inst->op) {
  case Op::Splat:
  case Op::GangFirst:
  case Op::Lo: return wrapped(step(0), t);
  case Op::Add: return wrapped(step(0) + step(1), t);
  case Op::Sub: return wrapped(step(0) - step(1), t);
  case Op::Mul:
    for (unsigned n = 0; n < 2; ++n)
      if (f_.is_const(x[n], &factor)) return wrapped(step(1 - n) * factor, t);
    return std::nullopt;
  case Op::Shl:
    if (!f_.is_const(x[1], &factor)) return std::nullopt;
    return wrapped(step(0) << (factor & (ir::bit_width(t) - 1)), t);
  case Op::ZExt:
  case Op::SExt:
    return is_exact(x[0], in[0], inst->op == Op::SExt) ? std::optional<i64>(in[0]) : std::nullopt;
  default: return std::nullopt;
  }
}

GangSteps::GangSteps(const ir::Function& f, unsigned gang_lanes, unsigned members)
    : ValueSteps(f), gang_lanes_(gang_lanes), group_(members), limits_(f) {
  while (group_ > 1 && !f.launch.x_counts(group_ * gang_lanes)) group_ /= 2;
  passes::assume_aligned_counters(f, ir::Cfg(f), limits_);
}

std::optional<i64> GangSteps::of_input(const ir::Inst& inst) const {
  const bool along_x = inst.op == Op::LaneId || (inst.op == Op::InitVgpr && inst.imm == 0);
  if (along_x) return group_ == 1 ? std::nullopt : std::optional<i64>(gang_lanes_);
  const bool same =
      inst.op == Op::InitVgpr && f_.launch.is_uniform(static_cast<u32>(inst.imm), group_ * gang_lanes_);
  return same ? std::optional<i64>(0) : std::nullopt;
}

/// No gang's wraps.
bool GangSteps::is_exact(ValueId v, i64 step, bool is_signed) const {
  const u64 end = is_signed ? u64{1} << 31 : u64{1} << 32;
  if (step <= 0) return step == 0;
  if (limits_.max(v) + static_cast<u64>(step) * (group_ - 1) < end) return true;
  // Limits hold for all gangs: sums of what does not wrap do not if their limits do not.
  const ir::InstId i = f_.def_id(v);
  if (!i.valid() || f_[i].op != Op::Add) return false;
  const ValueId a = f_.operands(i)[0], b = f_.operands(i)[1];
  return limits_.max(a) + limits_.max(b) < end && is_exact(a, *of(a), is_signed) &&
         is_exact(b, *of(b), is_signed);
}

std::optional<i64> ColumnSteps::of_input(const ir::Inst& inst) const {
  return known_ && inst.op == Op::InitVgpr && inst.imm == 0 ? std::optional<i64>(0) : std::nullopt;
}

/// A load of what others may see gives all that is at its place, to whoever loads there.
bool CommonValues::may_be_common(ir::InstId i) const {
  const ir::Inst& inst = f_[i];
  const ir::OpInfo& op = ir::info(inst.op);
  if (inst.num_results == 0 || looks_at_lane_numbers(inst.op)) return false;
  for (unsigned n = 0; n < inst.num_operands; ++n)
    if (op.reads_whole(n)) return false;
  if (op.is(ir::kPure)) return inst.num_operands != 0;
  const bool shared = inst.mem.space == ir::Space::Global || inst.mem.space == ir::Space::Lds;
  return inst.op == Op::Load && shared && !inst.mem.coherent && !inst.mem.spread && inst.mem.retry == 0;
}

void CommonValues::find_loads(std::span<const ir::BlockId> blocks) {
  for (const ValueId v : found_) loaded_[v.index] = 0;
  found_.clear();
  if (row_.group() == 1 && !below_) return;
  for (const ir::BlockId b : blocks)
    for (const ir::InstId i : f_[b].insts) {
      if (!may_be_common(i)) continue;
      const auto x = f_.operands(i);
      const bool row = std::ranges::all_of(x, [&](ValueId v) { return in_row(v); });
      const bool column = std::ranges::all_of(x, [&](ValueId v) { return in_column(v); });
      for (unsigned r = 0; (row || column) && r < f_[i].num_results; ++r) {
        const ValueId v = f_.result(i, r);
        loaded_[v.index] = static_cast<u8>((row ? kRow : 0) | (column ? kColumn : 0));
        found_.push_back(v);
      }
    }
}

std::optional<i64> WorkgroupSteps::of_input(const ir::Inst& inst) const {
  if (inst.op == Op::InitExec) return std::nullopt;
  const i32 id = f_.launch.group_id_sgpr[0];
  return inst.op == Op::InitSgpr && id >= 0 && inst.imm == static_cast<u32>(id) ? 1 : 0;
}

} // namespace lanewise::x86
