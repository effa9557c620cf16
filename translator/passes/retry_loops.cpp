// Loops that retry a compare-and-swap until it succeeds, which is how everything that has no atomic of its
// own is done: float sums, products, structures. Together, the lanes would take turns: each time round one of
// those that go to one address gets through, and all others have looked for nothing.
//
// A gang may run such a loop alone, before the next gang starts with it. Who gets through in which order is
// the same: all lanes that go to one address expect the same value at first (1) and from then on what they
// have seen. So whenever one gets through, it is the lowest lane of those that are left, and all others see
// what it wrote. What the loop leaves behind depends on that order only, not on how often a lane has tried in
// vain (2).
//
// (1) The first expected value is the same in all lanes, or loaded by one instruction for all lanes from an
// address that follows from that of the compare-and-swap, as is the address itself.
// (2) From one time round to the next nothing is handed on but what is expected and who is left, besides
// which lanes are done, and values that change only in lanes that are left.
#include "translator/passes/retry_loops.hpp"
#include "translator/ir/splats.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/mask_facts.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxLoops = 255; ///< that MemAttr::retry can tell apart

/// One loop of a single block with one access to memory, a compare-and-swap.
class Candidate {
public:
  Candidate(const Function& f, const Cfg& cfg, const MaskFacts& masks, BlockId block, InstId swap)
      : f_(f), cfg_(cfg), masks_(masks), bdd_(masks.bdd()), b_(block), swap_(swap),
        dwords_(f[swap].mem.bytes / 4u) {}

  bool holds() {
    return find_edges() && find_mask() && find_expected() && leaves_on_success() && starts_alike() &&
           swaps_for_what_is_expected() && leaves_nothing_else();
  }

  [[nodiscard]] RetryLoop result() const {
    RetryLoop loop{b_, swap_, {}};
    for (const ValueId p : f_[b_].params) loop.carried.push_back(carried(p));
    return loop;
  }

private:
  const Function& f_;
  const Cfg& cfg_;
  const MaskFacts& masks_;
  Bdd& bdd_;
  BlockId b_;
  InstId swap_;
  unsigned dwords_;
  const Successor* back_ = nullptr;  ///< the edge to the next time round
  const Successor* entry_ = nullptr; ///< the only way in
  ValueId left_;                     ///< parameter: the lanes that are left
  std::vector<ValueId> expected_;    ///< parameters: one of 64 bits, or one for each dword
  Bdd::Node found_it_{};             ///< lanes that have found what they expected

  [[nodiscard]] bool is_parameter(ValueId v) const { return !f_.def_id(v).valid() && f_.def_block(v) == b_; }
  [[nodiscard]] ValueId next(ValueId parameter) const { return back_->args[f_[parameter].index]; }
  [[nodiscard]] ValueId first(ValueId parameter) const { return entry_->args[f_[parameter].index]; }
  [[nodiscard]] bool is_part_of_expected(ValueId v) const {
    return std::ranges::find(expected_, v) != expected_.end();
  }
  /// All dwords of it.
  [[nodiscard]] bool is_expected(ValueId v) const {
    v = where_left(f_, left_, v);
    if (expected_.size() == 1) return v == expected_[0];
    const Inst* join = f_.def(v);
    return join != nullptr && join->op == Op::Join &&
           std::ranges::equal(f_.operands(f_.def_id(v)), expected_);
  }

