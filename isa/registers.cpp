#include "isa/registers.hpp"

#include "isa/encoding.hpp"
#include "isa/source_codes.hpp"

namespace lanewise::isa {
namespace {

/// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi): codes 240 to 248, at each width. 1/(2 pi) is truncated at 32 and
/// 64 bits (7nm guide 6.2.1 gives the f32; LLVM and hardware agree on the others).
constexpr u16 kHalf[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr u32 kSingle[9] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                            0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr u64 kDouble[9] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                            0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                            0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

constexpr bool is_integer_code(unsigned code) {
  return code >= enc::kSrcInlineZero && code <= enc::kSrcInlineMinus16;
}

using InlineValue = std::array<u64, kNumInlineWidths>;

constexpr InlineValue inline_value(unsigned code) {
  if (code >= enc::kSrcHalf && code <= enc::kSrcInvTwoPi) {
    const unsigned i = code - enc::kSrcHalf;
    return {kHalf[i], kHalf[i], kSingle[i], kDouble[i]};
  }
  if (!is_integer_code(code)) return {};
  const i64 value = code <= 192 ? static_cast<i64>(code) - 128 : 192 - static_cast<i64>(code);
  const auto bits = static_cast<u64>(value);
  return {bits & 0xffff, bits & 0xffffffff, bits & 0xffffffff, bits};
}

constexpr std::size_t first_value(unsigned code) { return (code - 128) * kNumInlineWidths; }

constexpr auto build_inline_values() {
  std::array<u64, 128 * kNumInlineWidths> values{};
  for (unsigned code = 128; code < 256; ++code) {
    const InlineValue value = inline_value(code);
    for (unsigned width = 0; width < kNumInlineWidths; ++width)
      values[first_value(code) + width] = value[width];
  }
  return values;
}

/// The kind of register or value that a code names, None for reserved codes and those that stand for
/// something else.
constexpr OperandKind kind_of(Target target, unsigned code) {
  if (code >= enc::kSrcVgpr0) return OperandKind::Vgpr;
  if (code < enc::kSrcInlineZero) return sgpr_run(target, code) ? OperandKind::Sgpr : OperandKind::None;
  const bool aperture = target >= Target::gfx900 && code >= kSharedBase && code <= kPopsExitingWaveId;
  if (aperture || (code >= kVccz && code <= kScc)) return OperandKind::Special;
  const bool number = code >= enc::kSrcHalf && code < enc::kSrcInvTwoPi + (target >= Target::gfx803);
  return is_integer_code(code) || number ? OperandKind::Inline : OperandKind::None;
}

constexpr u32 sets_with(OperandKind kind) {
  using enum OperandSet;
  switch (kind) {
  case OperandKind::Vgpr: return allow_set(Vgpr) | allow_set(Any);
  case OperandKind::Sgpr:
    return allow_set(Sgpr) | allow_set(ScalarResult) | allow_set(ScalarSource) | allow_set(Any);
  case OperandKind::Special: return allow_set(ScalarResult) | allow_set(ScalarSource) | allow_set(Any);
  case OperandKind::Inline: return allow_set(ScalarSource) | allow_set(Any);
  default: return 0;
  }
}

constexpr bool may_start(Target target, unsigned code, OperandKind kind, unsigned dwords) {
  if (kind == OperandKind::Vgpr) return code + dwords <= 512;
  if (kind != OperandKind::Sgpr) return true;
  return sgpr_run(target, code) >= dwords && (code & tuple_alignment(dwords)) == 0;
}

constexpr SourceCode source_code(Target target, unsigned code) {
  const OperandKind kind = kind_of(target, code);
  if (kind == OperandKind::None) return {};
  const bool constant = kind == OperandKind::Inline;
  SourceCode result;
  result.head_mask = (constant ? ~u64{0xff00ff} : ~u64{0xff}) | static_cast<u64>(kind);
  result.index = static_cast<u16>(kind == OperandKind::Vgpr ? code - enc::kSrcVgpr0 : code);
  result.first_value = static_cast<u16>(constant ? first_value(code) : 0);
  u32 allows = sets_with(kind);
  for (unsigned dwords = 0; dwords <= kMaxOperandDwords; ++dwords)
    if (may_start(target, code, kind, dwords)) allows |= allow_dwords(dwords);
  result.forbids = ~allows;
  return result;
}

constexpr std::array<std::array<SourceCode, 512>, kNumTargets> build_source_codes() {
  std::array<std::array<SourceCode, 512>, kNumTargets> all{};
  for (unsigned t = 0; t < kNumTargets; ++t)
    for (unsigned code = 0; code < 512; ++code) all[t][code] = source_code(static_cast<Target>(t), code);
  return all;
}

} // namespace

constinit const std::array<std::array<SourceCode, 512>, kNumTargets> kSourceCodes = build_source_codes();
constinit const std::array<u64, 128 * kNumInlineWidths> kInlineValues = build_inline_values();

u64 inline_constant(unsigned code, OperandType type) {
  return kInlineValues[first_value(code) + static_cast<unsigned>(inline_width(type))];
}

u64 literal_constant(u32 dword, OperandType type) {
  switch (type) {
  case OperandType::F64: return static_cast<u64>(dword) << 32;
  case OperandType::I64: return static_cast<u64>(static_cast<i64>(static_cast<i32>(dword)));
  case OperandType::B16:
  case OperandType::U16:
  case OperandType::I16:
  case OperandType::F16: return dword & 0xffff;
  default: return dword;
  }
}

} // namespace lanewise::isa
