// Folding of logic, shifts and comparisons.
#include "translator/ir/evaluate.hpp"
#include "translator/passes/folder.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

ValueId Folder::fold_comparisons(Op op, Type t, ValueId a, ValueId b) {
  const Match first = match(a, Op::ICmp), second = match(b, Op::ICmp);
  if (first == nullptr || second == nullptr) return {};
  if (operand(first, 0) != operand(second, 0) || operand(first, 1) != operand(second, 1)) return {};
  using enum IntPred;
  // By IntPred, for which of less, equal, and greater it holds.
  constexpr unsigned kOutcomes[] = {2, 5, 1, 3, 4, 6, 1, 3, 4, 6};
  constexpr IntPred kUnsigned[] = {Eq, ULt, Eq, ULe, UGt, Ne, UGe},
                    kSigned[] = {Eq, SLt, Eq, SLe, SGt, Ne, SGe};
  const auto is_either = [](u64 p) { return p <= static_cast<u64>(Ne); };
  const auto is_signed = [](u64 p) { return p >= static_cast<u64>(SLt); };
  const u64 p = first->imm, q = second->imm;
  if (!is_either(p) && !is_either(q) && is_signed(p) != is_signed(q)) return {};
  const unsigned x = kOutcomes[p], y = kOutcomes[q];
  const unsigned both = op == Op::And ? x & y : op == Op::Or ? x | y : op == Op::Xor ? x ^ y : x & ~y;
  if (both == 0 || both == 7) return constant(t, both == 0 ? 0 : 1);
  const IntPred now = (is_signed(p) || is_signed(q) ? kSigned : kUnsigned)[both];
  return emit(Op::ICmp, t, {operand(first, 0), operand(first, 1)}, static_cast<u64>(now));
}

