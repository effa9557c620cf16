// Workgroups of one work-item leave all lanes of a wave but one idle. Here a wave becomes 64 workgroups that
// follow one another along x: what was lane 0 of a vector is now lane l, in workgroup 64 n + l. Scalars that
// depend on the workgroup become vectors, conditions masks; scalars that do not stay what they are.
//
// The lanes of the new wave must do what each workgroup would do alone:
//  - Nothing may have depended on lanes that the wave did not have: masks that count must be within lane 0.
//  - A branch on a mask is taken if a lane of any workgroup wants it. That makes no difference to the others
//    where decide_branches has proved that a gang without lanes may go either way, since a lane is to its
//    workgroup what a gang is to the wave.
//  - Other branches on what depends on the workgroup must be forward ones to a common block: both ways are
//    walked one after the other, each with what it does to memory masked, and values are selected behind.
//  - The LDS has a part for each workgroup.
//  - Workgroups may wait for each other in loops, in whatever order they come, but lanes of a wave cannot:
//    loops that look at what others store are left alone.
#include "runtime/wave.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewriter.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::passes {

using namespace ir;

namespace {

/// A branch whose two ways meet again in `join`, and what lies between on either.
struct Fork {
  BlockId branch, join;
  std::vector<BlockId> sides[2]; ///< empty: the join itself
};

/// Finds out whether and how.
class Packing {
public:
  Packing(const Function& f, u32 private_bytes)
      : f_(f), private_bytes_(private_bytes), cfg_(f), dom_(f, cfg_), post_(f, cfg_), loops_(f, cfg_, dom_),
        varies_(f.num_values(), false), within_(f.num_values(), true) {}

  /// What is in the way; empty if nothing is.
  std::string run() {
    if (loops_.irreducible) return "a loop has several entries";
    find_masks_within_lane_0();
    do {
      changed_ = false;
      forks_.clear();
      for (const BlockId b : cfg_.rpo) {
        visit(b);
        if (!why_.empty()) return why_;
      }
    } while (changed_);
    for (const BlockId b : cfg_.rpo)
      for (const InstId i : f_[b].insts) check(b, i);
    return why_;
  }

  [[nodiscard]] const Cfg& cfg() const { return cfg_; }
  [[nodiscard]] const Dominators& dominators() const { return dom_; }
  /// The scalar differs between workgroups. What packing itself adds does not.
  [[nodiscard]] bool varies(ValueId v) const { return v.index < varies_.size() && varies_[v.index]; }
  /// Outer ones first.
  [[nodiscard]] std::vector<Fork> take_forks() { return std::move(forks_); }

private:
  const Function& f_;
  u32 private_bytes_;
  Cfg cfg_;
  Dominators dom_;
  PostDominators post_;
  Loops loops_;
  std::vector<bool> varies_; ///< per scalar
  std::vector<bool> within_; ///< per mask: no lane but lane 0 can be set
  std::vector<Fork> forks_;
  std::string why_;
  bool changed_ = false;

  void refuse(InstId i, std::string_view what) {
    if (why_.empty()) why_ = fmt::format("{} at {:#x} {}", info(f_[i].op).text, f_[i].pc, what);
  }

  template <class F>
  void for_each_argument(BlockId b, u32 param, F visit) const {
    BlockId last;
    for (const BlockId p : cfg_.preds[b.index]) {
      if (p == last) continue; // both ways of a branch
      last = p;
      for (const Successor& s : f_[p].successors)
        if (s.block == b) visit(s.args[param]);
    }
  }

