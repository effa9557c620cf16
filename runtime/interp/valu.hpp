// The shapes of vector instructions. A handler is a shape with the arithmetic of one lane as a lambda:
//   table.set(Op::v_add_f32, f32<[](float a, float b) { return a + b; }>);
// Operand and result types come from the lambda's signature: u32, i32, float take a register, u64, i64,
// double two, u16 and i16 the low half of one. A first parameter `const FpMode&` gets the floating point
// mode.
#pragma once

#include "runtime/interp/fp.hpp"
#include "runtime/interp/table.hpp"

#include <tuple>
#include <type_traits>

namespace lanewise::interp {

template <class T>
inline constexpr unsigned kDwords = sizeof(T) == 8 ? 2 : 1;

template <class T>
inline T get_lane(const u32* rows, unsigned l) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(rows[l] | u64{rows[kWaveSize + l]} << 32);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(rows[l]);
  else
    return static_cast<T>(rows[l]);
}
template <class T>
inline void set_lane(u32* rows, unsigned l, T value) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = std::bit_cast<u64>(value);
    rows[l] = static_cast<u32>(bits);
    rows[kWaveSize + l] = static_cast<u32>(bits >> 32);
  } else if constexpr (sizeof(T) == 4) {
    rows[l] = std::bit_cast<u32>(value);
  } else {
    rows[l] = static_cast<std::make_unsigned_t<T>>(value);
  }
}

/// Takes a lambda's signature apart.
template <class F>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R (*)(A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
  static constexpr bool kWithMode = false;
};
template <class R, class... A>
struct SignatureOf<R (*)(const FpMode&, A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
  static constexpr bool kWithMode = true;
};
template <auto F>
using Signature = SignatureOf<decltype(+F)>;

/// A source in a form that a loop over lanes reads: rows as they are, or 64-bit numbers joined from two rows.
template <class T, bool IsWide = sizeof(T) == 8>
struct Lanes {
  const u32* row;
  void take(const u32* rows) { row = rows; }
  [[nodiscard]] T operator[](unsigned l) const { return get_lane<T>(row, l); }
};
template <class T>
struct Lanes<T, true> {
  alignas(64) u64 joined[kWaveSize];
  Lanes() {}
  void take(const u32* rows) { join(rows, joined); }
  [[nodiscard]] T operator[](unsigned l) const { return std::bit_cast<T>(joined[l]); }
};

/// The sources of an instruction.
template <class Args>
struct Inputs;
template <class... A>
struct Inputs<std::tuple<A...>> {
  std::tuple<Rows<kDwords<A>>...> spare;
  std::tuple<Lanes<A>...> lanes;
  const u32* rows[sizeof...(A) + 1];

  void fetch_all(Wave& w, const Code& c) { fetch_each(w, c, std::index_sequence_for<A...>{}); }

  template <auto F, bool WithMode, std::size_t... I>
  auto compute(const FpMode& mode, unsigned l, std::index_sequence<I...>) const {
    if constexpr (WithMode)
      return F(mode, std::get<I>(lanes)[l]...);
    else
      return F(std::get<I>(lanes)[l]...);
  }

private:
  template <std::size_t... I>
  void fetch_each(Wave& w, const Code& c, std::index_sequence<I...>) {
    ((rows[I] = interp::fetch(w, c, I, std::get<I>(spare))), ...);
    (std::get<I>(lanes).take(rows[I]), ...);
  }
};

/// result[l] = F(sources[l]...) for all lanes, active or not. Says whether a float result is NaN in any lane.
template <auto F, class In>
inline bool for_lanes(const Wave& w, const In& in, u32* out) {
  using S = Signature<F>;
  using R = typename S::Result;
  using Bits = std::conditional_t<sizeof(R) == 8, u64, u32>;
  constexpr auto kSlots = std::make_index_sequence<std::tuple_size_v<typename S::Args>>{};
  const FpMode mode = w.fp;
  alignas(64) u64 wide[sizeof(R) == 8 ? kWaveSize : 1];
  Bits nan = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const R r = in.template compute<F, S::kWithMode>(mode, l, kSlots);
    if constexpr (std::is_floating_point_v<R>) nan |= r != r ? 1 : 0;
    if constexpr (sizeof(R) == 8)
      wide[l] = std::bit_cast<u64>(r);
    else
      set_lane<R>(out, l, r);
  }
  if constexpr (sizeof(R) == 8) split(wide, out);
  return nan != 0;
}

