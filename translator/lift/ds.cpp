// LDS and GDS (7nm guide 12.13, docs/SEMANTICS.md "Memory").
#include "translator/lift/memory.hpp"

namespace lanewise::lift {

using ir::Op;
using isa::OperandKind;

namespace {

/// Before gfx9 an access ends below M0, too. Usual code has M0 = -1. Atomics ignore the low bits of their
/// address.
ValueId lanes_below_m0(Lifter& l, ValueId address, i64 offset, unsigned bytes) {
  if (l.gfx9()) return l.exec();
  Emit& b = l.b;
  const ValueId m0 = l.ssa.read(kM0Var);
  // First address that is too high, or 0.
  const ValueId fits = b.icmp(IntPred::UGe, m0, bytes);
  const ValueId end = b.select(fits, b.sub(m0, b.u32c(bytes - 1)), b.u32c(0));
  ValueId sum = b.add(address, static_cast<u64>(offset));
  if (l.row->memory.atomic != isa::Atomic::None) sum = b.and_(sum, ~u64{bytes - 1});
  const ValueId below = b.icmp(IntPred::ULt, sum, b.splat(end));
  const ValueId no_limit = b.splat(b.icmp(IntPred::Eq, m0, 0xffff'ffffu));
  return b.and_(b.or_(no_limit, below), l.exec());
}

/// The wave's part of GDS: M0[31:16] is its base, M0[15:0] its size.
ValueId gds_base(Lifter& l) { return l.b.lshr(l.ssa.read(kM0Var), 16); }

Access gds_access(Lifter& l) {
  Access a;
  a.attr.space = ir::Space::Gds;
  a.attr.bytes = l.row->memory.bytes;
  a.attr.coherent = l.row->memory.atomic == isa::Atomic::None && l.row->memory.load;
  return a;
}

Access gds_access_at(Lifter& l, ValueId address, i64 offset) {
  Emit& b = l.b;
  Access a = gds_access(l);
  const unsigned bytes = a.attr.bytes;
  const ValueId size = b.and_(l.ssa.read(kM0Var), 0xffff);
  ValueId at = b.add(address, static_cast<u64>(offset));
  ValueId fits = b.splat(b.icmp(IntPred::UGe, size, bytes));
  if (offset != 0 && l.target == isa::Target::gfx600) // The sum does not wrap there.
    fits = b.and_(fits, b.icmp(IntPred::UGe, at, static_cast<u64>(offset)));
  if (l.row->memory.atomic != isa::Atomic::None) at = b.and_(at, ~u64{bytes - 1});
  fits = b.and_(fits, b.icmp(IntPred::ULe, at, b.splat(b.sub(size, b.u32c(bytes)))));
  a.address = {b.add(at, b.splat(gds_base(l)))};
  a.lanes = b.and_(fits, l.exec());
  return a;
}

Access access_at(Lifter& l, ValueId address, i64 offset) {
  if (l.in->mods.gds) return gds_access_at(l, address, offset);
  Access a;
  a.attr.space = ir::Space::Lds;
  a.attr.bytes = l.row->memory.bytes;
  a.address = {address};
  a.offset = offset;
  a.lanes = lanes_below_m0(l, address, offset, a.attr.bytes);
  return a;
}

/// Offsets of the two addresses, in bytes.
std::array<i64, 2> pair_offsets(const Lifter& l) {
  const i64 unit = i64{l.row->memory.bytes} * l.row->memory.pair;
  return {unit * (l.in->mods.offset & 0xff), unit * l.in->mods.offset1};
}

void single(Lifter& l) {
  const Access a = access_at(l, l.v32(0), l.in->mods.offset);
  const isa::MemorySpec& m = l.row->memory;
  if (m.atomic == isa::Atomic::None) return perform(l, a, l.in->src[1], false);
  Access at = a;
  at.attr.returns = m.load;
  if (!set_atomic(at.attr, *l.row)) return l.untranslated("this atomic");
  const unsigned n = m.bytes / 4u;
  std::vector<ValueId> data = registers(l, l.in->src[1], n);
  if (takes_two(at.attr.atomic)) {
    // DS compares with data0 and stores data1; others have the order of the IR.
    const bool compares = m.atomic == isa::Atomic::CmpSwap || m.atomic == isa::Atomic::FcmpSwap;
    const auto second = registers(l, l.in->src[2], n);
    data.insert(compares ? data.begin() : data.end(), second.begin(), second.end());
  }
  set_loaded(l, atomic(l, at, data));
}

/// Each dword whose data has the top bit set becomes the data without that bit.
void conditional_exchange(Lifter& l) {
  Emit& b = l.b;
  Access a = access_at(l, l.v32(0), l.in->mods.offset);
  a.attr.atomic = ir::AtomicOp::Mskor;
  a.attr.returns = true;
  std::vector<ValueId> data; // the bits to clear, then those to set
  const auto wanted = registers(l, l.in->src[1], 2);
  for (const ValueId v : wanted) data.push_back(b.ashr(v, 31));
  for (unsigned i = 0; i < 2; ++i) data.push_back(b.and_(b.and_(wanted[i], 0x7fff'ffffu), data[i]));
  set_loaded(l, atomic(l, a, data));
}

/// ds_*_src2: the second operand lies in memory, too, at a distance in dwords which the offset or, if its top
/// bit is set, the address's upper bits say.
void source_in_memory(Lifter& l) {
  Emit& b = l.b;
  const isa::MemorySpec& m = l.row->memory;
  const u64 aligned = ~u64{m.bytes - 1u};
  const auto offset = static_cast<u32>(l.in->mods.offset);
  const ValueId address = l.v32(0);
  ValueId first, distance;
  if ((offset & 0x8000) != 0) {
    first = b.and_(address, 0x1'ffff & aligned);
    distance = b.shl(b.ashr(address, 17), 2);
  } else {
    first = b.and_(address, aligned);
    distance = b.v32c(static_cast<u32>(sign_extend(offset, 15)) << 2);
  }
  Access from = access_at(l, b.and_(b.add(first, distance), aligned), 0);
  from.attr.coherent = l.in->mods.gds;
  const auto data = load(l, from);
  Access to = access_at(l, first, 0);
  if (m.atomic == isa::Atomic::None) return store(l, to, data);
  set_atomic(to.attr, *l.row);
  atomic(l, to, data);
}

void pair(Lifter& l) {
  const isa::MemorySpec& m = l.row->memory;
  const unsigned n = m.bytes / 4u;
  const ValueId address = l.v32(0);
  const auto offsets = pair_offsets(l);
  std::vector<ValueId> results;
  for (unsigned i = 0; i < 2; ++i) {
    Access a = access_at(l, address, offsets[i]);
    const auto data = m.store ? registers(l, l.in->src[1 + i], n) : std::vector<ValueId>{};
    std::vector<ValueId> part;
    if (m.atomic != isa::Atomic::None) {
      a.attr.returns = true;
      set_atomic(a.attr, *l.row);
      part = atomic(l, a, data);
    } else if (m.store) {
      store(l, a, data);
    } else {
      part = load(l, a);
    }
    results.insert(results.end(), part.begin(), part.end());
  }
  set_loaded(l, results);
}

/// Where an access without an address register begins: M0[15:0], in GDS M0[31:16]. M0 is no limit then.
ValueId base_in_m0(Lifter& l) { return l.in->mods.gds ? gds_base(l) : l.b.and_(l.ssa.read(kM0Var), 0xffff); }

/// Such an access to `lanes` at `address` + the instruction's offset.
Access access_from_m0(Lifter& l, ValueId address, ValueId lanes) {
  Access a = l.in->mods.gds ? gds_access(l) : Access{};
  if (!l.in->mods.gds) a.attr.space = ir::Space::Lds;
  a.address = {address};
  a.offset = l.in->mods.offset;
  a.lanes = lanes;
  return a;
}

/// One atomic by the number of active lanes, whose old value every lane gets.
void count(Lifter& l) {
  Emit& b = l.b;
  const ValueId bits = b.mask_to_u64(l.exec());
  const ValueId first = b.u64_to_mask(b.and_(bits, b.sub(b.u64c(0), bits)));
  Access a = access_from_m0(l, b.splat(base_in_m0(l)), first);
  a.attr.bytes = 4;
  a.attr.returns = true;
  set_atomic(a.attr, *l.row);
  const ValueId data[] = {b.splat(b.lo(b.unary(Op::PopCount, bits)))};
  const auto old = atomic(l, a, data);
  const ValueId value = b.splat(b.op(Op::ReadFirst, Type::U32, {old[0], first}));
  l.set_vgpr(l.in->dst[0].index, value, l.exec());
}

/// The address has lane * 4 added. Exists from gfx9 on, where M0 is no limit of the LDS.
void add_tid(Lifter& l) {
  Emit& b = l.b;
  const ValueId lane = b.shl(b.op(Op::LaneId, Type::V32, {}), 2);
  perform(l, access_from_m0(l, b.add(b.splat(base_in_m0(l)), lane), l.exec()), l.in->src[1], false);
}

void swizzle(Lifter& l) {
  const ValueId moved = l.b.op(Op::DsSwizzle, Type::V32, {l.v32(0)}, static_cast<u16>(l.in->mods.offset));
  const ValueId valid = l.b.op(Op::DsSwizzle, Type::Mask, {l.exec()}, static_cast<u16>(l.in->mods.offset));
  l.set_v(l.b.select(valid, moved, l.b.v32c(0)));
}

template <Op O>
void permute(Lifter& l) {
  const ValueId address = l.b.add(l.v32(0), static_cast<u64>(l.in->mods.offset));
  l.set_v(l.b.op(O, Type::V32, {address, l.v32(1), l.exec()}));
}

} // namespace

void add_lds_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::Ds || row.memory.space != isa::Space::Lds) continue;
    Rule& rule = rules[static_cast<unsigned>(row.op)];
    if (row.op == isa::Op::ds_condxchg32_rtn_b128) // no document says what it does
      continue;
    if (row.memory.atomic == isa::Atomic::CondXchg32)
      rule = conditional_exchange;
    else if (row.memory.src2)
      rule = source_in_memory;
    else if (row.has(isa::kAddTid))
      rule = add_tid;
    else if (row.has(isa::kNoData))
      rule = count;
    else
      rule = row.memory.pair != 0 ? pair : single;
  }
  RULE(ds_swizzle_b32) { swizzle(l); };
  RULE(ds_permute_b32) { permute<Op::Permute>(l); };
  RULE(ds_bpermute_b32) { permute<Op::BPermute>(l); };
}

} // namespace lanewise::lift
