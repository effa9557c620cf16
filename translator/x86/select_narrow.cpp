// Accesses of one or two bytes per lane. Where a row's elements lie close together, as the components of
// pixels do, one access with a mask of bytes has them all. Loads from anywhere: the aligned dwords that hold
// the elements are gathered - these lie in the same page, so nothing is read that the guest could not read -
// and the bytes shifted out of them.
#include "translator/ir/access.hpp"
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/selector.hpp"

namespace lanewise::x86 {

/// Whether the elements of a row lie in 64 bytes, and stores of them do not overlap.
bool Selector::is_narrow_span(const ir::Inst& inst, i64 stride) const {
  const i64 bytes = inst.mem.bytes;
  if (!avx512() || bytes >= 4 || stride == bytes || inst.op == Op::Atomic) return false;
  return stride >= (inst.op == Op::Store ? bytes : 1) && stride <= 4;
}

/// A bit for each byte of the elements that so many lanes, which all take part, have in a row.
VReg Selector::full_span_mask(u32 row, u32 bytes, i64 stride) {
  u64 elements = 0;
  for (unsigned l = 0; l < row; ++l)
    elements |= (bytes == 1 ? u64{1} : u64{3}) << (l * static_cast<u64>(stride));
  return b_->mask_const(elements);
}

/// Likewise of those lanes of a gang that take part.
VReg Selector::span_mask(const Access& a, u32 bytes, i64 stride) {
  if (a.full) return full_span_mask(lanes(), bytes, stride);
  u64 elements = 0;
  for (unsigned l = 0; l < lanes(); ++l) elements |= u64{1} << (l * static_cast<u64>(stride));
  VReg bits = b_->op_r64(Inst::kIdPdep, r64(mask_to_bits(a.mask)), r64(b_->const64(elements)));
  if (bytes == 2) {
    const VReg second = b_->op_r64(Inst::kIdLea, mem_index(bits, bits, 0, 0, View::R64));
    bits = b_->op_r64_tied(Inst::kIdOr, bits, r64(second));
  }
  return b_->op_k(Inst::kIdKmovq, r64(bits));
}

FaultSite Selector::span_site(u32 bytes, i64 stride, bool is_write) {
  return {.kind = FaultSite::Kind::Contiguous,
          .bytes = static_cast<u8>(bytes),
          .distance = static_cast<u8>(stride),
          .is_write = is_write};
}

/// What makes a dword of each byte, or of each two.
u32 Selector::extending_move(const ir::MemAttr& attr) {
  if (attr.bytes == 1) return attr.sign_extend ? Inst::kIdVpmovsxbd : Inst::kIdVpmovzxbd;
  return attr.sign_extend ? Inst::kIdVpmovsxwd : Inst::kIdVpmovzxwd;
}

/// Where the consecutive elements of all lanes lie.
View Selector::narrow_row_view(const ir::MemAttr& attr) const {
  return attr.bytes == 2 ? View::Half : avx512() ? View::Xmm : View::R64;
}

/// Consecutive elements, of which some lanes, or none, want theirs, and which all lie in one page: who may
/// load one of them may load all.
void Selector::load_narrow_within_page(InstId i, const Access& a, std::span<VReg> out) {
  const ir::MemAttr& attr = f_[i].mem;
  read_if_any(a, out, [&] {
    b_->faults({.kind = FaultSite::Kind::Table, .bytes = attr.bytes}); // for the first lane of the mask
    const VReg all = b_->def(extending_move(attr), View::Full,
                             {mem(a.base, a.disp, narrow_row_view(attr)),
                              hidden(lane_offsets(attr.bytes), View::Full), hidden(a.mask, View::Full)});
    out[0] = zero_outside(a.mask, all);
  });
}

// The elements of four lanes begin at a whole dword, `stride` dwords behind those of the four lanes before,
// and are less than four dwords: a permutation of dwords brings them to the lanes' 16 bytes, one within these
// to their lanes. Stores do the reverse.

/// By a mask of their bytes, or with the whole register's.
VReg Selector::load_narrow_span(InstId i, const Access& a, i64 stride, bool whole) {
  const ir::MemAttr& attr = f_[i].mem;
  const VReg mask = whole ? VReg{} : span_mask(a, attr.bytes, stride);
  b_->faults(span_site(attr.bytes, stride, false)).zero_masked(mask);
  return pick_from_span(attr, b_->op(Inst::kIdVmovdqu8, mem(a.base, a.disp)), stride, lanes());
}

/// The elements of a register in which each row of so many lanes has a part of its own.
VReg Selector::pick_from_span(const ir::MemAttr& attr, VReg v, i64 stride, u32 row) {
  const auto step = static_cast<u32>(stride);
  std::array<u32, 16> dwords{};
  std::array<u8, 16> bytes{};
  bytes.fill(0x80); // Zero.
  for (u32 d = 0; d < 16; ++d) dwords[d] = d / row * row + d % row / 4 * step + d % 4;
  const u32 first = attr.sign_extend ? 4u - attr.bytes : 0;
  for (u32 lane = 0; lane < 4; ++lane)
    for (u32 n = 0; n < attr.bytes; ++n) bytes[4 * lane + first + n] = static_cast<u8>(lane * step + n);
  if (stride != 4 && row > 4) v = b_->op(Inst::kIdVpermd, table(dwords.data()), v);
  v = b_->op(Inst::kIdVpshufb, v, byte_table(bytes.data()));
  return attr.sign_extend ? sar_imm32(v, 8 * first) : v;
}

void Selector::store_narrow_span(InstId i, const Access& a, i64 stride) {
  const ir::MemAttr& attr = f_[i].mem;
  const auto step = static_cast<u32>(stride);
  std::array<u32, 16> dwords{};
  std::array<u8, 16> bytes{};
  bytes.fill(0x80);
  for (u32 d = 0; d < 4 * step; ++d) dwords[d] = d / step * 4 + d % step;
  for (u32 lane = 0; lane < 4; ++lane)
    for (u32 n = 0; n < attr.bytes; ++n) bytes[lane * step + n] = static_cast<u8>(4 * lane + n);
  VReg v = b_->op(Inst::kIdVpshufb, reg1(ir::stored_by(f_, i)[0]), byte_table(bytes.data()));
  if (stride != 4) v = b_->op(Inst::kIdVpermd, table(dwords.data()), v);
  const VReg mask = span_mask(a, attr.bytes, stride);
  b_->faults(span_site(attr.bytes, stride, true)).with_mask(mask);
  b_->emit(Inst::kIdVmovdqu8, {mem(a.base, a.disp), vec(v)});
}

// AVX2 has no masks of bytes: these are for gangs whose lanes all take part, as nearly all are.

/// Whether the elements of a row that is loaded lie in 32 bytes.
bool Selector::is_near(const ir::Inst& inst, i64 stride) const {
  return !avx512() && inst.op == Op::Load && inst.mem.bytes < 4 && stride >= 1 && stride <= 4;
}

/// Two loads that end where the row does: four lanes of each.
VReg Selector::load_near(InstId i, const Access& a, i64 stride) {
  const ir::MemAttr& attr = f_[i].mem;
  const auto step = static_cast<u32>(stride), span = 7 * step + attr.bytes, piece = span < 16 ? 8u : 16u;
  const u32 first = attr.sign_extend ? 4u - attr.bytes : 0;
  std::array<u8, 32> bytes{};
  bytes.fill(0x80); // Zero.
  for (u32 lane = 0; lane < 8; ++lane)
    for (u32 n = 0; n < attr.bytes; ++n)
      bytes[4 * lane + first + n] = static_cast<u8>(lane * step + n - (lane < 4 ? 0 : span - piece));
  const auto load_piece = [&](u32 at) {
    const bool eight = piece == 8;
    const Operand from = piece_of_row(attr, a, stride, at, eight ? View::R64 : View::Xmm);
    return b_->def(eight ? Inst::kIdVmovq : Inst::kIdVmovdqu, View::Xmm, {from});
  };
  const VReg low = load_piece(0), high = load_piece(span - piece);
  const VReg both = b_->op(Inst::kIdVinserti128, low, xmm(high), imm(1));
  const VReg v = b_->op(Inst::kIdVpshufb, both, or_mem(table(bytes.data())));
  return attr.sign_extend ? sar_imm32(v, 8 * first) : v;
}

// Elements further apart, also dwords: rows of bytes that end with the last element, and what picks the
// elements out of two of them.

/// Whether a permutation of dwords or words has each element in one.
bool Selector::can_be_picked(const ir::Inst& inst, i64 stride) const {
  if (inst.op != Op::Load || inst.mem.bytes > 4 || stride <= 4) return false;
  return avx512() ? stride <= 16 && (inst.mem.bytes < 4 || stride % 2 == 0) : stride <= 8;
}

/// `view` from byte `at` of the row on, whose elements are so far apart.
Operand Selector::piece_of_row(const ir::MemAttr& attr, const Access& a, i64 stride, u32 at, View view) {
  FaultSite site = span_site(attr.bytes, stride, false);
  site.early = static_cast<i16>(at);
  b_->faults(site);
  return mem(a.base, a.disp + at, view);
}

/// All lanes take part.
VReg Selector::load_picked(InstId i, const Access& a, i64 stride) {
  const ir::MemAttr& attr = f_[i].mem;
  const auto step = static_cast<u32>(stride);
  const u32 first = attr.sign_extend ? 4u - attr.bytes : 0;
  const VReg v = avx512() ? pick_from_rows(attr, a, step, first) : pick_from_pairs(attr, a, step, first);
  return attr.sign_extend ? sar_imm32(v, 8 * first) : v;
}

/// Two rows have up to 8 lanes each, four have 4. Elements are wanted at byte `first` of their lanes.
VReg Selector::pick_from_rows(const ir::MemAttr& attr, const Access& a, u32 step, u32 first) {
  const u32 rows = step <= 8 ? 2 : 4, each = 16 / rows, unit = step % 4 == 0 ? 4 : 2;
  const auto start = [&](u32 r) { return r + 1 < rows ? r * each * step : 15 * step + attr.bytes - 64; };
  std::array<VReg, 2> found{};
  std::array<u8, 64> bytes{};
  bytes.fill(0x80); // Zero.
  for (u32 pair = 0; pair < rows / 2; ++pair) {
    std::array<u8, 64> from{}; // Words or dwords, numbered through both rows; only these are wanted.
    const auto pick = [&](u32 to, u32 unit_from) {
      const u16 low = static_cast<u16>(unit_from);
      std::memcpy(&from[to * unit], &low, 2);
    };
    for (u32 n = 0; n < 2 * each; ++n) { // The second pair's come from lane 0 on, too.
      const u32 lane = pair * 2 * each + n, row = lane / each, at = lane * step - start(row);
      const u32 in_row = 64 / unit, low = at / unit, high = std::min(low + 1, in_row - 1);
      pick(n * 4 / unit, row % 2 * in_row + low);
      if (unit == 2) pick(2 * n + 1, row % 2 * in_row + high);
      for (u32 b = 0; b < attr.bytes; ++b)
        bytes[4 * lane + first + b] = static_cast<u8>(lane % 4 * 4 + at % unit + b);
    }
    const VReg low = b_->op(Inst::kIdVmovups, piece_of_row(attr, a, step, start(2 * pair), View::Full));
    const VReg high = b_->op(Inst::kIdVmovups, piece_of_row(attr, a, step, start(2 * pair + 1), View::Full));
    found[pair] =
        b_->op_tied(unit == 4 ? Inst::kIdVpermt2d : Inst::kIdVpermt2w, low, table(from.data()), high);
  }
  const VReg all = rows == 2 ? found[0] : b_->op(Inst::kIdVinserti64x4, found[0], half(found[1]), imm(1));
  return attr.bytes == 4 ? all : b_->op(Inst::kIdVpshufb, all, or_mem(table(bytes.data())));
}

/// 16 bytes have two lanes.
VReg Selector::pick_from_pairs(const ir::MemAttr& attr, const Access& a, u32 step, u32 first) {
  const auto start = [&](u32 pair) { return pair < 3 ? 2 * pair * step : 7 * step + attr.bytes - 16; };
  const auto piece = [&](u32 pair) { return piece_of_row(attr, a, step, start(pair), View::Xmm); };
  VReg all;
  for (u32 odd = 0; odd < 2; ++odd) { // The first two pairs in the lower halves, the others in the upper.
    std::array<u8, 32> bytes{};
    bytes.fill(0x80);
    for (u32 pair = odd; pair < 4; pair += 2)
      for (u32 lane = 2 * pair; lane < 2 * pair + 2; ++lane)
        for (u32 b = 0; b < attr.bytes; ++b)
          bytes[4 * lane + first + b] = static_cast<u8>(lane * step - start(pair) + b);
    const VReg low = b_->def(Inst::kIdVmovdqu, View::Xmm, {piece(odd)});
    const VReg both = b_->op(Inst::kIdVinserti128, low, piece(odd + 2), imm(1));
    const VReg own = b_->op(Inst::kIdVpshufb, both, or_mem(table(bytes.data())));
    all = odd == 0 ? own : vor(all, own);
  }
  return all;
}

/// Where the low byte or two of each dword are, in 16 bytes with AVX2.
VReg Selector::packed_bytes(u32 size) {
  std::array<u8, 16> bytes{};
  bytes.fill(0x80);
  for (u32 n = 0; n < 4 * size; ++n) bytes[n] = static_cast<u8>(n / size * 4 + n % size);
  return byte_table(bytes.data());
}

/// The low byte or two of each dword, one after the other. AVX2 stores those of all lanes, or what the others
/// have there once more.
void Selector::store_narrow_row(const FaultSite& site, VReg mask, const Operand& at, VReg data) {
  const bool byte = site.bytes == 1;
  if (avx512()) {
    b_->faults(site).with_mask(mask).emit(byte ? Inst::kIdVpmovdb : Inst::kIdVpmovdw, {at, vec(data)});
    return;
  }
  if (mask.valid()) data = blend(mask, data, b_->op(byte ? Inst::kIdVpmovzxbd : Inst::kIdVpmovzxwd, at));
  const VReg packed = b_->op(Inst::kIdVpshufb, data, packed_bytes(site.bytes));
  if (byte) {
    const VReg high = b_->def(Inst::kIdVextracti128, View::Xmm, {vec(packed), imm(1)});
    const VReg both = b_->def(Inst::kIdVpunpckldq, View::Xmm, {xmm(packed), xmm(high)});
    b_->faults(site).emit(Inst::kIdVmovq, {at, xmm(both)});
  } else {
    const VReg both = b_->op(Inst::kIdVpermq, packed, imm(0x08));
    b_->faults(site).emit(Inst::kIdVmovdqu, {at, xmm(both)});
  }
}

Regs Selector::exact_addresses(const Access& a) {
  Regs at;
  VReg base;
  if (!a.wide) {
    const VReg first = b_->op_r64(Inst::kIdLea, mem(a.base, a.disp, View::R64));
    base = splat(Type::V64, first).r[0];
  } else if (a.disp != 0) {
    base = b_->splat64(static_cast<u64>(a.disp));
  }
  for (unsigned p = 0; p < 2; ++p) {
    at.r[p] = a.wide ? a.index.r[p] : shl_imm(widen(a.index.r[0], p, true), a.scale_log2, true);
    if (base.valid()) at.r[p] = b_->op(Inst::kIdVpaddq, at.r[p], base);
  }
  return at;
}

/// Lane by lane, for what lies across two dwords.
VReg Selector::load_narrow_lanes(InstId i, const Access& a) {
  const ir::MemAttr& attr = f_[i].mem;
  spill_addresses(a);
  b_->store_vec(temp(kTempResults, View::Full), b_->splat32(0));
  for_each_lane(a.mask, [&](VReg lane) {
    const VReg address = lane_address(a, lane);
    const Operand at = mem(address, a.disp, attr.bytes == 1 ? View::R8 : View::R16);
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = attr.bytes});
    const VReg value = b_->op_r32(attr.sign_extend ? Inst::kIdMovsx : Inst::kIdMovzx, at, hidden(lane));
    b_->store32(temp_lane(kTempResults, lane, 2, View::R32), value);
  });
  return b_->load_vec(temp(kTempResults, View::Full));
}

