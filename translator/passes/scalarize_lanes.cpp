// Compilers spill scalar registers into the lanes of a VGPR (v_writelane, v_readlane with constant lanes).
// Each such lane is a scalar variable: readlane(x, j) is traced back through writelanes and block parameters
// to the scalars written, with new scalar parameters where paths meet. Unoptimised loops also read, in their
// first round, lanes that nobody has written, of whatever the register has: those are read before the loop.
#include "support/flat_map.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <functional>

namespace lanewise::passes {

using namespace ir;

namespace {

class LaneScalarizer {
public:
  LaneScalarizer(Function& f, const Cfg& cfg) : f_(f), cfg_(cfg), loops_(f, cfg, Dominators(f, cfg)) {}

  bool run(std::vector<InstId> reads) {
    // What cannot be traced from inner loops cannot be traced from outer ones.
    const auto depth_of = [&](InstId i) { return loops_.depth(f_[i].block); };
    std::ranges::stable_sort(reads, std::greater(), depth_of);
    bool changed = false;
    std::vector<ValueId> map;
    for (const InstId i : reads) {
      u64 lane = 0;
      const auto x = f_.operands(i);
      if (!f_.is_const(x[1], &lane)) continue;
      lane &= kWaveSize - 1;
      visited_.clear();
      steps_ = 0;
      depth_ = depth_of(i);
      if (!traceable(x[0], lane)) {
        if (steps_ > kMaxSteps) untraceable_.try_emplace(key(skip_other_lanes(x[0], lane), lane), true);
        continue;
      }
      const ValueId scalar = trace(x[0], lane);
      map.resize(f_.num_values());
      map[f_[i].first_result.index] = scalar;
      changed = true;
    }
    if (!changed) return false;
    map.resize(f_.num_values());
    f_.replace_values(map);
    return true;
  }

private:
  static constexpr unsigned kMaxSteps = 4096;
  Function& f_;
  const Cfg& cfg_;
  const Loops loops_;
  FlatMap<ValueId> memo_;     ///< (value, lane) -> scalar
  FlatMap<bool> untraceable_; ///< (value, lane) of which that was found
  FlatMap<bool> visited_;     ///< by the present search: not known to be untraceable
  unsigned steps_ = 0;
  u32 depth_ = 0; ///< of the read's loop

  static u64 key(ValueId v, u64 lane) { return u64{v.index} << 6 | lane; }

  /// The writelane below which lane `lane` of `v` does not change, or `v` itself. Registers that are full of
  /// scalars are stored, and loaded again, in the lanes that have some: EXEC is a constant meanwhile.
  ValueId skip_other_lanes(ValueId v, u64 lane) const {
    for (;;) {
      const Inst* inst = f_.def(v);
      if (inst == nullptr) return v;
      u64 bits = 0;
      const auto x = f_.operands(f_.def_id(v));
      if (inst->op == Op::Select && f_.type(x[0]) == Type::Mask && f_.is_const(x[0], &bits))
        v = x[(bits >> lane & 1) != 0 ? 1 : 2];
      else if (inst->op == Op::WriteLane && f_.is_const(x[2], &bits) && (bits & 63) != lane)
        v = x[0];
      else
        return v;
    }
  }
  template <class F>
  void for_each_argument(ValueId param, F visit) const {
    const BlockId b = f_.def_block(param);
    for (const BlockId p : cfg_.preds[b.index])
      for (const Successor& s : f_[p].successors)
        if (s.block == b && f_[param].index < s.args.size()) visit(s.args[f_[param].index]);
  }

  bool traceable(ValueId v, u64 lane) {
    v = skip_other_lanes(v, lane);
    if (memo_.find(key(v, lane)) != nullptr) return true;
    if (untraceable_.find(key(v, lane)) != nullptr || ++steps_ > kMaxSteps) return false;
    if (const auto [known, fresh] = visited_.try_emplace(key(v, lane), true); !fresh) return known;
    const Inst* inst = f_.def(v);
    bool ok = true;
    if (inst == nullptr)
      for_each_argument(v, [&](ValueId arg) { ok = ok && traceable(arg, lane); });
    else if (inst->op == Op::WriteLane)
      ok = f_.is_const(f_.operands(f_.def_id(v))[2]);
    else
      ok = inst->op == Op::Const || inst->op == Op::Splat || loops_.depth(f_.def_block(v)) < depth_;
    visited_.try_emplace(key(v, lane)).first = ok;
    if (!ok && steps_ <= kMaxSteps) untraceable_.try_emplace(key(v, lane), true);
    return ok;
  }

  ValueId trace(ValueId v, u64 lane) {
    v = skip_other_lanes(v, lane);
    if (const ValueId* known = memo_.find(key(v, lane))) return *known;
    const InstId id = f_.def_id(v);
    if (!id.valid()) return trace_parameter(v, lane);
    ValueId scalar;
    switch (f_[id].op) {
    case Op::Const: scalar = constant(v); break;
    case Op::WriteLane: scalar = f_.operands(id)[1]; break;
    case Op::Splat: scalar = f_.operands(id)[0]; break;
    default: scalar = read_behind(id, v, lane);
    }
    memo_.try_emplace(key(v, lane), scalar);
    return scalar;
  }
  ValueId trace_parameter(ValueId v, u64 lane) {
    const BlockId b = f_.def_block(v);
    const ValueId scalar = f_.add_param(b, Type::U32);
    memo_.try_emplace(key(v, lane), scalar);
    const u32 index = f_[v].index;
    // Arguments are pushed only after all parameters of this trace exist, edge by edge in parameter order:
    // the recursion below may add further parameters to `b`, whose arguments must follow this one's.
    BlockId last;
    for (const BlockId p : cfg_.preds[b.index]) {
      if (p == last) continue;
      last = p;
      for (std::size_t s = 0; s < f_[p].successors.size(); ++s) {
        if (f_[p].successors[s].block != b) continue;
        const std::size_t slot = f_[scalar].index;
        auto& args = f_[p].successors[s].args;
        if (args.size() <= slot) args.resize(slot + 1);
        const ValueId arg = trace(args[index], lane);
        f_[p].successors[s].args[slot] = arg;
      }
    }
    return scalar;
  }
  /// The lane of `v`, which `id` defines.
  ValueId read_behind(InstId id, ValueId v, u64 lane) {
    const auto& insts = f_[f_[id].block].insts;
    const InstId next = *(std::ranges::find(insts, id) + 1);
    const Type t = Type::U32;
    const InstId number =
        f_.insert_before(next, {.op = Op::Const, .pc = f_[id].pc, .imm = lane}, {}, {&t, 1});
    const ValueId operands[] = {v, f_.result(number)};
    return f_.result(f_.insert_before(next, {.op = Op::ReadLane, .pc = f_[id].pc}, operands, {&t, 1}));
  }
  /// A u32 constant equal to vector constant `v`, placed beside it.
  ValueId constant(ValueId v) {
    const Inst proto = *f_.def(v);
    const Type t = Type::U32;
    return f_.result(f_.insert_before(f_.def_id(v), proto, {}, {&t, 1}));
  }
};

} // namespace

bool scalarize_lanes(Function& f) {
  const Cfg cfg(f);
  std::vector<InstId> reads;
  for (const BlockId b : cfg.rpo)
    for (const InstId i : f[b].insts)
      if (f[i].op == Op::ReadLane) reads.push_back(i);
  return !reads.empty() && LaneScalarizer(f, cfg).run(std::move(reads));
}

} // namespace lanewise::passes
