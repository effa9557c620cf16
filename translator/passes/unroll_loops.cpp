// Workgroups share work out by `for (i = id; i < n; i += size)`. Each lane asks for itself whether it goes
// on, but where the size divides n all of them do so equally often, and where the launch's facts bound the
// ids that number is known: then the rounds follow each other without questions and without masks.
//
// Loops over arrays in private memory - what -O0 leaves of vectors, tiles and states of hash functions - are
// unrolled for the arrays' sake: once each round's indices are constants, elements become values. So are
// those over arrays in registers, which compilers index at run time or choose elements of, and loops in which
// lanes pull from others at distances that change from round to round, as in sums across lanes. Lanes may
// leave them early, if they all leave by one way. Small loops are unrolled as well, if it is known how many
// rounds they have: compilers leave them at -O1.
//
// Found by going through the loop round by round, with what is known of its values: bounds of integers, and
// of masks and conditions whether they are all set or all clear.
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/copy_blocks.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

/// How far to go.
struct Extent {
  std::size_t rounds, instructions; ///< of all rounds
  bool may_end_early = false;       ///< of the rounds it is only known how many there are at most
};
constexpr Extent kShared{16, 400}, kArrays{80, 5000, true}; ///< hash functions have up to 80
constexpr Extent kSmall{32, 200};                           ///< loops of any kind
constexpr unsigned kMaxNesting = 6;                         ///< of loops over arrays
constexpr unsigned kMinChoices = 2;                         ///< of elements
constexpr std::size_t kLargeFunction = 8000; ///< instructions: no more are made for arrays' sake

/// What is known of a value.
struct Known {
  Limits limits;             ///< of an integer
  std::optional<bool> truth; ///< of a mask, in all lanes, or a condition
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

/// A block whose branch always goes the same way, and the number of that way.
struct Decision {
  BlockId block;
  u32 way;
};

/// One round of a loop: what is known in it, and where it leads. Of `headers`, those of loops in it, nothing
/// is known but where they are.
class Round {
public:
  Round(const Function& f, const std::vector<BlockId>& blocks, const std::vector<BlockId>& headers,
        const std::vector<Known>& params)
      : f_(f), blocks_(blocks), limits_(f) {
    params_[blocks.front().index] = params;
    for (const BlockId b : blocks) {
      if (!params_.contains(b.index)) continue;
      if (std::ranges::find(headers, b) == headers.end()) assume_params(b);
      visit(b);
    }
  }

  [[nodiscard]] bool goes_on() const { return next_.has_value(); }
  [[nodiscard]] bool leaves() const { return leaves_; }
  /// The loop's parameters in the next round.
  [[nodiscard]] const std::vector<Known>& next() const { return *next_; }
  [[nodiscard]] std::vector<Decision>& decisions() { return decisions_; }
  /// What of the round is left as code, at most. Of accesses to arrays nothing is: elements become values.
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  const Function& f_;
  const std::vector<BlockId>& blocks_;
  ValueLimits limits_;
  std::unordered_map<u32, std::optional<bool>> truths_;
  std::unordered_map<u32, std::vector<Known>> params_; ///< of the blocks that are reached
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
    --size_; // A jump will be none.
    for (const InstId i : f_[b].insts) {
      if (f_[i].num_results == 1) evaluate(i);
      if (!accesses_own_array(f_[i]) && f_[i].op != Op::Const) ++size_;
    }
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
  LoopUnroller(Function& f, bool arrays)
      : f_(f), arrays_(arrays), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  /// Whether there was any loop to unroll.
  bool run() {
    bool any = false;
    if (loops_.irreducible) return any;
    for (u32 l = 0; l < loops_.loops.size(); ++l) {
      if (!is_innermost(l) || (arrays_ && is_large())) continue;
      const std::vector<BlockId> blocks = blocks_of(l);
      const std::vector<Known> start = at_entry(blocks, ValueLimits(f_));
      if (!arrays_ && !lanes_ask(blocks)) continue;
      const Extent& most = !arrays_ ? kShared : finds_elements(l, blocks, start) ? kArrays : kSmall;
      const std::vector<std::vector<Decision>> rounds = find_rounds(blocks, start, most);
      if (rounds.empty()) continue;
      unroll(blocks, rounds);
      any = true;
    }
    for (u32 l = 0; arrays_ && !any && l < loops_.loops.size() && !is_large(); ++l)
      any = !is_innermost(l) && unroll_around(l);
    return any;
  }

private:
  Function& f_;
  const bool arrays_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::vector<BlockId> landings_; ///< made since: where ways out of unrolled loops lead

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

