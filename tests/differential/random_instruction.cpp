#include "tests/differential/random_instruction.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "isa/encode.hpp"
#include "runtime/interp/table.hpp"
#include "tests/differential/random_state.hpp"
#include "translator/lift/lift.hpp"

#include <algorithm>

namespace lanewise::differential {
namespace {

using namespace isa;

bool is_double(OperandType type) { return type == OperandType::F64; }
bool is_half(OperandType type) {
  return type == OperandType::F16 || type == OperandType::V2F16 || type == OperandType::B16 ||
         type == OperandType::U16 || type == OperandType::I16 || type == OperandType::V2U16 ||
         type == OperandType::V2I16 || type == OperandType::V2B16;
}

/// The first of the four registers of v0..v15 or s16..s31 that hold values of `type` at the start.
unsigned group_of(OperandType type) {
  return type == OperandType::F32 ? 0 : is_double(type) ? 4 : is_half(type) ? 8 : 12;
}

class Generator {
public:
  Generator(Op op, Target target, Random& random) : row_(row_of(op)), target_(target), r_(random) {
    inst_.op = op;
  }

  std::optional<Line> attempt(bool plain) {
    inst_.encoding = row_.encoding;
    inst_.form = random_form();
    for (unsigned i = 0; i < 2; ++i) inst_.dst[i] = destination(row_.dst[i]);
    for (unsigned i = 0; i < 4; ++i) inst_.src[i] = source(row_.src[i], i);
    if (!plain) modifiers();
    addresses();
    return encoded();
  }

private:
  Form random_form() {
    const bool vector32 =
        row_.encoding == Encoding::Vop1 || row_.encoding == Encoding::Vop2 || row_.encoding == Encoding::Vopc;
    if (!vector32) return Form::Base;
    return r_.of({Form::E32, Form::E64, Form::E64, Form::Sdwa, Form::Dpp});
  }

  unsigned vgpr(OperandType type, unsigned dwords) {
    if (dwords <= 4 && !r_.one_in(4)) {
      const unsigned first = group_of(type) + r_.below(4);
      return std::min(dwords >= 2 ? first & ~1u : first, kValueVgprs - dwords);
    }
    return r_.below(kValueVgprs - dwords + 1);
  }
  unsigned sgpr(OperandType type, unsigned dwords) {
    const unsigned align = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
    if (dwords <= 2 && !r_.one_in(4)) return (kFirstValueSgpr + group_of(type) + r_.below(4)) & ~(align - 1);
    return kFirstValueSgpr + r_.below((kValueSgprs - dwords) / align + 1) * align;
  }
  Operand make(OperandKind kind, const OperandSpec& spec, unsigned index, u64 value = 0) {
    Operand o;
    o.kind = kind;
    o.type = spec.type;
    o.dwords = spec.dwords;
    o.index = static_cast<u16>(index);
    o.value = value;
    return o;
  }
  Operand scalar_register(const OperandSpec& spec, bool written) {
    if (spec.dwords <= 2 && r_.one_in(6))
      return make(OperandKind::Sgpr, spec, kVccLo + (spec.dwords == 1 ? r_.below(2) : 0));
    if (spec.dwords <= 2 && r_.one_in(written ? 24 : 12))
      return make(OperandKind::Sgpr, spec, kExecLo + (spec.dwords == 1 ? r_.below(2) : 0));
    if (spec.dwords == 1 && !written && r_.one_in(12)) return make(OperandKind::Sgpr, spec, kM0);
    return make(OperandKind::Sgpr, spec, sgpr(spec.type, spec.dwords));
  }
  Operand constant(const OperandSpec& spec) {
    if (r_.one_in(2) && inst_.form != Form::E64 && inst_.form != Form::Sdwa && inst_.form != Form::Dpp) {
      u64 value = random_value(r_);
      if (spec.type == OperandType::F64) value <<= 32;
      return make(OperandKind::Literal, spec, 255, value);
    }
    const unsigned code =
        r_.one_in(2) ? 128 + r_.below(81) : 240 + r_.below(target_ >= Target::gfx803 ? 9 : 8);
    return make(OperandKind::Inline, spec, code);
  }

  Operand destination(const OperandSpec& spec) {
    switch (spec.cls) {
    case OperandClass::None: return {};
    case OperandClass::V: return make(OperandKind::Vgpr, spec, vgpr(spec.type, spec.dwords));
    case OperandClass::M:
      if (inst_.form == Form::E32 || inst_.form == Form::Dpp) return make(OperandKind::Sgpr, spec, kVccLo);
      return scalar_register(spec, true);
    default: return scalar_register(spec, true);
    }
  }

