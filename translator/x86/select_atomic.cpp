// Atomics: lane after lane, or if all lanes go to one address, all at once, those of several gangs included.
// Global memory and GDS take lock prefixes; LDS does not, because a workgroup runs on one thread.
#include "translator/x86/select_atomic.hpp"
#include "runtime/deferred_adds.hpp"
#include "translator/ir/access.hpp"
#include "translator/x86/lane_loop.hpp"
#include "translator/x86/select_float.hpp"

#include <algorithm>

namespace lanewise::x86 {

using ir::AtomicOp;

namespace {

/// A minimum or maximum that is there already need not be written.
bool often_changes_nothing(AtomicOp op) {
  return op == AtomicOp::SMin || op == AtomicOp::UMin || op == AtomicOp::SMax || op == AtomicOp::UMax ||
         op == AtomicOp::FMin || op == AtomicOp::FMax;
}

} // namespace

/// Atomics on floating-point numbers keep denormals, whatever MODE says, but for those that stand for a loop
/// that added (passes/retried_sums.cpp).
void Selector::set_mxcsr_for_atomic(const ir::Inst& inst) {
  if (inst.op != Op::Atomic || !is_float(inst.mem.atomic)) return;
  ir::FpAttr keep;
  keep.round = inst.fp.round;
  keep.flush_in = inst.fp.flush_in;
  keep.flush_out = inst.fp.flush_out;
  set_mxcsr(keep, kMxcsrRounding | kMxcsrDaz | kMxcsrFtz);
}

void Selector::atomic(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  if (inst.mem.spread) return atomic_of_one_lane(i, a, out);
  const ir::Inst* mask = f_.def(f_.operands(i).back());
  const bool is_one_lane = mask != nullptr && mask->op == Op::FirstLane;
  if (a.uniform()) {
    const bool wide_result = inst.mem.bytes == 8 && !out.empty();
    if (combination(inst.mem.atomic) && !wide_result) return combined_atomic(i, a, out);
    if (inst.mem.atomic == AtomicOp::Cmpswap && !out.empty())
      return is_one_lane ? atomic_of_one_lane(i, a, out) : exchange_at_one_place(i, a, out);
  }
  if (inst.mem.deferred) return deferred_adds(i, a);
  if (combines_by_address(i)) return combined_by_address(i, a);
  const auto operands = f_.operands(i);
  const bool wide = inst.mem.bytes == 8;
  const unsigned dwords = wide ? 2 : 1;
  const auto data_rows = static_cast<unsigned>(operands.size()) - 2;
  set_mxcsr_for_atomic(inst);
  const VReg bits = mask_to_bits(a.mask);
  std::array<VReg, 4> results{};
  const BlockId join = begin_if_any(bits, out, results);
  std::array<VReg, 4> scalars{}; // of the rows that are the same in all lanes
  for (unsigned d = 0; d < data_rows; ++d) scalars[d] = scalar_of(operands[1 + d]);
  const VReg zero = b_->splat32(0);
  // What the lanes find is collected in registers: a vector that was just written lane by lane is slow to
  // load.
  const unsigned collected = avx512() ? static_cast<unsigned>(out.size()) : 0;

  // One lane's turn, whose bit is the lowest of `rest`.
  const auto take_turn = [&](VReg rest, VReg lane, VReg start, auto row, std::span<VReg> found) {
    const VReg address = aligned_address(inst, start, a.disp);
    const auto dword = [&](unsigned d) { return scalars[d].valid() ? scalars[d] : row(d); };
    const auto operand = [&](unsigned n) -> VReg {
      if (n * dwords >= data_rows) return {};
      const VReg low = dword(n * dwords);
      if (!wide) return low;
      return join_gprs(low, dword(n * dwords + 1));
    };
    const VReg data = operand(0), second = operand(1);
    const Operand at = mem(address, 0, wide ? View::R64 : View::R32);
    const VReg old = atomic_lane(inst, at, lane, data, second, !out.empty());
    VReg one;
    if (collected != 0) one = mask_from_bits(b_->op_r32(Inst::kIdBlsi, r32(rest)));
    for (unsigned d = 0; d < out.size(); ++d) {
      const VReg part = d == 0 ? old : b_->op_r64_tied(Inst::kIdShr, old, imm(32));
      if (d < collected) {
        b_->with_mask(one);
        found[d] = b_->op_tied(Inst::kIdVpbroadcastd, found[d], r32(part));
      } else {
        b_->store32(temp_lane(kTempResults + 64 * d, lane, 2, View::R32), part);
      }
    }
  };
  for (auto d = collected; d < out.size(); ++d) b_->store_vec(temp(kTempResults + 64 * d, View::Full), zero);
  const auto results_now = [&](std::array<VReg, 5>& found) {
    for (auto d = collected; d < out.size(); ++d)
      found[1 + d] = b_->load_vec(temp(kTempResults + 64 * d, View::Full));
    return std::span<const VReg>(found.data() + 1, out.size());
  };

  std::array<VReg, 5> found{};
  found.fill(zero);
  found[0] = bits;
  const BlockId loop = b_->add_block(), done = b_->add_block();
  // The first, who is often alone, from registers: other accesses would wait for the locked one before.
  const bool global = inst.mem.space != ir::Space::Lds, fetches = global && !is_loaded(i);
  if (global) {
    const BlockId only = b_->add_block(), more = b_->add_block();
    const VReg first = b_->op_r32(Inst::kIdTzcnt, r32(bits));
    const auto take_first_turn = [&] {
      take_turn(
          bits, first, address_of_first(a, first),
          [&](unsigned d) { return element_of_first(reg1(operands[1 + d]), a.mask, first); },
          std::span(found).subspan(1));
    };
    if (!fetches) take_first_turn();
    found[0] = b_->op_r32(Inst::kIdBlsr, r32(bits)); // Sets ZF if there are no more.
    b_->branch(CondCode::kNotZero, more, only);
    b_->at(only);
    if (fetches) take_first_turn();
    b_->jump(join, results_now(found));
    b_->at(more);
  }
  spill_addresses(a);
  for (unsigned d = 0; d < data_rows; ++d)
    if (!scalars[d].valid()) b_->store_vec(temp(kTempData + 64 * d, View::Full), reg1(operands[1 + d]));
  if (fetches) {
    fetch_lines(a, bits);
    found.fill(zero);
    found[0] = bits;
  }
  const std::array<VReg, 5> start = found;
  found[0] = b_->add_param(loop, RegClass::Gpr);
  for (unsigned d = 0; d < collected; ++d) found[1 + d] = b_->add_param(loop, RegClass::Vec);
  b_->jump(loop, {start.data(), 1 + collected});
  b_->at(loop);
  const VReg rest = found[0], lane = b_->op_r32(Inst::kIdTzcnt, r32(rest));
  take_turn(
      rest, lane, lane_address(a, lane),
      [&](unsigned d) { return b_->load32(temp_lane(kTempData + 64 * d, lane, 2, View::R32)); },
      std::span(found).subspan(1));
  found[0] = b_->op_r32(Inst::kIdBlsr, r32(rest));
  b_->branch(CondCode::kNotZero, loop, {found.data(), 1 + collected}, done, {});
  b_->at(done);
  b_->jump(join, results_now(found));
  b_->at(join);
  std::copy_n(results.begin(), out.size(), out.begin());
}

/// Something is loaded from the addresses of an atomic, too: their lines are there.
bool Selector::is_loaded(InstId atomic) const {
  const auto loads_there = [&](InstId i) {
    return f_[i].op == Op::Load && std::ranges::equal(ir::address_of(f_, i), ir::address_of(f_, atomic));
  };
  return std::ranges::any_of(f_.blocks,
                             [&](const ir::Block& b) { return std::ranges::any_of(b.insts, loads_there); });
}

/// Of the lanes of `bits`, whose addresses have been spilled. Locked accesses wait for each other: what they
/// wait for from memory, they had better wait for together.
void Selector::fetch_lines(const Access& a, VReg bits) {
  const BlockId loop = b_->add_block(), done = b_->add_block();
  const VReg rest = b_->add_param(loop, RegClass::Gpr);
  b_->jump(loop, {&bits, 1});
  b_->at(loop);
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(rest));
  b_->emit(Inst::kIdPrefetchw, {mem(lane_address(a, lane), a.disp, View::R64)});
  const VReg left = b_->op_r32(Inst::kIdBlsr, r32(rest));
  b_->branch(CondCode::kNotZero, loop, {&left, 1}, done, {});
  b_->at(done);
}