  bool find_edges() {
    for (const Successor& s : f_[b_].successors)
      if (s.block == b_) {
        if (back_ != nullptr) return false;
        back_ = &s;
      }
    for (const BlockId p : cfg_.preds[b_.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == b_ && p != b_) {
          if (entry_ != nullptr && entry_ != &s) return false;
          entry_ = &s;
        }
    return back_ != nullptr && entry_ != nullptr;
  }

  bool find_mask() {
    left_ = f_.operands(swap_).back();
    if (!is_parameter(left_)) return false;
    return f_.tested_mask(b_) == next(left_) && back_ == f_[b_].successors.data();
  }

  /// What the compare-and-swap found, in the lanes that were left.
  [[nodiscard]] bool is_found(ValueId v, unsigned dword) const {
    if (v == f_.result(swap_, dword)) return true;
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].block != b_) return false;
    return f_[i].op == Op::Select && f_.operands(i)[0] == left_ && is_found(f_.operands(i)[1], dword);
  }
  /// All dwords of it.
  [[nodiscard]] bool is_all_found(ValueId v) const {
    if (dwords_ == 1) return is_found(v, 0);
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].block != b_) return false;
    const auto x = f_.operands(i);
    if (f_[i].op == Op::Select) return x[0] == left_ && is_all_found(x[1]);
    return f_[i].op == Op::Join && is_found(x[0], 0) && is_found(x[1], 1);
  }

  /// What becomes of a parameter that is expected, at least in the lanes that go on: those that do not may
  /// keep it, which is what they have found.
  [[nodiscard]] ValueId next_expected(ValueId parameter) const {
    const ValueId v = next(parameter);
    return stays_on_success(parameter) ? f_.operands(f_.def_id(v))[1] : v;
  }
  [[nodiscard]] bool stays_on_success(ValueId parameter) const {
    const InstId i = f_.def_id(next(parameter));
    if (!i.valid() || f_[i].op != Op::Select) return false;
    const auto x = f_.operands(i);
    return x[0] == next(left_) && x[2] == parameter;
  }

  /// The operands compared are parameters that become what was found.
  bool find_expected() {
    std::vector<ValueId> x;
    for (const ValueId v : f_.operands(swap_).subspan(1 + dwords_, dwords_))
      x.push_back(where_left(f_, left_, v));
    if (std::ranges::all_of(x, [&](ValueId v) { return is_parameter(v); })) {
      expected_.assign(x.begin(), x.end());
      for (unsigned d = 0; d < dwords_; ++d)
        if (!is_found(next_expected(x[d]), d)) return false;
      return true;
    }
    if (dwords_ == 1) return false;
    const Inst *lo = f_.def(x[0]), *hi = f_.def(x[1]);
    if (lo == nullptr || hi == nullptr || lo->op != Op::Lo || hi->op != Op::Hi) return false;
    const ValueId whole = f_.operands(f_.def_id(x[0]))[0];
    if (whole != f_.operands(f_.def_id(x[1]))[0] || !is_parameter(whole)) return false;
    expected_ = {whole};
    return is_all_found(next_expected(whole));
  }

  /// The lanes that are left next are exactly those that did not find what they expected.
  bool leaves_on_success() {
    const ValueId next_left = next(left_);
    if (!masks_.implies(next_left, left_)) return false;
    const Bdd::Node before = masks_.lanes(left_), after = masks_.lanes(next_left);
    for (const InstId i : f_[b_].insts) {
      const Inst& inst = f_[i];
      if (inst.op != Op::ICmp || f_.type(f_.result(i)) != Type::Mask) continue;
      const auto p = static_cast<IntPred>(inst.imm);
      if (p != IntPred::Eq && p != IntPred::Ne) continue;
      const auto x = f_.operands(i);
      if (!(is_all_found(x[0]) && is_expected(x[1])) && !(is_all_found(x[1]) && is_expected(x[0]))) continue;
      found_it_ = masks_.lanes(f_.result(i));
      if (p == IntPred::Ne) found_it_ = bdd_.not_(found_it_);
      return masks_.is_empty(bdd_.and_(after, found_it_), b_) &&
             masks_.is_empty(bdd_.andnot(before, bdd_.or_(after, found_it_)), b_);
    }
    return false;
  }

  /// (1)
  [[nodiscard]] bool starts_alike() const {
    for (unsigned d = 0; d < expected_.size(); ++d) {
      const ValueId start = at_first(first(expected_[d]));
      const InstId i = f_.def_id(start);
      if (!i.valid()) return false;
      if (is_same_in_all_lanes(start)) continue;
      const bool whole = f_[i].op == Op::Join && dwords_ == 2 && expected_.size() == 1;
      if (whole ? !is_load(f_.operands(i)[0], 0) || !is_load(f_.operands(i)[1], 1) : !is_load(start, d))
        return false;
    }
    return true;
  }
  [[nodiscard]] bool is_same_in_all_lanes(ValueId v) const {
    return f_.is_const(v) || is_splat_of_uniform(f_, v);
  }
  /// What `v` is in the lanes that are left at first.
  [[nodiscard]] ValueId at_first(ValueId v) const {
    for (const Inst* def = f_.def(v); def != nullptr && def->op == Op::Select; def = f_.def(v)) {
      const auto x = f_.operands(f_.def_id(v));
      if (f_.type(x[0]) != Type::Mask || !masks_.implies(first(left_), x[0])) break;
      v = x[1];
    }
    return v;
  }
  [[nodiscard]] bool is_load(ValueId v, unsigned dword) const {
    v = at_first(v);
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != Op::Load || f_.result(i, dword) != v) return false;
    const MemAttr &load = f_[i].mem, &swap = f_[swap_].mem;
    return load.space == swap.space && load.form == AddressForm::Lanes && load.bytes == swap.bytes &&
           follows_from(f_.operands(i)[0], index_of(f_.operands(swap_)[0])) &&
           masks_.implies(first(left_), f_.operands(i).back());
  }
  /// What `address` differs by from lane to lane: lanes with one address have one of that.
  [[nodiscard]] ValueId index_of(ValueId address) const {
    const InstId i = f_.def_id(address);
    if (!i.valid()) return address;
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::Add:
      return is_same_in_all_lanes(x[0])   ? index_of(x[1])
             : is_same_in_all_lanes(x[1]) ? index_of(x[0])
                                          : address;
    case Op::ZExt:
    case Op::SExt: return x[0];
    default: return address;
    }
  }
  /// Lanes with the same `index` have the same `v`. Depth-limited.
  [[nodiscard]] bool follows_from(ValueId v, ValueId index, unsigned depth = 0) const {
    if (v == index || is_same_in_all_lanes(v)) return true;
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > 8) return false;
    switch (f_[i].op) {
    case Op::Add:
    case Op::Shl:
    case Op::And:
    case Op::Join:
    case Op::ZExt:
    case Op::SExt: break;
    default: return false;
    }
    const auto x = f_.operands(i);
    return std::ranges::all_of(x, [&](ValueId o) { return follows_from(o, index, depth + 1); });
  }

  /// In the lanes that are left, `v` follows from what is expected and what does not change - and if asked
  /// for, from what was found. Depth-limited.
  [[nodiscard]] bool follows(ValueId v, bool from_found, unsigned depth = 0) const {
    if (f_.def_block(v) != b_ || is_part_of_expected(v) || v == left_) return true;
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > 40) return false;
    if (i == swap_) return from_found;
    if (!info(f_[i].op).is(kPure) || info(f_[i].op).reads_whole(0) || info(f_[i].op).reads_whole(1))
      return false;
    const auto x = f_.operands(i);
    if (f_[i].op == Op::Select && x[0] == left_) return follows(x[1], from_found, depth + 1);
    return std::all_of(x.begin(), x.end(), [&](ValueId o) { return follows(o, from_found, depth + 1); });
  }
  /// `v` is the same each time round.
  [[nodiscard]] bool is_fixed(ValueId v, unsigned depth = 0) const {
    if (f_.def_block(v) != b_) return true;
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > 40 || !info(f_[i].op).is(kPure)) return false;
    const auto x = f_.operands(i);
    return std::all_of(x.begin(), x.end(), [&](ValueId o) { return is_fixed(o, depth + 1); });
  }

  [[nodiscard]] bool swaps_for_what_is_expected() const {
    const auto x = f_.operands(swap_);
    if (f_.def_block(x[0]) == b_) return false;
    for (unsigned d = 0; d < dwords_; ++d)
      if (!follows(x[1 + d], false)) return false;
    return true;
  }

  /// (2), for all that is used behind the loop.
  [[nodiscard]] bool leaves_nothing_else() const {
    const auto used = [&](ValueId v) { return f_.def_block(v) != b_ || is_known_in_the_end(v); };
    for (const BlockId b : cfg_.rpo) {
      if (b != b_)
        for (const InstId i : f_[b].insts) {
          const auto x = f_.operands(i);
          if (!std::all_of(x.begin(), x.end(), used)) return false;
        }
      for (const Successor& s : f_[b].successors)
        if (&s != back_ && !std::all_of(s.args.begin(), s.args.end(), used)) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_known_in_the_end(ValueId v) const {
    if (v == next(left_) || is_fixed(v)) return true;
    if (f_.type(v) == Type::Mask) return gathers_who_is_done(v);
    // What has changed in lanes that were left only.
    for (const ValueId p : f_[b_].params)
      if (next(p) == v && changes_where_left(p, v)) return true;
    // In the last round of a lane, what it expects is what it finds.
    return std::ranges::any_of(expected_, [&](ValueId p) {
      return (v == p || v == next(p)) && (stays_on_success(p) || changes_where_left(p, next(p)));
    });
  }
  [[nodiscard]] bool changes_where_left(ValueId parameter, ValueId v) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || f_[i].op != Op::Select) return false;
    const auto x = f_.operands(i);
    return x[0] == left_ && x[2] == parameter && follows(x[1], true);
  }
  /// done' is done and lanes that were left, among them those that are left no longer: in the end, all.
  [[nodiscard]] bool gathers_who_is_done(ValueId v) const {
    for (const ValueId done : f_[b_].params) {
      if (f_.type(done) != Type::Mask || next(done) != v || done == left_) continue;
      const Bdd::Node before = masks_.lanes(left_), after = masks_.lanes(next(left_)), now = masks_.lanes(v);
      return masks_.implies(done, v) &&
             masks_.is_empty(bdd_.andnot(now, bdd_.or_(masks_.lanes(done), before)), b_) &&
             masks_.is_empty(bdd_.andnot(before, bdd_.or_(after, now)), b_);
    }
    return false;
  }

  [[nodiscard]] RetryLoop::Carried carried(ValueId p) const {
    using Carried = RetryLoop::Carried;
    const ValueId v = next(p);
    if (p == left_) return Carried::Left;
    if (is_part_of_expected(p)) return p == expected_[0] ? Carried::Expected : Carried::ExpectedHigh;
    if (f_.type(p) != Type::Mask) return changes_where_left(p, v) ? Carried::Changes : Carried::Unseen;
    const Bdd::Node done = masks_.lanes(p), now = masks_.lanes(v);
    const Bdd::Node least = bdd_.or_(done, bdd_.and_(masks_.lanes(left_), found_it_));
    const bool adds = masks_.is_empty(bdd_.andnot(least, now), b_) &&
                      masks_.is_empty(bdd_.andnot(now, bdd_.or_(done, found_it_)), b_);
    return adds ? Carried::Done : Carried::Other;
  }
};

