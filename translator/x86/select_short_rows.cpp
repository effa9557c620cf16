// Rows of 8 or 4 work-items, as of workgroups of 8 x 8 or 4 x 4 x 4, or of elements, as of tiles: a gang has
// several, and what is one row of elements elsewhere is so many, or what is one place. A load or store of
// each takes much less than a gather or scatter. Mostly that is known (passes/shape_addresses.cpp); elsewhere
// rows are tested for.
#include "translator/ir/rows.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::x86 {

/// Lanes of the short rows in which addresses that differ from lane to lane probably lie; else 0.
u32 Selector::likely_short_row(InstId i, const Access& a) const {
  const ir::MemAttr& attr = f_[i].mem;
  const bool has_size = attr.bytes == 4 || attr.bytes == 8 || attr.bytes == 16;
  if (attr.space != ir::Space::Global || !has_size || attr.bytes >> a.scale_log2 == 0) return 0;
  u32 row = lanes();
  while (row >= 4 && !f_.launch.is_uniform(1, row)) row /= 2;
  return row == lanes() || row < 4 ? 0 : row;
}

/// Ends the block: to `yes` if in each such row every lane that takes part goes to its first lane's address +
/// lane * bytes, else to `no`; `all_lanes`: if all lanes take part, too.
Selector::ShortRows Selector::branch_if_short_rows(InstId i, const Access& a, u32 row, bool all_lanes,
                                                   BlockId yes, BlockId no) {
  const u32 step = f_[i].mem.bytes >> a.scale_log2;
  const ShortRows start = short_row_starts(a, row);
  if (a.may_wrap) leave_if_wrapped(a, row, step, no);
  std::array<u64, 8> qwords{};
  std::array<u32, 16> first{}, dwords{};
  for (u32 l = 0; l < lanes(); ++l) {
    first[l] = l / row * row;
    dwords[l] = l % row * step;
    qwords[l % 8] = dwords[l];
  }
  Regs expected;
  for (unsigned p = 0; p < (a.wide ? 2 : 1); ++p) {
    const VReg index = a.index.r[p];
    const VReg starts =
        a.wide ? row == 4 ? b_->op(Inst::kIdVpermq, index, imm(0)) : b_->op(Inst::kIdVpbroadcastq, xmm(index))
        : row == 4 ? b_->op(Inst::kIdVpshufd, index, imm(0))
                   : b_->op(Inst::kIdVpermd, table(first.data()), index);
    const VReg steps = a.wide ? table(qwords.data()) : table(dwords.data());
    expected.r[p] = b_->op(a.wide ? Inst::kIdVpaddq : Inst::kIdVpaddd, starts, or_mem(steps));
  }
  branch_if_at(a, all_lanes, expected, yes, no);
  return start;
}

/// Whether so many lanes are each known to be a row, or to load from one place.
bool Selector::has_short_rows(InstId i) const {
  const ir::MemAttr& attr = f_[i].mem;
  if (attr.short_row == 0 || attr.short_row >= lanes() || attr.retry != 0) return false;
  const i64 stride = ir::short_row_stride(attr);
  if (f_[i].op == Op::Store && stride == 0) return false; // The last lane counts.
  return is_full_width(i) || attr.bytes <= 4 || can_be_spaced(attr.bytes, stride);
}

/// Whether full-width accesses have the row.
bool Selector::is_full_width(InstId i) const {
  const i64 bytes = f_[i].mem.bytes, stride = ir::short_row_stride(f_[i].mem);
  if (f_[i].op == Op::Store) return stride == bytes && bytes != 12;
  if (bytes < 4) return stride == 0 || stride == bytes;
  return stride == 0 || stride == 4 || (stride == 8 && bytes % 8 == 0) || (stride == 16 && bytes == 16);
}

