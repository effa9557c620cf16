// Abstract interpretation of the allocated code. The state maps each place (register or stack slot) to the
// set of values it is known to hold: a set, because a block parameter and its argument are the same bits.
// Meeting paths intersect. Invariants:
//  - every instruction of a block is there once and in order; only rematerialisable definitions may be
//  missing
//  - a use's register holds the value; a folded use's slot does, and the operand allows memory
//  - a tied operand has one register, which holds the value before
//  - definitions of one instruction have different registers, an early one none that a use has
//  - virtual operands are in allocatable registers
//  - a definition makes all older copies of its value (from the last turn of a loop) stale
#include "translator/x86/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::x86 {
namespace {

using Values = std::vector<u32>; // sorted

bool holds(const Values& set, u32 value) { return std::binary_search(set.begin(), set.end(), value); }
void add(Values& set, u32 value) {
  auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) set.insert(at, value);
}
void remove(Values& set, u32 value) {
  auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at != set.end() && *at == value) set.erase(at);
}

/// Registers, then the stack in units of 8 bytes; a slot is known by its first unit.
struct State {
  std::vector<Values> places;
  bool reached = false;
};

class Checker {
public:
  Checker(const Module& module, const Part& part, const Allocation& allocation)
      : module_(module), part_(part), allocation_(allocation) {
    for (const Block& block : part.blocks)
      for (const LInst& inst : block.insts)
        if (inst.remat) remat_.push_back(inst.first_operand);
    std::sort(remat_.begin(), remat_.end());
  }

