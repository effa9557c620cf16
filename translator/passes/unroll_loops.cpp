// Workgroups share work out by `for (i = id; i < n; i += size)`. Each lane asks for itself whether it goes
// on, but where the size divides n all of them do so equally often, and where the launch's facts bound the
// ids that number is known: then the rounds follow each other without questions and without masks.
//
// Loops over arrays in private memory - what -O0 leaves of vectors, tiles and states of hash functions - are
// unrolled for the arrays' sake: once each round's indices are constants, elements become values. So are
// those over arrays in registers, which compilers index at run time or choose elements of, and loops in which
// lanes pull from others at distances that change from round to round, as in sums across lanes. Lanes may
// leave them early, if they all leave by one way. Loops that store to the LDS at such distances come along:
// where lanes go is then known from their ids. Small loops are unrolled as well, if it is known how many
// rounds they have: compilers leave them at -O1. Where an outer loop's round says how often an inner one goes
// round, the outer one is unrolled first.
//
// Found by going through the loop round by round, with what is known of its values: bounds of integers, and
// of masks and conditions whether they are all set or all clear.
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/translator.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace lanewise::passes {

using namespace ir;

namespace {

/// How far to go.
struct Extent {
  std::size_t rounds, instructions; ///< of all rounds
  bool may_end_early = false;       ///< of the rounds it is only known how many there are at most
};
constexpr Extent kShared{16, 400}, kArrays{80, 6500, true}; ///< hash functions have up to 80
constexpr Extent kSmall{32, 200};                           ///< loops of any kind
constexpr unsigned kMaxNesting = 6;                         ///< of loops over arrays
constexpr std::size_t kMinRound = 4;                        ///< instructions
constexpr unsigned kMinChoices = 2;                         ///< of elements
constexpr std::size_t kLargeFunction = 8000; ///< instructions: no more are made for arrays' sake

/// What is known of a value.
struct Known {
  Limits limits;             ///< of an integer
  std::optional<bool> truth; ///< of a mask, in all lanes, or a condition
  bool operator==(const Known&) const = default;
};

Known either(const Known& a, const Known& b) {
  return {either(a.limits, b.limits), a.truth == b.truth ? a.truth : std::nullopt};
}

bool is_truth(Type t) { return t == Type::Mask || t == Type::U1; }

std::optional<bool> constant_truth(const Function& f, ValueId v) {
  u64 bits = 0;
  if (!f.is_const(v, &bits)) return std::nullopt;
  if (bits == 0) return false;
  return bits == constant_bits(f.type(v)) ? std::optional(true) : std::nullopt;
}

/// The address of an access to private memory, or the number of a row of registers, if it is not constant;
/// else nothing.
ValueId indexed_place(const Function& f, InstId i) {
  if (!accesses_own_array(f[i])) return {};
  const ValueId address = f.operands(i)[0];
  return f.is_const(address) ? ValueId{} : address;
}

/// What a select compares with a constant, if it chooses an element of an array in registers by its number.
ValueId chosen_number(const Function& f, InstId i) {
  if (f[i].op != Op::Select) return {};
  const InstId c = f.def_id(f.operands(i)[0]);
  if (!c.valid() || f[c].op != Op::ICmp) return {};
  const auto p = static_cast<IntPred>(f[c].imm);
  const auto x = f.operands(c);
  if ((p != IntPred::Eq && p != IntPred::Ne) || f.is_const(x[0]) == f.is_const(x[1])) return {};
  return x[f.is_const(x[0]) ? 1 : 0];
}

/// What tables of constants are looked up for at places that are known, and what is made of that: it is known
/// once the loads are done here.
class LookedUp {
public:
  LookedUp(const Function& f, const translator::KernelSource& source) : f_(f), source_(source) {}

  /// Those before it have been added. `limits`: what else is known.
  void add(InstId i, const ValueLimits& limits) {
    const Inst& inst = f_[i];
    if (inst.num_results != 1) return;
    const auto x = f_.operands(i);
    const auto is_known = [&](ValueId v) {
      const Limits n = limits.of(v);
      return contains(v) || n.min == n.max;
    };
    const bool has_table = inst.op == Op::Load && inst.mem.space == Space::Global;
    if (has_table) {
      const Limits place = limits.of(x[0]);
      if (place.min == place.max && !source_.constant_bytes(place.min + inst.imm, inst.mem.bytes).empty())
        found_.insert(f_.result(i).index);
    } else if (inst.op == Op::ReadFirst
                   ? contains(x[0])
                   : info(inst.op).is(kPure) &&
                         std::ranges::any_of(x, [&](ValueId v) { return contains(v); }) &&
                         std::ranges::all_of(x, is_known)) {
      found_.insert(f_.result(i).index);
    }
  }
  [[nodiscard]] bool contains(ValueId v) const { return found_.contains(v.index); }

private:
  const Function& f_;
  const translator::KernelSource& source_;
  std::unordered_set<u32> found_;
};

/// A block whose branch always goes the same way, and the number of that way.
struct Decision {
  BlockId block;
  u32 way;
};

/// What is known where a loop begins.
struct Start {
  std::vector<Known> params; ///< the loop's own, before its first round
  ValueLimits limits;        ///< of what is defined before
  std::unordered_map<u32, std::optional<bool>> truths;
};

/// One round of loop `l`: what is known in it, and where it leads. Of what loops in it hand on nothing is
/// known but what they begin with.
class Round {
public:
  Round(const Function& f, const translator::KernelSource& source, const Loops& loops, u32 l,
        const std::vector<BlockId>& blocks, const std::vector<Known>& params, const Start& start)
      : f_(f), loops_(loops), loop_(static_cast<i32>(l)), blocks_(blocks), looked_up_(f, source),
        limits_(start.limits), truths_(start.truths) {
    params_[blocks.front().index] = params;
    for (const BlockId b : blocks) {
      const auto known = params_.find(b.index);
      if (known == params_.end()) continue;
      const i32 inner = loops.innermost[b.index];
      if (inner != loop_ && loops.loops[static_cast<u32>(inner)].header == b)
        starts_.try_emplace(inner, known->second, limits_, truths_); // ways round come later
      else
        assume_params(b);
      visit(b);
    }
  }

  [[nodiscard]] bool goes_on() const { return next_.has_value(); }
  [[nodiscard]] bool leaves() const { return leaves_; }
  /// The loop's parameters in the next round.
  [[nodiscard]] const std::vector<Known>& next() const { return *next_; }
  [[nodiscard]] std::vector<Decision>& decisions() { return decisions_; }
  /// What inner loop `l` begins with, if the round gets there.
  [[nodiscard]] const Start* start_of(u32 l) const {
    const auto it = starts_.find(static_cast<i32>(l));
    return it != starts_.end() ? &it->second : nullptr;
  }
  /// What of the round, without loops in it, is left as code, at most. Of what is known nothing is, nor of
  /// accesses to arrays: elements become values.
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  const Function& f_;
  const Loops& loops_;
  const i32 loop_;
  const std::vector<BlockId>& blocks_;
  LookedUp looked_up_;
  ValueLimits limits_;
  std::unordered_map<u32, std::optional<bool>> truths_;
  std::unordered_map<u32, std::vector<Known>> params_; ///< of the blocks that are reached
  std::unordered_map<i32, Start> starts_;              ///< of the loops in it
  std::optional<std::vector<Known>> next_;
  bool leaves_ = false;
  std::size_t size_ = 0;
  std::vector<Decision> decisions_;

  [[nodiscard]] std::optional<bool> truth(ValueId v) const {
    const auto it = truths_.find(v.index);
    return it != truths_.end() ? it->second : constant_truth(f_, v);
  }

  [[nodiscard]] Known known(ValueId v) const {
    return is_truth(f_.type(v)) ? Known{{}, truth(v)} : Known{limits_.of(v), {}};
  }

  [[nodiscard]] bool is_known(InstId i) const {
    if (f_[i].op == Op::Const) return true;
    if (f_[i].num_results != 1) return false;
    if (looked_up_.contains(f_.result(i))) return true;
    const Known x = known(f_.result(i));
    return is_truth(f_.type(f_.result(i))) ? x.truth.has_value() : x.limits.min == x.limits.max;
  }

  /// A select that takes one of its operands once tables have been looked up.
  [[nodiscard]] bool is_chosen(InstId i) const {
    return f_[i].op == Op::Select && looked_up_.contains(f_.operands(i)[0]);
  }

  void assume(ValueId v, const Known& x) {
    if (is_truth(f_.type(v)))
      truths_[v.index] = x.truth;
    else
      limits_.assume(v, x.limits);
  }

  void assume_params(BlockId b) {
    for (std::size_t p = 0; p < f_[b].params.size(); ++p) assume(f_[b].params[p], params_[b.index][p]);
  }
  void visit(BlockId b) {
    std::size_t left = 0;
    for (const InstId i : f_[b].insts) {
      if (f_[i].num_results == 1) evaluate(i);
      looked_up_.add(i, limits_);
      if (!accesses_own_array(f_[i]) && !is_known(i) && !is_chosen(i) && i != f_.terminator(b)) ++left;
    }
    if (loops_.innermost[b.index] == loop_) size_ += left;
    const InstId end = f_.terminator(b);
    const auto condition = f_[end].op == Op::Branch ? truth(f_.operands(end)[0]) : std::nullopt;
    if (condition) decisions_.push_back({b, *condition ? 0u : 1u});
    for (u32 n = 0; n < f_[b].successors.size(); ++n)
      if (!condition || decisions_.back().way == n) follow(f_[b].successors[n]);
  }

  void follow(const Successor& edge) {
    if (std::ranges::find(blocks_, edge.block) == blocks_.end()) {
      leaves_ = true;
      return;
    }
    std::vector<Known> args;
    for (const ValueId v : edge.args) args.push_back(known(v));
    const auto meet = [&](std::vector<Known>& there) {
      for (std::size_t n = 0; n < args.size(); ++n) there[n] = either(there[n], args[n]);
    };
    if (edge.block == blocks_.front()) {
      if (next_)
        meet(*next_);
      else
        next_ = args;
    } else if (const auto [there, first] = params_.try_emplace(edge.block.index, args); !first)
      meet(there->second);
  }

  /// Where more is known than ValueLimits finds by itself.
  void evaluate(InstId i) {
    const ValueId v = f_.result(i);
    const auto x = f_.operands(i);
    if (is_truth(f_.type(v))) {
      truths_[v.index] = truth_of(i);
    } else if (f_[i].op == Op::Select) {
      if (const auto c = truth(x[0])) limits_.assume(v, limits_.of(*c ? x[1] : x[2]));
    } else if (f_[i].op == Op::MaskToU64 || (f_[i].op == Op::ZExt && is_truth(f_.type(x[0])))) {
      const u64 bits = f_[i].op == Op::ZExt ? 1 : ~u64{0};
      if (const auto t = truth(x[0])) limits_.assume(v, *t ? Limits{bits, bits, bits} : Limits{0, 0, 0});
    }
  }

  [[nodiscard]] std::optional<bool> truth_of(InstId i) const {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    const auto in = [&](unsigned n) { return truth(x[n]); };
    const auto inverse = [](std::optional<bool> t) { return t ? std::optional(!*t) : t; };
    const auto both = [](std::optional<bool> a, std::optional<bool> b) -> std::optional<bool> {
      if (a == false || b == false) return false;
      return a ? b : a;
    };
    switch (inst.op) {
    case Op::Const: return constant_truth(f_, f_.result(i));
    case Op::ICmp: return limits_.compare(static_cast<IntPred>(inst.imm), x[0], x[1]);
    case Op::And: return both(in(0), in(1));
    case Op::AndNot: return both(in(0), inverse(in(1)));
    case Op::Or: return inverse(both(inverse(in(0)), inverse(in(1))));
    case Op::Xor: return in(0) && in(1) ? std::optional(*in(0) != *in(1)) : std::nullopt;
    case Op::Not: return inverse(in(0));
    case Op::AnyLane:
    case Op::Splat: return in(0);
    case Op::Select:
      if (const auto c = in(0)) return in(*c ? 1 : 2);
      return in(1) == in(2) ? in(1) : std::nullopt;
    case Op::U64ToMask: {
      const Limits bits = limits_.of(x[0]);
      if (bits.max == 0) return false;
      return bits.min == ~u64{0} ? std::optional(true) : std::nullopt;
    }
    default: return std::nullopt;
    }
  }
};

class LoopUnroller {
public:
  /// `arrays`: loops over arrays in private memory; else those that share work out.
  LoopUnroller(Function& f, const translator::KernelSource& source, bool arrays)
      : f_(f), source_(source), arrays_(arrays), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  /// Whether there was any loop to unroll.
  bool run() {
    bool any = false;
    if (loops_.irreducible) return any;
    for (u32 l = 0; l < loops_.loops.size(); ++l) {
      if (!is_innermost(l) || (arrays_ && is_large())) continue;
      const std::vector<BlockId> blocks = blocks_of(l);
      const Start start = at_entry(blocks);
      if (!arrays_ && !lanes_ask(blocks)) continue;
      const Extent& most = !arrays_ ? kShared : finds_elements(l, blocks, start.params) ? kArrays : kSmall;
      const Rounds rounds = find_rounds(l, blocks, start, most);
      if (rounds.decisions.empty()) continue;
      unroll(blocks, rounds.decisions);
      any = true;
    }
    if (arrays_ && !any)
      for (u32 l = 0; l < loops_.loops.size() && !is_large(); ++l) any |= is_whole(l) && unroll_around(l);
    return any;
  }

private:
  Function& f_;
  const translator::KernelSource& source_;
  const bool arrays_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::vector<BlockId> landings_; ///< made since: where ways out of unrolled loops lead
  std::vector<u32> unrolled_;     ///< with all loops in them
  std::vector<u8> endless_;       ///< per loop: in some round of those around, for all that is known

  /// The rounds of a loop, from what is known at its start.
  struct Rounds {
    std::vector<std::vector<Decision>> decisions; ///< of each; none if it is not known how many there are
    std::size_t size = 0;                         ///< what is left of them, and of loops in them
    bool finds_elements = false;                  ///< loops in them do, and can be unrolled
  };

  /// Where `b` is entered from. Some may not lead there any more.
  [[nodiscard]] std::vector<BlockId> preds_of(BlockId b) const {
    std::vector<BlockId> preds(cfg_.preds[b.index].begin(), cfg_.preds[b.index].end());
    for (const BlockId landing : landings_)
      if (f_[landing].successors.front().block == b) preds.push_back(landing);
    return preds;
  }

  [[nodiscard]] bool is_large() const {
    std::size_t size = 0;
    for (const Block& b : f_.blocks) size += b.insts.size();
    return size > kLargeFunction;
  }

  [[nodiscard]] bool is_innermost(u32 l) const {
    return std::ranges::none_of(loops_.loops,
                                [&](const Loops::Loop& x) { return x.parent == static_cast<i32>(l); });
  }

  /// In an order in which all but ways round lead down.
  [[nodiscard]] std::vector<BlockId> blocks_of(u32 l) const {
    std::vector<BlockId> blocks = loops_.loops[l].blocks;
    std::ranges::sort(blocks, {}, [&](BlockId b) { return cfg_.rpo_index[b.index]; });
    return blocks;
  }

  static std::size_t size_of(const Function& f, const std::vector<BlockId>& blocks) {
    std::size_t size = 0;
    for (const BlockId b : blocks) size += f[b].insts.size();
    return size;
  }

  /// It has loops in it, and none of those around it has been unrolled.
  [[nodiscard]] bool is_whole(u32 l) const {
    return !is_innermost(l) && std::ranges::none_of(unrolled_, [&](u32 around) {
      return loops_.contains(static_cast<i32>(around), loops_.loops[l].header);
    });
  }

  /// Unrolls loop `l`, if loops in it begin in each round with what is known of that round, and could be
  /// unrolled then.
  bool unroll_around(u32 l) {
    const std::vector<BlockId> blocks = blocks_of(l);
    if (!may_find_elements(blocks) || looks_elements_up(blocks)) return false;
    endless_.assign(loops_.loops.size(), 0);
    const Rounds rounds = find_rounds(l, blocks, at_entry(blocks), kArrays);
    if (rounds.decisions.empty() || !rounds.finds_elements) return false;
    unroll(blocks, rounds.decisions);
    unrolled_.push_back(l);
    return true;
  }

  static bool contain(const std::vector<BlockId>& blocks, BlockId b) {
    return std::ranges::find(blocks, b) != blocks.end();
  }

  /// The loop ends when no lane goes on. Others are as their compiler wants them.
  [[nodiscard]] bool lanes_ask(const std::vector<BlockId>& blocks) const {
    return std::ranges::any_of(blocks, [&](BlockId b) {
      return f_.tested_mask(b).valid() && std::ranges::any_of(f_[b].successors, [&](const Successor& s) {
               return !contain(blocks, s.block);
             });
    });
  }

  /// There is something in it that finds_elements() looks for.
  [[nodiscard]] bool may_find_elements(const std::vector<BlockId>& blocks) const {
    return std::ranges::any_of(blocks, [&](BlockId b) {
      return std::ranges::any_of(f_[b].insts, [&](InstId i) {
        return indexed_place(f_, i).valid() || chosen_number(f_, i).valid() || meets_lanes(f_[i]);
      });
    });
  }
  /// Some element of an array in private memory has a number that is not made of counters and constants: then
  /// that array stays in memory, and code for each round gains little (codes of a tree 1.6 times slower).
  [[nodiscard]] bool looks_elements_up(const std::vector<BlockId>& blocks) const {
    return std::ranges::any_of(blocks, [&](BlockId b) {
      return std::ranges::any_of(f_[b].insts, [&](InstId i) {
        const ValueId place = indexed_place(f_, i);
        return place.valid() && f_[i].mem.space == Space::Scratch && !is_of_counters(place, blocks);
      });
    });
  }
  [[nodiscard]] bool is_of_counters(ValueId v, const std::vector<BlockId>& blocks) const {
    std::vector<ValueId> work = {v};
    const auto add = [&](ValueId x) {
      if (std::ranges::find(work, x) == work.end()) work.push_back(x);
    };
    for (std::size_t n = 0; n < work.size(); ++n) {
      const InstId i = f_.def_id(work[n]);
      const BlockId b = f_.def_block(work[n]);
      if (i.valid() ? !info(f_[i].op).is(kPure) : !contain(blocks, b)) return false;
      if (i.valid()) {
        for (const ValueId x : f_.operands(i)) add(x);
        continue;
      }
      if (std::ranges::none_of(loops_.loops, [&](const Loops::Loop& l) { return l.header == b; }))
        return false;
      for (const BlockId p : preds_of(b))
        for (const Successor& s : f_[p].successors)
          if (s.block == b) add(s.args[f_[work[n]].index]);
    }
    return true;
  }
  /// Lanes look at others by an address, or may be in each other's way.
  static bool meets_lanes(const Inst& inst) {
    return inst.op == Op::BPermute || (inst.op == Op::Store && inst.mem.space == Space::Lds);
  }

  /// Once the loop is unrolled, and loops around it are, an access to private memory that is at a place of
  /// its own in each round is at a constant one, elements of an array in registers need not be chosen, or it
  /// is seen from which lanes others pull.
  [[nodiscard]] bool finds_elements(u32 loop, const std::vector<BlockId>& blocks,
                                    const std::vector<Known>& params) const {
    ValueLimits limits(f_);
    for (std::size_t n = 0; n < params.size(); ++n)
      if (const ValueId p = f_[blocks.front()].params[n]; !is_truth(f_.type(p)))
        limits.assume(p, params[n].limits);
    for (i32 l = loops_.loops[loop].parent; l >= 0; l = loops_.loops[static_cast<u32>(l)].parent)
      for (const ValueId p : f_[loops_.loops[static_cast<u32>(l)].header].params)
        if (!is_truth(f_.type(p))) limits.assume(p, {0, 0, 0}); // as it may be in its first round
    LookedUp looked_up(f_, source_);
    const auto is_known = [&](ValueId v) {
      const Limits n = limits.of(v);
      return n.min == n.max || looked_up.contains(v);
    };
    unsigned choices = 0;
    for (const BlockId b : blocks)
      for (const InstId i : f_[b].insts) {
        looked_up.add(i, limits);
        if (const ValueId place = indexed_place(f_, i); place.valid() && is_known(place)) return true;
        if (const ValueId n = chosen_number(f_, i); n.valid() && is_known(n) && ++choices == kMinChoices)
          return true;
        if (meets_lanes(f_[i]) && goes_by_counters(f_.operands(i)[0], blocks, is_known)) return true;
      }
    return false;
  }
  /// Whether it changes from round to round, but not by anything that is not known in each of them.
  template <class F>
  [[nodiscard]] bool goes_by_counters(ValueId v, const std::vector<BlockId>& blocks, F is_known) const {
    std::vector<ValueId> work = {v};
    bool any = false;
    for (std::size_t n = 0; n < work.size(); ++n) {
      if (!contain(blocks, f_.def_block(work[n]))) continue;
      const InstId i = f_.def_id(work[n]);
      if (!i.valid()) {
        if (f_.def_block(work[n]) != blocks.front() || !is_known(work[n])) return false;
        any = true;
        continue;
      }
      if (!info(f_[i].op).is(kPure)) return false;
      for (const ValueId x : f_.operands(i))
        if (std::ranges::find(work, x) == work.end()) work.push_back(x);
    }
    return any;
  }

  [[nodiscard]] Rounds find_rounds(u32 l, const std::vector<BlockId>& blocks, const Start& start,
                                   const Extent& most) {
    Rounds found;
    std::vector<Known> params = start.params;
    const bool may_leave_early = most.may_end_early && ways_out(blocks).size() == 1;
    while (found.decisions.size() < most.rounds) {
      Round round(f_, source_, loops_, l, blocks, params, start);
      found.size += std::max(round.size(), kMinRound);
      if (round.goes_on() == round.leaves() && !(round.leaves() && may_leave_early)) return {};
      for (u32 m = l + 1; m < loops_.loops.size() && found.size <= most.instructions; ++m)
        if (const Start* inner = round.start_of(m); inner != nullptr && loops_.loops[m].parent == i32(l))
          add_inner(m, *inner, most.instructions - found.size, found);
      if (found.size > most.instructions) return {};
      found.decisions.push_back(std::move(round.decisions()));
      if (!round.goes_on()) return found;
      if (round.next() == params) return {}; // and so it would be in all that follow
      params = round.next();
    }
    return {};
  }

  /// Adds what becomes of loop `l` in a round of the one around it, where it begins with `start`.
  void add_inner(u32 l, const Start& start, std::size_t most_instructions, Rounds& around) {
    const std::vector<BlockId> blocks = blocks_of(l);
    Extent most = kArrays;
    most.instructions = most_instructions;
    const Rounds rounds = endless_[l] != 0 ? Rounds{} : find_rounds(l, blocks, start, most);
    if (rounds.decisions.empty()) {
      endless_[l] = 1;
      around.size += size_of(f_, blocks);
      return;
    }
    around.size += rounds.size;
    around.finds_elements |= rounds.finds_elements || finds_elements(l, blocks, start.params);
  }

  [[nodiscard]] std::vector<Successor*> ways_out(const std::vector<BlockId>& blocks) const {
    std::vector<Successor*> ways;
    for (const BlockId b : blocks)
      for (Successor& s : f_[b].successors)
        if (!contain(blocks, s.block)) ways.push_back(&s);
    return ways;
  }

  [[nodiscard]] Start at_entry(const std::vector<BlockId>& blocks) const {
    const ValueLimits limits(f_);
    const BlockId header = blocks.front();
    std::vector<Known> params(f_[header].params.size());
    bool first = true;
    for (const BlockId p : preds_of(header)) {
      if (contain(blocks, p)) continue;
      for (const Successor& s : f_[p].successors) {
        if (s.block != header) continue;
        for (std::size_t n = 0; n < params.size(); ++n) {
          const ValueId v = s.args[n];
          const Known arg = is_truth(f_.type(v)) ? Known{{}, constant_truth(f_, v)} : Known{limits.of(v), {}};
          params[n] = first ? arg : either(params[n], arg);
        }
        first = false;
      }
    }
    return {std::move(params), ValueLimits(f_), {}};
  }

  /// What is behind the loop `blocks` gets its values from a block that its only way out leads to.
  void hand_out(const std::vector<BlockId>& blocks) {
    const BlockId landing = f_.add_block(f_[ways_out(blocks).front()->block].pc);
    Successor& way = *ways_out(blocks).front();
    Successor on = std::exchange(way, {landing, {}});
    std::unordered_map<u32, ValueId> in_landing; // by the value in the loop
    const auto hand = [&](ValueId& v) {
      if (!contain(blocks, f_.def_block(v))) return;
      const auto [there, is_new] = in_landing.try_emplace(v.index);
      const Type type = f_.type(v);
      if (u64 bits = 0; is_new && f_.is_const(v, &bits)) { // seen to be one by loops that follow
        there->second = f_.result(f_.append(landing, {.op = Op::Const, .imm = bits}, {}, {&type, 1}));
      } else if (is_new) {
        there->second = f_.add_param(landing, type);
        way.args.push_back(v);
      }
      v = there->second;
    };
    for (u32 b = 0; b < landing.index; ++b) {
      if (contain(blocks, BlockId{b})) continue;
      for (const InstId i : f_.blocks[b].insts)
        for (ValueId& v : f_.operands(i)) hand(v);
      for (Successor& s : f_.blocks[b].successors)
        for (ValueId& v : s.args) hand(v);
    }
    for (ValueId& v : on.args) hand(v);
    f_.append(landing, {.op = Op::Jump}, {}, {});
    f_[landing].successors = {std::move(on)};
    landings_.push_back(landing);
  }

  /// The last round is the loop as it is, so that what is behind it finds its values; the others go before.
  void unroll(const std::vector<BlockId>& blocks, const std::vector<std::vector<Decision>>& rounds) {
    if (ways_out(blocks).size() == 1) hand_out(blocks); // any round may lead there
    const BlockId header = blocks.front();
    std::vector<phases::CopiedBlocks> copies;
    for (std::size_t n = 0; n + 1 < rounds.size(); ++n) copies.push_back(phases::copy_blocks(f_, blocks));
    const auto start_of = [&](std::size_t n) { return n < copies.size() ? copies[n].of(header) : header; };
    for (const BlockId p : preds_of(header))
      if (!contain(blocks, p)) redirect(p, header, start_of(0));
    for (std::size_t n = 0; n < copies.size(); ++n)
      for (const BlockId b : blocks) redirect(copies[n].of(b), start_of(n), start_of(n + 1));
    for (std::size_t n = 0; n < rounds.size(); ++n)
      for (const Decision& d : rounds[n]) decide(n < copies.size() ? copies[n].of(d.block) : d.block, d.way);
  }

  void redirect(BlockId b, BlockId from, BlockId to) {
    for (Successor& s : f_[b].successors)
      if (s.block == from) s.block = to;
  }

  void decide(BlockId b, u32 way) { f_.become_jump(b, f_[b].successors[way]); }
};

void tidy_up(Function& f) {
  eliminate_dead_code(f);
  merge_blocks(f);
  fold(f);
  eliminate_dead_code(f);
}

} // namespace

void unroll_loops(Function& f) {
  if (LoopUnroller(f, {}, false).run()) tidy_up(f);
}

bool unroll_array_loops(Function& f, const translator::KernelSource& source) {
  bool any = false;
  for (unsigned n = 0; n < kMaxNesting && LoopUnroller(f, source, true).run(); ++n) {
    any = true;
    tidy_up(f);
  }
  return any;
}

} // namespace lanewise::passes
