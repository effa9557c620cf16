// Predication. EXEC is explicit: a VGPR write is select(exec, new, old). With the lanes of each value that
// anybody looks at (lane_demand.hpp),
//   select(m, a, b) with demand inside m   -> a        select(m, a, b) with demand outside m -> b
//   a & m           with demand inside m   -> a        a & ~m, a | m  with demand outside m  -> a
// and other mask ops that are a constant or an operand there. Of the halves of a select of 64 bits, which are
// often of different variables, each has a demand of its own; and so has each use of a select.
#include "translator/passes/first_values.hpp"
#include "translator/passes/lane_demand.hpp"
#include "translator/passes/merge_parameters.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

class Predicator {
  using Node = Bdd::Node;

public:
  Predicator(Function& f, LaneDemand& demand) : f_(f), demand_(demand) {}

  /// False if parameters were merged, or are no longer looked at in some lanes: what is left has other
  /// demands.
  bool run() {
    if (merge_parameters(f_, demand_) || use_first_values(f_, demand_)) return false;
    bypass_shared_selects();
    rewrite();
    return true;
  }

private:
  /// A half or pair that is to be put in front of the one that it is made from.
  struct Made {
    InstId inst, next;
  };
  Function& f_;
  LaneDemand& demand_;
  std::vector<Made> made_;

  void rewrite() {
    std::vector<ValueId> map(f_.num_values());
    for (const BlockId b : demand_.cfg().rpo)
      for (const InstId i : f_[b].insts) {
        const auto x = f_.operands(i);
        if (f_[i].op == Op::Lo || f_[i].op == Op::Hi) look_behind_select(i);
        if (x.empty() || f_.type(x[0]) != Type::Mask || f_[i].num_results != 1) continue;
        const Node demand = demand_.of(f_.result(i));
        ValueId& to = map[f_[i].first_result.index];
        if (f_[i].op == Op::Select) {
          if (demand_.is_inside(demand, x[0], b))
            to = x[1];
          else if (demand_.is_outside(demand, x[0], b))
            to = x[2];
        } else if (LaneDemand::is_logic(f_[i].op)) {
          to = simplify(i, demand);
        }
      }
    for (const auto& [inst, next] : made_) {
      const BlockId b = f_[inst].block = f_[next].block;
      f_[b].insts.insert(std::ranges::find(f_[b].insts, next), inst);
    }
    f_.replace_values(map);
  }

  /// Where a value is used: operand `n` of an instruction, or the n-th argument on a way out of a block.
  struct Use {
    BlockId at;
    InstId inst;
    unsigned successor = 0, n = 0;
  };
  [[nodiscard]] ValueId& value(const Use& u) const {
    return u.inst.valid() ? f_.operands(u.inst)[u.n] : f_[u.at].successors[u.successor].args[u.n];
  }
  Node lanes(const Use& u) {
    if (u.inst.valid()) return demand_.of_use(u.inst, u.n);
    return demand_.on_edge(u.at, u.successor, f_[f_[u.at].successors[u.successor].block].params[u.n]);
  }

  /// A use, and what it may look at instead.
  struct Bypass {
    Use use;
    ValueId chosen;
    std::vector<Made> made;
  };

  /// A select that has been made for several uses, since they share a register, each of which looks only at
  /// lanes of its mask, or only at others. So do uses of its halves, and of pairs that are made of such: in
  /// loops that lanes leave, rotations of 64 bits by 32 come as halves that change places (a sip hash with
  /// AVX2 1.13, a knapsack of small numbers 4 times faster). Before anything else is changed: what is known
  /// of masks on the way to a block holds for the arguments that it has been found out with.
  void bypass_shared_selects() {
    std::vector<u32> left = f_.use_counts(); // of a value: the uses that need it
    std::vector<Bypass> bypasses;
    for_each_use([&](const Use& u) {
      const ValueId v = value(u);
      if (!is_made_of_selects(v, kMaxDepth)) return;
      Bypass bypass = {u, {}, {}};
      bypass.chosen = choice_of(v, lanes(u), u.at, kMaxDepth, bypass.made);
      if (!bypass.chosen.valid()) return;
      bypasses.push_back(std::move(bypass));
    });
    for (const Bypass& bypass : bypasses) --left[value(bypass.use).index];
    release_operands(left, bypasses);
    for (const Bypass& bypass : bypasses) {
      if (left[value(bypass.use).index] != 0 && !is_address(bypass)) continue;
      value(bypass.use) = bypass.chosen;
      made_.insert(made_.end(), bypass.made.begin(), bypass.made.end());
    }
  }
  /// What an access goes by, which may be a row then, is there in any case.
  [[nodiscard]] bool is_address(const Bypass& bypass) const {
    const auto [at, inst, successor, n] = bypass.use;
    return inst.valid() && info(f_[inst].op).is(kMemory) && n == 0 && bypass.made.empty();
  }
  /// What nobody needs any more needs no operands.
  void release_operands(std::vector<u32>& left, const std::vector<Bypass>& bypasses) const {
    std::vector<u8> released(f_.num_insts(), 0); // a bit for each of the operands of a select, half, or pair
    std::vector<ValueId> unused;
    for (const Bypass& bypass : bypasses) {
      const Use& u = bypass.use;
      if (u.inst.valid() && u.n < kMaxOperands) released[u.inst.index] |= static_cast<u8>(1u << u.n);
      if (const ValueId v = value(u); left[v.index] == 0) unused.push_back(v);
    }
    for (; !unused.empty();) {
      const InstId i = f_.def_id(unused.back());
      unused.pop_back();
      for (unsigned n = 0; n < f_[i].num_operands; ++n) {
        if ((released[i.index] >> n & 1) != 0) continue;
        released[i.index] |= static_cast<u8>(1u << n);
        if (const ValueId x = f_.operands(i)[n]; --left[x.index] == 0 && is_made_of_selects(x, kMaxDepth))
          unused.push_back(x);
      }
    }
  }

