// Floating-point arithmetic. f32 and f64 are x86's own operations; f16 is computed in f32 and rounded again,
// which gives the correctly rounded result for everything but fma.
//
// NaNs: x86 returns the first NaN operand quieted, as docs/SEMANTICS.md wants. In fma the order is that of
// the formula: the three forms differ in which operand is overwritten, not in which NaN wins, when their
// operands are placed as fma() does.
#include "translator/x86/select_float.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace lanewise::x86 {

using ir::FloatKind;
using ir::FpAttr;
using ir::Round;

u32 mxcsr_of(const FpAttr& fp) {
  static constexpr u32 kRounding[] = {0, 2, 1, 3};
  return kMxcsrMasked | (kRounding[static_cast<unsigned>(fp.round)] << 13) | (fp.flush_out ? kMxcsrFtz : 0) |
         (fp.flush_in ? kMxcsrDaz : 0);
}

Rounding embedded(Round round) {
  static constexpr Rounding kModes[] = {Rounding::Nearest, Rounding::Up, Rounding::Down, Rounding::Zero};
  return kModes[static_cast<unsigned>(round)];
}

/// Makes MXCSR agree with `fp` in the bits of `care`, with a load if it does not.
void Selector::set_mxcsr(const FpAttr& fp, u32 care) {
  const u32 wanted = (mxcsr_ & ~care) | (mxcsr_of(fp) & care);
  if (wanted == mxcsr_) return;
  load_mxcsr(wanted);
}

void Selector::load_mxcsr(u32 value) {
  if (mxcsr_ == value) return;
  mxcsr_ = value;
  u8 bytes[4];
  store_le(bytes, value);
  b_->emit(Inst::kIdLdmxcsr, {module_.constant(bytes, View::R32)});
}

/// The MXCSR that most operations of the function want: inner loops count for more, and what is hardly ever
/// done for nothing.
u32 Selector::most_common_mxcsr() {
  std::map<u32, std::vector<IrBlockId>> wanted; ///< a block for each operation
  for (const phases::Phase& phase : plan_.phases)
    for (const IrBlockId b : phase.blocks)
      for (const InstId i : f_[b].insts) {
        const ir::Inst& inst = f_[i];
        if (!ir::info(inst.op).is(ir::kFloat) || inst.fp.kind == FloatKind::F16 || rare_[b.index]) continue;
        const bool in_any_mode = inst.op == Op::FMin || inst.op == Op::FMax; // select_min_max.cpp
        if (in_any_mode && inst.fp.kind == FloatKind::F32 && !inst.fp.flush_in) continue;
        wanted[mxcsr_of(inst.fp)].push_back(b);
      }
  if (wanted.empty()) return kMxcsrMasked;
  if (wanted.size() == 1) return wanted.begin()->first;
  constexpr u32 kMaxDepth = 5, kLog2Rounds = 3; // as good a guess as any
  u32 best = kMxcsrMasked;
  u64 most = 0;
  for (const auto& [mode, blocks] : wanted) {
    u64 votes = 0;
    for (const IrBlockId b : blocks)
      votes += u64{1} << kLog2Rounds * std::min(kMaxDepth, structure().loops.depth(b));
    if (votes > most || (votes == most && mode == kMxcsrMasked)) {
      most = votes;
      best = mode;
    }
  }
  return best;
}

namespace {

bool is_divider(u32 id) {
  return id == Inst::kIdVdivps || id == Inst::kIdVdivpd || id == Inst::kIdVsqrtps || id == Inst::kIdVsqrtpd;
}
} // namespace

/// An instruction that rounds: with embedded rounding where that exists.
VReg Selector::rounded(const FpAttr& fp, u32 id, std::initializer_list<Operand> ops, VReg tied, u32 care) {
  set_mxcsr(fp, care | (avx512() ? 0 : kMxcsrRounding));
  const bool embed = ((mxcsr_ ^ mxcsr_of(fp)) & kMxcsrRounding) != 0;
  if (one_for_all_ && !embed && is_divider(id)) return divided_once(id, ops);
  if (embed) b_->rounding(embedded(fp.round));
  return tied.valid() ? b_->def_tied(id, View::Full, tied, ops) : b_->def(id, View::Full, ops);
}

/// What is the same in all lanes takes the divider as long as the lanes that it divides.
VReg Selector::divided_once(u32 id, std::initializer_list<Operand> ops) {
  const auto low = [](Operand o) {
    o.view = View::Xmm;
    o.may_be_memory = false;
    return o;
  };
  const bool wide = id == Inst::kIdVdivpd || id == Inst::kIdVsqrtpd;
  const VReg one = ops.size() == 1 ? b_->def(id, View::Xmm, {low(ops.begin()[0])})
                                   : b_->def(id, View::Xmm, {low(ops.begin()[0]), low(ops.begin()[1])});
  return b_->op(wide ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, xmm(one));
}

