// Running several gangs side by side hides latency, and what is the same for all lanes (counters, addresses,
// splats, branches) is done once. (Outside of loops scalars are anyway.) It costs registers and code. So: as
// many as the registers hold in the innermost loops, or if there are none, throughout. Where gangs decide
// branches inside a loop, gangs side by side do what any of them needs: there whole loops count, with what
// they guard.
#include "translator/x86/interleave.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/disjoint_rows.hpp"
#include "translator/phases/last_lanes.hpp"

#include "support/bits.hpp"
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/ir/rows.hpp"
#include "translator/passes/single_lanes.hpp"
#include "translator/x86/frame.hpp"
#include "translator/x86/gang_costs.hpp"
#include "translator/x86/packed_values.hpp"
#include "translator/x86/select.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::x86 {

namespace {

using ir::ValueId;

constexpr unsigned kMaxIssued = 4000; ///< instructions of all gangs in a region, so that code stays small
constexpr double kWorthwhile = 0.9;
constexpr double kWorthEight = 0.75; ///< for eight gangs that do not fit into the registers

constexpr std::size_t kMinGuarded = 64; ///< instructions
constexpr double kLoopRuns = 16;        ///< a guess

unsigned gang_lanes(bool avx512) {
  return translator::gang_lanes(avx512 ? translator::Simd::Avx512 : translator::Simd::Avx2);
}
unsigned gangs_of(unsigned lanes, bool avx512) {
  const unsigned gang = gang_lanes(avx512);
  return (lanes + gang - 1) / gang;
}

/// All gangs of waves with `lanes` lanes, side by side: a power of two.
unsigned all_gangs(unsigned lanes, bool avx512) { return std::bit_ceil(gangs_of(lanes, avx512)); }

/// The rows that a phase goes through which does little else.
struct Streams {
  unsigned rows = 0;
  unsigned bytes = 4; ///< of the largest element
};

Streams streams_of(const ir::Function& f, const phases::Phase& phase) {
  constexpr unsigned kMemoryBound = 16; // instructions per row
  Streams streams;
  std::vector<std::pair<ValueId, ValueId>> rows;
  unsigned issued = 0;
  for (const ir::BlockId b : phase.blocks)
    for (const ir::InstId i : f[b].insts) {
      const ir::MemAttr& mem = f[i].mem;
      if (f[i].num_results == 0 || ir::is_per_lane(f.type(f.result(i)))) issued += cost_of(f, i).issued;
      const bool moves = f[i].op == ir::Op::Load || f[i].op == ir::Op::Store;
      if (!moves || mem.space != ir::Space::Global || !mem.wave_row || mem.bytes % 4 != 0 ||
          !ir::is_consecutive(mem))
        continue;
      streams.bytes = std::max<unsigned>(streams.bytes, mem.bytes);
      const auto x = f.operands(i);
      const std::pair row{x[0], ir::address_operands(mem) > 1 ? x[1] : ValueId{}};
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    }
  if (rows.size() > 2 && issued < rows.size() * kMemoryBound) streams.rows = static_cast<u32>(rows.size());
  return streams;
}

/// The hardware sees what comes next for so many loads and stores only (32 rows by four gangs take 2 to 3
/// times as long as by one on Zen 5).
constexpr unsigned kFollowedRows = 40;

/// How many gangs there may be side by side where a phase mostly goes through three rows or more. Apart from
/// their number, in launches whose rows are larger than a core's caches each should go on by two lines at
/// most from one time to the next: with four gangs of 16 lanes and dwords that is four lines, and takes 1.3
/// to 1.5 times as long. (Two rows do not mind.)
unsigned gangs_of_streams(const ir::Function& f, const phases::Phase& phase, unsigned lanes) {
  constexpr u64 kManyItems = 1 << 20;
  const Streams streams = streams_of(f, phase);
  if (streams.rows == 0) return kMaxGangs;
  const unsigned gangs = std::bit_floor(std::clamp(kFollowedRows / streams.rows, 1U, kMaxGangs));
  if (f.launch.min_items < kManyItems) return gangs;
  return std::min(gangs, std::max(1U, kFollowedStep / (lanes * streams.bytes)));
}

/// What there is to gain in each phase: its innermost loops, or all of it.
class Chooser {
public:
  Chooser(const ir::Function& f, phases::Plan& plan, bool avx512)
      : f_(f), plan_(plan), avx512_(avx512), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_), post_(f, cfg_),
        costs_(f, avx512), use_counts_(f.use_counts()), limits_(f),
        common_(f, gang_lanes(avx512), kMaxGangs) {}