  void find_masks_within_lane_0() {
    for (bool again = true; again;) {
      again = false;
      const auto outside = [&](ValueId v) {
        if (f_.type(v) == Type::Mask && within_[v.index]) within_[v.index] = false, again = true;
      };
      for (const BlockId b : cfg_.rpo) {
        const auto& params = f_[b].params;
        for (u32 n = 0; n < params.size(); ++n)
          for_each_argument(b, n, [&](ValueId arg) {
            if (f_.type(arg) == Type::Mask && !within_[arg.index]) outside(params[n]);
          });
        for (const InstId i : f_[b].insts)
          for (unsigned r = 0; r < f_[i].num_results; ++r)
            if (f_.type(f_.result(i, r)) == Type::Mask && !stays_within(i)) outside(f_.result(i, r));
      }
    }
  }

  [[nodiscard]] bool stays_within(InstId i) const {
    const auto x = f_.operands(i);
    switch (f_[i].op) {
    case Op::Const: return f_[i].imm <= 1;
    case Op::And: return within_[x[0].index] || within_[x[1].index];
    case Op::AndNot: return within_[x[0].index];
    case Op::Or:
    case Op::Xor: return within_[x[0].index] && within_[x[1].index];
    case Op::Select: return within_[x[1].index] && within_[x[2].index];
    default: return false;
    }
  }

  void vary(ValueId v) {
    if (is_uniform(f_.type(v)) && !varies_[v.index]) varies_[v.index] = changed_ = true;
  }

  void visit(BlockId b) {
    const auto& params = f_[b].params;
    for (u32 n = 0; n < params.size(); ++n)
      for_each_argument(b, n, [&](ValueId arg) {
        if (varies_[arg.index]) vary(params[n]);
      });
    for (const InstId i : f_[b].insts)
      if (makes_varying(b, i))
        for (unsigned r = 0; r < f_[i].num_results; ++r) vary(f_.result(i, r));
    const InstId end = f_.terminator(b);
    if (f_[end].op == Op::Branch && varies_[f_.operands(end)[0].index]) fork(b);
  }

  [[nodiscard]] bool makes_varying(BlockId b, InstId i) const {
    const Inst& inst = f_[i];
    switch (inst.op) {
    case Op::InitSgpr: return static_cast<i64>(inst.imm) == f_.launch.group_id_sgpr[0];
    case Op::ReadLane:
    case Op::ReadFirst:
    case Op::MaskToU64: return true;
    case Op::AnyLane: // A branch that is decided has one of its own.
      return !phases::is_gang_decided(f_, b) || f_.operands(f_.terminator(b))[0] != f_.result(i);
    default: break;
    }
    return std::ranges::any_of(f_.operands(i), [&](ValueId x) { return varies_[x.index]; });
  }

  /// Notes the fork that ends `b`, and that what differs by the way taken varies.
  void fork(BlockId b) {
    Fork fork{b, post_.ipdom[b.index], {}};
    if (!fork.join.valid()) return refuse(f_.terminator(b), "has ways that never meet");
    for (unsigned n = 0; n < 2; ++n)
      if (!collect(b, f_[b].successors[n].block, fork.join, fork.sides[n]))
        return refuse(f_.terminator(b), "differs between workgroups and is no way around something");
    std::vector<bool> taken(f_.num_blocks(), false);
    for (const BlockId x : fork.sides[0]) taken[x.index] = true;
    for (const BlockId x : fork.sides[1])
      if (taken[x.index])
        return refuse(f_.terminator(b), "differs between workgroups and has ways that cross");
    const auto& params = f_[fork.join].params;
    for (u32 n = 0; n < params.size(); ++n) {
      ValueId common;
      const auto see = [&](const Successor& s) {
        if (s.block != fork.join) return;
        if (common.valid() && common != s.args[n]) vary(params[n]);
        common = s.args[n];
      };
      for (const Successor& s : f_[b].successors) see(s);
      for (const auto& side : fork.sides)
        for (const BlockId x : side)
          for (const Successor& s : f_[x].successors) see(s);
    }
    forks_.push_back(std::move(fork));
  }