ValueId Folder::fold_logic(Op op, Type t, ValueId a, ValueId b) {
  if (op == Op::AndNot) {
    if (a == b || is_zero(a) || is_ones(b)) return constant(t, 0);
    if (is_zero(b)) return a;
    if (is_ones(a)) return emit(Op::Not, t, {b});
    if (is_const(b)) return emit(Op::And, t, {a, emit(Op::Not, t, {b})});
    if (const Match inner = match(b, Op::AndNot); inner != nullptr && operand(inner, 0) == a)
      return emit(Op::And, t, {a, operand(inner, 1)});
  } else {
    if (is_const(a) && !is_const(b)) return emit(op, t, {b, a});
    if (a == b) return op == Op::Xor ? constant(t, 0) : a;
    if (is_zero(b)) return op == Op::And ? b : a;
    if (u64 kept = 0; op == Op::And && is_const(b, &kept) && bit_width(t) > 1) {
      if ((limits_.ones(a) & kept) == 0) return constant(t, 0); // as of lanes' numbers in groups of 64
      if ((limits_.ones(a) & ~kept) == 0) return a;             // as after the upper half of a shifted index
      if (const ValueId v = field_of_part(t, a, b, kept); v.valid()) return v;
    }
    if (u64 set = 0; op == Op::Or && is_const(b, &set) && bit_width(t) > 1 && (limits_.ones(a) & ~set) == 0)
      return b; // as of the last lane's number
    if (is_ones(b)) return op == Op::And ? a : op == Op::Or ? b : emit(Op::Not, t, {a});
  }
  if (t == Type::G1 || t == Type::U1)
    if (const ValueId v = fold_comparisons(op, t, a, b); v.valid()) return v;
  // Conditions that are the same in every lane: branches on them are the wave's.
  if (const Match sa = match(a, Op::Splat), sb = match(b, Op::Splat);
      t == Type::Mask && sa != nullptr && sb != nullptr)
    return emit(Op::Splat, t, {emit(op, Type::U1, {operand(sa, 0), operand(sb, 0)})});
  // Logic on scalars that are masks is logic on masks.
  const Match ma = match(a, Op::MaskToU64), mb = match(b, Op::MaskToU64);
  if (t == Type::U64 && (ma != nullptr || mb != nullptr) && is_mask_like(a) && is_mask_like(b)) {
    const ValueId x = emit(Op::U64ToMask, Type::Mask, {a});
    const ValueId y = emit(Op::U64ToMask, Type::Mask, {b});
    return emit(Op::MaskToU64, Type::U64, {emit(op, Type::Mask, {x, y})});
  }
  if (op == Op::And)
    if (const Match n = match(b, Op::Not)) return emit(Op::AndNot, t, {a, operand(n, 0)});
  if (op == Op::And)
    if (const Match n = match(a, Op::Not)) return emit(Op::AndNot, t, {b, operand(n, 0)});
  // (x op c) op d -> x op (c op d), for shifts of addresses and flag updates
  u64 c = 0, d = 0;
  if (op != Op::AndNot && is_const(b, &d))
    if (const Match inner = match(a, op); inner != nullptr && is_const(operand(inner, 1), &c)) {
      const ValueId x = operand(inner, 0);
      return emit(op, t, {x, constant(t, op == Op::And ? c & d : op == Op::Or ? c | d : c ^ d)});
    }
  // x & (x & y) -> x & y, the mask algebra of nested conditions
  if (op == Op::And) {
    if (const Match inner = match(b, Op::And);
        inner != nullptr && (operand(inner, 0) == a || operand(inner, 1) == a))
      return b;
    if (const Match inner = match(a, Op::And);
        inner != nullptr && (operand(inner, 0) == b || operand(inner, 1) == b))
      return a;
    if (const Match inner = match(a, Op::AndNot); inner != nullptr && operand(inner, 0) == b) return a;
    if (const Match inner = match(b, Op::AndNot); inner != nullptr && operand(inner, 0) == a) return b;
    if (const ValueId v = compare_in(a, b); v.valid()) return emit(op, t, {a, v});
    if (const ValueId v = compare_in(b, a); v.valid()) return emit(op, t, {b, v});
  }
  // x | (x & y) -> x: the mask behind an if
  if (op == Op::Or)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (const Match inner = match(y, Op::And);
          inner != nullptr && (operand(inner, 0) == x || operand(inner, 1) == x))
        return x;
      if (const Match inner = match(y, Op::AndNot); inner != nullptr && operand(inner, 0) == x) return x;
    }
  // x ^ (x & y) -> x & ~y: how compilers make the other side of a condition
  if (op == Op::Xor) {
    if (const Match inner = match(b, Op::And)) {
      if (operand(inner, 0) == a) return emit(Op::AndNot, t, {a, operand(inner, 1)});
      if (operand(inner, 1) == a) return emit(Op::AndNot, t, {a, operand(inner, 0)});
    }
    if (const Match inner = match(a, Op::And)) {
      if (operand(inner, 0) == b) return emit(Op::AndNot, t, {b, operand(inner, 1)});
      if (operand(inner, 1) == b) return emit(Op::AndNot, t, {b, operand(inner, 0)});
    }
  }
  return {};
}

ValueId Folder::compare_in(ValueId mask, ValueId v) {
  const Match compared = match(v, Op::ICmp);
  if (compared == nullptr || type(mask) != Type::Mask) return {};
  const auto in_mask = [&](ValueId x) {
    const Match s = match(x, Op::Select);
    return s != nullptr && operand(s, 0) == mask ? operand(s, 1) : x;
  };
  const ValueId a = operand(compared, 0), b = operand(compared, 1), x = in_mask(a), y = in_mask(b);
  if ((x == a && y == b) || !is_repeated(x) || !is_repeated(y)) return {};
  return emit(Op::ICmp, Type::Mask, {x, y}, compared->imm);
}

ValueId Folder::part_with(ValueId v, u64 wanted) const {
  for (Match packed = match(v, Op::Or); packed != nullptr; packed = match(v, Op::Or)) {
    const ValueId x = operand(packed, 0), y = operand(packed, 1);
    if ((limits_.ones(x) & wanted) == 0)
      v = y;
    else if ((limits_.ones(y) & wanted) == 0)
      v = x;
    else
      break;
  }
  return v;
}

ValueId Folder::without_low_bits(ValueId v, u64 n, unsigned width) const {
  u64 up = 0, down = 0;
  const Match raised = match(v, Op::Shl);
  if (raised == nullptr || !is_const(operand(raised, 1), &up) || (up & (width - 1)) > n) return {};
  const Match lowered = definition(operand(raised, 0));
  if (lowered == nullptr || (lowered->op != Op::LShr && lowered->op != Op::AShr)) return {};
  const bool same = is_const(operand(lowered, 1), &down) && ((up ^ down) & (width - 1)) == 0;
  return same ? operand(lowered, 0) : ValueId{};
}