/// Additions that are done later. No other access waits for these: lane after lane from memory.
void Selector::deferred_adds(InstId i, const Access& a) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool wide = inst.mem.bytes == 8;
  std::array<VReg, 2> scalars{}; // dwords that are the same in all lanes
  bool all_scalars = true;
  for (unsigned d = 0; d < inst.mem.bytes / 4u; ++d) {
    scalars[d] = scalar_of(operands[1 + d]);
    all_scalars &= scalars[d].valid();
  }
  VReg data;
  if (all_scalars) {
    data = wide ? join_gprs(scalars[0], scalars[1]) : scalars[0];
  } else if (wide) {
    const Regs qwords = join_parts(reg1(operands[1]), reg1(operands[2]));
    spill_data(true, qwords.r);
  } else {
    const VReg dwords[] = {reg1(operands[1])};
    spill_data(false, dwords);
  }
  spill_addresses(a);
  const auto add = [&](const ir::Inst& how) {
    for_each_lane(a.mask, [&](VReg lane) {
      const VReg address = aligned_address(inst, lane_address(a, lane), a.disp);
      VReg addend = data;
      if (!all_scalars)
        addend = wide ? b_->load64(temp_lane(kTempData, lane, 3, View::R64))
                      : b_->load32(temp_lane(kTempData, lane, 2, View::R32));
      (void)atomic_lane(how, mem(address, 0, wide ? View::R64 : View::R32), lane, addend, {}, false);
    });
  };
  const BlockId later = b_->add_block(), at_once = b_->add_block(true), done = b_->add_block();
  b_->emit(Inst::kIdCmp, {mem(deferred_table(), offsetof(runtime::DeferredAdds, misses), View::R32),
                          imm(runtime::DeferredAdds::kManyMisses)});
  b_->branch(CondCode::kUnsignedLT, later, at_once);
  b_->at(later);
  add(inst);
  b_->jump(done);
  b_->at(at_once);
  ir::Inst locked = inst;
  locked.mem.deferred = false;
  add(locked);
  b_->jump(done);
  b_->at(done);
}

