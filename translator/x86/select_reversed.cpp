// Rows that go backwards, as where an array is reversed or an image mirrored: one access has all elements, a
// permutation turns them round.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

bool Selector::is_reversed_row(const ir::Inst& inst, i64 stride) const {
  return inst.op != Op::Atomic && inst.mem.space == ir::Space::Global && stride == -i64{inst.mem.bytes} &&
         inst.mem.bytes <= 8;
}

/// The same elements in the opposite order.
VReg Selector::reversed(VReg v, bool wide) {
  if (wide && !avx512()) return b_->op(Inst::kIdVpermq, v, imm(0x1b));
  if (!wide) {
    std::array<u32, 16> from{};
    for (u32 l = 0; l < lanes(); ++l) from[l] = lanes() - 1 - l;
    return b_->op(Inst::kIdVpermd, table(from.data()), v);
  }
  std::array<u64, 8> from{};
  for (u64 l = 0; l < 8; ++l) from[l] = 7 - l;
  return b_->op(Inst::kIdVpermq, table(from.data()), v);
}

/// Of part `p` of an access; nothing if all lanes take part.
VReg Selector::reversed_mask(const Access& a, unsigned p, bool wide) {
  if (a.full || !avx512()) return {};
  if (!wide) return b_->op_k(Inst::kIdVpmovd2m, vec(reversed(b_->op(Inst::kIdVpmovm2d, k(a.mask)), false)));
  const VReg part = wide_mask(a.mask, p);
  return b_->op_k(Inst::kIdVpmovq2m, vec(reversed(b_->op(Inst::kIdVpmovm2q, k(part)), true)));
}

/// With AVX2 all lanes take part. Lanes that come first are accessed first: they lie last.
void Selector::reversed_row(InstId i, const Access& a, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  const bool is_store = f_[i].op == Op::Store, wide = attr.bytes == 8, narrow = attr.bytes < 4;
  const unsigned count = wide ? 2 : 1, each = lanes() / count;
  const auto site = [&](unsigned p) {
    return FaultSite{.kind = FaultSite::Kind::Descending,
                     .bytes = attr.bytes,
                     .lane_offset = static_cast<u8>(p * each),
                     .is_write = is_store};
  };
  const auto at = [&](unsigned p) {
    return mem(a.base, a.disp - i64{attr.bytes} * ((p + 1) * each - 1),
               narrow ? narrow_row_view(attr) : View::Full);
  };
  const u32 move = wide ? Inst::kIdVmovdqu64 : Inst::kIdVmovdqu32;
  Regs row;
  if (!is_store) {
    for (unsigned p = 0; p < count; ++p) {
      const VReg mask = reversed_mask(a, p, wide);
      b_->faults(site(p));
      if (mask.valid()) b_->zero_masked(mask);
      const VReg loaded = narrow         ? b_->op(extending_move(attr), at(p))
                          : mask.valid() ? b_->op(move, at(p))
                                         : b_->load_vec(at(p));
      row.r[p] = reversed(loaded, wide);
    }
    if (wide) return set_qwords(i, row, out);
    out[0] = row.r[0];
    return;
  }
  std::array<VReg, 4> values{};
  const auto data = stored_data(i, values);
  row = !wide || is_wide(i) ? Regs{{values[0], values[1]}} : join_parts(data[0], data[1]);
  for (unsigned p = 0; p < count; ++p) {
    const VReg turned = reversed(row.r[p], wide), mask = reversed_mask(a, p, wide);
    if (narrow)
      store_narrow_row(site(p), mask, at(p), turned);
    else if (mask.valid())
      b_->faults(site(p)).with_mask(mask).emit(move, {at(p), vec(turned)});
    else
      b_->faults(site(p)).store_vec(at(p), turned);
  }
}

} // namespace lanewise::x86
