// Consecutive elements of several dwords: full-width loads and stores, and the transposition to one register
// per dword.
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Four registers of consecutive 16-byte elements to one register per dword.
void Selector::split_quads(std::array<VReg, 4>& r) {
  if (avx512()) {
    std::array<VReg, 4> pick{};
    for (u32 pair = 0; pair < 2; ++pair) { // Dwords 0 and 1, then 2 and 3.
      std::array<u32, 16> index{};
      for (u32 l = 0; l < 16; ++l) index[l] = l / 4 % 2 * 16 + l % 4 * 4 + l / 8 + 2 * pair;
      pick[2 * pair] = b_->op_tied(Inst::kIdVpermt2d, r[0], table(index.data()), r[1]);
      pick[2 * pair + 1] = b_->op_tied(Inst::kIdVpermt2d, r[2], table(index.data()), r[3]);
    }
    for (u32 pair = 0; pair < 2; ++pair) {
      r[2 * pair] = b_->op(Inst::kIdVshufi64x2, pick[2 * pair], pick[2 * pair + 1], imm(0x44));
      r[2 * pair + 1] = b_->op(Inst::kIdVshufi64x2, pick[2 * pair], pick[2 * pair + 1], imm(0xee));
    }
    return;
  }
  const auto halves = [&](VReg a, VReg b, int which) {
    return b_->op(Inst::kIdVperm2i128, a, b, imm(which));
  };
  interleave_dwords({halves(r[0], r[2], 0x20), halves(r[0], r[2], 0x31), halves(r[1], r[3], 0x20),
                     halves(r[1], r[3], 0x31)},
                    r);
}

/// The 4x4 transposition within every 128 bits; its own inverse.
void Selector::interleave_dwords(const std::array<VReg, 4>& in, std::array<VReg, 4>& out) {
  const VReg low01 = b_->op(Inst::kIdVpunpckldq, in[0], in[1]),
             low23 = b_->op(Inst::kIdVpunpckldq, in[2], in[3]);
  const VReg high01 = b_->op(Inst::kIdVpunpckhdq, in[0], in[1]),
             high23 = b_->op(Inst::kIdVpunpckhdq, in[2], in[3]);
  out[0] = b_->op(Inst::kIdVpunpcklqdq, low01, low23);
  out[1] = b_->op(Inst::kIdVpunpckhqdq, low01, low23);
  out[2] = b_->op(Inst::kIdVpunpcklqdq, high01, high23);
  out[3] = b_->op(Inst::kIdVpunpckhqdq, high01, high23);
}

/// Of as many registers as they have 128-bit slots: their first slots become the first register, and so on.
void Selector::gather_slots(std::array<VReg, 4>& rows) {
  if (avx512()) {
    const auto pick = [&](VReg a, VReg b, int which) {
      return b_->op(Inst::kIdVshufi32x4, a, b, imm(which));
    };
    const VReg low01 = pick(rows[0], rows[1], 0x44), low23 = pick(rows[2], rows[3], 0x44);
    const VReg high01 = pick(rows[0], rows[1], 0xee), high23 = pick(rows[2], rows[3], 0xee);
    rows = {pick(low01, low23, 0x88), pick(low01, low23, 0xdd), pick(high01, high23, 0x88),
            pick(high01, high23, 0xdd)};
    return;
  }
  const VReg first = b_->op(Inst::kIdVperm2i128, rows[0], rows[1], imm(0x20));
  rows[1] = b_->op(Inst::kIdVperm2i128, rows[0], rows[1], imm(0x31));
  rows[0] = first;
}

/// The inverse of split_quads().
void Selector::join_quads(std::array<VReg, 4>& d) {
  std::array<VReg, 4> m{};
  interleave_dwords(d, m); // m[i]: elements i, i + 4, ..
  if (avx512()) {
    gather_slots(m);
    d = m;
    return;
  }
  std::array<VReg, 4> low{m[0], m[1]}, high{m[2], m[3]};
  gather_slots(low);
  gather_slots(high);
  d = {low[0], high[0], low[1], high[1]};
}

