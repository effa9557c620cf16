// The decoder's inside: one decoding in progress. isa/decoder.hpp is the interface.
#pragma once

#include "isa/decoder.hpp"
#include "isa/encoding.hpp"
#include "isa/opcode_map.hpp"
#include "isa/registers.hpp"
#include "isa/source_codes.hpp"

namespace lanewise::isa::detail {

using enum DecodeStatus;

/// Operand kinds that a field may name, one bit per OperandKind.
using Kinds = u8;
constexpr Kinds kind_bit(OperandKind kind) { return static_cast<Kinds>(1u << static_cast<unsigned>(kind)); }
inline constexpr Kinds kVgprOnly = kind_bit(OperandKind::Vgpr);
inline constexpr Kinds kSgprOnly = kind_bit(OperandKind::Sgpr);
/// What the scalar results of vector instructions may name: a register, or a read-only value, which drops the write
/// (7nm guide 3.6.1).
inline constexpr Kinds kScalarResult = kSgprOnly | kind_bit(OperandKind::Special);
inline constexpr Kinds kScalarSource = kScalarResult | kind_bit(OperandKind::Inline);
inline constexpr Kinds kAnySource = kScalarSource | kVgprOnly;

/// The words, and the instruction being filled in. Every step reports through `status_`; the first failure stays.
class Decoding {
public:
  Decoding(Target target, std::span<const u32> code, Inst& out)
      : target_(target), gfx8_(target >= Target::gfx803), gfx9_(target >= Target::gfx900), code_(code),
        map_(opcode_map(target)), codes_(kSourceCodes[static_cast<unsigned>(target)]), out_(out) {}

  DecodeStatus run();

private:
  // One function per microcode format.
  void sop2();
  void sop1();
  void sopk();
  void sopc();
  void sopp();
  void smrd();
  void smem();
  void vop1();
  void vop2();
  void vopc();
  void vop3();
  void vop3p();
  void vintrp();
  void ds();
  void mubuf();
  void mtbuf();
  void mimg();
  void flat();
  void exp();

  /// Looks the opcode up and starts the instruction; false when there is nothing to decode. `fixed` are the bits that every
  /// instruction of the format uses: prefix, opcode, and the fields that are read without take().
  bool begin(const OpcodeEntry& entry, Encoding encoding, unsigned dwords, u64 fixed);
  void fail(DecodeStatus status) {
    if (status_ == Ok) status_ = status;
  }

  // Fields. What an instruction does not take must be zero in the end (check_reserved). Formats that are common read their
  // fields with at() and name them in begin(), because a chain of updates of used_ would cost more than all else.
  u32 at(enc::Field field) const { return field.get(word_); }
  u32 take(enc::Field field) {
    used_ |= field.mask();
    return field.get(word_);
  }
  bool take_flag(enc::Field field) { return take(field) != 0; }
  i64 take_signed(enc::Field field) {
    used_ |= field.mask();
    return field.get_signed(word_);
  }
  void check_reserved();

