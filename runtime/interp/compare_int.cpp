#include "runtime/interp/compare.hpp"

namespace lanewise::interp {

using isa::Op;

// The eight conditions on one type, with and without EXEC.
#define COMPARE(condition, type, T, expression)                                                              \
  t.set(Op::v_cmp_##condition##_##type, compare_int<false, T, [](T a, T b) { return (expression); }>);       \
  t.set(Op::v_cmpx_##condition##_##type, compare_int<true, T, [](T a, T b) { return (expression); }>);
#define COMPARE_ALL(type, T)                                                                                 \
  COMPARE(f, type, T, (void(a), void(b), false))                                                             \
  COMPARE(lt, type, T, a < b)                                                                                \
  COMPARE(eq, type, T, a == b)                                                                               \
  COMPARE(le, type, T, a <= b)                                                                               \
  COMPARE(gt, type, T, a > b)                                                                                \
  COMPARE(ne, type, T, a != b)                                                                               \
  COMPARE(ge, type, T, a >= b)                                                                               \
  COMPARE(t, type, T, (void(a), void(b), true))

void register_compare_int(HandlerTable& t) {
  COMPARE_ALL(i32, i32)
  COMPARE_ALL(u32, u32)
  COMPARE_ALL(i64, i64)
  COMPARE_ALL(u64, u64)
  COMPARE_ALL(i16, i16)
  COMPARE_ALL(u16, u16)
}

} // namespace lanewise::interp
