#include "translator/x86/next_rows.hpp"

#include "translator/ir/cfg.hpp"

#include <algorithm>

namespace lanewise::x86 {

using namespace ir;

namespace {

/// What its parameter `p` is in the loop's next round, if that is the same on all ways back.
ValueId next_value(const Function& f, const Cfg& cfg, const Loops& loops, i32 loop, u32 p) {
  const BlockId header = loops.loops[static_cast<u32>(loop)].header;
  ValueId next;
  for (const BlockId from : cfg.preds[header.index]) {
    if (!loops.contains(loop, from)) continue;
    for (const Successor& s : f[from].successors) {
      if (s.block != header) continue;
      if (next.valid() && next != s.args[p]) return {};
      next = s.args[p];
    }
  }
  return next;
}

/// The operand that says where a row starts, if others only add what x86 addresses can.
ValueId start_of_row(const Function& f, InstId i) {
  const MemAttr& mem = f[i].mem;
  if (f[i].op != Op::Load || mem.space != Space::Global) return {};
  if (mem.form == AddressForm::Row) return f.operands(i)[0];
  return mem.form == AddressForm::Wrapped && mem.scale <= 3 ? f.operands(i)[1] : ValueId{};
}

} // namespace

NextRows::NextRows(const Function& f) {
  const auto has_barrier = [&](BlockId b) { return ir::waits_for_waves(f[f.terminator(b)].op); };
  const Cfg cfg(f);
  if (std::ranges::none_of(cfg.rpo, has_barrier)) return;
  const Dominators dom(f, cfg);
  const Loops loops(f, cfg, dom);
  for (const BlockId b : cfg.rpo) {
    const i32 loop = loops.innermost[b.index];
    if (loop < 0) continue;
    const Loops::Loop& around = loops.loops[static_cast<u32>(loop)];
    if (std::ranges::none_of(around.blocks, has_barrier)) continue;
    for (const InstId i : f[b].insts) {
      const ValueId start = start_of_row(f, i);
      if (!start.valid() || f.def(start) != nullptr || f.def_block(start) != around.header) continue;
      if (f[i].mem.form == AddressForm::Wrapped && loops.contains(loop, f.def_block(f.operands(i)[0])))
        continue;
      const ValueId next = next_value(f, cfg, loops, loop, f[start].index);
      if (next.valid() && f.def(next) != nullptr && f.def_block(next) == b)
        loads_[f.def_id(next).index].push_back(i);
    }
  }
}

} // namespace lanewise::x86
