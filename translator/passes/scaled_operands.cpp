#include "translator/passes/scaled_operands.hpp"
#include "translator/passes/rewriter.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

std::span<const ValueId> operands_of(const Function& f, ValueId v, Op op) {
  const InstId i = f.def_id(v);
  return i.valid() && f[i].op == op ? f.operands(i) : std::span<const ValueId>{};
}

bool is(const Function& f, ValueId v, u64 bits) {
  u64 found = 0;
  return f.is_const(v, &found) && found == bits;
}

/// The mask of the lanes in which `v` is `there`, where it is `elsewhere` in others.
ValueId where(const Function& f, ValueId v, u64 there, u64 elsewhere) {
  const auto x = operands_of(f, v, Op::Select);
  return !x.empty() && is(f, x[1], there) && is(f, x[2], elsewhere) ? x[0] : ValueId{};
}

/// The same for the f64 2^exponent and 1, whose low halves are 0.
ValueId where_power(const Function& f, ValueId v, int exponent) {
  const u64 power = static_cast<u64>(1023 + exponent) << 52, one = u64{1023} << 52;
  const auto halves = operands_of(f, v, Op::Join);
  if (halves.empty()) return where(f, v, power, one);
  return is(f, halves[0], 0) ? where(f, halves[1], power >> 32, one >> 32) : ValueId{};
}

bool is_plain_f64(const Function& f, ValueId v) {
  const FpAttr& fp = f.def(v)->fp;
  return fp.kind == FloatKind::F64 && !fp.flush_in && !fp.flush_out;
}

} // namespace

std::optional<ScaledOperand> scaled_operand(const Function& f, ValueId v, int exponent) {
  const auto power = operands_of(f, v, Op::FLdexp);
  const auto product = operands_of(f, v, Op::FMul);
  if ((power.empty() && product.empty()) || !is_plain_f64(f, v)) return {};
  if (!power.empty()) {
    const ValueId mask = where(f, power[1], static_cast<u32>(exponent), 0);
    return mask.valid() ? std::optional(ScaledOperand{power[0], mask}) : std::nullopt;
  }
  for (unsigned n = 0; n < 2; ++n)
    if (const ValueId mask = where_power(f, product[n], exponent); mask.valid())
      return ScaledOperand{product[1 - n], mask};
  return {};
}

std::optional<ScaledOperand> scaled_radicand(const Function& f, ValueId v) {
  const auto scaled = scaled_operand(f, v, kRadicandScale);
  if (!scaled) return {};
  const auto test = operands_of(f, scaled->where, Op::FCmp);
  if (test.empty() || !is_plain_f64(f, scaled->where)) return {};
  const u64 outcomes = f.def(scaled->where)->imm;
  const bool less = outcomes == kLess && test[0] == scaled->operand && is(f, test[1], kTinyRadicand),
             greater = outcomes == kGreater && test[1] == scaled->operand && is(f, test[0], kTinyRadicand);
  return less || greater ? scaled : std::nullopt;
}

} // namespace lanewise::passes
