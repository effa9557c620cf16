// Values of gangs side by side that need no more than bytes or half-words, and so share registers.
#pragma once

#include "translator/passes/value_limits.hpp"
#include "translator/phases/phases.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace lanewise::x86 {

/// Whether there is a load or store in the phase that may be packed.
bool may_be_packed(const ir::Function& f, const phases::Phase& phase);

/// Finds the instructions of a phase that are done once for all `members` side by side, on the lower 8 or 16
/// bits of each lane's dword. Packed, a value is that: what is above is not kept, so that an instruction is
/// only packed if these bits of its result follow from those of its sources; and the members get a value of
/// their own from it if what is above is known to be zeros or copies of the top bit.
class PackedValues {
public:
  struct Context {
    const ir::Function& f;
    const phases::Plan& plan;
    u32 phase;
    unsigned members;
    bool avx512;
    const std::vector<u32>& use_counts;
    const passes::ValueLimits& limits;
    /// Whether a load or store of consecutive elements goes on through all members.
    std::function<bool(ir::InstId)> is_row;
  };
  explicit PackedValues(const Context& context);

  /// 8 or 16 if the instruction is packed, or else 0.
  [[nodiscard]] unsigned bits(ir::InstId i) const { return bits_[i.index]; }
  [[nodiscard]] unsigned bits(ir::ValueId v) const {
    const ir::InstId i = f_.def_id(v);
    return i.valid() ? bits_[i.index] : 0;
  }
  /// Nobody wants the packed instruction's result as such: its users look through it.
  [[nodiscard]] bool is_absorbed(ir::InstId i) const { return absorbed_[i.index]; }
  /// Somebody wants the packed value for each member.
  [[nodiscard]] bool is_unpacked(ir::ValueId v) const { return unpacked_[v.index]; }
  /// What is above the lower `bits` of `v` are zeros; or are copies of the highest of them.
  [[nodiscard]] bool is_zero_extended(ir::ValueId v, unsigned bits) const {
    return context_.limits.max(v) >> bits == 0;
  }
  [[nodiscard]] bool is_sign_extended(ir::ValueId v, unsigned bits, unsigned depth = 0) const;
  /// About how many instructions are saved for all members together.
  [[nodiscard]] int saved() const { return saved_; }

  /// A shift by a constant, seen as one of a value's lower bits: of (x << 24) >> 26 that is 2, of x.
  struct Shift {
    ir::ValueId source;
    unsigned amount = 0;
    bool reversed = false; ///< the source's bits are reversed before
  };
  /// Nothing if the shift of dwords is not one of the lower `bits`.
  [[nodiscard]] std::optional<Shift> right_shift(ir::InstId i, unsigned bits) const;

private:
  const ir::Function& f_;
  Context context_;
  std::vector<u8> bits_;                  ///< per instruction
  std::vector<bool> absorbed_, unpacked_; ///< per instruction, per value
  int saved_ = 0;

  // While so many bits are looked at.
  std::vector<ir::InstId> found_; ///< the candidates
  std::vector<bool> candidate_;   ///< per instruction
  std::vector<u32> uses_;         ///< per value, by candidates
  [[nodiscard]] bool is_candidate(ir::ValueId v) const {
    const ir::InstId i = f_.def_id(v);
    return i.valid() && candidate_[i.index];
  }
  [[nodiscard]] bool is_used_packed(ir::ValueId v) const {
    return uses_[v.index] == context_.use_counts[v.index];
  }

  /// In the phase: what an instruction of another one is made of may not be there any more.
  [[nodiscard]] bool is_here(ir::InstId i) const {
    return context_.plan.phase_of[f_[i].block.index].index == context_.phase;
  }
  [[nodiscard]] std::vector<ir::ValueId> sources(ir::InstId i, unsigned bits) const;
  [[nodiscard]] bool can_be_packed(ir::InstId i, unsigned bits) const;
  [[nodiscard]] bool are_alike_above(ir::InstId i, unsigned bits) const;
  [[nodiscard]] bool is_from_lanes(ir::ValueId v, unsigned depth = 0) const;
  [[nodiscard]] int gain(ir::InstId i, unsigned bits) const;
  void find(unsigned bits);
  bool drop_ambiguous(unsigned bits);
  void choose(unsigned bits);
  void note_users();
};

} // namespace lanewise::x86
