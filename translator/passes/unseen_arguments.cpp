// Compilers leave in a register what it was before where nobody will look at it: a scalar that counts the
// rounds of a loop is not counted on the way on which no lane is left, since that leads out of the loop. What
// was there before would otherwise be used, and be handed on by loops before and behind. What all other ways
// hand on is as good, and if it can be had before the ways part, the scalar is the same for all who meet.
//
// Where compilers have unrolled such a loop, its ways out meet one after the other before the mask is asked
// for: a chain of blocks that only jump on, in which values are looked at as where it ends.
//
// So it is with what is spread to a vector, for lanes that have left a loop otherwise, if there are none:
// that is asked of the lanes in which anybody looks at the vector (lengths of runs 1.16, with AVX2 1.26 times
// faster, as gangs decide their branches then).
//
// Like dead code (dead_code.cpp), but the need for a value is split by which way its block is left: from what
// is not needed until proved otherwise, backwards.
#include "translator/passes/unseen_arguments.hpp"
#include "translator/passes/lane_demand.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxMoved = 8; ///< instructions that compute a scalar
constexpr unsigned kMaxChain = 16;   ///< blocks before one that asks

/// Ways out of a value's block, or of the one that asks behind it, behind which it is needed.
enum : u8 { kFirst = 1, kSecond = 2, kBoth = 3 };

class UnseenArguments {
public:
  explicit UnseenArguments(Function& f) : f_(f), cfg_(f), dom_(f, cfg_) { find_askers(); }

  /// Whether something has changed. `known` gets what had to be found out.
  bool run(std::shared_ptr<const MaskAnalysis>& known) {
    // Which ways leave a mask empty takes long to find out: is there anything to gain?
    find_ways([&](BlockId, u32) { return true; });
    if (ways_.empty()) return false;
    vectors_count_ = false; // before it is known which of their lanes do
    find_needs();
    vectors_count_ = true;
    if (std::ranges::none_of(ways_, [&](const Way& w) { return !unseen(w).empty(); })) return false;
    if (!known) known = std::make_shared<const MaskAnalysis>(f_);
    find_ways([&](BlockId from, u32 n) { return leaves_none(known->facts, from, n); });
    find_needs();
    bool changed = false;
    std::map<Type, ValueId> zeros;
    const std::vector<std::vector<u32>> all = find_unseen(known);
    for (std::size_t n = 0; n < ways_.size(); ++n) {
      const Way& w = ways_[n];
      for (const u32 a : all[n]) {
        const ValueId others = of_other_ways(w, a);
        const ValueId old = edge(w).args[a];
        if (others.valid() && compute_before(others, w.from)) {
          edge(w).args[a] = others;
        } else if (!f_.is_const(old)) {
          const Type t = f_.type(old);
          const auto [zero, is_new] = zeros.try_emplace(t);
          if (is_new) zero->second = f_.entry_constant(t, 0);
          edge(w).args[a] = zero->second;
        }
        changed |= edge(w).args[a] != old;
      }
    }
    return changed;
  }

private:
  /// An edge: the way `successor` out of block `from`, to a block that asks or to a chain that leads there,
  /// behind which the second way is taken.
  struct Way {
    BlockId from;
    u32 successor;
    bool operator==(const Way&) const = default;
  };
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  std::vector<Way> ways_;
  std::vector<BlockId> asks_; ///< per block: the one that asks behind it, with nothing but jumps between
  std::vector<u8> needed_;    ///< per value
  bool vectors_count_ = true; ///< those that scalars are spread to, behind the second way
  std::vector<ValueId> work_;

  [[nodiscard]] Successor& edge(const Way& w) { return f_[w.from].successors[w.successor]; }

  void find_askers() {
    asks_.assign(f_.num_blocks(), BlockId{});
    std::vector<unsigned> jumps(f_.num_blocks(), 0);
    for (auto b = cfg_.rpo.rbegin(); b != cfg_.rpo.rend(); ++b) {
      const auto& ways = f_[*b].successors;
      if (f_.tested_mask(*b).valid() && ways[0].block != ways[1].block) asks_[b->index] = *b;
      if (ways.size() != 1 || cfg_.rpo_index[ways[0].block.index] <= cfg_.rpo_index[b->index]) continue;
      const u32 next = ways[0].block.index;
      if (asks_[next].valid() && jumps[next] < kMaxChain) {
        asks_[b->index] = asks_[next];
        jumps[b->index] = jumps[next] + 1;
      }
    }
  }

