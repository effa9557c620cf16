// What lanes load byte by byte, or dword by dword, from one place: unaligned numbers in messages, blocks of
// pixels, coordinates. By an index of 32 bits, of which it is not known that it does not wrap, each part has
// an address of its own, and in any case the parts may lie on two pages. A gather of each takes as long as
// one of all. So the gang asks:
//
//   is there a lane whose index wraps between the parts, or whose parts lie on two pages?
//     yes, rarely: each part as it was
//     no:          one load, which faults where that of the first part does, and nowhere else
//
// (Messages of bytes hashed in words of 64 bits 1.5, block matching 1.8, with AVX2 1.3 times faster.) Not
// where lanes lie by a fixed distance: rows of parts have instructions of their own. When loops have their
// copies, in which lanes that are alone had better load each part as a scalar.
//
// Whoever decodes goes on by what a first byte says: those behind it are loaded under conditions, by some of
// the lanes. They are in the dword that lies at the first one, which takes as long to load as that byte, so
// that the gang asks about the whole dword there, and behind each condition only whether it was loaded (texts
// from UTF-8 to UTF-16 1.6, with AVX2 1.45 times faster).
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/mask_facts.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxBytes = 16;
constexpr std::size_t kMinBytes = 2;  ///< loads of bytes and halves that are worth asking for,
constexpr std::size_t kMinDwords = 3; ///< and of dwords
constexpr std::size_t kMaxOpen = 8;
constexpr u64 kPage = 4096;

class PartMerger {
public:
  PartMerger(Function& f, unsigned gang_lanes) : f_(f), gang_lanes_(gang_lanes) {}

  /// Whether there were any.
  bool run() {
    const Cfg cfg(f_);
    std::vector<Group> groups;
    for (const BlockId b : cfg.rpo) find(b, groups);
    if (std::ranges::none_of(groups, [&](const Group& g) { return is_worth(g) || may_follow(groups, g); }))
      return false;
    const LaneShapes shapes(f_, cfg, gang_lanes_);
    std::erase_if(groups, [&](const Group& g) {
      const Address& a = g.parts[0].address;
      return shapes[f_.operands(g.parts[0].load)[0]].strided() ||
             (a.index.valid() && shapes[a.base].strided() &&
              share_bytes(shapes[a.index], 0, 4 * dwords_of(g))) ||
             (!a.index.valid() && lie_in_scaled_row(shapes, a.base, 4 * dwords_of(g)));
    });
    find_followers(groups);
    std::erase_if(groups, [&](const Group& g) { return g.followers.empty() && !is_worth(g); });
    for (Group& g : groups) find_wrapping(g, shapes.limits());
    for (const Group& g : groups) merge(g);
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    return !groups.empty();
  }

private:
  /// The sum of these: `index` is a V32, or nothing, to which `add` is added before it is extended.
  struct Address {
    ValueId base, index;
    Op extends{};
    u32 add = 0;
    u64 offset = 0;
    [[nodiscard]] bool goes_with(const Address& a) const {
      return base == a.base && index == a.index && extends == a.extends;
    }
    /// How far `a` is behind this if no index wraps.
    [[nodiscard]] u64 distance(const Address& a) const {
      return a.offset - offset + static_cast<u64>(i64{static_cast<i32>(a.add - add)});
    }
  };
  struct Part {
    InstId load;
    Address address;
    unsigned at; ///< bytes behind the first
  };
  struct Group {
    std::vector<Part> parts; ///< the first is the lowest
    /// Of other groups, of some of the lanes, which find in this one's dwords what they load: theirs.
    std::vector<std::vector<Part>> followers;
    u32 beyond = 0; ///< how much more than the first's another one's index may be, so that it might wrap
  };
  Function& f_;
  const unsigned gang_lanes_;
  std::vector<ValueId> map_;

