#include "translator/passes/bdd.hpp"

#include <algorithm>

namespace lanewise::passes {

Bdd::Node Bdd::make(u32 var, Node lo, Node hi) {
  if (lo == hi) return lo;
  const u32 mask = static_cast<u32>(table_.size()) - 1;
  for (u32 slot = mix(var, lo, hi) & mask;; slot = (slot + 1) & mask) {
    const Node n = table_[slot];
    if (n == 0) {
      if (nodes_.size() >= kMaxNodes) {
        overflowed_ = true;
        return kTrue;
      }
      const Node made = static_cast<Node>(nodes_.size());
      const u64 high = samples_of(var);
      nodes_.push_back({var, lo, hi, (nodes_[hi].samples & high) | (nodes_[lo].samples & ~high)});
      table_[slot] = made;
      if (nodes_.size() * 2 > table_.size()) grow();
      return made;
    }
    const Inner& inner = nodes_[n];
    if (inner.var == var && inner.lo == lo && inner.hi == hi) return n;
  }
}

void Bdd::grow() {
  table_.assign(table_.size() * 2, 0);
  if (cache_.size() < kMaxCache) cache_.assign(cache_.size() * 2, {});
  const u32 mask = static_cast<u32>(table_.size()) - 1;
  for (Node n = 2; n < nodes_.size(); ++n) {
    u32 slot = mix(nodes_[n].var, nodes_[n].lo, nodes_[n].hi) & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = n;
  }
}

Bdd::Node Bdd::ite(Node c, Node a, Node b) {
  if (c == kTrue) return a;
  if (c == kFalse) return b;
  if (a == c) a = kTrue;
  if (b == c) b = kFalse;
  if (a == b) return a;
  if (a == kTrue && b == kFalse) return c;
  const std::size_t slot = mix(c, a, b);
  if (const Cached& hit = cache_[slot & (cache_.size() - 1)]; hit.c == c && hit.a == a && hit.b == b)
    return hit.result;
  const Inner &of_c = nodes_[c], &of_a = nodes_[a], &of_b = nodes_[b];
  const u32 var = std::min({of_c.var, of_a.var, of_b.var}); // terminals have the largest
  struct Halves {
    Node lo, hi;
  };
  const auto halves = [&](Node f, const Inner& inner) {
    return inner.var == var ? Halves{inner.lo, inner.hi} : Halves{f, f};
  };
  const Halves hc = halves(c, of_c), ha = halves(a, of_a), hb = halves(b, of_b);
  const Node lo = ite(hc.lo, ha.lo, hb.lo), hi = ite(hc.hi, ha.hi, hb.hi);
  const Node result = make(var, lo, hi);
  cache_[slot & (cache_.size() - 1)] = {c, a, b, result}; // may have grown meanwhile
  return result;
}

Bdd::Node Bdd::for_all(Node f, u32 v) {
  if (nodes_[f].var > v) return f;
  const Inner n = nodes_[f];
  if (n.var == v) return and_(n.lo, n.hi);
  const std::size_t slot = mix(f, ~v, 0);
  if (const Cached& hit = cache_[slot & (cache_.size() - 1)]; hit.c == f && hit.a == ~v) return hit.result;
  const Node result = make(n.var, for_all(n.lo, v), for_all(n.hi, v));
  cache_[slot & (cache_.size() - 1)] = {f, ~v, 0, result};
  return result;
}

Bdd::Shape Bdd::measure(Node f) const {
  constexpr Shape kTooLarge{0, 0, kMaxSize + 1};
  mark_.resize(nodes_.size());
  ++walk_;
  mark_[f] = walk_;
  work_.assign(1, f);
  Shape shape{static_cast<u32>(support_.size()), 0, 0};
  const auto too_large = [&] {
    support_.resize(shape.first_var);
    return kTooLarge;
  };
  while (!work_.empty()) {
    const Inner& inner = nodes_[work_.back()];
    work_.pop_back();
    if (++shape.num_nodes > kMaxSize) return too_large();
    if (inner.var >= var_mark_.size()) var_mark_.resize(inner.var + 1);
    if (std::exchange(var_mark_[inner.var], walk_) != walk_) {
      if (support_.size() - shape.first_var == kMaxSupport) return too_large();
      support_.push_back(inner.var);
    }
    for (const Node n : {inner.lo, inner.hi})
      if (n > kTrue && std::exchange(mark_[n], walk_) != walk_) work_.push_back(n);
  }
  shape.num_vars = static_cast<u16>(support_.size() - shape.first_var);
  std::sort(support_.begin() + shape.first_var, support_.end());
  return shape;
}

const Bdd::Shape& Bdd::shape(Node f) const {
  shapes_.resize(nodes_.size());
  if (shapes_[f].num_nodes == 0 && f > kTrue) shapes_[f] = measure(f);
  return shapes_[f];
}

bool Bdd::is_simple(Node f, std::size_t max_nodes, std::size_t max_vars) const {
  const Shape& s = shape(f);
  return s.num_nodes <= max_nodes && s.num_vars <= max_vars;
}

bool Bdd::support(Node f, std::vector<u32>& vars, std::size_t max_vars) const {
  vars.clear();
  if (!is_simple(f, kMaxSize, max_vars)) return false;
  const Shape& s = shapes_[f];
  vars.assign(support_.begin() + s.first_var, support_.begin() + s.first_var + s.num_vars);
  return true;
}

} // namespace lanewise::passes
