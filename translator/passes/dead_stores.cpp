// Stores that nobody sees, to memory that no other wave has: rows of registers indexed at run time, and
// private memory. Every named write of an indexed register stores its row; most of these stores are
// overwritten before an indexed read. Of what promote_private_memory has left, many stores are only there for
// accesses that have gone meanwhile.
//
// Backward over the blocks: per place, the lanes that a later load may read - none, those of one mask, or
// all. A store kills what lies inside its mask. Only masks defined outside all loops are named: those mean
// the same at any time.
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/private_access.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u32 kNone = 0xffff'fffeu, kAll = 0xffff'fffdu;

/// What an access does to places.
struct Access {
  InstId inst;
  u32 first = 0, count = 0;
  bool exact = false; ///< all of these places are accessed, wholly
  bool reads = false;
  bool removable = false; ///< a store to these places and nowhere else
};

class DeadStores {
public:
  DeadStores(Function& f, u32 private_bytes) : f_(f), private_(f, private_bytes) {}

  void run() {
    if (!find_places()) return;
    cfg_.emplace(f_);
    dom_.emplace(f_, *cfg_);
    loops_.emplace(f_, *cfg_, *dom_);
    find_accesses();
    live_in_.assign(f_.num_blocks() * places(), kNone);
    seen_.resize(places());
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = cfg_->rpo.rbegin(); b != cfg_->rpo.rend(); ++b) {
        find_live_out(*b);
        const auto& accesses = accesses_[b->index];
        for (auto a = accesses.rbegin(); a != accesses.rend(); ++a) step(*a);
        const std::span<u32> before = live_in(*b);
        if (std::ranges::equal(seen_, before)) continue;
        std::ranges::copy(seen_, before.begin());
        changed = true;
      }
    }
    for (const BlockId b : cfg_->rpo) sweep(b);
  }

