// A lane that goes through a loop alone (phases/last_lanes.cpp), or a gang that counts for itself, spends
// much of a small round on counting and on asking whether there is another one; and sums wait for each other,
// so that it matters how many rounds, of this lane and the next ones, a processor has in view. So one count
// of the rounds that are left is all that is asked, and where there are many, for four at once:
//
//   choice:  how many are there?
//   begin:   if many
//   four:    four rounds; again, while there are four more and another one
//   rest:    for one to four rounds, or all if they are few,
//   loop:    as it was, but that it counts down
//
// What is loaded and stored stays in its order.
#include "translator/phases/gang_rounds.hpp"
#include "translator/ir/copy.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/round_sums.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8;            ///< of a function
constexpr std::size_t kMaxInstructions = 24; ///< of a round
constexpr unsigned kRounds = 4, kLog2Rounds = 2;
constexpr unsigned kLog2Many = 4; ///< rounds that make up for another branch that is foreseen wrongly
constexpr u64 kMaxStep = 1 << 16; ///< of an address, so that an offset can have that of some rounds

class GangRounds : RoundSums {
public:
  explicit GangRounds(Function& f) : RoundSums(f, true) {}

  bool run() {
    return for_each_loop(kMaxLoops, [&] {
      if (loop_->blocks->size() != 1 || f_[header()].insts.size() > kMaxInstructions) return false;
      find_invariants();
      if (!find_count() || !find_escaping()) return false;
      change();
      return true;
    });
  }

private:
  // Of the current loop, which goes on while
  Comparison goes_on_; ///< a sum of one of its parameters, which grows by 1, is Ne, ULt or SLt than the bound

  bool find_count() {
    const ValueId tested = f_.tested_mask(header());
    const InstId i = tested.valid() ? f_.def_id(tested) : InstId{};
    if (!i.valid() || f_[i].op != Op::ICmp || f_[i].block != header() || !is_gang(f_.type(f_.operands(i)[0])))
      return false;
    goes_on_ = comparison(i, goes_on_way() == 1);
    const auto [value, bound, pred] = goes_on_;
    const bool ends = pred == IntPred::Ne || pred == IntPred::ULt || pred == IntPred::SLt;
    const Sum sum = sum_of(value);
    const bool alike = std::ranges::all_of(
        sum.terms, [&](ValueId v) { return f_.type(v) == f_.type(bound) && (!changes(v) || is_param(v)); });
    return ends && alike && sum.indices.empty() && !changes(bound) && growth(value) == 1;
  }

