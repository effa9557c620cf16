#include "translator/passes/value_limits.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 24;

/// All bits up to the highest of `x`.
u64 fill(u64 x) { return x == 0 ? 0 : ~u64{0} >> std::countl_zero(x); }

u64 without_low(u64 ones, unsigned zeros) { return zeros >= 64 ? 0 : ones & (~u64{0} << zeros); }

Limits sum(const Limits& a, const Limits& b, u64 all) {
  const bool disjoint = (a.ones & b.ones) == 0;
  const u64 max = a.max + b.max;
  const auto zeros = static_cast<unsigned>(std::min(std::countr_zero(a.ones), std::countr_zero(b.ones)));
  if (max < a.max || max > all) return {all, disjoint ? a.ones | b.ones : without_low(all, zeros)};
  return {max, disjoint ? a.ones | b.ones : without_low(fill(max), zeros)};
}

Limits product(const Limits& a, const Limits& b, u64 all) {
  const auto zeros = static_cast<unsigned>(std::countr_zero(a.ones) + std::countr_zero(b.ones));
  u64 max = 0;
  if (__builtin_mul_overflow(a.max, b.max, &max) || max > all) max = all;
  return {max, without_low(fill(max), zeros)};
}

Limits either(const Limits& a, const Limits& b) { return {std::max(a.max, b.max), a.ones | b.ones}; }

} // namespace

Limits ValueLimits::of(ValueId v, unsigned depth) const {
  if (const Limits* known = known_.find(v.index)) return *known;
  const u64 all = constant_bits(f_.type(v));
  if (depth > kMaxDepth) return {all, all};
  Limits x = compute(v, depth);
  x.ones &= fill(x.max) & all;
  x.max = std::min(x.max, x.ones);
  return known_.try_emplace(v.index, x).first;
}

Limits ValueLimits::compute(ValueId v, unsigned depth) const {
  const u64 all = constant_bits(f_.type(v));
  const Limits anything{all, all};
  const Inst* inst = f_.def(v);
  if (inst == nullptr) return anything;
  const auto x = f_.operands(f_.def_id(v));
  const auto in = [&](unsigned n) { return of(x[n], depth + 1); };
  const auto up_to = [](u64 max) { return Limits{max, fill(max)}; };
  switch (inst->op) {
  case Op::Const: return {inst->imm & all, inst->imm & all};
  case Op::LaneId: return up_to(kWaveSize - 1);
  case Op::InitVgpr: return up_to(f_.launch.max_work_item(static_cast<u32>(inst->imm)));
  case Op::InitSgpr: return up_to(f_.launch.max_sgpr(inst->imm));
  case Op::Splat:
  case Op::GangFirst:
  case Op::ZExt: return in(0);
  case Op::Lo: return in(0).max <= all ? in(0) : Limits{all, in(0).ones};
  case Op::Hi: return {in(0).max >> 32, in(0).ones >> 32};
  case Op::Join: return {in(1).max << 32 | in(0).max, in(1).ones << 32 | in(0).ones};
  case Op::Add: return sum(in(0), in(1), all);
  case Op::Mul:
  case Op::UMulWide: return product(in(0), in(1), all);
  case Op::SMulWide: return std::max(in(0).max, in(1).max) >> 31 == 0 ? product(in(0), in(1), all) : anything;
  case Op::And: return {std::min(in(0).max, in(1).max), in(0).ones & in(1).ones};
  case Op::Or:
  case Op::Xor: return {all, in(0).ones | in(1).ones};
  case Op::AndNot: return in(0);
  case Op::UMin: return {std::min(in(0).max, in(1).max), all};
  case Op::UMax: return either(in(0), in(1));
  case Op::Select: return either(in(1), in(2));
  case Op::PopCount: return up_to(64);
  case Op::Shl:
  case Op::LShr: {
    u64 n = 0;
    if (!f_.is_const(x[1], &n)) return inst->op == Op::LShr ? Limits{in(0).max, all} : anything;
    n &= bit_width(f_.type(v)) - 1;
    if (inst->op == Op::LShr) return {in(0).max >> n, in(0).ones >> n};
    return {in(0).max <= all >> n ? in(0).max << n : all, in(0).ones << n};
  }
  case Op::Load:
    if (inst->mem.sign_extend || inst->mem.bytes > 2) return anything;
    return up_to(inst->mem.bytes == 1 ? 0xff : 0xffff);
  default: return anything;
  }
}

} // namespace lanewise::passes
