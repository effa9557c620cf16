#include "translator/phases/scalar_copy.hpp"
#include "translator/ir/evaluate.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <ranges>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxStates = 4; ///< for a block, on average
constexpr unsigned kMaxDepth = 8;     ///< of what is looked through
constexpr unsigned kMaxTests = 3;     ///< of what a condition is made of
constexpr u32 kTestCost = 9;          ///< now and then it is foreseen wrongly,
constexpr u32 kAskedAnyway = 2;       ///< which it would be at the end, too
constexpr u32 kSelectCost = 2, kFlagCost = 3;

bool is_condition(Type t) { return bit_width(t) == 1; }

Type vector_type(Type t) { return is_condition(t) ? Type::Mask : is_wide(t) ? Type::V64 : Type::V32; }

/// There are instructions that do it with general-purpose registers.
bool has_scalar_form(Op op) {
  return info(op).is(kHasUniformForm) || op == Op::FunnelShr || op == Op::BitSelect || op == Op::Select;
}

} // namespace

ScalarCopy::ScalarCopy(Function& f, LoadLoop& loop, std::vector<BlockId>& blocks, ValueId mask)
    : f_(f), loop_(loop), blocks_(blocks), mask_(mask) {}

bool ScalarCopy::is_allowed(InstId i) const {
  const Inst& inst = f_[i];
  if (!std::ranges::all_of(f_.operands(i), [&](ValueId v) { return is_same_for_all(v); })) return false;
  if (inst.op == Op::Load || inst.op == Op::Store)
    return is_private_access(inst) || (inst.op == Op::Load && inst.mem.space == Space::Global);
  if (inst.op == Op::Const || inst.op == Op::Jump || inst.op == Op::Branch) return true;
  return info(inst.op).is(kPure) && inst.num_operands != 0;
}

/// No mask with a bit of its own for each lane.
bool ScalarCopy::is_same_for_all(ValueId v) const {
  u64 lanes = 0;
  return f_.type(v) != Type::Mask || !f_.is_const(v, &lanes) || lanes == 0 || ~lanes == 0;
}

void ScalarCopy::find_live() {
  live_.assign(f_.num_blocks(), {});
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b) {
      std::vector<ValueId>& live = live_[b->index];
      const std::size_t before = live.size();
      const auto use = [&](ValueId v) {
        if (is_inside(v) && f_.def_block(v) != *b && std::ranges::find(live, v) == live.end())
          live.push_back(v);
      };
      for (const InstId i : f_[*b].insts) std::ranges::for_each(f_.operands(i), use);
      if (const auto test = tests_.find(b->index); test != tests_.end()) use(test->second);
      for (const Successor& s : f_[*b].successors) {
        std::ranges::for_each(s.args, use);
        if (!loop_.contains(s.block)) std::ranges::for_each(loop_.escaping, use);
        if (loop_.contains(s.block) && s.block != loop_.header())
          std::ranges::for_each(live_[s.block.index], use);
      }
      changed |= live.size() != before;
    }
  }
}

bool ScalarCopy::plan(const std::vector<u8>& element_questions) {
  element_questions_ = &element_questions;
  for (const BlockId b : blocks_) {
    if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return is_allowed(i); })) return false;
    for (const Successor& s : f_[b].successors)
      if (!std::ranges::all_of(s.args, [&](ValueId v) { return is_same_for_all(v); })) return false;
  }
  find_live();
  find_comparisons();
  if (!find_states()) return false;
  if (split()) find_live();
  guard_ = most_used_guard();
  if (find_states()) return true;
  leaves_out_tests_ = true;
  if (find_states()) return true;
  guard_ = {};
  return find_states();
}

/// What is the same in all rounds, and asked in several places, is best known before the first.
ValueId ScalarCopy::most_used_guard() const {
  std::map<u32, u32> uses;
  for (const BlockId b : blocks_)
    for (const InstId i : f_[b].insts)
      for (const ValueId v : f_.operands(i))
        if (is_condition(f_.type(v)) && !is_inside(v) && !f_.is_const(v)) ++uses[v.index];
  const auto most = std::ranges::max_element(uses, {}, [](const auto& use) { return use.second; });
  return most == uses.end() || most->second < 2 ? ValueId{} : ValueId{most->first};
}

bool ScalarCopy::find_states() { return find_states(kMaxTests) || find_states(1); }