VReg Selector::deferred_table() {
  if (!deferred_adds_.valid())
    deferred_adds_ = hoisted([&] {
      return b_->remat().load64(mem(kFrame, offsetof(runtime::WaveFrame, deferred_adds), View::R64));
    });
  return deferred_adds_;
}

/// Adds to what is pending for the address, or, where that is not in the table, to memory, and puts it there
/// in place of another.
void Selector::defer_add(const ir::Inst& inst, const Operand& at, VReg lane, VReg data) {
  using Table = runtime::DeferredAdds;
  constexpr i64 kAddress = offsetof(Table::Entry, address), kPending = offsetof(Table::Entry, pending);
  const bool wide = inst.mem.bytes == 8;
  const u32 id = in_memory(inst.mem.atomic);
  const VReg table = deferred_table(),
             place = b_->op_r32_tied(Inst::kIdAnd, at.reg,
                                     imm(static_cast<i64>(Table::kEntries - 1) * inst.mem.bytes));
  const auto entry = [&](i64 field, View view) { return mem_index(table, place, wide ? 1 : 2, field, view); };
  const BlockId known = b_->add_block(), other = b_->add_block(true), done = b_->add_block();
  b_->emit(Inst::kIdCmp, {entry(kAddress, View::R64), r64(at.reg)});
  b_->branch(CondCode::kEqual, known, other);
  b_->at(known);
  b_->emit(id, {entry(kPending, at.view), sized(data, wide)});
  b_->jump(done);

  b_->at(other);
  b_->emit(Inst::kIdInc, {mem(table, offsetof(Table, misses), View::R32)});
  const FaultSite site{.kind = FaultSite::Kind::Scalar, .bytes = inst.mem.bytes, .is_write = true};
  b_->faults(site).lock().emit(id, {at, sized(data, wide), hidden(lane)});
  const VReg pending = b_->load64(entry(kPending, View::R64));
  const BlockId flush = b_->add_block(true), take = b_->add_block(true);
  b_->emit(Inst::kIdTest, {r64(pending), r64(pending)});
  b_->branch(CondCode::kZero, take, flush);
  b_->at(flush);
  const VReg before = b_->load64(entry(kAddress, View::R64));
  b_->faults(site).lock().emit(Inst::kIdAdd, {mem(before, 0, at.view), sized(pending, wide), hidden(lane)});
  b_->jump(take);
  b_->at(take);
  b_->store64(entry(kAddress, View::R64), at.reg);
  b_->store64(entry(kPending, View::R64), b_->const32(0));
  b_->jump(done);
  b_->at(done);
}

