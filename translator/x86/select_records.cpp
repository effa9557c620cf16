// Records, as in arrays of structures: stores of several parts of a lane's element are one store of all their
// bytes, and of whole elements one of the bytes of several lanes. Part by part each line would be written
// several times over, and by the time that the next part comes may have left the caches.
//
// On the way there is a register for each 16 bytes of the record and each lane of four: of lanes 0, 4, 8.. or
// 1, 5, 9... Of as many of them as they have 128-bit slots, those that follow one another in memory, the
// slots are brought together.
#include "translator/ir/rows.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

constexpr u32 kPiece = 16; ///< bytes

} // namespace

/// A record's parts in their order in memory: the dwords of a store apart, 64-bit values whole.
std::vector<Selector::RecordPart> Selector::parts_of_record(const std::vector<InstId>& stores) const {
  std::vector<RecordPart> all;
  for (const InstId i : stores) {
    i64 at = ir::offset(f_[i]);
    for (const ValueId v : ir::stored_by(f_, i)) {
      const u32 bytes = parts(type(v)) == 2 ? 8 : std::min<u32>(4, f_[i].mem.bytes);
      all.push_back({.at = at, .bytes = bytes, .value = v, .store = i});
      at += bytes;
    }
  }
  std::ranges::sort(all, {}, &RecordPart::at);
  return all;
}

/// Finds whole pieces of 16 bytes that several of the stores, or one piece after the other, make up.
void Selector::join_records(const std::vector<InstId>& stores) {
  const std::vector<RecordPart> all = parts_of_record(stores);
  for (std::size_t p = 1; p < all.size(); ++p)
    if (all[p].at < all[p - 1].at + all[p - 1].bytes) return;
  if (all.back().at + all.back().bytes - all.front().at > ir::element_stride(f_[stores.front()].mem)) return;
  const auto starts_store = [&](std::size_t p) { return all[p].at == ir::offset(f_[all[p].store]); };
  for (std::size_t from = 0; from < all.size();) {
    std::size_t end = from; // what the record ends in front of
    u32 size = 0;
    for (std::size_t p = from; starts_store(from) && p < all.size(); ++p) {
      const i64 at = all[p].at - all[from].at, next = at + all[p].bytes;
      const bool follows = p == from || all[p].at == all[p - 1].at + all[p - 1].bytes;
      const bool in_dword = at % 4 == 0 || at / 4 == (next - 1) / 4;
      if (!follows || !in_dword) break;
      if (next % kPiece != 0 || (p + 1 < all.size() && !starts_store(p + 1))) continue;
      end = p + 1;
      size = static_cast<u32>(next);
    }
    if (end == from) {
      ++from;
      continue;
    }
    Components record{.stores = {}, .first = all[from].at, .whole = true, .record = size, .rows = {}};
    std::ranges::copy_if(stores, std::back_inserter(record.stores), [&](InstId i) {
      return ir::offset(f_[i]) >= record.first && ir::offset(f_[i]) < record.first + size;
    });
    if (record.stores.size() > 1) components_.push_back(std::move(record));
    from = end;
  }
}

/// The dword at `at`, of one value or of several narrow ones.
VReg Selector::dword_of_record(std::span<const RecordPart> all, i64 at) {
  VReg dword;
  for (const RecordPart& part : all) {
    if (part.at + part.bytes <= at || part.at >= at + 4) continue;
    if (part.bytes == 8) return narrow(regs(part.value), part.at != at);
    VReg own = reg1(part.value);
    if (part.bytes == 4) return own;
    const auto shift = static_cast<u32>(part.at - at) * 8;
    if (shift + 8 * part.bytes < 32) own = vand(own, b_->splat32((1u << 8 * part.bytes) - 1));
    if (shift != 0) own = shl_imm(own, shift);
    dword = dword.valid() ? vor(dword, own) : own;
  }
  return dword;
}

