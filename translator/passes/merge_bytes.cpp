// Bytes and halves that stand side by side in memory, accessed one by one. GPU compilers leave them apart
// where each has a condition of its own (`i < length ? text[i] : 0`, unrolled) or where a private array of
// bytes is filled; to a GPU that costs little, while a gather of bytes takes as long as one of dwords, and a
// byte in private memory as long as a row.
//
// Loads: what lies in one aligned piece of up to 16 bytes is loaded with the first of them, under its mask,
// if the lanes of the others are among its lanes. Since it is the piece's beginning and the piece lies in one
// page, that faults where the first load does, and nowhere else. Branches around loads that are gone this way
// become selects.
//
// Stores to private memory under one mask become one store of the dword.
//
// Both follow control flow as far as it is certain: from a block to where the ways of an if meet again.
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/private_access.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Where control certainly gets to from a block, and the blocks that it may pass on the way, each of which
/// has no other entry and no other way out.
struct Step {
  BlockId next;                ///< invalid: unknown
  std::array<BlockId, 2> ways; ///< invalid: straight on
};

Step step_from(const Function& f, const Cfg& cfg, BlockId b) {
  const auto& successors = f[b].successors;
  Step step;
  if (f[f.terminator(b)].op == Op::Jump) {
    if (cfg.preds[successors[0].block.index].size() == 1) step.next = successors[0].block;
    return step;
  }
  if (f[f.terminator(b)].op != Op::Branch) return step;
  const auto end_of_way = [&](BlockId s) {
    const bool is_way = cfg.preds[s.index].size() == 1 && f[f.terminator(s)].op == Op::Jump;
    return is_way ? f[s].successors[0].block : BlockId{};
  };
  const BlockId x = successors[0].block, y = successors[1].block, behind_x = end_of_way(x),
                behind_y = end_of_way(y);
  if (behind_x.valid() && behind_x == y) {
    step = {y, {x, BlockId{}}};
  } else if (behind_y.valid() && behind_y == x) {
    step = {x, {BlockId{}, y}};
  } else if (behind_x.valid() && behind_x == behind_y) {
    step = {behind_x, {x, y}};
  }
  if (step.next.valid() && (cfg.preds[step.next.index].size() != 2 || step.next == b)) return {};
  return step;
}

/// Calls walk(first block) for each sequence of blocks that steps lead through.
template <class F>
void for_each_sequence(const Function& f, const Cfg& cfg, F walk) {
  std::vector<bool> seen(f.num_blocks(), false);
  for (const BlockId start : cfg.rpo) {
    if (seen[start.index]) continue;
    std::vector<BlockId> blocks;
    for (BlockId b = start; b.valid() && !seen[b.index];) {
      seen[b.index] = true;
      blocks.push_back(b);
      const Step step = step_from(f, cfg, b);
      for (const BlockId way : step.ways)
        if (way.valid()) seen[way.index] = true;
      b = step.next;
    }
    walk(blocks);
  }
}

/// Whether the lanes of masks are among those of others, by how they are made of comparisons with constants.
class MaskOrder {
public:
  explicit MaskOrder(const Function& f) : f_(f) {}

  /// Every lane of `a` is a lane of `b`.
  bool is_subset(ValueId a, ValueId b) { return a == b || f_.is_full(b) || follows_from(a, {b, false}); }
  [[nodiscard]] bool are_disjoint(ValueId a, ValueId b) { return follows_from(a, {b, true}); }
  /// What lanes of `mask` see of `v`.
  ValueId seen(ValueId v, ValueId mask) {
    for (const Inst* inst = f_.def(v); inst != nullptr && inst->op == Op::Select; inst = f_.def(v)) {
      const auto x = f_.operands(f_.def_id(v));
      if (f_.type(x[0]) != Type::Mask) break;
      if (follows_from(mask, {x[0], false}))
        v = x[1];
      else if (follows_from(mask, {x[0], true}))
        v = x[2];
      else
        break;
    }
    return v;
  }

private:
  static constexpr unsigned kMaxDepth = 8;
  /// A mask, or the lanes not in it.
  struct Literal {
    ValueId mask;
    bool inverted = false;
    bool operator==(const Literal&) const = default;
  };
  /// Numbers from `first` on, which may go on at 0 behind the largest.
  struct Range {
    u64 first = 0, behind_first = 0; ///< how many numbers follow the first
  };
  const Function& f_;
  ValueId of_;
  std::vector<Literal> known_; ///< all lanes of of_ are in each of these

