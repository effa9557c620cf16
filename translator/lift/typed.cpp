#include "translator/lift/typed.hpp"

namespace lanewise::lift {

using ir::FloatKind;
using ir::Op;

namespace {

/// Bytes of an element, then width and bit offset of each component. Names list the highest bits first, so
/// the first component of 10_11_11 has 11 bits.
struct Layout {
  u8 columns[9];

  /// All of it in one number, 7 bits a column.
  [[nodiscard]] constexpr u64 packed() const {
    u64 bits = 0;
    for (unsigned n = 0; n < 9; ++n) bits |= u64{columns[n]} << kBits * n;
    return bits;
  }
  static constexpr unsigned kBits = 7;
};
constexpr u32 kBufferFormats = 15, kImageFormats = 20;
constexpr Layout kLayouts[kImageFormats] = {
    {},                                    // 0 invalid
    {{1, 8, 0}},                           // 8
    {{2, 16, 0}},                          // 16
    {{2, 8, 0, 8, 8}},                     // 8_8
    {{4, 32, 0}},                          // 32
    {{4, 16, 0, 16, 16}},                  // 16_16
    {{4, 11, 0, 11, 11, 10, 22}},          // 10_11_11
    {{4, 10, 0, 11, 10, 11, 21}},          // 11_11_10
    {{4, 2, 0, 10, 2, 10, 12, 10, 22}},    // 10_10_10_2
    {{4, 10, 0, 10, 10, 10, 20, 2, 30}},   // 2_10_10_10
    {{4, 8, 0, 8, 8, 8, 16, 8, 24}},       // 8_8_8_8
    {{8, 32, 0, 32, 32}},                  // 32_32
    {{8, 16, 0, 16, 16, 16, 32, 16, 48}},  // 16_16_16_16
    {{12, 32, 0, 32, 32, 32, 64}},         // 32_32_32
    {{16, 32, 0, 32, 32, 32, 64, 32, 96}}, // 32_32_32_32
    {},                                    // 15 reserved
    {{2, 5, 0, 6, 5, 5, 11}},              // 5_6_5
    {{2, 5, 0, 5, 5, 5, 10, 1, 15}},       // 1_5_5_5
    {{2, 1, 0, 5, 1, 5, 6, 5, 11}},        // 5_5_5_1
    {{2, 4, 0, 4, 4, 4, 8, 4, 12}},        // 4_4_4_4
};

FpAttr exact(FloatKind kind) {
  FpAttr a;
  a.kind = kind;
  return a;
}

} // namespace

TypedElement::TypedElement(Emit& b, ValueId data_format, ValueId number_format, Formats formats)
    : b_(b), formats_(formats) {
  for (u32 n = 0; n < is_.size(); ++n) is_[n] = b.icmp(IntPred::Eq, number_format, n);
  is_[Uint] = b.or_(is_[Uint], is_[Reserved]);
  // One choice among the formats, of which columns are cut out, not one for each column.
  ValueId layout = b.u64c(0);
  for (u32 format = 1; format < (formats == Formats::Images ? kImageFormats : kBufferFormats); ++format)
    layout = b.select(b.icmp(IntPred::Eq, data_format, format), b.u64c(kLayouts[format].packed()), layout);
  for (u32 n = 0; n < columns_.size(); ++n) {
    const ValueId low = b.lo(b.lshr(layout, Layout::kBits * n));
    columns_[n] = b.and_(low, (u64{1} << Layout::kBits) - 1);
  }
}

ValueId TypedElement::to_16_bits(ValueId value) {
  const ValueId half = b_.fop(Op::FpToFp, exact(FloatKind::F32), {value}, static_cast<u64>(FloatKind::F16));
  return b_.and_(b_.select(is_integer(), value, half), 0xffff);
}

ValueId TypedElement::from_16_bits(ValueId value) {
  const ValueId wide = b_.fop(Op::FpToFp, exact(FloatKind::F16), {value}, static_cast<u64>(FloatKind::F32));
  const ValueId sign = b_.select(is(Sint), b_.signed_field(value, 0, 16), b_.and_(value, 0xffff));
  return b_.select(is_integer(), sign, wide);
}

ValueId TypedElement::one() { return b_.select(is_integer(), b_.v32c(1), b_.v32c(0x3f80'0000)); }

/// Floats of 16, 11 and 10 bits: the small ones are halves without sign and with a shorter fraction.
ValueId TypedElement::small_float(ValueId value, ValueId width, bool to_float) {
  const auto cut = [&](unsigned bits) { return b_.icmp(IntPred::Eq, width, bits); };
  if (to_float) {
    const ValueId half = b_.select(cut(11), b_.shl(value, 4), b_.select(cut(10), b_.shl(value, 5), value));
    return b_.fop(Op::FpToFp, exact(FloatKind::F16), {half}, static_cast<u64>(FloatKind::F32));
  }
  const ValueId half = b_.fop(Op::FpToFp, exact(FloatKind::F32), {value}, static_cast<u64>(FloatKind::F16));
  const ValueId below_zero = b_.icmp(IntPred::ULe, b_.sub(half, b_.v32c(0x8000)), 0x7c00); // NaN is not
  const ValueId positive = b_.select(below_zero, b_.v32c(0), b_.and_(half, 0x7fff));
  return b_.select(cut(11), b_.lshr(positive, 4), b_.select(cut(10), b_.lshr(positive, 5), half));
}

ValueId TypedElement::unpack(u32 k, const std::array<ValueId, 4>& dwords) {
  Emit& b = b_;
  const ValueId w = width(k), at = offset(k), dword = b.lshr(at, 5);
  ValueId word = dwords[0];
  for (u32 i = 1; i < 4; ++i) word = b.select(b.icmp(IntPred::Eq, dword, i), dwords[i], word);
  const ValueId down = b.sub(b.u32c(32), w); // modulo 32
  const ValueId raised = b.shl(word, b.splat(b.sub(down, b.and_(at, 31))));
  const ValueId u = b.lshr(raised, b.splat(down)), s = b.ashr(raised, b.splat(down));
  const ValueId whole = b.icmp(IntPred::Eq, w, 32);

  const FpAttr f32 = exact(FloatKind::F32);
  const auto from = [&](Op op, ValueId v) { return b.fop_as(op, Type::V32, f32, {v}, 32); };
  const auto largest = [&](ValueId bits) { return b.splat(b.sub(b.shl(b.u32c(1), bits), b.u32c(1))); };
  // Quotients only where they are asked for: division is dear.
  ValueId value = u;
  const auto alternative = [&](Number n, auto make) {
    const ValueId condition = is(n);
    if (!b.is_const_equal(condition, 0)) value = b.select(condition, make(), value);
  };
  alternative(Sint, [&] { return s; });
  alternative(Unorm, [&] {
    return b.fop(Op::FDiv, f32, {from(Op::UIToFp, u), from(Op::UIToFp, largest(w))});
  });
  alternative(Snorm, [&] {
    const ValueId scale = from(Op::SIToFp, largest(b.sub(w, b.u32c(1))));
    const ValueId snorm =
        b.fop(Op::FMax, f32, {b.fop(Op::FDiv, f32, {from(Op::SIToFp, s), scale}), b.v32c(0xbf80'0000)});
    // Only images have components of one bit.
    const ValueId no_number = formats_ == Formats::Images ? b.icmp(IntPred::Eq, w, 1) : b.u1(false);
    return b.select(no_number, b.v32c(0), snorm);
  });
  alternative(Uscaled, [&] { return from(Op::UIToFp, u); });
  alternative(Sscaled, [&] { return from(Op::SIToFp, s); });
  alternative(Float, [&] { return small_float(u, w, true); });
  value = b.select(whole, word, value); // 32 bits are never converted
  return b.select(b.icmp(IntPred::Eq, w, 0), b.v32c(0), value);
}

/// A component as the low bits of the result: rounded to nearest, saturated.
ValueId TypedElement::to_bits(ValueId v, ValueId w) {
  Emit& b = b_;
  const FpAttr f32 = exact(FloatKind::F32), f64 = exact(FloatKind::F64);
  const auto largest = [&](ValueId bits) { return b.splat(b.sub(b.shl(b.u32c(1), bits), b.u32c(1))); };
  const ValueId high = largest(w), signed_high = largest(b.sub(w, b.u32c(1)));
  const auto clamp_unsigned = [&](ValueId x) { return b.binary(Op::UMin, x, high); };
  const auto clamp_signed = [&](ValueId x, ValueId low) {
    return b.binary(Op::SMax, b.binary(Op::SMin, x, signed_high), low);
  };
  // The product is exact in f64.
  const auto scaled = [&](Op convert, ValueId limit) {
    const ValueId wide = b.fop_as(Op::FpToFp, Type::V64, f32, {v}, static_cast<u64>(FloatKind::F64));
    const ValueId factor = b.fop_as(Op::UIToFp, Type::V64, f64, {limit}, 32);
    const ValueId rounded = b.fop(Op::FRndne, f64, {b.fop(Op::FMul, f64, {wide, factor})});
    return b.fop_as(convert, Type::V32, f64, {rounded}, 32);
  };
  ValueId value = clamp_unsigned(v);
  const auto alternative = [&](Number n, auto make) {
    const ValueId condition = is(n);
    if (!b.is_const_equal(condition, 0)) value = b.select(condition, make(), value);
  };
  alternative(Sint, [&] { return clamp_signed(v, b.not_(signed_high)); });
  alternative(Unorm, [&] { return clamp_unsigned(scaled(Op::FpToUI, high)); });
  alternative(Snorm,
              [&] { return clamp_signed(scaled(Op::FpToSI, signed_high), b.sub(b.v32c(0), signed_high)); });
  alternative(Uscaled, [&] { return clamp_unsigned(b.fop_as(Op::FpToUI, Type::V32, f32, {v}, 32)); });
  alternative(Sscaled, [&] {
    return clamp_signed(b.fop_as(Op::FpToSI, Type::V32, f32, {v}, 32), b.not_(signed_high));
  });
  alternative(Float, [&] { return small_float(v, w, false); });
  return b.select(b.icmp(IntPred::Eq, w, 32), v, b.and_(value, high));
}

std::array<ValueId, 4> TypedElement::pack(const std::array<ValueId, 4>& components) {
  Emit& b = b_;
  std::array<ValueId, 4> dwords;
  dwords.fill(b.v32c(0));
  for (u32 k = 0; k < 4; ++k) {
    const ValueId w = width(k), at = offset(k), present = has(k);
    if (b.is_const_equal(present, 0)) continue;
    const ValueId bits = b.shl(to_bits(components[k], w), b.splat(b.and_(at, 31)));
    for (u32 i = 0; i < 4; ++i) {
      const ValueId here = b.and_(present, b.icmp(IntPred::Eq, b.lshr(at, 5), i));
      dwords[i] = b.or_(dwords[i], b.select(here, bits, b.v32c(0)));
    }
  }
  return dwords;
}

} // namespace lanewise::lift
