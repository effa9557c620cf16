// Rows of 8 work-items, as of workgroups of 8 x 8, or of 8 elements, as of tiles: a gang of AVX-512 has two,
// and what is one row of elements elsewhere is two, or what is one place. A load or store of each takes much
// less than a gather or scatter. Mostly that is known (passes/shape_addresses.cpp); elsewhere rows are tested
// for.
#include "translator/ir/rows.hpp"
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
  Regs start, expected;
  if (a.wide) {
    std::array<u64, 8> steps{};
    for (u32 l = 0; l < 8; ++l) steps[l] = l * step;
    for (unsigned p = 0; p < 2; ++p) {
      start.r[p] = b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[p]));
      const VReg first = b_->op(Inst::kIdVpbroadcastq, xmm(a.index.r[p]));
      expected.r[p] = b_->op(Inst::kIdVpaddq, first, or_mem(table(steps.data())));
    }
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
    expected.r[0] = b_->op(Inst::kIdVpaddd, starts, or_mem(table(steps.data())));
  }
  b_->branch(test_places(a, false, expected), yes, no);
  return start;
}

/// Whether each half is known to be a row, or to load from one place.
bool Selector::has_half_rows(InstId i) const {
  const ir::MemAttr& attr = f_[i].mem;
  if (!avx512() || !attr.halves || attr.retry != 0) return false;
  const i64 stride = ir::half_row_stride(attr);
  if (f_[i].op == Op::Store && stride == 0) return false; // The last lane counts.
  return is_full_width(i) || attr.bytes <= 4 || can_be_spaced(attr.bytes, stride);
}

/// Whether full-width accesses have the row.
bool Selector::is_full_width(InstId i) const {
  const i64 bytes = f_[i].mem.bytes, stride = ir::half_row_stride(f_[i].mem);
  if (f_[i].op == Op::Store) return stride == bytes && bytes != 12;
  if (bytes < 4) return stride == 0 || stride == bytes;
  return stride == 0 || stride == 4 || (stride == 8 && bytes % 8 == 0) || (stride == 16 && bytes == 16);
}

/// The access of a gang whose halves are rows; behind tests, if an index might wrap or lanes must take part.
void Selector::half_rows(InstId i, const Access& a, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const i64 stride = ir::half_row_stride(attr);
  const bool full_width = is_full_width(i), is_store = f_[i].op == Op::Store;
  const bool has_masks = full_width && (attr.bytes != 16 || stride != 16), whole = !a.full && !has_masks;
  const auto rows = [&](const Access& by, Regs start) {
    std::array<VReg, 4> values{};
    if (is_store)
      store_half_rows(i, by, start, stored_data(i, values));
    else
      load_half_rows(i, by, start, stride, out);
  };
  const auto access = [&](Regs start) {
    const Spacing spacing{.stride = stride, .is_write = is_store, .halves = start};
    for (const VReg half : start.r) fetch_ahead(i, half, 0, stride);
    if (full_width && has_masks && stride != 0 && !a.full && may_be_beyond_caches(attr))
      if_full(a, out, [&](const Access& by) { rows(by, start); });
    else if (full_width)
      rows(a, start);
    else if (attr.bytes <= 4 && is_store)
      store_elements(i, a, spacing);
    else if (attr.bytes <= 4)
      out[0] = load_each_spaced(i, a, spacing);
    else if (is_store)
      store_spaced(i, a, spacing);
    else
      load_spaced(i, a, spacing, out);
  };
  if (!whole && (!a.may_wrap || stride == 0)) return access(half_row_starts(a, 0, {}));
  const BlockId slow = b_->add_block(true), join = b_->add_block();
  std::array<VReg, 4> params{};
  for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, RegClass::Vec);
  if (whole) {
    CondCode partial{};
    test_all(a.mask, partial);
    branch_away(partial, slow);
  }
  access(half_row_starts(a, attr.half_stride, slow));
  b_->jump(join, out);
  b_->at(slow);
  scattered(i, a, out);
  b_->jump(join, out);
  b_->at(join);
  std::copy_n(params.begin(), out.size(), out.begin());
}

