// The walk, and what is the same of all ops: constants, values that are the same in all lanes, masks and
// lanes.
#include "runtime/wave.hpp"
#include "translator/ir/evaluate.hpp"
#include "translator/ir/wide_access.hpp"
#include "translator/passes/folder.hpp"
#include "translator/passes/passes.hpp"
#include "translator/phases/decide.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

void Folder::find_looked_at(const Cfg& cfg) {
  u8* const looked_at = looked_at_.data();
  for (auto b = cfg.rpo.rbegin(); b != cfg.rpo.rend(); ++b) {
    for (const Successor& s : f_[*b].successors)
      for (const ValueId v : s.args) looked_at[v.index] = 1;
    const auto& insts = f_[*b].insts;
    for (auto i = insts.rbegin(); i != insts.rend(); ++i) {
      const Op op = f_[*i].op;
      const bool by_low = op == Op::Lo || ((is_bitwise_from_below(op) || op == Op::Select) &&
                                           !looked_at[f_.result(*i).index]);
      if (!by_low)
        for (const ValueId v : f_.operands(*i)) looked_at[v.index] = 1;
    }
  }
}

void Folder::visit(InstId i) {
  const auto operands = f_.operands(i);
  if (operands.empty()) return keep(i);
  const ValueId first = operands[0];
  for (ValueId& v : operands) v = resolve(v);
  const Op op = f_[i].op;
  pc_ = f_[i].pc;
  if (op == Op::Branch) return fold_branch(i, first);
  if (op == Op::Store && can_be_wide(f_[i])) join_stored(i);
  // Of what has no rule of its own, only constants are looked at.
  if (f_[i].num_results == 1 && info(op).is(kPure) && operands.size() <= kMaxOperands &&
      (has_rule(op) || is_const(operands[0]))) {
    const Inst inst = f_[i];
    std::array<ValueId, kMaxOperands> copy; // simplify() may grow the pool
    for (std::size_t n = 0; n < operands.size(); ++n) copy[n] = operands[n];
    const ValueId v = simplify(inst, f_.type(inst.first_result), {copy.data(), operands.size()});
    if (v.valid()) {
      map_[inst.first_result.index] = v;
      f_[i].block = BlockId{};
      return;
    }
  }
  keep(i);
}

void Folder::join_stored(InstId i) {
  const unsigned first = address_operands(f_[i].mem);
  for (unsigned n = first; n + 2 < f_[i].num_operands; n += 2) {
    const ValueId lo = f_.operands(i)[n], hi = f_.operands(i)[n + 1];
    if (type(lo) != Type::V32 || !logic_of_pairs(lo, hi)) continue;
    const ValueId whole = emit(Op::Join, Type::V64, {lo, hi});
    const std::array halves = {emit(Op::Lo, Type::V32, {whole}), emit(Op::Hi, Type::V32, {whole})};
    std::copy_n(halves.begin(), 2, f_.operands(i).begin() + n);
  }
}

ValueId Folder::emit(Op op, Type type, std::initializer_list<ValueId> x, u64 imm) {
  Inst proto;
  proto.op = op;
  proto.imm = imm;
  return emit(proto, type, x);
}

ValueId Folder::emit(Inst proto, Type type, std::initializer_list<ValueId> x) {
  proto.pc = pc_;
  if (proto.op != Op::Const) {
    if (const ValueId v = simplify(proto, type, {x.begin(), x.size()}); v.valid()) return v;
  }
  const InstId i = f_.make(proto, {x.begin(), x.size()}, {&type, 1});
  map_.resize(f_.num_values());
  keep(i);
  return f_.result(i);
}

