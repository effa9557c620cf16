#include "translator/x86/fault_table.hpp"
#include "translator/x86/slow_access.hpp"

#include <algorithm>
#include <cpuid.h>
#include <ucontext.h>

namespace lanewise::x86 {
namespace {

// ucontext's order of the general-purpose registers, by x86 number.
constexpr int kGregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
constexpr u32 kSoftwareReserved = 464, kXstateMagic = 0x46505853, kXstateBv = 512;

class Registers {
public:
  Registers(const ucontext_t& context, const XsaveLayout& layout) : context_(context), layout_(layout) {
    area_ = reinterpret_cast<const u8*>(context.uc_mcontext.fpregs);
    if (area_ && load_le<u32>(area_ + kSoftwareReserved) == kXstateMagic)
      present_ = load_le<u64>(area_ + kXstateBv);
  }

  [[nodiscard]] u64 gpr(u8 n) const {
    return n > 15 ? 0 : static_cast<u64>(context_.uc_mcontext.gregs[kGregs[n]]);
  }

  [[nodiscard]] u64 mask(u8 n) const {
    return present_ >> 5 & 1 && layout_.opmask ? load_le<u64>(area_ + layout_.opmask + 8 * n) : 0;
  }

  /// `bytes` (4 or 8) of vector register n from `offset` on.
  [[nodiscard]] u64 vec(u8 n, u32 offset, u32 bytes) const {
    const u8* p = locate(n, offset);
    return !p ? 0 : bytes == 8 ? load_le<u64>(p) : load_le<u32>(p);
  }

private:
  [[nodiscard]] const u8* locate(u8 n, u32 offset) const {
    if (!area_) return nullptr;
    if (n >= 16) return component(7, layout_.zmm16, 64u * (n - 16u) + offset);
    if (offset >= 32) return component(6, layout_.zmm_high, 32u * n + offset - 32);
    if (offset >= 16) return component(2, layout_.ymm_high, 16u * n + offset - 16);
    return area_ + 160 + 16 * n + offset; // FXSAVE part
  }
  [[nodiscard]] const u8* component(unsigned bit, u32 base, u32 offset) const {
    return present_ >> bit & 1 && base ? area_ + base + offset
                                       : nullptr; // absent: in its initial state, zero
  }

