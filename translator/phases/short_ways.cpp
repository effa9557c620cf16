// What a gang without lanes may do as the others do, it does without being asked where that costs less than a
// branch that is guessed wrong: a few instructions of arithmetic. Compilers leave out such branches, too, but
// not where the code behind them has been put aside, nor in unoptimised code.
//
// Ways that only choose where to load from, by ids and scalars, may be longer: the addresses are those of
// rows then, of which split_chosen_rows makes a load each (non-maximum suppression along one of four
// directions 1.8, with AVX2 2.8 times faster).
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

constexpr unsigned kMaxCost = 8;    ///< in vector instructions of 32 bits
constexpr unsigned kMaxOfRows = 40; ///< likewise, of what becomes addresses of rows

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

/// What is only there to make addresses of loads, and of what.
class RowChoices {
public:
  explicit RowChoices(const Function& f) : f_(f) {}

  /// Behind `join`, what the ways to it hand on differently is looked at by loads alone, as their address.
  [[nodiscard]] bool chooses_addresses(const Successor& a, const Successor& b) {
    if (looks_.empty()) find_looks();
    u8 all = 0;
    for (std::size_t n = 0; n < a.args.size(); ++n)
      if (a.args[n] != b.args[n]) all |= looks_[f_[a.block].params[n].index];
    return all == kAddress;
  }
  /// By arithmetic alone from ids and scalars, in lanes that EXEC has.
  [[nodiscard]] bool is_row(ValueId v) { // NOLINT(misc-no-recursion)
    if (!is_vector(f_.type(v))) return !is_per_lane(f_.type(v));
    rows_.resize(f_.num_values(), kUnknown);
    if (rows_[v.index] != kUnknown) return rows_[v.index] == kYes;
    rows_[v.index] = kNo; // a loop
    const InstId i = f_.def_id(v);
    if (!i.valid()) return false;
    const auto x = f_.operands(i);
    bool row = false;
    switch (f_[i].op) {
    case Op::Const:
    case Op::InitVgpr:
    case Op::LaneId:
    case Op::Splat: row = true; break;
    case Op::Select: row = is_row(x[1]); break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Not:
    case Op::Shl:
    case Op::AShr:
    case Op::SExt:
    case Op::ZExt:
    case Op::Join:
    case Op::Lo:
    case Op::Hi: row = std::ranges::all_of(x, [&](ValueId y) { return is_row(y); }); break;
    default: break;
    }
    if (row) rows_[v.index] = kYes;
    return row;
  }

private:
  enum : u8 { kUnknown, kNo, kYes };
  const Function& f_;
  enum : u8 { kAddress = 1, kOther = 2 };
  std::vector<u8> rows_;  ///< per value: of is_row()
  std::vector<u8> looks_; ///< per value: at it as a load's address, and others; empty until asked for

  /// Goes backwards, round loops until nothing changes.
  void find_looks() {
    looks_.assign(f_.num_values(), 0);
    bool again = true;
    const auto look = [&](ValueId v, u8 how) {
      again |= (how & ~looks_[v.index]) != 0;
      looks_[v.index] |= how;
    };
    const Cfg cfg(f_);
    while (again) {
      again = false;
      for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
        for (const Successor& s : f_[*b].successors)
          for (std::size_t n = 0; n < s.args.size(); ++n)
            look(s.args[n], looks_[f_[s.block].params[n].index]);
        for (auto i = f_[*b].insts.rbegin(); i != f_[*b].insts.rend(); ++i) {
          const Inst& inst = f_[*i];
          u8 how = info(inst.op).is(kPure) ? 0 : kOther;
          for (unsigned r = 0; r < inst.num_results && how == 0; ++r) how |= looks_[f_.result(*i, r).index];
          const auto x = f_.operands(*i);
          for (std::size_t n = 0; n < x.size(); ++n) {
            if (inst.op == Op::Load && n == 0)
              look(x[n], kAddress);
            else if (inst.op == Op::Select && n == 2) // mostly what is left in lanes that EXEC does not have
              look(x[n], how & kAddress);
            else
              look(x[n], how);
          }
        }
      }
    }
  }
};

/// The first way of the branch that ends `b` is short: few blocks one after the other, up to where the two
/// ways meet. Others may come to these as well, as where `a || b` is asked one by one.
bool is_short(const Function& f, RowChoices& rows, BlockId b) {
  constexpr unsigned kMaxBlocks = 3;
  const Successor *way = &f[b].successors[0], &other = f[b].successors[1];
  const BlockId join = join_of(f[f.terminator(b)]);
  if (way->block == join) return false;
  unsigned sum = 0, of_rows = 0, blocks = 0;
  for (; way->block != join; way = &f[way->block].successors[0]) {
    const Block& aside = f[way->block];
    if (++blocks > kMaxBlocks || f[aside.insts.back()].op != Op::Jump) return false;
    for (const InstId i : aside.insts) {
      if (i == aside.insts.back()) break;
      const unsigned more = std::min(cost(f, i), kMaxCost + 1);
      (more != 0 && f[i].num_results == 1 && rows.is_row(f.result(i)) ? of_rows : sum) += more;
    }
  }
  if (sum + of_rows <= kMaxCost) return true;
  return sum <= kMaxCost && of_rows <= kMaxOfRows && other.block == join &&
         rows.chooses_addresses(*way, other);
}

} // namespace

bool go_short_ways(Function& f) {
  SameInAllLanes same(f);
  RowChoices rows(f);
  bool any = false;
  for (u32 n = 0; n < f.num_blocks(); ++n) {
    const BlockId b{n};
    if (f.blocks[n].insts.empty() || !is_gang_decided(f, b) || !is_short(f, rows, b) ||
        same.decides(f.tested_mask(b)))
      continue;
    f.become_jump(b, f[b].successors[0]);
    any = true;
  }
  return any;
}

} // namespace lanewise::phases
