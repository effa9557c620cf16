// Registers indexed at run time: v_movrel, s_movrel and the index mode of s_set_gpr_idx.
//
// A VGPR that an index may reach lies in memory too, as a row of the Registers space. Every write of it by
// name also stores the row, so that an indexed read is a load; after an indexed write, the registers it may
// have hit are loaded anew. Named reads still use SSA values: only what an index really reaches goes through
// memory, and stores that no load sees are removed (passes/registers.cpp).
//
// Which registers those are is not known when the first instruction is lifted. So a kernel with relative
// indices is lifted again: first to see which there are and to find the bounds of the indices, then with
// those.
#include "translator/lift/cfg.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::lift {

using ir::Op;

/// The rows that an indexed access may go to, and which it does.
struct Lifter::Rows {
  unsigned first = 0, count = 0;
  ValueId index;  ///< below count, wherever `exists`
  ValueId exists; ///< u1: false beyond the kernel's registers
};

namespace {

ir::Inst row_access(Op op, u32 pc, u64 range) {
  ir::Inst inst;
  inst.op = op;
  inst.pc = pc;
  inst.imm = range;
  inst.mem.space = ir::Space::Registers;
  return inst;
}

} // namespace

Range Lifter::index_bounds(ValueId index, std::optional<unsigned> base) {
  if (const auto it = indices_.bounds.find(pc); it != indices_.bounds.end()) return it->second;
  // Something to find the index by in the complete function, where this value may have become another.
  const ir::Inst witness = row_access(Op::Load, pc, ir::row_range(0, 1));
  index_uses_.push_back({pc, b.raw().inst(witness, {index, exec()}, {Type::V32}), base});
  return {};
}

namespace {

/// The VGPRs from `base` + `index` on that the kernel has; all of them if the sum may wrap or go beyond.
struct Span {
  unsigned first, count;
  bool exact; ///< the index cannot be beyond
};
Span reach(unsigned base, Range index, unsigned registers) {
  if (u64{base} + index.high < registers) return {base + index.low, index.high - index.low + 1, true};
  return {0, registers, false};
}

} // namespace

bool Lifter::learn_indices(RegisterIndices& indices) const {
  if (index_uses_.empty()) return false;
  ir::Function& f = b.function(); // is lifted again: nothing else will look at this one
  // Ways that no wave takes, as where EXEC would be empty, would get past the conditions that bound indices.
  passes::fold(f);
  passes::use_branches(f);
  passes::fold(f);
  ValueRanges ranges(f);
  for (const IndexUse& use : index_uses_) {
    const Range found = ranges.of(f.operands(use.witness)[0], f[use.witness].block);
    const auto [it, is_new] = indices.bounds.try_emplace(use.pc, found);
    it->second.low = std::min(it->second.low, found.low);
    it->second.high = std::max(it->second.high, found.high);
  }
  for (const IndexUse& use : index_uses_) {
    if (!use.base) continue;
    const Span span = reach(*use.base, indices.bounds[use.pc], std::min(source.num_vgprs, 256u));
    for (unsigned n = 0; n < span.count; ++n) indices.in_memory.set(span.first + n);
  }
  return true;
}

/// What M0 adds to the register's number in operand `slot`. In index mode that is the byte that s_set_gpr_idx
/// has put there, if it is still to be seen.
ValueId Lifter::register_index(unsigned slot) {
  ValueId m0 = ssa.read(kM0Var);
  if (!indexes(slot)) return m0; // v_movrel
  u64 bits = 0;
  const auto outside = [&](ValueId v) {
    return (b.is_const(v, &bits) || (b.def(v, Op::And) != nullptr && b.is_const(b.operand(v, 1), &bits))) &&
           (bits & 0xff) == 0;
  };
  while (b.def(m0, Op::Or) != nullptr) {
    if (outside(b.operand(m0, 1)))
      m0 = b.operand(m0, 0);
    else if (outside(b.operand(m0, 0)))
      m0 = b.operand(m0, 1);
    else
      break;
  }
  const bool is_byte = b.def(m0, Op::And) != nullptr && b.is_const(b.operand(m0, 1), &bits) && bits <= 0xff;
  return is_byte ? m0 : b.and_(m0, 0xff);
}

Lifter::Rows Lifter::indexed_rows(unsigned base, unsigned slot) {
  const unsigned registers = std::min(source.num_vgprs, 256u);
  const ValueId index = register_index(slot);
  const Range range = index_bounds(index, base);
  const Span span = reach(base, range, registers);
  if (span.exact) return {span.first, span.count, b.add(index, 0u - range.low), b.u1(true)};
  const ValueId wrapped = b.and_(b.add(index, base), 0xff);
  const ValueId exists = b.icmp(IntPred::ULt, wrapped, registers);
  return {0, registers, b.select(exists, wrapped, b.u32c(0)), exists};
}

ValueId Lifter::load_row(const Rows& rows, ValueId lanes) {
  const ir::Inst inst = row_access(Op::Load, pc, ir::row_range(rows.first, rows.count));
  return b.function().result(b.raw().inst(inst, {rows.index, lanes}, {Type::V32}));
}

void Lifter::store_row(unsigned n, ValueId value, ValueId lanes) {
  b.raw().inst(row_access(Op::Store, pc, ir::row_range(n, 1)), {b.u32c(0), value, lanes}, {});
}

void Lifter::store_initial_vgprs() {
  for (unsigned n = 0; n < 256; ++n)
    if (indices_.in_memory[n]) store_row(n, vgpr(n), b.maskc(kAllLanes));
}

/// The register `base` + index, the index from M0: modulo 256, and 0 beyond the kernel's registers. DPP and
/// v_readlane also look at lanes that are not active.
ValueId Lifter::relative_vgpr(unsigned base, unsigned slot) {
  const Rows rows = indexed_rows(base, slot);
  const bool per_lane = in->form != isa::Form::Dpp && in->dst[0].is(isa::OperandKind::Vgpr);
  const ValueId lanes = per_lane ? exec() : b.maskc(kAllLanes);
  return b.select(rows.exists, load_row(rows, lanes), b.v32c(0));
}

void Lifter::set_relative(unsigned base, ValueId value, ValueId lanes) {
  const Rows rows = indexed_rows(base, 3);
  const ir::Inst inst = row_access(Op::Store, pc, ir::row_range(rows.first, rows.count));
  b.raw().inst(inst, {rows.index, value, b.and_(lanes, b.splat(rows.exists))}, {});
  // Elsewhere a register is seen to be what it was, so that gangs without such lanes may go past this.
  for (unsigned n = rows.first; n < rows.first + rows.count; ++n) {
    const ValueId now = load_row({n, 1, b.u32c(0), b.u1(true)}, b.maskc(kAllLanes));
    ssa.write(vgpr_var(n), b.select(lanes, now, vgpr(n)));
  }
}

} // namespace lanewise::lift
