// The IR: SSA values in basic blocks with block parameters. docs/IR.md states the semantics, verify.cpp the
// invariants.
//
// A Function is one kernel with everything it calls. Ids index flat arrays, so they stay stable in dumps.
// Passes that drop instructions unlink them from their block; the storage goes with the Function, or by
// compact().
#pragma once

#include "isa/inst.hpp"
#include "translator/ir/types.hpp"
#include "translator/launch_facts.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::ir {

enum class Op : u8 {
#define IR_OP(name, text, result, operands, flags) name,
#include "translator/ir/opcodes.inc"
#undef IR_OP
};

/// Flags of an op, from opcodes.inc.
enum OpFlag : u16 {
  kPure = 1,
  kCommutes = 2,
  kLoads = 4,
  kStores = 8,
  kEndsBlock = 16,
  kWhole0 = 32,
  kWhole1 = 64,
  kWhole2 = 128,
  kFloat = 256,
  kMemory = 512,
  kHasUniformForm = 1024,
};

struct OpInfo {
  std::string_view text;
  std::string_view operands; ///< one letter per operand, see opcodes.inc
  u16 flags;
  [[nodiscard]] bool is(OpFlag f) const { return (flags & f) != 0; }
  /// Operand i is looked at in lanes other than the reading one, so every gang must have computed it before.
  [[nodiscard]] bool reads_whole(unsigned i) const { return i < 3 && (flags & (kWhole0 << i)) != 0; }
};

namespace detail {
// The single letters that opcodes.inc uses for flags and operands.
inline constexpr u16 P = kPure, C = kCommutes, L = kLoads, S = kStores, X = kEndsBlock, W0 = kWhole0,
                     W1 = kWhole1, W2 = kWhole2, F = kFloat, M = kMemory, U = kHasUniformForm;
inline constexpr OpInfo kOpInfo[] = {
#define IR_OP(name, text, result, operands, flags) {text, operands, flags},
#include "translator/ir/opcodes.inc"
#undef IR_OP
};
} // namespace detail
constexpr const OpInfo& info(Op op) { return detail::kOpInfo[static_cast<unsigned>(op)]; }
/// Arithmetic that in each lane looks at that lane alone.
constexpr bool is_lanewise(Op op) {
  return (op >= Op::Add && op <= Op::FpToUI) || op == Op::ZExt || op == Op::SExt || op == Op::Join ||
         op == Op::Lo || op == Op::Hi;
}

/// The wave stops until other waves have got somewhere, and goes on in the successor.
constexpr bool waits_for_waves(Op op) { return op == Op::Barrier || op == Op::Sync; }

/// An edge to a block with the values for its parameters.
struct Successor {
  BlockId block;
  std::vector<ValueId> args;
};

struct Inst {
  Op op{};
  u8 num_results = 0;
  u16 num_operands = 0;
  u32 first_operand = 0;  ///< in Function's operand pool
  ValueId first_result{}; ///< results are consecutive values
  u32 pc = 0;      ///< guest address, as offset from the code's base; where dumps and fault reports point
  BlockId block{}; ///< invalid once unlinked
  FpAttr fp{};     ///< ops with flag F
  MemAttr mem{};   ///< ops with flag M
  u64 imm = 0;
};
static_assert(sizeof(Inst) <= 64, "instructions are copied and walked all the time");

struct Value {
  Type type = Type::None;
  InstId inst;   ///< the defining instruction, or invalid for a block parameter
  BlockId block; ///< the block of a parameter (instructions know theirs)
  u32 index = 0; ///< which result, or which parameter
};

struct Block {
  std::vector<ValueId> params;
  std::vector<InstId> insts;         ///< the last one ends the block
  std::vector<Successor> successors; ///< of the last instruction: Branch has (taken, not taken)
  u32 pc = 0;
  /// If not 0: of what it does and defines, lanes beyond so many gangs do not count: in its masks they are
  /// not set, and nobody looks at them elsewhere (phases/close_ranks.cpp).
  u8 first_gangs = 0;
  /// Lanes of all gangs stand for those in a list, as Op::StandFor has it (phases/close_loops.cpp). So do
  /// those of the first gangs.
  bool in_ranks = false;

  /// What is in one of them may be in the other.
  [[nodiscard]] bool has_lanes_of(const Block& other) const {
    return first_gangs == other.first_gangs && in_ranks == other.in_ranks;
  }
  void take_lanes_of(const Block& other) {
    first_gangs = other.first_gangs;
    in_ranks = other.in_ranks;
  }
};

class Function {
public:
  std::string name;
  isa::Target target{};
  translator::LaunchFacts launch; ///< what passes may assume of the initial values
  std::vector<LanePlaces> places; ///< MemAttr::places counts them from 1
  std::vector<Block> blocks;      ///< blocks[0] is the entry: it has no parameters and no predecessors

  /// For MemAttr::places; 0 if there are too many.
  u8 number_of(const LanePlaces& x);

