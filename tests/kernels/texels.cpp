#include "tests/kernels/texels.hpp"

#include "tests/kernels/half.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

namespace lanewise::kernels {
namespace {

/// The colours of an order as they are stored: r, g, b, a; i is all of them, l all but alpha, d red.
std::string_view letters(ChannelOrder order) {
  switch (order) {
  case ChannelOrder::A: return "a";
  case ChannelOrder::R: return "r";
  case ChannelOrder::RG: return "rg";
  case ChannelOrder::RA: return "ra";
  case ChannelOrder::RGB: return "rgb";
  case ChannelOrder::RGBA: return "rgba";
  case ChannelOrder::BGRA: return "bgra";
  case ChannelOrder::ARGB: return "argb";
  case ChannelOrder::ABGR: return "abgr";
  case ChannelOrder::Intensity: return "i";
  case ChannelOrder::Luminance: return "l";
  case ChannelOrder::Depth: return "d";
  }
  return "";
}

template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Of integers of `bits`, as they are (`largest` is 1) or as parts of the largest.
template <class T>
double from_integer(T value, double largest) {
  return std::max(value / largest, std::is_signed_v<T> && largest != 1 ? -1.0 : -HUGE_VAL);
}
template <class T>
T to_integer(double value, double largest) {
  const double low = static_cast<double>(std::numeric_limits<T>::min()),
               high = static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<T>(std::clamp(std::nearbyint(value * largest), low, high));
}

double load_channel(ChannelType type, const std::byte* from) {
  switch (type) {
  case ChannelType::Snorm8: return from_integer(get<int8_t>(from), 127);
  case ChannelType::Snorm16: return from_integer(get<int16_t>(from), 32767);
  case ChannelType::Unorm8: return from_integer(get<uint8_t>(from), 255);
  case ChannelType::Unorm16: return from_integer(get<uint16_t>(from), 65535);
  case ChannelType::Int8: return from_integer(get<int8_t>(from), 1);
  case ChannelType::Int16: return from_integer(get<int16_t>(from), 1);
  case ChannelType::Int32: return from_integer(get<int32_t>(from), 1);
  case ChannelType::Uint8: return from_integer(get<uint8_t>(from), 1);
  case ChannelType::Uint16: return from_integer(get<uint16_t>(from), 1);
  case ChannelType::Uint32: return from_integer(get<uint32_t>(from), 1);
  case ChannelType::Half: return half_to_double(get<uint16_t>(from));
  case ChannelType::Float: return static_cast<double>(get<float>(from));
  default: return 0; // packed
  }
}

void store_channel(ChannelType type, double value, std::byte* to) {
  switch (type) {
  case ChannelType::Snorm8: return put(to, std::max<int8_t>(to_integer<int8_t>(value, 127), -127));
  case ChannelType::Snorm16: return put(to, std::max<int16_t>(to_integer<int16_t>(value, 32767), -32767));
  case ChannelType::Unorm8: return put(to, to_integer<uint8_t>(value, 255));
  case ChannelType::Unorm16: return put(to, to_integer<uint16_t>(value, 65535));
  case ChannelType::Int8: return put(to, to_integer<int8_t>(value, 1));
  case ChannelType::Int16: return put(to, to_integer<int16_t>(value, 1));
  case ChannelType::Int32: return put(to, to_integer<int32_t>(value, 1));
  case ChannelType::Uint8: return put(to, to_integer<uint8_t>(value, 1));
  case ChannelType::Uint16: return put(to, to_integer<uint16_t>(value, 1));
  case ChannelType::Uint32: return put(to, to_integer<uint32_t>(value, 1));
  case ChannelType::Half: return put(to, double_to_half(value));
  case ChannelType::Float: return put(to, static_cast<float>(value));
  default: return;
  }
}

/// Bits of blue, green and red from the lowest on; {} if the type is not packed.
std::array<unsigned, 3> packed_bits(ChannelType type) {
  switch (type) {
  case ChannelType::Unorm555: return {5, 5, 5};
  case ChannelType::Unorm565: return {5, 6, 5};
  case ChannelType::Unorm101010: return {10, 10, 10};
  default: return {};
  }
}

unsigned bytes_of(ChannelType type) {
  switch (type) {
  case ChannelType::Snorm8:
  case ChannelType::Unorm8:
  case ChannelType::Int8:
  case ChannelType::Uint8: return 1;
  case ChannelType::Int32:
  case ChannelType::Uint32:
  case ChannelType::Float:
  case ChannelType::Unorm101010: return 4;
  default: return 2;
  }
}

/// The texel that an addressing mode puts at place i of n; -1 for the border.
int address(Addressing mode, int i, int n) {
  switch (mode) {
  case Addressing::Edge: return std::clamp(i, 0, n - 1);
  case Addressing::Repeat: return (i % n + n) % n;
  case Addressing::Mirror: {
    const int m = (i % (2 * n) + 2 * n) % (2 * n);
    return std::min(m, 2 * n - 1 - m);
  }
  default: return i < 0 || i >= n ? -1 : i;
  }
}

/// Up to two texels along a dimension, with their weights.
struct Taps {
  std::array<int, 2> index{};
  std::array<double, 2> weight{1, 0};
};

Taps taps_at(const SamplerDescription& sampler, double coordinate, int n) {
  const double u = sampler.normalized ? coordinate * n : coordinate;
  Taps taps;
  const double v = sampler.linear ? u - 0.5 : u, first = std::floor(v);
  taps.index[0] = address(sampler.addressing, static_cast<int>(first), n);
  taps.index[1] = address(sampler.addressing, static_cast<int>(first) + 1, n);
  if (sampler.linear) taps.weight = {1 - (v - first), v - first};
  return taps;
}

} // namespace

unsigned stored_channels(ChannelOrder order) {
  return order == ChannelOrder::RGB ? 1 : static_cast<unsigned>(letters(order).size());
}

Texels::Texels(Arg& arg) : arg_(&arg), channels_(stored_channels(arg.image.order)) {
  const ImageDescription& image = arg.image;
  const auto width = static_cast<int>(image.width), height = static_cast<int>(image.height),
             layers = static_cast<int>(image.layers);
  is_array_ = image.geometry == ImageGeometry::D1Array || image.geometry == ImageGeometry::D2Array;
  switch (image.geometry) {
  case ImageGeometry::D1Array: size_ = {width, layers, 1}, dimensions_ = 1; break;
  case ImageGeometry::D2: size_ = {width, height, 1}, dimensions_ = 2; break;
  case ImageGeometry::D2Array: size_ = {width, height, layers}, dimensions_ = 2; break;
  case ImageGeometry::D3: size_ = {width, height, static_cast<int>(image.depth)}, dimensions_ = 3; break;
  default: size_ = {width, 1, 1}, dimensions_ = 1; break;
  }
}

std::byte* Texels::at(int x, int y, int z) const {
  if (x < 0 || y < 0 || z < 0 || x >= size_[0] || y >= size_[1] || z >= size_[2]) return nullptr;
  const auto texel = static_cast<size_t>((z * size_[1] + y) * size_[0] + x);
  return arg_->bytes.data() + texel * channels_ * bytes_of(arg_->image.type);
}

Color Texels::load(int x, int y, int z) const {
  const std::string_view order = letters(arg_->image.order);
  const bool has_alpha = order.find_first_of("ai") != order.npos || order == "d";
  Color color{0, 0, 0, has_alpha ? 0.0 : 1.0};
  const std::byte* from = at(x, y, z);
  if (!from) return color;
  if (order == "rgb") {
    uint32_t rest = bytes_of(arg_->image.type) == 2 ? get<uint16_t>(from) : get<uint32_t>(from);
    const auto bits = packed_bits(arg_->image.type);
    for (unsigned c = 0; c < 3; rest >>= bits[c++])
      color[2 - c] = (rest & ((1u << bits[c]) - 1)) / ((1u << bits[c]) - 1.0);
    return color;
  }
  for (const char letter : order) {
    const double value = load_channel(arg_->image.type, from);
    from += bytes_of(arg_->image.type);
    switch (letter) {
    case 'i': color.fill(value); break;
    case 'l': color = {value, value, value, 1}; break;
    case 'd': color[0] = value; break;
    default: color[std::string_view("rgba").find(letter)] = value;
    }
  }
  return color;
}

void Texels::store(const Color& color, int x, int y, int z) {
  std::byte* to = at(x, y, z);
  if (!to) return;
  const std::string_view order = letters(arg_->image.order);
  if (order == "rgb") {
    uint32_t all = 0, low = 0;
    const auto bits = packed_bits(arg_->image.type);
    for (unsigned c = 0; c < 3; low += bits[c++])
      all |= static_cast<uint32_t>(std::nearbyint(std::clamp(color[2 - c], 0.0, 1.0) * ((1u << bits[c]) - 1)))
             << low;
    if (bytes_of(arg_->image.type) == 2)
      put(to, static_cast<uint16_t>(all));
    else
      put(to, all);
    return;
  }
  for (const char letter : order) {
    const size_t of = std::string_view("rgba").find(letter);
    store_channel(arg_->image.type, color[of == std::string_view::npos ? 0 : of], to);
    to += bytes_of(arg_->image.type);
  }
}

Color Texels::sample(const SamplerDescription& sampler, double x, double y, double z) const {
  std::array<Taps, 3> taps;
  const std::array<double, 3> coordinates{x, y, z};
  for (unsigned d = 0; d < 3; ++d) {
    if (d < dimensions_)
      taps[d] = taps_at(sampler, coordinates[d], size_[d]);
    else if (is_array_ && d == dimensions_)
      taps[d].index[0] = std::clamp(static_cast<int>(std::nearbyint(coordinates[d])), 0, size_[d] - 1);
  }
  Color sum{};
  for (unsigned tap = 0; tap < 8; ++tap) {
    const unsigned i = tap & 1, j = tap >> 1 & 1, k = tap >> 2;
    const double weight = taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k];
    if (weight == 0) continue;
    const Color color = load(taps[0].index[i], taps[1].index[j], taps[2].index[k]);
    for (unsigned c = 0; c < 4; ++c) sum[c] += weight * color[c];
  }
  return sum;
}

} // namespace lanewise::kernels
