#include "translator/passes/value_limits.hpp"

#include "translator/ir/evaluate.hpp"
#include "translator/passes/initial_address.hpp"

#include <algorithm>
#include <array>
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
  const u64 max = a.max + b.max, min = a.min + b.min;
  const bool can_wrap = max < a.max || max > all, wraps = min < a.min || min > all;
  const auto zeros = static_cast<unsigned>(std::min(std::countr_zero(a.ones), std::countr_zero(b.ones)));
  if (can_wrap != wraps) return {all, disjoint ? a.ones | b.ones : without_low(all, zeros)};
  const u64 ones = disjoint ? a.ones | b.ones : without_low(fill(max & all), zeros);
  return {max & all, ones, min & all};
}

Limits difference(const Limits& a, const Limits& b, u64 all) {
  if (a.min < b.max) return {all, all};
  return {a.max - b.min, fill(a.max - b.min), a.min - b.max};
}

Limits product(const Limits& a, const Limits& b, u64 all) {
  const auto zeros = static_cast<unsigned>(std::countr_zero(a.ones) + std::countr_zero(b.ones));
  u64 max = 0;
  if (__builtin_mul_overflow(a.max, b.max, &max) || max > all) return {all, without_low(all, zeros)};
  return {max, without_low(fill(max), zeros), a.min * b.min};
}

/// Of a | b and, without bits that can be set in both, of a ^ b.
u64 min_of_or(const Limits& a, const Limits& b) {
  return (a.ones & b.ones) == 0 ? a.min + b.min : std::max(a.min, b.min);
}

/// a < b, if the limits decide it.
std::optional<bool> less(const Limits& a, const Limits& b) {
  if (a.max < b.min) return true;
  if (a.min >= b.max) return false;
  return std::nullopt;
}

/// The same for signed numbers. Nothing is known of what may be negative or not.
std::optional<bool> signed_less(Limits a, Limits b, u64 sign) {
  for (Limits* x : {&a, &b}) {
    if (((x->min ^ x->max) & sign) != 0) return std::nullopt;
    x->min ^= sign;
    x->max ^= sign;
  }
  return less(a, b);
}

std::optional<bool> equal(const Limits& a, const Limits& b) {
  if (a.max < b.min || b.max < a.min) return false;
  if (a.min == a.max && b.min == b.max) return true; // they are the same, or one would be less
  return std::nullopt;
}

std::optional<bool> negated(std::optional<bool> x) { return x ? std::optional(!*x) : x; }

} // namespace

Limits either(const Limits& a, const Limits& b) {
  return {std::max(a.max, b.max), a.ones | b.ones, std::min(a.min, b.min)};
}

std::optional<bool> ValueLimits::compare(IntPred p, ValueId a, ValueId b, unsigned depth) const {
  const Limits x = of(a, depth), y = of(b, depth);
  const u64 sign = u64{1} << (bit_width(f_.type(a)) - 1);
  switch (p) {
  case IntPred::Eq: return equal(x, y);
  case IntPred::Ne: return negated(equal(x, y));
  case IntPred::ULt: return less(x, y);
  case IntPred::UGe: return negated(less(x, y));
  case IntPred::UGt: return less(y, x);
  case IntPred::ULe: return negated(less(y, x));
  case IntPred::SLt: return signed_less(x, y, sign);
  case IntPred::SGe: return negated(signed_less(x, y, sign));
  case IntPred::SGt: return signed_less(y, x, sign);
  case IntPred::SLe: return negated(signed_less(y, x, sign));
  }
  return std::nullopt;
}

Limits ValueLimits::of(ValueId v, unsigned depth) const {
  if (v.index < place_.size() && place_[v.index] != 0) return known_[place_[v.index] - 1];
  const u64 all = constant_bits(f_.type(v));
  if (u64 bits = 0; f_.is_const(v, &bits)) return {bits & all, bits & all, bits & all};
  if (depth > kMaxDepth) return {all, all};
  Limits x = compute(v, depth);
  x.ones &= fill(x.max) & all;
  x.max = std::min(x.max, x.ones);
  note(v, x);
  return x;
}

/// c, if `a` - `product` is a % c for all 32-bit a: the product is c times the upper half of a product of a
/// with a rounded up reciprocal, shifted.
u64 ValueLimits::divisor_of_remainder(ValueId a, ValueId product) const {
  u64 c = 0, shift = 0, reciprocal = 0;
  const auto with_constant = [&](ValueId v, Op op, u64& bits) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != op) return ValueId{};
    const auto x = f_.operands(i);
    for (const unsigned n : {1u, 0u})
      if (f_.is_const(x[n], &bits) && (n == 1 || info(op).is(kCommutes))) return x[1 - n];
    return ValueId{};
  };
  ValueId quotient = with_constant(product, Op::Mul, c);
  if (!quotient.valid() || c == 0) return 0;
  if (const ValueId whole = with_constant(quotient, Op::LShr, shift); whole.valid()) quotient = whole;
  if (with_constant(quotient, Op::UMulHi, reciprocal) != a || shift > 31) return 0;
  const u64 one = u64{1} << (32 + shift); // The error, times a, stays below 1 / c.
  return reciprocal * c >= one && reciprocal * c - one <= u64{1} << shift ? c : 0;
}

