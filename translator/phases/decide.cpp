// Gang-decided branches. The wave takes the `any` side if a bit of m is set in any gang. A gang whose slice
// of m is empty may take the `none` side instead if nothing can tell. Both sides are followed symbolically up
// to a postdominator J, under the assumption "m is empty in this gang", and must agree on everything that is
// looked at from J on:
//
//  - Every value gets a symbol: an expression over the values that existed at the branch. Masks are
//    simplified on the way (select(empty, a, b) is b, x | empty is x, x & ~(x | y) is empty); a block
//    parameter is what all ways in agree on (optimistically, to a fixed point). Scalars take part like all
//    others: one that differs (a loop counter carried out of a loop that this gang left early) blocks the
//    decision unless it is dead.
//  - On the `none` side the gang itself decides: a branch on a mask that is symbolically empty goes one way
//    only. (So a loop body that is skipped once nobody is left leads straight out of the loop, and what
//    differs at its end is never read.)
//  - Where ways bring different values to J, the sides do not agree, though both may bring all of them: which
//    way is taken may depend on what differs. Of other decided branches only one way is followed if their
//    ways meet at J at the latest: by their own proofs, it leads there to what both do.
//  - What differs nevertheless may differ where nobody looks: then it is asked what the value is in the lanes
//    where somebody does (seen.hpp), which must be the same on both sides.
//  - Every store and atomic on either side must be under an empty mask.
//  - The `none` side must be free of cycles, since the wave never walks it in this case: nothing else
//    guarantees that it ends. (A loop left when "any lane is done" has its cycle there: it stays at wave
//    level.)
//  - Neither side may hold an operation that needs the whole wave, other than branches that are decidable
//    themselves.
//
// The last point makes branches depend on each other: all candidates are assumed decidable, and those whose
// proof fails are dropped until the rest stands. Sound, because what a proof takes for granted of others lies
// later in the execution than its own branch, which ends.
//
// Times: if J lies outside loops that hold the branch, the `any` side passes the branch again. Values that
// were defined before the branch in those loops then exist twice, as they were and as they are now; nodes are
// therefore (context, block), where the context counts the loop headers passed, innermost first. A side that
// comes back to such code without a change of context (the loop holds J too) proves nothing.
#include "translator/phases/decide.hpp"

#include "translator/passes/lane_demand.hpp"
#include "translator/phases/seen.hpp"
#include "translator/phases/side.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace lanewise::phases {

using namespace ir;

namespace {

/// Blocks that the proofs about one branch may look at, over all joins that are tried, and for one of them on
/// each side: of those that succeed, hardly any looks at half as many.
constexpr std::size_t kMaxNodes = 1000, kMaxSide = 500;
constexpr unsigned kMaxJoins = 16;

class Decider {
public:
  Decider(Function& f, std::vector<Reason>* reasons) : f_(f), reasons_(reasons) {}

