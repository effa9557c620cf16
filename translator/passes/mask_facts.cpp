#include "translator/passes/mask_facts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxNodes = 64; ///< of a mask that is explained
constexpr unsigned kMaxWaysIn = 4;

/// What two variables may be: bit 0 says 0, bit 1 says 1.
struct Pair {
  u8 x = 0, y = 0;
};

/// Clauses of a variable with itself.
constexpr u8 kIsZero = 1 << 0, kIsOne = 1 << 3;

/// By the clauses of two variables, as Partner::signs, and what each may be: what is left of that.
constexpr auto kNarrowed = [] {
  std::array<std::array<std::array<Pair, 4>, 4>, 16> all{};
  for (unsigned clauses = 0; clauses < 16; ++clauses)
    for (unsigned x = 0; x < 4; ++x)
      for (unsigned y = 0; y < 4; ++y)
        for (unsigned is = 0; is < 4; ++is) // bit 0 is x, bit 1 is y; of the clauses, one contradicts it
          if ((clauses >> (3 - is) & 1) == 0 && (x >> (is & 1) & 1) != 0 && (y >> (is >> 1) & 1) != 0) {
            all[clauses][x][y].x |= static_cast<u8>(1 << (is & 1));
            all[clauses][x][y].y |= static_cast<u8>(1 << (is >> 1));
          }
  return all;
}();

} // namespace

MaskFacts::MaskFacts(const Function& f, const Cfg& cfg, const Dominators& dom)
    : f_(f), cfg_(cfg), dom_(dom), node_of_(f.num_values(), Bdd::kTrue) {
  number_variables();
  find_ways_in();
  clauses_.resize(variables_.size());
  num_partners_.resize(variables_.size());
  partner_set_.resize(variables_.size());
  asked_by_.resize(variables_.size());
  among_.resize(variables_.size(), 0);
  can_be_.resize(variables_.size());
  find_invariants();
}

void MaskFacts::find_ways_in() {
  nearest_way_.assign(f_.num_blocks(), kNoWay);
  for (const BlockId b : cfg_.rpo) { // what dominates a block comes before it
    u32& nearest = nearest_way_[b.index];
    if (dom_.idom[b.index].valid()) nearest = nearest_way_[dom_.idom[b.index].index];
    const auto& preds = cfg_.preds[b.index];
    if (preds.empty()) continue;
    const Node condition = preds.size() == 1
                               ? edge_condition(preds[0], f_[preds[0]].successors[0].block == b ? 0 : 1)
                               : left_from_before(b);
    if (condition == Bdd::kTrue || !bdd_.support(condition, vars_, kMaxVariables)) continue;
    ways_in_.push_back({condition, vars_, var_set(vars_), nearest});
    nearest = static_cast<u32>(ways_in_.size()) - 1;
  }
}

/// What a loop's header says of masks that only lose lanes in the loop: their lanes are some of those with
/// which it began.
MaskFacts::Node MaskFacts::left_from_before(BlockId header) const {
  Node all = Bdd::kTrue;
  const auto& params = f_[header].params;
  for (std::size_t n = 0; n < params.size(); ++n) {
    if (f_.type(params[n]) != Type::Mask) continue;
    const Node now = lanes(params[n]);
    Node first = Bdd::kDropped;
    bool only_loses = true;
    for (const BlockId p : cfg_.preds[header.index])
      for (const Successor& s : f_[p].successors) {
        if (s.block != header) continue;
        const Node arg = lanes(s.args[n]);
        if (dom_.dominates(header, p))
          only_loses &= bdd_.andnot(arg, now) == Bdd::kFalse;
        else
          only_loses &= std::exchange(first, arg) == Bdd::kDropped;
      }
    if (only_loses && first != Bdd::kDropped) all = bdd_.and_(all, bdd_.or_(Bdd::not_(now), first));
  }
  return all;
}

/// A bit per variable, which may share it: sets that have no bit in common have no variable in common.
u64 MaskFacts::var_set(const std::vector<u32>& vars) {
  u64 set = 0;
  for (const u32 v : vars) set |= u64{1} << v % 64;
  return set;
}

// --- values as functions

