// Borders of blocks: what each starts with in registers, and the copies on the edges.
#include "translator/x86/allocator.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::x86 {

// -----------------------------------------------------------------------------------------------------

void Allocator::enter_block(u32 b) {
  const u32 before = std::exchange(block_, b);
  position_ = 0;
  for (unsigned c = 0; c < kNumClasses; ++c) locked_[c] = 0;
  if (goes_on(b) && live_.preds(b)[0].from == before) return stay(b);
  empty_registers();
  if (live_.preds(b).empty()) {
    if (const VReg v = live_.first_live_in(b); v.valid())
      error_ = "value " + std::to_string(v.index) + " is used before its definition";
    return;
  }
  if (goes_on(b)) return go_on(b);
  merge_predecessors(b);
  bool loop_entry = false;
  for (Pred p : live_.preds(b)) loop_entry |= live_.rank[p.from] >= live_.rank[b];
  collect_candidates(b, loop_entry);
  for (unsigned c = 0; c < kNumClasses; ++c) {
    select_entry_values(b, c, loop_entry);
    place_entry_values(b, c);
  }
  settle_unplaced(b);
}

void Allocator::empty_registers() {
  for (unsigned c = 0; c < kNumClasses; ++c)
    for (u32& set = occupied_[c]; set != 0;) unbind(c, static_cast<u8>(std::countr_zero(set)));
}

// With one way in and no parameters, a block starts with what that way ends with.
bool Allocator::goes_on(u32 b) const {
  const auto preds = live_.preds(b);
  return preds.size() == 1 && part_.blocks[b].params.empty() && live_.rank[preds[0].from] < live_.rank[b] &&
         options_.random_seed == 0;
}

void Allocator::go_on(u32 b) {
  const u32 from = live_.preds(b)[0].from;
  for (const ValueAt& at : at_exit(from)) {
    if (!live_.is_live_in(at.value, b)) continue;
    bind(at.cls, at.reg, at.value);
    next_[at.value.index] = kAsk;
    stored_[at.value.index] = at.stored || stored_around(at.value, from);
  }
}

// Likewise where that way's block is the one before, which has left everything where it is.
void Allocator::stay(u32 b) {
  const u32 from = live_.preds(b)[0].from;
  for (unsigned c = 0; c < kNumClasses; ++c)
    for (u32 set = occupied_[c]; set != 0; set &= set - 1) {
      const u8 r = static_cast<u8>(std::countr_zero(set));
      const VReg v = occupant_[c][r];
      if (!live_.is_live_in(v, b)) {
        unbind(c, r);
        continue;
      }
      next_[v.index] = kAsk;
      if (stored_[v.index] == 0) stored_[v.index] = stored_around(v, from);
    }
}

// Sums up, per value, what the predecessors already allocated end with in registers. The heaviest one names
// the preferred registers. Cold ones have no say beside others: they bring what those have, so that usual
// ways pay nothing for rare ones.
void Allocator::merge_predecessors(u32 b) {
  const Pred* best = nullptr;
  for (const Pred& p : live_.preds(b))
    if (live_.rank[p.from] < live_.rank[b] && (!best || weight(p.from) > weight(best->from))) best = &p;
  num_merged_ = 0;
  merged_values_.clear();
  for (const Pred& p : live_.preds(b)) {
    if (best && weight(best->from) != 0 && weight(p.from) == 0) continue;
    ++num_merged_;
    if (live_.rank[p.from] >= live_.rank[b]) continue;
    for (const ValueAt& at : at_exit(p.from)) {
      Merged& m = merged(at.value);
      if (m.count == 0) merged_values_.push_back(at.value);
      m.all_stored = m.all_stored && (at.stored || stored_around(at.value, p.from));
      m.count = static_cast<u8>(m.count + (m.count != 255));
      if (&p == best || m.preferred == kNone) m.preferred = at.reg;
    }
  }
  std::erase_if(merged_values_, [&](VReg v) { return !live_.is_live_in(v, b); });
  if (!best) return;
  // A parameter likes its argument's register; place_entry_values() sees whether that is taken.
  auto args = part_.edge_args(part_.blocks[best->from].term, best->n);
  for (u32 i = 0; i < args.size(); ++i) {
    const VReg p = part_.blocks[b].params[i];
    const u8 preferred = args[i].is_virtual() ? merged(args[i]).preferred : kNone;
    merged(p).preferred = hint_[p.index] != kNone ? hint_[p.index] : preferred;
  }
}

