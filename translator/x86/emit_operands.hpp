// LIR operands with their registers, as asmjit wants them.
#pragma once

#include "translator/x86/fault_table.hpp"
#include "translator/x86/regalloc.hpp"

#include <array>
#include <asmjit/x86.h>

namespace lanewise::x86 {

/// Bytes of a view; Full and Half depend on the module.
u32 view_bytes(View view, bool avx512);

class OperandEncoder {
public:
  explicit OperandEncoder(bool wide);

  bool avx512;
  asmjit::Label pool;

  [[nodiscard]] asmjit::x86::Vec vec(u8 r, View view) const;
  [[nodiscard]] asmjit::Operand operand(const Operand& o, const Assigned& assigned) const;
  /// What the load or broadcast `inst` reads, as an operand of another instruction.
  [[nodiscard]] asmjit::Operand source(const Part& part, const LInst& inst, const Assigned* assigned) const;

private:
  [[nodiscard]] asmjit::Operand reg(View view, u8 r) const {
    return asmjit::BaseReg(registers_[static_cast<u32>(view)], r);
  }
  [[nodiscard]] asmjit::x86::Mem memory(const Operand& o, const Assigned& assigned) const;

  std::array<asmjit::OperandSignature, kNumViews> registers_; ///< per View
};

/// {z}, rounding and lock.
asmjit::InstOptions instruction_options(const LInst& inst);

/// The fault table's view of a memory instruction at `offset`, for one of its sites.
FaultEntry fault_entry(const Module& module, const Part& part, const LInst& inst, const FaultSite& site,
                       const Assigned* assigned, u32 offset);

} // namespace lanewise::x86
