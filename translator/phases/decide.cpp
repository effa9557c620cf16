// Gang-decided branches. The wave takes the `any` side if a bit of m is set in any gang. A gang whose slice
// of m is empty may take the `none` side instead if nothing can tell. Both sides are followed symbolically up
// to a postdominator J, under the assumption "m is empty in this gang", and must agree on everything that is
// looked at from J on:
//
//  - Every value gets a symbol: an expression over the values that existed at the branch. Masks are
//  simplified on the way
//    (select(empty, a, b) is b, x | empty is x, x & ~(x | y) is empty); a block parameter is what all ways in
//    agree on (optimistically, to a fixed point). Scalars take part like all others: one that differs (a loop
//    counter carried out of a loop that this gang left early) blocks the decision unless it is dead.
//  - On the `none` side the gang itself decides: a branch on a mask that is symbolically empty goes one way
//  only. (So a loop
//    body that is skipped once nobody is left leads straight out of the loop, and what differs at its end is
//    never read.)
//  - Every store and atomic on either side must be under an empty mask.
//  - The `none` side must be free of cycles, since the wave never walks it in this case: nothing else
//  guarantees that it ends.
//    (A loop left when "any lane is done" has its cycle there: it stays at wave level.)
//  - Neither side may hold an operation that needs the whole wave, other than branches that are decidable
//  themselves.
//
// The last point makes branches depend on each other: all candidates are assumed decidable, and those whose
// proof fails are dropped until the rest stands. Sound, because a proof compares a gang's first deviation
// with the wave's own path, on which every way of every branch is followed.
//
// Times: if J lies outside loops that hold the branch, the `any` side passes the branch again. Values that
// were defined before the branch in those loops then exist twice, as they were and as they are now; nodes are
// therefore (context, block), where the context counts the loop headers passed, innermost first.
#include "translator/phases/decide.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/passes/mask_facts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory_resource>
#include <span>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

/// Blocks that the proofs about one branch may look at, over all joins that are tried.
constexpr std::size_t kMaxNodes = 1000;
constexpr unsigned kMaxJoins = 6;

using Symbol = u32;
constexpr Symbol kTop = ~0u, kConflict = ~0u - 1, kEmpty = ~0u - 2;

/// Expressions, numbered so that equal ones have equal numbers. Numbers below the number of values are values
/// of the past.
class Symbols {
public:
  Symbols(const Function& f, const passes::MaskFacts& facts, std::pmr::memory_resource* arena)
      : f_(f), facts_(facts), next_(f.num_values()), nodes_(arena), numbers_(arena) {}

  /// Something nobody else equals: the value `v` as computed anew in context `context` of side `side`.
  Symbol fresh(unsigned side, u32 context, ValueId v) {
    Key key(numbers_.get_allocator());
    key.assign({~u64{0}, u64{side} << 32 | context, v.index});
    return number(std::move(key));
  }

  /// Result `r` of pure instruction `i` on operands with these symbols.
  Symbol expression(InstId i, unsigned r, std::span<const Symbol> x) {
    const Inst& inst = f_[i];
    if (f_.type(f_.result(i, r)) == Type::Mask)
      if (const Symbol s = simplify(inst.op, x); s != kTop) return s;
    if (inst.op == Op::U64ToMask || inst.op == Op::MaskToU64)
      if (const Node* n = node(x[0]); n != nullptr && n->is_conversion_back(inst.op)) return n->x[0];
    Key key(numbers_.get_allocator());
    key.reserve(3 + x.size());
    key.assign({static_cast<u64>(inst.op) << 8 | r, inst.imm, fp_key(inst.fp)});
    key.insert(key.end(), x.begin(), x.end());
    const Symbol s = number(std::move(key));
    if (s - f_.num_values() == nodes_.size() - 1 && nodes_.back().x.empty()) {
      nodes_.back().op = inst.op;
      nodes_.back().x.assign(x.begin(), x.end());
    }
    return s;
  }

