// Where each lane goes along rows of its own and carries nothing from element to element, it does not matter
// which elements are done together, but memory is gone through best in its own order. So one lane after the
// other has its turn, and in lane n of the gang there is the n-th of its next rounds: what it loads and
// stores lies side by side.
//
//   turns:  is it worth it? else the loop in another way
//   begin:  what they need to rows in memory, where a lane's is found by its number
//   pick:   the next lane, of those there are; what grows from round to round is its first plus n times that
//   wide:   as many rounds as the gang has lanes; again, while that many are left
//   behind: are some left?
//   some:   those
//   next:   the next lane
//   done:   what is behind the loop
//
// With AVX2, whose masked stores are slow, the rounds that are left are done in another way, by all lanes.
#include "translator/phases/round_lanes.hpp"
#include "translator/ir/copy.hpp"
#include "translator/passes/gang_scalars.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/load_loops.hpp"
#include "translator/phases/one_lane.hpp"
#include "translator/phases/round_sums.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr u64 kWorthTurns = 2;        ///< times as many rounds as a gang has lanes
constexpr unsigned kMaskedLanes = 16; ///< of gangs for which masked stores are as fast as others

/// Scalars of this op may become vectors.
bool is_alike(Op op) {
  return passes::is_address_arithmetic(op) || op == Op::UMin || op == Op::UMax || op == Op::SMin ||
         op == Op::SMax || op == Op::ICmp || op == Op::Select;
}

class RoundLanes {
public:
  RoundLanes(Function& f, const EvenLoop& loop, unsigned gang_lanes, u8 apart)
      : f_(f), loop_(loop), gang_lanes_(gang_lanes), apart_(apart), one_(f) {}

  BlockId add(BlockId rest, const Successor& behind) {
    const BlockId turns = add_block(), begin = add_block(), pick = add_block(), wide = add_block(),
                  next = add_block(), done = add_block();
    const bool masks = gang_lanes_ == kMaskedLanes;
    for (const ValueId p : f_[loop_.block].params) start_.push_back(f_.add_param(turns, f_.type(p)));
    if (loop_.lanes.valid()) {
      add_uneven({begin, pick, wide, next, done});
      at_end(turns).jump(begin);
      at_end(done).jump(behind.block, behind.args);
      return turns;
    }
    Builder at = at_end(turns);
    const ValueId worth = at.constant(Type::U64, (masks ? 1 : kWorthTurns) * gang_lanes_);
    at.branch(at.icmp(IntPred::UGe, loop_.rounds, worth), begin, rest, {}, start_);

    Builder& rows = one_.rows = at_end(begin);
    one_.turn = at_end(pick);
    const ValueId rounds = rows.add(rows.lo(loop_.rounds), rows.u32c(1));
    const u32 log2_lanes = static_cast<u32>(std::countr_zero(gang_lanes_));
    const ValueId times = of_gang(rows.op(Op::LShr, Type::U32, {rounds, rows.u32c(log2_lanes)}));
    const ValueId left_over = rows.and_(rounds, rows.u32c(gang_lanes_ - 1));
    const ValueId all = f_.entry_constant(Type::Mask, ~u64{0});
    const ValueId left = f_.add_param(pick, Type::G32);
    ValueId others;
    one_.start(left, all, others);
    list_lanes();
    BlockId some = next;
    if (masks) {
      const ValueId mask = rows.icmp(IntPred::ULt, number_in_gang(rows), rows.splat(left_over));
      some = add_some(mask, of_gang(left_over), next);
    }
    one_.turn.jump(wide, do_rounds(wide, times, some));
    rows.jump(pick, {f_.entry_constant(Type::G32, (u64{1} << gang_lanes_) - 1)});

    at = at_end(next);
    branch_if_not_0(at, others, {pick, {others}}, {done, {}}, done);
    at = at_end(done);
    if (masks) {
      at.jump(behind.block, behind.args);
      return turns;
    }
    const ValueId complete = at.icmp(IntPred::Eq, left_over, at.u32c(0));
    at.branch(complete, behind.block, rest, behind.args, params_behind(at, at.sub(rounds, left_over)));
    return turns;
  }

private:
  struct Blocks {
    BlockId begin, pick, wide, next, done;
  };
  /// Each lane does its own rounds: all that are side by side, then those that are left over.
  void add_uneven(const Blocks& blocks) {
    Builder& rows = one_.rows = at_end(blocks.begin);
    Builder& turn = one_.turn = at_end(blocks.pick);
    for (u32 n = 0; loop_.backwards && n < start_.size(); ++n)
      if (grows(n)) start_[n] = after_own_rounds(rows, loop_, n, start_[n], loop_.rounds);
    const ValueId rounds = rows.add(loop_.rounds, rows.v32c(1));
    const ValueId log2_lanes = rows.v32c(static_cast<u32>(std::countr_zero(gang_lanes_)));
    const ValueId many = rows.op(Op::LShr, Type::V32, {rounds, log2_lanes});
    const ValueId rest = rows.and_(rounds, rows.v32c(gang_lanes_ - 1));
    const ValueId left = f_.add_param(blocks.pick, Type::G32);
    ValueId others;
    one_.start(left, loop_.lanes, others);
    list_lanes();
    const ValueId times = one_.scalar(many);
    if (loop_.by_gangs) {
      turn.jump(blocks.wide, do_rounds(blocks.wide, times, blocks.next));
    } else {
      const ValueId left_over = one_.scalar(rest), number = number_in_gang(turn);
      const ValueId mask = turn.icmp(IntPred::ULt, number, turn.op(Op::Splat, Type::V32, {left_over}));
      const BlockId behind = add_some(mask, left_over, blocks.next);
      std::vector<ValueId> in = do_rounds(blocks.wide, times, behind), first = in;
      first.pop_back(); // the count
      branch_if_not_0(turn, times, {blocks.wide, in}, {behind, first}, behind);
    }
    const ValueId bits = one_.bits_of(loop_.lanes);
    branch_if_not_0(rows, bits, {blocks.pick, {bits}}, {blocks.done, {}}, blocks.done);
    Builder at = at_end(blocks.next);
    branch_if_not_0(at, others, {blocks.pick, {others}}, {blocks.done, {}}, blocks.done);
  }

