// How cases are written down: a builder, and deterministic data.
#pragma once

#include "tests/kernels/groups.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

namespace lanewise::kernels {

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>)
    return Element::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::F64;
  else if constexpr (sizeof(T) == 1)
    return Element::U8;
  else if constexpr (sizeof(T) == 2)
    return Element::U16;
  else if constexpr (sizeof(T) == 4)
    return Element::U32;
  else
    return Element::U64;
}

/// Collects a KernelCase; the order of buffer/value/lds calls is that of the kernel's arguments.
class Builder {
public:
  /// `name` is "kernel" or "kernel.variant".
  explicit Builder(std::string_view name) {
    case_.name = name;
    case_.kernel = name.substr(0, name.find('.'));
  }
  Builder& grid(Dim3 global, Dim3 local) {
    case_.global = global;
    case_.local = local;
    return *this;
  }
  Builder& offset(Dim3 offset) {
    case_.offset = offset;
    return *this;
  }
  Builder& min_target(uint32_t target) {
    case_.min_target = target;
    return *this;
  }
  Builder& gcn_only() {
    case_.gcn_only = true;
    return *this;
  }
  Builder& results_only() {
    case_.results_only = true;
    return *this;
  }
  template <class T>
  Builder& value(std::string name, const T& v) {
    Arg& arg = add(ArgKind::Value, std::move(name));
    arg.bytes.resize(sizeof(T));
    std::memcpy(arg.bytes.data(), &v, sizeof(T));
    return *this;
  }
  template <class T>
  Builder& buffer(std::string name, const std::vector<T>& contents, Tolerance tolerance = {}) {
    Arg& arg = add(ArgKind::Buffer, std::move(name));
    arg.element = element_of<T>();
    arg.tolerance = tolerance;
    arg.bytes.resize(contents.size() * sizeof(T));
    std::memcpy(arg.bytes.data(), contents.data(), arg.bytes.size());
    return *this;
  }
  /// A buffer of binary16 values, given as bit patterns.
  Builder& halves(std::string name, const std::vector<uint16_t>& contents) {
    buffer(std::move(name), contents);
    case_.args.back().element = Element::F16;
    return *this;
  }
  /// A buffer that the kernel fills; it starts with kOutputPattern.
  template <class T>
  Builder& output(std::string name, size_t count, Tolerance tolerance = {}) {
    buffer(std::move(name), std::vector<T>(count), tolerance);
    for (std::byte& b : case_.args.back().bytes) b = kOutputPattern;
    return *this;
  }
  /// An image of the size that `description` says; `channels` as they are stored, row by row.
  template <class T>
  Builder& image(std::string name, const ImageDescription& description, const std::vector<T>& channels,
                 Tolerance tolerance = {}) {
    return texels(ArgKind::Image, std::move(name), description, channels, tolerance);
  }
  /// An image that the kernel fills; it starts with kOutputPattern.
  template <class T>
  Builder& image_output(std::string name, const ImageDescription& description, size_t channels,
                        Tolerance tolerance = {}) {
    image(std::move(name), description, std::vector<T>(channels), tolerance);
    for (std::byte& b : case_.args.back().bytes) b = kOutputPattern;
    return *this;
  }
  Builder& sampler(std::string name, const SamplerDescription& description) {
    add(ArgKind::Sampler, std::move(name)).sampler = description;
    return *this;
  }
  template <class T>
  Builder& texture(std::string name, const ImageDescription& description, const SamplerDescription& sampler,
                   const std::vector<T>& channels) {
    texels(ArgKind::Texture, std::move(name), description, channels, {});
    case_.args.back().sampler = sampler;
    return *this;
  }
  template <class T>
  Builder& surface(std::string name, const ImageDescription& description, const std::vector<T>& channels,
                   Tolerance tolerance = {}) {
    return texels(ArgKind::Surface, std::move(name), description, channels, tolerance);
  }
  Builder& lds(std::string name, uint32_t bytes) {
    add(ArgKind::Local, std::move(name)).local_bytes = bytes;
    return *this;
  }
  KernelCase reference(std::function<void(std::span<Arg>)> compute) {
    case_.reference = std::move(compute);
    return std::move(case_);
  }

private:
  template <class T>
  Builder& texels(ArgKind kind, std::string name, const ImageDescription& description,
                  const std::vector<T>& channels, Tolerance tolerance) {
    buffer(std::move(name), channels, tolerance);
    case_.args.back().kind = kind;
    case_.args.back().image = description;
    return *this;
  }
  Arg& add(ArgKind kind, std::string name) {
    Arg& arg = case_.args.emplace_back();
    arg.kind = kind;
    arg.name = std::move(name);
    return arg;
  }
  KernelCase case_;
};

/// Deterministic pseudo-random numbers (splitmix64), the same on every host.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t u64() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint32_t u32() { return static_cast<uint32_t>(u64() >> 32); }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(uint64_t{u32()} * bound >> 32); }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(u64() >> 11) * 0x1p-53;
  }

  /// `count` values, each made by `make(*this)`.
  template <class F>
  auto fill(size_t count, F make) {
    std::vector<decltype(make(*this))> values(count);
    for (auto& v : values) v = make(*this);
    return values;
  }
  std::vector<float> floats(size_t count, double low, double high) {
    return fill(count, [=](Random& r) { return static_cast<float>(r.uniform(low, high)); });
  }
  std::vector<double> doubles(size_t count, double low, double high) {
    return fill(count, [=](Random& r) { return r.uniform(low, high); });
  }
  std::vector<uint32_t> words(size_t count) {
    return fill(count, [](Random& r) { return r.u32(); });
  }
  std::vector<uint64_t> longs(size_t count) {
    return fill(count, [](Random& r) { return r.u64(); });
  }
  std::vector<uint8_t> bytes(size_t count) {
    return fill(count, [](Random& r) { return static_cast<uint8_t>(r.u32() >> 24); });
  }

private:
  uint64_t state_;
};

/// `count` rounded up to whole multiples of `unit`.
constexpr uint32_t round_up(uint32_t count, uint32_t unit) { return (count + unit - 1) / unit * unit; }

} // namespace lanewise::kernels