/// The access of a gang of short rows; behind tests, if an index might wrap or lanes must take part.
void Selector::short_rows(InstId i, const Access& a, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const i64 stride = ir::short_row_stride(attr);
  const bool full_width = is_full_width(i), is_store = f_[i].op == Op::Store;
  const bool inside = attr.space == ir::Space::Lds && attr.in_range;
  // AVX2 stores what other lanes of the row have there once more, where nobody else writes meanwhile.
  const bool blends = is_store && inside && !avx512();
  const bool has_masks = (avx512() || blends) && full_width && (attr.bytes != 16 || stride != 16);
  const Components* record = components_of(i);
  const bool whole = !a.full && (!has_masks || record != nullptr);
  const ShortRows start = short_row_starts(a, attr.short_row);
  const auto rows_at = [&](const ShortRows& places, const Access& by) {
    std::array<VReg, 4> values{};
    if (is_store)
      store_short_rows(i, by, places, stored_data(i, values));
    else
      load_short_rows(i, by, places, stride, out);
  };
  const auto rows = [&](const Access& by) { rows_at(start, by); };
  const auto access = [&](const Access& by) {
    const Spacing spacing{.stride = stride, .is_write = is_store, .rows = start};
    for (unsigned n = 0; n < lanes() / start.lanes; ++n) fetch_ahead(i, start.first[n], 0, stride);
    // More masks than two take longer than a test.
    const bool tests = !blends && (start.lanes < 8 || (stride != 0 && may_be_beyond_caches(attr)));
    if (record != nullptr)
      store_short_records(*record, by, start, stride);
    else if (full_width && !by.full && tests)
      if_full(by, out, [&](const Access& x) {
        if (x.full || inside) return rows(x);
        // At the edges of a volume whole gangs have no lane, and go to where there is no memory; so do rows
        // behind the last work-item.
        read_if_any(x, out, [&] { rows_at(rows_within_reach(x, start), x); });
      });
    else if (full_width)
      rows(by);
    else if (attr.bytes <= 4 && is_store)
      store_elements(i, by, spacing);
    else if (is_narrow_span(f_[i], stride))
      out[0] = load_short_span(i, by, start, stride);
    else if (attr.bytes <= 4)
      out[0] = load_each_spaced(i, by, spacing);
    else if (is_store)
      store_spaced(i, by, spacing);
    else
      load_spaced(i, by, spacing, out);
  };
  const bool may_wrap = a.may_wrap && stride != 0 && !attr.exact;
  if (record != nullptr) see_operands(*record);
  if (!whole && !may_wrap) return access(a);
  const BlockId slow = b_->add_block(true), join = b_->add_block();
  std::array<VReg, 4> params{};
  for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, RegClass::Vec);
  Access by = a;
  if (whole) {
    CondCode partial{};
    test_all(a.mask, partial);
    branch_away(partial, slow);
    by.full = true;
  }
  if (may_wrap) leave_if_wrapped(a, attr.short_row, attr.short_stride, slow);
  access(by);
  b_->jump(join, out);
  b_->at(slow);
  scattered(i, for_gathers(a), out);
  b_->jump(join, out);
  b_->at(join);
  std::copy_n(params.begin(), out.size(), out.begin());
}

/// The first address of each row, without disp. Accesses of one block by the same index have them in common,
/// if not the first makes them behind a test.
Selector::ShortRows Selector::short_row_starts(const Access& a, u32 row) {
  const std::array key{a.base.index, a.index.r[0].index, u32{a.scale_log2}, row};
  if (const auto known = short_rows_.find(key); known != short_rows_.end()) return known->second;
  ShortRows start{.lanes = row};
  for (u32 n = 0; n < lanes() / row; ++n) {
    const unsigned bytes = n * row * (a.wide ? 8 : 4), per_part = module_.vec_bytes();
    const VReg index = sixteen_bytes(a.index.r[bytes / per_part], bytes % per_part / 16);
    if (a.wide) {
      start.first[n] = b_->op_r64(Inst::kIdVmovq, xmm(index));
      continue;
    }
    const VReg low = b_->op_r32(Inst::kIdVmovd, xmm(index));
    VReg wide = b_->op_r64(Inst::kIdMovsxd, r32(low));
    const unsigned scale = std::min(a.scale_log2, ir::kMaxGatherScale);
    if (scale != a.scale_log2) wide = b_->op_r64_tied(Inst::kIdShl, wide, imm(a.scale_log2 - scale));
    start.first[n] = b_->op_r64(Inst::kIdLea, mem_index(a.base, wide, scale, 0, View::R64));
  }
  if (b_->current() == access_block_) short_rows_.emplace(key, start);
  return start;
}

