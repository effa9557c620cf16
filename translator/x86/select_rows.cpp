// Accesses whose addresses are scalar: no test where the row is known, one of a scalar where it might wrap or
// leave the allocation, with gathers and scatters behind it.
#include "translator/x86/selector.hpp"

#include <utility>

namespace lanewise::x86 {

Selector::Access Selector::masked_access(InstId i) {
  const ValueId mask = f_.operands(i).back();
  Access a;
  a.mask = reg1(mask);
  u64 bits = 0;
  a.full = f_.is_full(mask);
  a.alone = f_.is_const(mask, &bits) && bits == 1 && one_gang();
  a.disp = static_cast<i32>(f_[i].imm);
  return a;
}

/// The row goes on from gang to gang, at known distances: the first gang's address does for all side by side.
bool Selector::is_team_row(InstId i) const {
  const ir::Inst& inst = f_[i];
  if (interleave_ == 1 || (inst.op != Op::Load && inst.op != Op::Store)) return false;
  if (inst.mem.form != ir::AddressForm::Row || !inst.mem.wave_row || inst.mem.stride == 0) return false;
  return inst.mem.space == ir::Space::Global || (inst.mem.space == ir::Space::Lds && inst.mem.in_range);
}

void Selector::find_team_row_scalars() {
  first_member_only_.assign(f_.num_values(), false);
  if (interleave_ == 1) return;
  const auto& blocks = plan_.phases[phase_].blocks;
  for (const IrBlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      const ir::Inst& inst = f_[i];
      if (inst.num_results != 1 || !ir::info(inst.op).is(ir::kPure)) continue;
      const ValueId v = f_.result(i);
      first_member_only_[v.index] = ir::is_gang(type(v)) && !frame_.has_slot(v) && !is_gang_recomputed(v);
    }
  const auto need = [&](ValueId v) {
    const bool is_new = first_member_only_[v.index];
    first_member_only_[v.index] = false;
    return is_new;
  };
  // Chains are short, and mostly in order: the last round finds nothing.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) {
      for (const ir::Successor& s : f_[*b].successors)
        for (const ValueId v : s.args) changed |= need(v);
      for (auto i = f_[*b].insts.rbegin(); i != f_[*b].insts.rend(); ++i) {
        if (f_[*i].num_results == 1 && first_member_only_[f_.result(*i).index]) continue;
        const auto x = f_.operands(*i);
        for (std::size_t n = is_team_row(*i) ? 1 : 0; n < x.size(); ++n) changed |= need(x[n]);
      }
    }
  }
}

/// The register of `v` in the first of the gangs side by side, which has just used it.
VReg Selector::of_first_member(ValueId v) {
  const unsigned member = std::exchange(member_, 0);
  const VReg r = reg1(v);
  member_ = member;
  return r;
}

void Selector::shaped_access(InstId i, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const bool team = is_team_row(i);
  for (const ValueId v : f_.operands(i).subspan(team ? 1 : 0)) (void)regs(v); // All ways see them.
  if (inst.mem.space == ir::Space::Lds) return lds_row(i, out);
  switch (inst.mem.form) {
  case ir::AddressForm::Row:
    if (team)
      return row_access(i, of_first_member(f_.operands(i)[0]), i64{member_} * lanes() * inst.mem.stride,
                        inst.mem.stride, out);
    return row_access(i, reg1(f_.operands(i)[0]), 0, inst.mem.stride, out);
  case ir::AddressForm::Wrapped: return wrapped_access(i, out);
  default: return perform(i, indexed_access(i), out);
  }
}

void Selector::scattered(InstId i, const Access& a, std::span<VReg> out) {
  if (f_[i].op == Op::Load) return load_scattered(i, a, out);
  if (f_[i].op == Op::Atomic) return atomic(i, a, out);
  if (f_[i].mem.streams) order_streams();
  std::array<VReg, 4> values{};
  store_scattered(i, a, stored_data(i, values));
}

/// lane * stride in each lane.
VReg Selector::lane_offsets(i64 stride) {
  std::array<u32, 16> offsets{};
  for (u32 l = 0; l < lanes(); ++l) offsets[l] = l * static_cast<u32>(stride);
  return table(offsets.data());
}

