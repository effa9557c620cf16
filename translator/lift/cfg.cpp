#include "translator/lift/cfg.hpp"

#include "translator/lift/branches.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::lift {

using isa::DecodeStatus;

namespace {

/// The scalar register that has the stack pointer, as compilers' functions expect it.
constexpr unsigned kStackPointer = 32;
/// Beside the stack pointer, in place of the caller of a function that never returns.
constexpr u64 kNeverReturns = u64{1} << 32;

} // namespace

Cfg::Cfg(const translator::KernelSource& source, ir::Function& f, const Plan& plan,
         FunctionAddresses& addresses)
    : source_(source), addresses_(addresses), f_(f), plan_(plan) {}

// ---- before lifting: where blocks begin

Cfg::Decoded& Cfg::decoded(u32 offset) {
  const auto [at, inserted] = decoded_at_.try_emplace(offset, static_cast<u32>(decoded_.size()));
  Decoded& s = inserted ? decoded_.emplace_back() : decoded_[at];
  if (inserted) {
    u32 dwords[3] = {};
    const std::size_t available = std::min<std::size_t>(sizeof dwords, source_.code.size() - offset);
    std::memcpy(dwords, source_.code.data() + offset, available);
    s.status = isa::decode(source_.target, std::span<const u32>(dwords, available / 4), s.inst);
  }
  return s;
}

const Cfg::Decoded* Cfg::decoded_inside(u32 offset) { return is_inside(offset) ? &decoded(offset) : nullptr; }

bool Cfg::in_code(u64 address) const {
  const u64 base = reinterpret_cast<u64>(source_.code.data());
  return address >= base && address - base + 4 <= source_.code.size() && (address - base) % 4 == 0;
}

void Cfg::add_edge(u32 offset, bool leader, unsigned count) {
  if (u64{offset} + 4 > source_.code.size()) return;
  Decoded& s = decoded(offset);
  s.leader |= leader;
  s.predecessors = static_cast<u8>(std::min(2u, s.predecessors + count));
}

/// Whether there is an instruction at this offset.
bool Cfg::is_inside(i64 offset) const {
  return offset >= 0 && offset + 4 <= static_cast<i64>(source_.code.size());
}

/// Whether no way through the function at `offset` leads to a return, or anywhere that is not known.
bool Cfg::never_returns(u32 offset) {
  const auto [known, inserted] = never_return_.try_emplace(offset, true);
  if (!inserted) return known->second;
  const auto walk = static_cast<u32>(never_return_.size());
  std::vector<u32> work = {offset};
  const auto go_on = [&](i64 to) {
    if (is_inside(to)) work.push_back(static_cast<u32>(to));
  };
  while (!work.empty()) {
    const u32 at = work.back();
    work.pop_back();
    Decoded& s = decoded(at);
    if (s.status != DecodeStatus::Ok || std::exchange(s.walk, walk) == walk) continue;
    const isa::Row& row = isa::row_of(s.inst.op);
    if (row.has(isa::kIndirectBranch | isa::kFork) && !row.has(isa::kCall)) return known->second = false;
    if (const auto target = branch_target(s.inst, at)) go_on(*target);
    if (row.has(isa::kTerminator) ? row.has(isa::kCall) : !is_fatal_trap(s.inst))
      go_on(i64{at} + s.inst.size);
  }
  return true;
}

/// Follows direct control flow from `offset`, the start of the kernel or of a function. An inlined function
/// is entered from one place; a shared one, as those that never return, from any number.
void Cfg::scan(u32 offset) {
  const bool is_kernel = reinterpret_cast<u64>(source_.code.data()) + offset == source_.entry;
  add_edge(offset, true, plan_.share_functions || (!is_kernel && never_returns(offset)) ? 2 : 1);
  std::vector<u32> work = {offset};
  while (!work.empty()) {
    u32 at = work.back();
    work.pop_back();
    while (u64{at} + 4 <= source_.code.size()) {
      Decoded& s = decoded(at);
      if (s.scanned || s.status != DecodeStatus::Ok) break;
      s.scanned = true;
      const isa::Row& row = isa::row_of(s.inst.op);
      const u32 next = at + s.inst.size;
      if (const auto target = branch_target(s.inst, at); target && is_inside(*target)) {
        add_edge(static_cast<u32>(*target), true);
        work.push_back(static_cast<u32>(*target));
      }
      indirect_ |= row.has(isa::kIndirectBranch);
      if (row.has(isa::kCall)) {
        add_edge(next, true, 2);
        work.push_back(next);
      }
      if (row.has(isa::kRegWrite) || s.inst.op == isa::Op::s_setvskip)
        add_edge(next, true, 2); // so that states of MODE meet again
      if (row.has(isa::kTerminator)) break;
      add_edge(next, row.has(isa::kConditional | isa::kBarrier | isa::kGws));
      at = next;
    }
  }
}