bool goes_back_to_itself(const Function& f, BlockId b) {
  return std::ranges::any_of(f[b].successors, [&](const Successor& s) { return s.block == b; });
}

/// A compare-and-swap whose outcome is used.
bool is_swap(const Function& f, InstId i) {
  const MemAttr& mem = f[i].mem;
  return f[i].op == Op::Atomic && mem.atomic == AtomicOp::Cmpswap && mem.returns &&
         (mem.space == Space::Global || mem.space == Space::Lds || mem.space == Space::Flat);
}

std::vector<InstId> accesses(const Function& f, BlockId b) {
  std::vector<InstId> found;
  std::ranges::copy_if(f[b].insts, std::back_inserter(found),
                       [&](InstId i) { return info(f[i].op).is(kLoads) || info(f[i].op).is(kStores); });
  return found;
}

/// The only access of a block that goes back to itself, if it is a compare-and-swap whose outcome is used.
InstId only_swap(const Function& f, BlockId b) {
  const std::vector<InstId> all = accesses(f, b);
  return all.size() == 1 && is_swap(f, all[0]) ? all[0] : InstId{};
}

/// The load of a block that has but this and, behind it, a compare-and-swap at the same place for the same
/// lanes.
InstId load_before_swap(const Function& f, BlockId b) {
  const std::vector<InstId> all = accesses(f, b);
  if (all.size() != 2 || f[all[0]].op != Op::Load || !is_swap(f, all[1])) return {};
  const MemAttr &load = f[all[0]].mem, &swap = f[all[1]].mem;
  const auto x = f.operands(all[0]), y = f.operands(all[1]);
  const bool same_place = load.space == swap.space && load.form == AddressForm::Lanes &&
                          swap.form == AddressForm::Lanes && load.bytes == swap.bytes && x[0] == y[0] &&
                          f.def_block(x[0]) != b;
  return same_place && x.back() == y.back() ? all[0] : InstId{};
}

