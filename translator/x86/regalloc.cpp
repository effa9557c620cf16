#include "translator/x86/regalloc.hpp"

#include "translator/x86/liveness.hpp"
#include "translator/x86/parallel_copy.hpp"
#include "translator/x86/spill_slots.hpp"

#include <algorithm>
#include <array>

namespace lanewise::x86 {
namespace {

constexpr u8 kNone = 0xff;

/// Where a live value is at a block's border. Without a register it is in its slot, or to be rematerialised.
struct ValueAt {
  VReg value;
  u8 reg;
  bool stored; ///< its slot holds it
};

class Allocator {
public:
  Allocator(const Module& module, const Part& part, const AllocOptions& options);
  Result<Allocation> run();

private:
  struct Use {
    u32 operand;
    bool second; ///< Operand::tied instead of Operand::reg
    VReg value;
    u32 next;
  };
  struct Candidate {
    VReg value;
    u32 distance;
    bool everywhere; ///< in a register at the end of every predecessor, or a parameter
  };

  // Borders of blocks.
  void enter_block(u32 b);
  void merge_predecessors(u32 b);
  void select_entry_values(u32 b, unsigned c, bool loop_entry, std::vector<Candidate>& candidates);
  void place_entry_values(u32 b, unsigned c, std::span<const Candidate> chosen);
  void settle_unplaced(u32 b);
  void leave_block(u32 b);
  void hint_successors(u32 b);
  void resolve_edge(u32 from, u32 n);

  // Inside a block.
  void process(const LInst& inst, u32 index);
  void collect_uses(const LInst& inst);
  void bring_in_uses(const LInst& inst);
  bool fold(const LInst& inst, const Use& use);
  [[nodiscard]] bool made_in_place(const Use& use) const;
  void assign_tied(u32 operand);
  void assign_def(u32 operand);
  void release_dead_uses();
  void finish_defs(const LInst& inst);

  // Registers.
  u8 take_reg(unsigned c, VReg v);
  u8 pick(u32 set, VReg v);
  u8 victim(unsigned c, u32 candidates);
  void evict(unsigned c, u8 r);
  bool store_before_loop(VReg v);
  [[nodiscard]] bool stored_around(VReg v, u32 b) const {
    return stored_in_loop_[v.index] != kNever && in_loop(b, stored_in_loop_[v.index]);
  }
  [[nodiscard]] bool in_loop(u32 b, u32 header) const;
  [[nodiscard]] u32 entry_weight(u32 b) const;
  void bind(unsigned c, u8 r, VReg v);
  void unbind(unsigned c, u8 r);
  void hint(VReg v, u8 r);
  u32 weight(u32 b) const { return part_.blocks[b].cold ? 0 : 1 + live_.depth[b]; }
  unsigned cls(VReg v) const { return static_cast<unsigned>(part_.class_of(v)); }
  u32 random() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<u32>(random_ >> 33);
  }

  // Result.
  void step(Step::Kind kind, unsigned c, u8 dst, u8 src, u32 index, u32 index2 = 0) {
    raw_.push_back({kind, static_cast<RegClass>(c), dst, src, index, index2});
  }
  void bring(unsigned c, u8 r, VReg v); ///< reload or rematerialise v into r
  void finalize();

  const Module& module_;
  const Part& part_;
  const AllocOptions& options_;
  Liveness live_;
  Allocation out_;
  std::string error_;
  u64 random_;

  // Per value.
  std::vector<u8> reg_, hint_, stored_, at_def_, has_slot_, remat_;
  std::vector<u32> next_;
  std::vector<u32> stored_in_loop_; ///< header of a loop throughout which the slot holds the value
  // Merging of predecessors, valid for values with seen_ == block.
  std::vector<u32> seen_;
  std::vector<u8> count_, preferred_, all_stored_;

  // Register files.
  u32 allowed_[kNumClasses], occupied_[kNumClasses] = {}, locked_[kNumClasses] = {};
  VReg occupant_[kNumClasses][32];

