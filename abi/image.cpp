#include "abi/image.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace lanewise::abi {
namespace {

using isa::Target;

Error usage(std::string message) { return {ErrorCode::Usage, std::move(message)}; }

/// What a result component takes from memory: dst_sel (Vega ISA guide, 8.4.2).
enum Select : u32 { k0 = 0, k1 = 1, kX = 4, kY = 5, kZ = 6, kW = 7 };

/// Which channel types go with an order (OpenCL C, "Supported Image Formats").
enum class Allowed : u8 { Any, Bytes, Real, Packed, Depth };

struct OrderRow {
  ChannelOrder order;
  u32 channels;
  std::array<u32, 4> selects; ///< for red, green, blue, alpha
  Allowed allowed;
};

// clang-format off
constexpr OrderRow kOrders[] = {
    {ChannelOrder::A,         1, {k0, k0, k0, kX}, Allowed::Any},
    {ChannelOrder::R,         1, {kX, k0, k0, k1}, Allowed::Any},
    {ChannelOrder::RG,        2, {kX, kY, k0, k1}, Allowed::Any},
    {ChannelOrder::RA,        2, {kX, k0, k0, kY}, Allowed::Any},
    {ChannelOrder::RGB,       1, {kZ, kY, kX, k1}, Allowed::Packed}, // red is in the highest bits
    {ChannelOrder::RGBA,      4, {kX, kY, kZ, kW}, Allowed::Any},
    {ChannelOrder::BGRA,      4, {kZ, kY, kX, kW}, Allowed::Bytes},
    {ChannelOrder::ARGB,      4, {kY, kZ, kW, kX}, Allowed::Bytes},
    {ChannelOrder::ABGR,      4, {kW, kZ, kY, kX}, Allowed::Bytes},
    {ChannelOrder::Intensity, 1, {kX, kX, kX, kX}, Allowed::Real},
    {ChannelOrder::Luminance, 1, {kX, kX, kX, k1}, Allowed::Real},
    {ChannelOrder::Depth,     1, {kX, k0, k0, k0}, Allowed::Depth},
};

enum NumberFormat : u32 { kUnorm = 0, kSnorm = 1, kUint = 4, kSint = 5, kFloat = 7 };

struct TypeRow {
  ChannelType type;
  u32 bytes; ///< of a channel, or of a packed texel
  NumberFormat number;
  std::array<u32, 5> data; ///< the hardware's data format by the number of channels; 0 if there is none
  bool packed = false;
};

constexpr std::array<u32, 5> k8s = {0, 1, 3, 0, 10}, k16s = {0, 2, 5, 0, 12}, k32s = {0, 4, 11, 0, 14};
constexpr TypeRow kTypes[] = {
    {ChannelType::Snorm8,      1, kSnorm, k8s},
    {ChannelType::Snorm16,     2, kSnorm, k16s},
    {ChannelType::Unorm8,      1, kUnorm, k8s},
    {ChannelType::Unorm16,     2, kUnorm, k16s},
    {ChannelType::Unorm555,    2, kUnorm, {0, 17}, true}, // 1_5_5_5
    {ChannelType::Unorm565,    2, kUnorm, {0, 16}, true}, // 5_6_5
    {ChannelType::Unorm101010, 4, kUnorm, {0, 9},  true}, // 2_10_10_10
    {ChannelType::Int8,        1, kSint,  k8s},
    {ChannelType::Int16,       2, kSint,  k16s},
    {ChannelType::Int32,       4, kSint,  k32s},
    {ChannelType::Uint8,       1, kUint,  k8s},
    {ChannelType::Uint16,      2, kUint,  k16s},
    {ChannelType::Uint32,      4, kUint,  k32s},
    {ChannelType::Half,        2, kFloat, k16s},
    {ChannelType::Float,       4, kFloat, k32s},
};
// clang-format on

bool allows(Allowed allowed, const TypeRow& type) {
  const bool is_integer = type.number == kUint || type.number == kSint;
  switch (allowed) {
  case Allowed::Any: return !type.packed;
  case Allowed::Bytes: return type.bytes == 1;
  case Allowed::Real: return !type.packed && !is_integer;
  case Allowed::Packed: return type.packed;
  case Allowed::Depth: return type.type == ChannelType::Unorm16 || type.type == ChannelType::Float;
  }
  return false;
}

/// The rows of an image's format, which lay_out() has found to fit.
const OrderRow* find(ChannelOrder order) {
  const auto* row = std::ranges::find(kOrders, order, &OrderRow::order);
  return row == std::end(kOrders) ? nullptr : row;
}
const TypeRow* find(ChannelType type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::type);
  return row == std::end(kTypes) ? nullptr : row;
}

