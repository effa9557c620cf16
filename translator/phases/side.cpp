#include "translator/phases/side.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lanewise::phases {

using namespace ir;

namespace {

Symbol meet(Symbol a, Symbol b) { return a == kTop || a == b ? b : b == kTop ? a : kConflict; }

} // namespace

SideFacts::SideFacts(const Function& function, const Cfg& c, const Dominators& d, const Loops& l,
                     const passes::MaskFacts& m, const std::vector<bool>& decided_blocks,
                     const std::vector<BlockId>& joins_of_decided, const PostDominators& p)
    : f(function), cfg(c), dom(d), loops(l), masks(m), decided(decided_blocks), joins(joins_of_decided),
      post(p) {
  std::vector<std::pair<u32, BlockId>> operands, edges;
  std::vector<BlockId> last_operand(f.num_values()), last_edge(f.num_values());
  for (const BlockId b : cfg.rpo) {
    const auto add = [&](auto& list, auto& last, ValueId v) {
      if (std::exchange(last[v.index], b) != b) list.emplace_back(v.index, b);
    };
    for (const InstId i : f[b].insts)
      for (const ValueId v : f.operands(i)) add(operands, last_operand, v);
    for (const Successor& s : f[b].successors)
      for (const ValueId v : s.args) add(edges, last_edge, v);
  }
  operand_users = {f.num_values(), operands};
  edge_users = {f.num_values(), edges};
}

bool Past::is_inside_mask(const passes::LaneDemand& demand, passes::Bdd::Node lanes, BlockId at) const {
  return is_current(at) && demand.is_inside(lanes, empty_mask_, at);
}

bool Past::is_current(BlockId at) const {
  // Behind a loop that holds the branch, the mask would be that of another round.
  const i32 loop = k_.loops.innermost[branch_.index];
  return k_.dom.dominates(branch_, at) && (loop < 0 || k_.loops.contains(loop, at));
}

bool Past::is_unseen(const passes::LaneDemand& demand, ValueId v, BlockId at) {
  if (!is_per_lane(k_.f.type(v))) return false;
  const auto [unseen, is_new] = unseen_.at(0, v.index);
  if (is_new) unseen = is_inside_mask(demand, demand.of(v), at);
  return unseen != 0;
}

bool Past::is_pairing(ValueId v) const {
  const Inst* def = k_.f.def(v);
  return def != nullptr && (def->op == Op::Join || def->op == Op::Lo || def->op == Op::Hi ||
                            def->op == Op::ZExt || def->op == Op::SExt);
}

/// Pairs are taken apart and joined again along the way, so they have to be seen through.
Symbol Past::pairing(ValueId v) {
  const InstId i = k_.f.def_id(v);
  std::array<Symbol, 2> x{};
  const auto operands = k_.f.operands(i);
  for (unsigned n = 0; n < operands.size(); ++n) x[n] = symbol(operands[n]);
  return symbols_.expression(i, 0, std::span(x).first(operands.size()));
}

Symbol Past::symbol(ValueId v) {
  if (k_.f.type(v) == Type::Mask) {
    const auto [s, is_new] = masks_.at(0, v.index);
    if (!is_new) return s;
    if (u64 bits = 0; k_.f.is_const(v, &bits) && (bits == 0 || bits == ~u64{0}))
      return s = bits == 0 ? kEmpty : kFull;
    return s = k_.masks.implies(v, empty_mask_) ? kEmpty : past_symbol(first_equal(v));
  }
  if (const Symbol* known = others_.find(0, v.index)) return *known;
  const Symbol s = other(v);
  return others_.at(0, v.index).first = s;
}

/// A mask that, given that `empty_mask_` is empty, has the same lanes as `v`: always the same one.
ValueId Past::first_equal(ValueId v) {
  passes::Bdd& bdd = k_.masks.bdd();
  const passes::Bdd::Node left = bdd.andnot(k_.masks.lanes(v), k_.masks.lanes(empty_mask_));
  return bdd.overflowed() ? v : equal_.try_emplace(left, v).first->second;
}

/// The symbol of a value that is no mask: what a select under an empty mask leaves is what it was.
Symbol Past::other(ValueId v) {
  if (const Inst* def = k_.f.def(v); def != nullptr && def->op == Op::Select) {
    const auto x = k_.f.operands(k_.f.def_id(v));
    if (k_.f.type(x[0]) == Type::Mask && symbol(x[0]) == kEmpty) return symbol(x[2]);
  }
  return is_pairing(v) ? pairing(v) : past_symbol(v);
}

Side::Side(const SideFacts& facts, Symbols& symbols, Past& past, SideTables& tables, unsigned number,
           const Branch& branch)
    : k_(facts), symbols_(symbols), past_(past), t_(tables), number_(number), from_(branch.from),
      edge_(branch.edge), join_(branch.join) {
  t_.node_of.clear();
  t_.visited.clear();
  t_.known.clear();
  headers_ = passed(join_);
}

