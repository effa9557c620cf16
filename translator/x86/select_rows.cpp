// Accesses whose addresses are scalar: no test where the row is known, one of a scalar where it might wrap or
// leave the allocation, with gathers and scatters behind it.
#include "translator/ir/rows.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::x86 {

Selector::Access Selector::masked_access(InstId i) {
  const ValueId mask = f_.operands(i).back();
  Access a;
  a.mask = reg1(mask);
  u64 bits = 0;
  a.spread = f_[i].mem.spread;
  a.to_write = f_[i].mem.retry != 0;
  // There is always a lane that has its turn; other masks are parts of it.
  a.full = f_.is_full(mask) || f_[i].mem.any_lanes ||
           (a.spread && f_.def(mask) != nullptr && f_.def(mask)->op == Op::GangMask);
  a.alone = f_.is_const(mask, &bits) && bits == 1 && one_gang();
  a.disp = static_cast<i32>(f_[i].imm);
  a.first_lanes = f_[i].mem.first_lanes();
  return a;
}

/// How many neighbours of those side by side one row goes through, at known distances, so that the first
/// one's address does for all.
unsigned Selector::row_members(InstId i) const {
  const ir::Inst& inst = f_[i];
  const ir::MemAttr& mem_attr = inst.mem;
  if (interleave_ == 1 || (inst.op != Op::Load && inst.op != Op::Store) || mem_attr.stride == 0) return 1;
  const bool known = mem_attr.space == ir::Space::Global ||
                     (mem_attr.space == ir::Space::Lds && (mem_attr.in_range || mem_attr.masked_in_range));
  if (!known) return 1;
  const auto x = f_.operands(i);
  const i64 step = i64{mem_attr.stride} * lanes();
  switch (mem_attr.form) {
  case ir::AddressForm::Row:
    if (mem_attr.wave_row) return interleave_;
    return common_->row().of(x[0]) == step ? row_size() : 1;
  case ir::AddressForm::Wrapped:
    return common_->row().is_same(x[0]) && common_->row().of(x[1]) == step ? row_size() : 1;
  default: return 1;
  }
}

void Selector::find_needed_members() {
  for (const ValueId v : needed_by_some_) needed_by_each_[v.index] = 1;
  needed_by_some_.clear();
  if (interleave_ == 1) return;
  const auto& blocks = plan_.phases[phase_].blocks;
  for (const IrBlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      const ir::Inst& inst = f_[i];
      if (inst.num_results != 1 || !ir::info(inst.op).is(ir::kPure)) continue;
      const ValueId v = f_.result(i);
      if (!ir::is_gang(type(v)) || frame_.has_slot(v) || is_gang_recomputed(v)) continue;
      needed_by_each_[v.index] = static_cast<u8>(interleave_);
      needed_by_some_.push_back(v);
    }
  const auto need = [&](ValueId v, unsigned each) {
    u8& known = needed_by_each_[v.index];
    if (known <= each) return false;
    known = static_cast<u8>(each);
    return true;
  };
  // Chains are short, and mostly in order: the last round finds nothing.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) {
      for (const ir::Successor& s : f_[*b].successors)
        for (const ValueId v : s.args) changed |= need(v, 1);
      for (auto i = f_[*b].insts.rbegin(); i != f_[*b].insts.rend(); ++i) {
        const unsigned row = row_members(*i), each = members_apart(*i);
        const unsigned address = row == 1 ? 0 : ir::address_operands(f_[*i].mem);
        const auto x = f_.operands(*i);
        for (std::size_t n = 0; n < x.size(); ++n) changed |= need(x[n], n < address ? row : each);
      }
    }
  }
}

/// Which of the members do what makes lanes or a scalar per gang: each so-manieth.
unsigned Selector::members_apart(InstId i) const {
  if (f_[i].num_results == 0) return 1;
  const ValueId v = f_.result(i); // Of several results, all are alike.
  return std::max<unsigned>(needed_by_each_[v.index], is_same_in_row(v) ? row_size() : 1);
}

