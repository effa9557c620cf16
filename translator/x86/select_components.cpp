// Components of pixels and the like: stores that directly follow one another, of neighbouring elements at the
// same small distance, are one store of all their bytes, which are brought together in registers. The last of
// them does it for all: nothing in between can tell. Where not all lanes take part, each is done for itself.
#include "translator/ir/rows.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/phases/disjoint_rows.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

/// Lanes whose elements lie in 16 bytes.
u32 lanes_in_16_bytes(i64 stride) { return stride <= 4 ? 4 : 2; }

} // namespace

bool Selector::can_be_component(InstId i) const {
  const ir::Inst& inst = f_[i];
  const ir::MemAttr& attr = inst.mem;
  if (inst.op != Op::Store || attr.retry != 0 || !ir::may_be_component(attr)) return false;
  if (has_short_rows(i) && attr.space == ir::Space::Global) return attr.apart == phases::kApart;
  const bool row = attr.form == ir::AddressForm::Row;
  const bool lds_row = attr.space == ir::Space::Lds && row && attr.in_range;
  if (attr.space == ir::Space::Global ? !row && attr.form != ir::AddressForm::Wrapped : !lds_row)
    return false;
  // In lockstep gangs may meet, and would store in another order.
  const bool in_lockstep = plan_.lockstep || plan_.phases[phase_].first_gangs > 1;
  return attr.wave_row || !in_lockstep;
}

/// Finds those of the block.
void Selector::find_components(IrBlockId b) {
  components_.clear();
  std::vector<InstId> open;
  const auto close = [&] {
    if (open.size() > 1) join_components(open);
    open.clear();
  };
  for (const InstId i : f_[b].insts) {
    const bool candidate = can_be_component(i);
    if (!candidate && !ir::info(f_[i].op).is(ir::kMemory) && !ir::waits_for_waves(f_[i].op)) continue;
    if (passes::loads_constants(f_, i)) continue;
    if (!candidate || (!open.empty() && !ir::go_together(f_, open.front(), i))) close();
    if (candidate) open.push_back(i);
  }
  close();
}

/// If they are neighbours that do not overlap: with AVX-512 a mask can leave bytes out.
void Selector::join_components(const std::vector<InstId>& stores) {
  const i64 stride = ir::element_stride(f_[stores.front()].mem);
  if (stride > 16) return join_records(stores);
  Components all{.stores = stores, .first = ir::offset(f_[stores.front()]), .rows = {}};
  for (const InstId i : stores) all.first = std::min(all.first, ir::offset(f_[i]));
  for (const InstId i : stores) {
    const i64 from = ir::offset(f_[i]) - all.first, to = from + f_[i].mem.bytes;
    if (to > stride) return;
    const u32 bytes = (1u << to) - (1u << from);
    if ((all.bytes & bytes) != 0) return;
    all.bytes |= bytes;
  }
  all.whole = all.bytes == (1u << stride) - 1;
  if (!all.whole && !(avx512() && stride <= 4)) return;
  components_.push_back(std::move(all));
}

/// What the store is one of, if it is.
const Selector::Components* Selector::components_of(InstId i) const {
  for (const Components& all : components_)
    if (std::ranges::find(all.stores, i) != all.stores.end()) return &all;
  return nullptr;
}

/// All ways that follow see what is stored, and by which masks.
void Selector::see_operands(const Components& all) {
  for (const InstId store : all.stores)
    for (const ValueId v : f_.operands(store).subspan(ir::address_operands(f_[store].mem))) (void)regs(v);
}

/// Each for itself; `a` is of the last one.
void Selector::store_apart(const Components& all, const Access& a) {
  const InstId last = all.stores.back();
  for (const InstId i : all.stores) {
    Access own = a;
    own.disp += ir::offset(f_[i]) - ir::offset(f_[last]);
    b_->set_pc(pc_of(i));
    std::array<VReg, 4> values{};
    store_scattered(i, own, stored_data(i, values));
  }
}

/// What stores from byte `at` of the row on, or of the short rows one after the other.
Operand Selector::part_of_row(const Components& all, const Access& a, i64 stride, u32 at, View view) {
  const ShortRows& rows = all.rows;
  const u32 row = rows.lanes != 0 ? at / (rows.lanes * static_cast<u32>(stride)) : 0;
  const u32 first_lane = row * rows.lanes;
  at -= first_lane * static_cast<u32>(stride);
  for (const InstId i : all.stores)
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = f_[i].mem.bytes,
                .lane_offset = static_cast<u8>(first_lane),
                .distance = static_cast<u8>(stride),
                .early = static_cast<i16>(at - (ir::offset(f_[i]) - all.first)),
                .is_write = true,
                .pc = pc_of(i)});
  return mem(rows.lanes != 0 ? rows.first[row] : a.base,
             a.disp + all.first - ir::offset(f_[all.stores.back()]) + at, view);
}

