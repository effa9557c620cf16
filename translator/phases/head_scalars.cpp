#include "translator/phases/head_scalars.hpp"
#include "runtime/wave.hpp"
#include "translator/passes/gang_scalars.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/phases/hazards.hpp"

#include <algorithm>
#include <cstddef>

namespace lanewise::phases {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 24;

} // namespace

bool is_limit(Op op) { return op == Op::SMin || op == Op::SMax || op == Op::UMin || op == Op::UMax; }

HeadScalars::HeadScalars(Function& f, BlockId head) : f_(f), head_(head), in_head_(f.num_values(), false) {
  for (const InstId i : f_[head_].insts) {
    if (!belongs(i)) continue;
    for (unsigned r = 0; r < f_[i].num_results; ++r) in_head_[f_.result(i, r).index] = true;
    if (f_[i].op == Op::ScalarLoad) loaded_.push_back(i);
  }
}

bool HeadScalars::belongs(InstId i) const {
  const Inst& inst = f_[i];
  const auto x = f_.operands(i);
  switch (inst.op) {
  case Op::Const:
  case Op::InitSgpr:
  case Op::InitVgpr:
  case Op::InitExec:
  case Op::FrameField: return true;
  case Op::ScalarLoad:
    if (is_access(f_, i)) return false;
    break;
  default:
    if (!info(inst.op).is(kPure) || inst.num_results != 1 || !is_uniform(f_.type(f_.result(i)))) return false;
  }
  return std::ranges::all_of(x, [&](ValueId v) { return in_head_[v.index] && is_uniform(f_.type(v)); });
}

ValueId HeadScalars::first_lane(ValueId v, unsigned depth) {
  scalar_.resize(f_.num_values());
  if (scalar_[v.index].valid()) return scalar_[v.index];
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth > kMaxDepth || f_.type(v) == Type::Mask || f_.type(v) == Type::U1) return {};
  const Type type = uniform_of(f_.type(v));
  ValueId made;
  switch (f_[i].op) {
  case Op::InitSgpr: made = v; break;
  case Op::Const: made = constant(type, f_[i].imm); break;
  case Op::LaneId: made = constant(type, 0); break;
  case Op::InitVgpr: {
    const u64 at = offsetof(runtime::WaveFrame, vgpr) + sizeof(runtime::WaveFrame::vgpr[0]) * f_[i].imm;
    made = make(Op::Lo, Type::U32, {make(Op::FrameField, Type::U64, {}, at)});
    break;
  }
  case Op::ScalarLoad: made = loaded(v, i, depth); break;
  case Op::Splat:
  case Op::GangFirst: made = first_lane(f_.operands(i)[0], depth + 1); break;
  default:
    const bool multiplies = f_[i].op == Op::UMulWide;
    if (!passes::is_address_arithmetic(f_[i].op) && !is_limit(f_[i].op) && !multiplies) break;
    std::vector<ValueId> x;
    for (unsigned n = 0; n < f_[i].num_operands; ++n) {
      x.push_back(first_lane(f_.operands(i)[n], depth + 1));
      if (!x.back().valid()) return {};
      if (multiplies) x.back() = make(Op::ZExt, Type::U64, {x.back()});
    }
    made = make(multiplies ? Op::Mul : f_[i].op, type, x);
  }
  scalar_.resize(f_.num_values());
  return scalar_[v.index] = made;
}

/// Result `v` of the scalar load `i`, which may only be done at the start if that is known not to fault.
ValueId HeadScalars::loaded(ValueId v, InstId i, unsigned depth) {
  if (has(v)) return v;
  u64 offset = 0;
  const ValueId base = f_.operands(i)[0], at = f_.operands(i)[1];
  if (is_access(f_, i) || !f_.is_const(at, &offset)) return {};
  if (!passes::is_always_readable(f_, i) && offset + 4u * f_[i].num_results > readable(base)) return {};
  const ValueId pointer = has(base) ? base : first_lane(base, depth + 1);
  if (!pointer.valid()) return {};
  for (unsigned r = 0; r < f_[i].num_results; ++r) in_head_[f_.result(i, r).index] = true;
  moved_.push_back({i, pointer, constant(Type::U32, offset)});
  made_.push_back(i);
  return v;
}

/// That many bytes from an initial pointer on are there: up to something that is loaded at the start anyway,
/// or that is known of all launches.
u64 HeadScalars::readable(ValueId base) const {
  u64 end = 0, offset = 0;
  for (const InstId load : loaded_)
    if (f_.operands(load)[0] == base && f_.is_const(f_.operands(load)[1], &offset))
      end = std::max(end, offset + 4u * f_[load].num_results);
  const auto pointer = passes::initial_address(f_, base);
  if (!pointer || pointer->offset != 0) return end;
  for (const translator::KnownDword& d : f_.launch.dwords)
    if (d.pointer_sgpr == pointer->pointer_sgpr) end = std::max<u64>(end, d.offset + 4u);
  return end;
}

ValueId HeadScalars::make(Op op, Type type, const std::vector<ValueId>& x, u64 imm) {
  std::vector<u32> operands;
  for (const ValueId v : x) operands.push_back(v.index);
  ValueId& known = known_[{op, type, imm, std::move(operands)}];
  if (known.valid()) return known;
  Inst proto;
  proto.op = op;
  proto.imm = imm;
  proto.pc = f_[head_].pc;
  made_.push_back(f_.make(proto, x, {&type, 1}));
  return known = f_.result(made_.back());
}

ValueId HeadScalars::sum(std::initializer_list<ValueId> values) {
  ValueId all;
  for (const ValueId v : values)
    if (v.valid()) all = all.valid() ? make(Op::Add, Type::U64, {all, v}) : v;
  return all;
}

void HeadScalars::take_loads() {
  for (const Moved& m : moved_) {
    std::erase(f_[f_[m.load].block].insts, m.load);
    f_.operands(m.load)[0] = m.pointer;
    f_.operands(m.load)[1] = m.offset;
  }
}

} // namespace lanewise::phases
