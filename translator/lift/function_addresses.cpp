// A function's addresses are followed from where they are computed - s_getpc, s_add_u32, s_addc_u32 - through
// scalar registers and the lanes of vector registers in which scalars are spilled, forwards, until nothing
// changes. Calls are what they are for; any other use takes them where they are no longer followed. Functions
// are expected to hand each other addresses in vector registers or in memory, as compilers' calling
// conventions have it, and to leave registers of which their callers expect that as they were.
#include "translator/lift/function_addresses.hpp"

#include "isa/decoder.hpp"
#include "isa/op.hpp"
#include "translator/lift/branches.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::lift {

using isa::Op;
using isa::OperandKind;

namespace {

/// What a scalar register, or a lane, may hold: half of a function's address, or anything else.
struct Half {
  u64 function = 0; ///< 0 is anything else
  bool high = false;
  friend auto operator<=>(const Half&, const Half&) = default;
};
using Held = std::set<Half>;
using Place = u32; ///< hardware codes of scalar registers, then lanes of vector registers
constexpr Place kFirstLane = 128;
constexpr Half kElse = {};
/// Places that are missing hold something else.
using State = std::map<Place, Held>;

Place lane_of(u32 vgpr, u64 lane) { return kFirstLane + vgpr * 64 + static_cast<u32>(lane % 64); }

const Held& held(const State& state, Place place) {
  static const Held nothing = {kElse};
  const auto it = state.find(place);
  return it == state.end() ? nothing : it->second;
}

void hold(State& state, Place place, const Held& what) {
  if (what.size() == 1 && what.contains(kElse))
    state.erase(place);
  else
    state[place] = what;
}

/// Adds what comes from elsewhere; true if that changes anything.
bool join(State& into, const State& from) {
  bool changed = false;
  for (auto& [place, what] : into)
    for (const Half& half : held(from, place)) changed |= what.insert(half).second;
  for (const auto& [place, what] : from) {
    const auto [it, inserted] = into.try_emplace(place, what);
    if (inserted) it->second.insert(kElse);
    changed |= inserted;
  }
  return changed;
}

struct Step {
  isa::Inst inst;
  u32 offset = 0;
  bool decoded = false, leader = false;
  u64 function = 0; ///< whose address is complete here, in dst[0] and the register before it
};

} // namespace

/// One function's code.
class AddressFlow {
public:
  AddressFlow(FunctionAddresses& all, std::vector<Step> steps) : all_(all), steps_(std::move(steps)) {}

  void run() {
    std::map<std::size_t, State> starts = {{0, State{}}}; // of blocks, by their first step
    std::vector<std::size_t> work = {0};
    while (!work.empty()) {
      std::size_t at = work.back();
      work.pop_back();
      State state = starts[at];
      const auto go_on = [&](std::size_t to) {
        const auto [it, inserted] = starts.try_emplace(to, state);
        if (inserted || join(it->second, state)) work.push_back(to);
      };
      for (bool first = true; at < steps_.size() && steps_[at].decoded; ++at, first = false) {
        if (steps_[at].leader && !first) {
          go_on(at);
          break;
        }
        const isa::Row& row = isa::row_of(steps_[at].inst.op);
        step(steps_[at], state);
        if (const auto to = target(at)) go_on(*to);
        if (row.has(isa::kTerminator) && !row.has(isa::kCall)) break;
      }
    }
  }

  /// The step that a branch goes to, if it is one and stays in the function.
  [[nodiscard]] std::optional<std::size_t> target(std::size_t at) const {
    const auto to = branch_target(steps_[at].inst, steps_[at].offset);
    if (!to) return std::nullopt;
    const auto it = std::lower_bound(steps_.begin(), steps_.end(), *to,
                                     [](const Step& x, i64 offset) { return i64{x.offset} < offset; });
    if (it == steps_.end() || it->offset != *to) return std::nullopt;
    return static_cast<std::size_t>(it - steps_.begin());
  }
  std::vector<Step>& steps() { return steps_; }

private:
  /// Nobody has use for one half alone: it is what a call has left in a register that nobody cares about.
  void take(const Held& halves) {
    for (const Half& half : halves) {
      if (half == kElse) continue;
      taken_.insert(half);
      if (taken_.contains({half.function, !half.high})) all_.taken_.insert(half.function);
    }
  }

  /// For an instruction that does not just pass on what it reads.
  void take_sources(const isa::Inst& inst, const State& state) {
    for (const isa::Operand& x : inst.src) {
      if (x.is(OperandKind::Sgpr))
        for (u32 n = 0; n < x.dwords; ++n) take(held(state, x.index + n));
      if (x.is(OperandKind::Vgpr))
        for (auto it = state.lower_bound(lane_of(x.index, 0));
             it != state.end() && it->first < lane_of(x.index + x.dwords, 0); ++it)
          take(it->second);
    }
  }

  static void forget_results(const isa::Inst& inst, State& state) {
    for (const isa::Operand& x : inst.dst) {
      if (x.is(OperandKind::Sgpr))
        for (u32 n = 0; n < x.dwords; ++n) state.erase(x.index + n);
      if (x.is(OperandKind::Vgpr)) // in lanes that take part
        for (auto it = state.lower_bound(lane_of(x.index, 0));
             it != state.end() && it->first < lane_of(x.index + x.dwords, 0); ++it)
          it->second.insert(kElse);
    }
  }

