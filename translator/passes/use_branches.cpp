// What a branch says holds in all blocks behind the way taken: there, branches on the same condition, or on
// whether the same mask has any lanes, are decided. Compilers ask after each if whether there is a lane left,
// and write scalar conditions as masks.
//
// What the first lane of a mask sees is a scalar if all lanes of the mask see the same. GPU compilers index
// registers in loops that do in each round what all lanes have that have the same as the first one left:
// those are no loops then.
#include "translator/passes/initial_address.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 6; ///< of the mask ops that a tested mask is looked for in
/// Values looked at between a first lane and scalars, as deep as that; divisions have some 40.
constexpr std::size_t kMaxSeen = 256;

class BranchUser {
public:
  BranchUser(Function& f, bool joins_later)
      : f_(f), cfg_(f), dom_(f, cfg_),
        stays_(joins_later ? find_joined_branches(f) : std::vector<bool>(f.num_blocks(), false)) {}

  void run() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : cfg_.rpo) { // What dominates a block comes before it.
      note_way_into(b);
      note_parameters(b);
      look_behind_selects(b);
      choose(b, map);
      const InstId branch = f_.terminator(b);
      if (f_[branch].op != Op::Branch) continue;
      leave_out_mask(b, branch);
      if (stays_[b.index]) continue;
      if (const std::optional<bool> known = decided(f_.operands(branch)[0], b))
        f_.operands(branch)[0] = constant(b, *known);
    }
    map.resize(f_.num_values());
    f_.replace_values(map);
  }

  /// Ways into a block that does nothing but branch on what they have decided go straight on.
  void skip_decided() {
    const std::vector<bool> escapes = find_escapes();
    for (const BlockId b : cfg_.rpo) {
      if (f_[b].insts.size() != 1 || f_[f_.terminator(b)].op != Op::Branch) continue;
      if (std::ranges::any_of(f_[b].params, [&](ValueId p) { return escapes[p.index]; })) continue;
      for (const BlockId from : cfg_.preds[b.index])
        if (cfg_.rpo_index[from.index] < cfg_.rpo_index[b.index]) // an entry of a loop stays one
          for (unsigned n = 0; n < f_[from].successors.size(); ++n)
            if (f_[from].successors[n].block == b) skip(from, n);
    }
  }

