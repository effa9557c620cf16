// MIMG with a sampler: texels around coordinates (7nm guide 8.4; docs/SEMANTICS.md, "Images").
#include "runtime/interp/image_resource.hpp"

#include <cmath>

namespace lanewise::interp {
namespace {

/// An S#, as one instruction sees it.
struct Sampler {
  u32 clamp[3] = {}; ///< modes, by dimension
  u32 compare = 0, border = 0, filter_mode = 0;
  bool normalised = true, truncates = false, linear_xy = false, linear_z = false;
};

Sampler sampler_of(const Wave& w, const Code& c) {
  const u32* word = w.sgpr + c.src[2].index;
  Sampler s;
  for (unsigned d = 0; d < 3; ++d) s.clamp[d] = word[0] >> 3 * d & 7;
  s.compare = word[0] >> 12 & 7;
  s.filter_mode = word[0] >> 29 & 3;
  s.border = word[3] >> 30;
  s.normalised = !c.inst->mods.unorm && (word[0] >> 15 & 1) == 0;
  s.truncates = (word[0] >> 27 & 1) != 0;
  const u32 xy = word[2] >> 20 & 3, z = word[2] >> 24 & 3;
  s.linear_xy = xy == 1 || xy == 3;
  s.linear_z = z == 2 || (z == 0 && s.linear_xy);
  return s;
}

constexpr u32 kWrap = 0, kMirror = 1;
/// Outside in these modes is the border; in the others texels are those of the image.
bool has_border(u32 clamp) { return clamp >= 4; }

ImageProblem problem_of(const Image& image, const Sampler& s) {
  if (image.problem != ImageProblem::None) return image.problem;
  bool border_from_memory = false;
  for (unsigned d = 0; d < image.dimensions; ++d)
    border_from_memory |= has_border(s.clamp[d]) && s.border == 3;
  return s.filter_mode != 0 || border_from_memory ? ImageProblem::Sampler : ImageProblem::None;
}

// Where a NaN comes out it is the first operand that is one.
float chosen(float result, float a, float b) {
  return !is_nan(result) ? result : is_nan(a) ? quieted(a) : is_nan(b) ? quieted(b) : default_nan<float>();
}
float sum(float a, float b) { return chosen(a + b, a, b); }
float difference(float a, float b) { return chosen(a - b, a, b); }
float product(float a, float b) { return chosen(a * b, a, b); }

/// Where a lane's address operands lie.
struct Operands {
  unsigned offset = 0, reference = 0; ///< registers, if the instruction has them
  AddressRegisters body;
};

Operands operands_of(const Code& c, const Image& image) {
  const auto has = [&](unsigned bit) { return (c.row->image & bit) != 0; };
  Operands at;
  at.body.halves = c.inst->mods.a16;
  unsigned reg = c.src[0].index;
  if (has(isa::kImgOffset)) at.offset = reg++;
  if (has(isa::kImgBias)) ++reg;
  if (has(isa::kImgCompare)) at.reference = reg++;
  if (has(isa::kImgDeriv)) reg += 2 * (at.body.halves ? (image.dimensions + 1) / 2 : image.dimensions);
  at.body.first = reg;
  return at;
}

float coordinate(const Wave& w, const Operands& at, unsigned lane, unsigned i) {
  const u32 x = at.body.component(w, lane, i);
  return at.body.halves ? half_to_float(x) : from_raw<float>(x);
}

/// A coordinate in texels of n, counted from the edge of the first.
float in_texels(float c, float o, bool has_offset, u32 size, u32 clamp, bool normalised) {
  const auto n = static_cast<float>(size);
  const float moved = !has_offset ? c : normalised ? c + o / n : c + o;
  const float s = normalised ? moved : moved / n;
  float u = 0;
  switch (clamp) {
  case kWrap: u = (s - std::floor(s)) * n; break;
  case kMirror: u = (s - 2 * std::floor(s / 2)) * n; break;
  default: u = normalised ? s * n : moved; break;
  }
  if (clamp == 3 || clamp == 5 || clamp == 7) u = std::fabs(u);
  if (is_nan(u)) return 0;
  return clamp == 4 || clamp == 5 ? std::clamp(u, 0.0f, n) : u;
}

/// The texels that a coordinate takes in one dimension, with their weights.
struct Axis {
  static constexpr u32 kBorder = ~0u;
  u32 texel[2] = {};
  float weight[2] = {1, 0};
  unsigned count = 1;
};

u32 texel_of(i32 i, i32 n, u32 clamp) {
  if (clamp == kWrap) i = i < 0 ? i + n : i >= n ? i - n : i;
  if (clamp == kMirror && i >= n) i = 2 * n - 1 - i;
  if (has_border(clamp)) return i < 0 || i >= n ? Axis::kBorder : static_cast<u32>(i);
  return static_cast<u32>(std::clamp(i, 0, n - 1));
}

/// Where nearest texels are looked for, unless coordinates are truncated.
float in_256ths(float u) { return round_even(u * 256) / 256; }

Axis axis_of(float u, u32 size, u32 clamp, bool linear) {
  const auto n = static_cast<i32>(size);
  const float v = linear ? u - 0.5f : u, below = std::floor(v);
  const i32 end = (clamp == kMirror ? 2 * n : n) + 1;
  const auto f = static_cast<i32>(std::clamp(below, -2.0f, static_cast<float>(end)));
  Axis axis;
  axis.texel[0] = texel_of(f, n, clamp);
  if (!linear) return axis;
  axis.texel[1] = texel_of(f + 1, n, clamp);
  axis.weight[1] = difference(v, below);
  axis.weight[0] = difference(1, axis.weight[1]);
  axis.count = 2;
  return axis;
}

Components border_colour(const Image& image, const Sampler& s) {
  const u32 one = is_integer(image.format.num) ? 1 : raw(1.0f);
  Components colour;
  for (unsigned k = 0; k < 4; ++k)
    if (s.border == 2 || (s.border == 1 && k == 3)) colour.value[k] = one;
  return colour;
}

bool holds(u32 compare, float reference, float x) {
  switch (compare) {
  case 1: return reference < x;
  case 2: return reference == x;
  case 3: return reference <= x;
  case 4: return reference > x;
  case 5: return reference != x;
  case 6: return reference >= x;
  case 7: return true;
  default: return false;
  }
}

/// What one lane samples.
class Sample {
public:
  Sample(Wave& w, const Code& c, const Image& image, const Sampler& sampler, unsigned lane)
      : w_(w), c_(c), image_(image), s_(sampler), at_(operands_of(c, image)), lane_(lane) {
    const bool filters = !is_integer(image.format.num), gathers = (c.row->image & isa::kImgGather4) != 0;
    for (unsigned d = 0; d < image.dimensions; ++d) {
      const bool linear = gathers || (filters && (d == 2 ? s_.linear_z : s_.linear_xy));
      const float u = in_texels(coordinate(w, at_, lane, d), offset(d), has(isa::kImgOffset), image.size[d],
                                s_.clamp[d], s_.normalised);
      axis_[d] = axis_of(linear || s_.truncates ? u : in_256ths(u), image.size[d], s_.clamp[d], linear);
    }
    if (has_layer(c, image)) layer_ = layer(coordinate(w, at_, lane, image.dimensions));
  }

