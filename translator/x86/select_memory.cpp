// Vector loads and stores. One access becomes the cheapest of: a scalar load and a broadcast, full-width
// loads or stores of consecutive elements (proved, or found by a cheap test), gathers and scatters, a loop
// over the lanes.
#include "translator/ir/access.hpp"
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::x86 {

bool Selector::memory_inst(InstId i) {
  if (!access_inst(i)) return false;
  // The wave looks around next, for which it has waited until others see the store. Loads pass plain stores.
  if (f_[i].op == Op::Store && f_[i].mem.awaited && member_ + 1 == interleave_) b_->emit(Inst::kIdMfence, {});
  return true;
}

bool Selector::access_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.op != Op::Load && inst.op != Op::Store && inst.op != Op::Atomic) return false;
  if (inst.mem.spread && (inst.mem.form != ir::AddressForm::Row || inst.mem.stride != 0))
    return unsupported(i, "one lane's access to several places"), true;
  if (inst.mem.spread && inst.mem.space == ir::Space::Scratch) return scratch_of_lane(i), true;
  if (inst.num_results == 1 && ir::is_gang(type(f_.result(i)))) return load_scalar(i), true;
  if (is_for_whole_team(i) && member_ + 1 != interleave_) return true;
  if (const Components* all = components_of(i); all != nullptr && i != all->stores.back()) return true;
  if (const Line* line = line_of(i)) {
    if (i == line->at) inst.op == Op::Load ? load_line(*line) : store_line(*line);
    return true;
  }
  // Of a row that might wrap, the last of those who go through it does it for all, behind one test.
  const unsigned members = inst.mem.form == ir::AddressForm::Wrapped ? row_members(i) : 1;
  if ((member_ + 1) % members != 0) return true;
  // If others stream, it was to, but did not turn out to be a part of whole lines.
  if (inst.op == Op::Store && inst.mem.space == ir::Space::Global && !inst.mem.streams && num_streams_ != 0)
    order_streams();
  access_block_ = b_->current();
  std::array<VReg, 4 * kMaxMembers> out{};
  const unsigned per_result = is_wide(i) ? 2 : 1, per_member = inst.num_results * per_result;
  const std::span<VReg> results(out.data(), members * per_member);
  if (inst.mem.form != ir::AddressForm::Lanes && inst.mem.space != ir::Space::Scratch)
    shaped_access(i, results);
  else if (inst.mem.space == ir::Space::Scratch && inst.mem.in_range)
    perform(i, scratch_row(i), results);
  else if (const auto places = lds_places(i))
    access_places(i, *places, results);
  else
    switch (inst.mem.space) {
    case ir::Space::Global: perform(i, global_access(i), results); break;
    case ir::Space::Lds:
    case ir::Space::Gds: perform(i, lds_access(i), results); break;
    case ir::Space::Scratch:
      if (inst.op == Op::Atomic) { // Hardly ever, and qwords are not in one piece.
        slow_access(i, results);
        break;
      }
      [[fallthrough]];
    case ir::Space::Flat: perform_or_call(i, results); break;
    case ir::Space::Registers: register_access(i, results); break;
    default: unsupported(i, "no rule for this memory space");
    }
  for_neighbours(members, [&](unsigned n) {
    const VReg* own = &out[n * per_member];
    for (unsigned r = 0; r < inst.num_results; ++r)
      set(f_.result(i, r), per_result == 2 ? Regs{{own[2 * r], own[2 * r + 1]}} : Regs{{own[r], VReg{}}});
  });
  return true;
}

bool Selector::is_wide(InstId i) const { return ir::is_wide_access(f_, i); }

/// The registers of what a store stores: one per dword, or two per 64-bit value.
std::span<const VReg> Selector::stored_data(InstId i, std::array<VReg, 4>& data) {
  unsigned count = 0;
  for (const ValueId v : ir::stored_by(f_, i))
    for (unsigned p = 0; p < parts(type(v)); ++p) data[count++] = part(v, p);
  return {data.data(), count};
}

/// Whether an element is of whole qwords in memory. Then each of them is accessed at once: it may be a flag
/// and a number that workgroups hand on to each other, of which nobody may see one without the other. Loads
/// of such are coherent, but stores look like any.
bool Selector::in_qwords(const Access& a, u32 bytes) { return a.dword_stride == 4 && bytes % 8 == 0; }

/// Hands on qwords: as they are to a 64-bit value, or to dwords that are treated alike, else dword by dword.
void Selector::set_qwords(InstId i, Regs qwords, std::span<VReg> out) {
  const bool as_they_are = is_wide(i) || alike_[i.index];
  out[0] = as_they_are ? qwords.r[0] : narrow(qwords, false);
  out[1] = as_they_are ? qwords.r[1] : narrow(qwords, true);
}

/// The fast way, and the slow one behind a test.
void Selector::perform_or_call(InstId i, std::span<VReg> out) {
  const BlockId slow = b_->add_block(true), join = b_->add_block();
  std::array<VReg, 4> params{};
  for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, RegClass::Vec);
  const bool flat = f_[i].mem.space == ir::Space::Flat;
  for (const ValueId v : f_.operands(i)) (void)regs(v); // Both ways see them.
  const u32 before = mxcsr_;
  perform(i, flat ? flat_access(i, slow) : scratch_access(i, slow), out);
  b_->jump(join, out);
  b_->at(slow);
  mxcsr_ = before;
  if (flat && f_[i].op != Op::Atomic) {
    const BlockId elsewhere = b_->add_block(true);
    if (f_[i].mem.public_only) {
      perform(i, shared_access(i, elsewhere), out);
    } else {
      perform(i, own_access(i, elsewhere), out);
      if (is_wide(i)) join_dwords(out);
    }
    b_->jump(join, out);
    b_->at(elsewhere);
    mxcsr_ = before;
  }
  if (flat) {
    const BlockId slower = b_->add_block(true);
    scattered(i, resolved_access(i, slower), out);
    b_->jump(join, out);
    b_->at(slower);
    mxcsr_ = before;
  }
  slow_access(i, out);
  b_->jump(join, out);
  b_->at(join);
  std::copy_n(params.begin(), out.size(), out.begin());
}

void Selector::perform(InstId i, const Access& a, std::span<VReg> out) {
  const Op op = f_[i].op;
  if (op == Op::Load)
    load(i, a, out);
  else if (op == Op::Store)
    store(i, a);
  else
    atomic(i, a, out);
}

Selector::Access Selector::global_access(InstId i) {
  const auto operands = f_.operands(i);
  Access a = masked_access(i);
  const ir::Inst* def = f_.def(operands[0]);
  if (def != nullptr && def->op == Op::Splat) {
    a.base = reg1(f_.operands(f_.def_id(operands[0]))[0]);
  } else if (def != nullptr && def->op == Op::Const) {
    a.base = hoisted([&] { return b_->const64(def->imm); });
  } else {
    a.wide = true;
    a.index = regs(operands[0]);
  }
  return a;
}