  u32 block_ = 0, position_ = 0;
  std::vector<Use> uses_;
  std::vector<std::vector<ValueAt>> entry_, exit_;
  std::vector<Transfer> transfers_;
  std::vector<Step>
      raw_; ///< steps with slots named by value; a Store with index2 = 1 is redundant for at_def_ values
  std::vector<StepRange> raw_blocks_, raw_edges_[2];
};

Allocator::Allocator(const Module& module, const Part& part, const AllocOptions& options)
    : module_(module), part_(part), options_(options), live_(analyse(part)), random_(options.random_seed) {
  const std::size_t values = part.classes.size(), blocks = part.blocks.size();
  reg_.assign(values, kNone);
  hint_.assign(values, kNone);
  stored_.assign(values, 0);
  at_def_.assign(values, 0);
  has_slot_.assign(values, 0);
  remat_.assign(values, 0);
  next_.assign(values, kNever);
  stored_in_loop_.assign(values, kNever);
  seen_.assign(values, kNever);
  count_.assign(values, 0);
  preferred_.assign(values, kNone);
  all_stored_.assign(values, 0);
  entry_.resize(blocks);
  exit_.resize(blocks);
  raw_blocks_.resize(blocks);
  for (int n = 0; n < 2; ++n) raw_edges_[n].resize(blocks);
  out_.operands.resize(part.operands.size());
  for (unsigned c = 0; c < kNumClasses; ++c) {
    u32 set = allocatable(static_cast<RegClass>(c), module.avx512);
    while (static_cast<unsigned>(std::popcount(set)) > options.max_regs[c]) set &= set - 1;
    allowed_[c] = set;
  }
  for (u32 b : live_.order)
    for (const LInst& inst : part.blocks[b].insts)
      if (inst.remat) remat_[part.operands[inst.first_operand].reg.index] = 1;
}

Result<Allocation> Allocator::run() {
  for (u32 b : live_.order) {
    enter_block(b);
    raw_blocks_[b].first = static_cast<u32>(raw_.size());
    const auto& insts = part_.blocks[b].insts;
    for (u32 i = 0; i < insts.size() && error_.empty(); ++i) process(insts[i], i);
    raw_blocks_[b].count = static_cast<u32>(raw_.size()) - raw_blocks_[b].first;
    leave_block(b);
    if (!error_.empty())
      return Error{ErrorCode::Internal, "register allocation of " + part_.name + ": " + error_};
  }
  for (u32 b : live_.order)
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n) resolve_edge(b, n);
  finalize();
  return std::move(out_);
}

// ---- Borders of blocks
// -----------------------------------------------------------------------------------------------------

void Allocator::enter_block(u32 b) {
  block_ = b;
  position_ = 0;
  for (unsigned c = 0; c < kNumClasses; ++c) {
    occupied_[c] = locked_[c] = 0;
    std::fill(std::begin(occupant_[c]), std::end(occupant_[c]), VReg{});
  }
  if (live_.preds[b].empty()) {
    if (!live_.live_in[b].empty())
      error_ = "value " + std::to_string(live_.live_in[b][0].value.index) + " is used before its definition";
    return;
  }
  merge_predecessors(b);
  bool loop_entry = false;
  for (Pred p : live_.preds[b]) loop_entry |= live_.rank[p.from] >= live_.rank[b];
  const u32 preds = static_cast<u32>(live_.preds[b].size());
  std::vector<Candidate> candidates[kNumClasses];
  for (const LiveIn& l : live_.live_in[b]) {
    next_[l.value.index] = l.distance;
    candidates[cls(l.value)].push_back({l.value, l.distance, count_[l.value.index] == preds});
  }
  for (VReg p : part_.blocks[b].params) {
    next_[p.index] = live_.param_distance[p.index];
    stored_[p.index] = 0;
    if (next_[p.index] != kNever) candidates[cls(p)].push_back({p, next_[p.index], true});
  }
  for (unsigned c = 0; c < kNumClasses; ++c) {
    select_entry_values(b, c, loop_entry, candidates[c]);
    place_entry_values(b, c, candidates[c]);
  }
  settle_unplaced(b);
}

