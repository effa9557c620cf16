// Two selects with an alternative in common are one, by a mask. Predicated code that writes an element of an
// array in registers is made of such: EXEC chooses between the element as it was and a choice, by the index,
// between the new value and the element as it was. The mask is often shared between arrays, or comes with the
// comparison for nothing.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

class SelectMerger {
public:
  explicit SelectMerger(Function& f) : f_(f), uses_(f.use_counts()) {}

  void run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo) {
      std::vector<InstId> insts;
      insts.reserve(f_[b].insts.size());
      for (const InstId i : f_[b].insts) {
        if (f_[i].op == Op::Select && is_per_lane(f_.type(f_.result(i)))) merge(i, insts);
        insts.push_back(i);
      }
      f_[b].insts = std::move(insts);
    }
  }

private:
  Function& f_;
  std::vector<u32> uses_;

  /// m ? (c ? a : b) : b  ->  m & c ? a : b,  and  m ? (c ? a : b) : a  ->  m & ~c ? b : a
  void merge(InstId i, std::vector<InstId>& before) {
    const ValueId m = f_.operands(i)[0], inner = f_.operands(i)[1], other = f_.operands(i)[2];
    const InstId j = f_.def_id(inner);
    if (!j.valid() || f_[j].op != Op::Select || uses_[inner.index] != 1) return;
    const ValueId c = f_.operands(j)[0], a = f_.operands(j)[1], b = f_.operands(j)[2];
    if (f_.type(m) != Type::Mask || f_.type(c) != Type::Mask || (other != a && other != b)) return;
    Inst proto;
    proto.op = other == b ? Op::And : Op::AndNot;
    proto.pc = f_[i].pc;
    const std::array<ValueId, 2> x = {m, c};
    const Type t = Type::Mask;
    const InstId both = f_.make(proto, x, {&t, 1});
    f_[both].block = f_[i].block;
    before.push_back(both);
    const std::array<ValueId, 3> now = {f_.result(both), other == b ? a : b, other};
    f_.set_operands(i, now);
    uses_.resize(f_.num_values(), 1);
  }
};

} // namespace

void merge_selects(Function& f) { SelectMerger(f).run(); }

} // namespace lanewise::passes
