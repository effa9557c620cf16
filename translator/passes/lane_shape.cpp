#include "translator/passes/lane_shape.hpp"
#include "translator/passes/aligned_counters.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr LaneShape kVarying{LaneShape::Kind::Varying, 0, 0};
constexpr LaneShape kUnseen{};

i64 wrapped(i64 stride, Type t) { return is_wide(t) ? stride : static_cast<i32>(stride); }

} // namespace

LaneShapes::LaneShapes(const Function& f, const Cfg& cfg, unsigned gang_lanes, bool gang_by_gang)
    : f_(f), gang_lanes_(gang_lanes), limits_(std::make_shared<ValueLimits>(f)), shapes_(f.num_values()) {
  assume_aligned_counters(f, cfg, *limits_);
  find(cfg, gang_by_gang);
}

LaneShapes::LaneShapes(const LaneShapes& other, const Cfg& cfg, unsigned gang_lanes, bool gang_by_gang)
    : f_(other.f_), gang_lanes_(gang_lanes), limits_(other.limits_), shapes_(f_.num_values()) {
  find(cfg, gang_by_gang);
}

void LaneShapes::find(const Cfg& cfg, bool gang_by_gang) {
  if (is_whole_wave() && !gang_by_gang) find_gangs_apart(cfg);
  // Downwards from "not seen": the stride is found once and after that can only be lost, the known zeros
  // shrink.
  const auto lower = [&](ValueId v, LaneShape shape) {
    LaneShape& old = shapes_[v.index];
    if (old.strided() && shape.strided()) {
      if (old.stride != shape.stride) shape = kVarying;
      shape.zero_bits = std::min(shape.zero_bits, old.zero_bits);
    }
    if (old == shape || old.kind == LaneShape::Kind::Varying) return false;
    old = shape;
    return true;
  };
  // Values are found before they are used, but for those that a loop hands on to its next round.
  std::vector<u8> handed_back(f_.num_values(), 0);
  for (const BlockId b : cfg.rpo)
    for (const Successor& s : f_[b].successors)
      if (cfg.rpo_index[s.block.index] <= cfg.rpo_index[b.index])
        for (const ValueId v : s.args) handed_back[v.index] = 1;
  for (const auto* apart : {&ways_apart_, &rounds_apart_}) // which may be known before their masks are
    for (const std::vector<ValueId>& masks : *apart)
      for (const ValueId mask : masks) handed_back[mask.index] = 1;
  for (bool again = true; again;) {
    again = false;
    const auto update = [&](ValueId v, LaneShape shape) {
      if (!rounds_apart_.empty() && are_apart(rounds_apart_[v.index])) shape = kVarying;
      if (lower(v, shape) && handed_back[v.index] != 0) again = true;
    };
    const auto may_be_lowered = [&](ValueId v) {
      return is_per_lane(f_.type(v)) && shapes_[v.index].kind != LaneShape::Kind::Varying;
    };
    for (const BlockId b : cfg.rpo) {
      for (u32 p = 0; p < f_[b].params.size(); ++p)
        if (may_be_lowered(f_[b].params[p])) update(f_[b].params[p], merge(b, p, cfg));
      for (const InstId i : f_[b].insts) {
        if (f_[i].num_results == 0 || !may_be_lowered(f_.result(i))) continue;
        const LaneShape shape = evaluate(i);
        for (unsigned r = 0; r < f_[i].num_results; ++r) update(f_.result(i, r), shape);
      }
    }
  }
}