private:
  Function& f_;
  const Cfg cfg_;
  const Dominators dom_;
  const std::vector<bool> stays_; ///< per block: what it asks is not decided
  struct Fact {
    BlockId since; ///< holds in what this block dominates
    bool value;
  };
  /// Comparisons that ask the same or the opposite are one question.
  struct Question {
    ValueId id;
    bool opposite = false;
  };
  using Comparison = std::tuple<u32, u32, IntPred>;
  std::map<Comparison, ValueId> compared_;
  std::unordered_map<u32, std::vector<Fact>> facts_; ///< of scalars, and of masks whether they have lanes
  std::optional<MaskFacts> mask_facts_;              ///< once they are asked for

  void note_way_into(BlockId b) {
    if (cfg_.preds[b.index].size() != 1) return;
    const BlockId from = cfg_.preds[b.index].front();
    const InstId branch = f_.terminator(from);
    if (f_[branch].op != Op::Branch) return;
    const bool value = f_[from].successors[0].block == b;
    note(f_.operands(branch)[0], value, b);
    const ValueId tested = f_.tested_mask(from);
    if (!tested.valid()) return;
    if (value)
      note_lanes(tested, b, kMaxDepth);
    else
      note(tested, false, b);
  }
  void note(ValueId v, bool value, BlockId b) {
    if (known(v, b)) return;
    const Question q = question(v);
    facts_[q.id.index].push_back({b, value != q.opposite});
  }

  /// A mask has lanes: so has what it is some of, and scalars that leave lanes in it are true.
  void note_lanes(ValueId mask, BlockId b, unsigned depth) {
    note(mask, true, b);
    const Inst* def = f_.def(mask);
    if (def == nullptr || depth == 0) return;
    const auto x = f_.operands(f_.def_id(mask));
    if (def->op == Op::Splat) note(x[0], true, b);
    if (def->op == Op::And) note_lanes(x[1], b, depth - 1);
    if (def->op == Op::And || def->op == Op::AndNot) note_lanes(x[0], b, depth - 1);
    if (const ValueId out = def->op == Op::AndNot ? operand_of(x[1], Op::Splat, 0) : ValueId{}; out.valid())
      note(out, false, b);
  }

  /// Masks that have lanes on each way into `b`, as those of who goes on with a loop.
  void note_parameters(BlockId b) {
    for (std::size_t p = 0; p < f_[b].params.size(); ++p) {
      const ValueId param = f_[b].params[p];
      const auto has_lanes = [&](BlockId from) {
        const auto& ways = f_[from].successors;
        for (std::size_t n = 0; n < ways.size(); ++n) {
          if (ways[n].block != b) continue;
          const ValueId arg = ways[n].args[p];
          const bool asked = n == 0 && f_.tested_mask(from) == arg;
          if (arg != param && !asked && known(arg, from) != true) return false;
        }
        return true;
      };
      if (f_.type(param) == Type::Mask && !cfg_.preds[b.index].empty() &&
          std::ranges::all_of(cfg_.preds[b.index], has_lanes))
        facts_[param.index].push_back({b, true});
    }
  }

  Question question(ValueId v) {
    const InstId def = f_.def_id(v);
    if (!def.valid() || f_[def].op != Op::ICmp || f_.type(v) != Type::U1) return {v};
    const auto p = static_cast<IntPred>(f_[def].imm), q = std::min(p, inverse(p));
    const auto x = f_.operands(def);
    return {compared_.try_emplace({x[0].index, x[1].index, q}, v).first->second, p != q};
  }
  [[nodiscard]] std::optional<bool> known(ValueId v, BlockId at) {
    const Question q = question(v);
    if (const auto it = facts_.find(q.id.index); it != facts_.end())
      for (const Fact& fact : it->second)
        if (dom_.dominates(fact.since, at)) return fact.value != q.opposite;
    return std::nullopt;
  }
  [[nodiscard]] ValueId operand_of(ValueId v, Op op, unsigned n) const {
    const InstId def = f_.def_id(v);
    return def.valid() && f_[def].op == op ? f_.operands(def)[n] : ValueId{};
  }
  [[nodiscard]] std::optional<bool> decided(ValueId condition, BlockId at) {
    if (const auto value = known(condition, at)) return value;
    const ValueId mask = operand_of(condition, Op::AnyLane, 0);
    return mask.valid() ? known(mask, at) : std::nullopt;
  }

  /// Selects by a scalar that is known.
  void choose(BlockId b, std::vector<ValueId>& map) {
    for (const InstId i : f_[b].insts) {
      if (f_[i].op != Op::Select || f_.type(f_.operands(i)[0]) != Type::U1) continue;
      if (const std::optional<bool> first = decided(f_.operands(i)[0], b))
        map[f_.result(i).index] = f_.operands(i)[*first ? 1 : 2];
    }
  }

  /// Per value: it is a parameter that other blocks look at.
  [[nodiscard]] std::vector<bool> find_escapes() const {
    std::vector<bool> escapes(f_.num_values(), false);
    for (const BlockId b : cfg_.rpo) {
      const auto look_at = [&](ValueId v) {
        if (f_.def_block(v) != b) escapes[v.index] = true;
      };
      for (const InstId i : f_[b].insts) std::ranges::for_each(f_.operands(i), look_at);
      for (const Successor& s : f_[b].successors) std::ranges::for_each(s.args, look_at);
    }
    return escapes;
  }

  /// Successor `n` of `from` does nothing but branch: leads to where that goes, if it is known.
  void skip(BlockId from, unsigned n) {
    const Successor edge = f_[from].successors[n];
    const auto handed_on = [&](ValueId v) {
      const bool is_param = !f_.def_id(v).valid() && f_.def_block(v) == edge.block;
      return is_param ? edge.args[f_[v].index] : v;
    };
    const ValueId condition = handed_on(f_.operands(f_.terminator(edge.block))[0]);
    const std::optional<bool> taken = decided_on(from, n, condition);
    if (!taken) return;
    Successor& to = f_[from].successors[n];
    to = f_[edge.block].successors[*taken ? 0 : 1];
    std::ranges::transform(to.args, to.args.begin(), handed_on);
  }

  /// What a scalar is when control goes from `from` to its successor `n`.
  [[nodiscard]] std::optional<bool> decided_on(BlockId from, unsigned n, ValueId condition) {
    u64 bits = 0;
    if (f_.is_const(condition, &bits)) return bits != 0;
    if (const auto value = decided(condition, from)) return value;
    const InstId branch = f_.terminator(from);
    if (f_[branch].op != Op::Branch) return std::nullopt;
    const Question asked = question(f_.operands(branch)[0]), wanted = question(condition);
    if (asked.id != wanted.id) return std::nullopt;
    return (n == 0) != (asked.opposite != wanted.opposite);
  }

  /// The first lane of m, if m has lanes, sees what `select m` takes, or `select` by what m is a part of. Of
  /// use where that is a scalar; else the select may stay, which asks for nothing outside m.
  void look_behind_selects(BlockId b) {
    for (std::size_t n = 0; n < f_[b].insts.size(); ++n) {
      const InstId i = f_[b].insts[n];
      if (f_[i].op != Op::ReadFirst || known(f_.operands(i)[1], b) != true) continue;
      const ValueId v = f_.operands(i)[0], lanes = f_.operands(i)[1];
      const std::vector<InstId> parts = with_the_same(b, v, lanes, f_.result(i));
      Seen seen;
      seen.looks_at_loads = !parts.empty();
      const ValueId first = same_in_all(v, lanes, b, seen);
      if (!first.valid()) continue;
      for (const InstId part : parts) leave_nobody_out(part, lanes);
      f_.operands(i)[0] = first;
      for (const InstId m : seen.made) f_[m].block = b;
      f_[b].insts.insert(f_[b].insts.begin() + static_cast<std::ptrdiff_t>(n), seen.made.begin(),
                         seen.made.end());
      n += seen.made.size();
    }
  }

  /// In `b`, who of m has of `v` what the first one has, and who has not.
  [[nodiscard]] std::vector<InstId> with_the_same(BlockId b, ValueId v, ValueId m, ValueId first) const {
    std::vector<InstId> found;
    for (const InstId i : f_[b].insts) {
      if (f_[i].op != Op::And && f_[i].op != Op::AndNot) continue;
      const unsigned n = place_in(i, m);
      if (f_.operands(i)[n] == m && asks_whether_equal(f_.operands(i)[1 - n], v, first)) found.push_back(i);
    }
    return found;
  }
  [[nodiscard]] unsigned place_in(InstId i, ValueId m) const {
    return f_[i].op == Op::And && f_.operands(i)[1] == m ? 1 : 0;
  }
  void leave_nobody_out(InstId part, ValueId m) {
    const Type t = Type::Mask;
    const InstId all = f_.insert_before(part, {.op = Op::Const, .imm = constant_bits(t)}, {}, {&t, 1});
    f_.operands(part)[1 - place_in(part, m)] = f_.result(all);
  }
  [[nodiscard]] bool asks_whether_equal(ValueId condition, ValueId v, ValueId scalar) const {
    const InstId i = f_.def_id(condition);
    if (!i.valid() || f_[i].op != Op::ICmp || static_cast<IntPred>(f_[i].imm) != IntPred::Eq) return false;
    const auto x = f_.operands(i);
    return (x[0] == v && operand_of(x[1], Op::Splat, 0) == scalar) ||
           (x[1] == v && operand_of(x[0], Op::Splat, 0) == scalar);
  }

  /// What has been computed anew from scalars.
  struct Seen {
    std::unordered_map<u32, ValueId> values; ///< by what they are in the lanes of a mask; none: cannot be
    std::vector<InstId> made;                ///< in no block yet
    bool looks_at_loads = false;             ///< from one place for all lanes
  };

  /// A value that is computed from scalars and in block `at` is what `v` is in the lanes of `mask`, or
  /// nothing.
  ValueId same_in_all(ValueId v, ValueId mask, BlockId at, Seen& seen) {
    if (is_uniform(f_.type(v)) || f_.is_const(v)) return v;
    const auto [known, is_new] = seen.values.try_emplace(v.index); // parameters are not followed: no cycle
    if (!is_new) return known->second;
    if (seen.values.size() > kMaxSeen) return {};
    const ValueId made = make_same_in_all(v, mask, at, seen);
    return seen.values[v.index] = made;
  }
  ValueId make_same_in_all(ValueId v, ValueId mask, BlockId at, Seen& seen) {
    const InstId def = f_.def_id(v);
    if (!def.valid() || !is_per_lane(f_.type(v))) return {};
    const Inst inst = f_[def];
    if (inst.op == Op::Splat) return v;
    const auto x = f_.operands(def);
    std::vector<ValueId> operands(x.begin(), x.end());
    if (inst.op == Op::Select && f_.type(operands[0]) == Type::Mask)
      if (const ValueId taken = same_in_all(operands[1], mask, at, seen);
          taken.valid() && is_part(mask, operands[0], at))
        return taken;
    if (inst.op == Op::And && f_.type(v) == Type::Mask)
      for (const unsigned n : {0, 1})
        if (operands[n] == mask) return same_in_all(operands[1 - n], mask, at, seen);
    const auto make = [&](const Inst& proto, const std::vector<ValueId>& of, Type t) {
      seen.made.push_back(f_.make(proto, of, {&t, 1}));
      return f_.result(seen.made.back());
    };
    if (seen.looks_at_loads && loads_one_place(def) && is_part(mask, operands.back(), at))
      return make({.op = Op::Splat, .pc = inst.pc},
                  {make({.op = Op::ReadFirst, .pc = inst.pc}, {v, operands.back()}, Type::U32)}, Type::V32);
    const OpInfo& op = info(inst.op);
    if (!op.is(kPure) || inst.num_results != 1 || operands.empty()) return {};
    for (unsigned n = 0; n < operands.size(); ++n) {
      if (op.reads_whole(n)) return {};
      operands[n] = same_in_all(operands[n], mask, at, seen);
      if (!operands[n].valid()) return {};
    }
    return make(inst, operands, f_.type(v));
  }

  /// A load in which all lanes go to one place.
  [[nodiscard]] bool loads_one_place(InstId i) const {
    const MemAttr& mem = f_[i].mem;
    return f_[i].op == Op::Load && mem.space == Space::Global && mem.form == AddressForm::Lanes &&
           !mem.coherent && mem.bytes <= 4 && common_address(f_, f_.operands(i)[0], f_.operands(i).back());
  }

  bool is_part(ValueId mask, ValueId whole, BlockId at) {
    if (mask == whole) return true;
    const MaskFacts& facts = mask_facts();
    return facts.is_subset(facts.lanes(mask), facts.lanes(whole), at) && !facts.bdd().overflowed();
  }

  const MaskFacts& mask_facts() {
    if (!mask_facts_) mask_facts_.emplace(f_, cfg_, dom_);
    return *mask_facts_;
  }

  /// any(x) is c where x is m & splat c, and not c where it is m & ~splat c, and m has lanes. The way on
  /// which it has some, x is m.
  void leave_out_mask(BlockId b, InstId branch) {
    const ValueId tested = f_.tested_mask(b);
    if (!tested.valid()) return;
    Parts parts;
    collect(tested, b, kMaxDepth, parts);
    for (const ValueId splat : parts.splats)
      for (const ValueId lanes : parts.with_lanes)
        for (const bool inverted : {false, true}) {
          if (!is_restriction(tested, lanes, splat, inverted, b)) continue;
          f_.operands(branch)[0] = f_.operands(f_.def_id(splat))[0];
          f_[branch].imm = 0; // Nobody decides any more.
          if (inverted) std::swap(f_[b].successors[0], f_[b].successors[1]);
          std::ranges::replace(f_[b].successors[inverted ? 1 : 0].args, tested, lanes);
          return;
        }
  }

  /// What a mask is made of: splats of scalars, and masks known to have lanes.
  struct Parts {
    std::vector<ValueId> splats, with_lanes;
  };
  void collect(ValueId v, BlockId at, unsigned depth, Parts& parts) {
    if (known(v, at) == true) parts.with_lanes.push_back(v);
    const InstId def = f_.def_id(v);
    if (!def.valid()) return;
    const Op op = f_[def].op;
    if (op == Op::Splat) parts.splats.push_back(v);
    if (depth != 0 && (op == Op::And || op == Op::AndNot || op == Op::Or || op == Op::Not || op == Op::Xor))
      for (const ValueId x : f_.operands(def)) collect(x, at, depth - 1, parts);
  }

  /// x is m & splat, or m & ~splat.
  bool is_restriction(ValueId x, ValueId m, ValueId splat, bool inverted, BlockId at) {
    const MaskFacts& facts = mask_facts();
    Bdd& bdd = facts.bdd();
    const auto lanes = [&](ValueId v) { return facts.lanes(v); };
    const Bdd::Node restricted =
        inverted ? bdd.andnot(lanes(m), lanes(splat)) : bdd.and_(lanes(m), lanes(splat));
    return facts.is_empty(bdd.xor_(lanes(x), restricted), at) && !bdd.overflowed();
  }

  ValueId constant(BlockId b, bool value) {
    Inst proto;
    proto.op = Op::Const;
    proto.imm = value ? 1 : 0;
    const Type t = Type::U1;
    return f_.result(f_.insert_before_end(b, proto, {}, {&t, 1}));
  }
};

} // namespace

void use_branches(Function& f) { BranchUser(f, false).run(); }
void use_branches_but_joined(Function& f) { BranchUser(f, true).run(); }

void skip_decided_branches(Function& f) {
  BranchUser user(f, true);
  user.run();
  eliminate_dead_code(f); // of parameters, looks by what is not chosen do not count
  user.skip_decided();
}

} // namespace lanewise::passes
