#include "translator/phases/ranks.hpp"

#include "translator/ir/splats.hpp"
#include "translator/phases/load_loops.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of what is looked through

} // namespace

bool acts_per_lane(const Function& f, InstId i) {
  const Inst& inst = f[i];
  if (is_bound_to_lanes(inst.op)) return false;
  switch (inst.op) {
  case Op::Const: return f.type(f.result(i)) != Type::Mask || inst.imm == 0 || ~inst.imm == 0;
  case Op::FirstLane:
  case Op::GangMask:
  case Op::NotFew:
  case Op::ScalarStore: return false;
  case Op::Load:
  case Op::Store:
  case Op::Atomic:
    return inst.mem.form == AddressForm::Lanes && inst.mem.retry == 0 && !inst.mem.spread &&
           (inst.mem.space == Space::Global || inst.mem.space == Space::Lds);
  case Op::Jump:
  case Op::Branch:
  case Op::AnyLane: return true;
  default: break;
  }
  const OpInfo& op = info(inst.op);
  return !op.is(kEndsBlock) && !op.reads_whole(0) && !op.reads_whole(1) && !op.reads_whole(2);
}

bool uses_gang_scalars(const Function& f, const std::vector<BlockId>& blocks) {
  const auto is_gangs = [&](ValueId v) { return is_gang(f.type(v)); };
  return std::ranges::any_of(blocks, [&](BlockId b) {
    return std::ranges::any_of(f[b].params, is_gangs) ||
           std::ranges::any_of(f[b].insts,
                               [&](InstId i) { return std::ranges::any_of(f.operands(i), is_gangs); }) ||
           std::ranges::any_of(f[b].successors,
                               [&](const Successor& s) { return std::ranges::any_of(s.args, is_gangs); });
  });
}

/// Optimistic: all masks of the blocks are, until a definition says otherwise.
MasksAmong::MasksAmong(const Function& f, const std::vector<BlockId>& blocks, const std::vector<bool>& inside,
                       std::span<const ValueId> masks)
    : f_(f), blocks_(blocks), inside_(inside), among_(f.num_values(), false) {
  for (const BlockId b : blocks) {
    for (const ValueId p : f[b].params) among_[p.index] = b != blocks.front() && f.type(p) == Type::Mask;
    for (const InstId i : f[b].insts)
      for (unsigned r = 0; r < f[i].num_results; ++r)
        among_[f.result(i, r).index] = f.type(f.result(i, r)) == Type::Mask;
  }
  for (const ValueId mask : masks) among_[mask.index] = true;
  for (bool changed = true; changed;) {
    changed = false;
    const auto deny = [&](ValueId v) {
      changed |= among_[v.index];
      among_[v.index] = false;
    };
    for (const BlockId b : blocks) {
      for (const InstId i : f[b].insts)
        for (unsigned r = 0; r < f[i].num_results; ++r)
          if (contains(f.result(i, r)) && !follows_from_operands(i)) deny(f.result(i, r));
      for (const Successor& s : f[b].successors)
        for (std::size_t a = 0; a < s.args.size(); ++a)
          if (is_inside(s.block) && s.block != blocks.front() && !contains(s.args[a]))
            deny(f[s.block].params[a]);
    }
  }
}

bool MasksAmong::contains(ValueId mask) const {
  u64 lanes = 0;
  return among_[mask.index] || (f_.is_const(mask, &lanes) && lanes == 0);
}

bool MasksAmong::contains_all_that_acts() const {
  return std::ranges::all_of(blocks_, [&](BlockId b) {
    return std::ranges::all_of(f_[b].insts, [&](InstId i) {
      const bool acts = f_[i].op == Op::AnyLane || info(f_[i].op).is(kMemory);
      return !acts || contains(f_.operands(i).back());
    });
  });
}

bool MasksAmong::follows_from_operands(InstId i) const {
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::Const: return f_[i].imm == 0;
  case Op::And: return contains(x[0]) || contains(x[1]);
  case Op::AndNot: return contains(x[0]);
  case Op::Or:
  case Op::Xor: return contains(x[0]) && contains(x[1]);
  case Op::Select: return contains(x[1]) && contains(x[2]);
  default: return false;
  }
}