/// An operation that does not look at the round mode or at host denormal handling.
template <auto F>
const Code* lanes(Wave& w, const Code& c) {
  using S = Signature<F>;
  Inputs<typename S::Args> in;
  Rows<kDwords<typename S::Result>> out;
  in.fetch_all(w, c);
  for_lanes<F>(w, in, out.lane);
  write_dst<kDwords<typename S::Result>>(w, c, out.lane, active(w, c));
  return next(c);
}

/// The first NaN among the sources of type F, in order or in reverse; quieted. The default NaN if there is
/// none.
template <class F, bool Reverse, class... A>
F chosen_nan(const Inputs<std::tuple<A...>>& in, unsigned l) {
  F result = default_nan<F>();
  const auto consider = [&]<std::size_t I>() {
    if constexpr (std::is_same_v<std::tuple_element_t<I, std::tuple<A...>>, F>)
      if (const F source = get_lane<F>(in.rows[I], l); is_nan(source)) result = quieted(source);
  };
  constexpr std::size_t kCount = sizeof...(A);
  // The one that is to win is considered last.
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (consider.template operator() < Reverse ? I : kCount - 1 - I > (), ...);
  }
  (std::make_index_sequence<kCount>{});
  return result;
}

enum class NanRule {
  FirstSource, ///< the first NaN source, quieted
  LastSource,  ///< for reversed operations
  AsComputed,
};

/// Where a result is NaN: replaces what the host has chosen by what the rule says.
template <class F, NanRule Rule, class In>
void choose_nans(const In& in, u32* out, u64 active_lanes) {
  Rows<1> nan;
  for (unsigned l = 0; l < kWaveSize; ++l) nan.lane[l] = is_nan(get_lane<F>(out, l)) ? 1 : 0;
  for (u64 nans = mask_of(nan.lane) & active_lanes; nans != 0; nans &= nans - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(nans));
    set_lane<F>(out, l, chosen_nan<F, Rule == NanRule::LastSource>(in, l));
  }
}

template <class F>
void adjust_lanes(Wave& w, const Code& c, u32* out) {
  const isa::Modifiers& mods = c.inst->mods;
  w.use_mxcsr(std::is_same_v<F, double> ? w.mxcsr_f64 : w.mxcsr_f32);
  const bool flushes = std::is_same_v<F, double> ? w.fp.flush_out_f64 : w.fp.flush_out_f32;
  const bool flushes_in = std::is_same_v<F, double> ? w.fp.flush_in_f64 : w.fp.flush_in_f32;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const F x = adjust(get_lane<F>(out, l), mods.omod, mods.clamp, !w.fp.ieee && flushes, w.fp.dx10_clamp);
    set_lane<F>(out, l, mods.clamp && (flushes || flushes_in) ? flushed(x) : x);
  }
}

/// Float arithmetic on F in the mode that `Mxcsr` names.
template <class F, auto Function, u32 Wave::*Mxcsr, NanRule Rule>
const Code* float_lanes(Wave& w, const Code& c) {
  using S = Signature<Function>;
  constexpr unsigned kOut = kDwords<typename S::Result>;
  Inputs<typename S::Args> in;
  Rows<kOut> out;
  in.fetch_all(w, c);
  w.use_mxcsr(w.*Mxcsr);
  const bool nan = for_lanes<Function>(w, in, out.lane);
  static_cast<void>(nan);
  if constexpr (std::is_same_v<typename S::Result, F>) {
    if constexpr (Rule != NanRule::AsComputed)
      if (nan) choose_nans<F, Rule>(in, out.lane, w.exec());
    if (c.adjusts) adjust_lanes<F>(w, c, out.lane);
  }
  write_dst<kOut>(w, c, out.lane, active(w, c));
  return next(c);
}

