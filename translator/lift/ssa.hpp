// SSA construction while lifting: which value each register holds, per block.
//
// Braun et al., "Simple and Efficient Construction of SSA Form" (2013), in the variant for a graph that is
// being discovered: a block with one known predecessor takes its values from there; every other block gets a
// parameter for each register that it reads before writing, and finish() completes these and removes the ones
// that turn out to be one value.
#pragma once

#include "support/lists.hpp"
#include "translator/lift/emit.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>

namespace lanewise::lift {

/// A register as a variable. Scalar registers by hardware code; the codes of the halves of VCC and EXEC stand
/// for the whole mask (the low one) and for nothing or SCC (the high one). kReturnLo and kReturnHi hold where
/// a function shared by its callers wants to return to.
using Var = u16;
inline constexpr Var kVccVar = isa::kVccLo, kM0Var = isa::kM0, kExecVar = isa::kExecLo,
                     kSccVar = isa::kExecHi;
inline constexpr Var kFirstVgpr = 128, kReturnLo = kFirstVgpr + 256, kReturnHi = kReturnLo + 1,
                     kNumVars = kReturnHi + 1;
constexpr Var vgpr_var(unsigned n) { return static_cast<Var>(kFirstVgpr + n); }

/// The type of a variable's values.
constexpr Type type_of(Var v) {
  if (v >= kReturnLo) return Type::U32;
  if (v >= kFirstVgpr) return Type::V32;
  if (v == kVccVar || v == kExecVar) return Type::Mask;
  return v == kSccVar ? Type::U1 : Type::U32;
}

/// Appends an instruction without operands to blocks[0], before its end if it has one already.
ir::InstId append_to_entry(ir::Function& f, const ir::Inst& proto, std::span<const Type> results);

class Ssa {
public:
  /// `initial` makes, in the entry block, the value that a variable has when the kernel starts.
  Ssa(ir::Function& f, std::function<ValueId(Var)> initial) : f_(&f), initial_(std::move(initial)) {}

  /// Announces a block. With `only_predecessor` no other block will ever branch to it; blocks[0] is the
  /// entry.
  void add_block(BlockId b, BlockId only_predecessor = {});
  void set_block(BlockId b) { current_ = b; }

  ValueId read(Var v) { return read_at(current_, v); }
  void write(Var v, ValueId value) { state(current_).values[v] = value; }
  /// The value of `v` at the end of `b` as far as it is known without making anything, or invalid.
  [[nodiscard]] ValueId known(BlockId b, Var v) const { return states_[b.index]->values[v]; }

  /// The variable that parameter `index` of `b` stands for, before finish().
  [[nodiscard]] Var var_of_param(BlockId b, u32 index) const { return states_[b.index]->params[index]; }

  /// Completes all parameters once every block has its terminator.
  void finish();

private:
  struct State {
    std::array<ValueId, kNumVars> values; ///< at the end of what has been lifted of the block
    BlockId only_predecessor;
    std::vector<Var> params;
  };
  struct Phi {
    BlockId block;
    Var var;
    ValueId value;
    u32 first_operand; ///< in operands_, in the order of the block's predecessor edges
  };
  struct Edge {
    BlockId from;
    u32 successor;
  };

  State& state(BlockId b) { return *states_[b.index]; }
  ValueId read_at(BlockId b, Var v);
  void fill_operands();
  [[nodiscard]] std::span<const ValueId> operands(const Phi& phi) const {
    return {operands_.data() + phi.first_operand, predecessors_[phi.block.index].size()};
  }
  void merge_copies();
  ValueId entry_constant(Type type, u64 bits);
  void pass_arguments();

  ir::Function* f_;
  std::function<ValueId(Var)> initial_;
  std::vector<std::unique_ptr<State>> states_;
  std::vector<Phi> phis_;
  std::vector<ValueId> operands_; ///< of all phis_
  Lists<Edge> predecessors_;
  std::vector<ValueId>
      class_; ///< by parameter's value: the value it is a copy of, or invalid as long as nothing is known
  std::map<std::pair<Type, u64>, ValueId> constants_; ///< in the entry block
  BlockId current_;
};

} // namespace lanewise::lift