Ranks::Ranks(Function& f, unsigned gang_lanes, u32 pc, u8 gangs, bool is_joined)
    : close(f, f.add_block(pc)), enter(f, f.add_block(pc)),
      begin(f, is_joined ? f.add_block(pc) : enter.block()), f_(f), gang_lanes_(gang_lanes), gangs_(gangs),
      is_joined_(is_joined) {
  close.pc = enter.pc = begin.pc = pc;
  add(enter.block());
  add(begin.block());
}

void Ranks::add(BlockId b) {
  f_[b].first_gangs = gangs_;
  f_[b].in_ranks = gangs_ == kAllGangs;
}

void Ranks::start(std::span<const ValueId> masks, ValueId bits, ValueId count) {
  mask_ = masks.front();
  count_ = count;
  list_ = enter.op(Op::NthLane, Type::V32, {bits});
  bytes_ = enter.op(Op::Shl, Type::V32, {list_, enter.v32c(2)});
  full_ = f_.entry_constant(Type::Mask, ~u64{0});
  list_param_ = is_joined_ ? f_.add_param(begin.block(), Type::V32) : list_;
  count_param_ = is_joined_ ? f_.add_param(begin.block(), Type::U64) : count_;
  begin.inst({.op = Op::StandFor, .pc = begin.pc}, {list_param_}, {});
  ranks_ = ranks(begin, count_param_);
  for (const ValueId mask : masks) closed_[mask.index] = ranks_;
}

/// The mask of as many lanes.
ValueId Ranks::ranks(Builder& at, ValueId count) {
  if (gangs_ == kAllGangs)
    return at.icmp(IntPred::ULt, at.op(Op::LaneId, Type::V32, {}), at.splat(at.lo(count)));
  const ValueId one = at.constant(Type::U64, 1);
  const ValueId bits = at.sub(at.op(Op::Shl, Type::U64, {one, at.lo(count)}), one);
  return at.and_(at.u64_to_mask(bits), f_.entry_constant(Type::Mask, (u64{1} << gangs_ * gang_lanes_) - 1));
}

ValueId Ranks::of(ValueId v, unsigned depth) {
  const Type t = f_.type(v);
  if (!is_per_lane(t)) return v;
  if (const auto known = closed_.find(v.index); known != closed_.end()) return known->second;
  const ValueId closed = close_up(v, t, depth);
  closed_[v.index] = closed;
  return closed;
}

ValueId Ranks::close_up(ValueId v, Type t, unsigned depth) {
  u64 bits = 0;
  const InstId i = f_.def_id(v);
  const Op op = i.valid() ? f_[i].op : Op::Select;
  const auto operand = [&](unsigned n) { return f_.operands(i)[n]; };
  if (f_.is_const(v, &bits) && (t != Type::Mask || bits == 0 || ~bits == 0)) return v;
  if (is_splat_of_uniform(f_, v)) return v;
  if (op == Op::LaneId) return list_param_;
  if (t == Type::Mask) return begin.icmp(IntPred::Ne, pull(v), begin.v32c(0));
  if (t == Type::V32) return pull(v);
  if (depth < kMaxDepth) {
    if (op == Op::Add) {
      const ValueId a = of(operand(0), depth + 1);
      return begin.add(a, of(operand(1), depth + 1));
    }
    if (op == Op::ZExt || op == Op::SExt) return begin.op(op, t, {of(operand(0), depth + 1)});
    if (op == Op::Shl && f_.is_const(operand(1)))
      return begin.op(op, t, {of(operand(0), depth + 1), operand(1)});
  }
  const ValueId low = pull(v);
  return begin.join(low, pull(v, Half::High));
}

/// What is moved from lane to lane, as there are moves of dwords only.
ValueId Ranks::part(Builder& at, ValueId v, Half half) {
  switch (f_.type(v)) {
  case Type::V64: return half == Half::Low ? at.lo(v) : at.hi(v);
  case Type::Mask: return at.select(v, at.v32c(1), at.v32c(0));
  default: return v;
  }
}

ValueId Ranks::pull(ValueId v, Half half) {
  return bring(v, enter.op(Op::BPermute, Type::V32, {bytes_, part(close, v, half), full_}), half);
}