/// The scalar that `v` is in all lanes, if it is known to be one.
VReg Selector::scalar_of(ValueId v) {
  u64 constant = 0;
  if (f_.is_const(v, &constant)) return hoisted([&] { return b_->const32(static_cast<u32>(constant)); });
  const ir::Inst* def = f_.def(v);
  if (def == nullptr || def->op != Op::Splat || frame_.has_slot(v)) return {};
  const ValueId scalar = f_.operands(f_.def_id(v))[0];
  return is_fused(scalar) ? VReg{} : reg1(scalar);
}

/// Goes on in a block that is only entered with a lane in `bits`; the other way gives zeros.
BlockId Selector::begin_if_any(VReg bits, std::span<VReg> out, std::array<VReg, 4>& results) {
  const BlockId some = b_->add_block(), join = b_->add_block();
  std::array<VReg, 4> none{};
  for (unsigned d = 0; d < out.size(); ++d) {
    results[d] = b_->add_param(join, RegClass::Vec);
    none[d] = b_->splat32(0);
  }
  b_->emit(Inst::kIdTest, {r64(bits), r64(bits)});
  b_->branch(CondCode::kZero, join, {none.data(), out.size()}, some, {});
  b_->at(some);
  return join;
}

VReg Selector::aligned_address(const ir::Inst& inst, VReg base, i64 disp) {
  const VReg address = disp == 0 ? base : b_->op_r64(Inst::kIdLea, mem(base, disp, View::R64));
  return b_->op_r64_tied(Inst::kIdAnd, address, imm(-static_cast<i64>(inst.mem.bytes)));
}

/// All lanes of the wave go to one address, and none wants to know what it found there: what the gangs that
/// go side by side contribute is combined, too. The last of them does it.
bool Selector::is_for_whole_team(InstId i) const {
  const ir::Inst& inst = f_[i];
  return interleave_ > 1 && inst.op == Op::Atomic && inst.num_results == 0 &&
         inst.mem.space == ir::Space::Global && inst.mem.form == ir::AddressForm::Row &&
         inst.mem.stride == 0 && ir::is_uniform(type(f_.operands(i)[0])) && combination(inst.mem.atomic);
}

