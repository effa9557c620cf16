// The names of the columns' values.
#include "isa/describe.hpp"

namespace lanewise::isa {
namespace {

struct BitName {
  u64 bit;
  std::string_view name;
};

// clang-format off
constexpr BitName kFlags[] = {
  {kClamp, "clamp"}, {kClamp8, "clamp (integer, from gfx803)"}, {kClamp9, "clamp (integer, from gfx900)"}, {kOmod, "omod"},
  {kOpSel, "op_sel"}, {kPacked, "packed"}, {kMixed, "mixed precision"}, {kTerminator, "terminator"},
  {kScalarBranch, "branch"}, {kIndirectBranch, "indirect branch"}, {kCall, "call"}, {kEndPgm, "ends the wave"},
  {kBarrier, "barrier"}, {kWaits, "waits"}, {kFork, "fork/join"}, {kTrapFlow, "trap"}, {kCrossLane, "cross-lane"},
  {kIgnoresExec, "ignores EXEC"}, {kWritesScalar, "scalar result"}, {kMoveRel, "relative register"}, {kSaveExec, "saves EXEC"},
  {kCompare, "compare"}, {kCmpx, "writes EXEC"}, {kSignalling, "signals on quiet NaN"}, {kTranscendental, "transcendental"},
  {kApproximate, "approximate"}, {kCommutes, "commutes"}, {kCarryOut, "carry out"}, {kCarryIn, "carry in"}, {kFloat, "float mode"},
  {kInvalidates, "cache maintenance"}, {kGws, "global wave sync"}, {kGdsOnly, "GDS only"}, {kOrdered, "ordered"}, {kCanLds, "lds"},
  {kFormat, "format conversion"}, {kD16, "d16"}, {kMessage, "message"}, {kNoData, "no data operand"}, {kAddTid, "address from M0 and lane"},
  {kClock, "clock"}, {kDiscard, "address only"}, {kTiesLds, "reads LDS"}, {kHint, "hint"}, {kConditional, "conditional"},
  {kDebugBranch, "debug"}, {kRegWrite, "writes hardware register"}, {kRegRead, "reads hardware register"},
  {kScratchSmem, "scalar scratch"}, {kLaneId, "depends on lane number"}, {kClassTest, "class test"}, {kInterp, "interpolation"},
  {kSwizzle, "lane pattern"}, {kNoGds, "LDS only"},
};
constexpr BitName kHazards[] = {
  {kHzSetreg, "setreg"}, {kHzGetreg, "getreg"}, {kHzSetVskip, "setvskip"}, {kHzValuWritesSgpr, "VALU writes SGPR"},
  {kHzValuWritesVcc, "VALU writes mask"}, {kHzCmpx, "VALU writes EXEC"}, {kHzLaneSelect, "lane select"}, {kHzDivFmas, "div_fmas"},
  {kHzStoreX3, "data wider than 64 bits"}, {kHzM0User, "uses M0"}, {kHzRfe, "rfe"}, {kHzVmem, "VMEM"},
  {kHzTrans, "transcendental"}, {kHzSmem, "SMEM"},
};
constexpr BitName kImage[] = {
  {kImgOffset, "offset"}, {kImgBias, "bias"}, {kImgCompare, "z-compare"}, {kImgDeriv, "derivatives"}, {kImgCoarse, "coarse derivatives"},
  {kImgLod, "LOD"}, {kImgClamp, "LOD clamp"}, {kImgMip, "mip level"}, {kImgLevelZero, "level zero"}, {kImgGather4, "gather4"},
  {kImgSampler, "sampler"}, {kImgPacked, "packed"}, {kImgSigned, "signed"}, {kImgQuery, "query"},
};
constexpr BitName kRegisters[] = {
  {kExecReg, "EXEC"}, {kVccReg, "VCC"}, {kSccReg, "SCC"}, {kModeReg, "MODE"}, {kM0Reg, "M0"}, {kFlatScratchReg, "FLAT_SCRATCH"},
  {kTrapStsReg, "TRAPSTS"}, {kPcReg, "PC"}, {kGprIdxReg, "GPR_IDX"},
};
// clang-format on

template <std::size_t N>
std::vector<std::string_view> names_of(const BitName (&table)[N], u64 bits) {
  std::vector<std::string_view> names;
  for (const BitName& entry : table)
    if (bits & entry.bit) names.push_back(entry.name);
  return names;
}

} // namespace

std::vector<std::string_view> flag_names(u64 flags) { return names_of(kFlags, flags); }
std::vector<std::string_view> hazard_names(u32 hazards) { return names_of(kHazards, hazards); }
std::vector<std::string_view> image_names(u16 image) { return names_of(kImage, image); }
std::vector<std::string_view> register_names(u16 registers) { return names_of(kRegisters, registers); }

std::string_view counter_name(Counter counter) {
  constexpr std::string_view names[] = {"", "vmcnt", "lgkmcnt", "expcnt", "vmcnt+lgkmcnt", "vmcnt+expcnt"};
  return names[static_cast<unsigned>(counter)];
}

std::string_view encoding_name(Encoding encoding) {
  constexpr std::string_view names[] = {"SOP2", "SOP1",  "SOPK",  "SOPC", "SOPP",  "SMEM",
                                        "VOP2", "VOP1",  "VOPC",  "VOP3", "VOP3P", "VINTRP",
                                        "DS",   "MUBUF", "MTBUF", "MIMG", "FLAT",  "EXP"};
  return names[static_cast<unsigned>(encoding)];
}

std::string_view type_name(OperandType type) {
  constexpr std::string_view names[] = {
      "",      "b16",    "u16",   "i16",   "f16",     "b32",     "u32",   "i32",     "f32",   "b64",   "u64",
      "i64",   "f64",    "b96",   "b128",  "b256",    "b512",    "2xb16", "2xu16",   "2xi16", "2xf16", "mask",
      "imm16", "simm16", "label", "hwreg", "sendmsg", "waitcnt", "attr",  "gpr_idx", "param"};
  return names[static_cast<unsigned>(type)];
}

} // namespace lanewise::isa