/// Rows without a lane go where there is memory: else each such access, though masked, would take hundreds of
/// cycles (a convolution of 28 x 2 work-items a group, not optimised, 5 times faster).
Selector::ShortRows Selector::rows_within_reach(const Access& a, ShortRows start) {
  const VReg bits = mask_to_bits(a.mask), frame = b_->op_r64(Inst::kIdLea, mem(kFrame, -a.disp, View::R64));
  for (u32 n = 0; n < lanes() / start.lanes; ++n) {
    const u32 row = ((1u << start.lanes) - 1) << (start.lanes * n);
    b_->emit(Inst::kIdTest, {r32(bits), imm(row)});
    start.first[n] = b_->op_r64_tied(Inst::kIdCmovz, start.first[n], r64(frame));
  }
  return start;
}

/// The same where all lanes may take part.
Selector::ShortRows Selector::rows_within_reach_if_partial(const Access& a, ShortRows start) {
  if (a.full || !avx512()) return start;
  const BlockId partial = b_->add_block(true), join = b_->add_block();
  const u32 count = lanes() / start.lanes;
  ShortRows within{.lanes = start.lanes};
  for (u32 n = 0; n < count; ++n) within.first[n] = b_->add_param(join, RegClass::Gpr);
  CondCode some_missing{};
  test_all(a.mask, some_missing);
  b_->branch(some_missing, partial, {}, join, {start.first.data(), count});
  b_->at(partial);
  start = rows_within_reach(a, start);
  b_->jump(join, {start.first.data(), count});
  b_->at(join);
  return within;
}

/// Goes to `slow` if an index of a row that grows by `step` might wrap: those that do not begin too far out.
void Selector::leave_if_wrapped(const Access& a, u32 row, i64 step, BlockId slow) {
  const i64 limit = (step > 0 ? 0x7fff'ffff : -i64{0x8000'0000}) - step * row;
  const VReg limits = b_->splat32(static_cast<u32>(limit));
  const VReg beyond = step > 0 ? compare(ir::IntPred::SGt, a.index.r[0], limits, false)
                               : compare(ir::IntPred::SLt, a.index.r[0], limits, false);
  u32 firsts = 0;
  for (u32 l = 0; l < lanes(); l += row) firsts |= 1u << l;
  b_->emit(Inst::kIdTest, {r32(mask_to_bits(beyond)), imm(firsts)});
  branch_away(CondCode::kNotZero, slow);
}

/// Elements, or parts of them, that are `bytes` long, from row `n` on.
FaultSite Selector::short_row_site(InstId i, const ShortRows& start, unsigned bytes, unsigned n) {
  return {.kind = FaultSite::Kind::Contiguous,
          .bytes = static_cast<u8>(bytes),
          .lane_offset = static_cast<u8>(start.lanes * n),
          .is_write = f_[i].op == Op::Store};
}

/// In row n, who takes part; nothing if all do. What is above the row is anything.
VReg Selector::mask_of_row(const Access& a, const ShortRows& start, unsigned n) {
  if (a.full || n == 0) return a.full ? VReg{} : a.mask;
  return b_->op_k(Inst::kIdKshiftrw, a.mask, imm(start.lanes * n));
}

