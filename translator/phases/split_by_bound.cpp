#include "translator/phases/split_by_bound.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8;

/// v << shift, of 32 bits.
struct Term {
  ValueId v;
  unsigned shift = 0;
  friend bool operator==(const Term&, const Term&) = default;
  friend bool operator<(const Term& a, const Term& b) {
    return std::pair{a.v.index, a.shift} < std::pair{b.v.index, b.shift};
  }
};

/// The sum of some terms, in each lane or a gang's first: an address, or a number.
struct Address {
  std::vector<Term> lanes, scalars; ///< sorted
  u32 constant = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

/// Adds v << shift to the sum.
void add(const Function& f, Address& sum, ValueId v, unsigned shift, unsigned depth) {
  u64 bits = 0;
  if (f.is_const(v, &bits)) {
    sum.constant += static_cast<u32>(bits) << shift;
    return;
  }
  const InstId i = f.def_id(v);
  const Op op = i.valid() && depth < kMaxDepth ? f[i].op : Op::EndPgm;
  const auto x = i.valid() ? f.operands(i) : std::span<const ValueId>{};
  if (op == Op::Splat || op == Op::GangFirst) return add(f, sum, x[0], shift, depth + 1);
  if (op == Op::Add) {
    add(f, sum, x[0], shift, depth + 1);
    return add(f, sum, f.operands(i)[1], shift, depth + 1);
  }
  if (op == Op::Shl && f.is_const(x[1], &bits) && bits + shift < 32)
    return add(f, sum, x[0], shift + static_cast<unsigned>(bits), depth + 1);
  (is_uniform(f.type(v)) ? sum.scalars : sum.lanes).push_back({v, shift});
}

Address sum_of(const Function& f, ValueId v, unsigned shift) {
  Address sum;
  add(f, sum, v, shift, 0);
  std::sort(sum.lanes.begin(), sum.lanes.end());
  std::sort(sum.scalars.begin(), sum.scalars.end());
  return sum;
}

/// Whether a row of the sum's elements is what the sum is in each lane: only work-item ids, which count along
/// x.
bool is_row_of_ids(const Function& f, const Address& sum, unsigned gang_lanes, i64 stride) {
  unsigned counting = 0;
  for (const Term& t : sum.lanes) {
    const Inst* def = f.def(t.v);
    if (def == nullptr || def->op != Op::InitVgpr) return false;
    if (def->imm != 0 && !f.launch.is_uniform(static_cast<u32>(def->imm), gang_lanes)) return false;
    if (def->imm == 0 && (!f.launch.x_counts(gang_lanes) || i64{1} << t.shift != stride)) return false;
    counting += def->imm == 0 ? 1 : 0;
  }
  return counting == 1;
}

std::optional<Address> address_of(const HazardFacts& facts, InstId i) {
  const Inst& inst = facts.f[i];
  const bool is_row = inst.mem.form == AddressForm::Row;
  if ((inst.op != Op::Load && inst.op != Op::Store) || inst.mem.space != Space::Lds || inst.mem.spread ||
      (!is_row && inst.mem.form != AddressForm::Lanes))
    return std::nullopt;
  Address sum = sum_of(facts.f, facts.f.operands(i)[0], 0);
  if (is_row && !is_row_of_ids(facts.f, sum, facts.gang_lanes, inst.mem.stride)) return std::nullopt;
  sum.constant += static_cast<u32>(inst.imm);
  return sum;
}

/// Calls use(x, bound, is_signed), until it returns true, with each x that is below a bound in all lanes of
/// `mask`.
template <class F>
bool any_bound(const Function& f, ValueId mask, F use, unsigned depth = 0) {
  const InstId i = f.def_id(mask);
  if (!i.valid() || depth == kMaxDepth) return false;
  const ValueId a = f.operands(i).empty() ? ValueId{} : f.operands(i)[0];
  const ValueId b = f.operands(i).size() < 2 ? ValueId{} : f.operands(i)[1];
  if (f[i].op == Op::And) return any_bound(f, a, use, depth + 1) || any_bound(f, b, use, depth + 1);
  if (f[i].op != Op::ICmp) return false;
  switch (static_cast<IntPred>(f[i].imm)) {
  case IntPred::ULt: return use(a, b, false);
  case IntPred::SLt: return use(a, b, true);
  case IntPred::UGt: return use(b, a, false);
  case IntPred::SGt: return use(b, a, true);
  default: return false;
  }
}

} // namespace

