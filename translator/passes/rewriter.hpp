// Replacing instructions by sequences: what legalisation rules are written with.
#pragma once

#include "translator/ir/ir.hpp"

#include <algorithm>
#include <map>

namespace lanewise::passes {

/// Emits instructions in front of the one that is being replaced, at its guest address and with its FpAttr.
class Rewriter {
public:
  explicit Rewriter(ir::Function& f) : f_(f) {}

  /// Starts to replace instruction `i`; what is emitted goes to `out` and into i's block.
  void begin(ir::InstId i, std::vector<ir::InstId>& out) {
    pc_ = f_[i].pc;
    block_ = f_[i].block;
    fp = f_[i].fp;
    out_ = &out;
  }

  ir::FpAttr fp; ///< attributes of the F* ops emitted next

  [[nodiscard]] ir::Function& function() const { return f_; }
  [[nodiscard]] ir::Type type(ir::ValueId v) const { return f_.type(v); }

  ir::ValueId op(ir::Op o, ir::Type t, std::initializer_list<ir::ValueId> x, u64 imm = 0);
  /// The eight bytes at address (v64) + offset in each lane of `mask`.
  ir::ValueId load64(ir::ValueId address, ir::ValueId mask, u64 offset);
  ir::ValueId constant(ir::Type t, u64 bits) { return op(ir::Op::Const, t, {}, bits); }
  ir::ValueId v32(u32 bits) { return constant(ir::Type::V32, bits); }
  ir::ValueId f32(float x) { return v32(std::bit_cast<u32>(x)); }
  ir::ValueId f64(double x) { return constant(ir::Type::V64, std::bit_cast<u64>(x)); }
  /// Same type as `a`.
  ir::ValueId same(ir::Op o, ir::ValueId a, ir::ValueId b) { return op(o, type(a), {a, b}); }
  ir::ValueId same(ir::Op o, ir::ValueId a) { return op(o, type(a), {a}); }
  ir::ValueId and_(ir::ValueId a, u64 bits) { return same(ir::Op::And, a, constant(type(a), bits)); }
  ir::ValueId or_(ir::ValueId a, u64 bits) { return same(ir::Op::Or, a, constant(type(a), bits)); }
  ir::ValueId shl(ir::ValueId a, unsigned n) { return same(ir::Op::Shl, a, v32(n)); }
  ir::ValueId lshr(ir::ValueId a, unsigned n) { return same(ir::Op::LShr, a, v32(n)); }
  ir::ValueId ashr(ir::ValueId a, unsigned n) { return same(ir::Op::AShr, a, v32(n)); }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return same(ir::Op::Add, a, b); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return same(ir::Op::Sub, a, b); }
  ir::ValueId fadd(ir::ValueId a, ir::ValueId b) { return same(ir::Op::FAdd, a, b); }
  ir::ValueId fsub(ir::ValueId a, ir::ValueId b) { return same(ir::Op::FSub, a, b); }
  ir::ValueId fmul(ir::ValueId a, ir::ValueId b) { return same(ir::Op::FMul, a, b); }
  ir::ValueId fdiv(ir::ValueId a, ir::ValueId b) { return same(ir::Op::FDiv, a, b); }
  ir::ValueId fma(ir::ValueId a, ir::ValueId b, ir::ValueId c) {
    return op(ir::Op::FFma, type(a), {a, b, c});
  }
  ir::ValueId select(ir::ValueId m, ir::ValueId a, ir::ValueId b) {
    return op(ir::Op::Select, type(a), {m, a, b});
  }
  ir::ValueId icmp(ir::IntPred p, ir::ValueId a, ir::ValueId b) {
    return op(ir::Op::ICmp, ir::Type::Mask, {a, b}, static_cast<u64>(p));
  }
  ir::ValueId is_zero_bits(ir::ValueId a) { return icmp(ir::IntPred::Eq, a, constant(type(a), 0)); }
  /// Float comparison by the outcomes that make it true.
  ir::ValueId fcmp(ir::FloatPred p, ir::ValueId a, ir::ValueId b) {
    return op(ir::Op::FCmp, ir::Type::Mask, {a, b}, p);
  }
  ir::ValueId mask_and(ir::ValueId a, ir::ValueId b) { return same(ir::Op::And, a, b); }
  ir::ValueId mask_or(ir::ValueId a, ir::ValueId b) { return same(ir::Op::Or, a, b); }
  ir::ValueId mask_not(ir::ValueId a) { return same(ir::Op::Not, a); }

private:
  ir::Function& f_;
  std::vector<ir::InstId>* out_ = nullptr;
  u32 pc_ = 0;
  ir::BlockId block_;
};