// ---- blocks

BlockId Cfg::new_block(const Key& key, BlockId only_predecessor) {
  const BlockId b = f_.add_block(key.offset);
  l_->ssa.add_block(b, only_predecessor);
  nodes_.resize(f_.num_blocks());
  auto& node = nodes_[b.index];
  node = std::make_unique<Node>();
  node->key = key;
  node->only_predecessor = only_predecessor;
  return b;
}

BlockId Cfg::block_at(u64 address, ContextId context) {
  const BlockId from = l_->b.block();
  if (!in_code(address)) {
    const BlockId b = new_block({}, from);
    enter(b);
    l_->b.raw().bad_jump(l_->b.u64c(address));
    enter(from);
    return b;
  }
  const u32 offset = static_cast<u32>(address - reinterpret_cast<u64>(source_.code.data()));
  if (!decoded(offset).scanned) scan(offset);
  Key key = {context, offset, l_->known.mode, (l_->known.mode & kModeGprIdxEn) != 0 ? l_->known.gpr_idx : 0u,
             0};
  for (;; ++key.copy) {
    const auto [it, inserted] = blocks_.try_emplace(key);
    if (inserted) {
      // The scan does not see calls into the middle of code. After one such surprise the next copy takes all
      // comers: with one for each predecessor, a call of the code around it would copy that without end.
      const bool single = key.copy == 0 && decoded(offset).predecessors == 1;
      const BlockId b = new_block(key, single ? from : BlockId{});
      it->second = b;
      if (!single) take_hints(*nodes_[b.index], from);
      work_.push_back(b);
      return b;
    }
    const BlockId only = nodes_[it->second.index]->only_predecessor;
    if (!only || only == from) return it->second;
  }
}

void Cfg::enter(BlockId b) {
  l_->b.set_block(b);
  l_->ssa.set_block(b);
}

BlockId Cfg::continuation() {
  const BlockId from = l_->b.block();
  Key key = nodes_[from.index]->key;
  return new_block(key, from);
}

void Cfg::lift_block(BlockId b) {
  enter(b);
  const Key key = nodes_[b.index]->key;
  context_ = key.context;
  l_->known = {key.mode, static_cast<u8>(key.gpr_idx)};
  ended_ = false;
  u32 offset = key.offset;
  const Decoded* next = decoded_inside(offset);
  do {
    l_->b.set_pc(offset);
    const u64 address = reinterpret_cast<u64>(source_.code.data()) + offset;
    if (next == nullptr || next->status != DecodeStatus::Ok) return bad_jump(l_->b.u64c(address));
    const isa::Inst& inst = next->inst;
    ++guest_instructions_;
    l_->lift(inst, offset);
    offset += inst.size;
    if (ended_) return;
    next = decoded_inside(offset);
    if (next != nullptr && next->leader) jump(address + inst.size);
  } while (!ended_);
}

void Cfg::lift_all(Lifter& lifter) {
  l_ = &lifter;
  const BlockId entry =
      f_.add_block(static_cast<u32>(source_.entry - reinterpret_cast<u64>(source_.code.data())));
  l_->ssa.add_block(entry);
  nodes_.resize(1);
  enter(entry);
  l_->known = {source_.mode, 0};
  const BlockId first = block_at(source_.entry, 0);
  const u32 limit = plan_.share_functions ? kMaxGuestInstructions : kMaxInlined;
  while (!work_.empty()) {
    const BlockId b = work_.back();
    work_.pop_back();
    lift_block(b);
    too_large_ |= guest_instructions_ > limit;
    if (too_large_) return;
    // A tail call found in one function can add return addresses to another: again until nothing is new.
    for (bool changed = true; changed && work_.empty();) {
      changed = false;
      for (std::size_t d = 0; d < dispatches_.size(); ++d) changed |= extend(dispatches_[d]);
    }
  }
  for (const Dispatch& d : dispatches_) {
    enter(d.tail);
    bad_jump(return_target());
  }
  // The entry block collects initial values until all is lifted.
  l_->b.set_pc(f_[entry].pc);
  enter(entry);
  l_->store_initial_vgprs();
  l_->b.raw().jump(first);
}

