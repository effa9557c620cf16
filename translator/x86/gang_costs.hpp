// What gangs side by side cost: instructions, registers and latencies of a part of a function.
#pragma once

#include "translator/x86/value_steps.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace lanewise::x86 {

/// An amount that each gang has, by which gangs have it in common: CommonValues.
struct Amount {
  unsigned own = 0, in_row = 0, in_column = 0, in_both = 0;

  /// Of so many gangs, of which so many are in a row.
  [[nodiscard]] unsigned of(unsigned gangs, unsigned row) const {
    row = std::min(gangs, row);
    return own * gangs + in_row * (gangs / row) + in_column * row + in_both;
  }
};

inline constexpr unsigned kMaxGangs = 4;    ///< side by side, unless in lockstep
inline constexpr unsigned kMaxTogether = 8; ///< in lockstep: all of a wave with AVX2

/// What decides about a region of a phase.
struct Demand {
  std::array<unsigned, kMaxTogether + 1> vectors_of{}; ///< alive at once, of so many gangs: 1, 2, 4 or 8
  std::array<unsigned, kMaxTogether + 1> masks_of{};   ///< likewise
  unsigned shared = 0;    ///< splats and constants, which all gangs use in common
  unsigned issued = 0;    ///< x86 instructions per gang, roughly
  Amount amount;          ///< which these are, of lanes
  unsigned guarded = 0;   ///< those of them that gangs skip
  unsigned row = 1;       ///< gangs in a row of work-items
  unsigned once = 0;      ///< those that all gangs have in common
  bool is_loop = false;   ///< it goes round from its end to its start
  bool alone = false;     ///< it runs for one of the wave's gangs only
  unsigned handed_on = 0; ///< registers of what a gang hands on from round to round, if it is a loop
  unsigned rows = 0;      ///< of memory that are gone along, if it is a loop
  double times = 1;       ///< how often it runs, relative to loops
  unsigned path = 0,
           carried = 0; ///< cycles of the longest chain, and of the longest from iteration to iteration

  void add_vectors_per_gang(unsigned more) {
    for (unsigned gangs = 1; gangs <= kMaxTogether; gangs *= 2) vectors_of[gangs] += gangs * more;
  }
};

/// Of an instruction, for a gang: x86 instructions that are issued, and cycles until its result is there.
struct Cost {
  unsigned issued, latency;
};
/// Roughly, for V32 on any of the last ten years' machines.
Cost cost_of(const ir::Function& f, ir::InstId i);

/// Measures regions of one function: sets of blocks in reverse postorder that are entered at the first one
/// only.
class RegionCosts {
public:
  RegionCosts(const ir::Function& f, bool avx512);

  /// `common`, if not null: of as many gangs as there may be side by side.
  Demand of(std::span<const ir::BlockId> blocks, CommonValues* common);
  /// `shares_scalars`: what is the same for all gangs counts. `guarded`, per block if not empty: some gangs
  /// skip it.
  Demand of_loop(std::span<const ir::BlockId> blocks, bool shares_scalars, const std::vector<bool>& guarded,
                 CommonValues* common);

private:
  const ir::Function& f_;
  bool avx512_;
  std::vector<u32> place_, index_; ///< per block, per value: kOutside while no region is measured
};

/// Vector registers that are left for what each gang has of its own.
unsigned registers_for_gangs(const Demand& d, bool avx512);

/// Estimated cycles per gang with `gangs` side by side.
double cycles(const Demand& d, unsigned gangs, bool avx512);

} // namespace lanewise::x86