  /// What `l` is all of (`of_all`) or one of: the operands of And and Or, with De Morgan's help.
  bool parts(Literal l, bool of_all, std::array<Literal, 2>& to) const {
    const Inst* inst = f_.def(l.mask);
    if (inst == nullptr) return false;
    const Op op = inst->op;
    if (op != Op::And && op != Op::AndNot && op != Op::Or) return false;
    if ((op == Op::Or) == (of_all != l.inverted)) return false;
    const auto x = f_.operands(f_.def_id(l.mask));
    to = {{{x[0], l.inverted}, {x[1], l.inverted != (op == Op::AndNot)}}};
    return true;
  }
  Literal without_not(Literal l) const {
    for (const Inst* inst = f_.def(l.mask); inst != nullptr && inst->op == Op::Not; inst = f_.def(l.mask))
      l = {f_.operands(f_.def_id(l.mask))[0], !l.inverted};
    return l;
  }

  bool follows_from(ValueId mask, Literal l) {
    if (mask != of_) {
      of_ = mask;
      known_.clear();
      collect({mask, false}, kMaxDepth);
    }
    return follows(l, kMaxDepth);
  }

  void collect(Literal l, unsigned depth) {
    l = without_not(l);
    known_.push_back(l);
    std::array<Literal, 2> both;
    if (depth == 0 || !parts(l, true, both)) return;
    for (const Literal& part : both) collect(part, depth - 1);
  }
  bool follows(Literal l, unsigned depth) const {
    l = without_not(l);
    if (std::ranges::find(known_, l) != known_.end()) return true;
    ValueId x;
    if (const auto wanted = range(l, x))
      for (const Literal& k : known_) {
        ValueId y;
        const auto have = range(k, y);
        if (!have || x != y) continue;
        const u64 start = (have->first - wanted->first) & constant_bits(f_.type(x));
        if (start <= wanted->behind_first && have->behind_first <= wanted->behind_first - start) return true;
      }
    std::array<Literal, 2> both;
    if (depth == 0) return false;
    const auto part_follows = [&](const Literal& part) { return follows(part, depth - 1); };
    if (parts(l, true, both)) return std::ranges::all_of(both, part_follows);
    return parts(l, false, both) && std::ranges::any_of(both, part_follows);
  }

  /// What a value `x` is compared with a constant for, as the numbers that it may be; not if none or all.
  std::optional<Range> range(Literal l, ValueId& x) const {
    const Inst* inst = f_.def(l.mask);
    if (inst == nullptr || inst->op != Op::ICmp) return std::nullopt;
    const auto operands = f_.operands(f_.def_id(l.mask));
    auto p = static_cast<IntPred>(inst->imm);
    u64 c = 0;
    x = operands[0];
    if (!f_.is_const(operands[1], &c)) {
      if (!f_.is_const(operands[0], &c)) return std::nullopt;
      x = operands[1];
      p = swapped(p);
    }
    if (l.inverted) p = inverse(p);
    const u64 all = constant_bits(f_.type(x)), sign = all ^ all >> 1;
    const auto from_to = [&](u64 first, u64 last) { return Range{first & all, (last - first) & all}; };
    c &= all;
    const bool is_least = c == (p < IntPred::SLt ? 0 : sign),
               is_most = c == (p < IntPred::SLt ? all : ~sign & all);
    switch (p) {
    case IntPred::Eq: return from_to(c, c);
    case IntPred::Ne: return from_to(c + 1, c - 1);
    case IntPred::ULt: return is_least ? std::nullopt : std::optional(from_to(0, c - 1));
    case IntPred::ULe: return from_to(0, c);
    case IntPred::UGt: return is_most ? std::nullopt : std::optional(from_to(c + 1, all));
    case IntPred::UGe: return from_to(c, all);
    case IntPred::SLt: return is_least ? std::nullopt : std::optional(from_to(sign, c - 1));
    case IntPred::SLe: return from_to(sign, c);
    case IntPred::SGt: return is_most ? std::nullopt : std::optional(from_to(c + 1, ~sign));
    case IntPred::SGe: return from_to(c, ~sign);
    }
    return std::nullopt;
  }
};

