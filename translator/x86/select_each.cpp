// AVX2: elements of up to four bytes at any addresses, a load for each lane. Gathers are as many loads
// inside, and slower (on Zen 3 a fifth for dwords); bytes and words they have to cut out of dwords, which
// takes as long again.
#include "translator/x86/selector.hpp"

#include <bit>

namespace lanewise::x86 {

bool Selector::can_load_each(const Access& a) const {
  return !avx512() && !in_ranks() && !a.low_half && !a.uniform();
}

/// All lanes take part.
VReg Selector::load_each(const ir::MemAttr& attr, const Access& a, i64 disp) {
  const u32 bytes = std::min<u32>(attr.bytes, 4);
  constexpr View kViews[] = {View::R8, View::R16, View::R32};
  const auto kind = static_cast<unsigned>(std::countr_zero(bytes));
  VReg halves[2];
  for (unsigned h = 0; h < 2; ++h) {
    const VReg part = a.wide ? a.index.r[h] : half_of(a.index.r[0], h);
    VReg four = b_->splat32(0), pair;
    for (unsigned n = 0; n < 4; ++n) {
      const VReg two = a.wide && n >= 2 ? half_of(part, 1) : part; // has addresses, or pairs of indices
      const auto qword = [&](unsigned which) {
        return which == 0 ? b_->op_r64(Inst::kIdVmovq, xmm(two))
                          : b_->def(Inst::kIdVpextrq, View::R64, {xmm(two), imm(1)});
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
                  .lane_offset = static_cast<u8>(4 * h + n)});
      const Operand at = a.wide ? mem(offset, disp, kViews[kind])
                                : mem_index(a.base, offset, a.scale_log2, disp, kViews[kind]);
      four = insert_element(attr, four, n, at);
    }
    halves[h] = four;
  }
  return extend_inserted(attr, b_->op(Inst::kIdVinserti128, halves[0], xmm(halves[1]), imm(1)));
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
