#include "translator/passes/sampled_lanes.hpp"

namespace lanewise::passes {

using namespace ir;

SampledBits SampledLanes::by_chance() {
  SampledBits bits;
  for (u64& w : bits.words) w = Bdd::mixed(chance_++);
  return bits;
}

void SampledLanes::start() {
  SampledBits under_way;
  for (const SampledBits& lanes : at_) under_way = under_way | lanes;
  at_[0] = ~under_way;
}

void SampledLanes::leave(BlockId b, const SampledBits& here) {
  for (const u32 v : made_[b.index]) values_[v] = SampledBits::choose(here, values_[v], by_chance());
  ++visit_;
  const auto& successors = f_[b].successors;
  if (successors.empty()) return;
  if (successors.size() == 1) return take(successors[0], here);
  const Bdd::Node condition = lanes_[f_.operands(f_.terminator(b))[0].index];
  // A lane that is in a mask is one because of which the wave goes where one is.
  const ValueId m = f_.tested_mask(b);
  if (m.valid() && bdd_.is_literal(condition)) {
    SampledBits& any = values_[bdd_.variable(condition)];
    any = any | (evaluate(lanes_[m.index]) & here);
  }
  const SampledBits goes = evaluate(condition) & here;
  take(successors[0], goes);
  take(successors[1], here & ~goes);
}

void SampledLanes::take(const Successor& way, const SampledBits& who) {
  if (!who.any()) return;
  at_[way.block.index] = at_[way.block.index] | who;
  // Parameters may be what others become: all are known before one changes.
  const auto argument = [&](const Parameter& p) { return evaluate(lanes_[way.args[p.index].index]); };
  for (const Parameter& p : parameters_[way.block.index]) argument(p);
  for (const Parameter& p : parameters_[way.block.index])
    values_[p.variable] = SampledBits::choose(who, values_[p.variable], argument(p));
}

SampledBits SampledLanes::evaluate(Bdd::Node n) {
  SampledBits value;
  if (n > Bdd::kTrue) {
    Known& known = known_[n >> 1];
    if (known.visit != visit_) {
      const Bdd::Halves h = bdd_.branches(n & ~1u);
      known = {SampledBits::choose(values_[bdd_.variable(n)], evaluate(h.lo), evaluate(h.hi)), visit_};
    }
    value = known.value;
  }
  return (n & 1) != 0 ? ~value : value;
}

} // namespace lanewise::passes