// Sums up, per value, what the predecessors already allocated end with. The heaviest one names the preferred
// registers.
void Allocator::merge_predecessors(u32 b) {
  const Pred* best = nullptr;
  for (const Pred& p : live_.preds[b])
    if (live_.rank[p.from] < live_.rank[b] && (!best || weight(p.from) > weight(best->from))) best = &p;
  for (const Pred& p : live_.preds[b]) {
    if (live_.rank[p.from] >= live_.rank[b]) continue;
    for (const ValueAt& at : exit_[p.from]) {
      const u32 v = at.value.index;
      if (seen_[v] != b) {
        seen_[v] = b;
        count_[v] = 0;
        preferred_[v] = kNone;
        all_stored_[v] = 1;
      }
      all_stored_[v] &= static_cast<u8>(at.stored || stored_around(at.value, p.from));
      if (at.reg == kNone) continue;
      count_[v] = static_cast<u8>(std::min(count_[v] + 1, 255));
      if (&p == best || preferred_[v] == kNone) preferred_[v] = at.reg;
    }
  }
  for (const LiveIn& l : live_.live_in[b])
    if (seen_[l.value.index] != b) {
      seen_[l.value.index] = b; // only through an irreducible edge
      count_[l.value.index] = 0;
      preferred_[l.value.index] = kNone;
      all_stored_[l.value.index] = 0;
    }
  if (!best) return;
  // A parameter likes its argument's register; place_entry_values() sees whether that is taken.
  auto args = part_.edge_args(part_.blocks[best->from].term, best->n);
  for (u32 i = 0; i < args.size(); ++i) {
    VReg p = part_.blocks[b].params[i];
    seen_[p.index] = b;
    preferred_[p.index] =
        args[i].is_virtual() && seen_[args[i].index] == b ? preferred_[args[i].index] : kNone;
    if (hint_[p.index] != kNone) preferred_[p.index] = hint_[p.index];
  }
}

// Leaves in `candidates` those that start in a register, nearest use first.
void Allocator::select_entry_values(u32 b, unsigned c, bool loop_entry, std::vector<Candidate>& candidates) {
  const std::size_t registers = static_cast<std::size_t>(std::popcount(allowed_[c]));
  for (Candidate& x : candidates) // what can be made anew has less of a claim, as in victim()
    if (remat_[x.value.index] && x.distance < kLoopExit / 2) x.distance *= 2;
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
    return x.distance != y.distance ? x.distance < y.distance : x.value.index < y.value.index;
  });
  auto outside = std::partition_point(candidates.begin(), candidates.end(),
                                      [](const Candidate& x) { return x.distance < kLoopExit; });
  if (loop_entry) {
    // What the loop uses comes first, loaded if need be; what only lives through it gets the registers the
    // loop leaves over.
    const std::size_t used = static_cast<std::size_t>(outside - candidates.begin());
    const std::size_t through = candidates.size() - used;
    const std::size_t inside = std::max<std::size_t>(
        live_.pressure[b][c] - std::min<std::size_t>(through, live_.pressure[b][c]), used);
    // Under pressure a constant would only be thrown out again, and brought back at every back edge.
    const bool tight = inside > registers;
    std::size_t room = registers > inside ? registers - inside : 0;
    auto end = std::remove_if(outside, candidates.end(), [&](const Candidate& x) {
      return preferred_[x.value.index] == kNone || room == 0 || (--room, false);
    });
    candidates.erase(end, candidates.end());
    if (tight) std::erase_if(candidates, [&](const Candidate& x) { return remat_[x.value.index] != 0; });
  } else {
    // Values in registers on all ways, then those on some; the others wait for their use.
    std::stable_partition(candidates.begin(), candidates.end(),
                          [](const Candidate& x) { return x.everywhere; });
    std::erase_if(candidates, [&](const Candidate& x) {
      return !x.everywhere &&
             (count_[x.value.index] == 0 || x.distance >= kLoopExit || remat_[x.value.index]);
    });
  }
  if (candidates.size() > registers) candidates.resize(registers);
}

