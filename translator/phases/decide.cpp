// Gang-decided branches. The wave takes the `any` side if a bit of m is set in any gang. A gang whose slice
// of m is empty may take the `none` side instead if nothing can tell. Both sides are followed symbolically up
// to the branch's postdominator J, under the assumption "m is empty in this gang", and must agree on
// everything that is looked at from J on:
//
//  - Every value gets a symbol: what it equals in terms of the values that existed at the branch.
//  select(empty, a, b) equals b,
//    x | empty equals x, and so on; a block parameter equals what all ways in agree on (optimistically, to a
//    fixed point). A value computed anew equals only itself. Scalars take part like all others: one that
//    differs (a loop counter carried out of a loop that this gang left early) blocks the decision unless it
//    is dead.
//  - Every store and atomic on either side must be under an empty mask.
//  - The `none` side must be free of cycles, since the wave never walks it in this case: nothing else
//  guarantees that it ends.
//    (A loop left when "any lane is done" has its cycle there: it stays at wave level.)
//  - Neither side may hold an operation that needs the whole wave, other than branches already found
//  decidable.
#include "translator/phases/decide.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/passes/mask_facts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr std::size_t kMaxRegionBlocks = 600;

/// Symbols: values of the past by their index; kEmpty, the empty mask; kTop, not yet known; own(v), computed
/// anew.
using Symbol = u64;
constexpr Symbol kTop = ~u64{0}, kEmpty = ~u64{0} - 1, kNew = u64{1} << 32;

/// One side of a branch, followed from its first block to J.
class Side {
public:
  Side(const Function& f, const Cfg& cfg, const passes::MaskFacts& facts, ValueId empty_mask, BlockId from,
       const Successor& edge, BlockId join)
      : f_(f), cfg_(cfg), facts_(facts), empty_mask_(empty_mask), from_(from), edge_(edge), join_(join) {}

  bool collect() {
    if (edge_.block == join_) return true;
    std::vector<BlockId> work{edge_.block};
    in_region_.assign(f_.num_blocks(), false);
    in_region_[edge_.block.index] = true;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      blocks_.push_back(b);
      if (blocks_.size() > kMaxRegionBlocks) return false;
      for (const Successor& s : f_[b].successors)
        if (s.block != join_ && !in_region_[s.block.index]) {
          in_region_[s.block.index] = true;
          work.push_back(s.block);
        }
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [&](BlockId a, BlockId b) { return cfg_.rpo_index[a.index] < cfg_.rpo_index[b.index]; });
    return true;
  }

  [[nodiscard]] const std::vector<BlockId>& blocks() const { return blocks_; }
  [[nodiscard]] bool contains(BlockId b) const { return !in_region_.empty() && in_region_[b.index]; }
  [[nodiscard]] bool has_cycle() const {
    for (const BlockId b : blocks_)
      for (const Successor& s : f_[b].successors)
        if (contains(s.block) && cfg_.rpo_index[s.block.index] <= cfg_.rpo_index[b.index]) return true;
    return false;
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : blocks_) {
        for (const ValueId p : f_[b].params) changed |= update(p, parameter(b, p));
        for (const InstId i : f_[b].insts)
          for (unsigned r = 0; r < f_[i].num_results; ++r) changed |= update(f_.result(i, r), result(i, r));
      }
    }
  }

  /// What `v` equals at a point of this side, or at J.
  [[nodiscard]] Symbol symbol(ValueId v) const {
    if (const auto it = symbols_.find(v.index); it != symbols_.end()) return it->second;
    if (contains(f_.def_block(v))) return kTop;
    return past(v);
  }
  /// What `v` was when the branch was reached.
  [[nodiscard]] Symbol past(ValueId v) const {
    if (f_.type(v) == Type::Mask && facts_.implies(v, empty_mask_)) return kEmpty;
    return v.index;
  }
  /// What J's parameter number `index` gets from this side.
  [[nodiscard]] Symbol join_argument(u32 index) const {
    if (edge_.block == join_) return past(edge_.args[index]);
    Symbol all = kTop;
    for (const BlockId b : blocks_)
      for (const Successor& s : f_[b].successors)
        if (s.block == join_) all = meet(all, symbol(s.args[index]));
    return all;
  }
  [[nodiscard]] bool is_empty(ValueId mask) const { return symbol(mask) == kEmpty; }