/// And behind which there is none that does: what is the same below is the first row's.
unsigned Selector::last_members(InstId i) const {
  return f_[i].num_results != 0 && is_same_in_column(f_.result(i)) ? row_size() : interleave_;
}

/// The register of `v` in the first of so many neighbours, which has just used it.
VReg Selector::of_leader(ValueId v, unsigned members) {
  const unsigned member = std::exchange(member_, member_ - member_ % members);
  const VReg r = reg1(v);
  member_ = member;
  return r;
}

void Selector::shaped_access(InstId i, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const unsigned members = row_members(i);
  const auto others = f_.operands(i).subspan(members == 1 ? 0 : ir::address_operands(inst.mem));
  for_neighbours(inst.mem.form == ir::AddressForm::Wrapped ? members : 1, [&](unsigned) {
    for (const ValueId v : others) (void)regs(v); // All ways see them.
    if (const Components* all = components_of(i)) see_operands(*all);
  });
  if (inst.mem.space == ir::Space::Lds) return lds_row(i, out);
  switch (inst.mem.form) {
  case ir::AddressForm::Row: {
    const VReg first = of_leader(f_.operands(i)[0], members);
    const i64 disp = i64{member_ % members} * lanes() * inst.mem.stride;
    fetch_ahead(i, first, disp, inst.mem.stride);
    if (const Components* all = components_of(i))
      for (const InstId store : all->stores) fetch_next_rows(store, first, disp);
    else
      fetch_next_rows(i, first, disp);
    return row_access(i, first, disp, inst.mem.stride, out);
  }
  case ir::AddressForm::Wrapped: return wrapped_access(i, members, out);
  default:
    if (inst.mem.table != 0) return load_from_table(i, out);
    const Access a = indexed_access(i);
    return perform(i, has_short_rows(i) ? a : for_gathers(a), out);
  }
}

void Selector::scattered(InstId i, const Access& a, std::span<VReg> out) {
  if (f_[i].op == Op::Load) return load_scattered(i, a, out);
  if (f_[i].op == Op::Atomic) return atomic(i, a, out);
  if (f_[i].mem.streams) order_streams();
  if (const Components* all = components_of(i)) return store_apart(*all, a);
  std::array<VReg, 4> values{};
  store_scattered(i, a, stored_data(i, values));
}

/// (first_lane + lane) * stride in each lane.
VReg Selector::lane_offsets(i64 stride, unsigned first_lane) {
  std::array<u32, 16> offsets{};
  for (u32 l = 0; l < lanes(); ++l) offsets[l] = (first_lane + l) * static_cast<u32>(stride);
  return table(offsets.data());
}

/// ZF or CF tell whether all lanes of the gang are set.
void Selector::test_all(VReg mask, CondCode& if_not_all) {
  if (avx512()) {
    b_->emit(Inst::kIdKortestw, {k(mask), k(mask)});
    if_not_all = CondCode::kAE;
    return;
  }
  const VReg bits = mask_to_bits(mask);
  b_->emit(Inst::kIdCmp, {r32(bits), imm(0xff)});
  if_not_all = CondCode::kNotEqual;
}

