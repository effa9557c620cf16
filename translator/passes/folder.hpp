// Folding: one walk over the blocks in reverse postorder. Each instruction is either replaced by a value that
// exists already (simplify() returns it), or by other instructions that are emitted in its place and folded
// in turn, or kept.
//
// The rules are grouped, by file; each states its pattern. They must hold for every lane, active or not, and
// for every bit of NaNs.
#pragma once

#include "translator/ir/cfg.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/value_limits.hpp"

#include <array>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

class Folder {
public:
  explicit Folder(ir::Function& f) : f_(f), map_(f.num_values()), limits_(f), looked_at_(f.num_values()) {}

  void run() {
    const ir::Cfg cfg(f_);
    find_looked_at(cfg);
    for (const ir::BlockId b : cfg.rpo) {
      block_ = b;
      out_.clear();
      if (!joined_.empty()) joined_.clear(), halves_.clear();
      for (const ir::InstId i : f_[b].insts) visit(i);
      f_[b].insts.assign(out_.begin(), out_.end());
    }
    f_.replace_arguments(map_); // what is used is defined, and so has been visited, before its user
  }

private:
  static constexpr std::size_t kMaxOperands = 8; ///< of an op that is looked at
  static constexpr unsigned kMaxPairDepth = 6;   ///< of logic and sums of halves,
  static constexpr unsigned kMaxPairSteps = 48;  ///< and how many pairs are looked at for one
  static constexpr unsigned kMaxHalfDepth = 3;   ///< of sums whose low halves are looked for
  ir::Function& f_;
  std::vector<ir::ValueId> map_; ///< per value, also of those made since
  const ValueLimits limits_;     ///< what a value can be does not change when it is written differently
  std::vector<u8> looked_at_;    ///< per value: by more than Lo
  std::vector<u8> sign_bits_;    ///< per value that has been asked for, else 0
  std::unordered_map<u64, ir::ValueId> joined_;                ///< in this block, by pair_key()
  std::unordered_map<u32, std::array<ir::ValueId, 2>> halves_; ///< what joined_ has, by the whole
  mutable unsigned pair_steps_ = 0;                            ///< left for the current question, is_pair()
  std::vector<ir::InstId> out_;
  ir::BlockId block_;
  u32 pc_ = 0;

  /// Which values are looked at by more than Lo, if only through ops whose low halves need no more.
  void find_looked_at(const ir::Cfg& cfg);

  ir::ValueId resolve(ir::ValueId v) const {
    while (map_[v.index].valid()) v = map_[v.index];
    return v;
  }

  void visit(ir::InstId i);
  /// What is stored side by side and can be one value becomes the halves of it.
  void join_stored(ir::InstId i);
  void keep(ir::InstId i) {
    f_[i].block = block_;
    out_.push_back(i);
  }

  /// The value of an op on `x`, folded as far as possible; emitted here if nothing simpler has it.
  ir::ValueId emit(ir::Op op, ir::Type type, std::initializer_list<ir::ValueId> x, u64 imm = 0);
  ir::ValueId emit(ir::Inst proto, ir::Type type, std::initializer_list<ir::ValueId> x);
  ir::ValueId constant(ir::Type t, u64 bits) {
    return emit(ir::Op::Const, t, {}, bits & ir::constant_bits(t));
  }
  ir::ValueId all_ones(ir::Type t) { return constant(t, ir::constant_bits(t)); }
  ir::Type type(ir::ValueId v) const { return f_.type(v); }
  bool is_const(ir::ValueId v, u64* bits = nullptr) const { return f_.is_const(v, bits); }
  bool is_zero(ir::ValueId v) const {
    u64 bits = 1;
    return is_const(v, &bits) && bits == 0;
  }
  bool is_ones(ir::ValueId v) const {
    u64 bits = 0;
    return is_const(v, &bits) && bits == ir::constant_bits(type(v));
  }
  /// An instruction or none. Unlike a pointer it outlives emit(), which may move all instructions.
  class Match {
  public:
    Match() = default;
    Match(const ir::Function& f, ir::InstId i) : f_(&f), i_(i) {}
    const ir::Inst* operator->() const { return &(*f_)[i_]; }
    [[nodiscard]] ir::InstId id() const { return i_; }
    explicit operator bool() const { return i_.valid(); }
    friend bool operator==(const Match& m, std::nullptr_t) { return !m.i_.valid(); }