  /// The blocks from `first` up to `join`. False: they can be entered elsewhere, or lead back to `b`.
  bool collect(BlockId b, BlockId first, BlockId join, std::vector<BlockId>& blocks) const {
    if (first == join) return true;
    std::vector<bool> seen(f_.num_blocks(), false);
    blocks = {first};
    seen[first.index] = true;
    for (std::size_t n = 0; n < blocks.size(); ++n)
      for (const Successor& s : f_[blocks[n]].successors) {
        if (s.block == b) return false;
        if (s.block == join || seen[s.block.index]) continue;
        seen[s.block.index] = true;
        blocks.push_back(s.block);
      }
    for (const BlockId x : blocks)
      for (const BlockId p : cfg_.preds[x.index])
        if (!seen[p.index] && (p != b || x != first)) return false;
    return f_[b].successors[0].block != f_[b].successors[1].block;
  }

  [[nodiscard]] bool any_varies(InstId i) const {
    return std::ranges::any_of(f_.operands(i), [&](ValueId x) { return varies_[x.index]; });
  }

  void check(BlockId b, InstId i) {
    const Inst& inst = f_[i];
    const auto x = f_.operands(i);
    u64 bits = 0;
    switch (inst.op) {
    case Op::Const:
      if (f_.type(f_.result(i)) == Type::Mask && inst.imm > 1 && ~inst.imm != 0)
        refuse(i, "is a mask of other lanes");
      return;
    case Op::AnyLane:
    case Op::MaskToU64:
    case Op::ReadFirst:
      if (!within_[x.back().index]) refuse(i, "looks at other lanes");
      return;
    case Op::ReadLane:
      if (!f_.is_const(x[1], &bits) || bits % kWaveSize != 0) refuse(i, "looks at other lanes");
      return;
    case Op::WriteLane:
      if (!f_.is_const(x[2])) refuse(i, "writes any lane");
      return;
    case Op::LaneId: // The place in private memory is no matter of the workgroup.
      if (private_bytes_ != 0) refuse(i, "is used with private memory");
      return;
    case Op::ScalarLoad:
      if (any_varies(i) && loops_.innermost[b.index] >= 0) refuse(i, "has an address of its own in a loop");
      return;
    case Op::Load:
    case Op::Store:
    case Op::Atomic: return check_access(b, i);
    case Op::DppMove:
    case Op::DsSwizzle:
    case Op::ShiftLanes:
    case Op::BPermute:
    case Op::Permute: return refuse(i, "looks at other lanes");
    case Op::ICmp:
      if (f_.type(x[0]) == Type::U1 && any_varies(i)) refuse(i, "compares conditions");
      return;
    case Op::ScalarBufLoad:
      if (any_varies(i)) refuse(i, "depends on the workgroup");
      return;
    case Op::ScalarStore:
    case Op::Clock:
    case Op::Barrier:
    case Op::Sync:
    case Op::Trap:
    case Op::BadJump: return refuse(i, "concerns the whole wave");
    default: return;
    }
  }

  void check_access(BlockId b, InstId i) {
    const MemAttr& mem = f_[i].mem;
    const bool own_lane = mem.space == Space::Registers; // whatever others do there
    if (!own_lane && !within_[f_.operands(i).back().index]) return refuse(i, "may concern other lanes");
    if (mem.space == Space::Gds || mem.space == Space::Flat)
      return refuse(i, "may be to memory of the workgroup");
    if (any_varies(i)) return refuse(i, "depends on the workgroup"); // rows of registers, descriptors
    const bool looks = (f_[i].op == Op::Atomic && mem.returns) || mem.coherent;
    if (looks && mem.space != Space::Lds && loops_.innermost[b.index] >= 0)
      refuse(i, "looks in a loop at what other workgroups store");
  }
};

/// Does it.
class Packer {
public:
  Packer(Function& f, Packing& packing) : f_(f), packing_(packing), forks_(packing.take_forks()), r_(f) {}

