// Elements of 8 or 16 bytes at a fixed distance that is not their size, as in arrays of structures: each
// lane's element by one scalar-addressed access, and shuffles to and from one register per dword. A gather or
// scatter would take as many accesses for each dword. Elements that overlap are rows of smaller ones.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

Operand Selector::spaced_element(const Access& a, const Spacing& s, unsigned lane, unsigned bytes) {
  b_->faults({.kind = FaultSite::Kind::Contiguous,
              .bytes = static_cast<u8>(bytes),
              .lane_offset = static_cast<u8>(lane),
              .is_write = s.is_write});
  return mem(a.base, a.disp + static_cast<i64>(lane) * s.stride, bytes == 16 ? View::Xmm : View::R64);
}

/// All lanes take part.
void Selector::load_spaced(InstId i, const Access& a, i64 stride, std::span<VReg> out) {
  const Spacing s = {stride, false};
  const unsigned slots = lanes() / 4; // of 128 bits in a register
  const u32 insert = avx512() ? Inst::kIdVinserti32x4 : Inst::kIdVinserti128;
  if (f_[i].mem.bytes == 16) {
    std::array<VReg, 4> rows{}, dwords{};
    for (unsigned j = 0; j < 4; ++j) { // Row j: lanes j, j + 4, ..
      const Operand first = spaced_element(a, s, j, 16);
      rows[j] = b_->op(avx512() ? Inst::kIdVbroadcasti32x4 : Inst::kIdVbroadcasti128, first);
      for (unsigned slot = 1; slot < slots; ++slot) {
        const Operand element = spaced_element(a, s, 4 * slot + j, 16);
        rows[j] = b_->op(insert, rows[j], element, imm(static_cast<int>(slot)));
      }
    }
    interleave_dwords(rows, dwords);
    std::copy_n(dwords.begin(), 4, out.begin());
    return;
  }
  std::array<VReg, 2> rows{}; // Slot n of row j: lanes 4n + 2j and the next.
  for (unsigned j = 0; j < 2; ++j)
    for (unsigned slot = 0; slot < slots; ++slot) {
      const unsigned lane = 4 * slot + 2 * j;
      const Operand low = spaced_element(a, s, lane, 8);
      VReg two = b_->def(Inst::kIdVmovq, View::Xmm, {low});
      const Operand high = spaced_element(a, s, lane + 1, 8);
      two = b_->def(Inst::kIdVmovhps, View::Xmm, {xmm(two), high});
      rows[j] = slot == 0 ? two : b_->op(insert, rows[j], xmm(two), imm(static_cast<int>(slot)));
    }
  out[0] = b_->op(Inst::kIdVshufps, rows[0], rows[1], imm(0x88));
  out[1] = b_->op(Inst::kIdVshufps, rows[0], rows[1], imm(0xdd));
}

/// Elements that reach into those of the next lanes, as a cell and its neighbours do when they are loaded at
/// once: one row for each place in them.
void Selector::load_overlapping(const Access& a, i64 stride, std::span<VReg> out) {
  for (unsigned d = 0; d < out.size(); d += static_cast<unsigned>(stride) / 4) {
    const i64 disp = a.disp + 4 * i64{d};
    if (stride == 4)
      out[d] = load_dwords(a, a.base, disp);
    else
      load_pairs(a, a.base, disp, out.subspan(d, 2));
  }
}

/// All lanes take part; they write in ascending order.
void Selector::store_spaced(InstId i, const Access& a, i64 stride) {
  const Spacing s = {stride, true};
  const auto operands = f_.operands(i);
  const unsigned first = ir::address_operands(f_[i].mem);
  const u32 extract = avx512() ? Inst::kIdVextracti32x4 : Inst::kIdVextracti128;
  if (f_[i].mem.bytes == 16) {
    std::array<VReg, 4> dwords{}, rows{};
    for (unsigned d = 0; d < 4; ++d) dwords[d] = reg1(operands[first + d]);
    interleave_dwords(dwords, rows); // As load_spaced() reads them.
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      const Operand to = spaced_element(a, s, lane, 16);
      b_->emit(extract, {to, vec(rows[lane % 4]), imm(static_cast<int>(lane / 4))});
    }
    return;
  }
  const VReg low = reg1(operands[first]), high = reg1(operands[first + 1]);
  const std::array<VReg, 2> rows = {b_->op(Inst::kIdVpunpckldq, low, high),
                                    b_->op(Inst::kIdVpunpckhdq, low, high)};
  for (unsigned pair = 0; pair < lanes() / 2; ++pair) {
    const VReg row = rows[pair % 2];
    const unsigned slot = pair / 2;
    const VReg two = slot == 0 ? row : b_->def(extract, View::Xmm, {vec(row), imm(static_cast<int>(slot))});
    const Operand to = spaced_element(a, s, 2 * pair, 8);
    b_->emit(Inst::kIdVmovq, {to, xmm(two)});
    const Operand next = spaced_element(a, s, 2 * pair + 1, 8);
    b_->emit(Inst::kIdVmovhps, {next, xmm(two)});
  }
}

} // namespace lanewise::x86
