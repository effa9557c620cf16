// What atomic instructions do to memory, for every kind of memory (7nm guide 12.13 to 12.18).
#pragma once

#include "isa/row.hpp"
#include "runtime/interp/fp.hpp"

namespace lanewise::interp {

/// The new value for old value `m`, with data `d` and, where there is one, second operand `e`: the value to
/// compare with (cmpswap), the bits to set (mskor), the limit's distance (wrap).
template <class T>
T atomic_result(isa::Atomic kind, T m, T d, T e) {
  using S = std::make_signed_t<T>;
  using F = std::conditional_t<sizeof(T) == 8, double, float>;
  const auto as_float = [](T x) { return std::bit_cast<F>(x); };
  switch (kind) {
  case isa::Atomic::Swap: return d;
  case isa::Atomic::CmpSwap: return m == e ? d : m;
  case isa::Atomic::FcmpSwap: return as_float(m) == as_float(e) ? d : m;
  case isa::Atomic::Add: return m + d;
  case isa::Atomic::Sub: return m - d;
  case isa::Atomic::Rsub: return d - m;
  case isa::Atomic::Smin: return static_cast<S>(d) < static_cast<S>(m) ? d : m;
  case isa::Atomic::Smax: return static_cast<S>(d) > static_cast<S>(m) ? d : m;
  case isa::Atomic::Umin: return d < m ? d : m;
  case isa::Atomic::Umax: return d > m ? d : m;
  case isa::Atomic::And: return m & d;
  case isa::Atomic::Or: return m | d;
  case isa::Atomic::Xor: return m ^ d;
  case isa::Atomic::Inc: return m >= d ? 0 : m + 1;
  case isa::Atomic::Dec: return m == 0 || m > d ? d : m - 1;
  case isa::Atomic::Mskor: return (m & ~d) | e;
  case isa::Atomic::Wrap: return m >= d ? m - d : m + e;
  case isa::Atomic::Fadd: {
    const F sum = as_float(m) + as_float(d);
    if (!is_nan(sum)) return std::bit_cast<T>(sum);
    return std::bit_cast<T>(is_nan(as_float(m))   ? quieted(as_float(m))
                            : is_nan(as_float(d)) ? quieted(as_float(d))
                                                  : default_nan<F>());
  }
  case isa::Atomic::Fmin: return std::bit_cast<T>(min_of(as_float(m), as_float(d), false));
  case isa::Atomic::Fmax: return std::bit_cast<T>(max_of(as_float(m), as_float(d), false));
  case isa::Atomic::CondXchg32: // each half whose top bit is set in the data takes the data without that bit
    if constexpr (sizeof(T) == 8) {
      const auto half = [](u32 old, u32 data) { return (data & kSign32) != 0 ? data & ~kSign32 : old; };
      return half(static_cast<u32>(m), static_cast<u32>(d)) |
             static_cast<T>(half(static_cast<u32>(m >> 32), static_cast<u32>(d >> 32))) << 32;
    } else {
      return m;
    }
  case isa::Atomic::None: break;
  }
  return m;
}

/// Float atomics keep denormals and round as f32 arithmetic does (docs/SEMANTICS.md).
inline void prepare_atomic(Wave& w) { w.use_mxcsr(w.mxcsr_atomic); }

/// Memory that one wave at a time can touch: LDS.
template <class T>
T atomic_local(isa::Atomic kind, u8* p, T d, T e) {
  const T old = load_le<T>(p);
  store_le<T>(p, atomic_result(kind, old, d, e));
  return old;
}

/// Memory that other threads work on. The low bits of the address are ignored.
template <class T>
T atomic_shared(isa::Atomic kind, u64 address, T d, T e) {
  T* p = reinterpret_cast<T*>(address & ~u64{sizeof(T) - 1});
  switch (kind) {
  case isa::Atomic::Add: return __atomic_fetch_add(p, d, __ATOMIC_SEQ_CST);
  case isa::Atomic::Sub: return __atomic_fetch_sub(p, d, __ATOMIC_SEQ_CST);
  case isa::Atomic::Swap: return __atomic_exchange_n(p, d, __ATOMIC_SEQ_CST);
  default: break;
  }
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, atomic_result(kind, old, d, e), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

} // namespace lanewise::interp