void Selector::row_access(InstId i, VReg base, i64 disp, i64 stride, std::span<VReg> out) {
  const u32 bytes = f_[i].mem.bytes;
  Access a = masked_access(i);
  a.base = base;
  a.disp += disp;
  if (stride == 0) return perform(i, a, out);
  Access spread = a;
  spread.index.r[0] = lane_offsets(stride);
  const auto whole_gang = [&](auto hot) { // Or lane by lane if not all take part that may.
    if (a.full) return hot();
    if (f_[i].op == Op::Load && f_[i].mem.space == ir::Space::Lds && bytes <= 4 && !a.spread) {
      hot(); // A row is inside with all of its lanes here, and a gather takes longer.
      out[0] = zero_outside(a.mask, out[0], false);
      return;
    }
    CondCode partial{};
    if (a.first_lanes == 0) {
      test_all(a.mask, partial);
    } else {
      b_->emit(Inst::kIdCmp, {r32(mask_to_bits(a.mask)), imm((1 << a.first_lanes) - 1)});
      partial = CondCode::kNotEqual;
    }
    hot_or_cold(partial, out, hot, [&] {
      spread.has_gaps = true;
      is_run_of_lanes(i) ? store_run(i, a, {stride, true}, spread) : scattered(i, spread, out);
    });
  };
  if (const Components* all = components_of(i)) {
    if (!all->whole) {
      if (f_[i].mem.streams) order_streams();
      return store_components(*all, a, stride);
    }
    return whole_gang([&] {
      Access whole = a;
      whole.full = true;
      store_whole_components(*all, whole, stride);
    });
  }
  if (is_narrow_span(f_[i], stride)) {
    if (f_[i].mem.streams) order_streams();
    if (f_[i].op == Op::Store) return store_narrow_span(i, a, stride);
    const auto load_span = [&](const Access& x, bool whole) {
      out[0] = load_narrow_span(i, x, stride, whole);
    };
    if (!may_be_beyond_caches(f_[i].mem)) return load_span(a, false);
    const auto load = [&](const Access& x) { // What is behind the elements in their page can be loaded, too.
      if (!x.full) return load_span(x, false);
      const CondCode leaves_page = test_page(x.base, x.disp, module_.vec_bytes());
      hot_or_cold(
          leaves_page, out, [&] { load_span(x, true); }, [&] { load_span(x, false); });
    };
    return a.full ? load(a) : if_full(a, out, load);
  }
  const bool overlaps = stride < static_cast<i64>(bytes) && (stride == 4 || (stride == 8 && bytes == 16));
  if (overlaps && f_[i].op == Op::Load) return load_overlapping(i, a, stride, out);
  if (bytes == 12 && stride == 12 && f_[i].op != Op::Atomic)
    return whole_gang([&] {
      if (f_[i].op == Op::Load) return load_triples(a.base, a.disp, out);
      std::array<VReg, 4> values{};
      store_triples(a.base, a.disp, stored_data(i, values));
    });
  if (is_reversed_row(f_[i], stride)) {
    const auto access = [&](const Access& x) { reversed_row(i, x, out); };
    return a.full || !avx512() ? whole_gang([&] { access(a); }) : if_full(a, out, access);
  }
  if (stride != static_cast<i64>(bytes) || bytes == 12) {
    const bool one_by_one = a.first_lanes != 0;
    if (!one_by_one && is_near(f_[i], stride)) return whole_gang([&] { out[0] = load_near(i, a, stride); });
    if (!one_by_one && can_be_picked(f_[i], stride))
      return whole_gang([&] { out[0] = load_picked(i, a, stride); });
    if (bytes <= 4 && f_[i].op == Op::Load)
      return whole_gang([&] { out[0] = load_each_spaced(i, a, {.stride = stride}); });
    if (bytes <= 4 && f_[i].op == Op::Store) return whole_gang([&] { store_elements(i, a, {stride, true}); });
    if (!can_be_spaced(bytes, stride)) return scattered(i, spread, out);
    if (f_[i].op == Op::Store) return whole_gang([&] { store_spaced(i, a, {stride, true}); });
    const auto load_all = [&] { whole_gang([&] { load_spaced(i, a, {.stride = stride}, out); }); };
    if (a.full || !is_within_page(i, stride)) return load_all();
    const CondCode leaves_page = test_page(a.base, a.disp, stride * (lanes() - 1) + bytes);
    return hot_or_cold(
        leaves_page, out, [&] { load_within_page(i, a, stride, out); }, load_all);
  }
  a.contiguous = true;
  const bool narrow = bytes < 4 && !avx512();
  a.all_exist = narrow && f_[i].op == Op::Store && f_[i].mem.space == ir::Space::Lds;
  if (a.full || (bytes != 16 && !narrow) || a.all_exist) return perform(i, a, out);
  if (!narrow || f_[i].op != Op::Load) return whole_gang([&] { perform(i, a, out); });
  CondCode partial{};
  test_all(a.mask, partial);
  hot_or_cold(
      partial, out, [&] { perform(i, a, out); },
      [&] {
        const CondCode leaves_page = test_page(a.base, a.disp, stride * (lanes() - 1) + 16);
        hot_or_cold(
            leaves_page, out, [&] { load_narrow_within_page(i, a, out); },
            [&] {
              spread.has_gaps = true;
              scattered(i, spread, out);
            });
      });
}

