// The format of isa/tables/*.inc: one row is everything the project knows about one instruction.
//
//   INST(v_addc_co_u32, Vop2, OP(.gfx600 = 0x28, .gfx803 = 0x1c),
//        NAME(.gfx600 = "v_addc_u32", .gfx900 = "v_addc_co_u32"),
//        DST(V(U32), M), SRC(VS(U32), V(U32), M), .forms = kAllForms, .flags = kClamp9)
//
// expands to a Row with designated initialisers, so a row states only what it has and a new column touches
// only the rows that use it. A generation inherits from the one before it (kAbsent ends an instruction), so a
// row states only changes.
//
// Rules that keep rows short:
//   - VOP1, VOP2 and VOPC rows describe the 32-bit form. The 64-bit form's opcode is derived
//     (isa/encoding.hpp) where the target has the 32-bit form; the column VOP3() states it where an
//     instruction is VOP3-only on some targets. Sources of class V become VS in the 64-bit form and, from
//     gfx900, in the SDWA form.
//   - A float operand takes neg and abs in the 64-bit, SDWA and DPP forms, an integer operand sext in SDWA;
//     kNegAbs and kNoMods on an operand overrule that.
//   - The number of data registers of image instructions comes from dmask, d16 and tfe, so their data operand
//     is B32.
#pragma once

#include "isa/inst.hpp"

namespace lanewise::isa {

inline constexpr i16 kInherit = -2, kAbsent = -1;

/// A value per target, each inherited from the preceding target unless stated. gfx600 defaults to absent.
struct PerTargetOpcode {
  i16 gfx600 = kAbsent, gfx700 = kInherit, gfx803 = kInherit, gfx900 = kInherit, gfx906 = kInherit;

  /// The opcode on `target`, or kAbsent.
  [[nodiscard]] constexpr i16 on(Target target) const {
    const i16 all[kNumTargets] = {gfx600, gfx700, gfx803, gfx900, gfx906};
    auto t = static_cast<unsigned>(target);
    while (t > 0 && all[t] == kInherit) --t;
    return all[t] == kInherit ? kAbsent : all[t];
  }
};

/// The stated VOP3 opcode per target, inherited likewise; kInherit throughout means derived from the 32-bit
/// opcode.
struct PerTargetVop3 {
  i16 gfx600 = kInherit, gfx700 = kInherit, gfx803 = kInherit, gfx900 = kInherit, gfx906 = kInherit;
};

/// The spelling per target where it is not the row's name; inherited likewise, nullptr = the row's name.
struct PerTargetName {
  const char *gfx600 = nullptr, *gfx700 = nullptr, *gfx803 = nullptr, *gfx900 = nullptr, *gfx906 = nullptr;
};

/// Which registers or constants an operand field can name.
enum class OperandClass : u8 {
  None,
  V,   ///< VGPR only
  S,   ///< scalar destination, or scalar source without constants
  SS,  ///< scalar source of 8 bits: SGPR, inline constant, literal
  VS,  ///< vector source of 9 bits: VGPR, SGPR, constants (literal where the encoding allows)
  VL,  ///< lane select of v_readlane, v_writelane: SGPR, M0 or inline constant
  VO,  ///< source of v_readfirstlane, v_readlane: VGPR or lds_direct
  SO,  ///< SMEM offset: immediate, SGPR, on gfx7 a literal
  M,   ///< lane mask: VCC in the 32-bit, DPP and SDWA forms, an SGPR pair in the 64-bit form
  Imm, ///< immediate field
  K,   ///< 32-bit constant in the stream, not counted as a literal operand (v_madmk, s_setreg_imm32)
};

/// How an operand takes source modifiers, where its type does not say it.
enum class SourceMods : u8 { ByType, NegAbs, None, SextOnly };

/// One operand of a row. Sources are read, destinations written.
struct OperandSpec {
  OperandClass cls = OperandClass::None;
  OperandType type = OperandType::None;
  u8 dwords = 0;          ///< registers covered
  bool also_read = false; ///< a destination that is read too (v_mac, v_writelane, s_cmovk, d16_hi loads)
  SourceMods mods = SourceMods::ByType;