  void run() {
    lanes_ = insert_at_start(Op::InitExec, Type::Mask, {});
    find_regions();
    map_.assign(f_.num_values(), ValueId{});
    for (const BlockId b : packing_.cfg().rpo) {
      for (const ValueId p : f_[b].params)
        if (packing_.varies(p)) f_.set_type(p, per_lane_of(f_.type(p)));
    }
    for (const BlockId b : packing_.cfg().rpo) convert(b);
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    for (u32 n = 0; n < forks_.size(); ++n) find_who_goes(n);
    for (const BlockId b : packing_.cfg().rpo) mask(b);
    for (u32 n = static_cast<u32>(forks_.size()); n-- > 0;) join(n);
    tell_facts();
  }

private:
  Function& f_;
  const Packing& packing_;
  std::vector<Fork> forks_;
  std::vector<ValueId> map_; ///< what stands for a value now, if it is another
  ValueId lanes_;            ///< workgroups that exist

  /// The innermost side of a fork that a block is on.
  struct Region {
    i32 fork = -1;
    unsigned side = 0;
  };
  std::vector<Region> regions_;
  std::vector<std::array<ValueId, 2>> fork_masks_; ///< workgroups that go there
  std::vector<ValueId> come_to_fork_;              ///< per fork; invalid: all that walk there

  std::vector<InstId> out_; ///< the block's instructions anew
  Rewriter r_;
  u32 join_pc_ = 0; ///< of the fork being joined

  ValueId insert_at_start(Op op, Type t, std::initializer_list<ValueId> x) {
    Inst proto;
    proto.op = op;
    return f_.result(f_.insert_first(BlockId{0}, proto, {x.begin(), x.size()}, {&t, 1}));
  }
  ValueId op(Op o, Type t, std::initializer_list<ValueId> x, u64 imm = 0) { return r_.op(o, t, x, imm); }
  ValueId constant(Type t, u64 bits) { return r_.constant(t, bits); }

  void find_regions() {
    regions_.assign(f_.num_blocks(), {});
    fork_masks_.resize(forks_.size());
    come_to_fork_.resize(forks_.size());
    for (u32 n = 0; n < forks_.size(); ++n) // inner ones come later
      for (unsigned side = 0; side < 2; ++side)
        for (const BlockId b : forks_[n].sides[side]) regions_[b.index] = {static_cast<i32>(n), side};
  }

  [[nodiscard]] ValueId now(ValueId v) const {
    while (v.index < map_.size() && map_[v.index].valid()) v = map_[v.index];
    return v;
  }
  /// `v` as the packed wave has it, one value per lane.
  ValueId vector(ValueId v) {
    v = now(v);
    const Type t = f_.type(v);
    return is_uniform(t) ? op(Op::Splat, per_lane_of(t), {v}) : v;
  }
  void stands_for(InstId i, ValueId v) { map_[f_.result(i).index] = v; }

  void convert(BlockId b) {
    const std::vector<InstId> old = f_[b].insts;
    out_.clear();
    for (const InstId i : old) {
      r_.begin(i, out_);
      if (info(f_[i].op).is(kEndsBlock)) convert_edges(b, i);
      if (convert(b, i))
        out_.push_back(i);
      else
        f_[i].block = BlockId{};
    }
    f_[b].insts = out_;
  }

  /// Arguments of parameters that have become vectors.
  void convert_edges(BlockId b, InstId end) {
    for (Successor& s : f_[b].successors)
      for (u32 n = 0; n < s.args.size(); ++n) {
        s.args[n] = now(s.args[n]);
        if (is_per_lane(f_.type(f_[s.block].params[n]))) s.args[n] = vector(s.args[n]);
      }
    if (f_[end].op == Op::Branch) f_[end].imm = 0; // to be decided anew
  }

