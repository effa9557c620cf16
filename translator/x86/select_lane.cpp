// Moves between lanes. What stays within a gang is a permutation of a register; the rest reads the operand's
// slot, which an earlier phase has filled for all gangs.
#include "translator/ir/lane_moves.hpp"
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lanewise::x86 {

using ir::kNoLane;
using ir::LaneSources;

bool Selector::lane_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  switch (inst.op) {
  case Op::DppMove:
  case Op::DsSwizzle:
  case Op::ShiftLanes: return move_lanes(i, lane_sources(inst, f_.target)), true;
  case Op::WriteLane: return write_lane(i), true;
  case Op::BPermute: {
    if (!stored_whole(i, operands[1]) || !stored_whole(i, operands[2])) return true;
    const VReg lane = vand(shr_imm(reg1(operands[0]), 2), b_->splat32(63));
    const VReg active = f_.is_full(operands[2]) ? constant_mask(~u64{0}) : mask_at(operands[2], lane);
    return set(f_.result(i), gather_slot(frame_.slot[operands[1].index], lane, active)), true;
  }
  case Op::Permute: return permute(i), true;
  case Op::NthLane: return nth_lane(i), true;
  case Op::StandFor:
    return b_->store_vec(slice(runtime::kFrameSlots + kTempLanes, 0), reg1(operands[0])), true;
  default: return false;
  }
}

bool Selector::stored_whole(InstId i, ValueId v) {
  u64 bits = 0;
  if (is_in_slot(v) || f_.is_const(v, &bits)) return true;
  unsupported(i, "operand is not stored");
  return false;
}

VReg Selector::gather_slot(u32 slot, VReg lane, VReg mask) {
  return b_->gather(Inst::kIdVpgatherdd, View::Full, b_->splat32(0),
                    mem_vector(kFrame, lane, View::Full, 2, slot, View::R32), mask);
}

/// The bits of a stored mask at `lane` (0..63) of each lane.
VReg Selector::mask_at(ValueId mask, VReg lane) {
  u64 bits = 0;
  VReg lo, hi;
  if (f_.is_const(mask, &bits)) {
    lo = b_->splat32(static_cast<u32>(bits));
    hi = b_->splat32(static_cast<u32>(bits >> 32));
  } else {
    lo = b_->op(Inst::kIdVpbroadcastd, mem(kFrame, frame_.slot[mask.index], View::R32));
    hi = b_->op(Inst::kIdVpbroadcastd, mem(kFrame, frame_.slot[mask.index] + 4, View::R32));
  }
  const VReg upper = compare(ir::IntPred::UGt, lane, b_->splat32(31), false);
  const VReg bit = b_->op(Inst::kIdVpsrlvd, blend(upper, hi, lo), vand(lane, b_->splat32(31)));
  return compare(ir::IntPred::Ne, vand(bit, b_->splat32(1)), b_->splat32(0), false);
}

/// result[l] = operand[source[l]], 0 where source[l] is kNoLane. For V32 and Mask.
void Selector::move_lanes(InstId i, const LaneSources& source) {
  const ValueId operand = f_.operands(i)[0], result = f_.result(i);
  const bool is_mask = type(operand) == Type::Mask;
  bool within_gang = true, same_everywhere = true;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const unsigned g = l % lanes();
    within_gang &= source[l] == kNoLane || source[l] / lanes() == l / lanes();
    same_everywhere &= source[l] == kNoLane
                           ? source[g] == kNoLane
                           : source[g] != kNoLane && source[l] % lanes() == source[g] % lanes();
  }
  if (within_gang && (same_everywhere || goes_once())) {
    const auto own = std::span(source).subspan(goes_once() ? member_ * lanes() : 0, lanes());
    VReg v = reg1(operand);
    const int up = is_mask && avx512() ? shift_of(own) : 0;
    if (up != 0)
      return set(result, b_->op_k(up > 0 ? Inst::kIdKshiftlw : Inst::kIdKshiftrw, v, imm(std::abs(up))));
    if (is_mask && avx512()) v = b_->op(Inst::kIdVpmovm2d, k(v));
    v = permute_register(v, own);
    if (is_mask && avx512()) v = b_->op_k(Inst::kIdVpmovd2m, vec(v));
    return set(result, v);
  }
  if (!stored_whole(i, operand)) return;
  if (!is_mask && move_rows(result, frame_.slot[operand.index], source)) return;
  const VReg lane = lane_table(source);
  const VReg valid = compare(ir::IntPred::SGe, lane, b_->splat32(0), false);
  if (!is_mask) return set(result, gather_slot(frame_.slot[operand.index], lane, valid));
  set(result, mask_and(mask_at(operand, vand(lane, b_->splat32(63))), valid));
}