  /// Ways with scalars into blocks that ask for a mask, or into chains.
  template <class F>
  void find_ways(F leaves_none) {
    ways_.clear();
    for (const BlockId b : cfg_.rpo) {
      if (!asks_[b.index].valid()) continue;
      if (std::ranges::none_of(f_[b].params, [&](ValueId p) { return is_uniform(f_.type(p)); })) continue;
      for (const BlockId from : cfg_.preds[b.index])
        for (u32 n = 0; n < f_[from].successors.size(); ++n)
          if (f_[from].successors[n].block == b && leaves_none(from, n)) ways_.push_back({from, n});
    }
  }
  [[nodiscard]] bool leaves_none(const MaskFacts& facts, BlockId from, u32 n) const {
    const BlockId to = f_[from].successors[n].block;
    const MaskFacts::Node there = facts.before_edge(asked(facts, to), from, n);
    return facts.is_empty(facts.bdd().and_(there, facts.edge_condition(from, n)), from);
  }
  /// The mask that is asked for behind block `b`, as it is seen there.
  [[nodiscard]] MaskFacts::Node asked(const MaskFacts& facts, BlockId b) const {
    if (asks_[b.index] == b) return facts.lanes(f_.tested_mask(b));
    return facts.before_edge(asked(facts, f_[b].successors[0].block), b, 0);
  }

  /// The scalars among the arguments that nobody looks at behind the second way.
  [[nodiscard]] std::vector<u32> unseen(const Way& w) {
    std::vector<u32> found;
    for (u32 a = 0; a < edge(w).args.size(); ++a) {
      const ValueId param = f_[edge(w).block].params[a];
      if (is_uniform(f_.type(param)) && (needed_[param.index] & kSecond) == 0) found.push_back(a);
    }
    return found;
  }

  /// Per way, the arguments that nobody looks at behind the second way.
  [[nodiscard]] std::vector<std::vector<u32>> find_unseen(const std::shared_ptr<const MaskAnalysis>& known) {
    std::vector<std::vector<u32>> found;
    std::optional<LaneDemand> demand; // made when wanted
    for (const Way& w : ways_) {
      found.push_back(unseen(w));
      const BlockId b = edge(w).block;
      for (u32 a = 0; a < edge(w).args.size() && asks_[b.index] == b; ++a) {
        const ValueId param = f_[b].params[a];
        if (!is_uniform(f_.type(param)) || std::ranges::find(found.back(), a) != found.back().end()) continue;
        const auto vectors = vectors_of(param);
        if (!vectors || vectors->empty()) continue;
        if (!demand && !demand.emplace(f_, known).find()) return found;
        if (std::ranges::all_of(*vectors, [&](ValueId v) { return is_unseen(v, w, *demand); }))
          found.back().push_back(a);
      }
    }
    found.resize(ways_.size());
    return found;
  }
  /// The vectors that parameter `p` of a block that asks is spread to there, also as part of something;
  /// nothing if there is anything else behind the second way that looks at it.
  [[nodiscard]] std::optional<std::vector<ValueId>> vectors_of(ValueId p) const {
    const BlockId b = f_.def_block(p);
    std::vector<ValueId> made = {p}, vectors;
    const auto is_made = [&](ValueId v) { return std::ranges::find(made, v) != made.end(); };
    for (const InstId i : f_[b].insts) {
      if (std::ranges::none_of(f_.operands(i), is_made)) continue;
      if ((info(f_[i].op).flags & (kStores | kEndsBlock)) != 0) return std::nullopt;
      for (unsigned r = 0; r < f_[i].num_results; ++r)
        (f_[i].op == Op::Splat ? vectors : made).push_back(f_.result(i, r));
    }
    for (const BlockId at : cfg_.rpo) {
      if (at != b && (ways_to(b, at) & kSecond) == 0) continue;
      for (const InstId i : f_[at].insts)
        if (at != b && std::ranges::any_of(f_.operands(i), is_made)) return std::nullopt;
      for (std::size_t n = at == b ? 1 : 0; n < f_[at].successors.size(); ++n)
        if (std::ranges::any_of(f_[at].successors[n].args, is_made)) return std::nullopt;
    }
    return vectors;
  }
  /// In none of the lanes in which anybody looks at vector `v` is there one if the way is taken.
  [[nodiscard]] bool is_unseen(ValueId v, const Way& w, const LaneDemand& demand) const {
    const MaskFacts& facts = demand.facts();
    const MaskFacts::Node lanes = demand.before_edge(demand.of(v), w.from, w.successor);
    return facts.is_empty(facts.bdd().and_(lanes, facts.edge_condition(w.from, w.successor)), w.from) &&
           !facts.bdd().overflowed();
  }