  /// False: other instructions stand for it.
  bool convert(BlockId b, InstId i) {
    const Inst inst = f_[i];
    const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    const bool varies = inst.num_results != 0 && packing_.varies(f_.result(i));
    switch (inst.op) {
    case Op::Const:
      if (f_.type(f_.result(i)) == Type::Mask && inst.imm == 1) return stands_for(i, lanes_), false;
      return true;
    case Op::InitSgpr: {
      if (!varies) return true;
      const ValueId id = op(Op::InitSgpr, Type::U32, {}, inst.imm);
      const ValueId first = op(Op::Shl, Type::U32, {id, constant(Type::U32, kLog2Wave)});
      const ValueId lane = op(Op::LaneId, Type::V32, {});
      stands_for(i, op(Op::Add, Type::V32, {op(Op::Splat, Type::V32, {first}), lane}));
      return false;
    }
    case Op::LaneId: return stands_for(i, constant(Type::V32, 0)), false;
    case Op::AnyLane:
      if (varies) stands_for(i, now(x[0]));
      return !varies;
    case Op::ReadLane:
    case Op::ReadFirst: return stands_for(i, vector(x[0])), false;
    case Op::WriteLane: {
      u64 lane = 0;
      const bool first = f_.is_const(x[2], &lane) && lane % kWaveSize == 0;
      return stands_for(i, first ? vector(x[1]) : now(x[0])), false;
    }
    case Op::MaskToU64:
      stands_for(i, op(Op::Select, Type::V64, {now(x[0]), constant(Type::V64, 1), constant(Type::V64, 0)}));
      return false;
    case Op::U64ToMask: {
      const ValueId bit = op(Op::And, Type::V64, {vector(x[0]), constant(Type::V64, 1)});
      stands_for(i, op(Op::ICmp, Type::Mask, {bit, constant(Type::V64, 0)}, static_cast<u64>(IntPred::Ne)));
      return false;
    }
    case Op::Splat:
      if (is_per_lane(f_.type(now(x[0])))) return stands_for(i, now(x[0])), false;
      return true;
    case Op::ZExt:
      if (!varies || f_.type(f_.result(i)) != Type::U32) break;
      stands_for(i, op(Op::Select, Type::V32, {now(x[0]), constant(Type::V32, 1), constant(Type::V32, 0)}));
      return false;
    case Op::ScalarLoad:
      if (varies) return load_per_lane(b, i, x), false;
      return true;
    case Op::Load:
    case Op::Store:
    case Op::Atomic:
      if (inst.mem.space == Space::Lds) into_own_lds(i);
      return true;
    default: break;
    }
    if (varies || inst.op == Op::Select || inst.op == Op::Shl || inst.op == Op::LShr || inst.op == Op::AShr)
      into_vectors(i, x, varies);
    return true;
  }

  static constexpr unsigned kLog2Wave = 6;
  static_assert(1u << kLog2Wave == kWaveSize);

  /// An instruction whose scalar operands, and result if it `varies`, become vectors where they must.
  void into_vectors(InstId i, const std::vector<ValueId>& x, bool varies) {
    std::vector<ValueId> operands;
    for (u32 n = 0; n < x.size(); ++n) {
      const ValueId v = now(x[n]);
      const bool may_stay = f_[i].op == Op::Select && n == 0; // the condition
      operands.push_back(varies && !may_stay ? vector(v) : v);
    }
    f_.set_operands(i, operands);
    if (varies) f_.set_type(f_.result(i), per_lane_of(f_.type(f_.result(i))));
  }