/// f32 arithmetic: +, -, *, fma and what is made of them.
template <auto F>
constexpr Handler f32 = float_lanes<float, F, &Wave::mxcsr_f32, NanRule::FirstSource>;
/// v_subrev_f32.
template <auto F>
constexpr Handler f32_reversed = float_lanes<float, F, &Wave::mxcsr_f32, NanRule::LastSource>;
/// f32 operations that say themselves what a NaN does.
template <auto F>
constexpr Handler f32_as_is = float_lanes<float, F, &Wave::mxcsr_f32, NanRule::AsComputed>;
/// Selections that must see denormals whatever MODE says; they flush by themselves where they have to.
template <auto F>
constexpr Handler f32_select = float_lanes<float, F, &Wave::mxcsr_keep, NanRule::AsComputed>;
template <auto F>
constexpr Handler f64_select = float_lanes<double, F, &Wave::mxcsr_keep, NanRule::AsComputed>;
template <auto F>
constexpr Handler f64 = float_lanes<double, F, &Wave::mxcsr_f64, NanRule::FirstSource>;
template <auto F>
constexpr Handler f64_as_is = float_lanes<double, F, &Wave::mxcsr_f64, NanRule::AsComputed>;

/// v_min and v_max. Without NaNs they need no branches: equal operands differ in the sign of zero only, and
/// then the bits' union is the lesser, their intersection the greater.
template <class F, bool Max>
const Code* min_max(Wave& w, const Code& c) {
  using Bits = typename FloatBits<F>::Bits;
  Inputs<std::tuple<F, F>> in;
  Rows<kDwords<F>> out;
  in.fetch_all(w, c);
  const bool flush = sizeof(F) == 8 ? w.fp.min_max_flush_f64 : w.fp.min_max_flush_f32, ieee = w.fp.ieee;
  w.use_mxcsr(w.mxcsr_keep);
  alignas(64) Bits result[kWaveSize];
  Bits unordered = flush ? 1 : 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const F a = std::get<0>(in.lanes)[l], b = std::get<1>(in.lanes)[l];
    const Bits both = Max ? raw(a) & raw(b) : raw(a) | raw(b);
    const Bits chosen = (Max ? a > b : a < b) ? raw(a) : raw(b);
    result[l] = a == b ? both : chosen;
    unordered |= a != a ? 1 : 0;
    unordered |= b != b ? 1 : 0;
  }
  if (unordered != 0)
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const auto source = [&](F x) { return flush ? flushed(x) : x; };
      const F a = source(std::get<0>(in.lanes)[l]), b = source(std::get<1>(in.lanes)[l]);
      result[l] = raw(Max ? max_of(a, b, ieee) : min_of(a, b, ieee));
    }
  for (unsigned l = 0; l < kWaveSize; ++l) set_lane<F>(out.lane, l, from_raw<F>(result[l]));
  if (c.adjusts) adjust_lanes<F>(w, c, out.lane);
  write_dst<kDwords<F>>(w, c, out.lane, active(w, c));
  return next(c);
}

/// Integer arithmetic that saturates with clamp. F computes exactly in i64; T is the result's type.
template <class T, auto F>
const Code* saturating(Wave& w, const Code& c) {
  using S = Signature<F>;
  Inputs<typename S::Args> in;
  Rows<1> out;
  in.fetch_all(w, c);
  const bool clamp = c.adjusts;
  const auto lane = [&]<std::size_t... I>(unsigned l, std::index_sequence<I...>)->i64 {
    return F(get_lane<std::tuple_element_t<I, typename S::Args>>(in.rows[I], l)...);
  };
  constexpr auto kSlots = std::make_index_sequence<std::tuple_size_v<typename S::Args>>{};
  if (!clamp) {
    for (unsigned l = 0; l < kWaveSize; ++l) set_lane<T>(out.lane, l, static_cast<T>(lane(l, kSlots)));
  } else {
    constexpr i64 kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const i64 exact = lane(l, kSlots);
      set_lane<T>(out.lane, l, static_cast<T>(exact < kLow ? kLow : exact > kHigh ? kHigh : exact));
    }
  }
  write_dst<1>(w, c, out.lane, active(w, c));
  return next(c);
}

} // namespace lanewise::interp
