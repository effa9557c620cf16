// Rows of registers that nobody loads. Every named write of an indexed register stores its row; most of these
// stores are overwritten before an indexed read.
//
// Backward over the blocks: per row, the lanes that a later load may read - none, those of one mask, or all.
// A store kills what lies inside its mask. Only masks defined outside all loops are named: those mean the
// same at any time.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"

#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kNone = 0xffff'fffeu, kAll = 0xffff'fffdu;
constexpr unsigned kRows = 256;
using Rows = std::array<u32, kRows>;

bool is_row_access(const Inst& inst) {
  return (inst.op == Op::Load || inst.op == Op::Store) && inst.mem.space == Space::Registers;
}

class DeadRows {
public:
  explicit DeadRows(Function& f)
      : f_(f), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_), facts_(f, cfg_, dom_) {}

  void run() {
    live_in_.resize(f_.num_blocks());
    for (Rows& rows : live_in_) rows.fill(kNone);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = cfg_.rpo.rbegin(); b != cfg_.rpo.rend(); ++b) {
        Rows rows = live_out(*b);
        const auto& insts = f_[*b].insts;
        for (auto i = insts.rbegin(); i != insts.rend(); ++i) step(*i, rows);
        if (rows == live_in_[b->index]) continue;
        live_in_[b->index] = rows;
        changed = true;
      }
    }
    for (const BlockId b : cfg_.rpo) sweep(b);
  }

private:
  Function& f_;
  Cfg cfg_;
  Dominators dom_;
  Loops loops_;
  MaskFacts facts_;
  std::vector<Rows> live_in_; ///< per block

  u32 named(ValueId mask) const {
    u64 bits = 0;
    if (f_.is_const(mask, &bits)) return bits == 0 ? kNone : kAll;
    return loops_.innermost[f_.def_block(mask).index] < 0 ? mask.index : kAll;
  }
  u32 unite(u32 a, u32 b) const {
    if (a == b || b == kNone) return a;
    if (a == kNone) return b;
    if (a == kAll || b == kAll) return kAll;
    if (facts_.implies(ValueId{a}, ValueId{b})) return b;
    return facts_.implies(ValueId{b}, ValueId{a}) ? a : kAll;
  }

  Rows live_out(BlockId b) const {
    Rows rows;
    rows.fill(kNone);
    for (const Successor& s : f_[b].successors)
      for (unsigned r = 0; r < kRows; ++r) rows[r] = unite(rows[r], live_in_[s.block.index][r]);
    return rows;
  }

  void step(InstId i, Rows& rows) const {
    const Inst& inst = f_[i];
    if (!is_row_access(inst)) return;
    const unsigned first = row_first(inst), count = row_count(inst);
    if (inst.op == Op::Load) {
      const u32 lanes = named(f_.operands(i).back());
      for (unsigned r = first; r < first + count; ++r) rows[r] = unite(rows[r], lanes);
    } else if (count == 1 && kills(f_.operands(i).back(), rows[first])) {
      rows[first] = kNone;
    }
  }
  bool kills(ValueId mask, u32 lanes) const {
    if (f_.is_full(mask)) return true;
    return lanes != kNone && lanes != kAll && facts_.implies(ValueId{lanes}, mask);
  }

  void sweep(BlockId b) {
    Rows rows = live_out(b);
    auto& insts = f_[b].insts;
    std::vector<InstId> kept;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
      const Inst& inst = f_[*i];
      bool dead = is_row_access(inst) && inst.op == Op::Store;
      for (unsigned r = row_first(inst); dead && r < row_first(inst) + row_count(inst); ++r)
        dead = rows[r] == kNone;
      if (dead)
        f_[*i].block = BlockId{};
      else
        kept.push_back(*i);
      step(*i, rows);
    }
    insts.assign(kept.rbegin(), kept.rend());
  }
};

} // namespace

void remove_register_stores(Function& f) {
  for (const Block& block : f.blocks)
    for (const InstId i : block.insts)
      if (is_row_access(f[i])) return DeadRows(f).run();
}

} // namespace lanewise::passes
