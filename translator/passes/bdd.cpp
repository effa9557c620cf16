#include "translator/passes/bdd.hpp"

#include <algorithm>
#include <array>

namespace lanewise::passes {

namespace {
constexpr u32 kFew = 12; ///< nodes
}

Bdd::Memory& Bdd::spare() {
  static thread_local Memory memory;
  return memory;
}

void Bdd::exchange(Memory& memory) {
  nodes_.swap(memory.nodes);
  table_.swap(memory.table);
  cache_.swap(memory.cache);
  shapes_.swap(memory.shapes);
  mark_.swap(memory.mark);
}

Bdd::Bdd() {
  exchange(spare());
  nodes_.assign(1, {.var = ~0u, .lo = 0, .hi = 0, .tree = 0, .samples = 0});
  table_.assign(kFirstTable, 0);
  cache_.assign(kFirstCache, {});
  shapes_.clear();
  mark_.clear();
}

Bdd::~Bdd() {
  const std::size_t mine = nodes_.capacity();
  if (mine <= kMostKept && mine > spare().nodes.capacity()) exchange(spare());
}

Bdd::Node Bdd::make(u32 var, Node lo, Node hi) {
  if (lo == hi) return lo;
  const Node opposite = lo & 1;
  lo ^= opposite;
  hi ^= opposite;
  const u32 mask = static_cast<u32>(table_.size()) - 1;
  for (u32 slot = mix(lo, hi, var) & mask;; slot = (slot + 1) & mask) {
    const u32 n = table_[slot];
    if (n == 0) {
      if (nodes_.size() >= kMaxNodes) {
        overflowed_ = true;
        return kTrue;
      }
      const u32 made = static_cast<u32>(nodes_.size());
      const u64 high = samples_of(var);
      const u32 size = std::min<u32>(1 + tree(lo) + tree(hi), kMaxSize + 1);
      nodes_.push_back({var, lo, hi, size, (samples(hi) & high) | (samples(lo) & ~high)});
      table_[slot] = made;
      if (nodes_.size() * 2 > table_.size()) grow();
      return made << 1 | opposite;
    }
    const Inner& inner = nodes_[n];
    if (inner.var == var && inner.lo == lo && inner.hi == hi) return n << 1 | opposite;
  }
}

/// By much at once: what is there has to be placed anew each time. To do the same with the cache takes as
/// long as to compute again what is asked for again.
void Bdd::grow() {
  table_.assign(table_.size() * kGrowth, 0);
  const u32 mask = static_cast<u32>(table_.size()) - 1;
  for (u32 n = 1; n < nodes_.size(); ++n) {
    u32 slot = mix(nodes_[n].lo, nodes_[n].hi, nodes_[n].var) & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = n;
  }
  if (cache_.size() < kMaxCache) cache_.assign(std::min(cache_.size() * kGrowth, kMaxCache), {});
}

/// Of two functions that are neither constant, nor equal or opposite; a < b.
Bdd::Node Bdd::conjunction(Node a, Node b) {
  u32 slot = 0;
  if (const Node* done = known(kConjunction, a, b, slot)) return *done;
  const u32 var = std::min(variable(a), variable(b));
  const Halves x = halves(a, var), y = halves(b, var);
  const Node lo = and_(x.lo, y.lo), hi = and_(x.hi, y.hi);
  return note(kConjunction, a, b, slot, make(var, lo, hi));
}

Bdd::Node Bdd::xor_(Node a, Node b) {
  const Node opposite = (a ^ b) & 1;
  a &= ~1u;
  b &= ~1u;
  if (a > b) std::swap(a, b);
  if (a == kFalse || a == b) return (a == b ? kFalse : b) ^ opposite;
  u32 slot = 0;
  if (const Node* done = known(kDifference, a, b, slot)) return *done ^ opposite;
  const u32 var = std::min(variable(a), variable(b));
  const Halves x = halves(a, var), y = halves(b, var);
  const Node lo = xor_(x.lo, y.lo), hi = xor_(x.hi, y.hi);
  return note(kDifference, a, b, slot, make(var, lo, hi)) ^ opposite;
}

Bdd::Node Bdd::ite(Node c, Node a, Node b) {
  if (c <= kTrue) return c == kTrue ? a : b;
  if ((c & 1) != 0) {
    c ^= 1;
    std::swap(a, b);
  }
  if (a >> 1 == c >> 1) a = a == c ? kTrue : kFalse;
  if (b >> 1 == c >> 1) b = b == c ? kFalse : kTrue;
  if (a == b) return a;
  if (a <= kTrue) return a == kTrue ? or_(c, b) : andnot(b, c);
  if (b <= kTrue) return b == kTrue ? or_(not_(c), a) : and_(c, a);
  if ((a ^ b) == 1) return xor_(c, b);
  const Node opposite = a & 1;
  a ^= opposite;
  b ^= opposite;
  u32 slot = 0;
  if (const Node* done = known(c, a, b, slot)) return *done ^ opposite;
  const u32 var = std::min({variable(c), variable(a), variable(b)}); // terminals have the largest
  const Halves hc = halves(c, var), ha = halves(a, var), hb = halves(b, var);
  const Node lo = ite(hc.lo, ha.lo, hb.lo), hi = ite(hc.hi, ha.hi, hb.hi);
  return note(c, a, b, slot, make(var, lo, hi)) ^ opposite;
}

Bdd::Node Bdd::for_all(Node f, u32 v) {
  const u32 var = variable(f);
  if (var > v) return f;
  const Halves h = halves(f, var);
  if (var == v) return and_(h.lo, h.hi);
  u32 slot = 0;
  if (const Node* done = known(kForAll, f, v, slot)) return *done;
  const Node lo = for_all(h.lo, v), hi = for_all(h.hi, v);
  return note(kForAll, f, v, slot, make(var, lo, hi));
}

/// Of so few nodes that it is quick to look through them.
Bdd::Shape Bdd::measure_few(Node f) const {
  std::array<Node, kFew> seen;
  std::array<u32, kFew> vars;
  std::size_t num_nodes = 1, num_vars = 0;
  seen[0] = f;
  for (std::size_t n = 0; n < num_nodes; ++n) {
    const u32 var = variable(seen[n]);
    std::size_t at = num_vars;
    while (at != 0 && vars[at - 1] > var) --at;
    if (at == 0 || vars[at - 1] != var) {
      for (std::size_t later = num_vars++; later > at; --later) vars[later] = vars[later - 1];
      vars[at] = var;
    }
    const Halves h = halves(seen[n], var);
    for (const Node next : {h.lo, h.hi}) {
      std::size_t same = 0;
      while (same < num_nodes && seen[same] != next) ++same;
      if (next > kTrue && same == num_nodes) seen[num_nodes++] = next;
    }
  }
  const auto first = static_cast<u32>(support_.size());
  for (std::size_t n = 0; n < num_vars; ++n) support_.push_back(vars[n]);
  return {first, static_cast<u16>(num_vars), static_cast<u16>(num_nodes)};
}

Bdd::Shape Bdd::measure(Node f) const {
  constexpr Shape kTooLarge{0, 0, kMaxSize + 1};
  if (tree(f) <= kFew) return measure_few(f); // as most are
  mark_.resize(2 * nodes_.size());
  ++walk_;
  mark_[f] = walk_;
  std::array<Node, kMaxSize + 1> work; // of those seen, each of which is either here or has been counted
  std::array<u32, kMaxSupport> vars;
  std::size_t left = 1, num_vars = 0, num_nodes = 0;
  work[0] = f;
  while (left != 0) {
    const Node at = work[--left];
    const u32 var = variable(at);
    ++num_nodes;
    if (var >= var_mark_.size()) var_mark_.resize(var + 1);
    if (std::exchange(var_mark_[var], walk_) != walk_) {
      if (num_vars == kMaxSupport) return kTooLarge;
      vars[num_vars++] = var;
    }
    const Halves h = halves(at, var);
    for (const Node n : {h.lo, h.hi}) {
      if (n <= kTrue || std::exchange(mark_[n], walk_) == walk_) continue;
      if (num_nodes + left == kMaxSize) return kTooLarge;
      work[left++] = n;
    }
  }
  std::sort(vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(num_vars));
  const Shape shape{static_cast<u32>(support_.size()), static_cast<u16>(num_vars),
                    static_cast<u16>(num_nodes)};
  support_.insert(support_.end(), vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(num_vars));
  return shape;
}

const Bdd::Shape& Bdd::find_shape(Node f) const {
  shapes_.resize(nodes_.size());
  return shapes_[f >> 1] = measure(f);
}

bool Bdd::support(Node f, std::vector<u32>& vars, std::size_t max_vars) const {
  vars.clear();
  if (!is_simple(f, kMaxSize, max_vars)) return false;
  if (f <= kTrue) return true;
  const Shape& s = shape(f);
  vars.assign(support_.begin() + s.first_var, support_.begin() + s.first_var + s.num_vars);
  return true;
}

} // namespace lanewise::passes
