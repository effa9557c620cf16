// Private memory at constant addresses becomes values: what does not optimise keeps every variable there.
//
// A slot is a dword of private memory that some access names by a constant address, or a row of registers
// that are indexed. Its value is followed like that of a variable, with block parameters where paths meet.
// Accesses at addresses that are not known go to memory, which is kept true for them: a store to a slot that
// such a load may see remains, and behind a store that may hit the slot its value is not known until it has
// been loaded again.
//
// Where the index of an array is bounded by nothing but a loop's condition, that is only seen once the
// counter is a value, which it is not while the array may be where the counter is. So it is taken for granted
// that the array is not, and proved of what comes of that: before the first access that is elsewhere, all was
// as if it were not, and then that access does not happen.
#include "support/lists.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/masked_limits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/private_access.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/passes/stack_pointers.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Sets of slots, in one array.
class SlotSets {
public:
  SlotSets() = default;
  SlotSets(std::size_t sets, std::size_t slots, bool all)
      : words_per_set_((slots + 63) / 64), words_(sets * words_per_set_, all ? ~u64{0} : 0) {}

  [[nodiscard]] std::span<u64> operator[](std::size_t set) {
    return {words_.data() + set * words_per_set_, words_per_set_};
  }
  [[nodiscard]] bool has(std::size_t set, u32 slot) const {
    return (words_[set * words_per_set_ + slot / 64] >> (slot % 64) & 1) != 0;
  }

private:
  std::size_t words_per_set_ = 0;
  std::vector<u64> words_;
};

/// `count` slots from `first` on.
void put(std::span<u64> set, u32 first, u32 count, bool value) {
  while (count != 0) {
    const u32 n = std::min(count, 64 - first % 64);
    const u64 bits = (~u64{0} >> (64 - n)) << (first % 64);
    u64& word = set[first / 64];
    word = value ? word | bits : word & ~bits;
    first += n;
    count -= n;
  }
}

bool is_row_access(const Inst& inst) {
  return (inst.op == Op::Load || inst.op == Op::Store) && inst.mem.space == Space::Registers;
}

/// What an instruction does with the slots from `first` on.
struct Touch {
  InstId inst;
  u32 first = 0, count = 0;
  bool exact = false; ///< the address is constant: the slots, all of them, are what is accessed
  bool reads = false, writes = false;
};

class Promotion {
public:
  /// `granted`, if not null, is taken for granted of the accesses in it.
  Promotion(Function& f, u32 private_bytes, const Extents* granted = nullptr)
      : f_(f), private_bytes_(private_bytes), granted_(granted), cfg_(f), dom_(f, cfg_), rewriter_(f) {}

  /// False if no access is to a constant address.
  bool find() { return find_touches(); }

  void run() {
    find_live();
    find_available();
    place_parameters();
    rename();
    std::vector<ValueId> map(f_.num_values());
    for (const auto& [old, now] : replaced_) map[old.index] = now;
    f_.replace_values(map);
  }

  /// Accesses at addresses that are not known.
  [[nodiscard]] u32 others() const { return others_; }

private:
  static constexpr u64 kMaxSlotsTimesBlocks = 1 << 24; ///< keeps the sets small
  static constexpr u32 kRows = 1 << 30;                ///< row 0's slot: private memory is smaller

  Function& f_;
  const u32 private_bytes_;
  const Extents* const granted_;
  const Cfg cfg_;
  const Dominators dom_;
  Rewriter rewriter_;
  std::vector<u32> dwords_;   ///< per slot, ascending: its place in private memory, or kRows + its row
  Lists<Touch> touches_;      ///< per block, in order
  u32 others_ = 0;            ///< accesses at addresses that are not known
  std::vector<u8> in_memory_; ///< per slot: other accesses may go there, what is stored must remain
  SlotSets live_in_, available_in_, available_out_; ///< per block
  std::vector<std::vector<u32>> parameters_; ///< per block: the slots of the parameters that were added
  /// Per slot: its value at the end of a block, invalid if it is in memory. Kept until all blocks are done of
  /// which that one is the immediate dominator.
  std::vector<std::vector<ValueId>> at_end_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;

