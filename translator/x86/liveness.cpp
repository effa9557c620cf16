#include "translator/x86/liveness.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lanewise::x86 {

namespace {

constexpr std::ptrdiff_t kUsesCompared = 4;

} // namespace

Liveness::Liveness(const Part& part) : BlockOrder(part), part_(part) {
  collect_definitions_and_uses();
  number_values();
  find_live_ins();
  next_.resize(part.classes.size());
  pressure.resize(part.blocks.size());
  next_use.assign(part.operands.size(), kNever);
  next_use2.assign(part.operands.size(), kNever);
  for (auto b = order.rbegin(); b != order.rend(); ++b) scan_block(*b);
  widen_pressure_to_loops();
}

/// Definitions come before their uses in the order. The uses outside the defining block are sorted by value
/// and block, one entry per block.
void Liveness::collect_definitions_and_uses() {
  def_block.assign(part_.classes.size(), kNever);
  def_operand.assign(part_.classes.size(), kNever);
  param_distance.assign(part_.classes.size(), kNever);
  std::vector<u32> last(part_.classes.size(), kNever);
  std::vector<std::pair<VReg, UsingBlock>> found;
  found.reserve(part_.classes.size());
  first_use_.assign(part_.classes.size() + 1, 0);
  for (const u32 b : order) {
    const Block& block = part_.blocks[b];
    for (const VReg p : block.params) def_block[p.index] = b;
    u32 position = 0;
    const auto use = [&](VReg v) {
      if (!v.is_virtual() || def_block[v.index] == b || last[v.index] == b) return;
      last[v.index] = b;
      found.emplace_back(v, UsingBlock{rank[b], position});
      ++first_use_[v.index + 1];
    };
    for (const LInst& inst : block.insts) {
      for (u32 i = inst.first_operand; i < inst.first_operand + inst.num_operands; ++i) {
        const Operand& o = part_.operands[i];
        use(o.tied);
        if (!o.is_def()) {
          use(o.reg);
        } else if (o.reg.is_virtual()) {
          def_block[o.reg.index] = b;
          def_operand[o.reg.index] = i;
        }
      }
      ++position;
    }
    ++position;
    for (u32 n = 0; n < block.term.num_targets(); ++n)
      for (const VReg a : part_.edge_args(block.term, n)) use(a);
  }
  for (std::size_t i = 1; i < first_use_.size(); ++i) first_use_[i] += first_use_[i - 1];
  uses_.resize(found.size());
  std::vector<u32> fill(first_use_.begin(), first_use_.end() - 1);
  for (const auto& [v, use] : found) uses_[fill[v.index]++] = use;
}

void Liveness::number_values() {
  number_.assign(part_.classes.size(), kNever);
  std::array<u32, kNumClasses> next{};
  for (u32 v = kNumFixed; v < number_.size(); ++v)
    if (!uses(VReg{v}).empty()) ++next[static_cast<unsigned>(part_.classes[v])];
  for (unsigned c = 0; c < kNumClasses; ++c) {
    const u32 words = (next[c] + 63) / 64;
    next[c] = 64 * class_word_[c];
    class_word_[c + 1] = class_word_[c] + words;
  }
  words_ = class_word_[kNumClasses];
  values_.resize(std::size_t{64} * words_);
  for (u32 v = kNumFixed; v < number_.size(); ++v)
    if (!uses(VReg{v}).empty()) {
      number_[v] = next[static_cast<unsigned>(part_.classes[v])]++;
      values_[number_[v]] = VReg{v};
    }
}

void Liveness::gather_live_out(u32 b, std::vector<u64>& out) const {
  const Terminator& t = part_.blocks[b].term;
  const unsigned targets = t.num_targets();
  const Row first = targets > 0 ? row(t.target[0].index) : nullptr;
  const Row second = targets > 1 ? row(t.target[1].index) : nullptr;
  for (u32 w = 0; w < words_; ++w)
    out[w] = (first != nullptr ? first[w] : 0) | (second != nullptr ? second[w] : 0);
}

