#include "translator/phases/round_sums.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of what is looked through
constexpr u64 kMaxStep = 1 << 16; ///< of an index, so that those of many rounds do not wrap

} // namespace

void RoundSums::find_invariants() {
  invariant_.assign(f_.num_values(), false);
  for (const InstId i : f_[header()].insts) {
    const auto x = f_.operands(i);
    if (!info(f_[i].op).is(kPure) || std::ranges::any_of(x, [&](ValueId v) { return changes(v); })) continue;
    for (unsigned r = 0; r < f_[i].num_results; ++r) invariant_[f_.result(i, r).index] = true;
  }
}

RoundSums::Comparison RoundSums::comparison(InstId icmp, bool opposite) const {
  Comparison c{f_.operands(icmp)[0], f_.operands(icmp)[1], static_cast<IntPred>(f_[icmp].imm)};
  if (changes(c.bound)) {
    std::swap(c.value, c.bound);
    c.pred = swapped(c.pred);
  }
  if (opposite) c.pred = inverse(c.pred);
  return c;
}

std::optional<RoundSums::Bounded> RoundSums::bounded(InstId icmp, bool opposite) {
  auto [value, bound, pred] = comparison(icmp, opposite);
  const Sum sum = sum_of(value);
  if (changes(bound) || !sum.indices.empty() || sum.terms.size() != 1 || !is_param(sum.terms[0])) return {};
  u64 bits = 0;
  if (f_.is_const(bound, &bits))
    bound = f_.entry_constant(f_.type(bound), bits); // This one might be in the loop.
  return Bounded{value, sum.terms[0], bound, sum.constant & constant_bits(f_.type(value)), pred};
}

std::optional<RoundSums::LaneCount> RoundSums::lane_count(bool or_else) {
  const ValueId tested = f_.tested_mask(header());
  const InstId i = tested.valid() ? f_.def_id(tested) : InstId{};
  const auto arg = std::ranges::find(back_edge().args, tested);
  if (!i.valid() || goes_on_way() != 0 || arg == back_edge().args.end()) return {};
  LaneCount count;
  count.mask = static_cast<u32>(arg - back_edge().args.begin());
  if (f_[i].op != Op::And && f_[i].op != Op::AndNot) return {};
  const auto x = f_.operands(i);
  const bool leaves = f_[i].op == Op::AndNot, swapped = !leaves && x[1] == params()[count.mask];
  if (x[swapped ? 1 : 0] != params()[count.mask]) return {};
  const InstId compare = f_.def_id(x[swapped ? 0 : 1]);
  if (!compare.valid() || f_[compare].op != Op::ICmp || f_[compare].block != header() ||
      !is_vector(f_.type(f_.operands(compare)[0])))
    return {};
  const auto found = bounded(compare, leaves);
  if (!found) return {};
  const Type t = f_.type(found->value), counter = f_.type(found->param);
  const auto step = growth(found->value);
  count.down = or_else && step && (*step & constant_bits(t)) == constant_bits(t);
  const bool is_half = counter == Type::V64 && t == Type::V32,
             is_scalar = or_else && counter == uniform_of(t);
  if ((counter != t && !is_half && !is_scalar) || (step != 1 && !count.down)) return {};
  count.param = f_[found->param].index;
  count.offset = found->offset;
  count.bound = found->bound;
  count.stays = found->pred;
  const bool ends = count.stays == IntPred::Ne || count.stays == IntPred::ULt ||
                    count.stays == IntPred::SLt || count.stays == IntPred::ULe || count.stays == IntPred::SLe;
  return ends && (!count.down || count.stays == IntPred::Ne) ? std::optional(count) : std::nullopt;
}

ValueId after_rounds(Builder& at, ValueId first, ValueId rounds, u64 growth) {
  if (growth == 0) return first;
  const Type t = at.type(first), scalar = uniform_of(t);
  const ValueId each = at.constant(scalar, growth & constant_bits(scalar));
  if (at.type(rounds) != scalar) rounds = is_wide(scalar) ? at.zext(rounds) : at.lo(rounds);
  const ValueId grown = at.binary(Op::Mul, rounds, each);
  return at.add(first, is_per_lane(t) ? at.splat(grown) : grown);
}

void branch_if_not_0(Builder& at, ValueId count, const Successor& some, const Successor& none, BlockId join) {
  Function& f = at.function();
  const ValueId zero = f.entry_constant(f.type(count), 0);
  at.branch(at.any(at.icmp(IntPred::Ne, count, zero)), some.block, none.block, some.args, none.args);
  f[f.terminator(at.block())].imm = gang_decided(join);
}