/// What vectors choose without a branch, since all lanes come there, a lane alone may be better off to branch
/// on: it then goes one way, and does not wait for what chooses. Blocks are in pieces where that may be so.
bool ScalarCopy::split() {
  bool any = false;
  const std::vector<BlockId> whole = blocks_;
  for (const BlockId b : whole) any |= split(b);
  return any;
}

bool ScalarCopy::split(BlockId b) {
  const std::vector<InstId> insts = f_[b].insts;
  struct Test {
    ValueId condition;
    std::size_t behind = 0; ///< so many instructions
    i32 saved = 0;
  };
  std::vector<Test> tests;
  const auto look_at = [&](ValueId v, std::size_t n) {
    const i32 saved = saved_by_test(v, std::span(insts).subspan(n), {{mask_.index, true}});
    if (saved > 0) tests.push_back({v, n, saved});
  };
  for (const ValueId v : live_[b.index])
    if (is_condition(f_.type(v)) && v != mask_) look_at(v, 0);
  for (const ValueId v : f_[b].params)
    if (is_condition(f_.type(v)) && v != mask_) look_at(v, 0);
  for (std::size_t n = 0; n < insts.size(); ++n)
    if (f_[insts[n]].op == Op::ICmp || f_[insts[n]].op == Op::FCmp)
      if (const ValueId v = f_.result(insts[n]); !is_for_element(v)) look_at(v, n + 1);
  if (tests.empty()) return false;
  std::ranges::stable_sort(tests, [](const Test& x, const Test& y) {
    return x.behind != y.behind ? x.behind < y.behind : x.saved > y.saved;
  });
  const Block all = f_[b];
  BlockId piece = b;
  std::size_t from = 0;
  for (std::size_t t = 0; t <= tests.size(); ++t) {
    const std::size_t to = t < tests.size() ? tests[t].behind : insts.size();
    f_[piece].insts.assign(insts.begin() + static_cast<std::ptrdiff_t>(from),
                           insts.begin() + static_cast<std::ptrdiff_t>(to));
    for (const InstId i : f_[piece].insts) f_[i].block = piece;
    from = to;
    if (t == tests.size()) {
      f_[piece].successors = all.successors;
      break;
    }
    const BlockId next = f_.add_block(all.pc);
    f_[next].take_lanes_of(all);
    f_[piece].successors.clear();
    Builder(f_, piece).jump(next);
    tests_[piece.index] = tests[t].condition;
    whole_[next.index] = b;
    blocks_.push_back(next);
    loop_.inside.resize(f_.num_blocks(), false);
    loop_.inside[next.index] = true;
    piece = next;
  }
  return true;
}

/// Of its block.
std::vector<InstId> ScalarCopy::behind(BlockId piece) const {
  std::vector<InstId> rest;
  while (tests_.contains(piece.index)) {
    piece = f_[piece].successors[0].block;
    rest.insert(rest.end(), f_[piece].insts.begin(), f_[piece].insts.end());
  }
  return rest;
}

/// How much less what is left of a block takes where a condition is known, than what it takes to ask that.
/// What its end asks costs nothing more.
i32 ScalarCopy::saved_by_test(ValueId v, std::span<const InstId> rest, const Facts& facts) const {
  if (evaluate(v, facts)) return 0;
  u32 known = 0;
  for (const bool value : {true, false}) {
    Facts then = facts;
    assume(v, value, then);
    then[v.index] = value;
    known += cost(rest, then);
  }
  const bool is_asked = f_[rest.back()].op == Op::Branch && hangs_on(f_.operands(rest.back())[0], v);
  return static_cast<i32>(2 * cost(rest, facts)) - static_cast<i32>(known) -
         static_cast<i32>(2 * (is_asked ? kAskedAnyway : kTestCost));
}

bool ScalarCopy::hangs_on(ValueId condition, ValueId v, unsigned depth) const {
  if (condition == v) return true;
  const InstId i = f_.def_id(condition);
  if (!i.valid() || !is_inside(condition) || depth > kMaxDepth) return false;
  const Op op = f_[i].op;
  const bool is_logic = op == Op::Splat || op == Op::AnyLane || op == Op::Not || op == Op::And ||
                        op == Op::AndNot || op == Op::Or;
  return is_logic &&
         std::ranges::any_of(f_.operands(i), [&](ValueId x) { return hangs_on(x, v, depth + 1); });
}

