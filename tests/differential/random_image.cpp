#include "tests/differential/random_image.hpp"

#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "isa/encode.hpp"
#include "tests/differential/memory_map.hpp"
#include "tests/differential/random_instruction.hpp"
#include "tests/differential/random_state.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace lanewise::differential {
namespace {

using namespace isa;

/// By data format.
constexpr u32 kElementBytes[] = {0, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 16, 0, 2, 2, 2, 2};

bool is_array(const ImageFields& f) { return f.type >= kImage1DArray; }
u32 dimensions_of(const ImageFields& f) {
  return f.type == kImage3D ? 3 : f.type == kImage2D || f.type == kImage2DArray ? 2 : 1;
}
u32 layers_of(const ImageFields& f) { return is_array(f) ? f.last_layer - f.first_layer + 1 : 1; }
/// Size in a dimension.
u32 size_of(const ImageFields& f, u32 d) { return d == 0 ? f.width : d == 1 ? f.height : f.depth; }

u32 bytes_of(const ImageFields& f) {
  const u32 slice =
      (f.pitch * (dimensions_of(f) > 1 ? f.height : 1) * kElementBytes[f.data_format] + 255) & ~255u;
  return slice * (is_array(f) ? f.last_layer + 1 : f.type == kImage3D ? f.depth : 1);
}

/// Of any type and format, or of those of another image with the same size of elements.
ImageFields random_image(Random& r, bool for_atomics, const ImageFields* like = nullptr) {
  for (;;) {
    ImageFields f;
    f.base = 256 * r.below(8);
    f.type =
        like ? like->type
             : r.of({kImage1D, kImage2D, kImage2D, kImage3D, kImage1DArray, kImage2DArray, kImage2DArray});
    f.data_format = for_atomics   ? r.of<u32>({4, 4, 5, 10, 11, 12})
                    : r.one_in(4) ? 16 + r.below(4)
                                  : 1 + r.below(14);
    if (like && kElementBytes[f.data_format] != kElementBytes[like->data_format]) continue;
    f.number_format = r.of<u32>({0, 1, 2, 3, 4, 5, 7, 7});
    f.width = 1 + r.below(dimensions_of(f) == 1 ? 40 : 9);
    f.height = 1 + r.below(9);
    f.depth = 1 + r.below(5);
    f.pitch = f.width + (r.one_in(2) ? 0 : r.below(8));
    f.first_layer = r.below(3); // without a meaning but for arrays
    f.last_layer = f.first_layer + r.below(4);
    if (r.one_in(3))
      for (u32& select : f.dst_sel) select = r.one_in(4) ? r.below(8) : 4 + r.below(4);
    if (f.base + bytes_of(f) <= kDataBytes) return f;
  }
}

SamplerFields random_sampler(Random& r) {
  SamplerFields s;
  for (u32& mode : s.clamp) mode = r.below(8);
  s.compare = r.below(8);
  s.xy_filter = r.of<u32>({0, 1, 1, 2, 3});
  s.z_filter = r.below(4);
  s.border = r.below(3);
  s.unnormalised = r.one_in(3);
  s.truncates = r.one_in(4);
  return s;
}

u32 bits(float x) { return std::bit_cast<u32>(x); }

/// A place in texels around the edges, the middles, and anywhere between.
float around(Random& r, u32 size) {
  const auto n = static_cast<i32>(size);
  const auto edge = static_cast<float>(static_cast<i32>(r.below(size + 5)) - 2);
  switch (r.below(8)) {
  case 0: return edge;
  case 1: return edge + 0.5f;
  case 2: return std::nextafter(edge, r.one_in(2) ? -1e9f : 1e9f);
  case 3: return std::nextafter(edge + 0.5f, r.one_in(2) ? -1e9f : 1e9f);
  case 4: return static_cast<float>(r.below(static_cast<u32>(n) * 512)) / 512; // half a 256th
  case 5: return (static_cast<float>(r.below(1 << 20)) / (1 << 18) - 1.5f) * static_cast<float>(n);
  default: return edge + static_cast<float>(r.below(1 << 20)) / (1 << 20);
  }
}

void randomize_places(WaveState& state, const Images& images, Random& r) {
  for (u32 lane = 0; lane < kWaveSize; ++lane)
    for (u32 d = 0; d < 3; ++d) {
      const ImageFields& image = r.element(images.images);
      // The last coordinate may be a layer.
      const u32 size = is_array(image) && d == dimensions_of(image) ? layers_of(image) : size_of(image, d);
      const float place = around(r, size);
      const bool strange = r.one_in(24);
      state.places[kWholePlaces + d][lane] =
          strange ? random_value(r) : r.below(size + (r.one_in(4) ? 2 : 0));
      state.places[kNormalisedPlaces + d][lane] =
          strange ? random_value(r) : bits(place / static_cast<float>(size));
      state.places[kTexelPlaces + d][lane] = strange ? random_value(r) : bits(place);
    }
  for (u32& level : state.places[kLevelPlace]) level = r.one_in(12) ? random_value(r) : 0;
}

/// One access.
class Access {
public:
  Access(const Program& program, Op op, Random& random)
      : row_(row_of(op)), target_(program.target), r_(random), images_(*program.images) {
    inst_.op = op;
    inst_.encoding = row_.encoding;
  }

