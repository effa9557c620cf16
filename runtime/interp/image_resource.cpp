#include "runtime/interp/image_resource.hpp"

namespace lanewise::interp {
namespace {

/// T# types that can be accessed; the others have no dimensions.
struct ImageType {
  unsigned dimensions = 0;
  bool is_array = false;
};
ImageType type_of(u32 number) {
  switch (number) {
  case 8: return {1, false};
  case 9: return {2, false};
  case 10: return {3, false};
  case 12: return {1, true};
  case 13: return {2, true};
  default: return {};
  }
}

constexpr u32 field(u32 word, unsigned at, unsigned bits) { return word >> at & ((1u << bits) - 1); }

bool is_known_data_format(u32 f) { return (f >= 1 && f <= 14) || (f >= 16 && f <= 19); }

ImageProblem problem_of(const Wave& w, const Code& c, const Image& image, const u32* word) {
  const bool gfx9 = w.target >= Target::gfx900;
  const bool gathers = (c.row->image & isa::kImgGather4) != 0;
  if (image.dimensions == 0 || (gathers && image.dimensions != 2)) return ImageProblem::Type;
  if (field(word[3], 20, 5) != (gfx9 ? 0 : 8)) return ImageProblem::Layout;
  if (field(word[3], 12, 8) != 0) return ImageProblem::Levels; // base and last
  if (!is_known_data_format(field(word[1], 20, 6))) return ImageProblem::DataFormat;
  if (field(word[1], 26, 4) > 7 || field(word[1], 26, 4) == kReserved) return ImageProblem::NumberFormat;
  if (w.target >= Target::gfx803 && field(word[6], 21, 1) != 0) return ImageProblem::Compression;
  return ImageProblem::None;
}

} // namespace

Image image_of(const Wave& w, const Code& c) {
  u32 word[8] = {};
  std::copy_n(w.sgpr + c.src[1].index, c.inst->mods.resource_dwords(), word);
  const bool gfx9 = w.target >= Target::gfx900, whole = !c.inst->mods.r128;
  const ImageType type = type_of(field(word[3], 28, 4));
  Image image;
  image.dimensions = type.dimensions;
  image.is_array = type.is_array;
  image.base = (u64{field(word[1], 0, 8)} << 32 | word[0]) << 8;
  image.size[0] = field(word[2], 0, 14) + 1;
  if (type.dimensions >= 2) image.size[1] = field(word[2], 14, 14) + 1;
  if (type.dimensions == 3) image.size[2] = field(word[4], 0, 13) + 1;
  image.pitch = whole ? field(word[4], 13, gfx9 ? 16 : 14) + 1 : image.size[0];
  if (type.is_array) {
    const u32 last = gfx9 ? field(word[4], 0, 13) : field(word[5], 13, 13);
    image.first_layer = field(word[5], 0, 13);
    image.layers = last - image.first_layer + 1;
  }
  for (unsigned k = 0; k < 4; ++k) image.dst_sel[k] = field(word[3], 3 * k, 3);
  image.format = format_of(field(word[1], 20, 6), field(word[1], 26, 4));
  image.slice_bytes = (u64{image.pitch} * image.size[1] * image.bytes() + 255) & ~u64{255};
  image.problem = problem_of(w, c, image, word);
  return image;
}

void access_problem(Wave& w, unsigned lane, ImageProblem problem, bool is_write) {
  const u64 address = runtime::kImageProblems + 16 * static_cast<u64>(problem);
  w.accessing(static_cast<int>(lane), address, is_write);
  // Nobody can map the address, so that it does not matter how it is touched.
  (void)*reinterpret_cast<const volatile u8*>(address);
}

u64 texel_address(const Image& image, const TexelPlace& at) {
  return image.base + u64{at.slice + image.first_layer} * image.slice_bytes +
         (u64{at.y} * image.pitch + at.x) * image.bytes();
}

Components load_texel(Wave& w, const Image& image, unsigned lane, const TexelPlace& at) {
  Texel texel;
  for_each_piece(image.bytes(), [&](unsigned from, unsigned piece) {
    read_host(w, static_cast<int>(lane), texel_address(image, at) + from, texel.bytes + from, piece);
  });
  return decoded(texel, image.format);
}

void store_texel(Wave& w, const Image& image, unsigned lane, const TexelPlace& at,
                 const Components& components) {
  const Texel texel = encoded(components, image.format);
  for_each_piece(image.bytes(), [&](unsigned from, unsigned piece) {
    write_host(w, static_cast<int>(lane), texel_address(image, at) + from, texel.bytes + from, piece);
  });
}

Components arranged(const Image& image, const Components& in) {
  Components out;
  for (unsigned k = 0; k < 4; ++k) out.value[k] = selected(image.dst_sel[k], in, image.format.num);
  return out;
}

Components asked_for(const Code& c, const Components& in) {
  Components out;
  unsigned n = 0;
  for (unsigned k = 0; k < 4; ++k)
    if (c.inst->mods.dmask >> k & 1) out.value[n++] = in.value[k];
  return out;
}

DataRegisters data_of(const Code& c, unsigned first) {
  const bool gathers = (c.row->image & isa::kImgGather4) != 0;
  const auto asked = static_cast<unsigned>(std::popcount(unsigned{c.inst->mods.dmask}));
  return {first, gathers ? 4 : asked, c.inst->mods.d16};
}

} // namespace lanewise::interp