/// All lanes go to one address: what they contribute is combined first. What each of them finds there is what
/// was there, combined with what the lanes below it contribute.
void Selector::combined_atomic(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const Combination how = *combination(inst.mem.atomic);
  const bool wide = inst.mem.bytes == 8;
  const unsigned last = member_, first = is_for_whole_team(i) ? 0 : last;
  const auto mask_now = [&] { return member_ == last ? a.mask : reg1(operands.back()); };
  VReg bits;
  for (unsigned m = first; m <= last; ++m) {
    become(m);
    VReg mine = mask_to_bits(mask_now());
    if (m != first) mine = b_->op_r64_tied(Inst::kIdShl, mine, imm((m - first) * lanes()));
    bits = m == first ? mine : b_->op_r64_tied(Inst::kIdOr, bits, r64(mine));
  }
  std::array<VReg, 4> results{};
  const BlockId join = begin_if_any(bits, out, results);
  const VReg neutral = wide ? b_->splat64(u64{how.neutral} << 32 | how.below) : b_->splat32(how.neutral);
  const auto combine = [&](VReg x, VReg y) {
    const u32 id = integer_instruction(how.op, wide, avx512());
    return id != 0 ? b_->op(id, x, y) : min_max64(how.op, x, y);
  };
  const VReg address = aligned_address(inst, a.base, a.disp);
  const VReg lane = b_->op_r64(Inst::kIdTzcnt, r64(bits));
  const Operand at = mem(address, 0, wide ? View::R64 : View::R32);
  VReg x;
  const auto contribute = [&](VReg part) { x = x.valid() ? combine(x, part) : part; };
  for (unsigned m = first; m <= last; ++m) {
    become(m);
    const VReg mask = mask_now();
    if (wide) {
      const Regs pairs = join_parts(reg1(operands[1]), reg1(operands[2]));
      for (unsigned p = 0; p < 2; ++p) contribute(blend(wide_mask(mask, p), pairs.r[p], neutral, true));
    } else {
      contribute(blend(mask, reg1(operands[1]), neutral));
    }
  }
  become(first); // `lane` is counted from there.
  if (out.empty()) {
    (void)atomic_lane(inst, at, lane, combine_lanes(x, wide, combine), {}, false);
    become(last);
    b_->jump(join);
    return b_->at(join);
  }
  const auto from_below = [&](VReg v, unsigned n) { // Lane l of the result is lane l - n.
    if (avx512()) return b_->op(Inst::kIdValignd, v, neutral, imm(static_cast<int>(lanes() - n)));
    std::array<u32, 8> sources{};
    for (unsigned l = 0; l < 8; ++l) sources[l] = l - n;
    const VReg moved = b_->op(Inst::kIdVpermd, table(sources.data()), v);
    return b_->op(Inst::kIdVpblendd, moved, neutral, imm((1 << n) - 1));
  };
  for (unsigned n = 1; n < lanes(); n *= 2) x = combine(x, from_below(x, n));
  static constexpr std::array<u32, 16> kLast = {15};
  static constexpr std::array<u32, 8> kLastOf8 = {7};
  const VReg order = avx512() ? table(kLast.data()) : table(kLastOf8.data());
  const VReg total = to_gpr(b_->op(Inst::kIdVpermd, order, x), false);
  const VReg old = splat(Type::V32, atomic_lane(inst, at, lane, total, {}, true)).r[0];
  const VReg below = from_below(x, 1);
  out[0] = zero_outside(a.mask, inst.mem.atomic == AtomicOp::Sub ? b_->op(Inst::kIdVpsubd, old, below)
                                                                 : combine(old, below));
  b_->jump(join, out);
  b_->at(join);
  out[0] = results[0];
}

VReg Selector::join_gprs(VReg low, VReg high) {
  return b_->op_r64_tied(Inst::kIdOr, b_->op_r64_tied(Inst::kIdShl, high, imm(32)), r64(low));
}

VReg Selector::to_gpr(VReg v, bool wide) {
  return b_->def(wide ? Inst::kIdVmovq : Inst::kIdVmovd, wide ? View::R64 : View::R32, {xmm(v)});
}