private:
  static constexpr Symbol kConflict = kTop - 2;
  const Function& f_;
  const Cfg& cfg_;
  const passes::MaskFacts& facts_;
  ValueId empty_mask_;
  BlockId from_;
  const Successor& edge_;
  BlockId join_;
  std::vector<BlockId> blocks_;
  std::vector<bool> in_region_;
  std::unordered_map<u32, Symbol> symbols_;

  static Symbol meet(Symbol a, Symbol b) { return a == kTop || a == b ? b : b == kTop ? a : kConflict; }

  /// Symbols only descend: unknown, then a symbol, then "computed anew" for good.
  bool update(ValueId v, Symbol now) {
    if (now == kConflict) now = kNew | v.index;
    const auto [it, fresh] = symbols_.try_emplace(v.index, kTop);
    if (it->second == now || it->second == (kNew | v.index)) return false;
    if (it->second != kTop) now = kNew | v.index;
    it->second = now;
    return true;
  }

  Symbol parameter(BlockId b, ValueId p) const {
    const u32 index = f_[p].index;
    Symbol all = b == edge_.block ? past(edge_.args[index]) : kTop;
    for (const BlockId pred : cfg_.preds[b.index])
      if (contains(pred))
        for (const Successor& s : f_[pred].successors)
          if (s.block == b) all = meet(all, symbol(s.args[index]));
    return all;
  }

  Symbol result(InstId i, unsigned r) const {
    const Inst& inst = f_[i];
    const Symbol anew = kNew | f_.result(i, r).index;
    const auto x = f_.operands(i);
    u64 bits = 0;
    if (inst.op == Op::Const && f_.type(inst.first_result) == Type::Mask && inst.imm == 0) return kEmpty;
    if (inst.op == Op::Const)
      return kNew | u64{1} << 40 | inst.imm << 41 | static_cast<u64>(f_.type(inst.first_result));
    if (inst.op == Op::Select && f_.type(x[0]) == Type::Mask) {
      const Symbol c = symbol(x[0]);
      if (c == kTop) return kTop;
      if (c == kEmpty) return symbol(x[2]);
      const Symbol a = symbol(x[1]), b = symbol(x[2]);
      return a == b ? a : a == kTop || b == kTop ? kTop : anew;
    }
    if (inst.num_results != 1 || f_.type(inst.first_result) != Type::Mask) return anew;
    if (x.size() != 2) return anew;
    const auto empty_or = [&](ValueId v) { return f_.is_const(v, &bits) && bits == 0 ? kEmpty : symbol(v); };
    const bool masks = f_.type(x[0]) == Type::Mask && f_.type(x[1]) == Type::Mask;
    if (!masks) return anew;
    const Symbol a = empty_or(x[0]), b = empty_or(x[1]);
    switch (inst.op) {
    case Op::And:
      if (a == kEmpty || b == kEmpty) return kEmpty;
      return a == kTop || b == kTop ? kTop : a == b ? a : anew;
    case Op::AndNot:
      if (a == kEmpty) return kEmpty;
      if (a == kTop || b == kTop) return kTop;
      return b == kEmpty ? a : a == b ? kEmpty : anew;
    case Op::Or:
      if (a == kTop || b == kTop) return kTop;
      return a == kEmpty ? b : b == kEmpty || a == b ? a : anew;
    case Op::Xor:
      if (a == kTop || b == kTop) return kTop;
      return a == kEmpty ? b : b == kEmpty ? a : a == b ? kEmpty : anew;
    default: return anew;
    }
  }
};

class Decider {
public:
  Decider(Function& f, std::vector<Reason>* reasons) : f_(f), reasons_(reasons) {}

