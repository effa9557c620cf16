// Phases, blocks and exits. The rules for single ops are in the other select_*.cpp.
#include "translator/x86/select.hpp"
#include "translator/phases/decide.hpp"

#include "translator/phases/hazards.hpp"
#include "translator/x86/fold_addresses.hpp"
#include "translator/x86/fold_loads.hpp"
#include "translator/x86/selector.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace lanewise::x86 {

bool is_same_for_all(const ir::Function& f, InstId i) {
  const ir::Inst& inst = f[i];
  const auto operands = f.operands(i);
  if (inst.op == Op::Splat) return ir::is_uniform(f.type(operands[0]));
  if (inst.op == Op::ScalarStore) return true;
  if (inst.op == Op::Load) {
    const bool one_row = inst.mem.form == ir::AddressForm::Row || inst.mem.form == ir::AddressForm::Wrapped;
    if (!one_row || inst.mem.space == ir::Space::Scratch || !f.is_full(operands.back())) return false;
    return std::all_of(operands.begin(), operands.end() - 1,
                       [&](ValueId v) { return ir::is_uniform(f.type(v)); });
  }
  if (inst.num_results == 0) return false;
  for (unsigned n = 0; n < inst.num_results; ++n)
    if (!ir::is_uniform(f.type(f.result(i, n)))) return false;
  return true;
}

Result<void> select(const ir::Function& f, const phases::Plan& plan, const FrameLayout& frame,
                    const SelectOptions& options, Module& module) {
  return Selector(f, plan, frame, options, module).run();
}

Selector::Selector(const ir::Function& f, const phases::Plan& plan, const FrameLayout& frame,
                   const SelectOptions& options, Module& module)
    : f_(f), plan_(plan), frame_(frame), options_(options), module_(module), use_counts_(f.use_counts()),
      next_rows_(f), look_ups_(f), kinds_(f), fused_(f.num_insts(), false), alike_(f.num_insts(), false),
      position_(f.num_insts(), 0), needed_by_each_(f.num_values(), 1), shared_(f.num_values()),
      blocks_(f.num_blocks()), along_x_(f) {}

Result<void> Selector::run() {
  for (u32 p = 0; p < plan_.phases.size(); ++p) {
    part_of_.push_back(module_.add_part(fmt::format("phase{}", p)));
    module_.resume_points.push_back(part_of_.back());
  }
  find_rare_blocks();
  mxcsr_ = module_.mxcsr = most_common_mxcsr();
  for (const ir::Block& block : f_.blocks)
    for (const InstId i : block.insts) num_streams_ += f_[i].mem.streams ? 1u : 0u;
  unsigned most = 1;
  for (const phases::Phase& phase : plan_.phases) most = std::max(most, phase.interleave);
  for (unsigned m = 0; m < most; ++m) members_[m].resize(f_.num_values());
  for (u32 p = 0; p < plan_.phases.size() && error_.empty(); ++p) {
    select_phase(p);
    Part& part = *module_.parts[part_of_[p].index];
    fold_addresses(part);
    fold_loads(part, avx512());
  }
  if (!error_.empty()) return Error{ErrorCode::Unsupported, fmt::format("{}: {}", f_.name, error_)};
  return {};
}

void Selector::unsupported(InstId i, const char* why) {
  if (error_.empty()) error_ = fmt::format("cannot select '{}': {}", ir::print(f_, i), why);
}

void Selector::select_phase(u32 phase) {
  Builder builder(module_, part_of_[phase]);
  b_ = &builder;
  phase_ = phase;
  interleave_ = plan_.phases[phase].interleave;
  assert(interleave_ != 0 && gangs() % interleave_ == 0);
  member_ = 0;
  gang_index_ = VReg{};
  loaded_from_.clear();
  lds_bases_ = {};
  pointers_.clear();
  deferred_adds_ = {};
  lds_limits_ = {};
  reciprocals_.clear();
  gang_scratch_ = VReg{};
  scratch_rooms_.clear();
  scratch_limits_.clear();
  per_lane_ = plan_.phases[phase].per_lane;
  body_accesses_ = body_stores_ = false;
  for (const IrBlockId b : plan_.phases[phase].blocks)
    for (const ir::Successor& s : f_[b].successors) {
      if (!plan_.is_exit(b, s.block)) continue;
      std::vector<SlotCopy> rows, uniform;
      collect_copies(b, s, rows, uniform);
      per_lane_ |= !rows.empty();
    }

  preamble_ = builder.add_block();
  head_ = builder.add_block();
  if (avx512()) builder.mark_few_rounds(head_); // for four gangs
  common_ = interleave_ == 1 ? nullptr
                             : &common_of_.try_emplace(interleave_, f_, lanes(), interleave_).first->second;
  if (common_) common_->find_loads(plan_.phases[phase].blocks);
  make_blocks();
  find_alike();
  find_needed_members();
  find_packed();
  find_tested_scalars();
  find_turns();
  builder.at(preamble_);
  builder.emit(Inst::kIdMov, {r64(kGang), r64(kFrame)});
  for (const IrBlockId b : plan_.phases[phase].blocks) select_block(b);
  builder.at(preamble_);
  builder.jump(head_);
  builder.at(head_);
  builder.jump(blocks_[plan_.phases[phase].entry.index]);
  b_ = nullptr;
}