  void step(const Step& s, State& state) {
    const isa::Inst& inst = s.inst;
    const isa::Operand &to = inst.dst[0], &from = inst.src[0];
    if (s.function != 0) {
      state[to.index - 1u] = {{s.function, false}};
      state[to.index] = {{s.function, true}};
      return;
    }
    switch (inst.op) {
    case Op::s_swappc_b64:
    case Op::s_setpc_b64: note_call(s.offset, from, state); return forget_results(inst, state);
    case Op::s_mov_b32:
    case Op::s_mov_b64: {
      if (!from.is(OperandKind::Sgpr) || !to.is(OperandKind::Sgpr)) break;
      const Held low = held(state, from.index), high = held(state, from.index + to.dwords - 1u);
      hold(state, to.index + to.dwords - 1u, high);
      return hold(state, to.index, low);
    }
    case Op::v_writelane_b32:
      if (!inst.src[1].is_constant() || !from.is(OperandKind::Sgpr)) break;
      return hold(state, lane_of(to.index, inst.src[1].value), held(state, from.index));
    case Op::v_readlane_b32:
      if (!inst.src[1].is_constant() || !from.is(OperandKind::Vgpr)) break;
      return hold(state, to.index, held(state, lane_of(from.index, inst.src[1].value)));
    default: break;
    }
    take_sources(inst, state);
    forget_results(inst, state);
  }

  void note_call(u32 offset, const isa::Operand& target, const State& state) {
    if (!target.is(OperandKind::Sgpr)) return;
    for (u32 n = 0; n < 2; ++n)
      for (const Half& half : held(state, target.index + n)) all_.direct_[offset].insert(half.function);
  }

  FunctionAddresses& all_;
  std::vector<Step> steps_;
  Held taken_;
};

namespace {

bool is_constant_sum(const Step& s, Op op, u32 reg) {
  return s.decoded && s.inst.op == op && s.inst.dst[0].index == reg && s.inst.src[0].is(OperandKind::Sgpr) &&
         s.inst.src[0].index == reg && s.inst.src[1].is_constant();
}

} // namespace

std::set<u64> FunctionAddresses::callees(u32 offset) {
  if (!analyzed_) analyze();
  analyzed_ = true;
  const auto it = direct_.find(offset);
  if (it == direct_.end()) return taken_;
  std::set<u64> found = it->second;
  if (found.erase(kElse.function) != 0) found.insert(taken_.begin(), taken_.end());
  return found;
}

void FunctionAddresses::analyze() {
  const u64 base = reinterpret_cast<u64>(source_.code.data());
  std::set<u64> functions, starts;
  for (const translator::CodeSymbol& s : source_.symbols) {
    if (s.address < base || s.address - base >= source_.code.size()) continue;
    starts.insert(s.address);
    if (s.is_kernel) continue;
    functions.insert(s.address);
    if (s.in_data) taken_.insert(s.address);
  }
  bool understood = true;
  for (auto it = starts.begin(); it != starts.end(); ++it) {
    const u64 end = std::next(it) != starts.end() ? *std::next(it) : base + source_.code.size();
    std::vector<Step> steps;
    for (u64 at = *it; at + 4 <= end; at += steps.back().decoded ? steps.back().inst.size : 4u) {
      Step& s = steps.emplace_back();
      s.offset = static_cast<u32>(at - base);
      u32 dwords[3] = {};
      const std::size_t available = std::min<std::size_t>(sizeof dwords, end - at);
      std::memcpy(dwords, source_.code.data() + s.offset, available);
      s.decoded = isa::decode(source_.target, std::span<const u32>(dwords, available / 4), s.inst) ==
                  isa::DecodeStatus::Ok;
    }
    bool any = false; // addresses of functions
    for (std::size_t n = 0; n < steps.size(); ++n) {
      if (!steps[n].decoded) continue;
      const isa::Row& row = isa::row_of(steps[n].inst.op);
      understood &= !row.has(isa::kFork);
      if (steps[n].inst.op != Op::s_getpc_b64) continue;
      const u32 reg = steps[n].inst.dst[0].index;
      if (n + 2 >= steps.size() || !is_constant_sum(steps[n + 1], Op::s_add_u32, reg) ||
          !is_constant_sum(steps[n + 2], Op::s_addc_u32, reg + 1)) {
        understood = false;
        continue;
      }
      const u64 distance = (steps[n + 1].inst.src[1].value & 0xffff'ffffu) | steps[n + 2].inst.src[1].value
                                                                                 << 32;
      const u64 address = base + steps[n + 1].offset + distance;
      if (functions.contains(address))
        steps[n + 2].function = address, any = true;
      else if (address >= base && address - base < source_.code.size())
        understood = false;
    }
    if (!any) continue; // whatever it calls is unknown
    AddressFlow flow(*this, std::move(steps));
    for (std::size_t n = 0; n < flow.steps().size(); ++n)
      if (flow.steps()[n].decoded)
        if (const auto to = flow.target(n)) flow.steps()[*to].leader = true;
    flow.run();
  }
  if (understood) return;
  taken_ = functions;
  direct_.clear();
}

} // namespace lanewise::lift
