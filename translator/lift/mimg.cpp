// MIMG (7nm guide 8.2 to 8.4; docs/SEMANTICS.md, "Images"). Instructions are taken apart into accesses of
// texels, for any descriptor: what is known of one folds away, here or once a launch is known.
#include "translator/lift/elements.hpp"
#include "translator/lift/image.hpp"
#include "translator/lift/sampler.hpp"

#include <bit>

namespace lanewise::lift {

using ir::FloatKind;
using ir::Op;
using ir::Type;
using runtime::ImageProblem;

namespace {

constexpr unsigned kComponents = 4;

/// Words of descriptors, as Lifter::descriptors() has them.
using Words = std::span<const ValueId>;

Image image_of(Lifter& l, Words words) {
  return Image(l.b, l.target, words.first(l.in->mods.resource_dwords()));
}

TypedElement element_of(Lifter& l, const Image& image) {
  return TypedElement(l.b, image.data_format, image.number_format, TypedElement::Formats::Images);
}

/// The registers that begin an address, one after the other.
class AddressRegisters {
public:
  explicit AddressRegisters(Lifter& l) : l_(l) {}

  ValueId next() { return at(next_++); }
  ValueId at(unsigned n) { return l_.vgpr_of(l_.in->src[0], n); }
  /// Goes over so many values (u32) of 32 bits, or 16 with a16; the number may be known at run time only.
  void skip_derivatives(ValueId dimensions) { skipped_ = dimensions; }