/// Finds what of each phase only rare ways lead to.
void Selector::find_rare_blocks() {
  rare_.assign(f_.num_blocks(), true);
  for (const phases::Phase& phase : plan_.phases) {
    rare_[phase.entry.index] = false;
    for (const IrBlockId b : phase.blocks) {
      const ir::Inst& end = f_[f_.terminator(b)];
      const bool first_is_rare = end.op == ir::Op::Branch && (end.imm & phases::kFirstIsRare) != 0;
      const auto& ways = f_[b].successors;
      for (std::size_t n = 0; n < ways.size(); ++n)
        if (!rare_[b.index] && !(first_is_rare && n == 0)) rare_[ways[n].block.index] = false;
    }
  }
}

void Selector::make_blocks() {
  const phases::Phase& phase = plan_.phases[phase_];
  for (const IrBlockId b : phase.blocks) {
    blocks_[b.index] = b_->add_block(rare_[b.index]);
    if (b == phase.entry) continue; // Its parameters lie in slots.
    for (const ValueId v : f_[b].params) {
      Regs r;
      const RegClass cls = ir::is_scalar(type(v))              ? RegClass::Gpr
                           : type(v) == Type::Mask && avx512() ? RegClass::Mask
                                                               : RegClass::Vec;
      const auto add = [&] {
        const unsigned wanted = takes_one_register(v) ? 1 : parts(type(v));
        for (unsigned p = 0; p < wanted; ++p) r.r[p] = b_->add_param(blocks_[b.index], cls);
        set(v, r);
      };
      if (ir::is_uniform(type(v)))
        add();
      else
        for_each_member(add);
    }
  }
}

void Selector::select_block(IrBlockId b) {
  b_->at(blocks_[b.index]);
  b_->list_lanes(in_ranks() || std::ranges::any_of(f_[b].insts, [&](InstId i) { return f_[i].mem.listed; }));
  lds_addresses_.clear();
  halves_in_ = {};
  short_rows_.clear();
  forget_packed();
  const bool entry = b == plan_.phases[phase_].entry;
  find_fused(b);
  find_components(b);
  lines_ = avx512() ? find_lines(f_, b) : std::vector<Line>();
  divider_bound_ = is_divider_bound(b);
  for (const InstId i : f_[b].insts) {
    if (fused_[i.index]) continue;
    b_->set_pc(pc_of(i));
    b_->set_element(f_[i].mem.element);
    const bool ends = ir::info(f_[i].op).is(ir::kEndsBlock);
    const bool hoists = !ends && !is_packed(i) && is_hoistable(i);
    const bool lds = f_[i].mem.space == ir::Space::Lds || f_[i].mem.space == ir::Space::Gds;
    if (entry && !hoists && !lds && phases::is_access(f_, i)) {
      body_accesses_ = true;
      body_stores_ |= ir::info(f_[i].op).is(ir::kStores);
    }
    if (ends)
      terminate(b);
    else if (is_packed(i))
      packed_inst(i);
    else if (hoists)
      hoisted([&] {
        const u32 here = std::exchange(mxcsr_, module_.mxcsr);
        select_inst(i);
        load_mxcsr(module_.mxcsr);
        mxcsr_ = here;
        return 0;
      });
    else if (is_same_for_all(f_, i)) {
      for_all_ = true;
      select_inst(i);
      for_all_ = false;
    } else {
      for_each_member([&] { select_inst(i); }, members_apart(i), last_members(i));
    }
    for (const InstId load : next_rows_.announced_by(i))
      for_each_member([&] { fetch_next_round(load, f_.result(i)); });
    if (!error_.empty()) return;
  }
}