  template <class F>
  void for_each_use(F f) {
    for (const BlockId b : demand_.cfg().rpo) {
      for (const InstId i : f_[b].insts)
        for (unsigned n = 0; n < f_[i].num_operands; ++n) f(Use{b, i, 0, n});
      for (unsigned s = 0; s < f_[b].successors.size(); ++s)
        for (unsigned n = 0; n < f_[b].successors[s].args.size(); ++n) f(Use{b, {}, s, n});
    }
  }

  static constexpr unsigned kMaxDepth = 3;    ///< of a select, half, and pair
  static constexpr unsigned kMaxOperands = 3; ///< of these
  static bool moves_halves(Op op) { return op == Op::Lo || op == Op::Hi || op == Op::Join; }
  [[nodiscard]] bool is_made_of_selects(ValueId v, unsigned depth) const {
    const InstId i = f_.def_id(v); // Not of masks: rewrite() rests on what they are made of.
    if (!i.valid() || depth == 0 || !is_vector(f_.type(v))) return false;
    if (f_[i].op == Op::Select) return f_.type(f_.operands(i)[0]) == Type::Mask;
    return moves_halves(f_[i].op) &&
           std::ranges::any_of(f_.operands(i), [&](ValueId x) { return is_made_of_selects(x, depth - 1); });
  }
  /// What `v` is in the lanes that block `at` looks at: an operand of the select that it is, or the same half
  /// or pair of such operands; or nothing.
  ValueId choice_of(ValueId v, Node looked_at, BlockId at, unsigned depth, std::vector<Made>& made) {
    const InstId i = f_.def_id(v);
    if (!is_made_of_selects(v, depth)) return {};
    std::array<ValueId, kMaxOperands> x;
    std::ranges::copy(f_.operands(i), x.begin());
    if (f_[i].op == Op::Select) {
      if (demand_.is_inside(looked_at, x[0], at)) return x[1];
      return demand_.is_outside(looked_at, x[0], at) ? x[2] : ValueId{};
    }
    const std::span operands(x.data(), f_[i].num_operands);
    for (ValueId& part : operands) {
      const ValueId chosen = choice_of(part, looked_at, at, depth - 1, made);
      if (chosen.valid())
        part = chosen;
      else if (is_made_of_selects(part, depth - 1))
        return {};
    }
    const Inst proto = f_[i];
    made.push_back({f_.make(proto, operands, std::array{f_.type(v)}), i});
    return f_.result(made.back().inst);
  }

  void look_behind_select(InstId half) {
    const ValueId whole = f_.operands(half)[0];
    const Inst* select = f_.def(whole);
    if (select == nullptr || select->op != Op::Select || f_.type(whole) != Type::V64) return;
    const auto x = f_.operands(f_.def_id(whole));
    if (f_.type(x[0]) != Type::Mask) return;
    const Node demand = demand_.of(f_.result(half));
    const BlockId b = f_[half].block;
    if (demand_.is_inside(demand, x[0], b))
      f_.operands(half)[0] = x[1];
    else if (demand_.is_outside(demand, x[0], b))
      f_.operands(half)[0] = x[2];
  }

  /// The operand that a mask op is equal to wherever its result is looked at, or nothing; the op may become a
  /// constant. (`base` is only right where `other` does not decide, so it takes more to prove for it.)
  ValueId simplify(InstId i, Node demand) {
    const BlockId b = f_[i].block;
    const LaneDemand::Logic l = demand_.logic(i);
    if (!l.inverts &&
        (l.matters ? demand_.is_inside(demand, l.other, b) : demand_.is_outside(demand, l.other, b)))
      return l.base;
    if (const auto lanes = demand_.constant(i)) {
      f_.become_constant(i, *lanes);
      return {};
    }
    const MaskFacts& facts = demand_.facts();
    Bdd& bdd = facts.bdd();
    const Node differs = bdd.xor_(facts.lanes(f_.result(i)), facts.lanes(l.other));
    return facts.is_empty(bdd.and_(demand, differs), b) ? l.other : ValueId{};
  }
};

} // namespace

void predicate(Function& f, std::shared_ptr<LaneDemand> known) {
  for (;; known = nullptr) {
    if (!known) {
      known = std::make_shared<LaneDemand>(f);
      if (!known->find()) return;
    }
    if (Predicator(f, *known).run()) return;
    eliminate_dead_code(f);
  }
}

void predicate(Function& f, std::shared_ptr<const MaskAnalysis> known) {
  std::shared_ptr<LaneDemand> demand;
  if (known) {
    demand = std::make_shared<LaneDemand>(f, std::move(known));
    if (!demand->find()) return;
  }
  predicate(f, std::move(demand));
}

} // namespace lanewise::passes