// ---- what first paths tell about targets

void Cfg::take_hints(Node& node, BlockId from) {
  if (from.index == 0 || !indirect_) return;
  for (Var v = 0; v < 124; ++v) {
    if (type_of(v) != Type::U32) continue;
    BlockId at = from;
    while (!l_->ssa.known(at, v) && nodes_[at.index] && nodes_[at.index]->only_predecessor)
      at = nodes_[at.index]->only_predecessor;
    u64 bits = 0;
    bool found = false;
    if (const ValueId value = l_->ssa.known(at, v)) {
      found = hint(value, &bits);
    } else if (nodes_[at.index] && nodes_[at.index]->hinted[v]) {
      bits = nodes_[at.index]->hints[v];
      found = true;
    }
    if (!found) continue;
    node.hinted[v] = true;
    node.hints[v] = static_cast<u32>(bits);
  }
}

/// The value that `value` had on the first path here, if that is known; of a lane the one value written to
/// it.
bool Cfg::hint(ValueId value, u64* bits) const {
  if (f_.is_const(value, bits)) return true;
  if (const auto lane = lane_reads_.find(value.index); lane != lane_reads_.end()) {
    const auto writes = lane_writes_.find(lane->second);
    if (writes == lane_writes_.end() || writes->second.others || writes->second.constants.size() != 1)
      return false;
    *bits = *writes->second.constants.begin();
    return true;
  }
  const ir::Inst* def = f_.def(value);
  if (def == nullptr) {
    const BlockId block = f_[value].block;
    const Var v = l_->ssa.var_of_param(block, f_[value].index);
    if (v >= 128 || !nodes_[block.index]->hinted[v]) return false;
    *bits = nodes_[block.index]->hints[v];
    return true;
  }
  const bool is_sum = def->op == ir::Op::Add && l_->b.type(value) == ir::Type::U32; // a stack pointer
  if (def->op != ir::Op::Join && !is_sum) return false;
  const auto x = f_.operands(f_.def_id(value));
  u64 low = 0, high = 0;
  if (!hint(x[0], &low) || !hint(x[1], &high)) return false;
  *bits = is_sum ? static_cast<u32>(low + high) : low | high << 32;
  return true;
}

// ---- block ends

void Cfg::jump(u64 address) {
  const BlockId to = block_at(address);
  l_->b.raw().jump(to);
  ended_ = true;
}

void Cfg::branch(ValueId taken, u64 address) {
  ended_ = true;
  u64 bits = 0;
  const u64 next = l_->next_address();
  if (l_->b.is_const(taken, &bits)) return jump(bits != 0 ? address : next);
  const BlockId yes = block_at(address);
  const BlockId no = block_at(next); // last, so that it is lifted first
  l_->b.raw().branch(taken, yes, no);
}

void Cfg::bad_jump(ValueId target) {
  l_->b.raw().bad_jump(target);
  ended_ = true;
}

void Cfg::fork(std::span<const std::pair<ValueId, Static>> cases) {
  const u64 next = l_->next_address();
  for (std::size_t i = 0; i + 1 < cases.size(); ++i) {
    l_->known = cases[i].second;
    const BlockId yes = block_at(next), no = continuation();
    l_->b.raw().branch(cases[i].first, yes, no);
    enter(no);
  }
  l_->known = cases.back().second;
  jump(next);
}

void Cfg::barrier() {
  const BlockId next = block_at(l_->next_address());
  l_->b.raw().barrier(next);
  ended_ = true;
}

void Cfg::sync(ValueId request) {
  const BlockId next = block_at(l_->next_address());
  l_->b.raw().sync(request, next);
  ended_ = true;
}

void Cfg::end_program() {
  l_->b.raw().end_program();
  ended_ = true;
}

void Cfg::trap(u32 id) {
  l_->b.raw().trap(id);
  ended_ = true;
}