/// A phase in which all gangs run together keeps the wave's order, also of accesses that touch each other's
/// memory: a scalar one does not go ahead of those that the body has had so far.
bool Selector::passes_body(InstId i) const {
  if (!phases::is_access(f_, i)) return true;
  return f_[i].op == Op::ScalarStore ? !body_accesses_ : !body_stores_;
}

/// A load of the same elements, from one place, in all gangs that takes shuffles: done once, it is a load
/// from the stack in each gang. It cannot fault, and nobody stores to the LDS meanwhile.
bool Selector::is_shared_transpose(InstId i) const {
  const ir::Inst& inst = f_[i];
  const ir::MemAttr& mem = inst.mem;
  if (inst.op != Op::Load || mem.space != ir::Space::Lds || !mem.in_range || inst.num_results < 2 ||
      mem.stride == 0 || !f_.is_const(f_.operands(i)[0]) || !is_same_for_all(f_, i) || interleave_ == gangs())
    return false;
  const auto stores = [&](InstId other) {
    const ir::Inst& o = f_[other];
    const bool elsewhere = o.mem.space == ir::Space::Global || o.mem.space == ir::Space::Scratch;
    return ir::info(o.op).is(ir::kStores) && !elsewhere;
  };
  return std::ranges::none_of(plan_.phases[phase_].blocks,
                              [&](IrBlockId b) { return std::ranges::any_of(f_[b].insts, stores); });
}

bool Selector::is_hoistable(InstId i) {
  const ir::Inst& inst = f_[i];
  const ir::OpInfo& op = ir::info(inst.op);
  if (is_shared_transpose(i)) return true;
  if (rare_[inst.block.index]) return false; // It would be for nothing.
  const bool scalar_memory = inst.op == Op::ScalarLoad || inst.op == Op::ScalarBufLoad ||
                             inst.op == Op::ScalarStore || inst.op == Op::Clock;
  if (!op.is(ir::kPure) && !(scalar_memory && inst.block == plan_.phases[phase_].entry && passes_body(i)))
    return false;
  bool scalar = true;
  for (unsigned n = 0; n < inst.num_results; ++n) scalar &= ir::is_uniform(type(f_.result(i, n)));
  if (!scalar && !is_arithmetic_of_scalars(i)) return false;
  const auto operands = f_.operands(i);
  if (is_decided_by_gang(i)) return false;
  for (unsigned n = 0; n < operands.size(); ++n) {
    const bool whole = op.reads_whole(n) && is_in_slot(operands[n]);
    const bool same_for_all = ir::is_uniform(type(operands[n])) || ir::is_vector(type(operands[n]));
    if (!whole && (!same_for_all || !in_preamble(operands[n]))) return false;
  }
  return scalar || is_mostly_run(inst.block); // What scalars cost next to nothing, vectors do not.
}

/// Waves get to `b` unless they take a rare way, or one that a scalar decides and that does not end a loop.
bool Selector::is_mostly_run(IrBlockId b) {
  const Structure& s = structure();
  for (IrBlockId d; b != plan_.phases[phase_].entry; b = d) {
    d = s.dom.idom[b.index];
    if (f_[d].successors.size() < 2 || plan_.gang_decided[d.index] || s.post.post_dominates(b, d)) continue;
    const i32 loop = s.loops.innermost[d.index];
    const auto leaves = [&](const ir::Successor& way) { return !s.loops.contains(loop, way.block); };
    if (loop < 0 || std::ranges::none_of(f_[d].successors, leaves)) return false;
  }
  return true;
}

/// There is no scalar arithmetic of floats: what is the same for a whole wave is computed in all lanes.
bool Selector::is_arithmetic_of_scalars(InstId i) const {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const bool by_lane = inst.op == Op::WriteLane || inst.op == Op::NthLane;
  if (operands.empty() || by_lane || inst.op == Op::Splat || inst.num_results != 1) return false;
  const ValueId result = f_.result(i);
  return ir::is_vector(type(result)) && !frame_.has_slot(result) &&
         std::ranges::all_of(operands, [&](ValueId v) {
           return ir::is_uniform(type(v)) || (ir::is_vector(type(v)) && !frame_.has_slot(v));
         });
}

