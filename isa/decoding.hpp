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

static_assert(offsetof(Inst, op) == 0 && offsetof(Inst, encoding) == 2 && offsetof(Inst, form) == 3 &&
              offsetof(Inst, size) == 4 && sizeof(InstHead) == offsetof(Inst, dst));
static_assert(offsetof(Operand, kind) == 0 && offsetof(Operand, type) == 1 &&
              offsetof(Operand, dwords) == 2 && offsetof(Operand, sel) == 6 &&
              sizeof(OperandPlan::head) == offsetof(Operand, index) &&
              std::endian::native == std::endian::little);

/// What an operand field may hold besides the codes of kSourceCodes.
struct Extras {
  bool literal = false, lds_direct = false;
};

/// The words, and the instruction being filled in. Every step reports through `status_`; the first failure
/// stays.
///
/// A first decoding only gathers in `refused_` that an operand was more than a look-up: it is straight code
/// without calls, whose state stays in registers. If there was any, or a failure, a second decoding, a
/// careful one, takes the same steps again and attends to it. About one instruction in twenty has a literal.
///
/// Hidden, because the compiler may not inline what a shared library could replace.
class [[gnu::visibility("hidden")]] Decoding {
public:
  Decoding(Target target, std::span<const u32> code, u64 word, Inst & out, bool careful)
      : target_(target), careful_(careful), code_(code), out_(out), word_(word) {}

  [[nodiscard]] bool all_well() const { return ((word_ & ~used_) | refused_) == 0 && status_ == Ok; }
  [[nodiscard]] DecodeStatus status() const {
    return status_ == Ok && (word_ & ~used_) ? ReservedBits : status_;
  }

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

private:
  [[nodiscard]] bool gfx8() const { return target_ >= Target::gfx803; }
  [[nodiscard]] bool gfx9() const { return target_ >= Target::gfx900; }
  [[nodiscard]] const OpcodeMap& map() const { return opcode_map(target_); }

  /// Starts the instruction; false when there is nothing to decode.
  bool begin(const OpcodeEntry& entry, unsigned dwords);
  void fail(DecodeStatus status) {
    if (status_ == Ok) status_ = status;
  }

  // Fields. What an instruction does not take must be zero in the end. The opcode's entry says which
  // bits most formats use, to be read with at(): a chain of updates of used_ costs.
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

  // Operands. `code` is a value of the 9-bit source field.
  void operand(Operand & out, unsigned code, const OperandPlan& plan, Extras extras = {});
  void operand(Operand & out, unsigned code, OperandType type, OperandSet set, Extras extras = {}) {
    operand(out, code, kOperandPlans[plan_of(set, type)], extras);
  }
  /// What only vector registers or only scalar registers may stand in; `index` is an 8-bit field.
  void vgpr(Operand & out, unsigned index, const OperandPlan& plan) {
    vgpr(out, index, plan.head, plan.dwords);
  }
  void vgpr(Operand & out, unsigned index, const OperandSpec& spec);
  void vgpr(Operand & out, unsigned index, u64 head, unsigned dwords);
  void sgpr(Operand & out, unsigned code, const OperandPlan& plan);
  void sgpr(Operand & out, unsigned code, const OperandSpec& spec) {
    sgpr(out, code, kOperandPlans[plan_of(OperandSet::Sgpr, spec.type)]);
  }
  void mask(Operand & out, unsigned code) { operand(out, code, OperandType::Mask, OperandSet::ScalarResult); }
  void implicit_vcc(Operand & out) { out = kVccOperand; }
  /// What is more than a look-up: literals, lds_direct, and codes that are refused.
  void special(Operand & out, unsigned code, const OperandPlan& plan, Extras extras, const SourceCode& info);
  static DecodeStatus why_refused(unsigned code, const OperandPlan& plan, const SourceCode& info);
  void literal(Operand & out, OperandType type);
  void immediate(Operand & out, i64 value, const OperandSpec& spec);