ValueId Folder::simplify(const Inst& inst, Type t, std::span<const ValueId> x) {
  if (!x.empty() && is_const_or_splat(x[0])) {
    if (const ValueId v = fold_constants(inst, t, x); v.valid()) return v;
    if (const ValueId v = sink_splats(inst, t, x); v.valid()) return v;
  }
  switch (inst.op) {
  case Op::Join: {
    const u64 key = pair_key(x[0], x[1]);
    const ValueId v = fold_join(t, x[0], x[1]);
    if (v.valid()) joined_[key] = v, halves_[v.index] = {x[0], x[1]};
    return v;
  }
  case Op::Lo:
  case Op::Hi: return fold_half(inst.op, t, x[0]);
  case Op::Splat:
  case Op::U64ToMask: return fold_to_mask(inst.op, t, x[0]);
  case Op::MaskToU64: return fold_mask_to_u64(x[0]);
  case Op::AnyLane: return fold_any(x[0]);
  case Op::Add:
  case Op::Sub: return fold_add(inst.op, t, x[0], x[1]);
  case Op::Mul: return fold_mul(t, x[0], x[1]);
  case Op::UMulHi:
  case Op::UMulWide:
  case Op::SMulWide: return fold_wide_mul(inst.op, t, x[0], x[1]);
  case Op::UDiv: return fold_divide(t, x[0], x[1]);
  case Op::FMul: return fold_fmul(inst.fp, t, x[0], x[1]);
  case Op::FLdexp: return fold_ldexp(inst.fp, t, x[0], x[1]);
  case Op::And:
    if (const ValueId v = fold_aperture(inst.op, t, x[0], x[1]); v.valid()) return v;
    [[fallthrough]];
  case Op::Or:
  case Op::Xor:
  case Op::AndNot: return fold_logic(inst.op, t, x[0], x[1]);
  case Op::Not: return fold_not(t, x[0]);
  case Op::Shl:
    if (const ValueId v = fold_aperture(inst.op, t, x[0], x[1]); v.valid()) return v;
    [[fallthrough]];
  case Op::LShr:
  case Op::AShr: return fold_shift(inst.op, t, x[0], x[1]);
  case Op::ICmp: return fold_icmp(static_cast<IntPred>(inst.imm), t, x[0], x[1]);
  case Op::Select: return fold_select(t, x[0], x[1], x[2]);
  case Op::UMin:
    if (const ValueId v = fold_umin(t, x[0], x[1]); v.valid()) return v;
    [[fallthrough]];
  case Op::UMax:
  case Op::SMin:
  case Op::SMax: return fold_extreme(inst.op, x[0], x[1]);
  case Op::BitSelect: return fold_bitselect(t, x[0], x[1], x[2]);
  case Op::ReadLane: return fold_readlane(x[0], x[1]);
  case Op::ReadFirst: return fold_readfirst(x[0], x[1]);
  case Op::BPermute: return fold_bpermute(x[0], x[1], x[2]);
  default: return {};
  }
}

std::optional<u64> Folder::of_mem_bases(ValueId v, unsigned depth) const {
  const Inst* inst = f_.def(v);
  if (inst == nullptr || depth == 0) return std::nullopt;
  const auto x = f_.operands(f_.def_id(v));
  if (inst->op == Op::FrameField)
    return inst->imm == offsetof(runtime::WaveFrame, mem_bases) ? std::optional<u64>(runtime::kMemBases)
                                                                : std::nullopt;
  const bool shifts = inst->op == Op::Shl || inst->op == Op::LShr || inst->op == Op::And;
  if (!shifts && inst->op != Op::Lo && inst->op != Op::Splat) return std::nullopt;
  const auto bits = of_mem_bases(resolve(x[0]), depth - 1);
  u64 by = 0;
  if (!bits || !shifts) return bits;
  if (!is_const(x[1], &by)) return std::nullopt;
  return evaluate(inst->op, f_.type(v), f_.type(v), 0, std::array{*bits, by});
}

ValueId Folder::fold_aperture(Op op, Type t, ValueId x, ValueId y) {
  u64 by = 0;
  if ((t != Type::U32 && t != Type::V32) || !is_const(y, &by)) return {};
  const auto bits = of_mem_bases(x);
  if (!bits) return {};
  const auto made = evaluate(op, t, t, 0, std::array{*bits, by});
  const bool is_upper = made == runtime::kPrivateApertureHigh || made == runtime::kSharedApertureHigh;
  return is_upper ? constant(t, *made) : ValueId{};
}