/// Likewise for an instruction that takes so many bits of the mask, of which those above the row are 0: if
/// they were not, what no lane of the row loads would be loaded, and might fault.
VReg Selector::mask_of_row_alone(const Access& a, const ShortRows& start, unsigned n, unsigned bits) {
  const unsigned first = start.lanes * n, above = lanes() - first - start.lanes;
  if (a.full || bits <= start.lanes || above == 0) return mask_of_row(a, start, n);
  return b_->op_k(Inst::kIdKshiftrw, b_->op_k(Inst::kIdKshiftlw, a.mask, imm(above)), imm(first + above));
}

/// Of a register, the part that has so many bytes.
View Selector::view_of(unsigned bytes) const {
  if (bytes == module_.vec_bytes()) return View::Full;
  return bytes == 16 ? View::Xmm : View::Half;
}

/// One register of what load(n) says of each row from `first` on: a register of that view, or memory.
template <class F>
VReg Selector::join_rows(View view, unsigned first, F load) {
  const auto loaded = [&](const Operand& from) {
    return from.kind == OperandKind::Mem ? b_->def(Inst::kIdVmovups, view, {from}) : from.reg;
  };
  if (view == View::Full) return loaded(load(first));
  SlotRow row;
  for (unsigned n = 0; n < module_.vec_bytes() / (view == View::Half ? 32 : 16); ++n)
    if (view == View::Half)
      row.halves[n] = loaded(load(first + n));
    else
      fill_slot(row, n, load(first + n));
  return whole(row);
}

void Selector::load_short_rows(InstId i, const Access& a, const ShortRows& start, i64 stride,
                               std::span<VReg> out) {
  if (f_[i].mem.bytes < 4) {
    out[0] = load_short_narrow(i, a, start, stride == 0);
    return;
  }
  if (stride == 16) return load_short_quads(i, a, start, out);
  const bool wide = is_wide(i);
  for (unsigned d = 0; d < out.size(); d += 2) {
    const i64 at = a.disp + 4 * i64{d};
    if (stride == 8 || (stride == 0 && wide)) {
      const Regs qwords = load_short_qwords(i, a, start, stride, at);
      if (stride == 0)
        std::copy_n(qwords.r, 2, &out[d]);
      else
        set_qwords(i, qwords, out.subspan(d, 2));
      continue;
    }
    const VReg low = load_short_dwords(i, a, start, stride, at);
    out[d] = low;
    if (d + 1 == out.size()) break;
    const VReg high = load_short_dwords(i, a, start, stride, at + 4);
    const Regs pair = wide ? join_parts(low, high) : Regs{{low, high}};
    std::copy_n(pair.r, 2, &out[d]);
  }
}

/// Elements of 4 or 8 bytes of one row, or the one place that all of its lanes load.
Operand Selector::load_short_row(InstId i, const Access& a, const ShortRows& start, unsigned n,
                                 unsigned bytes, i64 stride, i64 at) {
  FaultSite site = short_row_site(i, start, bytes, n);
  const bool same = stride == 0, dwords = bytes == 4;
  if (same) site.kind = FaultSite::Kind::Scalar;
  const View view = view_of(start.lanes * bytes);
  const Operand from = mem(start.first[n], at, !same ? view : dwords ? View::R32 : View::R64);
  const VReg mask = mask_of_row(a, start, n);
  b_->faults(site);
  if (!same && a.full) return from;
  const u32 id = same     ? dwords ? Inst::kIdVpbroadcastd : Inst::kIdVpbroadcastq
                 : dwords ? Inst::kIdVmovdqu32
                          : Inst::kIdVmovdqu64;
  return reg(b_->zero_masked(mask).def(id, view, {from}), view);
}

VReg Selector::load_short_dwords(InstId i, const Access& a, const ShortRows& start, i64 stride, i64 at) {
  return join_rows(view_of(start.lanes * 4), 0,
                   [&](unsigned n) { return load_short_row(i, a, start, n, 4, stride, at); });
}