/// The row's bytes, one register after the other: those of so many lanes in each 16 bytes, and these put
/// together.
std::array<VReg, 4> Selector::row_of_components(const Components& all, i64 stride) {
  if (stride >= 12) return row_of_dwords(all, stride);
  const u32 together = lanes_in_16_bytes(stride), parts = 4 / together;
  const auto step = static_cast<u32>(stride);
  std::array<VReg, 2> sixteens{}; // Of lanes 0 and 1 of each four, and 2 and 3.
  for (u32 p = 0; p < parts; ++p)
    for (const InstId i : all.stores) {
      const auto from = static_cast<u32>(ir::offset(f_[i]) - all.first);
      std::array<u8, 16> bytes{};
      bytes.fill(0x80); // Zero.
      for (u32 lane = 0; lane < together; ++lane)
        for (u32 n = 0; n < f_[i].mem.bytes; ++n)
          bytes[lane * step + from + n] = static_cast<u8>(4 * (p * together + lane) + n);
      const VReg data = reg1(ir::stored_by(f_, i)[0]);
      const VReg own = b_->op(Inst::kIdVpshufb, data, byte_table(bytes.data()));
      sixteens[p] = sixteens[p].valid() ? vor(sixteens[p], own) : own;
    }
  if (stride == 4) return {sixteens[0]};
  std::array<VReg, 4> row{};
  const u32 dwords = together * step / 4; // of 16 bytes
  for (u32 r = 0; r < parts; ++r) {
    std::array<u32, 16> from{}; // What comes from the second register is beyond the first.
    for (u32 d = 0; d < lanes(); ++d) {
      const u32 n = std::min(r * lanes() + d, lanes() * step / 4 - 1), block = n / dwords;
      from[d] = block % parts * lanes() + block / parts * 4 + n % dwords;
    }
    row[r] = parts == 1 ? b_->op(Inst::kIdVpermd, table(from.data()), sixteens[0])
                        : pick_dwords(sixteens[0], sixteens[1], from);
  }
  return row;
}

/// Likewise of elements of three or four dwords.
std::array<VReg, 4> Selector::row_of_dwords(const Components& all, i64 stride) {
  std::array<VReg, 4> dwords{};
  for (const InstId i : all.stores) {
    VReg* own = &dwords[static_cast<u64>(ir::offset(f_[i]) - all.first) / 4];
    for (const ValueId v : ir::stored_by(f_, i)) {
      if (parts(type(v)) == 1) {
        *own++ = reg1(v);
        continue;
      }
      for (const bool high : {false, true}) *own++ = narrow(regs(v), high);
    }
  }
  if (stride == 16) {
    join_quads(dwords);
    return dwords;
  }
  const std::array<VReg, 3> rows = join_triples({dwords.data(), 3});
  return {rows[0], rows[1], rows[2]};
}

/// Dwords of two registers, numbered through both.
VReg Selector::pick_dwords(VReg a, VReg b, const std::array<u32, 16>& from) {
  if (avx512()) return b_->op_tied(Inst::kIdVpermt2d, a, table(from.data()), b);
  int of_b = 0;
  for (u32 d = 0; d < lanes(); ++d)
    if (from[d] >= lanes()) of_b |= 1 << d;
  const VReg index = table(from.data()); // modulo 8
  return b_->op(Inst::kIdVpblendd, b_->op(Inst::kIdVpermd, index, a), b_->op(Inst::kIdVpermd, index, b),
                imm(of_b));
}

/// A bit for each byte of the elements.
VReg Selector::components_mask(const Components& all, const Access& a, i64 stride) {
  u64 elements = 0;
  for (u32 l = 0; l < lanes(); ++l) elements |= u64{1} << (l * static_cast<u32>(stride));
  if (a.full) return b_->mask_const(elements * all.bytes);
  const VReg lanes = b_->op_r64(Inst::kIdPdep, r64(mask_to_bits(a.mask)), r64(b_->const64(elements)));
  return b_->op_k(Inst::kIdKmovq, r64(b_->op_r64(Inst::kIdImul, r64(lanes), imm(all.bytes))));
}

/// All lanes take part. Past the caches if it is lines that are stored.
void Selector::store_whole_components(const Components& all, const Access& a, i64 stride) {
  if (!f_[all.stores.back()].mem.streams) return store_components(all, a, stride);
  const i64 start = a.disp + all.first - ir::offset(f_[all.stores.back()]);
  store_lines(all, a, stride, b_->op_r64(Inst::kIdLea, mem(a.base, start, View::R64)));
}

/// Likewise of stores that may stream, with the bits that addresses have of those within a line.
void Selector::store_lines(const Components& all, const Access& a, i64 stride, VReg odd) {
  const auto through_caches = [&] {
    order_streams();
    store_components(all, a, stride);
  };
  if (!is_stored_in_lines(all, stride)) return through_caches();
  b_->emit(Inst::kIdTest, {r32(odd), imm(module_.vec_bytes() - 1)});
  hot_or_cold(
      CondCode::kNotZero, {},
      [&] {
        streaming_ = true;
        store_components(all, a, stride);
        streaming_ = false;
      },
      through_caches);
}

/// All lanes take part, unless one register with a mask does it.
void Selector::store_components(const Components& all, const Access& a, i64 stride) {
  if (all.record != 0) return store_record(all, a, stride);
  const std::array<VReg, 4> row = row_of_components(all, stride);
  if (!all.whole || !a.full) {
    const VReg mask = components_mask(all, a, stride);
    const Operand to = part_of_row(all, a, stride, 0, View::Full);
    b_->with_mask(mask).emit(Inst::kIdVmovdqu8, {to, vec(row[0])});
    return;
  }
  const u32 bytes = lanes() * static_cast<u32>(stride), full = module_.vec_bytes();
  for (u32 at = 0; at < bytes;) {
    const VReg r = row[at / full];
    const u32 left = bytes - at, from = at % full;
    if (left >= full) {
      store_row(part_of_row(all, a, stride, at, View::Full), r);
      at += full;
    } else if (left >= 32) {
      const Operand to = part_of_row(all, a, stride, at, View::Half);
      b_->emit(Inst::kIdVmovups, {to, half(r)});
      at += 32;
    } else {
      const VReg sixteen = sixteen_bytes(r, from / 16);
      const bool eight = left < 16;
      const Operand to = part_of_row(all, a, stride, at, eight ? View::R64 : View::Xmm);
      b_->emit(eight ? Inst::kIdVmovq : Inst::kIdVmovups, {to, xmm(sixteen)});
      at += eight ? 8 : 16;
    }
  }
}

} // namespace lanewise::x86
