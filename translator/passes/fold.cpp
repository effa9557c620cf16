// Folding: one walk over the blocks in reverse postorder. Each instruction is either replaced by a value that
// exists already (simplify() returns it), or by other instructions that are emitted in its place and folded
// in turn, or kept.
//
// The rules are grouped; each states its pattern. They must hold for every lane, active or not, and for every
// bit of NaNs.
#include "runtime/wave.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/ir/evaluate.hpp"
#include "translator/ir/wide_access.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

class Folder {
public:
  explicit Folder(Function& f) : f_(f), map_(f.num_values()), limits_(f), looked_at_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    find_looked_at(cfg);
    for (const BlockId b : cfg.rpo) {
      block_ = b;
      out_.clear();
      if (!joined_.empty()) joined_.clear(), halves_.clear();
      for (const InstId i : f_[b].insts) visit(i);
      f_[b].insts.assign(out_.begin(), out_.end());
    }
    f_.replace_arguments(map_); // what is used is defined, and so has been visited, before its user
  }

private:
  static constexpr std::size_t kMaxOperands = 8; ///< of an op that is looked at
  static constexpr unsigned kMaxPairDepth = 6;   ///< of logic and sums of halves,
  static constexpr unsigned kMaxPairSteps = 48;  ///< and how many pairs are looked at for one
  static constexpr unsigned kMaxHalfDepth = 3;   ///< of sums whose low halves are looked for
  Function& f_;
  std::vector<ValueId> map_;  ///< per value, also of those made since
  const ValueLimits limits_;  ///< what a value can be does not change when it is written differently
  std::vector<u8> looked_at_; ///< per value: by more than Lo
  std::vector<u8> sign_bits_; ///< per value that has been asked for, else 0
  std::unordered_map<u64, ValueId> joined_;                ///< in this block, by pair_key()
  std::unordered_map<u32, std::array<ValueId, 2>> halves_; ///< what joined_ has, by the whole
  mutable unsigned pair_steps_ = 0;                        ///< left for the current question, is_pair()
  std::vector<InstId> out_;
  BlockId block_;
  u32 pc_ = 0;

  /// Which values are looked at by more than Lo, if only through ops whose low halves need no more.
  void find_looked_at(const Cfg& cfg) {
    for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
      for (const Successor& s : f_[*b].successors)
        for (const ValueId v : s.args) looked_at_[v.index] = 1;
      const auto& insts = f_[*b].insts;
      for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
        const Op op = f_[*i].op;
        const bool by_low = op == Op::Lo || ((is_bitwise_from_below(op) || op == Op::Select) &&
                                             !looked_at_[f_.result(*i).index]);
        if (!by_low)
          for (const ValueId v : f_.operands(*i)) looked_at_[v.index] = 1;
      }
    }
  }

  ValueId resolve(ValueId v) const {
    while (map_[v.index].valid()) v = map_[v.index];
    return v;
  }

  void visit(InstId i) {
    const auto operands = f_.operands(i);
    if (operands.empty()) return keep(i);
    const ValueId first = operands[0];
    for (ValueId& v : operands) v = resolve(v);
    const Op op = f_[i].op;
    pc_ = f_[i].pc;
    if (op == Op::Branch) return fold_branch(i, first);
    if (op == Op::Store && can_be_wide(f_[i])) join_stored(i);
    // Of what has no rule of its own, only constants are looked at.
    if (f_[i].num_results == 1 && info(op).is(kPure) && operands.size() <= kMaxOperands &&
        (has_rule(op) || is_const(operands[0]))) {
      const Inst inst = f_[i];
      std::array<ValueId, kMaxOperands> copy; // simplify() may grow the pool
      for (std::size_t n = 0; n < operands.size(); ++n) copy[n] = operands[n];
      const ValueId v = simplify(inst, f_.type(inst.first_result), {copy.data(), operands.size()});
      if (v.valid()) {
        map_[inst.first_result.index] = v;
        f_[i].block = BlockId{};
        return;
      }
    }
    keep(i);
  }
  /// What is stored side by side and can be one value becomes the halves of it.
  void join_stored(InstId i) {
    const unsigned first = address_operands(f_[i].mem);
    for (unsigned n = first; n + 2 < f_[i].num_operands; n += 2) {
      const ValueId lo = f_.operands(i)[n], hi = f_.operands(i)[n + 1];
      if (type(lo) != Type::V32 || !logic_of_pairs(lo, hi)) continue;
      const ValueId whole = emit(Op::Join, Type::V64, {lo, hi});
      const std::array halves = {emit(Op::Lo, Type::V32, {whole}), emit(Op::Hi, Type::V32, {whole})};
      std::copy_n(halves.begin(), 2, f_.operands(i).begin() + n);
    }
  }
  void keep(InstId i) {
    f_[i].block = block_;
    out_.push_back(i);
  }

  /// The value of an op on `x`, folded as far as possible; emitted here if nothing simpler has it.
  ValueId emit(Op op, Type type, std::initializer_list<ValueId> x, u64 imm = 0) {
    Inst proto;
    proto.op = op;
    proto.imm = imm;
    return emit(proto, type, x);
  }
  ValueId emit(Inst proto, Type type, std::initializer_list<ValueId> x) {
    proto.pc = pc_;
    if (proto.op != Op::Const) {
      if (const ValueId v = simplify(proto, type, {x.begin(), x.size()}); v.valid()) return v;
    }
    const InstId i = f_.make(proto, {x.begin(), x.size()}, {&type, 1});
    map_.resize(f_.num_values());
    keep(i);
    return f_.result(i);
  }
  ValueId constant(Type t, u64 bits) { return emit(Op::Const, t, {}, bits & constant_bits(t)); }
  ValueId all_ones(Type t) { return constant(t, constant_bits(t)); }
  Type type(ValueId v) const { return f_.type(v); }
  bool is_const(ValueId v, u64* bits = nullptr) const { return f_.is_const(v, bits); }
  bool is_zero(ValueId v) const {
    u64 bits = 1;
    return is_const(v, &bits) && bits == 0;
  }
  bool is_ones(ValueId v) const {
    u64 bits = 0;
    return is_const(v, &bits) && bits == constant_bits(type(v));
  }
  /// An instruction or none. Unlike a pointer it outlives emit(), which may move all instructions.
  class Match {
  public:
    Match() = default;
    Match(const Function& f, InstId i) : f_(&f), i_(i) {}
    const Inst* operator->() const { return &(*f_)[i_]; }
    [[nodiscard]] InstId id() const { return i_; }
    explicit operator bool() const { return i_.valid(); }
    friend bool operator==(const Match& m, std::nullptr_t) { return !m.i_.valid(); }

  private:
    const Function* f_ = nullptr;
    InstId i_;
  };
  Match definition(ValueId v) const { return {f_, f_.def_id(v)}; }
  /// The defining instruction if it is an `op`.
  /// A splat is one of a scalar of the wave: those of a gang's own are left as they are.
  Match match(ValueId v, Op op) const {
    const Match inst = definition(v);
    const bool matches = inst != nullptr && inst->op == op;
    return matches && !(op == Op::Splat && is_gang(type(operand(inst, 0)))) ? inst : Match{};
  }
  ValueId operand(const Match& inst, unsigned n) const { return resolve(f_.operands(inst.id())[n]); }

  ValueId simplify(const Inst& inst, Type t, std::span<const ValueId> x) {
    if (!x.empty() && is_const_or_splat(x[0])) {
      if (const ValueId v = fold_constants(inst, t, x); v.valid()) return v;
      if (const ValueId v = sink_splats(inst, t, x); v.valid()) return v;
    }
    switch (inst.op) {
    case Op::Join: {
      const u64 key = pair_key(x[0], x[1]);
      const ValueId v = fold_join(t, x[0], x[1]);
      if (v.valid()) joined_[key] = v, halves_[v.index] = {x[0], x[1]};
      return v;
    }
    case Op::Lo:
    case Op::Hi: return fold_half(inst.op, t, x[0]);
    case Op::Splat:
    case Op::U64ToMask: return fold_to_mask(inst.op, t, x[0]);
    case Op::MaskToU64: return fold_mask_to_u64(x[0]);
    case Op::AnyLane: return fold_any(x[0]);
    case Op::Add:
    case Op::Sub: return fold_add(inst.op, t, x[0], x[1]);
    case Op::Mul: return fold_mul(t, x[0], x[1]);
    case Op::UMulHi:
    case Op::UMulWide:
    case Op::SMulWide: return fold_wide_mul(inst.op, t, x[0], x[1]);
    case Op::UDiv: return fold_divide(t, x[0], x[1]);
    case Op::FMul: return fold_fmul(inst.fp, t, x[0], x[1]);
    case Op::FLdexp: return fold_ldexp(inst.fp, t, x[0], x[1]);
    case Op::And:
      if (const ValueId v = fold_aperture(inst.op, t, x[0], x[1]); v.valid()) return v;
      [[fallthrough]];
    case Op::Or:
    case Op::Xor:
    case Op::AndNot: return fold_logic(inst.op, t, x[0], x[1]);
    case Op::Not: return fold_not(t, x[0]);
    case Op::Shl:
      if (const ValueId v = fold_aperture(inst.op, t, x[0], x[1]); v.valid()) return v;
      [[fallthrough]];
    case Op::LShr:
    case Op::AShr: return fold_shift(inst.op, t, x[0], x[1]);
    case Op::ICmp: return fold_icmp(static_cast<IntPred>(inst.imm), t, x[0], x[1]);
    case Op::Select: return fold_select(t, x[0], x[1], x[2]);
    case Op::UMin:
      if (const ValueId v = fold_umin(t, x[0], x[1]); v.valid()) return v;
      [[fallthrough]];
    case Op::UMax:
    case Op::SMin:
    case Op::SMax: return fold_extreme(inst.op, x[0], x[1]);
    case Op::BitSelect: return fold_bitselect(t, x[0], x[1], x[2]);
    case Op::ReadLane: return fold_readlane(x[0], x[1]);
    case Op::ReadFirst: return fold_readfirst(x[0], x[1]);
    case Op::BPermute: return fold_bpermute(x[0], x[1], x[2]);
    default: return {};
    }
  }

  // --- apertures

  /// What is made of the bases of the apertures by shifts and masks.
  [[nodiscard]] std::optional<u64> of_mem_bases(ValueId v,
                                                unsigned depth = 4) const { // NOLINT(misc-no-recursion)
    const Inst* inst = f_.def(v);
    if (inst == nullptr || depth == 0) return std::nullopt;
    const auto x = f_.operands(f_.def_id(v));
    if (inst->op == Op::FrameField)
      return inst->imm == offsetof(runtime::WaveFrame, mem_bases) ? std::optional<u64>(runtime::kMemBases)
                                                                  : std::nullopt;
    const bool shifts = inst->op == Op::Shl || inst->op == Op::LShr || inst->op == Op::And;
    if (!shifts && inst->op != Op::Lo && inst->op != Op::Splat) return std::nullopt;
    const auto bits = of_mem_bases(resolve(x[0]), depth - 1);
    u64 by = 0;
    if (!bits || !shifts) return bits;
    if (!is_const(x[1], &by)) return std::nullopt;
    return evaluate(inst->op, f_.type(v), f_.type(v), 0, std::array{*bits, by});
  }

  /// The upper part of an aperture's address is a constant, though what it is made of is none.
  ValueId fold_aperture(Op op, Type t, ValueId x, ValueId y) {
    u64 by = 0;
    if ((t != Type::U32 && t != Type::V32) || !is_const(y, &by)) return {};
    const auto bits = of_mem_bases(x);
    if (!bits) return {};
    const auto made = evaluate(op, t, t, 0, std::array{*bits, by});
    const bool is_upper = made == runtime::kPrivateApertureHigh || made == runtime::kSharedApertureHigh;
    return is_upper ? constant(t, *made) : ValueId{};
  }

  // --- constants, and work that is the same in every lane: of ops whose first operand may be such

  bool is_const_or_splat(ValueId v) const {
    const Inst* inst = f_.def(v);
    return inst != nullptr && (inst->op == Op::Const || inst->op == Op::Splat);
  }

  ValueId fold_constants(const Inst& inst, Type t, std::span<const ValueId> x) {
    if (x.size() > 3) return {};
    std::array<u64, 3> bits{};
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!is_const(x[i], &bits[i])) return {};
    if (inst.op == Op::Select) return bits[0] == 0 ? x[2] : is_ones(x[0]) ? x[1] : ValueId{};
    if (inst.op == Op::AnyLane) return constant(t, (bits[0] & f_.launch.lane_mask()) != 0 ? 1 : 0);
    const auto value = info(inst.op).is(kFloat)
                           ? evaluate_float(inst.op, inst.fp, inst.imm, {bits.data(), x.size()})
                           : evaluate(inst.op, t, type(x[0]), inst.imm, {bits.data(), x.size()});
    return value ? constant(t, *value) : ValueId{};
  }

  static bool has_uniform_form(Op op, Type t = Type::V32) {
    return info(op).is(kHasUniformForm) && (op != Op::UDiv || !is_wide(t));
  }

  /// simplify() has something to say of it besides what it is of constants.
  static bool has_rule(Op op) {
    switch (op) {
    case Op::Splat:
    case Op::U64ToMask:
    case Op::MaskToU64:
    case Op::AnyLane:
    case Op::FMul:
    case Op::FLdexp:
    case Op::Select:
    case Op::BitSelect:
    case Op::BPermute:
    case Op::ReadLane:
    case Op::ReadFirst: return true;
    default: return has_uniform_form(op);
    }
  }

  /// op(splat a, splat b) -> splat(op(a, b)): the same in every lane, so done once per wave.
  ValueId sink_splats(const Inst& inst, Type t, std::span<const ValueId> x) {
    if (!is_per_lane(t) || !has_uniform_form(inst.op, t) || !is_vector(type(x[0]))) return {};
    std::array<ValueId, 3> uniform;
    bool any_splat = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (const Match s = match(x[i], Op::Splat)) {
        uniform[i] = operand(s, 0);
        any_splat = true;
      } else if (!is_const(x[i]))
        return {};
    }
    if (!any_splat) return {};
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!uniform[i].valid()) uniform[i] = const_as_uniform(x[i]);
    const Type u = t == Type::Mask ? Type::U1 : t == Type::V32 ? Type::U32 : Type::U64;
    ValueId v;
    if (x.size() == 1)
      v = emit(inst.op, u, {uniform[0]}, inst.imm);
    else if (x.size() == 2)
      v = emit(inst.op, u, {uniform[0], uniform[1]}, inst.imm);
    else
      v = emit(inst.op, u, {uniform[0], uniform[1], uniform[2]}, inst.imm);
    return emit(Op::Splat, t, {v});
  }

  /// What a vector holds in all lanes, or nothing.
  ValueId as_uniform(ValueId v) {
    const Match s = match(v, Op::Splat);
    if (s == nullptr) return const_as_uniform(v);
    const ValueId x = operand(s, 0);
    return is_uniform(type(x)) ? x : ValueId{};
  }

  ValueId const_as_uniform(ValueId v) {
    u64 bits = 0;
    if (!is_const(v, &bits) || !is_vector(type(v))) return {};
    return constant(type(v) == Type::V32 ? Type::U32 : Type::U64, bits);
  }

  // --- halves and pairs

  ValueId fold_join(Type t, ValueId lo, ValueId hi) {
    if (const auto known = joined_.find(pair_key(lo, hi)); known != joined_.end()) return known->second;
    if (const ValueId whole = whole_of(f_, lo, hi); whole.valid()) return whole;
    if (is_zero(hi)) return emit(Op::ZExt, t, {lo});
    // join(a, ashr(a, 31)) is the sign extension
    if (const Match s = match(hi, Op::AShr); s != nullptr && operand(s, 0) == lo) {
      u64 amount = 0;
      if (is_const(operand(s, 1), &amount) && (amount & 31) == 31) return emit(Op::SExt, t, {lo});
    }
    if (const ValueId v = join_product(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_add(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_raised(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_inverted(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_logic(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_bitwise(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_shifted(t, lo, hi); v.valid()) return v;
    if (const ValueId v = join_rotated(t, lo, hi); v.valid()) return v;
    if (const Rotation r = turned_halves(lo, hi); r.of.valid()) return rotated(t, r.of, r.right);
    if (t == Type::V64 && is_pair(hi, lo)) return rotated(t, emit(Op::Join, t, {hi, lo}), 32);
    // join(select(c, a, b), select(c, d, e)) -> select(c, join(a, d), join(b, e)), when a join folds away
    const Match sl = match(lo, Op::Select), sh = match(hi, Op::Select);
    if (sl != nullptr && sh != nullptr && operand(sl, 0) == operand(sh, 0) &&
        (joins(operand(sl, 1), operand(sh, 1)) || joins(operand(sl, 2), operand(sh, 2)))) {
      const ValueId c = operand(sl, 0), a = operand(sl, 1), b = operand(sl, 2), d = operand(sh, 1),
                    e = operand(sh, 2);
      const ValueId first = emit(Op::Join, t, {a, d});
      return emit(Op::Select, t, {c, first, emit(Op::Join, t, {b, e})});
    }
    return {};
  }
  /// Logic of one half with a constant, where 64-bit logic leaves the other half as it is.
  struct HalfLogic {
    Op op{};
    ValueId lo, hi; ///< what is left of the pair without it
    u64 bits = 0;   ///< the constant of 64 bits
  };
  HalfLogic logic_of_half(ValueId lo, ValueId hi, Op op, bool high) const {
    const Match logic = match(high ? hi : lo, op);
    u64 bits = 0;
    if (logic == nullptr || !is_const(operand(logic, 1), &bits)) return {};
    const u64 rest = op == Op::And ? 0xffff'ffffu : 0;
    const ValueId half = operand(logic, 0);
    return high ? HalfLogic{op, lo, half, bits << 32 | rest} : HalfLogic{op, half, hi, bits | rest << 32};
  }
  /// Calls found(logic) for such, until that says true; whether it has.
  template <class F>
  bool any_logic_of_half(ValueId lo, ValueId hi, F found) const {
    for (const Op op : {Op::Or, Op::And, Op::Xor})
      for (const bool high : {false, true})
        if (const HalfLogic l = logic_of_half(lo, hi, op, high); l.lo.valid() && found(l)) return true;
    return false;
  }
  /// join(lo(x) | bits, hi(x)) -> x | bits, and the same of & and ^ and of the other half
  ValueId join_logic(Type t, ValueId lo, ValueId hi) {
    HalfLogic found;
    const bool any = any_logic_of_half(lo, hi, [&](const HalfLogic& l) {
      found = l;
      return whole_of(f_, l.lo, l.hi).valid() || (t == Type::V64 && is_pair(l.lo, l.hi));
    });
    if (!any) return {};
    return emit(found.op, t, {emit(Op::Join, t, {found.lo, found.hi}), constant(t, found.bits)});
  }

  static bool is_bitwise(Op op) {
    return op == Op::And || op == Op::Or || op == Op::Xor || op == Op::AndNot || op == Op::Not ||
           op == Op::BitSelect;
  }
  static u64 pair_key(ValueId lo, ValueId hi) { return u64{hi.index} << 32 | lo.index; }

  /// To join the values takes no shuffles: they are joined already in this block, or halves of one value,
  /// constants, dwords of one load, or come by the same logic from such.
  bool is_pair(ValueId lo, ValueId hi, unsigned depth = 0) const {
    if (depth == 0) pair_steps_ = kMaxPairSteps;
    if (pair_steps_ == 0) return false;
    --pair_steps_;
    if (joined_.contains(pair_key(lo, hi)) || whole_of(f_, lo, hi).valid() || is_loaded_pair(f_, lo, hi) ||
        (is_const(lo) && is_const(hi)) || (is_repeated(lo) && is_repeated(hi)))
      return true;
    if (depth == kMaxPairDepth) return false;
    if (logic_of_pairs(lo, hi, depth).has_value()) return true;
    if (any_logic_of_half(lo, hi, [&](const HalfLogic& l) { return is_pair(l.lo, l.hi, depth + 1); }))
      return true;
    if (turned_halves(lo, hi).of.valid() || rotated_halves(lo, hi, depth + 1).low.valid()) return true;
    if (raised_pair(lo, hi).whole.valid() || is_sum_of_pairs(lo, hi, depth + 1)) return true;
    const Shifted s = shifted_half(lo, hi);
    return s.rest.valid() && is_pair(s.in_low ? s.rest : lo, s.in_low ? hi : s.rest, depth + 1);
  }
  /// lo = funnel_shr(b, a, n) and hi = funnel_shr(a, b, n): join(a, b) rotated to the right by n, and join(b,
  /// a) by 32 more. The pair of which one takes no shuffles.
  struct Rotated {
    ValueId low, high;
    u64 right = 0;
  };
  Rotated rotated_halves(ValueId lo, ValueId hi, unsigned depth) const {
    const Match l = match(lo, Op::FunnelShr), h = match(hi, Op::FunnelShr);
    u64 n = 0, m = 0;
    if (l == nullptr || h == nullptr || !is_const(operand(l, 2), &n) || !is_const(operand(h, 2), &m))
      return {};
    const ValueId b = operand(l, 0), a = operand(l, 1);
    if (((n ^ m) & 31) != 0 || (n & 31) == 0 || operand(h, 0) != a || operand(h, 1) != b) return {};
    if (is_pair(a, b, depth)) return {a, b, n & 31};
    return is_pair(b, a, depth) ? Rotated{b, a, 32 + (n & 31)} : Rotated{};
  }
  /// join(funnel_shr(b, a, n), funnel_shr(a, b, n)) -> x >> n | x << (64 - n) with x = join(a, b)
  ValueId join_rotated(Type t, ValueId lo, ValueId hi) {
    const Rotated r = t == Type::V64 ? rotated_halves(lo, hi, 0) : Rotated{};
    if (!r.low.valid()) return {};
    return rotated(t, emit(Op::Join, t, {r.low, r.high}), r.right);
  }
  /// x >> n | x << (64 - n)
  ValueId rotated(Type t, ValueId x, u64 right) {
    const ValueId down = emit(Op::LShr, t, {x, constant(Type::V32, right)});
    return emit(Op::Or, t, {down, emit(Op::Shl, t, {x, constant(Type::V32, 64 - right)})});
  }
  /// With s = x >> n: lo = lo(s) and hi = hi(s) | lo(x) << (32 - n), those of x rotated, and its mirror.
  Rotation turned_halves(ValueId lo, ValueId hi) const {
    for (const bool right : {true, false}) {
      const ValueId plain = right ? lo : hi;
      const Match half = match(plain, right ? Op::Lo : Op::Hi), sum = match(right ? hi : lo, Op::Or);
      const Match shift = half != nullptr ? match(operand(half, 0), right ? Op::LShr : Op::Shl) : Match{};
      u64 n = 0, back = 0;
      if (shift == nullptr || type(operand(shift, 0)) != Type::V64 || sum == nullptr ||
          !is_const(operand(shift, 1), &n))
        continue;
      const ValueId x = operand(shift, 0);
      for (const unsigned m : {0u, 1u}) {
        const Match other = match(operand(sum, m), right ? Op::Hi : Op::Lo);
        const Match rest = match(operand(sum, 1 - m), right ? Op::Shl : Op::LShr);
        if (other == nullptr || operand(other, 0) != operand(half, 0) || rest == nullptr ||
            !is_const(operand(rest, 1), &back) || n == 0 || n >= 32 || back != 32 - n)
          continue;
        if (is_half(operand(rest, 0), x, right)) return {x, right ? n : 64 - n};
      }
    }
    return {};
  }
  /// `v` is a half of x, the lower or the upper one.
  bool is_half(ValueId v, ValueId x, bool low) const {
    const auto known = halves_.find(x.index);
    if (known != halves_.end() && known->second[low ? 0 : 1] == v) return true;
    return low ? is_low_half(f_, v, x) : is_high_half(f_, v, x);
  }
  /// One half is logic of `rest` and of the other half, shifted by what a 64-bit shift moves it besides 32.
  struct Shifted {
    ValueId rest;
    Op op{};
    u64 amount = 0;
    bool in_low = false;
  };
  Shifted shifted_half(ValueId lo, ValueId hi) const {
    for (const bool in_low : {true, false}) {
      const ValueId half = in_low ? lo : hi, other = in_low ? hi : lo;
      const Match logic = definition(half);
      if (logic == nullptr || (logic->op != Op::Xor && logic->op != Op::Or)) continue;
      for (unsigned n = 0; n < 2; ++n) {
        const ValueId v = operand(logic, n);
        const Match shift = match(v, in_low ? Op::LShr : Op::Shl);
        u64 amount = 0;
        if (v != other &&
            (shift == nullptr || operand(shift, 0) != other || !is_const(operand(shift, 1), &amount)))
          continue;
        return {operand(logic, 1 - n), logic->op, 32 + (amount & 31), in_low};
      }
    }
    return {};
  }
  /// join(a ^ (b >> n), b) -> x ^ (x >> (32 + n)) with x = join(a, b), and likewise to the left: what hashes
  /// do
  ValueId join_shifted(Type t, ValueId lo, ValueId hi) {
    const Shifted s = t == Type::V64 ? shifted_half(lo, hi) : Shifted{};
    if (!s.rest.valid()) return {};
    const ValueId low = s.in_low ? s.rest : lo, high = s.in_low ? hi : s.rest;
    if (!is_pair(low, high)) return {};
    const ValueId x = emit(Op::Join, t, {low, high});
    const ValueId amount = constant(Type::V32, s.amount);
    return emit(s.op, t, {x, emit(s.in_low ? Op::LShr : Op::Shl, t, {x, amount})});
  }
  bool is_repeated(ValueId v) const { return match(v, Op::Splat) != nullptr || is_const(v); }

  /// Both are the same logic, of operands that are pairs; true if the second's two are the other way round.
  std::optional<bool> logic_of_pairs(ValueId lo, ValueId hi, unsigned depth = 0) const {
    const Match l = definition(lo), h = definition(hi);
    if (l == nullptr || h == nullptr || l->op != h->op || !is_bitwise(l->op)) return std::nullopt;
    if (depth == 0) pair_steps_ = kMaxPairSteps;
    const unsigned count = l->num_operands;
    const auto pairs = [&](bool crossed) {
      for (unsigned n = 0; n < count; ++n)
        if (!is_pair(operand(l, n), operand(h, crossed ? 1 - n : n), depth + 1)) return false;
      return true;
    };
    if (pairs(false)) return false;
    if (info(l->op).is(kCommutes) && count == 2 && pairs(true)) return true;
    return std::nullopt;
  }
  /// join(a ^ b, c ^ d) -> join(a, c) ^ join(b, d), where these take no shuffles; any logic
  ValueId join_bitwise(Type t, ValueId lo, ValueId hi) {
    if (t != Type::V64) return {};
    const std::optional<bool> crossed = logic_of_pairs(lo, hi);
    if (!crossed) return {};
    const Match l = definition(lo), h = definition(hi);
    const Op op = l->op;
    const unsigned count = l->num_operands;
    std::array<ValueId, 3> x;
    for (unsigned n = 0; n < count; ++n)
      x[n] = emit(Op::Join, t, {operand(l, n), operand(h, *crossed ? 1 - n : n)});
    return count == 1   ? emit(op, t, {x[0]})
           : count == 2 ? emit(op, t, {x[0], x[1]})
                        : emit(op, t, {x[0], x[1], x[2]});
  }
  /// join(lo, hi) would be an existing wide value.
  bool joins(ValueId lo, ValueId hi) const {
    return joined_.contains(pair_key(lo, hi)) || whole_of(f_, lo, hi).valid();
  }

  /// join(a * b, umulhi(a, b)) -> umul_wide(a, b), and likewise signed
  ValueId join_product(Type t, ValueId lo, ValueId hi) {
    const Match low = match(lo, Op::Mul);
    Match high = match(hi, Op::UMulHi);
    const bool is_signed = high == nullptr;
    if (is_signed) high = match(hi, Op::SMulHi);
    if (low == nullptr || high == nullptr) return {};
    const ValueId a = operand(high, 0), b = operand(high, 1);
    return other_factor(low, a) == b ? emit(is_signed ? Op::SMulWide : Op::UMulWide, t, {a, b}) : ValueId{};
  }

  /// lo = lo(whole) and hi = hi(whole) + raise[0] + raise[1], the same in all lanes: of an index some of
  /// whose parts are scalars. The pair is whole + (raise << 32).
  struct RaisedPair {
    ValueId whole;
    std::array<ValueId, 2> raise;
  };
  RaisedPair raised_pair(ValueId lo, ValueId hi) const {
    RaisedPair pair;
    for (ValueId& raise : pair.raise) {
      const Match sum = match(hi, Op::Add);
      if (sum == nullptr || type(hi) != Type::V32) return {};
      const bool first = is_repeated(operand(sum, 0));
      raise = operand(sum, first ? 0 : 1);
      if (!is_repeated(raise)) return {};
      hi = operand(sum, first ? 1 : 0);
      if (pair.whole = whole_of(f_, lo, hi); pair.whole.valid()) return pair;
    }
    return {};
  }
  ValueId join_raised(Type t, ValueId lo, ValueId hi) {
    const RaisedPair r = raised_pair(lo, hi);
    if (!r.whole.valid()) return {};
    ValueId raise = r.raise[0];
    if (r.raise[1].valid()) raise = emit(Op::Add, type(hi), {raise, r.raise[1]});
    return emit(Op::Add, t, {r.whole, emit(Op::Join, t, {constant(type(lo), 0), raise})});
  }

  /// join(~a, c) -> ~join(a, ~c): -1 - a
  ValueId join_inverted(Type t, ValueId lo, ValueId hi) {
    const Match inverted = match(lo, Op::Not);
    u64 bits = 0;
    if (inverted == nullptr || !is_const(hi, &bits)) return {};
    const ValueId a = operand(inverted, 0);
    return emit(Op::Not, t, {emit(Op::Join, t, {a, constant(type(hi), ~bits)})});
  }

  /// join(a + b, c + d + carry(a + b)) -> join(a, c) + join(b, d), and the same with borrow: what add/addc
  /// chains compute.
  ValueId join_add(Type t, ValueId lo, ValueId hi) {
    PairSum s = pair_sum(lo, hi);
    if (!s.a.valid()) return {};
    if (!s.d.valid()) s.d = constant(type(lo), 0);
    const ValueId first = emit(Op::Join, t, {s.a, s.c});
    return emit(s.op, t, {first, emit(Op::Join, t, {s.b, s.d})});
  }
  /// The pair is join(a, c) op join(b, d); without d, b has no upper half.
  struct PairSum {
    Op op{};
    ValueId a, b, c, d;
  };
  PairSum pair_sum(ValueId lo, ValueId hi) const {
    PairSum s;
    if (const Match l = match(lo, Op::Add)) {
      if (!has_carry_of(hi, lo, &s.c)) return {};
      s.op = Op::Add;
      s.a = operand(l, 0);
      s.b = operand(l, 1);
    } else if (const Match difference = match(lo, Op::Sub)) {
      ValueId borrow;
      if (!split_carry(hi, Op::Sub, s.c, borrow)) return {};
      const Match c = match(borrow, Op::ICmp);
      if (c == nullptr || !is_borrow_of(c, operand(difference, 0), operand(difference, 1))) return {};
      s.op = Op::Sub;
      s.a = operand(difference, 0);
      s.b = operand(difference, 1);
    } else {
      return {};
    }
    if (const Match rest = match(s.c, s.op)) {
      s.c = operand(rest, 0);
      s.d = operand(rest, 1);
    }
    return s;
  }
  /// Such a sum of pairs that take no shuffles.
  bool is_sum_of_pairs(ValueId lo, ValueId hi, unsigned depth) const {
    const PairSum s = pair_sum(lo, hi);
    if (!s.a.valid()) return false;
    if (is_pair(s.a, s.c, depth)) return !s.d.valid() || is_pair(s.b, s.d, depth);
    return s.op == Op::Add && s.d.valid() && is_pair(s.a, s.d, depth) && is_pair(s.b, s.c, depth);
  }
  /// hi = rest op select(carry, 1, 0), or for uniform values rest op zext(carry).
  bool split_carry(ValueId hi, Op op, ValueId& rest, ValueId& carry) const {
    const Match sum = match(hi, op);
    if (sum == nullptr) return false;
    for (unsigned n = 0; n < 2; ++n) {
      if (op == Op::Sub && n == 0) continue;
      const ValueId bit = operand(sum, n);
      u64 one = 0;
      if (const Match s = match(bit, Op::Select);
          s != nullptr && is_const(operand(s, 1), &one) && one == 1 && is_zero(operand(s, 2)))
        carry = operand(s, 0);
      else if (const Match z = match(bit, Op::ZExt); z != nullptr && type(operand(z, 0)) == Type::U1)
        carry = operand(z, 0);
      else
        continue;
      rest = operand(sum, 1 - n);
      return true;
    }
    return false;
  }
  /// high = rest + the carry of low = a + b
  bool has_carry_of(ValueId high, ValueId low, ValueId* rest = nullptr) const {
    ValueId others, carry;
    const Match sum = match(low, Op::Add);
    if (sum == nullptr || !split_carry(high, Op::Add, others, carry)) return false;
    if (rest != nullptr) *rest = others;
    const Match compare = match(carry, Op::ICmp);
    if (compare == nullptr) return false;
    const ValueId a = operand(sum, 0), b = operand(sum, 1);
    const auto p = static_cast<IntPred>(compare->imm);
    const ValueId x = operand(compare, 0), y = operand(compare, 1);
    return (p == IntPred::ULt && x == low && (y == a || y == b)) ||
           (p == IntPred::UGt && y == low && (x == a || x == b));
  }
  bool is_borrow_of(const Match& compare, ValueId a, ValueId b) const {
    const auto p = static_cast<IntPred>(compare->imm);
    const ValueId x = operand(compare, 0), y = operand(compare, 1);
    return (p == IntPred::ULt && x == a && y == b) || (p == IntPred::UGt && x == b && y == a);
  }

  ValueId fold_half(Op op, Type t, ValueId x) {
    if (const Match j = match(x, Op::Join)) return operand(j, op == Op::Lo ? 0 : 1);
    if (const Match z = match(x, Op::ZExt)) return op == Op::Lo ? operand(z, 0) : constant(t, 0);
    if (const Match s = match(x, Op::SExt)) {
      const ValueId a = operand(s, 0);
      if (op == Op::Lo) return a;
      return emit(Op::AShr, t, {a, constant(t, 31)});
    }
    if (const Match s = match(x, Op::Splat))
      return emit(Op::Splat, t, {emit(op, Type::U32, {operand(s, 0)})});
    if (const ValueId half = half_of_shift(op, t, x); half.valid()) return half;
    if (op == Op::Lo)
      if (const Match m = wide_product(x)) return emit(Op::Mul, t, {operand(m, 0), operand(m, 1)});
    if (op == Op::Lo && !is_low_only(x) && is_product_with_carry(x)) return {}; // The whole is there.
    if (op == Op::Lo) // The low half of a sum, difference, product or logic op needs only low halves.
      if (const Match a = definition(x);
          a != nullptr && is_bitwise_from_below(a->op) && a->num_operands == 2 && are_cheap_halves(x, a)) {
        const Op o = a->op;
        const ValueId first = operand(a, 0), second = operand(a, 1);
        const ValueId low = emit(Op::Lo, t, {first});
        return emit(o, t, {low, emit(Op::Lo, t, {second})});
      }
    if (op == Op::Lo)
      if (const Match s = match(x, Op::Select); s != nullptr && is_low_only(x) &&
                                                is_cheap_half(x, operand(s, 1)) &&
                                                is_cheap_half(x, operand(s, 2))) {
        const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
        const ValueId low = emit(Op::Lo, t, {a});
        return emit(Op::Select, t, {c, low, emit(Op::Lo, t, {b})});
      }
    return {};
  }
  /// Of a shift by 32 or more one half is nothing, and the other one comes from one half. What a shift to the
  /// right by less leaves in the low half is 32 bits of both.
  ValueId half_of_shift(Op op, Type t, ValueId x) {
    const Match s = definition(x);
    u64 amount = 0;
    if (s == nullptr) return {};
    if (op == Op::Lo && t == Type::V32 && (s->op == Op::LShr || s->op == Op::AShr) && is_low_only(x) &&
        is_cheap_half(x, operand(s, 0)) && limits_.max(operand(s, 1)) < 32) {
      const ValueId whole = operand(s, 0), by = operand(s, 1);
      const ValueId high = emit(Op::Hi, t, {whole});
      return emit(Op::FunnelShr, t, {high, emit(Op::Lo, t, {whole}), by});
    }
    if (s->op != Op::Shl && s->op != Op::LShr) return {};
    if (!is_const(operand(s, 1), &amount)) return {};
    const ValueId shifted = operand(s, 0);
    if (amount % 64 < 32) {
      if (op == Op::Hi || s->op != Op::Shl) return {};
      if (is_low_only(x) ? !is_cheap_half(x, shifted) : !is_product_of_halves(x)) return {};
      return emit(Op::Shl, t, {emit(Op::Lo, t, {shifted}), constant(t, amount % 64)});
    }
    if ((s->op == Op::Shl) == (op == Op::Lo)) return constant(t, 0);
    const Op shift = s->op;
    const ValueId half = emit(shift == Op::Shl ? Op::Lo : Op::Hi, t, {shifted});
    return emit(shift, t, {half, constant(t, amount % 64 - 32)});
  }
  Match wide_product(ValueId v) const {
    const Match m = match(v, Op::UMulWide);
    return m != nullptr ? m : match(v, Op::SMulWide);
  }
  /// Of 32-bit values, the one as it is or a power of two, by which the other is shifted.
  bool is_product_of_halves(ValueId v) const {
    const Match shl = match(v, Op::Shl);
    const bool is_shift = shl != nullptr && is_const(operand(shl, 1)) && match(operand(shl, 0), Op::ZExt);
    return is_shift || wide_product(v) != nullptr;
  }
  /// A product and the upper half of another one, as in a product of 64 bits.
  bool is_product_with_carry(ValueId v) const {
    const Match sum = match(v, Op::Add);
    if (sum == nullptr) return false;
    for (const unsigned n : {0u, 1u})
      if (const Match carry = match(operand(sum, n), Op::ZExt);
          carry != nullptr && wide_product(operand(sum, 1 - n)))
        return upper_half(operand(carry, 0)).has_value();
    return false;
  }
  bool is_low_only(ValueId v) const { return v.index < looked_at_.size() && !looked_at_[v.index]; }
  /// The low half of `v`, an operand of `of`, is there or costs next to nothing. Of what is looked at as a
  /// whole, too, halves must not go ways of their own: it would be hard to see that they belong together.
  bool is_cheap_half(ValueId of, ValueId v, unsigned depth = 0) const {
    if (is_product_of_halves(v) || match(v, Op::Join) != nullptr || match(v, Op::ZExt) != nullptr ||
        match(v, Op::SExt) != nullptr || is_const(v))
      return true;
    if (!is_low_only(of)) return false;
    if (match(v, Op::Splat) != nullptr) return true;
    const Match w = definition(v);
    return w != nullptr && is_bitwise_from_below(w->op) && w->num_operands == 2 && depth < kMaxHalfDepth &&
           is_cheap_half(of, operand(w, 0), depth + 1) && is_cheap_half(of, operand(w, 1), depth + 1);
  }
  /// Of the two operands of `v`'s definition `a`. What is handed on is taken a half of before instead of
  /// after if one will do: then it need not be a whole (arrays in registers that v_mad_u64_u32 has read as
  /// pairs).
  bool are_cheap_halves(ValueId v, const Match& a) const {
    const bool first = is_cheap_half(v, operand(a, 0)), second = is_cheap_half(v, operand(a, 1));
    const auto is_parameter = [&](ValueId x) { return !f_.def_id(x).valid(); };
    return (first && second) || (is_low_only(v) && ((first && is_parameter(operand(a, 1))) ||
                                                    (second && is_parameter(operand(a, 0)))));
  }
  // --- masks and scalars

  ValueId fold_to_mask(Op op, Type t, ValueId x) {
    if (op == Op::Splat) return {};
    if (const Match m = match(x, Op::MaskToU64)) return operand(m, 0);
    if (const Match s = match(x, Op::Select); s != nullptr && type(operand(s, 0)) == Type::U1) {
      const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
      if (is_ones(a) && is_zero(b)) return emit(Op::Splat, t, {c});
      if (is_zero(a) && is_ones(b)) return emit(Op::Splat, t, {emit(Op::Not, Type::U1, {c})});
      if (is_mask_like(a) && is_mask_like(b)) {
        const ValueId first = emit(Op::U64ToMask, t, {a});
        return emit(Op::Select, t, {c, first, emit(Op::U64ToMask, t, {b})});
      }
    }
    return {};
  }
  bool is_mask_like(ValueId v) const { return match(v, Op::MaskToU64) != nullptr || is_const(v); }
  ValueId fold_mask_to_u64(ValueId m) {
    const Match u = match(m, Op::U64ToMask);
    return u != nullptr ? operand(u, 0) : ValueId{};
  }
  ValueId fold_any(ValueId m) {
    if (const Match s = match(m, Op::Splat)) return operand(s, 0);
    if (match(m, Op::InitExec) != nullptr) return constant(Type::U1, 1); // no wave starts without work-items
    // any(splat c & m) -> c and any(m): a branch on a scalar condition, if m is known to have lanes
    if (const Match a = match(m, Op::And))
      for (unsigned n = 0; n < 2; ++n)
        if (const Match s = match(operand(a, n), Op::Splat);
            s != nullptr && match(operand(a, 1 - n), Op::InitExec) != nullptr)
          return operand(s, 0);
    if (const Match u = match(m, Op::U64ToMask)) {
      const ValueId x = operand(u, 0);
      return emit(Op::ICmp, Type::U1, {x, constant(Type::U64, 0)}, static_cast<u64>(IntPred::Ne));
    }
    return {};
  }

  // --- arithmetic

  ValueId fold_add(Op op, Type t, ValueId a, ValueId b) {
    if (is_zero(b)) return a;
    if (op == Op::Add && is_zero(a)) return b;
    if (op == Op::Sub && a == b) return constant(t, 0);
    u64 c = 0, d = 0;
    if (op == Op::Sub) // a - (a >> c << c), what a division leaves
      if (const Match up = match(b, Op::Shl); up != nullptr && is_const(operand(up, 1), &c))
        if (const Match down = match(operand(up, 0), Op::LShr); down != nullptr && operand(down, 0) == a &&
                                                                is_const(operand(down, 1), &d) && c == d &&
                                                                c < bit_width(t))
          return emit(Op::And, t, {a, constant(t, (u64{1} << c) - 1)});
    if (op == Op::Sub && is_const(b, &c)) return emit(Op::Add, t, {a, constant(t, 0 - c)});
    if (op == Op::Add && is_const(a)) return emit(Op::Add, t, {b, a});
    if (op == Op::Add && is_const(b, &c)) // (x + d) + c -> x + (c + d)
      if (const Match s = match(a, Op::Add); s != nullptr && is_const(operand(s, 1), &d)) {
        const ValueId x = operand(s, 0);
        return emit(Op::Add, t, {x, constant(t, c + d)});
      }
    if (op == Op::Add)
      if (const ValueId v = sum_of_extremes(a, b); v.valid()) return v;
    if (op == Op::Add && t == Type::V32)
      if (const ValueId v = high_half_of_product(a, b); v.valid()) return v;
    if (op != Op::Add || !is_wide(t)) return {};
    if (is_const(b, &c)) return add_to_known_high(t, a, c);
    if (const ValueId v = add_splats(t, a, b); v.valid()) return v;
    if (const ValueId v = add_splats(t, b, a); v.valid()) return v;
    if (const ValueId v = add_crossed(t, a, b); v.valid()) return v;
    if (const ValueId v = add_splat_to_high(t, a, b); v.valid()) return v;
    return add_splat_to_high(t, b, a);
  }
  /// umin(x, c) + (umax(x, c) - c) -> x: the lane's number, which kernels count in halves of 32.
  ValueId sum_of_extremes(ValueId a, ValueId b) const {
    for (const auto& [low, high] : {std::pair(a, b), std::pair(b, a)}) {
      u64 c = 0, d = 0, less = 0;
      const Match least = match(low, Op::UMin), above = match(high, Op::Add);
      if (least == nullptr || above == nullptr) continue;
      const Match most = match(operand(above, 0), Op::UMax);
      if (most == nullptr || !is_const(operand(least, 1), &c) || !is_const(operand(most, 1), &d) ||
          !is_const(operand(above, 1), &less))
        continue;
      const ValueId x = operand(least, 0), y = operand(most, 0);
      const bool is_same = x == y || (match(x, Op::LaneId) != nullptr && match(y, Op::LaneId) != nullptr);
      if (is_same && c == d && ((less + c) & constant_bits(type(x))) == 0) return x;
    }
    return {};
  }
  /// join(x, high) + c -> zext(x) + (c + (high << 32)): an offset from a pointer that is known, as of a table
  /// in the code object; carry chains give the pointer's upper half to whatever is added to its lower one.
  ValueId add_to_known_high(Type t, ValueId a, u64 c) {
    u64 high = 0;
    const Match join = match(a, Op::Join);
    if (join == nullptr || is_const(operand(join, 0)) || !is_const(operand(join, 1), &high) || high == 0)
      return {};
    const ValueId x = emit(Op::ZExt, t, {operand(join, 0)});
    return emit(Op::Add, t, {x, constant(t, c + (high << 32))});
  }
  /// (x + splat(p)) + splat(q) -> x + splat(p + q), in vectors: a gang's splats stay apart (sink_splats()),
  /// and with three of them this would go on forever.
  ValueId add_splats(Type t, ValueId a, ValueId b) {
    if (!is_vector(t)) return {};
    const Match sum = match(a, Op::Add), q = match(b, Op::Splat);
    if (sum == nullptr || q == nullptr) return {};
    for (unsigned n = 0; n < 2; ++n)
      if (match(operand(sum, n), Op::Splat) != nullptr) {
        const ValueId x = operand(sum, 1 - n), p = operand(sum, n);
        return emit(Op::Add, t, {x, emit(Op::Add, t, {p, b})});
      }
    return {};
  }
  /// join(x, high) + join(low, y) -> join(low, high) + join(x, y), if low and high are halves of one value or
  /// the same in all lanes: a chain of additions may have come apart that way.
  ValueId add_crossed(Type t, ValueId a, ValueId b) {
    ValueId a_low, a_high, b_low, b_high;
    if (!split(a, a_low, a_high) || !split(b, b_low, b_high)) return {};
    const auto belong = [&](ValueId low, ValueId high) {
      if (!high.valid()) return false;
      return joins(low, high) || has_carry_of(high, low) || (is_repeated(low) && is_repeated(high));
    };
    if (belong(a_low, a_high) || belong(b_low, b_high)) return {};
    if (!belong(a_low, b_high) && !belong(b_low, a_high)) return {};
    const auto pair = [&](ValueId low, ValueId high) {
      return high.valid() ? emit(Op::Join, t, {low, high}) : emit(Op::ZExt, t, {low});
    };
    const ValueId first = pair(a_low, b_high);
    return emit(Op::Add, t, {first, pair(b_low, a_high)});
  }
  /// The halves of a pair, of an extended value the lower alone.
  bool split(ValueId v, ValueId& low, ValueId& high) const {
    if (const Match j = match(v, Op::Join)) {
      low = operand(j, 0);
      high = operand(j, 1);
      return true;
    }
    const Match z = match(v, Op::ZExt);
    if (z == nullptr || bit_width(type(operand(z, 0))) != 32) return false;
    low = operand(z, 0);
    return true;
  }
  /// join(x, splat(high)) + splat(zext(low)) -> zext(x) + splat(join(low, high)): an offset from a scalar
  /// pointer.
  ValueId add_splat_to_high(Type t, ValueId a, ValueId b) {
    const Match join = match(a, Op::Join), low = match(b, Op::Splat);
    if (join == nullptr || low == nullptr) return {};
    const Match high = match(operand(join, 1), Op::Splat);
    if (high == nullptr) return {};
    const Match z = match(operand(low, 0), Op::ZExt);
    if (z == nullptr || type(operand(z, 0)) != Type::U32 || type(operand(high, 0)) != Type::U32) return {};
    const ValueId x = operand(join, 0);
    const ValueId pointer = emit(Op::Join, Type::U64, {operand(z, 0), operand(high, 0)});
    const ValueId base = emit(Op::Splat, t, {pointer});
    return emit(Op::Add, t, {base, emit(Op::ZExt, t, {x})});
  }
  /// hi(x * q + r) + lo(x) * q_high -> hi(x * join(q, q_high) + r), where q has 32 bits and x has 32 or 64,
  /// and the same with two such terms: the upper half of a 64-bit product.
  ValueId high_half_of_product(ValueId a, ValueId b) {
    for (const bool swap : {false, true}) {
      const ValueId upper = swap ? b : a, rest = swap ? a : b;
      if (const ValueId v = add_cross_term(upper, rest); v.valid()) return v;
      const Match sum = match(rest, Op::Add);
      if (sum == nullptr) continue;
      const std::array terms = {operand(sum, 0), operand(sum, 1)};
      for (unsigned n = 0; n < 2; ++n)
        if (const ValueId v = add_cross_term(upper, terms[n]); v.valid())
          return emit(Op::Add, Type::V32, {v, terms[1 - n]});
    }
    return {};
  }
  /// A factor of a product of 64 bits: as it is if `wide`, else what is zero-extended; if no value, a power
  /// of two, by which something is shifted.
  struct Factor {
    ValueId v;
    bool wide = false;
    u64 power = 0;
  };
  struct Product {
    std::array<Factor, 2> factors;
    ValueId rest; ///< what is added, if anything
  };
  /// What `v` is the upper half of.
  std::optional<Product> upper_half(ValueId v) const {
    if (const Match m = match(v, Op::UMulHi))
      return Product{{Factor{operand(m, 0)}, Factor{operand(m, 1)}}, ValueId{}};
    const Match hi = match(v, Op::Hi);
    if (hi == nullptr) return std::nullopt;
    if (const auto product = product_of(operand(hi, 0), {})) return product;
    const Match add = match(operand(hi, 0), Op::Add);
    if (add == nullptr) return std::nullopt;
    const auto product = product_of(operand(add, 0), operand(add, 1));
    return product ? product : product_of(operand(add, 1), operand(add, 0));
  }
  std::optional<Product> product_of(ValueId v, ValueId rest) const {
    if (const Match m = match(v, Op::UMulWide))
      return Product{{Factor{operand(m, 0)}, Factor{operand(m, 1)}}, rest};
    if (const Match m = match(v, Op::Mul))
      return Product{{factor(operand(m, 0)), factor(operand(m, 1))}, rest};
    const Match m = match(v, Op::Shl);
    if (u64 n = 0; m != nullptr && is_const(operand(m, 1), &n) && n < 32)
      return Product{{factor(operand(m, 0)), Factor{{}, true, u64{1} << n}}, rest};
    return std::nullopt;
  }
  Factor factor(ValueId v) const {
    const Match z = match(v, Op::ZExt);
    return z != nullptr && type(operand(z, 0)) == Type::V32 ? Factor{operand(z, 0)} : Factor{v, true};
  }
  /// What has 32 bits, as such; nothing if it has more.
  ValueId without_upper_half(const Factor& q) {
    if (!q.wide) return q.v;
    if (!q.v.valid()) return constant(Type::V32, q.power);
    if (u64 bits = 0; is_const(q.v, &bits)) return bits >> 32 == 0 ? constant(Type::V32, bits) : ValueId{};
    const Match splat = match(q.v, Op::Splat);
    const Match z = splat != nullptr ? match(operand(splat, 0), Op::ZExt) : Match{};
    if (z == nullptr || type(operand(z, 0)) != Type::U32) return {};
    return emit(Op::Splat, Type::V32, {operand(z, 0)});
  }
  ValueId add_cross_term(ValueId upper, ValueId term) {
    const Match cross = definition(term);
    if (cross == nullptr || (cross->op != Op::Mul && cross->op != Op::Shl)) return {};
    const std::optional<Product> product = upper_half(upper);
    if (!product) return {};
    for (unsigned n = 0; n < 2; ++n) {
      const Factor x = product->factors[n];
      const bool is_power = !x.v.valid();
      if (is_power != (cross->op == Op::Shl)) continue;
      const ValueId q_low = without_upper_half(product->factors[1 - n]);
      if (!q_low.valid()) continue;
      for (unsigned m = is_power ? 1 : 0; m < 2; ++m) { // Shifts do not commute.
        const ValueId low = operand(cross, m), q_high = operand(cross, 1 - m);
        if (is_power ? !is_shift_by(x, low) : x.wide ? !is_low_half(f_, low, x.v) : low != x.v) continue;
        if (!is_cheap_pair(q_low, q_high)) continue;
        const ValueId rest = product->rest;
        const ValueId whole = is_power ? constant(Type::V64, x.power)
                              : x.wide ? x.v
                                       : emit(Op::ZExt, Type::V64, {x.v});
        const ValueId all = emit(Op::Mul, Type::V64, {whole, emit(Op::Join, Type::V64, {q_low, q_high})});
        return emit(Op::Hi, Type::V32, {rest.valid() ? emit(Op::Add, Type::V64, {all, rest}) : all});
      }
    }
    return {};
  }
  bool is_shift_by(const Factor& power, ValueId amount) const {
    u64 n = 0;
    return is_const(amount, &n) && n < 32 && u64{1} << n == power.power;
  }
  ValueId other_factor(const Match& product, ValueId v) const {
    return operand(product, 0) == v   ? operand(product, 1)
           : operand(product, 1) == v ? operand(product, 0)
                                      : ValueId{};
  }
  /// Or parameters, which join_pairs() joins.
  bool is_cheap_pair(ValueId lo, ValueId hi) const {
    const bool params =
        definition(lo) == nullptr && definition(hi) == nullptr && f_.def_block(lo) == f_.def_block(hi);
    return params || is_pair(lo, hi);
  }
  /// Of what values of `t` are shifted by.
  static Type amount_type(Type t) { return is_scalar(t) ? Type::U32 : Type::V32; }

  ValueId fold_mul(Type t, ValueId a, ValueId b) {
    if (is_const(a) && !is_const(b)) return emit(Op::Mul, t, {b, a});
    u64 c = 0;
    if (!is_const(b, &c)) return {};
    if (c == 0) return b;
    if (c == 1) return a;
    if (std::has_single_bit(c)) {
      return emit(Op::Shl, t, {a, constant(amount_type(t), static_cast<u64>(std::countr_zero(c)))});
    }
    return {};
  }

  /// 32 x 32 -> 64 bits, or their upper half, by powers of two: an index in units of something.
  ValueId fold_wide_mul(Op op, Type t, ValueId a, ValueId b) {
    if (is_const(a) && !is_const(b)) return emit(op, t, {b, a});
    u64 c = 0;
    if (!is_const(b, &c)) return {};
    if (c == 0) return constant(t, 0);
    const bool is_signed = op == Op::SMulWide;
    if (!std::has_single_bit(c) || (is_signed && c >> 31 != 0)) return {};
    const Type amount = amount_type(t);
    const auto n = static_cast<u64>(std::countr_zero(c));
    if (op == Op::UMulHi) return n == 0 ? constant(t, 0) : emit(Op::LShr, t, {a, constant(amount, 32 - n)});
    return emit(Op::Shl, t, {emit(is_signed ? Op::SExt : Op::ZExt, t, {a}), constant(amount, n)});
  }

  ValueId fold_divide(Type t, ValueId a, ValueId b) {
    u64 c = 0;
    if (!is_const(b, &c) || !std::has_single_bit(c)) return {};
    return emit(Op::LShr, t, {a, constant(amount_type(t), static_cast<u64>(std::countr_zero(c)))});
  }

  /// Two comparisons of the same scalars are one.
  ValueId fold_comparisons(Op op, Type t, ValueId a, ValueId b) {
    const Match first = match(a, Op::ICmp), second = match(b, Op::ICmp);
    if (first == nullptr || second == nullptr) return {};
    if (operand(first, 0) != operand(second, 0) || operand(first, 1) != operand(second, 1)) return {};
    using enum IntPred;
    // By IntPred, for which of less, equal, and greater it holds.
    constexpr unsigned kOutcomes[] = {2, 5, 1, 3, 4, 6, 1, 3, 4, 6};
    constexpr IntPred kUnsigned[] = {Eq, ULt, Eq, ULe, UGt, Ne, UGe},
                      kSigned[] = {Eq, SLt, Eq, SLe, SGt, Ne, SGe};
    const auto is_either = [](u64 p) { return p <= static_cast<u64>(Ne); };
    const auto is_signed = [](u64 p) { return p >= static_cast<u64>(SLt); };
    const u64 p = first->imm, q = second->imm;
    if (!is_either(p) && !is_either(q) && is_signed(p) != is_signed(q)) return {};
    const unsigned x = kOutcomes[p], y = kOutcomes[q];
    const unsigned both = op == Op::And ? x & y : op == Op::Or ? x | y : op == Op::Xor ? x ^ y : x & ~y;
    if (both == 0 || both == 7) return constant(t, both == 0 ? 0 : 1);
    const IntPred now = (is_signed(p) || is_signed(q) ? kSigned : kUnsigned)[both];
    return emit(Op::ICmp, t, {operand(first, 0), operand(first, 1)}, static_cast<u64>(now));
  }

  ValueId fold_logic(Op op, Type t, ValueId a, ValueId b) {
    if (op == Op::AndNot) {
      if (a == b || is_zero(a) || is_ones(b)) return constant(t, 0);
      if (is_zero(b)) return a;
      if (is_ones(a)) return emit(Op::Not, t, {b});
      if (is_const(b)) return emit(Op::And, t, {a, emit(Op::Not, t, {b})});
      if (const Match inner = match(b, Op::AndNot); inner != nullptr && operand(inner, 0) == a)
        return emit(Op::And, t, {a, operand(inner, 1)});
    } else {
      if (is_const(a) && !is_const(b)) return emit(op, t, {b, a});
      if (a == b) return op == Op::Xor ? constant(t, 0) : a;
      if (is_zero(b)) return op == Op::And ? b : a;
      if (u64 kept = 0; op == Op::And && is_const(b, &kept) && bit_width(t) > 1) {
        if ((limits_.ones(a) & kept) == 0) return constant(t, 0); // as of lanes' numbers in groups of 64
        if ((limits_.ones(a) & ~kept) == 0) return a; // as after the upper half of a shifted index
        if (const ValueId v = field_of_part(t, a, b, kept); v.valid()) return v;
      }
      if (u64 set = 0; op == Op::Or && is_const(b, &set) && bit_width(t) > 1 && (limits_.ones(a) & ~set) == 0)
        return b; // as of the last lane's number
      if (is_ones(b)) return op == Op::And ? a : op == Op::Or ? b : emit(Op::Not, t, {a});
    }
    if (t == Type::G1 || t == Type::U1)
      if (const ValueId v = fold_comparisons(op, t, a, b); v.valid()) return v;
    // Conditions that are the same in every lane: branches on them are the wave's.
    if (const Match sa = match(a, Op::Splat), sb = match(b, Op::Splat);
        t == Type::Mask && sa != nullptr && sb != nullptr)
      return emit(Op::Splat, t, {emit(op, Type::U1, {operand(sa, 0), operand(sb, 0)})});
    // Logic on scalars that are masks is logic on masks.
    const Match ma = match(a, Op::MaskToU64), mb = match(b, Op::MaskToU64);
    if (t == Type::U64 && (ma != nullptr || mb != nullptr) && is_mask_like(a) && is_mask_like(b)) {
      const ValueId x = emit(Op::U64ToMask, Type::Mask, {a});
      const ValueId y = emit(Op::U64ToMask, Type::Mask, {b});
      return emit(Op::MaskToU64, Type::U64, {emit(op, Type::Mask, {x, y})});
    }
    if (op == Op::And)
      if (const Match n = match(b, Op::Not)) return emit(Op::AndNot, t, {a, operand(n, 0)});
    if (op == Op::And)
      if (const Match n = match(a, Op::Not)) return emit(Op::AndNot, t, {b, operand(n, 0)});
    // (x op c) op d -> x op (c op d), for shifts of addresses and flag updates
    u64 c = 0, d = 0;
    if (op != Op::AndNot && is_const(b, &d))
      if (const Match inner = match(a, op); inner != nullptr && is_const(operand(inner, 1), &c)) {
        const ValueId x = operand(inner, 0);
        return emit(op, t, {x, constant(t, op == Op::And ? c & d : op == Op::Or ? c | d : c ^ d)});
      }
    // x & (x & y) -> x & y, the mask algebra of nested conditions
    if (op == Op::And) {
      if (const Match inner = match(b, Op::And);
          inner != nullptr && (operand(inner, 0) == a || operand(inner, 1) == a))
        return b;
      if (const Match inner = match(a, Op::And);
          inner != nullptr && (operand(inner, 0) == b || operand(inner, 1) == b))
        return a;
      if (const Match inner = match(a, Op::AndNot); inner != nullptr && operand(inner, 0) == b) return a;
      if (const Match inner = match(b, Op::AndNot); inner != nullptr && operand(inner, 0) == a) return b;
      if (const ValueId v = compare_in(a, b); v.valid()) return emit(op, t, {a, v});
      if (const ValueId v = compare_in(b, a); v.valid()) return emit(op, t, {b, v});
    }
    // x | (x & y) -> x: the mask behind an if
    if (op == Op::Or)
      for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
        if (const Match inner = match(y, Op::And);
            inner != nullptr && (operand(inner, 0) == x || operand(inner, 1) == x))
          return x;
        if (const Match inner = match(y, Op::AndNot); inner != nullptr && operand(inner, 0) == x) return x;
      }
    // x ^ (x & y) -> x & ~y: how compilers make the other side of a condition
    if (op == Op::Xor) {
      if (const Match inner = match(b, Op::And)) {
        if (operand(inner, 0) == a) return emit(Op::AndNot, t, {a, operand(inner, 1)});
        if (operand(inner, 1) == a) return emit(Op::AndNot, t, {a, operand(inner, 0)});
      }
      if (const Match inner = match(a, Op::And)) {
        if (operand(inner, 0) == b) return emit(Op::AndNot, t, {b, operand(inner, 1)});
        if (operand(inner, 1) == b) return emit(Op::AndNot, t, {b, operand(inner, 0)});
      }
    }
    return {};
  }

  /// Comparison `v` of what its operands are in the lanes of `mask`, if that is the same for all of them: a
  /// scalar condition that went through a VGPR. Else nothing.
  ValueId compare_in(ValueId mask, ValueId v) {
    const Match compared = match(v, Op::ICmp);
    if (compared == nullptr || type(mask) != Type::Mask) return {};
    const auto in_mask = [&](ValueId x) {
      const Match s = match(x, Op::Select);
      return s != nullptr && operand(s, 0) == mask ? operand(s, 1) : x;
    };
    const ValueId a = operand(compared, 0), b = operand(compared, 1), x = in_mask(a), y = in_mask(b);
    if ((x == a && y == b) || !is_repeated(x) || !is_repeated(y)) return {};
    return emit(Op::ICmp, Type::Mask, {x, y}, compared->imm);
  }

  /// `v` without what is or-ed to it and has none of the wanted bits: compilers that do not optimise pack
  /// work-item ids into one register to hand them to functions.
  ValueId part_with(ValueId v, u64 wanted) const {
    for (Match packed = match(v, Op::Or); packed != nullptr; packed = match(v, Op::Or)) {
      const ValueId x = operand(packed, 0), y = operand(packed, 1);
      if ((limits_.ones(x) & wanted) == 0)
        v = y;
      else if ((limits_.ones(y) & wanted) == 0)
        v = x;
      else
        break;
    }
    return v;
  }

  /// x, if `v` is x >> m << m with m up to `n`: x but for some of the lowest n bits, as upper halves are
  /// made.
  ValueId without_low_bits(ValueId v, u64 n, unsigned width) const {
    u64 up = 0, down = 0;
    const Match raised = match(v, Op::Shl);
    if (raised == nullptr || !is_const(operand(raised, 1), &up) || (up & (width - 1)) > n) return {};
    const Match lowered = definition(operand(raised, 0));
    if (lowered == nullptr || (lowered->op != Op::LShr && lowered->op != Op::AShr)) return {};
    const bool same = is_const(operand(lowered, 1), &down) && ((up ^ down) & (width - 1)) == 0;
    return same ? operand(lowered, 0) : ValueId{};
  }

  /// `a` & `kept`, which is the constant `mask`, of the part of a packed value that has those bits.
  ValueId field_of_part(Type t, ValueId a, ValueId mask, u64 kept) {
    if (const ValueId part = part_with(a, kept); part != a) return emit(Op::And, t, {part, mask});
    u64 n = 0;
    const Match shift = match(a, Op::LShr);
    if (shift == nullptr || !is_const(operand(shift, 1), &n)) return {};
    const ValueId packed = operand(shift, 0), amount = operand(shift, 1);
    const ValueId part = part_with(packed, kept << (n & (bit_width(t) - 1)));
    return part == packed ? ValueId{} : emit(Op::And, t, {emit(Op::LShr, t, {part, amount}), mask});
  }

  ValueId fold_not(Type t, ValueId a) {
    if (const Match s = match(a, Op::Splat); s != nullptr && t == Type::Mask)
      return emit(Op::Splat, t, {emit(Op::Not, Type::U1, {operand(s, 0)})});
    if (const Match n = match(a, Op::Not)) return operand(n, 0);
    // ~(x | ~y) -> y & ~x: who goes on with a loop, where registers hold who has left
    if (const Match either = match(a, Op::Or))
      for (const unsigned n : {0u, 1u})
        if (const Match inverted = match(operand(either, n), Op::Not))
          return emit(Op::AndNot, t, {operand(inverted, 0), operand(either, 1 - n)});
    if (const Match m = match(a, Op::MaskToU64)) {
      const ValueId mask = operand(m, 0);
      return emit(Op::MaskToU64, t, {emit(Op::Not, Type::Mask, {mask})});
    }
    if (const Match c = match(a, Op::ICmp)) {
      const ValueId x = operand(c, 0), y = operand(c, 1);
      return emit(Op::ICmp, t, {x, y}, static_cast<u64>(inverse(static_cast<IntPred>(c->imm))));
    }
    return {};
  }

  /// How many of the highest bits of `v` are known to be equal: 1 of any value.
  unsigned sign_bits(ValueId v, unsigned depth = 0) {
    if (sign_bits_.size() <= v.index) sign_bits_.resize(f_.num_values());
    if (sign_bits_[v.index] != 0) return sign_bits_[v.index];
    const unsigned width = bit_width(type(v));
    const auto zeros = static_cast<unsigned>(std::countl_zero(limits_.ones(v))) - (64 - width);
    const Match def = definition(v);
    if (zeros != 0 || def == nullptr || depth == kMaxHalfDepth) return std::max(zeros, 1u);
    const unsigned bits = sign_bits_of(def, width, depth + 1);
    sign_bits_[v.index] = static_cast<u8>(bits);
    return bits;
  }
  unsigned sign_bits_of(const Match& def, unsigned width, unsigned depth) {
    const auto in = [&](unsigned n) { return sign_bits(operand(def, n), depth); };
    u64 n = 0;
    switch (def->op) {
    case Op::Load: return def->mem.sign_extend ? width + 1 - 8 * def->mem.bytes : 1;
    case Op::AShr:
      if (!is_const(operand(def, 1), &n)) return in(0);
      return std::min(width, in(0) + static_cast<unsigned>(n & (width - 1)));
    case Op::Splat:
    case Op::Not: return in(0);
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::SMin:
    case Op::SMax: return std::min(in(0), in(1));
    case Op::Add:
    case Op::Sub: return std::max(std::min(in(0), in(1)), 2u) - 1;
    case Op::Select: return std::min(in(1), in(2));
    default: return 1;
    }
  }

  /// select(c, x, y) << n with constants x, y is a choice of what is there then, of 32 bits if that is
  /// enough: bits of an index into a table, each from a comparison (cubes of a surface 2.5, with AVX2 1.5
  /// times faster).
  ValueId move_choice(Type t, ValueId v, u64 n) {
    const Match extended = is_wide(t) ? match(v, Op::ZExt) : Match{};
    const Match s = match(extended != nullptr ? operand(extended, 0) : v, Op::Select);
    u64 x = 0, y = 0;
    if (s == nullptr || !is_const(operand(s, 1), &x) || !is_const(operand(s, 2), &y)) return {};
    if (extended != nullptr && ((x << n) >> 32 != 0 || (y << n) >> 32 != 0)) return {};
    const Type half = extended != nullptr ? type(operand(extended, 0)) : t;
    const ValueId c = operand(s, 0), first = constant(half, (x << n) & constant_bits(half));
    const ValueId choice = emit(Op::Select, half, {c, first, constant(half, (y << n) & constant_bits(half))});
    return extended != nullptr ? emit(Op::ZExt, t, {choice}) : choice;
  }

  ValueId fold_shift(Op op, Type t, ValueId a, ValueId amount) {
    u64 n = 0, m = 0;
    const unsigned width = bit_width(t);
    if (!is_const(amount, &n)) return {};
    n &= width - 1;
    if (n == 0) return a;
    if (op == Op::Shl)
      if (const ValueId moved = move_choice(t, a, n); moved.valid()) return moved;
    // x << m << n -> x << (m + n), likewise to the right
    if (const Match inner = match(a, op); inner != nullptr && is_const(operand(inner, 1), &m)) {
      m &= width - 1;
      const ValueId x = operand(inner, 0);
      if (n + m < width) return emit(op, t, {x, constant(type(amount), n + m)});
      if (op != Op::AShr) return constant(t, 0);
    }
    if (op != Op::Shl) {
      if (const ValueId part = part_with(a, constant_bits(t) << n); part != a)
        return emit(op, t, {part, amount});
      if (const ValueId x = without_low_bits(a, n, width); x.valid()) return emit(op, t, {x, amount});
    }
    if (op == Op::LShr)
      if (const Match up = match(a, Op::Shl);
          up != nullptr && is_const(operand(up, 1), &m) && (m & (width - 1)) == n)
        if (const ValueId x = operand(up, 0); (limits_.ones(x) & constant_bits(t)) >> (width - n) == 0)
          return x;
    if (op == Op::AShr && width == 32 && limits_.max(a) >> 31 == 0) return emit(Op::LShr, t, {a, amount});
    if (op == Op::LShr && limits_.max(a) >> n == 0) return constant(t, 0);
    if (op == Op::AShr) // the sign extension of what is extended already
      if (const Match up = match(a, Op::Shl);
          up != nullptr && is_const(operand(up, 1), &m) && (m & (width - 1)) == n)
        if (const ValueId x = operand(up, 0); sign_bits(x) > n) return x;
    if (!is_wide(t)) return {};
    // 64-bit shifts of a value whose interesting half is known
    const Type half = half_of(t);
    if (op == Op::AShr && n == 32)
      if (const Match j = match(a, Op::Join)) return emit(Op::SExt, t, {operand(j, 1)}); // join(x, y) >> 32
    // ashr(join(0, x), 32 - k) -> shl(sext(x), k): the index scaling of clang
    if (op == Op::AShr && n < 32)
      if (const Match j = match(a, Op::Join); j != nullptr && is_zero(operand(j, 0)) && n != 0) {
        const ValueId x = emit(Op::SExt, t, {operand(j, 1)});
        return emit(Op::Shl, t, {x, constant(amount_type(t), 32 - n)});
      }
    if (op == Op::LShr && n < 32)
      if (const Match z = match(a, Op::ZExt); z != nullptr && type(operand(z, 0)) == half) {
        const ValueId x = operand(z, 0);
        return emit(Op::ZExt, t, {emit(Op::LShr, half, {x, constant(half, n)})});
      }
    if (op == Op::LShr && n >= 32)
      if (const Match j = match(a, Op::Join);
          j != nullptr && !(t == Type::V64 && n != 32 && is_pair(operand(j, 0), operand(j, 1)))) {
        const ValueId high = operand(j, 1);
        const ValueId shifted = emit(Op::LShr, half, {high, constant(half, n - 32)});
        return emit(Op::ZExt, t, {shifted});
      }
    return {};
  }

  ValueId fold_icmp(IntPred p, Type t, ValueId a, ValueId b) {
    if (a == b) {
      const bool reflexive = p == IntPred::Eq || p == IntPred::ULe || p == IntPred::UGe ||
                             p == IntPred::SLe || p == IntPred::SGe;
      return reflexive ? all_ones(t) : constant(t, 0);
    }
    if (const ValueId v = compare_choice(p, t, a, b); v.valid()) return v;
    if (const ValueId v = ask_for_missing(p, t, a, b); v.valid()) return v;
    if ((p == IntPred::Eq || p == IntPred::Ne) && (is_first_of(a, b) || is_first_of(b, a)))
      return p == IntPred::Eq ? all_ones(t) : constant(t, 0);
    if (const auto known = limits_.compare(p, a, b)) return *known ? all_ones(t) : constant(t, 0);
    if (!is_zero(b) || (p != IntPred::Eq && p != IntPred::Ne)) return {};
    // mask != 0 -> any lane; bool != 0 -> bool
    ValueId truth;
    if (const Match m = match(a, Op::MaskToU64))
      truth = emit(Op::AnyLane, Type::U1, {operand(m, 0)});
    else if (const Match z = match(a, Op::ZExt); z != nullptr && type(operand(z, 0)) == Type::U1)
      truth = operand(z, 0);
    else if (const Match s = match(a, Op::Select); s != nullptr && is_const(operand(s, 1)) &&
                                                   !is_zero(operand(s, 1)) && is_zero(operand(s, 2)) &&
                                                   type(operand(s, 0)) == t)
      truth = operand(s, 0);
    if (!truth.valid()) return {};
    return p == IntPred::Ne ? truth : emit(Op::Not, t, {truth});
  }

  /// v == splat(readfirst(v)), where v is the same in all lanes: compilers ask that of each index of a
  /// register that is in a vector, go round for those that have it, and ask again.
  bool is_first_of(ValueId first, ValueId v) const {
    const Match s = match(first, Op::Splat);
    if (s == nullptr) return false;
    const Match r = match(operand(s, 0), Op::ReadFirst);
    return r != nullptr && operand(r, 0) == v && is_same_in_all_lanes(v, 0);
  }
  bool is_same_in_all_lanes(ValueId v, unsigned depth) const {
    constexpr unsigned kMaxDepth = 8;
    const InstId i = f_.def_id(v);
    if (is_uniform(type(v))) return true;
    if (!i.valid() || depth == kMaxDepth) return false;
    const ir::Inst& inst = f_[i];
    const auto x = f_.operands(i);
    if (inst.op == Op::Const) return type(v) != Type::Mask;
    if (inst.op == Op::Load)
      return (inst.mem.space == Space::Global || inst.mem.space == Space::Lds) && f_.is_full(x.back()) &&
             is_same_in_all_lanes(x[0], depth + 1);
    return (inst.op == Op::Splat || is_lanewise(inst.op)) && type(v) != Type::Mask &&
           std::ranges::all_of(x, [&](ValueId o) { return is_same_in_all_lanes(o, depth + 1); });
  }

  /// compare(select(c, x, y), z) with constants x, y, z is c, not c or a constant: a scalar condition that
  /// went through a VGPR.
  ValueId compare_choice(IntPred p, Type t, ValueId a, ValueId b) {
    const bool swapped = is_const(a);
    const Match s = match(swapped ? b : a, Op::Select);
    u64 x = 0, y = 0, z = 0;
    if (s == nullptr || !is_const(swapped ? a : b, &z) || !is_const(operand(s, 1), &x) ||
        !is_const(operand(s, 2), &y))
      return {};
    const auto outcome = [&](u64 v) {
      const u64 operands[] = {swapped ? z : v, swapped ? v : z};
      return *evaluate(Op::ICmp, Type::U1, type(a), static_cast<u64>(p), operands) != 0;
    };
    const bool if_true = outcome(x), if_false = outcome(y);
    if (if_true == if_false) return if_true ? all_ones(t) : constant(t, 0);
    ValueId c = operand(s, 0);
    if (type(c) != t) c = type(c) == Type::U1 ? emit(Op::Splat, t, {c}) : ValueId{};
    if (!c.valid()) return {};
    return if_true ? c : emit(Op::Not, t, {c});
  }

  /// select(c, x, none) != none is c && x != none, as of an index that is -1 where there is none: that says
  /// that what is done then is done in lanes of c only. Not of zero, which EXEC's selects have for registers
  /// that nothing was written to: they go by themselves.
  ValueId ask_for_missing(IntPred p, Type t, ValueId a, ValueId b) {
    const ValueId none = is_const(b) ? b : a;
    const Match s = match(is_const(b) ? a : b, Op::Select);
    u64 missing = 0, other = 0;
    if ((p != IntPred::Eq && p != IntPred::Ne) || s == nullptr || !is_const(none, &missing) ||
        !is_const(operand(s, 2), &other) || missing != other || missing == 0 || type(operand(s, 0)) != t ||
        t != Type::Mask)
      return {};
    const ValueId there = emit(Op::ICmp, t, {operand(s, 1), none}, static_cast<u64>(IntPred::Ne));
    const ValueId both = emit(Op::And, t, {operand(s, 0), there});
    return p == IntPred::Ne ? both : emit(Op::Not, t, {both});
  }

  /// x * 2^n, which is rounded once as well, where 2^n is a normal number
  ValueId fold_ldexp(const FpAttr& fp, Type t, ValueId x, ValueId amount) {
    u64 bits = 0;
    if (fp.kind == FloatKind::F16 || !is_const(amount, &bits)) return {};
    const bool wide = fp.kind == FloatKind::F64;
    const i64 n = static_cast<i32>(bits), largest = wide ? 1023 : 127;
    if (n < 1 - largest || n > largest) return {};
    Inst product;
    product.op = Op::FMul;
    product.fp = fp;
    return emit(product, t, {x, constant(t, static_cast<u64>(n + largest) << (wide ? 52 : 23))});
  }
  /// x * select(c, a, 1) -> select(c, x * a, x), where that leaves x as it is: a multiplication by some
  /// lanes.
  ValueId fold_fmul(const FpAttr& fp, Type t, ValueId x, ValueId y) {
    for (int n = 0; n < 2; ++n, std::swap(x, y)) {
      const Match s = match(y, Op::Select);
      if (s == nullptr || type(operand(s, 0)) != Type::Mask || !is_result_of(fp, x)) continue;
      const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
      Inst product;
      product.op = Op::FMul;
      product.fp = fp;
      if (is_one(fp, b)) return emit(Op::Select, t, {c, emit(product, t, {x, a}), x});
      if (is_one(fp, a)) return emit(Op::Select, t, {c, x, emit(product, t, {x, b})});
    }
    return {};
  }
  bool is_one(const FpAttr& fp, ValueId v) const {
    u64 bits = 0;
    return is_const(v, &bits) && (fp.kind == FloatKind::F32   ? bits == std::bit_cast<u32>(1.0F)
                                  : fp.kind == FloatKind::F64 ? bits == std::bit_cast<u64>(1.0)
                                                              : bits == 0x3c00);
  }
  /// Whether `v` comes from arithmetic with these attributes: then it is quiet, and flushed if they flush.
  bool is_result_of(const FpAttr& fp, ValueId v) const {
    const Match m = definition(v);
    if (m == nullptr || m->fp.kind != fp.kind || ((fp.flush_in || fp.flush_out) && !m->fp.flush_out))
      return false;
    switch (m->op) {
    case Op::FAdd:
    case Op::FSub:
    case Op::FMul:
    case Op::FDiv:
    case Op::FFma:
    case Op::FSqrt:
    case Op::FRsq:
    case Op::FRcp: return true;
    default: return false;
    }
  }
  ValueId fold_select(Type t, ValueId c, ValueId a, ValueId b) {
    if (a == b || is_ones(c)) return a;
    if (is_zero(c)) return b;
    if (const Match n = match(c, Op::Not)) return emit(Op::Select, t, {operand(n, 0), b, a});
    if (type(c) == Type::U1 && is_vector(t)) // of values that are the same in all lanes
      if (const ValueId x = as_uniform(a), y = x.valid() ? as_uniform(b) : ValueId{}; y.valid())
        return emit(Op::Splat, t, {emit(Op::Select, type(x), {c, x, y})});
    if (const ValueId sum = select_addend(t, c, a, b); sum.valid()) return sum;
    if (const ValueId sum = select_either(t, c, a, b); sum.valid()) return sum;
    if (type(c) == Type::Mask)
      if (const Match s = match(c, Op::Splat)) return emit(Op::Select, t, {operand(s, 0), a, b});
    // select(c, select(c, x, y), b) -> select(c, x, b) and its mirror: repeated writes under one EXEC
    if (const Match s = match(a, Op::Select); s != nullptr && operand(s, 0) == c)
      return emit(Op::Select, t, {c, operand(s, 1), b});
    if (const Match s = match(b, Op::Select); s != nullptr && operand(s, 0) == c)
      return emit(Op::Select, t, {c, a, operand(s, 2)});
    // select(c, select(m, 1, 0), 0) -> select(m & c, 1, 0): yes or no, as functions return it
    if (const Match s = match(a, Op::Select); s != nullptr && type(c) == Type::Mask && is_zero(b))
      if (u64 yes = 0; type(operand(s, 0)) == Type::Mask && is_const(operand(s, 1), &yes) && yes == 1 &&
                       is_zero(operand(s, 2)))
        return emit(Op::Select, t, {emit(Op::And, Type::Mask, {operand(s, 0), c}), operand(s, 1), b});
    if (t == Type::Mask || t == Type::U1) {
      if (is_ones(a) && is_zero(b) && type(c) == t) return c;
      if (type(c) == t && is_zero(b)) return emit(Op::And, t, {a, c});
      if (type(c) == t && is_zero(a)) return emit(Op::AndNot, t, {b, c});
      if (type(c) == t && is_ones(a)) return emit(Op::Or, t, {c, b});
    }
    // select(c, mask_to_u64 x, mask_to_u64 y) is a select of masks
    if (t == Type::U64 && is_mask_like(a) && is_mask_like(b) && !(is_const(a) && is_const(b))) {
      const ValueId x = emit(Op::U64ToMask, Type::Mask, {a});
      const ValueId y = emit(Op::U64ToMask, Type::Mask, {b});
      return emit(Op::MaskToU64, t, {emit(Op::Select, Type::Mask, {c, x, y})});
    }
    return {};
  }
  /// select(c, x + y, x + z) -> x + select(c, y, z), where y and z are the same in all lanes, and so is c: an
  /// index into one of two arrays. What differs from lane to lane is seen again.
  ValueId select_addend(Type t, ValueId c, ValueId a, ValueId b) {
    const Match first = match(a, Op::Add), second = match(b, Op::Add);
    if (type(c) != Type::U1 || !is_vector(t) || first == nullptr || second == nullptr) return {};
    for (const unsigned n : {0u, 1u})
      for (const unsigned k : {0u, 1u}) {
        if (operand(first, n) != operand(second, k)) continue;
        const ValueId x = operand(first, n), y = operand(first, 1 - n), z = operand(second, 1 - k);
        if (as_uniform(y).valid() && as_uniform(z).valid())
          return emit(Op::Add, t, {x, emit(Op::Select, t, {c, y, z})});
      }
    return {};
  }
  /// select(c, y + k, y), y = select(d, x + k, x) -> select(c | d, x + k, x) for comparisons of scalars that
  /// exclude each other: where the next of two sorted lists is chosen, one of them goes on, or both, and the
  /// next loads wait for the choice.
  ValueId select_either(Type t, ValueId c, ValueId a, ValueId b) {
    const Match last = match(a, Op::Add), chosen = match(b, Op::Select);
    if (is_per_lane(type(c)) || last == nullptr || chosen == nullptr) return {};
    const ValueId d = operand(chosen, 0), sum = operand(chosen, 1), x = operand(chosen, 2);
    const Match first = match(sum, Op::Add);
    if (first == nullptr || type(d) != type(c)) return {};
    const auto adds = [&](Match add, ValueId to, u64& k) {
      return (operand(add, 0) == to && is_const(operand(add, 1), &k)) ||
             (operand(add, 1) == to && is_const(operand(add, 0), &k));
    };
    u64 k = 0, same = 0;
    if (!adds(last, b, k) || !adds(first, x, same) || k != same) return {};
    const ValueId both = fold_comparisons(Op::And, type(c), c, d);
    if (!both.valid() || !is_zero(both)) return {};
    return emit(Op::Select, t, {fold_comparisons(Op::Or, type(c), c, d), sum, x});
  }
  ValueId fold_bitselect(Type t, ValueId c, ValueId a, ValueId b) {
    if (a == b || is_ones(c)) return a;
    if (is_zero(c)) return b;
    if (is_zero(b)) return emit(Op::And, t, {c, a});
    if (is_zero(a)) return emit(Op::AndNot, t, {b, c});
    return {};
  }

  /// min(x == 0 ? ~0 : clz(x), 32) -> clz(x), and ctz: what counts zeros on the GPU has -1 for none.
  ValueId fold_umin(Type t, ValueId a, ValueId b) {
    u64 most = 0;
    if (is_const(a)) std::swap(a, b);
    const Match s = match(a, Op::Select);
    if (s == nullptr || !is_const(b, &most) || most != bit_width(t) || !is_ones(operand(s, 1))) return {};
    const ValueId count = operand(s, 2);
    const Match is_none = match(operand(s, 0), Op::ICmp), leading = match(count, Op::CountLz);
    const Match counts = leading != nullptr ? leading : match(count, Op::CountTz);
    if (is_none == nullptr || counts == nullptr || static_cast<IntPred>(is_none->imm) != IntPred::Eq)
      return {};
    const ValueId x = operand(counts, 0), l = operand(is_none, 0), r = operand(is_none, 1);
    return (l == x && is_zero(r)) || (r == x && is_zero(l)) ? count : ValueId{};
  }

  /// max(a, min(x, c)) -> a for a constant c that is no more than a, and its mirror: a median between
  /// constants limits, and then takes nothing else.
  ValueId fold_extreme(Op op, ValueId a, ValueId b) const {
    for (int n = 0; n < 2; ++n, std::swap(a, b))
      if (const Match limited = match(b, opposite(op)))
        for (const unsigned m : {0u, 1u})
          if (u64 c = 0; is_const(operand(limited, m), &c) && reaches(op, a, c, 0)) return a;
    return {};
  }
  static Op opposite(Op op) {
    return op == Op::SMin ? Op::SMax : op == Op::SMax ? Op::SMin : op == Op::UMin ? Op::UMax : Op::UMin;
  }
  /// op(v, c) is known to be v.
  bool reaches(Op op, ValueId v, u64 c, unsigned depth) const {
    if (u64 bits = 0; is_const(v, &bits)) {
      const std::array x = {bits, c};
      return evaluate(op, type(v), type(v), 0, x) == bits;
    }
    if (depth == kMaxHalfDepth) return false;
    const auto in = [&](const Match& m, unsigned n) { return reaches(op, operand(m, n), c, depth + 1); };
    if (const Match m = match(v, op)) return in(m, 0) || in(m, 1);
    const Match m = match(v, opposite(op));
    return m != nullptr && in(m, 0) && in(m, 1);
  }

  /// readlane(writelane(old, x, k), j), how compilers spill scalars: k == j -> x; both known and different ->
  /// readlane(old, j).
  ValueId fold_readlane(ValueId v, ValueId lane) {
    if (const Match s = match(v, Op::Splat)) return operand(s, 0);
    if (is_const(v)) return const_as_uniform(v);
    u64 j = 0, k = 0;
    const Match w = match(v, Op::WriteLane);
    if (w == nullptr || !is_const(lane, &j) || !is_const(operand(w, 2), &k)) return {};
    if ((j & 63) == (k & 63)) return operand(w, 1);
    return emit(Op::ReadLane, Type::U32, {operand(w, 0), lane});
  }

  /// The first lane of m, or lane 0: of select(m, x, y), x if m has a lane, else y.
  ValueId fold_readfirst(ValueId v, ValueId m) {
    if (const ValueId u = as_uniform(v); u.valid()) return u;
    const Match s = match(v, Op::Select);
    if (s == nullptr || operand(s, 0) != m) return {};
    const ValueId x = as_uniform(operand(s, 1)), y = x.valid() ? as_uniform(operand(s, 2)) : ValueId{};
    return y.valid() ? emit(Op::Select, type(x), {emit(Op::AnyLane, Type::U1, {m}), x, y}) : ValueId{};
  }

  /// Where all lanes pull from one: what that lane has, once for all.
  ValueId fold_bpermute(ValueId address, ValueId v, ValueId m) {
    const ValueId u = as_uniform(address);
    if (!u.valid() || is_gang(type(u))) return {};
    const ValueId lane = emit(Op::LShr, Type::U32, {u, constant(Type::U32, 2)});
    const ValueId there = emit(Op::Select, Type::V32, {m, v, constant(Type::V32, 0)});
    return emit(Op::Splat, Type::V32, {emit(Op::ReadLane, Type::U32, {there, lane})});
  }

  // --- control

  /// `asked` is its condition as it was. What gangs may decide is whether they have lanes of that mask, not
  /// whether the wave has some of another one.
  void fold_branch(InstId i, ValueId asked) {
    ValueId c = f_.operands(i)[0];
    auto& successors = f_[block_].successors;
    if (c != asked) f_[i].imm = phases::decided_by_wave(f_[i].imm);
    if (const Match n = match(c, Op::Not)) {
      c = operand(n, 0);
      f_.operands(i)[0] = c;
      std::swap(successors[0], successors[1]);
    }
    u64 bits = 0;
    if (!is_const(c, &bits)) return keep(i);
    Successor target = std::move(successors[bits != 0 ? 0 : 1]);
    successors.clear();
    successors.push_back(std::move(target));
    f_[i].op = Op::Jump;
    f_.set_operands(i, {});
    keep(i);
  }
};

} // namespace

void fold(Function& f) { Folder(f).run(); }

} // namespace lanewise::passes