Regs Selector::load_short_qwords(InstId i, const Access& a, const ShortRows& start, i64 stride, i64 at) {
  Regs qwords;
  for (unsigned p = 0; p < 2; ++p)
    qwords.r[p] = join_rows(view_of(start.lanes * 8), p * (lanes() / 2 / start.lanes),
                            [&](unsigned n) { return load_short_row(i, a, start, n, 8, stride, at); });
  return qwords;
}

/// Where the n-th register of elements of 16 bytes is; all lanes take part.
Operand Selector::short_quads(InstId i, const Access& a, const ShortRows& start, unsigned n) {
  const unsigned lane = n * lanes() / 4, row = lane / start.lanes;
  FaultSite site = short_row_site(i, start, 16, row);
  site.lane_offset = static_cast<u8>(lane);
  b_->faults(site);
  return mem(start.first[row], a.disp + 16 * i64{lane % start.lanes});
}

void Selector::load_short_quads(InstId i, const Access& a, const ShortRows& start, std::span<VReg> out) {
  std::array<VReg, 4> rows{};
  for (unsigned n = 0; n < 4; ++n) {
    const Operand at = short_quads(i, a, start, n);
    rows[n] = b_->load_vec(at);
  }
  if (is_wide(i))
    split_quads_to_qwords(rows);
  else
    split_quads(rows);
  std::copy_n(rows.begin(), 4, out.begin());
}

/// Bytes or words: in a row, or the `same` one in all of its lanes.
VReg Selector::load_short_narrow(InstId i, const Access& a, const ShortRows& start, bool same) {
  const ir::MemAttr& attr = f_[i].mem;
  const bool byte = attr.bytes == 1;
  const u32 extend = extending_move(attr);
  const View view = view_of(start.lanes * 4);
  constexpr View kViews[] = {View::R32, View::R64, View::Xmm};
  return join_rows(view, 0, [&](unsigned n) {
    FaultSite site = short_row_site(i, start, attr.bytes, n);
    if (!same) {
      const VReg mask = mask_of_row(a, start, n);
      b_->faults(site).zero_masked(mask);
      return reg(b_->def(extend, view, {mem(start.first[n], a.disp, kViews[start.lanes * attr.bytes / 8])}),
                 view);
    }
    site.kind = FaultSite::Kind::Scalar;
    b_->faults(site).zero_masked(mask_of_row_alone(a, start, n, 16 / attr.bytes));
    const VReg copies = b_->def(byte ? Inst::kIdVpbroadcastb : Inst::kIdVpbroadcastw, View::Xmm,
                                {mem(start.first[n], a.disp, byte ? View::R8 : View::R16)});
    return reg(b_->def(extend, view, {xmm(copies)}), view);
  });
}

/// Bytes or words that lie close together, as components of pixels do; all lanes take part.
VReg Selector::load_short_span(InstId i, const Access& a, const ShortRows& start, i64 stride) {
  const ir::MemAttr& attr = f_[i].mem;
  const View view = view_of(start.lanes * 4);
  const VReg mask = full_span_mask(start.lanes, attr.bytes, stride);
  const VReg rows = join_rows(view, 0, [&](unsigned n) {
    FaultSite site = span_site(attr.bytes, stride, false);
    site.lane_offset = static_cast<u8>(start.lanes * n);
    b_->faults(site).zero_masked(mask);
    return reg(b_->def(Inst::kIdVmovdqu8, view, {mem(start.first[n], a.disp, view)}), view);
  });
  return pick_from_span(attr, rows, stride, start.lanes);
}

/// Row n of a register, whose rows are of that view.
VReg Selector::row_of(VReg v, View view, unsigned n) {
  if (view == View::Full) return v;
  return view == View::Half ? half_of(v, n) : sixteen_bytes(v, n);
}