void LaneShapes::find_gangs_apart(const Cfg& cfg) {
  if (std::ranges::none_of(cfg.rpo, [&](BlockId b) { return phases::is_gang_decided(f_, b); })) return;
  const Dominators dom(f_, cfg);
  const Loops loops(f_, cfg, dom);
  ways_apart_.resize(f_.blocks.size());
  std::vector<std::vector<ValueId>> left_by(loops.loops.size()); // per loop: masks of its ways out
  std::vector<u8> seen;                                          // by which of the two ways
  std::vector<BlockId> reached;
  for (const BlockId b : cfg.rpo) {
    if (!phases::is_gang_decided(f_, b)) continue;
    const ValueId mask = f_.tested_mask(b);
    const BlockId join = phases::join_of(f_[f_.terminator(b)]);
    seen.assign(f_.blocks.size(), 0);
    for (const unsigned way : {0u, 1u}) {
      reached.clear();
      const auto reach = [&](BlockId x) {
        const auto bit = static_cast<u8>(1 << way);
        if ((seen[x.index] & bit) != 0 || dom.dominates(x, b))
          return; // The next round meets nobody from this one.
        seen[x.index] |= bit;
        if (seen[x.index] == 3) ways_apart_[x.index].push_back(mask);
        reached.push_back(x);
      };
      reach(f_[b].successors[way].block);
      for (std::size_t n = 0; n < reached.size(); ++n)
        if (reached[n] != join)
          for (const Successor& s : f_[reached[n]].successors) reach(s.block);
    }
    for (i32 l = loops.innermost[b.index]; l >= 0; l = loops.loops[static_cast<u32>(l)].parent)
      if (std::ranges::any_of(f_[b].successors,
                              [&](const Successor& s) { return !loops.contains(l, s.block); }))
        left_by[static_cast<u32>(l)].push_back(mask);
  }
  // What leaves a loop is from the round in which the gang has left it.
  if (std::ranges::all_of(left_by, [](const auto& masks) { return masks.empty(); })) return;
  rounds_apart_.resize(f_.num_values());
  const auto leave = [&](BlockId from, BlockId to, ValueId v) {
    for (i32 l = loops.innermost[from.index]; l >= 0 && !loops.contains(l, to);
         l = loops.loops[static_cast<u32>(l)].parent) {
      const std::vector<ValueId>& masks = left_by[static_cast<u32>(l)];
      rounds_apart_[v.index].insert(rounds_apart_[v.index].end(), masks.begin(), masks.end());
    }
  };
  for (const BlockId b : cfg.rpo) {
    for (const InstId i : f_[b].insts)
      for (const ValueId v : f_.operands(i)) leave(f_.def_block(v), b, v);
    for (const Successor& s : f_[b].successors) {
      for (const ValueId v : s.args) leave(f_.def_block(v), b, v);
      for (const ValueId p : f_[s.block].params) leave(b, s.block, p);
    }
  }
}

bool LaneShapes::are_apart(const std::vector<ValueId>& masks) const {
  return std::ranges::any_of(masks,
                             [&](ValueId m) { return shapes_[m.index].kind == LaneShape::Kind::Varying; });
}

LaneShape LaneShapes::merge(BlockId b, u32 param, const Cfg& cfg) const {
  LaneShape shape = kUnseen;
  if (!ways_apart_.empty() && are_apart(ways_apart_[b.index])) {
    const ValueId* same = nullptr;
    for (const BlockId p : cfg.preds[b.index])
      for (const Successor& s : f_[p].successors) {
        if (s.block != b) continue;
        if (same != nullptr && *same != s.args[param]) return kVarying;
        same = &s.args[param];
      }
  }
  for (const BlockId p : cfg.preds[b.index])
    for (const Successor& s : f_[p].successors) {
      if (s.block != b) continue;
      const LaneShape& arg = shapes_[s.args[param].index];
      if (arg == kUnseen) continue;
      if (!arg.strided() || (shape.strided() && shape.stride != arg.stride)) return kVarying;
      const u8 zeros = shape.strided() ? std::min(shape.zero_bits, arg.zero_bits) : arg.zero_bits;
      shape = arg;
      shape.zero_bits = zeros;
    }
  return shape;
}

LaneShape LaneShapes::made(ValueId v, i64 stride, unsigned zero_bits) const {
  const Type t = f_.type(v);
  const u64 ones = limits_->ones(v);
  const unsigned known = stride == 0 ? static_cast<unsigned>(std::countr_zero(ones)) : 0;
  const u8 zeros = static_cast<u8>(std::min(std::max(zero_bits, known), bit_width(t)));
  return {LaneShape::Kind::Strided, zeros, wrapped(stride, t)};
}

bool LaneShapes::constant(ValueId v, u64& bits) const {
  const Inst* inst = f_.def(v);
  if (inst != nullptr && inst->op == Op::Splat) v = f_.operands(f_.def_id(v))[0];
  return f_.is_const(v, &bits);
}

u64 LaneShapes::changing_bits(const LaneShape& s) const {
  if (s.stride == 0) return 0;
  if (s.stride < 0 || s.stride > 1 << 20) return ~u64{0};
  const u64 span = static_cast<u64>(s.stride) * (gang_lanes_ - 1);
  const auto width = static_cast<unsigned>(std::bit_width(span));
  return width <= s.zero_bits ? (u64{1} << width) - 1 : ~u64{0};
}

bool LaneShapes::is_exact(ValueId v, bool is_signed) const {
  const LaneShape& s = (*this)[v];
  if (!s.strided()) return false;
  if (s.stride == 0) return true;
  const u64 limit = is_signed ? u64{1} << 31 : u64{1} << 32;
  if (changing_bits(s) < limit) return true; // Nothing is carried out of the bits that change.
  // A lane below the limit by less than the stride would be followed by one that wraps, and one that counts
  // down by one that is less than the stride; below zero, signed numbers would have to come from the other
  // end.
  if (s.stride > 0) return limits_->max(v) < limit - static_cast<u64>(s.stride);
  return is_signed ? limits_->max(v) < limit : limits_->of(v).min >= 0 - static_cast<u64>(s.stride);
}

