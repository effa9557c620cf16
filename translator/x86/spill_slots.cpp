#include "translator/x86/spill_slots.hpp"

#include "translator/x86/parallel_copy.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace lanewise::x86 {
namespace {

struct Interval {
  VReg value;
  u32 first = kNever, last = 0;
  void cover(u32 at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

// The hull of each value's lifetime over the instructions in layout order. A parameter lives from the ends of
// the predecessors on, where the edges' copies write it, so that it never shares with an argument they still
// read.
class Lifetimes {
public:
  Lifetimes(const Part& part, const Liveness& live, const std::vector<u8>& has_slot,
            const std::vector<u32>& owner)
      : part_(part), live_(live), index_(has_slot.size(), kNever) {
    std::vector<u8> has_any(part.blocks.size(), 0); // of these values
    for (u32 v = 0; v < has_slot.size(); ++v) {
      if (!has_slot[v]) continue;
      live.for_each_block_with(VReg{v}, [&](u32 b) { has_any[b] = 1; });
      u32& index = index_[owner[v]];
      if (index == kNever) {
        index = static_cast<u32>(intervals.size());
        intervals.push_back({VReg{owner[v]}});
      }
      index_[v] = index;
    }
    if (intervals.empty()) return;
    number();
    for (u32 b : live.order)
      if (has_any[b]) cover_block(b);
    // The last block at whose end a value is alive.
    std::vector<u64> seen;
    for (auto b = live.order.rbegin(); b != live.order.rend(); ++b)
      live.for_each_new_live_out(*b, seen, [&](VReg v) { cover(v, end(*b)); });
  }

  std::vector<Interval> intervals;

private:
  void number() {
    start_.resize(part_.blocks.size());
    u32 at = 0;
    for (u32 b : live_.order) {
      start_[b] = at;
      at += static_cast<u32>(part_.blocks[b].insts.size()) + 2;
    }
  }
  [[nodiscard]] u32 end(u32 b) const {
    return start_[b] + static_cast<u32>(part_.blocks[b].insts.size()) + 1;
  }

  void cover(VReg v, u32 at) {
    if (v.is_virtual() && index_[v.index] != kNever) intervals[index_[v.index]].cover(at);
  }

  void cover_block(u32 b) {
    for (VReg p : part_.blocks[b].params) {
      cover(p, start_[b]);
      for (Pred q : live_.preds(b)) cover(p, end(q.from));
    }
    u32 at = start_[b];
    for (const LInst& inst : part_.blocks[b].insts) {
      ++at;
      for (const Operand& o : part_.ops(inst)) {
        cover(o.reg, at);
        cover(o.tied, at);
      }
    }
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n)
      for (VReg a : part_.edge_args(part_.blocks[b].term, n)) cover(a, end(b));
  }

  const Part& part_;
  const Liveness& live_;
  std::vector<u32> index_, start_;
};

/// Which values have one slot: classes of parameters and arguments, grown pair by pair as long as no two
/// values of a class are ever alive together.
class Sharing {
public:
  Sharing(const Part& part, const Liveness& live, const std::vector<u8>& has_slot)
      : part_(part), live_(live), has_slot_(has_slot), owner_(has_slot.size()) {
    for (u32 v = 0; v < owner_.size(); ++v) owner_[v] = v;
  }

  std::vector<u32> run() {
    collect_pairs();
    if (pairs_.empty()) return std::move(owner_);
    collect_positions();
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [](const Pair& a, const Pair& b) { return a.depth > b.depth; });
    for (const Pair& pair : pairs_) join(owner_[pair.param.index], owner_[pair.arg.index]);
    return std::move(owner_);
  }

private:
  static constexpr std::size_t kMaxClass = 12; ///< values, so that the comparisons stay few
  struct Pair {
    VReg param, arg;
    u32 depth; ///< of the loops that the edge lies in
  };
  /// The last use of a value in a block, as a position: 0 is the block's start, n the n-th instruction.
  struct LastUse {
    u32 value, block, position;
  };

  void collect_pairs() {
    for (const u32 b : live_.order) {
      const Terminator& t = part_.blocks[b].term;
      for (u32 n = 0; n < t.num_targets(); ++n) {
        const auto& params = part_.blocks[t.target[n].index].params;
        const auto args = part_.edge_args(t, n);
        for (u32 i = 0; i < params.size(); ++i)
          if (needs_slot(params[i]) && needs_slot(args[i]) && params[i] != args[i])
            pairs_.push_back({params[i], args[i], live_.depth[b]});
      }
    }
  }
  bool needs_slot(VReg v) const { return v.is_virtual() && has_slot_[v.index]; }

