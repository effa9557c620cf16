// A machine with an image in its memory, for tests of image instructions.
#pragma once

#include "tests/image_words.hpp"
#include "tests/interp/machine.hpp"

namespace lanewise::interp::test {

/// T# in s[8:15], S# in s[16:19]; addresses begin at v0, data at v20.
class ImageMachine : public Machine {
public:
  static constexpr u32 kImage = 8, kSampler = 16, kData = 20;

  explicit ImageMachine(Target target, ImageFields image = {}, const SamplerFields& sampler = {})
      : Machine(target) {
    image.base = reinterpret_cast<u64>(memory);
    const auto t = image_words(target, image);
    for (u32 i = 0; i < 8; ++i) set_s(kImage + i, t[i]);
    const auto s = sampler_words(sampler);
    for (u32 i = 0; i < 4; ++i) set_s(kSampler + i, s[i]);
  }

  /// The same address in all lanes, or one value per lane of one register.
  void at(std::initializer_list<u32> address) {
    u32 reg = 0;
    for (const u32 x : address) set_v(reg++, x);
  }
  void at(std::initializer_list<float> address) {
    u32 reg = 0;
    for (const float x : address) set_v(reg++, bits(x));
  }
  void lanes(u32 reg, const std::vector<float>& values) {
    for (u32 l = 0; l < values.size(); ++l) set_v(reg, l, bits(values[l]));
  }

  void image(Op op, Mimg fields = {}) {
    if (isa::row_of(op).src[2].present()) fields.ssamp = kSampler;
    mimg(op, kData, 0, kImage, fields);
  }
  /// Component k of the results, in the order in which they lie.
  [[nodiscard]] u32 data(u32 k, u32 lane = 0) const { return v(kData + k, lane); }
  [[nodiscard]] float data_f(u32 k, u32 lane = 0) const { return f32_of(data(k, lane)); }

  template <class T>
  [[nodiscard]] T* as() {
    return reinterpret_cast<T*>(memory);
  }

  alignas(256) u8 memory[16384] = {};
};

} // namespace lanewise::interp::test
