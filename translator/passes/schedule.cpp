// The order within blocks, for fewer values alive at once. The kernel's compiler orders for a GPU: it has 256
// registers, loads come early and independent chains run side by side. x86 has 32 or 16, for several gangs,
// and finds by itself what can run early. So: from the end of a block upwards, next comes what frees the
// most.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Registers that hold values of a block, in a gang.
struct Alive {
  int vectors = 0, masks = 0;
  void raise_to(const Alive& other) {
    vectors = std::max(vectors, other.vectors);
    masks = std::max(masks, other.masks);
  }
};

class Scheduler {
public:
  explicit Scheduler(Function& f)
      : f_(f), total_uses_(f.use_counts()), uses_here_(f.num_values(), 0), users_(f.num_insts(), 0),
        place_(f.num_insts(), kElsewhere), live_(f.num_values(), false) {}

  void run() {
    for (u32 b = 0; b < f_.num_blocks(); ++b) schedule(BlockId{b});
  }

private:
  static constexpr int kEnough = 7;              ///< vectors: of four gangs side by side, they fit
  static constexpr std::size_t kMaxLength = 512; ///< instructions that are ordered at once, to bound the time
  static constexpr u32 kElsewhere = ~0u;
  Function& f_;
  const std::vector<u32> total_uses_;
  std::vector<u32> uses_here_; ///< per value
  std::vector<u32> users_;     ///< per instruction: of its results, in the stretch and not yet placed
  std::vector<u32> place_;     ///< per instruction, in the stretch
  std::vector<bool> live_;     ///< per value of the block: used below
  BlockId block_;
  Alive alive_;

  /// What may change places with others: no stores, nothing that reads what other gangs have or that ends the
  /// block. Such things stay where they are, and nothing goes past them.
  bool can_move(InstId i) const {
    const Inst& inst = f_[i];
    const OpInfo& op = info(inst.op);
    if (op.is(kPure)) {
      for (unsigned n = 0; n < inst.num_operands; ++n)
        if (op.reads_whole(n)) return false;
      return true;
    }
    return inst.op == Op::ScalarLoad || inst.op == Op::ScalarBufLoad ||
           (inst.op == Op::Load && !inst.mem.coherent);
  }

  /// Ops of different modes do not change places: loads of MXCSR are dear.
  bool same_mode(InstId i, InstId j) const {
    const FpAttr &a = f_[i].fp, &b = f_[j].fp;
    return a.round == b.round && a.flush_in == b.flush_in && a.flush_out == b.flush_out;
  }

  void count(ValueId v, int sign, Alive& alive) const {
    const Type t = f_.type(v);
    const InstId def = f_.def_id(v);
    const bool recomputed =
        def.valid() && (f_[def].op == Op::Const || f_[def].op == Op::Splat || f_[def].op == Op::LaneId);
    if (recomputed || f_.def_block(v) != block_) return;
    if (t == Type::Mask) alive.masks += sign;
    if (t == Type::V32 || t == Type::V64) alive.vectors += t == Type::V64 ? 2 * sign : sign;
  }

  /// How many more are alive above `i` than below it.
  Alive change(InstId i) const {
    Alive more;
    for (unsigned r = 0; r < f_[i].num_results; ++r)
      if (live_[f_.result(i, r).index]) count(f_.result(i, r), -1, more);
    const auto x = f_.operands(i);
    for (auto v = x.begin(); v != x.end(); ++v)
      if (!live_[v->index] && std::find(x.begin(), v, *v) == v) count(*v, 1, more);
    return more;
  }

  /// Goes up past `i`, and keeps in `peak` what is alive at most.
  void pass(InstId i, Alive& peak) {
    const Alive more = change(i);
    for (unsigned r = 0; r < f_[i].num_results; ++r) live_[f_.result(i, r).index] = false;
    for (const ValueId v : f_.operands(i)) live_[v.index] = true;
    alive_.vectors += more.vectors;
    alive_.masks += more.masks;
    peak.raise_to(alive_);
  }

  /// All vectors of the block together fit: their order does not matter.
  [[nodiscard]] bool has_few_vectors() const {
    Alive all;
    for (const ValueId v : f_[block_].params) count(v, 1, all);
    const auto& insts = f_[block_].insts;
    for (auto i = insts.begin(); i != insts.end() && all.vectors <= kEnough; ++i)
      for (unsigned r = 0; r < f_[*i].num_results; ++r) count(f_.result(*i, r), 1, all);
    return all.vectors <= kEnough;
  }

  void schedule(BlockId b) {
    block_ = b;
    if (has_few_vectors()) return;
    alive_ = {};
    std::vector<InstId>& insts = f_[b].insts;
    find_live_out(b);
    for (std::size_t end = insts.size(); end != 0;) {
      Alive ignored;
      if (!can_move(insts[end - 1])) {
        pass(insts[--end], ignored);
        continue;
      }
      std::size_t start = end;
      InstId rounds;
      for (; start != 0 && end - start < kMaxLength && can_move(insts[start - 1]); --start) {
        const InstId i = insts[start - 1];
        if (!info(f_[i].op).is(kFloat)) continue;
        if (rounds.valid() && !same_mode(i, rounds)) break;
        rounds = i;
      }
      order(std::span(insts).subspan(start, end - start));
      end = start;
    }
    for (const InstId i : insts)
      for (unsigned r = 0; r < f_[i].num_results; ++r) live_[f_.result(i, r).index] = false;
    for (const ValueId v : f_[b].params) live_[v.index] = false;
  }

