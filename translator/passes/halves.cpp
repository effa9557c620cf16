#include "translator/passes/halves.hpp"

#include "translator/ir/wide_access.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

/// Comparisons for one question: enough for rounds of a hash, and for an index in three dimensions with
/// offsets.
constexpr unsigned kMaxSteps = 100;

bool is_high_half_zero(const Function& f, ValueId wide) {
  const Inst* w = f.def(wide);
  u64 n = 0;
  return w != nullptr &&
         (w->op == Op::ZExt ||
          (w->op == Op::LShr && f.is_const(f.operands(f.def_id(wide))[1], &n) && n % 64 >= 32));
}

/// Also if the two are computed alike, by logic.
bool is_high_half(const Function& f, ValueId high, ValueId wide, unsigned& steps) {
  const Inst *h = f.def(high), *w = f.def(wide);
  const auto of_high = [&](unsigned n) { return f.operands(f.def_id(high))[n]; };
  const auto of_wide = [&](unsigned n) { return f.operands(f.def_id(wide))[n]; };
  if (w != nullptr && w->op == Op::Join && of_wide(1) == high) return true;
  if (h != nullptr && h->op == Op::Hi && of_high(0) == wide) return true;
  if (w == nullptr || h == nullptr || steps == 0 || --steps == 0) return false;
  if (w->op == Op::Or || w->op == Op::Xor) // as in a rotation
    for (unsigned n = 0; n < 2; ++n)
      if (is_high_half_zero(f, of_wide(n)) && is_high_half(f, high, of_wide(1 - n), steps)) return true;
  if (h->op != w->op || (w->op != Op::And && w->op != Op::Or && w->op != Op::Xor)) return false;
  const auto halves = [&](unsigned n, unsigned m) { return is_high_half(f, of_high(n), of_wide(m), steps); };
  return (halves(0, 0) && halves(1, 1)) || (halves(0, 1) && halves(1, 0));
}

/// `v` is the upper half of `wide`, shifted to the right by `n`.
bool is_shifted_high_half(const Function& f, ValueId v, ValueId wide, u64 n, unsigned& steps) {
  if (n == 0) return is_high_half(f, v, wide, steps);
  const Inst* shift = f.def(v);
  u64 amount = 0;
  if (shift == nullptr || shift->op != Op::LShr || !f.is_const(f.operands(f.def_id(v))[1], &amount))
    return false;
  return (amount & 31) == n && is_high_half(f, f.operands(f.def_id(v))[0], wide, steps);
}

bool is_low_half_zero(const Function& f, ValueId wide) {
  u64 bits = 1;
  const Inst* w = f.def(wide);
  if (w != nullptr && w->op == Op::Join) return f.is_const(f.operands(f.def_id(wide))[0], &bits) && bits == 0;
  if (w != nullptr && w->op == Op::Shl)
    return f.is_const(f.operands(f.def_id(wide))[1], &bits) && bits % 64 >= 32;
  return f.is_const(wide, &bits) && static_cast<u32>(bits) == 0;
}

bool is_low_half(const Function& f, ValueId low, ValueId wide, unsigned& steps);

/// Of a value that is made of its halves, or of the lower one.
ValueId plain_low_half(const Function& f, ValueId wide) {
  const Inst* w = f.def(wide);
  const bool plain = w != nullptr && (w->op == Op::Join || w->op == Op::ZExt || w->op == Op::SExt);
  return plain ? f.operands(f.def_id(wide))[0] : ValueId{};
}

/// The lower halves are computed alike, the upper ones may be not.
bool have_same_low_half(const Function& f, ValueId a, ValueId b, unsigned& steps) {
  if (a == b) return true;
  if (steps == 0 || --steps == 0) return false;
  if (const ValueId low = plain_low_half(f, a); low.valid()) return is_low_half(f, low, b, steps);
  if (const ValueId low = plain_low_half(f, b); low.valid()) return is_low_half(f, low, a, steps);
  const Inst *x = f.def(a), *y = f.def(b);
  if (x == nullptr || y == nullptr || x->op != y->op || x->num_operands != y->num_operands) return false;
  const auto same = [&](unsigned n, unsigned m) {
    return have_same_low_half(f, f.operands(f.def_id(a))[n], f.operands(f.def_id(b))[m], steps);
  };
  if (x->op == Op::Splat) return same(0, 0);
  if (x->op == Op::Shl) return f.operands(f.def_id(a))[1] == f.operands(f.def_id(b))[1] && same(0, 0);
  if (!is_bitwise_from_below(x->op) || x->num_operands != 2) return false;
  return (same(0, 0) && same(1, 1)) || (info(x->op).is(kCommutes) && same(0, 1) && same(1, 0));
}