  void change() {
    const BlockId plain = header();
    auto [at, start] = add_choice();
    const BlockId begin = f_.add_block(at.pc), four = f_.add_block(at.pc), rest = f_.add_block(at.pc);
    for (const BlockId b : {begin, four, rest}) f_[b].take_lanes_of(f_[plain]);

    // How many there are, 0 for 2^32 or 2^64: what is compared comes to the bound without wrapping, since it
    // grows by 1. A branch that is foreseen wrongly waits for this, so that it is made in few steps.
    const Type t = f_.type(goes_on_.bound);
    const ValueId one = at.constant(t, 1);
    const ValueId difference = at.sub(goes_on_.bound, first_value(at, goes_on_.value, start, 1));
    ValueId count = difference;
    if (goes_on_.pred != IntPred::Ne) {
      const ValueId first = first_value(at, goes_on_.value, start);
      count = at.select(icmp(at, goes_on_.pred, first, goes_on_.bound), difference, one);
    }
    const ValueId many = at.op(Op::LShr, t, {count, at.constant(Type::U32, kLog2Many)});
    std::vector<ValueId> args = start;
    args.push_back(count);
    branch_if_not_0(at, many, {begin, {}}, {rest, args}, rest);

    at.set_block(begin);
    const ValueId more = at.sub(count, one); // after the first
    const ValueId times = at.op(Op::LShr, t, {more, at.constant(Type::U32, kLog2Rounds)});
    const ValueId last = at.add(at.and_(more, at.constant(t, kRounds - 1)), one);
    args.back() = times;
    at.jump(four, args);

    const std::vector<ValueId> in = take_params(four);
    const ValueId left = f_.add_param(four, t);
    args = copy_rounds(four, in);
    at.set_block(four);
    std::vector<ValueId> again = args;
    again.push_back(at.sub(left, at.constant(t, 1)));
    args.push_back(last);
    branch_if_not_0(at, again.back(), {four, again}, {rest, args}, rest);

    args = take_params(rest);
    args.push_back(f_.add_param(rest, t));
    at.set_block(rest);
    at.jump(plain, args);
    count_down(plain, f_.add_param(plain, t));
  }
  static ValueId icmp(Builder& at, IntPred p, ValueId a, ValueId b) {
    return at.op(Op::ICmp, Type::G1, {a, b}, static_cast<u64>(p));
  }
  /// The loop goes on while a count of its rounds has not come to 0.
  void count_down(BlockId plain, ValueId left) {
    const u32 way = goes_on_way();
    Successor& back = f_[plain].successors[way];
    Builder at(f_, plain);
    at.pc = f_[plain].pc;
    const InstId end = f_.terminator(plain);
    f_[plain].insts.pop_back();
    const ValueId next = at.sub(left, at.constant(f_.type(left), 1));
    const ValueId more = at.icmp(way == 0 ? IntPred::Ne : IntPred::Eq, next, at.constant(f_.type(left), 0));
    f_.operands(end)[0] = at.any(more);
    f_[plain].insts.push_back(end);
    back.args.push_back(next);
  }
  /// By how much a parameter of the header grows from round to round.
  [[nodiscard]] std::optional<u64> step(ValueId v) const {
    return is_param(v) && (is_gang(f_.type(v)) || is_vector(f_.type(v))) ? growth(v) : std::nullopt;
  }

  /// Puts the rounds into block `four`, which has parameters `in`. Returns the next round's.
  std::vector<ValueId> copy_rounds(BlockId four, const std::vector<ValueId>& in) {
    const BlockId plain = header();
    const InstId any = f_.def_id(f_.operands(f_.terminator(plain))[0]);
    std::vector<InstId> insts(f_[plain].insts.begin(), f_[plain].insts.end() - 1);
    std::erase(insts, any);
    Builder at(f_, four);
    at.pc = f_[plain].pc;
    Renaming now(f_.num_values()), first;
    std::vector<ValueId> params = in;
    for (unsigned round = 0;; ++round) {
      for (u32 n = 0; n < params.size(); ++n) {
        const ValueId p = f_[plain].params[n];
        if (const auto by = step(p); by && round != 0)
          params[n] = at.add(in[n], at.constant(f_.type(p), round * *by & constant_bits(f_.type(p))));
        now[p.index] = params[n];
      }
      if (round == kRounds) return params;
      for (const InstId i : insts) {
        append_renamed(f_, four, {&i, 1}, now);
        if (round != 0) move_offset(f_[four].insts.back(), i, round, first);
      }
      if (round == 0) first = now;
      params = back_edge().args;
      for (ValueId& v : params) rename(now, v);
    }
  }
  /// The copy of an access goes to where the first round's does, but for a constant.
  void move_offset(InstId copy, InstId i, unsigned round, const Renaming& first) {
    if (!info(f_[i].op).is(kMemory) || f_[i].mem.space != Space::Global) return;
    const ValueId address = f_.operands(i)[0];
    const InstId sum = f_.def_id(address);
    if (!sum.valid() || f_[sum].op != Op::Add || !changes(address)) return;
    u64 by = 0;
    for (const ValueId x : f_.operands(sum)) {
      if (!changes(x)) continue;
      const auto s = step(x);
      if (!s) return;
      by += *s;
    }
    if (by + kMaxStep > 2 * kMaxStep) return;
    f_[copy].imm += round * by;
    f_.operands(copy)[0] = first[address.index];
  }
};

} // namespace

bool unroll_gang_rounds(Function& f) { return GangRounds(f).run(); }

} // namespace lanewise::phases