/// Which extents a geometry has, and T#'s number of its type.
struct GeometryRow {
  bool height, depth, layers;
  u32 type;
};
constexpr GeometryRow kGeometries[] = {
    {false, false, false, 8}, // D1
    {false, false, false, 0}, // D1Buffer: a V#
    {false, false, true, 12}, // D1Array
    {true, false, false, 9},  // D2
    {true, false, true, 13},  // D2Array
    {true, true, false, 10},  // D3
};
const GeometryRow& row_of(ImageGeometry geometry) { return kGeometries[static_cast<unsigned>(geometry)]; }

// The hardware's limits: fields of 14 and 13 bits. A 1D buffer has what an index and the stride can reach.
constexpr u32 kMaxSide = 1u << 14, kMaxSlices = 1u << 13, kMaxBufferTexels = 1u << 27;

Result<void> check_extent(const char* what, u32 extent, bool exists, u32 limit) {
  if (!exists && extent != 1)
    return usage(fmt::format("an image of this geometry has no {}; leave it at 1", what));
  if (extent < 1 || extent > limit)
    return usage(fmt::format("a {} of {} is none that an image can have: 1 to {}", what, extent, limit));
  return {};
}

Result<void> check_extents(const ImageDescription& image) {
  if (static_cast<unsigned>(image.geometry) >= std::size(kGeometries)) return usage("no such geometry");
  const GeometryRow& geometry = row_of(image.geometry);
  const u32 max_width = image.geometry == ImageGeometry::D1Buffer ? kMaxBufferTexels : kMaxSide;
  if (auto fits = check_extent("width", image.width, true, max_width); !fits) return fits;
  if (auto fits = check_extent("height", image.height, geometry.height, kMaxSide); !fits) return fits;
  if (auto fits = check_extent("depth", image.depth, geometry.depth, kMaxSlices); !fits) return fits;
  return check_extent("number of layers", image.layers, geometry.layers, kMaxSlices);
}

/// V# and T# have the selects in the same bits of word 3.
u32 selects_of(const OrderRow& order) {
  u32 word = 0;
  for (u32 i = 0; i < 4; ++i) word |= order.selects[i] << (3 * i);
  return word;
}

/// A 1D buffer: a structured buffer of one texel per record. What num_records counts then is
/// docs/SEMANTICS.md, "Range check".
void write_buffer(const ImageDescription& image, const ImageLayout& layout, u64 base, Target target,
                  ImageObject& object) {
  object[0] = static_cast<u32>(base);
  object[1] = static_cast<u32>(base >> 32) & 0xffff;
  object[1] |= layout.element_bytes << 16;
  object[2] = target == Target::gfx803 ? image.width * layout.element_bytes : image.width;
  object[3] = selects_of(*find(image.order));
  object[3] |= find(image.type)->number << 12;
  object[3] |= find(image.type)->data[layout.channels] << 15;
}

