// The order within blocks, for fewer phases. What looks across gangs at a value of its own block ends a
// phase; so where several do that one after the other - ballots, permutations, sums across lanes of several
// values at once - each would end one. Those that do not wait for each other share a border instead: each
// instruction goes behind as many borders as the longest chain of such looks above it has, and no further.
//
// What nobody wants before a later border is computed behind that one, if no more vectors have to wait for it
// than would otherwise.
#include "translator/phases/phases.hpp"

#include <algorithm>
#include <span>

namespace lanewise::phases {

using namespace ir;

namespace {

class Grouper {
public:
  Grouper(Function& f, unsigned gang_lanes)
      : f_(f), gang_lanes_(gang_lanes), place_(f.num_insts(), kElsewhere) {}

  void run() {
    for (u32 n = 0; n < f_.num_blocks(); ++n) {
      const BlockId b{n};
      if (f_[b].first_gangs != 0) continue; // there the gang is the wave
      std::vector<InstId>& insts = f_[b].insts;
      for (std::size_t start = 0, end = 0; start < insts.size(); start = end + 1) {
        std::size_t looks = 0;
        for (end = start; end < insts.size() && can_move(insts[end]); ++end)
          looks += looks_across(insts[end]);
        if (looks > 1) group(std::span(insts).subspan(start, end - start));
      }
    }
  }

private:
  static constexpr u32 kElsewhere = ~0u;
  Function& f_;
  unsigned gang_lanes_;
  std::vector<u32> use_counts_; ///< per value, once asked for
  std::vector<u32> place_;      ///< per instruction: its number in the stretch

  /// What may change places with others: nothing that touches memory or ends the block.
  bool can_move(InstId i) const { return info(f_[i].op).is(kPure); }

  bool looks(InstId i, unsigned n) const { return looks_across_gangs(f_[i], n, gang_lanes_); }
  bool looks_across(InstId i) const {
    for (unsigned n = 0; n < f_[i].num_operands; ++n)
      if (looks(i, n)) return true;
    return false;
  }

  u32 place(ValueId v) const {
    const InstId def = f_.def_id(v);
    return def.valid() ? place_[def.index] : kElsewhere;
  }

  /// How many phases the stretch ends in this order.
  u32 borders(std::span<const InstId> stretch) const {
    u32 count = 0, phase_start = 0;
    for (u32 n = 0; n < stretch.size(); ++n) {
      const auto x = f_.operands(stretch[n]);
      for (unsigned o = 0; o < x.size(); ++o)
        if (const u32 p = place(x[o]); p != kElsewhere && p >= phase_start && looks(stretch[n], o)) {
          ++count;
          phase_start = n;
          break;
        }
    }
    return count;
  }

  void group(std::span<InstId> stretch) {
    for (u32 n = 0; n < stretch.size(); ++n) place_[stretch[n].index] = n;
    if (const u32 before = borders(stretch); before > 1) {
      std::vector<u32> level = levels(stretch);
      if (*std::max_element(level.begin(), level.end()) < before) {
        if (use_counts_.empty()) use_counts_ = f_.use_counts();
        put_off(stretch, level);
        std::stable_sort(stretch.begin(), stretch.end(),
                         [&](InstId a, InstId b) { return level[place_[a.index]] < level[place_[b.index]]; });
      }
    }
    for (const InstId i : stretch) place_[i.index] = kElsewhere;
  }

  /// Per instruction: how many borders it has to be behind.
  std::vector<u32> levels(std::span<const InstId> stretch) const {
    std::vector<u32> level(stretch.size(), 0);
    for (u32 n = 0; n < stretch.size(); ++n) {
      const auto x = f_.operands(stretch[n]);
      for (unsigned o = 0; o < x.size(); ++o)
        if (const u32 p = place(x[o]); p != kElsewhere)
          level[n] = std::max(level[n], level[p] + (looks(stretch[n], o) ? 1 : 0));
    }
    return level;
  }

  /// Raises levels as far as users allow, from the end upwards.
  void put_off(std::span<const InstId> stretch, std::vector<u32>& level) const {
    std::vector<u32> first_use(stretch.size(), kElsewhere), last_use(stretch.size(), 0),
        uses(stretch.size(), 0);
    for (auto n = static_cast<u32>(stretch.size()); n-- > 0;) {
      const InstId i = stretch[n];
      const auto x = f_.operands(i);
      if (first_use[n] != kElsewhere && first_use[n] > level[n] && f_[i].num_results == 1 &&
          uses[n] == use_counts_[f_.result(i).index]) {
        const bool waits_less = std::none_of(x.begin(), x.end(), [&](ValueId v) {
          const u32 p = place(v);
          return p != kElsewhere && !f_.is_const(v) && last_use[p] < first_use[n];
        });
        if (waits_less) level[n] = first_use[n];
      }
      for (unsigned o = 0; o < x.size(); ++o) {
        const u32 p = place(x[o]);
        if (p == kElsewhere) continue;
        first_use[p] = std::min(first_use[p], level[n] - (looks(i, o) ? 1 : 0));
        last_use[p] = std::max(last_use[p], level[n]);
        ++uses[p];
      }
    }
  }
};

} // namespace

void group_looks(Function& f, unsigned gang_lanes) { Grouper(f, gang_lanes).run(); }

} // namespace lanewise::phases