/// Moves `load`, which precedes a compare-and-swap in loop `b`, in front of the loop. What it loaded is
/// handed on by the loop from then on, each time as found by the compare-and-swap. False if there is no place
/// for it.
bool move_out(Function& f, BlockId b, InstId load) {
  const InstId swap = accesses(f, b).back();
  std::vector<std::pair<BlockId, unsigned>> ways_in;
  for (u32 n = 0; n < f.num_blocks(); ++n)
    for (unsigned s = 0; s < f.blocks[n].successors.size(); ++s)
      if (n != b.index && f.blocks[n].successors[s].block == b) ways_in.emplace_back(BlockId{n}, s);
  const ValueId left = f.operands(load).back();
  if (ways_in.size() != 1 || f.def_id(left).valid() || f.def_block(left) != b) return false;
  // A block of its own, as the way there may be one of two.
  const auto [from, number] = ways_in[0];
  const BlockId before = f.add_block(f[load].pc);
  Successor& way_in = f[from].successors[number];
  std::vector<ValueId> args = std::exchange(way_in.args, {});
  way_in.block = before;
  const ValueId mask = args[f[left].index];
  std::vector<Type> types;
  for (unsigned r = 0; r < f[load].num_results; ++r) types.push_back(f.type(f.result(load, r)));
  const ValueId operands[] = {f.operands(load)[0], mask};
  const InstId first = f.append(before, Inst(f[load]), operands, types);
  std::vector<ValueId> found;
  for (unsigned d = 0; d < f[swap].num_results; ++d) found.push_back(f.result(swap, d));
  if (found.size() > types.size()) {
    Inst proto;
    proto.op = Op::Join;
    proto.pc = f[swap].pc;
    found = {f.result(f.insert_before_end(b, proto, found, types))};
  }
  std::vector<ValueId> now(f.num_values() + types.size());
  for (unsigned r = 0; r < types.size(); ++r) {
    args.push_back(f.result(first, r));
    now[f.result(load, r).index] = f.add_param(b, types[r]);
  }
  Builder(f, before).jump(b, std::move(args));
  for (Successor& s : f[b].successors)
    if (s.block == b) s.args.insert(s.args.end(), found.begin(), found.end());
  std::erase(f[b].insts, load);
  f[load].block = BlockId{};
  f.replace_values(now);
  return true;
}