VReg Selector::extended(const ir::MemAttr& attr, VReg low) {
  const unsigned unused = 32 - 8u * attr.bytes;
  const VReg top = shl_imm(low, unused);
  return attr.sign_extend ? sar_imm32(top, unused) : shr_imm(top, unused);
}

/// The dwords in which the lanes' elements begin; `offset` is where in these.
Selector::Access Selector::dwords_of(const Access& a, VReg& offset) {
  Access dwords = a;
  const VReg three = b_->splat32(3);
  if (a.wide || a.scale_log2 > 1) {
    const Regs at = exact_addresses(a);
    dwords.base = VReg{};
    dwords.disp = 0;
    dwords.wide = true;
    offset = vand(narrow(at, false), three);
    for (unsigned p = 0; p < 2; ++p) dwords.index.r[p] = vand(at.r[p], b_->splat64(~u64{3}));
    return dwords;
  }
  // Counted in dwords from there, no index wraps.
  const VReg index = a.index.r[0];
  dwords.index.r[0] = sar_imm32(index, 2 - a.scale_log2);
  dwords.scale_log2 = 2;
  offset = vand(shl_imm(index, a.scale_log2), three);
  if (a.in_dwords) return dwords;
  const VReg first = b_->op_r64(Inst::kIdLea, mem(a.base, a.disp, View::R64));
  dwords.base = b_->op_r64_tied(Inst::kIdAnd, first, imm(-4));
  dwords.disp = 0;
  const VReg bytes =
      b_->op(Inst::kIdVpaddd, offset, splat(Type::V32, b_->op_r32_tied(Inst::kIdAnd, first, imm(3))).r[0]);
  dwords.index.r[0] = b_->op(Inst::kIdVpaddd, dwords.index.r[0], shr_imm(bytes, 2));
  offset = vand(bytes, three);
  return dwords;
}