  private:
    const ir::Function* f_ = nullptr;
    ir::InstId i_;
  };
  Match definition(ir::ValueId v) const { return {f_, f_.def_id(v)}; }
  /// The defining instruction if it is an `op`.
  /// A splat is one of a scalar of the wave: those of a gang's own are left as they are.
  Match match(ir::ValueId v, ir::Op op) const {
    const Match inst = definition(v);
    const bool matches = inst != nullptr && inst->op == op;
    return matches && !(op == ir::Op::Splat && ir::is_gang(type(operand(inst, 0)))) ? inst : Match{};
  }
  ir::ValueId operand(const Match& inst, unsigned n) const { return resolve(f_.operands(inst.id())[n]); }

  ir::ValueId simplify(const ir::Inst& inst, ir::Type t, std::span<const ir::ValueId> x);

  /// What is made of the bases of the apertures by shifts and masks.
  [[nodiscard]] std::optional<u64> of_mem_bases(ir::ValueId v, unsigned depth = 4) const;

  /// The upper part of an aperture's address is a constant, though what it is made of is none.
  ir::ValueId fold_aperture(ir::Op op, ir::Type t, ir::ValueId x, ir::ValueId y);

  // --- constants, and what is the same in all lanes (fold.cpp)

  bool is_const_or_splat(ir::ValueId v) const;

  ir::ValueId fold_constants(const ir::Inst& inst, ir::Type t, std::span<const ir::ValueId> x);

  static bool has_uniform_form(ir::Op op, ir::Type t = ir::Type::V32);

  /// simplify() has something to say of it besides what it is of constants.
  static bool has_rule(ir::Op op);

  /// op(splat a, splat b) -> splat(op(a, b)): the same in every lane, so done once per wave.
  ir::ValueId sink_splats(const ir::Inst& inst, ir::Type t, std::span<const ir::ValueId> x);

  /// What a vector holds in all lanes, or nothing.
  ir::ValueId as_uniform(ir::ValueId v);

  ir::ValueId const_as_uniform(ir::ValueId v);

  // --- halves and pairs (fold_pairs.cpp)

  ir::ValueId fold_join(ir::Type t, ir::ValueId lo, ir::ValueId hi);
  /// Logic of one half with a constant, where 64-bit logic leaves the other half as it is.
  struct HalfLogic {
    ir::Op op{};
    ir::ValueId lo, hi; ///< what is left of the pair without it
    u64 bits = 0;       ///< the constant of 64 bits
  };
  HalfLogic logic_of_half(ir::ValueId lo, ir::ValueId hi, ir::Op op, bool high) const;
  /// Calls found(logic) for such, until that says true; whether it has.
  template <class F>
  bool any_logic_of_half(ir::ValueId lo, ir::ValueId hi, F found) const {
    for (const ir::Op op : {ir::Op::Or, ir::Op::And, ir::Op::Xor})
      for (const bool high : {false, true})
        if (const HalfLogic l = logic_of_half(lo, hi, op, high); l.lo.valid() && found(l)) return true;
    return false;
  }
  /// join(lo(x) | bits, hi(x)) -> x | bits, and the same of & and ^ and of the other half
  ir::ValueId join_logic(ir::Type t, ir::ValueId lo, ir::ValueId hi);

  static bool is_bitwise(ir::Op op);
  static u64 pair_key(ir::ValueId lo, ir::ValueId hi) { return u64{hi.index} << 32 | lo.index; }