  std::optional<Line> make() {
    const u32 n = r_.below(2);
    if (!can_access(images_.images[n]) && !can_access(images_.images[1 - n])) return std::nullopt;
    number_ = can_access(images_.images[n]) ? n : 1 - n;
    modifiers();
    resources();
    address();
    instruction();
    return bad_ ? std::nullopt : std::optional(std::move(line_));
  }

private:
  [[nodiscard]] bool has(unsigned bit) const { return (row_.image & bit) != 0; }
  [[nodiscard]] bool is_atomic() const { return row_.memory.atomic != Atomic::None; }
  [[nodiscard]] bool compares() const {
    return row_.memory.atomic == Atomic::CmpSwap || row_.memory.atomic == Atomic::FcmpSwap;
  }
  [[nodiscard]] bool can_access(const ImageFields& f) const {
    const u32 bytes = kElementBytes[f.data_format];
    if (is_atomic()) return bytes == 4 || bytes == 8;
    return !has(kImgGather4) || dimensions_of(f) == 2;
  }
  [[nodiscard]] const ImageFields& image() const { return images_.images[number_]; }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    append(line(target_, fmt::format(format, std::forward<Args>(args)...)));
  }
  void append(const Line& more) {
    bad_ |= more.words.empty();
    line_.text += (line_.text.empty() ? "" : "\n  ") + more.text;
    line_.words.insert(line_.words.end(), more.words.begin(), more.words.end());
  }

  void modifiers() {
    Modifiers& m = inst_.mods;
    m.dmask = static_cast<u8>(r_.one_in(3) ? 15 : r_.one_in(16) ? 0 : 1 + r_.below(15));
    if (is_atomic()) {
      const u32 dwords = kElementBytes[image().data_format] / 4 * (compares() ? 2 : 1);
      m.dmask = static_cast<u8>((1 << dwords) - 1);
    } else if (row_.memory.accesses()) {
      m.d16 = target_ >= Target::gfx803 && r_.one_in(4);
    }
    m.unorm = has(kImgSampler) ? r_.one_in(3) : r_.one_in(2);
    m.glc = r_.one_in(2);
    m.slc = r_.one_in(4);
    m.da = is_array(image()) ? r_.below(4) != 0 : r_.one_in(4);
    (target_ >= Target::gfx900 ? m.a16 : m.r128) = r_.one_in(target_ >= Target::gfx900 ? 3 : 6);
    if (!row_.memory.store || is_atomic()) {
      m.tfe = r_.one_in(8);
      m.lwe = r_.one_in(8);
    }
  }

  /// T# and S# to two of the aligned parts of s16..s31.
  void resources() {
    const bool swapped = r_.one_in(2);
    resource_ = swapped ? 16 : 24;
    sampler_ = (swapped ? 24 : 16) + 4 * r_.below(2);
    const auto offset = [&](u32 bytes) { return target_ <= Target::gfx700 ? bytes / 4 : bytes; };
    put("s_load_dwordx8 s[{}:{}], s[0:1], {:#x}", resource_, resource_ + 7, offset(kImagesIn + number_ * 32));
    if (has(kImgSampler))
      put("s_load_dwordx4 s[{}:{}], s[0:1], {:#x}", sampler_, sampler_ + 3,
          offset(kSamplersIn + (sampler_number_ = r_.below(4)) * 16));
    put("s_waitcnt lgkmcnt(0)");
  }

  /// The registers of the program's places that the coordinates come from, in order.
  std::vector<unsigned> coordinates() {
    std::vector<unsigned> from;
    if (!row_.memory.accesses()) return {kPlaceVgpr + kLevelPlace};
    const u32 dimensions = dimensions_of(image());
    const bool normalised = !inst_.mods.unorm && !images_.samplers[sampler_number_].unnormalised;
    for (u32 d = 0; d < dimensions; ++d)
      from.push_back(kPlaceVgpr + d +
                     (!has(kImgSampler)             ? kWholePlaces
                      : normalised != r_.one_in(16) ? kNormalisedPlaces
                                                    : kTexelPlaces));
    if (is_array(image()) && inst_.mods.da)
      from.push_back(kPlaceVgpr + dimensions + (has(kImgSampler) ? kTexelPlaces : kWholePlaces));
    if (has(kImgMip)) from.push_back(kPlaceVgpr + kLevelPlace);
    return from;
  }