Cfg::ContextId Cfg::callee_context(u64 address, u64 return_address) {
  const Site site = {context_, return_address};
  const u32 depth = contexts_[context_].depth + 1;
  if (!plan_.share_functions) {
    if (depth > kMaxCallDepth) return 0;
    for (ContextId c = context_; c != 0; c = contexts_[c].sites[0].caller)
      if (contexts_[c].sites[0].return_address == return_address) return 0;
  }
  std::pair<u64, u64> id =
      plan_.share_functions ? std::pair{u64{0}, address} : std::pair{u64{context_}, return_address};
  // Of what never returns one copy is enough where variables are in the same place.
  const u32 offset = static_cast<u32>(address - reinterpret_cast<u64>(source_.code.data()));
  if (u64 stack = 0; !plan_.share_functions && in_code(address) && never_returns(offset) &&
                     hint(l_->sgpr(kStackPointer), &stack))
    id = {kNeverReturns | stack, address};
  const auto [it, inserted] = context_ids_.try_emplace(id, static_cast<u32>(contexts_.size()));
  if (inserted) contexts_.push_back({{}, {}, {}, depth});
  add_site(it->second, site);
  return it->second;
}

/// Records a call of `context`; functions that it ends by jumping to return there too.
void Cfg::add_site(ContextId context, const Site& site) {
  auto& sites = contexts_[context].sites;
  if (std::find(sites.begin(), sites.end(), site) != sites.end()) return;
  sites.push_back(site);
  const std::vector<ContextId> tails = contexts_[context].tail_callees;
  for (const ContextId callee : tails) add_site(callee, site);
}

/// Ends the current block with a jump into the function at `address`.
void Cfg::call_one(u64 address, u64 return_address) {
  const ContextId callee = callee_context(address, return_address);
  if (callee == 0) {
    too_large_ = true;
    return bad_jump(l_->b.u64c(address));
  }
  const BlockId to = block_at(address, callee);
  l_->b.raw().jump(to);
  ended_ = true;
}

void Cfg::call(ValueId target, u64 return_address) {
  u64 address = 0;
  if (l_->b.is_const(target, &address)) return call_one(address, return_address);
  const bool unknown = plan_.not_as_first.contains(l_->pc);
  if (const auto callees = addresses_spilled(target); !unknown && !callees.empty()) {
    LaneCall assumption = {l_->pc, {}, {}, callees};
    spilled_to(target, &assumption.low, &assumption.high);
    lane_calls_.push_back(assumption);
    return call_among(target, callees, return_address);
  }
  if (!hint(target, &address) || !in_code(address) || !assume_first(target))
    return call_unknown(target, return_address);
  call_one(address, return_address);
}

std::optional<u64> Cfg::assume_first(ValueId value) {
  u64 bits = 0;
  if (plan_.not_as_first.contains(l_->pc) || !hint(value, &bits)) return std::nullopt;
  const BlockId yes = continuation(), no = continuation();
  l_->b.raw().branch(l_->b.icmp(IntPred::Eq, value, bits), yes, no);
  enter(no);
  l_->b.raw().bad_jump(l_->b.type(value) == ir::Type::U64 ? value : l_->b.zext(value)); // never, once proved
  assumptions_.push_back({l_->pc, f_.terminator(no)});
  enter(yes);
  return bits;
}

void Cfg::call_unknown(ValueId target, u64 return_address) {
  const std::set<u64> callees = addresses_.callees(l_->pc);
  if (callees.size() > kMaxCallees) l_->untranslated("indirect call among too many functions");
  call_among(target, callees.size() > kMaxCallees ? std::set<u64>{} : callees, return_address);
}

void Cfg::call_among(ValueId target, const std::set<u64>& callees, u64 return_address) {
  for (const u64 address : callees) {
    const BlockId yes = continuation(), no = continuation();
    l_->b.raw().branch(l_->b.icmp(IntPred::Eq, target, address), yes, no);
    enter(yes);
    call_one(address, return_address);
    enter(no);
  }
  bad_jump(target);
}

// ---- addresses in lanes

void Cfg::note_lane_write(unsigned vgpr, unsigned lane, ValueId value) {
  LaneWrites& writes = lane_writes_[{context_, vgpr, lane}];
  u64 bits = 0;
  if (f_.is_const(value, &bits))
    writes.constants.insert(static_cast<u32>(bits));
  else
    writes.others = true;
}

void Cfg::note_lane_read(unsigned vgpr, unsigned lane, ValueId result) {
  if (!loaded_here(l_->b.operand(result, 0))) lane_reads_[result.index] = {context_, vgpr, lane};
}