/// A mask is the same in all lanes of a gang if what it is made of is.
LaneShape LaneShapes::mask(InstId i) const {
  const Inst& inst = f_[i];
  constexpr LaneShape same{LaneShape::Kind::Strided, 0, 0};
  switch (inst.op) {
  case Op::Const: return inst.imm == 0 || ~inst.imm == 0 ? same : kVarying;
  case Op::NotFew: return is_whole_wave() ? kVarying : same;
  case Op::Splat:
  case Op::ICmp:
  case Op::FCmp:
  case Op::FClass:
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot:
  case Op::Not:
  case Op::Select:
    for (const ValueId x : f_.operands(i)) {
      if (is_gang(f_.type(x)) && is_whole_wave()) return kVarying;
      if (!is_per_lane(f_.type(x))) continue;
      if ((*this)[x] == kUnseen) return kUnseen;
      if (!(*this)[x].uniform()) return kVarying;
    }
    return same;
  default: return kVarying;
  }
}

LaneShape LaneShapes::evaluate(InstId i) const {
  const Inst& inst = f_[i];
  if (f_.type(f_.result(i)) == Type::Mask) return mask(i);
  const ValueId v = f_.result(i);
  const auto x = f_.operands(i);
  const auto log2_lanes = static_cast<unsigned>(std::countr_zero(gang_lanes_));
  switch (inst.op) {
  case Op::Const: return made(v, 0, 0);
  case Op::Splat: return is_gang(f_.type(x[0])) && is_whole_wave() ? kVarying : made(v, 0, 0);
  case Op::LaneId: return made(v, 1, log2_lanes);
  case Op::InitVgpr:
    if (inst.imm == 0) return f_.launch.x_counts(gang_lanes_) ? made(v, 1, log2_lanes) : kVarying;
    return f_.launch.is_uniform(static_cast<u32>(inst.imm), gang_lanes_) ? made(v, 0, 0) : kVarying;
  default: break;
  }
  if (inst.op == Op::Load) return load(i);
  if (inst.op == Op::Atomic && inst.mem.spread) return made(v, 0, 0);
  const OpInfo& op = info(inst.op);
  if (!op.is(kPure) || inst.num_results != 1) return kVarying;
  bool all_uniform = true;
  for (unsigned n = 0; n < x.size(); ++n) {
    const Type t = f_.type(x[n]);
    if (op.reads_whole(n)) return kVarying;
    if (!is_per_lane(t)) continue;
    const LaneShape& s = (*this)[x[n]];
    if (s == kUnseen) return kUnseen;
    if (!s.strided() || (t == Type::Mask && !s.uniform())) return kVarying;
    all_uniform &= s.uniform();
  }
  if (inst.op == Op::WriteLane || inst.op == Op::NthLane) return kVarying;
  const auto in = [&](unsigned n) { return (*this)[x[n]]; };
  switch (inst.op) {
  case Op::Add:
  case Op::Sub: {
    const i64 other =
        inst.op == Op::Add ? in(1).stride : static_cast<i64>(0 - static_cast<u64>(in(1).stride));
    return made(v, static_cast<i64>(static_cast<u64>(in(0).stride) + static_cast<u64>(other)),
                std::min(in(0).zero_bits, in(1).zero_bits));
  }
  case Op::Not: return made(v, -in(0).stride, 0); // -1 - x
  case Op::Mul:
  case Op::UMulWide:
  case Op::SMulWide: return multiply(i);
  case Op::And:
  case Op::Or:
  case Op::Xor: return logic(i);
  case Op::Shl:
  case Op::LShr:
  case Op::AShr: return shift(i);
  case Op::ZExt:
  case Op::SExt:
    return is_exact(x[0], inst.op == Op::SExt) ? made(v, in(0).stride, in(0).zero_bits) : kVarying;
  case Op::Lo: return made(v, in(0).stride, in(0).zero_bits);
  case Op::Hi:
    return limits_->max(x[0]) >> 32 == 0 || changing_bits(in(0)) >> 32 == 0 ? made(v, 0, 0) : kVarying;
  case Op::Join: return join(i);
  case Op::Select:
    return in(1).stride == in(2).stride ? made(v, in(1).stride, std::min(in(1).zero_bits, in(2).zero_bits))
                                        : kVarying;
  default: return all_uniform ? made(v, 0, 0) : kVarying;
  }
}

