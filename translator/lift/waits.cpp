#include "translator/lift/waits.hpp"

#include <algorithm>

namespace lanewise::lift {

using namespace ir;

namespace {

bool is_global(const Inst& i) {
  return i.mem.space == Space::Global || i.mem.space == Space::Flat || i.mem.space == Space::Buffer;
}

/// Looks from one atomic, or store, at what follows.
class Search {
public:
  Search(const Function& f, const std::vector<std::vector<Wait>>& waits)
      : f_(f), waits_(waits), later_at_(f.num_blocks(), kNotReached) {}

  bool is_awaited(InstId access) {
    of_store_ = f_[access].op == Op::Store;
    const BlockId home = f_[access].block;
    const auto& insts = f_[home].insts;
    const auto at = std::find(insts.begin(), insts.end(), access);
    if (walk(home, static_cast<std::size_t>(at - insts.begin()) + 1, 0)) return true;
    while (!work_.empty()) {
      const BlockId b = work_.back();
      work_.pop_back();
      if (walk(b, 0, later_at_[b.index])) return true;
    }
    return false;
  }

private:
  static constexpr int kNotReached = -1, kAwaited = 64; // no counter goes so far
  const Function& f_;
  const std::vector<std::vector<Wait>>& waits_;
  std::vector<int> later_at_; ///< per block: memory instructions between the access and its start, at most
  std::vector<BlockId> work_;
  bool of_store_ = false;

  /// What an access must be done before, once it has been waited for.
  [[nodiscard]] bool tells(const Inst& i) const {
    if (of_store_) return i.op == Op::Load && i.mem.coherent && is_global(i);
    return info(i.op).is(kStores) || waits_for_waves(i.op);
  }

  /// Goes through `b` from instruction number `first` on, `later` accesses behind the one looked from.
  bool walk(BlockId b, std::size_t first, int later) {
    const auto& insts = f_[b].insts;
    const auto wait_after = [&](InstId i) {
      for (const Wait& w : waits_[b.index])
        if (w.after == i && later >= static_cast<int>(w.outstanding)) later = kAwaited;
    };
    if (first == 0) wait_after(InstId{});
    for (std::size_t n = first == 0 ? 0 : first - 1; n < insts.size(); ++n) {
      const InstId i = insts[n];
      if (n >= first) {
        if (later == kAwaited && tells(f_[i])) return true;
        if (info(f_[i].op).is(kMemory) && later < kAwaited - 1) ++later;
      }
      wait_after(i);
    }
    for (const Successor& s : f_[b].successors) {
      if (later_at_[s.block.index] >= later) continue;
      later_at_[s.block.index] = later;
      work_.push_back(s.block);
    }
    return false;
  }
};

} // namespace

void mark_awaited(Function& f, std::span<const Wait> waits) {
  std::vector<std::vector<Wait>> by_block(f.num_blocks());
  for (const Wait& w : waits) by_block[w.block.index].push_back(w);
  bool looks = false; // Most kernels do not, and have many stores.
  for (const Block& b : f.blocks)
    for (const InstId i : b.insts) looks |= f[i].op == Op::Load && f[i].mem.coherent && is_global(f[i]);
  for (const Block& b : f.blocks)
    for (const InstId i : b.insts)
      if ((f[i].op == Op::Atomic && !f[i].mem.returns && f[i].mem.space != Space::Lds) ||
          (f[i].op == Op::Store && looks && is_global(f[i])))
        f[i].mem.awaited = Search(f, by_block).is_awaited(i);
}

} // namespace lanewise::lift
