#include "translator/phases/own_places.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8;
constexpr u32 kMaxColumns = 1 << 12; ///< bytes, of which the lanes of a wave rarely have more

} // namespace

void OwnPlaces::Sum::add_rest(const passes::Limits& limits, unsigned shift) {
  rest.min += std::min<u64>(limits.min, ~u32{0}) << shift; // Of few terms, such sums do not wrap.
  rest.max += std::min<u64>(limits.max, ~u32{0}) << shift;
  rest.ones |= limits.ones << shift;
}

/// Bits that may be set in some lane.
u64 OwnPlaces::ones(ValueId v) const {
  const auto* known = ids_.of(v);
  if (known == nullptr) return limits_.ones(v);
  u64 ones = 0;
  for (const u64 value : *known) ones |= value;
  return ones;
}

/// Adds v << shift.
void OwnPlaces::add(Sum& sum, ValueId v, unsigned shift, unsigned depth) const {
  if (const auto* known = ids_.of(v)) {
    sum.own.resize(known->size(), 0);
    for (std::size_t n = 0; n < known->size(); ++n)
      sum.own[n] = static_cast<u32>(sum.own[n] + ((*known)[n] << shift));
    return;
  }
  const InstId i = f_.def_id(v);
  const Op op = i.valid() && depth < kMaxDepth ? f_[i].op : Op::EndPgm;
  const auto x = i.valid() ? f_.operands(i) : std::span<const ValueId>{};
  u64 bits = 0;
  if (op == Op::Splat) return add(sum, x[0], shift, depth + 1);
  if (op == Op::Add || (op == Op::Or && (ones(x[0]) & ones(x[1])) == 0)) {
    add(sum, x[0], shift, depth + 1);
    return add(sum, x[1], shift, depth + 1);
  }
  if (op == Op::Shl && f_.is_const(x[1], &bits) && bits + shift < 32)
    return add(sum, x[0], shift + static_cast<unsigned>(bits), depth + 1);
  if (op == Op::FunnelShr && f_.is_const(x[2], &bits) && (bits & 31) != 0) {
    const unsigned down = bits & 31, up = 32 - down;
    const passes::Limits low = limits_.of(x[1]);
    sum.add_rest({.max = low.max >> down, .ones = low.ones >> down, .min = low.min >> down}, shift);
    if (up + shift < 32) add(sum, x[0], up + shift, depth + 1);
    return;
  }
  sum.add_rest(limits_.of(v), shift);
}

std::optional<OwnPlaces::Places> OwnPlaces::find_places(InstId i) const {
  const Inst& inst = f_[i];
  const bool is_plain = inst.op == Op::Load || inst.op == Op::Store;
  const bool is_row = inst.mem.form == AddressForm::Row;
  if (!is_plain || inst.mem.space != Space::Lds || (!is_row && inst.mem.form != AddressForm::Lanes) ||
      inst.mem.spread || inst.mem.stride < 0 || f_[inst.block].in_ranks)
    return std::nullopt;
  const auto x = f_.operands(i);
  Places places{.address = {},
                .mask = ids_.at_most(x.back()),
                .offset = static_cast<u32>(inst.imm),
                .step = is_row ? static_cast<u32>(inst.mem.stride) : 0,
                .bytes = inst.mem.bytes,
                .kind = 0,
                .spans = {}};
  const std::array<u32, 4> kind = {x[0].index, x.back().index, places.step, places.bytes};
  places.kind = kinds_.try_emplace(kind, static_cast<u32>(kinds_.size())).first->second;
  add(places.address, x[0], 0, 0);
  if (places.address.own.empty()) return std::nullopt;
  find_spans(places);
  return places;
}

void OwnPlaces::find_spans(Places& places) const {
  places.spans.resize(ids_.num_lanes() / gang_lanes_);
  for (u32 n = 0; n < ids_.num_lanes(); ++n) {
    if (!places.has(n)) continue;
    Span& span = places.spans[n / gang_lanes_];
    const u64 first = places.first(n, n % gang_lanes_);
    span.first = std::min(span.first, first + places.address.rest.min);
    span.end = std::max(span.end, first + places.address.rest.max + places.bytes);
    if (span.end > u64{1} << 32) return places.spans.clear();
  }
}

const OwnPlaces::Places* OwnPlaces::places_of(InstId i) const {
  const auto [known, is_new] = places_.try_emplace(i.index);
  if (is_new) known->second = find_places(i);
  return known->second ? &*known->second : nullptr;
}

bool OwnPlaces::have_parts(const Places& a, const Places& b) const {
  if (a.spans.empty() || b.spans.empty()) return false;
  const std::size_t gangs = ids_.wave_lanes() / gang_lanes_; // of a wave
  for (std::size_t g = 0; g < a.spans.size(); ++g)
    for (std::size_t h = g / gangs * gangs; h < (g / gangs + 1) * gangs; ++h)
      if (g != h && a.spans[g].meets(b.spans[h])) return false;
  return true;
}

bool OwnPlaces::have_columns(const Places& a, const Places& b) const {
  const u64 ones = a.address.rest.ones | b.address.rest.ones | kMaxColumns;
  const u32 columns = u32{1} << std::countr_zero(ones);
  if (columns < a.bytes || columns < b.bytes) return false;
  const u64 kinds = u64{a.kind} << 20 | b.kind;
  const u64 both = kinds << 24 | (a.offset & (columns - 1)) << 12 | (b.offset & (columns - 1));
  const auto [known, is_new] = columns_.try_emplace(both);
  if (is_new) known = are_columns_of_gangs(a, b, columns);
  return known;
}

bool OwnPlaces::are_columns_of_gangs(const Places& a, const Places& b, u32 columns) const {
  constexpr u32 kNone = ~u32{0}, kSeveral = kNone - 1;
  std::vector<u32> owner(columns); // the gang that a lets get there
  for (u32 wave = 0; wave < ids_.num_lanes(); wave += ids_.wave_lanes()) {
    std::ranges::fill(owner, kNone);
    for (const Places* places : {&a, &b})
      for (u32 n = wave; n < wave + ids_.wave_lanes(); ++n) {
        if (!places->has(n)) continue;
        const u64 first = places->first(n, n % gang_lanes_);
        for (u32 byte = 0; byte < places->bytes; ++byte) {
          u32& gang = owner[(first + byte) & (columns - 1)];
          const bool is_others = gang != kNone && gang != n / gang_lanes_;
          if (places == &b && is_others) return false;
          if (places == &a) gang = is_others ? kSeveral : n / gang_lanes_;
        }
      }
  }
  return true;
}

bool OwnPlaces::keep_apart(InstId first, InstId second) const {
  const Places* a = places_of(first);
  const Places* b = a != nullptr ? places_of(second) : nullptr;
  if (b == nullptr || (a->address.rest.ones | b->address.rest.ones) == 0) return false; // Ids alone tell.
  return have_parts(*a, *b) || have_columns(*a, *b);
}

} // namespace lanewise::phases