Selector::Access Selector::lds_access(InstId i) { return lds_lanes(i, reg1(f_.operands(i)[0])); }

/// A base pointer from the wave's header.
VReg Selector::lds_base(u64 frame_offset) {
  VReg& base = lds_bases_[frame_offset == offsetof(runtime::WaveFrame, gds)];
  if (!base.valid())
    base =
        hoisted([&] { return b_->remat().load64(mem(kFrame, static_cast<i64>(frame_offset), View::R64)); });
  return base;
}

/// Lanes beyond the allocation leave the mask: they read zero and write nothing.
Selector::Access Selector::lds_lanes(InstId i, VReg start) {
  using runtime::WaveFrame;
  const ir::Inst& inst = f_[i];
  const bool gds = inst.mem.space == ir::Space::Gds;
  const u64 base_offset = gds ? offsetof(WaveFrame, gds) : offsetof(WaveFrame, lds);
  const u64 bytes_offset = gds ? offsetof(WaveFrame, gds_bytes) : offsetof(WaveFrame, lds_bytes);
  auto offset = static_cast<u32>(inst.imm);
  Access a;
  a.base = lds_base(base_offset);
  a.in_dwords = true;
  // Sums that cannot wrap are the processor's to add, so that accesses by one index have it in common.
  if (inst.mem.in_range && inst.op != Op::Atomic && offset % 4 == 0) a.disp = std::exchange(offset, 0);
  VReg at = offset == 0 ? start : b_->op(Inst::kIdVpaddd, start, b_->splat32(offset));
  if (inst.op == Op::Atomic) at = vand(at, b_->splat32(0u - inst.mem.bytes));
  a.index.r[0] = at;
  if (inst.mem.in_range) {
    a.mask = reg1(f_.operands(i).back());
    a.full = f_.is_full(f_.operands(i).back());
    return a;
  }
  VReg& limit = lds_limits_[gds][inst.mem.bytes]; // First address that is too high, or 0.
  if (!limit.valid())
    limit = hoisted([&] { return splat(Type::V32, first_too_high(bytes_offset, 0, inst.mem.bytes)).r[0]; });
  VReg in_range = compare(ir::IntPred::ULt, at, limit, false);
  if (offset != 0 && f_.target == isa::Target::gfx600) // The sum does not wrap there.
    in_range = mask_and(in_range, compare(ir::IntPred::ULe, start, b_->splat32(~offset), false));
  a.mask = mask_and(reg1(f_.operands(i).back()), in_range);
  return a;
}

VReg Selector::first_index(const Access& a) {
  return a.first.valid() ? a.first : b_->op_r32(Inst::kIdVmovd, xmm(a.index.r[0]));
}

VReg Selector::first_address(const Access& a) {
  if (a.contiguous) return a.base;
  if (a.wide) return a.first.valid() ? a.first : b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[0]));
  const VReg index = a.first.valid() ? a.first : b_->op_r64(Inst::kIdMovsxd, r32(first_index(a)));
  return b_->op_r64(Inst::kIdLea, mem_index(a.base, index, a.scale_log2, 0, View::R64));
}