/// Sets the flags by the index of a row that goes on through so many members: whether a later one wraps.
CondCode Selector::compare_wrapped(InstId i, unsigned members, VReg index) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  const i64 span = i64{mem_attr.stride} * (members * lanes() - 1);
  const bool up = span >= 0;
  CondCode wraps{};
  i64 limit = 0;
  if (mem_attr.index_sign) {
    limit = (up ? i64{0x7fff'ffff} : -i64{0x8000'0000}) - span;
    wraps = up ? CondCode::kSignedGT : CondCode::kSignedLT;
  } else {
    limit = (up ? i64{0xffff'ffff} : 0) - span;
    wraps = up ? CondCode::kUnsignedGT : CondCode::kUnsignedLT;
  }
  b_->emit(Inst::kIdCmp, {r32(index), imm(static_cast<i32>(limit))});
  return wraps;
}

/// Where such a row begins.
VReg Selector::start_of_wrapped(InstId i, VReg base, VReg index) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  VReg wide = mem_attr.index_sign ? b_->op_r64(Inst::kIdMovsxd, r32(index)) : index;
  unsigned scale = mem_attr.scale;
  if (scale > 3) wide = b_->op_r64_tied(Inst::kIdShl, wide, imm(std::exchange(scale, 0)));
  return b_->op_r64(Inst::kIdLea, mem_index(base, wide, scale, 0, View::R64));
}

/// The access of so many members up to the current one: compares the first index with the last from which the
/// others do not wrap.
/// The addresses of a row that might wrap, from the lane on that is `lane` behind the first.
Selector::Access Selector::wrapped_lanes(InstId i, VReg base, VReg index, unsigned lane) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  Access a = masked_access(i);
  a.wide = true;
  const VReg lanes =
      b_->op(Inst::kIdVpaddd, splat(Type::V32, index).r[0], lane_offsets(mem_attr.stride, lane));
  for (unsigned p = 0; p < 2; ++p)
    a.index.r[p] =
        b_->op(Inst::kIdVpaddq, shl_imm(widen(lanes, p, mem_attr.index_sign), mem_attr.scale, true),
               splat(Type::V64, base).r[0]);
  return a;
}

void Selector::wrapped_access(InstId i, unsigned members, std::span<VReg> out) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  const VReg base = of_leader(f_.operands(i)[0], members), index = of_leader(f_.operands(i)[1], members);
  const auto each = [&](auto access) {
    const std::size_t own = out.size() / members;
    for_neighbours(members, [&](unsigned n) { access(n * lanes(), out.subspan(n * own, own)); });
  };
  const CondCode wraps = compare_wrapped(i, members, index);
  const auto hot = [&] {
    const VReg first = start_of_wrapped(i, base, index);
    const i64 stride = ir::row_stride(mem_attr);
    each([&](unsigned lane, std::span<VReg> own) {
      fetch_ahead(i, first, lane * stride, stride);
      row_access(i, first, lane * stride, stride, own);
    });
  };
  const auto cold = [&] {
    each([&](unsigned lane, std::span<VReg> own) { scattered(i, wrapped_lanes(i, base, index, lane), own); });
  };
  hot_or_cold(wraps, out, hot, cold);
}