/// By how many lanes all of a gang move up, where those that none reaches get 0; 0 if they do not.
int Selector::shift_of(std::span<const u8> source) const {
  const auto size = static_cast<int>(lanes());
  for (int up = 1 - size; up < size; ++up) {
    bool all = up != 0;
    for (int l = 0; l < size && all; ++l) {
      const u8 from = source[static_cast<unsigned>(l)];
      all = l - up >= 0 && l - up < size ? from != kNoLane && from % size == l - up : from == kNoLane;
    }
    if (all) return up;
  }
  return 0;
}

/// The gang's part of a table of bytes, one for each lane of the wave, sign-extended.
VReg Selector::lane_table(const std::array<u8, kWaveSize>& bytes) {
  if (goes_once()) {
    std::array<u32, 16> own{};
    for (unsigned l = 0; l < lanes(); ++l)
      own[l] = static_cast<u32>(static_cast<i8>(bytes[member_ * lanes() + l]));
    return table(own.data());
  }
  const VReg first = hoisted([&] { return b_->op_r64(Inst::kIdLea, module_.constant(bytes, View::R64)); });
  return b_->op(Inst::kIdVpmovsxbd,
                mem_index(first, gang_index(), 3, 8 * index_in_team(), avx512() ? View::Xmm : View::R64));
}

/// As many lanes as a gang has, among which are all that one wants.
struct Selector::LaneWindow {
  unsigned first = 0;          ///< of the wave
  std::array<u8, 16> wanted{}; ///< behind the first
  bool in_order = true, all_present = true;
};

std::optional<Selector::LaneWindow> Selector::window_of(std::span<const u8> source) const {
  LaneWindow window{.first = kWaveSize - lanes()};
  unsigned last = 0;
  for (const u8 l : source)
    if (l != kNoLane) window.first = std::min<unsigned>(window.first, l), last = std::max<unsigned>(last, l);
  if (last >= window.first + lanes()) return std::nullopt;
  for (unsigned l = 0; l < lanes(); ++l) {
    const bool present = source[l] != kNoLane;
    window.wanted[l] = present ? static_cast<u8>(source[l] - window.first) : kNoLane;
    window.in_order &= !present || window.wanted[l] == l;
    window.all_present &= present;
  }
  return window;
}