  void run() {
    demands_.resize(plan_.phases.size());
    times_.resize(loops_.loops.size());
    for (u32 l = 0; l < loops_.loops.size(); ++l) measure(static_cast<i32>(l));
    for (u32 p = 0; p < plan_.phases.size(); ++p) {
      const phases::Phase& phase = plan_.phases[p];
      if (!phase.per_lane || (!demands_[p].empty() && !is_mostly_outside_loops(p))) continue;
      const double times = demands_[p].empty() ? 1 : 1.0 / kLoopRuns;
      demands_[p].push_back(costs_.of(phase.blocks, &common_));
      demands_[p].back().times = times;
    }
    const unsigned most = most_gangs();
    for (u32 p = 0; p < plan_.phases.size(); ++p) {
      phases::Phase& phase = plan_.phases[p];
      if (!phase.per_lane) continue;
      phase.interleave = best(demands_[p], most);
      if (is_mostly_packed(p)) phase.interleave = kMaxGangs;
      if (demands_[p].size() == 1)
        phase.interleave = std::min(phase.interleave, gangs_of_streams(f_, phase, avx512_ ? 16 : 8));
    }
  }

private:
  const ir::Function& f_;
  phases::Plan& plan_;
  bool avx512_;
  ir::Cfg cfg_;
  ir::Dominators dom_;
  ir::Loops loops_;
  ir::PostDominators post_;
  RegionCosts costs_;
  std::vector<u32> use_counts_;
  passes::ValueLimits limits_;
  std::optional<passes::SingleLanes> single_lanes_; ///< once they have been asked for: only loops are
  CommonValues common_;
  std::vector<std::vector<Demand>> demands_; ///< per phase
  std::vector<double> times_;                ///< per loop of which the demand is there, or else 0

  /// All gangs together save half of the instructions of bytes or half-words.
  [[nodiscard]] bool is_mostly_packed(u32 p) {
    if (all_gangs(plan_.lanes, avx512_) < kMaxGangs || !may_be_packed(f_, plan_.phases[p])) return false;
    const PackedValues packed({.f = f_,
                               .plan = plan_,
                               .phase = p,
                               .members = kMaxGangs,
                               .avx512 = avx512_,
                               .use_counts = use_counts_,
                               .limits = limits_,
                               .is_row = [this](ir::InstId i) { return is_row_of_all(i); }});
    unsigned issued = 0;
    for (const ir::BlockId b : plan_.phases[p].blocks)
      for (const ir::InstId i : f_[b].insts) {
        // Rows that are packed are tested once for all, which is not among what is saved.
        const bool is_row = packed.bits(i) != 0 && ir::info(f_[i].op).is(ir::kMemory);
        if (f_[i].num_results == 0 || ir::is_per_lane(f_.type(f_.result(i))))
          issued += is_row ? 1 : cost_of(f_, i).issued;
      }
    return 2 * packed.saved() > static_cast<int>(kMaxGangs * issued);
  }

  /// An access with a stride in global memory goes on through kMaxGangs gangs.
  [[nodiscard]] bool is_row_of_all(ir::InstId i) const {
    const ir::MemAttr& mem = f_[i].mem;
    const GangSteps& row = common_.row();
    if (mem.wave_row || row.group() < kMaxGangs) return mem.wave_row;
    const auto x = f_.operands(i);
    const i64 step = i64{mem.stride} * gang_lanes(avx512_);
    switch (mem.form) {
    case ir::AddressForm::Row: return row.of(x[0]) == step;
    case ir::AddressForm::Wrapped: return row.is_same(x[0]) && row.of(x[1]) == step;
    default: return false;
    }
  }

  [[nodiscard]] bool is_mostly_outside_loops(u32 p) const {
    std::size_t all = 0, in_loops = 0;
    for (const ir::BlockId b : plan_.phases[p].blocks) {
      all += f_[b].insts.size();
      if (loops_.innermost[b.index] >= 0) in_loops += f_[b].insts.size();
    }
    return all > 4 * in_loops;
  }