/// The first address of each half, without disp; ends at `slow` if an index that grows by `step` might wrap.
Regs Selector::half_row_starts(const Access& a, i64 step, BlockId slow) {
  Regs start;
  for (unsigned p = 0; p < 2; ++p) {
    if (a.wide) {
      start.r[p] = b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[p]));
      continue;
    }
    const VReg low = b_->op_r32(Inst::kIdVmovd, xmm(half_of(a.index.r[0], p)));
    if (a.may_wrap && step != 0) {
      const i64 limit = step > 0 ? 0x7fff'ffff - step * 8 : -i64{0x8000'0000} - step * 8;
      b_->emit(Inst::kIdCmp, {r32(low), imm(limit)});
      branch_away(step > 0 ? CondCode::kSignedGT : CondCode::kSignedLT, slow);
    }
    const VReg wide = b_->op_r64(Inst::kIdMovsxd, r32(low));
    start.r[p] = b_->op_r64(Inst::kIdLea, mem_index(a.base, wide, a.scale_log2, 0, View::R64));
  }
  return start;
}

/// Elements, or parts of them, that are `bytes` long.
FaultSite Selector::half_row_site(InstId i, unsigned bytes, unsigned p) {
  return {.kind = FaultSite::Kind::Contiguous,
          .bytes = static_cast<u8>(bytes),
          .lane_offset = static_cast<u8>(8 * p),
          .is_write = f_[i].op == Op::Store};
}

void Selector::load_half_rows(InstId i, const Access& a, Regs start, i64 stride, std::span<VReg> out) {
  if (stride == 0) return load_half_places(i, a, start, out);
  if (f_[i].mem.bytes < 4) {
    out[0] = load_half_narrow(i, a, start, false);
    return;
  }
  if (stride == 16) return load_half_quads(i, a, start, out);
  for (unsigned d = 0; d < out.size(); d += 2) {
    const i64 at = a.disp + 4 * i64{d};
    if (stride == 8) {
      set_qwords(i, load_half_qwords(i, a, start, at), out.subspan(d, 2));
      continue;
    }
    const VReg low = load_half_dwords(i, a, start, at);
    out[d] = low;
    if (d + 1 == out.size()) break;
    const VReg high = load_half_dwords(i, a, start, at + 4);
    const Regs pair = is_wide(i) ? join_parts(low, high) : Regs{{low, high}};
    std::copy_n(pair.r, 2, &out[d]);
  }
}

VReg Selector::load_half_dwords(InstId i, const Access& a, Regs start, i64 at) {
  Regs rows;
  for (unsigned p = 0; p < 2; ++p) {
    b_->faults(half_row_site(i, 4, p)).zero_masked(mask_of(a, p));
    rows.r[p] = b_->def(Inst::kIdVmovdqu32, View::Half, {mem(start.r[p], at, View::Half)});
  }
  return b_->op(Inst::kIdVinserti64x4, rows.r[0], half(rows.r[1]), imm(1));
}

Regs Selector::load_half_qwords(InstId i, const Access& a, Regs start, i64 at) {
  Regs rows;
  for (unsigned p = 0; p < 2; ++p) {
    b_->faults(half_row_site(i, 8, p)).zero_masked(mask_of(a, p));
    rows.r[p] = b_->op(Inst::kIdVmovdqu64, mem(start.r[p], at));
  }
  return rows;
}

/// All lanes take part.
void Selector::load_half_quads(InstId i, const Access& a, Regs start, std::span<VReg> out) {
  std::array<VReg, 4> rows{};
  for (unsigned n = 0; n < 4; ++n) {
    FaultSite site = half_row_site(i, 16, n / 2);
    site.lane_offset = static_cast<u8>(4 * n);
    b_->faults(site);
    rows[n] = b_->load_vec(mem(start.r[n / 2], a.disp + n % 2 * module_.vec_bytes()));
  }
  if (is_wide(i))
    split_quads_to_qwords(rows);
  else
    split_quads(rows);
  std::copy_n(rows.begin(), 4, out.begin());
}

