#include "isa/registers.hpp"

#include "isa/encoding.hpp"

namespace lanewise::isa {
namespace {

/// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi): codes 240 to 248, at each width. The f64 value of 248 is the one LLVM and
/// the hardware use, which is 1/(2 pi) rounded down.
constexpr u16 kHalf[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr u32 kSingle[9] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                            0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr u64 kDouble[9] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000,
                            0xc000000000000000, 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

enum class Width : u8 { Half, PackedHalf, Single, Double };

constexpr Width width_of(OperandType type) {
  switch (type) {
  case OperandType::B16: case OperandType::U16: case OperandType::I16: case OperandType::F16: return Width::Half;
  case OperandType::V2F16: return Width::PackedHalf;
  case OperandType::B64: case OperandType::U64: case OperandType::I64: case OperandType::F64: case OperandType::Mask:
  case OperandType::B128: return Width::Double;
  default: return Width::Single;
  }
}

} // namespace

u64 inline_constant(unsigned code, OperandType type) {
  const Width width = width_of(type);
  if (code >= enc::kSrcHalf) {
    const unsigned i = code - enc::kSrcHalf;
    return width == Width::Double ? kDouble[i] : width == Width::Single ? kSingle[i] : kHalf[i];
  }
  const i64 value = code <= 192 ? static_cast<i64>(code) - 128 : 192 - static_cast<i64>(code);
  const auto bits = static_cast<u64>(value);
  return width == Width::Double ? bits : width == Width::Half ? bits & 0xffff : bits & 0xffffffff;
}

u64 literal_constant(u32 dword, OperandType type) {
  switch (type) {
  case OperandType::F64: return static_cast<u64>(dword) << 32;
  case OperandType::I64: return static_cast<u64>(static_cast<i64>(static_cast<i32>(dword)));
  case OperandType::B16: case OperandType::U16: case OperandType::I16: case OperandType::F16: return dword & 0xffff;
  default: return dword;
  }
}

} // namespace lanewise::isa