bool is_small_load(const Inst& inst) {
  return inst.op == Op::Load && inst.mem.space == Space::Global && inst.mem.form == AddressForm::Lanes &&
         inst.mem.bytes <= 2 && !inst.mem.coherent && !inst.mem.spread;
}

class LoadMerger {
public:
  explicit LoadMerger(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), limits_(f), masks_(f), rewriter_(f),
        lost_load_(f.num_blocks(), false) {}

  bool run() {
    for_each_sequence(f_, cfg_, [&](const std::vector<BlockId>& blocks) {
      for (const BlockId b : blocks) {
        look_at(b, {});
        const Step step = step_from(f_, cfg_, b);
        for (const BlockId way : step.ways)
          if (way.valid()) look_at(way, b);
      }
      close();
    });
    if (groups_.empty()) return false;
    for (const Group& g : groups_) load(g);
    put_in();
    for (const BlockId b : cfg_.rpo) choose_instead(b);
    return true;
  }

private:
  /// An address: the sum of these. `index` is a V32 to be zero-extended, or nothing.
  struct Address {
    ValueId base, index;
    u64 offset = 0;
  };
  struct Member {
    InstId load;
    unsigned at = 0; ///< bytes behind the first
  };
  /// Loads from one aligned piece of memory. The first is of its beginning, and its mask has all lanes.
  struct Group {
    Address address;
    unsigned bytes = 0; ///< of the piece
    BlockId branch;     ///< the block whose branch goes to the first load; invalid: goes where that is
    std::vector<Member> members;
  };
  /// What a member becomes: `value` in its own lanes, `guarded` in all.
  struct Replacement {
    ValueId mask, value, guarded;
  };
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const ValueLimits limits_;
  MaskOrder masks_;
  Rewriter rewriter_;
  std::vector<Group> open_, groups_;
  std::map<InstId, std::vector<InstId>> before_; ///< what goes in front of an instruction
  std::vector<ValueId> map_;
  std::map<ValueId, Replacement> replaced_;
  std::vector<bool> lost_load_; ///< per block

  /// `from`: where control comes from, if it may go past `b`.
  void look_at(BlockId b, BlockId from) {
    BlockId before = from; // from where memory is the same
    for (const InstId i : f_[b].insts) {
      if (is_small_load(f_[i])) {
        look_at(i, before);
      } else if (ends_groups(f_[i])) {
        close();
        before = {};
      }
    }
    // What begins beside the sequence of blocks is nothing to those that follow.
    for (auto g = open_.begin(); from.valid() && g != open_.end();) {
      if (g->branch.valid() || f_[g->members[0].load].block != b) {
        ++g;
        continue;
      }
      finish(*g);
      g = open_.erase(g);
    }
  }

  /// Memory may be another one behind it.
  static bool ends_groups(const Inst& inst) {
    if (inst.op == Op::Load && inst.mem.coherent) return true;
    if (!info(inst.op).is(kStores)) return false;
    return !info(inst.op).is(kMemory) || inst.mem.space == Space::Global || inst.mem.space == Space::Flat ||
           inst.mem.space == Space::Buffer;
  }

  void close() {
    for (Group& g : open_) finish(g);
    open_.clear();
  }
  void finish(Group& g) {
    // A single one has nothing to share, and a wide load takes longer than two of its ends. One place as
    // bytes and halves of it is what a descriptor's format chooses from: most of these loads have no lanes.
    u32 places = 0;
    for (const Member& m : g.members) places |= 1u << m.at;
    if (static_cast<u32>(std::popcount(places)) < std::max(2u, dwords(g))) return;
    // Where all are on one way, so is what they become: without lanes it may be of a page that is not there,
    // and take hundreds of cycles.
    const auto stays = [&](const Member& m) { return f_[m.load].block == f_[g.members[0].load].block; };
    if (std::ranges::all_of(g.members, stays)) g.branch = {};
    groups_.push_back(std::move(g));
  }
  [[nodiscard]] u32 dwords(const Group& g) const {
    u32 end = 0;
    for (const Member& m : g.members) end = std::max(end, m.at + f_[m.load].mem.bytes);
    return (end + 3) / 4;
  }

