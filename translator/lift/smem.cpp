// Scalar memory (7nm guide 7, 12.6).
#include "runtime/wave.hpp"
#include "translator/lift/memory.hpp"

namespace lanewise::lift {

using ir::Op;

namespace {

struct ScalarAddress {
  ValueId base, offset; ///< 64 and 32 bits; the offset is a multiple of 4
};

/// The offset operand and immediate. A negative immediate goes into the base: the IR's offset is unsigned.
ValueId offset_of(Lifter& l, ValueId* base) {
  const isa::Operand& o = l.in->src[1];
  if (o.is(isa::OperandKind::Imm)) {
    const i64 bytes = static_cast<i64>(o.value) & ~i64{3};
    if (bytes >= 0 || base == nullptr) return l.b.u32c(static_cast<u32>(bytes));
    *base = l.b.add(*base, static_cast<u64>(bytes));
    return l.b.u32c(0);
  }
  ValueId offset = o.is(isa::OperandKind::None) ? l.b.u32c(0) : l.b.and_(l.s32(o), ~u64{3});
  if (l.row->has(isa::kScratchSmem)) { // The register counts bytes per lane.
    *base = l.b.add(*base, l.b.shl(l.b.zext(l.s32(o)), 6u));
    offset = l.b.u32c(0);
  }
  const i64 extra = i64{l.in->mods.offset} & ~i64{3};
  if (extra == 0) return offset;
  if (base == nullptr) return l.b.add(offset, static_cast<u64>(extra));
  *base = l.b.add(*base, static_cast<u64>(extra));
  return offset;
}

ScalarAddress address_of(Lifter& l) {
  ValueId base = l.s64(0);
  const ValueId offset = offset_of(l, &base);
  return {base, offset};
}

void set_results(Lifter& l, ir::InstId i, unsigned n) {
  for (unsigned k = 0; k < n; ++k) l.set_sgpr(l.in->dst[0].index + k, l.b.function().result(i, k));
}

void load(Lifter& l) {
  const unsigned n = l.row->memory.bytes / 4u;
  const auto [base, offset] = address_of(l);
  u64 base_bits = 0, offset_bits = 0;
  if (l.b.is_const(base, &base_bits) && l.b.is_const(offset, &offset_bits))
    if (const auto bytes = l.source.constant_bytes((base_bits & ~u64{3}) + offset_bits, 4 * u64{n});
        !bytes.empty()) {
      for (unsigned k = 0; k < n; ++k)
        l.set_sgpr(l.in->dst[0].index + k, l.b.u32c(load_le<u32>(&bytes[4 * std::size_t{k}])));
      return;
    }
  ir::Inst proto;
  proto.op = Op::ScalarLoad;
  proto.pc = l.pc;
  const std::vector<Type> types(n, Type::U32);
  const ValueId operands[] = {base, offset};
  set_results(l, l.b.function().append(l.b.block(), proto, operands, types), n);
}

void buffer_load(Lifter& l) {
  const unsigned n = l.row->memory.bytes / 4u, v = l.in->src[0].index;
  ir::Inst proto;
  proto.op = Op::ScalarBufLoad;
  proto.pc = l.pc;
  const ValueId operands[] = {l.sgpr(v), l.sgpr(v + 1), l.sgpr(v + 2), l.sgpr(v + 3), offset_of(l, nullptr)};
  const std::vector<Type> types(n, Type::U32);
  set_results(l, l.b.function().append(l.b.block(), proto, operands, types), n);
}

/// Scalar stores and atomics are vector ones of lane 0.
Access one_lane(Lifter& l, const ScalarAddress& a) {
  const ValueId address = l.b.add(l.b.and_(a.base, ~u64{3}), l.b.zext(a.offset));
  Access access;
  access.attr.space = ir::Space::Global;
  access.address = {l.b.splat(address)};
  access.lanes = l.b.maskc(1);
  return access;
}

std::vector<ValueId> scalar_data(Lifter& l, unsigned n) {
  std::vector<ValueId> values;
  for (unsigned i = 0; i < n; ++i) values.push_back(l.b.splat(l.sgpr(l.in->src[2].index + i)));
  return values;
}

void store(Lifter& l) {
  Access a = one_lane(l, address_of(l));
  a.attr.bytes = l.row->memory.bytes;
  store(l, a, scalar_data(l, a.attr.bytes / 4u));
}

/// Limits lane 0 to offsets inside a scalar buffer of `size` bytes per access.
Access one_lane_of_buffer(Lifter& l, unsigned size) {
  Emit& b = l.b;
  const unsigned v = l.in->src[0].index;
  const ValueId w1 = l.sgpr(v + 1), records = l.sgpr(v + 2);
  const ValueId offset = offset_of(l, nullptr);
  const ValueId stride = b.field(w1, 16, 14);
  ValueId bytes = b.zext(records);
  if (!l.gfx9()) {
    const ValueId structured = b.op(Op::UMulWide, Type::U64, {stride, records});
    bytes = b.select(b.icmp(IntPred::Eq, stride, 0), bytes, structured);
  }
  Access a = one_lane(l, {b.join(l.sgpr(v), b.and_(w1, 0xffff)), offset});
  const ValueId end = b.add(b.zext(offset), u64{size});
  a.lanes = b.and_(b.splat(b.icmp(IntPred::ULe, end, bytes)), a.lanes);
  return a;
}

void buffer_store(Lifter& l) {
  const unsigned n = l.row->memory.bytes / 4u;
  // Each dword is checked on its own.
  for (unsigned i = 0; i < n; ++i) {
    Access a = one_lane_of_buffer(l, 4 * i + 4);
    a.attr.bytes = 4;
    a.offset = 4 * i;
    const ValueId data[] = {l.b.splat(l.sgpr(l.in->src[2].index + i))};
    store(l, a, data);
  }
}

void scalar_atomic(Lifter& l, Access a) {
  a.attr.bytes = l.row->memory.bytes;
  a.attr.returns = l.in->mods.glc;
  if (!set_atomic(a.attr, *l.row)) return l.untranslated("this atomic");
  const unsigned n = a.attr.bytes / 4u;
  const auto old = atomic(l, a, scalar_data(l, takes_two(a.attr.atomic) ? 2 * n : n));
  for (unsigned i = 0; i < old.size(); ++i)
    l.set_sgpr(l.in->dst[0].index + i, l.b.read_lane(old[i], l.b.u32c(0)));
}

/// The host's counter, scaled.
void clock(Lifter& l) {
  Emit& b = l.b;
  const ValueId scales = b.op(Op::FrameField, Type::U64, {}, offsetof(runtime::WaveFrame, core_clock_scale));
  const ValueId scale = l.in->op == isa::Op::s_memrealtime ? b.hi(scales) : b.lo(scales);
  const ValueId ticks = b.op(Op::Clock, Type::U64, {});
  const ValueId low = b.op(Op::UMulWide, Type::U64, {b.lo(ticks), scale});
  const ValueId high = b.op(Op::UMulWide, Type::U64, {b.hi(ticks), scale});
  l.set_s64(b.op(Op::Add, Type::U64, {high, b.zext(b.hi(low))}));
}
void nothing(Lifter&) {}

} // namespace

void add_scalar_memory_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::Smem) continue;
    Rule& rule = rules[static_cast<unsigned>(row.op)];
    const bool buffer = row.src[0].dwords == 4;
    if (row.has(isa::kClock))
      rule = clock;
    else if (row.has(isa::kDiscard | isa::kInvalidates))
      rule = nothing;
    else if (row.memory.atomic != isa::Atomic::None && buffer)
      rule = [](Lifter& l) { scalar_atomic(l, one_lane_of_buffer(l, l.row->memory.bytes)); };
    else if (row.memory.atomic != isa::Atomic::None)
      rule = [](Lifter& l) { scalar_atomic(l, one_lane(l, address_of(l))); };
    else if (row.memory.store)
      rule = buffer ? buffer_store : static_cast<Rule>(store);
    else
      rule = buffer ? buffer_load : static_cast<Rule>(load);
  }
}

} // namespace lanewise::lift