/// Ends the block: to `yes` if every lane that takes part goes to lane 0's address + lane * stride (and, if
/// wanted, all lanes take part). That formula is all that counts, so it does not matter whether lane 0 takes
/// part.
void Selector::branch_if_strided(const Access& a, unsigned stride, bool all_lanes, BlockId yes, BlockId no) {
  const auto strided = [&](unsigned p, auto* steps, unsigned count) { // Where lanes of part p ought to go.
    for (unsigned l = 0; l < count; ++l) steps[l] = (stride >> a.scale_log2) * (p * count + l);
    const VReg first = b_->op(a.wide ? Inst::kIdVpbroadcastq : Inst::kIdVpbroadcastd, xmm(a.index.r[0]));
    if (stride == 0) return first;
    return b_->op(a.wide ? Inst::kIdVpaddq : Inst::kIdVpaddd, first, or_mem(table(steps)));
  };
  if (a.may_wrap && stride != 0) { // The first of indices that count up and do not wrap is not too large.
    b_->emit(Inst::kIdCmp,
             {r32(first_index(a)), imm(0x7fff'ffff - static_cast<i64>((stride >> a.scale_log2) * lanes()))});
    branch_away(CondCode::kSignedGT, no);
  }
  const auto expected = [&](unsigned p) {
    std::array<u64, 8> qwords{};
    std::array<u32, 16> dwords{};
    return a.wide ? strided(p, qwords.data(), lanes() / 2) : strided(p, dwords.data(), lanes());
  };
  Regs places{{expected(0), VReg{}}};
  if (a.wide) places.r[1] = expected(1);
  branch_if_at(a, all_lanes, places, yes, no);
}

/// Ends the block: to `yes` if every lane that takes part has the expected index and, if wanted, all take
/// part.
void Selector::branch_if_at(const Access& a, bool all_lanes, const Regs& expected, BlockId yes, BlockId no) {
  if (avx512()) return b_->branch(test_places(a, all_lanes, expected), yes, no);
  const auto equal_part = [&](unsigned p) {
    return compare(ir::IntPred::Eq, expected.r[p], a.index.r[p], a.wide);
  };
  VReg equal = equal_part(0);
  if (a.wide) equal = narrow_masks(equal, equal_part(1));
  if (all_lanes) {
    b_->emit(Inst::kIdCmp, {r32(mask_to_bits(mask_and(equal, a.mask))), imm(0xff)});
    return b_->branch(CondCode::kEqual, yes, no);
  }
  b_->emit(Inst::kIdVptest, {vec(equal), vec(a.mask)}); // CF: nothing of the mask outside `equal`
  b_->branch(CondCode::kC, yes, no);
}

/// AVX-512: what tells that.
CondCode Selector::test_places(const Access& a, bool all_lanes, const Regs& expected) {
  const bool want_all = all_lanes && !a.full;
  const ir::IntPred wanted = want_all ? ir::IntPred::Eq : ir::IntPred::Ne;
  std::array<VReg, 2> found{};
  for (unsigned p = 0; p < (a.wide ? 2 : 1); ++p) {
    if (!a.wide && !a.full) b_->with_mask(a.mask);
    found[p] = compare(wanted, expected.r[p], a.index.r[p], a.wide);
  }
  if (!a.wide)
    found[1] = found[0];
  else if (!a.full) // One test finds what is in either.
    found[0] = found[1] = mask_and(narrow_masks(found[0], found[1]), a.mask);
  b_->emit(Inst::kIdKortestw, {k(found[0]), k(found[1])});
  return want_all ? CondCode::kC : CondCode::kZero; // CF: all are set.
}

void Selector::load(InstId i, const Access& given, std::span<VReg> out) {
  const u32 bytes = f_[i].mem.bytes;
  Access a = given;
  if (a.contiguous) return load_contiguous(i, a, out);
  if (a.uniform()) return load_uniform(i, a, out);
  if (has_short_rows(i)) return short_rows(i, a, out);
  const bool rows = a.dword_stride != 4; // Scratch: each dword has a row of its own.
  if (rows && bytes < 4) return load_scattered(i, a, out);
  const bool few = may_be_few(f_.operands(i).back());
  if (f_[i].mem.places != 0 && !few && !in_ranks()) return load_places(i, a, out);
  if (!rows && bytes <= 4 && !in_ranks() && !few && look_ups_.contains(i)) return load_scattered(i, a, out);
  const BlockId scattered = b_->add_block(true), join = b_->add_block();
  std::array<VReg, 4> params{};
  for (unsigned d = 0; d < out.size(); ++d) params[d] = b_->add_param(join, RegClass::Vec);
  const auto try_stride = [&](unsigned stride, bool all_lanes, BlockId no, auto perform) {
    const BlockId yes = b_->add_block();
    branch_if_strided(a, stride, all_lanes, yes, no);
    b_->at(yes);
    perform();
    b_->jump(join, out);
  };
  const bool whole_steps = bytes >> a.scale_log2 << a.scale_log2 == bytes;
  const bool may_be_row = (rows || bytes != 12) && whole_steps;
  VReg step;
  if (!rows) {
    if (few)
      take_few(a, join, out, [&](const Access& lone) { load_uniform(i, lone, out); });
    else if (may_be_none(i, a))
      take_none(a, join, out);
    if (in_ranks()) {
      by_halves(i, a, join, out, [&](const Access& x) { load_scattered(i, x, out); });
      b_->at(join);
      std::copy_n(params.begin(), out.size(), out.begin());
      return;
    }
    step = branch_if_spread(a, may_be_row ? bytes : 0, scattered);
  } else if (may_be_none(i, a)) {
    take_none(a, join, out);
  }
  if (may_be_row) {
    const bool all_lanes = !rows && (bytes == 16 || (bytes < 4 && !avx512()));
    const BlockId no = rows ? scattered : b_->add_block();
    const u32 row = rows ? 0 : likely_short_row(i, a);
    if (row != 0) {
      const BlockId yes = b_->add_block();
      Access by = a;
      by.full |= bytes == 16 || !avx512();
      const ShortRows start = branch_if_short_rows(i, a, row, by.full, yes, no);
      b_->at(yes);
      load_short_rows(i, by, rows_within_reach_if_partial(by, start), bytes, out);
      b_->jump(join, out);
    } else {
      try_stride(rows ? 4 : bytes, all_lanes, no, [&] { load_contiguous(i, a, out); });
    }
    b_->at(no);
  }
  if (!rows) {
    try_stride(0, false, scattered, [&] {
      Access same = a;
      same.base = first_address(a);
      same.index = {};
      load_uniform(i, same, out);
    });
    b_->at(scattered);
  }
  if (!rows && bytes <= 8 && !few) { // Lanes that leave a loop one by one have mostly gone apart.
    const BlockId anywhere = b_->add_block(true);
    load_from_window(i, a, step, anywhere, join, out);
    b_->at(anywhere);
  }
  load_scattered(i, a, out);
  b_->jump(join, out);
  b_->at(join);
  std::copy_n(params.begin(), out.size(), out.begin());
}

/// Lanes leave loops one by one: a mask that comes from a block's parameter may have a single lane for long.
bool Selector::may_be_few(ValueId mask, unsigned depth) const {
  const InstId i = f_.def_id(mask);
  if (!i.valid()) return true;
  constexpr unsigned kMaxDepth = 4;
  return depth < kMaxDepth && std::ranges::any_of(f_.operands(i), [&](ValueId x) {
           return type(x) == Type::Mask && may_be_few(x, depth + 1);
         });
}

/// Gangs that are side by side go where any of them has a lane. A gang that decides for itself has looked
/// before it came here.
bool Selector::may_be_none(InstId i, const Access& a) {
  if (a.full) return false;
  if (interleave_ > 1) return true;
  const ValueId mask = f_.operands(i).back();
  const Structure& s = structure();
  for (IrBlockId b = f_[i].block, d; (d = s.dom.idom[b.index]).valid(); b = d)
    if (plan_.gang_decided[d.index] && f_.tested_mask(d) == mask && f_[d].successors[0].block == b &&
        s.cfg.preds[b.index].size() == 1)
      return false;
  return true;
}

/// Does without a gather or scatter if at most one lane takes part: calls `perform` with the one, which may
/// set `out`, and ends in `join`, which without a lane gets zeros. Goes on where there are more.
template <class F>
void Selector::take_few(const Access& a, BlockId join, std::span<VReg> out, F perform) {
  const BlockId few = b_->add_block(true), one = b_->add_block(true), more = b_->add_block();
  const VReg bits = mask_to_bits(a.mask);
  (void)b_->op_r32(Inst::kIdBlsr, r32(bits)); // Sets ZF if at most one is set.
  b_->branch(CondCode::kZero, few, more);
  b_->at(few);
  std::array<VReg, 4> zeros{};
  for (unsigned d = 0; d < out.size(); ++d) zeros[d] = b_->splat32(0);
  b_->emit(Inst::kIdTest, {r32(bits), r32(bits)});
  b_->branch(CondCode::kZero, join, {zeros.data(), out.size()}, one, {});
  b_->at(one);
  Access lone = a;
  lone.lane = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  lone.base = address_of_first(a, lone.lane);
  lone.index = {};
  perform(lone);
  b_->jump(join, out);
  b_->at(more);
}

/// Without a lane nothing is done, and `join` gets zeros: addresses would be anything, and where no memory
/// has ever been touched a masked access takes hundreds of cycles each time, though it is none.
void Selector::take_none(const Access& a, BlockId join, std::span<const VReg> out) {
  const BlockId some = b_->add_block();
  std::array<VReg, 4> zeros{};
  for (unsigned d = 0; d < out.size(); ++d) zeros[d] = b_->splat32(0);
  test_mask(a.mask);
  b_->branch(CondCode::kZero, join, {zeros.data(), out.size()}, some, {});
  b_->at(some);
}

/// Lanes that have closed ranks have come from anywhere and rarely stand side by side. But the gang's upper
/// half is mostly empty, and a gather or scatter of half as many takes half the time. Ends in `join`.
template <class F>
void Selector::by_halves(InstId i, const Access& a, BlockId join, std::span<VReg> out, F perform) {
  const ir::Inst& inst = f_[i];
  const bool scatters = avx512() && inst.mem.bytes >= 4;
  if (inst.mem.bytes > 8 || (inst.op == Op::Store && !scatters)) { // Lane by lane.
    perform(a);
    return b_->jump(join, out);
  }
  const BlockId low = b_->add_block(), all = b_->add_block(true);
  b_->emit(Inst::kIdCmp, {r32(mask_to_bits(a.mask)), imm((1 << lanes() / 2) - 1)});
  b_->branch(CondCode::kUnsignedGT, all, low);
  for (const bool is_low : {true, false}) {
    b_->at(is_low ? low : all);
    Access x = a;
    x.low_half = is_low;
    perform(x);
    b_->jump(join, out);
  }
}

/// The address of the first lane that takes part, whose number is given.
VReg Selector::address_of_first(const Access& a, VReg lane) {
  const auto lane_of = [&](VReg v) { return element_of_first(v, a.mask, lane); };
  if (a.uniform()) return a.base;
  if (a.wide && avx512()) return qword_of(a.index, lane);
  if (a.wide) {
    const VReg lo = narrow(a.index, false), hi = narrow(a.index, true);
    const VReg high = lane_of(hi);
    return join_gprs(lane_of(lo), high);
  }
  const VReg low = b_->op_r64(Inst::kIdMovsxd, r32(lane_of(a.index.r[0])));
  return b_->op_r64(Inst::kIdLea, mem_index(a.base, low, a.scale_log2, 0, View::R64));
}

/// AVX-512: the element of a lane. To take the halves of all qwords apart first would be twice the work.
VReg Selector::qword_of(const Regs& qwords, VReg lane) {
  const VReg index = splat(Type::V64, lane).r[0];
  return b_->op_r64(Inst::kIdVmovq, xmm(b_->op_tied(Inst::kIdVpermt2q, qwords.r[0], index, qwords.r[1])));
}

/// Of a vector of dwords, the element of the first lane that takes part. A compression waits for what was in
/// its destination, also where it zeroes: so that is the vector itself.
VReg Selector::element_of_first(VReg v, VReg mask, VReg lane) {
  if (avx512())
    return b_->op_r32(Inst::kIdVmovd, xmm(b_->with_mask(mask).op_tied(Inst::kIdVpcompressd, v, v)));
  const VReg which = b_->def(Inst::kIdVmovd, View::Xmm, {r32(lane)});
  return b_->op_r32(Inst::kIdVmovd, xmm(b_->op(Inst::kIdVpermd, which, v)));
}

/// Ends the block: to `spread` if lanes 0 and 1 tell that the lanes neither go to one address nor, if
/// `stride` is not 0, to addresses so far apart. Cheaper than to look at all, which is left for where they
/// do. The result is by how much the index of lane 1 is more than that of lane 0, which `a` has from here on.
VReg Selector::branch_if_spread(Access& a, unsigned stride, BlockId spread) {
  VReg distance;
  if (a.wide) {
    a.first = b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[0]));
    const VReg next = b_->def(Inst::kIdVpextrq, View::R64, {xmm(a.index.r[0]), imm(1)});
    distance = b_->op_r64_tied(Inst::kIdSub, next, r64(a.first));
  } else {
    const VReg both = b_->op_r64(Inst::kIdVmovq, xmm(a.index.r[0]));
    a.first = b_->op_r64(Inst::kIdMovsxd, r32(both));
    const VReg next = b_->op_r64_tied(Inst::kIdShr, both, imm(32));
    distance = b_->op_r64_tied(Inst::kIdSub, next, r64(both));
  }
  b_->emit(Inst::kIdTest,
           {a.wide ? r64(distance) : r32(distance), imm(~static_cast<i64>(stride >> a.scale_log2))});
  branch_away(CondCode::kNotZero, spread);
  return distance;
}

/// A load from one place, whose fault is the access's only lane's, if that is known.
VReg Selector::load_from(const Access& a, u32 id, View view, const Operand& at) {
  if (a.spread) return b_->def(id, view, {at, hidden(a.mask, avx512() ? View::K : View::Full)});
  return a.lane.valid() ? b_->def(id, view, {at, hidden(a.lane)}) : b_->def(id, view, {at});
}

/// A dword or less from one place, in a general-purpose register.
VReg Selector::load_scalar_from(const ir::MemAttr& attr, const Access& a) {
  const u32 id = attr.bytes >= 4 ? Inst::kIdMov : attr.sign_extend ? Inst::kIdMovsx : Inst::kIdMovzx;
  const View view = attr.bytes == 1 ? View::R8 : attr.bytes == 2 ? View::R16 : View::R32;
  b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = std::min<u8>(attr.bytes, 4), .is_write = a.to_write});
  return load_from(a, id, View::R32, mem(a.base, a.disp, view));
}

