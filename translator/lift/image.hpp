// Images as descriptors say what they are (7nm guide 8.4; docs/SEMANTICS.md, "Images").
#pragma once

#include "runtime/wave.hpp"
#include "translator/lift/typed.hpp"

#include <span>

namespace lanewise::lift {

/// The fields of a T#, all u32 and u1, and where texels are. What is constant in the T# folds away.
class Image {
public:
  /// 8 words, or 4 of them (r128).
  Image(Emit& b, isa::Target target, std::span<const ValueId> words);

  ValueId width, height, depth, layers; ///< 1 where there is no such dimension
  ValueId has_y, has_z, has_layers;     ///< u1
  ValueId data_format, number_format;
  std::array<ValueId, 4> select; ///< dst_sel

  /// Makes all accesses go to the place for images that cannot be accessed if `condition`, and nothing that
  /// was asked before, holds. In the order of ImageProblem.
  void refuse_if(ValueId condition, runtime::ImageProblem problem);
  /// The problems of T#s themselves. `flat`: only 2D images and arrays of them will do.
  void check(TypedElement& element, bool flat);
  ValueId is_known(); ///< u1: the type is one that can be accessed
  [[nodiscard]] ValueId refused() const { return b_.icmp(IntPred::Ne, problem_, 0); } ///< u1

  /// Texels, per lane (v32); slice is z or the layer.
  struct Place {
    ValueId x, y, slice;
  };
  /// The lanes whose texel is in the image.
  ValueId contains(const Place& place);
  /// The address of its first byte (v64). After all checks.
  ValueId address(const Place& place, ValueId element_bytes);

private:
  Emit& b_;
  bool gfx8_, gfx9_;
  std::array<ValueId, 8> words_;
  ValueId type_, pitch_, first_layer_;
  ValueId problem_; ///< u32: 0, or an ImageProblem
};

} // namespace lanewise::lift