  /// To join the values takes no shuffles: they are joined already in this block, or halves of one value,
  /// constants, dwords of one load, or come by the same logic from such.
  bool is_pair(ir::ValueId lo, ir::ValueId hi, unsigned depth = 0) const;
  /// lo = funnel_shr(b, a, n) and hi = funnel_shr(a, b, n): join(a, b) rotated to the right by n, and join(b,
  /// a) by 32 more. The pair of which one takes no shuffles.
  struct Rotated {
    ir::ValueId low, high;
    u64 right = 0;
  };
  Rotated rotated_halves(ir::ValueId lo, ir::ValueId hi, unsigned depth) const;
  /// join(funnel_shr(b, a, n), funnel_shr(a, b, n)) -> x >> n | x << (64 - n) with x = join(a, b)
  ir::ValueId join_rotated(ir::Type t, ir::ValueId lo, ir::ValueId hi);
  /// x >> n | x << (64 - n)
  ir::ValueId rotated(ir::Type t, ir::ValueId x, u64 right);
  /// With s = x >> n: lo = lo(s) and hi = hi(s) | lo(x) << (32 - n), those of x rotated, and its mirror.
  Rotation turned_halves(ir::ValueId lo, ir::ValueId hi) const;
  /// `v` is a half of x, the lower or the upper one.
  bool is_half(ir::ValueId v, ir::ValueId x, bool low) const;
  /// One half is logic of `rest` and of the other half, shifted by what a 64-bit shift moves it besides 32.
  struct Shifted {
    ir::ValueId rest;
    ir::Op op{};
    u64 amount = 0;
    bool in_low = false;
  };
  Shifted shifted_half(ir::ValueId lo, ir::ValueId hi) const;
  /// join(a ^ (b >> n), b) -> x ^ (x >> (32 + n)) with x = join(a, b), and likewise to the left: what hashes
  /// do
  ir::ValueId join_shifted(ir::Type t, ir::ValueId lo, ir::ValueId hi);
  bool is_repeated(ir::ValueId v) const { return match(v, ir::Op::Splat) != nullptr || is_const(v); }

  /// Both are the same logic, of operands that are pairs; true if the second's two are the other way round.
  std::optional<bool> logic_of_pairs(ir::ValueId lo, ir::ValueId hi, unsigned depth = 0) const;
  /// join(a ^ b, c ^ d) -> join(a, c) ^ join(b, d), where these take no shuffles; any logic
  ir::ValueId join_bitwise(ir::Type t, ir::ValueId lo, ir::ValueId hi);
  /// join(lo, hi) would be an existing wide value.
  bool joins(ir::ValueId lo, ir::ValueId hi) const;

  /// join(a * b, umulhi(a, b)) -> umul_wide(a, b), and likewise signed
  ir::ValueId join_product(ir::Type t, ir::ValueId lo, ir::ValueId hi);

  /// lo = lo(whole) and hi = hi(whole) + raise[0] + raise[1], the same in all lanes: of an index some of
  /// whose parts are scalars. The pair is whole + (raise << 32).
  struct RaisedPair {
    ir::ValueId whole;
    std::array<ir::ValueId, 2> raise;
  };
  RaisedPair raised_pair(ir::ValueId lo, ir::ValueId hi) const;
  ir::ValueId join_raised(ir::Type t, ir::ValueId lo, ir::ValueId hi);

  /// join(~a, c) -> ~join(a, ~c): -1 - a
  ir::ValueId join_inverted(ir::Type t, ir::ValueId lo, ir::ValueId hi);

  /// join(a + b, c + d + carry(a + b)) -> join(a, c) + join(b, d), and the same with borrow: what add/addc
  /// chains compute.
  ir::ValueId join_add(ir::Type t, ir::ValueId lo, ir::ValueId hi);
  /// The pair is join(a, c) op join(b, d); without d, b has no upper half.
  struct PairSum {
    ir::Op op{};
    ir::ValueId a, b, c, d;
  };
  PairSum pair_sum(ir::ValueId lo, ir::ValueId hi) const;
  /// Such a sum of pairs that take no shuffles.
  bool is_sum_of_pairs(ir::ValueId lo, ir::ValueId hi, unsigned depth) const;
  /// hi = rest op select(carry, 1, 0), or for uniform values rest op zext(carry).
  bool split_carry(ir::ValueId hi, ir::Op op, ir::ValueId& rest, ir::ValueId& carry) const;
  /// high = rest + the carry of low = a + b
  bool has_carry_of(ir::ValueId high, ir::ValueId low, ir::ValueId* rest = nullptr) const;
  bool is_borrow_of(const Match& compare, ir::ValueId a, ir::ValueId b) const;