  [[nodiscard]] Address address_of(InstId i) {
    const ValueId mask = f_.operands(i).back();
    Address a = {f_.operands(i)[0], {}, f_[i].imm};
    u64 c = 0;
    if (const Inst* join = f_.def(a.base); join != nullptr && join->op == Op::Join) {
      const auto x = f_.operands(f_.def_id(a.base));
      const ValueId whole = whole_of(f_, masks_.seen(x[0], mask), masks_.seen(x[1], mask));
      if (whole.valid()) a.base = whole;
    }
    a.base = masks_.seen(a.base, mask);
    const auto sum = [&](ValueId v, Op op) {
      const Inst* inst = v.valid() ? f_.def(v) : nullptr;
      return inst != nullptr && inst->op == op ? f_.operands(f_.def_id(v)) : std::span<const ValueId>();
    };
    for (auto x = sum(a.base, Op::Add); !x.empty(); x = sum(a.base, Op::Add)) {
      const unsigned constant = f_.is_const(x[1], &c) ? 1 : 0;
      if (!f_.is_const(x[constant], &c)) break;
      a.base = x[1 - constant];
      a.offset += c;
    }
    for (const unsigned n : {0u, 1u}) {
      const auto x = sum(a.base, Op::Add);
      if (x.empty() || sum(x[n], Op::ZExt).empty()) continue;
      a.index = sum(x[n], Op::ZExt)[0];
      a.base = x[1 - n];
      break;
    }
    // An index that was or-ed does not wrap.
    while (a.index.valid()) {
      a.index = masks_.seen(a.index, mask);
      const auto x = sum(a.index, Op::Or);
      const unsigned constant = !x.empty() && f_.is_const(x[1]) ? 1 : 0;
      if (x.empty() || !f_.is_const(x[constant], &c) || !limits_.disjoint_bits(x[0], x[1])) break;
      a.index = x[1 - constant];
      a.offset += c;
    }
    return a;
  }

  /// Both are computed alike, perhaps on different ways. Depth-limited.
  [[nodiscard]] bool same(ValueId a, ValueId b, unsigned depth = 4) const {
    if (a == b) return true;
    const Inst *x = a.valid() ? f_.def(a) : nullptr, *y = b.valid() ? f_.def(b) : nullptr;
    if (x == nullptr || y == nullptr || depth == 0 || x->op != y->op || x->imm != y->imm ||
        f_.type(a) != f_.type(b) || x->num_results != 1 || !info(x->op).is(kPure) || !(x->fp == y->fp))
      return false;
    return std::ranges::equal(f_.operands(f_.def_id(a)), f_.operands(f_.def_id(b)),
                              [&](ValueId u, ValueId v) { return same(u, v, depth - 1); });
  }

  /// The largest power of two, up to 16, that the address is certainly a multiple of.
  [[nodiscard]] unsigned alignment(const Address& a) const {
    u64 ones = limits_.ones(a.base) | a.offset | 16;
    if (a.index.valid()) ones |= limits_.ones(a.index);
    return 1u << std::countr_zero(ones);
  }

  /// `from`: whose branch the load may stand before; invalid: none.
  void look_at(InstId i, BlockId from) {
    const Address a = address_of(i);
    const ValueId mask = f_.operands(i).back();
    for (Group& g : open_) {
      const u64 at = a.offset - g.address.offset;
      if (at >= g.bytes || !same(g.address.base, a.base) || !same(g.address.index, a.index)) continue;
      if (at + f_[i].mem.bytes > g.bytes || at % f_[i].mem.bytes != 0) continue;
      if (!masks_.is_subset(mask, f_.operands(g.members[0].load).back())) continue;
      g.members.push_back({i, static_cast<unsigned>(at)});
      return;
    }
    const unsigned bytes = alignment(a);
    if (bytes < 4) return;
    if (open_.size() >= kMaxOpen) {
      finish(open_.front());
      open_.erase(open_.begin());
    }
    Group g = {a, bytes, {}, {{i, 0}}};
    // Where the branch asks whether the mask has lanes, the load may as well stand before it.
    if (from.valid() && f_[from].successors[0].block == f_[i].block && f_.tested_mask(from) == mask &&
        can_stand_before(f_.operands(i)[0], from, f_[i].block))
      g.branch = from;
    open_.push_back(std::move(g));
  }
  /// `v`, if it is not known at the end of `from`, can be computed there instead of in `way`. Depth-limited.
  [[nodiscard]] bool can_stand_before(ValueId v, BlockId from, BlockId way, unsigned depth = 8) const {
    if (dom_.dominates(f_.def_block(v), from)) return true;
    const InstId i = f_.def_id(v);
    if (depth == 0 || !i.valid() || f_[i].block != way || !info(f_[i].op).is(kPure)) return false;
    return std::ranges::all_of(f_.operands(i),
                               [&](ValueId x) { return can_stand_before(x, from, way, depth - 1); });
  }
  /// Moves what `v` needs and `way` computes to the front of instruction `at`.
  void move_before(InstId at, ValueId v, BlockId way) {
    const InstId i = f_.def_id(v);
    if (f_.def_block(v) != way || !i.valid()) return;
    for (const ValueId x : f_.operands(i)) move_before(at, x, way);
    if (f_[i].block != way) return; // it has been needed twice
    f_[i].block = f_[at].block;
    before_[at].push_back(i);
  }
  static constexpr std::size_t kMaxOpen = 16;