/// One address in all lanes, all or none of which load, or one for all: one value (shape_addresses makes one
/// load of it).
LaneShape LaneShapes::load(InstId i) const {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  // What is spread is for the lanes of a gang: one that has no lane in the mask loads nothing.
  const bool is_spread = inst.mem.spread && !is_whole_wave();
  if (inst.mem.space != Space::Global && inst.mem.space != Space::Lds && !is_spread) return kVarying;
  const LaneShape& mask = (*this)[x.back()];
  if (mask == kUnseen && !is_spread) return kUnseen;
  if (!mask.uniform() && !is_spread) return kVarying;
  if (inst.mem.form == AddressForm::Row) return inst.mem.stride == 0 ? made(f_.result(i), 0, 0) : kVarying;
  if (inst.mem.form != AddressForm::Lanes) return kVarying;
  const LaneShape& address = (*this)[x[0]];
  return address == kUnseen ? kUnseen : address.uniform() ? made(f_.result(i), 0, 0) : kVarying;
}

LaneShape LaneShapes::multiply(InstId i) const {
  const auto x = f_.operands(i);
  const ValueId v = f_.result(i);
  if ((*this)[x[0]].uniform() && (*this)[x[1]].uniform()) return made(v, 0, 0);
  for (unsigned n = 0; n < 2; ++n) {
    u64 factor = 0;
    if (!constant(x[n], factor)) continue;
    const bool wraps = f_[i].op == Op::Mul; // as if the factor had a sign
    const i64 by = sign_extend(factor, wraps ? bit_width(f_.type(v)) : 64);
    if (by > 1 << 20 || by < (wraps ? -(1 << 20) : 0)) continue;
    const LaneShape& s = (*this)[x[1 - n]];
    if (!wraps && !is_exact(x[1 - n], f_[i].op == Op::SMulWide)) continue;
    if (s.stride > 1 << 20 || s.stride < -(1 << 20)) continue;
    return made(v, s.stride * by,
                s.zero_bits + (factor == 0 ? 64 : static_cast<unsigned>(std::countr_zero(factor))));
  }
  return kVarying;
}

LaneShape LaneShapes::logic(InstId i) const {
  const auto x = f_.operands(i);
  const ValueId v = f_.result(i);
  const Op op = f_[i].op;
  const LaneShape a = (*this)[x[0]], b = (*this)[x[1]];
  if (a.uniform() && b.uniform()) return made(v, 0, 0);
  if (op != Op::And && limits_->disjoint_bits(x[0], x[1]))
    return made(v, static_cast<i64>(static_cast<u64>(a.stride) + static_cast<u64>(b.stride)),
                std::min(a.zero_bits, b.zero_bits));
  for (unsigned n = 0; n < 2; ++n) { // A constant with one that changes only in known bits.
    u64 bits = 0;
    if (!constant(x[n], bits)) continue;
    const LaneShape& s = n == 0 ? b : a;
    const u64 changing = changing_bits(s), touched = op == Op::And ? ~bits : bits;
    if (op == Op::And && (limits_->ones(x[1 - n]) & ~bits) == 0) return made(v, s.stride, s.zero_bits);
    if (changing == ~u64{0}) continue;
    if ((touched & changing) == 0)
      return made(v, s.stride, op == Op::And ? s.zero_bits : static_cast<unsigned>(std::bit_width(changing)));
    if (op == Op::And && (bits & changing) == 0) return made(v, 0, 0);
  }
  return kVarying;
}

LaneShape LaneShapes::shift(InstId i) const {
  const auto x = f_.operands(i);
  const ValueId v = f_.result(i);
  const Op op = f_[i].op;
  const LaneShape s = (*this)[x[0]];
  u64 n = 0;
  if (!constant(x[1], n))
    return s.uniform() && (!is_vector(f_.type(x[1])) || (*this)[x[1]].uniform()) ? made(v, 0, 0) : kVarying;
  n &= bit_width(f_.type(v)) - 1;
  if (op == Op::Shl)
    return made(v, static_cast<i64>(static_cast<u64>(s.stride) << n), s.zero_bits + static_cast<unsigned>(n));
  if (s.uniform()) return made(v, 0, 0);
  const u64 changing = changing_bits(s);
  if (changing >> n == 0) return made(v, 0, 0);
  // Without carries from below, the bits above change as the stride's do.
  const bool no_carry = (static_cast<u64>(s.stride) & ((u64{1} << n) - 1)) == 0;
  const unsigned zeros = s.zero_bits > n ? s.zero_bits - static_cast<unsigned>(n) : 0;
  const bool exact = changing != ~u64{0} || (f_.type(v) == Type::V32 && is_exact(x[0], op == Op::AShr));
  return no_carry && exact ? made(v, s.stride >> n, zeros) : kVarying;
}

LaneShape LaneShapes::join(InstId i) const {
  const auto x = f_.operands(i);
  const ValueId v = f_.result(i);
  const LaneShape lo = (*this)[x[0]], hi = (*this)[x[1]];
  if (!is_exact(x[0], false)) return kVarying;
  return made(v, static_cast<i64>((static_cast<u64>(hi.stride) << 32) + static_cast<u64>(lo.stride)),
              lo.zero_bits);
}

} // namespace lanewise::passes