void write_image(const ImageDescription& image, const ImageLayout& layout, u64 base, Target target,
                 ImageObject& object) {
  const bool is_gfx9 = target >= Target::gfx900;
  const u32 layout_linear = is_gfx9 ? 0 : 8; // SW_LINEAR; linear aligned
  const u32 last_slice = layout.slices - 1;
  const u32 last_layer = row_of(image.geometry).layers ? last_slice : 0;
  object[0] = static_cast<u32>(base >> 8);
  object[1] = static_cast<u32>(base >> 40) & 0xff;
  object[1] |= find(image.type)->data[layout.channels] << 20;
  object[1] |= find(image.type)->number << 26;
  object[2] = (image.width - 1) | (image.height - 1) << 14;
  object[3] = selects_of(*find(image.order)) | layout_linear << 20 | row_of(image.geometry).type << 28;
  object[4] = last_slice | static_cast<u32>(layout.row_pitch / layout.element_bytes - 1) << 13;
  object[5] = is_gfx9 ? 0 : last_layer << 13; // gfx9 has it in word 4
}

} // namespace

Result<ImageLayout> lay_out(const ImageDescription& image) {
  const OrderRow* const order = find(image.order);
  const TypeRow* const type = find(image.type);
  if (order == nullptr || type == nullptr) return usage("no such channel order or type");
  const bool is_buffer = image.geometry == ImageGeometry::D1Buffer;
  // 16 bits is the largest data format that fits into V#'s field; 5_6_5 and the like are behind that.
  if (!allows(order->allowed, *type) || (is_buffer && type->data[order->channels] > 15))
    return usage("images of this geometry and channel order do not have this channel type");
  if (auto fits = check_extents(image); !fits) return std::move(fits).error();
  ImageLayout layout;
  layout.channels = order->channels;
  layout.element_bytes = order->channels * type->bytes;
  layout.rows = image.height;
  layout.slices = std::max(image.depth, image.layers);
  layout.row_bytes = u64{image.width} * layout.element_bytes;
  layout.row_pitch = is_buffer ? layout.row_bytes : align_up(layout.row_bytes, kImageAlignment);
  layout.slice_pitch = layout.row_pitch * layout.rows;
  layout.bytes = layout.slice_pitch * layout.slices - (layout.row_pitch - layout.row_bytes);
  return layout;
}

ImageObject image_object(const ImageDescription& image, const ImageLayout& layout, u64 base, Target target) {
  ImageObject object = {};
  if (image.geometry == ImageGeometry::D1Buffer)
    write_buffer(image, layout, base, target, object);
  else
    write_image(image, layout, base, target, object);
  object[8] = static_cast<u32>(image.type);
  object[9] = static_cast<u32>(image.order);
  object[10] = image.width;
  return object;
}

Result<void> check_sampler(const SamplerDescription& sampler) {
  if (sampler.addressing > Addressing::Mirror) return usage("no such addressing of a sampler");
  if (!sampler.normalized &&
      (sampler.addressing == Addressing::Repeat || sampler.addressing == Addressing::Mirror))
    return usage("only images with normalized coordinates are repeated or mirrored");
  return {};
}

SamplerObject sampler_object(const SamplerDescription& sampler, Target target) {
  const auto clamp = [&]() -> u32 {
    switch (sampler.addressing) {
    case Addressing::Repeat: return 0;
    case Addressing::Mirror: return 1;
    case Addressing::Edge: return 2;
    case Addressing::None:
    case Addressing::Border: break;
    }
    return 6; // the border's colour, here zeros
  }();
  SamplerObject object = {};
  object[0] = clamp | clamp << 3 | clamp << 6 | (sampler.normalized ? 0u : 1u << 15);
  object[0] |= 1u << 28; // no filtering across the faces of a cube, as the device library's samplers have it
  object[1] = 0xfffu << 12;                            // any level
  if (sampler.linear) object[2] = 1u << 20 | 1u << 22; // bilinear, magnified or not; z follows
  if (target >= Target::gfx900) object[2] |= 1u << 31; // no anisotropy
  return object;
}

} // namespace lanewise::abi
