// Phase formation: grow phases in reverse postorder, one block (or one whole loop) at a time.
//
// A loop can lie inside a phase if nothing in it needs the wave: no value of the loop is read whole in the
// loop (so each branch on a mask in it is gang-decided), no barrier, and no two accesses conflict across
// gangs - an access with itself included, since its instances in different iterations belong to different
// gangs. (Except for the compare-and-swap of a loop whose order does not count: passes/retry_loops.cpp.) Such
// a loop joins or starts a phase as a unit. Every other loop is walked at wave level: its header starts a
// phase.
//
// A block joins the phase of its predecessors if they are all in one phase at the same loop level. Inside it,
// the phase ends before an instruction that reads whole what this phase computes, and before an access that
// conflicts with one of this phase.
//
// Last, a gang-decided branch whose paths did not all end up in its phase is put back to wave level, and
// formation starts over.
#include "translator/ir/cfg.hpp"
#include "translator/ir/lane_moves.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/hazards.hpp"
#include "translator/phases/phases.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr u32 kNoPhase = ~0u;

/// Moves between lanes whose sources lie within `gang_lanes` aligned lanes of their destination.
bool stays_in_gang(const Inst& inst, unsigned gang_lanes) {
  if (inst.op == Op::DppMove) {
    if (inst.imm < 0x100) return true; // quad_perm
    const bool half_mirror = inst.imm == 0x141;
    if (half_mirror) return gang_lanes >= 8;
    const bool row = inst.imm < 0x130 || inst.imm == 0x140; // row_shl/shr/ror, row_mirror
    return row && gang_lanes >= 16;
  }
  if (inst.op == Op::DsSwizzle) {
    if (inst.imm >= 0xc000) return false;      // gfx9's FFT and rotate modes
    if ((inst.imm & 0x8000) != 0) return true; // quad mode
    const u64 reach = (~inst.imm & 0x1f) | ((inst.imm >> 5) & 0x1f) |
                      ((inst.imm >> 10) & 0x1f); // lane bits that may change
    return reach < gang_lanes;
  }
  if (inst.op == Op::ShiftLanes) return LaneShift::of(inst.imm).width <= gang_lanes;
  return false;
}

class Former {
public:
  Former(Function& f, unsigned gang_lanes, bool lockstep)
      : f_(f), gang_lanes_(gang_lanes), lockstep_(lockstep), hazards_(f, gang_lanes),
        skips_idle_(f.launch.wave_lanes < kWaveSize ||
                    (!f.launch.full_waves() && idle_gangs_are_unseen(f, gang_lanes))) {
    if (skips_idle_ && f.launch.one_wave()) lanes_ = align_up(f.launch.items(), gang_lanes);
  }

  Plan run() {
    own_any_lanes(f_);
    for (;;) {
      form();
      if (!revoke_decisions()) break;
    }
    finish();
    return std::move(plan_);
  }

private:
  Function& f_;
  unsigned gang_lanes_;
  bool lockstep_;
  const HazardFacts hazards_;
  bool skips_idle_;
  u32 lanes_ = kWaveSize; ///< of the gangs that may have to run
  Plan plan_;
  std::vector<BlockId>
      tail_;               ///< per block: where its code ends after splits; the edges of the CFG start there
  std::vector<u32> phase_; ///< per block
  std::vector<std::vector<InstId>> accesses_; ///< per phase
  std::vector<bool> repeats_;                 ///< per block: lies in a loop inside a phase
  std::vector<bool> done_once_;               ///< per instruction: see find_done_once()
  std::vector<i32> phase_loop_;               ///< per phase: innermost wave-level loop
  std::vector<Reason> reasons_;
  std::vector<Reason> revoked_;

