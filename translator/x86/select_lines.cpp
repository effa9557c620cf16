// Lines (lines.hpp): four loads of 16 bytes each that follow one another in memory are one load of a line per
// lane, where lanes are far apart, and four stores one store. One of them does it for all. Piece by piece
// each lane's line would be loaded, or written to, four times, and where lines are a power of two apart, as
// in matrices, the caches do not hold those of all lanes until then.
#include "translator/ir/rows.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

/// What the load is one of, if it is.
const Line* Selector::line_of(InstId i) const {
  for (const Line& line : lines_)
    if (std::ranges::find(line.pieces, i) != line.pieces.end()) return &line;
  return nullptr;
}

/// All lanes take part, or those that do not read zeros in the frame.
void Selector::load_line(const Line& line) {
  const InstId i = line.pieces.front();
  const ir::MemAttr& attr = f_[i].mem;
  const bool row = attr.form == ir::AddressForm::Row;
  Access a;
  if (row) {
    const unsigned members = row_members(i);
    const unsigned behind = member_ % members * lanes(); // the row's first lane
    a = masked_access(i);
    a.base = of_leader(f_.operands(i)[0], members);
    a.disp += i64{behind} * attr.stride;
    for (const InstId load : line.pieces) {
      fetch_ahead(load, a.base, i64{behind} * attr.stride, attr.stride);
      fetch_next_rows(load, a.base, i64{behind} * attr.stride);
    }
  } else {
    a = lines_anywhere(i);
  }
  std::array<std::array<VReg, 4>, 4> pieces{}; // by place in the line, then as load_spaced() has them
  for (u32 r = 0; r < 4; ++r) {
    std::array<VReg, 4> lines{};
    for (u32 slot = 0; slot < 4; ++slot) {
      unsigned lane = 0;
      while (slot_of_quad(is_wide(i), lane).row != r || slot_of_quad(is_wide(i), lane).slot != slot) ++lane;
      lines[slot] = b_->load_vec(line_of_lane(line, a, row ? ir::row_stride(attr) : 0, lane));
    }
    gather_slots(lines);
    for (u32 p = 0; p < kLinePieces; ++p) pieces[p][r] = lines[p];
  }
  for (u32 p = 0; p < kLinePieces; ++p) {
    const std::array<VReg, 4> d = quads_of_slots(is_wide(i), pieces[p]);
    for (u32 r = 0; r < f_[i].num_results; ++r)
      set(f_.result(line.pieces[p], r), is_wide(i) ? Regs{{d[2 * r], d[2 * r + 1]}} : Regs{{d[r], VReg{}}});
  }
}

/// Those whose lanes have addresses of their own.
Selector::Access Selector::lines_anywhere(InstId i) {
  const auto x = f_.operands(i);
  const unsigned members = row_members(i);
  switch (f_[i].mem.form) {
  case ir::AddressForm::Wrapped:
    return of_any_lanes(
        wrapped_lanes(i, of_leader(x[0], members), of_leader(x[1], members), member_ % members * lanes()));
  case ir::AddressForm::Indexed: return of_any_lanes(for_gathers(indexed_access(i)));
  default: return of_any_lanes(global_access(i));
  }
}

/// All lanes take part; they write in ascending order.
void Selector::store_line(const Line& line) {
  const InstId i = line.pieces.front();
  const Access a = lines_anywhere(i);
  std::array<std::array<VReg, 4>, kLinePieces> pieces{}; // as slots of 16 bytes
  for (u32 p = 0; p < kLinePieces; ++p) {
    std::array<VReg, 4> data{};
    stored_data(line.pieces[p], data);
    pieces[p] = slots_of_quads(is_wide(i), data);
  }
  std::array<std::array<VReg, 4>, 4> lines{};
  for (u32 r = 0; r < 4; ++r) {
    for (u32 p = 0; p < kLinePieces; ++p) lines[r][p] = pieces[p][r];
    gather_slots(lines[r]);
  }
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    const auto [row, slot] = slot_of_quad(is_wide(i), lane);
    b_->store_vec(line_of_lane(line, a, 0, lane), lines[row][slot]);
  }
}

/// One lane's; `stride` is 0 if it has an address of its own.
Operand Selector::line_of_lane(const Line& line, const Access& a, i64 stride, unsigned lane) {
  const VReg base = stride == 0 ? lane_address(a, lane) : a.base;
  for (u32 p = 0; p < kLinePieces; ++p)
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = kLinePiece,
                .lane_offset = static_cast<u8>(lane),
                .distance = kLinePiece * kLinePieces,
                .early = static_cast<i16>(-i64{kLinePiece} * p),
                .is_write = f_[line.at].op == Op::Store,
                .pc = pc_of(line.pieces[p])});
  return mem(base, a.disp + stride * lane);
}

} // namespace lanewise::x86