  [[nodiscard]] constexpr bool present() const { return cls != OperandClass::None; }
};

/// Registers read or written without being operands, one bit each. EXEC as the mask of a vector instruction
/// is kExecReg in `reads`.
enum Implicit : u16 {
  kNothing = 0,
  kExecReg = 1,
  kVccReg = 2,
  kSccReg = 4,
  kModeReg = 8,
  kM0Reg = 16,
  kFlatScratchReg = 32,
  kTrapStsReg = 64,
  kPcReg = 128,
  kGprIdxReg = 256, ///< the relative-index state of s_set_gpr_idx_* (M0 and MODE.gpr_idx_en)
};

/// The wait counter an instruction bumps (7nm guide 4.4).
enum class Counter : u8 { None, Vm, Lgkm, Exp, VmAndLgkm, VmAndExp };

/// The memory an instruction touches.
enum class Space : u8 { None, Scalar, Buffer, Image, Lds, Gds, Flat, Global, Scratch };

/// What an atomic does with memory (M) and data (D); the 7nm guide's tables 12.13 to 12.18 define each.
enum class Atomic : u8 {
  None,
  Swap,
  CmpSwap,
  Add,
  Sub,
  Rsub,
  Smin,
  Umin,
  Smax,
  Umax,
  And,
  Or,
  Xor,
  Inc,
  Dec,
  Mskor,
  Wrap,
  CondXchg32,
  Fadd,
  Fmin,
  Fmax,
  FcmpSwap,
};

/// Which half of the register a 16-bit transfer uses. Lo and Hi preserve the other half when loading.
enum class Half : u8 { None, Lo, Hi };

/// The address-independent facts about a memory access.
struct MemorySpec {
  Space space = Space::None;
  u8 bytes = 0; ///< bytes per lane and element in memory; 0 for formatted access
  bool load = false, store = false;
  Atomic atomic = Atomic::None; ///< then load says whether the DS form returns, and glc does elsewhere
  bool sign = false;            ///< a sub-dword load sign-extends
  Half half = Half::None;       ///< d16 transfers
  u8 components = 0;            ///< formatted access: 1 to 4
  u8 pair = 0;                  ///< DS two-address forms: units of offset0/offset1 in elements, 1 or 64
  bool src2 = false;            ///< ds_*_src2: the second address comes from the offset field