/// Computes in front of loop `b` what its accesses' addresses are made of, where that is the same each time
/// round: without addresses of scalars, as before gfx9, compilers copy those to vector registers in the loop.
void compute_addresses_before(Function& f, BlockId b) {
  BlockId before;
  for (u32 n = 0; n < f.num_blocks(); ++n)
    for (const Successor& s : f.blocks[n].successors) {
      if (s.block != b || n == b.index) continue;
      if (before.valid()) return;
      before = BlockId{n};
    }
  if (!before.valid()) return;
  std::vector<InstId> fixed;
  const auto is_fixed = [&](ValueId v) {
    return f.def_block(v) != b || std::ranges::find(fixed, f.def_id(v)) != fixed.end();
  };
  for (const InstId i : f[b].insts) {
    const OpInfo& op = info(f[i].op);
    if (op.is(kPure) && !op.reads_whole(0) && !op.reads_whole(1) &&
        std::ranges::all_of(f.operands(i), is_fixed))
      fixed.push_back(i);
  }
  std::vector<ValueId> wanted;
  for (const InstId i : accesses(f, b)) wanted.push_back(f.operands(i)[0]);
  std::vector<InstId> moved;
  while (!wanted.empty()) {
    const ValueId v = wanted.back();
    wanted.pop_back();
    const InstId i = f.def_id(v);
    if (f.def_block(v) != b || std::ranges::find(moved, i) != moved.end()) continue;
    if (!is_fixed(v)) return;
    moved.push_back(i);
    wanted.insert(wanted.end(), f.operands(i).begin(), f.operands(i).end());
  }
  std::erase_if(fixed, [&](InstId i) { return std::ranges::find(moved, i) == moved.end(); });
  std::erase_if(f[b].insts, [&](InstId i) { return std::ranges::find(fixed, i) != fixed.end(); });
  for (const InstId i : fixed) f[i].block = before;
  f[before].insts.insert(f[before].insts.end() - 1, fixed.begin(), fixed.end());
}

