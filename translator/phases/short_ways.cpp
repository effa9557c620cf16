// What a gang without lanes may do as the others do, it does without being asked where that costs less than a
// branch that is guessed wrong: a few instructions of arithmetic. Compilers leave out such branches, too, but
// not where the code behind them has been put aside, nor in unoptimised code.
//
// Branches on what is the same in all lanes are left alone: those are scalars once EXEC's selects are gone,
// and hardly ever guessed wrong.
//
// By the proof in decide.cpp a gang whose slice of the mask is empty is in the same state where the two ways
// meet, whichever it has gone.
#include "translator/ir/cfg.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxCost = 8; ///< in vector instructions of 32 bits

/// Of an instruction between a branch and its join; most selects and logic on masks are there for EXEC, and
/// will go.
unsigned cost(const Function& f, InstId i) {
  const Inst& inst = f[i];
  constexpr unsigned kDear = kMaxCost + 1;
  if (!info(inst.op).is(kPure) || info(inst.op).reads_whole(0) || info(inst.op).reads_whole(1)) return kDear;
  switch (inst.op) {
  case Op::Const:
  case Op::Splat:
  case Op::Join:
  case Op::Lo:
  case Op::Hi:
  case Op::Select: return 0;
  case Op::UDiv:
  case Op::FSqrt:
  case Op::FDiv:
  case Op::FRcp:
  case Op::FRsq:
  case Op::FExp2:
  case Op::FLog2:
  case Op::FSin:
  case Op::FCos:
  case Op::DivScale:
  case Op::DivFmas:
  case Op::DivFixup:
  case Op::TrigPreop: return kDear;
  default: break;
  }
  const Type t = f.type(f.result(i));
  const bool is_logic = inst.op == Op::And || inst.op == Op::Or || inst.op == Op::AndNot;
  if (t == Type::Mask && is_logic) return 0;
  return t == Type::V64 ? 3 : 1;
}

/// Tells values that may differ between lanes from those that are the same by the way they are made, whatever
/// EXEC leaves of what was there before: taken to be the same until something says no. Found when first asked
/// for, of the function as it is then.
class SameInAllLanes {
public:
  explicit SameInAllLanes(const Function& f) : f_(f) {}

  /// The mask is, or is what EXEC was and, such a comparison.
  [[nodiscard]] bool decides(ValueId mask) {
    const auto is_decided = [&](ValueId m) {
      const Inst* def = f_.def(m);
      if (def == nullptr) return false;
      if (def->op == Op::Splat) return true;
      return (def->op == Op::ICmp || def->op == Op::FCmp) && !differs(f_.def_id(m));
    };
    const Inst* def = f_.def(mask);
    const bool is_logic = def != nullptr && (def->op == Op::And || def->op == Op::AndNot);
    return is_decided(mask) || (is_logic && std::ranges::any_of(f_.operands(f_.def_id(mask)), is_decided));
  }

private:
  const Function& f_;
  std::vector<bool> differs_; ///< per value: a vector whose lanes may; empty until asked for

  /// One of the operands.
  [[nodiscard]] bool differs(InstId i) {
    if (differs_.empty()) find();
    return std::ranges::any_of(f_.operands(i), [&](ValueId v) { return differs_[v.index]; });
  }
  void find() {
    differs_.resize(f_.num_values(), false);
    const Cfg cfg(f_);
    for (bool again = true; again;) {
      again = false;
      for (const BlockId b : cfg.rpo) {
        for (const InstId i : f_[b].insts) {
          const Op op = f_[i].op;
          if (op != Op::LaneId && op != Op::InitVgpr && info(op).is(kPure) && !differs(i)) continue;
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            differs_[f_.result(i, r).index] = is_vector(f_.type(f_.result(i, r)));
        }
        for (const Successor& s : f_[b].successors)
          for (std::size_t n = 0; n < s.args.size(); ++n) {
            const ValueId param = f_[s.block].params[n];
            if (!differs_[s.args[n].index] || differs_[param.index]) continue;
            differs_[param.index] = true;
            again |= cfg.rpo_index[s.block.index] <= cfg.rpo_index[b.index]; // others are still to come
          }
      }
    }
  }
};

/// The first way of the branch that ends `b` is short: one block, to which nobody else comes, and which leads
/// to where the two ways meet.
bool is_short(const Function& f, const std::vector<u32>& edges, BlockId b) {
  const Successor& way = f[b].successors[0];
  const Block& aside = f[way.block];
  const BlockId join = join_of(f[f.terminator(b)]);
  if (way.block == join || edges[way.block.index] != 1 || f[f.terminator(way.block)].op != Op::Jump ||
      aside.successors[0].block != join)
    return false;
  unsigned sum = 0;
  for (const InstId i : aside.insts)
    if (i != aside.insts.back()) sum += std::min(cost(f, i), kMaxCost + 1);
  return sum <= kMaxCost;
}

} // namespace

bool go_short_ways(Function& f) {
  std::vector<u32> edges(f.num_blocks(), 0);
  for (const Block& block : f.blocks)
    for (const Successor& s : block.successors) ++edges[s.block.index];
  SameInAllLanes same(f);
  bool any = false;
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    const BlockId b{n};
    if (f.blocks[n].insts.empty() || !is_gang_decided(f, b) || !is_short(f, edges, b) ||
        same.decides(f.tested_mask(b)))
      continue;
    const InstId branch = f.terminator(b);
    f[branch].op = Op::Jump;
    f[branch].imm = 0;
    f.set_operands(branch, {});
    f[b].successors.resize(1);
    any = true;
  }
  return any;
}

} // namespace lanewise::phases
