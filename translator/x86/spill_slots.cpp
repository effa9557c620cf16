#include "translator/x86/spill_slots.hpp"

#include "translator/x86/parallel_copy.hpp"

#include <algorithm>
#include <queue>

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
  Lifetimes(const Part& part, const Liveness& live, const std::vector<u8>& has_slot)
      : part_(part), live_(live), index_(has_slot.size(), kNever) {
    for (u32 v = 0; v < has_slot.size(); ++v)
      if (has_slot[v]) {
        index_[v] = static_cast<u32>(intervals.size());
        intervals.push_back({VReg{v}});
      }
    number();
    for (u32 b : live.order) cover_block(b);
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

} // namespace

u32 SlotLayout::offset_of(u32 owner) const {
  return owner >= kScratchSlot ? scratch[owner - kScratchSlot] : offset[owner];
}

SlotLayout assign_slots(const Module& module, const Part& part, const Liveness& live,
                        const std::vector<u8>& has_slot, const std::vector<Step>& steps) {
  SlotLayout layout;
  layout.offset.assign(part.classes.size(), 0);
  Lifetimes lifetimes(part, live, has_slot);
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
    for (const Step& s : steps)
      for (u32 owner : {s.index, s.index2})
        if (s.kind != Step::Kind::Inst && s.kind != Step::Kind::Remat && owner >= kScratchSlot &&
            (s.cls == RegClass::Vec) == (bytes == vec_bytes) && layout.scratch[owner - kScratchSlot] == 0) {
          layout.scratch[owner - kScratchSlot] = size + 1; // 0 means none yet
          size += bytes;
        }
  }
  for (u32& s : layout.scratch) s -= s != 0;
  layout.stack_bytes = align_up(size, 64u);
  return layout;
}

} // namespace lanewise::x86
