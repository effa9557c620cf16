// Dead code: everything is dead until something that must happen needs it. Working backwards from effects,
// rather than forwards from unused results, also removes cycles of loop-carried values that only feed each
// other (dead SCC and VCC updates are mostly such).
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

class DeadCode {
public:
  explicit DeadCode(Function& f)
      : f_(f), cfg_(f), live_inst_(f.num_insts(), false), live_value_(f.num_values(), false) {}

  void run() {
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (info(f_[i].op).is(kStores) || info(f_[i].op).is(kEndsBlock)) need(i);
    while (!work_.empty()) {
      const ValueId v = work_.back();
      work_.pop_back();
      const Value& value = f_[v];
      if (value.inst.valid())
        need(value.inst);
      else
        need_arguments(value.block, value.index);
    }
    sweep();
  }

private:
  Function& f_;
  Cfg cfg_;
  std::vector<bool> live_inst_, live_value_;
  std::vector<ValueId> work_;

  void need(ValueId v) {
    if (live_value_[v.index]) return;
    live_value_[v.index] = true;
    work_.push_back(v);
  }
  void need(InstId i) {
    if (live_inst_[i.index]) return;
    live_inst_[i.index] = true;
    for (const ValueId v : f_.operands(i)) need(v);
  }
  void need_arguments(BlockId block, u32 index) {
    for (const BlockId p : cfg_.preds[block.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == block) need(s.args[index]);
  }

  void sweep() {
    for (u32 n = 0; n < f_.num_blocks(); ++n) {
      const BlockId b{n};
      Block& block = f_[b];
      if (!cfg_.reachable(b)) {
        for (const InstId i : block.insts) f_[i].block = BlockId{};
        block.insts.clear();
        block.successors.clear();
        block.params.clear();
        continue;
      }
      std::erase_if(block.insts, [&](InstId i) {
        if (!live_inst_[i.index]) f_[i].block = BlockId{};
        return !live_inst_[i.index];
      });
      for (Successor& s : block.successors) {
        const auto& params = f_[s.block].params;
        std::size_t kept = 0;
        for (std::size_t a = 0; a < s.args.size(); ++a)
          if (live_value_[params[a].index]) s.args[kept++] = s.args[a];
        s.args.resize(kept);
      }
    }
    // Parameters last: the arguments above are matched against the full lists.
    for (const BlockId b : cfg_.rpo) f_.keep_params(b, live_value_);
  }
};

} // namespace

void eliminate_dead_code(Function& f) { DeadCode(f).run(); }

} // namespace lanewise::passes
