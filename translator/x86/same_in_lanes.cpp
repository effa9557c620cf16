#include "translator/x86/same_in_lanes.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::x86 {

using ir::Op;
using ir::ValueId;

SameInLanes::SameInLanes(const ir::Function& f) : f_(f), same_(f.num_values(), 1) {
  bool changed = true;
  const auto differs = [&](ValueId v) {
    changed |= same_[v.index] != 0 && !ir::is_uniform(f.type(v));
    if (!ir::is_uniform(f.type(v))) same_[v.index] = 0;
  };
  while (std::exchange(changed, false))
    for (const ir::Block& block : f.blocks) {
      for (const ir::InstId i : block.insts)
        for (unsigned r = 0; r < f[i].num_results; ++r)
          if (has(f.result(i, r)) && !is_made_same(i)) differs(f.result(i, r));
      for (const ir::Successor& s : block.successors)
        for (std::size_t n = 0; n < s.args.size(); ++n)
          if (const ValueId p = f[s.block].params[n]; has(p) && !has(s.args[n])) differs(p);
    }
}

/// No lane's result depends on which one it is.
bool SameInLanes::is_made_same(ir::InstId i) const {
  const ir::Inst& inst = f_[i];
  switch (inst.op) {
  case Op::Const: return f_.type(f_.result(i)) != ir::Type::Mask || inst.imm == 0 || ~inst.imm == 0;
  case Op::Splat: return true;
  case Op::Load: return inst.mem.spread;
  default:
    return ir::is_lanewise(inst.op) && std::ranges::all_of(f_.operands(i), [&](ValueId x) { return has(x); });
  }
}

} // namespace lanewise::x86