/// Where what each gang wants lies within as many lanes as a gang has: one load and a permutation. Returns
/// whether that is so.
bool Selector::move_rows(ValueId result, u32 slot, const LaneSources& source) {
  if (goes_once()) return move_known_row(result, slot, std::span(source).subspan(member_ * lanes(), lanes()));
  LaneSources within{};                // relative to the first lane of what is loaded
  std::array<u8, kWaveSize / 8> row{}; // that lane, for every eight lanes
  bool in_order = true, all_present = true;
  for (unsigned g = 0; g < kWaveSize; g += lanes()) {
    const auto window = window_of(std::span(source).subspan(g, lanes()));
    if (!window) return false;
    std::fill_n(row.begin() + g / 8, lanes() / 8, static_cast<u8>(window->first));
    std::copy_n(window->wanted.begin(), lanes(), within.begin() + g);
    in_order &= window->in_order;
    all_present &= window->all_present;
  }
  const VReg rows = hoisted([&] { return b_->op_r64(Inst::kIdLea, module_.constant(row, View::R64)); });
  const VReg first = b_->op_r32(Inst::kIdMovzx, mem_index(rows, gang_index(), 0, index_in_team(), View::R8));
  VReg v = b_->load_vec(mem_index(kFrame, first, 2, slot, View::Full));
  if (in_order && all_present) return set(result, v), true;
  const VReg lane = lane_table(within);
  if (!in_order) v = b_->op(Inst::kIdVpermd, lane, v);
  if (!all_present) {
    const VReg valid = compare(ir::IntPred::SGe, lane, b_->splat32(0), false);
    v = blend(valid, v, b_->splat32(0));
  }
  return set(result, v), true;
}

/// The same where it is known which gang this is.
bool Selector::move_known_row(ValueId result, u32 slot, std::span<const u8> source) {
  const auto row = [&](unsigned lane, View view) { return mem(kFrame, slot + 4 * lane, view); };
  if (std::ranges::count(source, source[0]) == static_cast<std::ptrdiff_t>(lanes()))
    return set(result, source[0] == kNoLane ? b_->splat32(0)
                                            : b_->op(Inst::kIdVpbroadcastd, row(source[0], View::R32))),
           true;
  const auto window = window_of(source);
  if (!window) return false;
  const VReg v = b_->load_vec(row(window->first, View::Full));
  const bool as_it_lies = window->in_order && window->all_present;
  return set(result, as_it_lies ? v : permute_register(v, window->wanted)), true;
}

/// One register's dwords, from `source` modulo the gang's first lane.
VReg Selector::permute_register(VReg v, std::span<const u8> source) {
  std::array<u32, 16> index{}, present{};
  u64 present_bits = 0;
  bool all_present = true, within_quads = true;
  for (unsigned l = 0; l < lanes(); ++l) {
    const bool has = source[l] != kNoLane;
    index[l] = has ? source[l] % lanes() : 0;
    present[l] = has ? ~0u : 0;
    present_bits |= u64{has} << l;
    all_present &= has;
    within_quads &= has && index[l] / 4 == l / 4 && index[l] % 4 == index[l % 4];
  }
  if (within_quads)
    return b_->op(Inst::kIdVpshufd, v, imm(index[0] | index[1] << 2 | index[2] << 4 | index[3] << 6));
  const VReg positions = table(index.data());
  if (all_present) return b_->op(Inst::kIdVpermd, positions, v);
  if (avx512()) {
    const VReg mask = b_->mask_const(present_bits);
    return b_->zero_masked(mask).op(Inst::kIdVpermd, positions, v);
  }
  return vand(b_->op(Inst::kIdVpermd, positions, v), table(present.data()));
}

void Selector::write_lane(InstId i) {
  const auto operands = f_.operands(i);
  const VReg old = reg1(operands[0]);
  const VReg value = splat(Type::V32, reg1(operands[1])).r[0];
  u64 lane = 0;
  VReg mask;
  if (f_.is_const(operands[2], &lane)) {
    mask = constant_mask(u64{1} << (lane % kWaveSize));
  } else {
    const VReg wanted = b_->op_r32_tied(Inst::kIdAnd, reg1(operands[2]), imm(63));
    mask = compare(ir::IntPred::Eq, lane_ids(), splat(Type::V32, wanted).r[0], false);
  }
  set(f_.result(i), blend(mask, value, old));
}

