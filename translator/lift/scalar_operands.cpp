// Reading and writing scalar registers and operands.
#include "runtime/wave.hpp"
#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

using isa::OperandKind;

ValueId Lifter::sgpr(unsigned code) {
  switch (code) {
  case isa::kVccLo: return b.lo(b.mask_to_u64(vcc()));
  case isa::kVccHi: return b.hi(b.mask_to_u64(vcc()));
  case isa::kExecLo: return b.lo(b.mask_to_u64(exec()));
  case isa::kExecHi: return b.hi(b.mask_to_u64(exec()));
  default: return ssa.read(static_cast<Var>(code & 127));
  }
}

void Lifter::set_sgpr(unsigned code, ValueId value) {
  const auto replace_half = [&](Var mask, bool high) {
    const ValueId old = b.mask_to_u64(ssa.read(mask));
    ssa.write(mask, b.u64_to_mask(high ? b.join(b.lo(old), value) : b.join(value, b.hi(old))));
  };
  switch (code) {
  case isa::kVccLo: return replace_half(kVccVar, false);
  case isa::kVccHi: return replace_half(kVccVar, true);
  case isa::kExecLo: return replace_half(kExecVar, false);
  case isa::kExecHi: return replace_half(kExecVar, true);
  default: break;
  }
  // In index mode M0 also says which operands are indexed, which is followed only where the s_set_gpr_idx
  // family changes it.
  if (code == isa::kM0 && (known.mode & kModeGprIdxEn) != 0) untranslated("M0 written in index mode");
  ssa.write(static_cast<Var>(code & 127), value);
}

ValueId Lifter::sgpr64(unsigned code) {
  if (code == isa::kVccLo) return b.mask_to_u64(vcc());
  if (code == isa::kExecLo) return b.mask_to_u64(exec());
  return b.join(sgpr(code), sgpr(code + 1));
}

void Lifter::set_sgpr64(unsigned code, ValueId value) {
  if (code == isa::kVccLo) return ssa.write(kVccVar, b.u64_to_mask(value));
  if (code == isa::kExecLo) return set_exec(b.u64_to_mask(value));
  const ValueId low = b.lo(value), high = b.hi(value);
  set_sgpr(code, low);
  set_sgpr(code + 1, high);
}

namespace {

/// The apertures: their 64-bit base and limit.
u64 aperture(u16 code) {
  switch (code) {
  case isa::kSharedBase: return runtime::kSharedAperture;
  case isa::kSharedLimit: return runtime::kSharedAperture | 0xffff'ffffu;
  case isa::kPrivateBase: return runtime::kPrivateAperture;
  case isa::kPrivateLimit: return runtime::kPrivateAperture | 0xffff'ffffu;
  default: return 0;
  }
}

} // namespace

ValueId Lifter::s32(const isa::Operand& o) {
  switch (o.kind) {
  case OperandKind::Sgpr: return sgpr(o.index);
  case OperandKind::Inline:
  case OperandKind::Literal:
  case OperandKind::Imm: return b.u32c(static_cast<u32>(o.value));
  case OperandKind::Special:
    switch (o.index) {
    case isa::kScc: return b.zext(scc());
    case isa::kVccz: return b.zext(b.not_(b.any(vcc())));
    case isa::kExecz: return b.zext(b.not_(b.any(exec())));
    case isa::kSharedBase:
    case isa::kSharedLimit:
    case isa::kPrivateBase:
    case isa::kPrivateLimit: return b.u32c(static_cast<u32>(aperture(o.index)));
    case isa::kPopsExitingWaveId: return b.u32c(0);
    default: break;
    }
    break;
  default: break;
  }
  untranslated("operand");
  return b.u32c(0);
}

ValueId Lifter::s64(const isa::Operand& o) {
  switch (o.kind) {
  case OperandKind::Sgpr: return sgpr64(o.index);
  case OperandKind::Inline:
  case OperandKind::Literal:
  case OperandKind::Imm: return b.u64c(o.value);
  case OperandKind::Special:
    if (o.index >= isa::kSharedBase && o.index <= isa::kPrivateLimit) return b.u64c(aperture(o.index));
    return b.zext(s32(o));
  default: break;
  }
  untranslated("operand");
  return b.u64c(0);
}

ValueId Lifter::mask(const isa::Operand& o) {
  if (o.is(OperandKind::Sgpr) && o.index == isa::kVccLo) return vcc();
  if (o.is(OperandKind::Sgpr) && o.index == isa::kExecLo) return exec();
  return b.u64_to_mask(s64(o));
}

void Lifter::set_mask(const isa::Operand& dst, ValueId m) {
  if (dst.index == isa::kVccLo) return ssa.write(kVccVar, m);
  if (dst.index == isa::kExecLo) return set_exec(m);
  set_sgpr64(dst.index, b.mask_to_u64(m));
}

} // namespace lanewise::lift
