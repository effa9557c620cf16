#include "runtime/interp/special.hpp"

namespace lanewise::interp {

u64 read_special(Wave& w, unsigned code) {
  switch (code) {
  case isa::kSharedBase: return runtime::kSharedAperture;
  case isa::kSharedLimit: return runtime::kSharedAperture | 0xffff'ffff;
  case isa::kPrivateBase: return runtime::kPrivateAperture;
  case isa::kPrivateLimit: return runtime::kPrivateAperture | 0xffff'ffff;
  case isa::kVccz: return w.vcc() == 0 ? 1 : 0;
  case isa::kExecz: return w.exec() == 0 ? 1 : 0;
  case isa::kScc: return w.scc ? 1 : 0;
  default: return 0;
  }
}

u32 lds_direct(Wave& w) {
  const u32 address = w.m0() & 0xffff, type = w.m0() >> 16 & 7;
  constexpr u8 kBytes[8] = {1, 2, 4, 0, 1, 2, 0, 0}; // u8, u16, b32, -, i8, i16
  const u32 bytes = kBytes[type];
  if (bytes == 0 || address + bytes > w.lds_bytes) return 0;
  u32 value = 0;
  std::memcpy(&value, w.lds + address, bytes);
  return type >= 4 ? static_cast<u32>(sign_extend(value, bytes * 8)) : value;
}

} // namespace lanewise::interp