/// Several parts of the lanes' elements at once.
void Selector::store_short_records(const Components& record, const Access& a, const ShortRows& start,
                                   i64 stride) {
  Components in_rows = record;
  in_rows.rows = start;
  if (!f_[record.stores.back()].mem.streams) return store_record(in_rows, a, stride);
  const i64 disp = a.disp + record.first - ir::offset(f_[record.stores.back()]);
  VReg odd;
  for (unsigned n = 0; n < lanes() / start.lanes; ++n) {
    const VReg first = b_->op_r64(Inst::kIdLea, mem(start.first[n], disp, View::R64));
    odd = n == 0 ? first : b_->op_r64_tied(Inst::kIdOr, odd, r64(first));
  }
  store_lines(in_rows, a, stride, odd);
}

void Selector::store_short_rows(InstId i, const Access& a, const ShortRows& start,
                                std::span<const VReg> data) {
  const u32 bytes = f_[i].mem.bytes;
  if (bytes == 16) { // All lanes take part.
    std::array<VReg, 4> rows{data[0], data[1], data[2], data[3]};
    if (is_wide(i))
      join_quads_of_qwords(rows);
    else
      join_quads(rows);
    for (unsigned n = 0; n < 4; ++n) {
      const Operand at = short_quads(i, a, start, n);
      b_->store_vec(at, rows[n]);
    }
    return;
  }
  const bool wide = bytes == 8;
  const Regs values = !wide        ? Regs{{data[0], VReg{}}}
                      : is_wide(i) ? Regs{{data[0], data[1]}}
                                   : join_parts(data[0], data[1]);
  const View view = view_of(start.lanes * (wide ? 8 : 4));
  constexpr View kViews[] = {View::R32, View::R64, View::Xmm};
  const View to = bytes >= 4 ? view : kViews[start.lanes * bytes / 8];
  const u32 id = bytes == 1   ? Inst::kIdVpmovdb
                 : bytes == 2 ? Inst::kIdVpmovdw
                 : a.full     ? Inst::kIdVmovups
                 : wide       ? Inst::kIdVmovdqu64
                              : Inst::kIdVmovdqu32;
  const unsigned count = lanes() / start.lanes, each = wide ? count / 2 : count;
  for (unsigned n = 0; n < count; ++n) {
    const VReg row = row_of(values.r[n / each], view, n % each);
    const Operand at = mem(start.first[n], a.disp, to);
    const FaultSite site = short_row_site(i, start, bytes, n);
    if (!avx512()) {
      const VReg mask = a.full ? VReg{} : row_of(wide ? wide_mask(a.mask, n / each) : a.mask, view, n % each);
      store_row_by_blend(site, mask, at, row, view);
      continue;
    }
    const VReg mask = mask_of_row(a, start, n);
    b_->faults(site).with_mask(mask).emit(id, {at, reg(row, view)});
  }
}

/// A row of up to 8 bytes in each dword, or qword, of `row`, with AVX2; `mask`, if valid, says who takes
/// part.
void Selector::store_row_by_blend(const FaultSite& site, VReg mask, const Operand& at, VReg row, View view) {
  const bool narrow = site.bytes < 4;
  if (mask.valid()) {
    const u32 load = !narrow ? Inst::kIdVmovups : site.bytes == 1 ? Inst::kIdVpmovzxbd : Inst::kIdVpmovzxwd;
    const VReg there = b_->def(load, view, {at});
    row = b_->def(Inst::kIdVpblendvb, view, {reg(there, view), reg(row, view), reg(mask, view)});
  }
  if (!narrow) return b_->faults(site).emit(Inst::kIdVmovups, {at, reg(row, view)}), void();
  const VReg packed = b_->def(Inst::kIdVpshufb, view, {reg(row, view), reg(packed_bytes(site.bytes), view)});
  b_->faults(site).emit(site.bytes == 1 ? Inst::kIdVmovd : Inst::kIdVmovq, {at, xmm(packed)});
}

} // namespace lanewise::x86