void Allocator::place_entry_values(u32 b, unsigned c, std::span<const Candidate> chosen) {
  for (const Candidate& x : chosen) {
    u8 r = preferred_[x.value.index];
    if (options_.random_seed && random() % 4 == 0) continue;
    if (r != kNone && (allowed_[c] & ~occupied_[c]) >> r & 1) bind(c, r, x.value);
  }
  for (const Candidate& x : chosen)
    if (reg_[x.value.index] == kNone) bind(c, pick(allowed_[c] & ~occupied_[c], x.value), x.value);
  // Values coming around the back edges should end where the parameters start.
  const auto& params = part_.blocks[b].params;
  for (u32 i = 0; i < params.size(); ++i) {
    if (cls(params[i]) != c || reg_[params[i].index] == kNone) continue;
    for (Pred p : live_.preds[b]) {
      if (live_.rank[p.from] < live_.rank[b]) continue;
      hint(part_.edge_args(part_.blocks[p.from].term, p.n)[i], reg_[params[i].index]);
    }
  }
}

void Allocator::settle_unplaced(u32 b) {
  auto& entry = entry_[b];
  const u32 edges_weight = entry_weight(b);
  for (const LiveIn& l : live_.live_in[b]) {
    const u32 v = l.value.index;
    bool stored = all_stored_[v];
    if (reg_[v] == kNone && !remat_[v]) {
      has_slot_[v] = 1;
      if (!stored && weight(live_.def_block[v]) <= edges_weight) at_def_[v] = 1;
      stored = true; // by the edges, if not at the definition
    }
    stored_[v] = stored;
    entry.push_back({l.value, reg_[v], stored});
  }
  for (VReg p : part_.blocks[b].params) {
    if (next_[p.index] == kNever) continue;
    if (reg_[p.index] == kNone) {
      has_slot_[p.index] = 1;
      stored_[p.index] = 1;
    }
    entry.push_back({p, reg_[p.index], stored_[p.index] != 0});
  }
}

void Allocator::leave_block(u32 b) {
  const Terminator& t = part_.blocks[b].term;
  // seen_ marks values already listed; block numbers are below part_.blocks.size(), so the offset keeps the
  // two uses apart.
  const u32 mark = static_cast<u32>(part_.blocks.size()) + b;
  auto list = [&](VReg v) {
    if (!v.is_virtual() || seen_[v.index] == mark) return;
    seen_[v.index] = mark;
    exit_[b].push_back({v, reg_[v.index], stored_[v.index] != 0});
  };
  for (u32 n = 0; n < t.num_targets(); ++n) {
    for (const LiveIn& l : live_.live_in[t.target[n].index]) list(l.value);
    for (VReg a : part_.edge_args(t, n)) list(a);
  }
  hint_successors(b);
  for (unsigned c = 0; c < kNumClasses; ++c)
    for (u32 set = occupied_[c]; set; set &= set - 1) reg_[occupant_[c][std::countr_zero(set)].index] = kNone;
}

// The first predecessor of a join decides which registers the others should leave the arguments in.
void Allocator::hint_successors(u32 b) {
  const Terminator& t = part_.blocks[b].term;
  for (u32 n = 0; n < t.num_targets(); ++n) {
    const u32 s = t.target[n].index;
    if (live_.rank[s] <= live_.rank[b]) continue;
    auto args = part_.edge_args(t, n);
    for (u32 i = 0; i < args.size(); ++i) {
      VReg p = part_.blocks[s].params[i];
      if (!args[i].is_virtual() || reg_[args[i].index] == kNone || hint_[p.index] != kNone) continue;
      hint_[p.index] = reg_[args[i].index];
      for (Pred q : live_.preds[s])
        if (live_.rank[q.from] > live_.rank[b])
          hint(part_.edge_args(part_.blocks[q.from].term, q.n)[i], hint_[p.index]);
    }
  }
}