  /// Innermost loops, and loops around them in which gangs go different ways.
  void measure(i32 l) {
    std::vector<ir::BlockId> blocks = loops_.loops[static_cast<unsigned>(l)].blocks;
    const u32 phase = plan_.phase_of[blocks.front().index].index;
    if (plan_.phases[phase].entry == blocks.front()) return; // A loop over phases.
    bool innermost = true;
    for (const ir::BlockId b : blocks) {
      if (plan_.phase_of[b.index].index != phase) return;
      innermost &= loops_.innermost[b.index] == l;
    }
    const std::vector<bool> guarded = find_guarded(l, blocks);
    if (!innermost && guarded.empty()) return;
    std::sort(blocks.begin(), blocks.end(), [&](ir::BlockId a, ir::BlockId b) {
      return cfg_.rpo_index[a.index] < cfg_.rpo_index[b.index];
    });
    demands_[phase].push_back(costs_.of_loop(blocks, !is_left_gang_by_gang(l, blocks), guarded, &common_));
    demands_[phase].back().alone = is_for_one_lane(blocks.front());
    demands_[phase].back().times = times_[static_cast<unsigned>(l)] = times_of(l);
  }
  /// A loop runs once where those around it count, which come first, or where there are none.
  [[nodiscard]] double times_of(i32 l) const {
    while ((l = loops_.loops[static_cast<unsigned>(l)].parent) >= 0)
      if (const double around = times_[static_cast<unsigned>(l)]; around != 0) return around * kLoopRuns;
    return 1;
  }
  /// Behind a branch that only the gang of one lane takes.
  [[nodiscard]] bool is_for_one_lane(ir::BlockId b) {
    for (ir::BlockId d = b; (b = d, d = dom_.idom[d.index]).valid();) {
      if (!plan_.gang_decided[d.index] || cfg_.preds[b.index].size() != 1 || f_[d].successors[0].block != b)
        continue;
      if (!single_lanes_) single_lanes_.emplace(f_);
      if ((*single_lanes_)[f_.tested_mask(d)].valid()) return true;
    }
    return false;
  }
  /// Gangs that go round together wait for the slowest: what they share is then no gain to count on.
  [[nodiscard]] bool is_left_gang_by_gang(i32 l, const std::vector<ir::BlockId>& blocks) const {
    return std::ranges::any_of(blocks, [&](ir::BlockId b) {
      const auto& ways = f_[b].successors;
      return plan_.gang_decided[b.index] &&
             std::ranges::any_of(ways, [&](const ir::Successor& s) { return !loops_.contains(l, s.block); });
    });
  }
  /// The blocks of loop `l` that come after a branch within the loop that each gang decides, up to where its
  /// two ways meet; nothing if there are none worth skipping. (So it is in a small loop, where the way round
  /// a block mostly leads out.)
  std::vector<bool> find_guarded(i32 l, const std::vector<ir::BlockId>& blocks) const {
    std::vector<bool> guarded;
    std::size_t instructions = 0;
    for (const ir::BlockId b : blocks) {
      const auto& ways = f_[b].successors;
      if (!plan_.gang_decided[b.index] || !loops_.contains(l, ways[0].block) ||
          !loops_.contains(l, ways[1].block))
        continue;
      const ir::BlockId join = post_.ipdom[b.index];
      guarded.resize(f_.num_blocks(), false);
      for (const ir::BlockId x : blocks) {
        if (guarded[x.index] || x == b || !dom_.dominates(b, x) || (join.valid() && dom_.dominates(join, x)))
          continue;
        guarded[x.index] = true;
        instructions += f_[x].insts.size();
      }
    }
    return instructions >= kMinGuarded ? guarded : std::vector<bool>{};
  }

