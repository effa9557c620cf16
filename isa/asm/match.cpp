#include "isa/asm/match.hpp"

#include "isa/asm/mnemonics.hpp"
#include "isa/decoder.hpp"
#include "isa/encoding.hpp"
#include "isa/registers.hpp"

#include <fmt/format.h>

namespace lanewise::isa {
namespace {

/// Where an operand of the text goes.
enum class Slot : u8 { Dst0, Dst1, Src0, Src1, Src2, Src3, Attribute, ExportTarget };

using Attempted = std::variant<AssembledInst, Diagnostic>;

/// One encoding being tried. `without` is the index of a modifier to leave out, when looking for the guilty
/// one.
class Attempt {
public:
  Attempt(const WrittenInst& written, Op op, FormChoice choice, Target target, std::size_t without)
      : written_(written), row_(row_of(op)), target_(target), without_(without) {
    inst_.op = op;
    inst_.encoding = choice.encoding;
    inst_.form = choice.form;
  }

  Attempted run();

private:
  void fail(SourceLocation at, std::string message) {
    if (!error_) error_ = Diagnostic{at, std::move(message)};
  }

  void apply_modifiers();
  void list_slots();
  void data_slot(bool present);
  void present(Slot slot) {
    if (spec_of(slot).present()) slots_.push_back(slot);
  }
  void check_count();
  const OperandSpec& spec_of(Slot slot) const {
    return slot <= Slot::Dst1 ? row_.dst[static_cast<unsigned>(slot)]
                              : row_.src[static_cast<unsigned>(slot) - 2];
  }
  Operand& operand_of(Inst& inst, Slot slot) const {
    return slot <= Slot::Dst1 ? inst.dst[static_cast<unsigned>(slot)]
                              : inst.src[static_cast<unsigned>(slot) - 2];
  }

  void bind(Slot slot, const WrittenOperand& written);
  Operand bind_register(const WrittenOperand& written, OperandClass cls);
  Operand bind_number(const WrittenOperand& written, OperandSpec spec, OperandClass cls);
  Operand bind_immediate(const WrittenOperand& written, i64 value, OperandType type);
  Operand bind_offset(const WrittenOperand& written);
  Operand bind_symbol(const WrittenOperand& written, const OperandSpec& spec, OperandClass cls);
  Operand bind_off(const WrittenOperand& written, Slot slot);
  OperandClass class_of(Slot slot) const;
  OperandType type_of(Slot slot) const;
  bool literal_allowed() const;
  bool is_old_vop3b() const {
    return target_ < Target::gfx803 && inst_.encoding == Encoding::Vop3 && row_.dst[1].cls == OperandClass::M;
  }
  void finish_export();

  void compare(Inst& decoded);
  void compare_operand(Slot slot, const WrittenOperand& written, const Operand& bound, const Operand& seen,
                       const Inst& decoded);
  bool width_matches(Slot slot, unsigned dwords, const Operand& seen, const Inst& decoded) const;

