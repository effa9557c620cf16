#include "translator/phases/one_lane.hpp"

#include <algorithm>
#include <array>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of what is looked through

} // namespace

OneLane::OneLane(Function& f) : rows(f), turn(f), f_(f) {
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts)
      if (accesses_rows(f[i])) next_row_ = std::max(next_row_, row_first(f[i]) + row_count(f[i]));
}

ValueId OneLane::start(ValueId bits, ValueId mask, ValueId& others) {
  taken_.clear();
  number_ = turn.op(Op::CountTz, Type::G32, {bits});
  others = turn.and_(bits, turn.add(bits, f_.entry_constant(Type::G32, ~u32{0})));
  return turn.op(Op::GangMask, Type::Mask, {mask, turn.xor_(bits, others)});
}

/// Addresses are computed from what they are made of: 64 bits are dearer to take than 32.
ValueId OneLane::of_lane(ValueId v, unsigned depth) {
  const Type t = f_.type(v), scalar = is_wide(t) ? Type::G64 : Type::G32;
  u64 bits = 0;
  if (f_.is_const(v, &bits)) return f_.entry_constant(scalar, bits);
  const InstId i = f_.def_id(v);
  const Op op = i.valid() ? f_[i].op : Op::Const;
  const auto operand = [&](unsigned n) { return of_lane(f_.operands(i)[n], depth + 1); };
  if (op == Op::Splat) {
    const ValueId from = f_.operands(i)[0];
    return is_gang(f_.type(from)) ? from : turn.op(Op::Splat, scalar, {from});
  }
  if (is_wide(t) && depth < kMaxDepth) {
    if (op == Op::Add) {
      const ValueId a = operand(0);
      return turn.add(a, operand(1));
    }
    if (op == Op::ZExt || op == Op::SExt) return turn.op(op, scalar, {operand(0)});
    if (op == Op::Shl && f_.is_const(f_.operands(i)[1], &bits))
      return turn.op(op, scalar, {operand(0), f_.entry_constant(Type::U32, bits)});
  }
  for (const Taken& known : taken_)
    if (known.from == v) return known.of_lane;
  ValueId taken;
  if (is_wide(t)) {
    const ValueId low = dword_of_lane(rows.lo(v));
    taken = turn.op(Op::Join, scalar, {low, dword_of_lane(rows.hi(v))});
  } else {
    taken = dword_of_lane(v);
  }
  taken_.push_back({v, taken});
  return taken;
}

ValueId OneLane::dword_of_lane(ValueId dwords) {
  const u64 row = row_range(take_rows(1), 1);
  Inst store{.op = Op::Store, .pc = rows.pc, .imm = row};
  store.mem.space = Space::Registers;
  rows.inst(store, {f_.entry_constant(Type::U32, 0), dwords, f_.entry_constant(Type::Mask, ~u64{0})}, {});
  return turn.op(Op::LaneOf, Type::G32, {dwords, number_}, row);
}

ValueId OneLane::spread(ValueId v) {
  if (f_.type(v) != Type::Mask) return turn.op(Op::Splat, f_.type(v), {of_lane(v)});
  u64 lanes = 0;
  if (f_.is_const(v, &lanes) && (lanes == 0 || ~lanes == 0)) return v;
  return bit_of_lane(v, Type::Mask);
}

ValueId OneLane::scalar(ValueId v) {
  u64 lanes = 0;
  if (is_uniform(f_.type(v))) return turn.op(Op::Splat, scalar_of(f_.type(v)), {v});
  if (f_.type(v) != Type::Mask) return of_lane(v);
  if (f_.is_const(v, &lanes) && (lanes == 0 || ~lanes == 0)) return f_.entry_constant(Type::G1, lanes & 1);
  return bit_of_lane(v, Type::G1);
}

ValueId OneLane::bit_of_lane(ValueId mask, Type t) {
  const ValueId one = f_.entry_constant(Type::G32, 1), zero = f_.entry_constant(Type::G32, 0);
  const ValueId bit = turn.and_(turn.op(Op::LShr, Type::G32, {bits_of(mask), number_}), one);
  return turn.op(Op::ICmp, t, {bit, zero}, static_cast<u64>(IntPred::Ne));
}

void OneLane::let_access(BlockId b, ValueId lane, ValueId all_lanes) {
  for (std::size_t n = 0; n < f_[b].insts.size(); ++n) {
    const InstId i = f_[b].insts[n];
    if (!info(f_[i].op).is(kMemory)) continue;
    const bool global = f_[i].mem.space == Space::Global;
    if (!global && f_[i].op == Op::Load) continue;
    f_[i].mem.spread = global;
    ValueId mask = lane;
    if (f_.operands(i).back() != all_lanes) {
      const Type t = Type::Mask;
      const std::array both{lane, f_.operands(i).back()};
      const InstId narrowed = f_.make({.op = Op::And, .pc = f_[i].pc}, both, {&t, 1});
      f_[narrowed].block = b;
      f_[b].insts.insert(f_[b].insts.begin() + static_cast<std::ptrdiff_t>(n++), narrowed);
      mask = f_.result(narrowed);
    }
    f_.operands(i).back() = mask;
  }
}

ValueId OneLane::put_back(Builder& at, ValueId lane, ValueId before) {
  const Type t = f_.type(before);
  const ValueId one_has = f_.add_param(at.block(), scalar_of(t));
  return at.select(lane, at.op(Op::Splat, t, {one_has}), before);
}

} // namespace lanewise::phases
