#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

CopiedBlocks copy_blocks(Function& f, const std::vector<BlockId>& blocks,
                         const std::unordered_map<u32, ValueId>& instead) {
  CopiedBlocks copied{std::vector<BlockId>(f.num_blocks()), Renaming(f.num_values())};
  for (const BlockId b : blocks) {
    const BlockId to = f.add_block(f[b].pc);
    f[to].take_lanes_of(f[b]);
    copied.block[b.index] = to;
    for (const ValueId p : f[b].params) copied.value[p.index] = f.add_param(to, f.type(p));
    f[to].insts.reserve(f[b].insts.size());
    for (const InstId i : f[b].insts) {
      const InstId c = append_copy(f, to, i);
      for (unsigned r = 0; r < f[i].num_results; ++r) copied.value[f.result(i, r).index] = f.result(c, r);
    }
    f[to].successors = f[b].successors;
  }
  for (const auto& [value, other] : instead) copied.value[value] = other;
  const auto rename_now = [&](ValueId& v) { rename(copied.value, v); };
  for (const BlockId b : blocks) {
    const BlockId to = copied.of(b);
    for (const InstId i : f[to].insts) std::ranges::for_each(f.operands(i), rename_now);
    for (Successor& s : f[to].successors) {
      s.block = copied.of(s.block);
      std::ranges::for_each(s.args, rename_now);
    }
    if (Inst& end = f[f.terminator(to)]; end.op == Op::Branch && (end.imm & kGangDecided) != 0)
      end.imm = gang_decided(copied.of(join_of(end))) | (end.imm & (kRetries | kFirstIsRare));
  }
  return copied;
}

} // namespace lanewise::phases
