// Sums of floats in the LDS. Before gfx8 there is no atomic for them, and OpenCL C has none at all: compilers
// and programs retry a compare-and-swap until it succeeds. But the LDS is one thread's, so that nobody comes
// between: lane after lane may add at once, in the order in which the lanes of one address get through. To
// subtract is to add the opposite.
#include "translator/ir/splats.hpp"
#include "translator/passes/retry_loops.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

using Carried = RetryLoop::Carried;

class Sum {
public:
  Sum(Function& f, const RetryLoop& loop) : f_(f), loop_(loop), params_(f[loop.block].params) {}

  /// Whether it is one.
  bool add_at_once() {
    if (!find_sum() || !leaves_masks_only()) return false;
    const BlockId b = loop_.block;
    Inst add = f_[loop_.swap];
    add.mem.atomic = is_memory_first_ ? AtomicOp::FAdd : AtomicOp::RFAdd;
    add.mem.returns = false;
    add.mem.retry = 0;
    add.fp = {
        .round = f_[sum_].fp.round, .flush_in = f_[sum_].fp.flush_in, .flush_out = f_[sum_].fp.flush_out};
    const ValueId address = f_.operands(loop_.swap)[0];
    const bool subtracts = f_[sum_].op == Op::FSub;
    const Successor exit = f_[b].successors[1];
    const Successor back = f_[b].successors[0];
    for (const InstId i : f_[b].insts) f_[i].block = BlockId{};
    f_[b].insts.clear();
    f_[b].successors.clear();
    Builder at(f_, b);
    at.pc = add.pc;
    const ValueId data = subtracts ? negative(at, addend_) : addend_;
    f_.append(b, add, std::array{address, data, param(Carried::Left)}, {});
    std::vector<ValueId> map(f_.num_values());
    for (std::size_t n = 0; n < params_.size(); ++n) {
      ValueId left_behind;
      if (loop_.carried[n] == Carried::Left) left_behind = f_.entry_constant(Type::Mask, 0);
      if (loop_.carried[n] == Carried::Done) left_behind = at.or_(params_[n], param(Carried::Left));
      if (left_behind.valid()) map[back.args[n].index] = left_behind;
    }
    at.jump(exit.block, exit.args);
    map.resize(f_.num_values());
    f_.replace_values(map);
    return true;
  }

private:
  Function& f_;
  const RetryLoop& loop_;
  const std::vector<ValueId> params_;
  InstId sum_;
  ValueId addend_;
  bool is_memory_first_ = false;

  [[nodiscard]] ValueId param(Carried what) const { return params_[loop_.place(what)]; }
  [[nodiscard]] ValueId where_left(ValueId v) const {
    return passes::where_left(f_, param(Carried::Left), v);
  }
  /// What to add in order to subtract `v`: of a NaN, which has a sign, it is the result.
  static ValueId negative(Builder& at, ValueId v) {
    constexpr u32 kSign = 0x8000'0000, kInfinity = 0x7f80'0000;
    const ValueId is_nan = at.icmp(IntPred::UGt, at.and_(v, at.v32c(kSign - 1)), at.v32c(kInfinity));
    return at.select(is_nan, v, at.binary(Op::Xor, v, at.v32c(kSign)));
  }
  /// Swaps for what is expected and what is the same each time round.
  bool find_sum() {
    const Inst& swap = f_[loop_.swap];
    if (swap.mem.space != Space::Lds || swap.mem.bytes != 4) return false;
    // Those of one place for all are better followed in registers (phases/retry_chains.cpp).
    const ValueId address = f_.operands(loop_.swap)[0];
    if (f_.is_const(address) || is_splat_of_uniform(f_, address)) return false;
    sum_ = f_.def_id(where_left(f_.operands(loop_.swap)[1]));
    if (!sum_.valid() || f_[sum_].fp.kind != FloatKind::F32) return false;
    if (f_[sum_].op != Op::FAdd && f_[sum_].op != Op::FSub) return false;
    const ValueId x = where_left(f_.operands(sum_)[0]), y = where_left(f_.operands(sum_)[1]);
    is_memory_first_ = x == param(Carried::Expected);
    if (!is_memory_first_ && (y != param(Carried::Expected) || f_[sum_].op == Op::FSub)) return false;
    addend_ = is_memory_first_ ? y : x;
    return f_.def_block(addend_) != loop_.block;
  }
  /// Of what is in the loop, nothing is used behind it but who is left, which is nobody, and who is done.
  [[nodiscard]] bool leaves_masks_only() const {
    for (const Carried c : loop_.carried)
      if (c == Carried::Other || c == Carried::Changes || c == Carried::ExpectedHigh) return false;
    const auto& back = f_[loop_.block].successors[0];
    const auto is_known = [&](ValueId v) {
      if (f_.def_block(v) != loop_.block) return true;
      for (std::size_t n = 0; n < params_.size(); ++n)
        if (back.args[n] == v && (loop_.carried[n] == Carried::Left || loop_.carried[n] == Carried::Done))
          return true;
      return false;
    };
    if (!std::ranges::all_of(f_[loop_.block].successors[1].args, is_known)) return false;
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index) {
      if (b == loop_.block) continue;
      for (const InstId i : f_[b].insts)
        if (!std::ranges::all_of(f_.operands(i), is_known)) return false;
      for (const Successor& s : f_[b].successors)
        if (!std::ranges::all_of(s.args, is_known)) return false;
    }
    return true;
  }
};

} // namespace

bool add_without_retrying(Function& f) {
  bool changed = false;
  for (const RetryLoop& loop : find_retry_loops(f)) changed |= Sum(f, loop).add_at_once();
  return changed;
}

} // namespace lanewise::passes