  /// Values of the block that others use, too.
  void find_live_out(BlockId b) {
    for (const InstId i : f_[b].insts)
      for (const ValueId v : f_.operands(i))
        if (f_.def_block(v) == b) ++uses_here_[v.index];
    const auto check = [&](ValueId v) {
      if (total_uses_[v.index] == std::exchange(uses_here_[v.index], 0)) return;
      live_[v.index] = true;
      count(v, 1, alive_);
    };
    for (const ValueId v : f_[b].params) check(v);
    for (const InstId i : f_[b].insts)
      for (unsigned r = 0; r < f_[i].num_results; ++r) check(f_.result(i, r));
  }
  void order(std::span<InstId> stretch) {
    struct Noted {
      ValueId v;
      bool below, above; ///< it is live there
    };
    std::vector<Noted> noted;
    noted.reserve(4 * stretch.size());
    const auto note = [&](ValueId v) { noted.push_back({v, live_[v.index], false}); };
    for (const InstId i : stretch) {
      for (const ValueId v : f_.operands(i)) note(v);
      for (unsigned r = 0; r < f_[i].num_results; ++r) note(f_.result(i, r));
    }
    const Alive below = alive_;
    Alive before = below;
    for (auto i = stretch.rbegin(); i != stretch.rend(); ++i) pass(*i, before);
    if (before.vectors <= kEnough) return;
    const Alive above = alive_; // in whatever order
    for (Noted& n : noted) n.above = live_[n.v.index];
    for (const Noted& n : noted) live_[n.v.index] = n.below;
    alive_ = below;
    const std::vector<InstId> upwards = from_below(stretch, before);
    std::copy(upwards.rbegin(), upwards.rend(), stretch.begin());
    for (const Noted& n : noted) live_[n.v.index] = n.above;
    alive_ = above;
  }

  static bool contains(std::span<const ValueId> values, ValueId v) {
    return std::ranges::find(values, v) != values.end();
  }
  /// The stretch's instructions from the last to the first; none if on the way as many vectors are alive as
  /// in `before`, or more masks.
  std::vector<InstId> from_below(std::span<const InstId> stretch, const Alive& before) {
    for (u32 n = 0; n < stretch.size(); ++n) place_[stretch[n].index] = n;
    const auto definition = [&](ValueId v) {
      const InstId def = f_.def_id(v);
      return def.valid() && place_[def.index] != kElsewhere ? def : InstId{};
    };
    for (const InstId i : stretch)
      for (const ValueId v : f_.operands(i))
        if (const InstId def = definition(v); def.valid()) ++users_[def.index];
    struct Ready {
      InstId inst;
      u64 key; ///< the least comes next: by how many more vectors are alive above it, then masks, then place
    };
    const auto key = [&](InstId i) {
      constexpr int kBias = 1 << 15; // of what may be negative
      const Alive more = change(i);
      return static_cast<u64>(more.vectors + kBias) << 40 | static_cast<u64>(more.masks + kBias) << 20 |
             (stretch.size() - place_[i.index]);
    };
    std::vector<Ready> ready;
    std::vector<InstId> order;
    ready.reserve(stretch.size());
    order.reserve(stretch.size());
    for (const InstId i : stretch)
      if (users_[i.index] == 0) ready.push_back({i, key(i)});
    std::vector<ValueId> opened; // what lives above the last, did not below, and has other users
    Alive peak = alive_;
    const auto is_better = [&] { return peak.vectors < before.vectors && peak.masks <= before.masks; };
    while (!ready.empty() && is_better()) {
      const auto best = std::ranges::min_element(ready, {}, &Ready::key);
      const InstId i = std::exchange(*best, ready.back()).inst;
      ready.pop_back();
      order.push_back(i);
      opened.clear();
      for (const ValueId v : f_.operands(i))
        if (!live_[v.index] && total_uses_[v.index] > 1) opened.push_back(v);
      pass(i, peak);
      if (!opened.empty())
        for (Ready& r : ready)
          if (std::ranges::any_of(f_.operands(r.inst), [&](ValueId v) { return contains(opened, v); }))
            r.key = key(r.inst);
      for (const ValueId v : f_.operands(i))
        if (const InstId def = definition(v); def.valid() && --users_[def.index] == 0)
          ready.push_back({def, key(def)});
    }
    for (const InstId i : stretch) {
      place_[i.index] = kElsewhere;
      users_[i.index] = 0;
    }
    if (!is_better()) order.clear();
    return order;
  }
};

} // namespace

void schedule(Function& f) { Scheduler(f).run(); }

} // namespace lanewise::passes