VReg Selector::load_narrow(InstId i, const Access& a) {
  const ir::MemAttr& attr = f_[i].mem;
  if (a.uniform()) return load_narrow_lanes(i, a);
  VReg offset;
  const Access dwords = dwords_of(a, offset);
  const auto gathered = [&] {
    return extended(attr, b_->op(Inst::kIdVpsrlvd, gather_dwords(dwords, 0), shl_imm(offset, 3)));
  };
  if (attr.bytes == 1) return gathered();
  const VReg across = mask_and(compare(ir::IntPred::Eq, offset, b_->splat32(3), false), a.mask);
  if (avx512())
    b_->emit(Inst::kIdKortestw, {k(across), k(across)});
  else
    b_->emit(Inst::kIdVptest, {vec(across), vec(across)});
  const BlockId slow = b_->add_block(true), fast = b_->add_block(), join = b_->add_block();
  const VReg result = b_->add_param(join, RegClass::Vec);
  b_->branch(CondCode::kNotZero, slow, fast);
  b_->at(fast);
  const VReg value = gathered();
  b_->jump(join, {&value, 1});
  b_->at(slow);
  const VReg by_lane = load_narrow_lanes(i, a);
  b_->jump(join, {&by_lane, 1});
  b_->at(join);
  return result;
}

} // namespace lanewise::x86
