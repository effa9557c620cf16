// Binary decision diagrams: Boolean functions in a form in which equal functions are the same node. What is
// known about lane masks is computed with them (mask_facts.hpp).
#pragma once

#include "support/bits.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lanewise::passes {

/// A store of Boolean functions over numbered variables, ordered by number. Functions are never freed; the
/// store goes with the pass that made it, but its memory stays for the thread's next one: the system takes
/// longer to give pages than most of what is done in them.
///
/// A function and its opposite share what is stored: the lowest bit of a Node says which of the two it is.
class Bdd {
public:
  using Node = u32;
  static constexpr Node kFalse = 0, kTrue = 1;

  Bdd();
  ~Bdd();
  Bdd(const Bdd&) = delete;
  Bdd& operator=(const Bdd&) = delete;

  Node var(u32 v) {
    if (v >= literals_.size()) literals_.resize(v + 1, kFalse);
    if (literals_[v] == kFalse) literals_[v] = make(v, kFalse, kTrue);
    return literals_[v];
  }
  static Node not_(Node a) { return a ^ 1; }
  Node and_(Node a, Node b) {
    if (a > b) std::swap(a, b);
    return a == kFalse ? kFalse : a == kTrue || a == b ? b : (a ^ b) == 1 ? kFalse : conjunction(a, b);
  }
  Node or_(Node a, Node b) { return not_(and_(not_(a), not_(b))); }
  Node xor_(Node a, Node b);
  Node andnot(Node a, Node b) { return and_(a, not_(b)); }
  Node ite(Node c, Node a, Node b);
  /// f where it is true for both values of variable `v`.
  Node for_all(Node f, u32 v);
  /// The variable a function tests first; of var(v), v.
  [[nodiscard]] u32 variable(Node f) const { return nodes_[f >> 1].var; }

  struct Halves {
    Node lo, hi;
  };
  /// What f is for either value of the variable that it tests first.
  [[nodiscard]] Halves branches(Node f) const { return halves(f, variable(f)); }

  /// f is a variable or the opposite of one.
  [[nodiscard]] bool is_literal(Node f) const {
    const Inner& inner = nodes_[f >> 1];
    return inner.lo == kFalse && inner.hi == kTrue;
  }

