#include "translator/x86/gang_steps.hpp"

#include <algorithm>

namespace lanewise::x86 {

using ir::Op;
using ir::ValueId;

namespace {

constexpr unsigned kMaxDepth = 64; ///< of definitions; addresses are shallow

i64 wrapped(u64 step, ir::Type t) {
  return ir::is_wide(t) ? static_cast<i64>(step) : i64{static_cast<i32>(step)};
}

/// Not what lanes that differ in nothing but their number could give different results for.
bool looks_at_lane_numbers(Op op) { return op == Op::U64ToMask || op == Op::InitExec || op == Op::WriteLane; }

} // namespace

GangSteps::GangSteps(const ir::Function& f, unsigned gang_lanes, unsigned members)
    : f_(f), gang_lanes_(gang_lanes), limits_(f) {
  unsigned group = members;
  while (group > 1 && !f.launch.x_counts(group * gang_lanes)) group /= 2;
  group_ = group;
  if (group_ > 1) known_.resize(f.num_values());
}

std::optional<i64> GangSteps::of(ValueId v, unsigned depth) const {
  if (ir::is_uniform(f_.type(v))) return 0;
  if (known_[v.index].computed) return known_[v.index].step;
  if (depth > kMaxDepth) return std::nullopt;
  const std::optional<i64> step = compute(v, depth);
  known_[v.index] = {true, step};
  return step;
}

std::optional<i64> GangSteps::compute(ValueId v, unsigned depth) const {
  const ir::Inst* inst = f_.def(v);
  if (inst == nullptr) return std::nullopt;
  const ir::OpInfo& op = ir::info(inst->op);
  if (!op.is(ir::kPure) || looks_at_lane_numbers(inst->op)) return std::nullopt;
  const ir::Type t = f_.type(v);
  const unsigned lanes = group_ * gang_lanes_;
  switch (inst->op) {
  case Op::LaneId: return gang_lanes_;
  case Op::InitVgpr:
    if (inst->imm == 0) return gang_lanes_;
    return f_.launch.is_uniform(static_cast<u32>(inst->imm), lanes) ? std::optional<i64>(0) : std::nullopt;
  case Op::Const:
    if (t == ir::Type::Mask && inst->imm != 0 && ~inst->imm != 0) return std::nullopt;
    return 0;
  default: break;
  }
  std::vector<i64> in;
  const auto x = f_.operands(f_.def_id(v));
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
  case Op::ZExt: return extended(x[0], in[0], false);
  case Op::SExt: return extended(x[0], in[0], true);
  default: return std::nullopt;
  }
}

/// Of `v`, whose step is known, when it becomes 64 bits wide: the same if no gang's wraps.
std::optional<i64> GangSteps::extended(ValueId v, i64 step, bool is_signed) const {
  const u64 end = is_signed ? u64{1} << 31 : u64{1} << 32;
  const bool exact = step > 0 && limits_.max(v) + static_cast<u64>(step) * (group_ - 1) < end;
  return exact ? std::optional<i64>(step) : std::nullopt;
}

} // namespace lanewise::x86
