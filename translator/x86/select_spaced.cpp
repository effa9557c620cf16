// Elements of 8, 12 or 16 bytes at a fixed distance that is not their size, as in arrays of structures: each
// lane's element by one scalar-addressed access, and shuffles to and from one register per dword. A gather or
// scatter would take as many accesses for each dword. Elements that overlap are rows of smaller ones. What
// has no scatter is stored to any addresses likewise, and 12 or 16 bytes are loaded from any.
#include "translator/ir/access.hpp"
#include "translator/phases/load_loops.hpp"
#include "translator/x86/selector.hpp"

#include <bit>

namespace lanewise::x86 {

namespace {

constexpr i64 kMaxWithinPage = kPage / 4; ///< bytes: as many cache lines as lanes, at worst

} // namespace

Operand Selector::spaced_element(const Access& a, const Spacing& s, unsigned lane, unsigned bytes,
                                 unsigned from) {
  const u32 row = s.rows.lanes != 0 ? s.rows.lanes : lanes();
  const VReg base = s.rows.lanes != 0 ? s.rows.first[lane / row]
                    : s.stride == 0   ? lane_address(a, lane)
                                      : a.base;
  const i64 place = lane % row;
  b_->faults({.kind = FaultSite::Kind::Contiguous,
              .bytes = static_cast<u8>(from + bytes),
              .lane_offset = static_cast<u8>(lane),
              .early = static_cast<u8>(from),
              .is_write = s.is_write});
  constexpr View kViews[] = {View::R8, View::R16, View::R32, View::R64, View::Xmm};
  const View view = bytes == 12 ? View::Xmm : kViews[std::countr_zero(bytes)];
  return mem(base, a.disp + from + place * s.stride, view);
}

/// Elements of 12 bytes can be spaced ones: all lanes but the last may read four bytes more, which lie in
/// front of the next lane's element or in a page that this one begins in.
bool Selector::can_be_spaced(u32 bytes, i64 stride) {
  return bytes == 8 || bytes == 16 || (bytes == 12 && stride >= 16 && stride <= kPage);
}

// On the way elements lie in rows of 128-bit slots, from which an interleaving makes registers of dwords or,
// for 64-bit values, of qwords.

/// Where the 16 bytes of a lane are.
Selector::RowSlot Selector::slot_of_quad(bool wide, unsigned lane) const {
  const unsigned slots = lanes() / 4;
  if (wide) return {lane / (2 * slots) * 2 + lane % 2, lane / 2 % slots};
  return {lane % 4, lane / 4};
}

/// Where the 8 bytes each of two lanes are, `pair` times two and the next.
Selector::RowSlot Selector::slot_of_pair(bool wide, unsigned pair) const {
  const unsigned slots = lanes() / 4;
  if (wide) return {pair / slots, pair % slots};
  return {pair % 2, pair / 2};
}

/// Puts what is in memory, or in the low part of a register, into the next slot of a row. Slots are filled in
/// ascending order, AVX-512's in two halves: to insert into a half takes a quarter as long as into the whole.
void Selector::fill_slot(SlotRow& row, unsigned slot, const Operand& element) {
  VReg& part = row.halves[slot / 2];
  if (slot % 2 == 0)
    part = element.kind == OperandKind::Mem ? b_->def(Inst::kIdVmovups, View::Xmm, {element}) : element.reg;
  else if (avx512())
    part = b_->def(Inst::kIdVinserti32x4, View::Half, {half(part), element, imm(1)});
  else
    part = b_->op(Inst::kIdVinserti128, part, element, imm(1));
}

VReg Selector::whole(const SlotRow& row) {
  return avx512() ? b_->op(Inst::kIdVinserti64x4, row.halves[0], half(row.halves[1]), imm(1)) : row.halves[0];
}

/// The four dwords or, in two registers each, two qwords of all lanes.
std::array<VReg, 4> Selector::quads_of_slots(bool wide, const std::array<VReg, 4>& rows) {
  std::array<VReg, 4> result{};
  if (wide)
    for (unsigned r = 0; r < 4; ++r)
      result[r] =
          b_->op(r < 2 ? Inst::kIdVpunpcklqdq : Inst::kIdVpunpckhqdq, rows[r % 2 * 2], rows[r % 2 * 2 + 1]);
  else
    interleave_dwords(rows, result);
  return result;
}

/// The inverse.
std::array<VReg, 4> Selector::slots_of_quads(bool wide, const std::array<VReg, 4>& data) {
  std::array<VReg, 4> rows{};
  if (wide)
    for (unsigned r = 0; r < 4; ++r)
      rows[r] =
          b_->op(r % 2 == 0 ? Inst::kIdVpunpcklqdq : Inst::kIdVpunpckhqdq, data[r / 2], data[2 + r / 2]);
  else
    interleave_dwords(data, rows);
  return rows;
}

/// The 12 bytes of a lane behind which nothing may be read.
VReg Selector::load_three(const Access& a, const Spacing& s, unsigned lane) {
  if (avx512()) {
    const Operand all = spaced_element(a, s, lane, 12);
    return b_->zero_masked(b_->mask_const(7)).def(Inst::kIdVmovdqu32, View::Xmm, {all});
  }
  const Operand low = spaced_element(a, s, lane, 8);
  const VReg two = b_->def(Inst::kIdVmovq, View::Xmm, {low});
  const Operand third = spaced_element(a, s, lane, 4, 8);
  return b_->def(Inst::kIdVpinsrd, View::Xmm, {xmm(two), third, imm(2)});
}

/// AVX-512's mask is faster than a store of each part. (Extracting to memory would not heed it for faults.)
void Selector::store_three(const Access& a, const Spacing& s, unsigned lane, VReg three) {
  if (avx512()) {
    const Operand all = spaced_element(a, s, lane, 12);
    b_->with_mask(b_->mask_const(7)).emit(Inst::kIdVmovdqu32, {all, xmm(three)});
    return;
  }
  const Operand low = spaced_element(a, s, lane, 8);
  b_->emit(Inst::kIdVmovq, {low, xmm(three)});
  const Operand third = spaced_element(a, s, lane, 4, 8);
  b_->emit(Inst::kIdVpextrd, {third, xmm(three), imm(2)});
}

/// All lanes take part, or what they load does no harm.
void Selector::load_spaced(InstId i, const Access& a, const Spacing& s, std::span<VReg> out) {
  const bool wide = is_wide(i);
  std::array<SlotRow, 4> slots{};
  std::array<VReg, 4> rows{}, result{};
  if (f_[i].mem.bytes >= 12) {
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      const auto [row, slot] = slot_of_quad(wide, lane);
      const unsigned last = (s.rows.lanes != 0 ? s.rows.lanes : lanes()) - 1; // of a row
      if (f_[i].mem.bytes == 12 && (s.stride == 0 || (lane & last) == last)) {
        fill_slot(slots[row], slot, xmm(load_three(a, s, lane)));
        continue;
      }
      const Operand element = spaced_element(a, s, lane, 16);
      if (s.in_page && lane == 0) {
        b_->faults({.kind = FaultSite::Kind::Table, .bytes = 16}); // for the first lane of the mask
        slots[row].halves[0] = b_->def(Inst::kIdVmovups, View::Xmm,
                                       {element, hidden(lane_offsets(s.stride), View::Full),
                                        hidden(a.mask, avx512() ? View::K : View::Full)});
        continue;
      }
      fill_slot(slots[row], slot, element);
    }
    for (unsigned r = 0; r < 4; ++r) rows[r] = whole(slots[r]);
    result = quads_of_slots(wide, rows);
    std::copy_n(result.begin(), out.size(), out.begin());
    return;
  }
  for (unsigned pair = 0; pair < lanes() / 2; ++pair) {
    const auto [row, slot] = slot_of_pair(wide, pair);
    const Operand low = spaced_element(a, s, 2 * pair, 8);
    VReg two = b_->def(Inst::kIdVmovq, View::Xmm, {low});
    const Operand high = spaced_element(a, s, 2 * pair + 1, 8);
    two = b_->def(Inst::kIdVmovhps, View::Xmm, {xmm(two), high});
    fill_slot(slots[row], slot, xmm(two));
  }
  for (unsigned r = 0; r < 2; ++r) rows[r] = whole(slots[r]);
  for (unsigned r = 0; r < 2; ++r)
    out[r] = wide ? rows[r] : b_->op(Inst::kIdVshufps, rows[0], rows[1], imm(r == 0 ? 0x88 : 0xdd));
}