bool is_low_half(const Function& f, ValueId low, ValueId wide, unsigned& steps) {
  u64 bits = 0, all = 0;
  if (f.is_const(low, &bits) && f.is_const(wide, &all)) return bits == static_cast<u32>(all);
  const Inst *l = f.def(low), *w = f.def(wide);
  const auto of_low = [&](unsigned n) { return f.operands(f.def_id(low))[n]; };
  const auto of_wide = [&](unsigned n) { return f.operands(f.def_id(wide))[n]; };
  if (l != nullptr && l->op == Op::Lo && have_same_low_half(f, of_low(0), wide, steps)) return true;
  if (w == nullptr) return false;
  if (w->op == Op::Join || w->op == Op::ZExt || w->op == Op::SExt) return of_wide(0) == low;
  if (l == nullptr || steps == 0 || --steps == 0) return false;
  if (w->op == Op::Add || w->op == Op::Or) // as in a rotation by 32
    for (unsigned n = 0; n < 2; ++n)
      if (is_low_half_zero(f, of_wide(n)) && is_low_half(f, low, of_wide(1 - n), steps)) return true;
  if ((w->op == Op::UMulWide || w->op == Op::SMulWide) && l->op == Op::Mul)
    return (of_low(0) == of_wide(0) && of_low(1) == of_wide(1)) ||
           (of_low(0) == of_wide(1) && of_low(1) == of_wide(0));
  if (u64 n = 0; w->op == Op::LShr && f.is_const(of_wide(1), &n) && n % 64 >= 32)
    return is_shifted_high_half(f, low, of_wide(0), n % 64 - 32, steps);
  if (l->op != w->op) return false;
  if (u64 n = 0, m = 0; w->op == Op::Shl)
    return f.is_const(of_wide(1), &n) && f.is_const(of_low(1), &m) && n == m && n < 32 &&
           is_low_half(f, of_low(0), of_wide(0), steps);
  const auto halves = [&](unsigned n, unsigned m) { return is_low_half(f, of_low(n), of_wide(m), steps); };
  if (w->op == Op::Splat) return halves(0, 0);
  if (w->op == Op::Select) return of_low(0) == of_wide(0) && halves(1, 1) && halves(2, 2);
  if (!is_bitwise_from_below(w->op)) return false;
  return (halves(0, 0) && halves(1, 1)) || (info(w->op).is(kCommutes) && halves(0, 1) && halves(1, 0));
}

} // namespace

bool is_low_half(const Function& f, ValueId low, ValueId wide) {
  unsigned steps = kMaxSteps;
  return is_low_half(f, low, wide, steps);
}

bool is_high_half(const Function& f, ValueId high, ValueId wide) {
  unsigned steps = kMaxSteps;
  return is_high_half(f, high, wide, steps);
}

ValueId whole_of(const Function& f, ValueId low, ValueId high) {
  const Inst* h = f.def(high);
  if (h == nullptr || h->op != Op::Hi) return {};
  const ValueId whole = f.operands(f.def_id(high))[0];
  return is_low_half(f, low, whole) ? whole : ValueId{};
}

bool is_loaded_pair(const Function& f, ValueId low, ValueId high) {
  const InstId i = f.def_id(low);
  if (!i.valid() || i != f.def_id(high) || f[i].op != Op::Load || !can_be_wide(f[i])) return false;
  return f[low].index % 2 == 0 && f[high].index == f[low].index + 1;
}

Rotation rotation(const Function& f, InstId i) {
  if (f[i].op != Op::Or || !is_wide(f.type(f.result(i)))) return {};
  const auto x = f.operands(i);
  for (const bool swap : {false, true}) {
    const InstId down = f.def_id(x[swap ? 1 : 0]), up = f.def_id(x[swap ? 0 : 1]);
    u64 right = 0, left = 0;
    if (!down.valid() || !up.valid() || f[down].op != Op::LShr || f[up].op != Op::Shl ||
        f.operands(down)[0] != f.operands(up)[0] || !f.is_const(f.operands(down)[1], &right) ||
        !f.is_const(f.operands(up)[1], &left))
      continue;
    if ((right + left) % 64 == 0 && right % 64 != 0) return {f.operands(down)[0], right % 64};
  }
  return {};
}

} // namespace lanewise::passes