  // ---- which accesses there are

  bool find_touches() {
    const PrivateAccesses all(f_, private_bytes_);
    std::vector<std::pair<InstId, PrivateBytes>> accesses;
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts)
        if (all.is_private(i))
          accesses.emplace_back(i, bytes(all, i));
        else if (is_row_access(f_[i]))
          accesses.emplace_back(i, rows(i));
    for (const auto& [i, range] : accesses)
      for (u64 d = range.first / 4; range.exact && d < (range.end + 3) / 4; ++d)
        dwords_.push_back(static_cast<u32>(d));
    std::sort(dwords_.begin(), dwords_.end());
    dwords_.erase(std::unique(dwords_.begin(), dwords_.end()), dwords_.end());
    others_ = static_cast<u32>(
        std::count_if(accesses.begin(), accesses.end(), [](const auto& a) { return !a.second.exact; }));
    if (dwords_.empty() || dwords_.size() * f_.num_blocks() > kMaxSlotsTimesBlocks) return false;
    in_memory_.assign(dwords_.size(), 0);
    std::vector<std::pair<u32, Touch>> touches;
    touches.reserve(accesses.size());
    for (const auto& [i, range] : accesses) touches.emplace_back(f_[i].block.index, touch(i, range));
    touches_ = Lists<Touch>(f_.num_blocks(), touches);
    return true;
  }

  [[nodiscard]] PrivateBytes bytes(const PrivateAccesses& all, InstId i) const {
    if (granted_ != nullptr)
      if (const auto known = granted_->find(i.index); known != granted_->end()) return known->second;
    return all.bytes(i);
  }

  /// Where its rows are, behind all of private memory.
  [[nodiscard]] PrivateBytes rows(InstId i) const {
    const u64 first = kRows + row_first(f_[i]), count = row_count(f_[i]);
    u64 n = 0;
    if (!f_.is_const(f_.operands(i)[0], &n) || n >= count) return {4 * first, 4 * (first + count), false};
    return {4 * (first + n), 4 * (first + n + 1), true};
  }

  Touch touch(InstId i, const PrivateBytes& range) {
    const auto slot = [&](u64 dword) {
      return static_cast<u32>(std::lower_bound(dwords_.begin(), dwords_.end(), dword) - dwords_.begin());
    };
    Touch t;
    t.inst = i;
    t.exact = range.exact;
    t.first = slot(range.first / 4);
    t.count = slot((range.end + 3) / 4) - t.first;
    t.reads = f_[i].op != Op::Store;
    t.writes = f_[i].op != Op::Load;
    for (u32 s = t.first; !t.exact && s < t.first + t.count; ++s) in_memory_[s] = 1;
    return t;
  }

  // ---- where values are wanted, and where they are known

  /// The store leaves nothing of what was in its slots.
  [[nodiscard]] bool overwrites(const Touch& t) const {
    return t.writes && (!t.exact || (f_[t.inst].mem.bytes >= 4 && f_.is_full(f_.operands(t.inst).back())));
  }

  void find_live() {
    live_in_ = SlotSets(f_.num_blocks(), dwords_.size(), false);
    SlotSets work(1, dwords_.size(), false);
    const std::span<u64> live = work[0];
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = cfg_.rpo.rbegin(); b != cfg_.rpo.rend(); ++b) {
        std::ranges::fill(live, 0);
        for (const Successor& s : f_[*b].successors) {
          const std::span<const u64> after = live_in_[s.block.index];
          for (std::size_t w = 0; w < live.size(); ++w) live[w] |= after[w];
        }
        const auto& touches = touches_[b->index];
        for (auto t = touches.rbegin(); t != touches.rend(); ++t)
          if (t->exact || t->writes) put(live, t->first, t->count, !overwrites(*t));
        changed |= copy(live, live_in_[b->index]);
      }
    }
  }

  void find_available() {
    available_in_ = SlotSets(f_.num_blocks(), dwords_.size(), true);
    // Nobody has said what is in private memory at the start. Where all accesses are known it is 0.
    for (u32 s = 0; s < dwords_.size(); ++s) put(available_in_[0], s, 1, in_memory_[s] == 0);
    available_out_ = available_in_;
    SlotSets work(1, dwords_.size(), false);
    const std::span<u64> now = work[0];
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId b : cfg_.rpo) {
        const std::span<u64> in = available_in_[b.index];
        for (const BlockId p : cfg_.preds[b.index]) {
          const std::span<const u64> before = available_out_[p.index];
          for (std::size_t w = 0; w < in.size(); ++w) in[w] &= before[w];
        }
        std::ranges::copy(in, now.begin());
        for (const Touch& t : touches_[b.index])
          if (t.exact || t.writes) put(now, t.first, t.count, t.exact);
        changed |= copy(now, available_out_[b.index]);
      }
    }
  }

  /// Returns whether `to` was different.
  static bool copy(std::span<const u64> from, std::span<u64> to) {
    if (std::ranges::equal(from, to)) return false;
    std::ranges::copy(from, to.begin());
    return true;
  }

  /// Parameters for slots at the iterated dominance frontiers of what changes what is known of them.
  void place_parameters() {
    // Neither blocks nor slots are in a list twice in a row.
    std::vector<std::pair<u32, BlockId>> found;
    std::vector<BlockId> last(f_.num_blocks());
    for (const BlockId b : cfg_.rpo) {
      if (cfg_.preds[b.index].size() < 2) continue;
      for (BlockId p : cfg_.preds[b.index])
        for (; p.valid() && p != dom_.idom[b.index]; p = dom_.idom[p.index])
          if (std::exchange(last[p.index], b) != b) found.emplace_back(p.index, b);
    }
    const Lists<BlockId> frontier(f_.num_blocks(), found);
    found.clear();
    last.assign(dwords_.size(), BlockId{});
    for (const BlockId b : cfg_.rpo)
      for (const Touch& t : touches_[b.index])
        for (u32 s = t.first; s < t.first + t.count; ++s)
          if ((t.writes || (t.exact && !available_in_.has(b.index, s))) && std::exchange(last[s], b) != b)
            found.emplace_back(s, b);
    const Lists<BlockId> changes(dwords_.size(), found);
    parameters_.resize(f_.num_blocks());
    std::vector<BlockId> work;
    for (u32 s = 0; s < dwords_.size(); ++s) {
      work.assign(changes[s].begin(), changes[s].end());
      while (!work.empty()) {
        const BlockId from = work.back();
        work.pop_back();
        for (const BlockId b : frontier[from.index]) {
          auto& slots = parameters_[b.index];
          if (!live_in_.has(b.index, s) || !available_in_.has(b.index, s)) continue;
          if (!slots.empty() && slots.back() == s) continue;
          slots.push_back(s);
          work.push_back(b);
        }
      }
    }
  }

  // ---- the change itself

  std::vector<InstId>* out_ = nullptr;
  std::vector<ValueId> now_; ///< per slot

  void rename() {
    at_end_.resize(f_.num_blocks());
    std::vector<u32> first_parameter(f_.num_blocks()), dominated(f_.num_blocks());
    for (const BlockId b : cfg_.rpo) {
      if (dom_.idom[b.index].valid()) ++dominated[dom_.idom[b.index].index];
      first_parameter[b.index] = static_cast<u32>(f_[b].params.size());
      for (std::size_t n = 0; n < parameters_[b.index].size(); ++n) f_.add_param(b, Type::V32);
    }
    for (const BlockId b : cfg_.rpo) { // Dominators come first.
      const BlockId above = dom_.idom[b.index];
      enter(b, above, above.valid() && --dominated[above.index] == 0, first_parameter[b.index]);
      if (!touches_[b.index].empty()) rewrite(b);
      for (Successor& successor : f_[b].successors)
        for (const u32 s : parameters_[successor.block.index]) successor.args.push_back(now_[s]);
      if (dominated[b.index] != 0) at_end_[b.index] = now_;
    }
  }

  /// `is_last`: no other block that `above` dominates is still to come.
  void enter(BlockId b, BlockId above, bool is_last, u32 first_parameter) {
    if (!above.valid())
      now_.assign(dwords_.size(), f_.entry_constant(Type::V32, 0));
    else if (is_last)
      now_ = std::move(at_end_[above.index]);
    else
      now_ = at_end_[above.index];
    const std::span<const u64> available = available_in_[b.index]; // set where there is no slot
    for (std::size_t w = 0; w < available.size(); ++w) {
      const u64 known = above.valid() ? available_out_[above.index][w] : ~u64{0};
      for (u64 gone = known & ~available[w]; gone != 0; gone &= gone - 1)
        now_[64 * w + static_cast<unsigned>(std::countr_zero(gone))] = ValueId{};
    }
    for (const u32 s : parameters_[b.index]) now_[s] = f_[b].params[first_parameter++];
  }

  void rewrite(BlockId b) {
    std::vector<InstId> old;
    old.swap(f_[b].insts);
    std::vector<InstId> now;
    now.reserve(old.size());
    const std::span<const Touch> touches = touches_[b.index];
    auto next = touches.begin();
    for (const InstId i : old) {
      if (next == touches.end() || next->inst != i) {
        now.push_back(i);
        continue;
      }
      const Touch& t = *next++;
      rewriter_.begin(i, now);
      out_ = &now;
      bool kept = true;
      if (t.exact && t.reads) {
        load(t);
        kept = false;
      } else if (t.exact) {
        kept = store(t);
      } else if (t.writes) {
        for (u32 s = t.first; s < t.first + t.count; ++s) now_[s] = ValueId{};
      }
      if (kept && t.exact && is_row_access(f_[i])) { // whatever number it had, this row alone is meant
        f_.operands(i)[0] = rewriter_.constant(Type::U32, 0);
        f_[i].imm = row_range(dwords_[t.first] - kRows, 1);
      }
      if (kept)
        now.push_back(i);
      else
        f_[i].block = BlockId{};
    }
    f_[b].insts = std::move(now);
  }

  /// The value of a slot in all lanes; loaded if it is not known.
  ValueId value(InstId at, u32 slot) {
    if (now_[slot].valid()) return now_[slot];
    Inst proto;
    proto.op = Op::Load;
    proto.pc = f_[at].pc;
    const Type type = Type::V32;
    ValueId operands[] = {{}, rewriter_.constant(Type::Mask, ~u64{0})};
    if (const u32 place = dwords_[slot]; place >= kRows) {
      proto.mem.space = Space::Registers;
      proto.imm = row_range(place - kRows, 1);
      operands[0] = rewriter_.constant(Type::U32, 0);
    } else {
      proto.mem.space = Space::Scratch;
      operands[0] = rewriter_.v32(4 * place);
    }
    const InstId load = f_.make(proto, operands, {&type, 1});
    f_[load].block = f_[at].block;
    out_->push_back(load);
    return now_[slot] = f_.result(load);
  }

  /// Where in its slot a byte or word begins.
  [[nodiscard]] unsigned bit_offset(InstId i) const {
    const u64 address = f_.def(f_.operands(i)[0])->imm; // a constant
    return static_cast<unsigned>((address + f_[i].imm) % 4 * 8);
  }

  void load(const Touch& t) {
    const MemAttr mem = f_[t.inst].mem;
    const ValueId lanes = f_.operands(t.inst).back();
    for (u32 n = 0; n < t.count; ++n) {
      ValueId v = value(t.inst, t.first + n);
      if (mem.bytes < 4) {
        const unsigned bits = 8u * mem.bytes, offset = bit_offset(t.inst);
        v = rewriter_.shl(v, 32 - bits - offset);
        v = mem.sign_extend ? rewriter_.ashr(v, 32 - bits) : rewriter_.lshr(v, 32 - bits);
      }
      if (!f_.is_full(lanes)) v = rewriter_.select(lanes, v, rewriter_.v32(0));
      replaced_.emplace_back(f_.result(t.inst, n), v);
    }
  }

  /// Returns whether the store must remain.
  bool store(const Touch& t) {
    const MemAttr mem = f_[t.inst].mem;
    const ValueId lanes = f_.operands(t.inst).back();
    bool remains = false;
    for (u32 n = 0; n < t.count; ++n) {
      const u32 slot = t.first + n;
      remains |= in_memory_[slot] != 0;
      ValueId v = f_.operands(t.inst)[1 + n];
      if (mem.bytes < 4) {
        const unsigned bits = 8u * mem.bytes, offset = bit_offset(t.inst);
        const u32 mask = ((1u << bits) - 1) << offset;
        v = rewriter_.same(Op::Or, rewriter_.and_(value(t.inst, slot), ~mask),
                           rewriter_.and_(rewriter_.shl(v, offset), mask));
      }
      now_[slot] = f_.is_full(lanes) ? v : rewriter_.select(lanes, v, value(t.inst, slot));
    }
    return remains;
  }
};