  void collect_positions() {
    members_.resize(owner_.size());
    defined_at_.resize(owner_.size());
    for (const Pair& pair : pairs_)
      for (const VReg v : {pair.param, pair.arg}) members_[v.index] = {v.index};
    const auto note = [&](VReg v, u32 b, u32 position) {
      if (v.is_virtual() && !members_[v.index].empty()) uses_.push_back({v.index, b, position});
    };
    for (const u32 b : live_.order) {
      u32 at = 0;
      for (const LInst& inst : part_.blocks[b].insts) {
        ++at;
        for (const Operand& o : part_.ops(inst)) {
          if (!o.is_def())
            note(o.reg, b, at);
          else if (o.reg.is_virtual())
            defined_at_[o.reg.index] = at;
          note(o.tied, b, at);
        }
      }
      const Terminator& t = part_.blocks[b].term;
      for (u32 n = 0; n < t.num_targets(); ++n)
        for (const VReg a : part_.edge_args(t, n)) note(a, b, at + 1);
    }
    // The last of each value and block comes first.
    std::sort(uses_.begin(), uses_.end(), [](const LastUse& a, const LastUse& b) {
      return std::tie(a.value, a.block, b.position) < std::tie(b.value, b.block, a.position);
    });
  }

  void join(u32 a, u32 b) {
    if (a == b || members_[a].size() + members_[b].size() > kMaxClass) return;
    for (const u32 x : members_[a])
      for (const u32 y : members_[b])
        if (is_alive_at(x, y) || is_alive_at(y, x)) return;
    for (const u32 y : members_[b]) owner_[y] = a;
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
  }

  /// `x` is used after the place where `y` is defined.
  bool is_alive_at(u32 x, u32 y) const {
    const u32 b = live_.def_block[y], at = defined_at_[y];
    const bool here = live_.def_block[x] == b;
    if (here ? defined_at_[x] > at : !live_.is_live_in(VReg{x}, b)) return false;
    if (here && defined_at_[x] == at) return true;
    const Terminator& t = part_.blocks[b].term;
    for (u32 n = 0; n < t.num_targets(); ++n)
      if (live_.is_live_in(VReg{x}, t.target[n].index)) return true;
    const auto use =
        std::lower_bound(uses_.begin(), uses_.end(), std::pair{x, b}, [](const LastUse& u, const auto& key) {
          return std::tie(u.value, u.block) < std::tie(key.first, key.second);
        });
    return use != uses_.end() && use->value == x && use->block == b && use->position > at;
  }

  const Part& part_;
  const Liveness& live_;
  const std::vector<u8>& has_slot_;
  std::vector<u32> owner_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<u32>> members_; ///< per owner
  std::vector<u32> defined_at_;           ///< per value: the position of its definition, 0 for parameters
  std::vector<LastUse> uses_;
};

} // namespace

u32 SlotLayout::offset_of(u32 owner) const {
  return owner >= kScratchSlot ? scratch[owner - kScratchSlot] : offset[owner];
}

std::vector<u32> share_slots(const Part& part, const Liveness& live, const std::vector<u8>& has_slot) {
  return Sharing(part, live, has_slot).run();
}

SlotLayout assign_slots(const Module& module, const Part& part, const Liveness& live,
                        const std::vector<u8>& has_slot, const std::vector<u32>& owner,
                        const std::vector<Step>& steps) {
  SlotLayout layout;
  layout.offset.assign(part.classes.size(), 0);
  Lifetimes lifetimes(part, live, has_slot, owner);
  auto& intervals = lifetimes.intervals;
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.first < b.first; });
  const u32 vec_bytes = module.vec_bytes();
  u32 size = 0;
  // Vectors first: they keep the alignment of rsp.
  for (u32 bytes : {vec_bytes, 8u}) {
    using Busy = std::pair<u32, u32>; // last position, offset
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    for (const Interval& i : intervals) {
      if ((part.class_of(i.value) == RegClass::Vec) != (bytes == vec_bytes)) continue;
      u32 offset = size;
      if (!busy.empty() && busy.top().first < i.first) {
        offset = busy.top().second;
        busy.pop();
      } else {
        size += bytes;
      }
      layout.offset[i.value.index] = offset;
      busy.emplace(i.last, offset);
    }
    for (const Step& s : steps) {
      if (s.kind == Step::Kind::Inst || s.kind == Step::Kind::Remat) continue;
      for (u32 slot : {s.index, s.index2})
        if (slot >= kScratchSlot && (s.cls == RegClass::Vec) == (bytes == vec_bytes) &&
            layout.scratch[slot - kScratchSlot] == 0) {
          layout.scratch[slot - kScratchSlot] = size + 1; // 0 means none yet
          size += bytes;
        }
    }
  }
  for (u32& s : layout.scratch) s -= s != 0;
  layout.stack_bytes = align_up(size, 64u);
  return layout;
}

} // namespace lanewise::x86
