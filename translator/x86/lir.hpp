// LIR: x86 instructions over virtual registers in SSA form; what the instruction selector writes and the
// register allocator and the emitter read.
//
// A Module is one x86 function, `u32 entry(WaveFrame*)`, for one kernel. It is a list of Parts, one per
// phase. A Part is a CFG of its own: values never cross from part to part except through memory, so each is
// allocated alone. Parts reach each other through Builder::jump_part() and, when the wave is resumed, through
// the dispatch on frame->resume at the entry.
//
// Registers. Every VReg has a class and exactly one definition: an instruction's Def/Tied operand, or a block
// parameter.
//   Gpr   rcx rsi rdi rbp r8..r14, 64 bits (an R32 write clears the upper half, as on x86; R8/R16 writes
//   leave it). Vec   zmm0..31 in AVX-512 modules, ymm0..15 in AVX2 modules. A spilled Vec keeps the module's
//   full width. Mask  k1..k7, 64 bits; AVX-512 modules only. k0 is never allocated.
// Fixed registers may appear wherever a Gpr may: kFrame (rbx, the WaveFrame), kGang (r15), kRsp, and
// kRax/kRdx, which are never allocated: they serve implicit operands (mul, cmpxchg, ...). The allocator never
// writes any of them. kRax and kRdx do not survive a terminator. In AVX-512 modules a Vec may be in
// zmm16..31: do not use instructions without an EVEX form.
//
// EFLAGS. Whatever the allocator inserts (mov, vmov*, kmov*, xchg, push/pop, vector and mask xor, the marked
// remat instructions) leaves the flags alone, so a comparison and its consumer (jcc, setcc, cmovcc, adc) need
// only be in one block with no flag-writing instruction of the selector's own in between. Flags do not
// survive block boundaries.
//
// Stack. rsp is 64-byte aligned and constant in the body; [rsp, ...) belongs to the allocator.
#pragma once

#include "runtime/wave.hpp"
#include "support/bits.hpp"
#include "support/ids.hpp"
#include "translator/x86/fault_table.hpp"

#include <asmjit/x86/x86globals.h>

#include <cassert>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::x86 {

using asmjit::x86::CondCode;
namespace Inst = asmjit::x86::Inst; ///< instruction ids: Inst::kIdVpaddd, ...

enum class RegClass : u8 { Gpr, Vec, Mask };
inline constexpr unsigned kNumClasses = 3;