  [[nodiscard]] Block& operator[](BlockId b) { return blocks[b.index]; }
  [[nodiscard]] const Block& operator[](BlockId b) const { return blocks[b.index]; }
  [[nodiscard]] Inst& operator[](InstId i) { return insts_[i.index]; }
  [[nodiscard]] const Inst& operator[](InstId i) const { return insts_[i.index]; }
  [[nodiscard]] const Value& operator[](ValueId v) const { return values_[v.index]; }
  [[nodiscard]] u32 num_values() const { return static_cast<u32>(values_.size()); }
  [[nodiscard]] u32 num_insts() const { return static_cast<u32>(insts_.size()); }
  [[nodiscard]] u32 num_blocks() const { return static_cast<u32>(blocks.size()); }
  [[nodiscard]] Type type(ValueId v) const { return values_[v.index].type; }
  /// Its definition and uses must allow it.
  void set_type(ValueId v, Type t) { values_[v.index].type = t; }

  [[nodiscard]] std::span<ValueId> operands(InstId i) {
    const Inst& inst = insts_[i.index];
    return {operand_pool_.data() + inst.first_operand, inst.num_operands};
  }
  [[nodiscard]] std::span<const ValueId> operands(InstId i) const {
    const Inst& inst = insts_[i.index];
    return {operand_pool_.data() + inst.first_operand, inst.num_operands};
  }
  [[nodiscard]] ValueId result(InstId i, unsigned n = 0) const {
    return ValueId{insts_[i.index].first_result.index + n};
  }
  /// The instruction defining `v`, or nullptr for a block parameter.
  [[nodiscard]] const Inst* def(ValueId v) const {
    const InstId i = values_[v.index].inst;
    return i.valid() ? &insts_[i.index] : nullptr;
  }
  [[nodiscard]] InstId def_id(ValueId v) const { return values_[v.index].inst; }
  /// The block in which `v` is defined.
  [[nodiscard]] BlockId def_block(ValueId v) const {
    const Value& value = values_[v.index];
    return value.inst.valid() ? insts_[value.inst.index].block : value.block;
  }
  /// True and the bits if `v` is a Const.
  [[nodiscard]] bool is_const(ValueId v, u64* bits = nullptr) const {
    const Inst* inst = def(v);
    if (inst == nullptr || inst->op != Op::Const) return false;
    if (bits != nullptr) *bits = inst->imm;
    return true;
  }
  /// `mask` is known to have all lanes.
  [[nodiscard]] bool is_full(ValueId mask) const {
    u64 lanes = 0;
    return is_const(mask, &lanes) && ~lanes == 0;
  }
  [[nodiscard]] InstId terminator(BlockId b) const { return blocks[b.index].insts.back(); }
  /// The m of a Branch on any(m) at the end of `b`, or nothing.
  [[nodiscard]] ValueId tested_mask(BlockId b) const;

  BlockId add_block(u32 pc = 0);
  ValueId add_param(BlockId block, Type type);
  /// Keeps the parameters of `block` that are set in `live` (by value); the caller drops the others'
  /// arguments.
  void keep_params(BlockId block, const std::vector<u8>& live);
  /// Makes an instruction that is in no block yet.
  InstId make(const Inst& proto, std::span<const ValueId> operands, std::span<const Type> results);
  /// make() and append to `block`.
  InstId append(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                std::span<const Type> results);
  /// make() and put before what ends `block`, or to its start.
  InstId insert_before_end(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                           std::span<const Type> results);
  InstId insert_first(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                      std::span<const Type> results);
  /// make() and put before instruction `next`.
  InstId insert_before(InstId next, const Inst& proto, std::span<const ValueId> operands,
                       std::span<const Type> results);
  /// A Const at the start of the entry.
  ValueId entry_constant(Type type, u64 bits);
  /// Replaces the operands (any number) of an instruction.
  void set_operands(InstId i, std::span<const ValueId> operands);
  /// Makes a pure instruction with one result a Const.
  void become_constant(InstId i, u64 bits);
  /// Makes what ends a block a jump.
  void become_jump(BlockId b, Successor way);
  /// Rewrites every operand and successor argument v to map[v] where that is valid (chains are followed).
  void replace_values(std::vector<ValueId>& map);
  /// Likewise in successor arguments alone: for who has seen to the operands on the way.
  void replace_arguments(std::vector<ValueId>& map);
  /// Renumbers instructions and values so that none are left but those in blocks, which keep their order.
  /// Ids from before mean nothing any more: returned is what those of instructions have become.
  std::vector<InstId> compact();
  /// How often each value is used, as operand or successor argument.
  [[nodiscard]] std::vector<u32> use_counts() const;

private:
  void add_operands(std::span<const ValueId> operands);

  std::vector<Inst> insts_;
  std::vector<Value> values_;
  std::vector<ValueId> operand_pool_;
};

/// Appends instructions to a block; every method returns the (first) result. `pc` marks what is built next.
class Builder {
public:
  explicit Builder(Function& f, BlockId block = {}) : f_(&f), block_(block) {}
  u32 pc = 0;