  /// Estimated cycles per gang.
  [[nodiscard]] double total(const std::vector<Demand>& demands, unsigned gangs) const {
    double sum = 0;
    for (const Demand& d : demands) sum += d.times * cycles(d, gangs, avx512_);
    return sum;
  }
  /// How many gangs run, with or without work-items, if at most so many go side by side.
  [[nodiscard]] unsigned running(unsigned most) const {
    return (gangs_of(plan_.lanes, avx512_) + most - 1) / most * most;
  }
  [[nodiscard]] unsigned best(const std::vector<Demand>& demands, unsigned most) const {
    unsigned largest = 1, choice = 1;
    for (const Demand& d : demands) largest = std::max(largest, d.issued);
    for (unsigned gangs = 2; gangs <= most && gangs * largest <= kMaxIssued; gangs *= 2)
      if (total(demands, gangs) * running(gangs) < kWorthwhile * total(demands, choice) * running(choice))
        choice = gangs;
    return choice;
  }
  /// How many there may be in any phase. Gangs without work-items run along in all phases where they do in
  /// one: three gangs, of which large phases hold one at a time, are no four for what small ones gain.
  [[nodiscard]] unsigned most_gangs() const {
    unsigned choice = 1;
    double least = 0;
    for (unsigned most = 1; most <= std::min(kMaxGangs, all_gangs(plan_.lanes, avx512_)); most *= 2) {
      double sum = 0;
      for (const auto& demands : demands_) sum += total(demands, best(demands, most)) * running(most);
      if (most != 1 && sum > least) continue;
      choice = most;
      least = sum;
    }
    return choice;
  }
};

/// Whether the phases of a plan in lockstep make do with the registers, and with code of some size.
bool fits_in_registers(const ir::Function& f, const phases::Plan& plan, bool avx512) {
  const unsigned gangs = all_gangs(plan.lanes, avx512);
  RegionCosts costs(f, avx512);
  CommonValues common(f, gang_lanes(avx512), gangs);
  for (const phases::Phase& phase : plan.phases) {
    if (!phase.per_lane || phase.first_gangs != 0) continue;
    const Demand d = costs.of(phase.blocks, &common);
    const unsigned masks =
        avx512 ? 0 : d.masks_of[gangs]; // Spilling a k-register takes no more than a phase border.
    if (d.vectors_of[gangs] + masks > registers_for_gangs(d, avx512) || gangs * d.issued > kMaxIssued)
      return false;
  }
  return true;
}

/// Scalars of a gang that are alive all through the loop: what comes from outside, or from round to round.
std::size_t scalars_through(const ir::Function& f, const std::vector<ir::BlockId>& loop) {
  std::vector<ValueId> found;
  const auto is_inside = [&](ValueId v) {
    const ir::BlockId b = f.def_block(v);
    return std::ranges::find(loop, b) != loop.end() && (b != loop.front() || f.def_id(v).valid());
  };
  for (const ir::BlockId b : loop)
    for (const ir::InstId i : f[b].insts)
      for (const ValueId v : f.operands(i))
        if (ir::is_gang(f.type(v)) && !f.is_const(v) && !is_inside(v)) found.push_back(v);
  std::ranges::sort(found);
  return static_cast<std::size_t>(std::ranges::unique(found).begin() - found.begin());
}

/// Whether no loop takes much longer with all gangs side by side than with four, if it spills then.
bool loops_gain(const ir::Function& f, const phases::Plan& plan, bool avx512) {
  constexpr double kMostLonger = 1.2;       // estimated; borders are saved around it, and more is under way
  constexpr unsigned kScalarRegisters = 12; // Spilling each gang's indices takes 1.5 times as long.
  const unsigned gangs = all_gangs(plan.lanes, avx512);
  const ir::Cfg cfg(f);
  const ir::Loops loops(f, cfg, ir::Dominators(f, cfg));
  RegionCosts costs(f, avx512);
  CommonValues common(f, gang_lanes(avx512), gangs);
  return std::ranges::all_of(loops.loops, [&](const ir::Loops::Loop& loop) {
    if (!plan.phases[plan.phase_of[loop.header.index].index].per_lane) return true;
    std::vector<ir::BlockId> blocks = loop.blocks;
    std::ranges::sort(blocks, {}, [&](ir::BlockId b) { return cfg.rpo_index[b.index]; });
    if (gangs * scalars_through(f, blocks) > kScalarRegisters) return false;
    const Demand d = costs.of(blocks, &common);
    return cycles(d, gangs, avx512) <= kMostLonger * cycles(d, kMaxGangs, avx512);
  });
}

bool has_own_addresses(const ir::Function& f, ir::BlockId b) {
  return std::ranges::any_of(f[b].insts, [&](ir::InstId i) {
    return ir::info(f[i].op).is(ir::kMemory) && f[i].mem.form == ir::AddressForm::Lanes &&
           f[i].mem.space != ir::Space::Registers;
  });
}