/// The headers of the loops that hold the branch but not `join`, innermost first.
std::vector<BlockId> Side::passed(BlockId join) const {
  std::vector<BlockId> headers;
  for (i32 l = k_.loops.innermost[from_.index]; l >= 0 && !k_.loops.contains(l, join);
       l = k_.loops.loops[static_cast<unsigned>(l)].parent)
    headers.push_back(k_.loops.loops[static_cast<unsigned>(l)].header);
  return headers;
}

std::string_view Side::solve(std::size_t max_nodes) {
  enter(0, edge_.block);
  if (edge_.block == join_) exits_.push_back({0, from_, number_, &edge_});
  return settle(max_nodes);
}

std::string_view Side::go_on_to(BlockId join, std::size_t max_nodes) {
  const bool began_at_join = edge_.block == std::exchange(join_, join);
  const std::vector<Way> ways = std::exchange(exits_, {});
  if (began_at_join) enter(0, edge_.block);
  for (const Way& way : std::span(ways).subspan(began_at_join ? 1 : 0)) follow(way);
  return settle(max_nodes);
}

std::string_view Side::settle(std::size_t max_nodes) {
  // In the order of execution, and only what something has changed for: code outside loops is looked at once.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [place, n] : order_) {
      if (!nodes_[n].stale) continue;
      changed = true;
      nodes_[n].stale = false;
      evaluate(n);
      if (nodes_.size() > max_nodes) return "too much code up to the join";
      if (back_in_time_) return "a way to the join goes back to before the branch";
    }
  }
  const auto is_stuck = [&](const Node& n) {
    const std::size_t ways = k_.f[n.block].successors.size();
    return ways != 0 && !n.edges_done[0] && (ways == 1 || !n.edges_done[1]);
  };
  if (std::ranges::any_of(nodes_, is_stuck)) return "a mask on the way to the join is not known";
  return {};
}

Symbol Side::join_argument(u32 index) const {
  Symbol all = kTop;
  for (const Way& e : exits_) all = meet(all, symbol(e.context, e.edge->args[index]));
  return all == kConflict ? fresh_symbol(number_, 0, k_.f[join_].params[index]) : all;
}

bool Side::is_unseen(const passes::LaneDemand& demand, u32 index) const {
  const ValueId param = k_.f[join_].params[index];
  if (!is_per_lane(k_.f.type(param))) return false;
  return std::ranges::all_of(exits_, [&](const Way& e) {
    const passes::Bdd::Node lanes = demand.on_edge(e.from, e.successor, param);
    const auto has_all = [&](ValueId v) {
      return k_.f.type(v) == Type::Mask && symbol(e.context, v) == kEmpty &&
             demand.is_inside(lanes, v, e.from);
    };
    return lanes == passes::Bdd::kFalse || std::ranges::any_of(e.edge->args, has_all) ||
           (e.context == 0 && past_.is_inside_mask(demand, lanes, e.from));
  });
}

Symbol Side::at_join(ValueId v) const {
  Symbol all = kTop;
  for (const Way& e : exits_) all = meet(all, symbol(e.context, v));
  return all == kConflict ? fresh_symbol(number_, 0, v) : all;
}

/// The context in which `to` is entered from context `c`.
u32 Side::context_of(u32 c, BlockId to) const {
  for (u32 h = static_cast<u32>(headers_.size()); h > c; --h)
    if (headers_[h - 1] == to) return h;
  return c;
}

u32 Side::enter(u32 from_context, BlockId to) {
  const u32 c = context_of(from_context, to);
  if (to == join_) return c;
  const auto [node, is_new] = t_.node_of.at(c, to.index);
  if (is_new) {
    node = static_cast<u32>(nodes_.size());
    order_.try_emplace({c, k_.cfg.rpo_index[to.index]}, node);
    t_.visited.at(0, to.index).first = 1;
    nodes_.push_back({c, to, {false, false}, true, {}});
    back_in_time_ |= is_old(c, to);
  }
  return c;
}

void Side::mark(u32 context, BlockId b) {
  if (const u32* node = t_.node_of.find(context, b.index)) nodes_[*node].stale = true;
}

/// Has everything evaluated again that `v`, which has changed in block `at`, goes into.
void Side::mark_users(u32 c, ValueId v, BlockId at) {
  for (const BlockId b : k_.operand_users[v.index])
    if (b != at) mark(c, b); // later instructions of the same block are still to come
  for (const BlockId b : k_.edge_users[v.index])
    for (const Successor& s : k_.f[b].successors) mark(context_of(c, s.block), s.block);
}

bool Side::is_old(u32 c, BlockId b) const {
  if (c == 0) return k_.dom.dominates(b, from_);
  return b != headers_[c - 1] && k_.dom.dominates(b, headers_[c - 1]);
}

Symbol Side::symbol(u32 c, ValueId v) const {
  if (const Symbol* s = t_.known.find(c, v.index)) return *s;
  return k_.f.is_const(v) || is_old(c, k_.f.def_block(v)) ? past_.symbol(v) : kTop;
}