ValueId Folder::field_of_part(Type t, ValueId a, ValueId mask, u64 kept) {
  if (const ValueId part = part_with(a, kept); part != a) return emit(Op::And, t, {part, mask});
  u64 n = 0;
  const Match shift = match(a, Op::LShr);
  if (shift == nullptr || !is_const(operand(shift, 1), &n)) return {};
  const ValueId packed = operand(shift, 0), amount = operand(shift, 1);
  const ValueId part = part_with(packed, kept << (n & (bit_width(t) - 1)));
  return part == packed ? ValueId{} : emit(Op::And, t, {emit(Op::LShr, t, {part, amount}), mask});
}

ValueId Folder::fold_not(Type t, ValueId a) {
  if (const Match s = match(a, Op::Splat); s != nullptr && t == Type::Mask)
    return emit(Op::Splat, t, {emit(Op::Not, Type::U1, {operand(s, 0)})});
  if (const Match n = match(a, Op::Not)) return operand(n, 0);
  // ~(x | ~y) -> y & ~x: who goes on with a loop, where registers hold who has left
  if (const Match either = match(a, Op::Or))
    for (const unsigned n : {0u, 1u})
      if (const Match inverted = match(operand(either, n), Op::Not))
        return emit(Op::AndNot, t, {operand(inverted, 0), operand(either, 1 - n)});
  if (const Match m = match(a, Op::MaskToU64)) {
    const ValueId mask = operand(m, 0);
    return emit(Op::MaskToU64, t, {emit(Op::Not, Type::Mask, {mask})});
  }
  if (const Match c = match(a, Op::ICmp)) {
    const ValueId x = operand(c, 0), y = operand(c, 1);
    return emit(Op::ICmp, t, {x, y}, static_cast<u64>(inverse(static_cast<IntPred>(c->imm))));
  }
  return {};
}

unsigned Folder::sign_bits(ValueId v, unsigned depth) {
  if (sign_bits_.size() <= v.index) sign_bits_.resize(f_.num_values());
  if (sign_bits_[v.index] != 0) return sign_bits_[v.index];
  const unsigned width = bit_width(type(v));
  const auto zeros = static_cast<unsigned>(std::countl_zero(limits_.ones(v))) - (64 - width);
  const Match def = definition(v);
  if (zeros != 0 || def == nullptr || depth == kMaxHalfDepth) return std::max(zeros, 1u);
  const unsigned bits = sign_bits_of(def, width, depth + 1);
  sign_bits_[v.index] = static_cast<u8>(bits);
  return bits;
}

unsigned Folder::sign_bits_of(const Match& def, unsigned width, unsigned depth) {
  const auto in = [&](unsigned n) { return sign_bits(operand(def, n), depth); };
  u64 n = 0;
  switch (def->op) {
  case Op::Load: return def->mem.sign_extend ? width + 1 - 8 * def->mem.bytes : 1;
  case Op::AShr:
    if (!is_const(operand(def, 1), &n)) return in(0);
    return std::min(width, in(0) + static_cast<unsigned>(n & (width - 1)));
  case Op::Splat:
  case Op::Not: return in(0);
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::SMin:
  case Op::SMax: return std::min(in(0), in(1));
  case Op::Add:
  case Op::Sub: return std::max(std::min(in(0), in(1)), 2u) - 1;
  case Op::Select: return std::min(in(1), in(2));
  default: return 1;
  }
}

ValueId Folder::move_choice(Type t, ValueId v, u64 n) {
  const Match extended = is_wide(t) ? match(v, Op::ZExt) : Match{};
  const Match s = match(extended != nullptr ? operand(extended, 0) : v, Op::Select);
  u64 x = 0, y = 0;
  if (s == nullptr || !is_const(operand(s, 1), &x) || !is_const(operand(s, 2), &y)) return {};
  if (extended != nullptr && ((x << n) >> 32 != 0 || (y << n) >> 32 != 0)) return {};
  const Type half = extended != nullptr ? type(operand(extended, 0)) : t;
  const ValueId c = operand(s, 0), first = constant(half, (x << n) & constant_bits(half));
  const ValueId choice = emit(Op::Select, half, {c, first, constant(half, (y << n) & constant_bits(half))});
  return extended != nullptr ? emit(Op::ZExt, t, {choice}) : choice;
}