void MaskFacts::number_variables() {
  note_comparisons();
  for (const BlockId b : cfg_.rpo) {
    for (const ValueId p : f_[b].params) {
      if (!is_condition(f_.type(p))) continue;
      const Node n = same_on_all_ways(p, b);
      node_of_[p.index] = n != Bdd::kDropped ? n : new_variable(p);
    }
    for (const InstId i : f_[b].insts)
      for (unsigned r = 0; r < f_[i].num_results; ++r) {
        const ValueId v = f_.result(i, r);
        if (!is_condition(f_.type(v))) continue;
        const Node n = f_[i].num_results == 1 ? compute(i) : Bdd::kDropped;
        const bool explained = n != Bdd::kDropped && bdd_.is_simple(n, kMaxNodes, kMaxVariables);
        node_of_[v.index] = explained ? n : new_variable(v);
      }
  }
}

/// What parameter `p` of `b` is if it is the same function on all ways in, none of which comes from later
/// code; else kDropped.
Bdd::Node MaskFacts::same_on_all_ways(ValueId p, BlockId b) const {
  Node same = Bdd::kDropped;
  for (const BlockId from : cfg_.preds[b.index]) {
    if (cfg_.rpo_index[from.index] >= cfg_.rpo_index[b.index]) return Bdd::kDropped;
    for (const Successor& s : f_[from].successors) {
      if (s.block != b) continue;
      const Node n = node_of_[s.args[f_[p].index].index];
      if (same != Bdd::kDropped && n != same) return Bdd::kDropped;
      same = n;
    }
  }
  return same;
}

Bdd::Node MaskFacts::new_variable(ValueId a, ValueId b) {
  variables_.push_back({a, b});
  return bdd_.var(static_cast<u32>(variables_.size()) - 1);
}

/// The function of an instruction with one result, or kDropped if it is not explained.
Bdd::Node MaskFacts::compute(InstId i) {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const auto n = [&](unsigned k) { return node_of_[x[k].index]; };
  switch (inst.op) {
  case Op::Const:
    if (inst.imm == 0) return Bdd::kFalse;
    return inst.imm == (f_.type(inst.first_result) == Type::Mask ? ~u64{0} : 1) ? Bdd::kTrue : Bdd::kDropped;
  case Op::Splat: return n(0);
  case Op::And: return bdd_.and_(n(0), n(1));
  case Op::Or: return bdd_.or_(n(0), n(1));
  case Op::Xor: return bdd_.xor_(n(0), n(1));
  case Op::AndNot: return bdd_.andnot(n(0), n(1));
  case Op::Not: return bdd_.not_(n(0));
  case Op::Select: return bdd_.ite(n(0), n(1), n(2));
  case Op::ICmp: return compare(i);
  case Op::FCmp: // Else it is only asked of the gang's first lane.
    return f_.type(inst.first_result) == Type::Mask ? compare(i) : Bdd::kDropped;
  default: return Bdd::kDropped;
  }
}

MaskFacts::Comparison MaskFacts::comparison(InstId i) const {
  const Inst& inst = f_[i];
  const ValueId a = f_.operands(i)[0], b = f_.operands(i)[1];
  const bool swap = a.index > b.index;
  Comparison c{.a = swap ? b : a, .b = swap ? a : b};
  if (inst.op == Op::ICmp) {
    const auto p = static_cast<IntPred>(inst.imm);
    const IntPred q = swap ? swapped(p) : p;
    c.asks = static_cast<u8>(std::min(q, inverse(q)));
    c.is_inverse = static_cast<u8>(q) != c.asks;
    return c;
  }
  c.kind = 1 + static_cast<u64>(inst.fp.kind) * 2 + inst.fp.flush_in;
  u64 outcomes = inst.imm & 15;
  if (swap) outcomes = (outcomes & 0b1010) | (outcomes & 1) << 2 | (outcomes >> 2 & 1); // less and greater
  c.asks = static_cast<u8>(std::min(outcomes, 15 - outcomes));
  c.is_inverse = outcomes != c.asks;
  return c;
}

/// What is asked about each pair of values.
void MaskFacts::note_comparisons() {
  for (const BlockId b : cfg_.rpo)
    for (const InstId i : f_[b].insts)
      if (f_[i].op == Op::ICmp || f_[i].op == Op::FCmp) {
        const Comparison c = comparison(i);
        asked_.try_emplace(c.key()).first |= static_cast<u16>(1u << c.asks);
      }
}

