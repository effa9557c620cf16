// Loads from small tables: all lanes go to a few rows of registers, which are loaded whole and permuted. A
// gather takes as long wherever its lanes go.
//
// Nobody may access a page that no lane goes to. So the rows have to lie in one page, which is tested: as
// long as there is a lane, that page is accessed anyway.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Of the dwords in `rows` (1, 2 or 4 registers), those that `index` says.
VReg Selector::look_up(std::span<const VReg> rows, VReg index) {
  const auto beyond = [&](unsigned dwords) {
    return compare(ir::IntPred::UGt, index, b_->splat32(dwords - 1), false);
  };
  if (rows.size() == 1) return b_->op(Inst::kIdVpermd, index, rows[0]);
  const auto half = rows.size() / 2;
  if (avx512() && half == 1) return b_->op_tied(Inst::kIdVpermt2d, rows[0], index, rows[1]);
  const VReg low = look_up(rows.first(half), index), high = look_up(rows.last(half), index);
  return blend(beyond(static_cast<unsigned>(half) * lanes()), high, low);
}

/// The lanes' elements in `rows`, that lie at `offset` in bytes, which is `index` in dwords.
void Selector::pick_elements(InstId i, const Access& a, std::span<const VReg> rows, VReg index, VReg offset,
                             std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const auto dword = [&](unsigned d) {
    return look_up(rows, d == 0 ? index : b_->op(Inst::kIdVpaddd, index, b_->splat32(d)));
  };
  if (attr.bytes < 4) {
    const VReg bit = shl_imm(vand(offset, b_->splat32(3)), 3);
    out[0] = extended(attr, b_->op(Inst::kIdVpsrlvd, dword(0), bit));
  } else if (is_wide(i)) {
    for (unsigned d = 0; d < out.size(); d += 2) {
      const VReg low = dword(d);
      const Regs both = join_parts(low, dword(d + 1));
      std::copy_n(both.r, 2, &out[d]);
    }
  } else {
    for (unsigned d = 0; d < out.size(); ++d) out[d] = dword(d);
  }
  for (unsigned r = 0; r < out.size() && !a.full; ++r)
    out[r] = is_wide(i) ? zero_outside(wide_mask(a.mask, r % 2), out[r], true) : zero_outside(a.mask, out[r]);
}

void Selector::load_from_table(InstId i, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const u32 row_bytes = module_.vec_bytes();
  const u32 rows = std::bit_ceil((4u * attr.table + row_bytes - 1) / row_bytes);
  const Access a = masked_access(i);
  const VReg base = reg1(f_.operands(i)[0]), index = reg1(f_.operands(i)[1]);
  const CondCode leaves_page = test_page(base, a.disp, rows * row_bytes);
  const auto read = [&] {
    std::array<VReg, 4> row{};
    for (u32 r = 0; r < rows; ++r) {
      const Operand at = mem(base, a.disp + r * row_bytes);
      if (r != 0) {
        row[r] = b_->load_vec(at);
        continue;
      }
      b_->faults({.kind = FaultSite::Kind::Table, .bytes = attr.bytes, .distance = attr.scale});
      const Operand lanes_index = hidden(index, View::Full);
      row[r] = a.full ? b_->def(Inst::kIdVmovups, View::Full, {at, lanes_index})
                      : b_->def(Inst::kIdVmovups, View::Full,
                                {at, lanes_index, hidden(a.mask, avx512() ? View::K : View::Full)});
    }
    const VReg offset = attr.scale == 0 ? index : shl_imm(index, attr.scale);
    pick_elements(i, a, {row.data(), rows}, attr.scale == 2 ? index : shr_imm(offset, 2), offset, out);
  };
  hot_or_cold(
      leaves_page, out, [&] { a.full ? read() : read_if_any(a, out, read); },
      [&] { perform(i, indexed_access(i), out); });
}

} // namespace lanewise::x86