  void load(const Group& g) {
    const InstId first = g.members[0].load;
    const InstId at = g.branch.valid() ? f_.terminator(g.branch) : first;
    const std::vector<ValueId> operands(f_.operands(first).begin(), f_.operands(first).end());
    Inst proto = f_[first];
    const u32 count = dwords(g);
    proto.mem.bytes = static_cast<u8>(4 * count);
    proto.mem.sign_extend = false;
    const std::vector<Type> types(count, Type::V32);
    if (g.branch.valid()) move_before(at, operands[0], f_[first].block);
    const InstId wide = f_.make(proto, operands, types);
    f_[wide].block = f_[at].block;
    before_[at].push_back(wide);
    for (const Member& m : g.members) {
      std::vector<InstId>& to = before_[m.load];
      rewriter_.begin(m.load, to);
      const ValueId mask = f_.operands(m.load).back();
      const ValueId value = part(f_.result(wide, m.at / 4), m.at % 4 * 8, f_[m.load].mem);
      const bool same = mask == operands.back() || f_.is_full(mask);
      replaced_[f_.result(m.load)] = {mask, value,
                                      same ? value : rewriter_.select(mask, value, rewriter_.v32(0))};
    }
  }

  ValueId part(ValueId dword, unsigned first, const MemAttr& mem) {
    return part_of_dword(dword, first, mem,
                         [&](Op op, ValueId v, u32 c) { return rewriter_.same(op, v, rewriter_.v32(c)); });
  }

  /// Makes blocks what they are now, and puts what loads have become in their place.
  void put_in() {
    map_.assign(f_.num_values(), ValueId{});
    for (const auto& [load, r] : replaced_) map_[load.index] = r.guarded;
    for (const BlockId b : cfg_.rpo) {
      std::vector<InstId> insts;
      insts.reserve(f_[b].insts.size());
      for (const InstId i : f_[b].insts) {
        if (f_[i].block != b) continue; // it has been moved
        if (const auto found = before_.find(i); found != before_.end())
          insts.insert(insts.end(), found->second.begin(), found->second.end());
        if (is_small_load(f_[i]) && map_[f_.result(i).index].valid()) {
          f_[i].block = BlockId{};
          lost_load_[b.index] = true;
          continue;
        }
        if (f_[i].op == Op::Select)
          if (const auto found = replaced_.find(f_.operands(i)[1]);
              found != replaced_.end() && found->second.mask == f_.operands(i)[0])
            f_.operands(i)[1] = found->second.value;
        insts.push_back(i);
      }
      f_[b].insts = std::move(insts);
    }
    f_.replace_values(map_);
  }

  /// A way that lanes of a mask take, on which nothing is left but what is chosen by that mask in the end.
  void choose_instead(BlockId b) {
    if (f_[b].insts.empty()) return; // was such a way
    const Step step = step_from(f_, cfg_, b);
    const BlockId way = step.ways[0];
    if (!way.valid() || step.ways[1].valid() || !lost_load_[way.index]) return;
    const ValueId mask = f_.tested_mask(b);
    const auto& insts = f_[way].insts;
    if (!mask.valid() || insts.size() > kMaxChosen) return;
    if (!std::all_of(insts.begin(), insts.end() - 1, [&](InstId i) { return info(f_[i].op).is(kPure); }))
      return;
    const std::vector<ValueId> taken = f_[way].successors[0].args, passed = f_[b].successors[1].args;
    for (std::size_t n = 0; n < taken.size(); ++n) {
      if (taken[n] == passed[n]) continue;
      const Inst* select = f_.def(taken[n]);
      if (select == nullptr || select->op != Op::Select) return;
      const auto x = f_.operands(f_.def_id(taken[n]));
      if (x[0] != mask || x[2] != passed[n]) return;
    }
    const InstId branch = f_.terminator(b);
    f_[b].insts.pop_back();
    for (const InstId i : insts) {
      f_[i].block = b;
      f_[b].insts.push_back(i);
    }
    f_[branch].block = BlockId{};
    f_[b].successors = f_[way].successors;
    f_[way] = Block{};
  }
  static constexpr std::size_t kMaxChosen = 16;
};

