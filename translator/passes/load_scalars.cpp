// Where one lane loads for all (MemAttr::spread), often nobody wants the vector: an index goes into the next
// address, a character is compared. Then the load's result is the gang's scalar. After dead code is gone.
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

void load_scalars(Function& f) {
  std::vector<u8> wanted_first(f.num_values(), 0); ///< loaded, and only lane 0 is looked at
  bool any = false;
  for (const Block& b : f.blocks)
    for (const InstId i : b.insts) {
      const MemAttr& mem = f[i].mem;
      if (f[i].op != Op::Load || !mem.spread || mem.bytes > 4) continue;
      wanted_first[f.result(i).index] = 1;
      any = true;
    }
  if (!any) return;
  for (const Block& b : f.blocks) {
    for (const InstId i : b.insts)
      if (f[i].op != Op::GangFirst)
        for (const ValueId x : f.operands(i)) wanted_first[x.index] = 0;
    for (const Successor& s : b.successors)
      for (const ValueId x : s.args) wanted_first[x.index] = 0;
  }
  std::vector<ValueId> map(f.num_values());
  for (Block& b : f.blocks)
    std::erase_if(b.insts, [&](InstId i) {
      if (f[i].op != Op::GangFirst) return false;
      const ValueId vector = f.operands(i)[0];
      if (wanted_first[vector.index] == 0) return false;
      f.set_type(vector, Type::G32);
      map[f.result(i).index] = vector;
      return true;
    });
  f.replace_values(map);
}

} // namespace lanewise::passes