ValueId RoundSums::first_value(Builder& at, ValueId v, const std::vector<ValueId>& start, u64 less) const {
  const Sum sum = sum_of(v);
  ValueId all = at.constant(f_.type(v), (sum.constant - less) & constant_bits(f_.type(v)));
  for (const ValueId term : sum.terms) {
    ValueId x = changes(term) ? start[f_[term].index] : term;
    if (is_wide(f_.type(x)) && !is_wide(f_.type(v))) x = at.lo(x);
    const bool splat = is_per_lane(f_.type(v)) && !is_per_lane(f_.type(x));
    all = at.add(all, splat ? at.splat(x) : x);
  }
  return all;
}

RoundSums::Choice RoundSums::add_choice() {
  pass_escaping();
  const BlockId block = add_entry();
  move_invariants(block);
  Choice choice{Builder(f_, block), {}};
  choice.at.pc = f_[header()].pc;
  choice.start = take_params(block);
  return choice;
}

void RoundSums::move_invariants(BlockId choice) {
  auto& insts = f_[header()].insts;
  const auto changing = std::stable_partition(insts.begin(), insts.end(), [&](InstId i) {
    return f_[i].num_results != 0 && invariant_[f_.result(i).index];
  });
  f_[choice].insts.assign(insts.begin(), changing);
  insts.erase(insts.begin(), changing);
  for (const InstId i : f_[choice].insts) f_[i].block = choice;
}

Sum RoundSums::sum_of(ValueId v, unsigned depth) const {
  Sum sum;
  if (f_.is_const(v, &sum.constant)) return sum;
  const InstId i = f_.def_id(v);
  const bool inside = i.valid() && changes(v) && depth < kMaxDepth;
  if (inside && f_[i].op == Op::Splat && !is_per_lane(f_.type(f_.operands(i)[0])))
    return sum_of(f_.operands(i)[0], depth + 1);
  if (inside && f_[i].op == Op::Select && left_.valid() && f_.operands(i)[0] == left_)
    return sum_of(f_.operands(i)[1], depth + 1);
  if (inside && f_[i].op == Op::Lo) return sum_of(f_.operands(i)[0], depth + 1); // of a wide counter
  if (inside && f_[i].op == Op::Add) {
    for (const ValueId x : f_.operands(i)) {
      const Sum part = sum_of(x, depth + 1);
      sum.terms.insert(sum.terms.end(), part.terms.begin(), part.terms.end());
      sum.indices.insert(sum.indices.end(), part.indices.begin(), part.indices.end());
      sum.constant += part.constant;
    }
  } else if (const auto index = inside ? index_of(i) : std::nullopt) {
    sum.indices.push_back(*index);
  } else {
    sum.terms.push_back(v);
  }
  return sum;
}
std::optional<Index> RoundSums::index_of(InstId i) const {
  u64 shift = 0;
  if (f_[i].op == Op::Shl && f_.is_const(f_.operands(i)[1], &shift)) i = f_.def_id(f_.operands(i)[0]);
  if (!i.valid() || (f_[i].op != Op::ZExt && f_[i].op != Op::SExt)) return {};
  const ValueId value = f_.operands(i)[0];
  const bool dword = f_.type(value) == Type::V32 || f_.type(value) == Type::U32;
  if (!dword || !changes(value)) return {};
  return Index{value, f_[i].op == Op::SExt, static_cast<u32>(shift % 64)};
}

std::optional<u64> RoundSums::growth(ValueId v) const {
  u64 grown = 0;
  const Sum sum = sum_of(v);
  for (const Index& index : sum.indices) {
    const auto steps = growth(index.value);
    if (!steps) return {};
    const i64 each = with_down_ ? i64{static_cast<i32>(*steps)} : static_cast<i64>(*steps);
    if (*steps >= kMaxStep && (!with_down_ || std::abs(each) >= static_cast<i64>(kMaxStep))) return {};
    grown += static_cast<u64>(each) << index.shift;
  }
  for (const ValueId term : sum.terms) {
    if (!changes(term)) continue;
    if (!is_param(term)) return {};
    const Sum next = sum_of(back_edge().args[f_[term].index]);
    if (next.terms.size() != 1 || next.terms[0] != term || !next.indices.empty()) return {};
    grown += next.constant;
  }
  return grown;
}

} // namespace lanewise::phases