/// Elements of up to 4 bytes; all lanes take part that may. A gather takes twice as long.
VReg Selector::load_each_spaced(InstId i, const Access& a, const Spacing& s) {
  const ir::MemAttr& attr = f_[i].mem;
  if (a.first_lanes != 0) {
    VReg few = b_->splat32(0);
    for (unsigned lane = 0; lane < a.first_lanes; ++lane)
      few = insert_element(attr, few, lane, spaced_element(a, s, lane, attr.bytes));
    return few;
  }
  SlotRow row;
  for (unsigned lane = 0; lane < lanes();) {
    VReg four = b_->splat32(0);
    for (unsigned n = 0; n < 4; ++n, ++lane)
      four = insert_element(attr, four, n, spaced_element(a, s, lane, attr.bytes));
    fill_slot(row, lane / 4 - 1, xmm(four));
  }
  return extend_inserted(attr, whole(row));
}

/// Lanes of a gang are so close that their elements mostly lie in one page.
bool Selector::is_within_page(InstId i, i64 stride) const {
  return f_[i].mem.bytes == 16 && stride > 0 && stride <= kMaxWithinPage / lanes();
}

/// What of the gang's elements one lane may load all may, if the elements lie in one page: then only the
/// result needs the mask. Returns what tells that so many bytes do not.
CondCode Selector::test_page(VReg base, i64 disp, i64 bytes) {
  const VReg start = b_->op_r32(Inst::kIdLea, mem(base, disp, View::R32));
  b_->emit(Inst::kIdCmp, {r32(b_->op_r32_tied(Inst::kIdAnd, start, imm(kPage - 1))), imm(kPage - bytes)});
  return CondCode::kA;
}