/// ZF or CF tell whether all lanes of the gang are set.
void Selector::test_all(VReg mask, CondCode& if_not_all) {
  const VReg bits = mask_to_bits(mask);
  b_->emit(Inst::kIdCmp, {r32(bits), imm(avx512() ? 0xffff : 0xff)});
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
  const auto whole_gang = [&](auto hot) { // Or lane by lane if not all take part.
    if (a.full) return hot();
    CondCode partial{};
    test_all(a.mask, partial);
    hot_or_cold(partial, out, hot, [&] { scattered(i, spread, out); });
  };
  if (is_narrow_span(f_[i], stride)) {
    if (f_[i].mem.streams) order_streams();
    if (f_[i].op == Op::Store) return store_narrow_span(i, a, stride);
    out[0] = load_narrow_span(i, a, stride);
    return;
  }
  const bool overlaps = stride < static_cast<i64>(bytes) && (stride == 4 || (stride == 8 && bytes == 16));
  if (overlaps && f_[i].op == Op::Load) return load_overlapping(i, a, stride, out);
  if (bytes == 12 && stride == 12 && avx512() && f_[i].op != Op::Atomic)
    return whole_gang([&] {
      if (f_[i].op == Op::Load) return load_triples(a.base, a.disp, out);
      std::array<VReg, 4> values{};
      store_triples(a.base, a.disp, stored_data(i, values));
    });
  if (stride != static_cast<i64>(bytes) || bytes == 12) {
    if (bytes < 4 && stride % 4 == 0 && f_[i].op == Op::Load) {
      out[0] = load_narrow_row(i, spread);
      return;
    }
    if (bytes != 8 && bytes != 16) return scattered(i, spread, out);
    if (f_[i].op == Op::Store) return whole_gang([&] { store_spaced(i, a, stride); });
    return whole_gang([&] { load_spaced(i, a, stride, out); });
  }
  a.contiguous = true;
  const bool narrow = bytes < 4 && !avx512();
  if (narrow && f_[i].op == Op::Store) return scattered(i, spread, out);
  if (a.full || (bytes != 16 && !narrow)) return perform(i, a, out);
  whole_gang([&] { perform(i, a, out); });
}

/// Compares the first index with the last from which the others do not wrap.
void Selector::wrapped_access(InstId i, std::span<VReg> out) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  const VReg base = reg1(f_.operands(i)[0]), index = reg1(f_.operands(i)[1]);
  const i64 span = i64{mem_attr.stride} * (lanes() - 1);
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
  const auto hot = [&] {
    VReg wide = mem_attr.index_sign ? b_->op_r64(Inst::kIdMovsxd, r32(index)) : index;
    unsigned scale = mem_attr.scale;
    if (scale > 3) wide = b_->op_r64_tied(Inst::kIdShl, wide, imm(std::exchange(scale, 0)));
    const VReg first = b_->op_r64(Inst::kIdLea, mem_index(base, wide, scale, 0, View::R64));
    row_access(i, first, 0, i64{mem_attr.stride} << mem_attr.scale, out);
  };
  const auto cold = [&] {
    Access a = masked_access(i);
    a.wide = true;
    a.index = lane_addresses(i);
    scattered(i, a, out);
  };
  hot_or_cold(wraps, out, hot, cold);
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

/// Where an offset into the LDS is, for all accesses of the block that start from there.
VReg Selector::lds_address(VReg offset) {
  const auto [at, is_new] = lds_addresses_.try_emplace(offset.index);
  if (is_new)
    at->second = b_->op_r64(Inst::kIdLea,
                            mem_index(lds_base(offsetof(runtime::WaveFrame, lds)), offset, 0, 0, View::R64));
  return at->second;
}

void Selector::lds_row(InstId i, std::span<VReg> out) {
  using runtime::WaveFrame;
  const ir::Inst& inst = f_[i];
  if (u64 start = 0; inst.mem.in_range && f_.is_const(f_.operands(i)[0], &start))
    return row_access(i, lds_base(offsetof(WaveFrame, lds)), static_cast<i64>(start), inst.mem.stride, out);
  const bool team = is_team_row(i);
  const VReg start = team ? of_first_member(f_.operands(i)[0]) : reg1(f_.operands(i)[0]);
  const VReg address = lds_address(start);
  const i64 disp = team ? i64{member_} * lanes() * inst.mem.stride : 0;
  const auto hot = [&] { row_access(i, address, disp, inst.mem.stride, out); };
  if (inst.mem.in_range) return hot();
  const i64 end = static_cast<i64>(inst.imm) + i64{inst.mem.stride} * (lanes() - 1) + inst.mem.bytes;
  const VReg last = b_->op_r64(Inst::kIdLea, mem(start, end, View::R64));
  b_->emit(Inst::kIdCmp, {r64(last), mem(kFrame, offsetof(WaveFrame, lds_bytes), View::R64)});
  hot_or_cold(CondCode::kUnsignedGT, out, hot, [&] {
    const VReg lanes = b_->op(Inst::kIdVpaddd, splat(Type::V32, start).r[0], lane_offsets(inst.mem.stride));
    scattered(i, lds_lanes(i, lanes), out);
  });
}

Regs Selector::lane_addresses(InstId i) {
  const ir::MemAttr& mem_attr = f_[i].mem;
  const auto operands = f_.operands(i);
  const auto spread = [&](ValueId first) { // Modulo its width.
    return b_->op(Inst::kIdVpaddd, splat(Type::V32, reg1(first)).r[0], lane_offsets(mem_attr.stride));
  };
  switch (mem_attr.form) {
  case ir::AddressForm::Row: return {{spread(operands[0]), VReg{}}}; // Private memory: 32 bits.
  case ir::AddressForm::Wrapped: {
    const VReg index = spread(operands[1]), base = splat(Type::V64, reg1(operands[0])).r[0];
    Regs wide;
    for (unsigned p = 0; p < 2; ++p)
      wide.r[p] =
          b_->op(Inst::kIdVpaddq, shl_imm(widen(index, p, mem_attr.index_sign), mem_attr.scale, true), base);
    return wide;
  }
  default: return regs(operands[0]);
  }
}

} // namespace lanewise::x86