/// Rests on indices of arrays that loops bound.
class BoundedArrays {
public:
  explicit BoundedArrays(u32 private_bytes) : private_bytes_(private_bytes) {}

  /// Promotes what no array touches, if that can be proved of all of them.
  void promote(Function& f) {
    if (!find_accesses(f)) return;
    for (unsigned n = 0; n < kMaxAttempts; ++n) {
      Function attempt = f;
      Promotion promotion(attempt, private_bytes_, &granted_);
      if (!promotion.find()) return;
      promotion.run();
      fold(attempt);
      merge_common(attempt);
      eliminate_dead_code(attempt);
      scalarize_lanes(attempt);
      merge_equal_parameters(attempt);
      fold(attempt);
      merge_common(attempt);
      eliminate_dead_code(attempt);
      const std::optional<bool> holds = check(attempt);
      if (!holds) return;
      if (*holds) {
        f = std::move(attempt);
        return;
      }
    }
  }

private:
  static constexpr unsigned kMaxAttempts = 4;
  const u32 private_bytes_;
  Extents granted_; ///< at first nothing is touched; then what the last attempt has found

  /// False if it is not known where something is stored, or no access is to a constant address. Loads may be
  /// from anywhere: what is in memory is kept true for them.
  bool find_accesses(Function& f) {
    const PrivateAccesses all(f, private_bytes_);
    bool has_slots = false;
    for (const Block& block : f.blocks)
      for (const InstId i : block.insts) {
        if (!all.is_private(i)) continue;
        if (f[i].mem.space != Space::Scratch && f[i].op == Op::Load) continue;
        if (f[i].mem.space != Space::Scratch) return false;
        if (all.bytes(i).exact)
          has_slots = true;
        else
          granted_[i.index] = {0, 0, false};
      }
    return has_slots && !granted_.empty();
  }

