#include "translator/x86/slow_access.hpp"

#include "translator/ir/types.hpp"
#include "translator/x86/code_memory.hpp"

#include <algorithm>
#include <asmjit/x86.h>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace lanewise::x86 {

using ir::AtomicOp;
using runtime::WaveFrame;

SlowRequest& slow_request(void* frame) {
  return *reinterpret_cast<SlowRequest*>(static_cast<u8*>(frame) + runtime::kFrameSlots + kTempRequest);
}

namespace {

/// min and max of SEMANTICS.md's float atomics: a NaN gives the other, -0 < +0.
template <class F, class U>
U float_min_max(U memory, U data, bool max) {
  const F a = std::bit_cast<F>(memory), b = std::bit_cast<F>(data);
  if (std::isnan(a)) return data;
  if (std::isnan(b)) return memory;
  const bool less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return less != max ? memory : data;
}

template <class F, class U>
U new_float(AtomicOp op, U memory, U data, U compare) {
  switch (op) {
  case AtomicOp::FAdd: return std::bit_cast<U>(std::bit_cast<F>(memory) + std::bit_cast<F>(data));
  case AtomicOp::RFAdd: return std::bit_cast<U>(std::bit_cast<F>(data) + std::bit_cast<F>(memory));
  case AtomicOp::FMin: return float_min_max<F>(memory, data, false);
  case AtomicOp::FMax: return float_min_max<F>(memory, data, true);
  default: return std::bit_cast<F>(memory) == std::bit_cast<F>(compare) ? data : memory; // FCmpswap
  }
}

template <class U>
U new_value(AtomicOp op, U memory, U data, U second) {
  using S = std::make_signed_t<U>;
  const auto s = [](U v) { return static_cast<S>(v); };
  switch (op) {
  case AtomicOp::Swap: return data;
  case AtomicOp::Cmpswap: return memory == second ? data : memory;
  case AtomicOp::Add: return memory + data;
  case AtomicOp::Sub: return memory - data;
  case AtomicOp::Rsub: return data - memory;
  case AtomicOp::SMin: return s(memory) < s(data) ? memory : data;
  case AtomicOp::UMin: return std::min(memory, data);
  case AtomicOp::SMax: return s(memory) > s(data) ? memory : data;
  case AtomicOp::UMax: return std::max(memory, data);
  case AtomicOp::And: return memory & data;
  case AtomicOp::Or: return memory | data;
  case AtomicOp::Xor: return memory ^ data;
  case AtomicOp::Inc: return memory >= data ? 0 : memory + 1;
  case AtomicOp::Dec: return memory == 0 || memory > data ? data : memory - 1;
  case AtomicOp::Mskor: return (memory & ~data) | second;
  case AtomicOp::Wrap: return memory >= data ? memory - data : memory + second;
  default:
    if constexpr (sizeof(U) == 4)
      return new_float<float, U>(op, memory, data, second);
    else
      return new_float<double, U>(op, memory, data, second);
  }
}

class SlowAccess {
public:
  SlowAccess(u8* frame, const u8* gang)
      : header_(*reinterpret_cast<WaveFrame*>(frame)), request_(slow_request(frame)),
        temp_(frame + runtime::kFrameSlots),
        first_lane_(static_cast<u32>(gang - frame) / 4 + request_.first_lane) {}

  void run() {
    for (u64 rest = request_.mask; rest != 0; rest &= rest - 1)
      run_lane(static_cast<u32>(std::countr_zero(rest)));
    request_.active = 0;
  }

private:
  WaveFrame& header_;
  SlowRequest& request_;
  u8* temp_;
  u32 first_lane_;

  u32* row(u32 start, u32 dword) const { return reinterpret_cast<u32*>(temp_ + start + 64 * dword); }

  u64 address_of(u32 lane) const {
    if (request_.is_scratch) {
      const u32 a = load_le<u32>(temp_ + kTempAddress + 4 * lane) + static_cast<u32>(request_.offset);
      return runtime::kPrivateAperture | a;
    }
    return load_le<u64>(temp_ + kTempAddress + 8 * lane) + request_.offset;
  }