  Operand source(const OperandSpec& spec, unsigned slot) {
    const bool wide = inst_.form == Form::E64 || (inst_.form == Form::Sdwa && target_ >= Target::gfx900);
    switch (spec.cls) {
    case OperandClass::None: return {};
    case OperandClass::V:
      if (wide && row_.memory.space == Space::None) return vector_source(spec);
      return make(OperandKind::Vgpr, spec, vgpr(spec.type, spec.dwords));
    case OperandClass::VS: return vector_source(spec);
    case OperandClass::VO: return make(OperandKind::Vgpr, spec, vgpr(spec.type, spec.dwords));
    case OperandClass::S: return scalar_register(spec, false);
    case OperandClass::SS: return r_.one_in(3) ? constant(spec) : scalar_register(spec, false);
    case OperandClass::VL:
      return r_.one_in(2) ? make(OperandKind::Inline, spec, 128 + r_.below(65))
                          : scalar_register(spec, false);
    case OperandClass::M:
      if (inst_.form == Form::E64 || inst_.form == Form::Base) return scalar_register(spec, false);
      return make(OperandKind::Sgpr, spec, kVccLo);
    case OperandClass::K: return make(OperandKind::Literal, spec, 255, random_value(r_));
    case OperandClass::Imm: return make(OperandKind::Imm, spec, 0, immediate(spec.type));
    case OperandClass::SO:
      return slot == 1 && r_.one_in(2) ? make(OperandKind::Sgpr, spec, kSmallOffsetSgpr + r_.below(2))
                                       : make(OperandKind::Imm, spec, 0, r_.below(32) * 4);
    }
    return {};
  }
  Operand vector_source(const OperandSpec& spec) {
    // Only VGPRs make sense of 128 bits.
    if (inst_.form == Form::Dpp || spec.dwords > 2 || r_.below(10) < 6)
      return make(OperandKind::Vgpr, spec, vgpr(spec.type, spec.dwords));
    if (spec.dwords == 1 && r_.one_in(20)) return make(OperandKind::Special, spec, kVccz + r_.below(3));
    return r_.one_in(2) && inst_.form != Form::Sdwa ? constant(spec) : scalar_register(spec, false);
  }
  u64 immediate(OperandType type) {
    if (type == OperandType::HwReg) return 1u | (r_.below(3) << 6) | (r_.below(8) << 11);
    if (type == OperandType::Simm16) return static_cast<u64>(sign_extend(r_.bits() & 0xffff, 16));
    if (type == OperandType::Imm16) return r_.bits() & 0xffff;
    return 0;
  }

  void modifiers() {
    Modifiers& m = inst_.mods;
    m.clamp = r_.one_in(4);
    if (r_.one_in(4)) m.omod = static_cast<u8>(r_.below(4));
    for (Operand& o : inst_.src) {
      o.neg = r_.one_in(4);
      o.abs = r_.one_in(4);
      if (inst_.form == Form::Sdwa) {
        o.sext = r_.one_in(3);
        if (o.sext) o.neg = o.abs = false;
        o.sel = static_cast<SdwaSel>(r_.below(7));
      }
    }
    if (inst_.form == Form::Sdwa) {
      m.dst_sel = static_cast<SdwaSel>(r_.below(7));
      m.dst_unused = static_cast<u8>(r_.below(3));
    }
    if (inst_.form == Form::Dpp) lane_moves();
    if (row_.has(kOpSel)) m.op_sel = static_cast<u8>(r_.below(16));
    if (row_.encoding == Encoding::Vop3p) {
      m.op_sel = static_cast<u8>(r_.below(8));
      m.op_sel_hi = static_cast<u8>(r_.one_in(2) ? 7 : r_.below(8));
      m.neg_hi = static_cast<u8>(r_.below(8));
    }
  }
  void lane_moves() {
    Modifiers& m = inst_.mods;
    const u32 row = 1 + r_.below(15);
    m.dpp_ctrl = static_cast<u16>(r_.of<u32>({r_.below(256), 0x100 + row, 0x110 + row, 0x120 + row, 0x130,
                                              0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143}));
    m.row_mask = static_cast<u8>(r_.one_in(2) ? 15 : r_.below(16));
    m.bank_mask = static_cast<u8>(r_.one_in(2) ? 15 : r_.below(16));
    m.bound_ctrl = r_.one_in(2);
  }

