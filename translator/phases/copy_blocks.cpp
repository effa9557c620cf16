#include "translator/phases/copy_blocks.hpp"
#include "translator/ir/copy.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

CopiedBlocks copy_blocks(Function& f, const std::vector<BlockId>& blocks,
                         const std::unordered_map<u32, ValueId>& instead) {
  CopiedBlocks copied;
  for (const BlockId b : blocks) {
    const BlockId to = f.add_block(f[b].pc);
    f[to].take_lanes_of(f[b]);
    copied.block[b.index] = to;
    for (const ValueId p : std::vector<ValueId>(f[b].params))
      copied.value[p.index] = f.add_param(to, f.type(p));
    for (const InstId i : std::vector<InstId>(f[b].insts)) {
      const InstId c = append_copy(f, to, i);
      for (unsigned r = 0; r < f[i].num_results; ++r) copied.value[f.result(i, r).index] = f.result(c, r);
    }
    f[to].successors = f[b].successors;
  }
  for (const auto& [value, other] : instead) copied.value[value] = other;
  const auto rename = [&](ValueId& v) {
    if (const auto it = copied.value.find(v.index); it != copied.value.end()) v = it->second;
  };
  for (const auto& [from, to] : copied.block) {
    for (const InstId i : f[to].insts) std::ranges::for_each(f.operands(i), rename);
    for (Successor& s : f[to].successors) {
      s.block = copied.of(s.block);
      std::ranges::for_each(s.args, rename);
    }
    if (Inst& end = f[f.terminator(to)]; end.op == Op::Branch && (end.imm & kGangDecided) != 0)
      end.imm = gang_decided(copied.of(join_of(end))) | (end.imm & (kRetries | kFirstIsRare));
  }
  return copied;
}

} // namespace lanewise::phases