  const WrittenInst& written_;
  const Row& row_;
  const Target target_;
  const std::size_t without_;
  Inst inst_;
  std::vector<Slot> slots_;
  std::optional<InstructionFixup> fixup_;
  std::optional<Diagnostic> error_;
};

// ---------------------------------------------------------------- modifiers and slots

void Attempt::apply_modifiers() {
  set_default_modifiers(inst_, row_);
  for (std::size_t i = 0; i < written_.modifiers.size(); ++i) {
    const WrittenModifier& modifier = written_.modifiers[i];
    if (i == without_) continue;
    if (!modifier.row->in(inst_.form))
      return fail(modifier.at, fmt::format("'{}' is not possible in this encoding", modifier.row->name));
    modifier.row->apply(inst_, row_, modifier.value);
  }
  // The words of gfx6's VOP3b have no room for clamp; LLVM takes and drops it, as bind() does absolute
  // values.
  if (is_old_vop3b()) inst_.mods.clamp = false;
  // An offset beside a scalar register is an addition; alone it is the offset operand.
  if (inst_.encoding == Encoding::Smem)
    for (const WrittenModifier& modifier : written_.modifiers)
      if (modifier.row->name == "offset" &&
          &modifier - written_.modifiers.data() != static_cast<std::ptrdiff_t>(without_))
        inst_.mods.sgpr_and_imm = true;
}

/// The data register of buffers and images: a source, a destination, or both in one.
void Attempt::data_slot(bool wanted) {
  if (!wanted) return;
  slots_.push_back(row_.src[3].present() ? Slot::Src3 : Slot::Dst0);
}

void Attempt::list_slots() {
  using enum Slot;
  const auto all = [this](std::initializer_list<Slot> slots) {
    for (Slot slot : slots) present(slot);
  };
  switch (row_.encoding) {
  case Encoding::Sop2:
  case Encoding::Sop1:
  case Encoding::Sopk:
  case Encoding::Sopc:
  case Encoding::Sopp:
    return row_.has(kRegWrite) ? all({Dst0, Dst1, Src1, Src0}) : all({Dst0, Dst1, Src0, Src1});
  case Encoding::Smem: return row_.src[2].present() ? all({Src2, Src0, Src1}) : all({Dst0, Src0, Src1});
  case Encoding::Mubuf:
  case Encoding::Mtbuf:
    if (row_.has(kInvalidates)) return;
    data_slot(!row_.has(kNoData) && !inst_.mods.lds);
    return all({Src0, Src1, Src2});
  case Encoding::Mimg: data_slot(true); return all({Src0, Src1, Src2});
  case Encoding::Flat:
    if (!inst_.mods.lds && (row_.memory.atomic == Atomic::None || inst_.mods.glc)) present(Dst0);
    return all({Src0, Src2, Src1});
  case Encoding::Exp: slots_ = {ExportTarget, Src0, Src1, Src2, Src3}; return;
  default: break;
  }
  all({Dst0, Dst1, Src0});
  if (row_.has(kInterp)) slots_.push_back(Attribute);
  all({Src1, Src2, Src3});
}

void Attempt::check_count() {
  const std::size_t count = written_.operands.size();
  if (count == slots_.size()) return;
  if (count > slots_.size())
    return fail(written_.operands[slots_.size()].at,
                fmt::format("expected at most {} operands", slots_.size()));
  if (count + 1 == slots_.size()) {
    const Slot last = slots_.back();
    if (row_.has(kEndPgm)) {
      inst_.src[0] = {.kind = OperandKind::Imm, .type = row_.src[0].type};
      return;
    }
    if (inst_.encoding == Encoding::Smem && inst_.mods.sgpr_and_imm) { // s_load_dword s0, s[2:3] offset:16
      inst_.src[1] = {.kind = OperandKind::Imm,
                      .type = row_.src[1].type,
                      .value = static_cast<u64>(i64{inst_.mods.offset})};
      inst_.mods.offset = 0;
      inst_.mods.sgpr_and_imm = false;
      return;
    }
    if (last != Slot::Attribute && last != Slot::ExportTarget && spec_of(last).cls == OperandClass::M) {
      operand_of(inst_,
                 last) = {.kind = OperandKind::Sgpr, .type = OperandType::Mask, .dwords = 2, .index = kVccLo};
      return;
    }
  }
  fail(written_.end, fmt::format("expected {} operands, found {}", slots_.size(), count));
}

// ---------------------------------------------------------------- operands

/// Sources that only VGPRs can be in 32 bits can be anything in the 64-bit form and, from gfx900, in SDWA.
OperandClass Attempt::class_of(Slot slot) const {
  const OperandClass cls = spec_of(slot).cls;
  const bool wide =
      inst_.encoding == Encoding::Vop3 || (inst_.form == Form::Sdwa && target_ >= Target::gfx900);
  const bool narrow = inst_.form == Form::Dpp || (inst_.form == Form::Sdwa && target_ == Target::gfx803);
  if (slot <= Slot::Dst1) return cls;
  if (cls == OperandClass::V && wide) return OperandClass::VS;
  return cls == OperandClass::VS && narrow ? OperandClass::V : cls;
}

/// A source of v_mad_mix is f16 or f32 as op_sel_hi says.
OperandType Attempt::type_of(Slot slot) const {
  const unsigned i = static_cast<unsigned>(slot) - static_cast<unsigned>(Slot::Src0);
  if (slot > Slot::Dst1 && row_.has(kMixed) && (inst_.mods.op_sel_hi >> i & 1)) return OperandType::F16;
  return spec_of(slot).type;
}

bool Attempt::literal_allowed() const {
  switch (inst_.encoding) {
  case Encoding::Sop1:
  case Encoding::Sop2:
  case Encoding::Sopc: return true;
  default: return inst_.form == Form::E32;
  }
}

Operand Attempt::bind_register(const WrittenOperand& written, OperandClass cls) {
  const bool vgpr = written.reg.is(OperandKind::Vgpr);
  switch (cls) {
  case OperandClass::V:
    if (!vgpr) fail(written.at, "expected a vector register");
    break;
  case OperandClass::S:
  case OperandClass::M:
    if (vgpr) fail(written.at, "expected a scalar register");
    break;
  case OperandClass::SS:
  case OperandClass::VL:
  case OperandClass::SO:
    if (vgpr) fail(written.at, "expected a scalar register or a constant");
    break;
  case OperandClass::Imm:
  case OperandClass::K: fail(written.at, "expected a number"); break;
  default: break;
  }
  return written.reg;
}

Operand Attempt::bind_immediate(const WrittenOperand& written, i64 value, OperandType type) {
  const bool is_signed = type == OperandType::Simm16 || type == OperandType::Label;
  const i64 least = inst_.encoding == Encoding::Sopk && type == OperandType::Imm16 ? 0 : INT16_MIN;
  if (value < least || value > UINT16_MAX)
    fail(written.at, fmt::format("expected a number from {} to {}", least, UINT16_MAX));
  const u64 field = static_cast<u64>(value) & 0xffff;
  return {.kind = OperandKind::Imm,
          .type = type,
          .value = is_signed ? static_cast<u64>(sign_extend(field, 16)) : field};
}

/// The offset of scalar memory: as LLVM writes the field, which counts dwords before gfx803.
Operand Attempt::bind_offset(const WrittenOperand& written) {
  struct Range {
    i64 min, max;
  };
  static constexpr Range kRanges[kNumTargets] = {{0, enc::Smrd::kMaxOffset},
                                                 {0, UINT32_MAX},
                                                 {0, (1 << 20) - 1},
                                                 {-(1 << 20), (1 << 20) - 1},
                                                 {-(1 << 20), (1 << 20) - 1}};
  const Range range = kRanges[static_cast<unsigned>(target_)];
  const auto value = static_cast<i64>(written.number.bits);
  if (written.number.real || value < range.min || value > range.max)
    fail(written.at, fmt::format("the offset is a number from {} to {} on {}", range.min, range.max,
                                 target_name(target_)));
  const bool dwords = target_ < Target::gfx803;
  const bool literal = dwords && (value > enc::Smrd::kMaxOffset || written.lit);
  if (written.lit && target_ != Target::gfx700)
    fail(written.at, fmt::format("{} has no literal offsets", target_name(target_)));
  return {.kind = literal ? OperandKind::Literal : OperandKind::Imm,
          .type = row_.src[1].type,
          .index = static_cast<u16>(literal ? enc::kSrcLiteral : 0),
          .value = static_cast<u64>(value) * (dwords ? 4 : 1)}; // discarded if it failed
}

Operand Attempt::bind_number(const WrittenOperand& written, OperandSpec spec, OperandClass cls) {
  Number number = written.number;
  Constants allowed = literal_allowed() ? Constants::InlineOrLiteral : Constants::InlineOnly;
  switch (cls) {
  case OperandClass::Imm:
    if (number.real) fail(written.at, "expected an integer");
    if (written.lit) fail(written.at, "lit() is not possible here: the number is a field of the instruction");
    return bind_immediate(written, static_cast<i64>(number.bits), spec.type);
  case OperandClass::SO: return bind_offset(written);
  case OperandClass::K: allowed = Constants::LiteralOnly; break;
  case OperandClass::VL: allowed = Constants::InlineOnly; break;
  case OperandClass::SS:
  case OperandClass::VS: break;
  case OperandClass::V:
  case OperandClass::VO: fail(written.at, "expected a vector register"); return {};
  default: fail(written.at, "expected a scalar register"); return {};
  }
  if (written.lit && allowed == Constants::InlineOrLiteral) allowed = Constants::LiteralOnly;
  if (written.lit && allowed == Constants::InlineOnly) fail(written.at, std::string(kNoLiteral));
  // Without a place for modifiers, they are applied here.
  const bool fold = inst_.form == Form::E32 && (written.abs || written.neg) && is_float(spec.type);
  if (fold && spec.type == OperandType::F64 && !number.real)
    fail(written.at, "the sign of an integer for a 64-bit float operand is ambiguous");
  if (fold) number = apply_sign(number, spec.type, written.abs, written.neg);
  auto converted = constant_operand(number, spec.type, target_, allowed);
  if (auto* why = std::get_if<std::string_view>(&converted)) {
    fail(written.at, std::string(*why));
    return {};
  }
  Operand operand = std::get<Operand>(converted);
  operand.neg = written.neg && !fold;
  operand.abs = written.abs && !fold;
  return operand;
}

Operand Attempt::bind_symbol(const WrittenOperand& written, const OperandSpec& spec, OperandClass cls) {
  const auto fixup = [&](InstructionFixup::Kind kind) {
    fixup_ = InstructionFixup{.kind = kind, .expression = written.expression};
  };
  if (cls == OperandClass::Imm && spec.type == OperandType::Label) {
    fixup(InstructionFixup::Kind::Branch16);
    return {.kind = OperandKind::Imm, .type = spec.type};
  }
  const bool source =
      cls == OperandClass::K || ((cls == OperandClass::SS || cls == OperandClass::VS) && literal_allowed());
  const bool dword = spec.type == OperandType::B32 || spec.type == OperandType::U32 ||
                     spec.type == OperandType::I32 || spec.type == OperandType::F32;
  if (!source || !dword || fixup_) {
    fail(written.at,
         "a symbol can stand only for a branch target or for the one 32-bit literal of an instruction");
    return {};
  }
  fixup(InstructionFixup::Kind::Literal32);
  return {.kind = OperandKind::Literal, .type = spec.type, .index = enc::kSrcLiteral};
}

Operand Attempt::bind_off(const WrittenOperand& written, Slot slot) {
  const bool flat = inst_.encoding == Encoding::Flat,
             buffer = inst_.encoding == Encoding::Mubuf || inst_.encoding == Encoding::Mtbuf;
  const bool address = (flat && (slot == Slot::Src0 || slot == Slot::Src1)) || (buffer && slot == Slot::Src0);
  if (!address && inst_.encoding != Encoding::Exp) fail(written.at, "'off' is not possible here");
  return {};
}

void Attempt::bind(Slot slot, const WrittenOperand& written) {
  using Kind = WrittenOperand::Kind;
  if (slot == Slot::Attribute) {
    if (written.kind != Kind::Attribute) return fail(written.at, "expected an attribute, such as attr0.x");
    inst_.mods.attr = static_cast<u8>(written.value);
    inst_.mods.attr_chan = written.extra;
    return;
  }
  if (slot == Slot::ExportTarget) {
    if (written.kind != Kind::ExportTarget)
      return fail(written.at,
                  "expected an export target: mrt0 to mrt7, mrtz, null, pos0 to pos3, param0 to param31");
    inst_.mods.exp_target = static_cast<u8>(written.value);
    return;
  }
  OperandSpec spec = spec_of(slot);
  spec.type = type_of(slot);
  const OperandClass cls = class_of(slot);
  Operand& operand = operand_of(inst_, slot);
  const Operand modifiers = operand; // sel and neg, which modifiers may have set
  switch (written.kind) {
  case Kind::Register: operand = bind_register(written, cls); break;
  case Kind::Number: operand = bind_number(written, spec, cls); break;
  case Kind::Relocatable: operand = bind_symbol(written, spec, cls); break;
  case Kind::Off: operand = bind_off(written, slot); break;
  case Kind::Immediate:
    if (cls != OperandClass::Imm) fail(written.at, "expected a register or a number");
    operand = bind_immediate(written, static_cast<i64>(written.value), spec.type);
    break;
  default: fail(written.at, "expected a register or a number"); break;
  }
  operand.type = spec.type;
  operand.sel = modifiers.sel;
  if (written.kind == Kind::Register) {
    operand.neg = written.neg;
    operand.abs = written.abs;
  }
  if (is_old_vop3b()) operand.abs = false;
  operand.sext = written.sext;
  operand.neg |= modifiers.neg;
}

void Attempt::finish_export() {
  unsigned enabled = 0;
  for (unsigned i = 0; i < 4; ++i) enabled |= unsigned{!inst_.src[i].is(OperandKind::None)} << i;
  inst_.mods.exp_enable = static_cast<u8>(enabled);
}

// ---------------------------------------------------------------- comparison with what the decoder sees

bool Attempt::width_matches(Slot slot, unsigned dwords, const Operand& seen, const Inst& decoded) const {
  if (dwords == seen.dwords || !(seen.is(OperandKind::Vgpr) || seen.is(OperandKind::Sgpr))) return true;
  const unsigned tfe = decoded.mods.tfe;
  switch (inst_.encoding) {
  case Encoding::Mimg: // The address depends on the resource's dimensions; LLVM names eight registers for
                       // every resource.
    if (slot == Slot::Src0) return true;
    if (slot == Slot::Src1) return dwords == 8;
    return dwords == seen.dwords + tfe;
  case Encoding::Mubuf:
  case Encoding::Mtbuf:
  case Encoding::Flat: // LLVM before 19 does not count the register of tfe.
    return slot == Slot::Dst0 && dwords + tfe == seen.dwords;
  default: return false;
  }
}

void Attempt::compare_operand(Slot slot, const WrittenOperand& written, const Operand& bound,
                              const Operand& seen, const Inst& decoded) {
  if (bound.sext != seen.sext)
    return fail(written.at,
                bound.sext ? "sext() is not possible here" : "the operand takes sext(), not a sign");
  if (bound.abs != seen.abs) return fail(written.at, "an absolute value is not possible here");
  if (bound.neg != seen.neg) return fail(written.at, "a negated operand is not possible here");
  if (bound.kind != seen.kind) {
    if (seen.is(OperandKind::None)) return fail(written.at, "expected 'off'");
    return fail(written.at, bound.is(OperandKind::None) ? "'off' is not possible with these modifiers"
                                                        : "an operand of this kind is not possible here");
  }
  if (bound.index != seen.index || bound.value != seen.value) {
    if (bound.is(OperandKind::Imm)) return fail(written.at, "the number is out of range");
    const bool vcc = seen.is(OperandKind::Sgpr) && seen.index == kVccLo;
    return fail(written.at, vcc ? "expected vcc" : "the operand cannot be encoded here");
  }
  if (written.kind == WrittenOperand::Kind::Register &&
      !width_matches(slot, written.reg.dwords, seen, decoded))
    fail(written.at, fmt::format("expected {} register{}, found {}", seen.dwords, seen.dwords == 1 ? "" : "s",
                                 written.reg.dwords));
}

void Attempt::compare(Inst& decoded) {
  for (std::size_t i = 0; i < written_.operands.size(); ++i) {
    const Slot slot = slots_[i];
    if (slot == Slot::Attribute || slot == Slot::ExportTarget) continue;
    compare_operand(slot, written_.operands[i], operand_of(inst_, slot), operand_of(decoded, slot), decoded);
  }
  if (!error_ && (decoded.mods != inst_.mods || decoded.form != inst_.form || decoded.op != inst_.op))
    fail(written_.modifiers.empty() ? written_.at : written_.modifiers.back().at,
         "the modifiers are not possible in this encoding");
  for (unsigned i = 0; i < 2 && !error_; ++i)
    if (decoded.src[i].sel != inst_.src[i].sel)
      fail(written_.modifiers.back().at, "the instruction has no such source");
}

Attempted Attempt::run() {
  apply_modifiers();
  list_slots();
  check_count();
  for (std::size_t i = 0; i < written_.operands.size() && !error_; ++i) bind(slots_[i], written_.operands[i]);
  if (error_) return *std::move(error_);
  if (inst_.encoding == Encoding::Exp) finish_export();
  const auto words = pack(inst_, target_);
  if (!words) return Diagnostic{written_.at, fmt::format("{} has no such instruction", target_name(target_))};
  Inst decoded;
  const DecodeStatus status = decode(target_, words->span(), decoded);
  if (status != DecodeStatus::Ok) return Diagnostic{written_.at, std::string(reason(status))};
  compare(decoded);
  if (error_) return *std::move(error_);
  if (fixup_)
    fixup_->offset =
        static_cast<u8>(fixup_->kind == InstructionFixup::Kind::Branch16 ? 0 : 4 * (words->count - 1));
  return AssembledInst{decoded, *words, std::move(fixup_)};
}

// ---------------------------------------------------------------- choice

constexpr std::size_t kAllModifiers = ~std::size_t{0};

bool further(SourceLocation a, SourceLocation b, bool strictly) {
  return strictly ? a.column > b.column : a.column >= b.column;
}

std::string offset_range(const Row& row, Target target) {
  switch (row.encoding) {
  case Encoding::Ds: return "'offset' takes 0 to 65535";
  case Encoding::Mubuf:
  case Encoding::Mtbuf: return "'offset' takes 0 to 4095";
  case Encoding::Flat:
    if (target < Target::gfx900)
      return fmt::format("{} has no offset in flat instructions", target_name(target));
    return row.memory.space == Space::Flat ? "'offset' takes 0 to 4095" : "'offset' takes -4096 to 4095";
  default: return "the offset is out of range, or not possible here";
  }
}

/// If the failure goes away without one of the modifiers, that one is to blame.
Diagnostic blame(const WrittenInst& written, Op op, FormChoice choice, Target target, Diagnostic failure) {
  for (std::size_t i = 0; i < written.modifiers.size(); ++i) {
    const WrittenModifier& modifier = written.modifiers[i];
    if (std::holds_alternative<Diagnostic>(Attempt(written, op, choice, target, i).run())) continue;
    if (modifier.row->name == "offset") return {modifier.at, offset_range(row_of(op), target)};
    return {modifier.at, fmt::format("'{}' is not possible on this instruction", modifier.row->name)};
  }
  return failure;
}

/// The operand at which a vector instruction reads a second scalar value (the constant bus carries one; 7nm
/// guide 6.2.1), or nothing. Literals count, lds_direct does not.
std::optional<std::size_t> constant_bus_conflict(const Inst& inst) {
  const Row& row = row_of(inst.op);
  const bool vector = inst.encoding == Encoding::Vop1 || inst.encoding == Encoding::Vop2 ||
                      inst.encoding == Encoding::Vopc || inst.encoding == Encoding::Vop3 ||
                      inst.encoding == Encoding::Vop3p;
  if (!vector || row.has(kInterp)) return std::nullopt;
  const Operand* first = nullptr;
  for (std::size_t i = 0; i < inst.src.size(); ++i) {
    const Operand& src = inst.src[i];
    const bool scalar = src.is(OperandKind::Sgpr) || src.is(OperandKind::Literal) ||
                        (src.is(OperandKind::Special) && src.index != kLdsDirect);
    if (!scalar) continue;
    if (first && !(first->kind == src.kind && first->index == src.index &&
                   (src.is(OperandKind::Special) || first->dwords == src.dwords)))
      return i;
    if (!first) first = &src;
  }
  return std::nullopt;
}

} // namespace

std::variant<AssembledInst, Diagnostic> match(const WrittenInst& written, std::span<const Op> ops,
                                              Target target, const AssemblerOptions& options) {
  std::optional<Diagnostic> best;
  for (Op op : ops)
    for (FormChoice choice : forms_of(op, target)) {
      const bool wanted = !written.forced || choice.form == *written.forced ||
                          (choice.form == Form::Base &&
                           (*written.forced == Form::E64) == (choice.encoding == Encoding::Vop3));
      if (!wanted) continue;
      Attempted attempted = Attempt(written, op, choice, target, kAllModifiers).run();
      if (auto* done = std::get_if<AssembledInst>(&attempted)) {
        if (!options.permissive && constant_bus_conflict(done->inst))
          return Diagnostic{written.at, "the instruction reads more than one scalar register or literal"};
        return std::move(*done);
      }
      Diagnostic failure = blame(written, op, choice, target, std::get<Diagnostic>(std::move(attempted)));
      // Where all fail at one place, the 64-bit form's reason is the most telling: it takes the most.
      const bool extended = choice.form == Form::Sdwa || choice.form == Form::Dpp;
      if (!best || further(failure.at, best->at, extended)) best = std::move(failure);
    }
  if (!best)
    return Diagnostic{written.at, fmt::format("'{}': {} has no such encoding of the instruction",
                                              written.mnemonic, target_name(target))};
  return *std::move(best);
}

} // namespace lanewise::isa