  /// Coordinates behind what stands in front of them, to the last of v0..v15; at times what is there already.
  void address() {
    u32 front = min_address_dwords(row_.image) - 1;
    if (has(kImgDeriv))
      front += 2 * (inst_.mods.a16 ? (dimensions_of(image()) + 1) / 2 : dimensions_of(image())) - 1;
    const std::vector<unsigned> from = coordinates();
    const u32 body = inst_.mods.a16 ? (static_cast<u32>(from.size()) + 1) / 2 : static_cast<u32>(from.size());
    address_ = r_.below(kValueVgprs - front - body + 1);
    if (r_.one_in(8)) return;
    if (!inst_.mods.a16) {
      for (u32 i = 0; i < body; ++i) put("v_mov_b32 v{}, v{}", address_ + front + i, from[i]);
      return;
    }
    for (u32 i = 0; i < body; ++i) {
      const unsigned to = address_ + front + i, low = from[2 * i];
      const unsigned high = from[std::min<std::size_t>(2 * i + 1, from.size() - 1)];
      if (has(kImgSampler))
        put("v_cvt_pkrtz_f16_f32 v{}, v{}, v{}", to, low, high);
      else
        put("v_lshl_or_b32 v{}, v{}, 16, v{}", to, high, low);
    }
  }

  void instruction() {
    const auto vgpr = [&](unsigned first) {
      Operand o;
      o.kind = OperandKind::Vgpr;
      o.index = static_cast<u16>(first);
      return o;
    };
    const auto sgpr = [&](unsigned first) {
      Operand o = vgpr(first);
      o.kind = OperandKind::Sgpr;
      return o;
    };
    inst_.src[0] = vgpr(address_);
    inst_.src[1] = sgpr(resource_);
    if (has(kImgSampler)) inst_.src[2] = sgpr(sampler_);
    const Operand data = vgpr(r_.below(kValueVgprs - 4)); // and a status
    if (row_.dst[0].present()) inst_.dst[0] = data;
    if (row_.src[3].present()) inst_.src[3] = data;
    const auto words = pack(inst_, target_);
    Inst decoded;
    bad_ |= !words || decode(target_, words->span(), decoded) != DecodeStatus::Ok || decoded.op != inst_.op;
    if (bad_) return;
    Line made;
    made.text = text(decoded, target_);
    made.words.assign(words->span().begin(), words->span().begin() + decoded.size / 4);
    append(made);
  }

  const Row& row_;
  Target target_;
  Random& r_;
  const Images& images_;
  Inst inst_;
  Line line_;
  u32 number_ = 0, sampler_number_ = 0;
  unsigned resource_ = 0, sampler_ = 0, address_ = 0;
  bool bad_ = false;
};

} // namespace

void randomize_images(Program& program, Random& r) {
  program.images.emplace();
  program.images->images = {random_image(r, true), random_image(r, false)};
  for (SamplerFields& sampler : program.images->samplers) sampler = random_sampler(r);
  for (WaveState& wave : program.waves) randomize_places(wave, *program.images, r);
}

Program with_other_images(const Program& program, Random& r) {
  Program other = program;
  auto& images = other.images->images;
  for (unsigned n = 0; n < images.size(); ++n)
    images[n] = random_image(r, n == 0, &program.images->images[n]);
  for (SamplerFields& sampler : other.images->samplers) sampler = random_sampler(r);
  for (WaveState& wave : other.waves) {
    wave = random_wave(r);
    randomize_places(wave, *other.images, r);
  }
  randomize_memory(other, r);
  return other;
}

std::optional<Line> random_image_access(const Program& program, Op op, Random& random) {
  return Access(program, op, random).make();
}

const std::vector<Op>& image_ops(Target target) {
  static const auto all = [] {
    std::array<std::vector<Op>, kNumTargets> ops;
    for (unsigned t = 0; t < kNumTargets; ++t)
      for (const Row& row : rows())
        if (row.encoding == Encoding::Mimg && is_testable(row.op, Target(t))) ops[t].push_back(row.op);
    return ops;
  }();
  return all[static_cast<unsigned>(target)];
}

} // namespace lanewise::differential