ValueId Folder::fold_shift(Op op, Type t, ValueId a, ValueId amount) {
  u64 n = 0, m = 0;
  const unsigned width = bit_width(t);
  if (!is_const(amount, &n)) return {};
  n &= width - 1;
  if (n == 0) return a;
  if (op == Op::Shl)
    if (const ValueId moved = move_choice(t, a, n); moved.valid()) return moved;
  // x << m << n -> x << (m + n), likewise to the right
  if (const Match inner = match(a, op); inner != nullptr && is_const(operand(inner, 1), &m)) {
    m &= width - 1;
    const ValueId x = operand(inner, 0);
    if (n + m < width) return emit(op, t, {x, constant(type(amount), n + m)});
    if (op != Op::AShr) return constant(t, 0);
  }
  if (op != Op::Shl) {
    if (const ValueId part = part_with(a, constant_bits(t) << n); part != a)
      return emit(op, t, {part, amount});
    if (const ValueId x = without_low_bits(a, n, width); x.valid()) return emit(op, t, {x, amount});
  }
  if (op == Op::LShr)
    if (const Match up = match(a, Op::Shl);
        up != nullptr && is_const(operand(up, 1), &m) && (m & (width - 1)) == n)
      if (const ValueId x = operand(up, 0); (limits_.ones(x) & constant_bits(t)) >> (width - n) == 0)
        return x;
  if (op == Op::AShr && width == 32 && limits_.max(a) >> 31 == 0) return emit(Op::LShr, t, {a, amount});
  if (op == Op::LShr && limits_.max(a) >> n == 0) return constant(t, 0);
  if (op == Op::AShr) // the sign extension of what is extended already
    if (const Match up = match(a, Op::Shl);
        up != nullptr && is_const(operand(up, 1), &m) && (m & (width - 1)) == n)
      if (const ValueId x = operand(up, 0); sign_bits(x) > n) return x;
  if (!is_wide(t)) return {};
  // 64-bit shifts of a value whose interesting half is known
  const Type half = half_of(t);
  if (op == Op::AShr && n == 32)
    if (const Match j = match(a, Op::Join)) return emit(Op::SExt, t, {operand(j, 1)}); // join(x, y) >> 32
  // ashr(join(0, x), 32 - k) -> shl(sext(x), k): the index scaling of clang
  if (op == Op::AShr && n < 32)
    if (const Match j = match(a, Op::Join); j != nullptr && is_zero(operand(j, 0)) && n != 0) {
      const ValueId x = emit(Op::SExt, t, {operand(j, 1)});
      return emit(Op::Shl, t, {x, constant(amount_type(t), 32 - n)});
    }
  if (op == Op::LShr && n < 32)
    if (const Match z = match(a, Op::ZExt); z != nullptr && type(operand(z, 0)) == half) {
      const ValueId x = operand(z, 0);
      return emit(Op::ZExt, t, {emit(Op::LShr, half, {x, constant(half, n)})});
    }
  if (op == Op::LShr && n >= 32)
    if (const Match j = match(a, Op::Join);
        j != nullptr && !(t == Type::V64 && n != 32 && is_pair(operand(j, 0), operand(j, 1)))) {
      const ValueId high = operand(j, 1);
      const ValueId shifted = emit(Op::LShr, half, {high, constant(half, n - 32)});
      return emit(Op::ZExt, t, {shifted});
    }
  return {};
}

