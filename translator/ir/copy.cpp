#include "translator/ir/copy.hpp"

namespace lanewise::ir {

InstId append_copy(Function& f, BlockId block, InstId i) {
  const Inst proto = f[i];
  const std::vector<ValueId> operands(f.operands(i).begin(), f.operands(i).end());
  std::vector<Type> types;
  for (unsigned r = 0; r < proto.num_results; ++r) types.push_back(f.type(f.result(i, r)));
  return f.append(block, proto, operands, types);
}

void append_renamed(Function& f, BlockId block, std::span<const InstId> insts, Renaming& now) {
  for (const InstId i : insts) {
    const InstId copy = append_copy(f, block, i);
    for (ValueId& x : f.operands(copy)) rename(now, x);
    for (unsigned r = 0; r < f[i].num_results; ++r) now[f.result(i, r).index] = f.result(copy, r);
  }
}

} // namespace lanewise::ir
