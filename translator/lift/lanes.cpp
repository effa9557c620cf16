// Moves between lanes and registers: v_readlane and friends, v_movrel.
#include "translator/lift/cfg.hpp"

namespace lanewise::lift {

using ir::Op;

void add_lane_rules(Rules& rules) {
  RULE(v_readlane_b32) {
    const ValueId v = l.raw(0);
    const ValueId lane = l.b.and_(l.s32(1), kWaveSize - 1), value = l.b.read_lane(v, lane);
    u64 n = 0;
    if (l.b.is_const(lane, &n) && l.b.def(value, Op::ReadLane) != nullptr)
      l.cfg.note_lane_read(l.in->src[0].index, static_cast<unsigned>(n), value);
    l.set_s32(value);
  };
  RULE(v_readfirstlane_b32) {
    const ValueId v = l.raw(0);
    u64 bits = 0;
    if (l.b.is_const(v, &bits)) return l.set_s32(l.b.u32c(static_cast<u32>(bits)));
    if (l.b.def(v, Op::Splat) != nullptr) return l.set_s32(l.b.operand(v, 0));
    l.set_s32(l.b.op(Op::ReadFirst, Type::U32, {v, l.exec()}));
  };
  RULE(v_writelane_b32) {
    const ValueId value = l.s32(0), lane = l.b.and_(l.s32(1), kWaveSize - 1);
    const unsigned d = l.in->dst[0].index;
    u64 n = 0;
    if (l.b.is_const(lane, &n)) l.cfg.note_lane_write(d, static_cast<unsigned>(n), value);
    l.replace_vgpr(d, l.b.op(Op::WriteLane, Type::V32, {l.vgpr(d), value, lane}), l.b.maskc(kAllLanes));
  };
  RULE(v_movrels_b32) { l.set_v(l.v32(0)); };
  RULE(v_movreld_b32) { l.set_v(l.v32(0)); };
  RULE(v_movrelsd_b32) { l.set_v(l.v32(0)); };
}

} // namespace lanewise::lift