  /// Unrolls loop `l`, if one in it begins in each round with what is known of that round, and could be
  /// unrolled then.
  bool unroll_around(u32 l) {
    const std::vector<BlockId> blocks = blocks_of(l);
    const std::vector<Known> start = at_entry(blocks, ValueLimits(f_));
    ValueLimits first(f_); // round
    for (std::size_t n = 0; n < start.size(); ++n)
      if (const ValueId p = f_[blocks.front()].params[n]; !is_truth(f_.type(p)))
        first.assume(p, start[n].limits);
    std::size_t rounds_inside = 0;
    for (u32 m = 0; m < loops_.loops.size(); ++m) {
      if (loops_.loops[m].parent != static_cast<i32>(l)) continue;
      const std::vector<BlockId> inner = blocks_of(m);
      const std::vector<Known> inner_start = at_entry(inner, first);
      if (is_innermost(m) && finds_elements(m, inner, inner_start))
        rounds_inside += find_rounds(inner, inner_start, kArrays).size();
    }
    if (rounds_inside == 0) return false;
    const std::vector<std::vector<Decision>> rounds = find_rounds(blocks, start, kArrays);
    if (rounds.empty() || rounds.size() * rounds_inside * size_of(f_, blocks) > kArrays.instructions)
      return false;
    unroll(blocks, rounds);
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
    const auto is_known = [&](ValueId v) {
      const Limits n = limits.of(v);
      return n.min == n.max;
    };
    unsigned choices = 0;
    for (const BlockId b : blocks)
      for (const InstId i : f_[b].insts) {
        if (const ValueId place = indexed_place(f_, i); place.valid() && is_known(place)) return true;
        if (const ValueId n = chosen_number(f_, i); n.valid() && is_known(n) && ++choices == kMinChoices)
          return true;
        if (f_[i].op == Op::BPermute && goes_by_counters(f_.operands(i)[0], blocks, is_known)) return true;
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

  /// The decisions of each round, from what is known at the start; none if it is not known how many there
  /// are at most.
  [[nodiscard]] std::vector<std::vector<Decision>>
  find_rounds(const std::vector<BlockId>& blocks, std::vector<Known> params, const Extent& most) const {
    std::vector<BlockId> headers; // of loops in it
    for (const Loops::Loop& l : loops_.loops)
      if (l.header != blocks.front() && contain(blocks, l.header)) headers.push_back(l.header);
    std::vector<std::vector<Decision>> rounds;
    const bool may_leave_early = most.may_end_early && ways_out(blocks).size() == 1;
    std::size_t size = 0;
    while (rounds.size() < most.rounds) {
      Round round(f_, blocks, headers, params);
      size += round.size();
      if (round.goes_on() == round.leaves() && !(round.leaves() && may_leave_early)) return {};
      if (size > most.instructions) return {};
      rounds.push_back(std::move(round.decisions()));
      if (!round.goes_on()) return rounds;
      params = round.next();
    }
    return {};
  }

  [[nodiscard]] std::vector<Successor*> ways_out(const std::vector<BlockId>& blocks) const {
    std::vector<Successor*> ways;
    for (const BlockId b : blocks)
      for (Successor& s : f_[b].successors)
        if (!contain(blocks, s.block)) ways.push_back(&s);
    return ways;
  }

  [[nodiscard]] std::vector<Known> at_entry(const std::vector<BlockId>& blocks,
                                            const ValueLimits& limits) const {
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
    return params;
  }

  /// What is behind the loop `blocks` gets its values from a block that its only way out leads to.
  void hand_out(const std::vector<BlockId>& blocks) {
    const BlockId landing = f_.add_block(f_[ways_out(blocks).front()->block].pc);
    Successor& way = *ways_out(blocks).front();
    Successor on = std::exchange(way, {landing, {}});
    std::unordered_map<u32, ValueId> params; // by the value in the loop
    const auto hand = [&](ValueId& v) {
      if (!contain(blocks, f_.def_block(v))) return;
      const auto [param, is_new] = params.try_emplace(v.index);
      if (is_new) {
        param->second = f_.add_param(landing, f_.type(v));
        way.args.push_back(v);
      }
      v = param->second;
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

  void decide(BlockId b, u32 way) {
    Successor only = std::move(f_[b].successors[way]);
    f_[b].successors = {std::move(only)};
    Inst& end = f_[f_.terminator(b)];
    end.op = Op::Jump;
    end.imm = 0;
    f_.set_operands(f_.terminator(b), {});
  }
};

void tidy_up(Function& f) {
  eliminate_dead_code(f);
  merge_blocks(f);
  fold(f);
  eliminate_dead_code(f);
}

} // namespace

void unroll_loops(Function& f) {
  if (LoopUnroller(f, false).run()) tidy_up(f);
}

bool unroll_array_loops(Function& f) {
  bool any = false;
  for (unsigned n = 0; n < kMaxNesting && LoopUnroller(f, true).run(); ++n) {
    any = true;
    tidy_up(f);
  }
  return any;
}

} // namespace lanewise::passes