/// Nobody looks at what `load` brings but in the lanes for which it is done.
bool is_looked_at_inside(const LaneDemand& demand, const Function& f, InstId load) {
  for (unsigned r = 0; r < f[load].num_results; ++r)
    if (!demand.is_inside(demand.of(f.result(load, r)), f.operands(load).back(), f[load].block)) return false;
  return true;
}

} // namespace

ValueId where_left(const Function& f, ValueId left, ValueId v) {
  for (InstId i = f.def_id(v); i.valid() && f[i].op == Op::Select && f.operands(i)[0] == left;
       i = f.def_id(v))
    v = f.operands(i)[1];
  return v;
}

bool load_expected_once(Function& f) {
  std::vector<std::pair<BlockId, InstId>> candidates;
  for (u32 n = 0; n < f.num_blocks(); ++n)
    if (goes_back_to_itself(f, BlockId{n}) &&
        std::ranges::any_of(f.blocks[n].insts, [&](InstId i) { return is_swap(f, i); }))
      compute_addresses_before(f, BlockId{n});
  for (u32 n = 0; n < f.num_blocks(); ++n)
    if (f.blocks[n].first_gangs == 0 && goes_back_to_itself(f, BlockId{n}))
      if (const InstId load = load_before_swap(f, BlockId{n}); load.valid())
        candidates.emplace_back(BlockId{n}, load);
  if (candidates.empty()) return false;
  {
    LaneDemand demand(f);
    if (!demand.find()) return false;
    std::erase_if(candidates, [&](const auto& c) { return !is_looked_at_inside(demand, f, c.second); });
  }
  bool changed = false;
  for (const auto& [b, load] : candidates) {
    Function g = f; // whether the loop will do shows when it is done
    if (!move_out(g, b, load)) continue;
    const Cfg cfg(g);
    const Dominators dom(g, cfg);
    const MaskFacts masks(g, cfg, dom);
    if (!cfg.reachable(b) || !Candidate(g, cfg, masks, b, accesses(g, b)[0]).holds()) continue;
    f = std::move(g);
    changed = true;
  }
  return changed;
}

std::vector<RetryLoop> find_retry_loops(Function& f) {
  std::vector<std::pair<BlockId, InstId>> candidates;
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    if (f.blocks[n].first_gangs != 0) continue; // Few lanes, which hardly ever meet.
    if (goes_back_to_itself(f, BlockId{n}))
      if (const InstId swap = only_swap(f, BlockId{n}); swap.valid())
        candidates.emplace_back(BlockId{n}, swap);
  }
  std::vector<RetryLoop> found;
  if (candidates.empty()) return found;
  const Cfg cfg(f);
  const Dominators dom(f, cfg);
  const MaskFacts masks(f, cfg, dom);
  for (const auto& [b, swap] : candidates) {
    if (!cfg.reachable(b) || found.size() == kMaxLoops) continue;
    Candidate loop(f, cfg, masks, b, swap);
    if (!loop.holds()) continue;
    found.push_back(loop.result());
    f[swap].mem.retry = static_cast<u8>(found.size());
  }
  return found;
}

} // namespace lanewise::passes