  /// What runs together is the whole wave: all gangs, or the only one. It keeps the wave's order whatever the
  /// phases.
  bool is_whole() const { return lockstep_ || lanes_ == gang_lanes_; }
  bool is_whole(BlockId b) const { return is_whole() || f_[b].first_gangs != 0; }
  bool reads_whole(InstId i, unsigned n) const {
    const bool of_mask = f_[i].op == Op::AnyLane || f_[i].op == Op::MaskToU64;
    if (of_mask && is_whole(f_[i].block)) return false; // Its slice is the mask.
    return looks_across_gangs(f_[i], n, gang_lanes_);
  }
  bool conflicts(InstId first, InstId second, const std::function<bool(ValueId)>& is_fixed) const {
    return !is_whole(f_[first].block) && conflict(hazards_, first, second, is_fixed);
  }
  bool is_gang_condition(InstId i, BlockId b) const {
    return f_[i].op == Op::AnyLane && is_gang_decided(f_, b) &&
           f_.operands(f_.terminator(b))[0] == f_.result(i);
  }

  u32 new_phase(BlockId entry, i32 loop) {
    plan_.phases.push_back({entry, {}, true, 1, f_[entry].first_gangs, f_[entry].in_ranks});
    accesses_.emplace_back();
    phase_loop_.push_back(loop);
    return static_cast<u32>(plan_.phases.size() - 1);
  }

  void form() {
    plan_ = Plan{};
    accesses_.clear();
    phase_loop_.clear();
    reasons_.clear();
    insert_preheaders();
    const Cfg cfg(f_);
    const Dominators dom(f_, cfg);
    const Loops loops(f_, cfg, dom);
    phase_.assign(f_.num_blocks(), kNoPhase);
    tail_.clear();
    for (u32 b = 0; b < f_.num_blocks(); ++b) tail_.emplace_back(b);
    const std::vector<i32> unit = find_unit_loops(loops);
    repeats_.assign(f_.num_blocks(), false);
    for (const BlockId b : cfg.rpo) {
      const i32 loop = loops.innermost[b.index];
      repeats_[b.index] = loop >= 0 && unit[static_cast<unsigned>(loop)] >= 0;
    }
    for (const BlockId b : cfg.rpo) {
      const i32 innermost = loops.innermost[b.index];
      const i32 loop = innermost < 0 ? -1 : unit[static_cast<unsigned>(innermost)];
      if (loop >= 0) {
        const auto& l = loops.loops[static_cast<unsigned>(loop)];
        if (l.header == b) place_loop(l, cfg, l.parent);
        continue; // the rest of the loop was placed with its header
      }
      const bool header = innermost >= 0 && loops.loops[static_cast<unsigned>(innermost)].header == b;
      place_block(b, cfg, innermost, header || loops.irreducible || is_rare(b, cfg));
    }
  }

  bool is_rare(BlockId b, const Cfg& cfg) const {
    const auto& preds = cfg.preds[b.index];
    if (preds.size() != 1) return false;
    const BlockId from = tail_[preds[0].index];
    const Inst& end = f_[f_.terminator(from)];
    return end.op == Op::Branch && (end.imm & kSecondIsRare) != 0 && f_[from].successors[1].block == b;
  }

  /// Every loop header gets a single outside predecessor that ends in a jump, so that a phase never starts at
  /// a header it loops to.
  void insert_preheaders() {
    const Cfg cfg(f_);
    const Dominators dom(f_, cfg);
    const Loops loops(f_, cfg, dom);
    for (const auto& loop : loops.loops) {
      std::vector<BlockId> outside;
      for (const BlockId p : cfg.preds[loop.header.index])
        if (!dom.dominates(loop.header, p) && std::find(outside.begin(), outside.end(), p) == outside.end())
          outside.push_back(p);
      if (outside.size() == 1 && f_[f_.terminator(outside[0])].op == Op::Jump) continue;
      const BlockId pre = f_.add_block(f_[loop.header].pc);
      f_[pre].take_lanes_of(f_[loop.header]);
      std::vector<ValueId> args;
      const std::vector<ValueId> params = f_[loop.header].params;
      for (const ValueId p : params) args.push_back(f_.add_param(pre, f_.type(p)));
      Inst jump;
      jump.op = Op::Jump;
      jump.pc = f_[loop.header].pc;
      f_.append(pre, jump, {}, {});
      f_[pre].successors = {{loop.header, args}};
      for (const BlockId p : outside)
        for (Successor& s : f_[p].successors)
          if (s.block == loop.header) s.block = pre;
    }
  }

