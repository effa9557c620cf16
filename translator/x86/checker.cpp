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
#include <utility>

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

/// The places that hold something, ascending: few of those that there are.
struct State {
  std::vector<std::pair<u32, Values>> held;
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
    places_.resize(kNumClasses * 32 + allocation_.stack_bytes / 8);
    for (u32 r = 0; r < kNumFixed; ++r)
      if (!(allocatable(RegClass::Gpr, true) >> r & 1)) places_[r] = {r};
    entry_.resize(part_.blocks.size());
    entry_[0] = state();
    present_.assign(part_.classes.size(), 0);
    stale_.assign(part_.blocks.size(), 0);
    stale_[0] = 1;
    for (bool again = true; again;) {
      again = false;
      for (const u32 b : allocation_.order) // whose predecessors come first but for loops
        if (std::exchange(stale_[b], 0) != 0) {
          walk(b);
          again = true;
        }
    }
    reporting_ = true;
    for (u32 b = 0; b < part_.blocks.size() && error_.empty(); ++b)
      if (entry_[b].reached) walk(b);
    if (error_.empty()) return {};
    return Error{ErrorCode::Internal, fmt::format("allocation of {}: {}", part_.name, error_)};
  }

private:
  [[nodiscard]] State state() const {
    State now{{}, true};
    for (u32 n = 0; n < places_.size(); ++n)
      if (!places_[n].empty()) now.held.emplace_back(n, places_[n]);
    return now;
  }
  void go_on_with(const State& state) {
    for (Values& place : places_) place.clear();
    for (const auto& [n, values] : state.held) places_[n] = values;
  }

  void walk(u32 b) {
    block_ = b;
    go_on_with(entry_[b]);
    ++walk_;
    for (const auto& [n, values] : entry_[b].held)
      for (const u32 v : values) present_[v] = walk_;
    next_inst_ = 0;
    steps(allocation_.blocks[b]);
    skip_to(static_cast<u32>(part_.blocks[b].insts.size()));
    const u32 targets = part_.blocks[b].term.num_targets();
    State at_end;
    if (targets > 1) at_end = state();
    for (u32 n = 0; n < targets; ++n) {
      if (n != 0) go_on_with(at_end);
      steps(allocation_.edges[n][b]);
      pass_arguments(b, n);
      if (!reporting_ && meet(part_.blocks[b].term.target[n].index))
        stale_[part_.blocks[b].term.target[n].index] = 1;
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
    for (Values& place : places_) {
      if (place.empty()) continue;
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
      entry = state();
      return true;
    }
    bool changed = false;
    for (auto& [n, values] : entry.held)
      changed |= std::erase_if(values, [&, n = n](u32 v) { return !holds(places_[n], v); }) != 0;
    return changed;
  }

  void steps(StepRange range) {
    for (u32 i = range.first; i < range.first + range.count; ++i) step(allocation_.steps[i]);
  }

  Values& reg(RegClass cls, u8 r) { return places_[static_cast<u32>(cls) * 32 + r]; }
  Values& slot(u32 offset) { return places_[kNumClasses * 32 + offset / 8]; }

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
        hold_only(reg(s.cls, s.dst), part_.operands[s.index].reg.index);
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
      if (present_[v.index] == walk_)
        for (Values& place : places_) remove(place, v.index);
      hold_only(reg(part_.classes[v.index], assigned[i].reg), v.index);
    }
  }

  void hold_only(Values& place, u32 value) {
    place = {value};
    present_[value] = walk_;
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
  std::vector<Values> places_; ///< registers, then the stack in units of 8 bytes; a slot is its first unit
  std::vector<u8> stale_;      ///< per block: it is entered with less than when it was walked last
  std::vector<u32> present_;   ///< per value: the last walk in which some place has held it
  u32 walk_ = 0;
  u32 block_ = 0, next_inst_ = 0;
  bool reporting_ = false;
  std::string error_;
};

} // namespace

Result<void> check(const Module& module, const Part& part, const Allocation& allocation) {
  return Checker(module, part, allocation).run();
}

} // namespace lanewise::x86
