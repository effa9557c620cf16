// Tiles in the LDS are indexed by x + width * y. Where a workgroup is a full wave and has rows of that width,
// this is the number of the lane, whatever the width: so that tiles narrower than a gang are rows of memory,
// too, and those that are as wide go on through the wave.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/value_limits.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

class LaneIds {
public:
  explicit LaneIds(Function& f) : f_(f), limits_(f) {
    const auto& size = f.launch.workgroup;
    place_ = {1, size[0], size[0] * size[1]};
  }

  bool run() {
    std::vector<std::pair<InstId, Sum>> found;
    for (const BlockId b : Cfg(f_).rpo)
      for (const InstId i : f_[b].insts)
        if (f_[i].op == Op::Add || f_[i].op == Op::Or)
          if (const auto sum = sum_of_ids(i)) found.emplace_back(i, *sum);
    if (found.empty()) return false;
    const Type t = Type::V32;
    Inst lane;
    lane.op = Op::LaneId;
    const ValueId id = f_.result(f_.insert_first(BlockId{0}, lane, {}, {&t, 1}));
    for (const auto& [i, sum] : found) {
      const ValueId factor = f_.entry_constant(t, sum.factors[0]), offset = f_.entry_constant(t, sum.offset);
      Inst product;
      product.op = Op::Mul;
      product.pc = f_[i].pc;
      const ValueId x[] = {id, factor};
      const InstId made = f_.insert_before(i, product, x, {&t, 1});
      const ValueId terms[] = {f_.result(made), offset};
      f_.set_operands(i, terms);
      f_[i].op = Op::Add;
    }
    return true;
  }

private:
  static constexpr unsigned kMaxDepth = 6;
  struct Sum {
    std::array<u32, 3> factors = {}; ///< of the ids
    u32 offset = 0;
  };

  Function& f_;
  std::array<u32, 3> place_; ///< factors of the ids in the number of a work-item
  const ValueLimits limits_;

  [[nodiscard]] bool is_deep() const { return f_.launch.workgroup[2] > 1; }

  /// Of an Add or Or: what multiplies the lane.
  [[nodiscard]] std::optional<Sum> sum_of_ids(InstId i) const {
    Sum sum;
    if (f_.type(f_.result(i)) != Type::V32 || !add(sum, f_.result(i), 1, 0)) return std::nullopt;
    const u32 factor = sum.factors[0];
    const bool is_lane = factor != 0 && sum.factors[1] == factor * place_[1] &&
                         (!is_deep() || sum.factors[2] == factor * place_[2]);
    return is_lane ? std::optional(sum) : std::nullopt;
  }

  /// Adds `v` times a factor; false if it is no sum of multiples of ids and constants.
  bool add(Sum& sum, ValueId v, u32 factor, unsigned depth) const {
    const InstId i = f_.def_id(v);
    if (!i.valid() || depth > kMaxDepth) return false;
    const auto x = f_.operands(i);
    u64 bits = 0;
    switch (f_[i].op) {
    case Op::InitVgpr: return sum.factors[f_[i].imm] += factor, true;
    case Op::Const: return sum.offset += factor * static_cast<u32>(f_[i].imm), true;
    case Op::Or: // of bits that keep apart
      if (!limits_.disjoint_bits(x[0], x[1])) return false;
      [[fallthrough]];
    case Op::Add: return add(sum, x[0], factor, depth + 1) && add(sum, x[1], factor, depth + 1);
    case Op::Shl: return f_.is_const(x[1], &bits) && add(sum, x[0], factor << (bits & 31), depth + 1);
    case Op::Mul:
      if (f_.is_const(x[0], &bits)) return add(sum, x[1], factor * static_cast<u32>(bits), depth + 1);
      return f_.is_const(x[1], &bits) && add(sum, x[0], factor * static_cast<u32>(bits), depth + 1);
    default: return false;
    }
  }
};

} // namespace

bool use_lane_ids(Function& f) {
  const bool has_rows = f.launch.workgroup[1] > 1 || f.launch.workgroup[2] > 1;
  return f.launch.one_wave() && f.launch.full_waves() && has_rows && LaneIds(f).run();
}

} // namespace lanewise::passes