bool is_small_private_store(const Inst& inst) {
  return inst.op == Op::Store && inst.mem.space == Space::Scratch && inst.mem.form == AddressForm::Lanes &&
         inst.mem.bytes <= 2 && !inst.mem.spread;
}

class StoreMerger {
public:
  StoreMerger(Function& f, u32 private_bytes)
      : f_(f), private_(f, private_bytes), limits_(f), masks_(f), uses_(f.use_counts()), rewriter_(f) {}

  bool run() {
    const Cfg cfg(f_);
    for_each_sequence(f_, cfg, [&](const std::vector<BlockId>& blocks) {
      for (const BlockId b : blocks) {
        for (const InstId i : f_[b].insts) look_at(i, true);
        for (const BlockId way : step_from(f_, cfg, b).ways)
          for (const InstId i : way.valid() ? f_[way].insts : std::vector<InstId>()) look_at(i, false);
      }
      open_.clear();
    });
    if (becomes_.empty()) return false;
    for (const BlockId b : cfg.rpo) {
      std::vector<InstId> insts;
      insts.reserve(f_[b].insts.size());
      for (const InstId i : f_[b].insts) {
        const auto found = becomes_.find(i);
        if (found == becomes_.end()) {
          insts.push_back(i);
          continue;
        }
        if (found->second.complete) store(i, found->second.stores, insts);
        f_[i].block = BlockId{};
      }
      f_[b].insts = std::move(insts);
    }
    return true;
  }

private:
  static constexpr unsigned kMaxDepth = 4; ///< of selects

  using Stores = std::array<InstId, 4>; ///< whose each byte of a dword is
  /// A store that is gone; the last of a dword stores all of it.
  struct Outcome {
    bool complete = false;
    Stores stores;
  };
  Function& f_;
  const PrivateAccesses private_;
  const ValueLimits limits_;
  MaskOrder masks_;
  const std::vector<u32> uses_;
  Rewriter rewriter_;
  struct Dword {
    ValueId mask;
    Stores stores;
    std::vector<InstId> all; ///< also those of which nothing is left
  };
  std::map<u64, Dword> open_; ///< by number
  std::map<InstId, Outcome> becomes_;

  /// `certain`: control gets here with all stores that are open.
  void look_at(InstId i, bool certain) {
    if (!private_.is_private(i)) return;
    const PrivateBytes bytes = private_.bytes(i);
    if (certain && is_small_private_store(f_[i]) && bytes.exact) return add(i, bytes);
    open_.erase(open_.lower_bound(bytes.first / 4), open_.lower_bound((bytes.end + 3) / 4));
  }

  void add(InstId i, const PrivateBytes& bytes) {
    const u64 number = bytes.first / 4;
    const ValueId mask = f_.operands(i).back();
    Dword& dword = open_[number];
    if (dword.mask != mask) dword = {mask, {}, {}};
    for (u64 at = bytes.first; at < bytes.end; ++at) dword.stores[at % 4] = i;
    dword.all.push_back(i);
    if (!std::ranges::all_of(dword.stores, [](InstId s) { return s.valid(); })) return;
    for (const InstId s : dword.all) becomes_[s];
    becomes_[i] = {true, dword.stores};
    open_.erase(number);
  }

  /// `bits` from bit `from` on, to be moved to bit `to`.
  struct Part {
    unsigned from, bits, to;
  };

  [[nodiscard]] bool is_select(ValueId v) const {
    const Inst* inst = f_.def(v);
    return inst != nullptr && inst->op == Op::Select && v.index < uses_.size() && uses_[v.index] == 1 &&
           f_.type(f_.operands(f_.def_id(v))[0]) == Type::Mask;
  }

