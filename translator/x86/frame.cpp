// Slots are coloured like registers, with phases as program points: the values live into a phase form a
// clique, and so do the values that a phase reads WHOLE with those its exits write. SSA makes the graph
// chordal, so taking the first free colour in the order of definitions needs no more slots than the largest
// clique (up to what following hints costs).
#include "translator/x86/frame.hpp"

#include "runtime/wave.hpp"
#include "support/lists.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/x86/slow_access.hpp"

#include <bit>
#include <span>
#include <utility>

namespace lanewise::x86 {

using ir::Op;
using ir::Type;
using ir::ValueId;

namespace {
bool is_op(const ir::Function& f, ValueId v, Op op) {
  const ir::Inst* def = f.def(v);
  return def != nullptr && def->op == op;
}
} // namespace

bool is_recomputed(const ir::Function& f, ValueId v) {
  const ir::Inst* def = f.def(v);
  return def != nullptr && (def->op == Op::Const || def->op == Op::LaneId || def->op == Op::Splat ||
                            (def->op == Op::GangFirst && is_op(f, f.operands(f.def_id(v))[0], Op::LaneId)));
}

u32 home_in_header(const ir::Function& f, ValueId v) {
  const ir::Inst* def = f.def(v);
  if (def == nullptr) return kNoSlot;
  const auto imm = static_cast<u32>(def->imm);
  switch (def->op) {
  case Op::InitSgpr: return static_cast<u32>(offsetof(runtime::WaveFrame, sgpr)) + 4 * imm;
  case Op::InitVgpr: return static_cast<u32>(offsetof(runtime::WaveFrame, vgpr)) + 4 * kWaveSize * imm;
  case Op::InitExec: return static_cast<u32>(offsetof(runtime::WaveFrame, exec));
  case Op::FrameField: return imm;
  case Op::GangFirst: { // Read from the gang's slice.
    const ValueId source = f.operands(f.def_id(v))[0];
    return is_op(f, source, Op::InitVgpr) ? home_in_header(f, source) : kNoSlot;
  }
  default: return kNoSlot;
  }
}

std::optional<ArgumentPlace> place_of_argument(const ir::Function& f, ValueId v) {
  const ir::InstId def = f.def_id(v);
  if (!def.valid()) return {};
  const auto dword = [&](ValueId x) -> std::optional<ArgumentPlace> {
    const ir::InstId load = f.def_id(x);
    if (!load.valid() || !passes::is_always_readable(f, load)) return {};
    const auto from = passes::loaded_from(f, load, f[x].index);
    return ArgumentPlace{from->pointer_sgpr, true, from->offset};
  };
  if (f[def].op == Op::ScalarLoad) return dword(v);
  if (f[def].op != Op::Join || f.type(v) != Type::U64) return {};
  const ValueId low = f.operands(def)[0], high = f.operands(def)[1];
  if (const auto pointer = passes::initial_address(f, v))
    return ArgumentPlace{pointer->pointer_sgpr, false, 0};
  const auto first = dword(low), second = first ? dword(high) : std::nullopt;
  if (!second || second->pointer_sgpr != first->pointer_sgpr || second->offset != first->offset + 4)
    return {};
  return first;
}

namespace {

/// What may share a slot: qwords of uniform values, qwords of masks, rows of dwords, rows of qwords. Masks
/// and uniform values are apart because gangs write their slices of a mask while later gangs may still read
/// uniform values.
enum SlotClass : u8 { kUniformSlot, kMaskSlot, kV32Slot, kV64Slot, kNumSlotClasses };
constexpr u32 kSlotBytes[] = {8, 8, 4 * kWaveSize, 8 * kWaveSize};

SlotClass slot_class(Type t) {
  switch (t) {
  case Type::G1:
  case Type::G32:
  case Type::G64: // In the gang's slice of a row.
  case Type::V32: return kV32Slot;
  case Type::V64: return kV64Slot;
  case Type::Mask: return kMaskSlot;
  default: return kUniformSlot;
  }
}

/// A growing set of small numbers.
class ColourSet {
public:
  void add(u32 colour) {
    if (colour / 64 >= words_.size()) words_.resize(colour / 64 + 1, 0);
    words_[colour / 64] |= u64{1} << (colour % 64);
  }
  void unite_into(std::vector<u64>& words) const {
    if (words.size() < words_.size()) words.resize(words_.size(), 0);
    for (std::size_t i = 0; i < words_.size(); ++i) words[i] |= words_[i];
  }

private:
  std::vector<u64> words_;
};

u32 first_free(const std::vector<u64>& taken) {
  for (u32 i = 0; i < taken.size(); ++i)
    if (~taken[i] != 0) return 64 * i + static_cast<u32>(std::countr_one(taken[i]));
  return static_cast<u32>(64 * taken.size());
}

bool is_free(const std::vector<u64>& taken, u32 colour) {
  return colour / 64 >= taken.size() || (taken[colour / 64] >> (colour % 64) & 1) == 0;
}

class Layout {
public:
  Layout(const ir::Function& f, const phases::Plan& plan)
      : f_(f), plan_(plan), whole_(f.num_values(), false), stamp_(plan.phases.size(), ~0u),
        preds_(plan.phases.size()), points_(f.num_values()), hints_(f.num_values()),
        colour_(f.num_values(), kNoSlot) {
    out_.slot.assign(f.num_values(), kNoSlot);
    out_.live_in.resize(plan.phases.size());
  }