  void run_lane(u32 lane) {
    const u64 address = address_of(lane);
    request_.lane = static_cast<u8>(first_lane_ + lane);
    if (request_.kind == SlowRequest::Kind::Atomic)
      return atomic_lane(lane, address & ~u64{request_.bytes - 1u});
    const bool store = request_.kind == SlowRequest::Kind::Store;
    const u32 unit = request_.bytes % 8 == 0 ? 8 : std::min<u32>(request_.bytes, 4); // one access each
    for (u32 at = 0; at < request_.bytes; at += unit) {
      const u32 d = at / 4;
      u64 value = 0;
      if (store) {
        value = row(kTempData, d)[lane];
        if (unit == 8) value |= u64{row(kTempData, d + 1)[lane]} << 32;
        access(address + at, address, &value, unit, true);
        continue;
      }
      access(address + at, address, &value, unit, false);
      if (request_.sign_extend && unit < 4) value = sign_extend(value, 8 * unit);
      row(kTempResults, d)[lane] = static_cast<u32>(value);
      if (unit == 8) row(kTempResults, d + 1)[lane] = static_cast<u32>(value >> 32);
    }
  }

  /// Moves `size` bytes between `data` and guest memory, a part of the element at `start`. Nothing if that is
  /// not all in the LDS.
  void access(u64 address, u64 start, void* data, u32 size, bool store) {
    if (address >> 32 == runtime::kPrivateApertureHigh) {
      for (u32 n = 0; n < size; ++n)
        move(scratch_byte(address + n), static_cast<u8*>(data) + n, 1, store, address + n);
    } else if (u8* host = host_address(address, start)) {
      move(host, data, size, store, address);
    }
  }

  u8* host_address(u64 address, u64 start) const {
    if (address >> 32 != runtime::kSharedApertureHigh) return reinterpret_cast<u8*>(address);
    const bool inside = (start & 0xffffffff) + request_.bytes <= header_.lds_bytes;
    return inside ? header_.lds + (address & 0xffffffff) : nullptr;
  }

  u8* scratch_byte(u64 address) const {
    const u64 a = address & 0xffffffff;
    if (a >= header_.scratch_bytes / kWaveSize) return reinterpret_cast<u8*>(address); // Faults there.
    return header_.scratch + a / 4 * (4 * kWaveSize) + request_.lane * 4 + a % 4;
  }

  void move(u8* memory, void* data, u32 size, bool store, u64 address) {
    request_.address = address;
    request_.is_write = store;
    request_.active = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    auto* const to = static_cast<volatile u8*>(store ? memory : static_cast<u8*>(data));
    auto* const from = static_cast<const volatile u8*>(store ? static_cast<u8*>(data) : memory);
    using AnyDword [[gnu::aligned(1)]] = u32; // guests may access at any address; still one move
    using AnyQword [[gnu::aligned(1)]] = u64;
    if (size == 8)
      *reinterpret_cast<volatile AnyQword*>(to) = *reinterpret_cast<const volatile AnyQword*>(from);
    else if (size == 4)
      *reinterpret_cast<volatile AnyDword*>(to) = *reinterpret_cast<const volatile AnyDword*>(from);
    else
      for (u32 n = 0; n < size; ++n) to[n] = from[n];
  }

  void atomic_lane(u32 lane, u64 address) {
    u64 operand[2] = {};
    const u32 dwords = request_.bytes / 4u;
    for (u32 n = 0; n < 2; ++n)
      for (u32 d = 0; d < dwords; ++d) operand[n] |= u64{row(kTempData, n * dwords + d)[lane]} << (32 * d);
    const auto op = static_cast<AtomicOp>(request_.atomic);
    if (address >> 32 == runtime::kPrivateApertureHigh) { // Nobody else's, and not in one piece.
      u64 old = 0;
      access(address, address, &old, request_.bytes, false);
      u64 next = dwords == 1 ? new_value<u32>(op, static_cast<u32>(old), static_cast<u32>(operand[0]),
                                              static_cast<u32>(operand[1]))
                             : new_value<u64>(op, old, operand[0], operand[1]);
      access(address, address, &next, request_.bytes, true);
      return set_result(lane, old);
    }
    u8* memory = host_address(address, address);
    if (memory == nullptr) return;
    request_.address = address;
    request_.is_write = 1;
    request_.active = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const u64 old = dwords == 1 ? exchange<u32>(op, memory, operand[0], operand[1])
                                : exchange<u64>(op, memory, operand[0], operand[1]);
    set_result(lane, old);
  }