  void run() {
    merge_ends();
    own_any_lanes(f_);
    const Cfg cfg(f_);
    cfg_ = &cfg;
    const PostDominators post(f_, cfg);
    const passes::MaskFacts facts(f_, cfg);
    facts_ = &facts;
    decided_.assign(f_.num_blocks(), false);
    users_ = collect_users(cfg);
    // Inner regions come later in reverse postorder than the branch that guards them, and loops' latches
    // later than what is inside; a second sweep catches the rest.
    for (int sweep = 0; sweep < 2; ++sweep) {
      if (reasons_ != nullptr) reasons_->clear();
      for (auto it = cfg.rpo.rbegin(); it != cfg.rpo.rend(); ++it)
        if (is_candidate(*it) && !decided_[it->index])
          decided_[it->index] = decide(*it, post.ipdom[it->index]);
    }
    for (const BlockId b : cfg.rpo)
      if (f_[f_.terminator(b)].op == Op::Branch)
        f_[f_.terminator(b)].imm = decided_[b.index] ? kGangDecided : 0;
  }

private:
  Function& f_;
  std::vector<Reason>* reasons_;
  const Cfg* cfg_ = nullptr;
  const passes::MaskFacts* facts_ = nullptr;
  std::vector<bool> decided_;
  std::vector<std::vector<BlockId>> users_; ///< per value: blocks that use it

  /// So that a branch around s_endpgm has a postdominator.
  void merge_ends() {
    std::vector<BlockId> ends;
    for (u32 b = 0; b < f_.num_blocks(); ++b)
      if (!f_.blocks[b].insts.empty() && f_[f_.terminator(BlockId{b})].op == Op::EndPgm) ends.emplace_back(b);
    if (ends.size() < 2) return;
    const BlockId end = f_.add_block();
    Inst proto = f_[f_.terminator(ends[0])];
    f_.append(end, proto, {}, {});
    for (const BlockId b : ends) {
      f_[f_.terminator(b)].op = Op::Jump;
      f_[b].successors = {{end, {}}};
    }
  }

  std::vector<std::vector<BlockId>> collect_users(const Cfg& cfg) const {
    std::vector<std::vector<BlockId>> users(f_.num_values());
    const auto add = [&](ValueId v, BlockId b) {
      auto& list = users[v.index];
      if (list.empty() || list.back() != b) list.push_back(b);
    };
    for (const BlockId b : cfg.rpo) {
      for (const InstId i : f_[b].insts)
        for (const ValueId v : f_.operands(i)) add(v, b);
      for (const Successor& s : f_[b].successors)
        for (const ValueId v : s.args) add(v, b);
    }
    return users;
  }

  bool is_candidate(BlockId b) const {
    const InstId branch = f_.terminator(b);
    if (f_[branch].op != Op::Branch) return false;
    const Inst* any = f_.def(f_.operands(branch)[0]);
    return any != nullptr && any->op == Op::AnyLane;
  }
  bool no(BlockId b, std::string why) const {
    if (reasons_ != nullptr) reasons_->push_back({b, std::move(why)});
    return false;
  }

  bool decide(BlockId b, BlockId join) const {
    if (!join.valid()) return no(b, "the branch's two sides never meet");
    const ValueId mask = f_.operands(f_.def_id(f_.operands(f_.terminator(b))[0]))[0];
    const auto& successors = f_[b].successors;
    if (successors[0].block == successors[1].block) return no(b, "both sides are one block");
    Side any(f_, *cfg_, *facts_, mask, b, successors[0], join),
        none(f_, *cfg_, *facts_, mask, b, successors[1], join);
    if (!any.collect() || !none.collect()) return no(b, "too much code up to the join");
    if (none.has_cycle() || none.contains(b)) return no(b, "a gang without lanes might never leave the loop");
    for (const Side* side : {&any, &none})
      for (const BlockId inner : side->blocks())
        if (std::string why = needs_wave(inner, b); !why.empty()) return no(b, std::move(why));
    any.solve();
    none.solve();
    for (const Side* side : {&any, &none})
      for (const BlockId inner : side->blocks())
        for (const InstId i : f_[inner].insts)
          if (info(f_[i].op).is(kStores) && !side->is_empty(f_.operands(i).back()))
            return no(b, fmt::format("a store at {:#x} is not proved to be masked by the branch's condition",
                                     f_[i].pc));
    for (u32 p = 0; p < f_[join].params.size(); ++p)
      if (any.join_argument(p) != none.join_argument(p))
        return no(b, fmt::format("v{} at the join would differ between gangs", f_[join].params[p].index));
    return escaping_values_agree(b, any) && escaping_values_agree(b, none);
  }

