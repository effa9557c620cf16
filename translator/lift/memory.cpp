#include "translator/lift/memory.hpp"

#include <algorithm>
#include <array>

namespace lanewise::lift {

using ir::AtomicOp;
using ir::Op;

namespace {

/// An address in a buffer, two operands of 8 bytes, and the lanes.
constexpr std::size_t kMaxOperands = 7 + 4 + 1;

/// Builds a memory instruction; its results are 32 bits per lane.
std::vector<ValueId> build(Lifter& l, Op op, const Access& a, std::span<const ValueId> data,
                           unsigned results) {
  ir::Inst proto;
  proto.op = op;
  proto.mem = a.attr;
  proto.imm = static_cast<u64>(a.offset);
  if (op == Op::Atomic) proto.fp.round = l.fp(ir::FloatKind::F32).round; // of float atomics, f64 ones too
  proto.pc = l.pc;
  std::array<ValueId, kMaxOperands> operands;
  auto end = std::ranges::copy(a.address, operands.begin()).out;
  end = std::ranges::copy(data, end).out;
  *end++ = a.lanes;
  static constexpr std::array kTypes = {Type::V32, Type::V32, Type::V32, Type::V32};
  ir::Function& f = l.b.function();
  const ir::InstId i =
      f.append(l.b.block(), proto, {operands.begin(), end}, std::span(kTypes).first(results));
  std::vector<ValueId> values;
  values.reserve(results);
  for (unsigned n = 0; n < results; ++n) values.push_back(f.result(i, n));
  return values;
}

unsigned dwords(const MemAttr& attr) { return attr.bytes <= 4 ? 1 : attr.bytes / 4u; }

/// The 16 bits of a d16 load put into one half of the destination's old value.
ValueId merge_half(Lifter& l, ValueId loaded, isa::Half half) {
  Emit& b = l.b;
  const ValueId old = l.old32();
  return half == isa::Half::Hi ? b.or_(b.and_(old, 0xffff), b.shl(loaded, 16))
                               : b.or_(b.and_(old, 0xffff'0000u), b.and_(loaded, 0xffff));
}

} // namespace

std::vector<ValueId> load(Lifter& l, const Access& a) { return build(l, Op::Load, a, {}, dwords(a.attr)); }
void store(Lifter& l, const Access& a, std::span<const ValueId> data) { build(l, Op::Store, a, data, 0); }
std::vector<ValueId> atomic(Lifter& l, const Access& a, std::span<const ValueId> data) {
  return build(l, Op::Atomic, a, data, a.attr.returns ? dwords(a.attr) : 0);
}

bool set_atomic(MemAttr& attr, const isa::Row& row) {
  using isa::Atomic;
  attr.kind = attr.bytes == 8 ? ir::FloatKind::F64 : ir::FloatKind::F32;
  switch (row.memory.atomic) {
  case Atomic::Swap: attr.atomic = AtomicOp::Swap; return true;
  case Atomic::CmpSwap: attr.atomic = AtomicOp::Cmpswap; return true;
  case Atomic::Add: attr.atomic = AtomicOp::Add; return true;
  case Atomic::Sub: attr.atomic = AtomicOp::Sub; return true;
  case Atomic::Rsub: attr.atomic = AtomicOp::Rsub; return true;
  case Atomic::Smin: attr.atomic = AtomicOp::SMin; return true;
  case Atomic::Umin: attr.atomic = AtomicOp::UMin; return true;
  case Atomic::Smax: attr.atomic = AtomicOp::SMax; return true;
  case Atomic::Umax: attr.atomic = AtomicOp::UMax; return true;
  case Atomic::And: attr.atomic = AtomicOp::And; return true;
  case Atomic::Or: attr.atomic = AtomicOp::Or; return true;
  case Atomic::Xor: attr.atomic = AtomicOp::Xor; return true;
  case Atomic::Inc: attr.atomic = AtomicOp::Inc; return true;
  case Atomic::Dec: attr.atomic = AtomicOp::Dec; return true;
  case Atomic::Mskor: attr.atomic = AtomicOp::Mskor; return true;
  case Atomic::Fadd: attr.atomic = AtomicOp::FAdd; return true;
  case Atomic::Fmin: attr.atomic = AtomicOp::FMin; return true;
  case Atomic::Fmax: attr.atomic = AtomicOp::FMax; return true;
  case Atomic::FcmpSwap: attr.atomic = AtomicOp::FCmpswap; return true;
  case Atomic::Wrap: attr.atomic = AtomicOp::Wrap; return true;
  case Atomic::CondXchg32:
  case Atomic::None: break;
  }
  return false;
}

std::vector<ValueId> registers(Lifter& l, const isa::Operand& o, unsigned n, unsigned first) {
  std::vector<ValueId> values;
  values.reserve(n);
  for (unsigned i = 0; i < n; ++i) values.push_back(l.vgpr_of(o, first + i));
  return values;
}

Access lds_by_lane(Lifter& l) {
  Emit& b = l.b;
  // The offset of global loads may be negative, which that of an access in the LDS is not.
  const ValueId base =
      b.add(b.and_(l.ssa.read(kM0Var), 0xffff), static_cast<u64>(static_cast<u32>(l.in->mods.offset)));
  Access a;
  a.attr.space = ir::Space::Lds;
  a.attr.bytes = 4;
  a.address = {b.add(b.splat(base), b.shl(b.op(Op::LaneId, Type::V32, {}), 2))};
  a.lanes = l.exec();
  return a;
}

void set_loaded(Lifter& l, std::span<const ValueId> values, unsigned first) {
  if (l.in->mods.lds) return store(l, lds_by_lane(l), values);
  for (const ValueId v : values) l.set_vgpr(l.in->dst[0].index + first++, v, l.exec());
}

void perform(Lifter& l, Access a, const isa::Operand& data, bool returns) {
  const isa::MemorySpec& m = l.row->memory;
  a.attr.bytes = m.bytes;
  a.attr.sign_extend = m.sign;
  const unsigned n = dwords(a.attr);
  if (m.atomic != isa::Atomic::None) {
    a.attr.returns = returns;
    if (!set_atomic(a.attr, *l.row)) return l.untranslated("this atomic");
    // The registers hold the source, then the compare value, as the IR wants them.
    const auto old = atomic(l, a, registers(l, data, takes_two(a.attr.atomic) ? 2 * n : n));
    set_loaded(l, old);
  } else if (m.store) {
    auto values = registers(l, data, n);
    if (m.half == isa::Half::Hi) values[0] = l.b.lshr(values[0], 16);
    store(l, a, values);
  } else {
    a.attr.coherent |= l.in->mods.glc;
    auto values = load(l, a);
    if (m.half != isa::Half::None) values[0] = merge_half(l, values[0], m.half);
    set_loaded(l, values);
    if (l.in->mods.tfe) l.set_vgpr(l.in->dst[0].index + n, l.b.v32c(0), l.exec());
  }
}

void add_memory_rules(Rules& rules) {
  add_scalar_memory_rules(rules);
  add_lds_rules(rules);
  add_buffer_rules(rules);
  add_flat_rules(rules);
  add_image_rules(rules);
}

} // namespace lanewise::lift