void Allocator::resolve_edge(u32 from, u32 n) {
  const Terminator& t = part_.blocks[from].term;
  const u32 to = t.target[n].index;
  for (const ValueAt& at : exit_[from]) {
    reg_[at.value.index] = at.reg;
    stored_[at.value.index] = at.stored;
  }
  StepRange& range = raw_edges_[n][from];
  range.first = static_cast<u32>(raw_.size());
  u32 free[kNumClasses];
  std::copy(std::begin(allowed_), std::end(allowed_), free);
  auto source = [&](VReg v) {
    Transfer x{part_.class_of(v), Transfer::Place::Reg, Transfer::Place::Reg};
    if (v.is_fixed())
      x.from_reg = static_cast<u8>(v.index);
    else if (reg_[v.index] != kNone)
      x.from_reg = reg_[v.index];
    else if (remat_[v.index])
      x.from = Transfer::Place::Remat, x.from_slot = live_.def_operand[v.index];
    else
      x.from = Transfer::Place::Slot, x.from_slot = v.index;
    if (x.from == Transfer::Place::Reg) free[static_cast<unsigned>(x.cls)] &= ~(1u << x.from_reg);
    return x;
  };
  auto send = [&](Transfer x, const ValueAt& destination) {
    if (destination.reg == kNone) {
      x.to = Transfer::Place::Slot;
      x.to_slot = destination.value.index;
    } else {
      x.to_reg = destination.reg;
      free[static_cast<unsigned>(x.cls)] &= ~(1u << x.to_reg);
    }
    transfers_.push_back(x);
  };
  const auto& params = part_.blocks[to].params;
  auto args = part_.edge_args(t, n);
  const std::size_t live_through = live_.live_in[to].size();
  for (std::size_t i = 0; i < live_through; ++i) {
    const ValueAt& at = entry_[to][i];
    const u32 v = at.value.index;
    // What a loop starts with in memory stays there.
    const bool kept = in_loop(from, to) || stored_around(at.value, from);
    if (!remat_[v] && at.stored && !stored_[v] && !at_def_[v] && !kept)
      step(Step::Kind::Store, cls(at.value), 0, reg_[v], v, 1);
    if (at.reg != kNone) send(source(at.value), at);
  }
  std::size_t next = live_through;
  for (u32 i = 0; i < params.size(); ++i)
    if (next < entry_[to].size() && entry_[to][next].value == params[i])
      send(source(args[i]), entry_[to][next++]);
  sequence(transfers_, free, raw_);
  range.count = static_cast<u32>(raw_.size()) - range.first;
  for (const ValueAt& at : exit_[from]) reg_[at.value.index] = kNone;
}

// ---- Inside a block
// --------------------------------------------------------------------------------------------------------

void Allocator::process(const LInst& inst, u32 index) {
  position_ = index;
  if (inst.remat) {
    // Made where it is first wanted, not here. Only fixed registers can be its sources.
    collect_uses(inst);
    const Operand& o = part_.operands[inst.first_operand];
    next_[o.reg.index] = live_.next_use[inst.first_operand];
    return;
  }
  collect_uses(inst);
  bring_in_uses(inst);
  const u32 first = inst.first_operand, last = first + inst.num_operands;
  for (u32 i = first; i < last; ++i)
    if (part_.operands[i].is_tied()) assign_tied(i);
  for (u32 i = first; i < last; ++i)
    if (part_.operands[i].role == Role::EarlyDef) assign_def(i);
  release_dead_uses();
  for (u32 i = first; i < last; ++i)
    if (part_.operands[i].role == Role::Def) assign_def(i);
  step(Step::Kind::Inst, 0, 0, 0, index);
  finish_defs(inst);
}

void Allocator::collect_uses(const LInst& inst) {
  uses_.clear();
  for (u32 i = inst.first_operand; i < inst.first_operand + inst.num_operands; ++i) {
    const Operand& o = part_.operands[i];
    if (o.reg.is_fixed()) out_.operands[i].reg = static_cast<u8>(o.reg.index);
    if (o.tied.is_fixed()) out_.operands[i].reg2 = static_cast<u8>(o.tied.index);
    if (o.reg.is_virtual() && !o.is_def()) uses_.push_back({i, false, o.reg, live_.next_use[i]});
    if (o.tied.is_virtual()) uses_.push_back({i, true, o.tied, live_.next_use2[i]});
  }
}

void Allocator::bring_in_uses(const LInst& inst) {
  for (const Use& u : uses_)
    if (u8 r = reg_[u.value.index]; r != kNone) locked_[cls(u.value)] |= 1u << r;
  for (const Use& u : uses_) {
    if (reg_[u.value.index] == kNone) {
      if (fold(inst, u) || made_in_place(u)) continue;
      const unsigned c = cls(u.value);
      u8 r = take_reg(c, u.value);
      if (r == kNone) return;
      bring(c, r, u.value);
      bind(c, r, u.value);
      locked_[c] |= 1u << r;
    }
    Assigned& a = out_.operands[u.operand];
    (u.second ? a.reg2 : a.reg) = reg_[u.value.index];
  }
  for (const Use& u : uses_) next_[u.value.index] = u.next;
}