void Selector::select_inst(InstId i) {
  const ir::Inst& inst = f_[i];
  switch (inst.op) {
  case Op::Const:
  case Op::LaneId:
  case Op::InitSgpr:
  case Op::InitVgpr:
  case Op::InitExec:
  case Op::FrameField: return; // Made where they are used.
  case Op::ScalarLoad:
  case Op::Join:
    if (place_of_argument(f_, f_.result(i))) return;
    break;
  case Op::GangFirst:
    if (frame_.slot[f_.result(i).index] != kNoSlot && home_in_header(f_, f_.result(i)) != kNoSlot) return;
    if (is_gang_recomputed(f_.result(i))) return;
    break;
  case Op::Splat: {
    if (is_tested_as_scalar(i)) return;
    const ValueId source = f_.operands(i)[0];
    const ValueId v = f_.result(i);
    if (is_fused(source)) {
      const InstId def = f_.def_id(source);
      if (f_[def].op == Op::LaneOf) return set(v, {{b_->op(Inst::kIdVpbroadcastd, in_row(def)), VReg{}}});
      const auto pick = f_.operands(def);
      return set(v, gang_pick_for_all(pick[0], pick[1]));
    }
    if (!in_preamble(source)) set(v, splat(type(v), reg1(source)));
    return;
  }
  default: break;
  }
  const auto operands = f_.operands(i);
  if (is_tested_as_scalar(i)) return;
  // One use, by the branch that ends this block: the flags will do.
  if ((inst.op == Op::ICmp || inst.op == Op::AnyLane) && type(f_.result(i)) == Type::U1 &&
      use_counts_[f_.result(i).index] == 1) {
    const InstId end = f_.terminator(inst.block);
    const bool tested_later = f_[end].op == Op::Branch && f_.operands(end)[0] == f_.result(i);
    if (tested_later && (inst.op == Op::ICmp || !is_in_slot(operands[0]) || is_decided_by_gang(i))) return;
  }
  if (uniform_inst(i) || mask_inst(i) || integer_inst(i) || shift_inst(i) || multiply_inst(i) ||
      divide_inst(i) || bits_inst(i) || width_inst(i) || lane_inst(i) || memory_inst(i) || float_inst(i))
    return;
  unsupported(i, "no rule for this op with these types");
}

/// An AnyLane for the branch at the end of its block alone, of which each gang asks its own lanes: a gang
/// without any goes the other way also where the wave's mask is known from before the phase.
bool Selector::is_decided_by_gang(InstId i) const {
  const ir::Inst& inst = f_[i];
  return inst.op == Op::AnyLane && plan_.gang_decided[inst.block.index] &&
         f_.operands(f_.terminator(inst.block))[0] == f_.result(i);
}

/// A comparison of a gang's scalars, what is spread of one, or a question for how many lanes there are, that
/// only the branch at the end of its block looks at: the flags will do.
bool Selector::is_tested_as_scalar(InstId i) const {
  const ir::Inst& inst = f_[i];
  const bool is_scalar = (inst.op == Op::ICmp && ir::is_gang(type(f_.operands(i)[0]))) ||
                         (inst.op == Op::Splat && type(f_.operands(i)[0]) == Type::G1) ||
                         (inst.op == Op::NotFew && frame_.slot[f_.result(i).index] == kNoSlot);
  return is_scalar && type(f_.result(i)) == Type::Mask && interleave_ == 1 &&
         use_counts_[f_.result(i).index] == 1 && f_.tested_mask(inst.block) == f_.result(i);
}

void Selector::terminate(IrBlockId b) {
  load_mxcsr(module_.mxcsr); // No load if it is unchanged.
  const InstId end = f_.terminator(b);
  const ir::Inst& inst = f_[end];
  switch (inst.op) {
  case Op::Jump: return take_edge(b, f_[b].successors[0]);
  case Op::Branch: return branch(b, inst);
  case Op::Barrier:
  case Op::Sync: return exit_edge(b, f_[b].successors[0], inst);
  case Op::EndPgm:
  case Op::Trap:
  case Op::BadJump: {
    const BlockId tail = b_->add_block();
    next_gang(tail);
    b_->at(tail);
    return finish_exit(inst, nullptr);
  }
  default: return unsupported(end, "not a block end");
  }
}

