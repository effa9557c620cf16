// Lanes that exchange values - sums across lanes by `shfl_xor`, butterflies - pull them by ds_bpermute, with
// addresses that follow from the lane's number or the work-item's. Where these are known, go by bits of the
// lane's number and stay within a gang, this is a swizzle: one permutation of a register, which ends no
// phase.
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/phases.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kHalf = 32; ///< lanes that ds_swizzle reaches

/// The pattern (in ds_swizzle's mode of masks: and, or, xor) by which lanes with these byte addresses pull.
std::optional<u32> swizzle(const std::vector<u64>& addresses) {
  const auto source = [&](u32 lane) { return static_cast<u32>(addresses[lane] >> 2) % kWaveSize; };
  const u32 base = source(0) % kHalf;
  u32 keep = 0; // bits of the lane's number that its source's follow
  for (u32 bit = 1; bit < kHalf; bit <<= 1)
    if (((source(bit) ^ base) & bit) != 0) keep |= bit;
  const u32 set = base & ~keep, flip = base & keep;
  for (u32 n = 0; n < addresses.size(); ++n)
    if (source(n) != (((n & keep) | set) ^ flip) % kHalf + (n & kHalf)) return std::nullopt;
  return keep | set << 5 | flip << 10;
}

} // namespace

bool name_permutes(Function& f, unsigned gang_lanes) {
  if (f.launch.wave_lanes != kWaveSize) return false;
  const IdValues ids(f, gang_lanes);
  std::vector<std::pair<InstId, u32>> found;
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts)
      if (f[i].op == Op::BPermute && !block.in_ranks && block.first_gangs == 0)
        if (const auto* addresses = ids.of(f.operands(i)[0]); addresses != nullptr)
          if (const auto pattern = swizzle(*addresses)) {
            Inst named;
            named.op = Op::DsSwizzle;
            named.imm = *pattern;
            if (!phases::looks_across_gangs(named, 0, gang_lanes)) found.emplace_back(i, *pattern);
          }
  for (const auto& [i, pattern] : found) {
    const ValueId v = f.operands(i)[1], m = f.operands(i)[2];
    const Type t = Type::V32;
    Inst select; // Lanes that are not in the mask have 0 to give.
    select.op = Op::Select;
    select.pc = f[i].pc;
    const ValueId x[] = {m, v, f.entry_constant(t, 0)};
    const InstId made = f.make(select, x, {&t, 1});
    f[made].block = f[i].block;
    auto& insts = f[f[i].block].insts;
    insts.insert(std::ranges::find(insts, i), made);
    const ValueId given[] = {f.result(made)};
    f.set_operands(i, given);
    f[i].op = Op::DsSwizzle;
    f[i].imm = pattern;
  }
  return !found.empty();
}

} // namespace lanewise::passes