/// Some lanes take part, and all elements lie in one page.
void Selector::load_within_page(InstId i, const Access& a, i64 stride, std::span<VReg> out) {
  read_if_any(a, out, [&] {
    load_spaced(i, a, {.stride = stride, .in_page = true}, out);
    for (unsigned r = 0; r < out.size(); ++r)
      out[r] =
          is_wide(i) ? zero_outside(wide_mask(a.mask, r % 2), out[r], true) : zero_outside(a.mask, out[r]);
  });
}

/// The lanes' addresses, in the frame. Lanes that take no part read zeros there.
Selector::Access Selector::of_any_lanes(const Access& a) {
  Access each = a;
  each.index = exact_addresses(a);
  each.wide = true;
  each.disp = 0;
  if (!a.full) {
    const Operand zeros = temp(kTempData, View::Full);
    b_->store_vec(zeros, b_->splat32(0));
    const VReg elsewhere = splat(Type::V64, b_->op_r64(Inst::kIdLea, temp(kTempData, View::R64))).r[0];
    for (unsigned p = 0; p < 2; ++p)
      each.index.r[p] = blend(wide_mask(a.mask, p), each.index.r[p], elsewhere, true);
  }
  spill_addresses(each);
  return each;
}

/// Elements of 12 or 16 bytes at any addresses.
void Selector::load_elements(InstId i, const Access& a, std::span<VReg> out) {
  load_spaced(i, of_any_lanes(a), {}, out);
}

/// Elements that reach into those of the next lanes, as a cell and its neighbours do when they are loaded at
/// once: one row for each place in them.
void Selector::load_overlapping(InstId i, const Access& a, i64 stride, std::span<VReg> out) {
  for (unsigned d = 0; d < out.size(); d += 2) {
    const auto disp = [&](unsigned n) { return a.disp + 4 * (i64{d} + n); };
    if (stride == 8) {
      set_qwords(i, load_qwords(a, a.base, disp(0)), out.subspan(d, 2));
      continue;
    }
    const VReg low = load_dwords(a, a.base, disp(0));
    if (d + 1 == out.size()) {
      out[d] = low;
      break;
    }
    const VReg high = load_dwords(a, a.base, disp(1));
    const Regs pair = is_wide(i) ? join_parts(low, high) : Regs{{low, high}};
    std::copy_n(pair.r, 2, &out[d]);
  }
}