inline constexpr ir::FloatPred kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

// The rules, one per op; each returns the value that replaces the instruction's (first) result.
ir::ValueId lower_exp2(Rewriter& r, ir::ValueId x);
ir::ValueId lower_log2(Rewriter& r, ir::ValueId x);
/// sin(2 pi x) for quarter 0, cos(2 pi x) for quarter 1.
ir::ValueId lower_sine(Rewriter& r, ir::ValueId x, unsigned quarter);
ir::ValueId lower_rcp(Rewriter& r, ir::ValueId x);
ir::ValueId lower_rsq(Rewriter& r, ir::ValueId x);
/// Returns the value; `mask` receives the second result.
ir::ValueId lower_div_scale(Rewriter& r, ir::ValueId s0, ir::ValueId s1, ir::ValueId s2, ir::ValueId& mask);
ir::ValueId lower_div_fmas(Rewriter& r, ir::ValueId a, ir::ValueId b, ir::ValueId c, ir::ValueId scale);
ir::ValueId lower_div_fixup(Rewriter& r, ir::ValueId quotient, ir::ValueId denominator,
                            ir::ValueId numerator);
ir::ValueId lower_frexp_exp(Rewriter& r, ir::ValueId x);
ir::ValueId lower_frexp_mant(Rewriter& r, ir::ValueId x);
ir::ValueId lower_class(Rewriter& r, ir::ValueId x, ir::ValueId classes);
ir::ValueId lower_trig_preop(Rewriter& r, ir::ValueId x, ir::ValueId segment);

/// Whether the median, with `r.fp`, is max and min: between constants, the larger one last. A NaN becomes the
/// smaller, the minimum, and a signalling one the last, as min(quiet NaN, last) is. That the larger is above
/// 0, flushed or not, leaves zeros to the first.
bool is_limited(const Rewriter& r, ir::ValueId a, ir::ValueId b, ir::ValueId c);

/// A denormal f32 becomes a zero of its sign, whatever MODE says; nothing is emitted where MODE does it.
ir::ValueId flushed_f32(Rewriter& r, ir::ValueId x, bool mode_does_it);

/// Whether `wanted` holds of an instruction: most functions have none of what some passes look for.
template <class F>
bool has_any(const ir::Function& f, F wanted) {
  return std::ranges::any_of(f.blocks, [&](const ir::Block& b) {
    return std::ranges::any_of(b.insts, [&](ir::InstId i) { return wanted(f[i]); });
  });
}

/// Calls `replacement(i, out)` for every instruction. It returns what takes the place of i's result, which it
/// may emit to `out`, or an invalid value.
template <class F>
void replace_results(ir::Function& f, F replacement) {
  std::vector<ir::ValueId> map(f.num_values());
  for (ir::Block& block : f.blocks) {
    std::vector<ir::InstId> out;
    out.reserve(block.insts.size());
    for (const ir::InstId i : block.insts) {
      if (const ir::ValueId v = replacement(i, out); v.valid()) {
        map.resize(f.num_values());
        map[f.result(i).index] = v;
      }
      out.push_back(i);
    }
    block.insts = std::move(out);
  }
  map.resize(f.num_values());
  f.replace_values(map);
}

/// Calls `replacement(rewriter, i, what)` for what has been found of instructions. It returns what takes the
/// place of i's result.
template <class T, class F>
void replace_found(ir::Function& f, const std::map<ir::InstId, T>& found, F replacement) {
  Rewriter r(f);
  replace_results(f, [&](ir::InstId i, std::vector<ir::InstId>& out) -> ir::ValueId {
    const auto at = found.find(i);
    if (at == found.end()) return {};
    r.begin(i, out);
    return replacement(r, i, at->second);
  });
}

} // namespace lanewise::passes
