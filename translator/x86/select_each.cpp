// Elements of up to four bytes at any addresses, a load for each lane. AVX2's gathers are as many loads
// inside, and slower (on Zen 3 a fifth for dwords); bytes and words they have to cut out of dwords, which
// takes as long again. AVX-512's are worth it for dwords: of words some mostly lie across the dwords that are
// gathered, and are taken one by one, and to cut out bytes takes a fifth to a third of all the time on Zen 4.
#include "translator/x86/selector.hpp"

#include <bit>

namespace lanewise::x86 {

bool Selector::can_load_each(const ir::MemAttr& attr, const Access& a) const {
  return (!avx512() || attr.bytes < 4) && !in_ranks() && !a.low_half && !a.uniform();
}

/// All lanes take part.
VReg Selector::load_each(const ir::MemAttr& attr, const Access& a, i64 disp) {
  const u32 bytes = std::min<u32>(attr.bytes, 4);
  constexpr View kViews[] = {View::R8, View::R16, View::R32};
  const auto kind = static_cast<unsigned>(std::countr_zero(bytes));
  const unsigned fours = lanes() / 4;
  std::array<VReg, 4> loaded{};
  for (unsigned q = 0; q < fours; ++q) {
    const VReg all = a.wide ? a.index.r[q / (fours / 2)] : a.index.r[0];
    VReg four = b_->splat32(0), pair, part;
    for (unsigned n = 0; n < 4; ++n) {
      // 16 bytes have two addresses, or four indices.
      if (n == 0 || (a.wide && n == 2)) part = sixteen_bytes(all, a.wide ? (2 * q + n / 2) % fours : q);
      const auto qword = [&](unsigned which) {
        return which == 0 ? b_->op_r64(Inst::kIdVmovq, xmm(part))
                          : b_->def(Inst::kIdVpextrq, View::R64, {xmm(part), imm(1)});
      };
      VReg offset;
      if (a.wide) {
        offset = qword(n % 2);
      } else if (n % 2 == 0) {
        pair = qword(n / 2);
        offset = b_->op_r64(Inst::kIdMovsxd, r32(pair));
      } else {
        offset = b_->op_r64_tied(Inst::kIdSar, pair, imm(32));
      }
      b_->faults({.kind = FaultSite::Kind::Contiguous,
                  .bytes = static_cast<u8>(bytes),
                  .lane_offset = static_cast<u8>(4 * q + n)});
      const Operand at = a.wide ? mem(offset, disp, kViews[kind])
                                : mem_index(a.base, offset, a.scale_log2, disp, kViews[kind]);
      four = insert_element(attr, four, n, at);
    }
    loaded[q] = four;
  }
  const View pair_view = avx512() ? View::Half : View::Full;
  for (unsigned q = 0; q < fours; q += 2)
    loaded[q / 2] =
        b_->def(Inst::kIdVinserti128, pair_view, {reg(loaded[q], pair_view), xmm(loaded[q + 1]), imm(1)});
  if (avx512()) loaded[0] = b_->op(Inst::kIdVinserti64x4, loaded[0], half(loaded[1]), imm(1));
  return extend_inserted(attr, loaded[0]);
}

/// The n-th of a register.
VReg Selector::sixteen_bytes(VReg all, unsigned n) {
  if (n == 0) return all;
  return b_->def(avx512() ? Inst::kIdVextracti32x4 : Inst::kIdVextracti128, View::Xmm, {vec(all), imm(n)});
}

/// Puts an element of up to 4 bytes into dword `n` of `four`; what is to be extended, at its upper end.
VReg Selector::insert_element(const ir::MemAttr& attr, VReg four, unsigned n, const Operand& at) {
  if (attr.bytes >= 4)
    return n == 0 ? b_->def(Inst::kIdVmovd, View::Xmm, {at})
                  : b_->def(Inst::kIdVpinsrd, View::Xmm, {xmm(four), at, imm(static_cast<int>(n))});
  const unsigned in_dword = 4u / attr.bytes, place = n * in_dword + (attr.sign_extend ? in_dword - 1 : 0);
  return b_->def(attr.bytes == 1 ? Inst::kIdVpinsrb : Inst::kIdVpinsrw, View::Xmm,
                 {xmm(four), at, imm(static_cast<int>(place))});
}

VReg Selector::extend_inserted(const ir::MemAttr& attr, VReg v) {
  return attr.bytes < 4 && attr.sign_extend ? sar_imm32(v, 32 - 8 * attr.bytes) : v;
}

} // namespace lanewise::x86
