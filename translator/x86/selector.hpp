// The selector's class: one phase at a time, each IR instruction to its x86 form. The rules are spread over
// select_*.cpp.
//
// A phase runs `interleave` gangs side by side: an instruction on lanes is selected once for each of these
// members, one on scalars once for all, and a branch is taken by all of them together.
//
// Shape of a part: a wave-level preamble (run once), the gang loop's head, the body's blocks, and per exit
// edge the stores of what lives on, the step to the next gang, and a tail that runs after the last gang.
// Rules append to the current block, and to preamble and head at any time, because these are closed last:
//
//   preamble:  r15 = rbx; uniform work, splats, constants
//   head:      loads of live-in slices
//   body...
//   exit:      slices to slots; r15 += interleave * gang; if r15 != rbx + 256 goto head
//   tail:      uniform values to slots; jump to the next part, or return
//
// A value is in registers thus: U* and G* in one Gpr (U1: 0 or 1; U32: upper half zero); V32 one Vec; V64 two
// Vecs in lane order; Mask one k register (AVX-512, bits beyond the gang zero) or one Vec of all-ones and
// zero dwords (AVX2).
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/ir/lane_moves.hpp"
#include "translator/ir/wide_access.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/x86/float_kinds.hpp"
#include "translator/x86/lines.hpp"
#include "translator/x86/lookups.hpp"
#include "translator/x86/next_rows.hpp"
#include "translator/x86/packed_values.hpp"
#include "translator/x86/same_in_lanes.hpp"
#include "translator/x86/select.hpp"
#include "translator/x86/slow_access.hpp"
#include "translator/x86/value_steps.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace lanewise::x86 {

using ir::InstId;
using ir::Op;
using ir::Type;
using ir::ValueId;
using IrBlockId = ir::BlockId;

constexpr i64 kPage = 4096; ///< bytes that are accessible together

/// The registers of a value: part 1 only for V64.
struct Regs {
  VReg r[2];
};

class Selector {
public:
  static constexpr unsigned kMaxMembers = 8; ///< gangs side by side

  Selector(const ir::Function& f, const phases::Plan& plan, const FrameLayout& frame,
           const SelectOptions& options, Module& module);
  Result<void> run();

private:
  // ---- select.cpp: phases, blocks, exits
  void select_phase(u32 phase);
  void find_rare_blocks();
  void make_blocks();
  void select_block(IrBlockId b);
  void select_inst(InstId i);
  [[nodiscard]] bool is_shared_transpose(InstId i) const;
  bool is_hoistable(InstId i);
  [[nodiscard]] bool is_mostly_run(IrBlockId b);
  [[nodiscard]] bool is_arithmetic_of_scalars(InstId i) const;
  [[nodiscard]] bool passes_body(InstId i) const;
  [[nodiscard]] bool is_tested_as_scalar(InstId i) const;
  void terminate(IrBlockId b);
  void take_edge(IrBlockId from, const ir::Successor& s);
  void exit_edge(IrBlockId from, const ir::Successor& s, const ir::Inst& last);
  void finish_exit(const ir::Inst& last, const ir::Successor* s);
  void next_gang(BlockId tail);
  void branch(IrBlockId b, const ir::Inst& inst);
  CondCode branch_condition(ValueId condition);
  CondCode test_scalar(InstId tested);
  void append_values(std::span<const ValueId> values, std::vector<VReg>& out);
  void append_args(const ir::Successor& s, std::vector<VReg>& out);
  void test_any(ValueId mask);
  struct SlotCopy {
    ValueId from;
    u32 slot;
  };
  void collect_copies(IrBlockId from, const ir::Successor& s, std::vector<SlotCopy>& per_lane,
                      std::vector<SlotCopy>& uniform);
  void store_copies(const std::vector<SlotCopy>& copies);

  // ---- select_values.cpp: where values are
  Regs regs(ValueId v);
  VReg reg1(ValueId v) { return regs(v).r[0]; }
  VReg part(ValueId v, unsigned p) { return regs(v).r[p]; }
  /// How many registers that is to be computed for: one if each operand's two are the same one.
  unsigned parts_to_make(InstId i);
  [[nodiscard]] bool is_in_one_register(ValueId v) {
    return type(v) != Type::V64 || (!is_fused(v) && part(v, 0).index == part(v, 1).index);
  }
  /// Whether it has the same in all lanes, as where one lane goes through a loop alone.
  [[nodiscard]] bool is_same_in_lanes(ValueId v);
  /// Of a parameter: of 64 bits, and one register has what is in both.
  [[nodiscard]] bool takes_one_register(ValueId v) { return type(v) == Type::V64 && is_same_in_lanes(v); }
  void set(ValueId v, Regs r);
  void set(ValueId v, VReg r) { set(v, Regs{{r, VReg{}}}); }
  struct Location;
  const Location* location(ValueId v) const; ///< null if the current member does not have `v` yet
  /// The member that has the current one's `v`: of what neighbours in a row have the same, the first.
  [[nodiscard]] unsigned owner(ValueId v) const;
  [[nodiscard]] bool is_same_in_row(ValueId v) const { return common_ && common_->in_row(v); }
  [[nodiscard]] bool is_same_in_column(ValueId v) const { return common_ && common_->in_column(v); }
  [[nodiscard]] bool is_decided_by_gang(InstId i) const;
  bool is_in_slot(ValueId v); ///< its slot holds it while this phase runs
  std::optional<Operand> argument(ValueId v);
  bool in_preamble(ValueId v);
  Regs materialize(ValueId v);
  Regs load_slot(ValueId v, bool remat);
  /// Where in the frame a register of a value of `type` is.
  struct SlotPart {
    Type type{};
    u32 slot = 0;
    unsigned part = 0;
  };
  VReg load_slot(const SlotPart& at, bool remat);
  void store_slot(Type t, u32 slot, Regs value);
  Operand slice(u32 slot, unsigned p, View view = View::Full) const {
    return mem(kGang, slot + 256 * p + member_ * module_.vec_bytes(), view);
  }
  Operand mask_slice(u32 slot);
  /// All gangs that run do so side by side: a member is the gang of its number.
  [[nodiscard]] bool goes_once() const {
    return interleave_ * lanes() >= plan_.lanes || plan_.phases[phase_].first_gangs != 0;
  }
  /// First lane / 8 of the first member in a Gpr, valid in the whole gang loop. Not if that goes once.
  VReg gang_index();
  [[nodiscard]] u32 index_in_team() const { return member_ * lanes() / 8; } ///< to be added to gang_index()
  VReg constant_mask(u64 bits);                                             ///< of the wave
  VReg constant_mask_of_gang(u64 bits); ///< the same in all gangs, or of a known one
  VReg mask_from_bits(VReg gpr);        ///< low bits of a Gpr to the mask of a gang
  VReg mask_to_bits(VReg mask);         ///< and back; upper bits zero
  VReg mask_of_u1(VReg bit);
  Regs splat(Type t, VReg uniform);
  VReg gang_first(ValueId v);
  VReg gang_pick(ValueId v, ValueId mask);
  [[nodiscard]] u32 first_row(InstId i) const; ///< where in the frame the rows begin that `i` may go to
  Operand in_row(InstId lane_of);              ///< the element
  Operand row_element(InstId i);
  Regs gang_pick_for_all(ValueId v, ValueId mask);
  [[nodiscard]] bool is_gang_recomputed(ValueId v) const;
  VReg first_lane(); ///< the gang's
  VReg lane_ids();
  /// Runs `body` for each of the gangs that go side by side, or each `every`-th.
  template <class F>
  void for_each_member(F body, unsigned every = 1, unsigned end = kMaxMembers) {
    for (unsigned m = 0; m < std::min(end, interleave_); m += every) {
      become(m);
      body();
    }
    become(0);
  }
  /// Runs `body(n)` as each of the `count` members up to the current one.
  template <class F>
  void for_neighbours(unsigned count, F body) {
    const unsigned last = member_;
    for (unsigned n = 0; n < count; ++n) {
      become(last + 1 - count + n);
      body(n);
    }
  }
  void become(unsigned member) {
    member_ = member;
    b_->set_first_lane(member * lanes());
  }
  /// Runs `body` with code going to the preamble, which stays one block.
  template <class F>
  auto hoisted(F body) {
    const BlockId here = b_->current();
    const bool was = emitting_preamble_;
    b_->at(preamble_);
    emitting_preamble_ = true;
    auto result = body();
    assert(b_->current() == preamble_);
    emitting_preamble_ = was;
    b_->at(here);
    return result;
  }