/// Of these, up to a block's end, as far as it is wanted.
u32 ScalarCopy::cost(std::span<const InstId> rest, const Facts& facts) const {
  std::vector<u8> wanted(f_.num_values(), 0);
  constexpr u8 kAsked = 1, kKnown = 2, kTrue = 4;
  std::vector<u8> answers(f_.num_values(), 0); // EXEC is asked for over and over
  const auto known_to_be = [&](ValueId v) {
    u8& answer = answers[v.index];
    if (answer == 0) {
      const auto known = evaluate(v, facts);
      answer = !known ? kAsked : *known ? kAsked | kKnown | kTrue : kAsked | kKnown;
    }
    return (answer & kKnown) != 0 ? std::optional((answer & kTrue) != 0) : std::nullopt;
  };
  const auto want = [&](ValueId v) {
    if (!is_condition(f_.type(v)) || !known_to_be(v)) wanted[v.index] = 1;
  };
  const BlockId last = f_[rest.back()].block;
  for (const Successor& s : f_[last].successors) {
    std::ranges::for_each(s.args, want);
    if (loop_.contains(s.block))
      std::ranges::for_each(live_[s.block.index], want);
    else
      std::ranges::for_each(loop_.escaping, want);
  }
  u32 sum = 0;
  for (const InstId i : rest | std::views::reverse) {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    bool is_wanted = inst.num_results == 0;
    for (unsigned r = 0; r < inst.num_results; ++r) is_wanted |= wanted[f_.result(i, r).index] != 0;
    if (!is_wanted) continue;
    if (inst.op == Op::Select)
      if (const auto known = known_to_be(x[0])) {
        want(x[*known ? 1 : 2]);
        continue;
      }
    std::ranges::for_each(x, want);
    const bool is_free = inst.num_results == 0 || inst.op == Op::Const || inst.op == Op::Splat ||
                         inst.op == Op::AnyLane || inst.op == Op::Lo || inst.op == Op::Hi ||
                         inst.op == Op::Join;
    if (is_free) continue;
    const bool is_flag = is_condition(f_.type(f_.result(i))) && inst.op != Op::ICmp && inst.op != Op::FCmp;
    sum += inst.op == Op::Select ? kSelectCost : is_flag ? kFlagCost : 1;
  }
  return sum;
}

/// If they are not too many.
bool ScalarCopy::find_states(unsigned max_tests) {
  max_tests_ = max_tests;
  states_.clear();
  known_.clear();
  if (guard_.valid()) {
    for (const bool passes : {true, false})
      state(loop_.header(), {{mask_.index, true}, {guard_.index, passes}});
  } else {
    state(loop_.header(), {{mask_.index, true}});
  }
  for (u32 n = 0; n < states_.size(); ++n) {
    if (states_.size() > kMaxStates * blocks_.size()) return false;
    follow(n);
  }
  return true;
}

u32 ScalarCopy::state(BlockId b, Facts facts) {
  const auto [it, is_new] = known_.try_emplace({b.index, facts}, static_cast<u32>(states_.size()));
  if (is_new) states_.push_back({b, std::move(facts), {}, {}, {}});
  return it->second;
}

void ScalarCopy::follow(u32 n) {
  Facts facts = states_[n].facts;
  const BlockId b = states_[n].block;
  for (const InstId i : f_[b].insts)
    for (unsigned r = 0; r < f_[i].num_results; ++r)
      if (const ValueId v = f_.result(i, r); is_condition(f_.type(v)))
        if (const auto known = evaluate(v, facts)) facts[v.index] = *known;
  std::vector<End> ends;
  find_ends(b, facts, max_tests_, ends);
  states_[n].ends = std::move(ends);
}

/// Of what a condition is made of, one after the other is tested, until it is decided: a comparison and a
/// jump take less than bits that are put together, and more is known where they lead to.
void ScalarCopy::find_ends(BlockId b, const Facts& facts, unsigned tests, std::vector<End>& ends) {
  End end{.facts = facts, .condition = {}};
  if (f_[b].successors.size() == 2) {
    const ValueId condition = f_.operands(f_.terminator(b))[0];
    if (const auto known = evaluate(condition, facts))
      end.way = *known ? 0 : 1;
    else
      end.condition = tests > 1 ? undecided(condition, b, facts) : condition;
  } else if (const auto test = tests_.find(b.index); test != tests_.end() && !leaves_out_tests_) {
    if (saved_by_test(test->second, behind(b), facts) > 0) end.condition = test->second;
  }
  for (const bool value : {true, false}) {
    if (!end.condition.valid()) break;
    Facts then = facts;
    assume(end.condition, value, then);
    then[end.condition.index] = value; // from outside of the loop, too
    find_ends(b, then, tests - 1, ends);
    (value ? end.then : end.otherwise) = static_cast<u32>(ends.size() - 1);
  }
  if (!end.condition.valid()) find_state_behind(b, end);
  ends.push_back(std::move(end));
}