  ir::ValueId fold_half(ir::Op op, ir::Type t, ir::ValueId x);
  /// Of a shift by 32 or more one half is nothing, and the other one comes from one half. What a shift to the
  /// right by less leaves in the low half is 32 bits of both.
  ir::ValueId half_of_shift(ir::Op op, ir::Type t, ir::ValueId x);
  Match wide_product(ir::ValueId v) const;
  /// Of 32-bit values, the one as it is or a power of two, by which the other is shifted.
  bool is_product_of_halves(ir::ValueId v) const;
  /// A product and the upper half of another one, as in a product of 64 bits.
  bool is_product_with_carry(ir::ValueId v) const;
  bool is_low_only(ir::ValueId v) const { return v.index < looked_at_.size() && !looked_at_[v.index]; }
  /// The low half of `v`, an operand of `of`, is there or costs next to nothing. Of what is looked at as a
  /// whole, too, halves must not go ways of their own: it would be hard to see that they belong together.
  bool is_cheap_half(ir::ValueId of, ir::ValueId v, unsigned depth = 0) const;
  /// Of the two operands of `v`'s definition `a`. What is handed on is taken a half of before instead of
  /// after if one will do: then it need not be a whole (arrays in registers that v_mad_u64_u32 has read as
  /// pairs).
  bool are_cheap_halves(ir::ValueId v, const Match& a) const;

  // --- masks and scalars (fold.cpp)

  ir::ValueId fold_to_mask(ir::Op op, ir::Type t, ir::ValueId x);
  bool is_mask_like(ir::ValueId v) const { return match(v, ir::Op::MaskToU64) != nullptr || is_const(v); }
  ir::ValueId fold_mask_to_u64(ir::ValueId m);
  ir::ValueId fold_any(ir::ValueId m);

  // --- sums, products (fold_arithmetic.cpp)

  ir::ValueId fold_add(ir::Op op, ir::Type t, ir::ValueId a, ir::ValueId b);
  /// umin(x, c) + (umax(x, c) - c) -> x: the lane's number, which kernels count in halves of 32.
  ir::ValueId sum_of_extremes(ir::ValueId a, ir::ValueId b) const;
  /// join(x, high) + c -> zext(x) + (c + (high << 32)): an offset from a pointer that is known, as of a table
  /// in the code object; carry chains give the pointer's upper half to whatever is added to its lower one.
  ir::ValueId add_to_known_high(ir::Type t, ir::ValueId a, u64 c);
  /// (x + splat(p)) + splat(q) -> x + splat(p + q), in vectors: a gang's splats stay apart (sink_splats()),
  /// and with three of them this would go on forever.
  ir::ValueId add_splats(ir::Type t, ir::ValueId a, ir::ValueId b);
  /// join(x, high) + join(low, y) -> join(low, high) + join(x, y), if low and high are halves of one value or
  /// the same in all lanes: a chain of additions may have come apart that way.
  ir::ValueId add_crossed(ir::Type t, ir::ValueId a, ir::ValueId b);
  /// The halves of a pair, of an extended value the lower alone.
  bool split(ir::ValueId v, ir::ValueId& low, ir::ValueId& high) const;
  /// join(x, splat(high)) + splat(zext(low)) -> zext(x) + splat(join(low, high)): an offset from a scalar
  /// pointer.
  ir::ValueId add_splat_to_high(ir::Type t, ir::ValueId a, ir::ValueId b);
  /// hi(x * q + r) + lo(x) * q_high -> hi(x * join(q, q_high) + r), where q has 32 bits and x has 32 or 64,
  /// and the same with two such terms: the upper half of a 64-bit product.
  ir::ValueId high_half_of_product(ir::ValueId a, ir::ValueId b);
  /// A factor of a product of 64 bits: as it is if `wide`, else what is zero-extended; if no value, a power
  /// of two, by which something is shifted.
  struct Factor {
    ir::ValueId v;
    bool wide = false;
    u64 power = 0;
  };
  struct Product {
    std::array<Factor, 2> factors;
    ir::ValueId rest; ///< what is added, if anything
  };
  /// What `v` is the upper half of.
  std::optional<Product> upper_half(ir::ValueId v) const;
  std::optional<Product> product_of(ir::ValueId v, ir::ValueId rest) const;
  Factor factor(ir::ValueId v) const;
  /// What has 32 bits, as such; nothing if it has more.
  ir::ValueId without_upper_half(const Factor& q);
  ir::ValueId add_cross_term(ir::ValueId upper, ir::ValueId term);
  bool is_shift_by(const Factor& power, ir::ValueId amount) const;
  ir::ValueId other_factor(const Match& product, ir::ValueId v) const;
  /// Or parameters, which join_pairs() joins.
  bool is_cheap_pair(ir::ValueId lo, ir::ValueId hi) const;
  /// Of what values of `t` are shifted by.
  static ir::Type amount_type(ir::Type t) { return is_scalar(t) ? ir::Type::U32 : ir::Type::V32; }