  /// If the index, which counts elements of 2^`scale` bytes, does not wrap, each lane's so many bytes overlap
  /// with the next one's.
  static bool share_bytes(const LaneShape& index, unsigned scale, unsigned bytes) {
    return index.strided() && std::abs(index.stride) << scale < i64{bytes};
  }
  /// Likewise of an address: a row, as of half-words, if the index does not wrap.
  [[nodiscard]] bool lie_in_scaled_row(const LaneShapes& shapes, ValueId address, unsigned bytes) const {
    constexpr u64 kMaxScale = 4;
    const auto sum = operands_of(address, Op::Add);
    for (unsigned n = 0; n < sum.size(); ++n) {
      u64 scale = 0;
      const auto scaled = operands_of(sum[n], Op::Shl);
      if (scaled.empty() || !f_.is_const(scaled[1], &scale) || scale > kMaxScale ||
          !shapes[sum[1 - n]].strided())
        continue;
      for (const Op extends : {Op::ZExt, Op::SExt}) {
        const auto index = operands_of(scaled[0], extends);
        if (!index.empty() && share_bytes(shapes[index[0]], static_cast<unsigned>(scale), bytes)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool is_part(InstId i) const {
    const Inst& inst = f_[i];
    return is_plain_lane_load(inst) && inst.mem.bytes <= 4 && inst.num_results == 1 &&
           !f_.is_const(f_.operands(i)[0]);
  }
  /// Memory may be another one behind it.
  static bool ends_groups(const Inst& inst) {
    return info(inst.op).is(kStores) || (inst.op == Op::Load && inst.mem.coherent) ||
           inst.op == Op::Barrier || inst.op == Op::Sync;
  }
  [[nodiscard]] std::span<const ValueId> operands_of(ValueId v, Op op) const {
    const Inst* inst = f_.def(v);
    return inst != nullptr && inst->op == op ? f_.operands(f_.def_id(v)) : std::span<const ValueId>();
  }
  [[nodiscard]] Address address_of(InstId i) const {
    Address a;
    a.base = f_.operands(i)[0];
    a.offset = f_[i].imm;
    u64 c = 0;
    const auto sum = operands_of(a.base, Op::Add);
    for (unsigned n = 0; n < sum.size(); ++n)
      for (const Op extends : {Op::ZExt, Op::SExt}) {
        const auto extended = operands_of(sum[n], extends);
        if (extended.empty() || f_.type(extended[0]) != Type::V32 || a.index.valid()) continue;
        a.base = sum[1 - n];
        a.index = extended[0];
        a.extends = extends;
      }
    if (!a.index.valid()) return a;
    const auto terms = operands_of(a.index, Op::Add);
    for (unsigned n = 0; n < terms.size(); ++n)
      if (f_.is_const(terms[n], &c)) {
        a.index = terms[1 - n];
        a.add = static_cast<u32>(c);
        break;
      }
    return a;
  }

  void find(BlockId b, std::vector<Group>& groups) {
    std::vector<Group> open;
    const auto close = [&] {
      for (Group& g : open)
        if (is_worth(g) || has_no_dwords(g.parts)) groups.push_back(std::move(g));
      open.clear();
    };
    for (const InstId i : f_[b].insts) {
      if (ends_groups(f_[i])) close();
      if (!is_part(i)) continue;
      const Address a = address_of(i);
      const auto group = std::ranges::find_if(open, [&](const Group& g) {
        const Part& first = g.parts[0];
        const unsigned bytes = f_[i].mem.bytes;
        const u64 at = first.address.distance(a);
        const bool index_is_lower =
            static_cast<i32>(a.add - first.address.add) < 0; // It might wrap downwards.
        return first.address.goes_with(a) && !index_is_lower &&
               f_.operands(first.load).back() == f_.operands(i).back() && at < kMaxBytes &&
               at + bytes <= kMaxBytes && at % bytes == 0;
      });
      if (group != open.end()) {
        group->parts.push_back({i, a, static_cast<unsigned>(group->parts[0].address.distance(a))});
      } else if (open.size() < kMaxOpen) {
        open.emplace_back().parts.push_back({i, a, 0});
      }
    }
    close();
  }
  [[nodiscard]] bool has_no_dwords(const std::vector<Part>& parts) const {
    return std::ranges::all_of(parts, [&](const Part& p) { return f_[p.load].mem.bytes < 4; });
  }

  /// The dwords of `first` have in them what `g` loads, as far as addresses tell.
  [[nodiscard]] bool covers(const Group& first, const Group& g) const {
    const Address &a = first.parts[0].address, &b = g.parts[0].address;
    const u64 at = a.distance(b), end = 4 * u64{dwords_of(first)};
    if (&first == &g || !a.goes_with(b) || static_cast<i32>(b.add - a.add) < 0 || at >= end) return false;
    return has_no_dwords(first.parts) && has_no_dwords(g.parts) &&
           std::ranges::all_of(g.parts, [&](const Part& p) {
             const unsigned bytes = f_[p.load].mem.bytes;
             return (at + p.at) % bytes == 0 && at + p.at + bytes <= end;
           });
  }
  [[nodiscard]] bool may_follow(const std::vector<Group>& groups, const Group& g) const {
    return std::ranges::any_of(groups, [&](const Group& first) { return covers(first, g); });
  }
  /// What is loaded under a condition, as the rest of a character, of which the condition is about the first
  /// byte, goes with what is loaded before the condition.
  void find_followers(std::vector<Group>& groups) {
    std::optional<MaskAnalysis> masks;
    std::vector<u8> follows(groups.size(), 0);
    for (std::size_t n = 0; n < groups.size(); ++n)
      for (std::size_t m = 0; m < n && follows[n] == 0; ++m) {
        Group &first = groups[m], &g = groups[n];
        if (follows[m] != 0 || !g.followers.empty() || !covers(first, g)) continue;
        if (!masks) masks.emplace(f_);
        const InstId from = first.parts[0].load, to = g.parts[0].load;
        if (!masks->facts.implies(f_.operands(to).back(), f_.operands(from).back()) ||
            !sees_the_same(masks->cfg, masks->dom, from, to))
          continue;
        const u64 at = first.parts[0].address.distance(g.parts[0].address);
        for (Part& p : g.parts) p.at += static_cast<unsigned>(at);
        first.followers.push_back(std::move(g.parts));
        follows[n] = 1;
      }
    std::size_t n = 0;
    std::erase_if(groups, [&](const Group&) { return follows[n++] != 0; });
  }
  /// All ways to `to` come by `from`, and none of them by anything since then that memory may be another one
  /// behind.
  [[nodiscard]] bool sees_the_same(const Cfg& cfg, const Dominators& dom, InstId from, InstId to) const {
    const BlockId first = f_[from].block, last = f_[to].block;
    if (f_[first].first_gangs != f_[last].first_gangs || !dom.dominates(first, last)) return false;
    const auto keeps = [&](auto begin, auto end) {
      return std::none_of(begin, end, [&](InstId i) { return ends_groups(f_[i]); });
    };
    const auto &before = f_[first].insts, &behind = f_[last].insts;
    const auto start = std::ranges::find(before, from);
    if (first == last) return keeps(start, std::ranges::find(before, to));
    if (!keeps(start, before.end()) || !keeps(behind.begin(), std::ranges::find(behind, to))) return false;
    std::vector<u8> seen(f_.num_blocks(), 0);
    std::vector<BlockId> work(cfg.preds[last.index].begin(), cfg.preds[last.index].end());
    seen[first.index] = 1;
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (b == last) return false; // Round after round it may wait for what others store.
      if (seen[b.index] != 0) continue;
      seen[b.index] = 1;
      if (!keeps(f_[b].insts.begin(), f_[b].insts.end())) return false;
      work.insert(work.end(), cfg.preds[b.index].begin(), cfg.preds[b.index].end());
    }
    return true;
  }

  [[nodiscard]] bool is_worth(const Group& g) const {
    u32 places = 0;
    bool dwords = true;
    for (const Part& p : g.parts) {
      places |= ((1u << f_[p.load].mem.bytes) - 1) << p.at;
      dwords &= f_[p.load].mem.bytes == 4;
    }
    // Most of what is loaded is wanted.
    return g.parts.size() >= (dwords ? kMinDwords : kMinBytes) &&
           2 * static_cast<unsigned>(std::popcount(places)) >= 4 * dwords_of(g);
  }
  [[nodiscard]] unsigned dwords_of(const Group& g) const {
    unsigned end = 0;
    for (const Part& p : g.parts) end = std::max(end, p.at + f_[p.load].mem.bytes);
    return (end + 3) / 4;
  }

  static u32 most(const Address& a) { return a.extends == Op::ZExt ? 0xffff'ffffu : 0x7fff'ffffu; }
  void find_wrapping(Group& g, const ValueLimits& limits) const {
    const Address& first = g.parts[0].address;
    if (!first.index.valid()) return;
    const auto look_at = [&](const std::vector<Part>& parts) {
      for (const Part& p : parts) g.beyond = std::max(g.beyond, p.address.add - first.add);
    };
    look_at(g.parts);
    std::ranges::for_each(g.followers, look_at);
    if (limits.max(first.index) + first.add + g.beyond <= most(first)) g.beyond = 0;
  }

  /// Where control goes from the first of `parts` on: one way or the other, and on from there.
  struct Ways {
    BlockId apart, together, next;
  };
  /// Ends the block before `first`. What follows is in `next`, where `part`, called for each load of `parts`,
  /// says what takes its place.
  template <class LanesApart, class Branches, class F>
  void split(const std::vector<Part>& parts, LanesApart lanes_apart, Branches branches, F part_of) {
    const InstId first = parts[0].load;
    const BlockId block = f_[first].block;
    const u32 pc = f_[first].pc;
    const Ways ways{f_.add_block(pc), f_.add_block(pc), f_.add_block(pc)};
    for (const BlockId b : {ways.apart, ways.together, ways.next}) f_[b].take_lanes_of(f_[block]);
    auto& insts = f_[block].insts;
    const auto at = std::ranges::find(insts, first);
    const std::vector<InstId> rest(at, insts.end());
    insts.erase(at, insts.end());
    f_[ways.next].successors = std::move(f_[block].successors);
    f_[block].successors.clear();

    Builder b(f_, block);
    b.pc = pc;
    b.branch(b.any(lanes_apart(b)), ways.apart, ways.together, {}, {});
    const u64 decided = f_[block].first_gangs != 0 ? 0 : phases::gang_decided(ways.next);
    f_[f_.terminator(block)].imm = decided | phases::kFirstIsRare;
    branches(ways, b);

    b.set_block(ways.next);
    for (const InstId i : rest) {
      const auto part = std::ranges::find(parts, i, &Part::load);
      if (part == parts.end()) {
        f_[i].block = ways.next;
        f_[ways.next].insts.push_back(i);
        continue;
      }
      b.pc = f_[i].pc;
      const ValueId value = part_of(*part, b);
      map_.resize(f_.num_values());
      map_[f_.result(i).index] = value;
      f_[i].block = BlockId{};
    }
  }
  void merge(const Group& g) {
    std::vector<ValueId> dwords;
    ValueId missing; ///< all lanes, if the dwords are not there but for the parts of this group
    split(
        g.parts, [&](Builder& b) { return lanes_apart(g, b); },
        [&](const Ways& ways, Builder& b) {
          for (unsigned n = 0; n < dwords_of(g); ++n) dwords.push_back(f_.add_param(ways.next, Type::V32));
          const auto go_on = [&](std::vector<ValueId> args, u64 are_missing) {
            if (!g.followers.empty()) args.push_back(f_.entry_constant(Type::Mask, are_missing));
            b.jump(ways.next, args);
          };
          b.set_block(ways.apart);
          go_on(load_apart(g, b), ~u64{0});
          b.set_block(ways.together);
          b.pc = f_[g.parts[0].load].pc;
          go_on(load_together(g, b), 0);
          if (!g.followers.empty()) missing = f_.add_param(ways.next, Type::Mask);
        },
        [&](const Part& p, Builder& b) { return cut(b, dwords, p); });
    for (const std::vector<Part>& parts : g.followers) follow(parts, dwords, missing);
  }
  /// `parts` out of `dwords`, where these are there.
  void follow(const std::vector<Part>& parts, const std::vector<ValueId>& dwords, ValueId missing) {
    const ValueId mask = f_.operands(parts[0].load).back();
    std::unordered_map<u32, ValueId> values; // by load
    split(
        parts, [&](Builder& b) { return b.and_(missing, mask); },
        [&](const Ways& ways, Builder& b) {
          std::vector<ValueId> apart, together;
          b.set_block(ways.apart);
          for (const Part& p : parts) apart.push_back(as_it_was(load(p, 0, b), p));
          b.jump(ways.next, apart);
          b.set_block(ways.together);
          b.pc = f_[parts[0].load].pc;
          const ValueId zero = b.v32c(0);
          for (const Part& p : parts) together.push_back(b.select(mask, cut(b, dwords, p), zero));
          b.jump(ways.next, together);
          for (const Part& p : parts) values[p.load.index] = f_.add_param(ways.next, Type::V32);
        },
        [&](const Part& p, Builder&) { return values.at(p.load.index); });
  }
  /// Lanes whose parts may not be loaded together.
  ValueId lanes_apart(const Group& g, Builder& b) const {
    const Address& first = g.parts[0].address;
    ValueId low = b.lo(first.base), lanes;
    if (first.index.valid()) {
      const ValueId index = index_of(first, b);
      low = b.add(low, index);
      if (g.beyond != 0)
        lanes = b.icmp(first.extends == Op::ZExt ? IntPred::UGt : IntPred::SGt, index,
                       b.v32c(most(first) - g.beyond));
    }
    if (first.offset != 0) low = b.add(low, b.v32c(static_cast<u32>(first.offset)));
    const ValueId crosses =
        b.icmp(IntPred::SGt, b.and_(low, b.v32c(kPage - 1)), b.v32c(kPage - 4 * dwords_of(g)));
    lanes = lanes.valid() ? b.or_(lanes, crosses) : crosses;
    const ValueId mask = f_.operands(g.parts[0].load).back();
    return f_.is_full(mask) ? lanes : b.and_(lanes, mask);
  }
  static ValueId index_of(const Address& a, Builder& b) {
    return a.add == 0 ? a.index : b.add(a.index, b.v32c(a.add));
  }
  static ValueId address(const Address& a, Builder& b) {
    if (!a.index.valid()) return a.base;
    const ValueId index = index_of(a, b);
    return b.add(a.base, a.extends == Op::ZExt ? b.zext(index) : b.sext(index));
  }
  ValueId load(const Part& p, unsigned dwords, Builder& b) {
    b.pc = f_[p.load].pc;
    const ValueId at = address(p.address, b);
    Inst proto = f_[p.load];
    proto.mem.sign_extend = false;
    if (dwords != 0) proto.mem.bytes = static_cast<u8>(4 * dwords);
    const std::vector<Type> types(std::max(1u, dwords), Type::V32);
    return f_.result(f_.append(b.block(), proto, std::array{at, f_.operands(p.load).back()}, types));
  }
  /// What a part is by itself: load() leaves signs to cut().
  ValueId as_it_was(ValueId loaded, const Part& p) {
    f_[f_.def_id(loaded)].mem.sign_extend = f_[p.load].mem.sign_extend;
    return loaded;
  }
  /// The dwords, put together.
  std::vector<ValueId> load_apart(const Group& g, Builder& b) {
    std::vector<ValueId> dwords(dwords_of(g));
    for (const Part& p : g.parts) {
      ValueId value = load(p, 0, b);
      if (p.at % 4 != 0) value = b.op(Op::Shl, Type::V32, {value, b.v32c(8 * (p.at % 4))});
      ValueId& dword = dwords[p.at / 4];
      dword = dword.valid() ? b.or_(dword, value) : value;
    }
    for (ValueId& dword : dwords)
      if (!dword.valid()) dword = b.v32c(0);
    return dwords;
  }
  std::vector<ValueId> load_together(const Group& g, Builder& b) {
    const InstId wide = f_.def_id(load(g.parts[0], dwords_of(g), b));
    std::vector<ValueId> dwords;
    for (unsigned n = 0; n < dwords_of(g); ++n) dwords.push_back(f_.result(wide, n));
    return dwords;
  }

  ValueId cut(Builder& b, const std::vector<ValueId>& dwords, const Part& p) const {
    return part_of_dword(dwords[p.at / 4], 8 * (p.at % 4), f_[p.load].mem, [&](Op op, ValueId v, u32 c) {
      return b.op(op, Type::V32, {v, b.v32c(c)});
    });
  }
};

} // namespace

bool merge_parts(Function& f, unsigned gang_lanes) {
  const auto is_load = [](const Inst& inst) {
    return inst.op == Op::Load && inst.mem.space == Space::Global;
  };
  return has_any(f, is_load) && PartMerger(f, gang_lanes).run();
}

} // namespace lanewise::passes