  /// What all other ways hand on, if that is one value.
  [[nodiscard]] ValueId of_other_ways(const Way& w, u32 arg) {
    ValueId common;
    for (const BlockId from : cfg_.preds[edge(w).block.index])
      for (u32 n = 0; n < f_[from].successors.size(); ++n) {
        const Successor& s = f_[from].successors[n];
        if (s.block != edge(w).block || Way{from, n} == w) continue;
        if (common.valid() && s.args[arg] != common) return {};
        common = s.args[arg];
      }
    return common;
  }
  [[nodiscard]] bool is_there(ValueId v, BlockId b) const { return dom_.dominates(f_.def_block(v), b); }
  /// Moves what computes `v` to the end of `b`, from behind it, unless it is there. False, and nothing
  /// changed, if that cannot be done, or is not little.
  bool compute_before(ValueId v, BlockId b) {
    std::vector<InstId> moved;
    if (!collect(v, b, moved)) return false;
    for (const InstId i : moved) {
      std::erase(f_[f_[i].block].insts, i);
      f_[b].insts.insert(f_[b].insts.end() - 1, i);
      f_[i].block = b;
    }
    return true;
  }
  bool collect(ValueId v, BlockId b, std::vector<InstId>& moved) const {
    if (is_there(v, b)) return true;
    const InstId i = f_.def_id(v);
    if (!i.valid() || !info(f_[i].op).is(kPure) || !dom_.dominates(b, f_[i].block)) return false;
    if (std::ranges::find(moved, i) != moved.end()) return true;
    for (const ValueId x : f_.operands(i))
      if (!is_uniform(f_.type(x)) || !collect(x, b, moved)) return false;
    moved.push_back(i);
    return moved.size() <= kMaxMoved;
  }

  void find_needs() {
    needed_.assign(f_.num_values(), 0);
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if ((info(f_[i].op).flags & (kStores | kEndsBlock)) != 0) need_operands(i, kBoth);
    while (!work_.empty()) {
      const ValueId v = work_.back();
      work_.pop_back();
      if (f_.def_id(v).valid())
        need_operands(f_.def_id(v), needed_[v.index]);
      else
        need_arguments(f_.def_block(v), f_[v].index, needed_[v.index]);
    }
  }

  void need(ValueId v, u8 behind) {
    if ((behind & ~needed_[v.index]) == 0) return;
    needed_[v.index] |= behind;
    work_.push_back(v);
  }
  /// In block `at`, behind `behind` of its ways out.
  void need_in(ValueId v, BlockId at, u8 behind) {
    const BlockId b = f_.def_block(v);
    need(v, b == at ? behind : ways_to(b, at));
  }
  void need_operands(InstId i, u8 behind) {
    if (f_[i].op == Op::Splat && !vectors_count_) behind &= kFirst;
    for (const ValueId v : f_.operands(i)) need_in(v, f_[i].block, behind);
  }
  void need_arguments(BlockId b, u32 index, u8 behind) {
    for (const BlockId from : cfg_.preds[b.index])
      for (u32 n = 0; n < f_[from].successors.size(); ++n) {
        const Successor& s = f_[from].successors[n];
        if (s.block != b || (behind & goes_on(from, n)) == 0) continue;
        const bool is_chain = f_[from].successors.size() == 1 && asks_[from.index].valid();
        need_in(s.args[index], from,
                is_chain                          ? behind
                : f_[from].successors.size() == 2 ? static_cast<u8>(1 << n)
                                                  : u8{kBoth});
      }
  }
  /// The ways on which the block at the end of this one may be left.
  [[nodiscard]] u8 goes_on(BlockId from, u32 successor) const {
    return std::ranges::find(ways_, Way{from, successor}) == ways_.end() ? u8{kBoth} : u8{kSecond};
  }
  /// The ways out of `b` that lead to `at`, which it dominates.
  [[nodiscard]] u8 ways_to(BlockId b, BlockId at) const {
    const auto& ways = f_[b].successors;
    for (u32 n = 0; ways.size() == 2 && n < 2; ++n)
      if (cfg_.preds[ways[n].block.index].size() == 1 && ways[0].block != ways[1].block &&
          dom_.dominates(ways[n].block, at))
        return static_cast<u8>(1 << n);
    return kBoth;
  }
};

} // namespace

void drop_unseen_arguments(Function& f, std::shared_ptr<const MaskAnalysis>& known) {
  if (UnseenArguments(f).run(known)) known = nullptr;
}

} // namespace lanewise::passes
