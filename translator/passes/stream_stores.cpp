// Stores of whole cache lines that the kernel does not read: through the caches, the memory's old contents
// would first be fetched, only to be overwritten, and would throw out what is still needed. In launches whose
// output is larger than the caches of a core keep for the next kernel anyway, such stores go past them.
//
// Streaming stores are not ordered among other stores. Who could tell within a dispatch says so with atomics
// or loads past the first-level cache (glc): kernels with these are left alone. Any other store of the kernel
// waits for them (Selector::order_streams), and so does the end of a range of workgroups.
#include "translator/ir/cfg.hpp"
#include "translator/ir/rows.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Output below that may well still be in a cache when somebody reads it.
constexpr u64 kMinBytes = 16 << 20;
/// Of records, short rows that are long enough to be streamed; x86::form_phases() sees to it that they are
/// only where no lanes meet.
constexpr i64 kLongRow = 256;

class Streamer {
public:
  Streamer(Function& f, unsigned gang_lanes)
      : f_(f), gang_lanes_(gang_lanes), cfg_(f), dom_(f, cfg_), loops_(f, cfg_, dom_),
        loaded_(f.num_values(), false), seen_(f.num_values(), 0) {}

  void run() {
    std::vector<InstId> stores;
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) {
        if (!is_harmless(i)) return;
        if (f_[i].op == Op::Store && f_[i].mem.space == Space::Global) stores.push_back(i);
        if (f_[i].op == Op::Load)
          for_each_pointer(f_.operands(i)[0], [&](ValueId v) { loaded_[v.index] = true; });
      }
    if (std::all_of(stores.begin(), stores.end(), [&](InstId i) { return streams(i); }))
      for (const InstId i : stores) f_[i].mem.streams = true;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  const Cfg cfg_;
  const Dominators dom_;
  const Loops loops_;
  std::vector<bool> loaded_; ///< by value: pointers that something is loaded from
  std::vector<u32> seen_;    ///< by value: the search that has come by last
  u32 search_ = 1;
  std::vector<ValueId> work_;

  /// Nobody is told that something has been stored, and no store goes who knows where.
  bool is_harmless(InstId i) const {
    const Inst& inst = f_[i];
    switch (inst.op) {
    case Op::Load: return !inst.mem.coherent;
    case Op::Store:
      return inst.mem.space != Space::Flat && inst.mem.space != Space::Buffer && inst.mem.space != Space::Gds;
    case Op::Atomic: return inst.mem.space == Space::Lds;
    case Op::ScalarStore: return false;
    default: return true;
    }
  }

  bool streams(InstId i) {
    const MemAttr& mem = f_[i].mem;
    // One line here and one there is slower than through the caches.
    const bool short_rows = mem.form == AddressForm::Lanes && mem.short_row * element_stride(mem) >= kLongRow;
    if (!short_rows && (mem.form != AddressForm::Row || !mem.wave_row)) return false;
    const bool contiguous = !short_rows && is_consecutive(mem) && mem.bytes >= 4 && mem.bytes != 12;
    if (!contiguous && !is_part_of_record(i)) return false;
    if (f_.launch.min_items * static_cast<u64>(element_stride(mem)) < kMinBytes) return false;
    const auto x = f_.operands(i);
    // What a loop stores to one place again and again belongs into a cache.
    const auto address = address_of(f_, i);
    const i32 loop = loops_.innermost[f_[i].block.index];
    if (loop >= 0 && std::none_of(address.begin(), address.end(),
                                  [&](ValueId v) { return loops_.contains(loop, f_.def_block(v)); }))
      return false;
    ++search_;
    bool has_pointer = false, is_loaded = false;
    for_each_pointer(x[0], [&](ValueId v) { has_pointer = true, is_loaded |= loaded_[v.index]; });
    return has_pointer && !is_loaded;
  }

  /// Whether it and its neighbours, which x86/select_records.cpp puts together, store all of the lane's
  /// element.
  bool is_part_of_record(InstId i) const {
    const Inst& store = f_[i];
    const i64 stride = element_stride(store.mem);
    if (!may_be_component(store.mem) || !fill_lines(stride, gang_lanes_)) return false;
    i64 bytes = 0;
    bool has_passed = false;
    for (const InstId other : f_[store.block].insts) {
      has_passed |= other == i;
      if (f_[other].op == Op::Store && go_together(f_, i, other)) {
        bytes += f_[other].mem.bytes;
      } else if ((info(f_[other].op).is(kMemory) && !loads_constants(f_, other)) ||
                 waits_for_waves(f_[other].op)) {
        if (has_passed) break;
        bytes = 0;
      }
    }
    return bytes == stride;
  }

  /// The pointers that the 64-bit address `v` is made from: halves joined, that is, not sums or extensions.
  /// What this search has come by is not looked at again.
  template <class Visit>
  void for_each_pointer(ValueId v, Visit visit) {
    work_ = {v};
    while (!work_.empty()) {
      const ValueId at = work_.back();
      work_.pop_back();
      if (std::exchange(seen_[at.index], search_) == search_) continue;
      const InstId def = f_.def_id(at);
      if (!def.valid()) {
        add_arguments(at, work_);
        continue;
      }
      const auto x = f_.operands(def);
      switch (f_[def].op) {
      case Op::Join:
      case Op::Load: visit(at); break;
      case Op::Add:
      case Op::Sub:
      case Op::Splat: work_.insert(work_.end(), x.begin(), x.end()); break;
      case Op::Select: work_.insert(work_.end(), x.begin() + 1, x.end()); break;
      default: break;
      }
    }
  }
  void add_arguments(ValueId p, std::vector<ValueId>& work) const {
    const BlockId b = f_.def_block(p);
    for (const BlockId from : cfg_.preds[b.index])
      for (const Successor& s : f_[from].successors)
        if (s.block == b) work.push_back(s.args[f_[p].index]);
  }
};

} // namespace

void stream_stores(Function& f, unsigned gang_lanes) {
  if (f.launch.min_items != 0) Streamer(f, gang_lanes).run();
}

} // namespace lanewise::passes