/// What one lane loads for all, of which only a scalar is wanted.
void Selector::load_scalar(InstId i) {
  Access a = masked_access(i);
  a.base = reg1(f_.operands(i)[0]);
  VReg loaded;
  const auto read = [&] { loaded = load_scalar_from(f_[i].mem, a); };
  if (a.full)
    read();
  else
    read_if_any(a, {&loaded, 1}, read, RegClass::Gpr);
  set(f_.result(i), loaded);
}

void Selector::load_uniform(InstId i, const Access& a, std::span<VReg> out) {
  if (is_wide(i)) return load_uniform_qwords(a, out);
  const ir::Inst& inst = f_[i];
  if (inst.mem.coherent && in_qwords(a, inst.mem.bytes)) {
    load_uniform_qwords(a, out);
    for (unsigned d = 0; d < out.size(); d += 2) set_qwords(i, {{out[d], out[d + 1]}}, out.subspan(d, 2));
    return;
  }
  const FaultSite site{.kind = FaultSite::Kind::Scalar, .bytes = 4, .is_write = a.to_write};
  const auto read = [&](unsigned d) {
    if (inst.mem.bytes < 4) return splat(Type::V32, load_scalar_from(inst.mem, a)).r[0];
    b_->faults(site);
    return load_from(a, Inst::kIdVpbroadcastd, View::Full,
                     mem(a.base, a.disp + d * a.dword_stride, View::R32));
  };
  if (avx512() && inst.mem.bytes >= 4 && !a.full && !a.spread) { // Without a lane, nothing is read.
    for (unsigned d = 0; d < out.size(); ++d) {
      b_->faults(site).zero_masked(a.mask);
      out[d] = load_from(a, Inst::kIdVpbroadcastd, View::Full,
                         mem(a.base, a.disp + d * a.dword_stride, View::R32));
    }
    return;
  }
  if (a.full) {
    for (unsigned d = 0; d < out.size(); ++d) out[d] = read(d);
    return;
  }
  read_if_any(a, out, [&] {
    for (unsigned d = 0; d < out.size(); ++d) {
      out[d] = read(d);
      if (!a.spread) out[d] = zero_outside(a.mask, out[d]);
    }
  });
}

