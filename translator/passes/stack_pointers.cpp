// The proof is by induction on the accesses that a lane does: if all before went where it was taken for
// granted that they do, what was found by that of the next one's address is true, and if that is what was
// taken for granted, too, the next one goes there. So all is well once what is found is what was taken for
// granted.
//
// At first nothing is said to go to private memory; what is found is taken for granted the next time. An
// access of which nothing is found in the end may go anywhere.
#include "translator/passes/stack_pointers.hpp"

#include "runtime/wave.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/flat_pointers.hpp"
#include "translator/passes/masked_limits.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Where an access goes.
struct Target {
  enum Kind : u8 {
    Unseen,  ///< not to private memory, as far as anybody knows
    Private, ///< `address` there
    Array,   ///< from `address` to `end` there
    Global,
    Lds,
    Public, ///< to one of these, or to either
    Anywhere,
  };
  Kind kind = Unseen;
  u64 address = 0, end = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

class StackPointers {
public:
  StackPointers(Function& f, u32 private_bytes, const Promoter& promote)
      : f_(f), promote_(promote), private_bytes_(private_bytes) {
    const PrivateAccesses all(f, private_bytes);
    for (const Block& block : f.blocks)
      for (const InstId i : block.insts)
        if (all.is_private(i) && f[i].mem.space == Space::Flat) accesses_.push_back(i);
    granted_.resize(accesses_.size());
    losses_.resize(accesses_.size());
  }

  Resolution resolve(std::size_t max_accesses) {
    if (accesses_.empty() || accesses_.size() > max_accesses) return Resolution::None;
    std::size_t instructions = 0;
    for (const Block& b : f_.blocks) instructions += b.insts.size();
    const std::size_t attempts = std::min(kMaxAttempts, kMaxInstructions / instructions);
    bool has_given_up = false; // some accesses: what that costs others is not found again
    std::vector<Target> tried, found;
    for (std::size_t n = 0; attempts >= kLeastAttempts && n < attempts; ++n) {
      if (!std::ranges::equal(tried, granted_, make_the_same)) found = attempt();
      tried = granted_;
      std::size_t given_up = 0;
      if (std::ranges::equal(found, granted_, is_granted)) {
        given_up = give_up([&](std::size_t a) { return granted_[a].kind == Target::Unseen; });
        if (given_up == 0) return apply();
        has_given_up = true;
      } else {
        const auto is_lost = [&](std::size_t a) {
          return found[a].kind == Target::Unseen && granted_[a].kind != Target::Unseen &&
                 granted_[a].kind != Target::Anywhere;
        };
        given_up = give_up(
            [&](std::size_t a) { return is_lost(a) && (has_given_up || ++losses_[a] >= kMaxLosses); });
        for (std::size_t a = 0; a < found.size(); ++a)
          if (granted_[a].kind != Target::Anywhere) granted_[a] = either(granted_[a], found[a]);
      }
      if (4 * given_up > 3 * granted_.size())
        return Resolution::None; // What these may overwrite is most of what was found.
    }
    return Resolution::GivenUp;
  }

private:
  static constexpr std::size_t kMaxAttempts = 16, kLeastAttempts = 5;
  /// What is found of one access may be lost by what is found of another, and the other way round.
  static constexpr u8 kMaxLosses = 2;
  static constexpr std::size_t kMaxInstructions = 150'000; ///< in all attempts, for the time they take
  Function& f_;
  const Promoter& promote_;
  const u32 private_bytes_;
  std::vector<InstId> accesses_;
  std::vector<Target> granted_; ///< of each access
  std::vector<u8> losses_;      ///< of each: how often what had been found was not found again

  /// Lets the accesses for which `is_hopeless(index)` is true go anywhere; how many.
  template <class F>
  std::size_t give_up(F is_hopeless) {
    std::size_t count = 0;
    for (std::size_t a = 0; a < granted_.size(); ++a)
      if (is_hopeless(a)) {
        granted_[a] = {Target::Anywhere};
        ++count;
      }
    return count;
  }

  static bool is_granted(const Target& found, const Target& granted) {
    if (found.kind != Target::Array || granted.kind != Target::Array) return found == granted;
    return found.address >= granted.address && found.end <= granted.end;
  }
  /// An attempt that grants one is the same as one that grants the other.
  static bool make_the_same(const Target& a, const Target& b) {
    const auto is_global = [](const Target& t) {
      return t.kind == Target::Unseen || t.kind == Target::Global;
    };
    return a == b || (is_global(a) && is_global(b));
  }
  /// What is found, and of an array what has been granted besides.
  static Target either(const Target& granted, const Target& found) {
    if (found.kind != Target::Array || granted.kind != Target::Array) return found;
    return {Target::Array, std::min(granted.address, found.address), std::max(granted.end, found.end)};
  }