/// Symbols only descend: unknown, then a symbol, then one of its own for good.
void Side::update(u32 c, ValueId v, BlockId at, Symbol now) {
  if (now == kTop) return;
  const bool may_be_unseen = c == 0 && past_.leaves_out_unseen() && now != kEmpty;
  if (may_be_unseen && past_.is_unseen(*k_.demand, v, at)) now = unseen_symbol(v);
  const Symbol own = fresh_symbol(number_, c, v);
  if (now == kConflict) now = own;
  const auto [symbol, is_new] = t_.known.at(c, v.index);
  if (!is_new && (symbol == now || symbol == own)) return;
  symbol = is_new ? now : own;
  mark_users(c, v, at);
}

void Side::evaluate(std::size_t n) {
  const u32 c = nodes_[n].context;
  const BlockId b = nodes_[n].block;
  for (const ValueId p : k_.f[b].params) update(c, p, b, parameter(nodes_[n], p));
  for (const InstId i : k_.f[b].insts) {
    if (k_.f[i].op == Op::Const) continue; // a value of the past, wherever it stands
    for (unsigned r = 0; r < k_.f[i].num_results; ++r) update(c, k_.f.result(i, r), b, result(c, i, r));
  }
  follow_edges(n);
}

Symbol Side::parameter(const Node& node, ValueId p) const {
  const u32 index = k_.f[p].index;
  Symbol all = kTop;
  if (node.block == edge_.block && node.context == context_of(0, node.block))
    all = symbol(0, edge_.args[index]);
  for (const Way& way : node.ways_in) all = meet(all, symbol(way.context, way.edge->args[index]));
  return all;
}

Symbol Side::result(u32 c, InstId i, unsigned r) {
  const Inst& inst = k_.f[i];
  if (!info(inst.op).is(kPure)) return fresh_symbol(number_, c, k_.f.result(i, r));
  operands_.clear();
  for (const ValueId o : k_.f.operands(i)) {
    operands_.push_back(symbol(c, o));
    if (operands_.back() == kTop) return kTop;
  }
  if (is_as_before(i)) return past_.symbol(k_.f.result(i, r));
  if (inst.op == Op::Select && (operands_[0] == kEmpty || operands_[1] == operands_[2])) return operands_[2];
  return symbols_.expression(i, r, operands_);
}

/// The results of `i`, whose operands are the symbols operands_, existed at the branch and were made of what
/// the operands still are.
bool Side::is_as_before(InstId i) const {
  if (!is_old(0, k_.f[i].block)) return false;
  const auto x = k_.f.operands(i);
  for (unsigned n = 0; n < x.size(); ++n)
    if (operands_[n] != past_.symbol(x[n])) return false;
  return true;
}

/// The two ways of the decided branch that ends `b` meet again at J at the latest, and before `b` comes
/// again.
bool Side::meets_up_to_join(BlockId b) const {
  const BlockId meeting = k_.joins[b.index];
  for (BlockId at = k_.post.ipdom[b.index]; at != meeting; at = k_.post.ipdom[at.index]) {
    join_matters_ |= at == join_;
    if (!at.valid() || at == join_) return false;
  }
  std::vector<BlockId> work = {k_.f[b].successors[0].block};
  std::vector<bool> seen(k_.f.num_blocks(), false);
  while (!work.empty()) {
    const BlockId at = work.back();
    work.pop_back();
    if (at == b) return false;
    if (at == meeting || seen[at.index]) continue;
    seen[at.index] = true;
    for (const Successor& s : k_.f[at].successors) work.push_back(s.block);
  }
  return true;
}

/// Enters the blocks that can be reached from node `n` as far as is known now.
void Side::follow_edges(std::size_t n) {
  const u32 c = nodes_[n].context;
  const BlockId b = nodes_[n].block;
  const auto& successors = k_.f[b].successors;
  bool take[2] = {true, true};
  if (successors.size() == 2 && k_.decided[b.index]) {
    // A gang with lanes goes the first way. For one without, that branch's own proof says that both ways lead
    // to the same where they meet, and do no harm up to there: so one way is enough, whoever decides. Without
    // that it is the gang's slice that decides on its own way, and on the wave's, the wave.
    const ValueId any = k_.f.operands(k_.f.terminator(b))[0];
    const Symbol mask = symbol(c, k_.f.operands(k_.f.def_id(any))[0]);
    const bool meets = meets_up_to_join(b), own_way = number_ == 1;
    take[0] = mask != kTop && (mask != kEmpty || (!meets && !own_way));
    take[1] = mask != kTop && (mask == kEmpty || !meets);
  }
  for (std::size_t s = 0; s < successors.size(); ++s) {
    if (!take[s] || nodes_[n].edges_done[s]) continue;
    nodes_[n].edges_done[s] = true;
    follow({c, b, static_cast<u32>(s), &successors[s]});
  }
}

void Side::follow(const Way& way) {
  const BlockId to = way.edge->block;
  if (to == join_) {
    exits_.push_back(way);
    return;
  }
  if (k_.cfg.rpo_index[to.index] <= k_.cfg.rpo_index[way.from.index]) cycle_ = true;
  const u32 target = enter(way.context, to);
  Node& node = nodes_[*t_.node_of.find(target, to.index)];
  node.ways_in.push_back(way);
  node.stale = true;
}

} // namespace lanewise::phases
