// Elements that lie, for every gang alike, at known distances from each other, as in butterflies of sorting
// networks and Fourier transforms, where lanes exchange, and where lanes side by side share one. A row or two
// have them all, in another order.
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <bit>

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

/// Elements of up to 4 bytes that are known to lie near lane 0's, in one row or, of 8 lanes each, in two.
/// They are loaded whole and permuted, which takes a third of a gather, or of finding out at run time.
///
/// Nobody may access a page that no lane goes to: each row has to lie in one page, to which a lane goes.
void Selector::load_places(InstId i, const Access& a, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const ir::LanePlaces& known = f_.places[attr.places - 1u];
  const u32 row = known.row, rows = lanes() / row;
  std::array<u32, 16> from{};
  for (u32 l = 0; l < lanes(); ++l) from[l] = known.of(l) + l / row * lanes();
  const u32 last = *std::max_element(from.begin(), from.begin() + row);
  const u32 loaded = std::max(4u, std::bit_ceil(last + 1)), bytes = loaded * attr.bytes;
  const BlockId slow = b_->add_block(true), join = b_->add_block();
  out[0] = b_->add_param(join, RegClass::Vec);
  const VReg result = out[0];
  if (may_be_none(i, a)) take_none(a, join, out);
  Access by = a;
  if (!a.full && rows == 1) {
    b_->emit(Inst::kIdTest, {r32(mask_to_bits(a.mask)), imm(1)});
    branch_away(CondCode::kZero, slow);
  } else if (!a.full) {
    CondCode partial{};
    test_all(a.mask, partial);
    branch_away(partial, slow);
    by.full = true;
  }
  if (a.may_wrap && !attr.exact) {
    const i64 reach = i64{lanes()} * attr.bytes >> a.scale_log2;
    leave_if_wrapped(a, row, reach, slow);
    if (known.of(0) != 0) leave_if_wrapped(a, row, -reach, slow);
  }
  const ShortRows start = short_row_starts(a, row);
  const VReg places = table(from.data());
  const View view = view_of(4 * loaded);
  constexpr View kNarrow[] = {View::R32, View::R64, View::Xmm};
  const auto narrow_view = [&] { return bytes == 32 ? View::Half : kNarrow[bytes / 8]; };
  std::array<VReg, 2> elements{};
  for (u32 n = 0; n < rows; ++n) {
    const i64 disp = a.disp - i64{known.of(0)} * attr.bytes;
    branch_away(test_page(start.first[n], disp, bytes), slow);
    const auto distance = static_cast<u8>(std::countr_zero(attr.bytes));
    b_->faults({.kind = FaultSite::Kind::Table,
                .bytes = attr.bytes,
                .lane_offset = static_cast<u8>(row * n),
                .distance = distance});
    const Operand at = mem(start.first[n], disp, attr.bytes == 4 ? view : narrow_view());
    const u32 id = attr.bytes == 4 ? Inst::kIdVmovups : extending_move(attr);
    elements[n] = b_->def(id, view, {at, hidden(places, View::Full)});
  }
  out[0] =
      rows == 1 ? b_->op(Inst::kIdVpermd, places, elements[0]) : pick_dwords(elements[0], elements[1], from);
  if (!by.full) out[0] = zero_outside(a.mask, out[0]);
  b_->jump(join, out);
  b_->at(slow);
  load_scattered(i, a, out);
  b_->jump(join, out);
  b_->at(join);
  out[0] = result;
}

VReg Selector::permuted_mask(VReg mask, VReg order) {
  if (!avx512()) return b_->op(Inst::kIdVpermd, order, mask);
  const VReg lanes = b_->op(Inst::kIdVpermd, order, b_->op(Inst::kIdVpmovm2d, k(mask)));
  return b_->op_k(Inst::kIdVpmovd2m, vec(lanes));
}

} // namespace lanewise::x86
