// What loops and branches take along without ever changing it: parameters whose arguments, and selects whose
// arms, all come down to one value. All are taken for that until something else turns up, as the value often
// is handed round in circles: `select(m, x, p)` is x if that is what parameter p began with.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <span>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

class KeptValues {
public:
  explicit KeptValues(Function& f) : f_(f), cfg_(f), handed_on_(f.num_values()), selects_(f.num_blocks()) {
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Select) selects_[b.index].push_back(i);
  }

  bool merge() {
    while (visit_all()) {
    }
    bool any = false;
    for (u32 v = 0; v < f_.num_values(); ++v) {
      if (handed_on_[v] == ValueId{v}) handed_on_[v] = {};
      any |= handed_on_[v].valid();
    }
    if (any) f_.replace_values(handed_on_);
    return any;
  }

private:
  Function& f_;
  const Cfg cfg_;
  /// Per value, of parameters and selects: what they hand on, as far as has been seen; themselves, if that is
  /// not one value.
  std::vector<ValueId> handed_on_;
  std::vector<std::vector<InstId>> selects_; ///< per block
  std::vector<ValueId> ways_;                ///< in which a parameter gets its value

  [[nodiscard]] bool hands_on(ValueId v) const {
    const Inst* inst = f_.def(v);
    return inst == nullptr || inst->op == Op::Select;
  }
  [[nodiscard]] ValueId seen_as(ValueId v) const { return hands_on(v) ? handed_on_[v.index] : v; }

  bool visit_all() {
    bool changed = false;
    for (const BlockId b : cfg_.rpo) {
      for (std::size_t n = 0; n < f_[b].params.size(); ++n) {
        ways_.clear();
        for (const BlockId from : cfg_.preds[b.index])
          for (const Successor& s : f_[from].successors)
            if (s.block == b) ways_.push_back(s.args[n]);
        changed |= visit(f_[b].params[n], ways_);
      }
      for (const InstId i : selects_[b.index]) changed |= visit(f_.result(i), f_.operands(i).subspan(1));
    }
    return changed;
  }

  /// `v` is one of `ways`. True if that says more than was known.
  bool visit(ValueId v, std::span<const ValueId> ways) {
    ValueId& known = handed_on_[v.index];
    if (known == v) return false;
    ValueId one;
    for (const ValueId way : ways) {
      const ValueId seen = seen_as(way);
      if (seen.valid()) one = !one.valid() || one == seen ? seen : v;
    }
    return std::exchange(known, one) != one;
  }
};

} // namespace

bool merge_kept_values(Function& f) { return KeptValues(f).merge(); }

} // namespace lanewise::passes
