// What holds between the parameters of a block, whichever way it was entered: the part of MaskFacts that
// finds it by induction.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/sampled_lanes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxParams = 16, kMaxContext = 8; ///< per block
constexpr unsigned kMaxRounds = 4, kMaxIdleRounds = 2;  ///< of lanes that go through the function by chance
constexpr unsigned kMaxChecks = 100'000;

} // namespace

/// Optimistic induction: clauses are dropped until every way into a block proves what is left of them. A
/// block is looked at again when a clause was dropped that it has asked about.
void MaskFacts::find_invariants() {
  std::vector<std::vector<Clause>> of_block(f_.num_blocks());
  for (const BlockId b : cfg_.rpo) of_block[b.index] = candidates(b);
  drop_contradicted(of_block);
  for (const BlockId b : cfg_.rpo)
    for (const Clause& c : of_block[b.index]) add_clause(c);
  const bool proved = drop_until_settled(of_block);
  asking_ = BlockId{};
  asked_by_.clear();
  keep_clauses(proved);
  earlier_partners_.resize(variables_.size());
  for (u32 x = 0; x < clauses_.size(); ++x)
    for (const Partner& p : clauses_[x])
      if (p.y != x) earlier_partners_[p.y].push_back(x);
  answers_.clear();
  subset_answers_.resize(kSubsetAnswers);
}

/// Drops clauses to which lanes that go through the function by chance are seen not to keep: most of those
/// that cannot be proved, and to try that takes longer.
void MaskFacts::drop_contradicted(std::vector<std::vector<Clause>>& of_block) const {
  std::vector<std::pair<u32, u32>> made;
  for (u32 v = 0; v < variables_.size(); ++v) {
    if (is_plain_parameter(v)) continue;
    const BlockId a = f_.def_block(variables_[v].a);
    const BlockId b = variables_[v].b.valid() ? f_.def_block(variables_[v].b) : a;
    made.emplace_back((dom_.dominates(a, b) ? b : a).index, v);
  }
  std::vector<std::pair<u32, SampledLanes::Parameter>> parameters;
  for (const BlockId b : cfg_.rpo)
    for (const ValueId p : f_[b].params)
      if (is_condition(f_.type(p)) && has_variable(p))
        parameters.emplace_back(b.index, SampledLanes::Parameter{f_[p].index, bdd_.variable(lanes(p))});
  if (parameters.empty()) return;
  const Lists<u32> made_in(f_.num_blocks(), made);
  const Lists<SampledLanes::Parameter> parameters_of(f_.num_blocks(), parameters);
  SampledLanes sampled(f_, cfg_, bdd_, node_of_, variables_.size(), made_in, parameters_of);
  for (unsigned round = 0, idle = 0; round < kMaxRounds && idle < kMaxIdleRounds; ++round) {
    ++idle;
    sampled.go_round([&](BlockId b, const SampledBits& here) {
      const auto dropped = std::erase_if(of_block[b.index], [&](const Clause& c) {
        const SampledBits &x = sampled.value(c.x), &y = sampled.value(c.y);
        return (((c.signs & 1) != 0 ? ~x : x) & ((c.signs & 2) != 0 ? ~y : y) & here).any();
      });
      if (dropped != 0) idle = 0;
    });
  }
}

/// Drops clauses until all that are left hold on every way into their block. False if that takes too long.
bool MaskFacts::drop_until_settled(std::vector<std::vector<Clause>>& of_block) {
  std::vector<u8> wanted(f_.num_blocks(), 1);
  std::size_t checks = 0; // of the first round, that is
  for (const BlockId b : cfg_.rpo) checks += of_block[b.index].size() * cfg_.preds[b.index].size();
  if (checks > kMaxChecks) return false;
  checks = 0;
  for (bool again = true; again;) {
    again = false;
    for (const BlockId b : cfg_.rpo) {
      if (wanted[b.index] == 0 || of_block[b.index].empty()) continue;
      wanted[b.index] = 0;
      asking_ = b;
      const std::vector<WayIn> ways = ways_in(b);
      std::erase_if(of_block[b.index], [&](const Clause& c) {
        checks += ways.size();
        if (std::ranges::all_of(ways, [&](const WayIn& way) { return holds_on(way, c); })) return false;
        drop_clause(c);
        for (const BlockId other : asked_by_[c.x]) wanted[other.index] = 1;
        return again = true;
      });
      if (checks > kMaxChecks || bdd_.overflowed()) return false;
    }
  }
  return true;
}

/// All that have been proved.
void MaskFacts::keep_clauses(bool proved) {
  place_.clear();
  for (u32 x = 0; x < clauses_.size(); ++x) {
    auto& partners = clauses_[x];
    std::erase_if(partners, [&](const Partner& p) { return !proved || p.signs == 0; });
    partner_set_[x].clear();
    for (u32 n = 0; partners.size() > kScanned && n < partners.size(); ++n) note_place(x, n);
  }
}

void MaskFacts::note_place(u32 x, u32 place) {
  const u32 y = clauses_[x][place].y;
  partner_set_[x].resize(variables_.size() / 64 + 1);
  partner_set_[x][y / 64] |= u64{1} << y % 64;
  place_.try_emplace(pair(x, y), place);
}