// Values that may start in a register: those that some predecessor has in one, and for a loop's header those
// that the loop uses.
void Allocator::collect_candidates(u32 b, bool loop_entry) {
  for (auto& list : candidates_) list.clear();
  std::fill(std::begin(all_stay_), std::end(all_stay_), true);
  const auto add = [&](VReg v, u32 distance, bool everywhere) {
    const unsigned c = cls(v);
    next_[v.index] = distance;
    all_stay_[c] = all_stay_[c] && everywhere && distance == kAsk;
    candidates_[c].push_back({v, distance, everywhere});
  };
  for (const VReg v : merged_values_) {
    Merged& m = merged(v);
    const bool everywhere = m.count == num_merged_; // then the distance seldom matters
    m.listed = true;
    add(v, everywhere ? kAsk : live_.distance(v, b), everywhere);
  }
  if (loop_entry)
    live_.for_each_used_in_loop(b, [&](VReg v) {
      if (merged(v).listed) return;
      merged(v).listed = true;
      if (const u32 distance = live_.distance(v, b); distance < kLoopExit) add(v, distance, false);
    });
  const auto& params = part_.blocks[b].params;
  for (u32 i = 0; i < params.size(); ++i) {
    const VReg p = params[i];
    stored_[p.index] = 0;
    next_[p.index] = live_.param_distance[p.index];
    if (next_[p.index] != kNever && (loop_entry || comes_in_register(b, i))) add(p, next_[p.index], true);
  }
}

// If all arguments are in memory, the parameter may as well wait there: often its slot is theirs.
bool Allocator::comes_in_register(u32 b, u32 param) {
  return std::any_of(live_.preds(b).begin(), live_.preds(b).end(), [&](const Pred& p) {
    const VReg a = part_.edge_args(part_.blocks[p.from].term, p.n)[param];
    return !a.is_virtual() || remat_[a.index] || merged(a).count != 0;
  });
}

namespace {

/// The first `sorted` are in order already; the few others belong near the end.
void sort_by_number(std::span<ValueAt> values, std::size_t sorted = 1) {
  for (std::size_t i = sorted; i < values.size(); ++i) {
    const ValueAt x = values[i];
    std::size_t at = i;
    for (; at > 0 && x.value.index < values[at - 1].value.index; --at) values[at] = values[at - 1];
    values[at] = x;
  }
}

/// The first `count` of [first, last) in the order of `before`, sorted; returns their end.
template <class It, class Before>
It take_first(It first, It last, std::size_t count, Before before) {
  const It end = first + std::min(static_cast<std::ptrdiff_t>(count), last - first);
  if (end != last) std::nth_element(first, end, last, before);
  std::sort(first, end, before);
  return end;
}

} // namespace

