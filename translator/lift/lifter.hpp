// What a lifting rule sees: the instruction, the registers, and the modifiers applied for it.
//
// A rule reads sources with v32(0), s64(1), f(2)..., builds its meaning with `b`, and hands the result to one
// of the set_* functions. These do everything that is the same for all instructions: EXEC, SDWA, DPP, op_sel,
// neg, abs, omod, clamp, relative register indices.
#pragma once

#include "isa/op.hpp"
#include "translator/lift/descriptors.hpp"
#include "translator/lift/lift.hpp"
#include "translator/lift/ssa.hpp"
#include "translator/lift/value_range.hpp"
#include "translator/lift/waits.hpp"

#include <bitset>
#include <map>
#include <optional>

namespace lanewise::lift {

class Cfg;

/// What the lifter knows at translation time beyond the registers' SSA values; part of a block's identity.
struct Static {
  u32 mode = 0; ///< the MODE register
  /// S_set_gpr_idx: src0, src1, src2, dst enables; only looked at while MODE.GPR_IDX_EN is set.
  u8 gpr_idx = 0;
  friend bool operator==(const Static&, const Static&) = default;
};
inline constexpr u32 kModeVskip = 1u << 28, kModeGprIdxEn = 1u << 27, kModeFp16Ovfl = 1u << 23,
                     kModeIeee = 1u << 9, kModeDx10Clamp = 1u << 8;

/// Of the relative register indices of a kernel (relative.cpp).
struct RegisterIndices {
  std::map<u32, Range> bounds; ///< of M0's index, by the pc of the instruction that uses it
  std::bitset<256> in_memory;  ///< the VGPRs that an index reaches
};

/// What earlier attempts at a kernel have shown.
struct Findings {
  RegisterIndices indices;
  KnownDescriptors descriptors;
};

class Lifter {
public:
  Lifter(const translator::KernelSource& source, ir::Function& f, Cfg& cfg, const Findings& findings,
         std::vector<Untranslated>& untranslated);

  Emit b;
  Ssa ssa;
  const translator::KernelSource& source;
  const isa::Target target;
  Cfg& cfg;
  Static known;
  std::vector<Wait> waits; ///< so far

  // The instruction being lifted.
  const isa::Inst* in = nullptr;
  const isa::Row* row = nullptr;
  u32 pc = 0; ///< offset from the code's base
  [[nodiscard]] u64 address() const { return reinterpret_cast<u64>(source.code.data()) + pc; }
  [[nodiscard]] u64 next_address() const { return address() + in->size; }
  [[nodiscard]] bool gfx9() const { return target >= isa::Target::gfx900; }

  /// Lifts one instruction at `offset` in the current block.
  void lift(const isa::Inst& inst, u32 offset);
  /// Records that the current instruction cannot be lifted. Its results keep their old values.
  void untranslated(std::string why = {});
  /// The wave goes on when all but the last `outstanding` vector memory instructions are done.
  void note_wait(unsigned outstanding);
  /// Tells the control flow if the scalar pair just written holds a known address.
  void note_address();

  // ---- scalar registers, by hardware code
  ValueId sgpr(unsigned code);
  void set_sgpr(unsigned code, ValueId u32);
  ValueId sgpr64(unsigned code);
  void set_sgpr64(unsigned code, ValueId u64);
  ValueId scc() { return ssa.read(kSccVar); }
  void set_scc(ValueId u1) { ssa.write(kSccVar, u1); }
  /// SCC = value is not 0.
  void set_scc_nonzero(ValueId value) { set_scc(b.icmp(IntPred::Ne, value, 0)); }
  ValueId exec() { return ssa.read(kExecVar); }
  void set_exec(ValueId mask) { ssa.write(kExecVar, mask); }
  ValueId vcc() { return ssa.read(kVccVar); }

  // ---- operands as uniform values
  ValueId s32(const isa::Operand& o);
  ValueId s64(const isa::Operand& o);
  ValueId s32(unsigned i) { return s32(in->src[i]); }
  ValueId s64(unsigned i) { return s64(in->src[i]); }
  /// A lane mask in a scalar pair.
  ValueId mask(const isa::Operand& o);
  ValueId mask(unsigned i) { return mask(in->src[i]); }
  void set_s32(ValueId u32) { set_sgpr(in->dst[0].index, u32); }
  void set_s64(ValueId u64) { set_sgpr64(in->dst[0].index, u64); }
  void set_mask(const isa::Operand& dst, ValueId mask);

  // ---- vector registers and operands
  ValueId vgpr(unsigned n) { return ssa.read(vgpr_var(n & 255)); }
  ValueId vgpr64(unsigned n) { return b.join(vgpr(n), vgpr(n + 1)); }
  /// `n` consecutive VGPRs from an operand.
  ValueId vgpr_of(const isa::Operand& o, unsigned n = 0) { return vgpr(o.index + n); }
  /// Source i with SDWA selection, DPP movement, op_sel and neg/abs applied, as 32 bits per lane. The upper
  /// half of a 16-bit operand is whatever the register holds.
  ValueId v32(unsigned i);
  ValueId v64(unsigned i);
  /// Source i as a 16-bit integer extended to 32 bits.
  ValueId u16(unsigned i) { return b.and_(v32(i), 0xffff); }
  ValueId i16(unsigned i) { return b.signed_field(v32(i), 0, 16); }
  /// Source i without any modifier, as 32 bits per lane.
  ValueId raw(unsigned i) { return raw32(in->src[i], i); }
  /// Source i at the width of its type.
  ValueId v(unsigned i) { return row->src[i].dwords == 2 ? v64(i) : v32(i); }
  /// The destination's old value, for instructions that accumulate.
  ValueId old32() { return vgpr(in->dst[0].index); }