  [[nodiscard]] bool subset(Symbol a, Symbol b, unsigned depth = 0) const {
    if (a == b || a == kEmpty) return true;
    if (depth > 6) return false;
    const Node *na = node(a), *nb = node(b);
    if (na == nullptr && nb == nullptr && is_past(a) && is_past(b))
      return facts_.implies(ValueId{a}, ValueId{b});
    if (na != nullptr) {
      if (na->op == Op::And && (subset(na->x[0], b, depth + 1) || subset(na->x[1], b, depth + 1)))
        return true;
      if (na->op == Op::AndNot && subset(na->x[0], b, depth + 1)) return true;
      if (na->op == Op::Or && subset(na->x[0], b, depth + 1) && subset(na->x[1], b, depth + 1)) return true;
    }
    return nb != nullptr && nb->op == Op::Or &&
           (subset(a, nb->x[0], depth + 1) || subset(a, nb->x[1], depth + 1));
  }

private:
  using Key = std::pmr::vector<u64>;
  struct Node {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    Op op{};
    std::pmr::vector<Symbol> x;
    explicit Node(const allocator_type& a) : x(a) {}
    Node(Node&& n, const allocator_type& a) : op(n.op), x(std::move(n.x), a) {}
    [[nodiscard]] bool is_conversion_back(Op outer) const {
      return (outer == Op::U64ToMask && op == Op::MaskToU64) ||
             (outer == Op::MaskToU64 && op == Op::U64ToMask);
    }
  };
  const Function& f_;
  const passes::MaskFacts& facts_;
  Symbol next_;
  std::pmr::vector<Node> nodes_; ///< of the numbers from num_values() on; no operands: opaque
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      u64 h = key.size();
      for (const u64 word : key) h = (h ^ word) * 0x9e37'79b9'7f4a'7c15 + (h >> 29);
      return h;
    }
  };
  std::pmr::unordered_map<Key, Symbol, KeyHash> numbers_;

  [[nodiscard]] bool is_past(Symbol s) const { return s < f_.num_values(); }
  [[nodiscard]] const Node* node(Symbol s) const {
    if (is_past(s) || s >= next_) return nullptr;
    const Node& n = nodes_[s - f_.num_values()];
    return n.x.empty() ? nullptr : &n;
  }
  Symbol number(Key key) {
    const auto [it, is_new] = numbers_.try_emplace(std::move(key), next_);
    if (is_new) {
      ++next_;
      nodes_.emplace_back();
    }
    return it->second;
  }
  static u64 fp_key(const FpAttr& fp) {
    return static_cast<u64>(fp.kind) | static_cast<u64>(fp.round) << 2 | u64{fp.flush_in} << 4 |
           u64{fp.flush_out} << 5 | u64{fp.ieee} << 6 | u64{fp.dx10_clamp} << 7;
  }

  /// Mask algebra; kTop if nothing simpler is known.
  [[nodiscard]] Symbol simplify(Op op, std::span<const Symbol> x) const {
    switch (op) {
    case Op::And:
      if (subset(x[0], x[1])) return x[0];
      return subset(x[1], x[0]) ? x[1] : kTop;
    case Op::AndNot:
      if (subset(x[0], x[1])) return kEmpty;
      return x[1] == kEmpty ? x[0] : kTop;
    case Op::Or:
      if (subset(x[0], x[1])) return x[1];
      return subset(x[1], x[0]) ? x[0] : kTop;
    case Op::Xor:
      if (x[0] == x[1]) return kEmpty;
      return x[0] == kEmpty ? x[1] : x[1] == kEmpty ? x[0] : kTop;
    default: return kTop;
    }
  }
};

/// What Side needs to know about the function.
struct Facts {
  const Function& f;
  const Cfg& cfg;
  const Dominators& dom;
  const Loops& loops;
  const passes::MaskFacts& masks;
  const std::vector<bool>& decided; ///< per block
};