/// A loop within a phase that each gang leaves when it is done: in lockstep it would have to wait for the
/// others.
bool has_gang_loops(const ir::Function& f, const phases::Plan& plan) {
  const ir::Cfg cfg(f);
  const ir::Dominators dom(f, cfg);
  const ir::Loops loops(f, cfg, dom);
  for (const auto& loop : loops.loops) {
    const phases::Phase& phase = plan.phases[plan.phase_of[loop.header.index].index];
    if (phase.entry == loop.header || phase.first_gangs != 0) continue;
    for (const ir::BlockId b : loop.blocks)
      if (f.tested_mask(b).valid()) return true;
  }
  return false;
}

/// Vectors that accesses at addresses of their own need for what they test.
constexpr unsigned kVectorsForTests = 4;

/// Estimated cycles of a wave of so many gangs that goes through each phase of `plan` once.
double cycles(const ir::Function& f, const phases::Plan& plan, unsigned gangs, bool avx512) {
  constexpr double kBorder = 10; // what is live is stored, and loaded again; nothing overlaps across it
  constexpr double kDecoded = 1200, kPerDecoded = 0.2; // instructions that are not, and what others take more
  const unsigned together = plan.lockstep || gangs <= kMaxGangs ? gangs : kMaxGangs;
  RegionCosts costs(f, avx512);
  CommonValues common(f, gang_lanes(avx512), together);
  double sum = 0, issued = 0;
  for (const phases::Phase& phase : plan.phases) {
    if (!phase.per_lane) continue;
    Demand d = costs.of(phase.blocks, &common);
    if (std::ranges::any_of(phase.blocks, [&](ir::BlockId b) { return has_own_addresses(f, b); }))
      d.add_vectors_per_gang(kVectorsForTests);
    sum += gangs * cycles(d, together, avx512) + kBorder * gangs / together;
    issued += d.issued * together;
  }
  return sum + kPerDecoded * std::max(0.0, issued - kDecoded);
}

/// Larger functions do not fit into registers, and trying costs time...
constexpr std::size_t kMaxLockstepValues = 500;
/// ...which is well spent where phases have fewer values than so many: their borders then take longest.
constexpr std::size_t kValuesOfLongPhase = 50;

/// One of so many phases is to be saved by code that is there twice, or by gangs in lockstep, which spill
/// more.
constexpr std::size_t kLeastSaved = 4;
/// ...or one of so many, and at least two, if the test whether the copy can be taken is about boxes, which
/// takes longer; and then one more for every so many scalar instructions.
constexpr std::size_t kLeastSavedByBoxes = 3, kLongTest = 128;
/// Chains are of many rows, and so of many phases; else code that is large would be there twice for little.
constexpr std::size_t kLeastSavedByChains = 4;
/// If code is there twice already for waves that pass the guards, and gangs are not in lockstep, where
/// borders take less, it costs the test alone: then it is one for every so many scalar instructions (y += a *
/// x with AVX2 1.1, vectors of four floats 1.2 to 1.4 times faster).
constexpr std::size_t kTestOfOne = 64;

/// So many phases are not worth going through more rows side by side than the hardware follows.
constexpr std::size_t kFewPhases = 3;

/// The plan for `f` as it is, in lockstep or not.
phases::Plan form_best(ir::Function& f, translator::Simd simd) {
  const bool avx512 = simd == translator::Simd::Avx512;
  const unsigned lanes = translator::gang_lanes(simd);
  const bool is_short = f.launch.wave_lanes < kWaveSize;
  const u32 fewest = f.launch.one_wave() ? f.launch.items() : kWaveSize; // lanes that may have to run
  const unsigned gangs = gangs_of(fewest, avx512);
  // Of other numbers than powers of two, gangs without work-items would run along.
  if (gangs > kMaxTogether || !std::has_single_bit(gangs) ||
      (f.num_values() > kMaxLockstepValues && !is_short))
    return phases::form_phases(f, lanes);
  ir::Function together = f;
  phases::Plan plan = phases::form_phases(f, lanes);
  if (plan.phases.size() == 1 || all_gangs(plan.lanes, avx512) > kMaxTogether || has_gang_loops(f, plan))
    return plan;
  if (f.num_values() > std::max(kMaxLockstepValues, kValuesOfLongPhase * plan.phases.size())) return plan;
  // Of so many, half-words would not be packed.
  const auto packs = [&](const phases::Phase& p) { return may_be_packed(f, p); };
  if (gangs > kMaxGangs && std::ranges::any_of(plan.phases, packs)) return plan;
  phases::Plan lockstep = phases::form_phases(together, lanes, true);
  const std::size_t enough = plan.phases.size() - std::max<std::size_t>(1, plan.phases.size() / kLeastSaved);
  if (lockstep.phases.size() > enough) return plan;
  const bool too_many_rows = std::ranges::any_of(lockstep.phases, [&](const phases::Phase& p) {
    return streams_of(together, p).rows * gangs > kFollowedRows;
  });
  const bool fits = fits_in_registers(together, lockstep, avx512);
  if (too_many_rows && (plan.phases.size() <= kFewPhases || !fits)) return plan;
  if (!fits && !is_short && (gangs <= kMaxGangs || !loops_gain(together, lockstep, avx512))) return plan;
  const double worthwhile = gangs > kMaxGangs ? kWorthEight : kWorthwhile;
  if ((!fits || is_short) &&
      cycles(together, lockstep, gangs, avx512) > worthwhile * cycles(f, plan, gangs, avx512))
    return plan;
  f = std::move(together);
  return lockstep;
}