/// It is `param` or less, if that is not negative.
bool ValueLimits::is_at_most(ValueId v, ValueId param, unsigned depth) const {
  if (v == param) return true;
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth == 0) return false;
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::LShr:
  case Op::AShr: return is_at_most(x[0], param, depth - 1);
  case Op::Select: return is_at_most(x[1], param, depth - 1) && is_at_most(x[2], param, depth - 1);
  default: return false;
  }
}

/// Of a loop's parameter that becomes less from round to round, as distances do that are halved, what it
/// begins with is known. Of others nothing.
Limits ValueLimits::of_parameter(ValueId v, unsigned depth) const {
  const u64 all = constant_bits(f_.type(v));
  const Limits anything{all, all};
  if (!sees_loops_) return anything;
  const auto for_each_argument = [&](const auto& use) {
    for (const Block& block : f_.blocks)
      for (const Successor& s : block.successors) {
        const std::vector<ValueId>& params = f_[s.block].params;
        if (block.insts.empty() || s.args.size() != params.size()) continue; // nobody gets there
        for (std::size_t n = 0; n < params.size(); ++n) use(s.args[n], params[n]);
      }
  };
  constexpr unsigned kMaxSteps = 3;
  if (!lessening_) {
    lessening_.emplace();
    for_each_argument([&](ValueId arg, ValueId param) {
      if (arg != param && f_.def(arg) != nullptr && f_.type(arg) != Type::Mask &&
          is_at_most(arg, param, kMaxSteps))
        lessening_->push_back(param);
    });
  }
  if (std::ranges::find(*lessening_, v) == lessening_->end()) return anything;
  note(v, anything); // until it is known
  u64 max = 0;
  for_each_argument([&](ValueId arg, ValueId param) {
    if (param == v && !is_at_most(arg, v, kMaxSteps)) max = std::max(max, of(arg, depth + 1).max);
  });
  return max <= all >> 1 ? Limits{max, fill(max)} : anything;
}

/// The most that `a` - `product` can be, if that is a - a / d * d.
std::optional<u64> ValueLimits::most_of_remainder(ValueId a, ValueId product, unsigned depth) const {
  const InstId i = f_.def_id(product);
  if (!i.valid() || (f_[i].op != Op::Mul && f_[i].op != Op::Mul16)) return {};
  if (f_[i].op == Op::Mul16 && of(a, depth + 1).max > 0xffff) return {};
  for (const unsigned n : {0u, 1u}) {
    const ValueId d = f_.operands(i)[1 - n];
    const InstId quotient = f_.def_id(f_.operands(i)[n]);
    if (!quotient.valid() || f_[quotient].op != Op::UDiv || f_.operands(quotient)[0] != a ||
        f_.operands(quotient)[1] != d)
      continue;
    const Limits divisor = of(d, depth + 1);
    if (divisor.min > 0) return divisor.max - 1;
  }
  return {};
}

/// What integer comparison `condition` is in every lane, if it is one and that is known.
std::optional<bool> ValueLimits::decided(ValueId condition, unsigned depth) const {
  const InstId i = f_.def_id(condition);
  if (!i.valid() || f_[i].op != Op::ICmp) return std::nullopt;
  const auto x = f_.operands(i);
  return compare(static_cast<IntPred>(f_[i].imm), x[0], x[1], depth);
}