/// One side of a branch, followed from its first block to J.
class Side {
public:
  Side(const Facts& facts, Symbols& symbols, std::pmr::memory_resource* arena, unsigned number,
       ValueId empty_mask, BlockId from, const Successor& edge, BlockId join)
      : k_(facts), symbols_(symbols), number_(number), empty_mask_(empty_mask), from_(from), edge_(edge),
        join_(join), headers_(arena), nodes_(arena), order_(arena), back_edges_(arena), exits_(arena),
        ways_in_(arena), known_(arena) {
    // The loops that hold the branch but not J, innermost first.
    for (i32 l = k_.loops.innermost[from.index]; l >= 0 && !k_.loops.contains(l, join);
         l = k_.loops.loops[static_cast<unsigned>(l)].parent)
      headers_.push_back(k_.loops.loops[static_cast<unsigned>(l)].header);
  }

  /// Follows the side to a fixed point. False if it is too large.
  bool solve(std::size_t max_nodes) {
    enter(0, edge_.block);
    if (edge_.block == join_) exits_.push_back({0, from_, &edge_});
    // In the order of execution, and only what something before it changed since: code outside loops is
    // looked at once.
    for (bool again = true; again;) {
      again = false;
      u32 changed_before = 0;
      for (const auto& [place, n] : order_) {
        if (nodes_[n].evaluated == 0 || changed_before > nodes_[n].evaluated || loops_back(place, n)) {
          nodes_[n].evaluated = ++clock_;
          if (evaluate(n)) nodes_[n].changed = clock_;
          again = true;
        }
        changed_before = std::max(changed_before, nodes_[n].changed);
        if (nodes_.size() > max_nodes) return false;
      }
    }
    return true;
  }

  /// The blocks on this side; a block may come twice, in different contexts.
  template <class F>
  void for_each_block(F visit) const {
    for (const Node& n : nodes_) visit(n.context, n.block);
  }
  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }
  [[nodiscard]] bool has_cycle() const { return cycle_ || passes(from_); }
  [[nodiscard]] bool passes(BlockId b) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& n) { return n.block == b; });
  }
  /// Some way leads to J. (Else this side never ends, and the two need not agree.)
  [[nodiscard]] bool reaches_join() const { return !exits_.empty(); }

  /// What J's parameter number `index` gets from this side.
  [[nodiscard]] Symbol join_argument(u32 index) const {
    Symbol all = kTop;
    for (const Exit& e : exits_) all = meet(all, symbol(e.context, e.edge->args[index]));
    return all;
  }
  /// What `v` is when J is reached.
  [[nodiscard]] Symbol at_join(ValueId v) const {
    Symbol all = kTop;
    for (const Exit& e : exits_) all = meet(all, symbol(e.context, v));
    return all;
  }
  [[nodiscard]] bool is_empty(u32 context, ValueId mask) const { return symbol(context, mask) == kEmpty; }

