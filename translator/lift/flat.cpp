// FLAT, GLOBAL and SCRATCH (7nm guide 9, 12.18).
#include "translator/lift/memory.hpp"

namespace lanewise::lift {

using isa::OperandKind;

namespace {

ValueId wide_address(Lifter& l) {
  const isa::Operand &vaddr = l.in->src[0], &saddr = l.in->src[1];
  if (saddr.is(OperandKind::None)) return l.v64(0);
  const ValueId base = l.b.splat(l.s64(saddr));
  return vaddr.is(OperandKind::None) ? base : l.b.add(base, l.b.zext(l.v32(0)));
}

ValueId scratch_address(Lifter& l) {
  const bool has_vector = !l.in->src[0].is(OperandKind::None),
             has_scalar = !l.in->src[1].is(OperandKind::None);
  const ValueId base = has_scalar ? l.b.splat(l.s32(1)) : l.b.v32c(0);
  return has_vector ? l.b.add(base, l.v32(0)) : base;
}

void access(Lifter& l) {
  Access a;
  a.lanes = l.exec();
  a.offset = l.in->mods.offset;
  switch (l.row->memory.space) {
  case isa::Space::Scratch:
    a.attr.space = ir::Space::Scratch;
    a.address = {scratch_address(l)};
    break;
  case isa::Space::Flat:
    // Whether the sum lies in an aperture is what counts, so the offset is part of the address.
    a.attr.space = ir::Space::Flat;
    a.address = {l.b.add(wide_address(l), static_cast<u64>(a.offset))};
    a.offset = 0;
    break;
  default: a.attr.space = ir::Space::Global; a.address = {wide_address(l)};
  }
  perform(l, a, l.in->src[2], l.in->mods.glc);
}

} // namespace

void add_flat_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows())
    if (row.encoding == isa::Encoding::Flat && row.memory.accesses())
      rules[static_cast<unsigned>(row.op)] = access;
}

} // namespace lanewise::lift