/// What a condition that is not known hangs on first, of what there is in `b`.
ValueId ScalarCopy::undecided(ValueId v, BlockId b, const Facts& facts, unsigned depth) const {
  const InstId i = f_.def_id(v);
  if (!i.valid() || !is_inside(v) || depth > kMaxDepth) return v;
  const auto x = f_.operands(i);
  const auto made_of = [&](unsigned n) {
    return is_at_hand(x[n], b) ? undecided(x[n], b, facts, depth + 1) : v;
  };
  switch (f_[i].op) {
  case Op::Splat:
  case Op::AnyLane:
  case Op::Not: return made_of(0);
  case Op::And:
  case Op::AndNot:
  case Op::Or: return made_of(evaluate(x[0], facts) ? 1 : 0);
  default: return v;
  }
}

bool ScalarCopy::is_at_hand(ValueId v, BlockId b) const {
  return !is_inside(v) || f_.def_block(v) == b ||
         std::ranges::find(live_[b.index], v) != live_[b.index].end();
}

void ScalarCopy::find_state_behind(BlockId from, End& end) {
  const Successor& s = f_[from].successors[end.way];
  if (!loop_.contains(s.block)) return;
  Facts there;
  if (guard_.valid()) there[guard_.index] = end.facts.at(guard_.index);
  const auto note = [&](ValueId now, ValueId then) {
    if (!is_condition(f_.type(then))) return;
    if (const auto known = evaluate(now, end.facts)) there[then.index] = *known;
  };
  const auto& params = f_[s.block].params;
  for (std::size_t n = 0; n < params.size(); ++n)
    if (s.block != loop_.header() || params[n] == mask_) note(s.args[n], params[n]);
  if (s.block != loop_.header())
    for (const ValueId v : live_[s.block.index]) note(v, v);
  end.to = state(s.block, std::move(there));
}