u32 MaskFacts::pair_variable(const Comparison& c, unsigned count) {
  const auto [first, is_new] = compared_.try_emplace(c.key(), static_cast<u32>(variables_.size()));
  if (is_new)
    for (unsigned k = 0; k < count; ++k) variables_.push_back({c.a, c.b});
  return first;
}

/// One variable where always the same is asked about the pair.
Bdd::Node MaskFacts::compare(InstId i) {
  const Comparison c = comparison(i);
  const bool is_integer = f_[i].op == Op::ICmp;
  if (is_integer && c.a == c.b) return Bdd::kDropped;
  const bool one_question = std::has_single_bit(*asked_.find(c.key())) && (is_integer || c.asks != 0);
  const Node answer = one_question ? bdd_.var(pair_variable(c, 1))
                      : is_integer ? integer_comparison(c)
                                   : float_comparison(c);
  return c.is_inverse ? bdd_.not_(answer) : answer;
}

/// Three variables per pair: equal, and below as unsigned and as signed numbers where not equal.
Bdd::Node MaskFacts::integer_comparison(const Comparison& c) {
  const u32 first = pair_variable(c, 3);
  const Node equal = bdd_.var(first);
  const auto below = [&](u32 n) { return bdd_.andnot(bdd_.var(first + n), equal); };
  switch (static_cast<IntPred>(c.asks)) {
  case IntPred::Eq: return equal;
  case IntPred::ULt: return below(1);
  case IntPred::ULe: return bdd_.or_(below(1), equal);
  case IntPred::SLt: return below(2);
  case IntPred::SLe: return bdd_.or_(below(2), equal);
  default: return Bdd::kDropped; // the inverse of one of these
  }
}

/// Two variables per pair encode the four outcomes: 00 less, 01 equal, 10 greater, 11 unordered.
Bdd::Node MaskFacts::float_comparison(const Comparison& c) {
  const u32 first = pair_variable(c, 2);
  const Node high = bdd_.var(first), low = bdd_.var(first + 1);
  const auto bit = [&](unsigned n) { return (c.asks >> n & 1) != 0 ? Bdd::kTrue : Bdd::kFalse; };
  return bdd_.ite(high, bdd_.ite(low, bit(3), bit(2)), bdd_.ite(low, bit(1), bit(0)));
}

// --- questions

bool MaskFacts::implies(ValueId a, ValueId b) const {
  if (a == b) return true;
  const BlockId at_a = f_.def_block(a), at_b = f_.def_block(b);
  if (!cfg_.reachable(at_a) || !cfg_.reachable(at_b)) return false;
  return is_empty(bdd_.andnot(lanes(a), lanes(b)), dom_.dominates(at_a, at_b) ? at_b : at_a);
}

