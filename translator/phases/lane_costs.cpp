// A gather takes about as long for one lane as for all, and a processor does a dozen plain loads meanwhile.
#include "translator/phases/lane_costs.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/lane_ranges.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 8;  ///< of what is looked through
constexpr unsigned kScattered = 2; ///< what is stored anywhere takes so many times what loads take
constexpr unsigned kLong = 12;     ///< vector instructions in the time of a division or a root
/// A float's operation that waits for the one before, round after round. About two lanes' turns overlap.
constexpr unsigned kChained = 2;
constexpr unsigned kBranch = 2;    ///< which a lane takes alone, and may be guessed wrong
constexpr unsigned kLedRound = 10; ///< a load from the cache, a comparison, a choice, an address
/// Where loads tell when a lane leaves, nobody knows before: a branch guessed wrong, and the change to the
/// next lane, in each of a few rounds.
constexpr unsigned kUnforeseenRound = 10;

class LaneCosts {
public:
  LaneCosts(const Function& f, const Cfg& cfg, const passes::LaneShapes& shapes, const LoadLoop& loop,
            const Successor& back_edge, u32 mask)
      : f_(f), cfg_(cfg), shapes_(shapes), loop_(loop), back_edge_(back_edge), mask_(mask) {}

  [[nodiscard]] unsigned lanes_done_sooner_alone(unsigned gang_lanes) const {
    unsigned gathered = 0, loads = 0, others = 0, most = ~0u;
    bool shares_lines = false; // of memory, which lanes that go alone fetch each for itself
    std::optional<Cfg> now;    // Loops before may have been copied.
    for (const BlockId b : *loop_.blocks) {
      if (is_rare(b)) continue;
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        const LaneKind place = inst.op == Op::Load ? kind(f_.operands(i)[0]) : LaneKind::Any;
        shares_lines |= place == LaneKind::Row;
        if (inst.op == Op::Load && place == LaneKind::Any) {
          gathered += gather_cost(inst.mem, gang_lanes);
          loads += (inst.mem.bytes + 3u) / 4;
          if (!now) now.emplace(f_);
          if (!keeps_to_its_range(inst.mem) && is_computed(f_, *now, f_.operands(i)[0]))
            most = gang_lanes - 1; // All may find a row there.
        } else if (inst.op == Op::Store && keeps_to_its_range(inst.mem)) {
          gathered += kScattered * gather_cost(inst.mem, gang_lanes);
          loads += (inst.mem.bytes + 3u) / 4;
        } else if (inst.num_results != 0 && is_vector(f_.type(f_.result(i))) && !is_for_free(inst.op))
          others += is_long(inst.op) ? kLong : 1;
      }
    }
    if (gathered == 0 || is_led_by_loads(false)) return 0;
    // Rounds without branches take little more than their loads (phases/gang_rounds.cpp).
    const unsigned branches = count_branches() - 1;
    unsigned alone = branches == 0 && !shares_lines ? 2 + (loads + others) / 8 : 3 + (loads + others) / 4;
    alone += kBranch * branches;
    alone = std::max(alone, kChained * longest_chain());
    if (ends_by_loads()) alone += kUnforeseenRound;
    if (is_led_by_loads(true)) alone = std::max(alone, kLedRound);
    return std::min((gathered + alone) / alone, most);
  }

  [[nodiscard]] bool lanes_leave_by_loads() const { return ends_by_loads() && !is_led_by_loads(false); }