/// A row of a gang that streams to memory is part of a cache line. With several such streams in turns, lines
/// would leave the processor half filled (Zen 3: 2.5 times as long as through the caches), so that the gangs
/// of a line must run side by side.
void complete_lines(const ir::Function& f, phases::Plan& plan, translator::Simd simd) {
  constexpr unsigned kLine = 64;
  const unsigned gang_lanes = translator::gang_lanes(simd);
  unsigned streams = 0;
  std::vector<unsigned> gangs(plan.phases.size(), 1);
  for (const phases::Phase& phase : plan.phases)
    for (const ir::BlockId b : phase.blocks)
      for (const ir::InstId i : f[b].insts) {
        if (!f[i].mem.streams) continue;
        ++streams;
        unsigned& most = gangs[plan.phase_of[b.index].index];
        most = std::max(most,
                        kLine / std::min(kLine, gang_lanes * static_cast<u32>(ir::element_stride(f[i].mem))));
      }
  const unsigned most = all_gangs(plan.lanes, simd == translator::Simd::Avx512);
  for (std::size_t p = 0; streams > 1 && p < plan.phases.size(); ++p)
    plan.phases[p].interleave = std::max(plan.phases[p].interleave, std::min(gangs[p], most));
}

/// How many phases waves go through that take no `rare` way, or all ways; in loops they do so again and
/// again.
std::size_t phases_gone_through(const ir::Function& f, const phases::Plan& plan, bool rare) {
  constexpr u32 kRoundsLog2 = 4, kMaxDepth = 2;
  const ir::Cfg cfg(f);
  const ir::Dominators dom(f, cfg);
  const ir::Loops loops(f, cfg, dom);
  const auto times = [&](ir::BlockId entry) {
    const i32 loop = loops.innermost[entry.index];
    const u32 depth = loop < 0 ? 0 : std::min(loops.loops[static_cast<unsigned>(loop)].depth, kMaxDepth);
    return std::size_t{1} << depth * kRoundsLog2;
  };
  std::vector<bool> seen(f.num_blocks(), false), used(plan.phases.size(), false);
  std::vector<ir::BlockId> work = {ir::BlockId{0}};
  while (!work.empty()) {
    const ir::BlockId b = work.back();
    work.pop_back();
    if (seen[b.index]) continue;
    seen[b.index] = true;
    used[plan.phase_of[b.index].index] = true;
    const ir::Inst& end = f[f.terminator(b)];
    const bool one_way = end.op == ir::Op::Branch && !rare && (end.imm & phases::kSecondIsRare) != 0;
    for (std::size_t n = 0; n < f[b].successors.size() && !(one_way && n != 0); ++n)
      work.push_back(f[b].successors[n].block);
  }
  std::size_t all = 0;
  for (std::size_t p = 0; p < plan.phases.size(); ++p) all += used[p] ? times(plan.phases[p].entry) : 0;
  return all;
}

