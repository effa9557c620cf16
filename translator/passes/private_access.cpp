#include "translator/passes/private_access.hpp"

#include "translator/passes/flat_pointers.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

bool has_private_accesses(const Function& f) {
  return has_any(f, [](const Inst& i) {
    const Space space = i.mem.space;
    return info(i.op).is(kMemory) &&
           (space == Space::Scratch || space == Space::Flat || space == Space::Registers);
  });
}

PrivateAccesses::PrivateAccesses(Function& f, u32 private_bytes)
    : f_(f), private_bytes_(private_bytes), limits_(f) {
  for (const InstId i : resolve_flat_accesses(f)) flat_.insert(i.index);
  std::vector<std::pair<InstId, u64>> constant;
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts)
      if (info(f[i].op).is(kMemory) && f[i].mem.space == Space::Scratch && !f.is_const(f.operands(i)[0]))
        if (const auto bits = constant_in(f, f.operands(i)[0], f.operands(i).back()))
          constant.emplace_back(i, *bits);
  for (const auto& [i, bits] : constant) f.operands(i)[0] = f.entry_constant(Type::V32, bits);
}

PrivateBytes PrivateAccesses::bytes(InstId i) const {
  const Inst& inst = f_[i];
  const PrivateBytes anywhere = {0, u64{1} << 32, false};
  if (inst.mem.space == Space::Flat) return anywhere;
  const ValueId address = f_.operands(i)[0];
  u64 bits = 0;
  if (f_.is_const(address, &bits)) {
    const u64 first = bits + inst.imm, end = first + inst.mem.bytes; // A negative sum is a huge one.
    if (first >= private_bytes_ || end > private_bytes_) return anywhere;
    const bool aligned = first % std::min<u32>(inst.mem.bytes, 4) == 0;
    return {first, end, aligned && inst.op != Op::Atomic};
  }
  // The sum wraps: compilers for gfx9 index arrays downwards, `16 - 8 * i` with an offset behind the array.
  if (inst.imm >> 32 != 0 || limits_.max(address) + inst.imm > 0xffff'ffffu) return anywhere;
  u64 first = 0;
  if (const Inst* sum = f_.def(address); sum != nullptr && sum->op == Op::Add) {
    const auto x = f_.operands(f_.def_id(address));
    for (unsigned c = 0; c < 2; ++c)
      if (f_.is_const(x[c], &bits) && bits + limits_.max(x[1 - c]) <= 0xffff'ffffu) first = bits;
  }
  return {first + inst.imm, limits_.max(address) + inst.imm + inst.mem.bytes, false};
}

} // namespace lanewise::passes
