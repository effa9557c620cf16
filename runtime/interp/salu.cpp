// Scalar arithmetic (7nm guide 12.1 to 12.4). SCC is written where the guide says so.
#include "runtime/interp/operands.hpp"
#include "runtime/interp/special.hpp"
#include "runtime/interp/table.hpp"

#include <bit>
#include <type_traits>

namespace lanewise::interp {
namespace {

using isa::Op;

template <class T>
void write_scalar(Wave& w, const Code& c, T value) {
  if constexpr (sizeof(T) == 8)
    set_sgpr_pair(w, c.dst, static_cast<u64>(value));
  else
    w.sgpr[c.dst] = static_cast<u32>(value);
}

template <class T>
T operand(Wave& w, const Code& c, unsigned slot) {
  return static_cast<T>(scalar(w, c, slot));
}

/// Evaluates a lambda on the sources, converted to its parameters' types.
template <class F>
struct Args;
template <class R, class A>
struct Args<R (*)(A)> {
  template <auto F>
  static R call(Wave& w, const Code& c) {
    return F(operand<A>(w, c, 0));
  }
};
template <class R, class A, class B>
struct Args<R (*)(A, B)> {
  template <auto F>
  static R call(Wave& w, const Code& c) {
    return F(operand<A>(w, c, 0), operand<B>(w, c, 1));
  }
};

template <auto F>
auto evaluate(Wave& w, const Code& c) {
  return Args<decltype(+F)>::template call<F>(w, c);
}

/// D = F(sources); SCC stays.
template <auto F>
const Code* plain(Wave& w, const Code& c) {
  write_scalar(w, c, evaluate<F>(w, c));
  return next(c);
}

/// D = F(sources); SCC = D != 0.
template <auto F>
const Code* nonzero(Wave& w, const Code& c) {
  const auto result = evaluate<F>(w, c);
  write_scalar(w, c, result);
  w.scc = result != 0;
  return next(c);
}

struct Flagged {
  u32 value;
  bool scc;
};
/// D and SCC as F says.
template <auto F>
const Code* flagged(Wave& w, const Code& c) {
  const Flagged result = evaluate<F>(w, c);
  write_scalar(w, c, result.value);
  w.scc = result.scc;
  return next(c);
}

/// SCC = F(S0, S1).
template <auto F>
const Code* compare(Wave& w, const Code& c) {
  w.scc = evaluate<F>(w, c);
  return next(c);
}

template <bool Subtract>
const Code* add_carry(Wave& w, const Code& c) {
  const u64 a = operand<u32>(w, c, 0), b = operand<u32>(w, c, 1), carry = w.scc ? 1 : 0;
  const u64 wide = Subtract ? a - b - carry : a + b + carry;
  write_scalar(w, c, static_cast<u32>(wide));
  w.scc = (wide >> 32) != 0;
  return next(c);
}

template <class T>
const Code* cselect(Wave& w, const Code& c) {
  write_scalar(w, c, operand<T>(w, c, w.scc ? 0 : 1));
  return next(c);
}
template <class T>
const Code* cmov(Wave& w, const Code& c) {
  if (w.scc) write_scalar(w, c, operand<T>(w, c, 0));
  return next(c);
}

template <class T, bool Value>
const Code* bitset(Wave& w, const Code& c) {
  const T bit = T{1} << (operand<u32>(w, c, 0) & (sizeof(T) * 8 - 1));
  const T old = sizeof(T) == 8 ? static_cast<T>(sgpr_pair(w, c.dst)) : w.sgpr[c.dst];
  write_scalar(w, c, static_cast<T>(Value ? old | bit : old & ~bit));
  return next(c);
}

/// D = EXEC; EXEC = F(S0, EXEC); SCC = EXEC != 0.
template <auto F>
const Code* saveexec(Wave& w, const Code& c) {
  const u64 source = scalar(w, c, 0), old = w.exec();
  write_scalar(w, c, old);
  w.exec() = F(source, old);
  w.scc = w.exec() != 0;
  return next(c);
}
/// EXEC = D = F(S0, EXEC).
template <auto F>
const Code* wrexec(Wave& w, const Code& c) {
  w.exec() = F(scalar(w, c, 0), w.exec());
  write_scalar(w, c, w.exec());
  w.scc = w.exec() != 0;
  return next(c);
}

// Relative scalar moves; beyond the scalar registers the index wraps, so that no memory is touched.
template <class T>
const Code* movrels(Wave& w, const Code& c) {
  const unsigned from = (c.src[0].index + w.m0()) & 127;
  write_scalar(w, c, static_cast<T>(sizeof(T) == 8 ? sgpr_pair(w, from) : w.sgpr[from]));
  return next(c);
}
template <class T>
const Code* movreld(Wave& w, const Code& c) {
  const unsigned to = (c.dst + w.m0()) & 127;
  const u64 value = scalar(w, c, 0);
  if (sizeof(T) == 8)
    set_sgpr_pair(w, to, value);
  else
    w.sgpr[to] = static_cast<u32>(value);
  return next(c);
}

const Code* addk(Wave& w, const Code& c) {
  const i32 a = static_cast<i32>(w.sgpr[c.dst]), b = operand<i32>(w, c, 0);
  i32 sum = 0;
  w.scc = __builtin_add_overflow(a, b, &sum);
  write_scalar(w, c, sum);
  return next(c);
}
const Code* mulk(Wave& w, const Code& c) {
  write_scalar(w, c, w.sgpr[c.dst] * operand<u32>(w, c, 0));
  return next(c);
}

template <class T>
T whole_quads(T x) {
  T any = x | x >> 1;
  any |= any >> 2;
  any &= static_cast<T>(0x1111'1111'1111'1111);
  return static_cast<T>(any * 15);
}
template <class T>
T quad_mask(T x) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    if ((x >> i * 4 & 15) != 0) result |= T{1} << i;
  return result;
}
template <class T>
T reversed(T x) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result = static_cast<T>(result << 1 | (x >> i & 1));
  return result;
}
u64 replicate_bits(u32 x) {
  u64 result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= u64{3} * (x >> i & 1) << i * 2;
  return result;
}

template <class T>
u32 first_one(T x) {
  return x == 0 ? ~0u : static_cast<u32>(std::countr_zero(x));
}
template <class T>
u32 leading_zeros(T x) {
  return x == 0 ? ~0u : static_cast<u32>(std::countl_zero(x));
}
/// How many bits from the top on equal the sign; -1 if all do.
template <class T>
u32 sign_bits(T x) {
  const auto changes = static_cast<std::make_unsigned_t<T>>(x ^ x >> (sizeof(T) * 8 - 1));
  return changes == 0 ? ~0u : static_cast<u32>(std::countl_zero(changes));
}

template <class T>
T extract_u(T x, u32 field) {
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 offset = field & (kBits - 1), width = field >> 16 & 0x7f;
  const T shifted = x >> offset;
  return width >= kBits ? shifted : shifted & ((T{1} << width) - 1);
}
template <class T>
T extract_i(T x, u32 field) {
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 offset = field & (kBits - 1), width = field >> 16 & 0x7f;
  if (width == 0) return 0;
  const T shifted = x >> offset;
  return width >= kBits ? shifted : static_cast<T>(sign_extend(static_cast<u64>(shifted), width));
}

// The logical operations, on 32 and on 64 bits.
#define LOGIC(name, expression)                                                                              \
  t.set(Op::s_##name##_b32, nonzero<[](u32 a, u32 b) { return (expression); }>);                             \
  t.set(Op::s_##name##_b64, nonzero<[](u64 a, u64 b) { return (expression); }>);

void register_logic(HandlerTable& t) {
  LOGIC(and, a & b)
  LOGIC(or, a | b)
  LOGIC(xor, a ^ b)
  LOGIC(andn2, a & ~b)
  LOGIC(orn2, a | ~b)
  LOGIC(nand, ~(a & b))
  LOGIC(nor, ~(a | b))
  LOGIC(xnor, ~(a ^ b))
  t.set(Op::s_lshl_b32, nonzero<[](u32 a, u32 n) { return a << (n & 31); }>);
  t.set(Op::s_lshl_b64, nonzero<[](u64 a, u32 n) { return a << (n & 63); }>);
  t.set(Op::s_lshr_b32, nonzero<[](u32 a, u32 n) { return (a >> (n & 31)); }>);
  t.set(Op::s_lshr_b64, nonzero<[](u64 a, u32 n) { return (a >> (n & 63)); }>);
  t.set(Op::s_ashr_i32, nonzero<[](i32 a, u32 n) { return (a >> (n & 31)); }>);
  t.set(Op::s_ashr_i64, nonzero<[](i64 a, u32 n) { return (a >> (n & 63)); }>);
  t.set(Op::s_bfm_b32, plain<[](u32 width, u32 n) { return ((1u << (width & 31)) - 1) << (n & 31); }>);
  t.set(Op::s_bfm_b64, plain<[](u32 width, u32 n) { return ((u64{1} << (width & 63)) - 1) << (n & 63); }>);
  t.set(Op::s_bfe_u32, nonzero<extract_u<u32>>);
  t.set(Op::s_bfe_u64, nonzero<extract_u<u64>>);
  t.set(Op::s_bfe_i32, nonzero<extract_i<i32>>);
  t.set(Op::s_bfe_i64, nonzero<extract_i<i64>>);
  t.set(Op::s_pack_ll_b32_b16, plain<[](u32 a, u32 b) { return (a & 0xffff) | b << 16; }>);
  t.set(Op::s_pack_lh_b32_b16, plain<[](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff'0000); }>);
  t.set(Op::s_pack_hh_b32_b16, plain<[](u32 a, u32 b) { return (a >> 16) | (b & 0xffff'0000); }>);
}

template <unsigned Shift>
Flagged shift_add(u32 a, u32 b) {
  const u64 sum = (u64{a} << Shift) + b;
  return {static_cast<u32>(sum), (sum >> 32) != 0};
}

void register_arithmetic(HandlerTable& t) {
  t.set(Op::s_add_u32, flagged<[](u32 a, u32 b) { return Flagged{a + b, a + b < a}; }>);
  t.set(Op::s_sub_u32, flagged<[](u32 a, u32 b) { return Flagged{a - b, a < b}; }>);
  t.set(Op::s_add_i32, flagged<[](i32 a, i32 b) {
          i32 r = 0;
          const bool overflow = __builtin_add_overflow(a, b, &r);
          return Flagged{static_cast<u32>(r), overflow};
        }>);
  t.set(Op::s_sub_i32, flagged<[](i32 a, i32 b) {
          i32 r = 0;
          const bool overflow = __builtin_sub_overflow(a, b, &r);
          return Flagged{static_cast<u32>(r), overflow};
        }>);
  t.set(Op::s_addc_u32, add_carry<false>);
  t.set(Op::s_subb_u32, add_carry<true>);
  t.set(Op::s_min_i32, flagged<[](i32 a, i32 b) { return Flagged{static_cast<u32>(a < b ? a : b), a < b}; }>);
  t.set(Op::s_min_u32, flagged<[](u32 a, u32 b) { return Flagged{a < b ? a : b, a < b}; }>);
  t.set(Op::s_max_i32, flagged<[](i32 a, i32 b) { return Flagged{static_cast<u32>(a < b ? b : a), b < a}; }>);
  t.set(Op::s_max_u32, flagged<[](u32 a, u32 b) { return Flagged{a < b ? b : a, b < a}; }>);
  t.set(Op::s_absdiff_i32, nonzero<[](u32 a, u32 b) {
          const u32 d = a - b;
          return static_cast<i32>(d) < 0 ? 0 - d : d;
        }>);
  t.set(Op::s_abs_i32, nonzero<[](u32 a) { return static_cast<i32>(a) < 0 ? 0 - a : a; }>);
  t.set(Op::s_mul_i32, plain<[](u32 a, u32 b) { return a * b; }>);
  t.set(Op::s_mul_hi_u32, plain<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>);
  t.set(Op::s_mul_hi_i32, plain<[](i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); }>);
  t.set(Op::s_lshl1_add_u32, flagged<shift_add<1>>);
  t.set(Op::s_lshl2_add_u32, flagged<shift_add<2>>);
  t.set(Op::s_lshl3_add_u32, flagged<shift_add<3>>);
  t.set(Op::s_lshl4_add_u32, flagged<shift_add<4>>);
  t.set(Op::s_addk_i32, addk);
  t.set(Op::s_mulk_i32, mulk);
}

void register_moves(HandlerTable& t) {
  t.set(Op::s_mov_b32, plain<[](u32 a) { return a; }>);
  t.set(Op::s_mov_b64, plain<[](u64 a) { return a; }>);
  t.set(Op::s_movk_i32, plain<[](u32 a) { return a; }>);
  t.set(Op::s_cmov_b32, cmov<u32>);
  t.set(Op::s_cmov_b64, cmov<u64>);
  t.set(Op::s_cmovk_i32, cmov<u32>);
  t.set(Op::s_cselect_b32, cselect<u32>);
  t.set(Op::s_cselect_b64, cselect<u64>);
  t.set(Op::s_movrels_b32, movrels<u32>);
  t.set(Op::s_movrels_b64, movrels<u64>);
  t.set(Op::s_movreld_b32, movreld<u32>);
  t.set(Op::s_movreld_b64, movreld<u64>);
}

void register_bits(HandlerTable& t) {
  t.set(Op::s_not_b32, nonzero<[](u32 a) { return ~a; }>);
  t.set(Op::s_not_b64, nonzero<[](u64 a) { return ~a; }>);
  t.set(Op::s_wqm_b32, nonzero<whole_quads<u32>>);
  t.set(Op::s_wqm_b64, nonzero<whole_quads<u64>>);
  t.set(Op::s_quadmask_b32, nonzero<quad_mask<u32>>);
  t.set(Op::s_quadmask_b64, nonzero<quad_mask<u64>>);
  t.set(Op::s_brev_b32, plain<reversed<u32>>);
  t.set(Op::s_brev_b64, plain<reversed<u64>>);
  t.set(Op::s_bitreplicate_b64_b32, plain<replicate_bits>);
  t.set(Op::s_bcnt0_i32_b32, nonzero<[](u32 a) { return static_cast<u32>(std::popcount(~a)); }>);
  t.set(Op::s_bcnt0_i32_b64, nonzero<[](u64 a) { return static_cast<u32>(std::popcount(~a)); }>);
  t.set(Op::s_bcnt1_i32_b32, nonzero<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>);
  t.set(Op::s_bcnt1_i32_b64, nonzero<[](u64 a) { return static_cast<u32>(std::popcount(a)); }>);
  t.set(Op::s_ff0_i32_b32, plain<[](u32 a) { return first_one(~a); }>);
  t.set(Op::s_ff0_i32_b64, plain<[](u64 a) { return first_one(~a); }>);
  t.set(Op::s_ff1_i32_b32, plain<first_one<u32>>);
  t.set(Op::s_ff1_i32_b64, plain<first_one<u64>>);
  t.set(Op::s_flbit_i32_b32, plain<leading_zeros<u32>>);
  t.set(Op::s_flbit_i32_b64, plain<leading_zeros<u64>>);
  t.set(Op::s_flbit_i32, plain<sign_bits<i32>>);
  t.set(Op::s_flbit_i32_i64, plain<sign_bits<i64>>);
  t.set(Op::s_sext_i32_i8, plain<[](u32 a) { return static_cast<i32>(static_cast<i8>(a)); }>);
  t.set(Op::s_sext_i32_i16, plain<[](u32 a) { return static_cast<i32>(static_cast<i16>(a)); }>);
  t.set(Op::s_bitset0_b32, bitset<u32, false>);
  t.set(Op::s_bitset0_b64, bitset<u64, false>);
  t.set(Op::s_bitset1_b32, bitset<u32, true>);
  t.set(Op::s_bitset1_b64, bitset<u64, true>);
}

// F(S0, EXEC).
void register_exec(HandlerTable& t) {
  t.set(Op::s_and_saveexec_b64, saveexec<[](u64 s, u64 e) { return s & e; }>);
  t.set(Op::s_or_saveexec_b64, saveexec<[](u64 s, u64 e) { return s | e; }>);
  t.set(Op::s_xor_saveexec_b64, saveexec<[](u64 s, u64 e) { return s ^ e; }>);
  t.set(Op::s_andn2_saveexec_b64, saveexec<[](u64 s, u64 e) { return s & ~e; }>);
  t.set(Op::s_orn2_saveexec_b64, saveexec<[](u64 s, u64 e) { return s | ~e; }>);
  t.set(Op::s_nand_saveexec_b64, saveexec<[](u64 s, u64 e) { return ~(s & e); }>);
  t.set(Op::s_nor_saveexec_b64, saveexec<[](u64 s, u64 e) { return ~(s | e); }>);
  t.set(Op::s_xnor_saveexec_b64, saveexec<[](u64 s, u64 e) { return ~(s ^ e); }>);
  t.set(Op::s_andn1_saveexec_b64, saveexec<[](u64 s, u64 e) { return ~s & e; }>);
  t.set(Op::s_orn1_saveexec_b64, saveexec<[](u64 s, u64 e) { return ~s | e; }>);
  t.set(Op::s_andn1_wrexec_b64, wrexec<[](u64 s, u64 e) { return ~s & e; }>);
  t.set(Op::s_andn2_wrexec_b64, wrexec<[](u64 s, u64 e) { return s & ~e; }>);
}

// A condition between two sources, and between a register and an immediate.
#define CONDITION(name, op)                                                                                  \
  t.set(Op::s_cmp_##name##_i32, compare<[](i32 a, i32 b) { return (a op b); }>);                             \
  t.set(Op::s_cmp_##name##_u32, compare<[](u32 a, u32 b) { return (a op b); }>);                             \
  t.set(Op::s_cmpk_##name##_i32, compare<[](i32 a, i32 b) { return (a op b); }>);                            \
  t.set(Op::s_cmpk_##name##_u32, compare<[](u32 a, u32 b) { return (a op(b & 0xffff)); }>);

void register_conditions(HandlerTable& t) {
  CONDITION(eq, ==)
  CONDITION(lg, !=)
  CONDITION(gt, >)
  CONDITION(ge, >=)
  CONDITION(lt, <)
  CONDITION(le, <=)
  t.set(Op::s_cmp_eq_u64, compare<[](u64 a, u64 b) { return a == b; }>);
  t.set(Op::s_cmp_lg_u64, compare<[](u64 a, u64 b) { return a != b; }>);
  t.set(Op::s_bitcmp0_b32, compare<[](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }>);
  t.set(Op::s_bitcmp1_b32, compare<[](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }>);
  t.set(Op::s_bitcmp0_b64, compare<[](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; }>);
  t.set(Op::s_bitcmp1_b64, compare<[](u64 a, u32 b) { return (a >> (b & 63) & 1) != 0; }>);
}

} // namespace

void register_salu(HandlerTable& t) {
  register_logic(t);
  register_arithmetic(t);
  register_moves(t);
  register_bits(t);
  register_exec(t);
  register_conditions(t);
}

} // namespace lanewise::interp