  /// Whether what was taken for granted is so; nothing if no bounds are seen. Takes them for granted.
  std::optional<bool> check(Function& f) {
    const PrivateAccesses all(f, private_bytes_);
    const MaskedLimits limits(f);
    bool holds = true;
    for (const Block& block : f.blocks)
      for (const InstId i : block.insts) {
        if (!all.is_private(i)) continue;
        const auto known = granted_.find(i.index);
        if (known == granted_.end() && (all.bytes(i).exact || f[i].op == Op::Load)) continue;
        const auto found = known == granted_.end() ? std::nullopt : extent(f, limits, i);
        if (!found && f[i].op != Op::Load) return std::nullopt;
        if (!found) {
          granted_.erase(known);
          holds = false;
          continue;
        }
        PrivateBytes& granted = known->second;
        if (granted.end == 0) granted = {found->first, found->first, false};
        holds &= found->first >= granted.first && found->end <= granted.end;
        granted = {std::min(granted.first, found->first), std::max(granted.end, found->end), false};
      }
    return holds;
  }

  std::optional<PrivateBytes> extent(const Function& f, const MaskedLimits& limits, InstId i) const {
    const auto x = f.operands(i);
    const auto place = limits.sum(x[0], x.back(), f[i].block);
    if (f[i].mem.space != Space::Scratch || f[i].imm >= private_bytes_ || !place) return std::nullopt;
    const u64 first = static_cast<u64>(place->min) + f[i].imm,
              end = static_cast<u64>(place->max) + f[i].imm + f[i].mem.bytes;
    if (place->min < 0 || place->max >= i64{private_bytes_} || end > private_bytes_) return std::nullopt;
    return PrivateBytes{first, end, false};
  }
};