void Selector::load_uniform_qwords(const Access& a, std::span<VReg> out) {
  const auto read = [&](unsigned n) {
    b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = 8, .is_write = a.to_write});
    return load_from(a, Inst::kIdVpbroadcastq, View::Full, mem(a.base, a.disp + 8 * i64{n}, View::R64));
  };
  const auto read_all = [&] {
    for (unsigned n = 0; n < out.size() / 2; ++n) out[2 * n] = out[2 * n + 1] = read(n);
  };
  if (a.full) return read_all();
  if (a.spread) {
    std::array<VReg, 2> qwords{};
    const std::span<VReg> each(qwords.data(), out.size() / 2);
    read_if_any(a, each, [&] {
      for (unsigned n = 0; n < each.size(); ++n) each[n] = read(n);
    });
    for (unsigned r = 0; r < out.size(); ++r) out[r] = each[r / 2];
    return;
  }
  if (!avx512())
    return read_if_any(a, out, [&] {
      read_all();
      for (unsigned r = 0; r < out.size(); ++r) out[r] = vand(wide_mask(a.mask, r % 2), out[r]);
    });
  for (unsigned r = 0; r < out.size(); ++r) {
    b_->zero_masked(wide_mask(a.mask, r % 2));
    out[r] = read(r / 2);
  }
}

/// From there, masked loads get half of what plain ones do on Zen 4 with AVX2, and on Zen 5 with AVX-512;
/// with stores that are masked, too, a quarter.
bool Selector::may_be_beyond_caches(const ir::MemAttr& mem) {
  return mem.space == ir::Space::Global || mem.space == ir::Space::Flat;
}

void Selector::load_contiguous(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const VReg address = first_address(a);
  const auto site = [&](unsigned bytes, unsigned lane) {
    return FaultSite{.kind = FaultSite::Kind::Contiguous,
                     .bytes = static_cast<u8>(bytes),
                     .lane_offset = static_cast<u8>(lane)};
  };
  if (a.part_of_dword) {
    out[0] = load_part(inst.mem, address, a);
    return;
  }
  if (inst.mem.bytes == 16 && a.dword_stride == 4) return load_quads(i, address, a.disp, out);
  const auto load_by = [&](const Access& x) {
    if (inst.mem.bytes < 4) {
      b_->faults(site(inst.mem.bytes, 0));
      if (avx512()) b_->zero_masked(mask_of(x)); // AVX2 comes here with all lanes.
      out[0] = b_->op(extending_move(inst.mem), mem(address, a.disp, narrow_row_view(inst.mem)));
      return;
    }
    if (inst.mem.bytes == 8 && a.dword_stride == 4)
      return set_qwords(i, load_qwords(x, address, x.disp), out);
    for (unsigned d = 0; d < out.size(); ++d) out[d] = load_dwords(x, address, x.disp + d * x.dword_stride);
  };
  // Bytes outside loops are mostly those of several rows and columns: a test of each takes longer.
  const bool by_mask = !a.full && (inst.mem.bytes >= 4 || (avx512() && is_in_loop(inst.block)));
  if (!by_mask || !may_be_beyond_caches(inst.mem)) return load_by(a);
  if_full(a, out, load_by);
}

/// Consecutive elements of 8 bytes.
Regs Selector::load_qwords(const Access& a, VReg address, i64 disp) {
  Regs qwords;
  const View view = view_of(a, 8);
  for (unsigned p = 0; p < 2; ++p) {
    if (p == 1 && a.first_lanes != 0) {
      qwords.r[1] = b_->splat32(0);
      break;
    }
    const Operand at = mem(address, disp + static_cast<i64>(p) * module_.vec_bytes(), view);
    const VReg mask = a.full ? VReg{} : wide_mask(a.mask, p);
    b_->faults(
        {.kind = FaultSite::Kind::Contiguous, .bytes = 8, .lane_offset = static_cast<u8>(p * lanes() / 2)});
    if (a.full)
      qwords.r[p] = load_row(at, view);
    else if (avx512())
      qwords.r[p] = b_->zero_masked(mask).def(Inst::kIdVmovdqu64, view, {at});
    else
      qwords.r[p] = b_->def(Inst::kIdVpmaskmovq, view, {reg(mask, view), at});
  }
  return qwords;
}

VReg Selector::load_dwords(const Access& a, VReg address, i64 disp) {
  const View view = view_of(a, 4);
  const Operand at = mem(address, disp, view);
  b_->faults({.kind = FaultSite::Kind::Contiguous, .bytes = 4});
  return a.full ? load_row(at, view) : masked_load(a.mask, at, view);
}

/// What holds elements of so many bytes of all lanes that may take part.
View Selector::view_of(const Access& a, u32 bytes) const {
  const u32 all =
      a.first_lanes == 0 ? module_.vec_bytes() : std::min(module_.vec_bytes(), a.first_lanes * bytes);
  return all <= 16 ? View::Xmm : all == 32 && avx512() ? View::Ymm : View::Full;
}

/// The lanes behind those become zero.
VReg Selector::load_row(const Operand& at, View view) {
  return view == View::Full ? b_->load_vec(at) : b_->def(Inst::kIdVmovups, view, {at});
}

/// One or two bytes of each lane's dword.
VReg Selector::load_part(const ir::MemAttr& attr, VReg address, const Access& a) {
  b_->faults({.kind = FaultSite::Kind::Contiguous, .bytes = 4});
  const VReg whole = masked_load(a.mask, mem(address, a.disp));
  if (!a.bit_shift.valid()) {
    const unsigned unused = 32 - 8u * attr.bytes, above = unused - a.first_bit;
    const VReg top = above == 0 ? whole : shl_imm(whole, above);
    return attr.sign_extend ? sar_imm32(top, unused) : shr_imm(top, unused);
  }
  const VReg count = b_->def(Inst::kIdVmovd, View::Xmm, {r32(a.bit_shift)});
  return extended(attr, b_->op(Inst::kIdVpsrld, whole, xmm(count)));
}

void Selector::store_part(const ir::MemAttr& attr, VReg address, const Access& a, VReg data) {
  b_->faults({.kind = FaultSite::Kind::Contiguous, .bytes = 4});
  const VReg whole = b_->load_vec(mem(address, a.disp)); // Nobody else's memory.
  const u32 low = attr.bytes == 1 ? 0xff : 0xffff;
  VReg field, value;
  if (a.bit_shift.valid()) {
    const VReg count = b_->def(Inst::kIdVmovd, View::Xmm, {r32(a.bit_shift)});
    field = b_->op(Inst::kIdVpslld, b_->splat32(low), xmm(count));
    value = b_->op(Inst::kIdVpslld, data, xmm(count));
  } else {
    field = b_->splat32(low << a.first_bit);
    value = a.first_bit == 0 ? data : shl_imm(data, a.first_bit);
  }
  if (!avx512() && !a.full) field = vand(a.mask, field);
  constexpr int kByField = 0xe4; // of the bits, `value` where `field` is set and `whole` elsewhere
  const VReg both = avx512() ? b_->op_tied(Inst::kIdVpternlogd, value, whole, or_mem(field), imm(kByField))
                             : vor(vandn(field, whole), vand(value, field));
  b_->faults({.kind = FaultSite::Kind::Contiguous, .bytes = 4, .is_write = true});
  const Operand at = mem(address, a.disp);
  if (avx512())
    masked_store(a.mask, at, both);
  else
    b_->store_vec(at, both);
}

