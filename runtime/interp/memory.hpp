// Moving bytes between VGPRs and the memories a lane can address.
#pragma once

#include "runtime/interp/atomics.hpp"

#include <algorithm>

namespace lanewise::interp {

/// How a value of 1 to 16 bytes in memory lies in VGPRs.
struct ElementShape {
  u8 bytes = 4;
  bool sign = false;
  isa::Half half = isa::Half::None;
  [[nodiscard]] unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
};

/// One element on its way: up to 4 dwords.
struct Element {
  u32 dword[4] = {};
};

/// Memory to register: extends sub-dword elements.
inline void widen(Element& e, ElementShape shape) {
  if (shape.bytes >= 4) return;
  const u32 raw = e.dword[0] & ((1u << shape.bytes * 8) - 1);
  e.dword[0] = shape.sign ? static_cast<u32>(sign_extend(raw, shape.bytes * 8)) : raw;
}

/// Puts a loaded element into lane `lane` of the VGPRs from `first` on.
inline void put_element(Wave& w, unsigned first, unsigned lane, const Element& e, ElementShape shape) {
  if (shape.half != isa::Half::None) {
    u32& x = w.vgpr[first][lane];
    x = shape.half == isa::Half::Lo ? (x & 0xffff'0000) | (e.dword[0] & 0xffff)
                                    : (x & 0xffff) | e.dword[0] << 16;
    return;
  }
  for (unsigned d = 0; d < shape.dwords(); ++d) w.vgpr[(first + d) & 255][lane] = e.dword[d];
}

/// Register to memory.
inline Element get_element(const Wave& w, unsigned first, unsigned lane, ElementShape shape) {
  Element e;
  for (unsigned d = 0; d < shape.dwords(); ++d) e.dword[d] = w.vgpr[(first + d) & 255][lane];
  if (shape.half == isa::Half::Hi) e.dword[0] >>= 16;
  return e;
}

/// Calls body(lane) for every lane of `mask`, in ascending order.
template <class Body>
inline void for_each_lane(u64 mask, Body body) {
  if (mask == ~u64{0}) {
    for (unsigned lane = 0; lane < kWaveSize; ++lane) body(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) body(static_cast<unsigned>(std::countr_zero(mask)));
}

/// A copy of 1, 2, 4, 8, 12 or 16 bytes without a call. Either side may be any address a guest came up with,
/// null too.
__attribute__((no_sanitize("undefined"))) inline void copy_bytes(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
  case 1: std::memcpy(to, from, 1); break;
  case 2: std::memcpy(to, from, 2); break;
  case 4: std::memcpy(to, from, 4); break;
  case 8: std::memcpy(to, from, 8); break;
  case 12: std::memcpy(to, from, 12); break;
  default: std::memcpy(to, from, 16); break;
  }
}

/// The LDS bytes an access may touch (7nm guide 3.6.5).
inline u32 lds_limit(const Wave& w) {
  return w.target >= Target::gfx900 ? w.lds_bytes : std::min(w.lds_bytes, w.sgpr[isa::kM0]);
}

/// Where a lane's dword is in LDS for instructions that move data between it and memory: at M0[15:0] + offset
/// + 4 * lane (7nm guide 8.1.9). Null outside the LDS.
inline u8* lds_of_lane(const Wave& w, const Code& c, unsigned lane) {
  const u64 at =
      static_cast<u32>((w.sgpr[isa::kM0] & 0xffff) + static_cast<u32>(c.inst->mods.offset) + lane * 4);
  return at + 4 <= w.lds_bytes ? w.lds + at : nullptr;
}

/// A load's dword with `lds`.
inline void put_in_lds(const Wave& w, const Code& c, unsigned lane, u32 value) {
  if (u8* to = lds_of_lane(w, c, lane)) std::memcpy(to, &value, 4);
}

/// Before a load: if it wants to see what others have stored, they see what the wave has stored before.
inline void order_load(const Code& c) {
  if (c.inst->mods.glc) std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Reads host memory for `lane`; a fault leaves by a signal.
inline void read_host(Wave& w, int lane, u64 address, void* to, unsigned bytes) {
  w.accessing(lane, address, false);
  copy_bytes(to, reinterpret_cast<const void*>(address), bytes);
}
inline void write_host(Wave& w, int lane, u64 address, const void* from, unsigned bytes) {
  w.accessing(lane, address, true);
  copy_bytes(reinterpret_cast<void*>(address), from, bytes);
}

/// Private memory of a lane, swizzled by dwords: byte a lies at (a/4)*256 + lane*4 + a%4. Beyond the lane's
/// part the access faults at its guest address.
void read_scratch(Wave& w, unsigned lane, u64 address, void* to, unsigned bytes);
void write_scratch(Wave& w, unsigned lane, u64 address, const void* from, unsigned bytes);
/// The host address of an element of private memory, or a fault.
u8* scratch_element(Wave& w, unsigned lane, u64 address, unsigned bytes, bool is_write);

/// With tfe or lwe the register after the data reports missing pages and levels: none are ever missing.
void clear_status(Wave& w, const Code& c, unsigned data_dwords);

/// An atomic on T with operands from VGPRs; the caller says where.
template <class T>
T lane_value(const Wave& w, unsigned first, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return w.vgpr[first & 255][lane] | static_cast<T>(w.vgpr[(first + 1) & 255][lane]) << 32;
  else
    return w.vgpr[first & 255][lane];
}
template <class T>
void set_lane_value(Wave& w, unsigned first, unsigned lane, T value) {
  w.vgpr[first & 255][lane] = static_cast<u32>(value);
  if constexpr (sizeof(T) == 8) w.vgpr[(first + 1) & 255][lane] = static_cast<u32>(value >> 32);
}

/// Whether a memory atomic compares: its data are {new value, value to compare with}.
inline bool compares(isa::Atomic kind) {
  return kind == isa::Atomic::CmpSwap || kind == isa::Atomic::FcmpSwap;
}

} // namespace lanewise::interp