  /// Per loop: the outermost enclosing loop that can lie inside a phase, or -1.
  std::vector<i32> find_unit_loops(const Loops& loops) {
    std::vector<i32> unit(loops.loops.size(), -1);
    if (loops.irreducible)
      reasons_.push_back({BlockId{0}, "all loops at wave level: one has several entries"});
    for (u32 l = 0; l < loops.loops.size(); ++l) {
      const auto& loop = loops.loops[l];
      if (loop.parent >= 0 && unit[static_cast<unsigned>(loop.parent)] >= 0)
        unit[l] = unit[static_cast<unsigned>(loop.parent)];
      else if (!loops.irreducible && fits_in_phase(loop, l, loops))
        unit[l] = static_cast<i32>(l);
    }
    return unit;
  }

  bool fits_in_phase(const Loops::Loop& loop, u32 index, const Loops& loops) {
    std::vector<InstId> accesses;
    const bool retries =
        loop.blocks.size() == 1 || (f_[f_.terminator(loop.header)].imm & kRetries) != 0; // if marked
    const auto no = [&](const std::string& why) {
      reasons_.push_back({loop.header, "loop at wave level: " + why});
      return false;
    };
    for (const BlockId b : loop.blocks) {
      if (!f_[b].has_lanes_of(f_[loop.header])) return no("a gang goes on alone in it");
      for (const InstId i : f_[b].insts) {
        const Inst& inst = f_[i];
        if (waits_for_waves(inst.op)) return no(fmt::format("barrier at {:#x}", inst.pc));
        if (inst.op == Op::Clock) return no(fmt::format("clock at {:#x}", inst.pc));
        const auto x = f_.operands(i);
        for (unsigned n = 0; n < x.size(); ++n)
          if (reads_whole(i, n) && !is_gang_condition(i, b) &&
              loops.contains(static_cast<i32>(index), f_.def_block(x[n])))
            return no(fmt::format("{} at {:#x} looks across gangs", info(inst.op).text, inst.pc));
        if (!is_access(f_, i)) continue;
        accesses.push_back(i);
        for (const InstId other : accesses)
          if (!(retries && belong_together(other, i)) && conflicts(other, i, [&](ValueId base) {
                return !loops.contains(static_cast<i32>(index), f_.def_block(base));
              }))
            return no(fmt::format("the accesses at {:#x} and {:#x} may touch each other's memory",
                                  f_[other].pc, inst.pc));
      }
    }
    return true;
  }

  /// The phase all forward predecessors of `b` are in, if they are in one and nothing else forbids to join
  /// it.
  u32 common_phase(BlockId b, const Cfg& cfg, i32 loop) const {
    u32 common = kNoPhase;
    for (const BlockId pred : cfg.preds[b.index]) {
      const BlockId p = tail_[pred.index];
      const u32 phase = phase_[p.index];
      if (phase == kNoPhase) continue; // a back edge
      if (waits_for_waves(f_[f_.terminator(p)].op)) return kNoPhase;
      if (common != kNoPhase && phase != common) return kNoPhase;
      common = phase;
    }
    return common != kNoPhase && phase_loop_[common] == loop &&
                   f_[plan_.phases[common].entry].has_lanes_of(f_[b])
               ? common
               : kNoPhase;
  }

  /// `v` comes about while the phase runs; the entry's parameters are there before.
  bool is_made_in(ValueId v, u32 phase) const {
    const BlockId b = f_.def_block(v);
    if (phase_[b.index] != phase) return false;
    return f_.def_id(v).valid() || b != plan_.phases[phase].entry;
  }

  /// In one loop that retries a compare-and-swap, which each gang may run alone.
  bool belong_together(InstId first, InstId second) const {
    return f_[first].mem.retry != 0 && f_[first].mem.retry == f_[second].mem.retry;
  }

  /// Each gang runs `b` at most once in a phase: it lies in none of the loops inside phases.
  bool is_once_a_phase(BlockId b) const { return b.index >= repeats_.size() || !repeats_[b.index]; }