  /// Where accesses are found to go if they go where it is taken for granted.
  std::vector<Target> attempt() const {
    Function g = f_;
    std::vector<InstId> probes;
    Extents extents;
    for (std::size_t n = 0; n < accesses_.size(); ++n) {
      probes.push_back(prepare(g, n));
      if (granted_[n].kind == Target::Array)
        extents[accesses_[n].index] = {granted_[n].address, granted_[n].end, false};
    }
    promote_(g, extents);
    use_launch_facts(
        g); // the apertures, by a pointer that has been in lanes of registers that were in memory
    fold(g);
    const Cfg cfg(g);
    const auto is_reached = [&](InstId probe) {
      const BlockId b = g[probe].block;
      return b.valid() && cfg.reachable(b) && std::ranges::find(g[b].insts, probe) != g[b].insts.end();
    };
    std::vector<bool> reached(probes.size());
    for (std::size_t n = 0; n < probes.size(); ++n) {
      reached[n] = probes[n].valid() && is_reached(probes[n]);
      if (reached[n]) g[probes[n]].mem.space = Space::Flat;
    }
    std::vector<InstId> may_be_private = resolve_flat_accesses(g, &extents);
    const ValueLimits limits(g);
    std::optional<MaskedLimits> masked; // takes long
    std::vector<Target> found = granted_;
    for (std::size_t n = 0; n < probes.size(); ++n)
      if (reached[n]) {
        const auto is_public = [&] {
          return std::ranges::find(may_be_private, probes[n]) == may_be_private.end();
        };
        found[n] = is_public() ? target(g, limits, probes[n], accesses_[n]) : Target{};
        if (found[n].kind != Target::Unseen) continue;
        if (!masked) {
          masked.emplace(g);
          may_be_private = resolve_flat_accesses(g, &extents, &*masked);
        }
        found[n] = masked_target(g, *masked, probes[n], g[accesses_[n]].mem.bytes);
        if (found[n].kind == Target::Unseen && is_public())
          found[n] = target(g, limits, probes[n], accesses_[n]);
        // What is never stored must not seem to change what lies there.
        if ((found[n].kind == Target::Private || found[n].kind == Target::Array) &&
            g[accesses_[n]].op != Op::Load &&
            masked->is_never(g.operands(probes[n]).back(), g[probes[n]].block))
          found[n] = {Target::Global, 0};
      } else if (granted_[n].kind == Target::Unseen)
        found[n] = {Target::Global, 0}; // It is never done.
    return found;
  }

  /// Makes access `n` what it is taken for, and puts a store to the same address in front of it that shows
  /// what becomes of the address. Nothing if it may go anywhere.
  InstId prepare(Function& g, std::size_t n) const {
    const InstId i = accesses_[n];
    if (granted_[n].kind == Target::Anywhere) return {};
    Inst proto;
    proto.op = Op::Store;
    proto.pc = g[i].pc;
    proto.imm = g[i].imm;
    const ValueId operands[] = {g.operands(i)[0], g.entry_constant(Type::V32, 0), g.operands(i).back()};
    const InstId probe = g.insert_before(i, proto, operands, {});
    go(g, i, granted_[n]);
    return probe;
  }

  static void go(Function& g, InstId i, const Target& t) {
    if (t.kind == Target::Private) {
      g.operands(i)[0] = g.entry_constant(Type::V32, t.address);
      g[i].mem.space = Space::Scratch;
    } else if (t.kind == Target::Array) {
      make_access_by_low_half(g, i, g.operands(i)[0], Space::Scratch);
    } else if (t.kind == Target::Lds) {
      make_access_by_low_half(g, i, g.operands(i)[0], Space::Lds);
    } else if (t.kind == Target::Public) {
      g[i].mem.public_only = true;
    } else {
      g[i].mem.space = Space::Global;
    }
  }

  static Target target(const Function& g, const ValueLimits& limits, InstId probe, InstId access) {
    u64 address = 0;
    switch (g[probe].mem.space) {
    case Space::Global: return {Target::Global, 0};
    case Space::Scratch:
      return g.is_const(g.operands(probe)[0], &address) ? Target{Target::Private, address} : Target{};
    case Space::Lds:
      return suits_lds(g[access], limits.ones(g.operands(probe)[0]) | g[probe].imm) ? Target{Target::Lds, 0}
                                                                                    : Target{};
    default: return {Target::Public, 0};
    }
  }

  /// Where it goes if that is only seen in its own lanes, or if it is to elements of an array whose index has
  /// bounds.
  Target masked_target(const Function& g, const MaskedLimits& limits, InstId probe, u64 bytes) const {
    const bool is_flat = g[probe].mem.space == Space::Flat;
    if (!is_flat && g[probe].mem.space != Space::Scratch) return {};
    const auto place = limits.sum(g.operands(probe)[0], g.operands(probe).back(), g[probe].block);
    if (!place || place->min < 0 || g[probe].imm >= private_bytes_) return {};
    if (is_flat && static_cast<u64>(place->max) + g[probe].imm + bytes <= runtime::kSharedAperture)
      return {Target::Global, 0};
    if (is_flat && static_cast<u64>(place->max) + g[probe].imm + bytes <= runtime::kPrivateAperture)
      return {Target::Public, 0};
    const u64 start = is_flat ? runtime::kPrivateAperture : 0;
    const u64 first = static_cast<u64>(place->min) - start, last = static_cast<u64>(place->max) - start;
    const u64 end = last + g[probe].imm + bytes;
    if (first > last || last >= private_bytes_ || end > private_bytes_) return {};
    if (first == last) return {Target::Private, first};
    return {Target::Array, first + g[probe].imm, end};
  }

  Resolution apply() {
    Resolution made = Resolution::None;
    for (std::size_t n = 0; n < accesses_.size(); ++n) {
      if (granted_[n].kind == Target::Anywhere) continue;
      go(f_, accesses_[n], granted_[n]);
      made = Resolution::Some;
    }
    return made;
  }
};

} // namespace

Resolution resolve_stack_pointers(Function& f, u32 private_bytes, const Promoter& promote,
                                  std::size_t max_accesses) {
  return StackPointers(f, private_bytes, promote).resolve(max_accesses);
}

} // namespace lanewise::passes
