#include "translator/lift/waits.hpp"
#include "translator/passes/rewriter.hpp"

#include <algorithm>

namespace lanewise::lift {

using namespace ir;

namespace {

bool is_global(const Inst& i) {
  return i.mem.space == Space::Global || i.mem.space == Space::Flat || i.mem.space == Space::Buffer;
}

/// What waves wait for before some of the instructions, found from behind. A wait is for all accesses before
/// it but the last few: so for each place there is a number of further accesses with which one before it is
/// waited for on a way to such an instruction, and with more all the more.
class Search {
public:
  /// `tells`: the instructions that an access must be done before once it has been waited for.
  Search(const Function& f, const std::vector<std::vector<Wait>>& waits, bool (*tells)(const Inst&))
      : f_(f), waits_(waits), tells_(tells), needed_(f.num_blocks(), kNever) {
    for (bool changed = true; changed;) {
      changed = false;
      for (u32 b = f.num_blocks(); b-- > 0;) {
        const int needed = walk(BlockId{b}, [](InstId, bool) {});
        changed |= needed < needed_[b];
        needed_[b] = std::min(needed_[b], needed);
      }
    }
  }

  /// Calls visit(i, is_awaited) for the instructions of a block.
  template <class Visit>
  int walk(BlockId b, Visit visit) const {
    int needed = kNever;
    for (const Successor& s : f_[b].successors) needed = std::min(needed, needed_[s.block.index]);
    const auto wait_after = [&](InstId i) {
      for (const Wait& w : waits_[b.index])
        if (w.after == i && needed <= kAwaited) needed = std::min(needed, static_cast<int>(w.outstanding));
    };
    const auto& insts = f_[b].insts;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
      wait_after(*i);
      visit(*i, needed == 0);
      if (info(f_[*i].op).is(kMemory) && needed > 0 && needed < kAwaited) --needed;
      if (tells_(f_[*i])) needed = std::min(needed, kAwaited);
    }
    wait_after(InstId{});
    return needed;
  }

private:
  static constexpr int kAwaited = 64, kNever = 65; // no counter goes so far
  const Function& f_;
  const std::vector<std::vector<Wait>>& waits_;
  bool (*tells_)(const Inst&);
  std::vector<int> needed_; ///< per block, at its start; kAwaited: what has been waited for before
};

bool is_look(const Inst& i) { return i.op == Op::Load && i.mem.coherent && is_global(i); }
bool is_seen(const Inst& i) { return info(i.op).is(kStores) || waits_for_waves(i.op); }

} // namespace

void mark_awaited(Function& f, std::span<const Wait> waits) {
  std::vector<std::vector<Wait>> by_block(f.num_blocks());
  for (const Wait& w : waits) by_block[w.block.index].push_back(w);
  const auto mark = [&](bool (*tells)(const Inst&), auto is_meant) {
    if (!passes::has_any(f, is_meant)) return;
    const Search search(f, by_block, tells);
    for (u32 b = 0; b < f.num_blocks(); ++b)
      search.walk(BlockId{b}, [&](InstId i, bool is_awaited) {
        if (is_meant(f[i])) f[i].mem.awaited = is_awaited;
      });
  };
  mark(is_seen,
       [](const Inst& i) { return i.op == Op::Atomic && !i.mem.returns && i.mem.space != Space::Lds; });
  if (passes::has_any(f, is_look))
    mark(is_look, [](const Inst& i) { return i.op == Op::Store && is_global(i); });
}

} // namespace lanewise::lift
