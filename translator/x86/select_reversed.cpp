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

/// All lanes take part. Lanes that come first are accessed first: they lie last.
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
  Regs row;
  if (!is_store) {
    for (unsigned p = 0; p < count; ++p) {
      b_->faults(site(p));
      row.r[p] = reversed(narrow ? b_->op(extending_move(attr), at(p)) : b_->load_vec(at(p)), wide);
    }
    if (wide) return set_qwords(i, row, out);
    out[0] = row.r[0];
    return;
  }
  std::array<VReg, 4> values{};
  const auto data = stored_data(i, values);
  row = !wide || is_wide(i) ? Regs{{values[0], values[1]}} : join_parts(data[0], data[1]);
  for (unsigned p = 0; p < count; ++p) {
    const VReg turned = reversed(row.r[p], wide);
    if (narrow)
      store_narrow_row(site(p), VReg{}, at(p), turned);
    else
      b_->faults(site(p)).store_vec(at(p), turned);
  }
}

} // namespace lanewise::x86