private:
  struct Node {
    u32 context;
    BlockId block;
    bool edges_done[2] = {false, false};
    u32 evaluated = 0, changed = 0; ///< when, in evaluations so far
  };
  struct Exit {
    u32 context;
    BlockId from;
    const Successor* edge;
  };
  struct WayIn {
    u32 context;
    const Successor* edge;
  };
  const Facts& k_;
  Symbols& symbols_;
  unsigned number_;
  ValueId empty_mask_;
  BlockId from_;
  const Successor& edge_;
  BlockId join_;
  std::pmr::vector<BlockId> headers_;
  using Place = std::pair<u32, u32>; ///< context, position in reverse postorder
  std::pmr::vector<Node> nodes_;
  std::pmr::map<Place, std::size_t> order_;           ///< the nodes
  std::pmr::multimap<Place, std::size_t> back_edges_; ///< from the nodes, by where they lead
  u32 clock_ = 0;
  std::pmr::vector<Exit> exits_;
  std::pmr::unordered_map<u64, std::pmr::vector<WayIn>> ways_in_; ///< by node, the edges from inside the side
  std::pmr::unordered_map<u64, Symbol> known_;                    ///< (context, value)
  std::vector<Symbol> operands_;                                  ///< of the instruction looked at
  bool cycle_ = false;

  static u64 key(u32 context, u32 index) { return u64{context} << 32 | index; }
  static Symbol meet(Symbol a, Symbol b) { return a == kTop || a == b ? b : b == kTop ? a : kConflict; }

  /// The context in which `to` is entered from context `c`.
  u32 context_of(u32 c, BlockId to) const {
    for (u32 h = static_cast<u32>(headers_.size()); h > c; --h)
      if (headers_[h - 1] == to) return h;
    return c;
  }
  u32 enter(u32 from_context, BlockId to) {
    const u32 c = context_of(from_context, to);
    if (to == join_) return c;
    const Place place = {c, k_.cfg.rpo_index[to.index]};
    if (order_.try_emplace(place, nodes_.size()).second) nodes_.push_back({c, to});
    return c;
  }

  /// A node from which an edge leads back to node `n` has changed since that was evaluated.
  bool loops_back(const Place& place, std::size_t n) const {
    const auto [first, last] = back_edges_.equal_range(place);
    return std::any_of(first, last,
                       [&](const auto& edge) { return nodes_[edge.second].changed >= nodes_[n].evaluated; });
  }

  /// What `v` was when the branch was reached.
  Symbol past(ValueId v) const {
    u64 bits = 1;
    if (k_.f.type(v) == Type::Mask &&
        ((k_.f.is_const(v, &bits) && bits == 0) || k_.masks.implies(v, empty_mask_)))
      return kEmpty;
    return v.index;
  }
  /// `v` has not been computed again since the branch, as seen in context `c`.
  bool is_old(u32 c, ValueId v) const {
    const BlockId at = k_.f.def_block(v);
    if (c == 0) return at == from_ || k_.dom.dominates(at, from_);
    return at != headers_[c - 1] && k_.dom.dominates(at, headers_[c - 1]);
  }
  Symbol symbol(u32 c, ValueId v) const {
    u64 bits = 0;
    if (k_.f.is_const(v, &bits)) return past(v); // wherever it stands
    if (is_old(c, v)) return past(v);
    const auto it = known_.find(key(c, v.index));
    return it == known_.end() ? kTop : it->second;
  }

  /// Symbols only descend: unknown, then a symbol, then one of its own for good.
  bool update(u32 c, ValueId v, Symbol now) {
    if (now == kTop) return false;
    const Symbol own = symbols_.fresh(number_, c, v);
    if (now == kConflict) now = own;
    const auto [it, is_new] = known_.try_emplace(key(c, v.index), kTop);
    if (it->second == now || it->second == own) return false;
    it->second = it->second == kTop ? now : own;
    return true;
  }

  bool evaluate(std::size_t n) {
    const u32 c = nodes_[n].context;
    const BlockId b = nodes_[n].block;
    bool changed = false;
    for (const ValueId p : k_.f[b].params) changed |= update(c, p, parameter(c, b, p));
    for (const InstId i : k_.f[b].insts)
      for (unsigned r = 0; r < k_.f[i].num_results; ++r)
        changed |= update(c, k_.f.result(i, r), result(c, i, r));
    return follow_edges(n) || changed;
  }

  Symbol parameter(u32 c, BlockId b, ValueId p) const {
    const u32 index = k_.f[p].index;
    Symbol all = kTop;
    if (b == edge_.block && c == context_of(0, b)) all = symbol(0, edge_.args[index]);
    const auto it = ways_in_.find(key(c, b.index));
    if (it != ways_in_.end())
      for (const WayIn& way : it->second) all = meet(all, symbol(way.context, way.edge->args[index]));
    return all;
  }

  Symbol result(u32 c, InstId i, unsigned r) {
    const Inst& inst = k_.f[i];
    const ValueId v = k_.f.result(i, r);
    const OpInfo& op = info(inst.op);
    if (!op.is(kPure)) return symbols_.fresh(number_, c, v);
    const auto x = k_.f.operands(i);
    operands_.clear();
    for (const ValueId o : x) {
      operands_.push_back(symbol(c, o));
      if (operands_.back() == kTop) return kTop;
    }
    const std::span<const Symbol> s = operands_;
    if (inst.op == Op::Select && (s[0] == kEmpty || s[1] == s[2])) return s[2];
    return symbols_.expression(i, r, s);
  }

  /// Enters the blocks that can be reached from node `n` as far as is known now.
  bool follow_edges(std::size_t n) {
    const u32 c = nodes_[n].context;
    const BlockId b = nodes_[n].block;
    const auto& successors = k_.f[b].successors;
    bool take[2] = {true, true};
    if (number_ == 1 && successors.size() == 2 && k_.decided[b.index]) {
      // The gang's own way: its slice decides.
      const ValueId any = k_.f.operands(k_.f.terminator(b))[0];
      const Symbol mask = symbol(c, k_.f.operands(k_.f.def_id(any))[0]);
      take[0] = mask != kTop && mask != kEmpty;
      take[1] = mask != kTop;
    }
    bool changed = false;
    for (std::size_t s = 0; s < successors.size(); ++s) {
      if (!take[s] || nodes_[n].edges_done[s]) continue;
      nodes_[n].edges_done[s] = true;
      changed = true;
      const BlockId to = successors[s].block;
      if (to == join_) {
        exits_.push_back({c, b, &successors[s]});
        continue;
      }
      const u32 target = enter(c, to);
      if (k_.cfg.rpo_index[to.index] <= k_.cfg.rpo_index[b.index]) {
        cycle_ = true;
        if (target == c) back_edges_.insert({{c, k_.cfg.rpo_index[to.index]}, n});
      }
      ways_in_[key(target, to.index)].push_back({c, &successors[s]});
    }
    return changed;
  }
};