// Reads a spilled value straight from its slot when loading it would push something else out or serve this
// use alone.
bool Allocator::fold(const LInst& inst, const Use& use) {
  const Operand& o = part_.operands[use.operand];
  if (!o.may_be_memory || remat_[use.value.index]) return false;
  const unsigned c = cls(use.value);
  const bool soon = use.next != kNever && use.next - position_ < 16;
  if (soon && (allowed_[c] & ~occupied_[c])) return false;
  for (const Operand& other : part_.ops(inst)) {
    if (other.kind == OperandKind::Mem) return false;
    if (&other != &o && (other.reg == use.value || other.tied == use.value)) return false;
    if (out_.operands[static_cast<u32>(&other - part_.operands.data())].folded) return false;
  }
  out_.operands[use.operand].folded = true;
  out_.operands[use.operand].slot = use.value.index;
  ++out_.stats.folded;
  return true;
}

// A constant that only serves as the initial value of a tied operand is made in that operand's register.
bool Allocator::made_in_place(const Use& use) const {
  if (!remat_[use.value.index] || !use.second || !part_.operands[use.operand].is_tied()) return false;
  for (const Use& other : uses_)
    if (other.operand != use.operand && other.value == use.value) return false;
  return true;
}

void Allocator::assign_tied(u32 operand) {
  const Operand& o = part_.operands[operand];
  Assigned& a = out_.operands[operand];
  if (o.reg.is_fixed()) return;
  const unsigned c = cls(o.reg);
  const u8 from = a.reg2;
  bool shared = false; // another operand reads the same value, and must not see it overwritten
  bool handed = false;
  for (const Use& u : uses_)
    if (u.operand != operand && u.value == o.tied) {
      shared |= o.is_early();
      handed |= u.second && part_.operands[u.operand].is_tied();
    }
  const bool bound = from != kNone && o.tied.is_virtual() &&
                     reg_[o.tied.index] == from; // not yet given to an earlier tied operand
  const bool dies = bound && next_[o.tied.index] == kNever && !shared && !handed;
  if (dies) {
    unbind(c, from);
    occupied_[c] |= 1u << from; // stays taken for the definition
    a.reg = from;
    return;
  }
  const u32 free = allowed_[c] & ~occupied_[c];
  if (!free && bound && !shared && !handed) {
    // The value itself may be the one to go.
    const u32 others = occupied_[c] & ~locked_[c];
    const u8 v = victim(c, others | 1u << from);
    if (v == from) {
      evict(c, from);
      occupied_[c] |= 1u << from;
      a.reg = from;
      return;
    }
  }
  const u8 r = take_reg(c, o.reg);
  if (r == kNone) return;
  if (from == kNone)
    bring(c, r, o.tied);
  else
    step(Step::Kind::Move, c, r, from, 0);
  occupied_[c] |= 1u << r;
  locked_[c] |= 1u << r;
  a.reg = r;
  if (bound && !shared && !handed && hint_[o.reg.index] == from) {
    // The definition is wanted where the value is: the value moves aside instead.
    VReg v = o.tied;
    unbind(c, from);
    occupied_[c] |= 1u << from;
    bind(c, r, v);
    a.reg = from;
  }
  a.reg2 = a.reg;
}

void Allocator::assign_def(u32 operand) {
  const Operand& o = part_.operands[operand];
  if (!o.reg.is_virtual()) return;
  const unsigned c = cls(o.reg);
  const u8 r = take_reg(c, o.reg);
  if (r == kNone) return;
  out_.operands[operand].reg = r;
  occupied_[c] |= 1u << r;
  locked_[c] |= 1u << r;
}

// From here on only registers of definitions are locked: a value that lives on may be stored and overwritten
// after its use.
void Allocator::release_dead_uses() {
  for (unsigned c = 0; c < kNumClasses; ++c) locked_[c] = 0;
  for (const Use& u : uses_) {
    const u8 r = reg_[u.value.index];
    if (r != kNone && next_[u.value.index] == kNever) unbind(cls(u.value), r);
  }
}

