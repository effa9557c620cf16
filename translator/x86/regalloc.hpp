// Register allocation of one LIR part.
//
// One forward pass over the blocks in reverse postorder keeps a model of the register files. What a block
// starts with is chosen from what its predecessors end with and from next-use distances (for a loop header:
// what the loop uses first, as in Braun and Hack's spilling for SSA form); inside a block the value used
// furthest away makes room. Because the model holds at most as many values as there are registers, a register
// is always found, and live ranges split wherever that helps. Edges are then filled with the parallel copies,
// loads and stores between the two ends. Where usual and cold ways meet, all is as the usual ones have it,
// and the cold ones load what they have thrown out. A value has one slot and, being SSA, needs to be stored
// only once: at its definition, or where it is evicted if that is in a shallower loop. A parameter has its
// argument's slot if the two are never alive together, so that what is in memory stays where it is.
#pragma once

#include "support/result.hpp"
#include "translator/x86/lir.hpp"

namespace lanewise::x86 {

/// What happens at one point of the allocated code.
struct Step {
  enum class Kind : u8 {
    Inst,     ///< instruction `index` of the block
    Move,     ///< register dst = register src
    Swap,     ///< registers dst and src exchanged
    Load,     ///< register dst = slot `index`
    Store,    ///< slot `index` = register src
    Remat,    ///< register dst = the value defined by operand `index`, executed anew
    SlotCopy, ///< slot `index` = slot `index2`, through the x86 stack; Gpr and Mask only
  };
  Kind kind;
  RegClass cls = RegClass::Gpr;
  u8 dst = 0, src = 0;
  u32 index = 0, index2 = 0; ///< a slot is a byte offset from rsp
};

/// Registers of one operand: of Operand::reg and Operand::tied.
struct Assigned {
  u8 reg = 0xff, reg2 = 0xff;
  bool folded = false;     ///< the use reads memory: its slot, or
  bool definition = false; ///< what its definition, operand number `slot`, loads or broadcasts
  u32 slot = 0;
};

struct StepRange {
  u32 first = 0, count = 0;
};

struct AllocStats {
  u32 stores = 0, loads = 0, remats = 0, moves = 0, folded = 0;
};

struct Allocation {
  std::vector<u32> order; ///< reachable blocks, in layout order
  std::vector<Step> steps;
  std::vector<StepRange> blocks; ///< per block
  std::vector<StepRange>
      edges[2]; ///< per block and successor: done between the block's end and the successor's start
  std::vector<u32> num_preds;       ///< per block
  std::vector<Assigned> operands;   ///< per Part::operands
  std::vector<const LInst*> remats; ///< what may be executed anew, by the operands defined
  u32 stack_bytes = 0;              ///< a multiple of 64
  AllocStats stats;
};

struct AllocOptions {
  u64 random_seed = 0; ///< not 0: registers and victims are picked at random, for tests
  unsigned max_regs[kNumClasses] = {32, 32, 32}; ///< upper bounds, for tests
};

/// Allocates `part`. Error Internal if an instruction needs more registers than exist or the LIR is
/// malformed.
Result<Allocation> allocate(const Module& module, const Part& part, const AllocOptions& options = {});

/// Registers of a class, as a bit set of x86 numbers.
constexpr u32 allocatable(RegClass cls, bool avx512) {
  switch (cls) {
  case RegClass::Gpr: return 0x7fe2; // without rax rdx rbx rsp r15
  case RegClass::Vec: return avx512 ? 0xffff'ffffu : 0xffffu;
  case RegClass::Mask: return avx512 ? 0xfe : 0;
  }
  return 0;
}

} // namespace lanewise::x86
