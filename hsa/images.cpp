// Images and samplers: HIP's textures and surfaces.
#include "hsa/runtime.hpp"

#include "abi/image.hpp"

#include <cstring>
#include <hsa/hsa_ext_image.h>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

/// What an image's handle leads to; kernels read the object.
struct alignas(64) ImageState {
  abi::ImageObject object;
  ImageDescription description;
  abi::ImageLayout layout;
  u8* texels = nullptr;
};
struct alignas(64) SamplerState {
  abi::SamplerObject object;
};

std::optional<ImageDescription> description_of(const hsa_ext_image_descriptor_t& d) {
  ImageDescription out;
  out.width = static_cast<u32>(d.width);
  out.order = static_cast<ChannelOrder>(d.format.channel_order);
  out.type = static_cast<ChannelType>(d.format.channel_type);
  switch (d.geometry) {
  case HSA_EXT_IMAGE_GEOMETRY_1D: out.geometry = ImageGeometry::D1; break;
  case HSA_EXT_IMAGE_GEOMETRY_1DB: out.geometry = ImageGeometry::D1Buffer; break;
  case HSA_EXT_IMAGE_GEOMETRY_1DA: out.geometry = ImageGeometry::D1Array; break;
  case HSA_EXT_IMAGE_GEOMETRY_2D:
  case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH: out.geometry = ImageGeometry::D2; break;
  case HSA_EXT_IMAGE_GEOMETRY_2DA:
  case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH: out.geometry = ImageGeometry::D2Array; break;
  case HSA_EXT_IMAGE_GEOMETRY_3D: out.geometry = ImageGeometry::D3; break;
  default: return std::nullopt;
  }
  const bool flat = out.geometry == ImageGeometry::D2 || out.geometry == ImageGeometry::D2Array;
  if (flat || out.geometry == ImageGeometry::D3) out.height = static_cast<u32>(d.height);
  if (out.geometry == ImageGeometry::D3) out.depth = static_cast<u32>(d.depth);
  if (out.geometry == ImageGeometry::D1Array || out.geometry == ImageGeometry::D2Array)
    out.layers = static_cast<u32>(d.array_size);
  return out;
}

hsa_status_t create(Runtime& r, const hsa_ext_image_descriptor_t& descriptor, const void* data, u64 row_pitch,
                    u64 slice_pitch, hsa_ext_image_t* image) {
  const auto description = description_of(descriptor);
  if (!description) return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
  auto layout = abi::lay_out(*description);
  if (!layout) return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
  // Rows may be farther apart than they have to, but not in a way that no descriptor can say.
  if (row_pitch != 0) layout->row_pitch = row_pitch;
  layout->slice_pitch = slice_pitch != 0 ? slice_pitch : layout->row_pitch * layout->rows;
  constexpr u64 kMaxPitch = 1 << 14; // in texels: a field of 14 bits
  if (layout->row_pitch % layout->element_bytes != 0 ||
      (row_pitch != 0 && row_pitch / layout->element_bytes > kMaxPitch) ||
      layout->slice_pitch != align_up(layout->row_pitch * layout->rows, abi::kImageAlignment) ||
      reinterpret_cast<u64>(data) % abi::kImageAlignment != 0)
    return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
  data = r.host_address(data);
  auto* const state = new ImageState;
  state->description = *description;
  state->layout = *layout;
  state->texels = static_cast<u8*>(const_cast<void*>(data));
  state->object = abi::image_object(*description, *layout, reinterpret_cast<u64>(data), r.target);
  image->handle = reinterpret_cast<u64>(&state->object);
  const std::lock_guard lock(r.images_mutex);
  r.images.insert(&state->object);
  return HSA_STATUS_SUCCESS;
}

ImageState& state_of(hsa_ext_image_t image) { return *reinterpret_cast<ImageState*>(image.handle); }

/// Calls body(row in the image, row in memory, bytes) for each row of a region.
template <class Body>
void for_each_row(hsa_ext_image_t image, const void* memory, std::size_t row_pitch, std::size_t slice_pitch,
                  const hsa_ext_image_region_t& region, Body body) {
  const ImageState& s = state_of(image);
  const bool lines = s.description.geometry == ImageGeometry::D1Array; // y counts layers
  const u64 bytes = u64{region.range.x} * s.layout.element_bytes;
  const u64 rows = std::max(region.range.y, 1u), slices = std::max(region.range.z, 1u);
  if (row_pitch == 0) row_pitch = bytes;
  if (slice_pitch == 0) slice_pitch = row_pitch * rows;
  for (u64 z = 0; z < slices; ++z)
    for (u64 y = 0; y < rows; ++y) {
      const u64 row = region.offset.y + y, slice = region.offset.z + z;
      u8* const texel =
          s.texels +
          (lines ? row * s.layout.slice_pitch : slice * s.layout.slice_pitch + row * s.layout.row_pitch) +
          u64{region.offset.x} * s.layout.element_bytes;
      body(texel, static_cast<u8*>(const_cast<void*>(memory)) + z * slice_pitch + y * row_pitch, bytes);
    }
}

} // namespace

