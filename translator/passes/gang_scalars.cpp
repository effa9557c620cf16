#include "translator/passes/gang_scalars.hpp"

#include "translator/ir/evaluate.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

Type gang_type(Type t) { return is_wide(t) ? Type::G64 : Type::G32; }

} // namespace

GangScalars::GangScalars(Function& f, const Cfg& cfg, const LaneShapes& shapes)
    : f_(f), cfg_(cfg), dom_(f, cfg), shapes_(shapes), before_(f.num_insts()), after_(f.num_insts()),
      at_start_(f.num_blocks()), at_end_(f.num_blocks()) {}

GangScalars::Place GangScalars::behind(ValueId v) {
  const InstId i = f_.def_id(v);
  const BlockId b = f_.def_block(v);
  if (!i.valid()) return {&at_start_[b.index], b, f_[b].pc};
  return {&after_[i.index], b, f_[i].pc};
}

GangScalars::Place GangScalars::before(InstId i) { return {&before_[i.index], f_[i].block, f_[i].pc}; }

ValueId GangScalars::emit(const Place& at, const Inst& proto, std::initializer_list<ValueId> operands,
                          Type t) {
  std::vector<u64> bits;
  for (const ValueId v : operands)
    if (u64 x = 0; f_.is_const(v, &x)) bits.push_back(x);
  if (proto.op != Op::Const && bits.size() == operands.size())
    if (const auto known = evaluate(proto.op, t, f_.type(*operands.begin()), proto.imm, bits)) {
      Inst constant;
      constant.op = Op::Const;
      constant.imm = *known;
      return emit(at, constant, {}, t);
    }
  const InstId i = f_.make(proto, {operands.begin(), operands.size()}, {&t, 1});
  f_[i].block = at.block;
  f_[i].pc = at.pc;
  at.list->push_back(i);
  return f_.result(i);
}

ValueId GangScalars::as_gang(const Place& at, ValueId v) {
  const Type t = f_.type(v);
  if (is_gang(t)) return v;
  Inst proto;
  const bool constant = f_.is_const(v, &proto.imm);
  proto.op = constant ? Op::Const : Op::Splat;
  if (constant) return emit(at, proto, {}, gang_type(t));
  return emit(at, proto, {v}, gang_type(t));
}

ValueId GangScalars::binary(const Place& at, Op op, ValueId a, ValueId b, u64 imm) {
  u64 bits = 0;
  const bool shift = op == Op::Shl || op == Op::LShr || op == Op::AShr;
  const bool sum = op == Op::Add || op == Op::Or || op == Op::Xor;
  if ((sum || op == Op::Sub || shift) && f_.is_const(b, &bits) && bits == 0) return a;
  if (sum && f_.is_const(a, &bits) && bits == 0) return b;
  Inst proto;
  proto.op = op;
  proto.imm = imm;
  const bool uniform = is_uniform(f_.type(a)) && is_uniform(f_.type(b));
  if (!uniform) a = as_gang(at, a);
  if (!uniform && !(shift && f_.type(b) == Type::U32)) b = as_gang(at, b);
  const bool widens = op == Op::Join || op == Op::UMulWide || op == Op::SMulWide;
  const Type t = widens ? wide_of(f_.type(a)) : f_.type(a);
  return emit(at, proto, {a, b}, t);
}

ValueId GangScalars::constant(InstId i, Type t, u64 bits) {
  Inst proto;
  proto.op = Op::Const;
  proto.imm = bits;
  return emit(before(i), proto, {}, t);
}
ValueId GangScalars::extended(InstId i, ValueId v) {
  Inst proto;
  proto.op = Op::ZExt;
  return emit(before(i), proto, {v}, wide_of(f_.type(v)));
}
ValueId GangScalars::op(InstId i, Op op, ValueId a, ValueId b) { return binary(before(i), op, a, b); }

ValueId GangScalars::first(ValueId v) {
  if (const auto it = first_.find(v.index); it != first_.end()) return it->second;
  if (!f_.def_id(v).valid()) return of_parameter(v); // Remembers itself, before it comes by again.
  return first_[v.index] = of_instruction(v);
}

bool is_address_arithmetic(Op op) {
  switch (op) {
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot:
  case Op::Not:
  case Op::Shl:
  case Op::LShr:
  case Op::AShr:
  case Op::Join:
  case Op::Lo:
  case Op::Hi:
  case Op::ZExt:
  case Op::SExt: return true;
  default: return false;
  }
}

/// Ops that have a scalar rule and whose per-lane operands are all strided.
bool GangScalars::sinks_through(InstId i) const {
  const Op op = f_[i].op;
  if (!is_address_arithmetic(op) && op != Op::UMulWide && op != Op::SMulWide) return false;
  for (const ValueId x : f_.operands(i))
    if (!shapes_[x].strided()) return false;
  return true;
}

