// A Builder that folds while it builds: enough for addresses and masks to be recognised during lifting.
//
// Constants fold, halves of a join and joins of halves cancel, so do mask/integer round trips, and a
// v_readlane looks through the v_writelanes before it. What needs more than the operands' definitions is left
// to translator/passes.
#pragma once

#include "translator/ir/ir.hpp"

#include <unordered_map>

namespace lanewise::lift {

using ir::BlockId;
using ir::FpAttr;
using ir::IntPred;
using ir::MemAttr;
using ir::Type;
using ir::ValueId;

inline constexpr u64 kAllLanes = ~u64{0};

class Emit {
public:
  explicit Emit(ir::Function& f) : f_(&f), builder_(f) {}

  /// Everything built from here on goes to `block`.
  void set_block(BlockId block) {
    builder_.set_block(block);
    constants_.clear();
  }
  [[nodiscard]] BlockId block() const { return builder_.block(); }
  /// Unfolded building: terminators and instructions with several results.
  [[nodiscard]] ir::Builder& raw() { return builder_; }
  [[nodiscard]] ir::Function& function() const { return *f_; }
  [[nodiscard]] Type type(ValueId v) const { return f_->type(v); }
  void set_pc(u32 pc) { builder_.pc = pc; }

  ValueId constant(Type type, u64 bits);
  ValueId u1(bool b) { return constant(Type::U1, b ? 1 : 0); }
  ValueId u32c(u32 bits) { return constant(Type::U32, bits); }
  ValueId u64c(u64 bits) { return constant(Type::U64, bits); }
  ValueId v32c(u32 bits) { return constant(Type::V32, bits); }
  ValueId v64c(u64 bits) { return constant(Type::V64, bits); }
  ValueId maskc(u64 lanes) { return constant(Type::Mask, lanes); }
  /// A constant of the same type as `like`.
  ValueId same(ValueId like, u64 bits) { return constant(type(like), bits); }
  [[nodiscard]] bool is_const(ValueId v, u64* bits = nullptr) const { return f_->is_const(v, bits); }
  [[nodiscard]] bool is_const_equal(ValueId v, u64 bits) const {
    u64 value = 0;
    return f_->is_const(v, &value) && value == bits;
  }

  /// The instruction that makes `v` if it is an `o`, else nullptr.
  [[nodiscard]] const ir::Inst* def(ValueId v, ir::Op o) const {
    const ir::Inst* inst = f_->def(v);
    return inst != nullptr && inst->op == o ? inst : nullptr;
  }
  [[nodiscard]] ValueId operand(ValueId v, unsigned i) const { return f_->operands(f_->def_id(v))[i]; }
  /// Whether `u64` is the bits of a lane mask.
  [[nodiscard]] bool is_mask_bits(ValueId u64) const { return def(u64, ir::Op::MaskToU64) != nullptr; }

  ValueId splat(ValueId uniform);
  ValueId join(ValueId lo, ValueId hi);
  ValueId lo(ValueId wide);
  ValueId hi(ValueId wide);
  ValueId zext(ValueId v);
  ValueId sext(ValueId v);
  ValueId mask_to_u64(ValueId m);
  ValueId u64_to_mask(ValueId u);
  ValueId any(ValueId m);

  /// Ops of opcodes.inc whose result has the first operand's type.
  ValueId unary(ir::Op o, ValueId a);
  ValueId binary(ir::Op o, ValueId a, ValueId b);
  ValueId ternary(ir::Op o, ValueId a, ValueId b, ValueId c) { return builder_.op(o, type(a), {a, b, c}); }

  ValueId add(ValueId a, ValueId b) { return binary(ir::Op::Add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(ir::Op::Sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(ir::Op::Mul, a, b); }
  ValueId and_(ValueId a, ValueId b) { return binary(ir::Op::And, a, b); }
  ValueId or_(ValueId a, ValueId b) { return binary(ir::Op::Or, a, b); }
  ValueId xor_(ValueId a, ValueId b) { return binary(ir::Op::Xor, a, b); }
  ValueId andnot(ValueId a, ValueId b) { return binary(ir::Op::AndNot, a, b); }
  ValueId not_(ValueId a) { return unary(ir::Op::Not, a); }
  /// Shifts by a value are modulo the width; the constant forms take 0 .. width-1.
  ValueId shl(ValueId a, ValueId n) { return binary(ir::Op::Shl, a, n); }
  ValueId lshr(ValueId a, ValueId n) { return binary(ir::Op::LShr, a, n); }
  ValueId ashr(ValueId a, ValueId n) { return binary(ir::Op::AShr, a, n); }
  ValueId shl(ValueId a, unsigned n) { return shl(a, amount(a, n)); }
  ValueId lshr(ValueId a, unsigned n) { return lshr(a, amount(a, n)); }
  ValueId ashr(ValueId a, unsigned n) { return ashr(a, amount(a, n)); }
  ValueId and_(ValueId a, u64 bits) { return and_(a, same(a, bits)); }
  ValueId or_(ValueId a, u64 bits) { return or_(a, same(a, bits)); }
  ValueId xor_(ValueId a, u64 bits) { return xor_(a, same(a, bits)); }
  ValueId add(ValueId a, u64 bits) { return add(a, same(a, bits)); }

  /// `width` bits from bit `offset` of a 32-bit value, zero- or sign-extended.
  ValueId field(ValueId a, unsigned offset, unsigned width);
  ValueId signed_field(ValueId a, unsigned offset, unsigned width);

  ValueId icmp(IntPred p, ValueId a, ValueId b);
  ValueId icmp(IntPred p, ValueId a, u64 bits) { return icmp(p, a, same(a, bits)); }
  ValueId select(ValueId c, ValueId a, ValueId b);
  /// 1 in each lane (or the wave) where the mask (or u1) is set, else 0, as 32 bits.
  ValueId bit_to_32(ValueId m);
  ValueId read_lane(ValueId v, ValueId lane);
  ValueId op(ir::Op o, Type result, std::initializer_list<ValueId> operands, u64 imm = 0) {
    return builder_.op(o, result, operands, imm);
  }
  /// A floating-point op whose result has the type of `operands`' first.
  ValueId fop(ir::Op o, const FpAttr& fp, std::initializer_list<ValueId> operands, u64 imm = 0) {
    return builder_.fop(o, type(*operands.begin()), fp, operands, imm);
  }
  ValueId fop_as(ir::Op o, Type result, const FpAttr& fp, std::initializer_list<ValueId> operands,
                 u64 imm = 0) {
    return builder_.fop(o, result, fp, operands, imm);
  }

private:
  ValueId amount(ValueId a, unsigned n) {
    return constant(ir::is_uniform(type(a)) ? Type::U32 : Type::V32, n);
  }
  ValueId identity(ir::Op o, ValueId a, ValueId b);

  struct Key {
    Type type;
    u64 bits;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const noexcept {
      return static_cast<std::size_t>((k.bits * 0x9e37'79b9'7f4a'7c15u) >> 17) +
             static_cast<std::size_t>(k.type);
    }
  };

  ir::Function* f_;
  ir::Builder builder_;
  std::unordered_map<Key, ValueId, KeyHash> constants_; ///< of the current block
};

} // namespace lanewise::lift
