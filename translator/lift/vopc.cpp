// Vector compares (7nm guide 12.9), from the table: the predicate is the low bits of the opcode.
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using ir::FloatKind;
using isa::OperandType;

namespace {

bool is_float(OperandType t) {
  return t == OperandType::F16 || t == OperandType::F32 || t == OperandType::F64;
}
FloatKind float_kind(OperandType t) {
  return t == OperandType::F16 ? FloatKind::F16 : t == OperandType::F64 ? FloatKind::F64 : FloatKind::F32;
}
bool is_signed(OperandType t) {
  return t == OperandType::I16 || t == OperandType::I32 || t == OperandType::I64;
}

void set_compare(Lifter& l, ValueId m) {
  m = l.b.and_(m, l.active());
  l.set_mask(l.in->dst[0], m);
  if (l.row->has(isa::kCmpx)) l.set_exec(m);
}

/// Opcode bits 3:0 are the outcomes for which the compare holds: less, equal, greater, unordered.
void compare_float(Lifter& l) {
  const unsigned outcomes = static_cast<unsigned>(l.row->opcode.on(l.target)) & 15;
  const FloatKind kind = float_kind(l.row->src[0].type);
  if (outcomes == 0 || outcomes == 15) return set_compare(l, l.b.maskc(outcomes == 0 ? 0 : kAllLanes));
  set_compare(l, l.b.fop_as(ir::Op::FCmp, Type::Mask, l.fp(kind), {l.v(0), l.v(1)}, outcomes));
}

/// Opcode bits 2:0: less, equal, greater; less and greater together are "not equal".
void compare_integer(Lifter& l) {
  const OperandType type = l.row->src[0].type;
  const bool is_signed_type = is_signed(type);
  const unsigned outcomes = static_cast<unsigned>(l.row->opcode.on(l.target)) & 7;
  if (outcomes == 0 || outcomes == 7) return set_compare(l, l.b.maskc(outcomes == 0 ? 0 : kAllLanes));
  constexpr IntPred kSigned[] = {IntPred::Eq,  IntPred::SLt, IntPred::Eq, IntPred::SLe,
                                 IntPred::SGt, IntPred::Ne,  IntPred::SGe};
  constexpr IntPred kUnsigned[] = {IntPred::Eq,  IntPred::ULt, IntPred::Eq, IntPred::ULe,
                                   IntPred::UGt, IntPred::Ne,  IntPred::UGe};
  const IntPred p = is_signed_type ? kSigned[outcomes] : kUnsigned[outcomes];
  const auto source = [&](unsigned i) {
    if (type == OperandType::U16) return l.u16(i);
    return type == OperandType::I16 ? l.i16(i) : l.v(i);
  };
  const ValueId x = source(0);
  set_compare(l, l.b.icmp(p, x, source(1)));
}

void compare_class(Lifter& l) {
  const ValueId x = l.v(0);
  set_compare(l, l.b.fop_as(ir::Op::FClass, Type::Mask, l.fp(float_kind(l.row->src[0].type)), {x, l.v32(1)}));
}

} // namespace

void add_compare_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows()) {
    if (!row.has(isa::kCompare)) continue;
    rules[static_cast<unsigned>(row.op)] = row.has(isa::kClassTest)    ? compare_class
                                           : is_float(row.src[0].type) ? compare_float
                                                                       : compare_integer;
  }
}

} // namespace lanewise::lift
