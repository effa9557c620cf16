// Kernels compare their work-item's id with the size of the problem, and all that follows goes by that mask,
// which is full but for the last workgroups. A masked load takes more than one that is not, and gangs with
// masks of their own cannot share one. So inner loops that only load exist twice: for gangs whose mask is
// full, and for the others.
#include "translator/phases/full_masks.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"
#include "translator/phases/load_loops.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8; ///< of a function

class LoopSplitter : LoadLoopPass {
public:
  explicit LoopSplitter(Function& f) : LoadLoopPass(f) {}

  void run() {
    for_each_loop(kMaxLoops, [&] {
      const ValueId mask = common_mask();
      if (!mask.valid() || !find_escaping()) return false;
      split(mask);
      return true;
    });
  }

private:
  /// The mask from outside that most of its loads go by.
  [[nodiscard]] ValueId common_mask() const {
    std::unordered_map<u32, unsigned> votes;
    ValueId best;
    for (const BlockId b : *loop_->blocks)
      for (const InstId i : f_[b].insts) {
        if (f_[i].op != Op::Load || f_[i].mem.spread) continue;
        const ValueId mask = f_.operands(i).back();
        if (is_inside(mask) || f_.is_const(mask)) continue;
        if (++votes[mask.index] > (best.valid() ? votes[best.index] : 0)) best = mask;
      }
    return best;
  }

  void split(ValueId mask) {
    pass_escaping();
    const BlockId choice = add_entry();
    const std::vector<ValueId> params = take_params(choice);
    const BlockId copy = copy_loop(mask);
    const ValueId missing = append(choice, Op::Not, Type::Mask, {mask}, 0);
    const ValueId some_missing = append(choice, Op::AnyLane, Type::U1, {missing}, 0);
    append(choice, Op::Branch, Type::None, {some_missing}, gang_decided(loop_->exit));
    f_[choice].successors = {{header(), params}, {copy, params}};
  }

  /// The loop once more, with all lanes for `mask`; its header.
  BlockId copy_loop(ValueId mask) {
    return copy_blocks(f_, *loop_->blocks, {{mask.index, f_.entry_constant(Type::Mask, ~u64{0})}})
        .of(header());
  }

  ValueId append(BlockId b, Op op, Type type, std::initializer_list<ValueId> x, u64 imm) {
    Inst proto;
    proto.op = op;
    proto.imm = imm;
    proto.pc = f_[b].pc;
    const InstId i = f_.append(b, proto, {x.begin(), x.size()}, {&type, type == Type::None ? 0u : 1u});
    return type == Type::None ? ValueId{} : f_.result(i);
  }
};

} // namespace

void split_loops_by_full_masks(Function& f) {
  if (f.launch.exec() == ~u64{0}) LoopSplitter(f).run();
}

} // namespace lanewise::phases