  /// Memory instructions: replaces what they address with.
  void addresses() {
    Modifiers& m = inst_.mods;
    switch (row_.encoding) {
    case Encoding::Smem: scalar_address(); break;
    case Encoding::Ds: local_address(); break;
    case Encoding::Mubuf:
    case Encoding::Mtbuf: buffer_address(); break;
    case Encoding::Flat: flat_address(); break;
    default: return;
    }
    m.glc = r_.one_in(2);
    m.lds = row_.has(kCanLds) && r_.one_in(6);
  }
  void scalar_address() {
    if (!row_.src[0].present()) return;
    inst_.src[0].index = row_.src[0].dwords == 2 ? kScalarDataSgpr : kScalarBufferSgpr;
    if (inst_.src[1].is(OperandKind::Sgpr) && target_ >= Target::gfx900 && r_.one_in(2)) {
      inst_.mods.sgpr_and_imm = true;
      inst_.mods.offset = static_cast<i32>(r_.below(64));
    }
  }
  void local_address() {
    Modifiers& m = inst_.mods;
    if (row_.has(kSwizzle)) {
      m.offset = static_cast<i32>(r_.one_in(2) ? 0x8000 | r_.below(256) : r_.below(0x8000));
    } else if (row_.memory.pair != 0) {
      // Two elements of a lane's own 16 bytes, or further away than any lane's first one.
      const u32 elements = row_.memory.pair > 1 ? 16 : 16u / row_.memory.bytes, first = r_.below(elements);
      m.offset = static_cast<i32>(first);
      m.offset1 = static_cast<u8>((first + 1 + r_.below(elements - 1)) % elements);
    } else if (row_.memory.accesses()) {
      m.offset = static_cast<i32>(r_.one_in(2) ? 0 : r_.below(r_.one_in(4) ? 65536 : 256));
    }
    m.gds = row_.memory.accesses() && r_.one_in(4);
    if (row_.memory.accesses() && inst_.src[0].is(OperandKind::Vgpr)) {
      inst_.src[0].index = row_.memory.pair > 1 ? kScratchVgpr : kOffsetVgpr;
    }
  }
  void buffer_address() {
    Modifiers& m = inst_.mods;
    m.offset = static_cast<i32>(r_.one_in(2) ? 0 : r_.below(r_.one_in(4) ? 4096 : 64));
    inst_.src[1].index = r_.below(3) < (row_.has(kFormat) ? 2u : 1u) ? 8 : 12;
    m.dfmt = static_cast<u8>(1 + r_.below(14));
    m.nfmt = static_cast<u8>(r_.below(8));
    inst_.src[0].index = kOffsetVgpr;
    inst_.src[0].dwords = 1;
    switch (r_.below(6)) {
    case 0: inst_.src[0] = {}; break;
    case 1: m.idxen = true; break;
    case 2: m.idxen = m.offen = true, inst_.src[0].dwords = 2; break;
    case 3:
      if (target_ <= Target::gfx700) {
        m.addr64 = true;
        inst_.src[0].dwords = 2;
        break;
      }
      [[fallthrough]];
    default: m.offen = true; break;
    }
    OperandSpec offset = row_.src[2];
    inst_.src[2] = r_.one_in(2) ? make(OperandKind::Inline, offset, 128 + r_.below(65))
                                : make(OperandKind::Sgpr, offset, kSmallOffsetSgpr + r_.below(2));
  }
  void flat_address() {
    Modifiers& m = inst_.mods;
    const bool gfx9 = target_ >= Target::gfx900;
    if (row_.memory.space == Space::Scratch) {
      m.offset = static_cast<i32>(r_.below(64));
      inst_.src[0].index = kScratchVgpr;
      inst_.src[1].index = kSmallOffsetSgpr;
      if (r_.one_in(2))
        inst_.src[1] = {};
      else
        inst_.src[0] = {};
      return;
    }
    if (gfx9 && r_.one_in(2))
      m.offset =
          static_cast<i32>(r_.below(4096)) - (row_.memory.space == Space::Global && r_.one_in(2) ? 4096 : 0);
    inst_.src[0].index = kAddressVgpr;
    if (row_.memory.space != Space::Global || r_.one_in(2)) {
      inst_.src[1] = {};
    } else {
      inst_.src[0].index = kOffsetVgpr;
      inst_.src[1].index = 2;
    }
  }

  std::optional<Line> encoded() {
    const auto words = pack(inst_, target_);
    Inst decoded;
    if (!words || decode(target_, words->span(), decoded) != DecodeStatus::Ok) return std::nullopt;
    if (decoded.op != inst_.op || decoded.mods.tfe) return std::nullopt;
    Line made;
    made.text = text(decoded, target_);
    made.words.assign(words->span().begin(), words->span().begin() + decoded.size / 4);
    return made;
  }

  const Row& row_;
  Target target_;
  Random& r_;
  Inst inst_;
};

/// Rows whose effect reaches beyond the next instruction, or that no two runs do alike.
constexpr u64 kNotAlone = kTerminator | kScalarBranch | kIndirectBranch | kCall | kEndPgm | kBarrier | kFork |
                          kTrapFlow | kConditional | kDebugBranch | kMessage | kClock | kMoveRel | kGws |
                          kOrdered | kGdsOnly | kRegWrite | kInterp | kHint | kWaits | kDiscard;

} // namespace

bool is_testable(Op op, Target target) {
  const Row& row = row_of(op);
  return exists(op, target) && lift::has_rule(op) && interp::handlers().of(op) != nullptr &&
         !row.has(kNotAlone) && (row.writes & (kGprIdxReg | kModeReg)) == 0;
}

std::optional<Line> random_instruction(Op op, Target target, Random& random) {
  for (unsigned attempt = 0; attempt < 40; ++attempt)
    if (auto made = Generator(op, target, random).attempt(attempt % 4 == 3)) return made;
  return std::nullopt;
}

bool writes_exec(Op op) { return (row_of(op).writes & kExecReg) != 0; }

} // namespace lanewise::differential
