// Program flow, MODE, and everything else that concerns the wave as a whole (7nm guide 12.2 to 12.5).
#include "runtime/interp/control.hpp"

#include "runtime/interp/operands.hpp"
#include "runtime/interp/program.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/table.hpp"

namespace lanewise::interp {

using isa::Op;
using runtime::StopReason;

const Code* jump(Wave&, const Code& c) { return c.target; }

const Code* bad_jump(Wave& w, const Code& c) { return stop_at(w, c, StopReason::BadJump); }
const Code* illegal(Wave& w, const Code& c) { return stop_at(w, c, StopReason::Illegal); }
const Code* unsupported(Wave& w, const Code& c) { return stop_at(w, c, StopReason::Illegal); }

const Code* jump_to(Wave& w, u64 pc) {
  if (const Code* code = w.program->at(pc)) return code;
  w.stop = {StopReason::BadJump, 0, pc};
  return nullptr;
}

namespace {

// VGPR indexing (7nm guide 6.6): M0[15:12] say which operands M0[7:0] is added to.
void index_operands(const Wave& w, Code& c) {
  const u32 m0 = w.sgpr[isa::kM0], index = m0 & 0xff;
  const auto shift = [&](u16& reg) { reg = static_cast<u16>((reg + index) & 0xff); };
  for (unsigned slot = 0; slot < 3; ++slot) {
    const unsigned bit = slot == 2 && c.reads_dst ? 15 : 12 + slot;
    const bool vgpr = c.src[slot].kind == Source::Vgpr ||
                      (c.src[slot].kind == Source::Slow && c.inst->src[slot].kind == isa::OperandKind::Vgpr);
    if (vgpr && (m0 >> bit & 1) != 0) shift(c.src[slot].index);
  }
  if ((m0 >> 15 & 1) != 0 && c.inst->dst[0].kind == isa::OperandKind::Vgpr) shift(c.dst);
}

const Code* run_indexed(Wave& w, const Code* c) {
  Code indexed = *c;
  index_operands(w, indexed);
  const Code* after = indexed.run(w, indexed);
  return after == &indexed + 1 ? c + 1 : after;
}

} // namespace

const Code* run_modal(Wave& w, const Code* c) {
  if (w.modal) return c; // the loop below is at work further up
  w.modal = true;
  while (c && (w.gpr_idx_en() || w.vskip())) {
    w.current = c;
    if (w.vskip() && c->vector)
      ++c;
    else if (w.gpr_idx_en() && c->valu)
      c = run_indexed(w, c);
    else
      c = c->run(w, *c);
  }
  w.modal = false;
  return c;
}

const Code* continue_at(Wave& w, const Code* c) { return w.gpr_idx_en() || w.vskip() ? run_modal(w, c) : c; }

namespace {

const Code* branch_if(Wave& w, const Code& c, bool taken) {
  if (!taken) return next(c);
  return c.target ? c.target : jump_to(w, static_cast<u64>(c.imm));
}

template <auto Condition>
const Code* conditional(Wave& w, const Code& c) {
  return branch_if(w, c, Condition(w));
}

u64 next_pc(const Code& c) { return c.pc + c.size; }

const Code* nothing(Wave&, const Code& c) { return next(c); }
const Code* end_program(Wave& w, const Code& c) { return stop_at(w, c, StopReason::End); }

const Code* barrier(Wave& w, const Code& c) {
  w.resume_pc = next_pc(c);
  return stop_at(w, c, StopReason::Barrier);
}

/// Global wave sync: the resource is M0[21:16] + offset, the value the first active lane's data.
template <runtime::SyncRequest::Kind Kind>
const Code* wave_sync(Wave& w, const Code& c) {
  using runtime::SyncRequest;
  const u32 resource = ((w.m0() >> 16) + static_cast<u32>(c.inst->mods.offset)) % SyncRequest::kResources;
  u32 value = 0;
  if (c.src[0].kind == Source::Vgpr)
    value = w.vgpr[c.src[0].index][w.exec() != 0 ? std::countr_zero(w.exec()) : 0];
  w.resume_pc = next_pc(c);
  return stop_at(w, c, StopReason::Sync,
                 static_cast<u32>(Kind) | resource << SyncRequest::kResourceShift |
                     value << SyncRequest::kValueShift);
}

const Code* trap(Wave& w, const Code& c) {
  const u32 id = static_cast<u32>(c.src[0].value & 0xff);
  constexpr u32 kDebuggerTrap = 3;
  return id == kDebuggerTrap ? next(c) : stop_at(w, c, StopReason::Trap, id);
}

const Code* getpc(Wave& w, const Code& c) {
  set_sgpr_pair(w, c.dst, next_pc(c));
  return next(c);
}
const Code* setpc(Wave& w, const Code& c) { return jump_to(w, scalar(w, c, 0)); }
const Code* swappc(Wave& w, const Code& c) {
  const u64 target = scalar(w, c, 0);
  set_sgpr_pair(w, c.dst, next_pc(c));
  return jump_to(w, target);
}
const Code* call(Wave& w, const Code& c) {
  set_sgpr_pair(w, c.dst, next_pc(c));
  return branch_if(w, c, true);
}

// Fork and join keep a stack of {EXEC, PC} in SGPRs, its depth in MODE.CSP (7nm guide 4.6). gfx6 and gfx7
// likewise.
u32 csp(const Wave& w) { return w.mode >> 29; }
void set_csp(Wave& w, u32 value) { w.mode = (w.mode & 0x1fff'ffff) | value << 29; }

const Code* fork(Wave& w, const Code& c, u64 target) {
  const u64 pass = scalar(w, c, 0) & w.exec(), fail = ~scalar(w, c, 0) & w.exec();
  if (pass == w.exec()) return jump_to(w, target);
  if (fail == w.exec()) return next(c);
  const bool fail_first = std::popcount(fail) < std::popcount(pass);
  const u32 slot = csp(w) * 4;
  set_sgpr_pair(w, slot, fail_first ? pass : fail);
  set_sgpr_pair(w, slot + 2, fail_first ? target : next_pc(c));
  set_csp(w, csp(w) + 1);
  w.exec() = fail_first ? fail : pass;
  return jump_to(w, fail_first ? next_pc(c) : target);
}
const Code* i_fork(Wave& w, const Code& c) { return fork(w, c, static_cast<u64>(c.imm)); }
const Code* g_fork(Wave& w, const Code& c) { return fork(w, c, scalar(w, c, 1)); }

const Code* join(Wave& w, const Code& c) {
  if (csp(w) == static_cast<u32>(scalar(w, c, 0))) return jump_to(w, next_pc(c));
  set_csp(w, csp(w) - 1);
  const u32 slot = csp(w) * 4;
  w.exec() = sgpr_pair(w, slot);
  return jump_to(w, sgpr_pair(w, slot + 2));
}

// Hardware registers by the number in s_getreg's immediate (LLVM's operand syntax, hwreg).
enum HwReg : u32 { kHwMode = 1, kHwStatus = 2, kHwShMemBases = 15 };

u32 read_hwreg(Wave& w, u32 id) {
  switch (id) {
  case kHwMode: return w.mode;
  case kHwStatus: return (w.scc ? 1u : 0u) | (w.exec() == 0 ? 1u << 9 : 0) | (w.vcc() == 0 ? 1u << 10 : 0);
  case kHwShMemBases:
    if (w.target < Target::gfx900) return 0;
    return static_cast<u32>(runtime::kPrivateAperture >> 48 | runtime::kSharedAperture >> 48 << 16);
  default: return 0;
  }
}

struct RegisterField {
  u32 id, offset, mask;
  explicit RegisterField(u64 imm)
      : id(imm & 63), offset(imm >> 6 & 31), mask(static_cast<u32>((u64{2} << (imm >> 11 & 31)) - 1)) {}
};

const Code* getreg(Wave& w, const Code& c) {
  const RegisterField field(c.src[0].value);
  w.sgpr[c.dst] = read_hwreg(w, field.id) >> field.offset & field.mask;
  return next(c);
}

const Code* setreg(Wave& w, const Code& c) {
  const RegisterField field(c.src[1].value);
  const u32 mask = field.mask << field.offset;
  const u32 value =
      (read_hwreg(w, field.id) & ~mask) | (static_cast<u32>(scalar(w, c, 0)) << field.offset & mask);
  if (field.id == kHwMode) w.set_mode(value);
  if (field.id == kHwStatus) w.scc = (value & 1) != 0;
  return continue_at(w, &c + 1);
}

const Code* set_vskip(Wave& w, const Code& c) {
  const bool on = (scalar(w, c, 0) >> (scalar(w, c, 1) & 31) & 1) != 0;
  w.mode = (w.mode & ~(1u << 28)) | (on ? 1u << 28 : 0);
  return continue_at(w, next(c));
}

const Code* set_gpr_idx_on(Wave& w, const Code& c) {
  w.mode |= 1u << 27;
  w.m0() = (w.m0() & ~0xf0ffu) | (scalar(w, c, 0) & 0xff) | static_cast<u32>(c.src[1].value & 15) << 12;
  return continue_at(w, next(c));
}
const Code* set_gpr_idx_off(Wave& w, const Code& c) {
  w.mode &= ~(1u << 27);
  return next(c);
}
const Code* set_gpr_idx_mode(Wave& w, const Code& c) {
  w.m0() = (w.m0() & ~0xf000u) | static_cast<u32>(c.src[0].value & 15) << 12;
  return next(c);
}
const Code* set_gpr_idx_idx(Wave& w, const Code& c) {
  w.m0() = (w.m0() & ~0xffu) | (scalar(w, c, 0) & 0xff);
  return next(c);
}

} // namespace

void register_control(HandlerTable& t) {
  for (const Op op :
       {Op::s_nop, Op::s_wakeup, Op::s_setkill, Op::s_waitcnt, Op::s_sethalt, Op::s_sleep, Op::s_setprio,
        Op::s_sendmsg, Op::s_sendmsghalt, Op::s_icache_inv, Op::s_incperflevel, Op::s_decperflevel,
        Op::s_ttracedata, Op::s_cbranch_cdbgsys, Op::s_cbranch_cdbguser, Op::s_cbranch_cdbgsys_or_user,
        Op::s_cbranch_cdbgsys_and_user, Op::v_nop, Op::v_clrexcp})
    t.set(op, nothing); // the debug conditions are false
  for (const Op op : {Op::s_endpgm, Op::s_endpgm_saved, Op::s_endpgm_ordered_ps_done}) t.set(op, end_program);
  t.set(Op::s_branch, conditional<[](Wave&) { return true; }>);
  t.set(Op::s_cbranch_scc0, conditional<[](Wave& w) { return !w.scc; }>);
  t.set(Op::s_cbranch_scc1, conditional<[](Wave& w) { return w.scc; }>);
  t.set(Op::s_cbranch_vccz, conditional<[](Wave& w) { return w.vcc() == 0; }>);
  t.set(Op::s_cbranch_vccnz, conditional<[](Wave& w) { return w.vcc() != 0; }>);
  t.set(Op::s_cbranch_execz, conditional<[](Wave& w) { return w.exec() == 0; }>);
  t.set(Op::s_cbranch_execnz, conditional<[](Wave& w) { return w.exec() != 0; }>);
  t.set(Op::s_barrier, barrier);
  using Sync = runtime::SyncRequest::Kind;
  t.set(Op::ds_gws_init, wave_sync<Sync::Init>);
  t.set(Op::ds_gws_sema_v, wave_sync<Sync::SemaV>);
  t.set(Op::ds_gws_sema_br, wave_sync<Sync::SemaBr>);
  t.set(Op::ds_gws_sema_p, wave_sync<Sync::SemaP>);
  t.set(Op::ds_gws_sema_release_all, wave_sync<Sync::SemaReleaseAll>);
  t.set(Op::ds_gws_barrier, wave_sync<Sync::Barrier>);
  t.set(Op::s_trap, trap);
  t.set(Op::s_getpc_b64, getpc);
  t.set(Op::s_setpc_b64, setpc);
  t.set(Op::s_swappc_b64, swappc);
  t.set(Op::s_call_b64, call);
  t.set(Op::s_cbranch_i_fork, i_fork);
  t.set(Op::s_cbranch_g_fork, g_fork);
  t.set(Op::s_cbranch_join, join);
  t.set(Op::s_getreg_b32, getreg);
  t.set(Op::s_setreg_b32, setreg);
  t.set(Op::s_setreg_imm32_b32, setreg);
  t.set(Op::s_setvskip, set_vskip);
  t.set(Op::s_set_gpr_idx_on, set_gpr_idx_on);
  t.set(Op::s_set_gpr_idx_off, set_gpr_idx_off);
  t.set(Op::s_set_gpr_idx_mode, set_gpr_idx_mode);
  t.set(Op::s_set_gpr_idx_idx, set_gpr_idx_idx);
}

} // namespace lanewise::interp
