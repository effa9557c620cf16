#include "translator/lift/elements.hpp"

namespace lanewise::lift {

namespace {

/// The accesses that together move an element of 1, 2, 4, 8, 12 or 16 bytes, the size perhaps known at run
/// time only.
struct Part {
  u32 offset, bytes;
  ValueId wanted; ///< u1
};
std::vector<Part> parts_of(Emit& b, ValueId size) {
  const auto is = [&](IntPred p, u32 n) { return b.icmp(p, size, n); };
  const Part all[] = {{0, 1, is(IntPred::Eq, 1)},   {0, 2, is(IntPred::Eq, 2)},
                      {0, 4, is(IntPred::UGe, 4)},  {4, 4, is(IntPred::UGe, 8)},
                      {8, 4, is(IntPred::UGe, 12)}, {12, 4, is(IntPred::UGe, 16)}};
  std::vector<Part> parts;
  for (const Part& p : all)
    if (!b.is_const_equal(p.wanted, 0)) parts.push_back(p);
  return parts;
}

Access access_of(const Part& part, ValueId lanes, Emit& b, const ByteAddress& address) {
  Access a;
  a.attr.space = ir::Space::Global;
  a.attr.bytes = static_cast<u8>(part.bytes);
  a.address = {address(part.offset)};
  a.lanes = b.and_(lanes, b.splat(part.wanted));
  return a;
}

// 16-bit components share registers from gfx900 on; gfx803 gives each its own.

std::vector<ValueId> pack_16_bits(Lifter& l, TypedElement& element, std::span<const ValueId> components) {
  Emit& b = l.b;
  std::vector<ValueId> packed;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const ValueId bits = element.to_16_bits(components[i]);
    if (l.gfx9() && i % 2 != 0)
      packed.back() = b.or_(packed.back(), b.shl(bits, 16));
    else
      packed.push_back(bits);
  }
  // One component keeps the other half of its register.
  const isa::Half half = l.row->memory.half;
  if (half == isa::Half::Hi) return {b.or_(b.and_(l.old32(), 0xffff), b.shl(packed[0], 16))};
  if (l.gfx9() && components.size() == 1) packed[0] = b.or_(b.and_(l.old32(), 0xffff'0000u), packed[0]);
  return packed;
}

} // namespace

std::array<ValueId, 4> load_element(Lifter& l, ValueId bytes, ValueId lanes, const ByteAddress& address) {
  Emit& b = l.b;
  std::array<ValueId, 4> dwords;
  dwords.fill(b.v32c(0));
  for (const Part& p : parts_of(b, bytes)) {
    ValueId& dword = dwords[p.offset / 4];
    dword = b.or_(dword, load(l, access_of(p, lanes, b, address))[0]);
  }
  return dwords;
}

void store_element(Lifter& l, ValueId bytes, ValueId lanes, const std::array<ValueId, 4>& dwords,
                   const ByteAddress& address) {
  for (const Part& p : parts_of(l.b, bytes))
    store(l, access_of(p, lanes, l.b, address), std::span(&dwords[p.offset / 4], 1));
}

ValueId selected(Emit& b, ValueId select, const std::array<ValueId, 4>& components, ValueId one) {
  ValueId value = b.select(b.icmp(IntPred::Eq, select, 1), one, b.v32c(0));
  for (u32 c = 0; c < 4; ++c) value = b.select(b.icmp(IntPred::Eq, select, 4 + c), components[c], value);
  return value;
}

std::array<ValueId, 4> stored(Emit& b, std::span<const ValueId> selects, std::span<const ValueId> data) {
  std::array<ValueId, 4> components;
  components.fill(b.v32c(0));
  for (u32 c = 0; c < 4; ++c)
    for (std::size_t k = data.size(); k-- > 0;)
      if (data[k].valid())
        components[c] = b.select(b.icmp(IntPred::Eq, selects[k], 4 + c), data[k], components[c]);
  return components;
}

void set_results(Lifter& l, TypedElement& element, std::vector<ValueId> results, bool halves) {
  if (halves) results = pack_16_bits(l, element, results);
  set_loaded(l, results);
  if (l.in->mods.tfe || l.in->mods.lwe)
    l.set_vgpr(l.in->dst[0].index + static_cast<u32>(results.size()), l.b.v32c(0), l.exec());
}

std::vector<ValueId> unpack_16_bits(Lifter& l, TypedElement& element, unsigned count) {
  std::vector<ValueId> components;
  for (unsigned i = 0; i < count; ++i) {
    const ValueId reg = l.vgpr_of(l.in->src[3], l.gfx9() ? i / 2 : i);
    const bool upper = l.row->memory.half == isa::Half::Hi || (l.gfx9() && i % 2 != 0);
    components.push_back(element.from_16_bits(upper ? l.b.lshr(reg, 16) : reg));
  }
  return components;
}

} // namespace lanewise::lift