  // ---- select_uniform.cpp
  bool uniform_inst(InstId i);
  VReg uniform_divide(InstId i);
  VReg uniform_shift(InstId i);
  VReg uniform_multiply(InstId i);
  VReg uniform_min_max(InstId i);
  VReg uniform_select(InstId i);
  bool uniform_from_lanes(InstId i);
  void test_stored(u32 slot);
  VReg bits_of_team(ValueId mask);
  CondCode emit_compare(InstId compare); ///< of scalars, or of floats by one condition, to the flags
  void scalar_load(InstId i);
  void scalar_buffer_load(InstId i);
  void scalar_store(InstId i);
  VReg scalar_address(InstId i);
  VReg uniform_bitrev(VReg v, bool wide);

  // ---- select_integer.cpp, select_shift.cpp, select_multiply.cpp, select_bits.cpp
  bool integer_inst(InstId i);
  bool shift_inst(InstId i);
  bool multiply_inst(InstId i);
  bool bits_inst(InstId i);
  VReg rotate_bytes(VReg v, unsigned bytes, unsigned size);
  VReg shift_count(ValueId amount, unsigned p, bool wide);
  VReg compare(ir::IntPred pred, VReg a, VReg b, bool wide);
  Regs select_value(Type t, ValueId condition, Regs a, Regs b);
  VReg min_max64(Op op, VReg a, VReg b);
  VReg popcount(VReg v, bool wide);
  VReg popcount_of_bytes(VReg v);
  VReg leading_zeros(VReg v, bool wide);
  VReg leading_zeros32(VReg v);
  VReg trailing_zeros(VReg v, bool wide);
  VReg reverse_bits(VReg v, bool wide);
  VReg reverse_bits_of_bytes(VReg v);
  VReg permute_bytes(VReg a, VReg b, VReg selector);
  bool permute_bytes_constant(ValueId result, VReg a, VReg b, u32 selector);
  VReg byte_blend(VReg x, VReg y, VReg if_equal, VReg otherwise);
  VReg byte_table(const u8* bytes);
  struct Factor {
    VReg v;
    bool has_high; ///< the upper half may be other than 0
    std::optional<u64> constant{};
  };
  Factor factor(ValueId v, unsigned p);
  VReg mul64(Factor a, Factor b);
  bool has_high_half(ValueId v) const;
  VReg mul_high(ValueId a, ValueId b, bool is_signed);
  [[nodiscard]] bool is_repeated(ValueId v) const;

  // ---- select_divide.cpp
  bool divide_inst(InstId i);
  VReg divide32(ValueId n, ValueId d);
  bool is_exact_in_f32(ValueId n, ValueId d, unsigned ulps);
  VReg divide_in_f32(ValueId n, ValueId d);
  std::array<VReg, 2> doubles_of(VReg x, double less);
  VReg join_odd(VReg even, VReg odd);
  std::optional<VReg> shared_reciprocal(ValueId d);
  VReg divide32_by_product(VReg n, u32 d);
  VReg reciprocal64(VReg d);
  VReg double_of(VReg x);
  VReg divide64_directed(VReg n, VReg d, VReg reciprocal);
  VReg divide64_reduced(VReg n, const Factor& d, VReg reciprocal);
  VReg divide64_by_product(VReg n, u64 d);
  Regs reciprocals64(ValueId d);
  VReg divide64_by_zero(VReg q, VReg n, VReg d);

  // ---- select_alike.cpp
  void find_alike();

  // ---- select_packed.cpp
  void find_packed();
  [[nodiscard]] bool is_packed(InstId i) const { return packed_ && packed_->bits(i) != 0; }
  void packed_inst(InstId i);
  VReg packed_const(unsigned bits, u32 value);
  VReg packed_mask_const(unsigned bits, bool all);
  Regs packed_value(ValueId v, unsigned bits);
  void forget_packed();
  VReg reg_of_member(ValueId v, unsigned member);
  Regs pack(ValueId v, unsigned bits);
  Regs pack_masks(ValueId v, unsigned bits);
  VReg in_lane_order(VReg r, unsigned bits);
  VReg unpack(Regs packed, unsigned bits, bool is_signed);
  VReg unpack_mask(Regs packed, unsigned bits);
  void set_members(ValueId v, Regs packed, unsigned bits);
  void forget_members(ValueId v);
  VReg packed_operation(InstId i, unsigned bits, std::span<const Regs> in, unsigned p);
  [[nodiscard]] bool is_packed_unsigned(InstId i, unsigned bits) const;
  VReg packed_right_shift(InstId i, unsigned bits, unsigned p);
  VReg multiply_bytes(VReg a, VReg b);
  VReg packed_popcount(VReg v, unsigned bits);
  VReg packed_mask(InstId i, unsigned bits, std::span<const Regs> in, unsigned p);
  VReg packed_compare(ir::IntPred pred, bool zeros_above, unsigned bits, VReg a, VReg b);
  void packed_access(InstId i, unsigned bits);
  Regs load_packed(InstId i, VReg start, unsigned bits);
  void store_packed(InstId i, VReg start, Regs data, unsigned bits);

