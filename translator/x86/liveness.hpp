// Block order, loops, liveness and next-use distances of one LIR part: what the register allocator decides
// by.
#pragma once

#include "translator/x86/lir.hpp"

#include <array>

namespace lanewise::x86 {

/// Distance of a use that does not exist.
inline constexpr u32 kNever = 0xffff'ffffu;
/// Added to a distance for every loop that has to be left to reach the use: such uses are always the
/// furthest.
inline constexpr u32 kLoopExit = 1u << 20;

/// A value live at a block's start and the number of instructions to its next use.
struct LiveIn {
  VReg value;
  u32 distance;
};

/// One edge: the n-th successor of `from`.
struct Pred {
  u32 from;
  u32 n;
};

struct Liveness {
  std::vector<u32> order;               ///< reachable blocks in reverse postorder, loops contiguous
  std::vector<u32> rank;                ///< per block: place in `order`, kNever if unreachable
  std::vector<std::vector<Pred>> preds; ///< from reachable blocks
  std::vector<u32> depth;               ///< loops around each block
  std::vector<u32>
      loop_header; ///< innermost loop's header, kNever outside loops; a header is in its own loop
  std::vector<u32>
      loop_parent; ///< of the loop headed by a block: the header of the loop around it, or kNever
  std::vector<std::vector<LiveIn>> live_in; ///< per block, without its parameters
  /// Highest number of values of a class alive at once, per block and, for loop headers, over the whole loop.
  std::vector<std::array<u32, kNumClasses>> pressure;
  std::vector<u32> def_block;   ///< per VReg
  std::vector<u32> def_operand; ///< per VReg: index of its Def/Tied operand, kNever for parameters
  std::vector<u32>
      param_distance; ///< per VReg that is a parameter: distance of its first use from the block's start
  /// Per operand: position in its block, counted from 0 at the first instruction, at which the value is used
  /// next after this instruction (kNever: dies). `next_use` is for Operand::reg (or what it defines),
  /// `next_use2` for Operand::tied.
  std::vector<u32> next_use, next_use2;
};

Liveness analyse(const Part& part);

} // namespace lanewise::x86
