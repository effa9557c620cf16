// Lanes that go through a function by chance, to see what masks they are in: what they contradict need not be
// tried to prove.
#pragma once

#include "support/lists.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/bdd.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace lanewise::passes {

/// A bit for each of the lanes.
struct SampledBits {
  std::array<u64, 4> words{};

  [[nodiscard]] bool any() const { return (words[0] | words[1] | words[2] | words[3]) != 0; }
  friend SampledBits operator&(SampledBits a, const SampledBits& b) {
    for (std::size_t n = 0; n < a.words.size(); ++n) a.words[n] &= b.words[n];
    return a;
  }
  friend SampledBits operator|(SampledBits a, const SampledBits& b) {
    for (std::size_t n = 0; n < a.words.size(); ++n) a.words[n] |= b.words[n];
    return a;
  }
  friend SampledBits operator~(SampledBits a) {
    for (u64& w : a.words) w = ~w;
    return a;
  }
  /// Those of `a` where `who` is not set, those of `b` elsewhere.
  static SampledBits choose(const SampledBits& who, const SampledBits& a, const SampledBits& b) {
    return (a & ~who) | (b & who);
  }
};

/// The lanes, each on a way of its own. Variables of the functions that masks are get values by chance, but
/// those that are parameters what a lane brings with it.
class SampledLanes {
public:
  /// A parameter of a block that is a variable.
  struct Parameter {
    u32 index, variable;
  };
  /// `lanes`: per value, its function. `made`: per block, the variables that get a new value there.
  SampledLanes(const ir::Function& f, const ir::Cfg& cfg, const Bdd& bdd, std::span<const Bdd::Node> lanes,
               std::size_t variables, const Lists<u32>& made, const Lists<Parameter>& parameters)
      : f_(f), cfg_(cfg), bdd_(bdd), lanes_(lanes), made_(made), parameters_(parameters), values_(variables),
        at_(f.num_blocks()), known_(bdd.num_nodes()) {}

  /// All lanes go on to where a loop goes round, or to the end; those that were there begin anew. Calls
  /// f(block, lanes that have come to it) on the way.
  template <class F>
  void go_round(F f) {
    start();
    for (const ir::BlockId b : cfg_.rpo) {
      const SampledBits here = std::exchange(at_[b.index], {});
      if (!here.any()) continue;
      f(b, here);
      leave(b, here);
    }
  }
  /// Of the lanes that have just come to a block.
  [[nodiscard]] const SampledBits& value(u32 variable) const { return values_[variable]; }

private:
  const ir::Function& f_;
  const ir::Cfg& cfg_;
  const Bdd& bdd_;
  std::span<const Bdd::Node> lanes_;
  const Lists<u32>& made_;
  const Lists<Parameter>& parameters_;
  std::vector<SampledBits> values_; ///< per variable
  std::vector<SampledBits> at_;     ///< per block: those that will come to it
  u64 chance_ = 0;
  struct Known {
    SampledBits value;
    u32 visit = 0;
  };
  std::vector<Known> known_; ///< per node of the functions, in the visit of a block at hand
  u32 visit_ = 0;

  SampledBits by_chance();
  void start();
  void leave(ir::BlockId b, const SampledBits& here);
  void take(const ir::Successor& way, const SampledBits& who);
  SampledBits evaluate(Bdd::Node n);
};

} // namespace lanewise::passes