ValueId Folder::fold_icmp(IntPred p, Type t, ValueId a, ValueId b) {
  if (a == b) {
    const bool reflexive =
        p == IntPred::Eq || p == IntPred::ULe || p == IntPred::UGe || p == IntPred::SLe || p == IntPred::SGe;
    return reflexive ? all_ones(t) : constant(t, 0);
  }
  if (const ValueId v = compare_choice(p, t, a, b); v.valid()) return v;
  if (const ValueId v = ask_for_missing(p, t, a, b); v.valid()) return v;
  if ((p == IntPred::Eq || p == IntPred::Ne) && (is_first_of(a, b) || is_first_of(b, a)))
    return p == IntPred::Eq ? all_ones(t) : constant(t, 0);
  if (const auto known = limits_.compare(p, a, b)) return *known ? all_ones(t) : constant(t, 0);
  if (!is_zero(b) || (p != IntPred::Eq && p != IntPred::Ne)) return {};
  // mask != 0 -> any lane; bool != 0 -> bool
  ValueId truth;
  if (const Match m = match(a, Op::MaskToU64))
    truth = emit(Op::AnyLane, Type::U1, {operand(m, 0)});
  else if (const Match z = match(a, Op::ZExt); z != nullptr && type(operand(z, 0)) == Type::U1)
    truth = operand(z, 0);
  else if (const Match s = match(a, Op::Select); s != nullptr && is_const(operand(s, 1)) &&
                                                 !is_zero(operand(s, 1)) && is_zero(operand(s, 2)) &&
                                                 type(operand(s, 0)) == t)
    truth = operand(s, 0);
  if (!truth.valid()) return {};
  return p == IntPred::Ne ? truth : emit(Op::Not, t, {truth});
}

bool Folder::is_first_of(ValueId first, ValueId v) const {
  const Match s = match(first, Op::Splat);
  if (s == nullptr) return false;
  const Match r = match(operand(s, 0), Op::ReadFirst);
  return r != nullptr && operand(r, 0) == v && is_same_in_all_lanes(v, 0);
}

bool Folder::is_same_in_all_lanes(ValueId v, unsigned depth) const {
  constexpr unsigned kMaxDepth = 8;
  const InstId i = f_.def_id(v);
  if (is_uniform(type(v))) return true;
  if (!i.valid() || depth == kMaxDepth) return false;
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  if (inst.op == Op::Const) return type(v) != Type::Mask;
  if (inst.op == Op::Load) // Rows and tables have a scalar base, and lanes go elsewhere from there.
    return (inst.mem.space == Space::Global || inst.mem.space == Space::Lds) &&
           inst.mem.form == ir::AddressForm::Lanes && f_.is_full(x.back()) &&
           is_same_in_all_lanes(x[0], depth + 1);
  return (inst.op == Op::Splat || is_lanewise(inst.op)) && type(v) != Type::Mask &&
         std::ranges::all_of(x, [&](ValueId o) { return is_same_in_all_lanes(o, depth + 1); });
}

ValueId Folder::compare_choice(IntPred p, Type t, ValueId a, ValueId b) {
  const bool swapped = is_const(a);
  const Match s = match(swapped ? b : a, Op::Select);
  u64 x = 0, y = 0, z = 0;
  if (s == nullptr || !is_const(swapped ? a : b, &z) || !is_const(operand(s, 1), &x) ||
      !is_const(operand(s, 2), &y))
    return {};
  const auto outcome = [&](u64 v) {
    const u64 operands[] = {swapped ? z : v, swapped ? v : z};
    return *evaluate(Op::ICmp, Type::U1, type(a), static_cast<u64>(p), operands) != 0;
  };
  const bool if_true = outcome(x), if_false = outcome(y);
  if (if_true == if_false) return if_true ? all_ones(t) : constant(t, 0);
  ValueId c = operand(s, 0);
  if (type(c) != t) c = type(c) == Type::U1 ? emit(Op::Splat, t, {c}) : ValueId{};
  if (!c.valid()) return {};
  return if_true ? c : emit(Op::Not, t, {c});
}

ValueId Folder::ask_for_missing(IntPred p, Type t, ValueId a, ValueId b) {
  const ValueId none = is_const(b) ? b : a;
  const Match s = match(is_const(b) ? a : b, Op::Select);
  u64 missing = 0, other = 0;
  if ((p != IntPred::Eq && p != IntPred::Ne) || s == nullptr || !is_const(none, &missing) ||
      !is_const(operand(s, 2), &other) || missing != other || missing == 0 || type(operand(s, 0)) != t ||
      t != Type::Mask)
    return {};
  const ValueId there = emit(Op::ICmp, t, {operand(s, 1), none}, static_cast<u64>(IntPred::Ne));
  const ValueId both = emit(Op::And, t, {operand(s, 0), there});
  return p == IntPred::Ne ? both : emit(Op::Not, t, {both});
}

} // namespace lanewise::passes