  /// All texels, filtered.
  Components filtered() {
    Components out;
    bool first = true;
    for (unsigned z = 0; z < axis_[2].count; ++z)
      for (unsigned y = 0; y < axis_[1].count; ++y)
        for (unsigned x = 0; x < axis_[0].count; ++x) {
          const Components in = texel(x, y, z);
          if (axis_[0].count * axis_[1].count * axis_[2].count == 1) return in;
          add(out, weight(x, y, z), in, first);
          first = false;
        }
    return out;
  }

  /// One of two by two by two.
  Components texel(unsigned x, unsigned y, unsigned z) {
    const u32 i = axis_[0].texel[x], j = axis_[1].texel[y], k = axis_[2].texel[z];
    const bool is_border = i == Axis::kBorder || j == Axis::kBorder || k == Axis::kBorder;
    const Components colour = is_border ? border_colour(image_, s_)
                                        : load_texel(w_, image_, lane_, {i, j, image_.is_array ? layer_ : k});
    if (!has(isa::kImgCompare)) return colour;
    const float reference = from_raw<float>(w_.vgpr[at_.reference & 255][lane_]);
    return {{holds(s_.compare, reference, from_raw<float>(colour.value[0])) ? raw(1.0f) : 0}};
  }

private:
  [[nodiscard]] bool has(unsigned bit) const { return (c_.row->image & bit) != 0; }