  /// Dwords at addresses that differ between workgroups. Only those that come here may load.
  void load_per_lane(BlockId b, InstId i, const std::vector<ValueId>& x) {
    constexpr u32 kMost = 4; // results of a load
    const ValueId base = vector(x[0]);
    const ValueId offset = op(Op::ZExt, Type::V64, {vector(x[1])});
    const ValueId sum = op(Op::Add, Type::V64, {base, offset});
    const ValueId address = op(Op::And, Type::V64, {sum, constant(Type::V64, ~u64{3})});
    const ValueId who = comes_here(b, lanes_, [&](Op o, ValueId a, ValueId mask) {
      return op(o, Type::Mask, {a, now(mask)});
    });
    for (u32 n = 0; n < f_[i].num_results; n += kMost) {
      const u32 dwords = std::min<u32>(kMost, f_[i].num_results - n);
      Inst proto;
      proto.op = Op::Load;
      proto.pc = f_[i].pc;
      proto.imm = 4 * n;
      proto.mem.bytes = static_cast<u8>(4 * dwords);
      const ValueId operands[] = {address, who};
      const Type types[kMost] = {Type::V32, Type::V32, Type::V32, Type::V32};
      const InstId load = f_.make(proto, operands, {types, dwords});
      f_[load].block = b;
      out_.push_back(load);
      map_.resize(std::max<std::size_t>(map_.size(), f_.num_values()));
      for (u32 r = 0; r < dwords; ++r) map_[f_.result(i, n + r).index] = f_.result(load, r);
    }
  }

  /// Those of `who` that branches on masks before `b` let through. Forks are seen to by mask(). What
  /// instructions are added by is emit(op, mask, mask).
  template <class Emit>
  ValueId comes_here(BlockId b, ValueId who, Emit emit) const {
    const auto& idom = packing_.dominators().idom;
    for (BlockId at = b; idom[at.index].valid(); at = idom[at.index]) {
      const BlockId from = idom[at.index];
      const auto& preds = packing_.cfg().preds[at.index];
      if (preds.size() != 1 || preds.front() != from) continue;
      const ValueId mask = f_.tested_mask(from);
      if (!mask.valid()) continue;
      const bool taken = f_[from].successors[0].block == at;
      who = emit(taken ? Op::And : Op::AndNot, who, mask);
    }
    return who;
  }

  /// Moves an access to the LDS to the part that the lane's workgroup has of it.
  void into_own_lds(InstId i) {
    std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    for (ValueId& v : x) v = now(v);
    const u32 bytes = f_[i].mem.bytes;
    const ValueId all = op(Op::FrameField, Type::U64, {}, offsetof(runtime::WaveFrame, lds_bytes));
    const ValueId size =
        op(Op::LShr, Type::U32, {op(Op::Lo, Type::U32, {all}), constant(Type::U32, kLog2Wave)});
    const ValueId offset = constant(Type::V32, f_[i].imm);
    ValueId sum = op(Op::Add, Type::V32, {x[0], offset});
    if (f_[i].op == Op::Atomic) sum = op(Op::And, Type::V32, {sum, constant(Type::V32, ~(bytes - 1))});
    // The first address that is too high.
    const auto compare = [&](IntPred p, Type t, ValueId a, ValueId b) {
      return op(Op::ICmp, t, {a, b}, static_cast<u64>(p));
    };
    const ValueId fits = compare(IntPred::UGe, Type::U1, size, constant(Type::U32, bytes));
    const ValueId end =
        op(Op::Select, Type::U32,
           {fits, op(Op::Sub, Type::U32, {size, constant(Type::U32, bytes - 1)}), constant(Type::U32, 0)});
    ValueId lanes = op(Op::And, Type::Mask,
                       {x.back(), compare(IntPred::ULt, Type::Mask, sum, op(Op::Splat, Type::V32, {end}))});
    // gfx6 does not wrap at 2^32 (docs/SEMANTICS.md, "LDS address").
    if (f_.target == isa::Target::gfx600 && f_[i].imm != 0)
      lanes = op(Op::And, Type::Mask, {lanes, compare(IntPred::UGe, Type::Mask, sum, offset)});
    const ValueId own =
        op(Op::Mul, Type::V32, {op(Op::LaneId, Type::V32, {}), op(Op::Splat, Type::V32, {size})});
    x[0] = op(Op::Add, Type::V32, {sum, own});
    x.back() = lanes;
    f_[i].mem.apart = 1; // Lanes meet themselves only, in all of these.
    f_[i].imm = 0;
    f_.set_operands(i, x);
  }