/// Where a function's frame lies, and where it returns to, is seen only once these have been followed through
/// lanes of registers that were themselves in private memory meanwhile: hence in turns, call by call. It ends
/// when neither a round nor the scalars that it found let more be known than the round before. False if there
/// is nothing left to be known.
bool promote_in_rounds(Function& f, u32 private_bytes, const Extents* granted, const Renumbered& renumbered) {
  const auto tidy_up = [&] {
    fold(f);
    merge_common(f);
    eliminate_dead_code(f);
    if (!renumbered || !is_sparse(f)) return; // Each round may leave as much behind as there is.
    renumbered(f.compact());
  };
  const auto reachable = [&] {
    return std::count_if(f.blocks.begin(), f.blocks.end(), [](const Block& b) { return !b.insts.empty(); });
  };
  auto blocks = reachable();
  bool scalarized = true;
  for (u32 unknown = ~0u;;) {
    Promotion promotion(f, private_bytes, granted);
    if (!promotion.find()) return false;
    const auto left = reachable();
    if (promotion.others() >= unknown && left >= blocks && !scalarized) return true;
    unknown = promotion.others();
    blocks = left;
    promotion.run();
    tidy_up();
    scalarized = scalarize_lanes(f);
    if (promotion.others() == 0 && !scalarized) return false;
    use_launch_facts(f);
    tidy_up();
    if (promotion.others() == 0) return false;
  }
}