/// AVX-512: what part p of an access is masked with, nothing if all lanes take part: from beyond the caches
/// what is masked takes longer also if no lane is missing.
VReg Selector::mask_of(const Access& a, unsigned p) { return a.full ? VReg{} : wide_mask(a.mask, p); }

VReg Selector::masked_load(VReg mask, const Operand& at, View view) {
  if (avx512()) return b_->zero_masked(mask).def(Inst::kIdVmovdqu32, view, {at});
  return b_->def(Inst::kIdVpmaskmovd, view, {reg(mask, view), at});
}

void Selector::masked_store(VReg mask, const Operand& at, VReg data, bool all_exist) {
  if (all_exist)
    b_->store_vec(at, blend(mask, data, b_->load_vec(at)));
  else if (avx512())
    b_->with_mask(mask).emit(Inst::kIdVmovdqu32, {at, vec(data)});
  else
    b_->emit(Inst::kIdVpmaskmovd, {at, vec(mask), vec(data)});
}

VReg Selector::gather_dwords(const Access& a, unsigned d) {
  const i64 disp = a.disp + static_cast<i64>(d) * a.dword_stride;
  const auto site = [&](unsigned lane, bool wide) {
    return FaultSite{
        .kind = FaultSite::Kind::Indexed, .bytes = 4, .lane_offset = static_cast<u8>(lane), .index64 = wide};
  };
  const VReg zero = b_->splat32(0);
  if (!a.wide) {
    const View view = a.low_half ? View::Half : View::Full;
    b_->faults(site(0, false));
    return b_->gather(Inst::kIdVpgatherdd, view, zero,
                      mem_vector(a.base, a.index.r[0], view, a.scale_log2, disp, View::R32), a.mask, view);
  }
  VReg halves[2];
  for (unsigned p = 0; p < (a.low_half ? 1 : 2); ++p) {
    const VReg mask = avx512() ? wide_mask(a.mask, p) : half_of(a.mask, p);
    b_->faults(site(p * lanes() / 2, true));
    halves[p] =
        b_->gather(Inst::kIdVpgatherqd, View::Half, zero,
                   mem_vector(a.base, a.index.r[p], View::Full, 0, disp, View::R32), mask, View::Half);
  }
  if (a.low_half) return halves[0];
  return b_->op(avx512() ? Inst::kIdVinserti64x4 : Inst::kIdVinserti128, halves[0], half(halves[1]), imm(1));
}

/// Dwords `d` and the next.
Regs Selector::gather_qwords(const Access& a, unsigned d) {
  const i64 disp = a.disp + 4 * i64{d};
  const VReg zero = b_->splat32(0);
  Regs qwords{{zero, zero}};
  for (unsigned p = 0; p < (a.low_half ? 1 : 2); ++p) {
    const VReg mask = wide_mask(a.mask, p), index = a.wide ? a.index.r[p] : half_of(a.index.r[0], p);
    const View index_view = a.wide ? View::Full : View::Half;
    b_->faults({.kind = FaultSite::Kind::Indexed,
                .bytes = 8,
                .lane_offset = static_cast<u8>(p * lanes() / 2),
                .index64 = a.wide});
    qwords.r[p] = b_->gather(a.wide ? Inst::kIdVpgatherqq : Inst::kIdVpgatherdq, View::Full, zero,
                             mem_vector(a.base, index, index_view, a.scale_log2, disp, View::R64), mask);
  }
  return qwords;
}

void Selector::load_scattered(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  if (can_load_each(inst.mem, a) && (a.full || inst.mem.bytes < 4) && out.size() == 1) {
    if (a.full)
      out[0] = load_each(inst.mem, a, a.disp);
    else
      if_full(a, out,
              [&](const Access& x) { out[0] = x.full ? load_each(inst.mem, x, x.disp) : load_narrow(i, x); });
    return;
  }
  if (inst.mem.bytes < 4) {
    out[0] = load_narrow(i, a);
    return;
  }
  // Gathers of dwords or qwords are no faster than loads of a lane each, which bring more.
  if (inst.mem.bytes >= 12 && a.dword_stride == 4 && !a.has_gaps) return load_elements(i, a, out);
  unsigned d = 0;
  if (a.dword_stride == 4)
    for (; d + 2 <= out.size(); d += 2) set_qwords(i, gather_qwords(a, d), out.subspan(d, 2));
  for (; d < out.size(); ++d) out[d] = gather_dwords(a, d);
}

void Selector::spill_addresses(const Access& a) {
  if (a.uniform()) return;
  b_->store_vec(temp(kTempAddress, View::Full), a.index.r[0]);
  if (a.wide) b_->store_vec(temp(kTempAddress + module_.vec_bytes(), View::Full), a.index.r[1]);
}

VReg Selector::lane_address(const Access& a, VReg lane) {
  if (a.uniform()) return a.base;
  return address_at(a, temp_lane(kTempAddress, lane, a.wide ? 3 : 2, a.wide ? View::R64 : View::R32));
}

/// The same of a lane that is known.
VReg Selector::lane_address(const Access& a, unsigned lane) {
  return address_at(a, temp(kTempAddress + (a.wide ? 8 : 4) * lane, a.wide ? View::R64 : View::R32));
}

/// The address of which spill_addresses() has left a part.
VReg Selector::address_at(const Access& a, const Operand& part) {
  if (a.wide) return b_->load64(part);
  const VReg offset = b_->op_r64(Inst::kIdMovsxd, part);
  return b_->op_r64(Inst::kIdLea, mem_index(a.base, offset, a.scale_log2, 0, View::R64));
}

