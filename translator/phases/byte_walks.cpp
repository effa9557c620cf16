// Loops in which each lane goes through bytes of its own, up or down, one a round, and leaves when it finds
// what it looks for: parsers, searches, scores that are summed up. A gather of bytes takes as long as one of
// dwords, so that four bytes are loaded at once and handed on:
//
//   header:   is there none left?
//   refill:   do four bytes of each lane lie on one page, and does no index wrap? then these;
//             rarely: one byte, as it was
//   go on:    take the next byte out
//
// That is for loops that do not store, whose lanes only leave: who is there finds what was loaded with it.
// Downwards, the first of four bytes is their last in memory. So that a fault is that byte's, the first round
// loads one, and then four only behind one of the same page.
//
// (Scores from the end 1.4, with AVX2 1.5, a hash of strings with AVX-512 2, soundex 1.3 times faster.)
#include "translator/phases/byte_walks.hpp"
#include "translator/ir/access.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxLoops = 8; ///< of a function
constexpr unsigned kMaxDepth = 8; ///< of an address
constexpr u64 kPage = 4096;
constexpr i64 kFarApart = 16; ///< bytes from lane to lane
/// Smaller gangs load bytes lane by lane where all lanes are there, for which loops of one block have a copy
/// (phases/full_masks.cpp): strings that are compared would take 1.3 times as long.
constexpr unsigned kLanesThatGather = 16;

class ByteWalks {
public:
  ByteWalks(Function& f, unsigned gang_lanes) : f_(f), gang_lanes_(gang_lanes) {}

  bool run() {
    if (!passes::has_any(f_, is_byte_load)) return false;
    bool any = false;
    for (unsigned n = 0; n < kMaxLoops && run_once(); ++n) any = true;
    return any;
  }

private:
  Function& f_;
  const unsigned gang_lanes_;
  std::vector<InstId> done_;
  // Of the current loop.
  const Loops::Loop* loop_ = nullptr;
  std::vector<u8> inside_; ///< per block
  BlockId latch_;
  unsigned back_ = 0; ///< which of its ways leads back

  static bool is_byte_load(const Inst& inst) { return is_plain_lane_load(inst) && inst.mem.bytes == 1; }
  static bool keeps_memory(const Inst& inst) {
    if (inst.op == Op::Load && inst.mem.coherent) return false;
    return !info(inst.op).is(kStores) && inst.op != Op::Barrier && inst.op != Op::Sync;
  }

