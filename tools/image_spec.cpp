#include "tools/image_spec.hpp"

#include "abi/image.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace lanewise::tools {
namespace {

Error usage(std::string message) { return {ErrorCode::Usage, std::move(message)}; }

template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
std::optional<T> find(const Named<T> (&table)[N], std::string_view name) {
  const auto* row = std::ranges::find(table, name, &Named<T>::name);
  return row == std::end(table) ? std::nullopt : std::optional(row->value);
}

template <class T, std::size_t N>
std::string names_of(const Named<T> (&table)[N]) {
  std::string text;
  for (const auto& row : table) text += fmt::format("{}{}", text.empty() ? "" : " ", row.name);
  return text;
}

struct Geometry {
  ImageGeometry geometry;
  std::string_view size; ///< for messages
  /// What the numbers of a size are.
  std::vector<std::uint32_t ImageDescription::*> extents;
};

const Named<Geometry> kGeometries[] = {
    {"1d", {ImageGeometry::D1, "WIDTH", {&ImageDescription::width}}},
    {"1d_buffer", {ImageGeometry::D1Buffer, "WIDTH", {&ImageDescription::width}}},
    {"1d_array",
     {ImageGeometry::D1Array, "WIDTHxLAYERS", {&ImageDescription::width, &ImageDescription::layers}}},
    {"2d", {ImageGeometry::D2, "WIDTHxHEIGHT", {&ImageDescription::width, &ImageDescription::height}}},
    {"2d_array",
     {ImageGeometry::D2Array,
      "WIDTHxHEIGHTxLAYERS",
      {&ImageDescription::width, &ImageDescription::height, &ImageDescription::layers}}},
    {"3d",
     {ImageGeometry::D3,
      "WIDTHxHEIGHTxDEPTH",
      {&ImageDescription::width, &ImageDescription::height, &ImageDescription::depth}}},
};

constexpr Named<ChannelOrder> kOrders[] = {
    {"r", ChannelOrder::R},         {"rg", ChannelOrder::RG},       {"rgba", ChannelOrder::RGBA},
    {"bgra", ChannelOrder::BGRA},   {"argb", ChannelOrder::ARGB},   {"abgr", ChannelOrder::ABGR},
    {"a", ChannelOrder::A},         {"ra", ChannelOrder::RA},       {"rgb", ChannelOrder::RGB},
    {"i", ChannelOrder::Intensity}, {"l", ChannelOrder::Luminance}, {"d", ChannelOrder::Depth},
};

struct Channel {
  ChannelType type;
  ElementType stored;
};

constexpr Named<Channel> kChannels[] = {
    {"snorm8", {ChannelType::Snorm8, ElementType::I8}},
    {"snorm16", {ChannelType::Snorm16, ElementType::I16}},
    {"unorm8", {ChannelType::Unorm8, ElementType::U8}},
    {"unorm16", {ChannelType::Unorm16, ElementType::U16}},
    {"unorm555", {ChannelType::Unorm555, ElementType::U16}},
    {"unorm565", {ChannelType::Unorm565, ElementType::U16}},
    {"unorm101010", {ChannelType::Unorm101010, ElementType::U32}},
    {"i8", {ChannelType::Int8, ElementType::I8}},
    {"i16", {ChannelType::Int16, ElementType::I16}},
    {"i32", {ChannelType::Int32, ElementType::I32}},
    {"u8", {ChannelType::Uint8, ElementType::U8}},
    {"u16", {ChannelType::Uint16, ElementType::U16}},
    {"u32", {ChannelType::Uint32, ElementType::U32}},
    {"f16", {ChannelType::Half, ElementType::F16}},
    {"f32", {ChannelType::Float, ElementType::F32}},
};

constexpr Named<Addressing> kAddressings[] = {
    {"none", Addressing::None},     {"edge", Addressing::Edge},     {"border", Addressing::Border},
    {"repeat", Addressing::Repeat}, {"mirror", Addressing::Mirror},
};

Result<void> parse_size(const Geometry& geometry, std::string_view size, ImageDescription& description) {
  std::string_view rest = size;
  for (const auto extent : geometry.extents) {
    const bool is_last = extent == geometry.extents.back();
    const std::size_t end = is_last ? rest.size() : std::min(rest.find('x'), rest.size());
    if (!parse_element(ElementType::U32, rest.substr(0, end), &(description.*extent)))
      return usage(fmt::format("'{}' is no size of this geometry; write {}", size, geometry.size));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

} // namespace

Result<ImageSpec> parse_image_spec(std::string_view geometry, std::string_view size,
                                   std::string_view format) {
  const auto known = find(kGeometries, geometry);
  if (!known)
    return usage(fmt::format("'{}' is no geometry; use one of {}", geometry, names_of(kGeometries)));
  ImageSpec spec;
  spec.description.geometry = known->geometry;
  if (auto sized = parse_size(*known, size, spec.description); !sized) return std::move(sized).error();
  const std::size_t dash = format.find('-');
  const auto order = find(kOrders, format.substr(0, dash));
  const auto channel =
      dash == std::string_view::npos ? std::nullopt : find(kChannels, format.substr(dash + 1));
  if (!order || !channel)
    return usage(fmt::format("'{}' is no format; write ORDER-TYPE, for example rgba-unorm8, ORDER one of {}, "
                             "TYPE one of {}",
                             format, names_of(kOrders), names_of(kChannels)));
  spec.description.order = *order;
  spec.description.type = channel->type;
  const auto layout = abi::lay_out(spec.description);
  if (!layout) return layout.error();
  spec.type = channel->stored;
  spec.count = layout->row_bytes * layout->rows * layout->slices / element_bytes(spec.type);
  return spec;
}

Result<SamplerDescription> parse_sampler_spec(std::string_view text) {
  SamplerDescription sampler;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (const auto addressing = find(kAddressings, word))
      sampler.addressing = *addressing;
    else if (word == "linear" || word == "nearest")
      sampler.linear = word == "linear";
    else if (word == "normalized" || word == "texels")
      sampler.normalized = word == "normalized";
    else
      return usage(
          fmt::format("'{}' is nothing that a sampler has; write words with commas between, for example "
                      "sampler:edge,linear,normalized: {}; nearest linear; texels normalized",
                      word, names_of(kAddressings)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (auto fits = abi::check_sampler(sampler); !fits) return std::move(fits).error();
  return sampler;
}

} // namespace lanewise::tools