  ir::ValueId fold_mul(ir::Type t, ir::ValueId a, ir::ValueId b);

  /// 32 x 32 -> 64 bits, or their upper half, by powers of two: an index in units of something.
  ir::ValueId fold_wide_mul(ir::Op op, ir::Type t, ir::ValueId a, ir::ValueId b);

  ir::ValueId fold_divide(ir::Type t, ir::ValueId a, ir::ValueId b);

  // --- logic, shifts, comparisons (fold_logic.cpp)

  /// Two comparisons of the same scalars are one.
  ir::ValueId fold_comparisons(ir::Op op, ir::Type t, ir::ValueId a, ir::ValueId b);

  ir::ValueId fold_logic(ir::Op op, ir::Type t, ir::ValueId a, ir::ValueId b);

  /// Comparison `v` of what its operands are in the lanes of `mask`, if that is the same for all of them: a
  /// scalar condition that went through a VGPR. Else nothing.
  ir::ValueId compare_in(ir::ValueId mask, ir::ValueId v);

  /// `v` without what is or-ed to it and has none of the wanted bits: compilers that do not optimise pack
  /// work-item ids into one register to hand them to functions.
  ir::ValueId part_with(ir::ValueId v, u64 wanted) const;

  /// x, if `v` is x >> m << m with m up to `n`: x but for some of the lowest n bits, as upper halves are
  /// made.
  ir::ValueId without_low_bits(ir::ValueId v, u64 n, unsigned width) const;

  /// `a` & `kept`, which is the constant `mask`, of the part of a packed value that has those bits.
  ir::ValueId field_of_part(ir::Type t, ir::ValueId a, ir::ValueId mask, u64 kept);

  ir::ValueId fold_not(ir::Type t, ir::ValueId a);

  /// How many of the highest bits of `v` are known to be equal: 1 of any value.
  unsigned sign_bits(ir::ValueId v, unsigned depth = 0);
  unsigned sign_bits_of(const Match& def, unsigned width, unsigned depth);

  /// select(c, x, y) << n with constants x, y is a choice of what is there then, of 32 bits if that is
  /// enough: bits of an index into a table, each from a comparison (cubes of a surface 2.5, with AVX2 1.5
  /// times faster).
  ir::ValueId move_choice(ir::Type t, ir::ValueId v, u64 n);

  ir::ValueId fold_shift(ir::Op op, ir::Type t, ir::ValueId a, ir::ValueId amount);

  ir::ValueId fold_icmp(ir::IntPred p, ir::Type t, ir::ValueId a, ir::ValueId b);

  /// v == splat(readfirst(v)), where v is the same in all lanes: compilers ask that of each index of a
  /// register that is in a vector, go round for those that have it, and ask again.
  bool is_first_of(ir::ValueId first, ir::ValueId v) const;
  bool is_same_in_all_lanes(ir::ValueId v, unsigned depth) const;