void Allocator::finish_defs(const LInst& inst) {
  for (u32 i = inst.first_operand; i < inst.first_operand + inst.num_operands; ++i) {
    const Operand& o = part_.operands[i];
    if (!o.is_def() || !o.reg.is_virtual()) continue;
    const unsigned c = cls(o.reg);
    const u8 r = out_.operands[i].reg;
    next_[o.reg.index] = live_.next_use[i];
    stored_[o.reg.index] = 0;
    occupied_[c] &= ~(1u << r);
    if (next_[o.reg.index] != kNever) bind(c, r, o.reg);
  }
  for (unsigned c = 0; c < kNumClasses; ++c) locked_[c] = 0;
}

// ---- Registers
// -------------------------------------------------------------------------------------------------------------

u8 Allocator::take_reg(unsigned c, VReg v) {
  u32 free = allowed_[c] & ~occupied_[c];
  if (free) return pick(free, v);
  const u32 candidates = occupied_[c] & ~locked_[c];
  const u8 r = victim(c, candidates);
  if (r == kNone) {
    error_ = "an instruction needs more registers than there are";
    return kNone;
  }
  evict(c, r);
  return r;
}

u8 Allocator::pick(u32 set, VReg v) {
  if (options_.random_seed) {
    for (u32 skip = random() % static_cast<u32>(std::popcount(set)); skip; --skip) set &= set - 1;
    return static_cast<u8>(std::countr_zero(set));
  }
  const u8 wanted = hint_[v.index];
  if (wanted != kNone && set >> wanted & 1) return wanted;
  return static_cast<u8>(std::countr_zero(set));
}

// The value used furthest away; one whose slot or definition already serves counts as twice as far.
u8 Allocator::victim(unsigned c, u32 candidates) {
  u8 best = kNone;
  u64 best_key = 0;
  for (u32 set = candidates; set; set &= set - 1) {
    const u8 r = static_cast<u8>(std::countr_zero(set));
    const u32 v = occupant_[c][r].index;
    if (v == VReg{}.index) continue;
    u64 key = u64{next_[v]} - position_ + 1;
    if (remat_[v] || at_def_[v] || stored_[v]) key *= 2;
    if (options_.random_seed) key = 1 + random();
    if (key > best_key) best_key = key, best = r;
  }
  return best;
}

void Allocator::evict(unsigned c, u8 r) {
  const VReg v = occupant_[c][r];
  unbind(c, r);
  if (hint_[v.index] == kNone) hint_[v.index] = r;
  if (remat_[v.index]) return;
  has_slot_[v.index] = 1;
  const bool was_stored = stored_[v.index] || stored_around(v, block_);
  stored_[v.index] = 1;
  if (was_stored || at_def_[v.index] || store_before_loop(v)) return;
  if (weight(live_.def_block[v.index]) <= weight(block_))
    at_def_[v.index] = 1;
  else
    step(Step::Kind::Store, c, 0, r, v.index, 1);
}

bool Allocator::in_loop(u32 b, u32 header) const {
  u32 h = live_.loop_header[b];
  while (h != kNever && h != header) h = live_.loop_parent[h];
  return h == header && h != kNever;
}

// The edges into b from outside its loop run as often as the heaviest block they come from.
u32 Allocator::entry_weight(u32 b) const {
  u32 heaviest = 0;
  for (Pred p : live_.preds[b])
    if (live_.rank[p.from] < live_.rank[b]) heaviest = std::max(heaviest, weight(p.from));
  return std::min(heaviest, weight(b));
}

// A value out of one loop that is evicted in another one is best stored in between: on the edges into the
// outermost loop around here that does not contain the definition. False if that saves nothing.
bool Allocator::store_before_loop(VReg v) {
  const u32 def = live_.def_block[v.index];
  u32 outermost = kNever;
  for (u32 h = live_.loop_header[block_]; h != kNever && !in_loop(def, h); h = live_.loop_parent[h])
    outermost = h;
  if (outermost == kNever || entry_weight(outermost) >= weight(def)) return false;
  for (ValueAt& at : entry_[outermost])
    if (at.value == v) {
      at.stored = true;
      stored_in_loop_[v.index] = outermost;
      return true;
    }
  return false;
}