  FrameLayout run() {
    find_preds();
    find_whole();
    find_live();
    add_whole_points();
    add_hints();
    colour_all();
    place();
    return std::move(out_);
  }

private:
  const ir::Function& f_;
  const phases::Plan& plan_;
  FrameLayout out_;
  std::vector<bool> whole_; ///< per value: some phase reads it WHOLE, so it must lie in memory
  std::vector<u32> stamp_;  ///< per phase: the value whose walk came by last
  std::vector<std::vector<u32>> preds_;
  std::vector<std::vector<u32>>
      points_; ///< per value: the cliques it is in; numbers below phases.size() are phase entries
  std::vector<std::vector<ValueId>> hints_;
  std::vector<u32> colour_;
  std::vector<std::vector<ValueId>> extra_cliques_;
  std::vector<u32> work_; ///< of walk_back()

  u32 phase_of(ir::BlockId b) const { return plan_.phase_of[b.index].index; }

  template <class Visit>
  void for_each_block(Visit visit) {
    for (u32 p = 0; p < plan_.phases.size(); ++p)
      for (const ir::BlockId b : plan_.phases[p].blocks) visit(p, b);
  }

  void find_preds() {
    for_each_block([&](u32 p, ir::BlockId b) {
      for (const ir::Successor& s : f_[b].successors)
        if (plan_.is_exit(b, s.block)) preds_[phase_of(s.block)].push_back(p);
    });
  }

  void find_whole() {
    for_each_block([&](u32, ir::BlockId b) {
      for (const ir::InstId i : f_[b].insts) {
        const ir::OpInfo& op = ir::info(f_[i].op);
        const auto operands = f_.operands(i);
        for (u32 n = 0; n < operands.size(); ++n)
          if (op.reads_whole(n) && phase_of(f_.def_block(operands[n])) != phase_of(b))
            whole_[operands[n].index] = true;
      }
    });
  }

  /// The value that must be in a slot for `v` to be had in another phase than its own; invalid if none.
  ValueId stored_source(ValueId v) const {
    while (!whole_[v.index] && is_recomputed(f_, v)) {
      const ir::InstId def = f_.def_id(v);
      if (f_[def].op != Op::Splat) return {}; // Constants, lane numbers.
      v = f_.operands(def)[0];
    }
    const bool lies_elsewhere = home_in_header(f_, v) != kNoSlot || place_of_argument(f_, v);
    return lies_elsewhere ? ValueId{} : v;
  }

  void find_live() {
    std::vector<std::pair<u32, u32>> uses;           // (value, phase other than the defining one)
    std::vector<u32> last_use(f_.num_values(), ~0u); // the last of these, per value
    const auto use = [&](u32 p, ValueId operand) {
      if (phase_of(f_.def_block(operand)) == p && !is_recomputed(f_, operand)) return;
      const ValueId v = stored_source(operand);
      if (!v.valid() || phase_of(f_.def_block(v)) == p) return;
      if (std::exchange(last_use[v.index], p) != p) uses.emplace_back(v.index, p);
    };
    for_each_block([&](u32 p, ir::BlockId b) {
      for (const ir::InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) use(p, v);
      for (const ir::Successor& s : f_[b].successors)
        for (const ValueId v : s.args) use(p, v);
    });
    for (u32 p = 0; p < plan_.phases.size(); ++p)
      for (const ValueId param : f_[plan_.phases[p].entry].params) add_live(p, param);
    const Lists<u32> used_in(f_.num_values(), uses);
    for (u32 v = 0; v < f_.num_values(); ++v)
      if (!used_in[v].empty()) walk_back(ValueId{v}, used_in[v]);
  }

  void add_live(u32 phase, ValueId v) {
    out_.live_in[phase].push_back(v);
    points_[v.index].push_back(phase);
  }

  void walk_back(ValueId v, std::span<const u32> uses) {
    const u32 home = phase_of(f_.def_block(v));
    std::vector<u32>& work = work_;
    work.assign(uses.begin(), uses.end());
    stamp_[home] = v.index; // The definition ends the walk.
    while (!work.empty()) {
      const u32 p = work.back();
      work.pop_back();
      if (stamp_[p] == v.index) continue;
      stamp_[p] = v.index;
      add_live(p, v);
      work.insert(work.end(), preds_[p].begin(), preds_[p].end());
    }
  }