  /// Lanes that the instruction works on: EXEC without the lanes that DPP disables.
  ValueId active();
  /// Writes dst[0] in the active lanes, as 32 or 64 bits by the value's type.
  void set_v(ValueId value) { set_v(in->dst[0], value); }
  void set_v(const isa::Operand& dst, ValueId value);
  /// Writes `n` registers from `first` in the lanes of EXEC.
  void set_vgprs(unsigned first, std::initializer_list<ValueId> values);
  void set_vgpr(unsigned n, ValueId v32, ValueId lanes);
  void set_vgpr64(unsigned n, ValueId v64, ValueId lanes);
  /// As what VGPR n is from now on; it differs from the old value in `lanes` at most.
  void replace_vgpr(unsigned n, ValueId v32, ValueId lanes);

  // ---- registers indexed at run time
  /// Bounds of `index`, the part of M0 that the current instruction adds to the number of VGPR `base`, or of
  /// a scalar register.
  Range index_bounds(ValueId index, std::optional<unsigned> base = {});
  /// Gives the indexed VGPRs their initial values, at the end of the entry block.
  void store_initial_vgprs();
  /// Adds what this attempt has shown to `findings`, once the function is complete; true if that was anything
  /// new.
  [[nodiscard]] bool learn(Findings& findings) const;
  /// A lane mask as result (compares, carries): inactive lanes get 0.
  void set_lanes(const isa::Operand& dst, ValueId m) { set_mask(dst, b.and_(m, active())); }

  // ---- floating point
  [[nodiscard]] FpAttr fp(ir::FloatKind kind) const;
  /// As fp(), with denormals flushed whatever MODE says.
  [[nodiscard]] FpAttr fp_flushing(ir::FloatKind kind) const;
  /// As fp(), for min, max and med3.
  [[nodiscard]] FpAttr fp_minmax(ir::FloatKind kind) const;
  /// Writes dst[0] after omod and clamp.
  void set_f(ValueId value, ir::FloatKind kind);
  /// Omod and clamp only.
  ValueId finish_float(ValueId value, ir::FloatKind kind);

  // ---- images
  /// The words of the current instruction's T# - eight, or four - and S#, if it has one; nothing in an
  /// attempt that is to find them: the results are then something unknown, as far as is written.
  std::optional<std::vector<ValueId>> descriptors();

private:
  [[nodiscard]] bool learn_indices(RegisterIndices& indices) const;
  ValueId raw32(const isa::Operand& o, unsigned slot);
  ValueId raw64(const isa::Operand& o);
  ValueId relative_vgpr(unsigned base, unsigned slot);
  ValueId sdwa_source(ValueId v, const isa::Operand& o);
  ValueId sdwa_destination(ValueId value, ValueId old);
  ValueId dpp_source(ValueId v);
  ValueId dpp_valid();
  ValueId sign_modifiers(ValueId v, const isa::Operand& o);
  [[nodiscard]] bool keeps_other_half() const;
  [[nodiscard]] bool indexes(unsigned bit) const {
    return (known.mode & kModeGprIdxEn) != 0 && (known.gpr_idx >> bit & 1) != 0;
  }
  void set_relative(unsigned base, ValueId value, ValueId lanes);

  struct Rows;
  struct IndexUse {
    u32 pc;
    ir::InstId witness; ///< its operand is the index
    std::optional<unsigned> base;
  };
  ValueId register_index(unsigned slot);
  Rows indexed_rows(unsigned base, unsigned slot);
  void store_row(unsigned n, ValueId value, ValueId lanes);
  ValueId load_row(const Rows& rows, ValueId lanes);

  const RegisterIndices& indices_;
  const KnownDescriptors& descriptors_;
  DescriptorUses descriptor_uses_;   ///< that are not known yet
  std::vector<IndexUse> index_uses_; ///< whose bounds are not known yet
  std::vector<Untranslated>& untranslated_;
  ValueId dpp_valid_, active_; ///< of the current instruction, made once
};

/// A lifting rule.
using Rule = void (*)(Lifter&);
using Rules = std::array<Rule, isa::kNumOps>;

// Each family adds its rules.
void add_scalar_rules(Rules& rules);
void add_vector_integer_rules(Rules& rules);
void add_vector_float_rules(Rules& rules);
void add_packed_rules(Rules& rules);
void add_cube_rules(Rules& rules);
void add_compare_rules(Rules& rules);
void add_lane_rules(Rules& rules);
void add_memory_rules(Rules& rules);
void add_control_rules(Rules& rules);

/// The rule of `op`, or nullptr.
Rule rule_of(isa::Op op);

// `RULE(v_and_b32) { l.set_v(l.b.and_(l.v32(0), l.v32(1))); };` inside an add_* function.
#define RULE(op) rules[static_cast<unsigned>(isa::Op::op)] = [](Lifter & l)

} // namespace lanewise::lift