  /// The first obstacle to running `i` of block `b` in `phase`, or null.
  const char* obstacle(InstId i, BlockId b, u32 phase) const {
    const auto x = f_.operands(i);
    for (unsigned n = 0; n < x.size(); ++n)
      if (reads_whole(i, n) && !is_gang_condition(i, b) && is_made_in(x[n], phase))
        return "looks across gangs";
    if (f_[i].op == Op::Clock) return nullptr;
    if (accesses_[phase].empty() || !is_access(f_, i)) return nullptr;
    const std::function<bool(ValueId)> is_fixed = [&](ValueId base) {
      return is_once_a_phase(f_.def_block(base));
    };
    const bool stores = info(f_[i].op).is(kStores);
    for (const InstId other : accesses_[phase])
      if ((stores || info(f_[other].op).is(kStores)) && !belong_together(other, i) &&
          conflicts(other, i, is_fixed))
        return "may touch what another gang's access in this phase touches";
    return nullptr;
  }

  void place_loop(const Loops::Loop& loop, const Cfg& cfg, i32 parent) {
    u32 phase = common_phase(loop.header, cfg, parent);
    if (phase != kNoPhase)
      for (const BlockId b : loop.blocks)
        for (const InstId i : f_[b].insts)
          if (phase != kNoPhase)
            if (const char* why = obstacle(i, b, phase)) {
              reasons_.push_back({loop.header, fmt::format("phase starts before the loop: {} at {:#x} {}",
                                                           info(f_[i].op).text, f_[i].pc, why)});
              phase = kNoPhase;
            }
    if (phase == kNoPhase) {
      // The preheader is the loop's only way in and ends in a jump: cut it off as the new phase's entry.
      BlockId pre;
      for (const BlockId p : cfg.preds[loop.header.index])
        if (phase_[p.index] != kNoPhase) pre = tail_[p.index];
      const BlockId entry = split(pre, static_cast<u32>(f_[pre].insts.size()) - 1);
      phase = new_phase(entry, parent);
      phase_[entry.index] = phase;
    }
    for (const BlockId b : loop.blocks) {
      phase_[b.index] = phase;
      for (const InstId i : f_[b].insts)
        if (is_access(f_, i)) accesses_[phase].push_back(i);
    }
  }

  void place_block(const BlockId whole, const Cfg& cfg, i32 loop, bool must_start) {
    BlockId b = whole;
    u32 phase = must_start ? kNoPhase : common_phase(b, cfg, loop);
    if (phase == kNoPhase) phase = new_phase(b, loop);
    phase_[b.index] = phase;
    for (u32 n = 0; n < f_[b].insts.size(); ++n) {
      const InstId i = f_[b].insts[n];
      if (const char* why = obstacle(i, b, phase); why != nullptr && n > 0) {
        reasons_.push_back(
            {b, fmt::format("phase ends: {} at {:#x} {}", info(f_[i].op).text, f_[i].pc, why)});
        b = split(b, n);
        tail_[whole.index] = b;
        phase = new_phase(b, loop);
        phase_[b.index] = phase;
        n = 0;
      } else if (why != nullptr) {
        if (plan_.phases[phase].entry != b) { // first instruction of a joined block: start here instead
          reasons_.push_back(
              {b, fmt::format("phase ends: {} at {:#x} {}", info(f_[i].op).text, f_[i].pc, why)});
          phase = new_phase(b, loop);
          phase_[b.index] = phase;
        }
      }
      if (is_access(f_, i)) accesses_[phase].push_back(i);
    }
  }

  /// Cuts `b` before its instruction number `n`; the rest becomes a new block, to which `b` jumps.
  BlockId split(BlockId b, u32 n) {
    const u32 pc = f_[f_[b].insts[n]].pc;
    const BlockId rest = f_.add_block(pc);
    f_[rest].take_lanes_of(f_[b]);
    phase_.resize(f_.num_blocks(), kNoPhase);
    auto& from = f_[b].insts;
    f_[rest].insts.assign(from.begin() + n, from.end());
    from.resize(n);
    for (const InstId i : f_[rest].insts) f_[i].block = rest;
    f_[rest].successors = std::move(f_[b].successors);
    f_[b].successors = {{rest, {}}};
    Inst jump;
    jump.op = Op::Jump;
    jump.pc = pc;
    f_.append(b, jump, {}, {});
    return rest;
  }

