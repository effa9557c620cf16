// Products of 64 bits and more, in vectors. GPU code makes them of products of halves, and takes sums apart
// to go on with one half; each half is a shuffle away from the whole. But x86 multiplies the lower halves of
// qwords and looks at nothing else there, so that a half of what is at hand as a whole costs nothing where it
// is multiplied again, and next to nothing where it is extended:
//  - an operand of such a product or extension that is the low half of a sum or product which there is as a
//    whole becomes just that, lo(whole); so does anybody's that takes long to make, since that is then not
//    computed twice;
//  - zext(umulhi(a, b)) is the whole product, shifted;
//  - hi(umul_wide(a, b)) of a product that nobody wants as a whole is umulhi(a, b).
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What a block computes, numbered so that equal low halves have equal numbers.
class HalfSharer {
public:
  /// A half of a whole takes as long as `shuffles` operations.
  HalfSharer(Function& f, u32 shuffles) : f_(f), r_(f), shuffles_(shuffles), uses_(f.use_counts()) {}

  void run() {
    for (Block& block : f_.blocks) {
      keys_.clear();
      numbers_.clear();
      wholes_.clear();
      lows_.clear();
      have_wholes_.clear();
      lengths_.clear();
      if (std::ranges::any_of(block.insts, [&](InstId i) { return is_whole(i); })) // else nothing is shared
        for (const InstId i : block.insts) assign_number(i);
      std::vector<InstId> old;
      old.swap(block.insts);
      block.insts.reserve(old.size());
      for (const InstId i : old) {
        r_.begin(i, block.insts);
        visit(i);
        block.insts.push_back(i);
      }
    }
    if (map_.empty()) return;
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    eliminate_dead_code(f_); // widen_accesses() wants to know who looks at halves
  }

private:
  using Number = u32;

  Function& f_;
  Rewriter r_;
  u32 shuffles_;
  std::vector<u32> uses_;
  std::vector<ValueId> map_;
  std::map<std::tuple<Op, u64, u64>, Number> keys_;
  std::map<ValueId, Number> numbers_; ///< of dwords, and of the low halves of qwords; others have their own
  std::set<Number> have_wholes_;      ///< low halves of which the block computes the whole
  std::map<Number, ValueId> wholes_;  ///< which is known here
  std::map<ValueId, u32> lengths_;    ///< operations of which only such low halves are made
  std::set<ValueId> only_upper_;      ///< products of which only the upper half is computed now
  std::map<ValueId, ValueId> lows_;   ///< the low halves of those that have been asked for