std::optional<bool> ScalarCopy::evaluate(ValueId v, const Facts& facts, unsigned depth) const {
  u64 bits = 0;
  if (f_.is_const(v, &bits)) return (bits & 1) != 0;
  if (const auto it = facts.find(v.index); it != facts.end()) return it->second;
  const InstId i = f_.def_id(v);
  if (!i.valid() || !is_inside(v) || depth > kMaxDepth) return std::nullopt;
  const auto x = [&](unsigned n) { return evaluate(f_.operands(i)[n], facts, depth + 1); };
  switch (f_[i].op) {
  case Op::Splat:
  case Op::AnyLane: return x(0);
  case Op::Not:
    if (const auto a = x(0)) return !*a;
    return std::nullopt;
  case Op::And:
  case Op::AndNot: {
    const bool inverted = f_[i].op == Op::AndNot;
    const auto a = x(0), b = x(1);
    if ((a && !*a) || (b && *b == inverted)) return false;
    return a && b ? std::optional(true) : std::nullopt;
  }
  case Op::Or: {
    const auto a = x(0), b = x(1);
    if ((a && *a) || (b && *b)) return true;
    return a && b ? std::optional(false) : std::nullopt;
  }
  case Op::Xor: {
    const auto a = x(0), b = x(1);
    return a && b ? std::optional(*a != *b) : std::nullopt;
  }
  case Op::Select: {
    const auto c = x(0);
    return c ? x(*c ? 1 : 2) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

/// And what follows for what it is made of.
void ScalarCopy::assume(ValueId v, bool value, Facts& facts, unsigned depth) const {
  if (!is_inside(v) || depth > kMaxDepth || evaluate(v, facts)) return;
  facts[v.index] = value;
  const InstId i = f_.def_id(v);
  if (!i.valid()) return;
  const auto x = f_.operands(i);
  switch (f_[i].op) {
  case Op::Splat:
  case Op::AnyLane: return assume(x[0], value, facts, depth + 1);
  case Op::Not: return assume(x[0], !value, facts, depth + 1);
  case Op::And:
  case Op::AndNot:
  case Op::Or: {
    const bool all = (f_[i].op == Op::Or) != value; // A sum that is not, a product that is.
    for (const unsigned n : {0u, 1u}) {
      const bool inverted = f_[i].op == Op::AndNot && n == 1;
      const bool other_inverted = f_[i].op == Op::AndNot && n == 0;
      const auto other = evaluate(x[1 - n], facts);
      // Where the other one does not decide, this one does.
      if (all || (other && (*other != other_inverted) == (f_[i].op != Op::Or)))
        assume(x[n], value != inverted, facts, depth + 1);
    }
    return;
  }
  case Op::ICmp: return assume_comparisons(v, value, facts);
  default: return;
  }
}

/// Where one comparison with a constant says which way a number goes, it may say the same of others: trees of
/// tests that compilers make of a switch ask twice. What is not tested chooses elements of arrays, which are
/// to be found as they are (phases/scalar_arrays.cpp).
void ScalarCopy::find_comparisons() {
  std::vector<ValueId> tested;
  std::vector<bool> seen(f_.num_values(), false);
  const auto add = [&](ValueId v) {
    if (is_condition(f_.type(v)) && is_inside(v) && !seen[v.index]) tested.push_back(v);
    seen[v.index] = true;
  };
  for (const BlockId b : blocks_)
    if (f_[b].successors.size() == 2) add(f_.operands(f_.terminator(b))[0]);
  while (!tested.empty()) {
    const ValueId v = tested.back();
    tested.pop_back();
    if (const InstId i = f_.def_id(v); i.valid()) {
      if (const ValueId number = compared_with_constant(i); number.valid())
        comparisons_[number.index].push_back(i);
      std::ranges::for_each(f_.operands(i), add);
      continue;
    }
    for (const BlockId from : blocks_)
      for (const Successor& s : f_[from].successors)
        if (s.block == f_.def_block(v)) add(s.args[f_[v].index]);
  }
}

ValueId ScalarCopy::compared_with_constant(InstId i) const {
  if (f_[i].op != Op::ICmp) return {};
  const auto x = f_.operands(i);
  if (f_.is_const(x[0]) == f_.is_const(x[1])) return {};
  return f_.is_const(x[0]) ? x[1] : x[0];
}

void ScalarCopy::assume_comparisons(ValueId v, bool value, Facts& facts) const {
  const InstId known = f_.def_id(v);
  const auto all = comparisons_.find(compared_with_constant(known).index);
  if (all == comparisons_.end()) return;
  for (const InstId other : all->second) {
    if (other == known) continue;
    std::array<bool, 2> may_be{};
    for (const u64 number : representatives(known, other))
      if (outcome(known, number) == value) may_be[outcome(other, number) ? 1 : 0] = true;
    if (may_be[0] != may_be[1]) facts[f_.result(other).index] = may_be[1];
  }
}

/// Of what one or both of two comparisons tell from others, a number each.
std::array<u64, 6> ScalarCopy::representatives(InstId a, InstId b) const {
  const Type t = f_.type(compared_with_constant(a));
  std::array<u64, 6> numbers{0, u64{1} << (bit_width(t) - 1)};
  std::size_t n = 2;
  for (const InstId i : {a, b})
    for (const ValueId x : f_.operands(i))
      if (u64 constant = 0; f_.is_const(x, &constant)) {
        numbers[n++] = constant;
        numbers[n++] = (constant + 1) & constant_bits(t);
      }
  return numbers;
}

bool ScalarCopy::outcome(InstId comparison, u64 number) const {
  std::array<u64, 2> x{number, number};
  const Type t = f_.type(f_.operands(comparison)[0]);
  for (const unsigned n : {0u, 1u}) static_cast<void>(f_.is_const(f_.operands(comparison)[n], &x[n]));
  return *ir::evaluate(Op::ICmp, Type::U1, t, f_[comparison].imm, x) != 0;
}

void ScalarCopy::make(OneLane& one, ValueId lane, const std::vector<ValueId>& start, BlockId exit,
                      const std::vector<u32>& wanted) {
  one_ = &one;
  lane_ = lane;
  for (State& s : states_) add_params(s);
  for (u32 n = 0; n < states_.size(); ++n) copy_block(n, exit, wanted);
  const auto args = [&](const State& s) {
    std::vector<ValueId> values;
    for (const ValueId p : s.params) values.push_back(one.scalar(start[f_[p].index]));
    return values;
  };
  if (guard_.valid()) {
    const std::vector<ValueId> inside = args(states_[0]), outside = args(states_[1]);
    const ValueId passes = one.turn.op(Op::Splat, Type::Mask, {one.scalar(guard_)});
    one.turn.branch(one.turn.any(passes), states_[0].copy, states_[1].copy, inside, outside);
    f_[f_.terminator(one.turn.block())].imm = gang_decided(exit);
  } else {
    one.turn.jump(states_[0].copy, args(states_[0]));
  }
  drop_params();
}

std::vector<BlockId> ScalarCopy::copies() const {
  std::vector<BlockId> blocks;
  for (const State& s : states_) blocks.push_back(s.copy);
  for (const auto& [b, state] : further_tests_) blocks.push_back(b);
  return blocks;
}

void ScalarCopy::add_params(State& s) {
  s.copy = f_.add_block(f_[s.block].pc);
  const auto add = [&](ValueId v) {
    if (s.facts.contains(v.index)) return;
    s.params.push_back(v);
    f_.add_param(s.copy, scalar_of(f_.type(v)));
  };
  std::ranges::for_each(std::vector(f_[s.block].params), add);
  std::ranges::for_each(live_[s.block.index], add);
}

/// As a scalar: from outside, before the lane's turn begins.
ValueId ScalarCopy::scalar(ValueId v) {
  u64 bits = 0;
  const Type t = scalar_of(f_.type(v));
  if (f_.is_const(v, &bits)) return f_.entry_constant(t, bits & constant_bits(t));
  if (!is_inside(v) && v != guard_) { // which is known in each state, as what is inside is
    ValueId& known = outside_[v.index].scalar;
    if (!known.valid()) known = one_->scalar(v);
    return known;
  }
  Form& form = inside_.at(v.index);
  if (!form.scalar.valid() && t == Type::G1) {
    const ValueId bits_of_gang = at_->op(Op::GangBits, Type::G32, {form.vector});
    const ValueId bit = at_->and_(bits_of_gang, f_.entry_constant(Type::G32, 1));
    form.scalar = at_->op(Op::ICmp, t, {bit, f_.entry_constant(Type::G32, 0)}, static_cast<u64>(IntPred::Ne));
  } else if (!form.scalar.valid()) {
    form.scalar = at_->op(Op::GangFirst, t, {form.vector});
  }
  return form.scalar;
}

/// In all lanes.
ValueId ScalarCopy::vector(ValueId v) {
  u64 bits = 0;
  const Type t = vector_type(f_.type(v));
  if (f_.is_const(v, &bits))
    return f_.entry_constant(t, t == Type::Mask ? 0 - (bits & 1) : bits & constant_bits(t));
  if (!is_inside(v) && v != guard_) {
    const ValueId from = scalar(v);
    ValueId& known = outside_[v.index].vector;
    if (!known.valid()) known = one_->turn.op(Op::Splat, t, {from});
    return known;
  }
  Form& form = inside_.at(v.index);
  if (!form.vector.valid()) form.vector = at_->op(Op::Splat, t, {form.scalar});
  return form.vector;
}

void ScalarCopy::copy_block(u32 n, BlockId exit, const std::vector<u32>& wanted) {
  const State& s = states_[n];
  inside_.clear();
  at_.emplace(f_, s.copy);
  for (const auto& [v, known] : s.facts) inside_[v].scalar = f_.entry_constant(Type::G1, known ? 1 : 0);
  for (std::size_t p = 0; p < s.params.size(); ++p) inside_[s.params[p].index].scalar = f_[s.copy].params[p];
  Facts facts = s.facts;
  const std::vector<InstId> insts = f_[s.block].insts;
  for (const InstId i : insts) {
    at_->pc = f_[i].pc;
    if (i == insts.back()) break;
    copy(i, facts);
    for (unsigned r = 0; r < f_[i].num_results; ++r)
      if (const ValueId v = f_.result(i, r); is_condition(f_.type(v)))
        if (const auto known = evaluate(v, facts)) {
          facts[v.index] = *known;
          inside_[v.index].scalar = f_.entry_constant(Type::G1, *known ? 1 : 0);
        }
  }
  end_block(n, static_cast<u32>(s.ends.size() - 1), exit, wanted);
}

void ScalarCopy::end_block(u32 n, u32 end, BlockId exit, const std::vector<u32>& wanted) {
  const State& s = states_[n];
  const End& e = s.ends[end];
  if (!e.condition.valid()) {
    const Successor way = way_out(s, e, exit, wanted);
    return at_->jump(way.block, way.args);
  }
  const u32 pc = at_->pc;
  const ValueId any = at_->any(at_->op(Op::Splat, Type::Mask, {scalar(e.condition)}));
  std::vector<Successor> ways;
  std::vector<std::pair<BlockId, u32>> further;
  for (const u32 next : {e.then, e.otherwise}) {
    if (!s.ends[next].condition.valid()) {
      ways.push_back(way_out(s, s.ends[next], exit, wanted));
      continue;
    }
    ways.push_back({f_.add_block(f_[s.block].pc), {}});
    further.emplace_back(ways.back().block, next);
    further_tests_.emplace_back(ways.back().block, n);
  }
  at_->branch(any, ways[0].block, ways[1].block, ways[0].args, ways[1].args);
  f_[f_.terminator(at_->block())].imm = gang_decided(exit);
  const auto forms = inside_;
  for (const auto& [block, next] : further) {
    at_.emplace(f_, block);
    at_->pc = pc;
    inside_ = forms; // What is made behind one way is not there behind the other.
    end_block(n, next, exit, wanted);
  }
}

/// As the loop's exit, or another copy, gets it.
Successor ScalarCopy::way_out(const State& s, const End& end, BlockId exit, const std::vector<u32>& wanted) {
  const Successor& from = f_[s.block].successors[end.way];
  const auto value = [&](ValueId v) {
    const auto known = is_condition(f_.type(v)) ? evaluate(v, end.facts) : std::nullopt;
    return known ? f_.entry_constant(Type::G1, *known ? 1 : 0) : scalar(chosen(v, s.block, end.facts));
  };
  std::vector<ValueId> values;
  if (!loop_.contains(from.block)) {
    for (const u32 n : wanted) values.push_back(from.args[n]);
  } else {
    for (const ValueId v : states_[end.to].params) {
      const bool is_param = !f_.def_id(v).valid() && f_.def_block(v) == from.block;
      values.push_back(is_param ? from.args[f_[v].index] : v);
    }
  }
  Successor way{loop_.contains(from.block) ? states_[end.to].copy : exit, {}};
  for (const ValueId v : values) way.args.push_back(value(v));
  return way;
}

/// Of a value that hangs on conditions that are known, the one that it is.
ValueId ScalarCopy::chosen(ValueId v, BlockId b, const Facts& facts) const {
  for (;;) {
    const InstId i = f_.def_id(v);
    if (!i.valid() || !is_inside(v) || f_[i].op != Op::Select) return v;
    const auto known = evaluate(f_.operands(i)[0], facts);
    if (!known || !is_at_hand(f_.operands(i)[*known ? 1 : 2], b)) return v;
    v = f_.operands(i)[*known ? 1 : 2];
  }
}

void ScalarCopy::copy(InstId i, const Facts& facts) {
  const Inst inst = f_[i];
  const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
  if (info(inst.op).is(kMemory)) return copy_access(i);
  const ValueId result = f_.result(i);
  const Type t = scalar_of(f_.type(result));
  if (inst.op == Op::Const) return;
  if (inst.op == Op::Splat || inst.op == Op::AnyLane || (inst.op == Op::Select && evaluate(x[0], facts))) {
    const ValueId same = inst.op == Op::Select ? x[*evaluate(x[0], facts) ? 1 : 2] : x[0];
    inside_[result.index] = {scalar(same), {}};
    return;
  }
  std::vector<ValueId> operands;
  if (has_scalar_form(inst.op) && !changes_sign(i)) {
    for (const ValueId v : x) operands.push_back(scalar(v));
    if (t == Type::G1 && x.size() == 2 && inst.op != Op::ICmp)
      for (const unsigned n : {0u, 1u}) { // of conditions that are known
        const auto known = evaluate(x[n], facts);
        if (!known || evaluate(result, facts)) continue;
        if (inst.op == Op::AndNot && n == 0) {
          inside_[result.index].scalar = at_->not_(operands[1]);
          return;
        }
        if (inst.op == Op::Xor && *known) continue;
        inside_[result.index].scalar = operands[1 - n];
        return;
      }
    const InstId copied = f_.append(at_->block(), inst, operands, {&t, 1});
    inside_[result.index].scalar = f_.result(copied);
    return;
  }
  for (const ValueId v : x)
    operands.push_back(is_condition(f_.type(v)) && f_.type(v) != Type::Mask ? scalar(v) : vector(v));
  std::vector<Type> types;
  for (unsigned r = 0; r < inst.num_results; ++r) types.push_back(vector_type(f_.type(f_.result(i, r))));
  if (inst.op == Op::FCmp) types[0] = t;
  const InstId copied = f_.append(at_->block(), inst, operands, types);
  if (inst.op == Op::FCmp) {
    inside_[result.index].scalar = f_.result(copied);
    return;
  }
  for (unsigned r = 0; r < inst.num_results; ++r) inside_[f_.result(i, r).index] = {{}, f_.result(copied, r)};
}

/// Of a float that has just been computed, which is a vector.
bool ScalarCopy::changes_sign(InstId i) const {
  const Op op = f_[i].op;
  if (op != Op::And && op != Op::Or && op != Op::Xor) return false;
  const auto is_float = [&](ValueId v) {
    const auto form = inside_.find(v.index);
    return form != inside_.end() && !form->second.scalar.valid() && info(f_[f_.def_id(v)].op).is(kFloat);
  };
  const auto is_sign = [&](ValueId v) {
    constexpr u64 kSign = 0x8000'0000;
    u64 bits = 0;
    return f_.type(v) == Type::V32 && f_.is_const(v, &bits) && (bits == kSign || bits == kSign - 1);
  };
  const auto x = f_.operands(i);
  return (is_float(x[0]) && is_sign(x[1])) || (is_float(x[1]) && is_sign(x[0]));
}

/// Of that lane, dword by dword; it does without if its mask is known to be empty.
void ScalarCopy::copy_access(InstId i) {
  const Inst inst = f_[i];
  const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
  const bool is_private = inst.mem.space == Space::Scratch;
  // In private memory, whether it is inside is seen later (passes/shape_addresses.cpp).
  const ValueId address = is_private ? vector(x[0]) : scalar(x[0]);
  u64 bits = 0;
  ValueId mask = lane_;
  const ValueId condition = scalar(x.back());
  if (!f_.is_const(condition, &bits) || bits == 0)
    mask = at_->and_(lane_, at_->op(Op::Splat, Type::Mask, {condition}));
  Inst access = inst;
  if (!is_private) access.mem.form = AddressForm::Row;
  access.mem.spread = true;
  access.mem.bytes = std::min<u8>(inst.mem.bytes, 4);
  const Type t = Type::V32; // A scalar if it is wanted as one (passes/load_scalars.cpp).
  std::vector<ValueId> dwords;
  for (unsigned d = 0; d < std::max(1u, inst.mem.bytes / 4u); ++d) {
    access.imm = inst.imm + 4 * d;
    if (inst.op == Op::Store)
      f_.append(at_->block(), access, std::array{address, vector(x[1 + d]), mask}, {});
    else
      dwords.push_back(f_.result(f_.append(at_->block(), access, std::array{address, mask}, {&t, 1})));
  }
  for (unsigned r = 0; r < inst.num_results; ++r) {
    const ValueId v = f_.result(i, r);
    if (!is_wide(f_.type(v))) {
      inside_[v.index].vector = dwords[r];
      continue;
    }
    const ValueId low = at_->op(Op::GangFirst, Type::G32, {dwords[2 * r]});
    inside_[v.index].scalar = at_->join(low, at_->op(Op::GangFirst, Type::G32, {dwords[2 * r + 1]}));
  }
}

/// Those that all ways in agree on are that.
void ScalarCopy::drop_params() {
  for (bool changed = true; changed;) {
    changed = false;
    std::unordered_map<u32, std::vector<const std::vector<ValueId>*>> in;
    for (const BlockId b : copies())
      for (const Successor& way : f_[b].successors) in[way.block.index].push_back(&way.args);
    for (const Successor& way : f_[one_->turn.block()].successors) in[way.block.index].push_back(&way.args);
    std::vector<ValueId> map(f_.num_values());
    std::vector<u8> stays(f_.num_values(), 1);
    for (const State& s : states_) {
      const auto& params = f_[s.copy].params;
      for (std::size_t n = 0; n < params.size(); ++n) {
        ValueId same;
        bool agree = true;
        for (const auto* args : in[s.copy.index]) {
          const ValueId arg = (*args)[n];
          if (arg == params[n] || arg == same) continue;
          agree &= !same.valid();
          same = arg;
        }
        if (!agree || !same.valid()) continue;
        map[params[n].index] = same;
        stays[params[n].index] = 0;
        changed = true;
      }
    }
    if (!changed) return;
    const auto drop = [&](Successor& way) {
      const auto& params = f_[way.block].params;
      std::vector<ValueId> args;
      for (std::size_t n = 0; n < params.size(); ++n)
        if (stays[params[n].index] != 0) args.push_back(way.args[n]);
      way.args = args;
    };
    for (const BlockId b : copies()) std::ranges::for_each(f_[b].successors, drop);
    std::ranges::for_each(f_[one_->turn.block()].successors, drop);
    for (const State& s : states_) f_.keep_params(s.copy, stays);
    f_.replace_values(map);
  }
}

} // namespace lanewise::phases