bool is_split_by_bound(const HazardFacts& facts, InstId lower, InstId upper,
                       const std::function<bool(ValueId)>& is_fixed) {
  const Function& f = facts.f;
  const auto exists = [](ValueId, ValueId, bool) { return true; };
  if (!any_bound(f, f.operands(lower).back(), exists))
    return false; // That is quickly seen, and most often so.
  const auto a = address_of(facts, lower), b = a ? address_of(facts, upper) : std::nullopt;
  if (!b || a->lanes.empty() || a->lanes != b->lanes) return false;
  const auto all_fixed = [&](const std::vector<Term>& terms) {
    return std::ranges::all_of(terms, [&](const Term& t) { return is_fixed(t.v); });
  };
  const ValueId mask = f.operands(lower).back();
  if (!is_fixed(mask) || !all_fixed(b->lanes) || !all_fixed(b->scalars)) return false;
  std::vector<Term> further; // than the lower ones
  std::set_difference(b->scalars.begin(), b->scalars.end(), a->scalars.begin(), a->scalars.end(),
                      std::back_inserter(further));
  if (further.size() > 1 || further.size() + a->scalars.size() != b->scalars.size()) return false;
  const u32 distance = b->constant - a->constant;
  const u32 bytes = std::max<u32>(f[lower].mem.bytes, f[upper].mem.bytes);
  return any_bound(f, mask, [&](ValueId x, ValueId bound, bool is_signed) {
    unsigned shift = 0; // of numbers that are below the bound, to be addresses
    while (shift < 8 && sum_of(f, x, shift) != Address{.lanes = a->lanes, .scalars = {}}) ++shift;
    // Neither do numbers wrap, shifted as they are, nor distances.
    const u64 max = facts.limits.max(x) << shift, most = facts.limits.max(behind_splat(f, bound));
    if (shift == 8 || bytes > 1u << shift || (is_signed && most >> 31 != 0) ||
        max + (most << shift) + 2 * u64{bytes} > 0xffff'ffff)
      return false;
    if (!further.empty()) return distance == 0 && further[0] == Term{behind_splat(f, bound), shift};
    u64 number = 0;
    return f.is_const(bound, &number) && number << shift <= distance &&
           max + distance + 2 * u64{bytes} <= 0xffff'ffff;
  });
}

void assume_shrinking_parameters(const Function& f, passes::ValueLimits& limits) {
  const auto for_each_argument = [&](auto use) {
    for (const Block& block : f.blocks)
      for (const Successor& next : block.successors)
        for (std::size_t n = 0; n < next.args.size(); ++n) use(f[next.block].params[n], next.args[n]);
  };
  const auto shrinks = [&](ValueId param, ValueId v) {
    const InstId i = f.def_id(v);
    return v == param || (i.valid() && f[i].op == Op::LShr && f.operands(i)[0] == param);
  };
  std::map<u32, u64> most; // of those that some round shifts
  for_each_argument([&](ValueId param, ValueId v) {
    if (is_uniform(f.type(param)) && shrinks(param, v)) most[param.index] = 0;
  });
  if (most.empty()) return;
  for_each_argument([&](ValueId param, ValueId v) {
    const auto at = most.find(param.index);
    if (at != most.end() && !shrinks(param, v)) at->second = std::max(at->second, limits.max(v));
  });
  for (const auto& [param, max] : most)
    limits.assume(ValueId{param}, {.max = max, .ones = max == 0 ? 0 : ~u64{0} >> std::countl_zero(max)});
}

} // namespace lanewise::phases
