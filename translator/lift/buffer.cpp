// MUBUF and MTBUF (7nm guide 8.1, 12.14, 12.15). Lifted as they are; lower_buffers.cpp does the addressing.
#include "translator/lift/memory.hpp"

namespace lanewise::lift {

using isa::OperandKind;

namespace {

void access(Lifter& l) {
  const isa::Modifiers& m = l.in->mods;
  if (m.lds) return l.untranslated("load to LDS");
  Emit& b = l.b;
  ValueId index = b.v32c(0), offset = b.v32c(0);
  if (m.addr64) {
    index = l.vgpr_of(l.in->src[0], 0);
    offset = l.vgpr_of(l.in->src[0], 1);
  } else {
    if (m.idxen) index = l.vgpr_of(l.in->src[0], 0);
    if (m.offen) offset = l.vgpr_of(l.in->src[0], m.idxen ? 1 : 0);
  }
  const unsigned v = l.in->src[1].index;
  Access a;
  a.attr.space = ir::Space::Buffer;
  a.attr.idxen = m.idxen;
  a.attr.offen = m.offen;
  a.attr.addr64 = m.addr64;
  a.address = {index, offset, l.sgpr(v), l.sgpr(v + 1), l.sgpr(v + 2), l.sgpr(v + 3), l.s32(2)};
  a.lanes = l.exec();
  a.offset = m.offset;
  perform(l, a, l.in->src[3], m.glc);
}

} // namespace

void add_buffer_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows()) {
    if (row.memory.space != isa::Space::Buffer || row.has(isa::kFormat | isa::kTiesLds)) continue;
    rules[static_cast<unsigned>(row.op)] = access;
  }
}

} // namespace lanewise::lift