  Function& f_;
  const EvenLoop& loop_;
  const unsigned gang_lanes_;
  const u8 apart_;
  OneLane one_;
  std::vector<ValueId> start_; ///< the loop's parameters in the first round
  std::vector<ValueId> now_;   ///< per value of the function as it was: what it is in lanes that are rounds

  BlockId add_block() { return f_.add_block(f_[loop_.block].pc); }
  Builder at_end(BlockId b) {
    Builder at(f_, b);
    at.pc = f_[b].pc;
    return at;
  }
  ValueId of_gang(ValueId u32) { return one_.rows.op(Op::Splat, Type::G32, {u32}); }
  ValueId number_in_gang(Builder& at) {
    return at.and_(at.op(Op::LaneId, Type::V32, {}), at.v32c(gang_lanes_ - 1));
  }

  std::vector<ValueId> take_params(BlockId b) {
    std::vector<ValueId> params;
    for (const ValueId p : start_) params.push_back(f_.add_param(b, per_lane_of(f_.type(p))));
    return params;
  }

  /// All lanes stand for the one that has its turn, if there is a fault.
  void list_lanes() {
    Builder& at = one_.turn;
    const ValueId first = at.and_(at.op(Op::LaneId, Type::V32, {}), at.v32c(0u - gang_lanes_));
    const ValueId lane = at.add(first, at.op(Op::Splat, Type::V32, {one_.number()}));
    at.inst({.op = Op::StandFor, .pc = at.pc}, {lane}, {});
  }