  /// Value n of those that follow: of 32 bits, or 16 with a16.
  ValueId body(unsigned n) {
    const bool packed = l_.in->mods.a16;
    const unsigned reg = next_ + (packed ? n / 2 : n);
    ValueId value = at(reg);
    if (skipped_.valid()) {
      // In each of two directions one for each dimension; 16-bit ones begin in a register of their own.
      for (unsigned dimensions = 1; dimensions <= 3; ++dimensions) {
        const ValueId moved = at(reg + 2 * (packed ? (dimensions + 1) / 2 : dimensions));
        value =
            dimensions == 1 ? moved : l_.b.select(l_.b.icmp(IntPred::Eq, skipped_, dimensions), moved, value);
      }
    }
    return packed ? l_.b.field(value, n % 2 * 16, 16) : value;
  }
  ValueId body_float(unsigned n) {
    const ValueId value = body(n);
    if (!l_.in->mods.a16) return value;
    FpAttr half;
    half.kind = FloatKind::F16;
    return l_.b.fop(Op::FpToFp, half, {value}, static_cast<u64>(FloatKind::F32));
  }

private:
  Lifter& l_;
  unsigned next_ = 0;
  ValueId skipped_; ///< dimensions (u32), or none
};

/// A value of the address behind x by what the image has: y, or what comes without y; only looked at if the
/// image may have it.
template <class Value>
ValueId behind_rows(Emit& b, const Image& image, Value value) {
  if (b.is_const_equal(image.has_y, 1)) return value(2);
  if (b.is_const_equal(image.has_y, 0)) return value(1);
  const ValueId behind_y = value(2);
  return b.select(image.has_y, behind_y, value(1));
}

// ---- without sampler

/// Where an instruction without sampler goes, and the lanes whose texel is in the image.
struct Texel {
  Image::Place place;
  ValueId inside;
};

Texel texel_of(Lifter& l, Image& image) {
  Emit& b = l.b;
  AddressRegisters address(l);
  const auto value = [&](unsigned n) { return address.body(n); };
  const ValueId zero = b.v32c(0);
  const bool layered = l.in->mods.da;
  Texel t;
  t.place.x = value(0);
  t.place.y = b.is_const_equal(image.has_y, 0) ? zero : b.select(image.has_y, value(1), zero);
  t.place.slice = b.is_const_equal(image.has_z, 0) ? zero : b.select(image.has_z, value(2), zero);
  if (layered && !b.is_const_equal(image.has_layers, 0))
    t.place.slice = b.select(image.has_layers, behind_rows(b, image, value), t.place.slice);
  t.inside = image.contains(t.place);
  if ((l.row->image & isa::kImgMip) != 0) {
    // Behind x, then y, then z or the layer, as far as they are there.
    const ValueId has_third = layered ? b.or_(image.has_z, image.has_layers) : image.has_z;
    const ValueId level = b.select(has_third, behind_rows(b, image, [&](unsigned n) { return value(n + 1); }),
                                   behind_rows(b, image, value));
    t.inside = b.and_(t.inside, b.icmp(IntPred::Eq, level, 0));
  }
  return t;
}

/// What moves an element: its size, so that also of an image that is refused something is accessed, and the
/// lanes.
struct Move {
  ValueId bytes, lanes;
  ByteAddress address;
};
Move move_of(Lifter& l, Image& image, const Image::Place& place, ValueId inside, ValueId element_bytes) {
  Emit& b = l.b;
  const ValueId start = image.address(place, element_bytes);
  return {b.select(image.refused(), b.u32c(4), element_bytes),
          b.and_(l.exec(), b.or_(inside, b.splat(image.refused()))),
          [&b, start](u32 byte) { return b.add(start, byte); }};
}

std::array<ValueId, 4> components_at(Lifter& l, Image& image, TypedElement& element,
                                     const Image::Place& place, ValueId inside) {
  const Move m = move_of(l, image, place, inside, element.bytes());
  return element.unpack(load_element(l, m.bytes, m.lanes, m.address));
}

/// What dmask asks for of an element, by dst_sel.
std::vector<ValueId> wanted(Lifter& l, const Image& image, TypedElement& element,
                            const std::array<ValueId, 4>& components) {
  std::vector<ValueId> results;
  for (unsigned k = 0; k < kComponents; ++k)
    if ((l.in->mods.dmask >> k & 1) != 0)
      results.push_back(selected(l.b, image.select[k], components, element.one()));
  return results;
}

void image_load(Lifter& l, Words words) {
  Image image = image_of(l, words);
  TypedElement element = element_of(l, image);
  image.check(element, false);
  const Texel texel = texel_of(l, image);
  const auto components = components_at(l, image, element, texel.place, texel.inside);
  set_results(l, element, wanted(l, image, element, components), l.in->mods.d16);
}

void image_store(Lifter& l, Words words) {
  Image image = image_of(l, words);
  TypedElement element = element_of(l, image);
  image.check(element, false);
  const auto count = static_cast<unsigned>(std::popcount(unsigned{l.in->mods.dmask}));
  const auto given = l.in->mods.d16 ? unpack_16_bits(l, element, count) : registers(l, l.in->src[3], count);
  std::array<ValueId, 4> data;
  for (unsigned k = 0, next = 0; k < kComponents; ++k)
    if ((l.in->mods.dmask >> k & 1) != 0) data[k] = given[next++];
  const Texel texel = texel_of(l, image);
  const Move m = move_of(l, image, texel.place, texel.inside, element.bytes());
  store_element(l, m.bytes, m.lanes, element.pack(stored(l.b, image.select, data)), m.address);
}

void image_atomic(Lifter& l, Words words) {
  Access a;
  a.attr.space = ir::Space::Global;
  a.attr.returns = l.in->mods.glc;
  const auto dwords = static_cast<unsigned>(std::popcount(unsigned{l.in->mods.dmask}));
  if (!set_atomic(a.attr, *l.row)) return l.untranslated("this atomic");
  const unsigned operands = takes_two(a.attr.atomic) ? 2 : 1;
  if (dwords != operands && dwords != 2 * operands) return l.untranslated("a dmask that fits no atomic");
  a.attr.bytes = static_cast<u8>(dwords / operands * 4);
  set_atomic(a.attr, *l.row); // now for the size
  Image image = image_of(l, words);
  TypedElement element = element_of(l, image);
  image.check(element, false);
  image.refuse_if(l.b.icmp(IntPred::Ne, element.bytes(), a.attr.bytes), ImageProblem::AtomicSize);
  const Texel texel = texel_of(l, image);
  const Move m = move_of(l, image, texel.place, texel.inside, element.bytes());
  a.address = {m.address(0)};
  a.lanes = m.lanes;
  const auto old = atomic(l, a, registers(l, l.in->src[3], dwords));
  set_loaded(l, old);
  if (a.attr.returns && l.in->mods.tfe) l.set_vgpr(l.in->dst[0].index + dwords, l.b.v32c(0), l.exec());
}

void get_resinfo(Lifter& l, Words words) {
  Emit& b = l.b;
  Image image = image_of(l, words);
  TypedElement element = element_of(l, image);
  AddressRegisters address(l);
  const ValueId there = b.and_(b.splat(image.is_known()), b.icmp(IntPred::Eq, address.body(0), 0));
  const ValueId slices = b.select(image.has_z, image.depth, image.layers);
  const ValueId sizes[] = {image.width, image.height, slices, b.u32c(1)};
  std::vector<ValueId> results;
  for (unsigned k = 0; k < kComponents; ++k)
    if ((l.in->mods.dmask >> k & 1) != 0) results.push_back(b.select(there, b.splat(sizes[k]), b.v32c(0)));
  set_results(l, element, std::move(results), false);
}

// ---- with sampler

class Sampling {
public:
  Sampling(Lifter& l, Words words)
      : l_(l), b_(l.b), flags_(l.row->image), image_(image_of(l, words)), element_(element_of(l, image_)),
        sampler_(sampler_of(l, words)) {
    image_.check(element_, gathers());
    const ValueId border =
        b_.or_(sampler_.has_border(0), b_.or_(b_.and_(image_.has_y, sampler_.has_border(1)),
                                              b_.and_(image_.has_z, sampler_.has_border(2))));
    image_.refuse_if(b_.or_(sampler_.takes_extremes(), b_.and_(border, sampler_.border_is_in_memory())),
                     ImageProblem::Sampler);
    find_axes();
  }