/// Pushes into a row in the temporary area, lane after lane of the whole wave, of which the gang takes its
/// slice.
void Selector::permute(InstId i) {
  const auto operands = f_.operands(i);
  for (const ValueId v : {operands[0], operands[1]})
    if (!is_in_slot(v)) return unsupported(i, "operand is not stored");
  if (!stored_whole(i, operands[2])) return;
  const VReg zero = b_->splat32(0);
  for (unsigned g = 0; g < gangs(); ++g)
    b_->store_vec(temp(kTempResults + g * module_.vec_bytes(), View::Full), zero);
  u64 bits = 0;
  const VReg all = f_.is_const(operands[2], &bits)
                       ? b_->const64(bits)
                       : b_->load64(mem(kFrame, frame_.slot[operands[2].index], View::R64));
  const BlockId loop = b_->add_block(), done = b_->add_block();
  const VReg rest = b_->add_param(loop, RegClass::Gpr);
  b_->emit(Inst::kIdTest, {r64(all), r64(all)});
  b_->branch(CondCode::kNotZero, loop, {&all, 1}, done, {});
  b_->at(loop);
  const VReg lane = b_->op_r64(Inst::kIdTzcnt, r64(rest));
  VReg to = b_->load32(mem_index(kFrame, lane, 2, frame_.slot[operands[0].index], View::R32));
  to = b_->op_r32_tied(Inst::kIdAnd, to, imm(0xfc));
  const VReg value = b_->load32(mem_index(kFrame, lane, 2, frame_.slot[operands[1].index], View::R32));
  b_->store32(temp_lane(kTempResults, to, 0, View::R32), value);
  const VReg next = b_->op_r64(Inst::kIdBlsr, r64(rest));
  b_->branch(CondCode::kNotZero, loop, {&next, 1}, done, {});
  b_->at(done);
  set(f_.result(i), b_->load_vec(slice(runtime::kFrameSlots + kTempResults, 0)));
}

void Selector::nth_lane(InstId i) {
  if (!in_ranks()) return unsupported(i, "not in ranks");
  VReg rest = reg1(f_.operands(i)[0]);
  if (plan_.phases[phase_].first_gangs != 1) { // Those of the gangs before are not its.
    const VReg from = b_->op_r64(Inst::kIdShlx, r64(b_->const64(~u64{0})), r64(first_lane()));
    rest = b_->op_r64(Inst::kIdPdep, r64(from), r64(rest));
  }
  set(f_.result(i), avx512() && options_.vbmi2 ? numbers_of(rest) : numbers_one_by_one(rest));
}

/// Of the first bits that are set, a lane for each; 0 behind the last. AVX-512 with VBMI2.
VReg Selector::numbers_of(VReg bits) {
  std::array<u8, 64> numbers{};
  std::iota(numbers.begin(), numbers.end(), u8{0});
  b_->zero_masked(b_->op_k(Inst::kIdKmovq, r64(bits)));
  const VReg first = b_->op(Inst::kIdVpcompressb, table(numbers.data()));
  return b_->op(Inst::kIdVpmovzxbd, xmm(first));
}

VReg Selector::numbers_one_by_one(VReg rest) {
  std::array<VReg, 4> fours{};
  for (unsigned n = 0; n < lanes(); ++n) {
    const VReg lane = b_->op_r64(Inst::kIdTzcnt, r64(rest)); // 64 behind the last
    VReg& four = fours[n / 4];
    four = n % 4 == 0 ? b_->def(Inst::kIdVmovd, View::Xmm, {r32(lane)})
                      : b_->def(Inst::kIdVpinsrd, View::Xmm, {xmm(four), r32(lane), imm(n % 4)});
    rest = b_->op_r64(Inst::kIdBlsr, r64(rest));
  }
  const auto pair = [&](unsigned n) {
    return b_->def(Inst::kIdVinserti128, avx512() ? View::Half : View::Full,
                   {avx512() ? half(fours[n]) : vec(fours[n]), xmm(fours[n + 1]), imm(1)});
  };
  VReg list = pair(0);
  if (avx512()) list = b_->op(Inst::kIdVinserti64x4, list, half(pair(2)), imm(1));
  return vand(list, b_->splat32(63));
}

} // namespace lanewise::x86
