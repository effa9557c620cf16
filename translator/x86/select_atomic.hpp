// What atomics that lanes do together and those that they do by themselves have in common.
#pragma once

#include "translator/x86/selector.hpp"

#include <optional>

namespace lanewise::x86 {

inline Operand sized(VReg r, bool wide) { return wide ? r64(r) : r32(r); }

inline bool is_float(ir::AtomicOp op) {
  return op == ir::AtomicOp::FAdd || op == ir::AtomicOp::RFAdd || op == ir::AtomicOp::FMin ||
         op == ir::AtomicOp::FMax || op == ir::AtomicOp::FCmpswap;
}

/// The instruction that does `op` to memory and returns nothing; 0 if there is none.
inline u32 in_memory(ir::AtomicOp op) {
  switch (op) {
  case ir::AtomicOp::Add: return Inst::kIdAdd;
  case ir::AtomicOp::Sub: return Inst::kIdSub;
  case ir::AtomicOp::And: return Inst::kIdAnd;
  case ir::AtomicOp::Or: return Inst::kIdOr;
  case ir::AtomicOp::Xor: return Inst::kIdXor;
  default: return 0;
  }
}

/// How lanes that go to one address combine: what is added up, and what changes nothing.
struct Combination {
  Op op;
  u32 neutral; ///< the top bits of it, which go on below alike
  u32 below;
};

/// None for an operation in which the order of lanes matters.
inline std::optional<Combination> combination(ir::AtomicOp op) {
  switch (op) {
  case ir::AtomicOp::Add:
  case ir::AtomicOp::Sub: return Combination{Op::Add, 0, 0};
  case ir::AtomicOp::Or: return Combination{Op::Or, 0, 0};
  case ir::AtomicOp::Xor: return Combination{Op::Xor, 0, 0};
  case ir::AtomicOp::And: return Combination{Op::And, ~0u, ~0u};
  case ir::AtomicOp::UMax: return Combination{Op::UMax, 0, 0};
  case ir::AtomicOp::UMin: return Combination{Op::UMin, ~0u, ~0u};
  case ir::AtomicOp::SMax: return Combination{Op::SMax, 0x8000'0000, 0};
  case ir::AtomicOp::SMin: return Combination{Op::SMin, 0x7fff'ffff, ~0u};
  default: return std::nullopt;
  }
}

/// What all lanes' elements make, in a general-purpose register.
template <class F>
VReg Selector::combine_lanes(VReg x, bool wide, F combine) {
  if (avx512()) {
    x = combine(x, b_->op(Inst::kIdVshufi32x4, x, x, imm(0x4e)));
    x = combine(x, b_->op(Inst::kIdVshufi32x4, x, x, imm(0xb1)));
  } else {
    x = combine(x, b_->op(Inst::kIdVperm2i128, x, x, imm(1)));
  }
  x = combine(x, b_->op(Inst::kIdVpshufd, x, imm(0x4e)));
  if (!wide) x = combine(x, b_->op(Inst::kIdVpshufd, x, imm(0xb1)));
  return to_gpr(x, wide);
}

} // namespace lanewise::x86