  void run() {
    if (gathers()) return gather();
    set_results(l_, element_, wanted(l_, image_, element_, filtered()), l_.in->mods.d16);
  }

private:
  using Components = std::array<ValueId, 4>;

  static Sampler sampler_of(Lifter& l, Words words) {
    const Words w = words.subspan(l.in->mods.resource_dwords(), 4);
    return Sampler(l.b, {w[0], w[1], w[2], w[3]}, l.in->mods.unorm);
  }
  [[nodiscard]] bool gathers() const { return (flags_ & isa::kImgGather4) != 0; }
  [[nodiscard]] bool compares() const { return (flags_ & isa::kImgCompare) != 0; }

  void find_axes() {
    Emit& b = b_;
    AddressRegisters address(l_);
    ValueId offsets;
    if ((flags_ & isa::kImgOffset) != 0) offsets = address.next();
    if ((flags_ & isa::kImgBias) != 0) address.next();
    if (compares()) reference_ = address.next();
    if ((flags_ & isa::kImgDeriv) != 0)
      address.skip_derivatives(b.add(b.u32c(1), b.add(b.zext(image_.has_y), b.zext(image_.has_z))));
    const auto value = [&](unsigned n) { return address.body_float(n); };
    const auto offset = [&](unsigned d) {
      return offsets.valid() ? b.signed_field(offsets, 8 * d, 6) : ValueId{};
    };
    const ValueId filters = b.not_(element_.is_integer());
    const ValueId xy = gathers() ? b.u1(true) : b.and_(sampler_.xy_linear, filters);
    const ValueId z = gathers() ? b.u1(false) : b.and_(sampler_.z_linear, filters);
    axes_[0] = sampler_.axis(0, value(0), offset(0), image_.width, xy);
    axes_[1] = b.is_const_equal(image_.has_y, 0)
                   ? nothing()
                   : there_if(image_.has_y,
                              sampler_.axis(1, value(1), offset(1), image_.height, b.and_(xy, image_.has_y)));
    axes_[2] = b.is_const_equal(image_.has_z, 0)
                   ? nothing()
                   : there_if(image_.has_z,
                              sampler_.axis(2, value(2), offset(2), image_.depth, b.and_(z, image_.has_z)));
    if (l_.in->mods.da && !b.is_const_equal(image_.has_layers, 0)) {
      const ValueId layer = layer_of(behind_rows(b, image_, value));
      axes_[2].texel[0] = b.select(image_.has_layers, layer, axes_[2].texel[0]);
    }
  }

  /// A dimension that the image does not have: texel 0.
  Sampler::Axis nothing() {
    Sampler::Axis axis;
    axis.linear = b_.u1(false);
    axis.texel.fill(b_.v32c(0));
    axis.inside.fill(b_.maskc(kAllLanes));
    axis.weight.fill(b_.v32c(kOne));
    return axis;
  }
  /// `axis` if the image has the dimension.
  Sampler::Axis there_if(ValueId has, Sampler::Axis axis) {
    const Sampler::Axis none = nothing();
    for (unsigned k = 0; k < 2; ++k) {
      axis.texel[k] = b_.select(has, axis.texel[k], none.texel[k]);
      axis.inside[k] = b_.or_(axis.inside[k], b_.splat(b_.not_(has)));
    }
    return axis;
  }

  ValueId layer_of(ValueId coordinate) {
    Emit& b = b_;
    FpAttr f32;
    const ValueId nearest = b.fop(Op::FRndne, f32, {coordinate});
    // The largest number of layers is far below what an i32 holds, to which larger numbers saturate; NaN is
    // 0.
    const ValueId number = b.fop_as(Op::FpToSI, Type::V32, f32, {nearest}, 32);
    const ValueId last = b.splat(b.sub(image_.layers, b.u32c(1)));
    return b.binary(Op::SMax, b.binary(Op::SMin, number, last), b.v32c(0));
  }