class Decider {
public:
  Decider(Function& f, std::vector<Reason>* reasons) : f_(f), reasons_(reasons) {}

  void run() {
    merge_ends();
    own_any_lanes(f_);
    const Cfg cfg(f_);
    const Dominators dom(f_, cfg);
    const Loops loops(f_, cfg, dom);
    const PostDominators post(f_, cfg);
    const passes::MaskFacts masks(f_, cfg, dom);
    std::vector<bool> decided(f_.num_blocks(), false);
    const Facts facts{f_, cfg, dom, loops, masks, decided};
    facts_ = &facts;
    users_ = collect_users(cfg);
    std::vector<BlockId> candidates, joins(f_.num_blocks());
    for (const BlockId b : cfg.rpo)
      if (is_candidate(b) && !loops.irreducible) {
        decided[b.index] = true;
        candidates.push_back(b);
      }
    relied_on_.resize(f_.num_blocks());
    std::vector<bool> to_prove = decided;
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : candidates) {
        if (!to_prove[b.index] || !decided[b.index]) continue;
        to_prove[b.index] = false;
        joins[b.index] = find_join(b, post);
        if (joins[b.index].valid()) continue;
        decided[b.index] = false;
        changed = true;
        for (const BlockId other : relied_on_[b.index]) to_prove[other.index] = true;
        if (reasons_ != nullptr) reasons_->push_back({b, why_});
      }
    }
    for (const BlockId b : cfg.rpo)
      if (f_[f_.terminator(b)].op == Op::Branch)
        f_[f_.terminator(b)].imm =
            decided[b.index] ? kGangDecided | u64{joins[b.index].index} << kJoinShift : 0;
  }