/// All lanes go to one address. Lanes up to the next one that finds what it expects have all found the same,
/// so it is compared with what all of them expect at once; only an exchange needs an atomic access.
void Selector::exchange_at_one_place(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool wide = inst.mem.bytes == 8, locked = inst.mem.space != ir::Space::Lds;
  const View view = wide ? View::R64 : View::R32;
  const unsigned dwords = wide ? 2 : 1;
  const VReg bits = mask_to_bits(a.mask);
  std::array<VReg, 4> results{};
  const BlockId join = begin_if_any(bits, out, results);
  const VReg address = aligned_address(inst, a.base, a.disp);
  for (unsigned d = 0; d < dwords; ++d)
    b_->store_vec(temp(kTempData + 64 * d, View::Full), reg1(operands[1 + d]));
  const FaultSite site{.kind = FaultSite::Kind::Scalar, .bytes = inst.mem.bytes, .is_write = true};
  const VReg first_lane = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  b_->faults(site);
  const VReg first = b_->def(Inst::kIdMov, view, {mem(address, 0, view), hidden(first_lane)});

  const BlockId loop = b_->add_block(), found = b_->add_block();
  const VReg rest = b_->add_param(loop, RegClass::Gpr), seen = b_->add_param(loop, RegClass::Gpr);
  std::array<VReg, 4> before{}, now{};
  for (unsigned d = 0; d < dwords; ++d) before[d] = b_->add_param(loop, RegClass::Vec);
  const VReg zero = b_->splat32(0);
  {
    const VReg start[] = {bits, first, zero, zero};
    b_->jump(loop, {start, 2 + dwords});
  }
  b_->at(loop);
  const VReg rest_mask = mask_from_bits(rest);
  VReg equal;
  for (unsigned d = 0; d < dwords; ++d) {
    const VReg part = d == 0 ? seen : b_->op_r64_tied(Inst::kIdShr, seen, imm(32));
    const VReg all = splat(Type::V32, part).r[0];
    now[d] = blend(rest_mask, all, before[d]);
    const VReg same = compare(ir::IntPred::Eq, all, reg1(operands[1 + dwords + d]), false);
    equal = d == 0 ? same : mask_and(equal, same);
  }
  const VReg matches = b_->op_r32_tied(Inst::kIdAnd, mask_to_bits(equal), r32(rest)); // Sets ZF.
  b_->branch(CondCode::kZero, join, {now.data(), dwords}, found, {});

  b_->at(found);
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(matches));
  VReg wanted = b_->load32(temp_lane(kTempData, lane, 2, View::R32));
  if (wide) wanted = join_gprs(wanted, b_->load32(temp_lane(kTempData + 64, lane, 2, View::R32)));
  // The lanes behind it find the new value.
  const VReg behind = b_->op_r32(Inst::kIdAndn, r32(b_->op_r32(Inst::kIdBlsmsk, r32(matches))), r32(rest));
  VReg next = wanted, left = behind;
  if (locked) { // If another thread came between, all lanes that are left go on with what it wrote.
    b_->emit(Inst::kIdMov, {sized(kRax, wide), sized(seen, wide)});
    b_->faults(site).lock().emit(
        Inst::kIdCmpxchg, {mem(address, 0, view), sized(wanted, wide), sized(kRax, wide), hidden(lane)});
    next = b_->def(Inst::kIdMov, view, {sized(kRax, wide)});
    next = b_->def_tied(Inst::kIdCmove, view, next, {sized(wanted, wide)});
    left = b_->op_r32_tied(Inst::kIdCmovne, behind, r32(rest));
  } else {
    b_->emit(Inst::kIdMov, {mem(address, 0, view), sized(wanted, wide)});
  }
  b_->emit(Inst::kIdTest, {r32(left), r32(left)});
  const VReg again[] = {left, next, now[0], now[1]};
  b_->branch(CondCode::kZero, join, {now.data(), dwords}, loop, {again, 2 + dwords});
  b_->at(join);
  std::copy_n(results.begin(), out.size(), out.begin());
}

/// Of one lane at most, at an address that all have, in general-purpose registers. Where it is spread, all
/// lanes have the data, too, and get what it finds.
void Selector::atomic_of_one_lane(InstId i, const Access& a, std::span<VReg> out) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool wide = inst.mem.bytes == 8;
  const std::size_t rows = operands.size() - 2;
  set_mxcsr_for_atomic(inst);
  const VReg bits = mask_to_bits(a.mask);
  std::array<VReg, 4> results{};
  const BlockId join = a.full ? BlockId{} : begin_if_any(bits, out, results);
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(bits));
  const auto dword = [&](unsigned n) {
    const VReg scalar = scalar_of(operands[1 + n]);
    if (scalar.valid()) return scalar;
    const VReg row = reg1(operands[1 + n]);
    return a.spread ? to_gpr(row, false) : element_of_first(row, a.mask, lane);
  };
  const auto operand = [&](unsigned n) -> VReg {
    if ((wide ? 2 * n : n) >= rows) return {};
    if (!wide) return dword(n);
    const VReg low = dword(2 * n);
    return join_gprs(low, dword(2 * n + 1));
  };
  const VReg data = operand(0), second = operand(1);
  const Operand at = mem(aligned_address(inst, a.base, a.disp), 0, wide ? View::R64 : View::R32);
  const VReg old = atomic_lane(inst, at, lane, data, second, !out.empty());
  for (unsigned d = 0; d < out.size(); ++d) {
    const VReg part = d == 0 ? old : b_->op_r64_tied(Inst::kIdShr, old, imm(32));
    out[d] = splat(Type::V32, part).r[0];
    if (!a.spread) out[d] = zero_outside(a.mask, out[d]);
  }
  if (a.full) return;
  b_->jump(join, out);
  b_->at(join);
  std::copy_n(results.begin(), out.size(), out.begin());
}

