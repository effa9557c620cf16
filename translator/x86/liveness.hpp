// Liveness and next-use distances of one LIR part: what the register allocator decides by.
//
// Nothing here holds a list of live values per block: on code of many blocks those lists would grow with the
// square of its size. Liveness is a bit per block and value used outside its block; distances are found from
// the value's next use in the order of blocks.
#pragma once

#include "translator/x86/block_order.hpp"

#include <array>
#include <bit>

namespace lanewise::x86 {

/// The largest distance of a use that exists.
inline constexpr u32 kFarthest = kNever - 3;
/// In place of a distance: that of the value's next use behind the block, which Liveness::behind() finds. It
/// is seldom asked for.
inline constexpr u32 kBehind = kNever - 2;

class Liveness : public BlockOrder {
public:
  explicit Liveness(const Part& part);

  /// Highest number of values of a class alive at once, per block and, for loop headers, over the whole loop.
  std::vector<std::array<u32, kNumClasses>> pressure;
  std::vector<u32> def_block;   ///< per VReg
  std::vector<u32> def_operand; ///< per VReg: index of its Def/Tied operand, kNever for parameters
  std::vector<u32>
      param_distance; ///< per VReg that is a parameter: distance of its first use from the block's start
  /// Per operand: position in its block, counted from 0 at the first instruction, at which the value is used
  /// next after this instruction (kNever: dies; or kBehind). `next_use` is for Operand::reg (or what it
  /// defines), `next_use2` for Operand::tied.
  std::vector<u32> next_use, next_use2;

  /// `v` is alive at the start of block `b`, of which it is no parameter.
  [[nodiscard]] bool is_live_in(VReg v, u32 b) const {
    const u32 n = number_[v.index];
    return n != kNever && (row(b)[n / 64] >> (n % 64) & 1) != 0;
  }
  /// One of the values alive at the start of `b`, if there is any.
  [[nodiscard]] VReg first_live_in(u32 b) const;
  /// Number of instructions from the start of `b` to the next use of `v`, which is alive there.
  [[nodiscard]] u32 distance(VReg v, u32 b) const;
  /// Likewise to the next use behind `b`, at whose end `v` is alive.
  [[nodiscard]] u32 behind(VReg v, u32 b) const {
    return static_cast<u32>(std::min<u64>(after(v, b), kFarthest));
  }
  /// How many values of a class are alive at the start of `b`, without its parameters.
  [[nodiscard]] u32 count_live_in(u32 b, RegClass c) const { return count(row(b), c); }
  /// Calls f(b) for each block in which `v` is defined or used, its definition's first.
  template <class F>
  void for_each_block_with(VReg v, F f) const {
    f(def_block[v.index]);
    for (const UsingBlock& use : uses(v)) f(order[use.rank]);
  }
  /// Calls f(v) for each value that is alive at the start of `header` and has a use in its loop.
  template <class F>
  void for_each_used_in_loop(u32 header, F f) const;
  /// Calls f(v) for each value alive at the end of `b`, once for all calls with the same `seen`, which starts
  /// empty.
  template <class F>
  void for_each_new_live_out(u32 b, std::vector<u64>& seen, F f) const;

private:
  /// A block, other than the one that defines it, in which a value is used: the first use from its start.
  struct UsingBlock {
    u32 rank, position;
  };
  using Row = const u64*;

  void collect_definitions_and_uses();
  void number_values();
  void find_live_ins();
  void scan_block(u32 b);
  void widen_pressure_to_loops();
  void gather_live_out(u32 b, std::vector<u64>& out) const;
  [[nodiscard]] std::span<const UsingBlock> uses(VReg v) const {
    return {uses_.data() + first_use_[v.index], first_use_[v.index + 1] - first_use_[v.index]};
  }
  [[nodiscard]] bool is_used_in_loop(VReg v, u32 header) const;
  /// The place in uses_ of the use of `v` in `b`, or kNever.
  [[nodiscard]] u32 use_in(VReg v, u32 b) const;
  [[nodiscard]] Row row(u32 b) const { return bits_.data() + std::size_t{b} * words_; }
  [[nodiscard]] u32 count(Row row, RegClass c) const;
  [[nodiscard]] u64 after(VReg v, u32 b) const;
  [[nodiscard]] u64 use_distance(u32 from, const UsingBlock& use) const {
    return BlockOrder::distance(from, order[use.rank]) + use.position;
  }

  const Part& part_;
  std::vector<u32> first_use_; ///< per VReg: into uses_
  std::vector<UsingBlock> uses_;
  /// Values used outside their block, numbered by class and then by VReg; each class begins with a word of
  /// its own.
  std::vector<u32> number_;
  std::vector<VReg> values_; ///< the way back; invalid between classes
  std::array<u32, kNumClasses + 1> class_word_{};
  u32 words_ = 0;
  std::vector<u64> bits_; ///< per block: who is alive at its start
  std::vector<u64> out_;  ///< who is alive at the end of the block being scanned
  /// Per VReg, of the block being scanned: the next use behind what has been scanned.
  struct Next {
    u32 block = kNever; ///< for which it is known
    u32 use = kNever;
  };
  std::vector<Next> next_;
};

template <class F>
void Liveness::for_each_used_in_loop(u32 header, F f) const {
  const Row live = row(header);
  for (u32 w = 0; w < words_; ++w)
    for (u64 left = live[w]; left != 0; left &= left - 1) {
      const VReg v = values_[64 * w + static_cast<u32>(std::countr_zero(left))];
      if (is_used_in_loop(v, header)) f(v);
    }
}

template <class F>
void Liveness::for_each_new_live_out(u32 b, std::vector<u64>& seen, F f) const {
  seen.resize(words_, 0);
  const Terminator& t = part_.blocks[b].term;
  for (u32 n = 0; n < t.num_targets(); ++n) {
    const Row live = row(t.target[n].index);
    for (u32 w = 0; w < words_; ++w)
      for (u64 fresh = live[w] & ~seen[w]; fresh != 0; fresh &= fresh - 1) {
        seen[w] |= fresh & -fresh;
        f(values_[64 * w + static_cast<u32>(std::countr_zero(fresh))]);
      }
  }
}

} // namespace lanewise::x86