  bool run_once() {
    const Cfg cfg(f_);
    const Dominators dom(f_, cfg);
    const Loops loops(f_, cfg, dom);
    if (loops.irreducible) return false;
    std::optional<passes::LaneShapes> shapes;
    for (u32 l = 0; l < loops.loops.size(); ++l) {
      loop_ = &loops.loops[l];
      if (!find_way_back(cfg) || (gang_lanes_ < kLanesThatGather && loop_->blocks.size() == 1)) continue;
      for (const BlockId b : loop_->blocks) {
        if (!dom.dominates(b, latch_) || loops.innermost[b.index] != static_cast<i32>(l)) continue;
        for (const InstId i : f_[b].insts) {
          if (!is_byte_load(f_[i]) || std::ranges::find(done_, i) != done_.end()) continue;
          const auto step = growth(f_.operands(i)[0], kMaxDepth);
          if (!step || (*step != 1 && *step != ~u64{0}) || !only_loses_lanes(f_.operands(i).back())) continue;
          if (!shapes) shapes.emplace(f_, cfg, gang_lanes_);
          if (is_row(*shapes, f_.operands(i)[0])) continue;
          change(cfg, i, *step == 1);
          return true;
        }
      }
    }
    return false;
  }
  /// Lanes are close together, but for an index that wraps.
  [[nodiscard]] bool is_row(const passes::LaneShapes& shapes, ValueId v) const {
    if (const passes::LaneShape& shape = shapes[v]; shape.strided())
      return std::abs(shape.stride) < kFarApart;
    const InstId i = f_.def_id(v);
    if (!i.valid()) return false;
    const auto x = f_.operands(i);
    if (f_[i].op == Op::Add) return is_row(shapes, x[0]) && is_row(shapes, x[1]);
    return (f_[i].op == Op::ZExt || f_[i].op == Op::SExt) && is_row(shapes, x[0]);
  }
  bool find_way_back(const Cfg& cfg) {
    inside_.assign(f_.num_blocks(), 0);
    for (const BlockId b : loop_->blocks) inside_[b.index] = 1;
    unsigned ways = 0;
    for (const BlockId b : loop_->blocks) {
      if (!std::ranges::all_of(f_[b].insts, [&](InstId i) { return keeps_memory(f_[i]); })) return false;
      for (unsigned s = 0; s < f_[b].successors.size(); ++s)
        if (f_[b].successors[s].block == loop_->header) {
          latch_ = b;
          back_ = s;
          ++ways;
        }
    }
    return ways == 1 && cfg.preds[loop_->header.index].size() >= 2;
  }
  [[nodiscard]] bool changes(ValueId v) const { return inside_[f_.def_block(v).index] != 0; }
  /// What the header's parameter `v` is in the next round, if it is one.
  [[nodiscard]] ValueId next(ValueId v) const {
    const auto& params = f_[loop_->header].params;
    const auto at = std::ranges::find(params, v);
    return at == params.end()
               ? ValueId{}
               : f_[latch_].successors[back_].args[static_cast<std::size_t>(at - params.begin())];
  }
  /// How much more it is in each round.
  [[nodiscard]] std::optional<u64> growth(ValueId v, unsigned depth) const {
    if (!changes(v)) return 0;
    if (depth == 0) return {};
    const InstId i = f_.def_id(v);
    if (!i.valid()) {
      const ValueId n = next(v);
      u64 c = 0;
      const Inst* sum = n.valid() ? f_.def(n) : nullptr;
      if (sum == nullptr || sum->op != Op::Add) return {};
      const auto x = f_.operands(f_.def_id(n));
      for (const unsigned k : {0u, 1u})
        if (x[k] == v && f_.is_const(x[1 - k], &c))
          return is_wide(f_.type(v)) ? c : static_cast<u64>(i64{static_cast<i32>(c)});
      return {};
    }
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::Const: return 0;
    case Op::Splat:
    case Op::ZExt:
    case Op::SExt:
      return is_wide(f_.type(x[0])) || bit_width(f_.type(x[0])) == 32 ? growth(x[0], depth - 1)
                                                                      : std::nullopt;
    case Op::Add: {
      const auto a = growth(x[0], depth - 1), b = growth(x[1], depth - 1);
      return a && b ? std::optional(*a + *b) : std::nullopt;
    }
    default: // of what stays the same
      if (!info(f_[i].op).is(kPure) || f_[i].num_results != 1) return {};
      for (const ValueId part : x)
        if (growth(part, depth - 1) != 0) return {};
      return 0;
    }
  }
  /// Lanes of the mask in a round have been in it in the round before.
  [[nodiscard]] bool only_loses_lanes(ValueId mask) const {
    if (!changes(mask)) return true;
    ValueId n = next(mask);
    for (unsigned depth = 0; n.valid() && depth < kMaxDepth; ++depth) {
      if (n == mask) return true;
      const Inst* inst = f_.def(n);
      if (inst == nullptr) return false;
      const auto x = f_.operands(f_.def_id(n));
      if (inst->op == Op::And && (x[0] == mask || x[1] == mask)) return true;
      if (inst->op != Op::And && inst->op != Op::AndNot) return false;
      n = x[0];
    }
    return false;
  }

  void change(const Cfg& cfg, InstId load, bool up) {
    const BlockId at = f_[load].block, header = loop_->header;
    const u32 pc = f_[load].pc;
    // Bytes that are left, and how many.
    const ValueId bytes = f_.add_param(header, Type::V32), left = f_.add_param(header, Type::G32);
    const BlockId refill = f_.add_block(pc), one = f_.add_block(pc), four = f_.add_block(pc),
                  go_on = f_.add_block(pc);
    for (const BlockId b : {refill, one, four, go_on}) f_[b].take_lanes_of(f_[at]);
    const ValueId now = f_.add_param(go_on, Type::V32), count = f_.add_param(go_on, Type::G32);
    std::vector<BlockId> before;
    for (const BlockId p : cfg.preds[header.index])
      if (p != latch_ && std::ranges::find(before, p) == before.end()) before.push_back(p);
    for (const BlockId p : before) {
      Builder b(f_, p);
      const InstId end = f_[p].insts.back();
      f_[p].insts.pop_back();
      const ValueId nothing = b.v32c(0), no = b.constant(Type::G32, 0);
      f_[p].insts.push_back(end);
      for (Successor& s : f_[p].successors)
        if (s.block == header) s.args.insert(s.args.end(), {nothing, no});
    }

    auto& insts = f_[at].insts;
    const auto split = std::ranges::find(insts, load);
    const std::vector<InstId> rest(split + 1, insts.end());
    insts.erase(split, insts.end());
    f_[go_on].successors = std::move(f_[at].successors);
    f_[at].successors.clear();
    const ValueId mask = f_.operands(load).back(), address = f_.operands(load)[0];
    const bool alone = f_[at].first_gangs != 0;
    const auto decide = [&](Builder& b, ValueId any, BlockId first, BlockId second, BlockId join,
                            std::vector<ValueId> args, u64 rare) {
      b.branch(any, first, second, {}, std::move(args));
      f_[f_.terminator(b.block())].imm = rare | (alone ? 0 : gang_decided(join));
    };
    Builder b(f_, at);
    b.pc = pc;
    // Counts are one more downwards, and 0 at the start.
    const u64 none = up ? 0 : 1;
    const ValueId none_left = b.any(b.icmp(IntPred::ULe, left, b.constant(Type::G32, none)));
    decide(b, none_left, refill, go_on, go_on, {bytes, left}, 0);

    b.set_block(refill);
    const ValueId low =
        b.and_(b.add(b.lo(address), b.v32c(static_cast<u32>(f_[load].imm))), b.v32c(kPage - 1));
    ValueId lanes = b.icmp(IntPred::SGt, low, b.v32c(kPage - (up ? 4 : 2)));
    if (!up) {
      lanes = b.or_(lanes, b.icmp(IntPred::SLt, low, b.v32c(3)));
      lanes = b.or_(lanes, b.icmp(IntPred::Eq, left, b.constant(Type::G32, 0)));
    }
    lanes = wrapping(b, address, up, lanes);
    if (!f_.is_full(mask)) lanes = b.and_(lanes, mask);
    decide(b, b.any(lanes), one, four, go_on, {}, kFirstIsRare);

    const auto load_bytes = [&](BlockId to, unsigned count_of) {
      Inst proto = f_[load];
      proto.mem.sign_extend = false;
      proto.mem.bytes = static_cast<u8>(count_of);
      if (count_of == 4 && !up) proto.imm -= 3;
      b.set_block(to);
      ValueId v = f_.result(f_.append(to, proto, std::array{address, mask}, std::array{Type::V32}));
      if (count_of == 1 && !up) v = b.op(Op::Shl, Type::V32, {v, b.v32c(24)});
      const ValueId n = b.constant(Type::G32, count_of + none);
      b.jump(go_on, {v, n});
    };
    load_bytes(one, 1);
    load_bytes(four, 4);

    b.set_block(go_on);
    const auto shifted = [&](Op op, ValueId v, unsigned by) { return b.op(op, Type::V32, {v, b.v32c(by)}); };
    ValueId value = part_of_dword(now, up ? 0 : 24, f_[load].mem, shifted);
    // Lanes that were there when it was loaded may have left.
    if (!f_.is_full(mask)) value = b.select(mask, value, b.v32c(0));
    const ValueId rest_of = shifted(up ? Op::LShr : Op::Shl, now, 8);
    const ValueId fewer = b.op(Op::Add, Type::G32, {count, b.constant(Type::G32, 0xffff'ffffu)});
    for (const InstId i : rest) {
      f_[i].block = go_on;
      f_[go_on].insts.push_back(i);
    }
    const BlockId from = latch_ == at ? go_on : latch_;
    auto& args = f_[from].successors[back_].args;
    args.insert(args.end(), {rest_of, fewer});
    f_[load].block = BlockId{};
    std::vector<ValueId> map(f_.num_values());
    map[f_.result(load).index] = value;
    f_.replace_values(map);
    done_.push_back(load);
    for (const BlockId to : {one, four}) done_.push_back(f_[to].insts[0]);
  }
  /// `lanes`, and those whose index of 32 bits might wrap within four bytes.
  ValueId wrapping(Builder& b, ValueId address, bool up, ValueId lanes) const {
    const InstId i = f_.def_id(address);
    if (!i.valid()) return lanes;
    const auto x = f_.operands(i);
    if (f_[i].op == Op::Add)
      for (const ValueId v : {x[0], x[1]})
        if (changes(v)) lanes = wrapping(b, v, up, lanes);
    if (f_[i].op == Op::ZExt || f_[i].op == Op::SExt) {
      const bool is_signed = f_[i].op == Op::SExt;
      const u32 limit = up ? (is_signed ? 0x7fff'fffcu : 0xffff'fffcu) : (is_signed ? 0x8000'0003u : 3u);
      const IntPred p =
          up ? (is_signed ? IntPred::SGt : IntPred::UGt) : (is_signed ? IntPred::SLt : IntPred::ULt);
      const ValueId index = x[0];
      lanes = b.or_(lanes, b.icmp(p, index, b.v32c(limit)));
    }
    return lanes;
  }
};

} // namespace

bool load_bytes_ahead(Function& f, unsigned gang_lanes) { return ByteWalks(f, gang_lanes).run(); }

} // namespace lanewise::phases