  // ---- select_fused.cpp
  static u32 integer_instruction(Op op, bool wide, bool avx512); ///< of two registers; 0 if there is none
  static u32 compare_predicate(u64 outcomes);                    ///< vcmpps immediate
  CondCode emit_float_compare(InstId i);
  VReg float_compare_first(InstId i);
  bool is_compared_by_flags(InstId i);
  [[nodiscard]] bool is_maskable(InstId i, ValueId old) const;
  /// 1 or -1 if `i` adds that to `old`: with AVX2 the mask of a select between the two is what is added.
  [[nodiscard]] ValueId absolute(InstId i) const;
  [[nodiscard]] std::optional<i32> counted(InstId i, ValueId old) const;
  [[nodiscard]] bool is_narrowable(InstId i) const;
  void find_fused(IrBlockId b);
  void find_tested_scalars();
  [[nodiscard]] bool is_scale(InstId i) const;
  VReg uniform_add(InstId i);
  [[nodiscard]] bool is_fused(ValueId v) const;
  VReg masked_operation(InstId i, VReg mask, ValueId otherwise);
  VReg narrowed_comparison(InstId i, VReg mask, bool inverted = false);

  // ---- select_logic.cpp
  [[nodiscard]] bool is_logic(InstId i) const;
  bool logic_inputs(InstId i, std::vector<ValueId>& inputs) const;
  void fuse_logic(InstId i, InstId operand);
  [[nodiscard]] bool has_fused_logic(InstId i) const;
  [[nodiscard]] u8 logic_table(ValueId v, std::span<const ValueId> inputs) const;
  [[nodiscard]] u8 logic_table(InstId i, std::span<const ValueId> inputs) const;
  [[nodiscard]] bool starts_from(InstId i, ValueId v) const;
  VReg ternary_logic(InstId i, VReg mask = {}, ValueId otherwise = {});

  // ---- select_mask.cpp
  bool mask_inst(InstId i);
  [[nodiscard]] bool is_biased(InstId i) const;
  VReg biased(ValueId v, unsigned p);
  VReg compare_biased(ir::IntPred pred, ValueId a, ValueId b, unsigned p);
  VReg wide_mask(VReg mask, unsigned p); ///< the part's mask for qword elements
  CondCode test_not_few(InstId i);
  VReg narrow_masks(VReg lo, VReg hi); ///< qword masks of both parts to one
  VReg blend(VReg mask, VReg if_set, VReg if_clear, bool wide = false);
  VReg mask_and(VReg a, VReg b);
  VReg mask_or(VReg a, VReg b);
  VReg mask_not(VReg a);
  VReg zero_outside(VReg mask, VReg v, bool wide = false);

  // ---- select_lane.cpp
  bool lane_inst(InstId i);
  void move_lanes(InstId i, const ir::LaneSources& source);
  bool move_rows(ValueId result, u32 slot, const ir::LaneSources& source);
  bool move_known_row(ValueId result, u32 slot, std::span<const u8> source);
  struct LaneWindow;
  [[nodiscard]] std::optional<LaneWindow> window_of(std::span<const u8> source) const;
  [[nodiscard]] int shift_of(std::span<const u8> source) const;
  VReg lane_table(const std::array<u8, kWaveSize>& bytes);
  VReg permute_register(VReg v, std::span<const u8> source);
  VReg gather_slot(u32 slot, VReg lane, VReg mask);
  VReg mask_at(ValueId mask, VReg lane);
  bool stored_whole(InstId i, ValueId v);
  void write_lane(InstId i);
  void permute(InstId i);
  void nth_lane(InstId i);
  VReg numbers_of(VReg bits);
  VReg numbers_one_by_one(VReg bits);

  // ---- select_convert.cpp: joins, halves, extensions
  bool width_inst(InstId i);
  VReg widen(VReg v, unsigned p, bool is_signed); ///< dwords of half p to qwords
  VReg in_qwords(ValueId v, unsigned p);          ///< likewise, the lower halves alone
  VReg zero_extended(ValueId v, unsigned p);
  ValueId whole_at_hand(ValueId v);
  Regs join_parts(VReg lo, VReg hi);
  VReg narrow(Regs wide, bool high); ///< low or high dwords
  VReg half_of(VReg v, unsigned p);  ///< half p as a Half register

  // ---- select_float.cpp, select_half.cpp, select_fp_convert.cpp
  bool float_inst(InstId i);
  bool arithmetic(InstId i);
  bool half_inst(InstId i);
  bool convert_inst(InstId i);
  void set_mxcsr(const ir::FpAttr& fp, u32 care);
  void load_mxcsr(u32 value);
  [[nodiscard]] u32 most_common_mxcsr();
  static constexpr u32 kMxcsrDenormals = 0x8040; ///< DAZ and FTZ
  VReg rounded(const ir::FpAttr& fp, u32 id, std::initializer_list<Operand> ops, VReg tied = {},
               u32 care = kMxcsrDenormals);
  VReg divided_once(u32 id, std::initializer_list<Operand> ops);
  VReg fma(const ir::FpAttr& fp, VReg a, VReg b, VReg c, bool overwrite_c);
  VReg fcompare(VReg a, VReg b, u32 predicate, bool wide);
  VReg float_part(const ir::Inst& inst, std::span<const VReg> in);
  VReg splat_float(bool wide, double value);
  VReg clamp(const ir::FpAttr& fp, VReg x);
  VReg quieted(VReg x, bool wide);
  [[nodiscard]] bool is_as_quieted(ir::Op op, const ir::FpAttr& fp, std::span<const ValueId> x);
  // select_min_max.cpp
  [[nodiscard]] bool may_be_denormal(ValueId v, unsigned depth = 0) const;
  VReg min_max_part(const ir::Inst& inst, std::span<const ValueId> x, VReg a, VReg b);
  VReg ordered_bits(VReg v, u32 magnitude);
  VReg min_max_of_bits(const ir::Inst& inst, std::span<const ValueId> x, VReg a, VReg b);
  VReg min_max(const ir::FpAttr& fp, bool max, VReg a, VReg b, FloatKinds::Kind a_kind = {},
               FloatKinds::Kind b_kind = {}, bool any_mode = false);
  [[nodiscard]] bool is_limit(ValueId v, const ir::Inst& inst);
  VReg limited(const ir::Inst& inst, VReg x, VReg limit, bool quiet, bool any_mode);
  VReg quieted_or(VReg x, VReg nan, VReg r, bool wide);
  [[nodiscard]] bool is_int32(ValueId v, bool is_signed);
  bool is_nonnegative(ValueId v);
  void float_compare(InstId i);
  VReg ldexp(const ir::FpAttr& fp, VReg x, VReg amount, unsigned p);
  VReg flush_half(VReg v);                      ///< denormals to zeros, on the bits
  VReg from_half(const ir::FpAttr& fp, VReg v); ///< f16 in the low halves to f32
  VReg converted_half(const ir::FpAttr& fp, VReg v);
  void know_halves_of_block();
  VReg to_half(const ir::FpAttr& fp, VReg v); ///< f32 to f16, rounding and flushing as `fp` says
  VReg half_fma(const ir::FpAttr& fp, VReg a, VReg b, VReg c);
  VReg half_min_max(const ir::FpAttr& fp, bool max, VReg a, VReg b);
  VReg half_is_nan(VReg v);
  Regs to_double(VReg v);
  VReg join_halves(VReg lo, VReg hi);
  VReg int_to_single(const ir::FpAttr& fp, VReg v, bool is_signed);
  Regs int_to_double(VReg v, bool is_signed);
  VReg single_to_int(VReg v, bool is_signed);
  VReg double_to_int(Regs v, bool is_signed);
  void convert_format(InstId i);