Limits ValueLimits::compute(ValueId v, unsigned depth) const {
  const u64 all = constant_bits(f_.type(v));
  const Limits anything{all, all};
  const Inst* inst = f_.def(v);
  if (inst == nullptr) return of_parameter(v, depth);
  const auto x = f_.operands(f_.def_id(v));
  std::array<std::optional<Limits>, 3> operands;
  const auto in = [&](unsigned n) -> const Limits& {
    if (!operands[n]) operands[n] = of(x[n], depth + 1);
    return *operands[n];
  };
  const auto up_to = [](u64 max) { return Limits{max, fill(max)}; };
  // Of two numbers that are known: loops over arrays count modulo the size, or down past zero.
  const auto computed = [&]() -> std::optional<Limits> {
    if (in(0).min != in(0).max || in(1).min != in(1).max) return std::nullopt;
    const auto bits =
        evaluate(inst->op, f_.type(v), f_.type(x[0]), inst->imm, std::array{in(0).min, in(1).min});
    return bits ? std::optional(Limits{*bits, *bits, *bits}) : std::nullopt;
  };
  switch (inst->op) {
  case Op::LaneId: return up_to(f_.launch.wave_lanes - 1);
  case Op::InitVgpr: return up_to(f_.launch.max_work_item(static_cast<u32>(inst->imm)));
  case Op::InitSgpr: return up_to(f_.launch.max_sgpr(inst->imm));
  case Op::Splat:
  case Op::GangFirst:
  case Op::GangPick:
  case Op::LaneOf:
  case Op::ZExt: return in(0);
  case Op::SExt: return in(0).max >> 31 == 0 ? in(0) : anything;
  case Op::Lo: return in(0).max <= all ? in(0) : Limits{all, in(0).ones};
  case Op::Hi: return {in(0).max >> 32, in(0).ones >> 32, in(0).min >> 32};
  case Op::Join:
    return {in(1).max << 32 | in(0).max, in(1).ones << 32 | in(0).ones, in(1).min << 32 | in(0).min};
  case Op::Add: return sum(in(0), in(1), all);
  case Op::Sub:
    if (const auto known = computed()) return *known;
    if (const u64 divisor = divisor_of_remainder(x[0], x[1]); divisor != 0) return up_to(divisor - 1);
    if (const auto most = most_of_remainder(x[0], x[1], depth)) return up_to(*most);
    return difference(in(0), in(1), all);
  case Op::Mul:
    if (const auto known = computed()) return *known;
    [[fallthrough]];
  case Op::UMulWide: return product(in(0), in(1), all);
  case Op::SMulWide: return std::max(in(0).max, in(1).max) >> 31 == 0 ? product(in(0), in(1), all) : anything;
  case Op::UDiv:
    if (in(1).min == 0) return anything;
    return {in(0).max / in(1).min, fill(in(0).max / in(1).min), in(0).min / in(1).max};
  case Op::And:
    if (const auto known = computed()) return *known;
    return {std::min(in(0).max, in(1).max), in(0).ones & in(1).ones};
  case Op::Or:
    if (const auto known = computed()) return *known;
    return {all, in(0).ones | in(1).ones, min_of_or(in(0), in(1))};
  case Op::Xor:
    if (const auto known = computed()) return *known;
    return {all, in(0).ones | in(1).ones, (in(0).ones & in(1).ones) == 0 ? min_of_or(in(0), in(1)) : 0};
  case Op::AndNot: return {in(0).max, in(0).ones};
  case Op::Not: return {all - in(0).min, all, all - in(0).max};
  case Op::UMin: return {std::min(in(0).max, in(1).max), all, std::min(in(0).min, in(1).min)};
  case Op::UMax: {
    Limits limits = either(in(0), in(1));
    limits.min = std::max(in(0).min, in(1).min);
    return limits;
  }
  case Op::Select: // of a place in an array, if it lies within
    if (const auto first = decided(x[0], depth + 1)) return in(*first ? 1 : 2);
    return either(in(1), in(2));
  case Op::Sub16:
    if (const auto most = most_of_remainder(x[0], x[1], depth); most && in(0).max <= 0xffff)
      return up_to(*most);
    [[fallthrough]];
  case Op::Add16:
  case Op::Mul16:
  case Op::SMin16:
  case Op::SMax16:
  case Op::UMin16:
  case Op::UMax16: return std::max(in(0).max, in(1).max) <= 0xffff ? up_to(0xffff) : anything;
  case Op::Shl16: return in(0).max <= 0xffff ? up_to(0xffff) : anything;
  case Op::PopCount: return up_to(64);
  case Op::CountLz:
  case Op::CountTz: return up_to(bit_width(f_.type(x[0])));
  case Op::Shl:
  case Op::AShr:
  case Op::LShr: {
    if (const auto known = computed()) return *known;
    u64 n = 0;
    if (inst->op == Op::AShr && in(0).max > all >> 1) return anything; // it may be negative
    if (!f_.is_const(x[1], &n)) return inst->op == Op::Shl ? anything : Limits{in(0).max, all};
    n &= bit_width(f_.type(v)) - 1;
    if (inst->op != Op::Shl) return {in(0).max >> n, in(0).ones >> n, in(0).min >> n};
    if (in(0).max > all >> n) return {all, in(0).ones << n};
    return {in(0).max << n, in(0).ones << n, in(0).min << n};
  }
  case Op::ScalarLoad: {
    const auto half = half_of_aligned_pointer(f_, v);
    if (half == 1u) return up_to((translator::kPointerEnd - 1) >> 32);
    const u64 low = half ? translator::kAlignedPointer - 1 : 0;
    return {all & ~low, all & ~low};
  }
  case Op::FpToFp: return inst->imm == static_cast<u64>(FloatKind::F16) ? up_to(0xffff) : anything;
  case Op::FAdd:
  case Op::FSub:
  case Op::FMul:
  case Op::FFma: return inst->fp.kind == FloatKind::F16 ? up_to(0xffff) : anything;
  case Op::Load:
    if (inst->mem.sign_extend || inst->mem.bytes > 2) return anything;
    return up_to(inst->mem.bytes == 1 ? 0xff : 0xffff);
  default: return anything;
  }
}

} // namespace lanewise::passes
