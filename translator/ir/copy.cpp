#include "translator/ir/copy.hpp"

namespace lanewise::ir {

InstId append_copy(Function& f, BlockId block, InstId i) {
  const Inst proto = f[i];
  const std::vector<ValueId> operands(f.operands(i).begin(), f.operands(i).end());
  std::vector<Type> types;
  for (unsigned r = 0; r < proto.num_results; ++r) types.push_back(f.type(f.result(i, r)));
  return f.append(block, proto, operands, types);
}

} // namespace lanewise::ir