  /// What `v`, from outside, is for the lane that has its turn, in all lanes.
  ValueId of_lane(ValueId v) {
    const Type t = f_.type(v);
    u64 bits = 0;
    if (v == loop_.full) return f_.entry_constant(Type::Mask, ~u64{0});
    if (f_.is_const(v, &bits) && t != Type::U1 && (t != Type::Mask || bits == 0 || ~bits == 0))
      return f_.entry_constant(per_lane_of(t), bits);
    return is_per_lane(t) ? one_.spread(v) : one_.turn.splat(v);
  }
  /// A parameter in lane n's round.
  ValueId first_of(u32 param) {
    Builder& at = one_.turn;
    if (loop_.lanes.valid() && f_.type(start_[param]) == Type::Mask) // those that are left
      return f_.entry_constant(Type::Mask, ~u64{0});
    const ValueId first = of_lane(start_[param]);
    if (!grows(param)) return first;
    const ValueId n = number_in_gang(at);
    const ValueId rounds = f_.type(first) == Type::V64 ? at.zext(n) : n;
    return at.add(first, at.binary(Op::Mul, rounds, growth(at, param, 1)));
  }
  [[nodiscard]] bool has_step(u32 param) const {
    return param < loop_.steps.size() && loop_.steps[param].valid();
  }
  [[nodiscard]] bool grows(u32 param) const { return loop_.growth[param] != 0 || has_step(param); }
  /// Of a parameter that grows, from one lane to the one `lanes` further.
  ValueId growth(Builder& at, u32 param, u32 lanes) {
    const Type t = per_lane_of(f_.type(start_[param]));
    const u64 times = loop_.backwards ? u64{0} - lanes : lanes;
    if (!has_step(param)) return at.constant(t, loop_.growth[param] * times & constant_bits(t));
    return at.binary(Op::Mul, of_lane(loop_.steps[param]), at.constant(t, times & constant_bits(t)));
  }

  /// The parameters behind so many rounds (u32).
  std::vector<ValueId> params_behind(Builder& at, ValueId rounds) {
    std::vector<ValueId> params = start_;
    for (u32 n = 0; n < params.size(); ++n) params[n] = after_rounds(at, params[n], rounds, loop_.growth[n]);
    return params;
  }

  /// A round, in `b`, with parameters for it; by the lanes of `mask`, if valid.
  std::vector<ValueId> do_round(BlockId b, ValueId mask) {
    std::vector<ValueId> now;
    now_.resize(f_.num_values());
    for (u32 n = 0; n < start_.size(); ++n) {
      now.push_back(f_.add_param(b, per_lane_of(f_.type(start_[n]))));
      now_[f_[loop_.block].params[n].index] = now.back();
    }
    const std::vector<InstId> insts(f_[loop_.block].insts.begin(), f_[loop_.block].insts.end() - 1);
    for (const InstId i : insts)
      if (f_[i].op != Op::AnyLane) copy(b, i, mask); // It is known who goes on.
    return now;
  }
  /// `behind` and `some`, which do the rounds that are left over, `count` of them (g32), by as many lanes,
  /// and go on to `next`; the first of them.
  BlockId add_some(ValueId mask, ValueId count, BlockId next) {
    const BlockId behind = add_block(), some = add_block();
    do_round(some, mask);
    at_end(some).jump(next);
    Builder at = at_end(behind);
    branch_if_not_0(at, count, {some, take_params(behind)}, {next, {}}, next);
    return behind;
  }
  /// `wide`, which does this `times` and goes on to `behind`. Returns its arguments for the first.
  std::vector<ValueId> do_rounds(BlockId wide, ValueId times, BlockId behind) {
    std::vector<ValueId> in, now = do_round(wide, {});
    for (u32 n = 0; n < start_.size(); ++n) in.push_back(first_of(n));
    Builder at = at_end(wide);
    for (u32 n = 0; n < now.size(); ++n) {
      if (grows(n)) now[n] = at.add(now[n], growth(has_step(n) ? one_.turn : at, n, gang_lanes_));
    }
    in.push_back(times);
    const ValueId count = f_.add_param(wide, Type::G32);
    std::vector<ValueId> again = now;
    again.push_back(at.add(count, f_.entry_constant(Type::G32, ~u32{0})));
    Successor out{behind, {}};
    if (!f_[behind].params.empty()) out.args = now;
    branch_if_not_0(at, again.back(), {wide, again}, out, behind);
    return in;
  }
  void copy(BlockId wide, InstId i, ValueId mask) {
    const bool scalar = f_[i].num_results != 0 && is_uniform(f_.type(f_.result(i)));
    std::vector<ValueId> operands(f_.operands(i).begin(), f_.operands(i).end());
    for (ValueId& v : operands) {
      ValueId& known = now_[v.index];
      // A scalar of the wave may be an operand of vectors, as Splat's.
      const bool stays = !scalar && is_uniform(f_.type(v)) && !known.valid() && !f_.is_const(v);
      if (!stays && !known.valid()) known = of_lane(v);
      if (!stays) v = known;
    }
    if (info(f_[i].op).is(kMemory)) {
      if (mask.valid()) operands.back() = mask;
      return copy_access(wide, i, operands);
    }
    if (f_[i].op == Op::Splat && is_per_lane(f_.type(operands[0]))) {
      now_[f_.result(i).index] = operands[0];
      return;
    }
    const InstId c = append_copy(f_, wide, i);
    f_.set_operands(c, operands);
    note_results(i, c);
  }
  /// Each dword that lanes share is loaded alone, so that those of all lanes lie side by side.
  void copy_access(BlockId wide, InstId i, const std::vector<ValueId>& operands) {
    Inst proto = f_[i];
    proto.mem.apart = apart_;
    proto.mem.listed = true;
    std::vector<Type> types;
    for (unsigned r = 0; r < f_[i].num_results; ++r) types.push_back(f_.type(f_.result(i, r)));
    if (std::ranges::find(loop_.overlapping, i) == loop_.overlapping.end())
      return note_results(i, f_.append(wide, proto, operands, types));
    proto.mem.bytes = 4;
    for (unsigned r = 0; r < types.size(); ++r, proto.imm += 4)
      now_[f_.result(i, r).index] = f_.result(f_.append(wide, proto, operands, {&types[r], 1}));
  }
  void note_results(InstId i, InstId c) {
    for (unsigned r = 0; r < f_[i].num_results; ++r) {
      f_.set_type(f_.result(c, r), per_lane_of(f_.type(f_.result(i, r))));
      now_[f_.result(i, r).index] = f_.result(c, r);
    }
  }
};

} // namespace

