// Control flow and the state registers: SOPP, and the parts of SOP1, SOPK and SOPC that change PC, MODE or
// the index mode.
#include "isa/symbols.hpp"
#include "runtime/wave.hpp"
#include "translator/lift/branches.hpp"
#include "translator/lift/cfg.hpp"

namespace lanewise::lift {

namespace {

/// The target of a direct branch: dwords from the next instruction.
u64 branch_target(const Lifter& l, const isa::Operand& displacement) {
  return l.next_address() + 4 * displacement.value;
}

void conditional(Lifter& l, ValueId taken) { l.cfg.branch(taken, branch_target(l, l.in->src[0])); }

// s_getreg, s_setreg: 7nm guide 5.8, hardware registers.
struct HwRegField {
  unsigned id, offset, size;
  explicit HwRegField(u64 imm)
      : id(bits(static_cast<u32>(imm), 0, 6)), offset(bits(static_cast<u32>(imm), 6, 5)),
        size(bits(static_cast<u32>(imm), 11, 5) + 1) {}
  /// MODE.VSKIP.
  static HwRegField vskip() { return HwRegField(28u << 6); }
  [[nodiscard]] u32 mask() const { return size == 32 ? ~0u : (1u << size) - 1; }
};
enum HwReg : unsigned { kMode = 1, kStatus = 2, kShMemBases = 15 };

ValueId status(Lifter& l) {
  Emit& b = l.b;
  const ValueId execz = b.zext(b.not_(b.any(l.exec()))), vccz = b.zext(b.not_(b.any(l.vcc())));
  return b.or_(b.zext(l.scc()), b.or_(b.shl(execz, 9), b.shl(vccz, 10)));
}

/// No constant: its halves are small numbers, and those of other origin lead to no aperture. Where the upper
/// part of an address is made of one, it becomes one (passes::fold).
ValueId mem_bases(Lifter& l) {
  if (!l.gfx9()) return l.b.u32c(0);
  return l.b.lo(l.b.op(ir::Op::FrameField, Type::U64, {}, offsetof(runtime::WaveFrame, mem_bases)));
}

ValueId hardware_register(Lifter& l, unsigned id) {
  switch (id) {
  case kMode: return l.b.u32c(l.known.mode);
  case kStatus: return status(l);
  case kShMemBases: return mem_bases(l);
  default: return l.b.u32c(0);
  }
}

void getreg(Lifter& l) {
  const HwRegField field(l.in->src[0].value);
  l.set_s32(l.b.field(hardware_register(l, field.id), field.offset, std::min(field.size, 32 - field.offset)));
}

u32 with_field(u32 mode, const HwRegField& field, u32 value) {
  const u32 mask = field.mask() << field.offset;
  return (mode & ~mask) | (value << field.offset & mask);
}

/// MODE must be a constant of the translation, as it decides what floating-point code is made. A small field
/// from a variable that is not what it was on the first path is compared with each value that it can have,
/// and the code after it lifted once for each.
void set_mode(Lifter& l, const HwRegField& field, ValueId value) {
  const u32 mask = field.mask() << field.offset;
  u64 bits = 0;
  if (!l.b.is_const(value, &bits)) {
    if ((mask & kModeGprIdxEn) != 0 || field.size > 4) return l.untranslated("MODE from a variable");
    if (const auto first = l.cfg.assume_first(value)) {
      l.known.mode = with_field(l.known.mode, field, static_cast<u32>(*first));
      return;
    }
    std::vector<std::pair<ValueId, Static>> cases;
    const ValueId masked = l.b.and_(value, field.mask());
    for (u32 k = 0; k < 1u << field.size; ++k) {
      Static state = l.known;
      state.mode = with_field(l.known.mode, field, k);
      cases.emplace_back(l.b.icmp(IntPred::Eq, masked, k), state);
    }
    return l.cfg.fork(cases);
  }
  const u32 mode = with_field(l.known.mode, field, static_cast<u32>(bits));
  if (((mode ^ l.known.mode) & kModeGprIdxEn) != 0) return l.untranslated("index mode by MODE");
  l.known.mode = mode;
}

void setreg(Lifter& l) {
  const HwRegField field(l.in->src[1].value);
  const ValueId value = l.s32(0);
  if (field.id == kStatus && field.offset == 0) l.set_scc(l.b.icmp(IntPred::Ne, l.b.and_(value, 1), 0));
  if (field.id == kMode) set_mode(l, field, value);
}

/// M0[7:0] is the index, M0[15:12] which operands it applies to (7nm guide 5.6).
void set_gpr_idx(Lifter& l, ValueId index, u32 enables) {
  const ValueId kept = l.b.and_(l.ssa.read(kM0Var), 0xffff'0f00u);
  l.ssa.write(kM0Var, l.b.or_(l.b.or_(kept, l.b.and_(index, 0xff)), u64{enables} << 12));
  l.known.gpr_idx = static_cast<u8>(enables);
}

/// Global wave sync: the resource is M0[21:16] + offset, the value the first active lane's data.
void wave_sync(Lifter& l, runtime::SyncRequest::Kind kind) {
  using runtime::SyncRequest;
  Emit& b = l.b;
  const ValueId base = b.field(l.ssa.read(kM0Var), 16, 6);
  const ValueId resource =
      b.and_(b.add(base, static_cast<u64>(l.in->mods.offset)), SyncRequest::kResources - 1);
  ValueId request = b.or_(b.shl(resource, SyncRequest::kResourceShift), static_cast<u64>(kind));
  if (!l.row->has(isa::kNoData)) {
    const ValueId value = b.op(ir::Op::ReadFirst, Type::U32, {l.v32(0), l.exec()});
    request = b.or_(request, b.shl(value, SyncRequest::kValueShift));
  }
  l.cfg.sync(request);
}

void nothing(Lifter&) {}

} // namespace

void add_control_rules(Rules& rules) {
  RULE(s_branch) { l.cfg.jump(branch_target(l, l.in->src[0])); };
  RULE(s_cbranch_scc0) { conditional(l, l.b.not_(l.scc())); };
  RULE(s_cbranch_scc1) { conditional(l, l.scc()); };
  RULE(s_cbranch_vccz) { conditional(l, l.b.not_(l.b.any(l.vcc()))); };
  RULE(s_cbranch_vccnz) { conditional(l, l.b.any(l.vcc())); };
  RULE(s_cbranch_execz) { conditional(l, l.b.not_(l.b.any(l.exec()))); };
  RULE(s_cbranch_execnz) { conditional(l, l.b.any(l.exec())); };
  RULE(s_setpc_b64) { l.cfg.jump_indirect(l.s64(0)); };
  RULE(s_swappc_b64) {
    const ValueId callee = l.s64(0);
    l.set_s64(l.b.u64c(l.next_address()));
    l.cfg.call(callee, l.next_address());
  };
  RULE(s_call_b64) {
    l.set_s64(l.b.u64c(l.next_address()));
    l.cfg.call(l.b.u64c(branch_target(l, l.in->src[0])), l.next_address());
  };
  RULE(s_barrier) { l.cfg.barrier(); };
  RULE(s_endpgm) { l.cfg.end_program(); };
  RULE(s_endpgm_saved) { l.cfg.end_program(); };
  RULE(s_endpgm_ordered_ps_done) { l.cfg.end_program(); };
  RULE(s_trap) {
    if (is_fatal_trap(*l.in)) l.cfg.trap(static_cast<u32>(l.in->src[0].value) & 0xff);
  };

  RULE(s_getreg_b32) { getreg(l); };
  RULE(s_setreg_b32) { setreg(l); };
  RULE(s_setreg_imm32_b32) { setreg(l); };
  RULE(s_setvskip) {
    const ValueId bit = l.b.and_(l.b.lshr(l.s32(0), l.b.and_(l.s32(1), 31)), 1);
    set_mode(l, HwRegField::vskip(), bit);
  };
  RULE(s_set_gpr_idx_on) {
    set_gpr_idx(l, l.s32(0), static_cast<u32>(l.in->src[1].value) & 15);
    l.known.mode |= kModeGprIdxEn;
  };
  RULE(s_set_gpr_idx_off) { l.known.mode &= ~kModeGprIdxEn; };
  RULE(s_set_gpr_idx_idx) { set_gpr_idx(l, l.s32(0), l.known.gpr_idx); };
  RULE(s_set_gpr_idx_mode) { set_gpr_idx(l, l.ssa.read(kM0Var), static_cast<u32>(l.in->src[0].value) & 15); };

  RULE(s_waitcnt) { // All memory operations complete at once; but atomics may be put off.
    const unsigned vm = isa::unpack_waitcnt(l.target, static_cast<u32>(l.in->src[0].value)).vm;
    if (vm != isa::unpack_waitcnt(l.target, 0xffff).vm) l.note_wait(vm);
  };

  using Sync = runtime::SyncRequest::Kind;
  RULE(ds_gws_init) { wave_sync(l, Sync::Init); };
  RULE(ds_gws_sema_v) { wave_sync(l, Sync::SemaV); };
  RULE(ds_gws_sema_br) { wave_sync(l, Sync::SemaBr); };
  RULE(ds_gws_sema_p) { wave_sync(l, Sync::SemaP); };
  RULE(ds_gws_sema_release_all) { wave_sync(l, Sync::SemaReleaseAll); };
  RULE(ds_gws_barrier) { wave_sync(l, Sync::Barrier); };

  // Without effect on results: all memory operations complete at once, and there is no debugger, profiler or
  // graphics pipe.
  using isa::Op;
  for (const Op op : {Op::s_nop,
                      Op::s_sleep,
                      Op::s_setprio,
                      Op::s_sendmsg,
                      Op::s_sendmsghalt,
                      Op::s_icache_inv,
                      Op::s_incperflevel,
                      Op::s_decperflevel,
                      Op::s_ttracedata,
                      Op::s_wakeup,
                      Op::s_sethalt,
                      Op::s_setkill,
                      Op::s_cbranch_cdbgsys,
                      Op::s_cbranch_cdbguser,
                      Op::s_cbranch_cdbgsys_or_user,
                      Op::s_cbranch_cdbgsys_and_user,
                      Op::s_dcache_inv,
                      Op::s_dcache_inv_vol,
                      Op::s_dcache_wb,
                      Op::s_dcache_wb_vol,
                      Op::buffer_wbinvl1,
                      Op::buffer_wbinvl1_vol,
                      Op::v_nop,
                      Op::v_clrexcp,
                      Op::ds_nop})
    rules[static_cast<unsigned>(op)] = nothing;
}

} // namespace lanewise::lift