private:
  const Function& f_;
  const Cfg& cfg_;
  const passes::LaneShapes& shapes_;
  const LoadLoop& loop_;
  const Successor& back_edge_;
  const u32 mask_;

  [[nodiscard]] const std::vector<ValueId>& params() const { return f_[loop_.header()].params; }

  [[nodiscard]] LaneKind kind(ValueId v, unsigned depth = 0) const {
    return lane_kind(
        f_, shapes_, v, [&](ValueId param, unsigned at) { return kind_of_counter(param, at); }, depth);
  }
  /// Of a parameter of the header.
  [[nodiscard]] LaneKind kind_of_counter(ValueId v, unsigned depth) const {
    if (f_.def_block(v) != loop_.header()) return LaneKind::Any;
    const u32 n = f_[v].index;
    const InstId next = f_.def_id(back_edge_.args[n]);
    if (!next.valid() || f_[next].op != Op::Add) return LaneKind::Any;
    const auto x = f_.operands(next);
    if (!(x[0] == v && f_.is_const(x[1])) && !(x[1] == v && f_.is_const(x[0]))) return LaneKind::Any;
    for (const BlockId from : cfg_.preds[loop_.header().index])
      for (const Successor& way : f_[from].successors)
        if (way.block == loop_.header() && !loop_.contains(from)) return kind(way.args[n], depth + 1);
    return LaneKind::Any;
  }
  static bool is_for_free(Op op) {
    return op == Op::Const || op == Op::Splat || op == Op::Join || op == Op::Lo || op == Op::Hi ||
           op == Op::Select;
  }

  /// Floats of a lane alone are vectors, too.
  static bool is_long(Op op) { return op == Op::FDiv || op == Op::FSqrt; }

  /// Of floats' operations from what a round begins with, each waiting for the one before, to what the next
  /// one begins with in its place.
  [[nodiscard]] unsigned longest_chain() const {
    std::vector<BlockId> blocks(loop_.blocks->begin(), loop_.blocks->end());
    std::ranges::sort(blocks, {}, [&](BlockId b) { return cfg_.rpo_index[b.index]; });
    unsigned longest = 0;
    for (u32 p = 0; p < params().size(); ++p) {
      if (!is_vector(f_.type(params()[p]))) continue;
      std::vector<i32> length(f_.num_values(), -1); // of the chain from there
      length[params()[p].index] = 0;
      for (const BlockId b : blocks) {
        for (const InstId i : f_[b].insts) {
          i32 most = -1;
          for (const ValueId x : f_.operands(i)) most = std::max(most, length[x.index]);
          if (most >= 0 && info(f_[i].op).is(kFloat)) ++most;
          for (unsigned r = 0; r < f_[i].num_results; ++r) length[f_.result(i, r).index] = most;
        }
        for (const Successor& s : f_[b].successors)
          for (std::size_t a = 0; a < s.args.size(); ++a)
            if (loop_.contains(s.block) && s.block != loop_.header())
              length[f_[s.block].params[a].index] =
                  std::max(length[f_[s.block].params[a].index], length[s.args[a].index]);
      }
      longest = std::max(longest, static_cast<unsigned>(std::max(length[back_edge_.args[p].index], 0)));
    }
    return longest;
  }

  /// But those that are foreseen.
  [[nodiscard]] unsigned count_branches() const {
    return static_cast<unsigned>(std::ranges::count_if(*loop_.blocks, [&](BlockId b) {
      return f_[f_.terminator(b)].op == Op::Branch && !leads_to_rare(b) && !is_rare(b);
    }));
  }
  [[nodiscard]] bool leads_to_rare(BlockId b) const {
    const Inst& end = f_[f_.terminator(b)];
    return end.op == Op::Branch && (end.imm & kFirstIsRare) != 0;
  }
  /// Where hardly any lane comes, as to the correction of a quotient.
  [[nodiscard]] bool is_rare(BlockId b) const {
    const auto preds = cfg_.preds[b.index];
    return preds.size() == 1 && leads_to_rare(preds[0]) && f_[preds[0]].successors[0].block == b;
  }

  /// What is loaded in a round says who goes on.
  [[nodiscard]] bool ends_by_loads() const {
    std::vector<ValueId> work = {back_edge_.args[mask_]};
    std::vector<bool> seen(f_.num_values(), false);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      const InstId i = f_.def_id(v);
      if (seen[v.index] || !i.valid() || !loop_.contains(f_[i].block)) continue;
      seen[v.index] = true;
      if (f_[i].op == Op::Load) return true;
      const auto x = f_.operands(i);
      work.insert(work.end(), x.begin(), x.end());
    }
    return false;
  }

  /// An address depends on what was loaded in the round before. Lanes that take turns wait one after the
  /// other then, where together they wait once. With `walks`, also if it only depends on that whether it is
  /// the next one.
  [[nodiscard]] bool is_led_by_loads(bool walks) const {
    std::vector<bool> loaded(f_.num_values(), false);
    const auto spread = [&](bool from_loads) {
      for (const BlockId b : *loop_.blocks) {
        for (const InstId i : f_[b].insts) {
          bool depends = from_loads && f_[i].op == Op::Load;
          for (const ValueId x : f_.operands(i))
            depends |= loaded[x.index] && !(f_.type(x) == Type::Mask && f_[i].op == Op::Load);
          for (unsigned r = 0; depends && r < f_[i].num_results; ++r) loaded[f_.result(i, r).index] = true;
        }
        for (const Successor& s : f_[b].successors)
          for (std::size_t a = 0; a < s.args.size(); ++a)
            if (loop_.contains(s.block) && s.block != loop_.header() && loaded[s.args[a].index])
              loaded[f_[s.block].params[a].index] = true;
      }
    };
    spread(true);
    std::vector<ValueId> carried;
    for (u32 p = 0; p < back_edge_.args.size(); ++p)
      if (p != mask_ && loaded[back_edge_.args[p].index] &&
          (walks || !goes_on(back_edge_.args[p], params()[p])))
        carried.push_back(params()[p]);
    loaded.assign(f_.num_values(), false);
    for (const ValueId v : carried) loaded[v.index] = true;
    spread(false);
    for (const BlockId b : *loop_.blocks)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Load && loaded[f_.operands(i)[0].index]) return true;
    return false;
  }

  /// In lanes for which what was loaded says so, `v` is a constant more than `param`, else the same: one
  /// place after the other, as in two lists that are merged, of which the processor has the next ones at
  /// hand.
  [[nodiscard]] bool goes_on(ValueId v, ValueId param, unsigned depth = 0) const {
    if (v == param) return true;
    if (depth > kMaxDepth || !loop_.contains(f_.def_block(v))) return false;
    const InstId i = f_.def_id(v);
    if (i.valid()) {
      const auto x = f_.operands(i);
      if (f_[i].op == Op::Select) return goes_on(x[1], param, depth + 1) && goes_on(x[2], param, depth + 1);
      if (f_[i].op != Op::Add || !(f_.is_const(x[0]) || f_.is_const(x[1]))) return false;
      return goes_on(f_.is_const(x[0]) ? x[1] : x[0], param, depth + 1);
    }
    const BlockId b = f_.def_block(v);
    if (b == loop_.header()) return false;
    const auto n = std::ranges::find(f_[b].params, v) - f_[b].params.begin();
    return std::ranges::all_of(cfg_.preds[b.index], [&](BlockId p) {
      return std::ranges::all_of(f_[p].successors, [&](const Successor& s) {
        return s.block != b || goes_on(s.args[static_cast<std::size_t>(n)], param, depth + 1);
      });
    });
  }
};

} // namespace