  /// f at 64 assignments that are the same for all functions: a bit that is set in the samples of several
  /// functions is an assignment at which they are true together.
  [[nodiscard]] u64 samples(Node f) const { return nodes_[f >> 1].samples ^ (u64{0} - (f & 1)); }
  /// The values of a variable in the samples.
  static u64 samples_of(u32 var) { return mixed(var); }
  /// Bits that look random.
  static u64 mixed(u64 number) {
    u64 h = (number + 1) * 0x9E37'79B9'7F4A'7C15u;
    h = (h ^ (h >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    h = (h ^ (h >> 27)) * 0x94D0'49BB'1331'11EBu;
    return h ^ (h >> 31);
  }

  /// The most that can be asked for: functions larger than that are not looked at as a whole.
  static constexpr std::size_t kMaxSize = 256, kMaxSupport = 24;
  /// f has at most `max_nodes` nodes, counted without any sharing between opposites, and depends on at most
  /// `max_vars` variables.
  [[nodiscard]] bool is_simple(Node f, std::size_t max_nodes, std::size_t max_vars) const {
    if (f <= kTrue || nodes_[f >> 1].tree <= std::min(max_nodes, max_vars)) return true; // as most are
    const Shape& s = shape(f);
    return s.num_nodes <= max_nodes && s.num_vars <= max_vars;
  }
  /// f depends on no more variables than g, and has no more nodes.
  [[nodiscard]] bool is_no_larger(Node f, Node g) const {
    if (f <= kTrue || g <= kTrue) return f <= kTrue;
    const Shape limits = shape(g); // a copy: what is found may move
    return is_simple(f, limits.num_nodes, limits.num_vars);
  }
  /// The variables `f` depends on, ascending, if there are no more than `max_vars` and `f` is not too large;
  /// else false, and none.
  bool support(Node f, std::vector<u32>& vars, std::size_t max_vars = kMaxSupport) const;
  /// f with function `to(v)` in place of each variable v; where that is kDropped, f is true if it is for
  /// either value of the variable. kKept is the variable itself.
  static constexpr Node kDropped = ~0u, kKept = ~1u;
  template <class F>
  Node substitute(Node f, F to) {
    substituted_.clear();
    return substitute_in(f, to);
  }
  /// Nodes are below twice that.
  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }
  /// The store grew too large: results since then are wrong, and nothing may be concluded from them.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

private:
  /// Most functions have few masks: what is small to begin with is quick to make.
  static constexpr std::size_t kFirstTable = 512, kFirstCache = 512, kMaxCache = 1u << 13, kGrowth = 4;
  static constexpr std::size_t kMaxNodes = 1u << 20;
  /// Of the two functions, the one that is false where all variables are.
  struct Inner {
    u32 var;
    Node lo, hi;
    u32 tree; ///< its nodes if none were shared, so no less than those, nor its variables; or kMaxSize + 1
    u64 samples;
  };
  /// Of an operation: `c` says which, or is the condition of ite(), an even number; 0: unused.
  struct Cached {
    Node c = 0, a = 0, b = 0, result = 0;
  };
  static constexpr Node kConjunction = 1, kDifference = 3, kForAll = 5;
  /// How large a function is, found when first asked for.
  struct Shape {
    u32 first_var = 0;               ///< in support_
    u16 num_vars = 0, num_nodes = 0; ///< no nodes: not yet known; more than kMaxSize: too large
  };
  /// What is large, if anything is.
  struct Memory {
    std::vector<Inner> nodes;
    std::vector<u32> table;
    std::vector<Cached> cache;
    std::vector<Shape> shapes;
    std::vector<u32> mark;
  };
  static constexpr std::size_t kMostKept = 1u << 15; ///< nodes
  std::vector<Inner> nodes_;
  std::vector<Node> literals_; ///< per variable, or kFalse
  std::vector<u32> table_;     ///< of nodes_, open addressing; 0: free
  std::vector<Cached> cache_;
  mutable std::vector<Shape> shapes_; ///< per pair of opposites
  mutable std::vector<u32> support_;  ///< variables of functions whose shape is known
  mutable std::vector<u32> mark_;     ///< per node: the last walk that saw it
  mutable std::vector<u32> var_mark_; ///< per variable, likewise
  std::vector<std::pair<Node, Node>>
      substituted_; ///< by the substitution at hand: functions asked about are small
  mutable u32 walk_ = 0;
  bool overflowed_ = false;

  static u32 mix(u32 a, u32 b, u32 c) {
    u64 h = (u64{a} << 32 | b) * 0x9E37'79B9'7F4A'7C15u + u64{c} * 0xC2B2'AE3D'27D4'EB4Fu;
    h = (h ^ (h >> 32)) * 0x9E37'79B9'7F4A'7C15u;
    return static_cast<u32>(h >> 32);
  }
  /// What `f` is for either value of variable `var`, the first of those that it may depend on.
  [[nodiscard]] Halves halves(Node f, u32 var) const {
    const Inner& inner = nodes_[f >> 1];
    return inner.var == var ? Halves{inner.lo ^ (f & 1), inner.hi ^ (f & 1)} : Halves{f, f};
  }
  /// The result of an operation that was done before, or null; then `slot` is where to note it.
  [[nodiscard]] const Node* known(Node c, Node a, Node b, u32& slot) const {
    slot = mix(a, b, c);
    const Cached& hit = cache_[slot & (cache_.size() - 1)];
    return hit.c == c && hit.a == a && hit.b == b ? &hit.result : nullptr;
  }
  Node note(Node c, Node a, Node b, u32 slot, Node result) { // the cache may have grown meanwhile
    cache_[slot & (cache_.size() - 1)] = {c, a, b, result};
    return result;
  }
  [[nodiscard]] u32 tree(Node f) const { return nodes_[f >> 1].tree; }
  static Memory& spare(); ///< of this thread
  void exchange(Memory& memory);
  Node conjunction(Node a, Node b);
  /// Of a function that is not constant.
  const Shape& shape(Node f) const {
    const u32 n = f >> 1;
    return n < shapes_.size() && shapes_[n].num_nodes != 0 ? shapes_[n] : find_shape(f);
  }
  const Shape& find_shape(Node f) const;
  Shape measure(Node f) const;
  Shape measure_few(Node f) const;
  Node make(u32 var, Node lo, Node hi);
  void grow();

  template <class F>
  Node substitute_in(Node f, F& to) {
    if (f <= kTrue) return f;
    for (const auto& [from, result] : substituted_)
      if (from == f) return result;
    const u32 first = variable(f);
    const Halves h = halves(f, first);
    const Node lo = substitute_in(h.lo, to), hi = substitute_in(h.hi, to);
    const Node v = to(first);
    const Node result = v == kDropped                                  ? or_(lo, hi)
                        : v != kKept                                   ? ite(v, hi, lo)
                        : first < std::min(variable(lo), variable(hi)) ? make(first, lo, hi)
                                                                       : ite(var(first), hi, lo);
    substituted_.emplace_back(f, result);
    return result;
  }
};

} // namespace lanewise::passes
