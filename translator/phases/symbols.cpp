#include "translator/phases/symbols.hpp"

#include <algorithm>
#include <array>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr Symbol kExpression = u64{1} << 63;
constexpr unsigned kMaxDepth = 6;

bool is_past(Symbol s) { return s < u64{1} << 32; }

u64 mix(u64 hash, u64 x) {
  hash = (hash ^ x) * 0x9e37'79b9'7f4a'7c15u;
  return hash ^ hash >> 32;
}

u8 fp_key(const FpAttr& fp) {
  return static_cast<u8>(static_cast<unsigned>(fp.kind) | static_cast<unsigned>(fp.round) << 2 |
                         unsigned{fp.flush_in} << 4 | unsigned{fp.flush_out} << 5 | unsigned{fp.ieee} << 6 |
                         unsigned{fp.dx10_clamp} << 7);
}

} // namespace

void Symbols::clear() {
  nodes_.clear();
  operands_.clear();
  if (++generation_ != 0) return;
  std::fill(table_.begin(), table_.end(), Slot{});
  generation_ = 1;
}

/// The expression behind `s`, if it has operands.
const Symbols::Node* Symbols::node(Symbol s) const {
  if (s < kExpression || s >= kFull) return nullptr;
  const Node& n = nodes_[s - kExpression];
  return n.count == 0 ? nullptr : &n;
}

bool Symbols::equal(const Node& a, const Node& b, std::span<const Symbol> x) const {
  return a.hash == b.hash && a.op == b.op && a.result == b.result && a.fp == b.fp && a.imm == b.imm &&
         a.count == b.count && std::equal(x.begin(), x.end(), operands_.begin() + a.first);
}

Symbols::Slot& Symbols::slot_of(const Node& n, std::span<const Symbol> x) {
  for (u64 at = n.hash;; ++at) {
    Slot& slot = table_[at & (table_.size() - 1)];
    if (slot.generation != generation_ || equal(nodes_[slot.node], n, x)) return slot;
  }
}

void Symbols::grow() {
  table_.assign(table_.size() * 2, Slot{});
  for (u32 n = 0; n < nodes_.size(); ++n)
    slot_of(nodes_[n], {operands_.data() + nodes_[n].first, nodes_[n].count}) = {generation_, n};
}

Symbol Symbols::expression(InstId i, unsigned r, std::span<const Symbol> x) {
  const Inst& inst = f_[i];
  if (f_.type(f_.result(i, r)) == Type::Mask)
    if (const Symbol s = simplify(inst.op, x); s != kTop) return s;
  if (const Symbol s = conversion_back(inst.op, x); s != kTop) return s;
  std::array<Symbol, 2> in_order;
  if (info(inst.op).is(kCommutes) && x.size() == 2) {
    in_order = {std::min(x[0], x[1]), std::max(x[0], x[1])};
    x = in_order;
  }
  Node n = {inst.op, static_cast<u8>(r), fp_key(inst.fp), static_cast<u16>(x.size()), 0, inst.imm, 0};
  n.hash = mix(mix(u64{static_cast<u8>(inst.op)} << 16 | u64{n.result} << 8 | n.fp, inst.imm), x.size());
  for (const Symbol s : x) n.hash = mix(n.hash, s);
  Slot* slot = &slot_of(n, x);
  if (slot->generation == generation_) return kExpression + slot->node;
  if (nodes_.size() * 2 >= table_.size()) {
    grow();
    slot = &slot_of(n, x);
  }
  n.first = static_cast<u32>(operands_.size());
  *slot = {generation_, static_cast<u32>(nodes_.size())};
  nodes_.push_back(n);
  operands_.insert(operands_.end(), x.begin(), x.end());
  return kExpression + slot->node;
}

/// What is put together or converted again as it was; kTop if it was not.
Symbol Symbols::conversion_back(Op op, std::span<const Symbol> x) const {
  const auto made_by = [&](unsigned n, Op wanted) {
    const Node* from = node(x[n]);
    return from != nullptr && from->op == wanted ? from : nullptr;
  };
  const Node *a = nullptr, *b = nullptr;
  switch (op) {
  case Op::U64ToMask: return (a = made_by(0, Op::MaskToU64)) != nullptr ? operand(*a, 0) : kTop;
  case Op::MaskToU64: return (a = made_by(0, Op::U64ToMask)) != nullptr ? operand(*a, 0) : kTop;
  case Op::Lo:
    for (const Op widens : {Op::Join, Op::ZExt, Op::SExt})
      if ((a = made_by(0, widens)) != nullptr) return operand(*a, 0);
    return kTop;
  case Op::Hi: return (a = made_by(0, Op::Join)) != nullptr ? operand(*a, 1) : kTop;
  case Op::Join:
    a = made_by(0, Op::Lo);
    b = made_by(1, Op::Hi);
    if (a != nullptr && b != nullptr && operand(*a, 0) == operand(*b, 0)) return operand(*a, 0);
    if (b == nullptr) return kTop;
    a = node(operand(*b, 0)); // Of what was widened, the low half is what it was widened from.
    return a != nullptr && (a->op == Op::ZExt || a->op == Op::SExt) && operand(*a, 0) == x[0] ? operand(*b, 0)
                                                                                              : kTop;
  default: return kTop;
  }
}

bool Symbols::subset(Symbol a, Symbol b, unsigned depth) const {
  if (a == b || a == kEmpty || b == kFull) return true;
  if (depth > kMaxDepth) return false;
  const Node *na = node(a), *nb = node(b);
  if (na == nullptr && nb == nullptr && is_past(a) && is_past(b))
    return facts_.implies(ValueId{static_cast<u32>(a)}, ValueId{static_cast<u32>(b)});
  const auto each = [&](const Node& n, unsigned i) { return subset(operand(n, i), b, depth + 1); };
  if (na != nullptr) {
    if (na->op == Op::And && (each(*na, 0) || each(*na, 1))) return true;
    if (na->op == Op::AndNot && each(*na, 0)) return true;
    if (na->op == Op::Or && each(*na, 0) && each(*na, 1)) return true;
  }
  return nb != nullptr && nb->op == Op::Or &&
         (subset(a, operand(*nb, 0), depth + 1) || subset(a, operand(*nb, 1), depth + 1));
}

/// Whether what is not in `a` is in `b`.
bool Symbols::covers_rest(Symbol a, Symbol b) const {
  const Node* n = node(a);
  return n != nullptr && n->op == Op::Not && subset(operand(*n, 0), b);
}

/// Mask algebra; kTop if nothing simpler is known.
Symbol Symbols::simplify(Op op, std::span<const Symbol> x) const {
  switch (op) {
  case Op::And:
    if (subset(x[0], x[1])) return x[0];
    return subset(x[1], x[0]) ? x[1] : kTop;
  case Op::AndNot:
    if (subset(x[0], x[1])) return kEmpty;
    return x[1] == kEmpty ? x[0] : kTop;
  case Op::Not: return x[0] == kEmpty ? kFull : x[0] == kFull ? kEmpty : kTop;
  case Op::Or:
    if (subset(x[0], x[1])) return x[1];
    if (covers_rest(x[0], x[1]) || covers_rest(x[1], x[0])) return kFull;
    return subset(x[1], x[0]) ? x[0] : kTop;
  case Op::Xor:
    if (x[0] == x[1]) return kEmpty;
    return x[0] == kEmpty ? x[1] : x[1] == kEmpty ? x[0] : kTop;
  default: return kTop;
  }
}

} // namespace lanewise::phases
