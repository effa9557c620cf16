// Elements with a format, in buffers and in images: components in memory, as registers see them, and packed
// into halves of registers.
#pragma once

#include "runtime/interp/memory.hpp"

namespace lanewise::interp {

/// Number formats (7nm guide 13.6.1). 6 is reserved, and taken for 4.
enum NumFormat : u8 { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };

inline bool is_integer(NumFormat f) { return f == kUint || f == kSint; }

/// Bits of the components, from the least significant on (7nm guide 8.4.4).
struct DataFormat {
  u8 bits[4] = {};
  [[nodiscard]] unsigned count() const {
    unsigned n = 0;
    while (n < 4 && bits[n] != 0) ++n;
    return n;
  }
  [[nodiscard]] unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
};

struct Format {
  DataFormat data; ///< without components where the number means none
  NumFormat num;
};

/// By the numbers in a resource. Buffers have data formats below 16.
Format format_of(u32 data, u32 number);

/// As registers see them: float bits, or integers.
struct Components {
  u32 value[4] = {};
};

/// What dst_sel says: 0, 1, or one of the components.
u32 selected(u32 select, const Components& components, NumFormat format);

/// A whole element, up to 16 bytes, as bit fields.
struct Texel {
  u8 bytes[16] = {};
};

// The host rounds to nearest and keeps denormals: see Wave::mxcsr_formats.
Components decoded(const Texel& texel, const Format& format);
Texel encoded(const Components& components, const Format& format);

/// Moves the element's bytes piece by piece: by components of 32 bits, or in one piece if it is smaller.
template <class Move>
void for_each_piece(unsigned bytes, Move move) {
  for (unsigned at = 0; at < bytes;) {
    const unsigned piece = std::min(bytes - at, 4u); // no format has 3 bytes
    move(at, piece);
    at += piece;
  }
}

/// Where the components of an instruction's data lie: from `first` on, one in each register or, with d16,
/// as 16 bits, from gfx900 on two in each.
struct DataRegisters {
  unsigned first = 0, count = 0; ///< of components
  bool d16 = false;

  [[nodiscard]] unsigned dwords(const Wave& w) const;
};

u32 to_16_bits(u32 component, NumFormat format);
u32 from_16_bits(u32 bits, NumFormat format);

/// The first components of `in` to a lane's registers, and one of them from there.
void put_components(Wave& w, const DataRegisters& to, unsigned lane, const Components& in, NumFormat format);
u32 get_component(const Wave& w, const DataRegisters& from, unsigned lane, unsigned i, NumFormat format);

} // namespace lanewise::interp