/// Four registers of consecutive 16-byte elements to the two 64-bit values of each.
void Selector::split_quads_to_qwords(std::array<VReg, 4>& r) {
  std::array<VReg, 4> qwords{};
  for (unsigned p = 0; p < 2; ++p) {
    const VReg first = r[2 * p], second = r[2 * p + 1];
    if (avx512()) {
      for (u64 n = 0; n < 2; ++n) {
        std::array<u64, 8> index{};
        for (u64 l = 0; l < 8; ++l) index[l] = 2 * l + n;
        qwords[2 * n + p] = b_->op_tied(Inst::kIdVpermt2q, first, table(index.data()), second);
      }
      continue;
    }
    const VReg even = b_->op(Inst::kIdVperm2i128, first, second, imm(0x20)),
               odd = b_->op(Inst::kIdVperm2i128, first, second, imm(0x31));
    qwords[p] = b_->op(Inst::kIdVpunpcklqdq, even, odd);
    qwords[2 + p] = b_->op(Inst::kIdVpunpckhqdq, even, odd);
  }
  r = qwords;
}

/// The inverse.
void Selector::join_quads_of_qwords(std::array<VReg, 4>& d) {
  std::array<VReg, 4> rows{};
  for (unsigned p = 0; p < 2; ++p) {
    const VReg low = d[p], high = d[2 + p];
    if (avx512()) {
      for (u64 n = 0; n < 2; ++n) {
        std::array<u64, 8> index{};
        for (u64 e = 0; e < 8; ++e) index[e] = e % 2 * 8 + 4 * n + e / 2;
        rows[2 * p + n] = b_->op_tied(Inst::kIdVpermt2q, low, table(index.data()), high);
      }
      continue;
    }
    const VReg even = b_->op(Inst::kIdVpunpcklqdq, low, high), odd = b_->op(Inst::kIdVpunpckhqdq, low, high);
    rows[2 * p] = b_->op(Inst::kIdVperm2i128, even, odd, imm(0x20));
    rows[2 * p + 1] = b_->op(Inst::kIdVperm2i128, even, odd, imm(0x31));
  }
  d = rows;
}

/// All lanes take part.
void Selector::load_quads(InstId i, VReg address, i64 disp, std::span<VReg> out) {
  std::array<VReg, 4> rows{};
  for (unsigned n = 0; n < 4; ++n) {
    b_->faults(
        {.kind = FaultSite::Kind::Contiguous, .bytes = 16, .lane_offset = static_cast<u8>(n * lanes() / 4)});
    rows[n] = b_->load_vec(mem(address, disp + n * module_.vec_bytes()));
  }
  if (is_wide(i) && !alike_[i.index])
    split_quads_to_qwords(rows);
  else if (!alike_[i.index])
    split_quads(rows);
  std::copy_n(rows.begin(), 4, out.begin());
}

void Selector::store_quads(InstId i, VReg address, i64 disp, std::span<const VReg> data) {
  std::array<VReg, 4> rows{data[0], data[1], data[2], data[3]};
  if (is_wide(i) && !alike_[i.index])
    join_quads_of_qwords(rows);
  else if (!alike_[i.index])
    join_quads(rows);
  for (unsigned n = 0; n < 4; ++n) {
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = 16,
                .lane_offset = static_cast<u8>(n * lanes() / 4),
                .is_write = true});
    store_row(mem(address, disp + n * module_.vec_bytes()), rows[n]);
  }
}

// Elements of three dwords: dword d of lane l is the one with number 3 l + d. With AVX-512 they are in three
// registers, of which a permutation takes two. With AVX2 four lanes' are in 48 bytes, three times 16: halves
// of three registers that a shuffle of two can pick from.

/// An access from that dword of the row on.
FaultSite Selector::triple_site(unsigned dword, bool is_write) {
  return {.kind = FaultSite::Kind::Contiguous,
          .bytes = 12,
          .lane_offset = static_cast<u8>(dword / 3),
          .early = static_cast<u8>(dword % 3 * 4),
          .is_write = is_write};
}

/// In every 128 bits, two dwords of `a` and two of `b`.
VReg Selector::pick_two_each(VReg a, VReg b, std::array<int, 4> from) {
  return b_->op(Inst::kIdVshufps, a, b, imm(from[0] | from[1] << 2 | from[2] << 4 | from[3] << 6));
}