bool may_be_round_lanes(const Function& f, BlockId block) {
  return std::ranges::all_of(f[block].insts, [&](InstId i) {
    const Op op = f[i].op;
    const auto x = f.operands(i);
    if (info(op).is(kEndsBlock)) return true;
    if (op == Op::AnyLane) return f.operands(f.terminator(block))[0] == f.result(i);
    if (info(op).is(kMemory)) return op == Op::Load || op == Op::Store;
    const bool whole = info(op).reads_whole(0) || info(op).reads_whole(1) || info(op).reads_whole(2);
    if (!info(op).is(kPure) || whole || is_bound_to_lanes(op)) return false;
    if (!is_scalar(f.type(f.result(i)))) return true;
    const bool from_bit = (op == Op::ZExt || op == Op::SExt) && f.type(x[0]) == Type::U1;
    return is_alike(op) && !from_bit && is_uniform(f.type(f.result(i)));
  });
}

ValueId after_own_rounds(Builder& at, const EvenLoop& loop, u32 n, ValueId first, ValueId rounds) {
  if (!is_per_lane(at.type(first))) first = at.splat(first);
  if (n < loop.steps.size() && loop.steps[n].valid())
    return at.add(first, at.binary(Op::Mul, rounds, loop.steps[n]));
  const bool wide = is_wide(at.type(first));
  const i64 each = sign_extend(loop.growth[n], bit_width(at.type(first)));
  ValueId by = rounds;
  if (const u64 steps = static_cast<u64>(std::abs(each)); steps == 1)
    by = wide ? at.zext(rounds) : rounds;
  else if (const ValueId x = at.v32c(static_cast<u32>(steps)); wide)
    by = at.op(Op::UMulWide, Type::V64, {rounds, x});
  else
    by = at.binary(Op::Mul, rounds, x);
  return at.binary(each < 0 ? Op::Sub : Op::Add, first, by);
}

BlockId add_round_lanes(Function& f, const EvenLoop& loop, unsigned gang_lanes, u8 apart, BlockId rest,
                        const Successor& behind) {
  return RoundLanes(f, loop, gang_lanes, apart).add(rest, behind);
}

} // namespace lanewise::phases
