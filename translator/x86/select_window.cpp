// Loads whose lanes, it turns out, stay within two neighbouring lines from lane 0's on, lines of a register's
// size: butterflies, samples of images, small strides. Both lines are loaded whole and permuted, which takes
// a third of a gather.
//
// Nobody may access a page that no lane goes to: both lines lie in the page of lane 0, which takes part.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Elements of up to 8 bytes, aligned to their size, or dwords; `step` is from lane 0's index to lane 1's.
/// Ends the block: to `join` with the results, or to `no`.
void Selector::load_from_window(InstId i, const Access& a, VReg step, BlockId no, BlockId join,
                                std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const i64 line_bytes = module_.vec_bytes(), window = 2 * line_bytes >> a.scale_log2;
  const View index_view = a.wide ? View::R64 : View::R32;
  // Lanes 0 and 1 tell if it is worth looking at the others: that they lie in one window by chance should be
  // rare, since a wrong guess costs as much as a gather.
  const i64 near = std::max<i64>(4, attr.bytes) >> a.scale_log2;
  const VReg moved = b_->def(Inst::kIdLea, index_view, {mem(step, near, index_view)});
  b_->emit(Inst::kIdCmp, {reg(moved, index_view), imm(2 * near)});
  branch_away(CondCode::kUnsignedGT, no);
  if (!a.full) {
    b_->emit(Inst::kIdTest, {r32(mask_to_bits(a.mask)), imm(1)});
    branch_away(CondCode::kZero, no);
  }
  if (a.may_wrap) {
    const VReg from_least =
        b_->def(Inst::kIdLea, View::R32, {mem(first_index(a), INT32_MAX - window, View::R32)});
    b_->emit(Inst::kIdCmp, {r32(from_least), imm(-3 * window)});
    branch_away(CondCode::kUnsignedGT, no);
  }
  VReg first = first_address(a);
  if (a.disp != 0) first = b_->op_r64(Inst::kIdLea, mem(first, a.disp, View::R64));
  const VReg line = b_->op_r64_tied(Inst::kIdAnd, first, imm(-line_bytes));
  const VReg in_page = b_->op_r32_tied(Inst::kIdAnd, line, imm(kPage - 1));
  b_->emit(Inst::kIdCmp, {r32(in_page), imm(kPage - line_bytes)});
  branch_away(CondCode::kEqual, no);
  const VReg allowed = b_->splat32(static_cast<u32>(2 * line_bytes - std::min<i64>(4, attr.bytes)));
  VReg behind, wrong; // bytes from `line` on; not 0 in lanes that go elsewhere
  if (a.wide) {
    const VReg start = splat(Type::V64, b_->op_r64(Inst::kIdLea, mem(line, -a.disp, View::R64))).r[0];
    Regs exact;
    for (unsigned p = 0; p < 2; ++p) exact.r[p] = b_->op(Inst::kIdVpsubq, a.index.r[p], start);
    behind = narrow(exact, false);
    wrong = vor(vandn(allowed, behind), narrow(exact, true));
  } else {
    const VReg in_line = b_->op_r32_tied(Inst::kIdAnd, first, imm(line_bytes - 1));
    if (a.scale_log2 == 0) {
      const VReg start = b_->op_r32_tied(Inst::kIdSub, in_line, r32(first_index(a)));
      behind = b_->op(Inst::kIdVpaddd, a.index.r[0], splat(Type::V32, start).r[0]);
    } else {
      // Far lanes stay far, even where the product would wrap.
      const VReg least = b_->def(Inst::kIdLea, View::R32, {mem(first_index(a), -window, View::R32)});
      const VReg from_least = b_->op(Inst::kIdVpsubd, a.index.r[0], splat(Type::V32, least).r[0]);
      const VReg near_first =
          b_->op(Inst::kIdVpminud, from_least, b_->splat32_mem(static_cast<u32>(2 * window)));
      const VReg start = b_->def(Inst::kIdLea, View::R32, {mem(in_line, -2 * line_bytes, View::R32)});
      behind = b_->op(Inst::kIdVpaddd, shl_imm(near_first, a.scale_log2), splat(Type::V32, start).r[0]);
    }
    wrong = vandn(allowed, behind);
  }
  if (attr.bytes == 8) wrong = vor(wrong, vandn(allowed, b_->op(Inst::kIdVpaddd, behind, b_->splat32(4))));
  if (avx512()) {
    test_mask(b_->with_mask(a.mask).op_k(Inst::kIdVptestmd, wrong, vec(wrong)));
  } else {
    b_->emit(Inst::kIdVptest, {vec(wrong), vec(a.mask)});
  }
  branch_away(CondCode::kNotZero, no);

  b_->faults({.kind = FaultSite::Kind::Table, .bytes = attr.bytes});
  std::array<VReg, 2> rows{};
  rows[0] = b_->def(Inst::kIdVmovups, View::Full, {mem(line), hidden(behind, View::Full)});
  rows[1] = b_->load_vec(mem(line, line_bytes));
  pick_elements(i, a, rows, shr_imm(behind, 2), behind, out);
  b_->jump(join, out);
}

} // namespace lanewise::x86