  /// compare(select(c, x, y), z) with constants x, y, z is c, not c or a constant: a scalar condition that
  /// went through a VGPR.
  ir::ValueId compare_choice(ir::IntPred p, ir::Type t, ir::ValueId a, ir::ValueId b);

  /// select(c, x, none) != none is c && x != none, as of an index that is -1 where there is none: that says
  /// that what is done then is done in lanes of c only. Not of zero, which EXEC's selects have for registers
  /// that nothing was written to: they go by themselves.
  ir::ValueId ask_for_missing(ir::IntPred p, ir::Type t, ir::ValueId a, ir::ValueId b);

  // --- floats (fold_arithmetic.cpp)

  /// x * 2^n, which is rounded once as well, where 2^n is a normal number
  ir::ValueId fold_ldexp(const ir::FpAttr& fp, ir::Type t, ir::ValueId x, ir::ValueId amount);
  /// x * select(c, a, 1) -> select(c, x * a, x), where that leaves x as it is: a multiplication by some
  /// lanes.
  ir::ValueId fold_fmul(const ir::FpAttr& fp, ir::Type t, ir::ValueId first, ir::ValueId second);
  bool is_one(const ir::FpAttr& fp, ir::ValueId v) const;
  /// Whether `v` comes from arithmetic with these attributes: then it is quiet, and flushed if they flush.
  bool is_result_of(const ir::FpAttr& fp, ir::ValueId v) const;

  // --- selects, minima and maxima (fold_choices.cpp)

  ir::ValueId fold_select(ir::Type t, ir::ValueId c, ir::ValueId a, ir::ValueId b);
  /// select(c, x + y, x + z) -> x + select(c, y, z), where y and z are the same in all lanes, and so is c: an
  /// index into one of two arrays. What differs from lane to lane is seen again.
  ir::ValueId select_addend(ir::Type t, ir::ValueId c, ir::ValueId a, ir::ValueId b);
  /// select(c, y + k, y), y = select(d, x + k, x) -> select(c | d, x + k, x) for comparisons of scalars that
  /// exclude each other: where the next of two sorted lists is chosen, one of them goes on, or both, and the
  /// next loads wait for the choice.
  ir::ValueId select_either(ir::Type t, ir::ValueId c, ir::ValueId a, ir::ValueId b);
  ir::ValueId fold_bitselect(ir::Type t, ir::ValueId c, ir::ValueId a, ir::ValueId b);

  /// min(x == 0 ? ~0 : clz(x), 32) -> clz(x), and ctz: what counts zeros on the GPU has -1 for none.
  ir::ValueId fold_umin(ir::Type t, ir::ValueId a, ir::ValueId b);

  /// max(a, min(x, c)) -> a for a constant c that is no more than a, and its mirror: a median between
  /// constants limits, and then takes nothing else.
  ir::ValueId fold_extreme(ir::Op op, ir::ValueId a, ir::ValueId b) const;
  static ir::Op opposite(ir::Op op);
  /// op(v, c) is known to be v.
  bool reaches(ir::Op op, ir::ValueId v, u64 c, unsigned depth) const;

  // --- lanes, branches (fold.cpp)

  /// readlane(writelane(old, x, k), j), how compilers spill scalars: k == j -> x; both known and different ->
  /// readlane(old, j).
  ir::ValueId fold_readlane(ir::ValueId v, ir::ValueId lane);

  /// The first lane of m, or lane 0: of select(m, x, y), x if m has a lane, else y.
  ir::ValueId fold_readfirst(ir::ValueId v, ir::ValueId m);

  /// Where all lanes pull from one: what that lane has, once for all.
  ir::ValueId fold_bpermute(ir::ValueId address, ir::ValueId v, ir::ValueId m);

  /// `asked` is its condition as it was. What gangs may decide is whether they have lanes of that mask, not
  /// whether the wave has some of another one.
  void fold_branch(ir::InstId i, ir::ValueId asked);
};

} // namespace lanewise::passes
