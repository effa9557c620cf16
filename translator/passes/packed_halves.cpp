// Compilers keep arrays of half-words in registers, two elements in each, also where a loop unpacks them all,
// chooses one, and packs them again: with each round, for the next one. So parameters that get two packed
// half-words on every way in, but for what a loop begins with, become two, if one of them is taken out.
//
//   b1(v1):                          b1(v2, v3):
//     v4 = lshr v1, 16                 ... v3, v2
//     ... v4, v1          becomes      jump -> b1(v5 & 0xffff, v6 & 0xffff)
//     v7 = v6 << 16 | (v5 & 0xffff)
//     jump -> b1(v7)
//
// What leaves the loop is packed on the way out.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u64 kHalf = 0xffff;

class HalfSplitter {
public:
  explicit HalfSplitter(Function& f) : f_(f), cfg_(f), limits_(f), halves_(f.num_values()) {}

  bool run() {
    const std::vector<ValueId> params = find_packed();
    for (const ValueId p : params) halves_[p.index] = {add_param(p), add_param(p)};
    for (const ValueId p : params) hand_on(p);
    std::vector<ValueId> map(f_.num_values());
    for (const ValueId p : params) replace(p, map);
    map.resize(f_.num_values());
    f_.replace_values(map);
    if (!params.empty()) eliminate_dead_code(f_); // What was handed on as a whole is not any more.
    return !params.empty();
  }

private:
  using Halves = std::array<ValueId, 2>;
  Function& f_;
  const Cfg cfg_;
  const ValueLimits limits_;
  std::vector<std::optional<Halves>> halves_; ///< per parameter that was packed

  /// In a | b, where a is above the low half and b is no more: these two.
  [[nodiscard]] std::optional<Halves> packed(ValueId v) const {
    const Inst* def = f_.def(v);
    if (def == nullptr || def->op != Op::Or || f_.type(v) != Type::V32) return std::nullopt;
    const auto x = f_.operands(f_.def_id(v));
    for (const unsigned n : {0u, 1u})
      if ((limits_.ones(x[n]) & kHalf) == 0 && limits_.max(x[1 - n]) <= kHalf) return Halves{x[1 - n], x[n]};
    return std::nullopt;
  }
  [[nodiscard]] bool takes_out_upper(InstId i) const {
    u64 bits = 0;
    return f_[i].op == Op::LShr && f_.is_const(f_.operands(i)[1], &bits) && bits == 16;
  }
  /// And at no more: what becomes of the value is mostly such.
  [[nodiscard]] bool may_look_at_lower(InstId i, unsigned n) const {
    return (f_[i].op == Op::Select && n != 0) ||
           (f_[i].op == Op::And && limits_.max(f_.operands(i)[1 - n]) <= kHalf);
  }
  template <class Use>
  void for_each_argument(ValueId param, Use use) const {
    const BlockId b = f_.def_block(param);
    BlockId last;
    for (const BlockId from : cfg_.preds[b.index]) {
      for (std::size_t way = 0; from != last && way < f_[from].successors.size(); ++way)
        if (f_[from].successors[way].block == b)
          use(from, f_[from].successors[way].args[f_[param].index], way);
      last = from;
    }
  }

  /// Parameters of loops, and of blocks in them, of which each way in but those into a loop knows the halves.
  [[nodiscard]] std::vector<ValueId> find_packed() const {
    std::vector<u8> is_taken_out(f_.num_values(), 0), is_whole(f_.num_values(), 0),
        is_found(f_.num_values(), 0);
    std::vector<ValueId> found;
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        for (unsigned n = 0; n < f_[i].num_operands; ++n) {
          const u32 v = f_.operands(i)[n].index;
          if (n == 0 && takes_out_upper(i))
            is_taken_out[v] = 1;
          else if (!may_look_at_lower(i, n))
            is_whole[v] = 1;
        }
    for (const BlockId b : cfg_.rpo)
      for (const ValueId p : f_[b].params) {
        bool is_packed = false;
        for_each_argument(p,
                          [&](BlockId, ValueId arg, std::size_t) { is_packed |= packed(arg).has_value(); });
        if (f_.type(p) != Type::V32 || is_taken_out[p.index] == 0 || is_whole[p.index] != 0 || !is_packed)
          continue;
        is_found[p.index] = 1;
        found.push_back(p);
      }
    const auto knows_halves = [&](ValueId p) {
      const u32 at = cfg_.rpo_index[f_.def_block(p).index];
      bool is_loop = false, all = true;
      for_each_argument(
          p, [&](BlockId from, ValueId, std::size_t) { is_loop |= cfg_.rpo_index[from.index] >= at; });
      for_each_argument(p, [&](BlockId from, ValueId arg, std::size_t) {
        const bool begins = is_loop && cfg_.rpo_index[from.index] < at;
        all &= begins || f_.is_const(arg) || is_found[arg.index] != 0 || packed(arg).has_value();
      });
      return all;
    };
    const auto drop = [&](ValueId p) {
      if (knows_halves(p)) return false;
      is_found[p.index] = 0;
      return true;
    };
    while (std::erase_if(found, drop) != 0) {
    }
    return found;
  }

