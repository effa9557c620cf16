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

class LoopSplitter {
public:
  explicit LoopSplitter(Function& f) : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_) {}

  void run() {
    if (loops_.irreducible) return;
    unsigned left = kMaxLoops;
    for (u32 l = 0; l < loops_.loops.size() && left != 0; ++l) {
      loop_ = find_load_loop(f_, loops_, l);
      if (!loop_) continue;
      const ValueId mask = common_mask();
      if (!mask.valid() || !find_escaping_values(f_, cfg_, dom_, *loop_)) continue;
      split(mask);
      --left;
    }
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  // Of the current loop.
  std::optional<LoadLoop> loop_;

  [[nodiscard]] bool is_inside(BlockId b) const { return loop_->contains(b); }
  [[nodiscard]] bool is_inside(ValueId v) const { return is_inside(f_.def_block(v)); }

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
    pass_escaping_values(f_, cfg_, *loop_);
    const BlockId header = loop_->header(), choice = f_.add_block(f_[header].pc);
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
      for (Successor& s : f_[b].successors)
        if (s.block == header && !is_inside(b)) s.block = choice;
    std::vector<ValueId> params;
    for (const ValueId p : std::vector<ValueId>(f_[header].params))
      params.push_back(f_.add_param(choice, f_.type(p)));
    const BlockId copy = copy_loop(mask);
    const ValueId missing = append(choice, Op::Not, Type::Mask, {mask}, 0);
    const ValueId some_missing = append(choice, Op::AnyLane, Type::U1, {missing}, 0);
    append(choice, Op::Branch, Type::None, {some_missing}, gang_decided(loop_->exit));
    f_[choice].successors = {{header, params}, {copy, params}};
  }

  /// The loop once more, with all lanes for `mask`; its header.
  BlockId copy_loop(ValueId mask) {
    return copy_blocks(f_, *loop_->blocks, {{mask.index, f_.entry_constant(Type::Mask, ~u64{0})}})
        .of(loop_->header());
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