void Allocator::bind(unsigned c, u8 r, VReg v) {
  occupant_[c][r] = v;
  occupied_[c] |= 1u << r;
  reg_[v.index] = r;
}

void Allocator::unbind(unsigned c, u8 r) {
  reg_[occupant_[c][r].index] = kNone;
  occupant_[c][r] = VReg{};
  occupied_[c] &= ~(1u << r);
}

// Wishes for register r, for v and for the values it takes its register over from.
void Allocator::hint(VReg v, u8 r) {
  for (int depth = 0; depth < 8 && v.is_virtual() && hint_[v.index] == kNone; ++depth) {
    hint_[v.index] = r;
    const u32 def = live_.def_operand[v.index];
    if (def == kNever || !part_.operands[def].is_tied()) return;
    v = part_.operands[def].tied;
  }
}

void Allocator::bring(unsigned c, u8 r, VReg v) {
  if (remat_[v.index])
    step(Step::Kind::Remat, c, r, 0, live_.def_operand[v.index]);
  else
    step(Step::Kind::Load, c, r, 0, v.index);
}

// ---- Result
// ----------------------------------------------------------------------------------------------------------------

void Allocator::finalize() {
  SlotLayout slots = assign_slots(module_, part_, live_, has_slot_, raw_);
  out_.stack_bytes = slots.stack_bytes;
  auto slot = [&](u32 owner) { return slots.offset_of(owner); };
  for (Assigned& a : out_.operands)
    if (a.folded) a.slot = slot(a.slot);
  out_.order = live_.order;
  out_.blocks.resize(part_.blocks.size());
  out_.num_preds.resize(part_.blocks.size());
  out_.steps.reserve(raw_.size() + raw_.size() / 8);
  auto store = [&](VReg v, u8 r) {
    if (!at_def_[v.index]) return;
    out_.steps.push_back({Step::Kind::Store, part_.class_of(v), 0, r, slot(v.index), 0});
    ++out_.stats.stores;
  };
  auto copy = [&](StepRange range, const std::vector<LInst>* insts) {
    for (u32 i = range.first; i < range.first + range.count; ++i) {
      Step s = raw_[i];
      switch (s.kind) {
      case Step::Kind::Inst:
        out_.steps.push_back(s);
        for (const Operand& o : part_.ops((*insts)[s.index]))
          if (o.is_def() && o.reg.is_virtual())
            store(o.reg, out_.operands[static_cast<u32>(&o - part_.operands.data())].reg);
        continue;
      case Step::Kind::Store:
        if (s.index2 == 1 && at_def_[s.index]) continue;
        ++out_.stats.stores;
        s.index = slot(s.index);
        s.index2 = 0;
        break;
      case Step::Kind::Load:
        ++out_.stats.loads;
        s.index = slot(s.index);
        break;
      case Step::Kind::SlotCopy:
        ++out_.stats.loads;
        ++out_.stats.stores;
        s.index = slot(s.index);
        s.index2 = slot(s.index2);
        break;
      case Step::Kind::Remat: ++out_.stats.remats; break;
      default: ++out_.stats.moves; break;
      }
      out_.steps.push_back(s);
    }
  };
  auto begin = [&] { return static_cast<u32>(out_.steps.size()); };
  for (int n = 0; n < 2; ++n) out_.edges[n].resize(part_.blocks.size());
  for (u32 b : live_.order) {
    out_.num_preds[b] = static_cast<u32>(live_.preds[b].size());
    const u32 first = begin();
    for (std::size_t i = live_.live_in[b].size(); i < entry_[b].size(); ++i)
      if (entry_[b][i].reg != kNone) store(entry_[b][i].value, entry_[b][i].reg);
    copy(raw_blocks_[b], &part_.blocks[b].insts);
    out_.blocks[b] = {first, begin() - first};
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n) {
      const u32 edge = begin();
      copy(raw_edges_[n][b], nullptr);
      out_.edges[n][b] = {edge, begin() - edge};
    }
  }
}

} // namespace

Result<Allocation> allocate(const Module& module, const Part& part, const AllocOptions& options) {
  return Allocator(module, part, options).run();
}

} // namespace lanewise::x86
