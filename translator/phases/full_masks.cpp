// Kernels compare their work-item's id with the size of the problem, and all that follows goes by that mask,
// which is full but for the last workgroups. A masked load takes more than one that is not, and gangs with
// masks of their own cannot share one. So inner loops that only load exist twice: for gangs whose mask is
// full, and for the others.
#include "translator/phases/full_masks.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/phases/copy_blocks.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxInstructions = 200; ///< of a loop
constexpr unsigned kMaxLoops = 8;             ///< of a function

class LoopSplitter {
public:
  explicit LoopSplitter(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_), known_(f.num_blocks()) {}

  void run() {
    if (loops_.irreducible) return;
    unsigned left = kMaxLoops;
    for (u32 l = 0; l < loops_.loops.size() && left != 0; ++l) {
      if (!is_innermost(l) || !find_exit(l) || !only_loads()) continue;
      const ValueId mask = common_mask();
      if (!mask.valid() || !find_escaping()) continue;
      split(mask);
      --left;
    }
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  const u32 known_; ///< blocks that these know; those behind are copies
  // Of the current loop.
  const std::vector<BlockId>* blocks_ = nullptr;
  std::vector<bool> inside_; ///< per block
  BlockId exit_;             ///< the one block that it leads to
  std::vector<ValueId> escaping_;

  [[nodiscard]] bool is_innermost(u32 l) const {
    return std::ranges::none_of(loops_.loops,
                                [&](const Loops::Loop& x) { return x.parent == static_cast<i32>(l); });
  }
  [[nodiscard]] bool is_inside(BlockId b) const { return b.index < inside_.size() && inside_[b.index]; }
  [[nodiscard]] bool is_inside(ValueId v) const { return is_inside(f_.def_block(v)); }

  bool find_exit(u32 l) {
    blocks_ = &loops_.loops[l].blocks;
    inside_.assign(f_.num_blocks(), false);
    for (const BlockId b : *blocks_) inside_[b.index] = true;
    exit_ = BlockId{};
    for (const BlockId b : *blocks_)
      for (const Successor& s : f_[b].successors) {
        if (is_inside(s.block)) continue;
        if (exit_.valid() && exit_ != s.block) return false;
        exit_ = s.block;
      }
    return exit_.valid();
  }

  /// Nothing in it is seen by other gangs, nor sees them.
  [[nodiscard]] bool only_loads() const {
    std::size_t instructions = 0;
    for (const BlockId b : *blocks_) {
      instructions += f_[b].insts.size();
      if (f_.tested_mask(b).valid() && !is_gang_decided(f_, b)) return false;
      for (const InstId i : f_[b].insts) {
        const OpInfo& op = info(f_[i].op);
        const bool decides = f_[i].op == Op::AnyLane && is_gang_decided(f_, b) &&
                             f_.operands(f_.terminator(b))[0] == f_.result(i);
        const bool control = f_[i].op == Op::Jump || f_[i].op == Op::Branch;
        if (op.is(kStores) || f_[i].op == Op::Atomic || (op.is(kEndsBlock) && !control)) return false;
        for (unsigned n = 0; n < f_[i].num_operands && !decides; ++n)
          if (op.reads_whole(n)) return false;
      }
    }
    return instructions <= kMaxInstructions;
  }

  /// The mask from outside that most of its loads go by.
  [[nodiscard]] ValueId common_mask() const {
    std::unordered_map<u32, unsigned> votes;
    ValueId best;
    for (const BlockId b : *blocks_)
      for (const InstId i : f_[b].insts) {
        if (f_[i].op != Op::Load) continue;
        const ValueId mask = f_.operands(i).back();
        if (is_inside(mask) || f_.is_const(mask)) continue;
        if (++votes[mask.index] > (best.valid() ? votes[best.index] : 0)) best = mask;
      }
    return best;
  }

  /// Values that are used behind the loop: there they come from either.
  bool find_escaping() {
    escaping_.clear();
    std::vector<bool> found(f_.num_values(), false);
    bool behind_exit = true;
    const auto use = [&](ValueId v, BlockId at) {
      if (!is_inside(v)) return;
      behind_exit &= at.index < known_ && dom_.dominates(exit_, at);
      if (!found[v.index]) escaping_.push_back(v);
      found[v.index] = true;
    };
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index) {
      if (is_inside(b)) continue;
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) use(v, b);
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) use(v, b);
    }
    return escaping_.empty() || (behind_exit && std::ranges::all_of(cfg_.preds[exit_.index],
                                                                    [&](BlockId b) { return is_inside(b); }));
  }

  void split(ValueId mask) {
    pass_escaping_values();
    const BlockId header = blocks_->front(), choice = f_.add_block(f_[header].pc);
    for (BlockId b{0}; b.index < f_.num_blocks(); ++b.index)
      for (Successor& s : f_[b].successors)
        if (s.block == header && !is_inside(b)) s.block = choice;
    std::vector<ValueId> params;
    for (const ValueId p : std::vector<ValueId>(f_[header].params))
      params.push_back(f_.add_param(choice, f_.type(p)));
    const BlockId copy = copy_loop(mask);
    const ValueId missing = append(choice, Op::Not, Type::Mask, {mask}, 0);
    const ValueId some_missing = append(choice, Op::AnyLane, Type::U1, {missing}, 0);
    append(choice, Op::Branch, Type::None, {some_missing}, gang_decided(exit_));
    f_[choice].successors = {{header, params}, {copy, params}};
  }

  /// What is used behind the loop becomes parameters of its exit.
  void pass_escaping_values() {
    if (escaping_.empty()) return;
    std::unordered_map<u32, ValueId> param;
    for (const ValueId v : escaping_) param[v.index] = f_.add_param(exit_, f_.type(v));
    const auto replace = [&](ValueId& v) {
      if (const auto it = param.find(v.index); it != param.end()) v = it->second;
    };
    for (const BlockId b : cfg_.rpo)
      for (Successor& s : f_[b].successors) {
        if (is_inside(b)) {
          if (s.block == exit_) s.args.insert(s.args.end(), escaping_.begin(), escaping_.end());
        } else
          std::ranges::for_each(s.args, replace);
      }
    for (const BlockId b : cfg_.rpo)
      if (!is_inside(b))
        for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), replace);
  }

  /// The loop once more, with all lanes for `mask`; its header.
  BlockId copy_loop(ValueId mask) {
    return copy_blocks(f_, *blocks_, mask, f_.entry_constant(Type::Mask, ~u64{0})).of(blocks_->front());
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
