// Accesses in rows: of elements at the same distance from lane to lane.
#pragma once

#include "translator/ir/access.hpp"

namespace lanewise::ir {

/// Bytes from one lane's element to the next one's.
constexpr i64 row_stride(const MemAttr& mem) {
  return i64{mem.stride} << (mem.form == AddressForm::Row ? 0 : mem.scale);
}

/// Whether each lane's element begins where the one before ends.
constexpr bool is_consecutive(const MemAttr& mem) { return row_stride(mem) == mem.bytes; }

/// Likewise within each short row, of accesses of which no more is known.
constexpr i64 short_row_stride(const MemAttr& mem) {
  return i64{mem.short_stride} << (mem.form == AddressForm::Indexed ? mem.scale : 0);
}
constexpr bool is_consecutive_in_short_rows(const MemAttr& mem) {
  return mem.short_row != 0 && short_row_stride(mem) == mem.bytes;
}

/// Whether no lane of a row in the LDS or private memory is beyond the end, whoever takes part. Not of a
/// spread load, whose mask says whose it is.
constexpr bool are_all_inside(const MemAttr& mem) {
  const bool rows = mem.form == AddressForm::Row || (mem.space == Space::Lds && mem.short_row != 0);
  return rows && mem.in_range && !mem.spread;
}

/// Gathers and scatters multiply indices by no more than 2^3.
inline constexpr unsigned kMaxGatherScale = 3;

/// Bytes from one lane's element to the next one's, in rows or in each short row.
constexpr i64 element_stride(const MemAttr& mem) {
  return mem.short_row != 0 ? short_row_stride(mem) : row_stride(mem);
}

/// Whether stores of such rows are put together with those of the other parts of the same elements: it takes
/// few shuffles for small elements, and for the dwords of such of three or four; of larger ones, pieces of 16
/// bytes are put together.
constexpr bool may_be_component(const MemAttr& mem) {
  constexpr i64 kMostBytes = 252; // whole dwords that a FaultSite can tell
  const i64 stride = element_stride(mem);
  if (mem.bytes >= stride || (stride <= 16 && mem.short_row != 0)) return false;
  if (stride > 16) return stride % 4 == 0 && stride <= kMostBytes;
  if (stride == 12 || stride == 16) return mem.bytes % 4 == 0;
  return mem.bytes <= 4 && (stride <= 4 || stride == 6 || stride == 8);
}

/// Whether elements at that distance, stored whole, become whole lines: of records, registers hold so many
/// bytes (x86/select_records.cpp).
constexpr bool fill_lines(i64 stride, unsigned gang_lanes) {
  return stride <= 16 ? stride % 4 == 0 : stride % 16 == 0 && stride <= i64{6} * gang_lanes;
}

} // namespace lanewise::ir