private:
  static constexpr u64 kMaxPlacesTimesBlocks = 1 << 22;

  Function& f_;
  const PrivateAccesses private_;
  std::optional<Cfg> cfg_; ///< and the others: made when there is something to remove
  std::optional<Dominators> dom_;
  std::optional<Loops> loops_;
  mutable std::optional<MaskFacts> facts_;    ///< made when first asked for
  std::vector<u32> rows_;                     ///< of registers that are accessed, ascending
  std::vector<u32> dwords_;                   ///< of private memory that stores go to, ascending
  std::vector<std::vector<Access>> accesses_; ///< per block, in order
  // The lanes that are looked at, per place: rows of registers come first, then dwords of private memory.
  std::vector<u32> live_in_; ///< where blocks begin, one after the other
  std::vector<u32> seen_;    ///< where we are

  [[nodiscard]] std::span<u32> live_in(BlockId b) { return {live_in_.data() + b.index * places(), places()}; }
  [[nodiscard]] std::size_t places() const { return rows_.size() + dwords_.size(); }

  static bool is_row_access(const Inst& inst) {
    return (inst.op == Op::Load || inst.op == Op::Store) && inst.mem.space == Space::Registers;
  }

  /// False if there is no store that could be dead.
  bool find_places() {
    for (const Block& block : f_.blocks) {
      for (const InstId i : block.insts) {
        if (is_row_access(f_[i]))
          for (u32 r = 0; r < row_count(f_[i]); ++r) rows_.push_back(row_first(f_[i]) + r);
        if (f_[i].op != Op::Store || !private_.is_private(i)) continue;
        const PrivateBytes bytes = private_.bytes(i);
        for (u64 d = bytes.first / 4; bytes.exact && d < (bytes.end + 3) / 4; ++d)
          dwords_.push_back(static_cast<u32>(d));
      }
    }
    for (std::vector<u32>* list : {&rows_, &dwords_}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    if (dwords_.size() * f_.num_blocks() > kMaxPlacesTimesBlocks) dwords_.clear();
    return places() != 0;
  }

  static u32 position(const std::vector<u32>& list, u64 n) {
    return static_cast<u32>(std::lower_bound(list.begin(), list.end(), n) - list.begin());
  }
  [[nodiscard]] u32 place_of(u64 dword) const {
    return static_cast<u32>(rows_.size()) + position(dwords_, dword);
  }

  void find_accesses() {
    accesses_.resize(f_.num_blocks());
    for (const BlockId b : cfg_->rpo)
      for (const InstId i : f_[b].insts)
        if (const Access a = access(i); a.count != 0) accesses_[b.index].push_back(a);
  }

  [[nodiscard]] Access access(InstId i) const {
    const Inst& inst = f_[i];
    Access a;
    a.inst = i;
    a.reads = inst.op != Op::Store;
    if (is_row_access(inst)) {
      a.first = position(rows_, row_first(inst));
      a.count = row_count(inst);
      a.exact = a.count == 1;
      a.removable = !a.reads;
    } else if (inst.op == Op::LaneOf || inst.op == Op::RowGet) {
      a.first = position(rows_, row_first(inst));
      a.count = position(rows_, row_first(inst) + row_count(inst)) - a.first;
    } else if (private_.is_private(i)) {
      const PrivateBytes bytes = private_.bytes(i);
      a.first = place_of(bytes.first / 4);
      a.count = place_of((bytes.end + 3) / 4) - a.first;
      a.exact = bytes.exact && inst.mem.bytes >= 4;
      a.removable = !a.reads && bytes.exact && a.count != 0;
    }
    return a;
  }

  u32 named(ValueId mask) const {
    u64 bits = 0;
    if (f_.is_const(mask, &bits)) return bits == 0 ? kNone : kAll;
    return loops_->innermost[f_.def_block(mask).index] < 0 ? mask.index : kAll;
  }
  u32 unite(u32 a, u32 b) const {
    if (a == b || b == kNone) return a;
    if (a == kNone) return b;
    if (a == kAll || b == kAll) return kAll;
    if (implies(ValueId{a}, ValueId{b})) return b;
    return implies(ValueId{b}, ValueId{a}) ? a : kAll;
  }
  bool implies(ValueId a, ValueId b) const {
    if (a == b) return true;
    if (!facts_) facts_.emplace(f_, *cfg_, *dom_);
    return facts_->implies(a, b);
  }

  void find_live_out(BlockId b) {
    const auto& successors = f_[b].successors;
    if (successors.empty())
      std::ranges::fill(seen_, kNone);
    else
      std::ranges::copy(live_in(successors[0].block), seen_.begin());
    for (std::size_t n = 1; n < successors.size(); ++n) {
      const std::span<const u32> other = live_in(successors[n].block);
      for (std::size_t p = 0; p < other.size(); ++p) seen_[p] = unite(seen_[p], other[p]);
    }
  }

  void step(const Access& a) {
    const ValueId mask = f_.operands(a.inst).back();
    const u32 lanes = a.reads ? named(mask) : kNone;
    for (u32 p = a.first; p < a.first + a.count; ++p) {
      if (a.reads)
        seen_[p] = unite(seen_[p], lanes);
      else if (a.exact && kills(mask, seen_[p]))
        seen_[p] = kNone;
    }
  }
  bool kills(ValueId mask, u32 lanes) const {
    if (f_.is_full(mask)) return true;
    return lanes != kNone && lanes != kAll && implies(ValueId{lanes}, mask);
  }

  void sweep(BlockId b) {
    find_live_out(b);
    bool removed = false;
    const auto& accesses = accesses_[b.index];
    for (auto a = accesses.rbegin(); a != accesses.rend(); ++a) {
      bool dead = a->removable;
      for (u32 p = a->first; dead && p < a->first + a->count; ++p) dead = seen_[p] == kNone;
      step(*a);
      if (!dead) continue;
      f_[a->inst].block = BlockId{};
      removed = true;
    }
    if (removed) std::erase_if(f_[b].insts, [&](InstId i) { return !f_[i].block.valid(); });
  }
};

} // namespace

void remove_dead_stores(Function& f, u32 private_bytes) {
  if (has_private_accesses(f)) DeadStores(f, private_bytes).run();
}

} // namespace lanewise::passes
