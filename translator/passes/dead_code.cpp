// Dead code: everything is dead until something that must happen needs it. Working backwards from effects,
// rather than forwards from unused results, also removes cycles of loop-carried values that only feed each
// other (dead SCC and VCC updates are mostly such).
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class DeadCode {
public:
  explicit DeadCode(Function& f)
      : f_(f), cfg_(f), live_inst_(f.num_insts(), 0), live_value_(f.num_values(), 0),
        has_dead_(f.num_blocks(), 0) {}

  bool run() {
    // Users come before what they use, but for what a loop hands on to its next round.
    for (auto b = cfg_.rpo.rbegin(); b != cfg_.rpo.rend(); ++b) scan(*b);
    for (const BlockId b : cfg_.rpo)
      for (const Successor& s : f_[b].successors)
        if (cfg_.rpo_index[s.block.index] <= cfg_.rpo_index[b.index]) need_arguments(s);
    while (!work_.empty()) {
      const ValueId v = work_.back();
      work_.pop_back();
      const Value& value = f_[v];
      if (value.inst.valid())
        need(value.inst);
      else
        need_arguments(value.block, value.index);
    }
    return sweep();
  }

private:
  Function& f_;
  Cfg cfg_;
  std::vector<u8> live_inst_, live_value_;
  std::vector<u8> has_dead_;  ///< per block: instructions that the scan has found to be dead
  std::vector<ValueId> work_; ///< live values that the scan has found to be dead

  void scan(BlockId b) {
    u8 *const live_value = live_value_.data(), *const live_inst = live_inst_.data();
    for (const Successor& s : f_[b].successors) {
      const ValueId* param = f_[s.block].params.data();
      for (const ValueId v : s.args) live_value[v.index] |= live_value[(param++)->index];
    }
    const std::span<const InstId> insts = f_[b].insts;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
      const Inst& inst = f_[*i];
      bool live = (info(inst.op).flags & (kStores | kEndsBlock)) != 0;
      for (u32 r = 0; !live && r < inst.num_results; ++r) live = live_value[inst.first_result.index + r] != 0;
      if (!live) {
        has_dead_[b.index] = 1;
        continue;
      }
      live_inst[i->index] = 1;
      for (const ValueId v : f_.operands(*i)) live_value[v.index] = 1;
    }
  }

  void need(ValueId v) {
    if (live_value_[v.index] != 0) return;
    live_value_[v.index] = 1;
    work_.push_back(v);
  }
  void need(InstId i) {
    if (live_inst_[i.index] != 0) return;
    live_inst_[i.index] = 1;
    for (const ValueId v : f_.operands(i)) need(v);
  }
  void need_arguments(const Successor& s) {
    const auto& params = f_[s.block].params;
    for (std::size_t a = 0; a < s.args.size(); ++a)
      if (live_value_[params[a].index] != 0) need(s.args[a]);
  }
  void need_arguments(BlockId block, u32 index) {
    for (const BlockId p : cfg_.preds[block.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == block) need(s.args[index]);
  }

  /// Whether there was any.
  bool sweep() {
    bool changed = false;
    std::vector<u8> loses_params(f_.num_blocks(), 0);
    for (const BlockId b : cfg_.rpo)
      loses_params[b.index] =
          std::ranges::any_of(f_[b].params, [&](ValueId p) { return live_value_[p.index] == 0; });
    for (u32 n = 0; n < f_.num_blocks(); ++n) {
      const BlockId b{n};
      Block& block = f_[b];
      if (!cfg_.reachable(b)) {
        changed |= !block.insts.empty();
        for (const InstId i : block.insts) f_[i].block = BlockId{};
        block.insts.clear();
        block.successors.clear();
        block.params.clear();
        continue;
      }
      const u8* const live_inst = live_inst_.data();
      const auto dead = [&](InstId i) { return live_inst[i.index] == 0; };
      if (const auto first = has_dead_[n] != 0 ? std::ranges::find_if(block.insts, dead) : block.insts.end();
          first != block.insts.end()) {
        changed = true;
        for (auto i = first; i != block.insts.end(); ++i)
          if (dead(*i)) f_[*i].block = BlockId{};
        block.insts.erase(std::remove_if(first, block.insts.end(), dead), block.insts.end());
      }
      for (Successor& s : block.successors) {
        if (loses_params[s.block.index] == 0) continue;
        const auto& params = f_[s.block].params;
        std::size_t kept = 0;
        for (std::size_t a = 0; a < s.args.size(); ++a)
          if (live_value_[params[a].index] != 0) s.args[kept++] = s.args[a];
        s.args.resize(kept);
      }
    }
    // Parameters last: the arguments above are matched against the full lists.
    for (const BlockId b : cfg_.rpo)
      if (loses_params[b.index] != 0) {
        f_.keep_params(b, live_value_);
        changed = true;
      }
    return changed;
  }
};

} // namespace

bool eliminate_dead_code(Function& f) { return DeadCode(f).run(); }

bool is_sparse(const Function& f) {
  std::size_t in_blocks = 0;
  for (const Block& block : f.blocks) in_blocks += block.insts.size();
  return in_blocks < f.num_insts() / 2;
}

} // namespace lanewise::passes
