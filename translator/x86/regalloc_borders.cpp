// Borders of blocks: what each starts with in registers, and the copies on the edges.
#include "translator/x86/allocator.hpp"

#include <algorithm>

namespace lanewise::x86 {

// -----------------------------------------------------------------------------------------------------

void Allocator::enter_block(u32 b) {
  block_ = b;
  position_ = 0;
  for (unsigned c = 0; c < kNumClasses; ++c) {
    occupied_[c] = locked_[c] = 0;
    std::fill(std::begin(occupant_[c]), std::end(occupant_[c]), VReg{});
  }
  if (live_.preds[b].empty()) {
    if (!live_.live_in[b].empty())
      error_ = "value " + std::to_string(live_.live_in[b][0].value.index) + " is used before its definition";
    return;
  }
  merge_predecessors(b);
  bool loop_entry = false;
  for (Pred p : live_.preds[b]) loop_entry |= live_.rank[p.from] >= live_.rank[b];
  const u32 preds = static_cast<u32>(live_.preds[b].size());
  std::vector<Candidate> candidates[kNumClasses];
  for (const LiveIn& l : live_.live_in[b]) {
    next_[l.value.index] = l.distance;
    candidates[cls(l.value)].push_back({l.value, l.distance, count_[l.value.index] == preds});
  }
  for (VReg p : part_.blocks[b].params) {
    next_[p.index] = live_.param_distance[p.index];
    stored_[p.index] = 0;
    if (next_[p.index] != kNever) candidates[cls(p)].push_back({p, next_[p.index], true});
  }
  for (unsigned c = 0; c < kNumClasses; ++c) {
    select_entry_values(b, c, loop_entry, candidates[c]);
    place_entry_values(b, c, candidates[c]);
  }
  settle_unplaced(b);
}

// Sums up, per value, what the predecessors already allocated end with. The heaviest one names the preferred
// registers.
void Allocator::merge_predecessors(u32 b) {
  const Pred* best = nullptr;
  for (const Pred& p : live_.preds[b])
    if (live_.rank[p.from] < live_.rank[b] && (!best || weight(p.from) > weight(best->from))) best = &p;
  for (const Pred& p : live_.preds[b]) {
    if (live_.rank[p.from] >= live_.rank[b]) continue;
    for (const ValueAt& at : exit_[p.from]) {
      const u32 v = at.value.index;
      if (seen_[v] != b) {
        seen_[v] = b;
        count_[v] = 0;
        preferred_[v] = kNone;
        all_stored_[v] = 1;
      }
      all_stored_[v] &= static_cast<u8>(at.stored || stored_around(at.value, p.from));
      if (at.reg == kNone) continue;
      count_[v] = static_cast<u8>(std::min(count_[v] + 1, 255));
      if (&p == best || preferred_[v] == kNone) preferred_[v] = at.reg;
    }
  }
  for (const LiveIn& l : live_.live_in[b])
    if (seen_[l.value.index] != b) {
      seen_[l.value.index] = b; // only through an irreducible edge
      count_[l.value.index] = 0;
      preferred_[l.value.index] = kNone;
      all_stored_[l.value.index] = 0;
    }
  if (!best) return;
  // A parameter likes its argument's register; place_entry_values() sees whether that is taken.
  auto args = part_.edge_args(part_.blocks[best->from].term, best->n);
  for (u32 i = 0; i < args.size(); ++i) {
    VReg p = part_.blocks[b].params[i];
    seen_[p.index] = b;
    preferred_[p.index] =
        args[i].is_virtual() && seen_[args[i].index] == b ? preferred_[args[i].index] : kNone;
    if (hint_[p.index] != kNone) preferred_[p.index] = hint_[p.index];
  }
}

namespace {

/// The first `count` of [first, last) in the order of `before`, sorted; returns their end.
template <class It, class Before>
It take_first(It first, It last, std::size_t count, Before before) {
  if (static_cast<std::size_t>(last - first) <= count) count = static_cast<std::size_t>(last - first);
  const It end = first + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(first, end, last, before);
  return end;
}

} // namespace

// Leaves in `candidates` those that start in a register, nearest use first. There may be thousands: they are
// not sorted, but those few picked out.
void Allocator::select_entry_values(u32 b, unsigned c, bool loop_entry, std::vector<Candidate>& candidates) {
  const std::size_t registers = static_cast<std::size_t>(std::popcount(allowed_[c]));
  for (Candidate& x : candidates) // what can be made anew has less of a claim, as in victim()
    if (remat_[x.value.index] && x.distance < kLoopExit / 2) x.distance *= 2;
  const auto nearer = [](const Candidate& x, const Candidate& y) {
    return x.distance != y.distance ? x.distance < y.distance : x.value.index < y.value.index;
  };
  const auto begin = candidates.begin();
  if (!loop_entry) {
    // Values in registers on all ways, then those on some; the others wait for their use.
    std::erase_if(candidates, [&](const Candidate& x) {
      return !x.everywhere &&
             (count_[x.value.index] == 0 || x.distance >= kLoopExit || remat_[x.value.index]);
    });
    const auto end =
        take_first(begin, candidates.end(), registers, [&](const Candidate& x, const Candidate& y) {
          return x.everywhere != y.everywhere ? x.everywhere : nearer(x, y);
        });
    candidates.erase(end, candidates.end());
    return;
  }
  // What the loop uses comes first, loaded if need be; what only lives through it gets the registers the
  // loop leaves over.
  auto outside =
      std::partition(begin, candidates.end(), [](const Candidate& x) { return x.distance < kLoopExit; });
  const std::size_t used = static_cast<std::size_t>(outside - begin);
  const std::size_t through = candidates.size() - used;
  const std::size_t inside = std::max<std::size_t>(
      live_.pressure[b][c] - std::min<std::size_t>(through, live_.pressure[b][c]), used);
  // Under pressure a constant would only be thrown out again, and brought back at every back edge.
  if (inside > registers)
    outside = std::remove_if(begin, outside, [&](const Candidate& x) { return remat_[x.value.index] != 0; });
  auto end = take_first(begin, outside, registers, nearer);
  if (inside < registers) {
    const auto placed = std::partition(
        outside, candidates.end(), [&](const Candidate& x) { return preferred_[x.value.index] != kNone; });
    end = take_first(outside, placed, registers - inside, nearer); // `outside` begins where the used ones end
  }
  candidates.erase(end, candidates.end());
}

void Allocator::place_entry_values(u32 b, unsigned c, std::span<const Candidate> chosen) {
  for (const Candidate& x : chosen) {
    u8 r = preferred_[x.value.index];
    if (options_.random_seed && random() % 4 == 0) continue;
    if (r != kNone && (allowed_[c] & ~occupied_[c]) >> r & 1) bind(c, r, x.value);
  }
  for (const Candidate& x : chosen)
    if (reg_[x.value.index] == kNone) bind(c, pick(allowed_[c] & ~occupied_[c], x.value), x.value);
  // Values coming around the back edges should end where the parameters start.
  const auto& params = part_.blocks[b].params;
  for (u32 i = 0; i < params.size(); ++i) {
    if (cls(params[i]) != c || reg_[params[i].index] == kNone) continue;
    for (Pred p : live_.preds[b]) {
      if (live_.rank[p.from] < live_.rank[b]) continue;
      hint(part_.edge_args(part_.blocks[p.from].term, p.n)[i], reg_[params[i].index]);
    }
  }
}

void Allocator::settle_unplaced(u32 b) {
  auto& entry = entry_[b];
  const u32 edges_weight = entry_weight(b);
  for (const LiveIn& l : live_.live_in[b]) {
    const u32 v = l.value.index;
    bool stored = all_stored_[v];
    if (reg_[v] == kNone && !remat_[v]) {
      has_slot_[v] = 1;
      if (!stored && weight(live_.def_block[v]) <= edges_weight) at_def_[v] = 1;
      stored = true; // by the edges, if not at the definition
    }
    stored_[v] = stored;
    entry.push_back({l.value, reg_[v], stored});
  }
  for (VReg p : part_.blocks[b].params) {
    if (next_[p.index] == kNever) continue;
    if (reg_[p.index] == kNone) {
      has_slot_[p.index] = 1;
      stored_[p.index] = 1;
    }
    entry.push_back({p, reg_[p.index], stored_[p.index] != 0});
  }
}

void Allocator::leave_block(u32 b) {
  const Terminator& t = part_.blocks[b].term;
  // seen_ marks values already listed; block numbers are below part_.blocks.size(), so the offset keeps the
  // two uses apart.
  const u32 mark = static_cast<u32>(part_.blocks.size()) + b;
  auto list = [&](VReg v) {
    if (!v.is_virtual() || seen_[v.index] == mark) return;
    seen_[v.index] = mark;
    exit_[b].push_back({v, reg_[v.index], stored_[v.index] != 0});
  };
  for (u32 n = 0; n < t.num_targets(); ++n) {
    for (const LiveIn& l : live_.live_in[t.target[n].index]) list(l.value);
    for (VReg a : part_.edge_args(t, n)) list(a);
  }
  hint_successors(b);
  for (unsigned c = 0; c < kNumClasses; ++c)
    for (u32 set = occupied_[c]; set; set &= set - 1) reg_[occupant_[c][std::countr_zero(set)].index] = kNone;
}

// The first predecessor of a join decides which registers the others should leave the arguments in.
void Allocator::hint_successors(u32 b) {
  const Terminator& t = part_.blocks[b].term;
  for (u32 n = 0; n < t.num_targets(); ++n) {
    const u32 s = t.target[n].index;
    if (live_.rank[s] <= live_.rank[b]) continue;
    auto args = part_.edge_args(t, n);
    for (u32 i = 0; i < args.size(); ++i) {
      VReg p = part_.blocks[s].params[i];
      if (!args[i].is_virtual() || reg_[args[i].index] == kNone || hint_[p.index] != kNone) continue;
      hint_[p.index] = reg_[args[i].index];
      for (Pred q : live_.preds[s])
        if (live_.rank[q.from] > live_.rank[b])
          hint(part_.edge_args(part_.blocks[q.from].term, q.n)[i], hint_[p.index]);
    }
  }
}

void Allocator::resolve_edge(u32 from, u32 n) {
  const Terminator& t = part_.blocks[from].term;
  const u32 to = t.target[n].index;
  for (const ValueAt& at : exit_[from]) {
    reg_[at.value.index] = at.reg;
    stored_[at.value.index] = at.stored;
  }
  StepRange& range = raw_edges_[n][from];
  range.first = static_cast<u32>(raw_.size());
  u32 free[kNumClasses];
  std::copy(std::begin(allowed_), std::end(allowed_), free);
  auto source = [&](VReg v) {
    Transfer x{part_.class_of(v), Transfer::Place::Reg, Transfer::Place::Reg};
    if (v.is_fixed())
      x.from_reg = static_cast<u8>(v.index);
    else if (reg_[v.index] != kNone)
      x.from_reg = reg_[v.index];
    else if (remat_[v.index])
      x.from = Transfer::Place::Remat, x.from_slot = live_.def_operand[v.index];
    else
      x.from = Transfer::Place::Slot, x.from_slot = v.index;
    if (x.from == Transfer::Place::Reg) free[static_cast<unsigned>(x.cls)] &= ~(1u << x.from_reg);
    return x;
  };
  auto send = [&](Transfer x, const ValueAt& destination) {
    if (destination.reg == kNone) {
      x.to = Transfer::Place::Slot;
      x.to_slot = destination.value.index;
    } else {
      x.to_reg = destination.reg;
      free[static_cast<unsigned>(x.cls)] &= ~(1u << x.to_reg);
    }
    transfers_.push_back(x);
  };
  const auto& params = part_.blocks[to].params;
  auto args = part_.edge_args(t, n);
  const std::size_t live_through = live_.live_in[to].size();
  for (std::size_t i = 0; i < live_through; ++i) {
    const ValueAt& at = entry_[to][i];
    const u32 v = at.value.index;
    // What a loop starts with in memory stays there.
    const bool kept = in_loop(from, to) || stored_around(at.value, from);
    if (!remat_[v] && at.stored && !stored_[v] && !at_def_[v] && !kept)
      step(Step::Kind::Store, cls(at.value), 0, reg_[v], v, 1);
    if (at.reg != kNone) send(source(at.value), at);
  }
  std::size_t next = live_through;
  for (u32 i = 0; i < params.size(); ++i)
    if (next < entry_[to].size() && entry_[to][next].value == params[i])
      send(source(args[i]), entry_[to][next++]);
  sequence(transfers_, free, raw_);
  range.count = static_cast<u32>(raw_.size()) - range.first;
  for (const ValueAt& at : exit_[from]) reg_[at.value.index] = kNone;
}

} // namespace lanewise::x86