  Number key(Op op, u64 a, u64 b) {
    if (info(op).is(kCommutes) && b < a) std::swap(a, b);
    return keys_.try_emplace({op, a, b}, 0x8000'0000u + static_cast<u32>(keys_.size())).first->second;
  }
  /// Of the upper half of a qword.
  Number upper(ValueId whole) {
    const Inst* def = f_.def(whole);
    if (def != nullptr && def->op == Op::Join) return number(f_.operands(f_.def_id(whole))[1]);
    return key(Op::Hi, whole.index, 0);
  }
  Number funnel(Number high, Number low, u64 amount) {
    return key(Op::FunnelShr, key(Op::Join, high, low), amount);
  }
  Number shifted(Number x, u64 amount) { return amount == 0 ? x : key(Op::LShr, x, amount); }
  Number number(ValueId v) {
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return key(Op::Const, static_cast<u32>(bits), 0);
    const auto at = numbers_.find(v);
    return at != numbers_.end() ? at->second : v.index;
  }

  static bool makes_low_half(Op op) { return is_bitwise_from_below(op) || op == Op::FunnelShr; }

  void assign_number(InstId i) {
    if (f_[i].num_results != 1) return;
    const Op op = f_[i].op;
    const ValueId result = f_.result(i);
    const Type t = f_.type(result);
    const auto x = f_.operands(i);
    u64 n = 0;
    const bool shifts = op == Op::LShr && f_.is_const(x[1], &n);
    if (t == Type::V32) {
      if (is_bitwise_from_below(op)) numbers_[result] = key(op, number(x[0]), number(x[1]));
      if (shifts) numbers_[result] = shifted(number(x[0]), n & 31);
      if (op == Op::FunnelShr && f_.is_const(x[2], &n))
        numbers_[result] = funnel(number(x[0]), number(x[1]), n & 31);
      if (op == Op::Lo) numbers_[result] = number(x[0]);
      if (op == Op::Hi) numbers_[result] = upper(x[0]);
    } else if (t == Type::V64) {
      const bool multiplies = op == Op::UMulWide || op == Op::SMulWide;
      if (shifts && n % 64 >= 32) numbers_[result] = shifted(upper(x[0]), n % 64 - 32);
      if (op == Op::Join || op == Op::ZExt || op == Op::SExt) numbers_[result] = number(x[0]);
      if (!multiplies && !is_bitwise_from_below(op)) return;
      numbers_[result] = key(multiplies ? Op::Mul : op, number(x[0]), number(x[1]));
      if (const auto [rotated, right] = rotation(f_, i); rotated.valid() && right != 32)
        numbers_[result] = right < 32 ? funnel(upper(rotated), number(rotated), right)
                                      : funnel(number(rotated), upper(rotated), right - 32);
      have_wholes_.insert(numbers_[result]);
    }
  }

  void visit(InstId i) {
    const Op op = f_[i].op;
    const bool one = f_[i].num_results == 1;
    const Type t = one ? f_.type(f_.result(i)) : Type::U1;
    if (t == Type::V64 && takes_halves(op))
      share_operands(i);
    else
      share_long_chains(i);
    if (t == Type::V32 && op == Op::Hi) replace_high_half(i);
    if (is_whole(i)) wholes_.try_emplace(number(f_.result(i)), f_.result(i));
  }
  /// What halves can be taken from.
  [[nodiscard]] bool is_whole(InstId i) const {
    const Op op = f_[i].op;
    return f_[i].num_results == 1 && f_.type(f_.result(i)) == Type::V64 &&
           (op == Op::UMulWide || op == Op::SMulWide || is_bitwise_from_below(op));
  }

  /// `v`, or the low half of what there is as a whole.
  ValueId shared(ValueId v) {
    const Inst* def = f_.def(v);
    if (def == nullptr || f_.type(v) != Type::V32 || !makes_low_half(def->op)) return v;
    const auto whole = wholes_.find(number(v));
    if (whole == wholes_.end() || only_upper_.contains(whole->second)) return v;
    ValueId& low = lows_[whole->second];
    if (!low.valid()) {
      low = r_.op(Op::Lo, Type::V32, {whole->second});
      uses_.resize(f_.num_values());
      ++uses_[whole->second.index];
    }
    numbers_[low] = whole->first;
    return low;
  }
  /// Shares operands that take longer to make than halves of wholes. What they are made of goes on for
  /// itself.
  void share_long_chains(InstId i) {
    const bool makes_half = f_[i].num_results == 1 && makes_low_half(f_[i].op) &&
                            f_.type(f_.result(i)) == Type::V32 && have_wholes_.contains(number(f_.result(i)));
    if (makes_half) {
      u32 length = f_[i].op == Op::Mul ? 2 : 1;
      for (const ValueId v : f_.operands(i)) {
        if (const auto at = lengths_.find(v); at != lengths_.end()) length += at->second;
        if (is_half(v) && v.index < uses_.size() && uses_[v.index] == 1) length += shuffles_;
      }
      lengths_[f_.result(i)] = length;
      return;
    }
    if (lengths_.empty()) return;
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    bool changed = false;
    for (ValueId& v : x) {
      const auto length = lengths_.find(v);
      if (length == lengths_.end()) continue;
      if (length->second > shuffles_) v = shared(v), changed = true;
      length->second = 0; // It is wanted anyway.
    }
    if (changed) f_.set_operands(i, x);
  }

  void share_operands(InstId i) {
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    for (ValueId& v : x) v = shared(v);
    f_.set_operands(i, x);
    const Inst* high = f_.def(x[0]);
    if (f_[i].op != Op::ZExt || high == nullptr || high->op != Op::UMulHi || x[0].index >= uses_.size() ||
        uses_[x[0].index] != 1)
      return;
    const InstId factors = f_.def_id(x[0]);
    const ValueId a = shared(f_.operands(factors)[0]), b = shared(f_.operands(factors)[1]);
    const ValueId product = r_.op(Op::UMulWide, Type::V64, {a, b});
    replace(i, r_.op(Op::LShr, Type::V64, {product, r_.v32(32)}));
  }

  void replace_high_half(InstId i) {
    const ValueId whole = f_.operands(i)[0];
    const Inst* product = f_.def(whole);
    if (product == nullptr || whole.index >= uses_.size() || uses_[whole.index] != 1) return;
    if (product->op != Op::UMulWide && product->op != Op::SMulWide) return;
    const auto x = f_.operands(f_.def_id(whole));
    const ValueId a = x[0], b = x[1];
    if (is_half(a) || is_half(b)) return;
    only_upper_.insert(whole);
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

void share_halves(Function& f, unsigned gang_lanes) {
  const auto multiplies = [&](const Inst& inst) {
    return inst.op == Op::UMulWide || inst.op == Op::UMulHi || inst.op == Op::SMulWide ||
           (inst.op == Op::Mul && f.type(inst.first_result) == Type::V64);
  };
  if (has_any(f, multiplies)) HalfSharer(f, gang_lanes == 16 ? 1 : 3).run();
}

} // namespace lanewise::passes