void Selector::store(InstId i, const Access& a) {
  const ir::Inst& inst = f_[i];
  std::array<VReg, 4> values{};
  const std::span<const VReg> data = stored_data(i, values);
  const bool rows = a.dword_stride != 4;
  if (rows && is_wide(i)) // 64-bit values that turn out to go to private memory, dword by dword
    for (unsigned d = 0; d < data.size(); d += 2) {
      const Regs qwords{{values[d], values[d + 1]}};
      values[d] = narrow(qwords, false);
      values[d + 1] = narrow(qwords, true);
    }
  if (a.contiguous) return store_contiguous(i, a, data);
  if (has_short_rows(i) && !a.uniform()) return short_rows(i, a, {});
  const bool whole_steps = inst.mem.bytes >> a.scale_log2 << a.scale_log2 == inst.mem.bytes;
  const bool can_be_contiguous = whole_steps && (rows ? inst.mem.bytes >= 4 : inst.mem.bytes != 12);
  if (a.uniform()) return store_uniform(i, a, data);
  if (!can_be_contiguous) return store_scattered(i, a, data);
  const auto store_lone = [&](const Access& lone) {
    const auto dword = [&](unsigned n) {
      return element_of_first(is_wide(i) ? narrow({{data[n & ~1u], data[n | 1u]}}, n % 2 != 0) : data[n],
                              a.mask, lone.lane);
    };
    const bool qwords = in_qwords(lone, inst.mem.bytes);
    for (unsigned n = 0; n < data.size(); n += qwords ? 2 : 1) {
      VReg value = dword(n);
      if (qwords) value = join_gprs(value, dword(n + 1));
      store_element(lone, qwords ? 8 : std::min<u32>(4, inst.mem.bytes), qwords ? n / 2 : n, lone.base, value,
                    hidden(lone.lane));
    }
  };
  const bool few = !rows && may_be_few(f_.operands(i).back());
  if (!rows && in_ranks()) {
    const BlockId join = b_->add_block();
    if (few) take_few(a, join, {}, store_lone);
    by_halves(i, a, join, {}, [&](const Access& x) { store_scattered(i, x, data); });
    return b_->at(join);
  }
  const BlockId yes = b_->add_block(), no = b_->add_block(true), join = b_->add_block();
  if (few)
    take_few(a, join, {}, store_lone);
  else if (may_be_none(i, a))
    take_none(a, join, {});
  const bool all_lanes = !rows && (inst.mem.bytes == 16 || (inst.mem.bytes < 4 && !avx512()));
  if (const u32 row = rows ? 0 : likely_short_row(i, a); row != 0) {
    Access by = a;
    by.full |= inst.mem.bytes == 16 || !avx512();
    const ShortRows start = branch_if_short_rows(i, a, row, by.full, yes, no);
    b_->at(yes);
    store_short_rows(i, by, rows_within_reach_if_partial(by, start), data);
  } else {
    branch_if_strided(a, rows ? 4 : inst.mem.bytes, all_lanes, yes, no);
    b_->at(yes);
    store_contiguous(i, a, data);
  }
  b_->jump(join);
  b_->at(no);
  store_scattered(i, a, data);
  b_->jump(join);
  b_->at(join);
}

void Selector::store_contiguous(InstId i, const Access& a, std::span<const VReg> data) {
  const VReg address = first_address(a);
  if (f_[i].mem.streams) return store_streaming(i, a, address, data);
  const u32 bytes = f_[i].mem.bytes;
  const bool narrow = bytes < 4 && !avx512(); // AVX2 comes here with all lanes, or all exist.
  const bool masked = !a.full && !a.part_of_dword && !narrow && (bytes != 16 || a.dword_stride != 4);
  const bool at_once = avx512() && a.first_lanes == 0 && !may_be_beyond_caches(f_[i].mem);
  if (!masked || at_once) return store_at(i, a, address, data);
  // AVX2's masked stores are microcode on AMD, a dozen cycles each, and what is masked is not handed on to
  // loads.
  const ir::MemAttr& attr = f_[i].mem;
  const bool own = attr.space == ir::Space::Lds || (attr.space == ir::Space::Scratch && attr.in_range);
  if (own && (attr.form == ir::AddressForm::Row || attr.in_range)) {
    Access row = a; // Of memory that nobody else writes meanwhile.
    row.all_exist = true;
    return store_at(i, row, address, data);
  }
  if_full(a, {}, [&](const Access& x) { store_at(i, x, address, data); });
}

/// Past the caches if whole lines are stored.
void Selector::store_streaming(InstId i, const Access& a, VReg address, std::span<const VReg> data) {
  const VReg start = a.disp == 0 ? address : b_->op_r64(Inst::kIdLea, mem(address, a.disp, View::R64));
  const i64 in_line = module_.vec_bytes() - 1;
  if (a.full) {
    b_->emit(Inst::kIdTest, {r32(start), imm(in_line)});
  } else {
    const VReg missing = b_->op_r32_tied(Inst::kIdXor, mask_to_bits(a.mask), imm(avx512() ? 0xffff : 0xff));
    const VReg odd = b_->op_r32_tied(Inst::kIdAnd, start, imm(in_line));
    const VReg either = b_->op_r32_tied(Inst::kIdOr, odd, r32(missing));
    b_->emit(Inst::kIdTest, {r32(either), r32(either)});
  }
  hot_or_cold(
      CondCode::kNotZero, {},
      [&] {
        Access whole = a;
        whole.full = true;
        streaming_ = true;
        store_at(i, whole, address, data);
        streaming_ = false;
      },
      [&] {
        order_streams();
        store_at(i, a, address, data);
      });
}

/// Other stores are seen after the streaming ones before them. A single store has none before it.
void Selector::order_streams() {
  if (num_streams_ > 1) b_->emit(Inst::kIdSfence, {});
}

void Selector::store_row(const Operand& at, VReg value) {
  if (streaming_)
    b_->emit(Inst::kIdVmovntps, {at, vec(value)});
  else
    b_->store_vec(at, value);
}

void Selector::store_at(InstId i, const Access& a, VReg address, std::span<const VReg> data) {
  const ir::Inst& inst = f_[i];
  if (a.part_of_dword) return store_part(inst.mem, address, a, data[0]);
  const FaultSite site{.kind = FaultSite::Kind::Contiguous,
                       .bytes = static_cast<u8>(std::min<u32>(4, inst.mem.bytes)),
                       .is_write = true};
  if (inst.mem.bytes < 4) {
    const Operand row = mem(address, a.disp, narrow_row_view(inst.mem));
    return store_narrow_row(site,
                            avx512()                 ? mask_of(a)
                            : a.all_exist && !a.full ? a.mask
                                                     : VReg{},
                            row, data[0]);
  }
  if (inst.mem.bytes == 8 && a.dword_stride == 4)
    return store_qwords(
        a, address, is_wide(i) || alike_[i.index] ? Regs{{data[0], data[1]}} : join_parts(data[0], data[1]));
  if (inst.mem.bytes == 16 && a.dword_stride == 4) return store_quads(i, address, a.disp, data);
  for (unsigned d = 0; d < data.size(); ++d) {
    const Operand at = mem(address, a.disp + d * a.dword_stride);
    b_->faults(site);
    if (a.full)
      store_row(at, data[d]);
    else
      masked_store(a.mask, at, data[d], a.all_exist);
  }
}

/// What lane by lane stores keep in the frame: one row per dword, or per 64-bit value.
void Selector::spill_data(bool wide, std::span<const VReg> data) {
  for (unsigned r = 0; r < data.size(); ++r)
    b_->store_vec(temp(kTempData + (wide ? r / 2 * 128 + r % 2 * module_.vec_bytes() : 64 * r), View::Full),
                  data[r]);
}

