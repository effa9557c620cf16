// Texel and buffer formats: components of 1 to 32 bits as the numbers that shaders see (7nm
// guide 8.1.4, 12.15).
#pragma once

#include "translator/lift/emit.hpp"

#include <array>

namespace lanewise::lift {

/// A data format and a number format, each a u32 that is usually constant. What is not is decided at run
/// time.
class TypedElement {
public:
  /// Formats of buffers, and those that only images have.
  enum class Formats : u8 { Buffers, Images };
  TypedElement(Emit& b, ValueId data_format, ValueId number_format, Formats formats = Formats::Buffers);

  ValueId bytes() { return columns_[0]; } ///< u32; 0 for formats that do not exist
  ValueId has(u32 component) { return b_.icmp(IntPred::Ne, width(component), 0); } ///< u1
  /// 1 as a component that is not in memory shows it: a float or an integer (v32).
  ValueId one();
  ValueId is_integer() { return b_.or_(is(Uint), is(Sint)); } ///< u1
  /// Component k of the element in `dwords` as 32 bits; 0 if the format has none.
  ValueId unpack(u32 k, const std::array<ValueId, 4>& dwords);
  std::array<ValueId, 4> unpack(const std::array<ValueId, 4>& dwords) {
    return {unpack(0, dwords), unpack(1, dwords), unpack(2, dwords), unpack(3, dwords)};
  }
  /// A component as the low 16 bits of a register, for instructions on 16-bit data: a half or an integer.
  ValueId to_16_bits(ValueId component);
  ValueId from_16_bits(ValueId bits);
  /// The dwords of an element made of four components (v32).
  std::array<ValueId, 4> pack(const std::array<ValueId, 4>& components);

private:
  enum Number : u32 { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Reserved, Float };
  ValueId is(Number n) { return is_[n]; }
  ValueId width(u32 k) { return columns_[1 + 2 * k]; }
  ValueId offset(u32 k) { return columns_[2 + 2 * k]; }
  ValueId small_float(ValueId bits, ValueId width, bool to_float);
  ValueId to_bits(ValueId value, ValueId width);

  Emit& b_;
  std::array<ValueId, 8> is_;      ///< u1: by Number
  std::array<ValueId, 9> columns_; ///< u32: of the element's layout
  Formats formats_;
};

} // namespace lanewise::lift