  ValueId add_param(ValueId p) { return f_.add_param(f_.def_block(p), Type::V32); }
  ValueId before_end(BlockId b, Op op, std::array<ValueId, 2> x) {
    const Inst proto{.op = op, .pc = f_[f_.terminator(b)].pc};
    const Type t = Type::V32;
    return f_.result(f_.insert_before_end(b, proto, x, {&t, 1}));
  }
  ValueId constant(u64 bits) { return f_.entry_constant(Type::V32, bits); }

  void hand_on(ValueId param) {
    struct Way {
      BlockId from;
      std::size_t way;
      ValueId arg;
    };
    std::vector<Way> ways;
    for_each_argument(param, [&](BlockId from, ValueId arg, std::size_t way) {
      ways.push_back({from, way, arg});
    });
    for (const auto& [from, way, arg] : ways) {
      const Halves halves = halves_of(arg, from);
      auto& args = f_[from].successors[way].args;
      args.insert(args.end(), halves.begin(), halves.end());
    }
  }
  Halves halves_of(ValueId v, BlockId b) {
    u64 bits = 0;
    if (f_.is_const(v, &bits)) return {constant(bits & kHalf), constant(bits >> 16 & kHalf)};
    if (v.index < halves_.size() && halves_[v.index]) return *halves_[v.index];
    if (const auto parts = packed(v)) {
      const InstId shift = f_.def_id((*parts)[1]);
      if (shift.valid() && f_[shift].op == Op::Shl && f_.is_const(f_.operands(shift)[1], &bits) && bits == 16)
        return {(*parts)[0], before_end(b, Op::And, {f_.operands(shift)[0], constant(kHalf)})};
      return {(*parts)[0], before_end(b, Op::LShr, {(*parts)[1], constant(16)})};
    }
    return {before_end(b, Op::And, {v, constant(kHalf)}), before_end(b, Op::LShr, {v, constant(16)})};
  }

  /// What looks at the whole gets it put together.
  void replace(ValueId param, std::vector<ValueId>& map) {
    const auto [low, high] = *halves_[param.index];
    const Type t = Type::V32;
    const BlockId b = f_.def_block(param);
    const auto at_start = [&](Op op, std::array<ValueId, 2> x) {
      return f_.result(f_.insert_first(b, {.op = op, .pc = f_[b].pc}, x, {&t, 1}));
    };
    const ValueId sixteen = constant(16);
    const ValueId whole = at_start(Op::Or, {low, low}); // The shift goes before it.
    f_.operands(f_.def_id(whole))[0] = at_start(Op::Shl, {high, sixteen});
    for (const BlockId user : cfg_.rpo)
      for (const InstId i : f_[user].insts) {
        u64 bits = 0;
        const auto x = f_.operands(i);
        if (takes_out_upper(i) && x[0] == param) map[f_.result(i).index] = high;
        if (f_[i].op == Op::And && f_.is_const(x[1], &bits) && bits == kHalf && x[0] == param)
          map[f_.result(i).index] = low;
      }
    map[param.index] = whole;
  }
};

/// What is packed for this way out of a loop alone goes into a block on it.
void pack_there(Function& f, BlockId b, u32 way) {
  const std::vector<u32> uses = f.use_counts();
  std::vector<u32> uses_there(f.num_values(), 0);
  for (const ValueId v : f[b].successors[way].args) ++uses_there[v.index];
  std::vector<InstId> moved, stay;
  for (const InstId i : f[b].insts | std::views::reverse) {
    const bool packs = f[i].op == Op::Or || f[i].op == Op::And || f[i].op == Op::Shl;
    const ValueId v = packs ? f.result(i) : ValueId{};
    const bool moves =
        packs && f.type(v) == Type::V32 && uses[v.index] != 0 && uses_there[v.index] == uses[v.index];
    (moves ? moved : stay).push_back(i);
    for (unsigned n = 0; moves && n < f[i].num_operands; ++n) ++uses_there[f.operands(i)[n].index];
  }
  if (moved.empty()) return;
  f[b].insts.assign(stay.rbegin(), stay.rend());
  const BlockId out = f.add_block(f[f[b].successors[way].block].pc);
  f[out].take_lanes_of(f[b]);
  Builder at(f, out);
  at.pc = f[out].pc;
  Successor& old = f[b].successors[way];
  at.jump(old.block, old.args);
  f[b].successors[way] = {out, {}};
  for (const InstId i : moved) f[i].block = out;
  f[out].insts.insert(f[out].insts.begin(), moved.rbegin(), moved.rend());
}

} // namespace

bool split_packed_halves(Function& f) { return HalfSplitter(f).run(); }

void pack_on_the_way_out(Function& f) {
  const Cfg cfg(f);
  const Loops loops(f, cfg, Dominators(f, cfg));
  for (const BlockId b : cfg.rpo)
    for (u32 way = 0; way < f[b].successors.size(); ++way)
      if (const i32 l = loops.innermost[b.index]; l >= 0 && !loops.contains(l, f[b].successors[way].block))
        pack_there(f, b, way);
}

} // namespace lanewise::passes
