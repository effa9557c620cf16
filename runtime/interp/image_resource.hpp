// Image resources and samplers, and where texels lie (docs/SEMANTICS.md, "Images").
#pragma once

#include "runtime/interp/texel_format.hpp"

namespace lanewise::interp {

using runtime::ImageProblem;

/// A T#, as one instruction sees it.
struct Image {
  u64 base = 0;
  u64 slice_bytes = 0;
  u32 size[3] = {1, 1, 1}; ///< width, height, depth; 1 for dimensions that the type does not have
  u32 pitch = 1;           ///< of rows, in texels
  u32 layers = 1, first_layer = 0;
  u32 dst_sel[4] = {};
  Format format;
  unsigned dimensions = 0; ///< 0 for types that cannot be accessed
  bool is_array = false;
  ImageProblem problem = ImageProblem::None;

  [[nodiscard]] unsigned bytes() const { return format.data.bytes(); }
};

/// Of an image instruction; `problem` is that of all but the sampler and atomics.
Image image_of(const Wave& w, const Code& c);

/// Whole coordinates of a texel; `slice` is z, or the layer of arrays.
struct TexelPlace {
  u32 x = 0, y = 0, slice = 0;
};

/// The access of `lane` to an image that cannot be accessed: a fault.
void access_problem(Wave& w, unsigned lane, ImageProblem problem, bool is_write);

u64 texel_address(const Image& image, const TexelPlace& at);
Components load_texel(Wave& w, const Image& image, unsigned lane, const TexelPlace& at);
void store_texel(Wave& w, const Image& image, unsigned lane, const TexelPlace& at,
                 const Components& components);

/// Components as the T# orders them.
Components arranged(const Image& image, const Components& in);
/// Those of them that dmask asks for, one after the other.
Components asked_for(const Code& c, const Components& in);

/// Where an instruction's results go, or its data lie.
DataRegisters data_of(const Code& c, unsigned first);

/// The instruction's address operands. Components of the body have 32 bits each or, with a16, 16.
struct AddressRegisters {
  unsigned first = 0; ///< of the body
  bool halves = false;

  [[nodiscard]] u32 component(const Wave& w, unsigned lane, unsigned i) const {
    if (!halves) return w.vgpr[(first + i) & 255][lane];
    return w.vgpr[(first + i / 2) & 255][lane] >> i % 2 * 16 & 0xffff;
  }
};

/// Whether the body of the address has a layer behind the dimensions' coordinates.
inline bool has_layer(const Code& c, const Image& image) { return image.is_array && c.inst->mods.da; }

// The instructions of image_sample.cpp.
const Code* sample(Wave& w, const Code& c);
const Code* gather4(Wave& w, const Code& c);

} // namespace lanewise::interp