bool Folder::is_const_or_splat(ValueId v) const {
  const Inst* inst = f_.def(v);
  return inst != nullptr && (inst->op == Op::Const || inst->op == Op::Splat);
}

ValueId Folder::fold_constants(const Inst& inst, Type t, std::span<const ValueId> x) {
  if (x.size() > 3) return {};
  std::array<u64, 3> bits{};
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!is_const(x[i], &bits[i])) return {};
  if (inst.op == Op::Select) return bits[0] == 0 ? x[2] : is_ones(x[0]) ? x[1] : ValueId{};
  if (inst.op == Op::AnyLane) return constant(t, (bits[0] & f_.launch.lane_mask()) != 0 ? 1 : 0);
  const auto value = info(inst.op).is(kFloat)
                         ? evaluate_float(inst.op, inst.fp, inst.imm, {bits.data(), x.size()})
                         : evaluate(inst.op, t, type(x[0]), inst.imm, {bits.data(), x.size()});
  return value ? constant(t, *value) : ValueId{};
}

bool Folder::has_uniform_form(Op op, Type t) {
  return info(op).is(kHasUniformForm) && (op != Op::UDiv || !is_wide(t));
}

bool Folder::has_rule(Op op) {
  switch (op) {
  case Op::Splat:
  case Op::U64ToMask:
  case Op::MaskToU64:
  case Op::AnyLane:
  case Op::FMul:
  case Op::FLdexp:
  case Op::Select:
  case Op::BitSelect:
  case Op::BPermute:
  case Op::ReadLane:
  case Op::ReadFirst: return true;
  default: return has_uniform_form(op);
  }
}

ValueId Folder::sink_splats(const Inst& inst, Type t, std::span<const ValueId> x) {
  if (!is_per_lane(t) || !has_uniform_form(inst.op, t) || !is_vector(type(x[0]))) return {};
  std::array<ValueId, 3> uniform;
  bool any_splat = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (const Match s = match(x[i], Op::Splat)) {
      uniform[i] = operand(s, 0);
      any_splat = true;
    } else if (!is_const(x[i]))
      return {};
  }
  if (!any_splat) return {};
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!uniform[i].valid()) uniform[i] = const_as_uniform(x[i]);
  const Type u = t == Type::Mask ? Type::U1 : t == Type::V32 ? Type::U32 : Type::U64;
  ValueId v;
  if (x.size() == 1)
    v = emit(inst.op, u, {uniform[0]}, inst.imm);
  else if (x.size() == 2)
    v = emit(inst.op, u, {uniform[0], uniform[1]}, inst.imm);
  else
    v = emit(inst.op, u, {uniform[0], uniform[1], uniform[2]}, inst.imm);
  return emit(Op::Splat, t, {v});
}

ValueId Folder::as_uniform(ValueId v) {
  const Match s = match(v, Op::Splat);
  if (s == nullptr) return const_as_uniform(v);
  const ValueId x = operand(s, 0);
  return is_uniform(type(x)) ? x : ValueId{};
}

ValueId Folder::const_as_uniform(ValueId v) {
  u64 bits = 0;
  if (!is_const(v, &bits) || !is_vector(type(v))) return {};
  return constant(type(v) == Type::V32 ? Type::U32 : Type::U64, bits);
}

ValueId Folder::fold_to_mask(Op op, Type t, ValueId x) {
  if (op == Op::Splat) return {};
  if (const Match m = match(x, Op::MaskToU64)) return operand(m, 0);
  if (const Match s = match(x, Op::Select); s != nullptr && type(operand(s, 0)) == Type::U1) {
    const ValueId c = operand(s, 0), a = operand(s, 1), b = operand(s, 2);
    if (is_ones(a) && is_zero(b)) return emit(Op::Splat, t, {c});
    if (is_zero(a) && is_ones(b)) return emit(Op::Splat, t, {emit(Op::Not, Type::U1, {c})});
    if (is_mask_like(a) && is_mask_like(b)) {
      const ValueId first = emit(Op::U64ToMask, t, {a});
      return emit(Op::Select, t, {c, first, emit(Op::U64ToMask, t, {b})});
    }
  }
  return {};
}