/// The piece at `at` of lanes 0, 4, 8.., of lanes 1, 5, 9..., and so on.
std::array<VReg, 4> Selector::piece_of_record(std::span<const RecordPart> all, i64 at) {
  const auto wide_at = [&](i64 place) {
    const auto p = std::ranges::find(all, place, &RecordPart::at);
    return p != all.end() && p->bytes == 8 ? p->value : ValueId{};
  };
  const ValueId low = wide_at(at), high = wide_at(at + 8);
  std::array<VReg, 4> rows{};
  if (!low.valid() || !high.valid()) {
    std::array<VReg, 4> dwords{};
    for (u32 d = 0; d < 4; ++d) dwords[d] = dword_of_record(all, at + 4 * d);
    interleave_dwords(dwords, rows);
    return rows;
  }
  const Regs l = regs(low), h = regs(high);
  for (u32 odd = 0; odd < 2; ++odd) { // Of every other lane.
    const u32 unpack = odd == 0 ? Inst::kIdVpunpcklqdq : Inst::kIdVpunpckhqdq;
    const VReg first = b_->op(unpack, l.r[0], h.r[0]), second = b_->op(unpack, l.r[1], h.r[1]);
    for (u32 n = 0; n < 2; ++n)
      rows[odd + 2 * n] = avx512() ? b_->op(Inst::kIdVshufi32x4, first, second, imm(n == 0 ? 0x88 : 0xdd))
                                   : b_->op(Inst::kIdVperm2i128, first, second, imm(n == 0 ? 0x20 : 0x31));
  }
  return rows;
}

/// Whether all of the element is stored, and registers suffice to go through all lanes but once.
bool Selector::is_stored_in_lines(const Components& all, i64 stride) const {
  return (all.record == 0 || all.record == stride) && ir::fill_lines(stride, lanes());
}

/// All lanes take part.
void Selector::store_record(const Components& record, const Access& a, i64 stride) {
  const std::vector<RecordPart> all = parts_of_record(record.stores);
  const u32 pieces = record.record / kPiece;
  const bool at_once = is_stored_in_lines(record, stride);
  for (u32 p = 0, n; p < pieces; p += n) {
    n = at_once ? pieces : std::min(pieces - p, lanes() / 4);
    store_pieces(record, a, stride, all, p, n);
  }
}

/// `count` 128-bit slots of the register, from `from` on.
template <class To>
void Selector::store_slots(VReg row, u32 from, u32 count, const To& to) {
  if (count == lanes() / 4) return store_row(to(View::Full), row);
  const Operand place = to(count == 2 ? View::Ymm : View::Xmm);
  if (from == 0) return b_->emit(Inst::kIdVmovups, {place, count == 2 ? ymm(row) : xmm(row)});
  const u32 extract = count == 2 ? Inst::kIdVextracti64x4
                      : avx512() ? Inst::kIdVextracti32x4
                                 : Inst::kIdVextracti128;
  b_->emit(extract, {place, vec(row), imm(static_cast<int>(from / count))});
}

/// Pieces `first` up to `first + count` of it.
void Selector::store_pieces(const Components& record, const Access& a, i64 stride,
                            std::span<const RecordPart> all, u32 first, u32 count) {
  std::vector<std::array<VReg, 4>> pieces;
  for (u32 p = first; p < first + count; ++p)
    pieces.push_back(piece_of_record(all, record.first + i64{p} * kPiece));
  const u32 slots = lanes() / 4, step = static_cast<u32>(stride);
  const auto to = [&](u32 at) {
    return [&, at](View view) { return part_of_row(record, a, stride, at, view); };
  };
  if (count == 1) {
    for (u32 r = 0; r < 4; ++r)
      for (u32 s = 0; s < slots; ++s)
        store_slots(pieces[0][r], s, 1, to((4 * s + r) * step + kPiece * first));
    return;
  }
  // Of four consecutive lanes, where in memory the pieces are.
  const auto place = [&](u32 n) { return step * (n / count) + kPiece * (first + n % count); };
  std::vector<std::array<VReg, 4>> gathered; // `slots` pieces, of each four lanes
  for (u32 next = 0; next < 4 * count; next += slots) {
    std::array<VReg, 4>& rows = gathered.emplace_back();
    for (u32 n = 0; n < slots; ++n) rows[n] = pieces[(next + n) % count][(next + n) / count];
    gather_slots(rows);
  }
  for (u32 four = 0; four < slots; ++four)
    for (u32 n = 0, together; n < 4 * count; n += together) {
      const u32 at = place(n);
      for (together = slots; n % together != 0 || place(n + together - 1) != at + kPiece * (together - 1);)
        together /= 2;
      store_slots(gathered[n / slots][four], n % slots, together, to(4 * four * step + at));
    }
}

} // namespace lanewise::x86