private:
  Function& f_;
  std::vector<Reason>* reasons_;
  const Facts* facts_ = nullptr;
  std::vector<std::vector<BlockId>> users_;     ///< per value: blocks that use it
  std::vector<std::vector<BlockId>> relied_on_; ///< per block: whose proofs assume that its branch is decided
  std::string why_;
  bool hopeless_ = false;  ///< no later join will do
  std::size_t budget_ = 0; ///< of blocks still to be looked at

  /// So that a branch around s_endpgm has a postdominator.
  void merge_ends() {
    std::vector<BlockId> ends;
    for (u32 b = 0; b < f_.num_blocks(); ++b)
      if (!f_.blocks[b].insts.empty() && f_[f_.terminator(BlockId{b})].op == Op::EndPgm) ends.emplace_back(b);
    if (ends.size() < 2) return;
    const BlockId end = f_.add_block();
    const Inst proto = f_[f_.terminator(ends[0])];
    f_.append(end, proto, {}, {});
    for (const BlockId b : ends) {
      f_[f_.terminator(b)].op = Op::Jump;
      f_[b].successors = {{end, {}}};
    }
  }

  std::vector<std::vector<BlockId>> collect_users(const Cfg& cfg) const {
    std::vector<std::vector<BlockId>> users(f_.num_values());
    const auto add = [&](ValueId v, BlockId b) {
      auto& list = users[v.index];
      if (list.empty() || list.back() != b) list.push_back(b);
    };
    for (const BlockId b : cfg.rpo) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) add(v, b);
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) add(v, b);
    }
    return users;
  }

  bool is_candidate(BlockId b) const {
    const InstId branch = f_.terminator(b);
    if (f_[branch].op != Op::Branch) return false;
    const Inst* any = f_.def(f_.operands(branch)[0]);
    return any != nullptr && any->op == Op::AnyLane && f_[b].successors[0].block != f_[b].successors[1].block;
  }

  /// The nearest postdominator at which the two sides agree, or nothing; why_ then says what the first
  /// attempt failed on.
  BlockId find_join(BlockId b, const PostDominators& post) {
    std::string first;
    BlockId join = post.ipdom[b.index];
    if (!join.valid()) why_ = "the branch's two sides never meet";
    hopeless_ = false;
    budget_ = kMaxNodes;
    for (unsigned n = 0; n < kMaxJoins && join.valid() && !hopeless_; ++n, join = post.ipdom[join.index]) {
      why_.clear();
      if (agree_at(b, join)) return join;
      if (n == 0) first = why_;
    }
    if (!first.empty()) why_ = first;
    return {};
  }

  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }
  /// For what a later join cannot mend either.
  bool never(std::string why) {
    hopeless_ = true;
    return no(std::move(why));
  }

  bool agree_at(BlockId b, BlockId join) {
    const ValueId mask = f_.operands(f_.def_id(f_.operands(f_.terminator(b))[0]))[0];
    const auto& successors = f_[b].successors;
    std::pmr::monotonic_buffer_resource arena;
    Symbols symbols(f_, facts_->masks, &arena);
    Side any(*facts_, symbols, &arena, 0, mask, b, successors[0], join),
        none(*facts_, symbols, &arena, 1, mask, b, successors[1], join);
    if (!any.solve(budget_) || !none.solve(budget_)) return never("too much code up to the join");
    budget_ -= std::min(budget_, std::max(any.num_nodes(), none.num_nodes()));
    for (const Side* side : {&any, &none})
      side->for_each_block([&](u32, BlockId inner) {
        if (facts_->decided[inner.index]) relied_on_[inner.index].push_back(b);
      });
    if (!none.reaches_join()) return no("a gang without lanes might never leave the loop");
    if (none.has_cycle()) return never("a gang without lanes might never leave the loop");
    for (const Side* side : {&any, &none})
      if (!harmless(*side)) return false;
    for (u32 p = 0; p < f_[join].params.size(); ++p)
      if (any.join_argument(p) != none.join_argument(p))
        return no(fmt::format("v{} at the join would differ between gangs", f_[join].params[p].index));
    return escaping_values_agree(any, none) && escaping_values_agree(none, any);
  }

  bool harmless(const Side& side) {
    bool ok = true;
    side.for_each_block([&](u32 context, BlockId inner) {
      for (const InstId i : f_[inner].insts) {
        if (!ok) return;
        if (std::string why = needs_wave(i, inner); !why.empty())
          ok = never(std::move(why));
        else if (info(f_[i].op).is(kStores) && !side.is_empty(context, f_.operands(i).back()))
          ok = never(
              fmt::format("a store at {:#x} is not proved to be masked by the branch's condition", f_[i].pc));
      }
    });
    return ok;
  }

  /// Empty if instruction `i` of block `b` may lie between a gang-decided branch and its join.
  std::string needs_wave(InstId i, BlockId b) const {
    const Inst& inst = f_[i];
    const OpInfo& op = info(inst.op);
    if (inst.op == Op::ScalarStore || inst.op == Op::Barrier || inst.op == Op::EndPgm ||
        inst.op == Op::Trap || inst.op == Op::BadJump || inst.op == Op::Clock)
      return fmt::format("{} at {:#x} concerns the whole wave", op.text, inst.pc);
    if (inst.op == Op::AnyLane && facts_->decided[b.index] &&
        f_.operands(f_.terminator(b))[0] == f_.result(i))
      return {};
    for (unsigned n = 0; n < inst.num_operands; ++n)
      if (op.reads_whole(n)) return fmt::format("{} at {:#x} looks across gangs", op.text, inst.pc);
    return {};
  }

  /// Values computed on side `a` and used beyond J (they dominate it) must be the same after either side.
  bool escaping_values_agree(const Side& a, const Side& b) {
    bool ok = true;
    const auto inside = [&](BlockId u) { return a.passes(u) || b.passes(u); };
    const auto check = [&](ValueId v) {
      const auto& users = users_[v.index];
      if (!ok || std::all_of(users.begin(), users.end(), inside)) return;
      if (a.at_join(v) != b.at_join(v))
        ok = no(fmt::format("v{} would differ between gangs after the branch", v.index));
    };
    a.for_each_block([&](u32, BlockId inner) {
      for (const ValueId v : f_[inner].params) check(v);
      for (const InstId i : f_[inner].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r) check(f_.result(i, r));
    });
    return ok;
  }
};

} // namespace