  Result<void> run() {
    State start;
    start.places.resize(kNumClasses * 32 + allocation_.stack_bytes / 8);
    for (u32 r = 0; r < kNumFixed; ++r)
      if (!(allocatable(RegClass::Gpr, true) >> r & 1)) start.places[r] = {r};
    start.reached = true;
    entry_.resize(part_.blocks.size());
    entry_[0] = start;
    std::vector<u32> work = {0};
    while (!work.empty()) {
      u32 b = work.back();
      work.pop_back();
      walk(b, &work);
    }
    reporting_ = true;
    for (u32 b = 0; b < part_.blocks.size() && error_.empty(); ++b)
      if (entry_[b].reached) walk(b, nullptr);
    if (error_.empty()) return {};
    return Error{ErrorCode::Internal, fmt::format("allocation of {}: {}", part_.name, error_)};
  }

private:
  void walk(u32 b, std::vector<u32>* work) {
    block_ = b;
    state_ = entry_[b];
    next_inst_ = 0;
    steps(allocation_.blocks[b]);
    skip_to(static_cast<u32>(part_.blocks[b].insts.size()));
    const State at_end = state_;
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n) {
      state_ = at_end;
      steps(allocation_.edges[n][b]);
      pass_arguments(b, n);
      if (work && meet(part_.blocks[b].term.target[n].index))
        work->push_back(part_.blocks[b].term.target[n].index);
    }
  }

  /// Instructions before `index` that were not seen must be rematerialisable.
  void skip_to(u32 index) {
    const auto& insts = part_.blocks[block_].insts;
    if (index < next_inst_ || index > insts.size()) return fail("instruction out of order");
    for (; next_inst_ < index; ++next_inst_)
      if (!insts[next_inst_].remat) return fail("instruction is missing");
  }

  void pass_arguments(u32 b, u32 n) {
    const Terminator& t = part_.blocks[b].term;
    const auto& params = part_.blocks[t.target[n].index].params;
    auto args = part_.edge_args(t, n);
    for (Values& place : state_.places) {
      Values gained;
      for (u32 i = 0; i < params.size(); ++i)
        if (holds(place, args[i].index)) gained.push_back(params[i].index);
      for (VReg p : params) remove(place, p.index);
      for (u32 p : gained) add(place, p);
    }
  }

  bool meet(u32 target) {
    State& entry = entry_[target];
    if (!entry.reached) {
      entry = state_;
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < entry.places.size(); ++i)
      changed |= std::erase_if(entry.places[i], [&](u32 v) { return !holds(state_.places[i], v); }) != 0;
    return changed;
  }

  void steps(StepRange range) {
    for (u32 i = range.first; i < range.first + range.count; ++i) step(allocation_.steps[i]);
  }

  Values& reg(RegClass cls, u8 r) { return state_.places[static_cast<u32>(cls) * 32 + r]; }
  Values& slot(u32 offset) { return state_.places[kNumClasses * 32 + offset / 8]; }

  void write_slot(RegClass cls, u32 offset, const Values& values) {
    const u32 bytes = cls == RegClass::Vec ? module_.vec_bytes() : 8;
    if (offset % bytes || offset + bytes > allocation_.stack_bytes)
      return fail("a slot lies outside the stack area");
    // A vector that starts before and reaches in here is destroyed, and all that starts inside.
    const u32 first = cls == RegClass::Vec ? offset : offset / module_.vec_bytes() * module_.vec_bytes();
    for (u32 unit = first; unit < offset + bytes; unit += 8)
      std::erase_if(slot(unit), [&](u32 v) { return unit >= offset || part_.classes[v] == RegClass::Vec; });
    slot(offset) = values;
  }

  void step(const Step& s) {
    switch (s.kind) {
    case Step::Kind::Inst:
      skip_to(s.index);
      if (s.index >= part_.blocks[block_].insts.size()) return;
      instruction(part_.blocks[block_].insts[s.index]);
      next_inst_ = s.index + 1;
      return;
    case Step::Kind::Move:
      writable(s.cls, s.dst);
      reg(s.cls, s.dst) = Values(reg(s.cls, s.src));
      return;
    case Step::Kind::Swap:
      writable(s.cls, s.dst);
      writable(s.cls, s.src);
      std::swap(reg(s.cls, s.dst), reg(s.cls, s.src));
      return;
    case Step::Kind::Load:
      writable(s.cls, s.dst);
      reg(s.cls, s.dst) = slot(s.index);
      return;
    case Step::Kind::Store: return write_slot(s.cls, s.index, Values(reg(s.cls, s.src)));
    case Step::Kind::SlotCopy: return write_slot(s.cls, s.index, Values(slot(s.index2)));
    case Step::Kind::Remat:
      writable(s.cls, s.dst);
      if (!holds(remat_, s.index))
        fail("a value cannot be made anew");
      else
        reg(s.cls, s.dst) = {part_.operands[s.index].reg.index};
      return;
    }
  }

  void writable(RegClass cls, u8 r) {
    if (r > 31 || !(allocatable(cls, module_.avx512) >> r & 1))
      fail("a register outside the allocatable ones is written");
  }

  void use(VReg value, u8 r) {
    if (r > 31) return fail(fmt::format("value {} has no register", value.index));
    const RegClass cls = part_.classes[value.index];
    if (!value.is_fixed()) writable(cls, r);
    if (reporting_ && !holds(reg(cls, r), value.index))
      fail(fmt::format("register {} of class {} does not hold value {}", r, static_cast<int>(cls),
                       value.index));
  }

  void instruction(const LInst& inst) {
    auto ops = part_.ops(inst);
    const Assigned* assigned = &allocation_.operands[inst.first_operand];
    for (u32 i = 0; i < ops.size(); ++i) {
      const Operand& o = ops[i];
      const Assigned& a = assigned[i];
      if (a.folded) {
        if (!o.may_be_memory || o.is_def()) fail("an operand cannot be memory");
        if (a.definition) {
          if (!holds(remat_, a.slot) || part_.operands[a.slot].reg != o.reg)
            fail("an operand is not what its definition reads");
          continue;
        }
        if (reporting_ && !holds(slot(a.slot), o.reg.index))
          fail(fmt::format("a slot does not hold value {}", o.reg.index));
        continue;
      }
      if (!o.is_def() && o.reg.valid() && o.reg != kPool) use(o.reg, a.reg);
      if (o.tied.valid()) use(o.tied, a.reg2);
      if (o.is_tied() && a.reg != a.reg2) fail("a tied operand has two registers");
    }
    for (u32 i = 0; i < ops.size(); ++i)
      if (ops[i].is_def()) check_definition(ops, assigned, i);
    for (u32 i = 0; i < ops.size(); ++i) {
      if (!ops[i].is_def()) continue;
      const VReg v = ops[i].reg;
      for (Values& place : state_.places) remove(place, v.index);
      reg(part_.classes[v.index], assigned[i].reg) = {v.index};
    }
  }

  void check_definition(std::span<const Operand> ops, const Assigned* assigned, u32 def) {
    const RegClass cls = part_.classes[ops[def].reg.index];
    const u8 r = assigned[def].reg;
    if (!ops[def].reg.is_fixed()) writable(cls, r);
    for (u32 i = 0; i < ops.size(); ++i) {
      if (i == def) continue;
      const Operand& o = ops[i];
      auto same = [&](VReg v, u8 other) {
        return v.valid() && v != kPool && part_.classes[v.index] == cls && other == r;
      };
      if (o.is_def() && same(o.reg, assigned[i].reg)) fail("two definitions share a register");
      if (!ops[def].is_early() || assigned[i].folded) continue;
      if ((!o.is_def() && same(o.reg, assigned[i].reg)) || same(o.tied, assigned[i].reg2))
        fail("an early definition shares a register with a use");
    }
  }

  void fail(std::string what) {
    if (error_.empty() && reporting_)
      error_ = fmt::format("block {}, instruction {}: {}", block_, next_inst_, what);
  }

  const Module& module_;
  const Part& part_;
  const Allocation& allocation_;
  std::vector<u32> remat_; ///< defining operands
  std::vector<State> entry_;
  State state_;
  u32 block_ = 0, next_inst_ = 0;
  bool reporting_ = false;
  std::string error_;
};

} // namespace

Result<void> check(const Module& module, const Part& part, const Allocation& allocation) {
  return Checker(module, part, allocation).run();
}

} // namespace lanewise::x86