void Liveness::find_live_ins() {
  const auto bit = [](u32 n) { return u64{1} << (n % 64); };
  bits_.assign(part_.blocks.size() * words_, 0);
  out_.resize(words_);
  std::vector<u32> first_def(part_.blocks.size() + 1, 0);
  for (const VReg v : values_)
    if (v.valid()) {
      ++first_def[def_block[v.index] + 1];
      for (const UsingBlock& use : uses(v)) {
        const u32 n = number_[v.index];
        bits_[std::size_t{order[use.rank]} * words_ + n / 64] |= bit(n);
      }
    }
  for (std::size_t b = 0; b < part_.blocks.size(); ++b) first_def[b + 1] += first_def[b];
  std::vector<u32> defs(first_def.back()), fill(first_def.begin(), first_def.end() - 1);
  for (const VReg v : values_)
    if (v.valid()) defs[fill[def_block[v.index]]++] = number_[v.index];
  std::vector<u8> stale(part_.blocks.size(), 1); // what is alive at its end may be more than was seen
  for (bool again = true; again;) {
    again = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const u32 b = *it;
      if (std::exchange(stale[b], 0) == 0) continue;
      gather_live_out(b, out_);
      for (u32 d = first_def[b]; d < first_def[b + 1]; ++d) out_[defs[d] / 64] &= ~bit(defs[d]);
      u64* mine = bits_.data() + std::size_t{b} * words_;
      u64 fresh = 0;
      for (u32 w = 0; w < words_; ++w) {
        fresh |= out_[w] & ~mine[w];
        mine[w] |= out_[w];
      }
      if (fresh == 0) continue;
      for (const Pred p : preds(b)) {
        stale[p.from] = 1;
        again |= rank[p.from] >= rank[b]; // in this round, others are still to come
      }
    }
  }
}

u32 Liveness::count(Row row, RegClass c) const {
  u32 n = 0;
  const auto k = static_cast<unsigned>(c);
  for (u32 w = class_word_[k]; w < class_word_[k + 1]; ++w)
    if (row[w] != 0) n += static_cast<u32>(std::popcount(row[w])); // few are alive, and to count takes a call
  return n;
}

VReg Liveness::first_live_in(u32 b) const {
  for (u32 w = 0; w < words_; ++w)
    if (const u64 live = row(b)[w]; live != 0)
      return values_[64 * w + static_cast<u32>(std::countr_zero(live))];
  return {};
}

/// From the start of `b` to the next use of `v` behind `b`, at whose end it is alive.
u64 Liveness::after(VReg v, u32 b) const {
  const auto all = uses(v);
  const auto by_rank = [](const UsingBlock& u, u32 r) { return u.rank < r; };
  const auto next = std::lower_bound(all.begin(), all.end(), rank[b] + 1, by_rank);
  // The next in the order may lie on the longer arm of a branch.
  u64 forwards = kFarthest;
  for (auto use = next; use != all.end() && use - next < kUsesCompared; ++use)
    forwards = std::min(forwards, use_distance(b, *use));
  if (forwards < kLoopExit) return forwards;
  // Nothing follows in this loop; perhaps around it.
  for (u32 h = loop_header[b]; h != kNever; h = loop_parent[h]) {
    if (next != all.end() && in_loop(order[next->rank], h)) break;
    if (!is_live_in(v, h)) continue;
    const auto around = std::lower_bound(all.begin(), all.end(), rank[h], by_rank);
    if (around == all.end() || !in_loop(order[around->rank], h)) continue;
    const u64 to_use = order[around->rank] == h ? around->position : use_distance(h, *around);
    return std::min(forwards, distance_around(b, h) + to_use);
  }
  return forwards;
}

u32 Liveness::use_in(VReg v, u32 b) const {
  const auto all = uses(v);
  const auto here = std::lower_bound(all.begin(), all.end(), rank[b],
                                     [](const UsingBlock& u, u32 r) { return u.rank < r; });
  return here != all.end() && here->rank == rank[b] ? static_cast<u32>(&*here - uses_.data()) : kNever;
}