/// Whether `vgpr` was loaded by the current function: lanes that scalars go through on their way to memory
/// hold another one each time. A function called meanwhile loads what it has saved.
bool Cfg::loaded_here(ValueId vgpr) const {
  if (l_->b.def(vgpr, ir::Op::Select) != nullptr) vgpr = l_->b.operand(vgpr, 1);
  const ir::Inst* load = l_->b.def(vgpr, ir::Op::Load);
  return load != nullptr && nodes_[load->block.index] && nodes_[load->block.index]->key.context == context_;
}

/// Whether both halves of `target` were read from lanes, and which.
bool Cfg::spilled_to(ValueId target, Lane* low, Lane* high) const {
  if (l_->b.def(target, ir::Op::Join) == nullptr) return false;
  const auto lo = lane_reads_.find(l_->b.operand(target, 0).index);
  const auto hi = lane_reads_.find(l_->b.operand(target, 1).index);
  if (lo == lane_reads_.end() || hi == lane_reads_.end()) return false;
  *low = lo->second;
  *high = hi->second;
  return true;
}

/// The code addresses that `target` can be if nothing but what this function wrote to these lanes is in them;
/// none if something unknown was.
std::set<u64> Cfg::addresses_spilled(ValueId target) const {
  Lane low, high;
  return spilled_to(target, &low, &high) ? addresses_in(low, high) : std::set<u64>{};
}

std::set<u64> Cfg::addresses_in(const Lane& low, const Lane& high) const {
  const auto lo = lane_writes_.find(low), hi = lane_writes_.find(high);
  if (lo == lane_writes_.end() || hi == lane_writes_.end() || lo->second.others || hi->second.others)
    return {};
  std::set<u64> addresses;
  for (const u32 l : lo->second.constants)
    for (const u32 h : hi->second.constants)
      if (const u64 address = l | u64{h} << 32; in_code(address)) addresses.insert(address);
  return addresses;
}

void Cfg::jump_indirect(ValueId target) {
  ended_ = true;
  u64 address = 0;
  const bool known = l_->b.is_const(target, &address);
  const std::vector<Site> sites = contexts_[context_].sites;
  const auto site =
      std::find_if(sites.begin(), sites.end(), [&](const Site& s) { return s.return_address == address; });
  if (known && site == sites.end()) {
    // A function has one copy when functions are shared: with two, returns could not tell whose caller is
    // meant.
    if (!plan_.share_functions || !is_function(address)) return jump(address);
    return l_->b.raw().jump(block_at(address, tail_context(context_, address)));
  }
  if (known) return l_->b.raw().jump(block_at(address, site->caller));
  // Not only returns: a tail call may be through an address that was spilled. So is a return address, which
  // is compared with below.
  for (const u64 callee : addresses_spilled(target)) {
    if (std::any_of(sites.begin(), sites.end(), [&](const Site& s) { return s.return_address == callee; }))
      continue;
    const BlockId yes = block_at(callee), no = continuation();
    l_->b.raw().branch(l_->b.icmp(IntPred::Eq, target, callee), yes, no);
    enter(no);
  }
  if (sites.empty()) return bad_jump(target);
  if (plan_.share_functions) {
    l_->ssa.write(kReturnLo, l_->b.lo(target));
    l_->ssa.write(kReturnHi, l_->b.hi(target));
    Dispatch& d = dispatch();
    const auto callees = addresses_.callees(l_->pc);
    d.callees.insert(callees.begin(), callees.end());
    return l_->b.raw().jump(d.head);
  }
  const BlockId back = block_at(sites[0].return_address, sites[0].caller), no = continuation();
  l_->b.raw().branch(l_->b.icmp(IntPred::Eq, target, sites[0].return_address), back, no);
  enter(no);
  if (plan_.assume_returns) {
    l_->b.raw().bad_jump(target);
    assumed_returns_.push_back({l_->pc, context_, f_.terminator(no)});
    return;
  }
  for (const u64 callee : tail_callees(l_->pc, context_)) {
    const BlockId to = block_at(callee), next = continuation();
    l_->b.raw().branch(l_->b.icmp(IntPred::Eq, target, callee), to, next);
    enter(next);
  }
  l_->b.raw().bad_jump(target);
}

/// What a function may call at its end by the jump at `pc` that looks like its return.
std::vector<u64> Cfg::tail_callees(u32 pc, ContextId context) const {
  std::vector<u64> callees = contexts_[context].addresses;
  if (callees.empty()) return callees;
  const std::set<u64> possible = addresses_.callees(pc);
  std::erase_if(callees, [&](u64 address) { return !possible.contains(address); });
  return callees;
}