  // Operands. `code` is a value of the 9-bit source field; VGPR fields of 8 bits go through vgpr().
  void operand(Operand& out, unsigned code, const OperandSpec& spec, Kinds kinds);
  void vgpr(Operand& out, unsigned index, const OperandSpec& spec) { operand(out, index + enc::kSrcVgpr0, spec, kVgprOnly); }
  void sgpr(Operand& out, unsigned code, const OperandSpec& spec) { operand(out, code, spec, kSgprOnly); }
  void mask(Operand& out, unsigned code) { operand(out, code, kMaskSpec, kScalarResult); }
  void implicit_vcc(Operand& out) { mask(out, kVccLo); }
  /// A source of the scalar ALU, or of a vector instruction that has no room for a literal.
  void scalar_source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed);
  /// A source of a vector instruction; only the first may be lds_direct.
  void vector_source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed, bool first);
  void lds_direct(Operand& out, const OperandSpec& spec, bool allowed);
  void literal(Operand& out, const OperandSpec& spec);
  void immediate(Operand& out, i64 value, const OperandSpec& spec);
  void simm16(Operand& out, const OperandSpec& spec);
  DecodeStatus why_refused(unsigned code, const OperandSpec& spec) const;

  // Shared pieces of the vector ALU.
  template <Encoding encoding>
  void vector_e32(const OpcodeEntry& entry);
  void odd_e32_operands(Encoding encoding);
  void odd_vop3_operands();
  void sdwa(const OpcodeEntry& entry);
  void dpp(const OpcodeEntry& entry);
  void selector(unsigned i, enc::Field sel, enc::Field sext);
  void negate(unsigned i, const OpcodeEntry& entry, enc::Field neg, enc::Field abs);
  void vop3_modifiers(const OpcodeEntry& entry, bool vop3b);
  void interpolation_e64(const OpcodeEntry& entry);
  void mixed_source(unsigned i, unsigned code);

  // Shared pieces of vector memory.
  void buffer_operands();
  void buffer_data(Operand& out, OperandSpec spec, bool extra);
  unsigned d16_dwords(unsigned components) const { return gfx9_ ? (components + 1) / 2 : components; }
  /// Whether an atomic or load writes its result register.
  bool returns() const { return row_->memory.atomic == Atomic::None || out_.mods.glc; }

  static constexpr OperandSpec kMaskSpec{.cls = OperandClass::M, .type = OperandType::Mask, .dwords = 2};

  const Target target_;
  const bool gfx8_, gfx9_;
  const std::span<const u32> code_;
  const OpcodeMap& map_;
  const std::array<SourceCode, 512>& codes_;
  Inst& out_;
  u64 word_ = 0;
  u64 used_ = 0; ///< bits of word_ that mean something
  const Row* row_ = nullptr;
  DecodeStatus status_ = Ok;
  bool has_literal_ = false;
  unsigned dwords_ = 1; ///< consumed so far
};

/// The alignment that a tuple of `dwords` scalar registers needs, as a mask of code bits (7nm guide 3.6.3).
inline constexpr std::array<u8, 17> kTupleAlignment = {0, 0, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};

inline void Decoding::operand(Operand& out, unsigned code, const OperandSpec& spec, Kinds kinds) {
  const SourceCode& info = codes_[code & 511];
  out.kind = info.kind;
  out.type = spec.type;
  out.dwords = spec.dwords & info.width_mask;
  out.index = info.index;
  out.value = kInlineValues[info.constant].at_width[kInlineWidths[static_cast<u8>(spec.type)]];
  const bool refused = (info.run < spec.dwords) | (info.run == 0) | ((code & info.align_mask & kTupleAlignment[spec.dwords]) != 0) |
                       !(kinds >> static_cast<unsigned>(info.kind) & 1);
  if (refused) [[unlikely]] fail(why_refused(code, spec));
}

inline void Decoding::scalar_source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed) {
  if (code == enc::kSrcLiteral) [[unlikely]] return literal_allowed ? literal(out, spec) : fail(LiteralNotAllowed);
  operand(out, code, spec, kScalarSource);
}

inline void Decoding::vector_source(Operand& out, unsigned code, const OperandSpec& spec, bool literal_allowed, bool first) {
  if (code - kLdsDirect <= 1) [[unlikely]] {
    if (code == kLdsDirect) return lds_direct(out, spec, first);
    return literal_allowed ? literal(out, spec) : fail(LiteralNotAllowed);
  }
  operand(out, code, spec, kAnySource);
}

inline bool Decoding::begin(const OpcodeEntry& entry, Encoding encoding, unsigned dwords, u64 fixed) {
  if (!entry.present()) [[unlikely]] {
    fail(UnknownOpcode);
    return false;
  }
  dwords_ = dwords;
  used_ = fixed;
  if (code_.size() < dwords) [[unlikely]] {
    fail(Truncated);
    return false;
  }
  row_ = &row_of(static_cast<Op>(entry.op));
  out_.op = static_cast<Op>(entry.op);
  out_.encoding = encoding;
  out_.form = entry.form;
  return true;
}

inline void Decoding::immediate(Operand& out, i64 value, const OperandSpec& spec) {
  out.kind = OperandKind::Imm;
  out.type = spec.type;
  out.value = static_cast<u64>(value);
}

} // namespace lanewise::isa::detail