  /// Of a scalar, or a splat of one: by an instruction, or as what is handed on to another block.
  struct Use {
    BlockId in, to;
    InstId by;
    ValueId param;
  };
  /// Puts gang-decided branches whose region left their phase back to wave level; true if there were any.
  bool revoke_decisions() {
    const Cfg cfg(f_);
    std::optional<Lists<Use>> uses; // made when wanted
    bool any = false;
    for (const BlockId b : cfg.rpo) {
      const BlockId join = join_of(f_[f_.terminator(b)]);
      if (!is_gang_decided(f_, b)) continue;
      const bool fits = region_in_phase(b, join);
      if (fits && !hands_on_scalars(b, join, cfg, uses)) continue;
      f_[f_.terminator(b)].imm = 0;
      revoked_.push_back(
          {b, fits ? "branch at wave level: a scalar that tells which way was gone is used later"
                   : "branch at wave level: what it guards does not fit into one phase"});
      any = true;
    }
    return any;
  }
  /// Scalars that are one thing or another by which way was gone, or come of such, are used in another phase:
  /// there is one of them for the wave there, which would be the last gang's. So are splats of them, which
  /// are made again where they are used.
  bool hands_on_scalars(BlockId b, BlockId join, const Cfg& cfg, std::optional<Lists<Use>>& uses) const {
    const u32 phase = phase_[b.index];
    std::vector<ValueId> scalars; // that are chosen by the way
    std::vector<BlockId> work = {f_[b].successors[0].block, f_[b].successors[1].block};
    std::vector<bool> seen(f_.num_blocks(), false);
    while (!work.empty()) {
      const BlockId x = work.back();
      work.pop_back();
      if (seen[x.index]) continue;
      seen[x.index] = true;
      for (const ValueId p : f_[x].params) {
        if (!is_uniform(f_.type(p))) continue;
        if (phase_[x.index] != phase) return true;
        scalars.push_back(p);
      }
      if (x == join) continue;
      for (const Successor& s : f_[x].successors) work.push_back(s.block);
    }
    if (scalars.empty()) return false;
    if (!uses) uses = uses_of_scalars(cfg);
    return is_used_in_another_phase(std::move(scalars), phase, *uses);
  }
  bool is_scalar_or_splat(ValueId v) const {
    const Inst* def = f_.def(v);
    return is_uniform(f_.type(v)) || (def != nullptr && def->op == Op::Splat);
  }
  Lists<Use> uses_of_scalars(const Cfg& cfg) const {
    std::vector<std::pair<u32, Use>> uses;
    for (const BlockId b : cfg.rpo) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i))
          if (is_scalar_or_splat(v)) uses.emplace_back(v.index, Use{b, b, i, {}});
      for (const Successor& s : f_[b].successors)
        for (std::size_t n = 0; n < s.args.size(); ++n)
          if (is_scalar_or_splat(s.args[n]))
            uses.emplace_back(s.args[n].index, Use{b, s.block, {}, f_[s.block].params[n]});
    }
    return Lists<Use>(f_.num_values(), uses);
  }
  /// One of these scalars of `phase`, or what is made of them there.
  bool is_used_in_another_phase(std::vector<ValueId> work, u32 phase, const Lists<Use>& uses) const {
    std::vector<bool> by_gang(f_.num_values(), false);
    const auto add = [&](ValueId v) {
      if (by_gang[v.index] || !is_scalar_or_splat(v)) return;
      by_gang[v.index] = true;
      work.push_back(v);
    };
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      for (const Use& use : uses[v.index]) {
        if (phase_[use.in.index] != phase || phase_[use.to.index] != phase) return true;
        if (!use.by.valid()) {
          add(use.param);
          continue;
        }
        for (u32 r = 0; r < f_[use.by].num_results; ++r) add(f_.result(use.by, r));
      }
    }
    return false;
  }
  bool region_in_phase(BlockId b, BlockId join) const {
    const u32 phase = phase_[b.index];
    std::vector<BlockId> work;
    std::vector<bool> seen(f_.num_blocks(), false);
    const auto add = [&](BlockId x) {
      if (x != join && !seen[x.index]) {
        seen[x.index] = true;
        work.push_back(x);
      }
    };
    for (const Successor& s : f_[b].successors) add(s.block);
    while (!work.empty()) {
      const BlockId x = work.back();
      work.pop_back();
      // Going through the entry again would be an exit that other gangs do not take.
      if (phase_[x.index] != phase || plan_.phases[phase].entry == x) return false;
      for (const Successor& s : f_[x].successors) add(s.block);
    }
    return true;
  }

  /// An operation that looks at all of its operand once per gang, not once before them all.
  bool looks_per_gang(InstId i, BlockId b) const {
    const Op op = f_[i].op;
    if (op == Op::BPermute || op == Op::Permute || is_lane_move(op)) return true;
    return !is_whole(b) && !is_gang_condition(i, b) && !done_once_[i.index];
  }
  /// Finds what is done once per wave, before its phase's gangs. (Selector::is_hoistable() has the rule; this
  /// says no where that is not plain to see.)
  void find_done_once() {
    const Cfg cfg(f_);
    done_once_.assign(f_.num_insts(), false);
    std::vector<bool> rare(f_.num_blocks(), true); // only branches marked as such lead there (kFirstIsRare)
    for (const BlockId b : cfg.rpo) {
      const auto is_rare_way = [&](BlockId from) {
        const Inst& end = f_[f_.terminator(from)];
        const bool first_is_rare = end.op == Op::Branch && (end.imm & kFirstIsRare) != 0;
        return rare[from.index] || (first_is_rare && f_[from].successors[1].block != b);
      };
      const auto& preds = cfg.preds[b.index];
      rare[b.index] = !preds.empty() && std::ranges::all_of(preds, is_rare_way);
      for (const InstId i : f_[b].insts)
        done_once_[i.index] = !rare[b.index] && is_scalar_by_what_is_there(i);
    }
  }
  bool is_scalar_by_what_is_there(InstId i) const {
    const u32 phase = phase_[f_[i].block.index];
    const OpInfo& op = info(f_[i].op);
    const auto x = f_.operands(i);
    bool all = op.is(kPure);
    for (unsigned n = 0; n < x.size(); ++n) {
      const InstId def = f_.def_id(x[n]);
      const bool made = is_made_in(x[n], phase);
      all &= is_uniform(f_.type(x[n])) ? !made || f_.is_const(x[n]) || (def.valid() && done_once_[def.index])
                                       : !made && op.reads_whole(n);
    }
    return all;
  }

  /// Moves the exit edges of such operations' phases that pass a new value for a parameter read whole there
  /// into phases of their own: otherwise the first gang would overwrite what the next still reads.
  void isolate_whole_parameters() {
    const u32 blocks = f_.num_blocks();
    find_done_once();
    for (u32 n = 0; n < blocks; ++n)
      for (const InstId i : f_.blocks[n].insts)
        for (unsigned o = 0; o < f_[i].num_operands; ++o) {
          const ValueId v = f_.operands(i)[o];
          if (reads_whole(i, o) && !f_.def_id(v).valid() && phase_[n] != kNoPhase &&
              looks_per_gang(i, BlockId{n}))
            isolate(phase_[n], f_.def_block(v));
        }
  }
  /// One phase for all of them: gangs that have decided for themselves which way to take must not leave for
  /// different ones.
  void isolate(u32 phase, BlockId target) {
    const u32 blocks = f_.num_blocks();
    std::size_t edges = 0;
    for (u32 n = 0; n < blocks; ++n)
      for (const Successor& s : f_.blocks[n].successors) edges += phase_[n] == phase && s.block == target;
    if (edges == 0) return;
    const BlockId middle = f_.add_block(f_[target].pc);
    phase_.push_back(new_phase(middle, phase_loop_[phase]));
    Inst jump;
    jump.op = Op::Jump;
    jump.pc = f_[target].pc;
    f_.append(middle, jump, {}, {});
    Successor onwards{target, {}};
    if (edges > 1)
      for (const ValueId p : std::vector(f_[target].params))
        onwards.args.push_back(f_.add_param(middle, f_.type(p)));
    for (u32 n = 0; n < blocks; ++n)
      for (Successor& s : f_.blocks[n].successors) {
        if (phase_[n] != phase || s.block != target) continue;
        if (edges == 1) onwards.args = std::exchange(s.args, {});
        s.block = middle;
      }
    f_[middle].successors = {std::move(onwards)};
  }

  void finish() {
    isolate_whole_parameters();
    const Cfg cfg(f_);
    plan_.gang_decided.assign(f_.num_blocks(), false);
    for (const BlockId b : cfg.rpo) plan_.gang_decided[b.index] = is_gang_decided(f_, b);
    plan_.phase_of.assign(f_.num_blocks(), PhaseId{});
    for (const BlockId b : cfg.rpo) {
      plan_.phase_of[b.index] = PhaseId{phase_[b.index]};
      plan_.phases[phase_[b.index]].blocks.push_back(b);
    }
    for (Phase& phase : plan_.phases) {
      // A split can place the entry's block anywhere in the order of ids, but in reverse postorder it
      // precedes the rest.
      phase.per_lane =
          std::any_of(phase.blocks.begin(), phase.blocks.end(), [&](BlockId b) { return has_lane_work(b); });
    }
    plan_.lockstep = lockstep_;
    plan_.skips_idle = skips_idle_;
    plan_.lanes = lanes_;
    plan_.reasons = std::move(reasons_);
    plan_.reasons.insert(plan_.reasons.end(), revoked_.begin(), revoked_.end());
  }
  bool has_lane_work(BlockId b) const {
    for (const InstId i : f_[b].insts) {
      if (info(f_[i].op).is(kMemory)) return true;
      for (unsigned r = 0; r < f_[i].num_results; ++r)
        if (!is_uniform(f_.type(f_.result(i, r)))) return true;
    }
    for (const Successor& s : f_[b].successors)
      for (const ValueId v : s.args)
        if (!is_uniform(f_.type(v))) return true;
    return false;
  }
};

} // namespace