ValueId Folder::fold_mask_to_u64(ValueId m) {
  const Match u = match(m, Op::U64ToMask);
  return u != nullptr ? operand(u, 0) : ValueId{};
}

ValueId Folder::fold_any(ValueId m) {
  if (const Match s = match(m, Op::Splat)) return operand(s, 0);
  if (match(m, Op::InitExec) != nullptr) return constant(Type::U1, 1); // no wave starts without work-items
  // any(splat c & m) -> c and any(m): a branch on a scalar condition, if m is known to have lanes
  if (const Match a = match(m, Op::And))
    for (unsigned n = 0; n < 2; ++n)
      if (const Match s = match(operand(a, n), Op::Splat);
          s != nullptr && match(operand(a, 1 - n), Op::InitExec) != nullptr)
        return operand(s, 0);
  if (const Match u = match(m, Op::U64ToMask)) {
    const ValueId x = operand(u, 0);
    return emit(Op::ICmp, Type::U1, {x, constant(Type::U64, 0)}, static_cast<u64>(IntPred::Ne));
  }
  return {};
}

ValueId Folder::fold_readlane(ValueId v, ValueId lane) {
  if (const Match s = match(v, Op::Splat)) return operand(s, 0);
  if (is_const(v)) return const_as_uniform(v);
  u64 j = 0, k = 0;
  const Match w = match(v, Op::WriteLane);
  if (w == nullptr || !is_const(lane, &j) || !is_const(operand(w, 2), &k)) return {};
  if ((j & 63) == (k & 63)) return operand(w, 1);
  return emit(Op::ReadLane, Type::U32, {operand(w, 0), lane});
}

ValueId Folder::fold_readfirst(ValueId v, ValueId m) {
  if (const ValueId u = as_uniform(v); u.valid()) return u;
  const Match s = match(v, Op::Select);
  if (s == nullptr || operand(s, 0) != m) return {};
  const ValueId x = as_uniform(operand(s, 1)), y = x.valid() ? as_uniform(operand(s, 2)) : ValueId{};
  return y.valid() ? emit(Op::Select, type(x), {emit(Op::AnyLane, Type::U1, {m}), x, y}) : ValueId{};
}

ValueId Folder::fold_bpermute(ValueId address, ValueId v, ValueId m) {
  const ValueId u = as_uniform(address);
  if (!u.valid() || is_gang(type(u))) return {};
  const ValueId lane = emit(Op::LShr, Type::U32, {u, constant(Type::U32, 2)});
  const ValueId there = emit(Op::Select, Type::V32, {m, v, constant(Type::V32, 0)});
  return emit(Op::Splat, Type::V32, {emit(Op::ReadLane, Type::U32, {there, lane})});
}

void Folder::fold_branch(InstId i, ValueId asked) {
  ValueId c = f_.operands(i)[0];
  auto& successors = f_[block_].successors;
  if (c != asked) f_[i].imm = phases::decided_by_wave(f_[i].imm);
  if (const Match n = match(c, Op::Not)) {
    c = operand(n, 0);
    f_.operands(i)[0] = c;
    std::swap(successors[0], successors[1]);
  }
  u64 bits = 0;
  if (!is_const(c, &bits)) return keep(i);
  Successor target = std::move(successors[bits != 0 ? 0 : 1]);
  successors.clear();
  successors.push_back(std::move(target));
  f_[i].op = Op::Jump;
  f_.set_operands(i, {});
  keep(i);
}

void fold(Function& f) { Folder(f).run(); }

} // namespace lanewise::passes
