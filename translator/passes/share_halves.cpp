// Products of 64 bits and more, in vectors. GPU code makes them of products of halves, and takes sums apart
// to go on with one half; each half is a shuffle away from the whole. But x86 multiplies the lower halves of
// qwords and looks at nothing else there, so that a half of what is at hand as a whole costs nothing where it
// is multiplied again, and next to nothing where it is extended:
//  - an operand of such a product or extension that is the low half of a sum or product which there is as a
//    whole becomes just that, lo(whole);
//  - zext(umulhi(a, b)) is the whole product, shifted;
//  - hi(umul_wide(a, b)) of a product that nobody wants as a whole is umulhi(a, b).
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What a block computes, numbered so that equal low halves have equal numbers.
class HalfSharer {
public:
  explicit HalfSharer(Function& f) : f_(f), r_(f), uses_(f.use_counts()) {}

  void run() {
    for (Block& block : f_.blocks) {
      keys_.clear();
      numbers_.clear();
      wholes_.clear();
      lows_.clear();
      std::vector<InstId> old;
      old.swap(block.insts);
      for (const InstId i : old) {
        r_.begin(i, block.insts);
        visit(i);
        block.insts.push_back(i);
      }
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  using Number = u32;

  Function& f_;
  Rewriter r_;
  std::vector<u32> uses_;
  std::vector<ValueId> map_;
  std::map<std::tuple<Op, u64, u64>, Number> keys_;
  std::map<ValueId, Number> numbers_; ///< of dwords, and of the low halves of qwords; others have their own
  std::map<Number, ValueId> wholes_;  ///< what is computed with such a low half
  std::map<ValueId, ValueId> lows_;   ///< the low halves of those that have been asked for

  Number key(Op op, u64 a, u64 b) {
    if (info(op).is(kCommutes) && b < a) std::swap(a, b);
    return keys_.try_emplace({op, a, b}, 0x8000'0000u + static_cast<u32>(keys_.size())).first->second;
  }
  Number number(ValueId v) {
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return key(Op::Const, static_cast<u32>(bits), 0);
    const auto at = numbers_.find(v);
    return at != numbers_.end() ? at->second : v.index;
  }

  void visit(InstId i) {
    const Op op = f_[i].op;
    if (f_[i].num_results != 1) return;
    const ValueId result = f_.result(i);
    const Type t = f_.type(result);
    if (t == Type::V64 && takes_halves(op)) share_operands(i);
    const auto x = f_.operands(i);
    if (t == Type::V32) {
      if (is_bitwise_from_below(op)) numbers_[result] = key(op, number(x[0]), number(x[1]));
      if (op == Op::Lo) numbers_[result] = number(x[0]);
      if (op == Op::Hi) replace_high_half(i);
    } else if (t == Type::V64) {
      const bool multiplies = op == Op::UMulWide || op == Op::SMulWide;
      if (op == Op::Join || op == Op::ZExt || op == Op::SExt) numbers_[result] = number(x[0]);
      if (!multiplies && !is_bitwise_from_below(op)) return;
      numbers_[result] = key(multiplies ? Op::Mul : op, number(x[0]), number(x[1]));
      wholes_.try_emplace(numbers_[result], result);
    }
  }

  /// `v`, or the low half of what there is as a whole.
  ValueId shared(ValueId v) {
    const Inst* def = f_.def(v);
    if (def == nullptr || !is_bitwise_from_below(def->op)) return v;
    const auto whole = wholes_.find(number(v));
    if (whole == wholes_.end()) return v;
    ValueId& low = lows_[whole->second];
    if (!low.valid()) low = r_.op(Op::Lo, Type::V32, {whole->second});
    numbers_[low] = whole->first;
    return low;
  }

  void share_operands(InstId i) {
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    for (ValueId& v : x) v = shared(v);
    f_.set_operands(i, x);
    const Inst* high = f_.def(x[0]);
    if (f_[i].op != Op::ZExt || high == nullptr || high->op != Op::UMulHi || uses_[x[0].index] != 1) return;
    const InstId factors = f_.def_id(x[0]);
    const ValueId a = shared(f_.operands(factors)[0]), b = shared(f_.operands(factors)[1]);
    const ValueId product = r_.op(Op::UMulWide, Type::V64, {a, b});
    replace(i, r_.op(Op::LShr, Type::V64, {product, r_.v32(32)}));
  }

  void replace_high_half(InstId i) {
    const ValueId whole = f_.operands(i)[0];
    const Inst* product = f_.def(whole);
    if (product == nullptr || uses_[whole.index] != 1) return;
    if (product->op != Op::UMulWide && product->op != Op::SMulWide) return;
    const auto x = f_.operands(f_.def_id(whole));
    const ValueId a = x[0], b = x[1];
    if (is_half(a) || is_half(b)) return;
    const Op high = product->op == Op::UMulWide ? Op::UMulHi : Op::SMulHi;
    replace(i, r_.op(high, Type::V32, {a, b}));
  }
  void replace(InstId i, ValueId v) {
    map_.resize(f_.num_values());
    map_[f_.result(i).index] = v;
  }
  [[nodiscard]] bool is_half(ValueId v) const {
    const Inst* def = f_.def(v);
    return def != nullptr && (def->op == Op::Lo || def->op == Op::Hi);
  }
};

} // namespace

void share_halves(Function& f) {
  if (has_any(f, [](const Inst& inst) {
        return inst.op == Op::UMulWide || inst.op == Op::UMulHi || inst.op == Op::SMulWide;
      }))
    HalfSharer(f).run();
}

} // namespace lanewise::passes