// Leaves the candidates that start in a register, nearest use first.
void Allocator::select_entry_values(u32 b, unsigned c, bool loop_entry) {
  std::vector<Candidate>& candidates = candidates_[c];
  const std::size_t registers = static_cast<std::size_t>(std::popcount(allowed_[c]));
  const auto nearer = [](const Candidate& x, const Candidate& y) {
    return x.distance != y.distance ? x.distance < y.distance : x.value.index < y.value.index;
  };
  if (!loop_entry && all_stay_[c] && candidates.size() <= registers) return;
  if (!loop_entry) {
    // Values in registers on all ways, then those on some; the others wait for their use.
    std::erase_if(candidates, [&](const Candidate& x) {
      return !x.everywhere && (x.distance >= kLoopExit || remat_[x.value.index]);
    });
    const auto rest =
        std::partition(candidates.begin(), candidates.end(), [](const Candidate& x) { return x.everywhere; });
    const auto on_all_ways = static_cast<std::size_t>(rest - candidates.begin());
    u32 wanted = 0;
    const bool keep_theirs = std::all_of(candidates.begin(), rest, [&](const Candidate& x) {
      const u8 r = merged(x.value).preferred; // of parameters, another one may want the same
      return r != kNone && (wanted & (1u << r)) == 0 && (wanted |= 1u << r) != 0;
    });
    if (keep_theirs && on_all_ways <= registers) {
      candidates.erase(take_first(rest, candidates.end(), registers - on_all_ways, nearer), candidates.end());
      return;
    }
  }
  for (Candidate& x : candidates)
    if (x.distance == kAsk) x.distance = next_use(x.value);
  for (Candidate& x : candidates) // what can be made anew has less of a claim, as in victim()
    if (remat_[x.value.index] && x.distance < kLoopExit / 2) x.distance *= 2;
  const auto begin = candidates.begin();
  if (!loop_entry) {
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
  std::size_t alive = live_.count_live_in(b, static_cast<RegClass>(c));
  for (const VReg p : part_.blocks[b].params) alive += cls(p) == c && next_[p.index] != kNever;
  const std::size_t through = alive - used;
  std::size_t inside = std::max<std::size_t>(
      live_.pressure[b][c] - std::min<std::size_t>(through, live_.pressure[b][c]), used);
  const auto leave_out_constants = [&](u32 distance) {
    const auto end = std::remove_if(candidates.begin(), outside, [&](const Candidate& x) {
      return remat_[x.value.index] && x.distance >= distance;
    });
    inside -= static_cast<std::size_t>(outside - end);
    outside = candidates.erase(end, outside);
  };
  // Under pressure a constant would only be thrown out again, and brought back at every back edge. Those for
  // ways that are hardly ever taken go first, in few rounds in any case: they are made there, not in front of
  // the loop. Those wanted as far away otherwise take as long either way.
  if (inside > registers || part_.blocks[b].few_rounds)
    leave_out_constants(2 * kColdEntry); // as doubled above
  if (inside > registers) leave_out_constants(0);
  auto end = take_first(candidates.begin(), outside, registers, nearer);
  if (inside < registers) {
    const auto placed = std::partition(
        outside, candidates.end(), [&](const Candidate& x) { return merged(x.value).preferred != kNone; });
    end = take_first(outside, placed, registers - inside, nearer); // `outside` begins where the used ones end
  }
  candidates.erase(end, candidates.end());
}

void Allocator::place_entry_values(u32 b, unsigned c) {
  const std::vector<Candidate>& chosen = candidates_[c];
  for (const Candidate& x : chosen) {
    u8 r = merged(x.value).preferred;
    if (options_.random_seed && random() % 4 == 0) continue;
    if (r != kNone && (allowed_[c] & ~occupied_[c]) >> r & 1) bind(c, r, x.value);
  }
  for (const Candidate& x : chosen)
    if (reg_[x.value.index] == kNone) bind(c, pick(allowed_[c] & ~occupied_[c], x.value), x.value);
  // Values coming around the back edges should end where the parameters start.
  const auto& params = part_.blocks[b].params;
  for (u32 i = 0; i < params.size(); ++i) {
    if (cls(params[i]) != c || reg_[params[i].index] == kNone) continue;
    for (Pred p : live_.preds(b)) {
      if (live_.rank[p.from] < live_.rank[b]) continue;
      hint(part_.edge_args(part_.blocks[p.from].term, p.n)[i], reg_[params[i].index]);
    }
  }
}

// What a predecessor had in a register and the block does not start with in one goes to its slot.
void Allocator::settle_unplaced(u32 b) {
  const u32 edges_weight = entry_weight(b);
  const u32 first = static_cast<u32>(entries_.size());
  const auto& params = part_.blocks[b].params;
  const auto start_with = [&](VReg v, u8 reg) {
    const bool stored = merged_[v.index].all_stored;
    stored_[v.index] = stored;
    entries_.push_back({v, reg, static_cast<u8>(cls(v)), stored});
  };
  for (const VReg v : merged_values_) { // in the order of their numbers, all but a few
    const u8 reg = reg_[v.index];
    if (reg != kNone) {
      start_with(v, reg);
    } else if (remat_[v.index] == 0) {
      has_slot_[v.index] = 1; // filled in front of a loop, at the definition or by the edges
      if (!merged_[v.index].all_stored && !store_before_loop(v) &&
          weight(live_.def_block[v.index]) <= edges_weight)
        at_def_[v.index] = 1;
    }
  }
  for (unsigned c = 0; c < kNumClasses; ++c) {
    if (all_stay_[c]) continue;
    for (const Candidate& x : candidates_[c])
      if (merged_[x.value.index].count == 0 && !is_parameter(x.value, b))
        start_with(x.value, reg_[x.value.index]);
  }
  sort_by_number(std::span(entries_).subspan(first));
  entry_through_[b] = static_cast<u32>(entries_.size()) - first;
  for (const VReg p : params) {
    if (next_[p.index] == kNever) continue;
    if (reg_[p.index] == kNone) {
      has_slot_[p.index] = 1;
      stored_[p.index] = 1;
    }
    entries_.push_back({p, reg_[p.index], static_cast<u8>(cls(p)), stored_[p.index] != 0});
  }
  entry_[b] = {first, static_cast<u32>(entries_.size()) - first};
}

void Allocator::leave_block(u32 b) {
  const u32 first = static_cast<u32>(exits_.size());
  const auto end_with = [&](VReg v, u8 r, u8 c) { exits_.push_back({v, r, c, stored_[v.index] != 0}); };
  u32 others[kNumClasses];
  std::copy(std::begin(occupied_), std::end(occupied_), others);
  const auto keep = [&](std::span<const ValueAt> entries) {
    for (const ValueAt& at : entries) {
      const u8 r = reg_[at.value.index];
      if (r == kNone) continue;
      others[at.cls] &= ~(1u << r);
      end_with(at.value, r, at.cls);
    }
  };
  if (exits_.capacity() - first < kMostRegisters)
    exits_.reserve(2 * exits_.capacity() + kMostRegisters); // before what is kept is looked at there
  // In the order of their numbers, all but what is new in the block.
  keep(goes_on(b) ? at_exit(live_.preds(b)[0].from) : at_entry(b).first(entry_through_[b]));
  const std::size_t sorted = exits_.size() - first;
  keep(at_entry(b).subspan(entry_through_[b]));
  for (u8 c = 0; c < kNumClasses; ++c)
    for (u32 set = others[c]; set; set &= set - 1) {
      const u8 r = static_cast<u8>(std::countr_zero(set));
      end_with(occupant_[c][r], r, c);
    }
  sort_by_number(std::span(exits_).subspan(first), sorted);
  exit_[b] = {first, static_cast<u32>(exits_.size()) - first};
  hint_successors(b);
}

// The first predecessor of a join decides which registers the others should leave the arguments in. An
// argument that lives on keeps its register to itself.
void Allocator::hint_successors(u32 b) {
  const Terminator& t = part_.blocks[b].term;
  for (u32 n = 0; n < t.num_targets(); ++n) {
    const u32 s = t.target[n].index;
    if (live_.rank[s] <= live_.rank[b]) continue;
    auto args = part_.edge_args(t, n);
    for (u32 i = 0; i < args.size(); ++i) {
      VReg p = part_.blocks[s].params[i];
      if (!args[i].is_virtual() || reg_[args[i].index] == kNone || hint_[p.index] != kNone) continue;
      if (live_.is_live_in(args[i], s)) continue;
      hint_[p.index] = reg_[args[i].index];
      for (Pred q : live_.preds(s))
        if (live_.rank[q.from] > live_.rank[b])
          hint(part_.edge_args(part_.blocks[q.from].term, q.n)[i], hint_[p.index]);
    }
  }
}

void Allocator::resolve_edge(u32 from, u32 n) {
  const Terminator& t = part_.blocks[from].term;
  const u32 to = t.target[n].index;
  StepRange& range = raw_edges_[n][from];
  range = {static_cast<u32>(raw_.size()), 0};
  if (goes_on(to)) return;
  u32 free[kNumClasses];
  std::copy(std::begin(allowed_), std::end(allowed_), free);
  const auto send = [&](VReg v, u8 reg, const ValueAt& destination) {
    Transfer x{part_.class_of(v), Transfer::Place::Reg, Transfer::Place::Reg};
    u32& others = free[static_cast<unsigned>(x.cls)];
    if (reg != kNone)
      x.from_reg = reg, others &= ~(1u << reg);
    else if (remat_[v.index])
      x.from = Transfer::Place::Remat, x.from_slot = live_.def_operand[v.index];
    else
      x.from = Transfer::Place::Slot, x.from_slot = slot_owner_[v.index];
    if (destination.reg == kNone)
      x.to = Transfer::Place::Slot, x.to_slot = slot_owner_[destination.value.index];
    else
      x.to_reg = destination.reg, others &= ~(1u << x.to_reg);
    transfers_.push_back(x);
  };
  const auto is_in_its_slot = [&](const ValueAt& at) {
    return at.stored || at_def_[at.value.index] || stored_around(at.value, from);
  };
  // What goes through, and what the block ends with, both in the order of their numbers.
  const auto exits = at_exit(from);
  const bool stays_in_loop = live_.in_loop(from, to); // What a loop starts with in memory stays there.
  auto through = at_entry(to).first(entry_through_[to]);
  for (const ValueAt& at : exits) {
    for (; !through.empty() && through[0].value.index < at.value.index; through = through.subspan(1))
      send(through[0].value, kNone, through[0]);
    const bool goes = !through.empty() && through[0].value == at.value;
    const bool wanted = !goes || through[0].stored; // in its slot
    if (!stays_in_loop && wanted && has_slot_[at.value.index] != 0 && !remat_[at.value.index] &&
        live_.is_live_in(at.value, to) && !is_in_its_slot(at))
      step(Step::Kind::Store, at.cls, 0, at.reg, at.value.index, 1);
    if (!goes) continue;
    if (at.reg == through[0].reg)
      free[at.cls] &= ~(1u << at.reg); // stays where it is
    else
      send(at.value, at.reg, through[0]);
    through = through.subspan(1);
  }
  for (const ValueAt& at : through) send(at.value, kNone, at);
  const auto& params = part_.blocks[to].params;
  auto args = part_.edge_args(t, n);
  auto entry_params = at_entry(to).subspan(entry_through_[to]);
  for (u32 i = 0; i < params.size() && !entry_params.empty(); ++i) {
    const ValueAt& param = entry_params.front();
    if (param.value != params[i]) continue;
    entry_params = entry_params.subspan(1);
    const VReg arg = args[i];
    const auto at =
        std::ranges::lower_bound(exits, arg.index, {}, [](const ValueAt& x) { return x.value.index; });
    const bool in_register = at != exits.end() && at->value == arg;
    // An argument's slot, if it is filled, may be the parameter's.
    const bool shares = param.reg == kNone && arg.is_virtual() && has_slot_[arg.index] &&
                        !remat_[arg.index] && slot_owner_[arg.index] == slot_owner_[param.value.index];
    if (!shares || (in_register && !is_in_its_slot(*at)))
      send(arg, arg.is_fixed() ? static_cast<u8>(arg.index) : in_register ? at->reg : kNone, param);
  }
  sequence(transfers_, free, raw_);
  range.count = static_cast<u32>(raw_.size()) - range.first;
}

} // namespace lanewise::x86