bool MaskFacts::is_subset(Node a, Node b, BlockId at) const {
  if (a == Bdd::kFalse || b == Bdd::kTrue || a == b) return !bdd_.overflowed();
  const u32 hash = (a * 0x9E37'79B9u ^ b * 0x85EB'CA6Bu ^ at.index * 0xC2B2'AE35u) >> 24;
  SubsetAnswer& answer = subset_answers_[hash];
  if (answer.a != a || answer.b != b || answer.at != at) answer = {a, b, at, find_subset(a, b, at)};
  return answer.is_subset;
}

bool MaskFacts::find_subset(Node a, Node b, BlockId at) const {
  // Most often the samples know a lane that is in `a` only.
  if (const u64 left = bdd_.samples(a) & ~bdd_.samples(b); left != 0 && bdd_.support(a, vars_)) {
    ask_about(vars_);
    if (b > Bdd::kTrue && bdd_.support(b, more_vars_))
      for (const u32 v : more_vars_)
        if (std::exchange(among_[v], question_) != question_) vars_.push_back(v);
    if (possible_samples(left, vars_, at) != 0) return false;
  }
  return is_empty(bdd_.andnot(a, b), at);
}

bool MaskFacts::is_empty(Node n, BlockId at) const {
  if (n == Bdd::kFalse) return !bdd_.overflowed();
  if (n == Bdd::kTrue) return false;
  auto [answer, is_new] = answers_.try_emplace(u64{n} << 32 | at.index);
  if (!is_new && (!answer.is_empty || (answer.drops == drops_ && answer.asker == asking_)))
    return answer.is_empty;
  std::vector<u32>& vars = vars_;
  const bool is_small = bdd_.support(n, vars);
  ask_about(vars);
  answer.is_empty = is_small && is_contradicted(n, vars, at) && !bdd_.overflowed();
  answer.drops = drops_;
  answer.asker = asking_;
  return answer.is_empty;
}

/// What is known of these variables in block `at` leaves `n` nowhere: with_known(), but without making it.
/// Samples, or an assignment that is found, mostly show that it is not so, and values that follow from each
/// other that it is.
bool MaskFacts::is_contradicted(Node n, const std::vector<u32>& vars, BlockId at) const {
  u64 left = bdd_.samples(n);
  for_each_way_in(vars, at, [&](const Way& way) { left &= bdd_.samples(way.condition); });
  held_.clear();
  bool says_less = false; // some clauses hold only in part of what is asked about
  for_each_clause(vars, [&](u32 x, const Partner& p) {
    left &= p.samples;
    if (dom_.dominates(p.block, at))
      held_.push_back({x, p.y, p.signs});
    else
      says_less = true;
    return true;
  });
  if (left != 0) return false;
  note_asker(vars);
  for (const u32 v : vars) can_be_[v] = kEither;
  Node all = n;
  for_each_way_in(vars, at, [&](const Way& way) {
    all = bdd_.and_(all, way.condition);
    for (const u32 v : way.vars) can_be_[v] = kEither;
  });
  fixed_.clear();
  unsigned steps = 0;
  const Found found = search(all, steps);
  return found == Found::Nowhere ||
         ((found == Found::TooLong || says_less) && with_known(n, vars, at) == Bdd::kFalse);
}

/// Goes down the ways to where `n` is true, with the values that follow from those on the way.
MaskFacts::Found MaskFacts::search(Node n, unsigned& steps) const {
  while (n > Bdd::kTrue) {
    if (++steps > kMaxSteps) return Found::TooLong;
    const u32 v = bdd_.variable(n);
    const auto [lo, hi] = bdd_.branches(n);
    if (can_be_[v] == kEither && lo != Bdd::kFalse && hi != Bdd::kFalse) {
      if (!narrow()) return Found::Nowhere;
      if (can_be_[v] == kEither) {
        const std::size_t left = fixed_.size();
        fix(v, kZero);
        if (const Found there = search(lo, steps); there != Found::Nowhere) return there;
        unfix(left);
      }
    }
    if (can_be_[v] == kEither) fix(v, hi != Bdd::kFalse ? kOne : kZero);
    n = can_be_[v] == kOne ? hi : lo;
  }
  if (n == Bdd::kFalse || !narrow()) return Found::Nowhere;
  // Clauses with a variable that is fixed are true now; others have nothing to do with these.
  for (const Held& c : held_)
    for (const u32 v : {c.x, c.y}) {
      if (can_be_[v] != kEither) continue;
      const std::size_t left = fixed_.size();
      fix(v, kZero);
      if (narrow()) continue;
      unfix(left);
      fix(v, kOne);
      if (!narrow()) return Found::Nowhere;
    }
  return Found::Somewhere;
}

/// Fixes what follows from what is fixed. False if there is a contradiction.
bool MaskFacts::narrow() const {
  for (bool again = true; again;) {
    again = false;
    for (const Held& c : held_) {
      const u8 x = can_be_[c.x], y = can_be_[c.y];
      Pair now = kNarrowed[c.signs][x][y];
      if (c.x == c.y) { // of which the table does not know that they are one
        now.x = x & (c.signs == kIsZero ? kZero : c.signs == kIsOne ? kOne : 0);
        now.y = y;
      }
      if (now.x == x && now.y == y) continue;
      if (now.x == 0) return false;
      if (now.x != x) fix(c.x, now.x);
      if (now.y != y) fix(c.y, now.y);
      again = true;
    }
  }
  return true;
}

void MaskFacts::unfix(std::size_t left) const {
  for (std::size_t n = left; n < fixed_.size(); ++n) can_be_[fixed_[n]] = kEither;
  fixed_.resize(left);
}

void MaskFacts::ask_about(const std::vector<u32>& vars) const {
  ++question_;
  for (const u32 v : vars) among_[v] = question_;
}

/// Those of inner loops first: what they say of inner parameters others say of outer ones.
template <class F>
void MaskFacts::for_each_clause(const std::vector<u32>& vars, F f) const {
  const u32* const among = among_.data(); // as they are throughout
  const u32 question = question_;
  for (auto var = vars.rbegin(); var != vars.rend(); ++var) {
    const u32 x = *var;
    const std::vector<Partner>& partners = clauses_[x];
    if (partners.size() <= kScanned) {
      for (const Partner& p : partners)
        if (among[p.y] == question && p.signs != 0 && !f(x, p)) return;
      continue;
    }
    const u64* const set = partner_set_[x].data();
    for (const u32 y : vars)
      if ((set[y / 64] >> (y % 64) & 1) != 0 && !f(x, partners[*place_.find(pair(x, y))])) return;
  }
}

/// Calls f(way) for what blocks around `at` with one way in say about these variables.
template <class F>
void MaskFacts::for_each_way_in(const std::vector<u32>& vars, BlockId at, F f) const {
  unsigned used = 0;
  const u64 set = var_set(vars);
  const u32* const among = among_.data();
  const u32 question = question_;
  for (u32 w = nearest_way_[at.index]; w != kNoWay && used < kMaxWaysIn; w = ways_in_[w].above) {
    const Way& way = ways_in_[w];
    if ((way.var_set & set) == 0) continue;
    if (std::ranges::none_of(way.vars, [&](u32 v) { return among[v] == question; })) continue;
    f(way);
    ++used;
  }
}

/// The samples at which these clauses of x and y hold.
u64 MaskFacts::samples_of(u32 x, u32 y, u8 combinations) {
  const u64 a = Bdd::samples_of(x), b = Bdd::samples_of(y);
  u64 all = ~u64{0};
  for (u8 signs = 0; signs < 4; ++signs)
    if ((combinations >> signs & 1) != 0) all &= ((signs & 1) != 0 ? a : ~a) | ((signs & 2) != 0 ? b : ~b);
  return all;
}

Bdd::Node MaskFacts::function_of(u32 x, const Partner& p) const {
  if (p.holds != Bdd::kFalse) return p.holds;
  p.holds = Bdd::kTrue;
  const Node a = bdd_.var(x), b = bdd_.var(p.y);
  for (u8 signs = 0; signs < 4; ++signs)
    if ((p.signs >> signs & 1) != 0)
      p.holds = bdd_.and_(p.holds,
                          bdd_.or_((signs & 1) != 0 ? a : bdd_.not_(a), (signs & 2) != 0 ? b : bdd_.not_(b)));
  return p.holds;
}

/// A demand unites what several later blocks ask for. What holds in one of them says nothing about lanes that
/// another asks for, and so nothing where `n` is true whatever that block's parameters are.
Bdd::Node MaskFacts::with_clause(Node n, u32 x, const Partner& p, BlockId at) const {
  const Node where = bdd_.and_(n, function_of(x, p));
  if (where == n || dom_.dominates(p.block, at)) return where;
  Node whatever = n;
  for (const u32 v : {x, p.y})
    if (is_plain_parameter(v) && f_.def_block(variables_[v].a) == p.block)
      whatever = bdd_.for_all(whatever, v);
  return bdd_.or_(where, whatever);
}

void MaskFacts::note_asker(std::span<const u32> vars) const {
  if (!asking_.valid()) return;
  for (const u32 x : vars)
    if (num_partners_[x] != 0 && (asked_by_[x].empty() || asked_by_[x].back() != asking_))
      asked_by_[x].push_back(asking_);
}

/// Notes which variables have one value wherever `n` is true, as far as it tests them first.
void MaskFacts::note_fixed(Node n) const {
  while (n > Bdd::kTrue) {
    const auto [lo, hi] = bdd_.branches(n);
    if (lo != Bdd::kFalse && hi != Bdd::kFalse) return;
    can_be_[bdd_.variable(n)] = lo == Bdd::kFalse ? kOne : kZero;
    n = lo == Bdd::kFalse ? hi : lo;
  }
}

Bdd::Node MaskFacts::with_known(Node n, const std::vector<u32>& vars, BlockId at) const {
  note_asker(vars);
  for (const u32 v : vars) can_be_[v] = kEither;
  note_fixed(n);
  for_each_clause(vars, [&](u32 x, const Partner& p) {
    if (!rules_out(p, can_be_[x], can_be_[p.y])) return true;
    const Node before = std::exchange(n, with_clause(n, x, p, at));
    if (n != before) note_fixed(n);
    return n != Bdd::kFalse;
  });
  for_each_way_in(vars, at, [&](const Way& way) {
    if (n != Bdd::kFalse) n = bdd_.and_(n, way.condition);
  });
  return n;
}

/// Those of the samples `left` that contradict nothing that is known about these variables. Most questions
/// are answered by there being one, without computing a function.
u64 MaskFacts::possible_samples(u64 left, const std::vector<u32>& vars, BlockId at) const {
  if (left == 0) return 0;
  for_each_way_in(vars, at, [&](const Way& way) { left &= bdd_.samples(way.condition); });
  if (left == 0) return 0;
  for_each_clause(vars, [&](u32, const Partner& p) {
    left &= p.samples;
    return left != 0;
  });
  return left;
}

Bdd::Node MaskFacts::edge_condition(BlockId from, unsigned successor) const {
  const auto& successors = f_[from].successors;
  if (successors.size() != 2 || successors[0].block == successors[1].block) return Bdd::kTrue;
  const ValueId c = f_.operands(f_.terminator(from))[0];
  if (successor == 0) return lanes(c);
  const Node no = bdd_.not_(lanes(c));
  const ValueId m = f_.tested_mask(from);
  return m.valid() ? bdd_.andnot(no, lanes(m)) : no;
}

/// Parameter `p` is not explained by others.
bool MaskFacts::has_variable(ValueId p) const {
  if (lanes(p) <= Bdd::kTrue) return false;
  const u32 v = bdd_.variable(lanes(p));
  return variables_[v].a == p && lanes(p) == bdd_.var(v);
}

bool MaskFacts::is_plain_parameter(u32 v) const {
  return !variables_[v].b.valid() && !f_.def_id(variables_[v].a).valid();
}

/// Variable `v` was computed before `b` was entered, so that b's predecessors see it as `b` does.
bool MaskFacts::is_from_above(u32 v, BlockId b) const {
  const auto before = [&](ValueId x) {
    const BlockId at = f_.def_block(x);
    return at != b && dom_.dominates(at, b);
  };
  return before(variables_[v].a) && (!variables_[v].b.valid() || before(variables_[v].b));
}

Bdd::Node MaskFacts::before_edge(Node n, const Successor& edge) const {
  if (n <= Bdd::kTrue) return n;
  const BlockId to = edge.block;
  std::vector<u32>& vars = vars_;
  if (!bdd_.support(n, vars)) return Bdd::kTrue;
  const auto is_argument = [&](u32 v) {
    return is_plain_parameter(v) && f_.def_block(variables_[v].a) == to;
  };
  // What is dropped may still say something about what is not: EXEC in a loop lies in EXEC around it, and
  // that in the next loop's.
  const auto stays = [&](u32 v) { return is_argument(v) || is_from_above(v, to); };
  for (std::size_t k = 0; k < vars.size(); ++k) {
    if (stays(vars[k])) continue;
    const auto& partners = earlier_partners_[vars[k]];
    const bool on_the_way = std::ranges::none_of(partners, stays);
    for (const u32 x : partners)
      if (vars.size() < Bdd::kMaxSupport && (on_the_way || stays(x)) &&
          std::find(vars.begin(), vars.end(), x) == vars.end())
        vars.push_back(x);
  }
  std::sort(vars.begin(), vars.end());
  ask_about(vars);
  n = with_known(n, vars, to);
  return bdd_.substitute(n, [&](u32 v) {
    if (is_argument(v)) return lanes(edge.args[f_[variables_[v].a].index]);
    return is_from_above(v, to) ? Bdd::kKept : Bdd::kDropped;
  });
}

Bdd::Node MaskFacts::before_edge(Node n, BlockId from, unsigned successor) const {
  if (n <= Bdd::kTrue) return n;
  auto [answer, is_new] = before_edges_.try_emplace(u64{n} << 32 | (2 * from.index + successor));
  if (is_new) answer = before_edge(n, f_[from].successors[successor]);
  return answer;
}

Bdd::Node MaskFacts::without_comparisons(Node n) const {
  return bdd_.substitute(n, [&](u32 v) { return variables_[v].b.valid() ? Bdd::kDropped : Bdd::kKept; });
}

} // namespace lanewise::passes