  // ---- forks

  /// The workgroups on whose behalf `b` is walked; invalid: all.
  [[nodiscard]] ValueId who_walks(BlockId b) const {
    const Region& region = regions_[b.index];
    return region.fork < 0 ? ValueId{} : fork_masks_[static_cast<u32>(region.fork)][region.side];
  }

  void find_who_goes(u32 n) {
    const BlockId b = forks_[n].branch;
    const ValueId condition = f_.operands(f_.terminator(b))[0];
    const auto emit = [&](Op o, ValueId a, ValueId mask) {
      Inst proto;
      proto.op = o;
      proto.pc = f_[f_.terminator(b)].pc;
      const ValueId x[] = {a, mask};
      const Type t = Type::Mask;
      return f_.result(f_.insert_before_end(b, proto, x, {&t, 1}));
    };
    // Who has not come here would go ways that nobody goes: loops there need not end.
    const ValueId all = who_walks(b).valid() ? who_walks(b) : lanes_;
    const ValueId outer = comes_here(b, all, emit);
    if (outer != all) come_to_fork_[n] = outer;
    for (unsigned side = 0; side < 2; ++side)
      fork_masks_[n][side] = emit(side == 0 ? Op::And : Op::AndNot, outer, condition);
  }

  /// Keeps what is not on behalf of the workgroups that walk here from memory, and from branches.
  void mask(BlockId b) {
    const ValueId who = who_walks(b);
    if (!who.valid()) return;
    const std::vector<InstId> old = f_[b].insts;
    out_.clear();
    for (const InstId i : old) {
      r_.begin(i, out_);
      const Op o = f_[i].op;
      if (o == Op::Load || o == Op::Store || o == Op::Atomic || o == Op::AnyLane) {
        const ValueId masked = op(Op::And, Type::Mask, {f_.operands(i).back(), who});
        f_.operands(i).back() = masked;
      }
      out_.push_back(i);
    }
    f_[b].insts = out_;
  }

  /// Lets the two ways of a fork be walked one after the other. Inner forks are done.
  void join(u32 n) {
    const Fork& fork = forks_[n];
    const InstId branch = f_.terminator(fork.branch);
    const ValueId condition = f_.operands(branch)[0];
    const auto ways = f_[fork.branch].successors;
    const std::vector<ValueId> common = common_arguments(fork);
    f_[fork.branch].insts.pop_back();
    f_[branch].block = BlockId{};
    join_pc_ = f_[branch].pc;
    BlockId at = fork.branch;
    const ValueId first = takes_first(n, condition);
    std::array<std::vector<ValueId>, 2> values = {ways[0].args, ways[1].args};
    for (unsigned side = 0; side < 2; ++side)
      if (!fork.sides[side].empty()) at = walk(n, side, at, ways[side], common, values[side]);
    std::vector<ValueId> args;
    for (u32 p = 0; p < common.size(); ++p)
      args.push_back(common[p].valid() ? common[p]
                                       : append(at, Op::Select, f_.type(f_[fork.join].params[p]),
                                                {first, values[0][p], values[1][p]}));
    append(at, Op::Jump, Type::None, {});
    f_[at].successors = {{fork.join, std::move(args)}};
  }

  /// Whose values behind the fork are those of the first way. Workgroups that have not come to it may have
  /// either's, if somebody walks it.
  ValueId takes_first(u32 n, ValueId condition) {
    const ValueId come = come_to_fork_[n];
    if (!come.valid()) return condition;
    const BlockId b = forks_[n].branch;
    ValueId others = append(b, Op::Not, Type::Mask, {come});
    if (!forks_[n].sides[0].empty()) {
      const ValueId walked = append(b, Op::AnyLane, Type::U1, {fork_masks_[n][0]});
      others = append(b, Op::And, Type::Mask, {others, append(b, Op::Splat, Type::Mask, {walked})});
    }
    return append(b, Op::Or, Type::Mask, {fork_masks_[n][0], others});
  }