  const ucontext_t& context_;
  const XsaveLayout& layout_;
  const u8* area_;
  u64 present_ = 0;
};

bool active(const FaultEntry& e, const Registers& regs, unsigned lane) {
  if (e.mask == 0xff) return true;
  if (!e.mask_is_vec) {
    const unsigned bit = lane * std::max<unsigned>(e.site.distance, 1);
    return bit < 64 && (regs.mask(e.mask) >> bit & 1) != 0;
  }
  const u32 width = e.site.bytes > 8 ? 4 : e.site.bytes; // of the mask's elements
  return (regs.vec(e.mask, lane * e.site.bytes, width) >> (8 * width - 1) & 1) != 0;
}

/// The first lane of the mask, none without a mask.
int first_lane(const FaultEntry& e, const Registers& regs) {
  if (e.mask == 0xff) return -1;
  for (unsigned lane = 0; lane < 16; ++lane)
    if ((e.mask_is_vec ? regs.vec(e.mask, 4 * lane, 4) >> 31 : regs.mask(e.mask) >> lane & 1) != 0)
      return static_cast<int>(lane);
  return -1;
}

u64 scalar_base(const FaultEntry& e, const Registers& regs) {
  return regs.gpr(e.base) + static_cast<u64>(i64{e.disp});
}

u64 scalar_address(const FaultEntry& e, const Registers& regs) {
  return regs.gpr(e.base) + (regs.gpr(e.index) << e.scale_log2) + static_cast<u64>(i64{e.disp});
}

struct LaneAddress {
  int lane;
  u64 address;
};

// The first active lane with a byte in the faulting page, if any: of masked accesses the CPU may report any
// address in that page. Without an address, the first active lane.
LaneAddress contiguous(const FaultEntry& e, const Registers& regs, u64 host_address) {
  const u64 start = scalar_address(e, regs) - static_cast<u64>(i64{e.site.early});
  const u64 page = host_address & ~u64{4095}, next = host_address != 0 ? page + 4096 : ~u64{0};
  const u64 distance = e.site.distance != 0 ? e.site.distance : e.site.bytes;
  const bool down = e.site.kind == FaultSite::Kind::Descending;
  for (unsigned lane = 0; lane < e.lanes; ++lane)
    if (u64 address = start + (down ? e.lanes - 1u - lane : lane) * distance;
        active(e, regs, lane) && address + e.site.bytes > page && address < next)
      return {static_cast<int>(lane), address};
  return {-1, host_address};
}

// Elements are accessed from lane 0 up and leave the mask as they complete.
LaneAddress indexed(const FaultEntry& e, const Registers& regs) {
  for (unsigned lane = 0; lane < 16; ++lane) {
    if (!active(e, regs, lane)) continue;
    i64 index = e.site.index64 ? static_cast<i64>(regs.vec(e.index, lane * 8, 8))
                               : i64{static_cast<i32>(regs.vec(e.index, lane * 4, 4))};
    return {static_cast<int>(lane),
            regs.gpr(e.base) + (static_cast<u64>(index) << e.scale_log2) + static_cast<u64>(i64{e.disp})};
  }
  return {-1, 0};
}

LaneAddress faulting_lane(const FaultEntry& e, const Registers& regs, u64 host_address) {
  switch (e.site.kind) {
  case FaultSite::Kind::Scalar:
    return {e.lane_reg != 0xff ? static_cast<int>(regs.gpr(e.lane_reg) & 63) : first_lane(e, regs),
            scalar_address(e, regs)};
  case FaultSite::Kind::Table: {
    const int lane = std::max(first_lane(e, regs), 0);
    const u64 index = regs.vec(e.index, 4 * static_cast<u32>(lane), 4);
    return {lane, scalar_base(e, regs) + (index << e.site.distance)};
  }
  case FaultSite::Kind::Contiguous:
  case FaultSite::Kind::Descending: return contiguous(e, regs, host_address);
  case FaultSite::Kind::Indexed: return indexed(e, regs);
  }
  return {-1, 0};
}

/// The first of the guest's own accesses that gets to the page, where several of them are one.
u64 first_faulting(const FaultSite& site, u64 address, u64 host_address) {
  const u64 page = host_address & ~u64{4095};
  if (site.element == 0 || host_address == 0 || address + site.element > page || page - address > 64)
    return address;
  return address + (page - address) / site.element * site.element;
}

XsaveLayout ask_cpuid() {
  XsaveLayout layout;
  u32* const offsets[] = {&layout.ymm_high, &layout.opmask, &layout.zmm_high, &layout.zmm16};
  constexpr u32 kComponents[] = {2, 5, 6, 7};
  for (int i = 0; i < 4; ++i) {
    u32 size = 0, offset = 0, c = 0, d = 0;
    if (__get_cpuid_count(0xd, kComponents[i], &size, &offset, &c, &d) && size) *offsets[i] = offset;
  }
  return layout;
}

} // namespace

XsaveLayout XsaveLayout::of_host() {
  static const XsaveLayout layout = ask_cpuid(); // in a virtual machine cpuid costs tens of microseconds
  return layout;
}

runtime::FaultLocation locate(const FaultTable& table, std::span<const u8> code, const XsaveLayout& xsave,
                              const void* ucontext, u64 host_address) {
  const auto& context = *static_cast<const ucontext_t*>(ucontext);
  const u64 rip = static_cast<u64>(context.uc_mcontext.gregs[REG_RIP]);
  const u64 distance = rip - reinterpret_cast<u64>(code.data());
  if (distance >= code.size()) return {};
  const u32 offset = static_cast<u32>(distance);
  runtime::FaultLocation at;
  at.address = host_address;
  auto origin = std::upper_bound(table.origins.begin(), table.origins.end(), offset,
                                 [](u32 o, const FaultTable::Origin& e) { return o < e.code_offset; });
  if (origin != table.origins.begin()) at.pc = std::prev(origin)->pc;
  auto access = std::lower_bound(table.accesses.begin(), table.accesses.end(), offset,
                                 [](const FaultEntry& e, u32 o) { return e.code_offset < o; });
  if (access == table.accesses.end() || access->code_offset != offset) return at;
  const Registers regs(context, xsave);
  LaneAddress found = faulting_lane(*access, regs, host_address);
  for (; found.lane < 0 && access + 1 != table.accesses.end() && access[1].code_offset == offset; ++access)
    found = faulting_lane(access[1], regs, host_address);
  at.is_write = access->site.is_write;
  if (access->site.pc != 0) at.pc = access->site.pc;
  at.address = first_faulting(access->site, found.address, host_address);
  if (found.lane >= 0) {
    at.lane = found.lane + access->site.lane_offset +
              static_cast<int>((regs.gpr(15) - regs.gpr(3)) / table.gang_lane_bytes);
    if (access->site.listed)
      at.lane = static_cast<int>(load_le<u32>(reinterpret_cast<const u8*>(regs.gpr(3)) +
                                              runtime::kFrameSlots + kTempLanes + 4 * at.lane));
  }
  return at;
}

} // namespace lanewise::x86
