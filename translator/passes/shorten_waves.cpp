// A workgroup with fewer work-items than a wave has lanes leaves the lanes behind the last one idle. That
// nobody notices whether these are there is proved by phases/idle.cpp; here the consequences are drawn early,
// for all passes to see: a mask of all work-items is full, ids and with them addresses have smaller bounds,
// and rows end where the workgroup does.
//
// What lanes that are not there would do must have no influence, whatever later passes make of it. So there
// must be nothing that counts lanes or reads those of other gangs. Masks that are tested have, at run time,
// none of these lanes: their gangs do not run, and so never write their part of a mask's slot.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/phases.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

/// At others than those of the first gang, or at what neighbours in another gang have.
bool looks_at_lanes_by_number(const Function& f, InstId i, unsigned gang_lanes) {
  const Op op = f[i].op;
  if (op == Op::DppMove || op == Op::DsSwizzle || op == Op::ShiftLanes)
    return phases::looks_across_gangs(f[i], 0, gang_lanes);
  u64 lane = 0;
  if (op == Op::ReadLane) return !f.is_const(f.operands(i)[1], &lane) || lane % kWaveSize >= gang_lanes;
  return op == Op::MaskToU64 || op == Op::U64ToMask || op == Op::BPermute || op == Op::Permute;
}

} // namespace

bool shorten_waves(Function& f, unsigned gang_lanes) {
  if (!f.launch.one_wave() || f.launch.packs || f.launch.row_multiple != 0) return false;
  const u32 lanes = align_up(f.launch.items(), gang_lanes);
  // Of other numbers of gangs than powers of two, some might run along that are not there
  // (x86/interleave.cpp).
  if (lanes >= kWaveSize || !std::has_single_bit(lanes / gang_lanes)) return false;
  const Cfg cfg(f);
  for (const BlockId b : cfg.rpo)
    if (std::ranges::any_of(f[b].insts, [&](InstId i) { return looks_at_lanes_by_number(f, i, gang_lanes); }))
      return false;
  if (!phases::idle_gangs_are_unseen(f, gang_lanes)) return false;
  f.launch.wave_lanes = lanes;
  if (!f.launch.full_waves()) return true;
  const u64 all = f.launch.lane_mask();
  for (const BlockId b : cfg.rpo)
    for (const InstId i : f[b].insts)
      if (f[i].op == Op::Const && f.type(f.result(i)) == Type::Mask && (f[i].imm & all) == all)
        f[i].imm = ~u64{0};
  return true;
}

} // namespace lanewise::passes