VReg Selector::fma(const FpAttr& fp, VReg a, VReg b, VReg c, bool overwrite_c) {
  const bool wide = fp.kind == FloatKind::F64;
  if (overwrite_c) return rounded(fp, wide ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps, {a, or_mem(b)}, c);
  return rounded(fp, wide ? Inst::kIdVfmadd213pd : Inst::kIdVfmadd213ps, {a, c}, b);
}

VReg Selector::fcompare(VReg a, VReg b, u32 predicate, bool wide) {
  const u32 id = wide ? Inst::kIdVcmppd : Inst::kIdVcmpps;
  return avx512() ? b_->op_k(id, a, or_mem(b), imm(predicate)) : b_->op(id, a, or_mem(b), imm(predicate));
}

namespace {

struct FloatRule {
  Op op;
  u32 single, dbl;
};
constexpr FloatRule kArithmetic[] = {
    {Op::FAdd, Inst::kIdVaddps, Inst::kIdVaddpd},    {Op::FSub, Inst::kIdVsubps, Inst::kIdVsubpd},
    {Op::FMul, Inst::kIdVmulps, Inst::kIdVmulpd},    {Op::FDiv, Inst::kIdVdivps, Inst::kIdVdivpd},
    {Op::FSqrt, Inst::kIdVsqrtps, Inst::kIdVsqrtpd},
};

/// vcmpps predicates by the set of outcomes {less 1, equal 2, greater 4, unordered 8}; none signals.
constexpr u8 kComparePredicates[16] = {0x0b, 0x11, 0x00, 0x12, 0x1e, 0x0c, 0x1d, 0x07,
                                       0x03, 0x19, 0x08, 0x1a, 0x16, 0x04, 0x15, 0x0f};

/// vrndscaleps and vroundps immediates: mode, and no inexact exception.
u32 rounding_immediate(Op op) {
  return op == Op::FFloor ? 9 : op == Op::FCeil ? 10 : op == Op::FTrunc ? 11 : 8;
}

} // namespace

bool Selector::float_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (!ir::info(inst.op).is(ir::kFloat)) return false;
  for (const ValueId v : f_.operands(i))
    if (ir::is_uniform(type(v))) return false;
  if (convert_inst(i)) return true;
  if (inst.op == Op::FCmp) return float_compare(i), true;
  if (inst.fp.kind == FloatKind::F16) return half_inst(i);
  one_for_all_ = (inst.op == Op::FDiv || inst.op == Op::FSqrt) && is_same_in_lanes(f_.operands(i)[0]) &&
                 is_same_in_lanes(f_.operands(i).back());
  const bool done = root_or_reciprocal(i) || arithmetic(i);
  one_for_all_ = false;
  return done;
}

bool Selector::arithmetic(InstId i) {
  const ir::Inst& inst = f_[i];
  const ValueId result = f_.result(i);
  const auto operands = f_.operands(i);
  if (is_as_quieted(inst.op, inst.fp, operands)) return set(result, regs(operands[0])), true;
  Regs out;
  const unsigned wanted = parts_to_make(i);
  for (unsigned p = 0; p < wanted; ++p) {
    VReg in[3];
    for (unsigned n = 0; n < operands.size(); ++n)
      if (n < 3 && inst.op != Op::FLdexp) in[n] = part(operands[n], p);
    switch (inst.op) {
    case Op::FLdexp: out.r[p] = ldexp(inst.fp, part(operands[0], p), reg1(operands[1]), p); continue;
    case Op::FMin:
    case Op::FMax: out.r[p] = min_max_part(inst, operands, in[0], in[1]); continue;
    default: break;
    }
    // A constant can come from memory if it is second. It is no NaN that would have to win.
    if (const bool commutes = inst.op == Op::FAdd || inst.op == Op::FMul || inst.op == Op::FFma;
        commutes && f_.is_const(operands[0]) && kinds_.is_number(operands[0]))
      std::swap(in[0], in[1]);
    out.r[p] = float_part(inst, {in, operands.size()});
    if (!out.r[p].valid()) return false;
  }
  return set(result, out), true;
}

/// Quiets what is known to be quiet, as compilers do before they compare.
bool Selector::is_as_quieted(Op op, const FpAttr& fp, std::span<const ValueId> x) {
  if (fp.flush_in || fp.flush_out || fp.kind == FloatKind::F16) return false;
  const bool quiets = op == Op::FCanonical || ((op == Op::FMin || op == Op::FMax) && x[0] == x[1]);
  return quiets && kinds_.is_quiet(x[0]);
}