/// All lanes take part.
void Selector::load_triples(VReg address, i64 disp, std::span<VReg> out) {
  std::array<VReg, 3> rows{};
  if (!avx512()) { // rows: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3; and of the other four lanes.
    for (unsigned r = 0; r < 3; ++r) {
      b_->faults(triple_site(4 * r, false));
      rows[r] = b_->def(Inst::kIdVmovups, View::Xmm, {mem(address, disp + 16 * i64{r}, View::Xmm)});
    }
    for (unsigned r = 0; r < 3; ++r) {
      b_->faults(triple_site(12 + 4 * r, false));
      rows[r] =
          b_->op(Inst::kIdVinserti128, rows[r], mem(address, disp + 48 + 16 * i64{r}, View::Xmm), imm(1));
    }
    const VReg yz01 = pick_two_each(rows[0], rows[1], {1, 2, 0, 1}),
               xy23 = pick_two_each(rows[1], rows[2], {2, 3, 1, 2});
    out[0] = pick_two_each(rows[0], xy23, {0, 3, 0, 2});
    out[1] = pick_two_each(yz01, xy23, {0, 2, 1, 3});
    out[2] = pick_two_each(yz01, rows[2], {1, 3, 0, 3});
    return;
  }
  for (unsigned r = 0; r < 3; ++r) {
    b_->faults(triple_site(16 * r, false));
    rows[r] = b_->load_vec(mem(address, disp + 64 * i64{r}));
  }
  for (u32 d = 0; d < 3; ++d) {
    std::array<u32, 16> first{}, second{};
    for (u32 l = 0; l < 16; ++l) {
      const u32 n = 3 * l + d;
      first[l] = n % 32;
      second[l] = n < 32 ? l : n - 16;
    }
    const VReg two = b_->op_tied(Inst::kIdVpermt2d, rows[0], table(first.data()), rows[1]);
    out[d] = b_->op_tied(Inst::kIdVpermt2d, two, table(second.data()), rows[2]);
  }
}

/// Three registers of consecutive elements, of one register per dword.
std::array<VReg, 3> Selector::join_triples(std::span<const VReg> data) {
  if (!avx512()) {
    const VReg xy02 = pick_two_each(data[0], data[1], {0, 2, 0, 2}),
               yz13 = pick_two_each(data[1], data[2], {1, 3, 1, 3}),
               zx = pick_two_each(data[2], data[0], {0, 2, 1, 3});
    const std::array<VReg, 3> rows{pick_two_each(xy02, zx, {0, 2, 0, 2}),
                                   pick_two_each(yz13, xy02, {0, 2, 1, 3}),
                                   pick_two_each(zx, yz13, {1, 3, 1, 3})};
    constexpr int kLowLow = 0x20, kLowHigh = 0x30, kHighHigh = 0x31;
    return {b_->op(Inst::kIdVperm2i128, rows[0], rows[1], imm(kLowLow)),
            b_->op(Inst::kIdVperm2i128, rows[2], rows[0], imm(kLowHigh)),
            b_->op(Inst::kIdVperm2i128, rows[1], rows[2], imm(kHighHigh))};
  }
  std::array<VReg, 3> rows{};
  for (u32 r = 0; r < 3; ++r) {
    std::array<u32, 16> first{}, second{};
    for (u32 n = 0; n < 16; ++n) {
      const u32 l = (16 * r + n) / 3, d = (16 * r + n) % 3;
      first[n] = 16 * (d % 2) + l;
      second[n] = d < 2 ? n : 16 + l;
    }
    const VReg two = b_->op_tied(Inst::kIdVpermt2d, data[0], table(first.data()), data[1]);
    rows[r] = b_->op_tied(Inst::kIdVpermt2d, two, table(second.data()), data[2]);
  }
  return rows;
}

/// All lanes take part.
void Selector::store_triples(VReg address, i64 disp, std::span<const VReg> data) {
  const std::array<VReg, 3> rows = join_triples(data);
  for (unsigned r = 0; r < 3; ++r) {
    b_->faults(triple_site(lanes() * r, true));
    store_row(mem(address, disp + r * module_.vec_bytes()), rows[r]);
  }
}

void Selector::store_qwords(const Access& a, VReg address, Regs qwords) {
  for (unsigned p = 0; p < (a.first_lanes == 0 ? 2 : 1); ++p) {
    const Operand at = mem(address, a.disp + p * module_.vec_bytes());
    const VReg mask = a.full ? VReg{} : wide_mask(a.mask, p);
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = 8,
                .lane_offset = static_cast<u8>(p * lanes() / 2),
                .is_write = true});
    if (a.full)
      store_row(at, qwords.r[p]);
    else if (avx512() && !a.all_exist)
      b_->with_mask(mask).emit(Inst::kIdVmovdqu64, {at, vec(qwords.r[p])});
    else if (avx512())
      b_->store_vec(at, blend(mask, qwords.r[p], b_->load_vec(at), true));
    else
      masked_store(mask, at, qwords.r[p], a.all_exist);
  }
}

} // namespace lanewise::x86
