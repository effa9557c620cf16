// The decoder's inside: one decoding in progress. isa/decoder.hpp is the interface.
#pragma once

#include "isa/decoder.hpp"
#include "isa/encoding.hpp"
#include "isa/opcode_map.hpp"
#include "isa/registers.hpp"
#include "isa/source_codes.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace lanewise::isa::detail {

using enum DecodeStatus;

/// The first eight bytes of an Operand, written at once: kind, type, dwords, no modifiers, sel = DWORD.
struct OperandHead {
  u64 bits;
  constexpr explicit OperandHead(const OperandSpec& spec)
      : bits(u64{static_cast<u8>(spec.type)} << 8 | u64{spec.dwords} << 16 |
             u64{static_cast<u8>(SdwaSel::Dword)} << 48) {}
};
static_assert(offsetof(Operand, kind) == 0 && offsetof(Operand, type) == 1 &&
              offsetof(Operand, dwords) == 2 && offsetof(Operand, sel) == 6 &&
              offsetof(Operand, index) == 8 && std::endian::native == std::endian::little);

/// The words, and the instruction being filled in. Every step reports through `status_`; the first failure
/// stays. Hidden, because the compiler may not inline what a shared library could replace.
class [[gnu::visibility("hidden")]] Decoding {
public:
  Decoding(Target target, std::span<const u32> code, Inst & out)
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

  /// Looks the opcode up and starts the instruction; false when there is nothing to decode. `fixed` are the
  /// bits that every instruction of the format uses: prefix, opcode, and the fields that are read without
  /// take().
  bool begin(const OpcodeEntry& entry, Encoding encoding, unsigned dwords, u64 fixed);
  void fail(DecodeStatus status) {
    if (status_ == Ok) status_ = status;
  }

  // Fields. What an instruction does not take must be zero in the end (check_reserved). Formats that are
  // common read their fields with at() and name them in begin(), because a chain of updates of used_ would
  // cost more than all else.
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
  void operand(Operand & out, unsigned code, const OperandSpec& spec, OperandSet set);
  void vgpr(Operand & out, unsigned index, const OperandSpec& spec) {
    operand(out, index + enc::kSrcVgpr0, spec, OperandSet::Vgpr);
  }
  void sgpr(Operand & out, unsigned code, const OperandSpec& spec) {
    operand(out, code, spec, OperandSet::Sgpr);
  }
  void mask(Operand & out, unsigned code) { operand(out, code, kMaskSpec, OperandSet::ScalarResult); }
  void implicit_vcc(Operand & out) { out = kVccOperand; }
  /// A source of the scalar ALU, or of a vector instruction that has no room for a literal.
  void scalar_source(Operand & out, unsigned code, const OperandSpec& spec, bool literal_allowed);
  /// A source of a vector instruction; only the first may be lds_direct.
  void vector_source(Operand & out, unsigned code, const OperandSpec& spec, bool literal_allowed, bool first);
  void lds_direct(Operand & out, const OperandSpec& spec, bool allowed);
  void literal(Operand & out, const OperandSpec& spec);
  void immediate(Operand & out, i64 value, const OperandSpec& spec);
  void simm16(Operand & out, const OperandSpec& spec);
  DecodeStatus why_refused(unsigned code, const OperandSpec& spec) const;

  // Shared pieces of the vector ALU.
  template <Encoding encoding>
  void vector_e32(const OpcodeEntry& entry);
  void odd_e32(Encoding encoding, const OpcodeEntry& entry);
  void swap_e64();
  void sdwa(const OpcodeEntry& entry);
  void dpp(const OpcodeEntry& entry);
  void selector(unsigned i, enc::Field sel, enc::Field sext);
  void negate(unsigned i, const OpcodeEntry& entry, enc::Field neg, enc::Field abs);
  void vop3_modifiers(const OpcodeEntry& entry, bool vop3b);
  void interpolation_e64(const OpcodeEntry& entry);
  void mixed_source(unsigned i, unsigned code);

  // Shared pieces of vector memory.
  void buffer_operands();
  void buffer_data(Operand & out, OperandSpec spec, bool extra);
  unsigned d16_dwords(unsigned components) const { return gfx9_ ? (components + 1) / 2 : components; }
  /// Whether an atomic or load writes its result register.
  bool returns() const { return row_->memory.atomic == Atomic::None || out_.mods.glc; }

  static constexpr Operand kVccOperand{
      .kind = OperandKind::Sgpr, .type = OperandType::Mask, .dwords = 2, .index = kVccLo};
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

inline void Decoding::operand(Operand& out, unsigned code, const OperandSpec& spec, OperandSet set) {
  const SourceCode& info = codes_[code & 511];
  const u64 head = (OperandHead(spec).bits & info.head_mask) | static_cast<u64>(info.kind);
  std::memcpy(static_cast<void*>(&out), &head, sizeof head);
  out.index = info.index;
  out.value = kInlineValues[info.constant].at_width[kInlineWidths[static_cast<u8>(spec.type)]];
  const u32 needed = allow_dwords(spec.dwords) | allow_set(set);
  if ((info.allows & needed) != needed) [[unlikely]]
    fail(why_refused(code, spec));
}

inline void Decoding::scalar_source(Operand& out, unsigned code, const OperandSpec& spec,
                                    bool literal_allowed) {
  if (code == enc::kSrcLiteral) [[unlikely]]
    return literal_allowed ? literal(out, spec) : fail(LiteralNotAllowed);
  operand(out, code, spec, OperandSet::ScalarSource);
}

inline void Decoding::vector_source(Operand& out, unsigned code, const OperandSpec& spec,
                                    bool literal_allowed, bool first) {
  if (code - kLdsDirect <= 1) [[unlikely]] {
    if (code == kLdsDirect) return lds_direct(out, spec, first);
    return literal_allowed ? literal(out, spec) : fail(LiteralNotAllowed);
  }
  operand(out, code, spec, OperandSet::Any);
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

inline void Decoding::check_reserved() {
  const unsigned dwords = dwords_ - has_literal_;
  const u64 present = dwords == 1 ? word_ & 0xffffffff : word_;
  if (present & ~used_) [[unlikely]]
    fail(ReservedBits);
}

inline void Decoding::immediate(Operand& out, i64 value, const OperandSpec& spec) {
  out.kind = OperandKind::Imm;
  out.type = spec.type;
  out.value = static_cast<u64>(value);
}

} // namespace lanewise::isa::detail