void Selector::branch(IrBlockId b, const ir::Inst& inst) {
  const auto& successors = f_[b].successors;
  const ValueId condition = f_.operands(f_.terminator(b))[0];
  std::vector<VReg> args[2];
  BlockId target[2];
  for (unsigned n = 0; n < 2; ++n) {
    const ir::Successor& s = successors[n];
    if (plan_.is_exit(b, s.block)) {
      target[n] = b_->add_block();
      continue;
    }
    target[n] = blocks_[s.block.index];
    append_args(s, args[n]);
  }
  const CondCode cond = branch_condition(condition);
  b_->branch(cond, target[0], args[0], target[1], args[1]);
  for (unsigned n = 0; n < 2; ++n) {
    if (!plan_.is_exit(b, successors[n].block)) continue;
    b_->at(target[n]);
    exit_edge(b, successors[n], inst);
  }
}

/// The registers of all members, in the order of make_blocks().
void Selector::append_values(std::span<const ValueId> values, std::vector<VReg>& out) {
  for (const ValueId v : values) {
    const auto append = [&] {
      for (unsigned p = 0; p < parts(type(v)); ++p) out.push_back(part(v, p));
    };
    if (ir::is_uniform(type(v)))
      append();
    else
      for_each_member(append);
  }
}

/// Those for the parameters of a block, likewise.
void Selector::append_args(const ir::Successor& s, std::vector<VReg>& out) {
  for (std::size_t n = 0; n < s.args.size(); ++n) {
    if (takes_one_register(f_[s.block].params[n]))
      for_each_member([&] { out.push_back(part(s.args[n], 0)); });
    else
      append_values({&s.args[n], 1}, out);
  }
}

/// Clears ZF if a lane of any member is set.
void Selector::test_any(ValueId mask) {
  std::vector<VReg> all;
  append_values({&mask, 1}, all);
  while (all.size() > 2) { // Pairs, so that no chain gets long.
    std::vector<VReg> half;
    for (std::size_t n = 0; n < all.size(); n += 2) half.push_back(mask_or(all[n], all[n + 1]));
    all = std::move(half);
  }
  if (avx512()) return b_->emit(Inst::kIdKortestw, {k(all.front()), k(all.back())});
  const VReg m = all.size() == 2 ? vor(all[0], all[1]) : all[0];
  b_->emit(Inst::kIdVptest, {vec(m), vec(m)});
}

CondCode Selector::branch_condition(ValueId condition) {
  const InstId def = f_.def_id(condition);
  const bool in_register = location(condition) != nullptr;
  if (!in_register && def.valid() && plan_.phase_of[f_[def].block.index].index == phase_) {
    if (f_[def].op == Op::ICmp) return emit_compare(def);
    if (f_[def].op == Op::AnyLane) {
      const InstId compared = f_.def_id(f_.operands(def)[0]);
      if (compared.valid() && is_tested_as_scalar(compared)) return test_scalar(compared);
      test_any(f_.operands(def)[0]);
      return CondCode::kNotZero;
    }
  }
  const VReg bit = reg1(condition);
  b_->emit(Inst::kIdTest, {r32(bit), r32(bit)});
  return CondCode::kNotZero;
}

/// Of a gang that is alone.
CondCode Selector::test_scalar(InstId tested) {
  if (f_[tested].op == Op::ICmp) return emit_compare(tested);
  if (f_[tested].op == Op::NotFew) return test_not_few(tested);
  const ValueId bit = f_.operands(tested)[0];
  if (is_fused(bit)) return emit_compare(f_.def_id(bit));
  b_->emit(Inst::kIdTest, {r32(reg1(bit)), r32(reg1(bit))});
  return CondCode::kNotZero;
}

void Selector::take_edge(IrBlockId from, const ir::Successor& s) {
  if (plan_.is_exit(from, s.block)) return exit_edge(from, s, f_[f_.terminator(from)]);
  std::vector<VReg> args;
  append_args(s, args);
  b_->jump(blocks_[s.block.index], args);
}

void Selector::exit_edge(IrBlockId from, const ir::Successor& s, const ir::Inst& last) {
  std::vector<SlotCopy> rows, uniform;
  collect_copies(from, s, rows, uniform);
  for_each_member([&] { store_copies(rows); });
  const BlockId tail = b_->add_block();
  next_gang(tail);
  b_->at(tail);
  if (last.op == Op::Sync) // before its slot gets another value
    b_->store32(mem(kFrame, offsetof(runtime::WaveFrame, stop_detail), View::R32),
                reg1(f_.operands(f_.terminator(from))[0]));
  store_copies(uniform);
  finish_exit(last, &s);
}