  /// Empty if `inner` may lie between a gang-decided branch (of block `branch`) and its join.
  std::string needs_wave(BlockId inner, BlockId branch) const {
    for (const InstId i : f_[inner].insts) {
      const Inst& inst = f_[i];
      const OpInfo& op = info(inst.op);
      if (inst.op == Op::ScalarStore || inst.op == Op::Barrier || inst.op == Op::EndPgm ||
          inst.op == Op::Trap || inst.op == Op::BadJump || inst.op == Op::Clock)
        return fmt::format("{} at {:#x} concerns the whole wave", op.text, inst.pc);
      for (unsigned n = 0; n < inst.num_operands; ++n)
        if (op.reads_whole(n) && inst.op != Op::AnyLane)
          return fmt::format("{} at {:#x} looks across gangs", op.text, inst.pc);
      if (inst.op == Op::AnyLane && inner != branch && !decides_branch(i, inner))
        return fmt::format("{} at {:#x} looks across gangs", op.text, inst.pc);
    }
    return {};
  }
  bool decides_branch(InstId any, BlockId b) const {
    return decided_[b.index] && f_.operands(f_.terminator(b))[0] == f_.result(any);
  }

  /// Values of a side that are used beyond it (loops: the exit is dominated by the body) must be what they
  /// were.
  bool escaping_values_agree(BlockId b, const Side& side) const {
    for (const BlockId inner : side.blocks()) {
      const auto check = [&](ValueId v) {
        const auto& users = users_[v.index];
        const bool escapes =
            std::any_of(users.begin(), users.end(), [&](BlockId u) { return !side.contains(u); });
        return !escapes || side.symbol(v) == side.past(v);
      };
      for (const ValueId v : f_[inner].params)
        if (!check(v)) return no(b, fmt::format("v{} would differ between gangs after the branch", v.index));
      for (const InstId i : f_[inner].insts)
        for (unsigned r = 0; r < f_[i].num_results; ++r)
          if (!check(f_.result(i, r)))
            return no(b, fmt::format("v{} (computed at {:#x}) would differ between gangs after the branch",
                                     f_.result(i, r).index, f_[i].pc));
    }
    return true;
  }
};

} // namespace

bool is_gang_decided(const Function& f, BlockId b) {
  const Inst& end = f[f.terminator(b)];
  if (end.op != Op::Branch || end.imm != kGangDecided) return false;
  const Inst* any = f.def(f.operands(f.terminator(b))[0]);
  return any != nullptr && any->op == Op::AnyLane;
}

void own_any_lanes(Function& f) {
  const std::vector<u32> uses = f.use_counts();
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    const BlockId b{n};
    if (f.blocks[n].insts.empty() || f[f.terminator(b)].op != Op::Branch) continue;
    const InstId branch = f.terminator(b);
    const ValueId c = f.operands(branch)[0];
    const InstId any = f.def_id(c);
    if (!any.valid() || f[any].op != Op::AnyLane) continue;
    const auto& insts = f[b].insts;
    if (uses[c.index] == 1 && insts.size() >= 2 && insts[insts.size() - 2] == any) continue;
    const ValueId mask = f.operands(any)[0];
    Inst proto = f[any];
    proto.pc = f[branch].pc;
    const Type t = Type::U1;
    const InstId copy = f.append(b, proto, {&mask, 1}, {&t, 1});
    auto& list = f[b].insts;
    std::swap(list[list.size() - 1], list[list.size() - 2]);
    f.operands(branch)[0] = f.result(copy);
    if (uses[c.index] == 1) {
      auto& old = f[f[any].block].insts;
      old.erase(std::find(old.begin(), old.end(), any));
      f[any].block = BlockId{};
    }
  }
}

void decide_branches(Function& f, std::vector<Reason>* reasons) { Decider(f, reasons).run(); }

} // namespace lanewise::phases
