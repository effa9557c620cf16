// Dwords in the LDS that lie, for every gang alike, at distances that work-item ids tell: butterflies of
// sorting networks and Fourier transforms, lanes that exchange. A row or two have them all, in another order.
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

/// Only where the row does not go beyond the lanes' own places: there it is in range.
std::optional<Selector::Places> Selector::lds_places(InstId i) {
  const ir::Inst& inst = f_[i];
  const ir::MemAttr& attr = inst.mem;
  if ((inst.op != Op::Load && inst.op != Op::Store) || attr.space != ir::Space::Lds || !attr.in_range ||
      attr.form != ir::AddressForm::Lanes || attr.bytes != 4 || f_[inst.block].in_ranks)
    return std::nullopt;
  if (!ids_) ids_.emplace(f_, lanes());
  const std::vector<u64>* at = ids_->of(f_.operands(i)[0]);
  if (at == nullptr) return std::nullopt;
  std::array<i64, 16> of_lane{};
  const std::span<i64> distance = std::span(of_lane).first(lanes());
  for (u32 l = 0; l < lanes(); ++l) distance[l] = static_cast<i64>((*at)[l] - (*at)[0]);
  for (u32 n = 0; n < at->size(); ++n)
    if (static_cast<i64>((*at)[n] - (*at)[n / lanes() * lanes()]) != distance[n % lanes()])
      return std::nullopt;
  const auto [low, high] = std::ranges::minmax(distance);
  const i64 row = module_.vec_bytes(), size = high + 4 - low;
  if (size < row || size > 2 * row) return std::nullopt;
  Places places{.rows = {low, high + 4 - row}, .count = size == row ? 1u : 2u};
  for (u32 l = 0; l < lanes(); ++l) {
    if ((distance[l] - low) % 4 != 0) return std::nullopt;
    const auto dword = static_cast<u32>((distance[l] - low) / 4);
    places.dword[l] = dword;
    if (inst.op == Op::Store &&
        std::ranges::count(places.dword.begin(), places.dword.begin() + l, dword) != 0)
      return std::nullopt;
  }
  return places;
}

void Selector::access_places(InstId i, const Places& places, std::span<VReg> out) {
  Access a = lds_access(i);
  const VReg base = first_address(a);
  const auto row = [&](u32 r) { return mem(base, a.disp + places.rows[r]); };
  const auto first = [&](u32 r) { return static_cast<u32>((places.rows[r] - places.rows[0]) / 4); };
  std::array<VReg, 2> rows{};
  const bool blends = f_[i].op == Op::Store && !avx512();
  if (f_[i].op == Op::Load || blends)
    for (u32 r = 0; r < places.count; ++r) rows[r] = b_->load_vec(row(r));
  if (f_[i].op == Op::Load) {
    std::array<u32, 16> from{};
    for (u32 l = 0; l < lanes(); ++l) {
      const u32 d = places.dword[l];
      from[l] = d < lanes() ? d : lanes() + d - first(1);
    }
    out[0] = places.count == 1 ? b_->op(Inst::kIdVpermd, table(from.data()), rows[0])
                               : pick_dwords(rows[0], rows[1], from);
    if (!a.full) out[0] = zero_outside(a.mask, out[0]);
    return;
  }
  std::array<VReg, 4> values{};
  const VReg data = stored_data(i, values)[0];
  for (u32 r = 0; r < places.count; ++r) { // What both have they both have of the same lane.
    std::array<u32, 16> lane{}, is_stored{};
    u64 stored = 0;
    for (u32 l = 0; l < lanes(); ++l)
      if (const u32 d = places.dword[l] - first(r); d < lanes()) {
        lane[d] = l;
        is_stored[d] = ~0u;
        stored |= u64{1} << d;
      }
    const VReg order = table(lane.data());
    const VReg moved = b_->op(Inst::kIdVpermd, order, data);
    VReg mask = blends ? table(is_stored.data()) : b_->mask_const(stored);
    if (!a.full) mask = mask_and(permuted_mask(a.mask, order), mask);
    if (blends)
      rows[r] = blend(mask, moved, rows[r]);
    else
      masked_store(mask, row(r), moved);
  }
  if (blends)
    for (u32 r = 0; r < places.count; ++r) b_->store_vec(row(r), rows[r]);
}

VReg Selector::permuted_mask(VReg mask, VReg order) {
  if (!avx512()) return b_->op(Inst::kIdVpermd, order, mask);
  const VReg lanes = b_->op(Inst::kIdVpermd, order, b_->op(Inst::kIdVpmovm2d, k(mask)));
  return b_->op_k(Inst::kIdVpmovd2m, vec(lanes));
}

} // namespace lanewise::x86
