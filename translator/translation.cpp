#include "translator/translation.hpp"

#include "translator/x86/slow_access.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::translator {

namespace {

using x86::FaultEntry;
using x86::FaultSite;
using x86::FaultTable;

constexpr std::size_t kOriginBytes = 12, kAccessBytes = 33; // as written

void write(ByteWriter& out, const FaultEntry& e) {
  out.number(e.code_offset);
  for (const u8 byte : {e.base, e.index, e.scale_log2, e.mask, e.lane_reg, e.lanes}) out.number(byte);
  out.number(static_cast<u8>(e.mask_is_vec));
  out.number(e.disp);
  out.number(e.site.kind);
  for (const u8 byte : {e.site.bytes, e.site.lane_offset, e.site.distance}) out.number(byte);
  out.number(e.site.early);
  out.number(static_cast<u8>(e.site.index64));
  out.number(static_cast<u8>(e.site.is_write));
  out.number(static_cast<u8>(e.site.listed));
  out.number(e.site.element);
  out.number(e.site.pc);
}

FaultEntry read_access(ByteReader& in) {
  FaultEntry e;
  e.code_offset = in.number<u32>();
  for (u8* byte : {&e.base, &e.index, &e.scale_log2, &e.mask, &e.lane_reg, &e.lanes}) *byte = in.number<u8>();
  e.mask_is_vec = in.number<u8>() != 0;
  e.disp = in.number<i32>();
  e.site.kind = in.number<FaultSite::Kind>();
  for (u8* byte : {&e.site.bytes, &e.site.lane_offset, &e.site.distance}) *byte = in.number<u8>();
  e.site.early = in.number<i16>();
  e.site.index64 = in.number<u8>() != 0;
  e.site.is_write = in.number<u8>() != 0;
  e.site.listed = in.number<u8>() != 0;
  e.site.element = in.number<u8>();
  e.site.pc = in.number<u64>();
  return e;
}

/// Whether the signal handler can work with the entry: it indexes saved registers by these numbers.
bool is_sound(const FaultEntry& e) {
  constexpr u8 kNone = 0xff;
  const auto below = [](u8 number, u8 limit) { return number < limit || number == kNone; };
  const u8 masks = e.mask_is_vec ? 32 : 8;
  const bool table = e.site.kind == FaultSite::Kind::Table;
  const bool by_bytes = e.mask != kNone && !e.mask_is_vec; // The mask has 64 bits.
  const bool indexed = table || e.site.kind == FaultSite::Kind::Indexed;
  return e.site.kind <= FaultSite::Kind::Indexed && below(e.base, 16) && below(e.index, indexed ? 32 : 16) &&
         e.scale_log2 < 4 && below(e.mask, masks) && below(e.lane_reg, 16) &&
         (e.mask == kNone || e.lanes * e.site.bytes <= 64) &&
         e.site.distance < (table      ? 32
                            : by_bytes ? 5
                                       : 256);
}

} // namespace

void write(ByteWriter& out, const Translation& translation) {
  out.number(translation.simd);
  out.number(translation.extras);
  out.number(translation.frame_bytes);
  out.number(static_cast<u8>(translation.has_barriers));
  out.number(static_cast<u8>(translation.packs));
  out.number(translation.deferred_add_bytes);
  out.number(translation.traffic_bytes);
  out.number(translation.team_lanes);
  out.number(static_cast<u8>(translation.machine.has_slow_accesses));
  const FaultTable& faults = translation.machine.faults;
  out.number(faults.gang_lane_bytes);
  out.number(static_cast<u64>(faults.accesses.size()));
  for (const FaultEntry& e : faults.accesses) write(out, e);
  out.number(static_cast<u64>(faults.origins.size()));
  for (const FaultTable::Origin& origin : faults.origins) {
    out.number(origin.code_offset);
    out.number(origin.pc);
  }
}

std::optional<Translation> read_translation(ByteReader& in, std::span<const u8> code) {
  Translation t;
  t.simd = in.number<Simd>();
  t.extras = in.number<u32>();
  t.frame_bytes = in.number<u32>();
  t.has_barriers = in.number<u8>() != 0;
  t.packs = in.number<u8>() != 0;
  t.deferred_add_bytes = in.number<u32>();
  t.traffic_bytes = in.number<u32>();
  t.team_lanes = in.number<u32>();
  t.machine.has_slow_accesses = in.number<u8>() != 0;
  FaultTable& faults = t.machine.faults;
  faults.gang_lane_bytes = in.number<u32>();
  for (std::size_t n = in.count(kAccessBytes); n > 0; --n) faults.accesses.push_back(read_access(in));
  for (std::size_t n = in.count(kOriginBytes); n > 0; --n) {
    const u32 offset = in.number<u32>();
    faults.origins.push_back({offset, in.number<u64>()});
  }
  constexpr u32 kMaxFrame = 64 << 20;
  const bool sound =
      in.ok() && t.simd <= Simd::Avx512 && t.frame_bytes >= runtime::kFrameSlots + x86::kTempBytes &&
      (t.deferred_add_bytes == 0 || t.deferred_add_bytes == 4 || t.deferred_add_bytes == 8) &&
      t.frame_bytes % 64 == 0 && t.frame_bytes <= kMaxFrame && std::has_single_bit(t.team_lanes) &&
      t.team_lanes >= gang_lanes(t.simd) && t.team_lanes <= kWaveSize && faults.gang_lane_bytes != 0 &&
      !code.empty() && std::all_of(faults.accesses.begin(), faults.accesses.end(), is_sound);
  if (!sound) return std::nullopt;
  t.machine.bytes.assign(code.begin(), code.end());
  return t;
}

} // namespace lanewise::translator