/// One lane's read-modify-write; returns the old value, if that is wanted.
VReg Selector::atomic_lane(const ir::Inst& inst, const Operand& at, VReg lane, VReg data, VReg second,
                           bool returns) {
  const bool wide = inst.mem.bytes == 8, locked = inst.mem.space != ir::Space::Lds;
  const View view = wide ? View::R64 : View::R32;
  const FaultSite site{.kind = FaultSite::Kind::Scalar, .bytes = inst.mem.bytes, .is_write = true};
  const Operand lane_of_fault = hidden(lane);
  if (inst.mem.deferred) {
    defer_add(inst, at, lane, data);
    return {};
  }
  if (const bool sums = inst.mem.atomic == AtomicOp::FAdd || inst.mem.atomic == AtomicOp::RFAdd;
      !locked && !wide && !returns && sums) { // Lanes wait for each other: not by way of other registers.
    const VReg memory = b_->def(Inst::kIdVmovd, View::Xmm, {at});
    b_->emit(Inst::kIdVmovd,
             {at, xmm(sum_of(inst, memory, b_->def(Inst::kIdVmovd, View::Xmm, {r32(data)})))});
    return {};
  }
  if (!locked) {
    const VReg old = b_->def(Inst::kIdMov, view, {at});
    b_->emit(Inst::kIdMov, {at, sized(new_value(inst, old, data, second), wide)});
    return old;
  }
  if (const u32 id = returns ? 0 : in_memory(inst.mem.atomic); id != 0) {
    b_->faults(site).lock().emit(id, {at, sized(data, wide), lane_of_fault});
    return {};
  }
  if (inst.mem.atomic == AtomicOp::Add || inst.mem.atomic == AtomicOp::Sub) {
    const VReg addend = inst.mem.atomic == AtomicOp::Add ? data : b_->def_tied(Inst::kIdNeg, view, data, {});
    const VReg old = b_->new_vreg(RegClass::Gpr);
    b_->faults(site).lock().emit(Inst::kIdXadd, {at, as_tied(sized(old, wide), addend), lane_of_fault});
    return old;
  }
  if (inst.mem.atomic == AtomicOp::Swap) {
    const VReg old = b_->new_vreg(RegClass::Gpr);
    b_->faults(site).emit(Inst::kIdXchg, {at, as_tied(sized(old, wide), data), lane_of_fault});
    return old;
  }
  if (inst.mem.atomic ==
      AtomicOp::Cmpswap) { // Only an exchange needs the lock, and most often there is none.
    b_->faults(site);
    const VReg before = b_->def(Inst::kIdMov, view, {at, lane_of_fault});
    const BlockId equal = b_->add_block(), done = b_->add_block();
    const VReg seen = b_->add_param(done, RegClass::Gpr);
    b_->emit(Inst::kIdCmp, {sized(before, wide), sized(second, wide)});
    b_->branch(CondCode::kNotEqual, done, {&before, 1}, equal, {});
    b_->at(equal);
    b_->emit(Inst::kIdMov, {sized(kRax, wide), sized(second, wide)});
    b_->faults(site).lock().emit(Inst::kIdCmpxchg, {at, sized(data, wide), sized(kRax, wide), lane_of_fault});
    b_->jump(done, {b_->def(Inst::kIdMov, view, {sized(kRax, wide)})});
    b_->at(done);
    return seen;
  }
  // Compare and exchange until nobody came between.
  b_->faults(site);
  const VReg first = b_->def(Inst::kIdMov, view, {at, lane_of_fault});
  const BlockId loop = b_->add_block(), done = b_->add_block();
  const VReg seen = b_->add_param(loop, RegClass::Gpr);
  b_->jump(loop, {first});
  b_->at(loop);
  const VReg wanted = new_value(inst, seen, data, second);
  if (often_changes_nothing(inst.mem.atomic)) {
    b_->emit(Inst::kIdCmp, {sized(wanted, wide), sized(seen, wide)});
    const BlockId changes = b_->add_block();
    b_->branch(CondCode::kEqual, done, changes);
    b_->at(changes);
  }
  b_->emit(Inst::kIdMov, {sized(kRax, wide), sized(seen, wide)});
  b_->faults(site).lock().emit(Inst::kIdCmpxchg, {at, sized(wanted, wide), sized(kRax, wide), lane_of_fault});
  const VReg now = b_->def(Inst::kIdMov, view, {sized(kRax, wide)});
  b_->branch(CondCode::kNotZero, loop, {&now, 1}, done, {});
  b_->at(done);
  return seen;
}

} // namespace lanewise::x86