LaneKind lane_kind(const Function& f, const passes::LaneShapes& shapes, ValueId v,
                   const std::function<LaneKind(ValueId, unsigned)>& of_param, unsigned depth) {
  if (!is_per_lane(f.type(v))) return LaneKind::Uniform;
  if (v.index < shapes.num_values() && shapes[v].strided())
    return shapes[v].uniform() ? LaneKind::Uniform : LaneKind::Row;
  if (depth > kMaxDepth) return LaneKind::Any;
  const InstId i = f.def_id(v);
  if (!i.valid()) return of_param(v, depth);
  const auto x = f.operands(i);
  const auto of = [&](unsigned n) { return lane_kind(f, shapes, x[n], of_param, depth + 1); };
  switch (f[i].op) {
  case Op::Load: return of(0) == LaneKind::Uniform ? LaneKind::Uniform : LaneKind::Any;
  case Op::Add: return std::max(of(0), of(1));
  case Op::Shl: return f.is_const(x[1]) ? of(0) : LaneKind::Any;
  case Op::ZExt:
  case Op::SExt: return of(0);
  case Op::Join: return of(1) == LaneKind::Uniform ? of(0) : LaneKind::Any;
  case Op::AShr: return of(0) == LaneKind::Uniform ? of(1) : LaneKind::Any; // half of what extends a sign
  default: return LaneKind::Any;
  }
}

unsigned lanes_done_sooner_alone(const Function& f, const Cfg& cfg, const passes::LaneShapes& shapes,
                                 const LoadLoop& loop, const Successor& back_edge, u32 mask,
                                 unsigned gang_lanes) {
  return LaneCosts(f, cfg, shapes, loop, back_edge, mask).lanes_done_sooner_alone(gang_lanes);
}

bool lanes_leave_by_loads(const Function& f, const Cfg& cfg, const passes::LaneShapes& shapes,
                          const LoadLoop& loop, const Successor& back_edge, u32 mask) {
  return LaneCosts(f, cfg, shapes, loop, back_edge, mask).lanes_leave_by_loads();
}

} // namespace lanewise::phases