  void set_block(BlockId b) { block_ = b; }
  [[nodiscard]] BlockId block() const { return block_; }
  [[nodiscard]] Function& function() const { return *f_; }
  [[nodiscard]] Type type(ValueId v) const { return f_->type(v); }

  InstId inst(const Inst& proto, std::initializer_list<ValueId> operands,
              std::initializer_list<Type> results);
  /// One-result op of the given type.
  ValueId op(Op o, Type result, std::initializer_list<ValueId> operands, u64 imm = 0);
  ValueId fop(Op o, Type result, const FpAttr& fp, std::initializer_list<ValueId> operands, u64 imm = 0);

  ValueId constant(Type type, u64 bits);
  ValueId u32c(u32 bits) { return constant(Type::U32, bits); }
  ValueId v32c(u32 bits) { return constant(Type::V32, bits); }
  ValueId splat(ValueId uniform); ///< u32->v32, u64->v64, u1->mask
  ValueId join(ValueId lo, ValueId hi);
  ValueId lo(ValueId wide);
  ValueId hi(ValueId wide);
  ValueId zext(ValueId v);
  ValueId sext(ValueId v);
  ValueId binary(Op o, ValueId a, ValueId b) { return op(o, type(a), {a, b}); }
  ValueId add(ValueId a, ValueId b) { return binary(Op::Add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::Sub, a, b); }
  ValueId and_(ValueId a, ValueId b) { return binary(Op::And, a, b); }
  ValueId or_(ValueId a, ValueId b) { return binary(Op::Or, a, b); }
  ValueId xor_(ValueId a, ValueId b) { return binary(Op::Xor, a, b); }
  ValueId andnot(ValueId a, ValueId b) { return binary(Op::AndNot, a, b); }
  ValueId not_(ValueId a) { return op(Op::Not, type(a), {a}); }
  ValueId icmp(IntPred p, ValueId a, ValueId b);
  ValueId fcmp(FloatPred p, const FpAttr& fp, ValueId a, ValueId b);
  ValueId select(ValueId c, ValueId a, ValueId b) { return op(Op::Select, type(a), {c, a, b}); }
  ValueId mask_to_u64(ValueId m) { return op(Op::MaskToU64, Type::U64, {m}); }
  ValueId u64_to_mask(ValueId u) { return op(Op::U64ToMask, Type::Mask, {u}); }
  ValueId any(ValueId m) { return op(Op::AnyLane, Type::U1, {m}); }

  void jump(BlockId to, std::vector<ValueId> args = {});
  void branch(ValueId cond, BlockId taken, BlockId not_taken, std::vector<ValueId> taken_args = {},
              std::vector<ValueId> not_taken_args = {});
  void end_program();
  void barrier(BlockId resume, std::vector<ValueId> args = {});
  void sync(ValueId request, BlockId resume);
  void trap(u32 id);
  void bad_jump(ValueId target);

private:
  Function* f_;
  BlockId block_;
};

/// The rows that an access to Space::Registers may go to: operand 0 counts from the first.
constexpr unsigned row_first(const Inst& inst) { return static_cast<unsigned>(inst.imm & 0xffff); }
constexpr unsigned row_count(const Inst& inst) { return static_cast<unsigned>(inst.imm >> 16 & 0xffff); }
inline bool accesses_rows(const Inst& inst) {
  return (info(inst.op).is(kMemory) && inst.mem.space == Space::Registers) || inst.op == Op::RowGet ||
         inst.op == Op::RowSet;
}
constexpr u64 row_range(unsigned first, unsigned count) { return first | u64{count} << 16; }

/// The type a 32-bit half of `wide` has.
constexpr Type half_of(Type wide) {
  return wide == Type::U64 ? Type::U32 : wide == Type::G64 ? Type::G32 : Type::V32;
}
/// The type that joins two of `half`.
constexpr Type wide_of(Type half) {
  return half == Type::U32 ? Type::U64 : half == Type::G32 ? Type::G64 : Type::V64;
}
/// Width in bits of one element.
constexpr unsigned bit_width(Type t) {
  return is_wide(t) ? 64 : t == Type::U1 || t == Type::G1 || t == Type::Mask ? 1 : 32;
}
/// The bits that a constant of the type can have: a mask has one per lane.
constexpr u64 constant_bits(Type t) {
  return t == Type::U1 || t == Type::G1 ? 1 : is_wide(t) || t == Type::Mask ? ~u64{0} : 0xffff'ffffu;
}

/// How many leading operands of a Load, Store or Atomic are its address.
constexpr unsigned address_operands(const MemAttr& mem) {
  if (mem.space == Space::Buffer) return 7;
  return mem.form == AddressForm::Wrapped || mem.form == AddressForm::Indexed ? 2 : 1;
}

const char* name(Type t);
/// The text form; parse() in parser.hpp reads it back.
std::string print(const Function& f);
std::string print(const Function& f, InstId i);

} // namespace lanewise::ir
