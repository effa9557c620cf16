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
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <bit>
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
    std::vector<Group> groups;
    for (u32 n = 0; n < f_.num_blocks(); ++n) find(BlockId{n}, groups);
    if (groups.empty()) return false;
    const Cfg cfg(f_);
    const LaneShapes shapes(f_, cfg, gang_lanes_);
    std::erase_if(groups, [&](const Group& g) {
      const Address& a = g.parts[0].address;
      return shapes[f_.operands(g.parts[0].load)[0]].strided() ||
             (a.index.valid() && shapes[a.base].strided() && share_bytes(shapes[a.index], 4 * dwords_of(g)));
    });
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
    u32 beyond = 0; ///< how much more than the first's another one's index may be, so that it might wrap
  };
  Function& f_;
  const unsigned gang_lanes_;
  std::vector<ValueId> map_;

  /// If the index does not wrap, each lane's elements of so many bytes overlap with the next one's.
  static bool share_bytes(const LaneShape& index, unsigned bytes) {
    return index.strided() && std::abs(index.stride) < i64{bytes};
  }
  [[nodiscard]] bool is_part(InstId i) const {
    const Inst& inst = f_[i];
    return is_plain_lane_load(inst) && inst.mem.bytes <= 4 && inst.num_results == 1 &&
           !f_.is_const(f_.operands(i)[0]);
  }
  /// Memory may be another one behind it.
  static bool ends_groups(const Inst& inst) {
    return info(inst.op).is(kStores) || (inst.op == Op::Load && inst.mem.coherent);
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
        if (is_worth(g)) groups.push_back(std::move(g));
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
        open.push_back({{{i, a, 0}}});
      }
    }
    close();
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
    for (const Part& p : g.parts) {
      const u32 more = p.address.add - first.add;
      g.beyond = std::max(g.beyond, more);
    }
    if (limits.max(first.index) + first.add + g.beyond <= most(first)) g.beyond = 0;
  }

  /// Ends the block where the first part is loaded.
  void merge(const Group& g) {
    const InstId first = g.parts[0].load;
    const BlockId block = f_[first].block;
    const u32 pc = f_[first].pc;
    const BlockId apart = f_.add_block(pc), together = f_.add_block(pc), next = f_.add_block(pc);
    for (const BlockId b : {apart, together, next}) f_[b].take_lanes_of(f_[block]);
    std::vector<ValueId> dwords;
    for (unsigned n = 0; n < dwords_of(g); ++n) dwords.push_back(f_.add_param(next, Type::V32));

    auto& insts = f_[block].insts;
    const auto at = std::ranges::find(insts, first);
    const std::vector<InstId> rest(at, insts.end());
    insts.erase(at, insts.end());
    f_[next].successors = std::move(f_[block].successors);
    f_[block].successors.clear();

    Builder b(f_, block);
    b.pc = pc;
    b.branch(b.any(lanes_apart(g, b)), apart, together, {}, {});
    const u64 decided = f_[block].first_gangs != 0 ? 0 : phases::gang_decided(next);
    f_[f_.terminator(block)].imm = decided | phases::kFirstIsRare;
    b.set_block(apart);
    b.jump(next, load_apart(g, b));
    b.set_block(together);
    b.pc = pc;
    b.jump(next, load_together(g, b));

    b.set_block(next);
    for (const InstId i : rest) {
      const auto part = std::ranges::find(g.parts, i, &Part::load);
      if (part == g.parts.end()) {
        f_[i].block = next;
        f_[next].insts.push_back(i);
        continue;
      }
      b.pc = f_[i].pc;
      const ValueId value = cut(b, dwords[part->at / 4], 8 * (part->at % 4), f_[i].mem);
      map_.resize(f_.num_values());
      map_[f_.result(i).index] = value;
      f_[i].block = BlockId{};
    }
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

  static ValueId cut(Builder& b, ValueId dword, unsigned first, const MemAttr& mem) {
    return part_of_dword(dword, first, mem, [&](Op op, ValueId v, u32 c) {
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