bool is_gang_decided(const Function& f, BlockId b) {
  const Inst& end = f[f.terminator(b)];
  if (end.op != Op::Branch || (end.imm & kGangDecided) == 0) return false;
  const Inst* any = f.def(f.operands(f.terminator(b))[0]);
  return any != nullptr && any->op == Op::AnyLane;
}

void own_any_lanes(Function& f) {
  const std::vector<u32> uses = f.use_counts();
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    const BlockId b{n};
    if (f.blocks[n].insts.empty() || f[f.terminator(b)].op != Op::Branch) continue;
    const InstId branch = f.terminator(b);
    const ValueId c = f.operands(branch)[0];
    const InstId any = f.def_id(c);
    if (!any.valid() || f[any].op != Op::AnyLane) continue;
    const auto& insts = f[b].insts;
    if (uses[c.index] == 1 && insts.size() >= 2 && insts[insts.size() - 2] == any) continue;
    const ValueId mask = f.operands(any)[0];
    Inst proto = f[any];
    proto.pc = f[branch].pc;
    const Type t = Type::U1;
    const InstId copy = f.append(b, proto, {&mask, 1}, {&t, 1});
    auto& list = f[b].insts;
    std::swap(list[list.size() - 1], list[list.size() - 2]);
    f.operands(branch)[0] = f.result(copy);
    if (uses[c.index] == 1) {
      auto& old = f[f[any].block].insts;
      old.erase(std::find(old.begin(), old.end(), any));
      f[any].block = BlockId{};
    }
  }
}

void decide_branches(Function& f, std::vector<Reason>* reasons) { Decider(f, reasons).run(); }

} // namespace lanewise::phases