  /// What is known of the masks, if that was asked.
  std::shared_ptr<const passes::MaskAnalysis> run() {
    merge_ends();
    own_any_lanes(f_);
    if (!has_candidates()) return nullptr;
    known_ = std::make_shared<const passes::MaskAnalysis>(f_);
    decide(*known_);
    return known_;
  }

private:
  void decide(const passes::MaskAnalysis& known) {
    const Cfg& cfg = known.cfg;
    const Dominators& dom = known.dom;
    const Loops loops(f_, cfg, dom);
    if (loops.irreducible) return;
    const PostDominators post(f_, cfg);
    decided_.assign(f_.num_blocks(), false);
    joins_.assign(f_.num_blocks(), BlockId{});
    std::vector<BlockId> candidates;
    for (const BlockId b : cfg.rpo)
      if (is_candidate(b)) {
        decided_[b.index] = true;
        joins_[b.index] = post.ipdom[b.index];
        candidates.push_back(b);
      }
    SideFacts facts(f_, cfg, dom, loops, known.facts, decided_, joins_, post);
    Workplace workplace(facts);
    workplace_ = &workplace;
    find_whole_wave_operations();
    // A proof rests on the candidates that it passes: once one of them is dropped it is tried again.
    std::vector<std::vector<BlockId>> rests_on_me(f_.num_blocks());
    std::vector<bool> stale = decided_;
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : candidates) {
        if (!stale[b.index]) continue;
        stale[b.index] = false;
        passed_.clear();
        const BlockId assumed = joins_[b.index];
        decided_[b.index] = find_join(b, post);
        for (const BlockId p : passed_)
          if (decided_[p.index]) rests_on_me[p.index].push_back(b);
        if (decided_[b.index] && joins_[b.index] == assumed) continue;
        changed = true;
        for (const BlockId user : rests_on_me[b.index]) stale[user.index] = decided_[user.index];
        if (!decided_[b.index] && reasons_ != nullptr) reasons_->push_back({b, why_});
      }
    }
    for (const BlockId b : candidates)
      if (decided_[b.index]) f_[f_.terminator(b)].imm = gang_decided(joins_[b.index]);
  }

  /// What proofs are made with.
  struct Workplace {
    explicit Workplace(SideFacts& k)
        : facts(k), symbols(k.f, k.masks), past(k, symbols), tables{SideTables(k.f), SideTables(k.f)} {}
    SideFacts& facts;
    Symbols symbols;
    Past past;
    SideTables tables[2];
    std::optional<Side> any, none; ///< of the last attempt
  };
  Function& f_;
  std::vector<Reason>* reasons_;
  std::vector<bool> decided_;      ///< per block
  std::vector<BlockId> joins_;     ///< per decided block
  std::vector<InstId> whole_wave_; ///< per block: the first operation that needs the whole wave, if any
  Workplace* workplace_ = nullptr;
  std::shared_ptr<const passes::MaskAnalysis> known_;
  std::unique_ptr<passes::LaneDemand> demand_; ///< once it has been asked for
  std::vector<BlockId> passed_;                ///< by the attempts to find a join
  std::string why_;
  bool differs_ = false;   ///< the last attempt failed since the sides did not agree
  bool hopeless_ = false;  ///< no later join will do
  bool solved_ = false;    ///< the last attempt knew both sides; one at a farther join may go on from there
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
    for (const BlockId b : ends) f_.become_jump(b, {end, {}});
  }

  bool has_candidates() const {
    for (u32 b = 0; b < f_.num_blocks(); ++b)
      if (!f_.blocks[b].insts.empty() && is_candidate(BlockId{b})) return true;
    return false;
  }
  bool is_candidate(BlockId b) const {
    return f_.tested_mask(b).valid() && f_[b].successors[0].block != f_[b].successors[1].block;
  }

  /// Finds the nearest postdominator at which the two sides agree, from the one assumed until now on. If
  /// there is none, why_ says what the first attempt failed on.
  bool find_join(BlockId b, const PostDominators& post) {
    std::string first;
    BlockId& join = joins_[b.index];
    if (!join.valid()) why_ = "the branch's two sides never meet";
    if (join.valid() && !wave_side_is_free(b, join)) return false;
    const ValueId mask = f_.operands(f_.def_id(f_.operands(f_.terminator(b))[0]))[0];
    workplace_->past.assume_empty(mask, b);
    hopeless_ = solved_ = false;
    budget_ = kMaxNodes;
    for (unsigned n = 0; n < kMaxJoins && join.valid() && !hopeless_ && budget_ != 0;
         ++n, join = post.ipdom[join.index]) {
      why_.clear();
      if (agree_at(b, join) || agree_on_what_is_seen(b, join)) return true;
      if (n == 0) first = why_;
    }
    if (!first.empty()) why_ = first;
    return false;
  }

  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool differ(std::string why) {
    differs_ = true;
    return no(std::move(why));
  }
  /// For what a later join cannot mend either.
  bool never(std::string why) {
    hopeless_ = true;
    return no(std::move(why));
  }

  /// Whether the side that the wave goes may lie before a join: no operation on it needs the whole wave.
  /// Farther joins would add to it, so this is asked first and once.
  bool wave_side_is_free(BlockId b, BlockId join) {
    std::vector<bool> seen(f_.num_blocks(), false);
    std::vector<BlockId> work = {f_[b].successors[0].block};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == join || seen[at.index]) continue;
      seen[at.index] = true;
      passed_.push_back(at);
      if (const InstId i = needs_wave(at); i.valid()) return no(describe_whole_wave(i));
      for (const Successor& s : f_[at].successors) work.push_back(s.block);
    }
    return true;
  }

  /// The same once more, if that may help, without what only lanes of the branch's mask look at.
  bool agree_on_what_is_seen(BlockId b, BlockId join) {
    if (!differs_ || workplace_->past.leaves_out_unseen() || demand() == nullptr) return false;
    workplace_->past.leave_out_unseen();
    solved_ = false; // with what is left out now
    return agree_at(b, join);
  }

  bool agree_at(BlockId b, BlockId join) {
    differs_ = false;
    const auto& successors = f_[b].successors;
    Workplace& w = *workplace_;
    const bool goes_on =
        std::exchange(solved_, false) && w.any->can_go_on_to(join) && w.none->can_go_on_to(join);
    if (!goes_on) {
      w.symbols.clear();
      w.past.forget_expressions();
      w.any.emplace(w.facts, w.symbols, w.past, w.tables[0], 0, Side::Branch{b, successors[0], join});
      w.none.emplace(w.facts, w.symbols, w.past, w.tables[1], 1, Side::Branch{b, successors[1], join});
    }
    Side &any = *w.any, &none = *w.none;
    const std::size_t budget = budget_;
    for (Side* side : {&none, &any}) {
      const std::size_t most = std::min(budget, kMaxSide);
      const std::string_view in_the_way = goes_on ? side->go_on_to(join, most) : side->solve(most);
      budget_ = side->num_nodes() > most ? 0 : std::min(budget_, budget - side->num_nodes());
      side->all_blocks([&](u32, BlockId at) {
        passed_.push_back(at);
        return true;
      });
      if (!in_the_way.empty()) return no(std::string(in_the_way));
      if (side == &none && !none.reaches_join()) return no("a gang without lanes might never leave the loop");
      if (side == &none && none.has_cycle()) return never("a gang without lanes might never leave the loop");
      if (!harmless(*side)) return false;
    }
    solved_ = true;
    for (u32 p = 0; p < f_[join].params.size(); ++p)
      if (any.join_argument(p) != none.join_argument(p) && !is_unseen(p, any, none, join) &&
          !is_seen_alike(p, any, none))
        return differ(fmt::format("v{} at the join would differ between gangs", f_[join].params[p].index));
    const std::vector<bool> between = blocks_between(b, join);
    return escaping_values_agree(any, none, between) && escaping_values_agree(none, any, between);
  }

  /// Nobody looks at what J gets as its parameter number `p`, whichever way it comes there.
  bool is_unseen(u32 p, const Side& any, const Side& none, BlockId join) {
    if (!is_per_lane(f_.type(f_[join].params[p])) || demand() == nullptr) return false;
    return workplace_->past.is_unseen(*demand(), f_[join].params[p], join) ||
           (none.is_unseen(*demand(), p) && any.is_unseen(*demand(), p));
  }

  /// In the lanes that anybody looks at, what J gets as its parameter number `p` is the same from either
  /// side.
  bool is_seen_alike(u32 p, const Side& any, const Side& none) {
    if (!looks_at_lanes()) return false;
    const ValueId param = f_[any.join()].params[p];
    return agrees_by_halves(param, any, none,
                            [&](Seen& seen, unsigned half) { return seen.join_argument(p, half); });
  }
  /// The same of value `v`, of which `users` behind J make use.
  bool is_seen_alike(ValueId v, std::span<const BlockId> users, const Side& any, const Side& none) {
    const auto& dom = known_->dom;
    if (!looks_at_lanes() ||
        !std::ranges::all_of(users, [&](BlockId b) { return dom.dominates(any.join(), b); }))
      return false;
    const auto lanes = demand_->of_uses(v, users);
    return agrees_by_halves(v, any, none,
                            [&](Seen& seen, unsigned half) { return seen.at_join(v, half, lanes[half]); });
  }
  /// Worth asking only where all else has failed.
  bool looks_at_lanes() { return workplace_->past.leaves_out_unseen() && demand() != nullptr; }

  template <class F>
  bool agrees_by_halves(ValueId v, const Side& any, const Side& none, F what) {
    const Type t = f_.type(v);
    if (!is_per_lane(t)) return false;
    Seen on_any(workplace_->facts, workplace_->symbols, any),
        on_none(workplace_->facts, workplace_->symbols, none);
    for (unsigned half = 0; half < (t == Type::V64 ? 2u : 1u); ++half) {
      const Symbol a = what(on_any, half), b = what(on_none, half);
      if (a != b || a == kConflict) return false;
    }
    return true;
  }

  /// Null if it cannot be found.
  const passes::LaneDemand* demand() {
    if (!demand_) {
      demand_ = std::make_unique<passes::LaneDemand>(f_, known_);
      if (demand_->find()) workplace_->facts.demand = demand_.get();
    }
    return workplace_->facts.demand;
  }

  /// The blocks on ways from `b` to `join`.
  std::vector<bool> blocks_between(BlockId b, BlockId join) const {
    std::vector<bool> between(f_.num_blocks(), false);
    std::vector<BlockId> work = {b};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      for (const Successor& s : f_[at].successors) {
        if (s.block == join || between[s.block.index]) continue;
        between[s.block.index] = true;
        work.push_back(s.block);
      }
    }
    return between;
  }

  bool harmless(const Side& side) {
    return side.all_blocks([&](u32 context, BlockId inner) {
      if (const InstId i = needs_wave(inner); i.valid()) return never(describe_whole_wave(i));
      for (const InstId i : f_[inner].insts)
        if (info(f_[i].op).is(kStores) && !side.is_empty(context, f_.operands(i).back()))
          return never(
              fmt::format("a store at {:#x} is not proved to be masked by the branch's condition", f_[i].pc));
      return true;
    });
  }

  void find_whole_wave_operations() {
    whole_wave_.assign(f_.num_blocks(), InstId{});
    for (u32 b = 0; b < f_.num_blocks(); ++b)
      for (const InstId i : f_.blocks[b].insts) {
        if (!is_whole_wave(i, BlockId{b})) continue;
        whole_wave_[b] = i;
        break;
      }
  }

  /// Whether instruction `i` of block `b` must not lie between a gang-decided branch and its join. The
  /// candidates' own conditions are left out here.
  bool is_whole_wave(InstId i, BlockId b) const {
    const Inst& inst = f_[i];
    if (inst.op == Op::ScalarStore || waits_for_waves(inst.op) || inst.op == Op::EndPgm ||
        inst.op == Op::Trap || inst.op == Op::BadJump || inst.op == Op::Clock)
      return true;
    if (is_candidate(b) && f_.operands(f_.terminator(b))[0] == f_.result(i)) return false;
    for (unsigned n = 0; n < inst.num_operands; ++n)
      if (info(inst.op).reads_whole(n)) return true;
    return false;
  }

  /// The operation in block `b` that needs the whole wave, or nothing.
  InstId needs_wave(BlockId b) const {
    if (whole_wave_[b.index].valid()) return whole_wave_[b.index];
    if (decided_[b.index] || !is_candidate(b)) return {};
    return f_.def_id(f_.operands(f_.terminator(b))[0]);
  }

  std::string describe_whole_wave(InstId i) const {
    const OpInfo& op = info(f_[i].op);
    const bool across = op.reads_whole(0) || op.reads_whole(1) || op.reads_whole(2);
    return fmt::format("{} at {:#x} {}", op.text, f_[i].pc,
                       across ? "looks across gangs" : "concerns the whole wave");
  }

  /// Values computed on side `a` and used beyond J (they dominate it) must be the same after either side.
  bool escaping_values_agree(const Side& a, const Side& b, const std::vector<bool>& between) {
    const SideFacts& k = workplace_->facts;
    const auto inside = [&](BlockId u) { return between[u.index]; };
    const auto agrees = [&](ValueId v) {
      const auto operands = k.operand_users[v.index], edges = k.edge_users[v.index];
      if (std::all_of(operands.begin(), operands.end(), inside) &&
          std::all_of(edges.begin(), edges.end(), inside))
        return true;
      if (a.at_join(v) == b.at_join(v)) return true;
      std::vector<BlockId> users;
      for (const auto& all : {operands, edges})
        std::ranges::copy_if(all, std::back_inserter(users), std::not_fn(inside));
      return is_seen_alike(v, users, a, b) ||
             differ(fmt::format("v{} would differ between gangs after the branch", v.index));
    };
    return a.all_blocks([&](u32, BlockId inner) {
      const auto& params = f_[inner].params;
      if (!std::all_of(params.begin(), params.end(), agrees)) return false;
      for (const InstId i : f_[inner].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r)
          if (!agrees(f_.result(i, r))) return false;
      return true;
    });
  }
};

} // namespace

bool is_gang_decided(const Function& f, BlockId b) {
  return f.tested_mask(b).valid() && (f[f.terminator(b)].imm & kGangDecided) != 0;
}

void own_any_lanes(Function& f) {
  std::vector<u32> uses = f.use_counts();
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
    const InstId copy = f.insert_before_end(b, proto, {&mask, 1}, {&t, 1});
    f.operands(branch)[0] = f.result(copy);
    if (--uses[c.index] == 0) { // Left where it is, it would look across gangs.
      auto& old = f[f[any].block].insts;
      old.erase(std::find(old.begin(), old.end(), any));
      f[any].block = BlockId{};
    }
  }
}

std::shared_ptr<const passes::MaskAnalysis> decide_branches(Function& f, std::vector<Reason>* reasons) {
  return Decider(f, reasons).run();
}

} // namespace lanewise::phases