/// One register of f32 or f64; an invalid register if there is no rule.
VReg Selector::float_part(const ir::Inst& inst, std::span<const VReg> in) {
  const bool wide = inst.fp.kind == FloatKind::F64;
  for (const FloatRule& rule : kArithmetic) {
    if (rule.op != inst.op) continue;
    const u32 id = wide ? rule.dbl : rule.single;
    return in.size() == 1 ? rounded(inst.fp, id, {in[0]}) : rounded(inst.fp, id, {in[0], or_mem(in[1])});
  }
  switch (inst.op) {
  case Op::FFma: return fma(inst.fp, in[0], in[1], in[2], true);
  case Op::FCanonical: // Times one quiets and flushes.
    return rounded(inst.fp, wide ? Inst::kIdVmulpd : Inst::kIdVmulps, {in[0], splat_float(wide, 1.0)});
  case Op::FClamp: return clamp(inst.fp, in[0]);
  case Op::FFloor:
  case Op::FCeil:
  case Op::FTrunc:
  case Op::FRndne: {
    set_mxcsr(inst.fp, kMxcsrDaz);
    const u32 id = avx512() ? (wide ? Inst::kIdVrndscalepd : Inst::kIdVrndscaleps)
                            : (wide ? Inst::kIdVroundpd : Inst::kIdVroundps);
    return b_->op(id, in[0], imm(rounding_immediate(inst.op)));
  }
  default: return {};
  }
}

VReg Selector::splat_float(bool wide, double value) {
  return wide ? b_->splat64(std::bit_cast<u64>(value))
              : b_->splat32(std::bit_cast<u32>(static_cast<float>(value)));
}

/// max(x, 0) takes 0 from NaN and from -0, because that is the second operand.
VReg Selector::clamp(const FpAttr& fp, VReg x) {
  const bool wide = fp.kind == FloatKind::F64;
  set_mxcsr(fp, kMxcsrDaz);
  const VReg zero = b_->splat32(0), one = splat_float(wide, 1.0);
  const VReg positive = b_->op(wide ? Inst::kIdVmaxpd : Inst::kIdVmaxps, x, zero);
  VReg r = b_->op(wide ? Inst::kIdVminpd : Inst::kIdVminps, positive, one);
  if (fp.flush_out && !fp.flush_in) r = rounded(fp, wide ? Inst::kIdVmulpd : Inst::kIdVmulps, {r, one});
  if (fp.dx10_clamp) return r;
  return blend(fcompare(x, x, kUnordered, wide), quieted(x, wide), r, wide);
}

VReg Selector::quieted(VReg x, bool wide) {
  return vor(x, wide ? b_->splat64(u64{1} << 51) : b_->splat32(1u << 22));
}

u32 Selector::compare_predicate(u64 outcomes) { return kComparePredicates[outcomes & 15]; }

void Selector::float_compare(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const u32 predicate = compare_predicate(inst.imm);
  const ValueId result = f_.result(i);
  switch (inst.fp.kind) {
  case FloatKind::F16: {
    const VReg a = from_half(inst.fp, reg1(operands[0])), b = from_half(inst.fp, reg1(operands[1]));
    return set(result, fcompare(a, b, predicate, false));
  }
  case FloatKind::F32:
    set_mxcsr(inst.fp, kMxcsrDaz);
    return set(result, fcompare(reg1(operands[0]), reg1(operands[1]), predicate, false));
  case FloatKind::F64: {
    set_mxcsr(inst.fp, kMxcsrDaz);
    const VReg lo = fcompare(part(operands[0], 0), part(operands[1], 0), predicate, true);
    const bool once = is_in_one_register(operands[0]) && is_in_one_register(operands[1]);
    const VReg hi = once ? lo : fcompare(part(operands[0], 1), part(operands[1], 1), predicate, true);
    return set(result, narrow_masks(lo, hi));
  }
  }
}

namespace {

/// What vucomiss tells of its operands, or of these the other way round, by one condition.
struct FlagTest {
  CondCode condition;
  bool swapped = false;
};

/// None for `equal` and its opposite, of which the flags tell by two conditions.
std::optional<FlagTest> flag_test(u64 outcomes) {
  switch (outcomes & 15) {
  case 1: return FlagTest{CondCode::kA, true};
  case 3: return FlagTest{CondCode::kAE, true};
  case 4: return FlagTest{CondCode::kA};
  case 5: return FlagTest{CondCode::kNE};
  case 6: return FlagTest{CondCode::kAE};
  case 7: return FlagTest{CondCode::kNP};
  case 8: return FlagTest{CondCode::kP};
  case 9: return FlagTest{CondCode::kB};
  case 10: return FlagTest{CondCode::kE};
  case 11: return FlagTest{CondCode::kBE};
  case 12: return FlagTest{CondCode::kB, true};
  case 14: return FlagTest{CondCode::kBE, true};
  default: return std::nullopt;
  }
}

} // namespace