/// Likewise, with masks seen through in between: what has been stored in all lanes that look at it is seen to
/// be so when EXEC behind an if, or a loop, is that before it. (Scalars that nobody looks at may stay, for
/// which simplify_masks() would find out about all masks once more.) With `granted`, masks are seen through
/// in any case: what accesses are found to be is looked at next. It goes by instructions' numbers, so that
/// these stay then.
bool promote_all(Function& f, u32 private_bytes, const Extents* granted, const Renumbered& renumbered) {
  if (!promote_in_rounds(f, private_bytes, granted, renumbered) && granted == nullptr) return false;
  join_pairs(f);
  fold(f);
  merge_common(f);
  std::shared_ptr<const MaskAnalysis> masks;
  restore_masks(f, &masks);
  simplify_decided_masks(f, std::move(masks));
  return promote_in_rounds(f, private_bytes, granted, renumbered);
}

} // namespace

bool promote_private_memory(Function& f, u32 private_bytes, bool follow_pointers,
                            const Renumbered& renumbered) {
  // Once some are known, more rarely are, and of many it takes long to find out.
  constexpr std::size_t kMaxFollowedAgain = 48;
  if (!has_private_accesses(f)) return true;
  const auto promote = [&](Function& g, const Extents& granted) {
    promote_all(g, private_bytes, &granted, nullptr);
  };
  Resolution pointers = follow_pointers ? Resolution::Some : Resolution::None;
  for (std::size_t max = ~std::size_t{0};; max = kMaxFollowedAgain) {
    if (!promote_all(f, private_bytes, nullptr, renumbered)) return true;
    if (pointers != Resolution::Some) break;
    pointers = resolve_stack_pointers(f, private_bytes, promote, max);
    if (pointers != Resolution::Some) break;
  }
  BoundedArrays(private_bytes).promote(f);
  return pointers != Resolution::GivenUp;
}

} // namespace lanewise::passes
