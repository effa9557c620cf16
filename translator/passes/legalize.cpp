// Legalisation: ops that have no short instruction sequence of their own become simpler ops. One walk; the
// rules are in legalize_*.cpp.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace lanewise::passes {

using namespace ir;

ValueId Rewriter::op(Op o, Type t, std::initializer_list<ValueId> x, u64 imm) {
  Inst proto;
  proto.op = o;
  proto.imm = imm;
  proto.pc = pc_;
  if (info(o).is(kFloat)) proto.fp = fp;
  const InstId i = f_.make(proto, {x.begin(), x.size()}, {&t, 1});
  f_[i].block = block_;
  out_->push_back(i);
  return f_.result(i);
}

ValueId Rewriter::load64(ValueId address, ValueId mask, u64 offset) {
  Inst proto;
  proto.op = Op::Load;
  proto.imm = offset;
  proto.pc = pc_;
  proto.mem.bytes = 8;
  const ValueId x[] = {address, mask};
  const Type results[] = {Type::V32, Type::V32};
  const InstId i = f_.make(proto, x, results);
  f_[i].block = block_;
  out_->push_back(i);
  return op(Op::Join, Type::V64, {f_.result(i, 0), f_.result(i, 1)});
}

namespace {

/// 0 * anything is +0, else the product (7nm guide, V_MUL_LEGACY_F32).
ValueId lower_mul_legacy(Rewriter& r, ValueId a, ValueId b) {
  const ValueId zero = r.constant(r.type(a), 0);
  const ValueId any_zero = r.mask_or(r.fcmp(kEqual, a, zero), r.fcmp(kEqual, b, zero));
  return r.select(any_zero, zero, r.fmul(a, b));
}

/// The float that `v` is in all lanes, unless that is NaN.
std::optional<float> number(const Rewriter& r, ValueId v) {
  u64 bits = 0;
  if (!r.function().is_const(v, &bits)) return {};
  const auto x = std::bit_cast<float>(static_cast<u32>(bits));
  return std::isnan(x) ? std::nullopt : std::optional(x);
}

} // namespace

bool is_limited(const Rewriter& r, ValueId a, ValueId b, ValueId c) {
  if (r.fp.kind != FloatKind::F32) return false;
  const auto low = number(r, number(r, a) ? a : b), high = number(r, c);
  return low && high && *high >= std::numeric_limits<float>::min() && *low <= *high;
}