/// Of a value from before the loop: all uses in it are in other blocks than the definition.
bool Liveness::is_used_in_loop(VReg v, u32 header) const {
  const auto all = uses(v);
  auto use = std::lower_bound(all.begin(), all.end(), rank[header],
                              [](const UsingBlock& u, u32 r) { return u.rank < r; });
  for (; use != all.end() && use->rank <= loop_last[header]; ++use)
    if (in_loop(order[use->rank], header)) return true;
  return false;
}

u32 Liveness::distance(VReg v, u32 b) const {
  if (const u32 here = use_in(v, b); here != kNever) return uses_[here].position;
  return behind(v, b);
}

void Liveness::scan_block(u32 b) {
  const Block& block = part_.blocks[b];
  const u32 end = static_cast<u32>(block.insts.size()) + 1;
  gather_live_out(b, out_);
  std::array<u32, kNumClasses> live{};
  for (unsigned c = 0; c < kNumClasses; ++c) live[c] = count(out_.data(), static_cast<RegClass>(c));
  auto& most = pressure[b];
  most = live;
  const auto is_live_out = [&](VReg v) {
    const u32 n = number_[v.index];
    return n != kNever && (out_[n / 64] >> (n % 64) & 1) != 0;
  };
  /// The next use of `v` behind what has been scanned.
  const auto next = [&](VReg v) -> u32& {
    Next& at = next_[v.index];
    if (at.block != b) at = {b, is_live_out(v) ? kBehind : kNever};
    return at.use;
  };
  const auto distance_to_next = [&](VReg v) {
    u32& at = next(v);
    return at == kBehind ? at = behind(v, b) : at;
  };
  const auto see = [&](VReg v, u32 distance) {
    u32& at = next(v);
    if (at == kNever) {
      const auto c = static_cast<unsigned>(part_.class_of(v));
      most[c] = std::max(most[c], ++live[c]);
    }
    at = distance;
  };
  for (u32 n = 0; n < block.term.num_targets(); ++n) {
    const u32 s = block.term.target[n].index;
    const u64 base = edge_length(b, s);
    const auto args = part_.edge_args(block.term, n);
    for (u32 i = 0; i < args.size(); ++i)
      if (args[i].is_virtual()) {
        const u64 there = param_distance[part_.blocks[s].params[i].index];
        const u32 distance =
            static_cast<u32>(std::min<u64>({base + there, distance_to_next(args[i]), kFarthest}));
        see(args[i], distance);
        // What is only handed on is used where the parameter is.
        if (const u32 use = use_in(args[i], b); use != kNever && uses_[use].position >= end)
          uses_[use].position = distance;
      }
  }
  for (u32 p = end - 1; p-- > 0;) {
    const LInst& inst = block.insts[p];
    const u32 first = inst.first_operand, last = first + inst.num_operands;
    for (u32 i = first; i < last; ++i) {
      const Operand& o = part_.operands[i];
      if (o.tied.is_virtual()) next_use2[i] = next(o.tied);
      if (!o.reg.is_virtual()) continue;
      u32& at = next(o.reg);
      next_use[i] = at;
      if (!o.is_def()) continue;
      const auto c = static_cast<unsigned>(part_.class_of(o.reg));
      if (at != kNever)
        --live[c];
      else
        most[c] = std::max(most[c], live[c] + 1);
      at = kNever;
    }
    for (u32 i = first; i < last; ++i) {
      const Operand& o = part_.operands[i];
      if (o.reg.is_virtual() && !o.is_def()) see(o.reg, p);
      if (o.tied.is_virtual()) see(o.tied, p);
    }
  }
  for (const VReg p : block.params) param_distance[p.index] = distance_to_next(p);
}

void Liveness::widen_pressure_to_loops() {
  // Inner loops come later in the order, so going backwards carries their pressure to the headers around
  // them.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    u32 h = loop_header[*it];
    if (h == *it) h = loop_parent[h];
    if (h == kNever || part_.blocks[*it].cold) continue;
    for (unsigned c = 0; c < kNumClasses; ++c) pressure[h][c] = std::max(pressure[h][c], pressure[*it][c]);
  }
}

} // namespace lanewise::x86
