// Guest instructions to IR: control flow, SSA, and one rule per instruction.
#pragma once

#include "translator/ir/ir.hpp"
#include "translator/translator.hpp"

namespace lanewise::lift {

/// An instruction (or a control transfer) that cannot be lifted.
struct Untranslated {
  u64 pc = 0;       ///< offset from the code's base
  std::string text; ///< mnemonic, and why
};

/// Whether passes::promote_private_memory() has been run, to prove where calls return to.
enum class Promotion : u8 {
  None,
  Begun,    ///< it has given up some
  Finished, ///< it would find no more if it were run again
};

struct Lifted {
  ir::Function function;
  u32 guest_instructions = 0; ///< lifted, counting an inlined function once per call
  /// Empty, or the function must not be run: the interpreter takes the kernel.
  std::vector<Untranslated> untranslated;
  Promotion promotion = Promotion::None;
};

/// Lifts the kernel at `source.entry` with every function it calls. Code that runs off the segment or into
/// undecodable bytes ends in BadJump there; an Error comes only from a source that makes no sense or from
/// code beyond all bounds.
/// `launch` helps to see where pointers come from, and travels with the function.
Result<Lifted> lift(const translator::KernelSource& source, const translator::LaunchFacts& launch = {});

/// Whether `op` has a rule. Some forms and modifiers of an instruction with a rule may still be untranslated.
bool has_rule(isa::Op op);

} // namespace lanewise::lift