namespace {

/// The guide's formula (V_MED3_F32); with a NaN it is the minimum of all.
ValueId lower_med3(Rewriter& r, ValueId a, ValueId b, ValueId c) {
  if (is_limited(r, a, b, c)) {
    const bool first = number(r, a).has_value();
    return r.same(Op::FMin, r.same(Op::FMax, first ? b : a, first ? a : b), c);
  }
  const auto max = [&](ValueId x, ValueId y) { return r.same(Op::FMax, x, y); };
  const auto min = [&](ValueId x, ValueId y) { return r.same(Op::FMin, x, y); };
  const ValueId nan = r.mask_or(r.fcmp(kUnordered, a, b), r.fcmp(kUnordered, c, c));
  const ValueId smallest = min(min(a, b), c);
  // Without NaNs, quiet operands are the same, and quick to compare.
  if (r.fp.kind != FloatKind::F16 && r.fp.flush_in == r.fp.flush_out)
    for (ValueId* x : {&a, &b, &c}) *x = r.same(Op::FCanonical, *x);
  const ValueId larger = max(a, b), largest = max(larger, c);
  ValueId value = r.select(r.fcmp(kEqual, largest, b), max(a, c), larger);
  value = r.select(r.fcmp(kEqual, largest, a), max(b, c), value);
  return r.select(nan, smallest, value);
}

/// min(x - floor(x), the largest value below 1); a NaN (infinities too) stays.
ValueId lower_fract(Rewriter& r, ValueId x) {
  ValueId below_one;
  switch (r.fp.kind) {
  case FloatKind::F16: below_one = r.v32(0x3bff); break;
  case FloatKind::F32: below_one = r.v32(0x3f7f'ffff); break;
  case FloatKind::F64: below_one = r.constant(Type::V64, 0x3fef'ffff'ffff'ffffu); break;
  }
  const ValueId fraction = r.fsub(x, r.same(Op::FFloor, x));
  return r.select(r.fcmp(kGreater, fraction, below_one), below_one, fraction);
}

/// v_ldexp_f16: the scaled value is exact in f32 before its one rounding, for every amount that can matter.
ValueId lower_ldexp_f16(Rewriter& r, ValueId x, ValueId amount) {
  const FpAttr mode = r.fp;
  const ValueId wide = r.op(Op::FpToFp, Type::V32, {x}, static_cast<u64>(FloatKind::F32));
  const ValueId clamped = r.same(Op::SMin, r.same(Op::SMax, amount, r.v32(static_cast<u32>(-64))), r.v32(64));
  r.fp.kind = FloatKind::F32;
  const ValueId scaled = r.op(Op::FLdexp, Type::V32, {wide, clamped});
  const ValueId result = r.op(Op::FpToFp, Type::V32, {scaled}, static_cast<u64>(FloatKind::F16));
  r.fp = mode;
  return result;
}

/// v_sqrt_f32 flushes denormal operands whatever MODE says.
ValueId lower_sqrt(Rewriter& r, ValueId x) { return r.same(Op::FSqrt, flushed_f32(r, x, false)); }

class Legalizer {
public:
  explicit Legalizer(Function& f) : f_(f), r_(f), flushes_(most_flush()) {}

  void run() {
    std::vector<ValueId> x;
    for (u32 b = 0; b < f_.num_blocks(); ++b) {
      const std::vector<InstId>& old = f_.blocks[b].insts;
      out_.clear();
      for (const InstId i : old) {
        if (is_of_whole_numbers(i) || is_alike_with_zero(i))
          f_[i].fp.flush_in = f_[i].fp.flush_out = flushes_;
        r_.begin(i, out_);
        const Inst inst = f_[i];
        const auto operands = f_.operands(i);
        x.assign(operands.begin(), operands.end());
        ValueId second;
        const ValueId v = lower(inst, x, second);
        if (!v.valid()) {
          out_.push_back(i);
          continue;
        }
        replace(inst.first_result, v);
        if (second.valid()) replace(f_.result(i, 1), second);
        f_[i].block = BlockId{};
      }
      f_.blocks[b].insts = out_;
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  Function& f_;
  Rewriter r_;
  std::vector<InstId> out_;
  std::vector<ValueId> map_;
  bool flushes_; ///< so does most of the kernel's f32 arithmetic

  static bool approximates(Op op) {
    return op == Op::FExp2 || op == Op::FLog2 || op == Op::FRcp || op == Op::FRsq || op == Op::FSqrt ||
           op == Op::FSin || op == Op::FCos;
  }
  bool most_flush() const {
    int votes = 0;
    for (const Block& b : f_.blocks)
      for (const InstId i : b.insts) {
        const Inst& inst = f_[i];
        if (!info(inst.op).is(kFloat) || inst.fp.kind != FloatKind::F32 || approximates(inst.op)) continue;
        votes += inst.fp.flush_in && inst.fp.flush_out ? 1 : -1;
      }
    return votes > 0;
  }

  /// For sequences in which a denormal can be no more than an operand, and then makes no difference: as what
  /// surrounds them, since to change MXCSR takes as long as several operations.
  void flush_as_most() {
    if (r_.fp.kind == FloatKind::F32 && r_.fp.round == Round::NearestEven)
      r_.fp.flush_in = r_.fp.flush_out = flushes_;
  }

  /// Arithmetic that neither meets nor makes a denormal, as that of integer divisions by way of f32.
  bool is_of_whole_numbers(InstId i) const {
    return (f_[i].op == Op::FCmp || is_sum_or_product(f_[i].op)) && f_[i].fp.kind == FloatKind::F32 &&
           std::ranges::all_of(f_.operands(i), [&](ValueId x) { return is_whole_number(x, 0); });
  }
  /// A comparison with a constant of which a denormal is on the same side as 0.
  bool is_alike_with_zero(InstId i) const {
    return f_[i].op == Op::FCmp && f_[i].fp.kind == FloatKind::F32 &&
           std::ranges::any_of(f_.operands(i), [&](ValueId x) {
             const auto c = number(r_, x);
             return c && std::abs(*c) >= std::numeric_limits<float>::min();
           });
  }
  static bool is_sum_or_product(Op op) {
    return op == Op::FAdd || op == Op::FSub || op == Op::FMul || op == Op::FFma;
  }
  /// Or infinite, or a NaN. What is rounded to f32 stays one.
  bool is_whole_number(ValueId v, unsigned depth) const {
    constexpr unsigned kMaxDepth = 4;
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth == kMaxDepth) return false;
    const auto in = [&](unsigned n) { return is_whole_number(f_.operands(i)[n], depth + 1); };
    const Op op = f_[i].op;
    if (const auto x = number(r_, v)) return *x == std::trunc(*x);
    if (op == Op::Xor || op == Op::And) // the sign changes, or goes
      return (is_sign_mask(f_.operands(i)[1], op) && in(0)) || (is_sign_mask(f_.operands(i)[0], op) && in(1));
    if (op == Op::Select) return in(1) && in(2);
    if (!info(op).is(kFloat) || f_[i].fp.kind != FloatKind::F32) return false;
    switch (op) {
    case Op::UIToFp:
    case Op::SIToFp:
    case Op::FTrunc:
    case Op::FFloor:
    case Op::FCeil:
    case Op::FRndne: return true;
    default: return is_sum_or_product(op) && in(0) && in(1) && (op != Op::FFma || in(2));
    }
  }
  bool is_sign_mask(ValueId v, Op op) const {
    u64 bits = 0;
    return f_.is_const(v, &bits) && bits == (op == Op::Xor ? 0x8000'0000u : 0x7fff'ffffu);
  }

  void replace(ValueId from, ValueId to) {
    map_.resize(f_.num_values());
    map_[from.index] = to;
  }

  ValueId lower(const Inst& inst, const std::vector<ValueId>& x, ValueId& second) {
    switch (inst.op) {
    case Op::FMulLegacy: return lower_mul_legacy(r_, x[0], x[1]);
    case Op::FMed3: return lower_med3(r_, x[0], x[1], x[2]);
    case Op::FFract: return lower_fract(r_, x[0]);
    case Op::FRcp: return lower_rcp(r_, x[0]);
    case Op::FRsq: return lower_rsq(r_, x[0]);
    case Op::FExp2: return flush_as_most(), lower_exp2(r_, x[0]);
    case Op::FLog2: return flush_as_most(), lower_log2(r_, x[0]);
    case Op::FSin: return lower_sine(r_, x[0], 0);
    case Op::FCos: return lower_sine(r_, x[0], 1);
    case Op::FrexpExp: return lower_frexp_exp(r_, x[0]);
    case Op::FrexpMant: return lower_frexp_mant(r_, x[0]);
    case Op::FClass: return lower_class(r_, x[0], x[1]);
    case Op::DivScale: return lower_div_scale(r_, x[0], x[1], x[2], second);
    case Op::DivFmas: return lower_div_fmas(r_, x[0], x[1], x[2], x[3]);
    case Op::DivFixup: return lower_div_fixup(r_, x[0], x[1], x[2]);
    case Op::TrigPreop: return lower_trig_preop(r_, x[0], x[1]);
    case Op::FLdexp: return inst.fp.kind == FloatKind::F16 ? lower_ldexp_f16(r_, x[0], x[1]) : ValueId{};
    case Op::FSqrt:
      return inst.fp.kind == FloatKind::F32 && !inst.fp.flush_in ? lower_sqrt(r_, x[0]) : ValueId{};
    default: return {};
    }
  }
};

} // namespace

void legalize(Function& f) { Legalizer(f).run(); }

} // namespace lanewise::passes
