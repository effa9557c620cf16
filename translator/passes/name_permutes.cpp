// Lanes that exchange values - sums across lanes, butterflies, running sums - pull them by ds_bpermute, with
// addresses that follow from the lane's number or the work-item's. Where these are known and go by bits of
// the lane's number (`shfl_xor`, broadcasts) or by a distance (`shfl_up`, `shfl_down`), the move gets a name.
// Within a gang that is one permutation of a register, which ends no phase; else a row of the slot.
//
// A sum across lanes ends in one lane, which looks at one more before that, and at two more before that. So
// the last of its moves stay within the gang of each lane that anybody looks at: what the others get, here
// and in DPP's moves along rows, may be anything.
#include "translator/ir/lane_moves.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/seen_lanes.hpp"
#include "translator/phases/phases.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kHalf = 32; ///< lanes that ds_swizzle's pattern reaches

class PermuteNamer {
public:
  PermuteNamer(Function& f, unsigned gang_lanes) : f_(f), gang_lanes_(gang_lanes), ids_(f, gang_lanes) {}

  bool run() {
    std::vector<std::pair<InstId, Name>> found;
    for (const Block& block : f_.blocks)
      for (const InstId i : block.insts)
        if (!block.in_ranks && block.first_gangs == 0)
          if (const auto name = name_of(i)) found.emplace_back(i, *name);
    for (const auto& [i, name] : found) {
      if (f_[i].op == Op::BPermute) {
        const ValueId given[] = {given_by(i)};
        f_.set_operands(i, given);
      }
      f_[i].op = name.op;
      f_[i].imm = name.imm;
    }
    return !found.empty();
  }

private:
  struct Name {
    Op op;
    u64 imm;
  };

  Function& f_;
  unsigned gang_lanes_;
  const IdValues ids_;
  std::optional<SeenLanes> seen_;

  /// What is better than a pull, or than a move across gangs.
  std::optional<Name> name_of(InstId i) {
    const bool is_pull = f_[i].op == Op::BPermute;
    if (!is_pull && !is_lane_move(f_[i].op)) return std::nullopt;
    if (!is_pull && stays_in_gangs(f_[i])) return std::nullopt;
    const auto source = is_pull ? pulled_from(f_, ids_, i) : lane_sources(f_[i], f_.target);
    if (!source) return std::nullopt;
    const auto pattern = is_pull ? swizzle(*source) : std::nullopt;
    if (pattern && stays_in_gangs({.op = Op::DsSwizzle, .imm = *pattern}))
      return Name{Op::DsSwizzle, *pattern};
    if (const auto s = seen_shift(*source, i)) return Name{Op::ShiftLanes, s->imm()};
    if (pattern) return Name{Op::DsSwizzle, *pattern};
    if (const auto s = is_pull ? shift(*source) : std::nullopt) return Name{Op::ShiftLanes, s->imm()};
    return std::nullopt;
  }

  bool stays_in_gangs(const Inst& move) const { return !phases::looks_across_gangs(move, 0, gang_lanes_); }

  /// The pattern (in ds_swizzle's mode of masks: and, or, xor) by which lanes pull from there.
  static std::optional<u32> swizzle(const LaneSources& source) {
    const u32 base = source[0] % kHalf, half = source[0] & kHalf;
    u32 keep = 0; // bits of the lane's number that its source's follow
    for (u32 bit = 1; bit < kHalf; bit <<= 1)
      if (((source[bit] ^ base) & bit) != 0) keep |= bit;
    const u32 set = base & ~keep, flip = base & keep;
    for (u32 n = 0; n < kWaveSize; ++n)
      if (source[n] != (((n & keep) | set) ^ flip) % kHalf + ((n & kHalf) ^ half)) return std::nullopt;
    return keep | set << 5 | flip << 10 | (half != 0 ? kOtherHalf : 0);
  }

  /// By which distance those lanes pull within their gangs that anybody looks at.
  std::optional<LaneShift> seen_shift(const LaneSources& source, InstId i) {
    if (!seen_) seen_.emplace(f_, ids_);
    const u64 seen = seen_->of(f_.result(i));
    if (seen == 0) return std::nullopt;
    const int first = std::countr_zero(seen);
    const LaneShift s{source[static_cast<u32>(first)] - first, gang_lanes_};
    return is_shift(source, s, seen) ? std::optional(s) : std::nullopt;
  }

  /// By which distance lanes pull within groups.
  static std::optional<LaneShift> shift(const LaneSources& source) {
    u32 moved = 0; // the first that does not pull its own
    while (moved < kWaveSize && source[moved] == moved) ++moved;
    if (moved == kWaveSize) return std::nullopt;
    const int by = source[moved] - static_cast<int>(moved);
    for (u32 width = 2; width <= kWaveSize; width *= 2)
      if (is_shift(source, {by, width}, ~u64{0})) return LaneShift{by, width};
    return std::nullopt;
  }

  static bool is_shift(const LaneSources& source, LaneShift shift, u64 lanes) {
    for (u32 n = 0; n < kWaveSize; ++n)
      if ((lanes >> n & 1) != 0 && source[n] != shift.source(n)) return false;
    return true;
  }

  /// What a pull's lanes have to give: 0 those that are not in its mask.
  ValueId given_by(InstId i) {
    const ValueId x[] = {f_.operands(i)[2], f_.operands(i)[1], f_.entry_constant(Type::V32, 0)};
    Inst select;
    select.op = Op::Select;
    select.pc = f_[i].pc;
    const Type t = Type::V32;
    return f_.result(f_.insert_before(i, select, x, {&t, 1}));
  }
};

} // namespace

bool name_permutes(Function& f, unsigned gang_lanes) {
  return f.launch.wave_lanes == kWaveSize && PermuteNamer(f, gang_lanes).run();
}

} // namespace lanewise::passes