  [[nodiscard]] constexpr bool accesses() const { return space != Space::None; }
};

/// The address operands of an image instruction, in the order in which they precede the coordinates (7nm
/// guide 8.2.4).
enum ImageAddr : u16 {
  kImgNone = 0,
  kImgOffset = 1,
  kImgBias = 2,
  kImgCompare = 4,
  kImgDeriv = 8,
  kImgCoarse = 16,
  kImgLod = 32,
  kImgClamp = 64,
  kImgMip = 128,
  kImgLevelZero = 256,
  kImgGather4 = 512,
  kImgSampler = 1024,
  kImgPacked = 2048,
  kImgSigned = 4096,
  kImgQuery = 8192, ///< resinfo, get_lod: no texel is read
};

/// Registers that LLVM's text shows for the address of an image instruction: the shortest form, for
/// one-dimensional images. How many the hardware reads depends on the resource.
constexpr unsigned min_address_dwords(u16 image) {
  const auto one = [image](unsigned bit) { return (image & bit) ? 1u : 0u; };
  return 1 + one(kImgOffset) + one(kImgBias) + one(kImgCompare) + one(kImgDeriv);
}

/// Encoding forms that VOP1, VOP2, VOPC (and VINTRP's E64) rows have; SDWA differs between generations.
enum FormSet : u8 {
  kBaseForm = 0,
  kE32 = 1,
  kE64 = 2,
  kSdwa8 = 4,
  kSdwa9 = 8,
  kDpp = 16,
  kSdwa = kSdwa8 | kSdwa9,
  kE32E64 = kE32 | kE64,
  kAllForms = kE32 | kE64 | kSdwa | kDpp,
  kNotSdwa9 = kE32 | kE64 | kSdwa8 | kDpp,
};

/// Everything else that a consumer could ask for by name.
enum Flag : u64 {
  kNoFlags = 0,
  // Modifiers accepted beyond source modifiers.
  kClamp = 1ull << 0,  ///< VOP3, SDWA: clamp on every target
  kClamp8 = 1ull << 1, ///< integer clamp (saturation), from gfx803
  kClamp9 = 1ull << 2, ///< integer clamp, from gfx900
  kOmod = 1ull << 3,   ///< output multiplier
  kOpSel = 1ull << 4,  ///< gfx9 VOP3 op_sel; a 16-bit destination keeps its other half
  kPacked = 1ull << 5, ///< VOP3P: op_sel and op_sel_hi choose the halves of packed sources
  kMixed = 1ull << 6,  ///< v_mad_mix, v_fma_mix: op_sel_hi chooses f16 or f32 per source, op_sel the half
  // Control flow.
  kTerminator = 1ull << 8,   ///< nothing after it runs by falling through
  kScalarBranch = 1ull << 9, ///< src[0] (or src[1] of s_call, s_cbranch_i_fork) is a displacement in dwords
  kIndirectBranch = 1ull << 10, ///< s_setpc, s_swappc, s_rfe, s_cbranch_join, s_cbranch_g_fork
  kCall = 1ull << 11,
  kEndPgm = 1ull << 12,
  kBarrier = 1ull << 13,
  kWaits = 1ull << 14,    ///< s_waitcnt
  kFork = 1ull << 15,     ///< the fork/join instructions
  kTrapFlow = 1ull << 16, ///< s_trap, s_rfe
  // Lanes.
  kCrossLane = 1ull << 17,    ///< reads registers of other lanes than the one it writes
  kIgnoresExec = 1ull << 18,  ///< a vector instruction that works whatever EXEC says (readlane, writelane)
  kWritesScalar = 1ull << 19, ///< VALU whose dst[0] is an SGPR value (not a mask)
  kMoveRel = 1ull << 20,      ///< register index from M0 (s_movrel*, v_movrel*)
  kSaveExec = 1ull << 21,     ///< s_*_saveexec, s_*_wrexec
  kCompare = 1ull << 22,      ///< dst[0] is a lane mask
  kCmpx = 1ull << 23,         ///< writes EXEC too
  kSignalling = 1ull << 24,   ///< v_cmps*: signals on quiet NaN too
  // Arithmetic.
  kTranscendental = 1ull << 25,
  kApproximate = 1ull << 26, ///< result defined up to a bound (rcp, rsq, sqrt, exp, log, sin, cos)
  kCommutes = 1ull << 27,    ///< src[0] and src[1] can change places
  kCarryOut = 1ull << 28,
  kCarryIn = 1ull << 29,
  kFloat = 1ull << 30, ///< result depends on MODE round or denorm
  // Memory.
  kInvalidates = 1ull << 31, ///< cache maintenance: s_dcache_*, buffer_wbinvl1
  kGws = 1ull << 32,         ///< global wave sync
  kGdsOnly = 1ull << 33,     ///< ds_* that work on GDS only
  kOrdered = 1ull << 34,     ///< ds_ordered_count
  kCanLds = 1ull << 35,      ///< buffer loads that accept `lds`
  kFormat = 1ull << 36,      ///< converts by the resource's or the instruction's format
  kD16 = 1ull << 37,         ///< 16-bit components; packed from gfx900, one register each on gfx803
  kMessage = 1ull << 38,     ///< s_sendmsg*
  kNoData = 1ull << 39,      ///< no data operand in a format that usually has one
  kAddTid = 1ull << 40,      ///< address from M0 and the lane's number
  kClock = 1ull << 41,       ///< s_memtime, s_memrealtime
  kDiscard = 1ull << 42,     ///< s_dcache_discard, s_atc_probe: an address, no data
  kTiesLds = 1ull << 43,     ///< reads or writes LDS beside its main operands (buffer_store_lds_dword)
  // Debugging, profiling and states without influence on results.
  kHint = 1ull << 44,
  kConditional = 1ull << 45, ///< a branch that can fall through
  kDebugBranch = 1ull << 46, ///< s_cbranch_cdbg*
  kRegWrite = 1ull << 47,    ///< s_setreg*
  kRegRead = 1ull << 48,     ///< s_getreg
  kScratchSmem = 1ull << 49, ///< scalar scratch access: the offset is in units of dwords
  kLaneId = 1ull << 50,      ///< the result depends on the lane's number
  kNoGds = 1ull << 55,       ///< a DS instruction without a GDS form
  kSwizzle = 1ull << 54,     ///< the offset is a lane pattern (ds_swizzle_b32)
  kBareName = 1ull << 53,    ///< LLVM prints the 32-bit form without _e32, although a 64-bit form exists
  kInterp = 1ull << 52,      ///< parameter interpolation: attribute in mods, LDS parameters addressed by M0
  kClassTest = 1ull << 51,   ///< v_cmp_class: src[1] is a mask of number classes
};

/// Classes of the manually inserted wait states (7nm guide 4.5, table 8), one bit per role in a rule.
enum Hazard : u32 {
  kHzNone = 0,
  kHzSetreg = 1 << 0, ///< s_setreg*: 2 states to s_getreg of the same register; 1 to s_setvskip's MODE
  kHzGetreg = 1 << 1,
  kHzSetVskip = 1 << 2,
  kHzValuWritesSgpr = 1 << 3, ///< VALU with a scalar result: 5 states to VMEM reading it, 4 to lane select
  kHzValuWritesVcc = 1 << 4,  ///< VALU with a mask result: 4 states to v_div_fmas, 5 to vccz/execz as data
  kHzCmpx = 1 << 5,           ///< VALU writing EXEC: 5 states to DPP
  kHzLaneSelect = 1 << 6,     ///< v_readlane, v_writelane
  kHzDivFmas = 1 << 7,
  kHzStoreX3 = 1 << 8, ///< store or atomic of more than 64 bits: 1 state before its data may be overwritten
  kHzM0User = 1 << 10, ///< s_sendmsg, s_ttracedata, GDS, LDS add-TID, interpolation, s_movrel: 1 state after
                       ///< SALU writes M0
  kHzRfe = 1 << 11,    ///< s_rfe*: 1 state after s_setreg of TRAPSTS
  kHzVmem = 1 << 12,
  kHzTrans = 1 << 13,
  kHzSmem = 1 << 14,
};

/// One instruction.
struct Row {
  const char* name = nullptr; ///< Op's name: LLVM's mnemonic, gfx9 spelling
  Op op{};
  Encoding encoding{};
  PerTargetOpcode opcode{};         ///< in `encoding`
  PerTargetVop3 vop3{};             ///< 64-bit opcode where it is not derived
  PerTargetName names{};            ///< spelling where it differs from `name`
  std::array<OperandSpec, 2> dst{}; ///< slots as isa::Inst describes them
  std::array<OperandSpec, 4> src{};
  u8 forms = kBaseForm; ///< FormSet bits
  u16 reads = kNothing, writes = kNothing;
  Counter counter = Counter::None;
  MemorySpec memory{};
  u16 image = kImgNone; ///< ImageAddr bits
  u32 hazards = kHzNone;
  u64 flags = kNoFlags;

  [[nodiscard]] constexpr bool has(u64 flag) const { return (flags & flag) != 0; }
};

} // namespace lanewise::isa
