// A case's images and samplers as a native OpenCL device has them.
#pragma once

#include "tests/kernels/cases.hpp"

#include <CL/cl.h>

namespace lanewise::kernels {

// The numbers of HSA, which ours are, and of OpenCL run in parallel where both have a name.
inline cl_channel_order opencl_order(ChannelOrder order) {
  switch (order) {
  case ChannelOrder::A: return CL_A;
  case ChannelOrder::R: return CL_R;
  case ChannelOrder::RG: return CL_RG;
  case ChannelOrder::RA: return CL_RA;
  case ChannelOrder::RGB: return CL_RGB;
  case ChannelOrder::RGBA: return CL_RGBA;
  case ChannelOrder::BGRA: return CL_BGRA;
  case ChannelOrder::ARGB: return CL_ARGB;
  case ChannelOrder::Intensity: return CL_INTENSITY;
  case ChannelOrder::Luminance: return CL_LUMINANCE;
  case ChannelOrder::Depth: return CL_DEPTH;
  default: return 0; // none in OpenCL 1.2
  }
}

inline cl_image_format opencl_format(const ImageDescription& image) {
  const auto type = static_cast<cl_channel_type>(image.type);
  // OpenCL has no number for HSA's UNORM_INT24, which is 4.
  const auto after_unorm24 = static_cast<cl_channel_type>(ChannelType::Unorm555);
  return {opencl_order(image.order), CL_SNORM_INT8 + type - (type >= after_unorm24 ? 1u : 0u)};
}

inline cl_image_desc opencl_description(const ImageDescription& image) {
  constexpr cl_mem_object_type kTypes[] = {CL_MEM_OBJECT_IMAGE1D,       CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                           CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,
                                           CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
  cl_image_desc description = {};
  description.image_type = kTypes[static_cast<unsigned>(image.geometry)];
  description.image_width = image.width;
  description.image_height = image.height;
  description.image_depth = image.depth;
  description.image_array_size = image.layers;
  return description;
}

/// An image with the argument's texels. A 1D buffer's memory becomes `buffer`; null else.
inline cl_mem make_image(cl_context context, const Arg& arg, cl_mem& buffer, cl_int& status) {
  std::vector<std::byte> texels = arg.bytes; // the API wants it mutable
  const cl_image_format format = opencl_format(arg.image);
  cl_image_desc description = opencl_description(arg.image);
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  buffer = nullptr;
  if (arg.image.geometry == ImageGeometry::D1Buffer) {
    buffer = clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, texels.size(), texels.data(), &status);
    if (status != CL_SUCCESS) return nullptr;
    description.buffer = buffer;
    return clCreateImage(context, flags, &format, &description, nullptr, &status);
  }
  return clCreateImage(context, flags | CL_MEM_COPY_HOST_PTR, &format, &description, texels.data(), &status);
}

/// Where all of an image is. A layer is the last coordinate that its geometry has.
struct ImageRegion {
  size_t origin[3] = {}, size[3];
  explicit ImageRegion(const ImageDescription& image) : size{image.width, image.height, image.depth} {
    if (image.geometry == ImageGeometry::D1Array) size[1] = image.layers;
    if (image.geometry == ImageGeometry::D2Array) size[2] = image.layers;
  }
};

inline cl_sampler make_sampler(cl_context context, const SamplerDescription& sampler, cl_int& status) {
  constexpr cl_addressing_mode kModes[] = {CL_ADDRESS_NONE, CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP,
                                           CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT};
  return clCreateSampler(context, sampler.normalized ? CL_TRUE : CL_FALSE,
                         kModes[static_cast<unsigned>(sampler.addressing)],
                         sampler.linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &status);
}

} // namespace lanewise::kernels