/// Bytes or words: in a row, or the `same` one in all lanes of a half.
VReg Selector::load_half_narrow(InstId i, const Access& a, Regs start, bool same) {
  const ir::MemAttr& attr = f_[i].mem;
  const bool byte = attr.bytes == 1;
  const u32 extend = extending_move(attr);
  Regs rows;
  for (unsigned p = 0; p < 2; ++p) {
    const VReg mask = mask_of(a, p);
    if (same) {
      FaultSite site = half_row_site(i, attr.bytes, p);
      site.kind = FaultSite::Kind::Scalar;
      b_->faults(site).zero_masked(mask);
      const VReg copies = b_->def(byte ? Inst::kIdVpbroadcastb : Inst::kIdVpbroadcastw, View::Xmm,
                                  {mem(start.r[p], a.disp, byte ? View::R8 : View::R16)});
      rows.r[p] = b_->def(extend, View::Half, {xmm(copies)});
      continue;
    }
    b_->faults(half_row_site(i, attr.bytes, p)).zero_masked(mask);
    rows.r[p] = b_->def(extend, View::Half, {mem(start.r[p], a.disp, byte ? View::R64 : View::Xmm)});
  }
  return b_->op(Inst::kIdVinserti64x4, rows.r[0], half(rows.r[1]), imm(1));
}

/// One place for each half.
void Selector::load_half_places(InstId i, const Access& a, Regs start, std::span<VReg> out) {
  if (f_[i].mem.bytes < 4) {
    out[0] = load_half_narrow(i, a, start, true);
    return;
  }
  const bool wide = is_wide(i);
  for (unsigned r = 0; r < out.size(); ++r) {
    const i64 at = a.disp + (wide ? 8 * i64{r / 2} : 4 * i64{r});
    const auto place = [&](unsigned p) {
      FaultSite site = half_row_site(i, wide ? 8 : 4, p);
      site.kind = FaultSite::Kind::Scalar;
      b_->faults(site);
      return mem(start.r[p], at, wide ? View::R64 : View::R32);
    };
    if (wide) {
      const Operand from = place(r % 2);
      out[r] = b_->zero_masked(mask_of(a, r % 2)).op(Inst::kIdVpbroadcastq, from);
      continue;
    }
    VReg halves[2];
    for (unsigned p = 0; p < 2; ++p) {
      const Operand from = place(p);
      halves[p] = b_->zero_masked(mask_of(a, p)).def(Inst::kIdVpbroadcastd, View::Half, {from});
    }
    out[r] = b_->op(Inst::kIdVinserti64x4, halves[0], half(halves[1]), imm(1));
  }
}

void Selector::store_half_rows(InstId i, const Access& a, Regs start, std::span<const VReg> data) {
  const u32 bytes = f_[i].mem.bytes;
  if (bytes == 16) { // All lanes take part.
    std::array<VReg, 4> rows{data[0], data[1], data[2], data[3]};
    if (is_wide(i))
      join_quads_of_qwords(rows);
    else
      join_quads(rows);
    for (unsigned n = 0; n < 4; ++n) {
      FaultSite site = half_row_site(i, 16, n / 2);
      site.lane_offset = static_cast<u8>(4 * n);
      b_->faults(site);
      b_->store_vec(mem(start.r[n / 2], a.disp + n % 2 * module_.vec_bytes()), rows[n]);
    }
    return;
  }
  const bool wide = bytes == 8;
  const Regs rows = !wide        ? Regs{{data[0], half_of(data[0], 1)}}
                    : is_wide(i) ? Regs{{data[0], data[1]}}
                                 : join_parts(data[0], data[1]);
  const u32 id = wide         ? Inst::kIdVmovdqu64
                 : bytes == 4 ? Inst::kIdVmovdqu32
                 : bytes == 2 ? Inst::kIdVpmovdw
                              : Inst::kIdVpmovdb;
  const View view = wide ? View::Full : View::Half, to = bytes >= 4   ? view
                                                         : bytes == 2 ? View::Xmm
                                                                      : View::R64;
  for (unsigned p = 0; p < 2; ++p) {
    const VReg mask = mask_of(a, p);
    b_->faults(half_row_site(i, bytes, p))
        .with_mask(mask)
        .emit(id, {mem(start.r[p], a.disp, to), reg(rows.r[p], view)});
  }
}

} // namespace lanewise::x86