  ValueId append(BlockId b, Op o, Type t, std::initializer_list<ValueId> x) {
    Inst proto;
    proto.op = o;
    proto.pc = join_pc_;
    const InstId i = f_.append(b, proto, {x.begin(), x.size()}, {&t, t == Type::None ? 0u : 1u});
    return t == Type::None ? ValueId{} : f_.result(i);
  }

  /// Per parameter of the join, what all ways through the fork bring.
  [[nodiscard]] std::vector<ValueId> common_arguments(const Fork& fork) const {
    std::vector<ValueId> common;
    bool first = true;
    const auto see = [&](BlockId b) {
      for (const Successor& s : f_[b].successors) {
        if (s.block != fork.join) continue;
        if (first) common = s.args;
        first = false;
        for (u32 p = 0; p < s.args.size(); ++p)
          if (common[p] != s.args[p]) common[p] = ValueId{};
      }
    };
    see(fork.branch);
    for (const auto& side : fork.sides) std::ranges::for_each(side, see);
    return common;
  }

  /// From `at` through one side of a fork if any workgroup goes there, to a new block. `values` become what
  /// the join's parameters are on this side; not for those that are `common`.
  BlockId walk(u32 n, unsigned side, BlockId at, const Successor& way, const std::vector<ValueId>& common,
               std::vector<ValueId>& values) {
    const BlockId join = forks_[n].join, behind = f_.add_block(f_[join].pc);
    regions_.resize(f_.num_blocks());
    const Region around = regions_[forks_[n].branch.index];
    regions_[behind.index] = around;
    const auto keep = [&](std::vector<ValueId> args) {
      std::vector<ValueId> kept;
      for (u32 p = 0; p < common.size(); ++p)
        if (!common[p].valid()) kept.push_back(args[p]);
      return kept;
    };
    for (const BlockId x : forks_[n].sides[side])
      for (Successor& s : f_[x].successors)
        if (s.block == join) s = {behind, keep(std::move(s.args))};
    values.assign(common.size(), ValueId{});
    Successor past{behind, {}};
    for (u32 p = 0; p < common.size(); ++p) {
      if (common[p].valid()) continue;
      const Type t = f_.type(f_[join].params[p]);
      values[p] = f_.add_param(behind, t);
      past.args.push_back(append(at, Op::Const, t, {}));
    }
    const ValueId any = append(at, Op::AnyLane, Type::U1, {fork_masks_[n][side]});
    append(at, Op::Branch, Type::None, {any});
    f_[at].successors = {way, std::move(past)};
    for (Region r = around; r.fork >= 0;) { // It may lead to the joins of outer forks.
      Fork& outer = forks_[static_cast<u32>(r.fork)];
      outer.sides[r.side].push_back(behind);
      r = regions_[outer.branch.index];
    }
    return behind;
  }

  /// What is true of the launch now.
  void tell_facts() {
    translator::LaunchFacts& launch = f_.launch;
    launch.workgroup = {kWaveSize, 1, 1};
    launch.ragged = {true, false, false};
    launch.packs = false;
    launch.grid.clear();
    const auto id = static_cast<u32>(launch.group_id_sgpr[0]);
    if (id < launch.sgpr_max.size() && launch.sgpr_max[id] != ~0u) launch.sgpr_max[id] /= kWaveSize;
  }
};

} // namespace

std::string pack_workgroups(Function& f, u32 private_bytes) {
  Packing packing(f, private_bytes);
  std::string why = packing.run();
  if (why.empty()) Packer(f, packing).run();
  return why;
}

} // namespace lanewise::passes
