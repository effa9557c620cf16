#include "translator/passes/id_values.hpp"

#include "translator/ir/evaluate.hpp"
#include "translator/ir/lane_moves.hpp"

#include <array>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 48;
constexpr u32 kBudget = 1 << 18; ///< numbers for a function

/// Of each lane for itself, and known to ir::evaluate.
bool is_lane_by_lane(Op op) {
  const OpInfo& i = info(op);
  return i.is(kPure) && !i.is(kFloat) && op != Op::AnyLane && op != Op::MaskToU64 && op != Op::U64ToMask;
}

} // namespace

IdValues::IdValues(const Function& f, unsigned gang_lanes)
    : f_(f), gang_lanes_(gang_lanes), wave_lanes_(f.launch.wave_lanes), num_lanes_(wave_lanes_) {
  const auto& launch = f.launch;
  const auto& [x, y, z] = launch.workgroup;
  const bool is_line = y == 1 && z == 1;
  const bool is_ragged = launch.ragged[0] || launch.ragged[1] || launch.ragged[2];
  knows_all_ = launch.knows_workgroup() && launch.items() != 1 && (is_line || !is_ragged);
  knows_x_ = knows_all_ || launch.x_counts(wave_lanes_);
  if (knows_x_) num_lanes_ = align_up(knows_all_ ? launch.items() : launch.max_work_item(0) + 1, wave_lanes_);
}

IdValues::Lanes IdValues::work_item_ids(u32 axis) const {
  if (axis != 0 && !knows_all_) return std::nullopt;
  if (!knows_x_) return std::nullopt;
  const auto& [x, y, z] = f_.launch.workgroup;
  const u32 items = knows_all_ ? f_.launch.items() : num_lanes_;
  std::vector<u64> ids(num_lanes_);
  for (u32 n = 0; n < num_lanes_; ++n) {
    // The numbering goes on behind the last work-item along x (abi/initial_state.hpp).
    const u32 item = std::min(n, items - 1), behind = n - item;
    if (!knows_all_)
      ids[n] = n;
    else
      ids[n] = axis == 0 ? item % x + behind : axis == 1 ? item / x % y : item / x / y;
  }
  return ids;
}

template <class Compute>
const std::vector<u64>* IdValues::remember(Memory& memory, ValueId v, unsigned depth, Compute compute) const {
  const auto [known, is_new] = memory.try_emplace(v.index);
  Lanes& lanes = known->second; // stays where it is
  if (is_new && depth < kMaxDepth && computed_ < kBudget) {
    Lanes made = compute();
    if (made) computed_ += num_lanes_;
    lanes = std::move(made);
  }
  return lanes ? &*lanes : nullptr;
}

const std::vector<u64>* IdValues::of(ValueId v, unsigned depth) const {
  return remember(known_, v, depth, [&] { return compute(v, depth); });
}

IdValues::Lanes IdValues::compute(ValueId v, unsigned depth) const {
  u64 bits = 0;
  if (f_.is_const(v, &bits)) {
    std::vector<u64> made(num_lanes_, bits);
    if (f_.type(v) == Type::Mask)
      for (u32 n = 0; n < num_lanes_; ++n) made[n] = 0 - (bits >> n % wave_lanes_ & 1);
    return made;
  }
  const InstId i = f_.def_id(v);
  if (!i.valid() || f_[i].num_results != 1 || f_[f_[i].block].in_ranks) return std::nullopt;
  const Inst& inst = f_[i];
  if (inst.op == Op::InitVgpr) return work_item_ids(static_cast<u32>(inst.imm));
  std::vector<u64> made(num_lanes_);
  if (inst.op == Op::LaneId) {
    for (u32 n = 0; n < num_lanes_; ++n) made[n] = n % wave_lanes_;
    return made;
  }
  const auto operands = f_.operands(i);
  if (is_lane_move(inst.op)) {
    const auto* from = of(operands[0], depth + 1);
    if (from == nullptr) return std::nullopt;
    const LaneSources sources = lane_sources(inst, f_.target);
    for (u32 n = 0; n < num_lanes_; ++n) {
      const u32 lane = n % wave_lanes_, source = sources[lane];
      if (source != kNoLane && source >= wave_lanes_) return std::nullopt;
      made[n] = source == kNoLane ? 0 : (*from)[n - lane + source];
    }
    return made;
  }
  if (!is_lane_by_lane(inst.op) || operands.empty() || operands.size() > 3) return std::nullopt;
  std::array<const std::vector<u64>*, 3> x = {};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    x[k] = of(operands[k], depth + 1);
    if (x[k] == nullptr) return std::nullopt;
  }
  const Type result = f_.type(v), operand = f_.type(operands[0]);
  for (u32 n = 0; n < num_lanes_; ++n) {
    std::array<u64, 3> values = {};
    for (std::size_t k = 0; k < operands.size(); ++k) values[k] = (*x[k])[n];
    if (inst.op == Op::GangFirst) {
      made[n] = (*x[0])[n / gang_lanes_ * gang_lanes_];
    } else if (inst.op == Op::Select) {
      made[n] = values[0] != 0 ? values[1] : values[2];
    } else {
      const auto one = evaluate(inst.op, result, operand, inst.imm, {values.data(), operands.size()});
      if (!one) return std::nullopt;
      made[n] = *one;
    }
  }
  return made;
}

const std::vector<u64>* IdValues::at_most(ValueId mask, unsigned depth) const {
  return remember(most_, mask, depth, [&] { return compute_most(mask, depth); });
}

IdValues::Lanes IdValues::compute_most(ValueId mask, unsigned depth) const {
  if (const auto* exact = of(mask, depth)) return *exact;
  const InstId i = f_.def_id(mask);
  if (!i.valid()) return std::nullopt;
  const Op op = f_[i].op;
  if (op != Op::And && op != Op::Or && op != Op::AndNot) return std::nullopt;
  const ValueId x = f_.operands(i)[0], y = f_.operands(i)[1];
  const auto* a = at_most(x, depth + 1);
  // Of what is taken away no more may be than there is for sure.
  const auto* b = op == Op::AndNot ? of(y, depth + 1) : at_most(y, depth + 1);
  if ((a == nullptr && b == nullptr) || (op == Op::Or && (a == nullptr || b == nullptr))) return std::nullopt;
  std::vector<u64> made(num_lanes_);
  for (u32 n = 0; n < num_lanes_; ++n) {
    const u64 first = a != nullptr ? (*a)[n] : ~u64{0};
    const u64 second = b != nullptr ? (*b)[n] : op == Op::AndNot ? 0 : ~u64{0};
    made[n] = op == Op::And ? first & second : op == Op::Or ? first | second : first & ~second;
  }
  return made;
}

} // namespace lanewise::passes