/// A virtual register; indices below kNumFixed are the physical general-purpose registers in x86 numbering.
struct VReg {
  u32 index = 0xffff'ffffu;
  [[nodiscard]] constexpr bool valid() const { return index != 0xffff'ffffu; }
  [[nodiscard]] constexpr bool is_fixed() const { return index < 16; }
  /// Takes part in allocation: neither absent nor fixed nor the constant pool.
  [[nodiscard]] constexpr bool is_virtual() const { return index - 16 < 0xffff'fff0u - 16; }
  friend constexpr bool operator==(VReg, VReg) = default;
};
inline constexpr u32 kNumFixed = 16;
inline constexpr VReg kRax{0}, kRdx{2}, kFrame{3}, kRsp{4}, kGang{15};
/// Memory base standing for the constant pool; the displacement is an offset into Module::pool.
inline constexpr VReg kPool{0xffff'fff0u};

using BlockId = Id<struct LirBlockTag>;
using PartId = Id<struct LirPartTag>;

/// How much of a register an operand reads or writes, or the size of a memory operand. Full and Half are the
/// module's vector width and half of it, so that one selector rule serves both modes. Auto: Full of a Vec, K
/// of a Mask.
enum class View : u8 { Auto, R8, R16, R32, R64, Xmm, Ymm, Zmm, Full, Half, K };
inline constexpr unsigned kNumViews = 11;

enum class Role : u8 {
  Use,
  Def,      ///< written after all uses are read: may share a register with a use that dies here
  EarlyDef, ///< written before all uses are read: shares no register with any use
  Tied,     ///< one emitted operand that is use `tied` before and def `reg` after
  EarlyTied ///< likewise, and no other use shares its register, even of the same value (gathers)
};

enum class OperandKind : u8 {
  None,
  Reg,
  Imm,
  Mem,
  WriteMask, ///< the {k} of an EVEX instruction: Use, or EarlyTied of AVX-512 gathers and scatters
  Hidden,    ///< a use that is not emitted; keeps a value in a register for the fault table
};

/// One operand, in the order of the Intel manual. Built by the functions below, never by hand.
struct Operand {
  OperandKind kind = OperandKind::None;
  Role role = Role::Use;
  View view = View::Auto;
  View index_view = View::R64; ///< Mem: view of the index, a vector view for VSIB
  u8 scale_log2 = 0;           ///< Mem
  u8 broadcast_log2 = 0;       ///< Mem: log2 of N in {1toN}, 0 for none
  bool may_be_memory = false;  ///< Reg use: the instruction also takes m8..m512 of this view here. Of sources
                               ///< that commute the first has it, too: it is emitted as the second then
  VReg reg;                    ///< Reg, WriteMask, Hidden; Mem: the base (may be absent)
  VReg tied;                   ///< Tied: the value before; Mem: the index (may be absent)
  i64 value = 0;               ///< Imm; Mem: displacement, 32 bits

  constexpr Operand() = default;
  constexpr Operand(VReg r) : kind(OperandKind::Reg), reg(r) {} ///< Auto view: Vec and Mask only
  [[nodiscard]] constexpr bool is_def() const { return role != Role::Use; }
  [[nodiscard]] constexpr bool is_tied() const { return role == Role::Tied || role == Role::EarlyTied; }
  [[nodiscard]] constexpr bool is_early() const { return role == Role::EarlyDef || role == Role::EarlyTied; }
};
static_assert(sizeof(Operand) == 24);

/// A register operand with an explicit view.
constexpr Operand reg(VReg r, View view) {
  Operand o(r);
  o.view = view;
  return o;
}
constexpr Operand r8(VReg r) { return reg(r, View::R8); }
constexpr Operand r16(VReg r) { return reg(r, View::R16); }
constexpr Operand r32(VReg r) { return reg(r, View::R32); }
constexpr Operand r64(VReg r) { return reg(r, View::R64); }
constexpr Operand xmm(VReg r) { return reg(r, View::Xmm); }
constexpr Operand ymm(VReg r) { return reg(r, View::Ymm); }
constexpr Operand zmm(VReg r) { return reg(r, View::Zmm); }
constexpr Operand vec(VReg r) { return reg(r, View::Full); }
constexpr Operand half(VReg r) { return reg(r, View::Half); }
constexpr Operand k(VReg r) { return reg(r, View::K); }

constexpr Operand imm(i64 value) {
  Operand o;
  o.kind = OperandKind::Imm;
  o.value = value;
  return o;
}

/// The same register use, allowed to come from its spill slot when it is not in a register (usually the last
/// source).
constexpr Operand or_mem(Operand o) {
  o.may_be_memory = true;
  return o;
}
constexpr Operand or_mem(VReg r) { return or_mem(Operand(r)); }

/// [base + disp] of `view`'s size.
constexpr Operand mem(VReg base, i64 disp = 0, View view = View::Full) {
  Operand o;
  o.kind = OperandKind::Mem;
  o.reg = base;
  o.value = disp;
  o.view = view;
  return o;
}
/// [base + index * 2^scale_log2 + disp]; `base` may be absent (VReg{}).
constexpr Operand mem_index(VReg base, VReg index, unsigned scale_log2, i64 disp, View view) {
  Operand o = mem(base, disp, view);
  o.tied = index;
  o.scale_log2 = static_cast<u8>(scale_log2);
  return o;
}
/// A VSIB operand: base + lane of `index` (seen as `index_view`) * 2^scale_log2 + disp, elements of R32 or
/// R64.
constexpr Operand mem_vector(VReg base, VReg index, View index_view, unsigned scale_log2, i64 disp,
                             View element) {
  Operand o = mem_index(base, index, scale_log2, disp, element);
  o.index_view = index_view;
  return o;
}
/// `m` as {1toN}: N = 2^log2. The size of `m` is the element's.
constexpr Operand broadcast(Operand m, unsigned log2) {
  m.broadcast_log2 = static_cast<u8>(log2);
  return m;
}

/// A value that is kept in a register during the instruction without being an operand (FaultSite::Scalar's
/// lane, or a mask of which it is the first: then `view` is K or Full).
constexpr Operand hidden(VReg r, View view = View::R64) {
  Operand o(r);
  o.kind = OperandKind::Hidden;
  o.view = view;
  return o;
}

/// Embedded rounding and exception suppression of AVX-512.
enum class Rounding : u8 { None, Sae, Nearest, Down, Up, Zero };

struct LInst {
  u32 first_operand = 0; ///< into Part::operands
  u16 id = 0;            ///< asmjit's instruction id; 0 for the pseudos below
  u8 num_operands = 0;
  u8 num_fault_sites = 0;
  Rounding rounding = Rounding::None;
  bool zeroing = false; ///< {z}
  bool lock = false;
  bool remat = false; ///< sole definition may be executed again anywhere instead of being spilled
  enum class Pseudo : u8 {
    None,
    Copy, ///< Tied: emits nothing itself, the tie makes the move where one is needed
    Zero, ///< Def of a Vec or Mask: all zeros
    Ones, ///< Def of a Vec or Mask: all ones
    Call, ///< operand Imm: offset in the frame of a stub's address; it preserves every register but the flags
  } pseudo = Pseudo::None;
  u32 origin = 0;     ///< index into Module::origins: the guest pc
  u32 fault_site = 0; ///< index into Part::fault_sites, of the first
};

/// How a block ends. Arguments are in Part::args.
struct Terminator {
  enum class Kind : u8 {
    None,
    Jump,     ///< to target[0]
    Branch,   ///< jcc `cond` to target[0], else target[1]
    JumpPart, ///< to the entry block of `part`
    Dispatch, ///< to the dispatch on frame->resume
    Return,   ///< leave the function with `reason` in eax
  };
  Kind kind = Kind::None;
  CondCode cond{};
  runtime::StopReason reason{};
  BlockId target[2];
  u32 first_arg[2] = {}; ///< one per parameter of the target
  PartId part;
  [[nodiscard]] unsigned num_targets() const {
    return kind == Kind::Branch ? 2u : kind == Kind::Jump ? 1u : 0u;
  }
};

struct Block {
  std::pmr::vector<LInst> insts;
  std::pmr::vector<VReg> params;
  Terminator term;
  bool cold = false;       ///< placed behind the rest and preferred for spill code
  bool few_rounds = false; ///< begins a loop, if any, that goes round a few times at most
};

/// One phase. Block 0 is the entry; it has no parameters and no predecessors. No edge may be missing a
/// terminator.
struct Part {
  std::string name;
  std::pmr::monotonic_buffer_resource memory; ///< of what the blocks hold: there are many, and small ones
  std::vector<Block> blocks;
  std::vector<Operand> operands;
  std::vector<VReg> args;
  std::vector<RegClass> classes; ///< per VReg index; the first kNumFixed are Gpr
  std::vector<FaultSite> fault_sites;
  u32 num_constants = 0; ///< remat definitions of constants that lead the entry block

  [[nodiscard]] std::span<const Operand> ops(const LInst& i) const {
    return {&operands[i.first_operand], i.num_operands};
  }
  [[nodiscard]] std::span<const VReg> edge_args(const Terminator& t, unsigned n) const {
    return {args.data() + t.first_arg[n], blocks[t.target[n].index].params.size()};
  }
  [[nodiscard]] RegClass class_of(VReg v) const { return classes[v.index]; }
};

struct Module {
  std::string name;
  bool avx512 = true;
  u32 mxcsr = 0x1f80;      ///< at entry and at every exit (runtime::WaveRow)
  u32 gang_lane_bytes = 4; ///< fault lane = (r15 - rbx) / gang_lane_bytes + lane within the gang
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<PartId> resume_points; ///< by frame->resume; [0] is the kernel's entry
  std::vector<u64> origins = {0};    ///< guest pcs
  std::vector<u8> pool;              ///< constants; starts 64-byte aligned

  [[nodiscard]] unsigned vec_bytes() const { return avx512 ? 64 : 32; }
  PartId add_part(std::string part_name);
  /// A memory operand for `bytes` in the pool, aligned to their size (4, 8, 16, 32 or 64), deduplicated.
  Operand constant(std::span<const u8> bytes, View view);

private:
  std::unordered_map<std::string, u32> constants_;
};

/// Appends to one Part. Modifiers (masked(), rounding(), ...) apply to the next instruction only.
class Builder {
public:
  Builder(Module& module, PartId part);

  [[nodiscard]] Module& module() { return module_; }
  [[nodiscard]] Part& part() { return part_; }
  [[nodiscard]] bool avx512() const { return module_.avx512; }

  BlockId add_block(bool cold = false);
  void mark_few_rounds(BlockId b) { part_.blocks[b.index].few_rounds = true; }
  VReg add_param(BlockId block, RegClass cls);
  /// Instructions go to the end of `block` from now on.
  void at(BlockId block) { block_ = block; }
  [[nodiscard]] BlockId current() const { return block_; }
  [[nodiscard]] bool terminated() const {
    return part_.blocks[block_.index].term.kind != Terminator::Kind::None;
  }
  /// What FaultSite::lane_offset counts from in what follows.
  void set_first_lane(unsigned lane) { first_lane_ = static_cast<u8>(lane); }
  /// FaultSite::listed of what follows.
  void list_lanes(bool listed) { lists_lanes_ = listed; }
  /// FaultSite::element of what follows.
  void set_element(unsigned bytes) { element_ = static_cast<u8>(bytes); }
  /// Guest pc of what follows.
  void set_pc(u64 pc);
  VReg new_vreg(RegClass cls);

  // Instructions. `id` is asmjit's; operands as in the manual without the destination, which is the result.
  /// Destination of `view` (its class follows from it), written only.
  VReg def(u32 id, View view, std::initializer_list<Operand> ops);
  /// Destination also read: it holds `old` before (x86 two-operand forms, FMA, vpternlog, vpermt2, shld,
  /// cmov).
  VReg def_tied(u32 id, View view, VReg old, std::initializer_list<Operand> ops);
  /// No destination (stores, comparisons, instructions on fixed registers), or roles set by hand with
  /// as_def()/as_tied().
  void emit(u32 id, std::initializer_list<Operand> ops);

  template <class... Ops>
  VReg op(u32 id, Ops... ops) {
    return def(id, View::Full, {Operand(ops)...});
  } ///< full-width vector result
  template <class... Ops>
  VReg op_tied(u32 id, VReg old, Ops... ops) {
    return def_tied(id, View::Full, old, {Operand(ops)...});
  }
  template <class... Ops>
  VReg op_k(u32 id, Ops... ops) {
    return def(id, View::K, {Operand(ops)...});
  }
  template <class... Ops>
  VReg op_r32(u32 id, Ops... ops) {
    return def(id, View::R32, {Operand(ops)...});
  }
  template <class... Ops>
  VReg op_r64(u32 id, Ops... ops) {
    return def(id, View::R64, {Operand(ops)...});
  }
  template <class... Ops>
  VReg op_r32_tied(u32 id, VReg old, Ops... ops) {
    return def_tied(id, View::R32, old, {Operand(ops)...});
  }
  template <class... Ops>
  VReg op_r64_tied(u32 id, VReg old, Ops... ops) {
    return def_tied(id, View::R64, old, {Operand(ops)...});
  }

  // Modifiers of the next instruction. Without a register, a mask is none.
  Builder& masked(VReg mask, VReg old); ///< {k}: lanes outside keep `old`; the next must be def()/op()
  Builder& zero_masked(VReg mask);      ///< {k}{z}
  Builder&
  with_mask(VReg mask); ///< {k} on stores, on compares into masks, and on def_tied() (keeps its `old`)
  Builder& rounding(Rounding r);
  Builder& lock();
  Builder& faults(const FaultSite& site); ///< the next accesses guest memory; if called again, for another
                                          ///< instruction of the guest
  Builder& early();                       ///< the next one's destination is EarlyDef / EarlyTied
  Builder& remat(); ///< the next one may be re-executed anywhere its value is live. Its operands are
                    ///< immediates, pool constants, and frame memory that does not change meanwhile

  // Shorthands.
  VReg copy(VReg v);
  VReg load_vec(const Operand& m);          ///< vmovups, full width
  void store_vec(const Operand& m, VReg v); ///< vmovups, full width
  VReg load32(const Operand& m);            ///< mov r32, m
  VReg load64(const Operand& m);            ///< mov r64, m
  void store32(const Operand& m, VReg v);
  void store64(const Operand& m, VReg v);
  VReg load_k(const Operand& m, unsigned bits); ///< kmov of 8, 16, 32 or 64 bits
  void store_k(const Operand& m, VReg v, unsigned bits);
  VReg const32(u32 value); ///< mov r32, imm; remat, flags untouched
  VReg const64(u64 value);
  VReg splat32(u32 value); ///< remat full vector (zero and all ones without memory)
  VReg splat64(u64 value);
  VReg vec_const(std::span<const u8> bytes); ///< remat; vec_bytes() long
  VReg mask_const(u64 bits);                 ///< remat; 0 and all 64 ones without memory
  /// Memory operands for a last source: {1toN} in AVX-512 modules (the instruction must allow broadcast),
  /// whole in AVX2 ones.
  Operand splat32_mem(u32 value);
  VReg setcc(CondCode cond); ///< 0 or 1 in 64 bits, from the flags, which survive

  /// A gather (AVX-512: `mask` is a Mask; AVX2: a Vec whose sign bits select) into `old`; result of `view`.
  VReg gather(u32 id, View view, VReg old, const Operand& vsib, VReg mask, View mask_view = View::Full);
  /// An AVX-512 scatter of `value` (seen as `view`) under Mask `mask`.
  void scatter(u32 id, const Operand& vsib, VReg value, View view, VReg mask);

  /// Calls the stub whose address is in the frame's field at `offset`. It preserves every register including
  /// vectors and masks; all arguments are in memory.
  void call_stub(std::size_t offset);

  // Terminators.
  void jump(BlockId target, std::initializer_list<VReg> args = {}) {
    jump(target, std::span(args.begin(), args.size()));
  }
  void jump(BlockId target, std::span<const VReg> args);
  /// On the flags of this block.
  void branch(CondCode cond, BlockId if_true, BlockId if_false) { branch(cond, if_true, {}, if_false, {}); }
  void branch(CondCode cond, BlockId if_true, std::span<const VReg> true_args, BlockId if_false,
              std::span<const VReg> false_args);
  void jump_part(PartId target);
  void dispatch();                      ///< frame->resume has been stored
  void ret(runtime::StopReason reason); ///< stop_detail, stop_pc and resume have been stored

private:
  /// The constant that `make` defines by its one instruction, made once per `key`.
  template <class Make>
  VReg constant(std::string key, Make make);
  LInst& append(u32 id, const Operand* dest, std::initializer_list<Operand> ops);
  Terminator& terminate(Terminator::Kind kind);
  u32 add_args(std::span<const VReg> args);

  Module& module_;
  Part& part_;
  BlockId block_;
  std::unordered_map<std::string, VReg> constants_;
  LInst next_; ///< modifiers collected for the next instruction
  VReg next_mask_, next_old_;
  bool next_early_ = false;
  u8 first_lane_ = 0;
  bool lists_lanes_ = false;
  u8 element_ = 0;
};

/// `o` as a destination of Builder::emit(), for instructions with several.
constexpr Operand as_def(Operand o, bool early = false) {
  o.role = early ? Role::EarlyDef : Role::Def;
  return o;
}
/// `o` as a destination that holds `old` before.
constexpr Operand as_tied(Operand o, VReg old, bool early = false) {
  o.role = early ? Role::EarlyTied : Role::Tied;
  o.tied = old;
  return o;
}

/// The part in text: one instruction per line, for dumps and test failures.
std::string print(const Module& module, const Part& part);

} // namespace lanewise::x86
