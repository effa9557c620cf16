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
// (1) The first expected value is the same in all lanes, or loaded from where the compare-and-swap goes, by
// one instruction for all lanes.
// (2) From one time round to the next nothing is handed on but what is expected and who is left, besides
// which lanes are done, and values that change only in lanes that are left.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// One loop of a single block with one access to memory, a compare-and-swap.
class RetryLoop {
public:
  RetryLoop(const Function& f, const Cfg& cfg, const MaskFacts& masks, BlockId block, InstId swap)
      : f_(f), cfg_(cfg), masks_(masks), bdd_(masks.bdd()), b_(block), swap_(swap),
        dwords_(f[swap].mem.bytes / 4u) {}

  bool holds() {
    return find_edges() && find_mask() && find_expected() && leaves_on_success() && starts_alike() &&
           swaps_for_what_is_expected() && leaves_nothing_else();
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
  std::vector<ValueId> expected_;    ///< parameters: one of 64 bits, or one
  ValueId found_it_;                 ///< a comparison of what was found with what was expected

  [[nodiscard]] bool is_parameter(ValueId v) const { return !f_.def_id(v).valid() && f_.def_block(v) == b_; }
  [[nodiscard]] ValueId next(ValueId parameter) const { return back_->args[f_[parameter].index]; }
  [[nodiscard]] ValueId first(ValueId parameter) const { return entry_->args[f_[parameter].index]; }
  [[nodiscard]] bool is_expected(ValueId v) const { return v == expected_[0]; }

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

  /// The operands compared are parameters that become what was found.
  bool find_expected() {
    const auto x = f_.operands(swap_).subspan(1 + dwords_, dwords_);
    ValueId wide = x[0];
    for (unsigned d = 0; dwords_ == 2 && d < 2; ++d) {
      const InstId i = f_.def_id(x[d]);
      if (!i.valid() || f_[i].op != (d == 0 ? Op::Lo : Op::Hi)) return false;
      const ValueId whole = f_.operands(i)[0];
      if (d == 1 && whole != wide) return false;
      wide = whole;
    }
    if (!is_parameter(wide)) return false;
    expected_ = {wide};
    return is_all_found(next(wide));
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
      Bdd::Node found = masks_.lanes(f_.result(i));
      if (p == IntPred::Ne) found = bdd_.not_(found);
      return masks_.is_empty(bdd_.and_(after, found), b_) &&
             masks_.is_empty(bdd_.andnot(before, bdd_.or_(after, found)), b_);
    }
    return false;
  }

  /// (1)
  [[nodiscard]] bool starts_alike() const {
    const ValueId start = at_first(first(expected_[0]));
    const InstId i = f_.def_id(start);
    if (!i.valid()) return false;
    if (f_[i].op == Op::Const || (f_[i].op == Op::Splat && is_uniform(f_.type(f_.operands(i)[0]))))
      return true;
    if (dwords_ == 1) return is_load(start, 0);
    return f_[i].op == Op::Join && is_load(f_.operands(i)[0], 0) && is_load(f_.operands(i)[1], 1);
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
    return load.space == swap.space && load.form == swap.form && load.bytes == swap.bytes &&
           f_[i].imm == f_[swap_].imm && f_.operands(i)[0] == f_.operands(swap_)[0] &&
           masks_.implies(first(left_), f_.operands(i).back());
  }

  /// In the lanes that are left, `v` follows from what is expected and what does not change - and if asked
  /// for, from what was found. Depth-limited.
  [[nodiscard]] bool follows(ValueId v, bool from_found, unsigned depth = 0) const {
    if (f_.def_block(v) != b_ || is_expected(v) || v == left_) return true;
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
    return is_expected(v) && changes_where_left(v, next(v));
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
};

/// The only access of a block that goes back to itself, if it is a compare-and-swap whose outcome is used.
InstId only_swap(const Function& f, BlockId b) {
  InstId swap;
  for (const InstId i : f[b].insts) {
    const OpInfo& op = info(f[i].op);
    if (!op.is(kLoads) && !op.is(kStores)) continue;
    const MemAttr& mem = f[i].mem;
    if (swap.valid() || f[i].op != Op::Atomic || mem.atomic != AtomicOp::Cmpswap || !mem.returns) return {};
    if (mem.space != Space::Global && mem.space != Space::Lds && mem.space != Space::Flat) return {};
    swap = i;
  }
  return swap;
}

} // namespace

void find_retry_loops(Function& f) {
  std::vector<std::pair<BlockId, InstId>> found;
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    const auto& successors = f.blocks[n].successors;
    if (std::any_of(successors.begin(), successors.end(),
                    [&](const Successor& s) { return s.block.index == n; }))
      if (const InstId swap = only_swap(f, BlockId{n}); swap.valid()) found.emplace_back(BlockId{n}, swap);
  }
  if (found.empty()) return;
  const Cfg cfg(f);
  const Dominators dom(f, cfg);
  const MaskFacts masks(f, cfg, dom);
  for (const auto& [b, swap] : found)
    if (cfg.reachable(b) && RetryLoop(f, cfg, masks, b, swap).holds()) f[swap].mem.retry = true;
}

} // namespace lanewise::passes