// ---- returns of shared functions

/// Where returns in the current context and state go.
Cfg::Dispatch& Cfg::dispatch() {
  for (Dispatch& d : dispatches_)
    if (d.context == context_ && d.known == l_->known) return d;
  const Key key = {context_, l_->pc, l_->known.mode, l_->known.gpr_idx, 0};
  const BlockId head = new_block(key, BlockId{});
  return dispatches_.emplace_back(Dispatch{context_, l_->known, head, head, 0, {}, {}});
}

ValueId Cfg::return_target() { return l_->b.join(l_->ssa.read(kReturnLo), l_->ssa.read(kReturnHi)); }

/// Compares with the return addresses found since the last time, and with functions it may jump to. True if
/// there were any.
bool Cfg::extend(Dispatch& d) {
  const std::size_t before = d.sites + d.tails.size();
  while (d.sites < contexts_[d.context].sites.size()) {
    const Site site = contexts_[d.context].sites[d.sites++];
    enter(d.tail);
    l_->known = d.known;
    l_->b.set_pc(f_[d.tail].pc);
    const ValueId here = l_->b.icmp(IntPred::Eq, return_target(), site.return_address);
    const BlockId back = block_at(site.return_address, site.caller), next = continuation();
    l_->b.raw().branch(here, back, next);
    d.tail = next;
  }
  for (std::size_t n = 0; n < contexts_[d.context].addresses.size(); ++n) {
    const u64 address = contexts_[d.context].addresses[n];
    if (!d.callees.contains(address) || !d.tails.insert(address).second) continue;
    const ContextId callee = tail_context(d.context, address);
    enter(d.tail);
    l_->known = d.known;
    l_->b.set_pc(f_[d.tail].pc);
    const ValueId here = l_->b.icmp(IntPred::Eq, return_target(), address);
    const BlockId to = block_at(address, callee), next = continuation();
    l_->b.raw().branch(here, to, next);
    d.tail = next;
  }
  return d.sites + d.tails.size() != before;
}

/// The shared function at `address`, which returns to where `caller` was called from.
Cfg::ContextId Cfg::tail_context(ContextId caller, u64 address) {
  const auto [it, inserted] = context_ids_.try_emplace({0, address}, static_cast<u32>(contexts_.size()));
  if (inserted) contexts_.push_back({{}, {}, {}, contexts_[caller].depth + 1});
  contexts_[caller].tail_callees.push_back(it->second);
  const std::vector<Site> sites = contexts_[caller].sites;
  for (const Site& site : sites) add_site(it->second, site);
  return it->second;
}

bool Cfg::is_function(u64 address) const {
  return std::any_of(source_.symbols.begin(), source_.symbols.end(),
                     [&](const auto& s) { return !s.is_kernel && s.address == address; });
}

void Cfg::note_address(u64 address) {
  auto& known = contexts_[context_].addresses;
  if (!is_function(address) || !in_code(address) ||
      std::find(known.begin(), known.end(), address) != known.end())
    return;
  known.push_back(address);
  // Any number of ends may jump there.
  add_edge(static_cast<u32>(address - reinterpret_cast<u64>(source_.code.data())), true, 2);
}

void Cfg::renumber(std::span<const ir::InstId> now) {
  const auto rename = [&](ir::InstId& jump) {
    if (jump.valid()) jump = now[jump.index];
  };
  for (auto& [pc, jump] : assumptions_) rename(jump);
  for (AssumedReturn& r : assumed_returns_) rename(r.jump);
}

std::set<u32> Cfg::unproved(const ir::Function& f) const {
  std::set<u32> pcs;
  for (const auto& [pc, jump] : assumptions_)
    if (jump.valid() && f[jump].block.valid()) pcs.insert(pc);
  for (const LaneCall& call : lane_calls_)
    if (addresses_in(call.low, call.high) != call.callees) pcs.insert(call.pc);
  return pcs;
}

bool Cfg::returns_are_proved(const ir::Function& f) const {
  return std::none_of(assumed_returns_.begin(), assumed_returns_.end(), [&](const AssumedReturn& r) {
    return r.jump.valid() && f[r.jump].block.valid() && !tail_callees(r.pc, r.context).empty();
  });
}

} // namespace lanewise::lift