  /// Phase p's exits must not write into what its gangs read WHOLE.
  void add_whole_points() {
    for (u32 p = 0; p < plan_.phases.size(); ++p) {
      std::vector<ValueId> clique;
      for (const ir::BlockId b : plan_.phases[p].blocks)
        for (const ir::InstId i : f_[b].insts) {
          const ir::OpInfo& op = ir::info(f_[i].op);
          const auto operands = f_.operands(i);
          for (u32 n = 0; n < operands.size(); ++n)
            if (op.reads_whole(n) && !points_[operands[n].index].empty()) clique.push_back(operands[n]);
        }
      if (clique.empty()) continue;
      for (const ir::BlockId b : plan_.phases[p].blocks)
        for (const ir::Successor& s : f_[b].successors) {
          if (!plan_.is_exit(b, s.block)) continue;
          for (const ValueId v : out_.live_in[phase_of(s.block)]) {
            const bool written = f_.def_block(v) == s.block || phase_of(f_.def_block(v)) == p;
            if (written) clique.push_back(v);
          }
        }
      const auto point = static_cast<u32>(plan_.phases.size() + extra_cliques_.size());
      for (const ValueId v : clique)
        if (points_[v.index].back() != point) points_[v.index].push_back(point);
      extra_cliques_.push_back(std::move(clique));
    }
  }

  /// A parameter wants the slot of what comes in, which then needs no copy.
  void add_hints() {
    for_each_block([&](u32, ir::BlockId b) {
      for (const ir::Successor& s : f_[b].successors) {
        if (!plan_.is_exit(b, s.block)) continue;
        for (u32 n = 0; n < s.args.size(); ++n) {
          const ValueId param = f_[s.block].params[n];
          if (points_[s.args[n].index].empty()) continue;
          hints_[param.index].push_back(s.args[n]);
          hints_[s.args[n].index].push_back(param);
        }
      }
    });
  }

  void colour_all() {
    std::vector<ColourSet> taken[kNumSlotClasses];
    for (auto& sets : taken) sets.resize(plan_.phases.size() + extra_cliques_.size());
    const auto colour = [&](ValueId v) {
      if (points_[v.index].empty()) return;
      auto& sets = taken[slot_class(f_.type(v))];
      std::vector<u64> forbidden;
      for (const u32 p : points_[v.index]) sets[p].unite_into(forbidden);
      u32 choice = kNoSlot;
      for (const ValueId h : hints_[v.index])
        if (colour_[h.index] != kNoSlot && is_free(forbidden, colour_[h.index])) choice = colour_[h.index];
      if (choice == kNoSlot) choice = first_free(forbidden);
      colour_[v.index] = choice;
      for (const u32 p : points_[v.index]) sets[p].add(choice);
    };
    for_each_block([&](u32, ir::BlockId b) {
      for (const ValueId v : f_[b].params) colour(v);
      for (const ir::InstId i : f_[b].insts)
        for (u32 n = 0; n < f_[i].num_results; ++n) colour(f_.result(i, n));
    });
  }

  /// Turns colours into offsets: scalars first, where displacements are short.
  void place() {
    u32 count[kNumSlotClasses] = {};
    for (u32 v = 0; v < f_.num_values(); ++v) {
      if (colour_[v] == kNoSlot) continue;
      u32& n = count[slot_class(f_.type(ValueId{v}))];
      n = std::max(n, colour_[v] + 1);
    }
    u32 base[kNumSlotClasses];
    u32 end = runtime::kFrameSlots + kTempBytes;
    for (u32 c = 0; c < kNumSlotClasses; ++c) {
      base[c] = end;
      end = align_up(end + count[c] * kSlotBytes[c], u32{64});
    }
    for (u32 v = 0; v < f_.num_values(); ++v) {
      const SlotClass c = slot_class(f_.type(ValueId{v}));
      if (colour_[v] != kNoSlot)
        out_.slot[v] = base[c] + colour_[v] * kSlotBytes[c];
      else
        out_.slot[v] = home_in_header(f_, ValueId{v});
    }
    place_rows(end);
  }

  void place_rows(u32 end) {
    u32 first = ~0u, last = 0;
    for_each_block([&](u32, ir::BlockId b) {
      for (const ir::InstId i : f_[b].insts) {
        const ir::Inst& inst = f_[i];
        if (!ir::accesses_rows(inst)) continue;
        first = std::min(first, ir::row_first(inst));
        last = std::max(last, ir::row_first(inst) + ir::row_count(inst));
      }
    });
    out_.rows = end;
    out_.first_row = first;
    out_.bytes = end + (last > first ? last - first : 0) * kSlotBytes[kV32Slot];
  }
};

} // namespace

FrameLayout lay_out_frame(const ir::Function& f, const phases::Plan& plan) { return Layout(f, plan).run(); }

} // namespace lanewise::x86