namespace lanewise::hsa {

std::vector<PassedDescriptor> textures_in(Runtime& r, std::span<const u64> kernarg) {
  std::vector<PassedDescriptor> found;
  const std::scoped_lock lock(r.images_mutex, r.memory_mutex);
  if (r.images.empty()) return found;
  for (std::size_t n = 0; n < kernarg.size(); ++n) {
    const auto allocation = r.allocations.find(kernarg[n]);
    if (allocation == r.allocations.end() || !allocation->second.ours) continue;
    constexpr std::size_t kDescriptor = 8; // dwords
    const bool is_texture = allocation->second.bytes >= sizeof(abi::TextureObject);
    const auto* const object = reinterpret_cast<const u32*>(kernarg[n]);
    if (allocation->second.bytes < sizeof(abi::ImageObject)) continue;
    if (std::ranges::any_of(r.images, [&](const abi::ImageObject* image) {
          return std::equal(image->begin(), image->begin() + kDescriptor, object);
        }))
      found.push_back(
          {static_cast<u32>(8 * n), is_texture ? Argument::Kind::Texture : Argument::Kind::Surface, object});
  }
  return found;
}

} // namespace lanewise::hsa

extern "C" {

hsa_status_t hsa_ext_image_get_capability(hsa_agent_t, hsa_ext_image_geometry_t geometry,
                                          const hsa_ext_image_format_t* format, u32* mask) {
  hsa_ext_image_descriptor_t descriptor = {geometry, 1, 1, 1, 1, *format};
  const auto description = description_of(descriptor);
  const bool fits = description && abi::lay_out(*description).ok();
  *mask = fits ? HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY |
                     HSA_EXT_IMAGE_CAPABILITY_READ_WRITE
               : HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t, const hsa_ext_image_descriptor_t* descriptor,
                                         hsa_access_permission_t, hsa_ext_image_data_info_t* info) {
  const auto description = description_of(*descriptor);
  if (!description) return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
  const auto layout = abi::lay_out(*description);
  if (!layout) return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
  info->size = layout->slice_pitch * layout->slices;
  info->alignment = abi::kImageAlignment;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_ext_image_create(hsa_agent_t, const hsa_ext_image_descriptor_t* descriptor, const void* data,
                                  hsa_access_permission_t, hsa_ext_image_t* image) {
  HSA_RUNTIME(r);
  return create(*r, *descriptor, data, 0, 0, image);
}
hsa_status_t hsa_ext_image_create_with_layout(hsa_agent_t, const hsa_ext_image_descriptor_t* descriptor,
                                              const void* data, hsa_access_permission_t,
                                              hsa_ext_image_data_layout_t layout, std::size_t row_pitch,
                                              std::size_t slice_pitch, hsa_ext_image_t* image) {
  HSA_RUNTIME(r);
  if (layout != HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR) return create(*r, *descriptor, data, 0, 0, image);
  return create(*r, *descriptor, data, row_pitch, slice_pitch, image);
}
hsa_status_t hsa_ext_image_destroy(hsa_agent_t, hsa_ext_image_t image) {
  HSA_RUNTIME(r);
  if (image.handle == 0) return HSA_STATUS_SUCCESS;
  const std::lock_guard lock(r->images_mutex);
  r->images.erase(&state_of(image).object);
  delete &state_of(image);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_ext_image_import(hsa_agent_t, const void* memory, std::size_t row_pitch,
                                  std::size_t slice_pitch, hsa_ext_image_t image,
                                  const hsa_ext_image_region_t* region) {
  HSA_RUNTIME(r);
  for_each_row(image, r->host_address(memory), row_pitch, slice_pitch, *region,
               [](u8* texel, const u8* from, u64 bytes) { std::memcpy(texel, from, bytes); });
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_ext_image_export(hsa_agent_t, hsa_ext_image_t image, void* memory, std::size_t row_pitch,
                                  std::size_t slice_pitch, const hsa_ext_image_region_t* region) {
  for_each_row(image, memory, row_pitch, slice_pitch, *region,
               [](const u8* texel, u8* to, u64 bytes) { std::memcpy(to, texel, bytes); });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_ext_sampler_create(hsa_agent_t, const hsa_ext_sampler_descriptor_t* descriptor,
                                    hsa_ext_sampler_t* sampler) {
  HSA_RUNTIME(r);
  SamplerDescription d;
  d.normalized = descriptor->coordinate_mode == HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED;
  d.linear = descriptor->filter_mode == HSA_EXT_SAMPLER_FILTER_MODE_LINEAR;
  switch (descriptor->address_mode) {
  case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE: d.addressing = Addressing::Edge; break;
  case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER: d.addressing = Addressing::Border; break;
  case HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT: d.addressing = Addressing::Repeat; break;
  case HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT: d.addressing = Addressing::Mirror; break;
  default: d.addressing = Addressing::None; break;
  }
  if (!abi::check_sampler(d))
    return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED);
  sampler->handle = reinterpret_cast<u64>(new SamplerState{abi::sampler_object(d, r->target)});
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t, hsa_ext_sampler_t sampler) {
  delete reinterpret_cast<SamplerState*>(sampler.handle);
  return HSA_STATUS_SUCCESS;
}

// Images shared with graphics.
hsa_status_t hsa_amd_image_create(hsa_agent_t, const hsa_ext_image_descriptor_t*,
                                  const hsa_amd_image_descriptor_t*, const void*, hsa_access_permission_t,
                                  hsa_ext_image_t*) {
  return static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
}

} // extern "C"
