// Joining: GCN code spreads 64-bit values over two registers and keeps lane masks in scalar pairs. Where a
// block joins two of its parameters, or stores halves side by side, the pair becomes one 64-bit parameter; a
// 64-bit scalar parameter that only ever receives masks becomes a mask. The joins and splits this leaves at
// the edges are folded away by fold(). Where in the end only one half of a 64-bit parameter is looked at, it
// becomes that half again.
#include "translator/ir/cfg.hpp"
#include "translator/ir/wide_access.hpp"
#include "translator/passes/halves.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace lanewise::passes {

using namespace ir;

namespace {

enum class What {
  All,
  WholeVectors, ///< values per lane that are halves of one on every way in
};

class PairJoiner {
public:
  explicit PairJoiner(Function& f) : f_(f) {}

  /// One round; true if anything changed. Of `what`.
  bool run(What what) {
    const Cfg cfg(f_);
    preds_ = &cfg.preds;
    map_.assign(f_.num_values(), ValueId{});
    taken_.assign(f_.num_values(), false);
    pairs_.clear();
    find_pairs(cfg);
    if (what == What::WholeVectors)
      std::erase_if(pairs_, [&](const Pair& pair) {
        std::vector<Pair> seen;
        return !is_vector(f_.type(pair.lo)) || !is_whole(pair.lo, pair.hi, seen);
      });
    find_handed_on();
    bool changed = false;
    for (const Pair& pair : pairs_) changed |= join_parameters(pair);
    if (what == What::All) changed |= join_masks(cfg);
    if (changed) f_.replace_values(map_);
    return changed;
  }
  /// Parameters of which one half is looked at become that half, and, `apart`, those of which both are, each
  /// for itself, two if they only ever were two.
  void split(bool apart) {
    const Cfg cfg(f_);
    const auto is_pair = [&](ValueId p) { return is_wide(f_.type(p)); };
    if (std::ranges::none_of(cfg.rpo, [&](BlockId b) { return std::ranges::any_of(f_[b].params, is_pair); }))
      return;
    preds_ = &cfg.preds;
    map_.assign(f_.num_values(), ValueId{});
    const std::vector<u8> halves = find_halves(cfg, false);
    for (const BlockId b : cfg.rpo) {
      const std::vector<ValueId> params = f_[b].params;
      for (const ValueId p : params)
        if (is_wide(f_.type(p)) && (halves[p.index] == kLow || halves[p.index] == kHigh))
          keep_half(p, halves[p.index] == kLow ? Op::Lo : Op::Hi);
    }
    if (apart)
      for (const ValueId p : find_separate(cfg)) take_apart(p);
    f_.replace_values(map_);
  }

private:
  enum : u8 { kLow = 1, kHigh = 2, kWhole = 4 };
  static constexpr std::size_t kMaxPairs = 16; ///< of parameters that one store's data may come through
  struct Pair {
    BlockId block;
    ValueId lo, hi;
  };
  Function& f_;
  const Lists<BlockId>* preds_ = nullptr;
  std::vector<ValueId> map_;
  std::vector<Pair> pairs_;
  std::vector<bool> taken_; ///< per value: it is in one of the pairs

  bool is_param(ValueId v) const { return !f_.def_id(v).valid(); }

  bool are_params_of_one_block(ValueId lo, ValueId hi) const {
    return lo != hi && is_param(lo) && is_param(hi) && f_.def_block(lo) == f_.def_block(hi);
  }

  /// Each parameter takes part once a round.
  void take(ValueId lo, ValueId hi) {
    if (taken_[lo.index] || taken_[hi.index]) return;
    taken_[lo.index] = taken_[hi.index] = true;
    pairs_.push_back({f_.def_block(lo), lo, hi});
  }

  /// Parameters of one block that are joined, or that are stored side by side and halves of one value on
  /// every way in. Such halves come first among those that are joined, too: v_mad_u64_u32 is used for 32
  /// bits, with whatever is in the register behind as the upper half.
  void find_pairs(const Cfg& cfg) {
    std::vector<Pair> others;
    const auto is_pair = [&](ValueId lo, ValueId hi) {
      std::vector<Pair> seen;
      return is_whole(lo, hi, seen);
    };
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (f_[i].op == Op::Join && are_params_of_one_block(x[0], x[1])) {
          if (is_pair(x[0], x[1]))
            take(x[0], x[1]);
          else
            others.push_back({b, x[0], x[1]});
        }
        if (f_[i].op != Op::Store || !can_be_wide(f_[i])) continue;
        for (std::size_t n = address_operands(f_[i].mem); n + 2 < x.size(); n += 2)
          if (are_params_of_one_block(x[n], x[n + 1]) && is_pair(x[n], x[n + 1])) take(x[n], x[n + 1]);
      }
    for (const Pair& pair : others) take(pair.lo, pair.hi);
  }

