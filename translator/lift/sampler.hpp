// Samplers: from coordinates to texels and their weights (7nm guide 8.4.3; docs/SEMANTICS.md, "Images").
#pragma once

#include "translator/lift/emit.hpp"

#include <array>

namespace lanewise::lift {

/// The fields of an S#, u32 and u1. What is constant in it folds away.
class Sampler {
public:
  /// What a coordinate means along one dimension.
  struct Axis {
    ValueId linear;                ///< u1; if it is false, the second texel does not count
    std::array<ValueId, 2> texel;  ///< v32: numbers, as large as the image at most in lanes of `inside`
    std::array<ValueId, 2> inside; ///< masks; others have the border's colour
    std::array<ValueId, 2> weight; ///< v32, f32; {1.0, ..} if not linear
  };

  Sampler(Emit& b, const std::array<ValueId, 4>& words, bool unorm);

  /// Dimension 0, 1 or 2, where the image has `size` texels (u32). `offset`: signed texels (v32), or none.
  Axis axis(unsigned dimension, ValueId coordinate, ValueId offset, ValueId size, ValueId linear);
  /// Whether texels outside the image count along a dimension: u1.
  ValueId has_border(unsigned dimension);
  ValueId border_is_in_memory() { return b_.icmp(IntPred::Eq, border_, 3); }
  /// Component k of the border's colour, given what 1 is (v32).
  ValueId border(unsigned k, ValueId one);
  ValueId takes_extremes() { return b_.icmp(IntPred::Ne, b_.field(words_[0], 29, 2), 0); }
  ValueId xy_linear, z_linear; ///< of formats that are not integers
  /// 1.0 where the reference compares with the component as the sampler wants, else 0.0 (v32).
  ValueId compare(ValueId reference, ValueId component);

private:
  ValueId mode_is(unsigned dimension, u32 first, u32 last);
  ValueId unwrapped(unsigned dimension, ValueId coordinate, ValueId offset, ValueId size);

  Emit& b_;
  std::array<ValueId, 4> words_;
  ValueId normalised_, truncates_; ///< u1
  std::array<ValueId, 3> mode_;
  ValueId border_;
};

} // namespace lanewise::lift
