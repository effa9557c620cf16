// A work-item for each piece of a large array: `for (i = id * n; i < id * n + n; ++i)`. Each lane counts for
// itself and might leave when it likes, though all leave together, or nearly so:
//
//   choice:  are all lanes there, with about as many rounds to go as the first? else the loop as it was
//   even:    the loop, while a scalar counts those rounds
//   behind:  if some lanes have more to go, the loop as it was
#include "translator/phases/even_rounds.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/round_sums.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 4;            ///< of a function
constexpr std::size_t kMaxInstructions = 60; ///< of a round
constexpr u32 kWorthRounds = 16; ///< that the first lane has, if others have a few more or one less
constexpr i64 kSideBySide = 16;  ///< bytes from lane to lane, of lanes that need not walk

class EvenRounds : RoundSums {
public:
  EvenRounds(Function& f, unsigned gang_lanes)
      : RoundSums(f, f.launch.full_waves()), gang_lanes_(gang_lanes) {}

  /// Whether it has changed something.
  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxInstructions) return false;
      find_invariants();
      const auto count = lane_count();
      if (!count || !is_walk_with_stores() || !find_escaping()) return false;
      count_ = *count;
      change();
      return true;
    });
  }

private:
  const unsigned gang_lanes_;
  std::optional<passes::LaneShapes> shapes_; ///< made when wanted; of the function as it was before
  // Of the current loop.
  LaneCount count_;

  /// Lanes walk, each on its own, and store, so that gangs meet in each round. In loops that only load each
  /// gang goes its own way (phases/walks.cpp), and a question to the wave would take more than it brings.
  [[nodiscard]] bool is_walk_with_stores() {
    bool walks = false, stores = false;
    for (const InstId i : f_[header()].insts) {
      const Inst& inst = f_[i];
      if (inst.op != Op::Load && inst.op != Op::Store) continue;
      stores |= inst.op == Op::Store;
      if (inst.mem.space != Space::Global || inst.mem.form != AddressForm::Lanes ||
          growth(f_.operands(i)[0]) != inst.mem.bytes)
        continue;
      if (!shapes_) shapes_.emplace(f_, cfg_, gang_lanes_);
      const passes::LaneShape& shape = (*shapes_)[f_.operands(i)[0]];
      walks |= !shape.strided() || std::abs(shape.stride) >= kSideBySide;
    }
    return walks && stores;
  }

  void change() {
    const BlockId plain = header();
    auto [at, start] = add_choice();
    const ValueId mask = start[count_.mask];
    const Rounds rounds = rounds_to_go(at, start, mask);

    const BlockId copy =
        copy_blocks(f_, *loop_->blocks, {{f_[plain].params[count_.mask].index, mask}}).of(plain);
    const BlockId behind = f_.add_block(at.pc);
    const ValueId left = f_.add_param(copy, Type::U32);
    const ValueId tested = f_.tested_mask(copy);
    const Successor again = f_[copy].successors[0], out = f_[copy].successors[1];
    f_[copy].insts.pop_back();
    Builder end(f_, copy);
    end.pc = at.pc;
    std::vector<ValueId> next = again.args;
    next[count_.mask] = mask;
    next.push_back(end.sub(left, end.u32c(1)));
    end.branch(end.icmp(IntPred::Ne, left, end.u32c(0)), copy, behind, next);

    // Of what changes in the loop, only what grows is used behind it.
    end.set_block(behind);
    std::vector<ValueId> over = out.args, on = again.args;
    std::ranges::replace(over, tested, f_.entry_constant(Type::Mask, 0));
    const ValueId compared = compared_of(end, on, count_.offset - 1);
    std::ranges::replace(on, tested, end.and_(mask, end.icmp(count_.stays, compared, count_.bound)));
    end.branch(rounds.same, out.block, plain, over, on);

    std::vector<ValueId> args = start;
    args.push_back(rounds.sure);
    at.branch(rounds.many, copy, plain, args, start);
  }

  /// What is compared with the bound if the header's parameters are `params`.
  ValueId compared_of(Builder& at, const std::vector<ValueId>& params, u64 offset) const {
    const Type t = f_.type(count_.bound);
    ValueId counter = params[count_.param];
    if (f_.type(counter) != t) counter = at.lo(counter);
    return at.add(counter, at.constant(t, offset & constant_bits(t)));
  }

  struct Rounds {
    ValueId many; ///< a u1: all lanes are in the mask, and have
    ValueId sure; ///< so many to go (u32), but for the first;
    ValueId same; ///< and no more
  };
  Rounds rounds_to_go(Builder& at, const std::vector<ValueId>& start, ValueId mask) {
    const Type t = f_.type(count_.bound);
    const ValueId compared = compared_of(at, start, count_.offset);
    ValueId left = at.sub(count_.bound, compared);
    ValueId unknown = f_.entry_constant(Type::Mask, 0);
    if (count_.stays != IntPred::Ne) { // Lanes that are beyond their end leave at once.
      const bool is_signed = count_.stays == IntPred::SLt || count_.stays == IntPred::SLe;
      unknown = at.icmp(is_signed ? IntPred::SLt : IntPred::ULt, count_.bound, compared);
    }
    if (count_.stays == IntPred::ULe || count_.stays == IntPred::SLe) {
      left = at.add(left, at.constant(t, 1));
      unknown = at.or_(unknown, at.icmp(IntPred::Eq, left, at.constant(t, 0)));
    }
    ValueId low = left;
    if (is_wide(t)) {
      low = at.lo(left);
      unknown = at.or_(unknown, at.icmp(IntPred::Ne, at.hi(left), at.v32c(0)));
    }
    const auto in_none = [&](ValueId lanes) { return at.not_(at.any(at.and_(mask, lanes))); };
    const ValueId first = at.op(Op::ReadFirst, Type::U32, {low, mask});
    const ValueId same = in_none(at.icmp(IntPred::Ne, low, at.splat(first)));
    // Others have a round less, or more. What is left then is done as it was, by each lane a round at least.
    const ValueId worth = at.icmp(IntPred::UGe, first, at.u32c(kWorthRounds));
    const ValueId more = in_none(at.icmp(IntPred::ULt, low, at.splat(at.sub(first, at.u32c(1)))));
    const ValueId many = at.or_(same, at.and_(worth, more));
    // Rows of all lanes are what walks are for; of some, other copies of the loop know more
    // (lane_ranges.cpp).
    const ValueId whole = at.not_(at.any(at.not_(mask)));
    return {at.and_(at.and_(whole, in_none(unknown)), many),
            at.select(same, first, at.sub(first, at.u32c(2))), same};
  }
};

} // namespace

bool count_even_rounds(Function& f, unsigned gang_lanes) { return EvenRounds(f, gang_lanes).run(); }

} // namespace lanewise::phases