  /// Parameters that become pairs because they are handed on to such, and so on: of outer loops for inner
  /// ones.
  void find_handed_on() {
    for (std::size_t n = 0; n < pairs_.size(); ++n) {
      const auto [block, lo, hi] = pairs_[n];
      for (const BlockId p : (*preds_)[block.index])
        for (const Successor& s : f_[p].successors) {
          if (s.block != block) continue;
          const ValueId from_lo = s.args[f_[lo].index], from_hi = s.args[f_[hi].index];
          if (are_params_of_one_block(from_lo, from_hi)) take(from_lo, from_hi);
        }
    }
  }

  /// The values are halves of one, constants, selected alike from such, or parameters that are so on every
  /// way in.
  bool is_whole(ValueId lo, ValueId hi, std::vector<Pair>& seen) const {
    if (f_.is_const(lo) && f_.is_const(hi)) return true;
    if (whole_of(f_, lo, hi).valid() || is_loaded_pair(f_, lo, hi)) return true;
    const Inst *l = f_.def(lo), *h = f_.def(hi);
    if (l != nullptr && h != nullptr && l->op == Op::Select && h->op == Op::Select) {
      const auto low = f_.operands(f_.def_id(lo)), high = f_.operands(f_.def_id(hi));
      return low[0] == high[0] && is_whole(low[1], high[1], seen) && is_whole(low[2], high[2], seen);
    }
    if (!are_params_of_one_block(lo, hi)) return false;
    if (std::ranges::any_of(seen, [&](const Pair& p) { return p.lo == lo && p.hi == hi; })) return true;
    if (seen.size() == kMaxPairs) return false;
    const BlockId b = f_.def_block(lo);
    seen.push_back({b, lo, hi});
    for (const BlockId p : (*preds_)[b.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == b && !is_whole(s.args[f_[lo].index], s.args[f_[hi].index], seen)) return false;
    return true;
  }

  /// `op` on `operands`, just before the end of `b`.
  ValueId before_end(BlockId b, Op op, Type type, std::initializer_list<ValueId> operands) {
    Inst proto;
    proto.op = op;
    proto.pc = f_[f_.terminator(b)].pc;
    return f_.result(f_.insert_before_end(b, proto, {operands.begin(), operands.size()}, {&type, 1}));
  }
  ValueId at_start(BlockId b, Op op, Type type, std::initializer_list<ValueId> operands) {
    Inst proto;
    proto.op = op;
    proto.pc = f_[b].pc;
    return f_.result(f_.insert_first(b, proto, {operands.begin(), operands.size()}, {&type, 1}));
  }
  /// Calls make_arg(pred, args) for each edge into `b` and appends what it returns to the edge's arguments.
  template <class F>
  void extend_edges(BlockId b, F make_arg) {
    BlockId last;
    for (const BlockId p : (*preds_)[b.index]) {
      if (p == last) continue; // both edges of a branch are handled at once
      last = p;
      for (std::size_t s = 0; s < f_[p].successors.size(); ++s) {
        if (f_[p].successors[s].block != b) continue;
        const ValueId arg = make_arg(p, f_[p].successors[s].args);
        f_[p].successors[s].args.push_back(arg);
      }
    }
  }
  void replace(ValueId from, ValueId to) {
    map_.resize(f_.num_values());
    map_[from.index] = to;
  }

  bool join_parameters(const Pair& pair) {
    const u32 lo = f_[pair.lo].index, hi = f_[pair.hi].index;
    const Type half = f_.type(pair.lo), wide = wide_of(half);
    if (f_.type(pair.hi) != half) return false;
    const ValueId joined = f_.add_param(pair.block, wide);
    extend_edges(pair.block, [&](BlockId p, const std::vector<ValueId>& args) {
      return before_end(p, Op::Join, wide, {args[lo], args[hi]});
    });
    const ValueId new_lo = at_start(pair.block, Op::Lo, half, {joined});
    const ValueId new_hi = at_start(pair.block, Op::Hi, half, {joined});
    replace(pair.lo, new_lo);
    replace(pair.hi, new_hi);
    return true;
  }

  bool join_masks(const Cfg& cfg) {
    const std::vector<ValueId> params = wide_scalars(cfg);
    if (params.empty()) return false;
    std::vector<ValueId> masks = find_masks(params);
    for (const ValueId v : find_used_as_masks(cfg, params))
      if (std::find(masks.begin(), masks.end(), v) == masks.end()) masks.push_back(v);
    for (const ValueId v : masks) mask_parameter(v);
    return !masks.empty();
  }

  static bool is_wide(Type t) { return t == Type::U64 || t == Type::V64; }
  /// Per 64-bit value, the halves that are looked at; by way of selects as well, or these look at both.
  std::vector<u8> find_halves(const Cfg& cfg, bool by_selects) const {
    std::vector<u8> halves(f_.num_values(), 0);
    const auto hands_on = [&](InstId i) { return by_selects && f_[i].op == Op::Select; };
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) {
        const Op op = f_[i].op;
        for (const ValueId v : f_.operands(i))
          if (!hands_on(i))
            halves[v.index] |= op == Op::Lo ? u8{kLow} : op == Op::Hi ? u8{kHigh} : u8{kLow | kHigh | kWhole};
      }
    for (bool changed = true; changed;) {
      changed = false;
      const auto look = [&](ValueId v, u8 at) {
        changed |= (at & ~halves[v.index]) != 0;
        halves[v.index] |= at;
      };
      for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
        for (const Successor& s : f_[*b].successors)
          for (std::size_t a = 0; a < s.args.size(); ++a)
            look(s.args[a], halves[f_[s.block].params[a].index]);
        for (auto i = f_[*b].insts.rbegin(); i != f_[*b].insts.rend(); ++i)
          if (hands_on(*i))
            for (const ValueId v : f_.operands(*i)) look(v, halves[f_.result(*i).index]);
      }
    }
    return halves;
  }
  void keep_half(ValueId wide, Op which) {
    const BlockId b = f_.def_block(wide);
    const u32 index = f_[wide].index;
    const Type half = f_.type(wide) == Type::U64 ? Type::U32 : Type::V32;
    const ValueId kept = f_.add_param(b, half);
    extend_edges(b, [&](BlockId p, const std::vector<ValueId>& args) {
      return before_end(p, which, half, {args[index]});
    });
    replace(wide, at_start(b, Op::Join, f_.type(wide), {kept, kept})); // nobody sees the other half
  }

  /// Parameters that get halves of different values, as where registers side by side have been a pair once,
  /// and which nobody looks at as a whole.
  [[nodiscard]] std::vector<ValueId> find_separate(const Cfg& cfg) const {
    const std::vector<u8> halves = find_halves(cfg, true);
    std::vector<ValueId> found;
    for (const BlockId b : cfg.rpo)
      std::ranges::copy_if(f_[b].params, std::back_inserter(found), [&](ValueId p) {
        return f_.type(p) == Type::V64 && p.index < halves.size() && halves[p.index] == (kLow | kHigh);
      });
    while (std::erase_if(found, [&](ValueId p) {
             bool all = true;
             for_each_argument(p, [&](ValueId arg) { all &= is_separate(arg, found); });
             return !all;
           }) != 0) {
    }
    return found;
  }
  [[nodiscard]] bool is_separate(ValueId v, const std::vector<ValueId>& params) const {
    const Inst* def = f_.def(v);
    if (def == nullptr) return std::ranges::find(params, v) != params.end();
    const auto x = f_.operands(f_.def_id(v));
    if (def->op == Op::Select) return is_separate(x[1], params) && is_separate(x[2], params);
    std::vector<Pair> seen;
    return def->op == Op::Const || (def->op == Op::Join && !is_whole(x[0], x[1], seen));
  }
  void take_apart(ValueId wide) {
    const BlockId b = f_.def_block(wide);
    const u32 index = f_[wide].index;
    std::array<ValueId, 2> halves;
    for (const unsigned n : {0u, 1u}) {
      halves[n] = f_.add_param(b, Type::V32);
      extend_edges(b,
                   [&](BlockId p, const std::vector<ValueId>& args) { return half_of(args[index], n, p); });
    }
    replace(wide, at_start(b, Op::Join, Type::V64, {halves[0], halves[1]}));
  }
  /// At the end of `b`.
  ValueId half_of(ValueId v, unsigned n, BlockId b) {
    const InstId i = f_.def_id(v);
    if (i.valid() && f_[i].op == Op::Join) return f_.operands(i)[n];
    if (!i.valid() || f_[i].op != Op::Select) return before_end(b, n == 0 ? Op::Lo : Op::Hi, Type::V32, {v});
    const std::array x = {f_.operands(i)[0], f_.operands(i)[1], f_.operands(i)[2]};
    return before_end(b, Op::Select, Type::V32, {x[0], half_of(x[1], n, b), half_of(x[2], n, b)});
  }

  [[nodiscard]] std::vector<ValueId> wide_scalars(const Cfg& cfg) const {
    std::vector<ValueId> params;
    for (const BlockId b : cfg.rpo)
      std::ranges::copy_if(f_[b].params, std::back_inserter(params),
                           [&](ValueId v) { return f_.type(v) == Type::U64; });
    return params;
  }
  /// Calls f(arg) for what `param` gets on each way in. Those that this round's joins have added to its block
  /// are looked at in the next.
  template <class F>
  void for_each_argument(ValueId param, F f) const {
    const BlockId b = f_.def_block(param);
    const u32 index = f_[param].index;
    for (const BlockId p : (*preds_)[b.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == b && index < s.args.size()) f(s.args[index]);
  }

  /// u64 parameters all of whose arguments are masks, constants or such parameters; at least one is a mask.
  std::vector<ValueId> find_masks(std::span<const ValueId> params) const {
    enum : u8 { kNo, kMaybe, kMask };
    std::vector<u8> state(f_.num_values(), kNo);
    for (const ValueId v : params) state[v.index] = kMaybe;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ValueId v : params)
        for_each_argument(v, [&](ValueId arg) {
          u8& mine = state[v.index];
          const u8 from = classify(arg, state);
          if (mine == kNo || (from != kNo && !(mine == kMaybe && from == kMask))) return;
          mine = from;
          changed = true;
        });
    }
    std::vector<ValueId> masks;
    for (u32 v = 0; v < state.size(); ++v)
      if (state[v] == kMask) masks.emplace_back(v);
    return masks;
  }
  /// u64 parameters that are only ever looked at as masks, whatever they receive (the first time round a loop
  /// often garbage).
  std::vector<ValueId> find_used_as_masks(const Cfg& cfg, std::span<const ValueId> params) const {
    enum : u8 { kAsMask = 1, kOtherwise = 2 };
    std::vector<u8> used(f_.num_values(), 0);
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) {
        const u8 how = f_[i].op == Op::U64ToMask ? kAsMask : kOtherwise;
        for (const ValueId v : f_.operands(i)) used[v.index] |= how;
      }
    std::vector<std::pair<ValueId, ValueId>> passed; // arguments and parameters
    for (const BlockId b : cfg.rpo)
      for (const Successor& s : f_[b].successors)
        for (std::size_t a = 0; a < s.args.size(); ++a) // one of another kind of value never is a mask
          if (const ValueId param = f_[s.block].params[a]; f_.type(param) == Type::U64 && param != s.args[a])
            passed.emplace_back(s.args[a], param);
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [arg, param] : passed) { // an argument is used as its parameter is
        const u8 now = used[arg.index] | used[param.index];
        changed |= now != used[arg.index];
        used[arg.index] = now;
      }
    }
    std::vector<ValueId> masks;
    std::ranges::copy_if(params, std::back_inserter(masks),
                         [&](ValueId v) { return used[v.index] == kAsMask; });
    return masks;
  }

  u8 classify(ValueId v, const std::vector<u8>& state) const {
    const Inst* inst = f_.def(v);
    if (inst == nullptr) return v.index < state.size() ? state[v.index] : u8{0};
    if (inst->op == Op::MaskToU64) return 2;
    return inst->op == Op::Const ? 1 : 0;
  }

  void mask_parameter(ValueId v) {
    const BlockId b = f_.def_block(v);
    const u32 index = f_[v].index;
    const ValueId mask = f_.add_param(b, Type::Mask);
    extend_edges(b, [&](BlockId p, const std::vector<ValueId>& args) {
      return before_end(p, Op::U64ToMask, Type::Mask, {args[index]});
    });
    replace(v, at_start(b, Op::MaskToU64, Type::U64, {mask}));
  }
};

} // namespace

void split_pairs(Function& f, bool apart) { PairJoiner(f).split(apart); }

namespace {

/// Whether there were any.
bool join(Function& f, What what) {
  // What is joined may show more that is.
  int round = 0;
  for (; round < 16 && PairJoiner(f).run(what); ++round) {
    fold(f);
    eliminate_dead_code(f);
  }
  return round != 0;
}

} // namespace

bool join_pairs(Function& f) { return join(f, What::All); }
void join_vector_pairs(Function& f) { join(f, What::WholeVectors); }

} // namespace lanewise::passes