/// The plan for `f`, or, if one can tell at the start that a wave passes its guards, for `f` with a copy of
/// all for such waves, which needs no masks; `is_copied` is set then. What is masked takes longer also if no
/// lane is missing, on Zen 5 up to four times so where it comes from beyond the caches.
phases::Plan form_behind_guards(ir::Function& f, translator::Simd simd, bool& is_copied) {
  if (!phases::has_guards(f)) return form_best(f, simd);
  ir::Function behind = f;
  if (!phases::split_by_guards(behind, translator::gang_lanes(simd))) return form_best(f, simd);
  phases::Plan other = form_best(behind, simd);
  if (const std::size_t gone_through = phases_gone_through(behind, other, false); gone_through > 1) {
    phases::Plan plan = form_best(f, simd);
    // Masks of eight gangs do not stay in registers, which costs more than the phases that are saved.
    const bool masks_spill =
        plan.lockstep && all_gangs(plan.lanes, simd == translator::Simd::Avx512) > kMaxGangs;
    if (gone_through > phases_gone_through(f, plan, true) && !masks_spill) return plan;
  }
  f = std::move(behind);
  is_copied = true;
  return other;
}

/// Short rows stream if they are put together with those of other stores, which takes lanes that keep apart.
void drop_lone_streams(ir::Function& f) {
  for (u32 n = 0; n < f.num_insts(); ++n) {
    ir::MemAttr& mem = f[ir::InstId{n}].mem;
    if (mem.short_row != 0 && mem.apart != phases::kApart) mem.streams = false;
  }
}

phases::Plan form_best_copies(ir::Function& f, translator::Simd simd, unsigned forced) {
  if (forced != 0) return phases::form_phases(f, translator::gang_lanes(simd));
  ir::Function split = f;
  bool is_copied = false;
  phases::Plan plan = form_behind_guards(f, simd, is_copied);
  // Gangs in lockstep are too many then.
  const bool streams = plan.lockstep && std::ranges::any_of(plan.phases, [&](const auto& p) {
                         return gangs_of_streams(f, p, translator::gang_lanes(simd)) < kMaxGangs;
                       });
  const phases::RowSplit made = phases::split_by_disjoint_rows(
      split, translator::gang_lanes(simd), plan.phases.size() == 1 && !streams, !plan.lockstep);
  if (!made.made) return plan;
  const auto one_of = [](std::size_t all, std::size_t share) { return (all + share - 1) / share; };
  const std::size_t before = phases_gone_through(f, plan, false);
  const bool cheap = is_copied && !plan.lockstep;
  // A border unpacks bytes and half-words, and packs them again.
  const bool packs = std::ranges::any_of(plan.phases, [&](const auto& p) { return may_be_packed(f, p); });
  std::size_t least_saved = 0;
  if (!made.gathers && !streams)
    least_saved = made.chains  ? kLeastSavedByChains + made.instructions / kLongTest
                  : cheap      ? 1 + made.instructions / kTestOfOne
                  : made.boxes ? std::max<std::size_t>(packs ? 1 : 2, one_of(before, kLeastSavedByBoxes)) +
                                     made.instructions / kLongTest
                               : one_of(before, kLeastSaved);
  // A guard and the end behind it are phases that take no time: for them alone code is not there twice.
  if (made.guarded && !made.boxes && !cheap && !streams) least_saved += 2;
  if (1 + least_saved > before)
    return plan; // whatever phases come of it: a good part of them, and they take long
  phases::Plan disjoint = phases::form_phases(split, translator::gang_lanes(simd));
  if (phases_gone_through(split, disjoint, false) + least_saved > before) return plan;
  f = std::move(split);
  return disjoint;
}

} // namespace

phases::Plan form_phases(ir::Function& f, translator::Simd simd, unsigned forced) {
  phases::Plan plan = form_best_copies(f, simd, forced);
  drop_lone_streams(f);
  return plan;
}

void choose_interleave(const ir::Function& f, phases::Plan& plan, translator::Simd simd, unsigned forced) {
  const bool avx512 = simd == translator::Simd::Avx512;
  if (!plan.lockstep && forced == 0) {
    Chooser(f, plan, avx512).run();
    complete_lines(f, plan, simd);
  } else {
    const unsigned gangs = plan.lockstep ? all_gangs(plan.lanes, avx512)
                                         : std::bit_floor(std::min(forced, gangs_of(plan.lanes, avx512)));
    for (phases::Phase& phase : plan.phases) phase.interleave = gangs;
  }
  phases::run_gangs_alone_with_last_lanes(f, plan);
  for (phases::Phase& phase : plan.phases)
    if (phase.first_gangs != 0 || phase.in_ranks) // Most gangs are without lanes.
      phase.interleave = std::max(1U, phase.first_gangs);
}

} // namespace lanewise::x86