ValueId Ranks::bring(ValueId from, ValueId value, Half half) {
  if (!is_joined_) return value;
  brought_.push_back({from, half, value, f_.add_param(begin.block(), f_.type(value))});
  return brought_.back().param;
}

ValueId Ranks::param_of(const Brought& brought) const {
  return std::ranges::find_if(
             brought_, [&](const Brought& b) { return b.from == brought.from && b.half == brought.half; })
      ->param;
}

void Ranks::finish() {
  std::vector<ValueId> args;
  if (is_joined_) {
    args = {list_, count_};
    for (const Brought& b : brought_) args.push_back(b.value);
    enter.jump(begin.block(), args);
  }
  close.jump(enter.block());
}

void Ranks::come_in(Builder& at, const Ranks& others, ValueId bits, ValueId count,
                    const std::vector<ValueId>& values) {
  Builder fewer(f_, f_.add_block(at.pc));
  fewer.pc = at.pc;
  add(fewer.block());
  const ValueId nth = fewer.op(Op::NthLane, Type::V32, {bits});
  const ValueId bytes = fewer.op(Op::Shl, Type::V32, {nth, fewer.v32c(2)});
  const auto pull = [&](ValueId v) {
    return is_per_lane(f_.type(v)) ? fewer.op(Op::BPermute, Type::V32, {bytes, v, full_}) : v;
  };
  std::vector<ValueId> args{pull(others.list_param_), count};
  for (const ValueId v : values) args.push_back(pull(v));
  fewer.jump(begin.block(), args);
  at.jump(fewer.block());
}

BlockId Ranks::spread(BlockId from, const Behind& behind, const std::vector<bool>& changed) {
  const auto way_out = [&]() -> Successor& {
    return *std::ranges::find(f_[from].successors, behind.block, &Successor::block);
  };
  const u32 pc = f_[from].pc;
  if (std::ranges::none_of(changed, std::identity{})) {
    const auto lanes_have = [&](ValueId v) { return is_per_lane(f_.type(v)); };
    if (std::ranges::none_of(behind.from, lanes_have)) return behind.block;
    // What all lanes take there, gangs that the copy is not for take as well.
    Builder all(f_, f_.add_block(pc));
    all.pc = pc;
    std::vector<ValueId> args;
    for (const ValueId v : behind.from) {
      const ValueId p = f_.add_param(all.block(), f_.type(v));
      args.push_back(lanes_have(v) ? v : p);
    }
    all.jump(behind.block, args);
    way_out().block = all.block();
    return all.block();
  }
  Builder leave(f_, f_.add_block(pc)), spread(f_, f_.add_block(pc));
  leave.pc = spread.pc = pc;
  add(leave.block());
  const ValueId ranks = gangs_ == kAllGangs ? ranks_ : this->ranks(close, count_);
  std::vector<ValueId> taken, out;
  const auto take = [&](ValueId v) {
    taken.push_back(v);
    return f_.add_param(spread.block(), f_.type(v));
  };
  const auto push = [&](ValueId v) {
    const ValueId row = take(v);
    return spread.op(Op::Permute, Type::V32, {bytes_, row, ranks});
  };
  const auto push_all = [&](ValueId v) {
    switch (f_.type(v)) {
    case Type::V32: return push(v);
    case Type::V64: {
      const ValueId low = push(leave.lo(v));
      return spread.join(low, push(leave.hi(v)));
    }
    default: {
      const ValueId bit = push(leave.select(v, leave.v32c(1), leave.v32c(0)));
      return spread.icmp(IntPred::Ne, bit, spread.v32c(0));
    }
    }
  };
  for (std::size_t n = 0; n < changed.size(); ++n) {
    const Type t = f_.type(behind.from[n]);
    const ValueId v = f_.add_param(leave.block(), t);
    if (!is_per_lane(t))
      out.push_back(take(v));
    else
      out.push_back(changed[n] ? spread.select(mask_, push_all(v), behind.before[n]) : behind.from[n]);
  }
  leave.jump(spread.block(), taken);
  spread.jump(behind.block, out);
  way_out().block = leave.block();
  return leave.block();
}

} // namespace lanewise::phases
