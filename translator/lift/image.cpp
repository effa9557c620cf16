#include "translator/lift/image.hpp"

namespace lanewise::lift {

using ir::Op;
using runtime::ImageProblem;

namespace {

enum Geometry : u32 { k1d = 8, k2d = 9, k3d = 10, k1dArray = 12, k2dArray = 13 };

} // namespace

Image::Image(Emit& b, isa::Target target, std::span<const ValueId> words)
    : b_(b), gfx8_(target >= isa::Target::gfx803), gfx9_(target >= isa::Target::gfx900) {
  words_.fill(b.u32c(0));
  std::copy(words.begin(), words.end(), words_.begin());
  const auto& w = words_;
  const ValueId one = b.u32c(1);
  const auto more = [&](ValueId field) { return b.add(field, 1); };
  type_ = b.field(w[3], 28, 4);
  const auto is = [&](Geometry g) { return b.icmp(IntPred::Eq, type_, g); };
  has_layers = b.or_(is(k1dArray), is(k2dArray));
  has_z = is(k3d);
  has_y = b.or_(b.or_(is(k2d), is(k2dArray)), has_z);
  data_format = b.field(w[1], 20, 6);
  number_format = b.field(w[1], 26, 4);
  for (unsigned k = 0; k < 4; ++k) select[k] = b.field(w[3], 3 * k, 3);
  width = more(b.field(w[2], 0, 14));
  height = b.select(has_y, more(b.field(w[2], 14, 14)), one);
  depth = b.select(has_z, more(b.field(w[4], 0, 13)), one);
  pitch_ = words.size() < 8 ? width : more(b.field(w[4], 13, gfx9_ ? 16 : 14));
  first_layer_ = b.select(has_layers, b.field(w[5], 0, 13), b.u32c(0));
  const ValueId last = gfx9_ ? b.field(w[4], 0, 13) : b.field(w[5], 13, 13);
  layers = b.select(has_layers, more(b.sub(last, first_layer_)), one);
  problem_ = b.u32c(0);
}

void Image::refuse_if(ValueId condition, ImageProblem problem) {
  const ValueId first = b_.and_(condition, b_.icmp(IntPred::Eq, problem_, 0));
  problem_ = b_.select(first, b_.u32c(static_cast<u32>(problem)), problem_);
}

ValueId Image::is_known() { return b_.or_(b_.icmp(IntPred::Eq, type_, k1d), b_.or_(has_y, has_layers)); }

void Image::check(TypedElement& element, bool flat) {
  Emit& b = b_;
  const auto& w = words_;
  const auto is = [&](ValueId v, u32 n) { return b.icmp(IntPred::Eq, v, n); };
  refuse_if(b.not_(flat ? b.or_(is(type_, k2d), is(type_, k2dArray)) : is_known()), ImageProblem::Type);
  constexpr u32 kLinearAligned = 8;
  refuse_if(b.icmp(IntPred::Ne, b.field(w[3], 20, 5), gfx9_ ? 0 : kLinearAligned), ImageProblem::Layout);
  refuse_if(b.icmp(IntPred::Ne, b.field(w[3], 12, 8), 0), ImageProblem::Levels);
  refuse_if(is(element.bytes(), 0), ImageProblem::DataFormat);
  refuse_if(b.or_(b.icmp(IntPred::UGt, number_format, 7), is(number_format, 6)), ImageProblem::NumberFormat);
  if (gfx8_) refuse_if(is(b.field(w[6], 21, 1), 1), ImageProblem::Compression);
}

ValueId Image::contains(const Place& p) {
  Emit& b = b_;
  const auto below = [&](ValueId x, ValueId n) { return b.icmp(IntPred::ULt, x, b.splat(n)); };
  const ValueId slices = b.select(has_z, depth, layers);
  ValueId inside = below(p.x, width);
  if (!b.is_const_equal(has_y, 0)) inside = b.and_(inside, below(p.y, height));
  if (!b.is_const_equal(b.or_(has_z, has_layers), 0)) inside = b.and_(inside, below(p.slice, slices));
  return inside;
}

/// All factors are 0 for images that are refused, so that all lanes go to one place.
ValueId Image::address(const Place& p, ValueId element_bytes) {
  Emit& b = b_;
  const ValueId wrong = refused();
  const ValueId base = b.select(wrong, b.add(b.shl(b.zext(problem_), 4), runtime::kImageProblems),
                                b.shl(b.join(words_[0], b.field(words_[1], 0, 8)), 8));
  const ValueId scale = b.select(wrong, b.u32c(0), element_bytes);
  const ValueId row = b.mul(pitch_, scale);
  constexpr u64 kSliceAlignment = 256;
  const ValueId slice =
      b.and_(b.add(b.mul(b.zext(row), b.zext(height)), kSliceAlignment - 1), ~(kSliceAlignment - 1));
  const auto times = [&](ValueId lanes, ValueId factor) {
    return b.op(Op::UMulWide, ir::Type::V64, {lanes, b.splat(factor)});
  };
  ValueId at = b.add(b.splat(b.add(base, b.mul(slice, b.zext(first_layer_)))), times(p.x, scale));
  if (!b.is_const_equal(has_y, 0)) at = b.add(at, times(p.y, row));
  if (!b.is_const_equal(b.or_(has_z, has_layers), 0)) at = b.add(at, b.mul(b.zext(p.slice), b.splat(slice)));
  return at;
}

} // namespace lanewise::lift
