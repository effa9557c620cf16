// In a comparison for equality with what is the same in all lanes, the lanes that it is true for have the
// same on its other side. If that differs from lane to lane wherever an id does, they have the same id.
// Work-items that have all ids in common are one.
#include "translator/passes/single_lanes.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/passes/lane_shape.hpp"

#include <bit>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr u8 kAllAxes = 7;
constexpr unsigned kMaxDepth = 6;
constexpr unsigned kMaxRounds = 32; ///< of what loops hand on

class Comparisons {
public:
  Comparisons(const Function& f, const Cfg& cfg) : f_(f), shapes_(f, cfg, kWaveSize) {
    for (u32 axis = 1; axis < 3; ++axis)
      if (f.launch.is_uniform(axis, kWaveSize)) same_ |= static_cast<u8>(1 << axis);
  }

  /// The axes along which all lanes have the same id for which `i`, an ICmp for equality, is true.
  [[nodiscard]] u8 axes(InstId i) const {
    const auto x = f_.operands(i);
    for (const unsigned n : {0u, 1u})
      if (is_vector(f_.type(x[n])) && shapes_[x[1 - n]].uniform()) {
        u64 bits = 1;
        return told_apart(x[n], f_.is_const(x[1 - n], &bits) && bits == 0, 0);
      }
    return 0;
  }

private:
  const Function& f_;
  const LaneShapes shapes_;
  u8 same_ = 0; ///< axes along which all lanes of a wave have the same id

  /// The axes along which lanes have the same id where they have the same `v`, or 0 if `is_zero` says so.
  [[nodiscard]] u8 told_apart(ValueId v, bool is_zero, unsigned depth) const {
    const InstId i = f_.def_id(v);
    const LaneShape& shape = shapes_[v];
    const auto zeros = static_cast<unsigned>(std::countr_zero(static_cast<u64>(shape.stride)));
    if (shape.strided() && zeros + std::bit_width(kWaveSize - 1) < bit_width(f_.type(v))) return kAllAxes;
    if (!i.valid() || depth > kMaxDepth) return same_;
    const auto x = f_.operands(i);
    u64 bits = 0;
    switch (f_[i].op) {
    case Op::InitVgpr: return f_[i].imm < 3 ? same_ | static_cast<u8>(1 << f_[i].imm) : same_;
    case Op::ZExt:
    case Op::SExt: return told_apart(x[0], is_zero, depth + 1);
    case Op::Shl: // of what has room above
      return f_.is_const(x[1], &bits) &&
                     std::bit_width(shapes_.limits().max(x[0])) + bits < bit_width(f_.type(v))
                 ? told_apart(x[0], is_zero, depth + 1)
                 : same_;
    case Op::Or:
    case Op::Add:
      if ((is_zero && f_[i].op == Op::Or) || shapes_.limits().disjoint_bits(x[0], x[1]))
        return told_apart(x[0], is_zero, depth + 1) | told_apart(x[1], is_zero, depth + 1);
      for (const unsigned n : {0u, 1u})
        if (f_[i].op == Op::Add && shapes_[x[n]].uniform()) return told_apart(x[1 - n], false, depth + 1);
      return same_;
    default: return same_;
    }
  }
};

/// Whether lanes of a wave are different work-items for sure.
bool has_ids(const Function& f) {
  return !f.launch.packs &&
         (f.launch.row_multiple != 0 || (f.launch.knows_workgroup() && f.launch.items() != 1));
}

bool is_comparison(const Function& f, InstId i) {
  return f[i].op == Op::ICmp && static_cast<IntPred>(f[i].imm) == IntPred::Eq &&
         f.type(f.result(i)) == Type::Mask;
}

} // namespace

SingleLanes::SingleLanes(const Function& f) {
  const Cfg cfg(f);
  bool compares = false;
  for (const BlockId b : cfg.rpo)
    for (const InstId i : f[b].insts) compares |= is_comparison(f, i);
  if (!compares || !has_ids(f)) return;
  const Comparisons comparisons(f, cfg);
  const Dominators dom(f, cfg);
  known_.resize(f.num_values());

  const auto rooted = [](ValueId root) { return Known{true, kAllAxes, root}; };
  /// What is known of `a` or of `b`, whichever it is; with `both`, of lanes of the two.
  const auto either = [](const Known& a, const Known& b, bool both) {
    if (!a.seen || !b.seen) return a.seen ? a : b;
    if (a.root.valid() && a.root == b.root) return a;
    return Known{true, both ? u8{0} : static_cast<u8>(a.axes & b.axes), {}};
  };
  const auto of = [&](InstId i) {
    const auto x = f.operands(i);
    const ValueId result = f.result(i);
    const auto made = [&](u8 axes) { return axes == kAllAxes ? rooted(result) : Known{true, axes, {}}; };
    u64 bits = 0;
    switch (f[i].op) {
    case Op::Const:
      bits = f[i].imm;
      return bits == 0 ? Known{} : made(std::has_single_bit(bits) ? kAllAxes : u8{0});
    case Op::ICmp: return made(is_comparison(f, i) ? comparisons.axes(i) : u8{0});
    case Op::AndNot: return known_[x[0].index];
    case Op::And: {
      const Known &a = known_[x[0].index], &b = known_[x[1].index];
      if (!a.seen || !b.seen) return Known{};
      if (a.root.valid() || b.root.valid()) return a.root.valid() ? a : b;
      return made(a.axes | b.axes);
    }
    case Op::Or: return either(known_[x[0].index], known_[x[1].index], true);
    case Op::Select: return either(known_[x[1].index], known_[x[2].index], true);
    default: return Known{true, 0, {}};
    }
  };
  // A parameter's lane is its arguments', if theirs comes from what cannot have been computed anew since:
  // from a block that all ways to the parameter's lead through.
  const auto handed_on = [&](BlockId b, std::size_t p) {
    Known known;
    for (const BlockId pred : cfg.preds[b.index])
      for (const Successor& s : f[pred].successors)
        if (s.block == b) known = either(known, known_[s.args[p].index], false);
    if (known.root.valid() && (f.def_block(known.root) == b || !dom.dominates(f.def_block(known.root), b)))
      known.root = {};
    return known.axes == kAllAxes && !known.root.valid() ? rooted(f[b].params[p]) : known;
  };
  unsigned rounds = 0;
  for (bool again = true; again;) {
    again = false;
    if (++rounds > kMaxRounds) {
      known_.clear();
      return;
    }
    const auto update = [&](ValueId v, const Known& known) {
      if (f.type(v) != Type::Mask || known_[v.index] == known) return;
      known_[v.index] = known;
      again = true;
    };
    for (const BlockId b : cfg.rpo) {
      for (std::size_t p = 0; p < f[b].params.size(); ++p)
        if (f.type(f[b].params[p]) == Type::Mask) update(f[b].params[p], handed_on(b, p));
      for (const InstId i : f[b].insts)
        for (unsigned r = 0; r < f[i].num_results; ++r)
          if (f.type(f.result(i, r)) == Type::Mask) update(f.result(i, r), of(i));
    }
  }
  for (const Known& known : known_) any_ |= known.root.valid();
}

} // namespace lanewise::passes