  /// `whole`, if it is valid, or part of `v`. Where that is chosen, the sum is, if that comes to the same: to
  /// AVX-512, operations are selects as well.
  ValueId with(ValueId whole, ValueId v, const Part& part) {
    if (whole.valid() && is_select(v)) {
      const std::array<ValueId, 3> x = {f_.operands(f_.def_id(v))[0], f_.operands(f_.def_id(v))[1],
                                        f_.operands(f_.def_id(v))[2]};
      if (!has_lanes_in(x[2], x[0], part)) {
        whole = with(whole, x[2], part);
        const ValueId sum = rewriter_.same(Op::Or, whole, placed(x[1], part, kMaxDepth));
        return rewriter_.select(x[0], sum, whole);
      }
    }
    const ValueId added = placed(v, part, kMaxDepth);
    u64 bits = 0;
    if (!whole.valid()) return added;
    return f_.is_const(added, &bits) && bits == 0 ? whole : rewriter_.same(Op::Or, whole, added);
  }
  /// The part of `v` may be other than 0 in some lane of `mask`.
  [[nodiscard]] bool has_lanes_in(ValueId v, ValueId mask, const Part& part) {
    u64 c = 0;
    if (f_.is_const(v, &c)) return (c >> part.from & ((u64{1} << part.bits) - 1)) != 0;
    if (!is_select(v)) return true;
    const auto x = f_.operands(f_.def_id(v));
    return !masks_.are_disjoint(mask, x[0]) || has_lanes_in(x[2], mask, part);
  }

  /// Part of `v`; all other bits are 0.
  ValueId placed(ValueId v, const Part& part, unsigned depth) {
    const auto [from, bits, to] = part;
    const u64 all = (u64{1} << bits) - 1;
    u64 c = 0;
    if (f_.is_const(v, &c)) return rewriter_.v32(static_cast<u32>((c >> from & all) << to));
    if (const Inst* inst = f_.def(v); inst != nullptr && depth != 0) {
      const std::vector<ValueId> x(f_.operands(f_.def_id(v)).begin(), f_.operands(f_.def_id(v)).end());
      const bool by_constant = x.size() == 2 && f_.is_const(x[1], &c);
      if (is_select(v)) {
        const ValueId chosen = placed(x[1], part, depth - 1);
        return rewriter_.select(x[0], chosen, placed(x[2], part, depth - 1));
      }
      if (inst->op == Op::And && by_constant && (c >> from & all) == all)
        return placed(x[0], part, depth - 1);
      if (inst->op == Op::LShr && by_constant && from + c + bits <= 32)
        return placed(x[0], {from + static_cast<unsigned>(c), bits, to}, depth - 1);
    }
    u64 ones = limits_.ones(v);
    if (to > from) {
      v = rewriter_.shl(v, to - from);
      ones = ones << (to - from) & 0xffff'ffffu;
    } else if (to < from) {
      v = rewriter_.lshr(v, from - to);
      ones >>= from - to;
    }
    return (ones & ~(all << to)) == 0 ? v : rewriter_.and_(v, all << to);
  }

  /// The store of the whole dword, at its last part's place.
  void store(InstId last, const Stores& stores, std::vector<InstId>& out) {
    rewriter_.begin(last, out);
    ValueId whole;
    for (unsigned at = 0, bytes = 0; at < 4; at += bytes) {
      bytes = 1;
      while (at + bytes < 4 && stores[at + bytes] == stores[at]) ++bytes;
      // A half of which the first byte has been overwritten.
      const u64 address = private_.bytes(stores[at]).first;
      const Part part = {8 * static_cast<unsigned>(at - address % 4), 8 * bytes, 8 * at};
      whole = with(whole, f_.operands(stores[at])[1], part);
    }
    Inst proto = f_[last];
    proto.mem.bytes = 4;
    proto.imm = 0;
    const ValueId address = rewriter_.v32(static_cast<u32>(private_.bytes(last).first & ~u64{3}));
    out.push_back(f_.make(proto, std::array{address, whole, f_.operands(last).back()}, {}));
    f_[out.back()].block = proto.block;
  }
};

} // namespace

bool merge_bytes(Function& f, u32 private_bytes) {
  bool changed = false;
  if (has_any(f, is_small_load) && LoadMerger(f).run()) {
    merge_blocks(f);
    changed = true;
  }
  if (has_any(f, is_small_private_store)) changed |= StoreMerger(f, private_bytes).run();
  return changed;
}

} // namespace lanewise::passes
