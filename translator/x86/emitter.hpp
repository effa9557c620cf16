// The emitter at work. emit.cpp holds what surrounds the parts (entry, dispatch, exit, data), emit_blocks.cpp
// the layout of blocks and branches, emit_insts.cpp single instructions.
#pragma once

#include "translator/x86/emit.hpp"
#include "translator/x86/emit_operands.hpp"

#include <asmjit/x86.h>

namespace lanewise::x86 {

namespace aj = asmjit;
namespace ax = asmjit::x86;

/// Keeps the first thing that went wrong.
class FirstError final : public aj::ErrorHandler {
public:
  void handleError(aj::Error, const char* message, aj::BaseEmitter*) override {
    if (text.empty()) text = message;
  }
  std::string text;
};

class Emitter {
public:
  Emitter(const Module& module, const EmitOptions& options) : module_(module), options_(options) {}
  Result<Assembled> run();

private:
  /// What lies on the stack above the spill slots.
  enum OwnSlot : u32 { kCallerStack = 0, kRow = 8 };
  [[nodiscard]] ax::Mem own(OwnSlot slot, u32 bytes) const;

  struct EdgeStub {
    aj::Label label;
    u32 from, n;
  };

  Result<void> allocate_parts();
  void emit_entry();
  void emit_dispatch();
  void emit_jump_to_resume_point();
  void emit_stopped();
  void emit_barrier();
  void emit_next_wave();
  void emit_exit();
  void emit_data();
  Result<void> finish();

  void emit_part(u32 index);
  void lay_out_part();
  void find_empty_blocks();
  void emit_block(u32 b, u32 next);
  void emit_terminator(u32 b, u32 next);
  void emit_branch(u32 b, u32 next);
  aj::Label edge_label(u32 b, u32 n);
  void finish_edge(u32 b, u32 n, u32 next);
  aj::Label block_label(u32 b);
  [[nodiscard]] bool edge_at_start(u32 b, u32 n) const;
  [[nodiscard]] bool needs_stub(u32 b, u32 n) const;
  [[nodiscard]] u32 final_block(u32 b) const;

  void emit_steps(StepRange range, const Block* block);
  void emit_step(const Step& step);
  void emit_inst(const LInst& inst, const Assigned* assigned);
  void emit_zero(u8 reg, bool mask);
  void emit_pseudo(const LInst& inst, const Assigned* assigned);
  void record(const LInst& inst, const Assigned* assigned);
  [[nodiscard]] const LInst& remat_of(u32 operand) const;
  void move(RegClass cls, u8 dst, u8 src);
  void swap(RegClass cls, u8 a, u8 b);
  [[nodiscard]] ax::Mem slot(RegClass cls, u32 offset) const;

  const Module& module_;
  const EmitOptions& options_;
  FirstError error_;
  bool located_ = false; ///< error_ says where
  aj::CodeHolder code_;
  aj::StringLogger logger_;
  ax::Assembler a_;
  Assembled out_;
  std::vector<Allocation> allocations_;
  std::vector<aj::Label> part_labels_;
  aj::Label dispatch_, stopped_, exit_, bad_resume_, table_;
  OperandEncoder encoder_{module_.avx512};
  u32 stack_bytes_ = 0, last_origin_ = 0xffff'ffff;

  // The part being emitted.
  const Part* part_ = nullptr;
  const Allocation* alloc_ = nullptr;
  std::vector<aj::Label> labels_;
  std::vector<u32> layout_, rank_, forward_;
  std::vector<std::pair<u32, u32>> start_edge_; ///< per block: the edge whose steps are done at its start
  std::vector<EdgeStub> stubs_;
};

} // namespace lanewise::x86