bool looks_across_gangs(const Inst& inst, unsigned n, unsigned gang_lanes) {
  return info(inst.op).reads_whole(n) && !stays_in_gang(inst, gang_lanes);
}

Plan form_phases(Function& f, unsigned gang_lanes, bool lockstep) {
  return Former(f, gang_lanes, lockstep).run();
}

std::string print(const Plan& plan, const Function& f) {
  std::string text;
  for (u32 p = 0; p < plan.phases.size(); ++p) {
    const Phase& phase = plan.phases[p];
    text += fmt::format("phase {}{}: b{} @{:#x}, {} blocks:", p,
                        phase.first_gangs > 1    ? fmt::format(" (first {} gangs)", phase.first_gangs)
                        : phase.first_gangs == 1 ? " (first gang)"
                        : phase.in_ranks         ? " (in ranks)"
                        : phase.per_lane         ? ""
                                                 : " (once per wave)",
                        phase.entry.index, f[phase.entry].pc, phase.blocks.size());
    for (const BlockId b : phase.blocks)
      text += fmt::format(" b{}{}", b.index, plan.gang_decided[b.index] ? "*" : "");
    if (phase.interleave > 1) text += fmt::format("; {} gangs side by side", phase.interleave);
    text += '\n';
  }
  if (plan.lockstep) text += "all gangs run side by side\n";
  if (plan.skips_idle) text += "gangs without work-items do not run\n";
  if (!plan.reasons.empty()) text += "borders and branches at wave level:\n";
  for (const Reason& r : plan.reasons)
    text += fmt::format("  b{} @{:#x}: {}\n", r.block.index, f[r.block].pc, r.text);
  return text;
}

} // namespace lanewise::phases
