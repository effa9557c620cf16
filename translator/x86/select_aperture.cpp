// Private and flat memory: the fast way in emitted code, the rest by slow_access.hpp.
#include "translator/x86/lane_loop.hpp"

#include <algorithm>

namespace lanewise::x86 {

/// Ends the block: to `slow` if the flags say `cond`. Goes on in a new block.
void Selector::branch_away(CondCode cond, BlockId slow) {
  const BlockId fast = b_->add_block();
  b_->branch(cond, slow, fast);
  b_->at(fast);
}

void Selector::test_mask(VReg mask) {
  if (avx512())
    b_->emit(Inst::kIdKortestw, {k(mask), k(mask)});
  else
    b_->emit(Inst::kIdVptest, {vec(mask), vec(mask)});
}

/// Addresses at or above 2^48 are in an aperture.
Selector::Access Selector::flat_access(InstId i, BlockId slow) {
  Access a = global_access(i);
  if (a.uniform()) {
    const VReg top = b_->op_r64_tied(Inst::kIdShr, a.base, imm(48)); // Sets ZF.
    b_->emit(Inst::kIdTest, {r64(top), r64(top)});
  } else {
    const VReg high = zero_outside(a.mask, narrow(a.index, true));
    test_mask(compare(ir::IntPred::UGt, high, b_->splat32(0xffff), false));
  }
  branch_away(CondCode::kNotZero, slow);
  return a;
}

/// The first address in a memory, whose size is a field of the frame >> `shift`, where `bytes` do not fit any
/// more; 0 if they fit nowhere.
VReg Selector::first_too_high(std::size_t size_field, unsigned shift, u32 bytes) {
  VReg size = b_->load64(mem(kFrame, static_cast<i64>(size_field), View::R64));
  const VReg zero = b_->const32(0);
  if (shift != 0) size = b_->op_r64_tied(Inst::kIdShr, size, imm(shift));
  size = b_->op_r64_tied(Inst::kIdSub, size, imm(bytes - 1));
  return b_->op_r64_tied(Inst::kIdCmovl, size, r64(zero));
}

/// A flat access all lanes of which go to their private memory, as most do that go to an aperture at all. To
/// `elsewhere` if not all do, or anybody to what is outside or not aligned.
Selector::Access Selector::own_access(InstId i, BlockId elsewhere) {
  const ir::Inst& inst = f_[i];
  const Access flat = global_access(i);
  const auto offset = static_cast<u32>(inst.imm);
  Access a;
  a.mask = flat.mask;
  a.dword_stride = 4 * kWaveSize;
  if (flat.uniform()) {
    const VReg high = b_->op_r64_tied(Inst::kIdShr, flat.base, imm(32));
    b_->emit(Inst::kIdCmp, {r32(high), imm(runtime::kPrivateApertureHigh)});
    branch_away(CondCode::kNotEqual, elsewhere);
    if (offset != 0) { // Or the sum might be in the next aperture.
      b_->emit(Inst::kIdTest, {r32(flat.base), r32(flat.base)});
      branch_away(CondCode::kSign, elsewhere);
    }
    const VReg room = scratch_room(inst.mem.bytes);
    find_scratch_row(a, byte_in_scratch(flat.base, offset, inst.mem.bytes, room, elsewhere), inst.mem.bytes);
    return a;
  }
  const VReg low = narrow(flat.index, false), high = narrow(flat.index, true);
  VReg other = compare(ir::IntPred::Ne, high, b_->splat32(runtime::kPrivateApertureHigh), false);
  if (offset != 0) other = mask_or(other, compare(ir::IntPred::SLt, low, b_->splat32(0), false));
  find_scratch_lanes(a, low, offset, inst.mem.bytes, other, elsewhere);
  return a;
}

/// A flat access all lanes of which go to the LDS; to `elsewhere` if not all do, or anybody behind its end.
Selector::Access Selector::shared_access(InstId i, BlockId elsewhere) {
  using runtime::WaveFrame;
  const Access flat = global_access(i);
  const Regs address = flat.uniform() ? splat(Type::V64, flat.base) : flat.index;
  const VReg low = narrow(address, false), high = narrow(address, true);
  const VReg at =
      flat.disp == 0 ? low : b_->op(Inst::kIdVpaddd, low, b_->splat32(static_cast<u32>(flat.disp)));
  VReg& limit = lds_limits_[0][f_[i].mem.bytes];
  if (!limit.valid())
    limit = hoisted([&] {
      return splat(Type::V32, first_too_high(offsetof(WaveFrame, lds_bytes), 0, f_[i].mem.bytes)).r[0];
    });
  VReg other = mask_or(compare(ir::IntPred::Ne, high, b_->splat32(runtime::kSharedApertureHigh), false),
                       compare(ir::IntPred::UGe, at, limit, false));
  if (flat.disp != 0) // Or the sum might be in the next aperture.
    other = mask_or(other, compare(ir::IntPred::SLt, low, b_->splat32(0), false));
  test_mask(mask_and(flat.mask, other));
  branch_away(CondCode::kNotZero, elsewhere);
  Access a;
  a.base = lds_base(offsetof(WaveFrame, lds));
  a.in_dwords = true;
  a.index.r[0] = at;
  a.mask = flat.mask;
  a.full = flat.full;
  return a;
}

/// A flat access some lanes of which go into an aperture: they go to where the LDS is instead, and dwords or
/// less to where their private memory is. To `slow` if anybody goes elsewhere.
Selector::Access Selector::resolved_access(InstId i, BlockId slow) {
  using runtime::WaveFrame;
  Access a = global_access(i);
  if (a.uniform()) {
    a.index = splat(Type::V64, a.base);
    a.base = {};
    a.wide = true;
  }
  const u32 bytes = f_[i].mem.bytes;
  const VReg low = narrow(a.index, false), high = narrow(a.index, true);
  const VReg at = a.disp == 0 ? low : b_->op(Inst::kIdVpaddd, low, b_->splat32(static_cast<u32>(a.disp)));
  const auto is_in = [&](u32 aperture, VReg end) {
    const VReg limit = splat(Type::V32, end).r[0];
    const VReg there = compare(ir::IntPred::Eq, high, b_->splat32(aperture), false);
    const VReg fits = mask_and(there, compare(ir::IntPred::ULt, at, limit, false));
    return a.disp == 0 ? fits : mask_and(fits, compare(ir::IntPred::ULt, low, limit, false));
  };
  const VReg shared =
      is_in(runtime::kSharedApertureHigh, first_too_high(offsetof(WaveFrame, lds_bytes), 0, bytes));
  VReg known = mask_or(shared, compare(ir::IntPred::ULe, high, b_->splat32(0xffff), false));
  VReg own;
  if (bytes <= 4) {
    own = is_in(runtime::kPrivateApertureHigh, first_too_high(offsetof(WaveFrame, scratch_bytes), 6, bytes));
    if (bytes > 1)
      own = mask_and(own, compare(ir::IntPred::Eq, vand(at, b_->splat32(bytes - 1)), b_->splat32(0), false));
    known = mask_or(known, own);
  }
  test_mask(mask_and(a.mask, mask_not(known)));
  branch_away(CondCode::kNotZero, slow);

  const VReg lds = lds_base(offsetof(WaveFrame, lds));
  const VReg move = b_->op_r64_tied(Inst::kIdSub, b_->op_r64(Inst::kIdMov, r64(lds)),
                                    r64(b_->const64(runtime::kSharedAperture)));
  const VReg moved = splat(Type::V64, move).r[0];
  for (unsigned p = 0; p < 2; ++p) {
    VReg& index = a.index.r[p];
    index = blend(wide_mask(shared, p), b_->op(Inst::kIdVpaddq, index, moved), index, true);
  }
  if (!own.valid()) return a;
  const VReg place = place_in_scratch(at);
  VReg start = b_->load64(mem(kFrame, offsetof(WaveFrame, scratch), View::R64));
  if (a.disp != 0) start = b_->op_r64_tied(Inst::kIdSub, start, imm(a.disp));
  const VReg starts = splat(Type::V64, start).r[0];
  for (unsigned p = 0; p < 2; ++p) {
    VReg& index = a.index.r[p];
    index = blend(wide_mask(own, p), b_->op(Inst::kIdVpaddq, widen(place, p, false), starts), index, true);
  }
  return a;
}

/// Byte x of lane l lies at (x / 4) * 256 + l * 4 + x % 4: a dword at a uniform address is contiguous over
/// the lanes.
Selector::Access Selector::scratch_access(InstId i, BlockId slow) {
  using runtime::WaveFrame;
  const ir::Inst& inst = f_[i];
  const ValueId address = f_.operands(i)[0];
  const u32 bytes = inst.mem.bytes;
  Access a;
  a.mask = reg1(f_.operands(i).back());
  a.dword_stride = 4 * kWaveSize;
  const auto offset = static_cast<u32>(inst.imm);
  const VReg uniform = inst.mem.form == ir::AddressForm::Row ? reg1(address) : scalar_of(address);
  if (uniform.valid()) {
    find_scratch_row(a, byte_in_scratch(uniform, offset, bytes, scratch_room(bytes), slow), bytes);
    return a;
  }
  find_scratch_lanes(a, reg1(address), offset, bytes, VReg{}, slow);
  return a;
}

/// An access by lanes that go anywhere; to `slow` if one is not inside, or is in `elsewhere`, if there is
/// that.
void Selector::find_scratch_lanes(Access& a, VReg x, u32 offset, u32 bytes, VReg elsewhere, BlockId slow) {
  using runtime::WaveFrame;
  const bool dwords = bytes >= 4;
  const VReg room = scratch_room(bytes);
  a.base = hoisted([&] { return b_->remat().load64(mem(kFrame, offsetof(WaveFrame, scratch), View::R64)); });
  a.in_dwords = true;
  if (offset != 0) x = b_->op(Inst::kIdVpaddd, x, b_->splat32(offset));
  VReg& limit = scratch_limits_[bytes];
  if (!limit.valid()) limit = hoisted([&] { return splat(Type::V32, room).r[0]; });
  VReg bad;
  if (dwords) {
    const VReg rotated = avx512() ? b_->op(Inst::kIdVprord, x, imm(2)) : vor(shr_imm(x, 2), shl_imm(x, 30));
    bad = compare(ir::IntPred::UGe, rotated, limit, false);
  } else {
    bad = compare(ir::IntPred::UGe, x, limit, false);
    if (bytes == 2) {
      const VReg three = b_->splat32(3);
      const VReg crossing = compare(ir::IntPred::Eq, vand(x, three), three, false);
      bad = mask_or(bad, crossing);
    }
  }
  if (elsewhere.valid()) bad = mask_or(bad, elsewhere);
  test_mask(mask_and(a.mask, bad));
  branch_away(CondCode::kNotZero, slow);
  a.index.r[0] =
      dwords ? b_->op(Inst::kIdVpaddd, shl_imm(x, 6), shl_imm(lane_ids(), 2)) : place_in_scratch(x);
}

/// Aligned dwords: their number is below this. Rotating the address makes misaligned ones huge. Others:
/// bytes.
VReg Selector::scratch_room(u32 bytes) {
  VReg& room = scratch_rooms_[bytes];
  if (room.valid()) return room;
  const bool dwords = bytes >= 4;
  room = hoisted([&] {
    const VReg end =
        first_too_high(offsetof(runtime::WaveFrame, scratch_bytes), 6, dwords ? bytes - 3 : bytes);
    return dwords ? b_->op_r64_tied(Inst::kIdShr, end, imm(2)) : end;
  });
  return room;
}

/// Where byte `x` of each lane lies, from the start of the wave's private memory.
VReg Selector::place_in_scratch(VReg x) {
  const VReg lane_bytes = shl_imm(lane_ids(), 2);
  const VReg low = vand(x, b_->splat32(3));
  const VReg row = shl_imm(vxor(x, low), 6);
  return b_->op(Inst::kIdVpaddd, b_->op(Inst::kIdVpaddd, row, low), lane_bytes);
}

/// Where the gang's lanes have the first dword of their private memory, in the head.
VReg Selector::gang_scratch() {
  if (gang_scratch_.valid()) return gang_scratch_;
  const BlockId here = b_->current();
  b_->at(head_);
  const VReg lane_bytes = b_->op_r64_tied(Inst::kIdSub, b_->op_r64(Inst::kIdMov, r64(kGang)), r64(kFrame));
  gang_scratch_ = b_->op_r64_tied(Inst::kIdAdd, lane_bytes,
                                  mem(kFrame, offsetof(runtime::WaveFrame, scratch), View::R64));
  b_->at(here);
  return gang_scratch_;
}

/// The address is known to be in range: no test.
Selector::Access Selector::scratch_row(InstId i) {
  const ValueId address = f_.operands(i)[0];
  Access a = masked_access(i);
  u64 start = 0;
  if (f_.is_const(address, &start)) {
    start += f_[i].imm;
    set_scratch_row(a, gang_scratch(), static_cast<i64>(start / 4 * 4 * kWaveSize));
    a.part_of_dword = f_[i].mem.bytes < 4;
    a.first_bit = static_cast<unsigned>(start % 4 * 8);
    return a;
  }
  const VReg x = b_->op_r32(Inst::kIdLea, mem(reg1(address), static_cast<i32>(f_[i].imm), View::R32));
  find_scratch_row(a, x, f_[i].mem.bytes);
  return a;
}

void Selector::set_scratch_row(Access& a, VReg base, i64 disp) {
  a.base = base;
  a.disp = disp + member_ * module_.vec_bytes();
  a.dword_stride = 4 * kWaveSize;
  a.contiguous = true;
}

/// The row of byte `x`.
void Selector::find_scratch_row(Access& a, VReg x, u32 bytes) {
  a.part_of_dword = bytes < 4;
  if (a.part_of_dword) {
    const VReg low = b_->op_r32_tied(Inst::kIdAnd, x, imm(3));
    a.bit_shift = b_->op_r32_tied(Inst::kIdShl, low, imm(3));
    x = b_->op_r32_tied(Inst::kIdAnd, x, imm(-4));
  }
  const VReg row = b_->op_r64_tied(Inst::kIdShl, x, imm(6));
  set_scratch_row(a, b_->op_r64_tied(Inst::kIdAdd, row, r64(gang_scratch())), 0);
}

/// The address of an access by all lanes alike; to `slow` if it is not inside, or crosses dwords.
VReg Selector::byte_in_scratch(VReg uniform, u32 offset, u32 bytes, VReg room, BlockId slow) {
  const VReg x = b_->op_r32(Inst::kIdLea, mem(uniform, static_cast<i32>(offset), View::R32));
  const VReg number = bytes >= 4 ? b_->op_r32(Inst::kIdRorx, r32(x), imm(2)) : x;
  b_->emit(Inst::kIdCmp, {r64(number), r64(room)});
  branch_away(CondCode::kUnsignedGE, slow);
  if (bytes == 2) {
    const VReg low = b_->op_r32_tied(Inst::kIdAnd, x, imm(3));
    b_->emit(Inst::kIdCmp, {r32(low), imm(3)});
    branch_away(CondCode::kEqual, slow);
  }
  return x;
}

/// An access of a dword or less by the only lane that takes part, as a scalar; a load's result is all lanes'.
void Selector::scratch_of_lane(InstId i) {
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const bool loads = inst.op == Op::Load, may_be_outside = !inst.mem.in_range;
  for (const ValueId v : x) (void)regs(v); // All ways see them.
  Access a = masked_access(i);
  const ir::Inst* mask = f_.def(x.back());
  const bool is_turn = mask != nullptr && mask->op == Op::GangMask;
  const VReg bits = is_turn ? reg1(f_.operands(f_.def_id(x.back()))[1]) : mask_to_bits(a.mask);
  const BlockId join = b_->add_block(), slow = may_be_outside ? b_->add_block(true) : BlockId{};
  const bool wants_vector = loads && !ir::is_gang(type(f_.result(i)));
  const VReg result = loads ? b_->add_param(join, wants_vector ? RegClass::Vec : RegClass::Gpr) : VReg{};
  const auto leave = [&](VReg loaded) { b_->jump(join, {&loaded, loads ? 1u : 0u}); };
  if (!a.full) {
    const BlockId some = b_->add_block();
    const VReg none = wants_vector ? b_->splat32(0) : loads ? b_->const32(0) : VReg{};
    b_->emit(Inst::kIdTest, {r32(bits), r32(bits)});
    b_->branch(CondCode::kZero, join, {&none, loads ? 1u : 0u}, some, {});
    b_->at(some);
  }
  const u32 before = mxcsr_;
  const auto turn = turn_places_.find({member_, x.back()});
  a.base = place_of_lane(i, turn != turn_places_.end() ? turn->second : lane_in_scratch(bits), slow);
  a.disp = member_ * module_.vec_bytes();
  a.spread = false; // It cannot fault.
  if (wants_vector) {
    VReg loaded;
    a.full = true; // if it gets here
    load_uniform(i, a, {&loaded, 1});
    leave(loaded);
  } else if (loads) {
    leave(load_scalar_from(inst.mem, a));
  } else {
    const VReg known = scalar_of(x[1]);
    const u32 bytes = inst.mem.bytes;
    const View view = bytes == 1 ? View::R8 : bytes == 2 ? View::R16 : View::R32;
    if (known.valid() || bytes < 4)
      b_->emit(Inst::kIdMov,
               {mem(a.base, a.disp, view), reg(known.valid() ? known : to_gpr(reg1(x[1]), false), view)});
    else
      b_->emit(Inst::kIdVmovd, {mem(a.base, a.disp, view), xmm(reg1(x[1]))});
    leave({});
  }
  if (may_be_outside) {
    b_->at(slow);
    mxcsr_ = before;
    VReg all;
    slow_access(i, {&all, loads ? 1u : 0u});
    const VReg lane = loads && !avx512() ? b_->op_r32(Inst::kIdTzcnt, r32(bits)) : VReg{};
    const VReg found = loads ? element_of_first(all, a.mask, lane) : VReg{};
    leave(wants_vector ? splat(Type::V32, found).r[0] : found);
  }
  b_->at(join);
  if (loads) set(f_.result(i), result);
}

/// Where the lowest lane of `bits` has the first dword of its private memory.
VReg Selector::lane_in_scratch(VReg bits) {
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  return b_->op_r64(Inst::kIdLea, mem_index(gang_scratch(), lane, 2, 0, View::R64));
}

/// Masks of lanes that take turns, and access private memory: where they have it is found once in a turn.
void Selector::find_turns() {
  turns_.clear();
  turn_places_.clear();
  for (const IrBlockId b : plan_.phases[phase_].blocks)
    for (const InstId i : f_[b].insts) {
      if (!ir::info(f_[i].op).is(ir::kMemory) || !f_[i].mem.spread || f_[i].mem.space != ir::Space::Scratch)
        continue;
      const ValueId mask = f_.operands(i).back();
      const ir::Inst* def = f_.def(mask);
      if (def != nullptr && def->op == Op::GangMask && plan_.phase_of[def->block.index].index == phase_)
        turns_.insert(mask);
    }
}

/// Where one lane's access goes, whose private memory begins at `start`.
VReg Selector::place_of_lane(InstId i, VReg start, BlockId slow) {
  const u32 bytes = f_[i].mem.bytes;
  const auto offset = static_cast<u32>(f_[i].imm);
  const VReg address = reg1(f_.operands(i)[0]);
  VReg x = slow.valid() ? byte_in_scratch(address, offset, bytes, scratch_room(bytes), slow)
                        : b_->op_r32(Inst::kIdLea, mem(address, static_cast<i32>(offset), View::R32));
  VReg first = start;
  if (bytes < 4) {
    const VReg low = b_->op_r32_tied(Inst::kIdAnd, x, imm(3));
    first = b_->op_r64_tied(Inst::kIdAdd, low, r64(start));
    x = b_->op_r32_tied(Inst::kIdAnd, x, imm(-4));
  }
  const VReg row = b_->op_r64_tied(Inst::kIdShl, x, imm(6));
  return b_->op_r64(Inst::kIdLea, mem_index(first, row, 0, 0, View::R64));
}

/// Everything about the access to the frame, and the call.
void Selector::slow_access(InstId i, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool scratch = inst.mem.space == ir::Space::Scratch;
  const unsigned per_operand = is_wide(i) ? 2 : 1; // of dwords
  set_mxcsr_for_atomic(inst);
  const Regs address = lane_addresses(i);
  const VReg bits = mask_to_bits(reg1(operands.back()));
  for (unsigned p = 0; p < (scratch ? 1u : 2u); ++p)
    b_->store_vec(temp(kTempAddress + p * module_.vec_bytes(), View::Full), address.r[p]);
  const auto data = operands.subspan(1, operands.size() - 2);
  for (unsigned d = 0; d < data.size() * per_operand; ++d) {
    const ValueId v = data[d / per_operand];
    b_->store_vec(temp(kTempData + 64 * d, View::Full), is_wide(i) ? narrow(regs(v), d % 2 != 0) : reg1(v));
  }
  const VReg zero = b_->splat32(0);
  for (unsigned d = 0; d < out.size(); ++d) b_->store_vec(temp(kTempResults + 64 * d, View::Full), zero);
  SlowRequest request;
  request.kind = inst.op == Op::Load    ? SlowRequest::Kind::Load
                 : inst.op == Op::Store ? SlowRequest::Kind::Store
                                        : SlowRequest::Kind::Atomic;
  request.is_scratch = scratch;
  request.bytes = inst.mem.bytes;
  request.sign_extend = inst.mem.sign_extend;
  request.atomic = static_cast<u8>(inst.mem.atomic);
  request.float_kind = static_cast<u8>(inst.mem.kind);
  request.first_lane = static_cast<u8>(member_ * lanes());
  request.pc = options_.code_base + inst.pc;
  request.offset = static_cast<u64>(i64{static_cast<i32>(inst.imm)});
  const auto field = [&](std::size_t offset) {
    return temp(kTempRequest + static_cast<u32>(offset), View::R64);
  };
  const auto* bytes = reinterpret_cast<const u8*>(&request);
  for (const std::size_t at :
       {offsetof(SlowRequest, pc), offsetof(SlowRequest, offset), offsetof(SlowRequest, kind)})
    b_->store64(field(at), b_->const64(load_le<u64>(bytes + at)));
  b_->store64(field(offsetof(SlowRequest, mask)), bits);
  b_->call_stub(offsetof(runtime::WaveFrame, slow_access));
  for (unsigned d = 0; d < out.size(); ++d) out[d] = b_->load_vec(temp(kTempResults + 64 * d, View::Full));
  if (is_wide(i)) join_dwords(out);
}

/// Makes 64-bit values of dwords, two by two.
void Selector::join_dwords(std::span<VReg> dwords) {
  for (unsigned d = 0; d < dwords.size(); d += 2) {
    const Regs qwords = join_parts(dwords[d], dwords[d + 1]);
    std::copy_n(qwords.r, 2, &dwords[d]);
  }
}

} // namespace lanewise::x86