/// `lane`'s part of what spill_data() has stored, to `address`. A fault is `fault_lane`'s.
void Selector::store_lane(const Access& a, u32 bytes, bool wide, VReg lane, VReg address, VReg fault_lane) {
  const auto dword = [&](unsigned n) {
    return b_->load32(temp_lane(kTempData + 64 * n, lane, 2, View::R32));
  };
  const bool qwords = wide || in_qwords(a, bytes);
  for (unsigned n = 0; n * (qwords ? 8 : 4) < bytes; ++n) {
    VReg value;
    if (wide)
      value = b_->load64(temp_lane(kTempData + 128 * n, lane, 3, View::R64));
    else if (qwords)
      value = join_gprs(dword(2 * n), dword(2 * n + 1));
    else
      value = dword(n);
    store_element(a, qwords ? 8 : std::min<u32>(4, bytes), n, address, value, hidden(fault_lane));
  }
}

/// Element `n` of `bytes` each; `lane`, or the mask with it, is for fault reports.
void Selector::store_element(const Access& a, u32 bytes, unsigned n, VReg address, VReg value,
                             const Operand& lane) {
  const View view = bytes == 1 ? View::R8 : bytes == 2 ? View::R16 : bytes == 4 ? View::R32 : View::R64;
  const i64 disp = a.disp + n * i64{bytes == 8 ? 8 : a.dword_stride};
  b_->faults({.kind = FaultSite::Kind::Scalar, .bytes = static_cast<u8>(bytes), .is_write = true});
  b_->emit(Inst::kIdMov, {mem(address, disp, view), reg(value, view), lane});
}

/// Of lanes that store to one address, the last counts; a fault is the first's.
void Selector::store_uniform(InstId i, const Access& a, std::span<const VReg> data) {
  const u32 bytes = f_[i].mem.bytes;
  const bool wide = is_wide(i);
  const auto store_first = [&](const Operand& lane) { // What all lanes have, if not lane 0 is the one.
    const auto values = ir::stored_by(f_, i);
    const auto dword = [&](unsigned r) {
      const VReg known = scalar_of(values[r]);
      return known.valid() ? known : to_gpr(data[r], false);
    };
    const bool qwords = wide || in_qwords(a, bytes);
    for (unsigned r = 0; r < data.size(); r += qwords ? 2 : 1) {
      VReg value;
      if (wide)
        value = to_gpr(data[r], true);
      else if (qwords)
        value = join_gprs(dword(r), dword(r + 1));
      else
        value = dword(r);
      store_element(a, qwords ? 8 : std::min<u32>(4, bytes), qwords ? r / 2 : r, a.base, value, lane);
    }
  };
  if (a.alone) return store_first(hidden(b_->const32(0)));
  if (a.spread && a.full) return store_first(hidden(a.mask, avx512() ? View::K : View::Full));
  const VReg bits = mask_to_bits(a.mask);
  const BlockId some = b_->add_block(), done = b_->add_block();
  b_->emit(Inst::kIdTest, {r32(bits), r32(bits)});
  b_->branch(CondCode::kNotZero, some, done);
  b_->at(some);
  const VReg first = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  if (a.spread) {
    store_first(hidden(first));
  } else {
    const VReg last = b_->op_r32(Inst::kIdBsr, r32(bits));
    spill_data(wide, data);
    store_lane(a, bytes, wide, last, a.base, first);
  }
  b_->jump(done);
  b_->at(done);
}

/// The lanes write in ascending order, each all of its element.
void Selector::store_scattered(InstId i, const Access& a, std::span<const VReg> data) {
  const u32 bytes = f_[i].mem.bytes;
  const bool has_scatter = avx512() && bytes >= 4 && bytes < 16;
  if (a.uniform() || a.dword_stride != 4 || bytes == 12 || has_scatter) return store_lanes(i, a, data);
  const auto all_lanes = [&] {
    spill_addresses(a);
    if (bytes < 8) return store_elements(i, a, {.is_write = true});
    store_spaced(i, a, {.is_write = true});
  };
  if (a.full) return all_lanes();
  if (a.has_gaps) return store_lanes(i, a, data);
  CondCode partial{};
  test_all(a.mask, partial);
  hot_or_cold(partial, {}, all_lanes, [&] { store_lanes(i, a, data); });
}

void Selector::store_lanes(InstId i, const Access& a, std::span<const VReg> data) {
  const u32 bytes = f_[i].mem.bytes;
  bool wide = is_wide(i) && a.dword_stride == 4;
  std::array<VReg, 4> qwords{};
  if (!wide && bytes % 8 == 0 && a.dword_stride == 4) {
    for (unsigned d = 0; d < data.size(); d += 2) {
      const Regs joined = join_parts(data[d], data[d + 1]);
      std::copy_n(joined.r, 2, &qwords[d]);
    }
    data = {qwords.data(), data.size()};
    wide = true;
  }
  if (avx512() && !a.uniform() && (bytes == 4 || (bytes == 8 && wide))) return scatter(a, bytes, data);
  spill_addresses(a);
  spill_data(wide, data);
  for_each_lane(a.mask, [&](VReg lane) { store_lane(a, bytes, wide, lane, lane_address(a, lane), lane); });
}

/// Elements of 4 or 8 bytes; AVX-512.
void Selector::scatter(const Access& a, u32 bytes, std::span<const VReg> data) {
  const auto site = [&](unsigned lane) {
    return FaultSite{.kind = FaultSite::Kind::Indexed,
                     .bytes = static_cast<u8>(bytes),
                     .lane_offset = static_cast<u8>(lane),
                     .index64 = a.wide,
                     .is_write = true};
  };
  if (bytes == 4 && !a.wide) {
    const View view = a.low_half ? View::Half : View::Full;
    const Operand at = mem_vector(a.base, a.index.r[0], view, a.scale_log2, a.disp, View::R32);
    b_->faults(site(0)).scatter(Inst::kIdVpscatterdd, at, data[0], view, a.mask);
    return;
  }
  const bool wide = bytes == 8;
  const u32 id = !wide ? Inst::kIdVpscatterqd : a.wide ? Inst::kIdVpscatterqq : Inst::kIdVpscatterdq;
  for (unsigned p = 0; p < (a.low_half ? 1 : 2); ++p) {
    const VReg mask = wide_mask(a.mask, p), value = wide ? data[p] : half_of(data[0], p);
    const VReg index = a.wide ? a.index.r[p] : half_of(a.index.r[0], p);
    const Operand at = mem_vector(a.base, index, a.wide ? View::Full : View::Half, a.scale_log2, a.disp,
                                  wide ? View::R64 : View::R32);
    b_->faults(site(p * 8)).scatter(id, at, value, wide ? View::Full : View::Half, mask);
  }
}

} // namespace lanewise::x86