void Selector::next_gang(BlockId tail) {
  if (!per_lane_ || goes_once()) return b_->jump(tail);
  b_->emit(Inst::kIdAdd, {r64(kGang), imm(interleave_ * module_.vec_bytes())});
  b_->emit(Inst::kIdCmp, {r64(kGang), mem(kFrame, offsetof(runtime::WaveFrame, gangs_end), View::R64)});
  b_->branch(CondCode::kB, head_, tail);
}

void Selector::finish_exit(const ir::Inst& last, const ir::Successor* s) {
  using runtime::StopReason;
  using runtime::WaveFrame;
  const auto stop_at = [&](u64 pc) {
    b_->store64(mem(kFrame, offsetof(WaveFrame, stop_pc), View::R64), b_->const64(pc));
  };
  switch (last.op) {
  case Op::EndPgm: return b_->ret(StopReason::End);
  case Op::Barrier:
  case Op::Sync:
    b_->store32(mem(kFrame, offsetof(WaveFrame, resume), View::R32),
                b_->const32(plan_.phase_of[s->block.index].index));
    if (last.op == Op::Barrier) return b_->ret(StopReason::Barrier);
    stop_at(options_.code_base + last.pc);
    return b_->ret(StopReason::Sync);
  case Op::Trap:
    b_->store32(mem(kFrame, offsetof(WaveFrame, stop_detail), View::R32),
                b_->const32(static_cast<u32>(last.imm)));
    stop_at(options_.code_base + last.pc);
    return b_->ret(StopReason::Trap);
  case Op::BadJump: {
    b_->store32(mem(kFrame, offsetof(WaveFrame, stop_detail), View::R32), b_->const32(0));
    const ValueId target = f_.operands(f_.terminator(last.block))[0];
    b_->store64(mem(kFrame, offsetof(WaveFrame, stop_pc), View::R64), reg1(target));
    return b_->ret(StopReason::BadJump);
  }
  default: return b_->jump_part(part_of_[plan_.phase_of[s->block.index].index]);
  }
}

void Selector::collect_copies(IrBlockId from, const ir::Successor& s, std::vector<SlotCopy>& per_lane,
                              std::vector<SlotCopy>& uniform) {
  const u32 target = plan_.phase_of[s.block.index].index;
  for (const ValueId v : frame_.live_in[target]) {
    const bool param = f_.def_block(v) == s.block && !f_.def(v);
    if (!param && plan_.phase_of[f_.def_block(v).index].index != phase_) continue; // It is there already.
    const ValueId source = param ? s.args[f_[v].index] : v;
    if (is_in_slot(source) && frame_.slot[source.index] == frame_.slot[v.index]) continue;
    (ir::is_uniform(type(v)) ? uniform : per_lane).push_back({source, frame_.slot[v.index]});
  }
  (void)from;
}

/// Stores in parallel: a source that lies in a slot which is overwritten is read before, and so is one that
/// is another value's register, which the allocator may read from that one's slot at any time.
void Selector::store_copies(const std::vector<SlotCopy>& copies) {
  std::vector<u32> written;
  for (const SlotCopy& c : copies) written.push_back(c.slot);
  std::sort(written.begin(), written.end());
  const auto is_written = [&](u32 slot) { return std::binary_search(written.begin(), written.end(), slot); };
  std::vector<Regs> early(copies.size());
  for (std::size_t n = 0; n < copies.size(); ++n) {
    const ValueId from = copies[n].from;
    if (is_in_slot(from)) {
      if (is_written(frame_.slot[from.index])) early[n] = load_slot(from, false);
      continue;
    }
    if (location(from) == nullptr) continue; // made where it is stored
    early[n] = regs(from);
    for (VReg& r : early[n].r)
      if (const auto at = loaded_from_.find(r.index); at != loaded_from_.end() && is_written(at->second.slot))
        r = load_slot(at->second, false);
  }
  for (std::size_t n = 0; n < copies.size(); ++n)
    store_slot(type(copies[n].from), copies[n].slot, early[n].r[0].valid() ? early[n] : regs(copies[n].from));
}

} // namespace lanewise::x86
