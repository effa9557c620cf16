#include "runtime/interp/compare.hpp"

namespace lanewise::interp {
namespace {

using isa::Op;

template <bool WritesExec, auto F>
const Code* compare_half(Wave& w, const Code& c) {
  Rows<1> spare[2], flushed_rows[2], out;
  alignas(64) float values[2][kWaveSize];
  for (unsigned i = 0; i < 2; ++i) {
    const u32* row = fetch(w, c, i, spare[i]);
    if (w.fp.flush_in_f64) {
      for (unsigned l = 0; l < kWaveSize; ++l) flushed_rows[i].lane[l] = flushed_half(row[l] & 0xffff);
      row = flushed_rows[i].lane;
    }
    halves_to_floats(row, values[i]);
  }
  for (unsigned l = 0; l < kWaveSize; ++l) out.lane[l] = F(values[0][l], values[1][l]) ? ~0u : 0;
  return finish_compare<WritesExec>(w, c, out.lane);
}

/// The class of a float, as a bit number in v_cmp_class's mask.
template <class Bits>
unsigned class_of(Bits u, unsigned mantissa_bits, unsigned width) {
  const Bits sign = Bits{1} << (width - 1), magnitude = u & (sign - 1);
  const Bits inf = (sign - 1) >> mantissa_bits << mantissa_bits;
  const bool minus = (u & sign) != 0;
  if (magnitude > inf) return (magnitude >> (mantissa_bits - 1) & 1) != 0 ? 1 : 0;
  if (magnitude == inf) return minus ? 2 : 9;
  if (magnitude == 0) return minus ? 5 : 6;
  if (magnitude < Bits{1} << mantissa_bits) return minus ? 4 : 7;
  return minus ? 3 : 8;
}

template <bool WritesExec, class Bits, unsigned Mantissa>
const Code* compare_class(Wave& w, const Code& c) {
  Inputs<std::tuple<Bits, u32>> in;
  Rows<1> out;
  in.fetch_all(w, c);
  for (unsigned l = 0; l < kWaveSize; ++l)
    out.lane[l] =
        in.rows[1][l] >> class_of<u64>(get_lane<Bits>(in.rows[0], l), Mantissa, sizeof(Bits) * 8) & 1;
  return finish_compare<WritesExec>(w, c, out.lane);
}

} // namespace

// The sixteen conditions: ordered ones, their unordered complements, and the constants.
#define FOR_CONDITIONS(X, type, T)                                                                           \
  X(f, type, T, (void(a), void(b), false))                                                                   \
  X(lt, type, T, a < b)                                                                                      \
  X(eq, type, T, a == b)                                                                                     \
  X(le, type, T, a <= b)                                                                                     \
  X(gt, type, T, a > b)                                                                                      \
  X(lg, type, T, a<b || a> b)                                                                                \
  X(ge, type, T, a >= b)                                                                                     \
  X(o, type, T, !is_nan(a) && !is_nan(b))                                                                    \
  X(u, type, T, is_nan(a) || is_nan(b))                                                                      \
  X(nge, type, T, !(a >= b))                                                                                 \
  X(nlg, type, T, !(a < b || a > b))                                                                         \
  X(ngt, type, T, !(a > b))                                                                                  \
  X(nle, type, T, !(a <= b))                                                                                 \
  X(neq, type, T, !(a == b))                                                                                 \
  X(nlt, type, T, !(a < b))                                                                                  \
  X(tru, type, T, (void(a), void(b), true))

#define COMPARE(condition, type, T, expression)                                                              \
  t.set(Op::v_cmp_##condition##_##type, compare_float<false, T, [](T a, T b) { return (expression); }>);     \
  t.set(Op::v_cmpx_##condition##_##type, compare_float<true, T, [](T a, T b) { return (expression); }>);
// gfx6 and gfx7: the signalling variants differ in exceptions only.
#define COMPARE_SIGNALLING(condition, type, T, expression)                                                   \
  t.set(Op::v_cmps_##condition##_##type, compare_float<false, T, [](T a, T b) { return (expression); }>);    \
  t.set(Op::v_cmpsx_##condition##_##type, compare_float<true, T, [](T a, T b) { return (expression); }>);
#define COMPARE_HALF(condition, type, T, expression)                                                         \
  t.set(Op::v_cmp_##condition##_##type, compare_half<false, [](T a, T b) { return (expression); }>);         \
  t.set(Op::v_cmpx_##condition##_##type, compare_half<true, [](T a, T b) { return (expression); }>);

void register_compare_float(HandlerTable& t) {
  FOR_CONDITIONS(COMPARE, f32, float)
  FOR_CONDITIONS(COMPARE, f64, double)
  FOR_CONDITIONS(COMPARE_SIGNALLING, f32, float)
  FOR_CONDITIONS(COMPARE_SIGNALLING, f64, double)
  FOR_CONDITIONS(COMPARE_HALF, f16, float)
  t.set(Op::v_cmp_class_f32, compare_class<false, u32, 23>);
  t.set(Op::v_cmpx_class_f32, compare_class<true, u32, 23>);
  t.set(Op::v_cmp_class_f64, compare_class<false, u64, 52>);
  t.set(Op::v_cmpx_class_f64, compare_class<true, u64, 52>);
  t.set(Op::v_cmp_class_f16, compare_class<false, u16, 10>);
  t.set(Op::v_cmpx_class_f16, compare_class<true, u16, 10>);
}

} // namespace lanewise::interp
