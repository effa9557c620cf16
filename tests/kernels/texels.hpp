// Images as OpenCL's specification has them (OpenCL C 1.2, 8.2 and 8.3), for the references: texels to
// numbers and back, and samplers. In double precision.
#pragma once

#include "tests/kernels/cases.hpp"

namespace lanewise::kernels {

/// Red, green, blue, alpha.
using Color = std::array<double, 4>;

/// An image argument's texels.
class Texels {
public:
  explicit Texels(Arg& arg);

  /// The texel, or the border's colour where there is none. A layer is the last of its geometry's
  /// coordinates.
  [[nodiscard]] Color load(int x, int y = 0, int z = 0) const;
  /// Nothing happens where there is no texel.
  void store(const Color& color, int x, int y = 0, int z = 0);
  /// What read_image gives at (x, y, z); a layer is rounded and clamped.
  [[nodiscard]] Color sample(const SamplerDescription& sampler, double x, double y = 0, double z = 0) const;

  [[nodiscard]] int width() const { return size_[0]; }
  [[nodiscard]] int height() const { return size_[1]; }
  [[nodiscard]] int slices() const { return size_[2]; }

private:
  Arg* arg_;
  std::array<int, 3> size_; ///< in the order of the coordinates
  unsigned dimensions_;     ///< that are filtered
  bool is_array_;
  unsigned channels_;

  [[nodiscard]] std::byte* at(int x, int y, int z) const;
};

/// How many channels a texel is stored as: 1 if it is packed.
unsigned stored_channels(ChannelOrder order);

} // namespace lanewise::kernels