/// All lanes take part; they write in ascending order.
void Selector::store_spaced(InstId i, const Access& a, const Spacing& s) {
  const bool wide = is_wide(i);
  const u32 extract = avx512() ? Inst::kIdVextracti32x4 : Inst::kIdVextracti128;
  std::array<VReg, 4> data{}, rows{};
  stored_data(i, data);
  if (f_[i].mem.bytes == 12) data[3] = data[2]; // whatever there is
  if (f_[i].mem.bytes >= 12) {
    rows = slots_of_quads(wide, data);
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      const auto [row, slot] = slot_of_quad(wide, lane);
      if (f_[i].mem.bytes == 12) {
        const VReg three = slot == 0
                               ? rows[row]
                               : b_->def(extract, View::Xmm, {vec(rows[row]), imm(static_cast<int>(slot))});
        store_three(a, s, lane, three);
        continue;
      }
      const Operand to = spaced_element(a, s, lane, 16);
      b_->emit(extract, {to, vec(rows[row]), imm(static_cast<int>(slot))});
    }
    return;
  }
  rows[0] = wide ? data[0] : b_->op(Inst::kIdVpunpckldq, data[0], data[1]);
  rows[1] = wide ? data[1] : b_->op(Inst::kIdVpunpckhdq, data[0], data[1]);
  for (unsigned pair = 0; pair < lanes() / 2; ++pair) {
    const auto [row, slot] = slot_of_pair(wide, pair);
    const VReg two =
        slot == 0 ? rows[row] : b_->def(extract, View::Xmm, {vec(rows[row]), imm(static_cast<int>(slot))});
    const Operand to = spaced_element(a, s, 2 * pair, 8);
    b_->emit(Inst::kIdVmovq, {to, xmm(two)});
    const Operand next = spaced_element(a, s, 2 * pair + 1, 8);
    b_->emit(Inst::kIdVmovhps, {next, xmm(two)});
  }
}

/// Elements of up to 4 bytes.
void Selector::store_elements(InstId i, const Access& a, const Spacing& s) {
  const u32 bytes = f_[i].mem.bytes;
  const VReg data = reg1(ir::stored_by(f_, i)[0]);
  VReg four = data;
  for (u32 lane = 0; lane < (a.first_lanes == 0 ? lanes() : a.first_lanes); ++lane) {
    if (lane % 4 == 0) four = sixteen_bytes(data, lane / 4);
    store_element_of(a, s, lane, bytes, four);
  }
}

/// Of the four lanes' dwords in `four`.
void Selector::store_element_of(const Access& a, const Spacing& s, u32 lane, u32 bytes, VReg four) {
  const u32 id = bytes == 1 ? Inst::kIdVpextrb : bytes == 2 ? Inst::kIdVpextrw : Inst::kIdVpextrd;
  const Operand to = spaced_element(a, s, lane, bytes);
  b_->emit(id, {to, xmm(four), imm(static_cast<int>(lane % 4 * (4 / bytes)))});
}

/// A store round by round, by a mask that work-item ids and scalars make: mostly of lanes side by side.
bool Selector::is_run_of_lanes(InstId i) {
  return f_[i].op == Op::Store && f_[i].mem.bytes <= 4 && is_in_loop(f_[i].block) &&
         phases::is_computed(f_, structure().cfg, f_.operands(i).back());
}

/// Lanes side by side, as where a tile is eliminated below a diagonal: who stores changes little from round
/// to round, so that a branch for each lane is mostly foreseen, while a scatter takes as long as for all
/// lanes. Where there are gaps between them it is by `scatter`: those may be anywhere.
void Selector::store_run(InstId i, const Access& a, const Spacing& s, const Access& scatter) {
  const VReg bits = mask_to_bits(a.mask);
  const VReg above = b_->op_r32_tied(Inst::kIdAdd, b_->op_r32(Inst::kIdBlsi, r32(bits)), r32(bits));
  b_->emit(Inst::kIdTest, {r32(above), r32(bits)}); // Behind a run there is nothing.
  hot_or_cold(
      CondCode::kNotZero, {},
      [&] {
        const u32 bytes = f_[i].mem.bytes;
        const VReg data = reg1(ir::stored_by(f_, i)[0]);
        const auto if_any = [&](u32 of, auto store) {
          const BlockId some = b_->add_block(true), next = b_->add_block(true);
          b_->emit(Inst::kIdTest, {r32(bits), imm(of)});
          b_->branch(CondCode::kNotZero, some, next);
          b_->at(some);
          store();
          b_->jump(next);
          b_->at(next);
        };
        for (u32 first = 0; first < lanes(); first += 4)
          if_any(0xfu << first, [&] {
            const VReg four = sixteen_bytes(data, first / 4);
            for (u32 lane = first; lane < first + 4; ++lane)
              if_any(1u << lane, [&] { store_element_of(a, s, lane, bytes, four); });
          });
      },
      [&] { scattered(i, scatter, {}); });
}

} // namespace lanewise::x86