  // ---- select_root.cpp
  bool root_or_reciprocal(InstId i);
  [[nodiscard]] bool is_divider_bound(IrBlockId b) const;
  [[nodiscard]] bool is_reciprocal(InstId i) const;
  [[nodiscard]] bool is_never_denormal(ValueId v) const;
  VReg reciprocal_of_root(const ir::FpAttr& fp, VReg s, VReg x);
  VReg denormals_flushed(VReg x, bool wide);

  // ---- select_memory.cpp, select_access.cpp, select_atomic.cpp
  /// Where the lanes of an access go: base + index + disp, for dword d of a lane another d * dword_stride.
  struct Access {
    VReg base;  ///< Gpr; absent with wide indices
    Regs index; ///< V32, sign-extended, or with `wide` V64; absent if all lanes go to `base`
    bool wide = false;
    unsigned scale_log2 = 0; ///< of 32-bit indices
    bool in_dwords = false;  ///< `base` is aligned to dwords, and so is `disp`
    bool may_wrap = false;   ///< 32-bit indices: lanes that count up may go from the largest to the smallest
    i64 disp = 0;
    unsigned dword_stride = 4;
    VReg first;                 ///< lane 0's index in 64 bits, or address with `wide`, once it is known
    VReg mask;                  ///< lanes that take part and are in range
    bool full = false;          ///< the mask is known to be full
    bool has_gaps = false;      ///< or not to be
    u32 first_lanes = 0;        ///< of the gang: no lane from this one on takes part, if not 0
    bool low_half = false;      ///< only lanes of the gang's lower half take part
    bool all_exist = false;     ///< a row in which lanes that take no part have a place, too
    bool alone = false;         ///< lane 0 of the only gang is known to be all that takes part
    VReg lane;                  ///< of a uniform load: whose fault it would be, if known
    bool spread = false;        ///< a load of the mask's only lane, for all: that lane's fault
    bool to_write = false;      ///< what is loaded is part of an access that writes: a fault is that one's
    bool contiguous = false;    ///< `base` is where lane 0 of the gang goes, the others follow
    bool part_of_dword = false; ///< with contiguous, 1- and 2-byte accesses: the elements are 4 bytes apart
    VReg bit_shift;             ///< where they lie in the dwords at `base`
    unsigned first_bit = 0;     ///< where, if there is no bit_shift
    [[nodiscard]] bool uniform() const { return !contiguous && !index.r[0].valid(); }
  };
  bool memory_inst(InstId i);
  bool access_inst(InstId i);
  [[nodiscard]] bool
  is_wide(InstId i) const; ///< a load or store of 64-bit values, which go to two registers each
  std::span<const VReg> stored_data(InstId i, std::array<VReg, 4>& data);
  // select_rows.cpp: accesses with scalar addresses
  void shaped_access(InstId i, std::span<VReg> out);
  [[nodiscard]] unsigned row_members(InstId i) const;
  void find_needed_members();
  [[nodiscard]] unsigned members_apart(InstId i) const;
  [[nodiscard]] unsigned last_members(InstId i) const;
  /// How many of those side by side are known to lie in one row of work-items.
  [[nodiscard]] unsigned row_size() const { return common_ ? common_->row().group() : 1; }
  VReg of_leader(ValueId v, unsigned members);
  void row_access(InstId i, VReg base, i64 disp, i64 stride, std::span<VReg> out);
  Access wrapped_lanes(InstId i, VReg base, VReg index, unsigned lane);
  void wrapped_access(InstId i, unsigned members, std::span<VReg> out);
  CondCode compare_wrapped(InstId i, unsigned members, VReg index);
  VReg start_of_wrapped(InstId i, VReg base, VReg index);
  [[nodiscard]] bool ends_behind_lds(InstId i) const;
  void lds_row(InstId i, std::span<VReg> out);
  void lds_row_within(InstId i, VReg start, VReg address, i64 disp, std::span<VReg> out);
  Access indexed_access(InstId i);
  Access for_gathers(const Access& a);
  // select_fetch.cpp
  [[nodiscard]] std::optional<i64> distance_to_fetch(InstId i);
  void fetch(const Operand& line);
  void fetch_ahead(InstId i, VReg base, i64 disp, i64 stride);
  [[nodiscard]] bool goes_along_own_rows(InstId i);
  [[nodiscard]] bool is_line_fetched(InstId i, i64 row) const;
  [[nodiscard]] bool goes_through_records(InstId i);
  [[nodiscard]] bool is_before_loop(InstId i);
  void fetch_next_rows(InstId i, VReg base, i64 disp);
  // select_table.cpp
  void load_from_table(InstId i, std::span<VReg> out);
  VReg look_up(std::span<const VReg> rows, VReg index);
  void pick_elements(InstId i, const Access& a, std::span<const VReg> rows, VReg index, VReg offset,
                     std::span<VReg> out);
  // select_window.cpp
  void load_from_window(InstId i, const Access& a, VReg step, BlockId no, BlockId join, std::span<VReg> out);
  Access masked_access(InstId i);
  Access lds_lanes(InstId i, VReg start);
  VReg lds_base(u64 frame_offset);
  void fetch_next_round(InstId load, ValueId start);
  VReg lds_address(VReg offset);
  VReg lds_address_at(VReg offset);
  VReg lane_offsets(i64 stride, unsigned first_lane = 0);
  Regs lane_addresses(InstId i); ///< for those who need the vector
  void scattered(InstId i, const Access& a, std::span<VReg> out);
  /// Goes on behind whichever way was taken.
  template <class Hot, class Cold>
  void hot_or_cold(CondCode cold_if, std::span<VReg> out, Hot hot, Cold cold) {
    const BlockId slow = b_->add_block(true), fast = b_->add_block(), join = b_->add_block();
    std::array<VReg, 4 * kMaxMembers> params{};
    for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, RegClass::Vec);
    b_->branch(cold_if, slow, fast);
    b_->at(fast);
    hot();
    b_->jump(join, out);
    b_->at(slow);
    cold();
    b_->jump(join, out);
    b_->at(join);
    std::copy_n(params.begin(), out.size(), out.begin());
  }
  void test_all(VReg mask, CondCode& if_not_all);
  void register_access(InstId i, std::span<VReg> out); // select_registers.cpp
  void perform_or_call(InstId i, std::span<VReg> out);
  void perform(InstId i, const Access& a, std::span<VReg> out);
  Access global_access(InstId i);
  VReg first_too_high(std::size_t size_field, unsigned shift, u32 bytes);
  VReg place_in_scratch(VReg x);
  Access own_access(InstId i, BlockId elsewhere);
  Access shared_access(InstId i, BlockId elsewhere);
  Access resolved_access(InstId i, BlockId slow);
  Access lds_access(InstId i);
  Access scratch_access(InstId i, BlockId slow);
  void find_scratch_lanes(Access& a, VReg x, u32 offset, u32 bytes, VReg elsewhere, BlockId slow);
  VReg scratch_room(u32 bytes);
  VReg byte_in_scratch(VReg uniform, u32 offset, u32 bytes, VReg room, BlockId slow);
  void scratch_of_lane(InstId i);
  VReg lane_in_scratch(VReg bits);
  void find_turns();
  VReg place_of_lane(InstId i, VReg start, BlockId slow);
  VReg gang_scratch();
  Access scratch_row(InstId i);
  void set_scratch_row(Access& a, VReg base, i64 disp);
  void find_scratch_row(Access& a, VReg x, u32 bytes);
  Access flat_access(InstId i, BlockId slow);
  void branch_away(CondCode cond, BlockId slow);
  void test_mask(VReg mask);
  void slow_access(InstId i, std::span<VReg> out);
  void join_dwords(std::span<VReg> dwords);
  void load(InstId i, const Access& a, std::span<VReg> out);
  void store(InstId i, const Access& a);
  void atomic(InstId i, const Access& a, std::span<VReg> out);
  void set_mxcsr_for_atomic(const ir::Inst& inst);
  [[nodiscard]] bool is_for_whole_team(InstId i) const;
  void combined_atomic(InstId i, const Access& a, std::span<VReg> out);
  template <class F>
  VReg combine_lanes(VReg x, bool wide, F combine);
  [[nodiscard]] bool is_loaded(InstId atomic) const;
  void fetch_lines(const Access& a, VReg bits);
  bool combines_by_address(InstId i);
  CondCode compare_repeated(VReg v, VReg mask, VReg all);
  void combined_by_address(InstId i, const Access& a);
  void deferred_adds(InstId i, const Access& a);
  VReg deferred_table();
  void defer_add(const ir::Inst& inst, const Operand& at, VReg lane, VReg data);
  void atomic_of_one_lane(InstId i, const Access& a, std::span<VReg> out);
  void exchange_at_one_place(InstId i, const Access& a, std::span<VReg> out);
  VReg scalar_of(ValueId v);
  BlockId begin_if_any(VReg bits, std::span<VReg> out, std::array<VReg, 4>& results);
  VReg aligned_address(const ir::Inst& inst, VReg base, i64 disp);
  VReg to_gpr(VReg v, bool wide);
  VReg join_gprs(VReg low, VReg high); ///< the 64 bits; `low` has none above its 32
  VReg atomic_lane(const ir::Inst& inst, const Operand& at, VReg lane, VReg data, VReg second, bool returns);
  VReg new_value(const ir::Inst& inst, VReg old, VReg data, VReg second);
  VReg sum_of(const ir::Inst& inst, VReg memory, VReg data);
  VReg new_float(const ir::Inst& inst, VReg old, VReg data, VReg second);
  VReg load_part(const ir::MemAttr& attr, VReg address, const Access& a);
  void store_part(const ir::MemAttr& attr, VReg address, const Access& a, VReg data);
  // select_quads.cpp
  void split_quads(std::array<VReg, 4>& r);
  void gather_slots(std::array<VReg, 4>& rows);
  void join_quads(std::array<VReg, 4>& d);
  void interleave_dwords(const std::array<VReg, 4>& in, std::array<VReg, 4>& out);
  static FaultSite triple_site(unsigned dword, bool is_write);
  VReg pick_two_each(VReg a, VReg b, std::array<int, 4> from);
  void load_triples(VReg address, i64 disp, std::span<VReg> out);
  std::array<VReg, 3> join_triples(std::span<const VReg> data);
  void store_triples(VReg address, i64 disp, std::span<const VReg> data);
  void split_quads_to_qwords(std::array<VReg, 4>& r);
  void join_quads_of_qwords(std::array<VReg, 4>& d);
  void load_quads(InstId i, VReg address, i64 disp, std::span<VReg> out);
  void store_quads(InstId i, VReg address, i64 disp, std::span<const VReg> data);
  void store_qwords(const Access& a, VReg address, Regs qwords);
  // select_narrow.cpp
  VReg load_narrow(InstId i, const Access& a);
  Access dwords_of(const Access& a, VReg& offset);
  VReg load_narrow_lanes(InstId i, const Access& a);
  [[nodiscard]] bool is_narrow_span(const ir::Inst& inst, i64 stride) const;
  VReg full_span_mask(u32 row, u32 bytes, i64 stride);
  VReg span_mask(const Access& a, u32 bytes, i64 stride);
  VReg pick_from_span(const ir::MemAttr& attr, VReg v, i64 stride, u32 row);
  static FaultSite span_site(u32 bytes, i64 stride, bool is_write);
  VReg load_narrow_span(InstId i, const Access& a, i64 stride, bool whole);
  void store_narrow_span(InstId i, const Access& a, i64 stride);
  [[nodiscard]] bool is_near(const ir::Inst& inst, i64 stride) const;
  VReg load_near(InstId i, const Access& a, i64 stride);
  [[nodiscard]] bool can_be_picked(const ir::Inst& inst, i64 stride) const;
  Operand piece_of_row(const ir::MemAttr& attr, const Access& a, i64 stride, u32 at, View view);
  VReg load_picked(InstId i, const Access& a, i64 stride);
  VReg pick_from_rows(const ir::MemAttr& attr, const Access& a, u32 step, u32 first);
  VReg pick_from_pairs(const ir::MemAttr& attr, const Access& a, u32 step, u32 first);
  static u32 extending_move(const ir::MemAttr& attr);
  [[nodiscard]] View narrow_row_view(const ir::MemAttr& attr) const;
  VReg packed_bytes(u32 size);
  void store_narrow_row(const FaultSite& site, VReg mask, const Operand& at, VReg data);
  void load_narrow_within_page(InstId i, const Access& a, std::span<VReg> out);
  VReg extended(const ir::MemAttr& attr, VReg low); ///< the low byte or two of each dword
  Regs exact_addresses(const Access& a);            ///< V64 of each lane
  Access of_any_lanes(const Access& a);
  // select_lines.cpp
  [[nodiscard]] const Line* line_of(InstId i) const;
  void load_line(const Line& line);
  void store_line(const Line& line);
  Access lines_anywhere(InstId i);
  Operand line_of_lane(const Line& line, const Access& a, i64 stride, unsigned lane);
  // select_components.cpp
  /// Stores of neighbouring elements that lanes have at the same distance.
  struct ShortRows {
    std::array<VReg, 4> first{};
    u32 lanes = 0; ///< 0: there are none
  };
  struct Components {
    std::vector<InstId> stores; ///< in their order
    i64 first = 0;              ///< the lowest offset
    u32 bytes = 0;              ///< a bit for each that is stored from there on
    bool whole = false;         ///< that is all up to the next lane's, or whole pieces of a record
    u32 record = 0;             ///< bytes of these pieces
    ShortRows rows;             ///< where they are, if they are several
  };
  [[nodiscard]] bool can_be_component(InstId i) const;
  void find_components(IrBlockId b);
  void join_components(const std::vector<InstId>& stores);
  [[nodiscard]] const Components* components_of(InstId i) const;
  void see_operands(const Components& all);
  void store_apart(const Components& all, const Access& a);
  Operand part_of_row(const Components& all, const Access& a, i64 stride, u32 at, View view);
  std::array<VReg, 4> row_of_components(const Components& all, i64 stride);
  std::array<VReg, 4> row_of_dwords(const Components& all, i64 stride);
  VReg pick_dwords(VReg a, VReg b, const std::array<u32, 16>& from);
  VReg components_mask(const Components& all, const Access& a, i64 stride);
  void store_components(const Components& all, const Access& a, i64 stride);
  void store_lines(const Components& all, const Access& a, i64 stride, VReg odd);
  void store_whole_components(const Components& all, const Access& a, i64 stride);
  // select_records.cpp
  struct RecordPart {
    i64 at = 0; ///< its offset
    u32 bytes = 0;
    ValueId value;
    InstId store;
  };
  [[nodiscard]] std::vector<RecordPart> parts_of_record(const std::vector<InstId>& stores) const;
  void join_records(const std::vector<InstId>& stores);
  VReg dword_of_record(std::span<const RecordPart> all, i64 at);
  std::array<VReg, 4> piece_of_record(std::span<const RecordPart> all, i64 at);
  [[nodiscard]] bool is_stored_in_lines(const Components& all, i64 stride) const;
  void store_record(const Components& record, const Access& a, i64 stride);
  template <class To>
  void store_slots(VReg row, u32 from, u32 count, const To& to);
  void store_pieces(const Components& record, const Access& a, i64 stride, std::span<const RecordPart> all,
                    u32 first, u32 count);
  // select_short_rows.cpp
  /// Where the rows of a gang begin, of 8 or 4 lanes each.
  [[nodiscard]] u32 likely_short_row(InstId i, const Access& a) const;
  ShortRows branch_if_short_rows(InstId i, const Access& a, u32 row, bool all_lanes, BlockId yes, BlockId no);
  [[nodiscard]] bool has_short_rows(InstId i) const;
  [[nodiscard]] bool is_full_width(InstId i) const;
  void short_rows(InstId i, const Access& a, std::span<VReg> out);
  ShortRows short_row_starts(const Access& a, u32 row);
  ShortRows rows_within_reach(const Access& a, ShortRows start);
  ShortRows rows_within_reach_if_partial(const Access& a, ShortRows start);
  void leave_if_wrapped(const Access& a, u32 row, i64 step, BlockId slow);
  FaultSite short_row_site(InstId i, const ShortRows& start, unsigned bytes, unsigned n);
  VReg mask_of_row(const Access& a, const ShortRows& start, unsigned n);
  VReg mask_of_row_alone(const Access& a, const ShortRows& start, unsigned n, unsigned bits);
  [[nodiscard]] View view_of(unsigned bytes) const;
  template <class F>
  VReg join_rows(View view, unsigned first, F load);
  void load_short_rows(InstId i, const Access& a, const ShortRows& start, i64 stride, std::span<VReg> out);
  Operand load_short_row(InstId i, const Access& a, const ShortRows& start, unsigned n, unsigned bytes,
                         i64 stride, i64 at);
  VReg load_short_dwords(InstId i, const Access& a, const ShortRows& start, i64 stride, i64 at);
  Regs load_short_qwords(InstId i, const Access& a, const ShortRows& start, i64 stride, i64 at);
  Operand short_quads(InstId i, const Access& a, const ShortRows& start, unsigned n);
  void load_short_quads(InstId i, const Access& a, const ShortRows& start, std::span<VReg> out);
  VReg load_short_span(InstId i, const Access& a, const ShortRows& start, i64 stride);
  VReg load_short_narrow(InstId i, const Access& a, const ShortRows& start, bool same);
  VReg row_of(VReg v, View view, unsigned n);
  void store_short_records(const Components& record, const Access& a, const ShortRows& start, i64 stride);
  void store_short_rows(InstId i, const Access& a, const ShortRows& start, std::span<const VReg> data);
  void store_row_by_blend(const FaultSite& site, VReg mask, const Operand& at, VReg row, View view);
  // select_places.cpp
  /// Where the lanes of every gang go.
  struct Places {
    std::array<i64, 2> rows;     ///< from lane 0's place, bytes
    u32 count;                   ///< of them; the second ends with the last place, and may overlap the first
    std::array<u32, 16> dword{}; ///< of each lane, from the first row on
  };
  std::optional<Places> lds_places(InstId i);
  void access_places(InstId i, const Places& places, std::span<VReg> out);
  void load_places(InstId i, const Access& a, std::span<VReg> out);
  VReg permuted_mask(VReg mask, VReg order);
  // select_reversed.cpp
  [[nodiscard]] bool is_reversed_row(const ir::Inst& inst, i64 stride) const;
  VReg reversed(VReg v, bool wide);
  VReg reversed_mask(const Access& a, unsigned p, bool wide);
  void reversed_row(InstId i, const Access& a, std::span<VReg> out);
  // select_spaced.cpp
  struct Spacing {
    i64 stride = 0; ///< bytes from lane to lane; 0 where each lane's address is spilled
    bool is_write = false;
    bool in_page = false; ///< all lanes' 16 bytes lie in one page, and some lane of the mask loads there
    ShortRows rows{};     ///< where each row's lanes begin, if not `base` is where all do
  };
  Operand spaced_element(const Access& a, const Spacing& s, unsigned lane, unsigned bytes, unsigned from = 0);
  void store_element_of(const Access& a, const Spacing& s, u32 lane, u32 bytes, VReg four);
  bool is_run_of_lanes(InstId i);
  void store_run(InstId i, const Access& a, const Spacing& s, const Access& scatter);
  static bool can_be_spaced(u32 bytes, i64 stride);
  /// A register of 128-bit slots that is being filled.
  struct SlotRow {
    std::array<VReg, 2> halves{}; ///< with AVX2 the first is all
  };
  void fill_slot(SlotRow& row, unsigned slot, const Operand& element);
  VReg whole(const SlotRow& row);
  std::array<VReg, 4> quads_of_slots(bool wide, const std::array<VReg, 4>& rows);
  std::array<VReg, 4> slots_of_quads(bool wide, const std::array<VReg, 4>& data);
  VReg load_three(const Access& a, const Spacing& s, unsigned lane);
  void store_three(const Access& a, const Spacing& s, unsigned lane, VReg three);
  void load_spaced(InstId i, const Access& a, const Spacing& s, std::span<VReg> out);
  VReg load_each_spaced(InstId i, const Access& a, const Spacing& s);
  [[nodiscard]] bool is_within_page(InstId i, i64 stride) const;
  CondCode test_page(VReg base, i64 disp, i64 bytes);
  void load_within_page(InstId i, const Access& a, i64 stride, std::span<VReg> out);
  void load_elements(InstId i, const Access& a, std::span<VReg> out);
  // select_each.cpp
  [[nodiscard]] bool can_load_each(const ir::MemAttr& attr, const Access& a) const;
  VReg load_each(const ir::MemAttr& attr, const Access& a, i64 disp);
  VReg sixteen_bytes(VReg all, unsigned n);
  VReg insert_element(const ir::MemAttr& attr, VReg four, unsigned n, const Operand& at);
  VReg extend_inserted(const ir::MemAttr& attr, VReg v);
  struct RowSlot {
    unsigned row, slot;
  };
  [[nodiscard]] RowSlot slot_of_quad(bool wide, unsigned lane) const;
  [[nodiscard]] RowSlot slot_of_pair(bool wide, unsigned pair) const;
  void load_overlapping(InstId i, const Access& a, i64 stride, std::span<VReg> out);
  void store_spaced(InstId i, const Access& a, const Spacing& s);
  void store_elements(InstId i, const Access& a, const Spacing& s);
  VReg mask_of(const Access& a, unsigned p = 0);
  VReg masked_load(VReg mask, const Operand& at, View view = View::Full);
  void masked_store(VReg mask, const Operand& at, VReg data, bool all_exist = false);
  VReg first_index(const Access& a);   ///< 32 bits of lane 0's in the gang
  VReg first_address(const Access& a); ///< of lane 0 in the gang, without disp
  [[nodiscard]] bool may_be_few(ValueId mask, unsigned depth = 0) const;
  bool may_be_none(InstId i, const Access& a);
  template <class F>
  void take_few(const Access& a, BlockId join, std::span<VReg> out, F perform);
  void take_none(const Access& a, BlockId join, std::span<const VReg> out);
  /// Lanes of the wave have closed ranks (phases/close_ranks.cpp).
  [[nodiscard]] bool in_ranks() const {
    return plan_.phases[phase_].first_gangs != 0 || plan_.phases[phase_].in_ranks;
  }
  template <class F>
  void by_halves(InstId i, const Access& a, BlockId join, std::span<VReg> out, F perform);
  VReg load_from(const Access& a, u32 id, View view, const Operand& at);
  VReg address_of_first(const Access& a, VReg lane);
  VReg qword_of(const Regs& qwords, VReg lane);
  VReg element_of_first(VReg v, VReg mask, VReg lane);
  VReg branch_if_spread(Access& a, unsigned stride, BlockId spread);
  void branch_if_strided(const Access& a, unsigned stride, bool all_lanes, BlockId yes, BlockId no);
  void branch_if_at(const Access& a, bool all_lanes, const Regs& expected, BlockId yes, BlockId no);
  CondCode test_places(const Access& a, bool all_lanes, const Regs& expected);
  VReg load_scalar_from(const ir::MemAttr& attr, const Access& a);
  void load_scalar(InstId i);
  [[nodiscard]] static bool in_qwords(const Access& a, u32 bytes);
  void load_uniform(InstId i, const Access& a, std::span<VReg> out);
  /// Does the access without a mask if that is full, as most are.
  template <class F>
  void if_full(const Access& a, std::span<VReg> out, F access) {
    CondCode partial{};
    test_all(a.mask, partial);
    Access whole = a;
    whole.full = true;
    hot_or_cold(
        partial, out, [&] { access(whole); }, [&] { access(a); });
  }
  [[nodiscard]] static bool may_be_beyond_caches(const ir::MemAttr& mem);
  void load_contiguous(InstId i, const Access& a, std::span<VReg> out);
  void load_uniform_qwords(const Access& a, std::span<VReg> out);
  /// Does without `read` if no lane takes part.
  template <class F>
  void read_if_any(const Access& a, std::span<VReg> out, F read, RegClass c = RegClass::Vec) {
    const BlockId some = b_->add_block(), join = b_->add_block();
    std::array<VReg, 4> params{}, none{};
    for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, c);
    for (unsigned d = 0; d < out.size(); ++d) none[d] = c == RegClass::Vec ? b_->splat32(0) : b_->const32(0);
    test_mask(a.mask);
    b_->branch(CondCode::kZero, join, {none.data(), out.size()}, some, {});
    b_->at(some);
    read();
    b_->jump(join, out);
    b_->at(join);
    std::copy_n(params.begin(), out.size(), out.begin());
  }
  Regs load_qwords(const Access& a, VReg address, i64 disp);
  void set_qwords(InstId i, Regs qwords, std::span<VReg> out);
  VReg load_dwords(const Access& a, VReg address, i64 disp);
  [[nodiscard]] View view_of(const Access& a, u32 bytes) const;
  VReg load_row(const Operand& at, View view);
  void load_scattered(InstId i, const Access& a, std::span<VReg> out);
  void store_contiguous(InstId i, const Access& a, std::span<const VReg> data);
  void store_streaming(InstId i, const Access& a, VReg address, std::span<const VReg> data);
  void store_at(InstId i, const Access& a, VReg address, std::span<const VReg> data);
  void store_row(const Operand& at, VReg value);
  void order_streams();
  void spill_data(bool wide, std::span<const VReg> data);
  void store_lane(const Access& a, u32 bytes, bool wide, VReg lane, VReg address, VReg fault_lane);
  void store_element(const Access& a, u32 bytes, unsigned n, VReg address, VReg value, const Operand& lane);
  void store_uniform(InstId i, const Access& a, std::span<const VReg> data);
  void store_scattered(InstId i, const Access& a, std::span<const VReg> data);
  void store_lanes(InstId i, const Access& a, std::span<const VReg> data);
  void scatter(const Access& a, u32 bytes, std::span<const VReg> data);
  VReg gather_dwords(const Access& a, unsigned d);
  Regs gather_qwords(const Access& a, unsigned d);
  void spill_addresses(const Access& a);
  // From what spill_addresses() wrote:
  VReg lane_address(const Access& a, VReg lane);
  VReg lane_address(const Access& a, unsigned lane);
  VReg address_at(const Access& a, const Operand& part);
  /// Runs `body(lane)` for each set lane in ascending order; the lane is in a Gpr, counted within the gang.
  template <class F>
  void for_each_lane(VReg mask, F body);
  Operand temp(u32 offset, View view) const { return mem(kFrame, runtime::kFrameSlots + offset, view); }
  Operand temp_lane(u32 offset, VReg lane, unsigned log2, View view) const {
    return mem_index(kFrame, lane, log2, runtime::kFrameSlots + offset, view);
  }

  // ---- shorthands
  [[nodiscard]] bool avx512() const { return module_.avx512; }
  [[nodiscard]] unsigned lanes() const { return module_.vec_bytes() / 4; }
  [[nodiscard]] unsigned gangs() const { return kWaveSize / lanes(); }
  /// The other gangs never have lanes, and do not run.
  [[nodiscard]] bool one_gang() const { return plan_.lanes == lanes(); }
  [[nodiscard]] Type type(ValueId v) const { return f_.type(v); }
  [[nodiscard]] unsigned parts(Type t) const { return t == Type::V64 ? 2 : 1; }
  [[nodiscard]] u64 pc_of(InstId i) const { return options_.code_base + f_[i].pc; }
  void unsupported(InstId i, const char* why);

  VReg vxor(VReg a, VReg b);
  VReg vand(VReg a, VReg b);
  VReg vor(VReg a, VReg b);
  VReg vandn(VReg not_a, VReg b); ///< ~not_a & b
  VReg vnot(VReg a);
  VReg splat_const(bool wide, u64 value) {
    return wide ? b_->splat64(value) : b_->splat32(static_cast<u32>(value));
  }
  VReg shl_imm(VReg a, unsigned n, bool wide = false);
  VReg shr_imm(VReg a, unsigned n, bool wide = false);
  VReg sar_imm32(VReg a, unsigned n);
  VReg sign64(VReg a); ///< all ones where negative
  template <class T>
  VReg table(const T* values); ///< one full vector of constants

  const ir::Function& f_;
  const phases::Plan& plan_;
  const FrameLayout& frame_;
  const SelectOptions& options_;
  Module& module_;
  std::vector<PartId> part_of_; ///< per phase
  std::vector<u32> use_counts_;
  NextRows next_rows_;
  LookUps look_ups_;
  FloatKinds kinds_;
  std::optional<SameInLanes> same_in_lanes_; ///< when wanted
  bool one_for_all_ = false;           ///< a division or root of what is the same in all lanes is selected
  std::vector<Components> components_; ///< of the current block
  std::vector<Line> lines_;            ///< of the current block
  std::vector<bool> fused_;            ///< per instruction: its only user emits it
  std::vector<bool> alike_;            ///< per instruction: an access of elements whose components are alike
  std::vector<u32> position_;          ///< per instruction that find_fused() has seen: its place in its block
  /// Per value: which of the gangs side by side need their own, each so-manieth. More than 1 for scalars of
  /// which only addresses of rows are made that go on through several gangs.
  std::vector<u8> needed_by_each_;
  std::vector<ValueId> needed_by_some_; ///< where that may be more
  std::string error_;

  // Per value, of the phase in which `phase` says so.
  struct Location {
    Regs regs;
    u32 phase = ~0u;
    bool preamble = false; ///< defined at wave level
  };
  std::unordered_map<u32, SlotPart> loaded_from_;          ///< per register that the allocator may load again
  std::vector<Location> shared_;                           ///< what is the same for all members
  std::array<std::vector<Location>, kMaxMembers> members_; ///< what each has for itself

  // Of the current phase.
  u32 phase_ = 0;
  Builder* b_ = nullptr;
  BlockId preamble_, head_;
  std::vector<BlockId> blocks_;               ///< per IR block
  std::optional<passes::ValueLimits> limits_; ///< once asked for
  const passes::ValueLimits& limits() { return limits_ ? *limits_ : limits_.emplace(f_); }
  std::optional<passes::IdValues> ids_;                      ///< likewise
  std::optional<PackedValues> packed_;                       ///< of the phase, if there may be any
  std::map<std::pair<ValueId, unsigned>, Regs> packed_regs_; ///< by value and bits
  std::vector<std::pair<ValueId, unsigned>> packed_here_; ///< those made in the current block for its users
  std::map<u32, VReg> pointers_;                          ///< that the wave starts with, by SGPR
  std::vector<bool> rare_;                                ///< per block: only reached by ways that are
  struct Structure {
    explicit Structure(const ir::Function& f) : cfg(f), dom(f, cfg), post(f, cfg), loops(f, cfg, dom) {}
    ir::Cfg cfg;
    ir::Dominators dom;
    ir::PostDominators post;
    ir::Loops loops;
  };
  std::optional<Structure> structure_; ///< of the function, once asked for
  const Structure& structure() { return structure_ ? *structure_ : structure_.emplace(f_); }
  /// Within its function.
  bool is_in_loop(IrBlockId b) { return structure().loops.innermost[b.index] >= 0; }
  bool emitting_preamble_ = false;
  bool divider_bound_ = false; ///< of the current block
  bool for_all_ = false;       ///< what is selected now is for all members
  unsigned interleave_ = 1, member_ = 0;
  std::map<unsigned, CommonValues> common_of_; ///< by how many gangs are side by side
  CommonValues* common_ = nullptr;             ///< of this phase's, if they are
  WorkgroupSteps along_x_;
  bool per_lane_ = true;
  bool body_accesses_ = false, body_stores_ = false; ///< what of the entry block stays in the body, so far
  VReg gang_index_;
  u32 num_streams_ = 0;                           ///< streaming stores of the function
  bool streaming_ = false;                        ///< one is being emitted
  std::array<VReg, 2> lds_bases_{};               ///< LDS, GDS
  VReg deferred_adds_;                            ///< WaveFrame::deferred_adds
  std::map<ValueId, VReg> reciprocals_;           ///< of what all gangs divide by
  std::array<std::map<u32, VReg>, 2> lds_limits_; ///< for lanes' accesses of so many bytes
  VReg gang_scratch_;
  std::set<ValueId> turns_;                                  ///< masks (find_turns())
  std::map<std::pair<unsigned, ValueId>, VReg> turn_places_; ///< by member, too
  std::map<u32, VReg> scratch_rooms_, scratch_limits_;       ///< for accesses of so many bytes; for lanes'
  std::unordered_map<u32, VReg> lds_addresses_;              ///< of the current block, by offset
  BlockId halves_in_;                                        ///< the block in which these were computed:
  std::map<std::pair<u32, bool>, VReg> singles_of_halves_;   ///< with and without flushing
  std::unordered_map<u32, VReg> packed_halves_;              ///< as they were rounded
  BlockId access_block_;                                     ///< in which the current access begins
  /// Of the current block, by base, index and its scale, and lanes of a row.
  std::map<std::array<u32, 4>, ShortRows> short_rows_;
  u32 mxcsr_ = 0x1f80; ///< what MXCSR holds at the end of the current block; module_.mxcsr between blocks
};

} // namespace lanewise::x86