/// A comparison of the gang's first lane that may be made where its outcome is wanted: by the flags, in the
/// mode that the phase has where blocks end.
bool Selector::is_compared_by_flags(InstId i) {
  const ir::Inst& inst = f_[i];
  return inst.op == Op::FCmp && type(f_.result(i)) == Type::G1 && flag_test(inst.imm) &&
         (inst.fp.kind == FloatKind::F16 || ((module_.mxcsr ^ mxcsr_of(inst.fp)) & kMxcsrDaz) == 0);
}

CondCode Selector::emit_float_compare(InstId i) {
  const ir::Inst& inst = f_[i];
  const FlagTest test = flag_test(inst.imm).value_or(FlagTest{CondCode::kE});
  VReg a = reg1(f_.operands(i)[0]), b = reg1(f_.operands(i)[1]);
  if (inst.fp.kind == FloatKind::F16) {
    a = from_half(inst.fp, a);
    b = from_half(inst.fp, b);
  } else {
    set_mxcsr(inst.fp, kMxcsrDaz);
  }
  if (test.swapped) std::swap(a, b);
  b_->emit(inst.fp.kind == FloatKind::F64 ? Inst::kIdVucomisd : Inst::kIdVucomiss, {xmm(a), xmm(b)});
  return test.condition;
}

/// In the gang's first lane.
VReg Selector::float_compare_first(InstId i) {
  const u64 outcomes = f_[i].imm & 15;
  if (outcomes == 0 || outcomes == 15) return b_->const32(outcomes & 1);
  const CondCode condition = emit_float_compare(i);
  if (flag_test(outcomes)) return b_->setcc(condition);
  const bool equal = outcomes == 2; // Which it also seems to be where they are unordered.
  const VReg same = b_->setcc(equal ? CondCode::kE : CondCode::kNE);
  const VReg ordered = b_->setcc(equal ? CondCode::kNP : CondCode::kP);
  return b_->op_r32_tied(equal ? Inst::kIdAnd : Inst::kIdOr, same, r32(ordered));
}

/// x * 2^n, rounded once. `amount` has all lanes' 32-bit exponents.
VReg Selector::ldexp(const FpAttr& fp, VReg x, VReg amount, unsigned p) {
  const bool wide = fp.kind == FloatKind::F64;
  if (avx512()) {
    const VReg n =
        wide ? b_->op(Inst::kIdVcvtdq2pd, half(half_of(amount, p))) : b_->op(Inst::kIdVcvtdq2ps, amount);
    return rounded(fp, wide ? Inst::kIdVscalefpd : Inst::kIdVscalefps, {x, n});
  }
  // By three factors. Down-scaling keeps the last one small enough that a denormal intermediate cannot round
  // twice.
  const i32 limit = wide ? 2200 : 300, top = wide ? 1023 : 127, bottom = wide ? -1022 : -126,
            mantissa = wide ? 53 : 24;
  VReg n = b_->op(Inst::kIdVpminsd, amount, b_->splat32(static_cast<u32>(limit)));
  n = b_->op(Inst::kIdVpmaxsd, n, b_->splat32(static_cast<u32>(-limit)));
  if (wide) n = widen(n, p, true);
  const auto constant = [&](i32 v) {
    return wide ? b_->splat64(static_cast<u64>(i64{v})) : b_->splat32(static_cast<u32>(v));
  };
  const auto power = [&](VReg e) { // 2^e
    const VReg biased = b_->op(wide ? Inst::kIdVpaddq : Inst::kIdVpaddd, e, constant(top));
    return shl_imm(biased, wide ? 52 : 23, wide);
  };
  // Only the operand and the last product are flushed; where both are, what is between may be, too.
  FpAttr between = fp;
  if (fp.flush_in != fp.flush_out) between.flush_out = false;
  const auto multiply = [&](VReg a, VReg b) {
    const VReg product = rounded(between, wide ? Inst::kIdVmulpd : Inst::kIdVmulps, {a, b});
    if (fp.flush_in != fp.flush_out) between.flush_in = false;
    return product;
  };
  for (unsigned step = 0; step < 2; ++step) {
    const VReg too_low = compare(ir::IntPred::SLt, n, constant(bottom), wide),
               too_high = compare(ir::IntPred::SGt, n, constant(top), wide);
    const VReg taken = vor(vand(too_low, constant(bottom + mantissa)), vand(too_high, constant(top)));
    x = multiply(x, power(taken));
    n = b_->op(wide ? Inst::kIdVpsubq : Inst::kIdVpsubd, n, taken);
  }
  between.flush_out = fp.flush_out;
  return multiply(x, power(n));
}

} // namespace lanewise::x86