const MaskFacts::Partner* MaskFacts::partner(u32 x, u32 y) const {
  const auto& partners = clauses_[x];
  if (partners.size() > kScanned) {
    const u32* place = place_.find(pair(x, y));
    return place != nullptr ? &partners[*place] : nullptr;
  }
  const auto it = std::ranges::find(partners, y, &Partner::y);
  return it != partners.end() ? &*it : nullptr;
}

void MaskFacts::add_clause(const Clause& c) {
  Partner* known = partner(c.x, c.y);
  if (known == nullptr) {
    auto& partners = clauses_[c.x];
    partners.push_back({c.y, c.block, 0, 0, Bdd::kFalse});
    ++num_partners_[c.x];
    const std::size_t size = partners.size();
    if (size > kScanned)
      for (std::size_t n = size == kScanned + 1 ? 0 : size - 1; n < size; ++n)
        note_place(c.x, static_cast<u32>(n));
    known = &partners.back();
  }
  known->signs |= static_cast<u8>(1u << c.signs);
  known->samples = samples_of(c.x, c.y, known->signs);
}

void MaskFacts::drop_clause(const Clause& c) {
  ++drops_;
  Partner& p = *partner(c.x, c.y);
  p.signs &= static_cast<u8>(~(1u << c.signs));
  p.samples = samples_of(c.x, c.y, p.signs);
  p.holds = Bdd::kFalse;
  if (p.signs != 0) return;
  --num_partners_[c.x];
  auto& partners = clauses_[c.x];
  if (partners.size() <= kScanned)
    partners.erase(partners.begin() + (&p - partners.data()));
  else
    partner_set_[c.x][c.y / 64] &= ~(u64{1} << c.y % 64);
}

/// Clauses of two parameters of `b`, or of one and a variable from above that a way in mentions.
std::vector<MaskFacts::Clause> MaskFacts::candidates(BlockId b) const {
  std::array<u32, kMaxParams> param_vars;
  std::array<u32, kMaxContext> context_vars;
  std::size_t num_params = 0, num_context = 0;
  for (const ValueId p : f_[b].params)
    if (is_condition(f_.type(p)) && num_params < kMaxParams && has_variable(p))
      param_vars[num_params++] = bdd_.variable(lanes(p));
  if (num_params == 0) return {};
  const auto context = [&] { return std::span(context_vars).first(num_context); };
  for (const BlockId from : cfg_.preds[b.index])
    for (const Successor& s : f_[from].successors)
      for (std::size_t a = 0; s.block == b && a < s.args.size(); ++a) {
        if (!is_condition(f_.type(s.args[a]))) continue;
        bdd_.support(lanes(s.args[a]), vars_, kMaxVariables);
        for (const u32 v : vars_)
          if (num_context < kMaxContext && is_from_above(v, b) && std::ranges::count(context(), v) == 0)
            context_vars[num_context++] = v;
      }
  const auto params = std::span(param_vars).first(num_params);
  std::vector<Clause> clauses;
  clauses.reserve(4 * num_params * (num_params + num_context));
  const auto add = [&](u32 x, u32 y) {
    for (u8 signs = 0; signs < 4; ++signs)
      if (x != y || signs == 0 || signs == 3) clauses.push_back({std::min(x, y), std::max(x, y), signs, b});
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    for (std::size_t j = i; j < params.size(); ++j) add(params[i], params[j]);
    for (const u32 v : context()) add(params[i], v);
  }
  return clauses;
}

std::vector<MaskFacts::WayIn> MaskFacts::ways_in(BlockId b) const {
  std::vector<WayIn> ways;
  ways.reserve(cfg_.preds[b.index].size());
  for (const BlockId from : cfg_.preds[b.index])
    for (unsigned n = 0; n < f_[from].successors.size(); ++n)
      if (f_[from].successors[n].block == b)
        ways.push_back({from, &f_[from].successors[n], edge_condition(from, n)});
  return ways;
}

/// What variable `v` is before an edge to which it leads.
Bdd::Node MaskFacts::before(u32 v, const Successor& edge) const {
  const ValueId a = variables_[v].a;
  const bool is_argument = is_plain_parameter(v) && f_.def_block(a) == edge.block;
  return is_argument ? lanes(edge.args[f_[a].index]) : bdd_.var(v);
}

/// The clause that says that not both literals `a` and `b` are true, if there is one: most masks are handed
/// on as they are, and with them what holds between them.
const MaskFacts::Partner* MaskFacts::excludes(Node a, Node b) const {
  if (!bdd_.is_literal(a) || !bdd_.is_literal(b)) return nullptr;
  if (bdd_.variable(a) > bdd_.variable(b)) std::swap(a, b);
  const u32 x = bdd_.variable(a);
  const Partner* p = partner(x, bdd_.variable(b));
  if (p == nullptr || (p->signs >> ((a & 1) | (b & 1) << 1) & 1) == 0) return nullptr;
  note_asker({&x, 1});
  return p;
}

bool MaskFacts::holds_on(const WayIn& way, const Clause& c) const {
  const Node not_x = opposite_if((c.signs & 1) != 0, before(c.x, *way.edge));
  const Node not_y = opposite_if((c.signs & 2) != 0, before(c.y, *way.edge));
  const Partner* known = excludes(not_x, not_y);
  if (known != nullptr && dom_.dominates(known->block, way.from)) return true;
  const Node both = bdd_.and_(not_x, not_y);
  return both == Bdd::kFalse || is_empty(bdd_.and_(both, way.condition), way.from);
}

} // namespace lanewise::passes