  // Shared pieces of the vector ALU.
  template <Encoding encoding>
  void vector_e32(const OpcodeEntry& entry);
  void odd_e32(Encoding encoding, const OpcodeEntry& entry);
  void extended_e32(const OpcodeEntry& entry);
  void odd_e64(const OpcodeEntry& entry);
  void swap_e64();
  void sdwa(const OpcodeEntry& entry);
  void dpp(const OpcodeEntry& entry);
  void selector(unsigned i, enc::Field sel, enc::Field sext);
  void negate(unsigned i, const OpcodeEntry& entry, enc::Field neg, enc::Field abs);
  void vop3_modifiers(const OpcodeEntry& entry);
  void interpolation_e64(const OpcodeEntry& entry);
  void mixed_source(unsigned i, unsigned code);

  // Shared pieces of vector memory.
  void buffer_operands(const OpcodeEntry& entry, enc::Field slc);
  void buffer_data(Operand & out, OperandSpec spec, bool extra);
  unsigned d16_dwords(unsigned components) const { return gfx9() ? (components + 1) / 2 : components; }
  /// Whether an atomic or load writes its result register.
  bool returns() const { return row_->memory.atomic == Atomic::None || out_.mods.glc; }

  static constexpr Operand kVccOperand{
      .kind = OperandKind::Sgpr, .type = OperandType::Mask, .dwords = 2, .index = kVccLo};

  const Target target_;
  const bool careful_;
  const std::span<const u32> code_;
  Inst& out_;
  const u64 word_;  ///< the first two dwords
  u64 used_ = 0;    ///< bits of word_ that mean something
  u32 refused_ = 0; ///< what operands need and do not get
  const Row* row_ = nullptr;
  DecodeStatus status_ = Ok;
};

inline void Decoding::operand(Operand& out, unsigned code, const OperandPlan& plan, Extras extras) {
  const SourceCode& info = kSourceCodes[static_cast<unsigned>(target_)][code & 511];
  const u64 head = plan.head & info.head_mask;
  std::memcpy(static_cast<void*>(&out), &head, sizeof head);
  out.index = info.index;
  out.value = kInlineValues[unsigned{info.first_value} + plan.width];
  refused_ |= plan.needs & info.forbids;
  if (careful_ && (plan.needs & info.forbids)) special(out, code, plan, extras, info);
}

inline void Decoding::vgpr(Operand& out, unsigned index, u64 head, unsigned dwords) {
  std::memcpy(static_cast<void*>(&out), &head, sizeof head);
  out.index = static_cast<u16>(index);
  if (index + dwords > 256) [[unlikely]]
    fail(RegisterRange);
}

inline void Decoding::vgpr(Operand& out, unsigned index, const OperandSpec& spec) {
  vgpr(out, index, operand_head(OperandKind::Vgpr, spec.type, spec.dwords), spec.dwords);
}

inline void Decoding::sgpr(Operand& out, unsigned code, const OperandPlan& plan) {
  const SourceCode& info = kSourceCodes[static_cast<unsigned>(target_)][code & 511];
  std::memcpy(static_cast<void*>(&out), &plan.head, sizeof plan.head);
  out.index = static_cast<u16>(code);
  refused_ |= plan.needs & info.forbids;
  if (careful_ && (plan.needs & info.forbids)) fail(why_refused(code, plan, info));
}

inline bool Decoding::begin(const OpcodeEntry& entry, unsigned dwords) {
  if (!entry.present()) [[unlikely]] {
    fail(UnknownOpcode);
    return false;
  }
  used_ = entry.used;
  if (code_.size() < dwords) [[unlikely]] {
    fail(Truncated);
    return false;
  }
  std::memcpy(static_cast<void*>(&out_), &entry.head, sizeof entry.head);
  // A constant, although the entry has it: so the next instruction's address waits for no look-up.
  out_.size = static_cast<u8>(4 * dwords);
  row_ = &row_of(entry.head.op);
  return true;
}

inline void Decoding::immediate(Operand& out, i64 value, const OperandSpec& spec) {
  out.kind = OperandKind::Imm;
  out.type = spec.type;
  out.value = static_cast<u64>(value);
}

} // namespace lanewise::isa::detail
