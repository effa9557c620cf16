// The proof is by induction on the accesses that a lane does: if all before went where it was taken for
// granted that they do, what was found by that of the next one's address is true, and if that is what was
// taken for granted, too, the next one goes there. So all is well once what is found is what was taken for
// granted.
//
// At first nothing is said to go to private memory; what is found is taken for granted the next time. An
// access of which nothing is found in the end may go anywhere.
#include "translator/passes/stack_pointers.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/passes/flat_pointers.hpp"
#include "translator/passes/private_access.hpp"

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
    Global,
    Lds,
    Public, ///< to one of these, or to either
    Anywhere,
  };
  Kind kind = Unseen;
  u64 address = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

class StackPointers {
public:
  StackPointers(Function& f, u32 private_bytes, const std::function<void(Function&)>& promote)
      : f_(f), promote_(promote) {
    const PrivateAccesses all(f, private_bytes);
    for (const Block& block : f.blocks)
      for (const InstId i : block.insts)
        if (all.is_private(i) && f[i].mem.space == Space::Flat) accesses_.push_back(i);
    granted_.resize(accesses_.size());
  }

  bool resolve() {
    if (accesses_.empty()) return false;
    std::size_t instructions = 0;
    for (const Block& b : f_.blocks) instructions += b.insts.size();
    const std::size_t attempts = std::min(kMaxAttempts, kMaxInstructions / instructions);
    for (std::size_t n = 0; attempts >= kLeastAttempts && n < attempts; ++n) {
      const std::vector<Target> found = attempt();
      if (found == granted_) {
        if (std::ranges::find(granted_, Target::Unseen, &Target::kind) == granted_.end()) return apply();
        for (Target& t : granted_)
          if (t.kind == Target::Unseen) t.kind = Target::Anywhere;
        continue;
      }
      granted_ = found;
    }
    return false;
  }

private:
  static constexpr std::size_t kMaxAttempts = 16, kLeastAttempts = 4;
  static constexpr std::size_t kMaxInstructions = 20'000; ///< in all attempts, for the time they take
  Function& f_;
  const std::function<void(Function&)>& promote_;
  std::vector<InstId> accesses_;
  std::vector<Target> granted_; ///< of each access

  /// Where accesses are found to go if they go where it is taken for granted.
  std::vector<Target> attempt() const {
    Function g = f_;
    std::vector<InstId> probes;
    for (std::size_t n = 0; n < accesses_.size(); ++n) probes.push_back(prepare(g, n));
    promote_(g);
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
    const std::vector<InstId> may_be_private = resolve_flat_accesses(g);
    const ValueLimits limits(g);
    std::vector<Target> found = granted_;
    for (std::size_t n = 0; n < probes.size(); ++n)
      if (reached[n])
        found[n] = std::ranges::find(may_be_private, probes[n]) != may_be_private.end()
                       ? Target{}
                       : target(g, limits, probes[n], accesses_[n]);
      else if (granted_[n].kind == Target::Unseen)
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
    const InstId probe = g.make(proto, operands, {});
    g[probe].block = g[i].block;
    std::vector<InstId>& insts = g[g[i].block].insts;
    insts.insert(std::ranges::find(insts, i), probe);
    go(g, i, granted_[n]);
    return probe;
  }

  static void go(Function& g, InstId i, const Target& t) {
    if (t.kind == Target::Private) {
      g.operands(i)[0] = g.entry_constant(Type::V32, t.address);
      g[i].mem.space = Space::Scratch;
    } else if (t.kind == Target::Lds) {
      make_shared_access(g, i, g.operands(i)[0]);
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

  bool apply() {
    bool any = false;
    for (std::size_t n = 0; n < accesses_.size(); ++n) {
      if (granted_[n].kind == Target::Anywhere) continue;
      go(f_, accesses_[n], granted_[n]);
      any = true;
    }
    return any;
  }
};

} // namespace

bool resolve_stack_pointers(Function& f, u32 private_bytes, const std::function<void(Function&)>& promote) {
  return StackPointers(f, private_bytes, promote).resolve();
}

} // namespace lanewise::passes