  void set_result(u32 lane, u64 old) const {
    for (u32 d = 0; d * 4 < request_.bytes; ++d)
      row(kTempResults, d)[lane] = static_cast<u32>(old >> (32 * d));
  }

  template <class U>
  static u64 exchange(AtomicOp op, u8* memory, u64 data, u64 second) {
    auto* const p = reinterpret_cast<U*>(memory);
    U old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(p, &old,
                                        new_value<U>(op, old, static_cast<U>(data), static_cast<U>(second)),
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
  }
};

void run_slow_access(u8* frame, const u8* gang) { SlowAccess(frame, gang).run(); }

namespace ax = asmjit::x86;

/// Saves what C++ may change, calls run_slow_access(rbx, r15), restores.
void write_stub(ax::Assembler& a, bool avx512) {
  static const ax::Gp kSaved[] = {ax::rax, ax::rcx, ax::rdx, ax::rsi, ax::rdi,
                                  ax::r8,  ax::r9,  ax::r10, ax::r11};
  const u32 vectors = avx512 ? 32 : 16, bytes = avx512 ? 64 : 32;
  a.push(ax::rbp);
  a.mov(ax::rbp, ax::rsp);
  for (const ax::Gp& r : kSaved) a.push(r);
  a.sub(ax::rsp, vectors * bytes + 64 + 64);
  a.and_(ax::rsp, -64);
  const auto vector = [&](u32 n) { return avx512 ? ax::Vec(ax::Zmm(n)) : ax::Vec(ax::Ymm(n)); };
  for (u32 n = 0; n < vectors; ++n)
    a.emit(ax::Inst::kIdVmovups, ax::ptr(ax::rsp, static_cast<i32>(n * bytes)), vector(n));
  if (avx512)
    for (u32 n = 0; n < 8; ++n)
      a.kmovq(ax::ptr(ax::rsp, static_cast<i32>(vectors * bytes + 8 * n)), ax::KReg(n));
  a.mov(ax::rdi, ax::rbx);
  a.mov(ax::rsi, ax::r15);
  a.mov(ax::rax, reinterpret_cast<u64>(&run_slow_access));
  a.call(ax::rax);
  for (u32 n = 0; n < vectors; ++n)
    a.emit(ax::Inst::kIdVmovups, vector(n), ax::ptr(ax::rsp, static_cast<i32>(n * bytes)));
  if (avx512)
    for (u32 n = 0; n < 8; ++n)
      a.kmovq(ax::KReg(n), ax::ptr(ax::rsp, static_cast<i32>(vectors * bytes + 8 * n)));
  a.lea(ax::rsp, ax::ptr(ax::rbp, -static_cast<i32>(8 * std::size(kSaved))));
  for (auto r = std::rbegin(kSaved); r != std::rend(kSaved); ++r) a.pop(*r);
  a.pop(ax::rbp);
  a.ret();
}

CodeMemory make_stub(bool avx512) {
  asmjit::CodeHolder code;
  code.init(asmjit::Environment::host());
  ax::Assembler a(&code);
  write_stub(a, avx512);
  auto memory = CodeMemory::create(code.codeSize(), [&](u8* at) -> Result<void> {
    code.relocateToBase(reinterpret_cast<u64>(at));
    code.copyFlattenedData(at, code.codeSize());
    return {};
  });
  if (!memory) std::abort(); // Out of memory for one page, at first use.
  return std::move(*memory);
}

} // namespace

const void* slow_access_stub(bool avx512) {
  if (avx512) {
    static const CodeMemory& stub = *new CodeMemory(make_stub(true));
    return stub.data();
  }
  static const CodeMemory& stub = *new CodeMemory(make_stub(false));
  return stub.data();
}

} // namespace lanewise::x86