ValueId GangScalars::of_instruction(ValueId v) {
  const InstId i = f_.def_id(v);
  const Inst inst = f_[i];
  const Place at = behind(v);
  Inst proto;
  proto.op = inst.op;
  if (inst.op == Op::Splat) return f_.operands(i)[0];
  const bool starts_at_0 =
      inst.op == Op::InitVgpr && inst.imm == 0 && f_.launch.x_restarts(shapes_.gang_lanes());
  if (inst.op == Op::Const || starts_at_0) {
    proto.op = Op::Const;
    proto.imm = starts_at_0 ? 0 : inst.imm;
    return emit(at, proto, {}, uniform_of(f_.type(v)));
  }
  if (!sinks_through(i)) {
    proto.op = Op::GangFirst;
    return emit(at, proto, {v}, gang_type(f_.type(v)));
  }
  const ValueId a = first(f_.operands(i)[0]);
  if (inst.num_operands == 2) return binary(at, inst.op, a, first(f_.operands(i)[1]), inst.imm);
  const Type t = is_uniform(f_.type(a)) ? uniform_of(f_.type(v)) : gang_type(f_.type(v));
  return emit(at, proto, {a}, t);
}

/// Every edge to `b`, each successor list once.
template <class Visit>
void GangScalars::for_each_edge(BlockId b, Visit visit) {
  const auto all = cfg_.preds[b.index];
  std::vector<BlockId> preds(all.begin(), all.end());
  std::sort(preds.begin(), preds.end());
  preds.erase(std::unique(preds.begin(), preds.end()), preds.end());
  for (const BlockId p : preds)
    for (Successor& s : f_[p].successors)
      if (s.block == b) visit(p, s);
}

/// The new parameter's arguments are to be filled in: others may be asked for on the way.
ValueId GangScalars::add_parameter(BlockId b, Type t) {
  const ValueId param = f_.add_param(b, t);
  for_each_edge(b, [&](BlockId, Successor& s) { s.args.resize(f_[b].params.size()); });
  return param;
}

/// A parameter of the same block that takes the first lanes of the arguments.
ValueId GangScalars::of_parameter(ValueId v) {
  const BlockId b = f_[v].block;
  const ValueId param = first_[v.index] = add_parameter(b, gang_type(f_.type(v)));
  for_each_edge(b, [&](BlockId p, Successor& s) {
    const Place end{&at_end_[p.index], p, f_[f_.terminator(p)].pc};
    const ValueId arg = as_gang(end, first(s.args[f_[v].index]));
    s.args[f_[param].index] = arg;
  });
  return param;
}

/// Whether `to` is `from` plus uniform terms, which it collects.
bool GangScalars::increments(ValueId from, ValueId to, std::vector<ValueId>& out) const {
  while (to != from) {
    const Inst* inst = f_.def(to);
    if (inst == nullptr || inst->op != Op::Add || out.size() == 8) return false;
    const auto x = f_.operands(f_.def_id(to));
    const unsigned term = shapes_[x[0]].uniform() ? 0 : 1;
    if (!shapes_[x[term]].uniform()) return false;
    out.push_back(x[term]);
    to = x[1 - term];
  }
  return true;
}

std::optional<GangScalars::Induction> GangScalars::induction(ValueId parameter) {
  const auto it = inductions_.find(parameter.index);
  return it != inductions_.end() ? it->second : inductions_[parameter.index] = find_induction(parameter);
}

std::optional<GangScalars::Induction> GangScalars::find_induction(ValueId parameter) {
  const BlockId b = f_[parameter].block;
  Increments grown;
  ValueId start;
  bool fits = true;
  for_each_edge(b, [&](BlockId, const Successor& edge) {
    const ValueId arg = edge.args[f_[parameter].index];
    grown.emplace_back();
    if (increments(parameter, arg, grown.back()) && !grown.back().empty()) return;
    fits &= arg != parameter && (!start.valid() || start == arg);
    start = arg;
    grown.back().clear();
  });
  if (!fits || !start.valid()) return std::nullopt;
  const BlockId outside = f_.def_block(start);
  if (outside == b || !dom_.dominates(outside, b)) return std::nullopt;
  return Induction{start, growth(parameter, grown)};
}

ValueId GangScalars::growth(ValueId parameter, const Increments& grown) {
  const BlockId b = f_[parameter].block;
  const Type t = gang_type(f_.type(parameter));
  for (const Growth& g : growths_)
    if (g.block == b && g.grown == grown && f_.type(g.value) == t) return g.value;
  const ValueId growth = add_parameter(b, t);
  growths_.push_back({b, grown, growth});
  u32 edge = 0;
  for_each_edge(b, [&](BlockId p, Successor& s) {
    const Place end{&at_end_[p.index], p, f_[f_.terminator(p)].pc};
    Inst zero;
    zero.op = Op::Const;
    ValueId sum = grown[edge].empty() ? emit(end, zero, {}, t) : growth;
    for (const ValueId term : grown[edge]) sum = binary(end, Op::Add, sum, first(term));
    s.args[f_[growth].index] = sum;
    ++edge;
  });
  return growth;
}

void GangScalars::finish() {
  const auto known = static_cast<u32>(before_.size()); // Later instructions are the new ones.
  for (const BlockId b : cfg_.rpo) {
    std::vector<InstId> insts = at_start_[b.index];
    insts.reserve(insts.size() + f_[b].insts.size());
    const auto append = [&](const std::vector<InstId>& more) {
      insts.insert(insts.end(), more.begin(), more.end());
    };
    for (const InstId i : f_[b].insts) {
      if (i == f_.terminator(b)) append(at_end_[b.index]);
      if (i.index < known) append(before_[i.index]);
      insts.push_back(i);
      if (i.index < known) append(after_[i.index]);
    }
    f_[b].insts = std::move(insts);
  }
}

} // namespace lanewise::passes
