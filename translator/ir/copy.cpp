#include "translator/ir/copy.hpp"

#include <array>

namespace lanewise::ir {

namespace {
constexpr unsigned kMaxResults = 16; ///< of an instruction: ScalarLoad has so many
}

InstId append_copy(Function& f, BlockId block, InstId i) {
  const Inst proto = f[i];
  std::array<Type, kMaxResults> types;
  for (unsigned r = 0; r < proto.num_results; ++r) types[r] = f.type(f.result(i, r));
  return f.append(block, proto, f.operands(i), std::span(types).first(proto.num_results));
}

void append_renamed(Function& f, BlockId block, std::span<const InstId> insts, Renaming& now) {
  for (const InstId i : insts) {
    const InstId copy = append_copy(f, block, i);
    for (ValueId& x : f.operands(copy)) rename(now, x);
    for (unsigned r = 0; r < f[i].num_results; ++r) now[f.result(i, r).index] = f.result(copy, r);
  }
}

} // namespace lanewise::ir
