// Sums of several numbers are added up in the order in which these come to be there: what is late is added
// last, and is waited for by one addition instead of several. (A step of MD5 begins with what it has made of
// the step before, and goes on with a constant and a word of the message, which have been there all along.)
// In a loop that is late which the round before hands on. Additions wrap, so that any order gives the same.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Roughly, in cycles.
u32 latency_of(const Function& f, InstId i) {
  switch (f[i].op) {
  case Op::Const:
  case Op::Splat:
  case Op::LaneId:
  case Op::InitSgpr:
  case Op::InitVgpr: return 0;
  case Op::Mul:
  case Op::UMulHi:
  case Op::SMulHi:
  case Op::UMulWide:
  case Op::SMulWide: return 8;
  case Op::UDiv: return 30;
  default: return info(f[i].op).is(kLoads) ? 12 : info(f[i].op).is(kFloat) ? 4 : 1;
  }
}

class Orderer {
public:
  explicit Orderer(Function& f)
      : f_(f), cfg_(f), uses_(f.use_counts()), when_(f.num_values(), 0), is_added_(f.num_values(), false),
        place_(f.num_insts(), 0) {}

  void run() {
    for (const BlockId b : cfg_.rpo) {
      order(b);
      for (const Successor& s : f_[b].successors)
        for (std::size_t n = 0; !is_back(b, s) && n < s.args.size(); ++n) {
          u32& when = when_[f_[s.block].params[n].index];
          when = std::max(when, when_of(s.args[n]));
        }
    }
  }

private:
  static constexpr std::size_t kMaxParts = 16;
  Function& f_;
  const Cfg cfg_;
  const std::vector<u32> uses_;
  std::vector<u32> when_;      ///< per value: in which cycle it is there
  std::vector<bool> is_added_; ///< per value: by a sum in its block, and nobody else uses it
  std::vector<u32> place_;     ///< per instruction, in its block
  // Of the sum at hand:
  std::vector<InstId> sums_;   ///< it and the sums that are parts of it, in the order of the block
  std::vector<ValueId> parts_; ///< what is added up
  ValueId handed_on_;          ///< the one of these that the round before has handed on, if it is in a loop

  [[nodiscard]] bool is_back(BlockId from, const Successor& s) const {
    return cfg_.rpo_index[s.block.index] <= cfg_.rpo_index[from.index];
  }
  [[nodiscard]] bool is_sum(InstId i) const {
    return f_[i].op == Op::Add && (f_.type(f_.result(i)) == Type::V32 || f_.type(f_.result(i)) == Type::V64);
  }
  /// What is handed on comes after everything else.
  [[nodiscard]] u32 when_of(ValueId v) const {
    constexpr u32 kLate = 1 << 20;
    return v == handed_on_ ? kLate : when_[v.index];
  }

  void order(BlockId b) {
    std::vector<InstId>& insts = f_[b].insts;
    for (u32 n = 0; n < insts.size(); ++n) {
      place_[insts[n].index] = n;
      if (is_sum(insts[n]))
        for (const ValueId v : f_.operands(insts[n])) is_added_[v.index] = uses_[v.index] == 1;
    }
    bool moved = false;
    for (const InstId i : insts) {
      handed_on_ = {};
      find_when(i);
      if (is_sum(i) && !is_part(f_.result(i), b)) moved |= order_sum(i);
    }
    if (moved) std::ranges::stable_sort(insts, {}, [&](InstId i) { return place_[i.index]; });
  }
  void find_when(InstId i) {
    u32 start = 0;
    for (const ValueId v : f_.operands(i)) start = std::max(start, when_of(v));
    for (unsigned r = 0; r < f_[i].num_results; ++r) when_[f_.result(i, r).index] = start + latency_of(f_, i);
  }
  /// Of another sum in the block, and of nothing else.
  [[nodiscard]] bool is_part(ValueId v, BlockId b) const {
    const InstId def = f_.def_id(v);
    return is_added_[v.index] && def.valid() && f_[def].block == b && is_sum(def);
  }

  /// Whether it is there sooner in the new order.
  bool order_sum(InstId last) {
    const BlockId b = f_[last].block;
    const ValueId sum = f_.result(last);
    sums_ = {last};
    parts_.clear();
    for (std::size_t n = 0; n < sums_.size(); ++n)
      for (const ValueId v : f_.operands(sums_[n])) {
        if (is_part(v, b))
          sums_.push_back(f_.def_id(v));
        else
          parts_.push_back(v);
      }
    if (sums_.size() == 1 || parts_.size() > kMaxParts) return false;
    std::ranges::sort(sums_, {}, [&](InstId i) { return place_[i.index]; });
    handed_on_ = handed_on_as(sum, b);
    for (const InstId i : sums_) find_when(i);
    std::ranges::stable_sort(parts_, {}, [&](ValueId v) { return when_of(v); });
    u32 when = when_of(parts_[0]);
    for (const ValueId v : std::span(parts_).subspan(1)) when = std::max(when, when_of(v)) + 1;
    const bool is_sooner = when < when_[sum.index];
    if (is_sooner) rewrite(b);
    handed_on_ = {};
    for (const InstId i : sums_) find_when(i);
    return is_sooner;
  }

  /// The part that is a parameter of a loop which goes round from `b` with the sum in its place.
  [[nodiscard]] ValueId handed_on_as(ValueId sum, BlockId b) const {
    for (const Successor& s : f_[b].successors)
      for (std::size_t n = 0; is_back(b, s) && n < s.args.size(); ++n)
        if (const ValueId param = f_[s.block].params[n];
            s.args[n] == sum && std::ranges::find(parts_, param) != parts_.end())
          return param;
    return {};
  }

  /// Each sum goes to where one of them was, and all it adds up is there.
  void rewrite(BlockId b) {
    std::vector<u32> places;
    for (const InstId i : sums_) places.push_back(place_[i.index]);
    ValueId so_far = parts_[0];
    std::size_t at = 0;
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      at = std::max(at, n);
      for (const ValueId v : {so_far, parts_[n + 1]})
        if (const InstId def = f_.def_id(v); def.valid() && f_[def].block == b)
          while (places[at] < place_[def.index]) ++at;
      place_[sums_[n].index] = places[at];
      f_.set_operands(sums_[n], std::array{so_far, parts_[n + 1]});
      so_far = f_.result(sums_[n]);
    }
  }
};

} // namespace

void order_sums(Function& f) { Orderer(f).run(); }

} // namespace lanewise::passes
