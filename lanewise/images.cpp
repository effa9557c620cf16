#include "lanewise/images.hpp"

#include "abi/image.hpp"
#include "runtime/memory.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise {
namespace {

/// Descriptors differ from target to target: an object for each, so that nobody has to say where it is used.
/// Scalar loads of eight dwords want no more than dwords aligned; so as not to lie across cache lines they
/// are aligned.
template <class T>
struct alignas(64) Objects {
  struct alignas(64) Object {
    T value;
  };
  std::array<Object, isa::kNumTargets> each = {};

  template <class Make>
  explicit Objects(Make make) {
    for (const isa::Target target : isa::kTargets)
      each[static_cast<std::size_t>(target)].value = make(target);
  }
  static constexpr u64 kStride = sizeof(Object);
};

u64 stride_of(Argument::Kind kind) {
  switch (kind) {
  case Argument::Kind::Sampler: return Objects<abi::SamplerObject>::kStride;
  case Argument::Kind::Texture: return Objects<abi::TextureObject>::kStride;
  default: return Objects<abi::ImageObject>::kStride;
  }
}

} // namespace

struct Image::State {
  ImageDescription description;
  abi::ImageLayout layout;
  runtime::GuardedBuffer memory;
  Objects<abi::ImageObject> objects;

  [[nodiscard]] u64 base() const { return reinterpret_cast<u64>(memory.data()); }
};

struct Sampler::State {
  Objects<abi::SamplerObject> objects;
};

struct Texture::State {
  Image image; ///< keeps the texels
  Objects<abi::TextureObject> objects;
};

u64 object_for(const Argument& argument, isa::Target target) {
  return load_le<u64>(argument.data().data()) + static_cast<u64>(target) * stride_of(argument.kind());
}

Argument Argument::object(Kind kind, const void* objects) {
  Argument argument = pointer(objects);
  argument.kind_ = kind;
  return argument;
}
Argument Argument::image(const Image& image) { return object(Kind::Image, &image.state_->objects); }
Argument Argument::sampler(const Sampler& sampler) { return object(Kind::Sampler, &sampler.state_->objects); }
Argument Argument::texture(const Texture& texture) { return object(Kind::Texture, &texture.state_->objects); }
Argument Argument::surface(const Image& image) { return object(Kind::Surface, &image.state_->objects); }

Result<Image> Image::create(const ImageDescription& description) {
  const auto layout = abi::lay_out(description);
  if (!layout) return layout.error();
  auto memory = runtime::GuardedBuffer::allocate(layout->bytes);
  if (!memory) return std::move(memory).error();
  const u64 base = reinterpret_cast<u64>(memory->data());
  const Objects<abi::ImageObject> objects(
      [&](isa::Target target) { return abi::image_object(description, *layout, base, target); });
  Image image;
  image.state_ = std::make_shared<State>(State{description, *layout, std::move(*memory), objects});
  return image;
}

const ImageDescription& Image::description() const { return state_->description; }
std::uint32_t Image::texel_bytes() const { return state_->layout.element_bytes; }
std::uint64_t Image::row_bytes() const { return state_->layout.row_bytes; }
std::uint64_t Image::pitch() const { return state_->layout.row_pitch; }
std::uint64_t Image::rows() const { return u64{state_->layout.rows} * state_->layout.slices; }

std::span<std::byte> Image::row(std::uint64_t index) const {
  // Slices follow each other without a gap, so that all rows have one pitch.
  return {reinterpret_cast<std::byte*>(state_->memory.data()) + index * pitch(), row_bytes()};
}

Result<void> Image::write(std::span<const std::byte> texels) const {
  if (texels.size() != rows() * row_bytes())
    return Error{ErrorCode::Usage,
                 fmt::format("{} bytes are not the image's {}", texels.size(), rows() * row_bytes())};
  for (u64 i = 0; i < rows(); ++i)
    std::ranges::copy(texels.subspan(i * row_bytes(), row_bytes()), row(i).begin());
  return {};
}

Result<void> Image::read(std::span<std::byte> texels) const {
  if (texels.size() != rows() * row_bytes())
    return Error{ErrorCode::Usage,
                 fmt::format("{} bytes are not the image's {}", texels.size(), rows() * row_bytes())};
  for (u64 i = 0; i < rows(); ++i) std::ranges::copy(row(i), texels.subspan(i * row_bytes()).begin());
  return {};
}

Result<Sampler> Sampler::create(const SamplerDescription& description) {
  if (auto fits = abi::check_sampler(description); !fits) return std::move(fits).error();
  const Objects<abi::SamplerObject> objects(
      [&](isa::Target target) { return abi::sampler_object(description, target); });
  Sampler sampler;
  sampler.state_ = std::make_shared<State>(State{objects});
  return sampler;
}

Result<Texture> Texture::create(const Image& image, const SamplerDescription& sampler) {
  if (auto fits = abi::check_sampler(sampler); !fits) return std::move(fits).error();
  const Image::State& from = *image.state_;
  const Objects<abi::TextureObject> objects([&](isa::Target target) {
    return abi::TextureObject{abi::image_object(from.description, from.layout, from.base(), target),
                              abi::sampler_object(sampler, target)};
  });
  Texture texture;
  texture.state_ = std::make_shared<State>(State{image, objects});
  return texture;
}

} // namespace lanewise