/// Fetches the row of `load` that begins at `start`. Never faults, so that it does not matter whether it is
/// loaded in the end, nor, where indices wrap, what the hint is about.
void Selector::fetch_next_round(InstId load, ValueId start) {
  const ir::MemAttr& mem_attr = f_[load].mem;
  const i64 disp = static_cast<i32>(f_[load].imm);
  const VReg first = reg1(start);
  if (mem_attr.form == ir::AddressForm::Row) return fetch(mem(first, disp, View::R64));
  const VReg wide = mem_attr.index_sign ? b_->op_r64(Inst::kIdMovsxd, r32(first)) : first;
  const VReg base = reg1(f_.operands(load)[0]);
  fetch(mem_index(base, wide, mem_attr.scale, disp, View::R64));
}

/// Hardware sign-extends indices; unsigned ones are moved down by half their range, and the base up.
Selector::Access Selector::indexed_access(InstId i) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  Access a = masked_access(i);
  a.base = reg1(f_.operands(i)[0]);
  a.index.r[0] = reg1(f_.operands(i)[1]);
  a.scale_log2 = mem_attr.scale;
  a.may_wrap = true;
  if (mem_attr.index_sign) return a;
  a.index.r[0] = vxor(a.index.r[0], b_->splat32(0x8000'0000));
  const VReg half = hoisted([&] { return b_->const64(u64{0x8000'0000} << mem_attr.scale); });
  a.base = b_->op_r64_tied(Inst::kIdAdd, a.base, r64(half));
  return a;
}

/// With an address for each lane, if gathers cannot multiply the indices by so much.
Selector::Access Selector::for_gathers(const Access& a) {
  if (a.wide || a.scale_log2 <= ir::kMaxGatherScale) return a;
  Access by = a;
  by.wide = true;
  by.base = {};
  by.scale_log2 = 0;
  by.may_wrap = false;
  for (unsigned p = 0; p < 2; ++p)
    by.index.r[p] = b_->op(Inst::kIdVpaddq, shl_imm(widen(a.index.r[0], p, true), a.scale_log2, true),
                           splat(Type::V64, a.base).r[0]);
  return by;
}

/// Where an offset into the LDS is, for all accesses of the block that start from there.
VReg Selector::lds_address(VReg offset) {
  const auto [at, is_new] = lds_addresses_.try_emplace(offset.index);
  if (is_new) at->second = lds_address_at(offset);
  return at->second;
}

/// The address at an `offset` of 64 bits from where the LDS begins: in front of it, if that is negative.
VReg Selector::lds_address_at(VReg offset) {
  return b_->op_r64(Inst::kIdLea,
                    mem_index(lds_base(offsetof(runtime::WaveFrame, lds)), offset, 0, 0, View::R64));
}

namespace {

/// Dwords or qwords side by side, of which masked accesses leave out those of lanes that take no part.
bool has_no_gaps(const ir::Inst& inst) {
  return inst.op != Op::Atomic && (inst.mem.bytes == 4 || inst.mem.bytes == 8) &&
         inst.mem.stride == inst.mem.bytes;
}

} // namespace

/// A row that, where it begins within the LDS, ends in the accessible bytes behind it at the latest.
bool Selector::ends_behind_lds(InstId i) const {
  return has_no_gaps(f_[i]) && f_[i].mem.bytes * lanes() <= runtime::kBytesBehindLds;
}

void Selector::lds_row(InstId i, std::span<VReg> out) {
  using runtime::WaveFrame;
  const ir::Inst& inst = f_[i];
  if (u64 start = 0; inst.mem.in_range && f_.is_const(f_.operands(i)[0], &start))
    return row_access(i, lds_base(offsetof(WaveFrame, lds)), static_cast<i64>(start), inst.mem.stride, out);
  const unsigned members = row_members(i);
  const VReg start = of_leader(f_.operands(i)[0], members);
  // Rows may begin in front of the LDS, with lanes that take no part: 32 bits wrap.
  const VReg address =
      inst.mem.masked_in_range ? lds_address_at(b_->op_r64(Inst::kIdMovsxd, r32(start))) : lds_address(start);
  const i64 disp = i64{member_ % members} * lanes() * inst.mem.stride;
  const bool is_inside = inst.mem.in_range || inst.mem.masked_in_range;
  const auto access = [&] {
    if (is_inside) return row_access(i, address, disp, inst.mem.stride, out);
    lds_row_within(i, start, address, disp, out);
  };
  if (inst.mem.first_lanes() == 0 || has_no_gaps(inst)) return access();
  read_if_any(masked_access(i), out, access); // Most gangs have none of the few lanes.
}

/// Those of its lanes that are inside the LDS.
void Selector::lds_row_within(InstId i, VReg start, VReg address, i64 disp, std::span<VReg> out) {
  using runtime::WaveFrame;
  const ir::Inst& inst = f_[i];
  const auto hot = [&] { row_access(i, address, disp, inst.mem.stride, out); };
  const auto offset = static_cast<i64>(inst.imm);
  const u32 few = has_no_gaps(inst) ? 0 : inst.mem.first_lanes();
  const i64 end = offset + i64{inst.mem.stride} * ((few == 0 ? lanes() : few) - 1) + inst.mem.bytes;
  const VReg last = b_->op_r64(Inst::kIdLea, mem(start, end, View::R64));
  b_->emit(Inst::kIdCmp, {r64(last), mem(kFrame, offsetof(WaveFrame, lds_bytes), View::R64)});
  const auto some_in_range = [&] {
    return lds_lanes(i, b_->op(Inst::kIdVpaddd, splat(Type::V32, start).r[0], lane_offsets(inst.mem.stride)));
  };
  const auto by_lane = [&] { // Of those that are outside, most take no part, and often whole gangs do not.
    const Access a = some_in_range();
    if (inst.op == Op::Atomic) return scattered(i, a, out);
    read_if_any(a, out, [&] { scattered(i, a, out); });
  };
  const auto by_mask = [&](VReg base) {
    Access a = some_in_range();
    a.index = {};
    a.base = base;
    a.disp = offset;
    a.contiguous = true;
    perform(i, a, out);
  };
  // Lanes that take no part often are outside: in sums and scans over a tree, and in the last gang of a
  // workgroup that is no multiple of one.
  hot_or_cold(CondCode::kUnsignedGT, out, hot, [&] {
    if (inst.op == Op::Load && has_no_gaps(inst)) {
      constexpr i64 kAround = runtime::kBytesAroundLds - kWaveSize * 8; // for rows that begin there
      const VReg distance = b_->op_r64(Inst::kIdMovsxd, r32(start));
      const VReg at = b_->op_r64(Inst::kIdLea, mem(distance, offset + kAround, View::R64));
      const VReg all = b_->op_r64(Inst::kIdMov, mem(kFrame, offsetof(WaveFrame, lds_bytes), View::R64));
      const VReg most = b_->op_r64(Inst::kIdLea, mem(all, 2 * kAround, View::R64));
      b_->emit(Inst::kIdCmp, {r64(at), r64(most)});
      return hot_or_cold(
          CondCode::kUnsignedGT, out, [&] { by_mask(lds_address_at(distance)); }, by_lane);
    }
    if (!ends_behind_lds(i)) return by_lane();
    const VReg first = offset == 0 ? start : b_->op_r64(Inst::kIdLea, mem(start, offset, View::R64));
    b_->emit(Inst::kIdCmp, {r64(first), mem(kFrame, offsetof(WaveFrame, lds_bytes), View::R64)});
    hot_or_cold(
        CondCode::kUnsignedGE, out, [&] { by_mask(address); }, by_lane);
  });
}

Regs Selector::lane_addresses(InstId i) {
  if (f_[i].mem.form != ir::AddressForm::Row) return regs(f_.operands(i)[0]);
  // Private memory: modulo 32 bits.
  const VReg first = splat(Type::V32, reg1(f_.operands(i)[0])).r[0];
  return {{b_->op(Inst::kIdVpaddd, first, lane_offsets(f_[i].mem.stride)), VReg{}}};
}

} // namespace lanewise::x86
