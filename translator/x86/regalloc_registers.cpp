// The register files: taking, giving up, wishing.
#include "translator/x86/allocator.hpp"

namespace lanewise::x86 {

// -------------------------------------------------------------------------------------------------------------

u8 Allocator::make_room(unsigned c) {
  const u32 candidates = occupied_[c] & ~locked_[c];
  const u8 r = victim(c, candidates);
  if (r == kNone) {
    error_ = "an instruction needs more registers than there are";
    return kNone;
  }
  evict(c, r);
  return r;
}

u8 Allocator::pick_at_random(u32 set) {
  for (u32 skip = random() % static_cast<u32>(std::popcount(set)); skip; --skip) set &= set - 1;
  return static_cast<u8>(std::countr_zero(set));
}

// The value used furthest away; one whose slot or definition already serves counts as twice as far.
u8 Allocator::victim(unsigned c, u32 candidates) {
  u8 best = kNone;
  u64 best_key = 0;
  for (u32 set = candidates; set; set &= set - 1) {
    const u8 r = static_cast<u8>(std::countr_zero(set));
    if (!occupant_[c][r].valid()) continue;
    const u32 v = occupant_[c][r].index;
    u64 key = u64{next_use(occupant_[c][r])} - position_ + 1;
    if (remat_[v] || at_def_[v] || stored_[v]) key *= 2;
    if (options_.random_seed) key = 1 + random();
    if (key > best_key) best_key = key, best = r;
  }
  return best;
}

void Allocator::evict(unsigned c, u8 r) {
  const VReg v = occupant_[c][r];
  unbind(c, r);
  if (hint_[v.index] == kNone) hint_[v.index] = r;
  if (remat_[v.index]) return;
  has_slot_[v.index] = 1;
  const bool was_stored = stored_[v.index] || stored_around(v, block_);
  stored_[v.index] = 1;
  if (was_stored || at_def_[v.index] || store_before_loop(v)) return;
  if (weight(live_.def_block[v.index]) <= weight(block_))
    at_def_[v.index] = 1;
  else
    step(Step::Kind::Store, c, 0, r, v.index, 1);
}

// The edges into b from outside its loop run as often as the heaviest block they come from.
u32 Allocator::entry_weight(u32 b) const {
  u32 heaviest = 0;
  for (Pred p : live_.preds(b))
    if (live_.rank[p.from] < live_.rank[b]) heaviest = std::max(heaviest, weight(p.from));
  return std::min(heaviest, weight(b));
}

// A value out of one loop that loses its register in another one is best stored in between: on the edges into
// the outermost loop around here that does not contain the definition. False if that saves nothing.
bool Allocator::store_before_loop(VReg v) {
  const u32 def = live_.def_block[v.index];
  u32 outermost = kNever;
  for (u32 h = live_.loop_header[block_]; h != kNever && !live_.in_loop(def, h); h = live_.loop_parent[h])
    outermost = h;
  if (outermost == kNever || entry_weight(outermost) >= weight(def)) return false;
  for (ValueAt& at : at_entry(outermost))
    if (at.value == v) {
      at.stored = true;
      stored_in_loop_[v.index] = outermost;
      return true;
    }
  return false;
}

// Wishes for register r, for v and for the values it takes its register over from.
void Allocator::hint(VReg v, u8 r) {
  for (int depth = 0; depth < 8 && v.is_virtual() && hint_[v.index] == kNone; ++depth) {
    hint_[v.index] = r;
    const u32 def = live_.def_operand[v.index];
    if (def == kNever || !part_.operands[def].is_tied()) return;
    v = part_.operands[def].tied;
  }
}

void Allocator::bring(unsigned c, u8 r, VReg v) {
  if (remat_[v.index])
    step(Step::Kind::Remat, c, r, 0, live_.def_operand[v.index]);
  else
    step(Step::Kind::Load, c, r, 0, v.index);
  stored_[v.index] = 1;
}

} // namespace lanewise::x86