  [[nodiscard]] float offset(unsigned dimension) const {
    if (!has(isa::kImgOffset)) return 0;
    return static_cast<float>(sign_extend(w_.vgpr[at_.offset & 255][lane_] >> 8 * dimension & 63, 6));
  }

  [[nodiscard]] u32 layer(float c) const {
    if (is_nan(c)) return 0;
    return static_cast<u32>(std::clamp(round_even(c), 0.0f, static_cast<float>(image_.layers - 1)));
  }

  [[nodiscard]] float weight(unsigned x, unsigned y, unsigned z) const {
    float w = 1;
    bool first = true;
    for (const auto& [axis, i] :
         {std::pair{&axis_[0], x}, std::pair{&axis_[1], y}, std::pair{&axis_[2], z}}) {
      if (axis->count == 1) continue;
      w = first ? axis->weight[i] : product(w, axis->weight[i]);
      first = false;
    }
    return w;
  }

  static void add(Components& total, float weight, const Components& in, bool first) {
    for (unsigned k = 0; k < 4; ++k) {
      const float term = product(weight, from_raw<float>(in.value[k]));
      total.value[k] = raw(first ? term : sum(from_raw<float>(total.value[k]), term));
    }
  }

  Wave& w_;
  const Code& c_;
  const Image& image_;
  const Sampler& s_;
  Operands at_;
  unsigned lane_;
  Axis axis_[3];
  u32 layer_ = 0;
};

/// `compute` makes the results of one lane of its Sample.
template <class Compute>
const Code* for_each_sample(Wave& w, const Code& c, Compute compute) {
  w.use_mxcsr(w.mxcsr_formats);
  const Image image = image_of(w, c);
  const Sampler sampler = sampler_of(w, c);
  const ImageProblem problem = problem_of(image, sampler);
  Components results[kWaveSize];
  for_each_lane(w.exec(), [&](unsigned lane) {
    if (problem != ImageProblem::None) return access_problem(w, lane, problem, false);
    Sample sample(w, c, image, sampler, lane);
    results[lane] = compute(image, sample);
  });
  const DataRegisters to = data_of(c, c.dst);
  for_each_lane(w.exec(),
                [&](unsigned lane) { put_components(w, to, lane, results[lane], image.format.num); });
  clear_status(w, c, to.dwords(w));
  return next(c);
}

} // namespace

const Code* sample(Wave& w, const Code& c) {
  return for_each_sample(w, c, [&](const Image& image, Sample& sample) {
    return asked_for(c, arranged(image, sample.filtered()));
  });
}

const Code* gather4(Wave& w, const Code& c) {
  const auto k = static_cast<unsigned>(std::countr_zero(c.inst->mods.dmask | 16u)) & 3;
  return for_each_sample(w, c, [&](const Image& image, Sample& sample) {
    const auto component = [&](unsigned x, unsigned y) {
      return arranged(image, sample.texel(x, y, 0)).value[k];
    };
    return Components{{component(0, 1), component(1, 1), component(1, 0), component(0, 0)}};
  });
}

} // namespace lanewise::interp
