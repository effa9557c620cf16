// Global value numbering, the simple kind: walking the dominator tree, a pure instruction equal to one that
// dominates it is replaced by that. Block parameters whose arguments all agree, if only as constants, are
// replaced by the common argument, and those that have the same arguments as another one by that.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

class MergeCommon {
public:
  explicit MergeCommon(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), map_(f.num_values()), chain_(f.num_insts()) {
    std::size_t pure = 1;
    for (const BlockId b : cfg_.rpo) pure += f_[b].insts.size();
    table_.resize(std::bit_ceil(pure));
  }

  void run() {
    merge_parameters();
    std::vector<std::pair<u32, BlockId>> parents;
    for (const BlockId b : cfg_.rpo)
      if (dom_.idom[b.index].valid()) parents.emplace_back(dom_.idom[b.index].index, b);
    const Lists<BlockId> all_children(f_.num_blocks(), parents);
    // Explicit stack: dominator trees of long kernels are deep. A frame's scope ends when its children are
    // done.
    struct Frame {
      BlockId block;
      std::size_t next_child = 0, scope = 0;
    };
    std::vector<Frame> stack{{BlockId{0}, 0, 0}};
    visit(BlockId{0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto children = all_children[frame.block.index];
      if (frame.next_child == children.size()) {
        leave(frame.scope);
        stack.pop_back();
        continue;
      }
      const BlockId child = children[frame.next_child++];
      const std::size_t scope = undo_.size();
      visit(child);
      stack.push_back({child, 0, scope});
    }
    f_.replace_arguments(map_); // visit() sees to operands
  }

private:
  static constexpr u32 kNone = ~u32{0};
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  std::vector<ValueId> map_;
  /// Instructions that dominate the current place, by hash: chains of which the last inserted comes first.
  std::vector<InstId> table_;
  std::vector<InstId> chain_; ///< per instruction: the next
  std::vector<u64> undo_;     ///< places in the table, in the order of insertion

  ValueId resolve(ValueId v) const {
    while (map_[v.index].valid()) v = map_[v.index];
    return v;
  }

  /// To a fixed point: one merged parameter can make others agree.
  void merge_parameters() {
    std::vector<const Successor*> ways_in;
    std::vector<u32> with_first(f_.num_values(), kNone); // by what a parameter is by the first way: the last
    std::vector<u32> firsts;                             // that have one
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : cfg_.rpo) {
        if (f_[b].params.empty()) continue;
        ways_in.clear();
        for (const BlockId pred : cfg_.preds[b.index])
          for (const Successor& s : f_[pred].successors)
            if (s.block == b) ways_in.push_back(&s);
        for (u32 p = 0; p < f_[b].params.size(); ++p) {
          const ValueId param = f_[b].params[p];
          if (map_[param.index].valid()) continue;
          ValueId common;
          bool agree = true;
          for (const Successor* way : ways_in) {
            const ValueId arg = resolve(way->args[p]);
            if (arg == param || arg == common) continue;
            agree = agree && (!common.valid() || same_constant(arg, common));
            if (!agree) break;
            if (!common.valid() || is_before(arg, b)) common = arg;
          }
          if (agree && common.valid() && (!f_.is_const(common) || is_before(common, b))) {
            map_[param.index] = common;
            changed = true;
            continue;
          }
          const u32 first = resolve(ways_in[0]->args[p]).index;
          u32& twin = with_first[first];
          firsts.push_back(first);
          if (twin != kNone && f_.type(f_[b].params[twin]) == f_.type(param) &&
              std::ranges::all_of(ways_in, [&](const Successor* way) {
                return resolve(way->args[twin]) == resolve(way->args[p]);
              })) {
            map_[param.index] = f_[b].params[twin];
            changed = true;
          } else {
            twin = p;
          }
        }
        for (const u32 first : firsts) with_first[first] = kNone;
        firsts.clear();
      }
    }
  }

  [[nodiscard]] bool same_constant(ValueId a, ValueId b) const {
    u64 x = 0, y = 0;
    return f_.is_const(a, &x) && f_.is_const(b, &y) && x == y;
  }
  /// `v` is defined when `b` begins.
  [[nodiscard]] bool is_before(ValueId v, BlockId b) const {
    const BlockId at = f_.def_block(v);
    return at != b && dom_.dominates(at, b);
  }

  static u64 mix(u64 h, u64 x) { return (h ^ x) * 0x9E37'79B9'7F4A'7C15u ^ (h >> 29); }

  u64 hash(InstId id) const {
    const Inst& inst = f_[id];
    u64 h = mix(static_cast<u64>(inst.op) + 1, inst.imm);
    if (inst.num_results != 0) h = mix(h, static_cast<u64>(f_.type(f_.result(id))));
    if (info(inst.op).is(kFloat)) h = mix(h, static_cast<u64>(inst.fp.kind));
    for (const ValueId v : f_.operands(id)) h = mix(h, v.index);
    return h;
  }
  bool equal(InstId a, InstId b) const {
    const Inst &x = f_[a], &y = f_[b];
    if (x.op != y.op || x.imm != y.imm || x.num_results != y.num_results || !(x.fp == y.fp)) return false;
    if (f_.type(f_.result(a)) != f_.type(f_.result(b))) return false;
    const auto ox = f_.operands(a), oy = f_.operands(b);
    return std::equal(ox.begin(), ox.end(), oy.begin(), oy.end());
  }

  void visit(BlockId b) {
    auto& insts = f_[b].insts;
    std::size_t kept = 0;
    for (const InstId i : insts) {
      for (ValueId& v : f_.operands(i)) v = resolve(v);
      Inst& inst = f_[i];
      if (!info(inst.op).is(kPure)) {
        insts[kept++] = i;
        continue;
      }
      if (auto operands = f_.operands(i);
          info(inst.op).is(kCommutes) && operands[0].index > operands[1].index)
        std::swap(operands[0], operands[1]);
      const u64 h = hash(i) >> 32 & (table_.size() - 1);
      InstId same = table_[h];
      while (same.valid() && !equal(same, i)) same = chain_[same.index];
      if (!same.valid()) {
        chain_[i.index] = std::exchange(table_[h], i);
        undo_.push_back(h);
        insts[kept++] = i;
        continue;
      }
      for (unsigned r = 0; r < inst.num_results; ++r) map_[f_.result(i, r).index] = f_.result(same, r);
      inst.block = BlockId{};
    }
    insts.resize(kept);
  }

  void leave(std::size_t scope) {
    while (undo_.size() > scope) {
      InstId& head = table_[undo_.back()];
      head = chain_[head.index];
      undo_.pop_back();
    }
  }
};

} // namespace

void merge_common(Function& f) { MergeCommon(f).run(); }

} // namespace lanewise::passes
