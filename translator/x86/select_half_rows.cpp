// Workgroups whose rows are 8 work-items long, as 8 x 8: a gang of AVX-512 has work-items of two rows, and
// what is one row of elements elsewhere is two. A load or store of each takes much less than a gather or
// scatter.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Whether addresses that differ from lane to lane probably lie in a row for each half of the gang.
bool Selector::may_be_half_rows(InstId i, const Access& a) const {
  const ir::MemAttr& attr = f_[i].mem;
  const bool two_rows = avx512() && f_.launch.is_uniform(1, 8) && !f_.launch.is_uniform(1, 16);
  return two_rows && attr.space == ir::Space::Global && (attr.bytes == 4 || attr.bytes == 8) &&
         attr.bytes >> a.scale_log2 != 0;
}

/// Ends the block: to `yes` if in each half every lane that takes part goes to its first lane's address +
/// lane * bytes, else to `no`. Gives these two addresses, without disp.
Regs Selector::branch_if_half_rows(InstId i, const Access& a, BlockId yes, BlockId no) {
  const u32 step = f_[i].mem.bytes >> a.scale_log2;
  Regs start;
  VReg in_row;
  if (a.wide) {
    std::array<u64, 8> steps{};
    for (u32 l = 0; l < 8; ++l) steps[l] = l * step;
    VReg equal[2];
    for (unsigned p = 0; p < 2; ++p) {
      start.r[p] = b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[p]));
      const VReg first = b_->op(Inst::kIdVpbroadcastq, xmm(a.index.r[p]));
      const VReg expected = b_->op(Inst::kIdVpaddq, first, or_mem(table(steps.data())));
      equal[p] = compare(ir::IntPred::Eq, expected, a.index.r[p], true);
    }
    in_row = narrow_masks(equal[0], equal[1]);
  } else {
    std::array<u32, 16> first{}, steps{};
    for (u32 l = 0; l < 16; ++l) {
      first[l] = l / 8 * 8;
      steps[l] = l % 8 * step;
    }
    for (unsigned p = 0; p < 2; ++p) {
      const VReg low = b_->op_r32(Inst::kIdVmovd, xmm(half_of(a.index.r[0], p)));
      if (a.may_wrap) {
        b_->emit(Inst::kIdCmp, {r32(low), imm(0x7fff'ffff - i64{step} * 8)});
        branch_away(CondCode::kSignedGT, no);
      }
      const VReg wide = b_->op_r64(Inst::kIdMovsxd, r32(low));
      start.r[p] = b_->op_r64(Inst::kIdLea, mem_index(a.base, wide, a.scale_log2, 0, View::R64));
    }
    const VReg starts = b_->op(Inst::kIdVpermd, table(first.data()), a.index.r[0]);
    const VReg expected = b_->op(Inst::kIdVpaddd, starts, or_mem(table(steps.data())));
    in_row = compare(ir::IntPred::Eq, expected, a.index.r[0], false);
  }
  const VReg wrong = b_->op_k(Inst::kIdKandnw, in_row, a.mask);
  b_->emit(Inst::kIdKortestw, {k(wrong), k(wrong)});
  b_->branch(CondCode::kZero, yes, no);
  return start;
}

FaultSite Selector::half_row_site(InstId i, unsigned p) {
  return {.kind = FaultSite::Kind::Contiguous,
          .bytes = f_[i].mem.bytes,
          .lane_offset = static_cast<u8>(8 * p),
          .is_write = f_[i].op == Op::Store};
}

void Selector::load_half_rows(InstId i, const Access& a, Regs start, std::span<VReg> out) {
  const bool wide = f_[i].mem.bytes == 8;
  const View view = wide ? View::Full : View::Half;
  Regs rows;
  for (unsigned p = 0; p < 2; ++p) {
    const VReg mask = wide_mask(a.mask, p);
    b_->faults(half_row_site(i, p)).zero_masked(mask);
    rows.r[p] =
        b_->def(wide ? Inst::kIdVmovdqu64 : Inst::kIdVmovdqu32, view, {mem(start.r[p], a.disp, view)});
  }
  if (wide) return set_qwords(i, rows, out);
  out[0] = b_->op(Inst::kIdVinserti64x4, rows.r[0], half(rows.r[1]), imm(1));
}

void Selector::store_half_rows(InstId i, const Access& a, Regs start, std::span<const VReg> data) {
  const bool wide = f_[i].mem.bytes == 8;
  const View view = wide ? View::Full : View::Half;
  const Regs rows = !wide        ? Regs{{data[0], half_of(data[0], 1)}}
                    : is_wide(i) ? Regs{{data[0], data[1]}}
                                 : join_parts(data[0], data[1]);
  for (unsigned p = 0; p < 2; ++p) {
    const VReg mask = wide_mask(a.mask, p);
    b_->faults(half_row_site(i, p))
        .with_mask(mask)
        .emit(wide ? Inst::kIdVmovdqu64 : Inst::kIdVmovdqu32,
              {mem(start.r[p], a.disp, view), reg(rows.r[p], view)});
  }
}

} // namespace lanewise::x86
