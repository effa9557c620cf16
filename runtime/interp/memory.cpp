#include "runtime/interp/memory.hpp"

namespace lanewise::interp {
namespace {

// Touches the guest address itself: no host memory lies in the private aperture, so this raises the host's
// fault.
[[gnu::noinline]] void fault_in_scratch(u64 address) {
  (void)*reinterpret_cast<const volatile u8*>(runtime::kPrivateAperture + (address & 0xffff'ffff));
}

} // namespace

void clear_status(Wave& w, const Code& c, unsigned data_dwords) {
  if (!c.inst->mods.tfe && !c.inst->mods.lwe) return;
  for_each_lane(w.exec(), [&](unsigned lane) { w.vgpr[(c.dst + data_dwords) & 255][lane] = 0; });
}

u8* scratch_element(Wave& w, unsigned lane, u64 address, unsigned bytes, bool is_write) {
  w.accessing(static_cast<int>(lane), runtime::kPrivateAperture + address, is_write);
  if (address > w.scratch_lane_bytes || bytes > w.scratch_lane_bytes - address) fault_in_scratch(address);
  return w.scratch + (address & ~u64{3}) * kWaveSize + lane * 4 + (address & 3);
}

void read_scratch(Wave& w, unsigned lane, u64 address, void* to, unsigned bytes) {
  u8* const out = static_cast<u8*>(to);
  if ((address & 3) + bytes <= 4)
    return copy_bytes(out, scratch_element(w, lane, address, bytes, false), bytes);
  if ((address & 3) == 0) {
    const u8* from = scratch_element(w, lane, address, bytes, false);
    for (unsigned i = 0; i < bytes; i += 4) std::memcpy(out + i, from + i * kWaveSize, 4);
    return;
  }
  scratch_element(w, lane, address, bytes, false); // the fault is the whole element's
  for (unsigned i = 0; i < bytes; ++i) out[i] = *scratch_element(w, lane, address + i, 1, false);
}

void write_scratch(Wave& w, unsigned lane, u64 address, const void* from, unsigned bytes) {
  const u8* const in = static_cast<const u8*>(from);
  if ((address & 3) + bytes <= 4)
    return copy_bytes(scratch_element(w, lane, address, bytes, true), in, bytes);
  if ((address & 3) == 0) {
    u8* to = scratch_element(w, lane, address, bytes, true);
    for (unsigned i = 0; i < bytes; i += 4) std::memcpy(to + i * kWaveSize, in + i, 4);
    return;
  }
  scratch_element(w, lane, address, bytes, true);
  for (unsigned i = 0; i < bytes; ++i) *scratch_element(w, lane, address + i, 1, true) = in[i];
}

} // namespace lanewise::interp