  /// The components of a texel, as they are compared and filtered.
  Components texel(unsigned x, unsigned y, unsigned z, ValueId counts) {
    Emit& b = b_;
    const ValueId inside = b.and_(b.and_(axes_[0].inside[x], axes_[1].inside[y]), axes_[2].inside[z]);
    Components c =
        components_at(l_, image_, element_, {axes_[0].texel[x], axes_[1].texel[y], axes_[2].texel[z]},
                      b.and_(inside, b.splat(counts)));
    for (unsigned k = 0; k < kComponents; ++k)
      c[k] = b.select(inside, c[k], sampler_.border(k, element_.one()));
    if (compares()) c = {sampler_.compare(reference_, c[0]), b.v32c(0), b.v32c(0), b.v32c(0)};
    return c;
  }

  Components filtered() {
    Emit& b = b_;
    FpAttr f32;
    const auto op = [&](Op o, ValueId x, ValueId y) { return b.fop(o, f32, {x, y}); };
    Components first, sum;
    for (unsigned corner = 0; corner < 8; ++corner) {
      const unsigned at[] = {corner & 1, corner >> 1 & 1, corner >> 2};
      ValueId counts = b.u1(true), weight;
      for (unsigned d = 0; d < 3; ++d) {
        if (at[d] == 1) counts = b.and_(counts, axes_[d].linear);
        const ValueId w = axes_[d].weight[at[d]];
        const ValueId all = weight.valid() ? op(Op::FMul, weight, w) : w;
        weight = weight.valid() ? b.select(axes_[d].linear, all, weight) : w;
      }
      if (b.is_const_equal(counts, 0)) continue;
      const Components c = texel(at[0], at[1], at[2], counts);
      for (unsigned k = 0; k < kComponents; ++k) {
        const ValueId product = op(Op::FMul, weight, c[k]);
        if (corner == 0)
          first[k] = c[k], sum[k] = product;
        else
          sum[k] = b.select(counts, op(Op::FAdd, sum[k], product), sum[k]);
      }
    }
    const ValueId linear = b.or_(axes_[0].linear, b.or_(axes_[1].linear, axes_[2].linear));
    for (unsigned k = 0; k < kComponents; ++k) sum[k] = b.select(linear, sum[k], first[k]);
    return sum;
  }

  void gather() {
    constexpr std::array<std::array<unsigned, 2>, 4> kOrder = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
    const unsigned wanted = l_.in->mods.dmask == 0 ? 0 : std::countr_zero(unsigned{l_.in->mods.dmask});
    std::vector<ValueId> results;
    for (const auto& [x, y] : kOrder)
      results.push_back(selected(b_, image_.select[wanted], texel(x, y, 0, b_.u1(true)), element_.one()));
    set_results(l_, element_, std::move(results), l_.in->mods.d16);
  }

  static constexpr u32 kOne = 0x3f80'0000;

  Lifter& l_;
  Emit& b_;
  unsigned flags_;
  Image image_;
  TypedElement element_;
  Sampler sampler_;
  ValueId reference_;
  std::array<Sampler::Axis, 3> axes_; ///< x, y, and z or the layer
};

void image_sample(Lifter& l, Words words) { Sampling(l, words).run(); }

/// `access`, once what is known of the descriptors has been found.
template <void (*access)(Lifter&, Words)>
void with_descriptors(Lifter& l) {
  if (const auto words = l.descriptors()) access(l, *words);
}

Rule rule_for(const isa::Row& row) {
  if ((row.image & isa::kImgPacked) != 0) return nullptr;
  if ((row.image & isa::kImgQuery) != 0)
    return (row.image & isa::kImgSampler) != 0 ? nullptr : with_descriptors<get_resinfo>;
  if ((row.image & isa::kImgSampler) != 0)
    return row.op == isa::Op::image_gather4h ? nullptr : with_descriptors<image_sample>;
  if (row.memory.atomic != isa::Atomic::None) return with_descriptors<image_atomic>;
  return row.memory.store ? with_descriptors<image_store> : with_descriptors<image_load>;
}

} // namespace

void add_image_rules(Rules& rules) {
  for (const isa::Row& row : isa::rows())
    if (row.encoding == isa::Encoding::Mimg)
      if (const Rule rule = rule_for(row)) rules[static_cast<unsigned>(row.op)] = rule;
}

} // namespace lanewise::lift
