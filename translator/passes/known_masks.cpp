// Scans and reductions over a wave move values between lanes and select by where a lane stands: the first of
// its row has nothing to add, a move has not reached it. Such masks say the same in every wave. They become
// constants, and what is selected by one of them from what is selected by another, or has come from other
// lanes, is selected once or not at all.
#include "translator/ir/cfg.hpp"
#include "translator/ir/lane_moves.hpp"
#include "translator/passes/id_values.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <map>

namespace lanewise::passes {

using namespace ir;

namespace {

class KnownMasks {
public:
  KnownMasks(Function& f, unsigned gang_lanes) : f_(f), wave_(f.launch.lane_mask()) {
    const Cfg cfg(f);
    const auto moves = [&](BlockId b) {
      return std::ranges::any_of(f[b].insts, [&](InstId i) { return is_lane_move(f[i].op); });
    };
    if (std::ranges::none_of(cfg.rpo, moves)) return;
    const IdValues ids(f, gang_lanes);
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f[b].insts) {
        if (f[i].num_results != 1) continue;
        const ValueId v = f.result(i);
        // Shifting to and fro is how a bit is spread.
        if (f.type(v) == Type::Mask || (f[i].op == Op::AShr && f.type(v) == Type::V32))
          if (const auto lanes = lanes_of(ids, v)) known_.emplace(v.index, *lanes);
        if (f[i].op == Op::Select || (f[i].op == Op::And && f.type(v) == Type::V32)) choices_.push_back(i);
      }
  }

  bool run() {
    if (known_.empty()) return false;
    map_.resize(f_.num_values());
    for (const InstId i : choices_) choose(i);
    for (const auto& [index, lanes] : known_) {
      const ValueId v{index};
      if (f_.type(v) != Type::Mask || f_.is_const(v)) continue;
      f_.become_constant(f_.def_id(v), constant(lanes));
      changed_ = true;
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
    return changed_;
  }

private:
  Function& f_;
  const u64 wave_;           ///< the lanes that there are
  std::map<u32, u64> known_; ///< the lanes of a mask, or of a vector that is all ones in them, else 0
  std::vector<InstId> choices_;
  std::vector<ValueId> map_;
  bool changed_ = false;

  /// Of those that are the same in all waves.
  std::optional<u64> lanes_of(const IdValues& ids, ValueId v) const {
    const std::vector<u64>* values = ids.of(v);
    if (values == nullptr) return std::nullopt;
    const u64 ones = f_.type(v) == Type::Mask ? ~u64{0} : ~u32{0};
    u64 lanes = 0;
    for (std::size_t n = 0; n < values->size(); ++n) {
      const std::size_t lane = n % ids.wave_lanes();
      const u64 value = (*values)[n];
      if ((value != 0 && value != ones) || value != (*values)[lane]) return std::nullopt;
      lanes |= u64{value != 0} << lane;
    }
    return lanes;
  }

  [[nodiscard]] const u64* known(ValueId v) const {
    const auto it = known_.find(v.index);
    return it != known_.end() ? &it->second : nullptr;
  }

  /// The mask of these lanes, which is full if it has all that there are.
  [[nodiscard]] u64 constant(u64 lanes) const { return lanes == wave_ ? ~u64{0} : lanes; }

  void replace(ValueId v, ValueId by) {
    map_[v.index] = by;
    changed_ = true;
  }

  /// What `v` is in `lanes`.
  ValueId in(ValueId v, u64 lanes) const {
    for (;;) {
      while (v.index < map_.size() && map_[v.index].valid()) v = map_[v.index];
      const InstId i = f_.def_id(v);
      if (!i.valid()) return v;
      const auto x = f_.operands(i);
      const u64* taken = f_[i].op == Op::Select ? known(x[0]) : nullptr;
      if (taken != nullptr && (lanes & ~*taken) == 0)
        v = x[1];
      else if (taken != nullptr && (lanes & *taken) == 0)
        v = x[2];
      else
        return v;
    }
  }

  /// The lanes in which `v` may be something else than 0.
  u64 not_zero(ValueId v) const {
    const InstId i = f_.def_id(v);
    u64 lanes = ~u64{0}, bits = 1;
    if (f_.is_const(v, &bits) && bits == 0) return 0;
    if (!i.valid() || !is_lane_move(f_[i].op)) return lanes;
    const LaneSources sources = lane_sources(f_[i], f_.target);
    for (unsigned l = 0; l < kWaveSize; ++l)
      if (sources[l] == kNoLane) lanes &= ~(u64{1} << l);
    return lanes;
  }

  /// A select by a known mask; and-ing with what is all ones or 0 is one, too.
  void choose(InstId i) {
    const std::vector<ValueId> x(f_.operands(i).begin(), f_.operands(i).end());
    const ValueId result = f_.result(i);
    u64 lanes = 0;
    ValueId set, clear;
    if (f_[i].op == Op::Select) {
      if (known(x[0]) == nullptr) return;
      lanes = *known(x[0]), set = x[1], clear = x[2];
    } else {
      const unsigned n = known(x[0]) != nullptr ? 0 : 1;
      if (known(x[n]) == nullptr || known(result) != nullptr) return;
      lanes = *known(x[n]), set = x[1 - n], clear = f_.entry_constant(f_.type(result), 0);
    }
    set = in(set, lanes), clear = in(clear, wave_ & ~lanes);
    if (lanes == wave_ || set == clear) return replace(result, set);
    if (lanes == 0) return replace(result, clear);
    if (not_zero(clear) == 0 && (not_zero(set) & wave_ & ~lanes) == 0) return replace(result, set);
    f_[i].op = Op::Select;
    const ValueId by = f_.type(x[0]) == Type::Mask ? x[0] : f_.entry_constant(Type::Mask, constant(lanes));
    f_.set_operands(i, std::array{by, set, clear});
    changed_ = true;
  }
};

} // namespace

bool use_known_masks(Function& f, unsigned gang_lanes) { return KnownMasks(f, gang_lanes).run(); }

} // namespace lanewise::passes
