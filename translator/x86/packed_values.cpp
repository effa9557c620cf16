#include "translator/x86/packed_values.hpp"
#include "translator/ir/rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace lanewise::x86 {

using ir::InstId;
using ir::Op;
using ir::Type;
using ir::ValueId;

namespace {

constexpr unsigned kMaxDepth = 8; ///< of definitions

/// A load or store of consecutive bytes or half-words.
bool is_narrow_row(const ir::Inst& inst) {
  const ir::MemAttr& mem = inst.mem;
  if ((inst.op != Op::Load && inst.op != Op::Store) || mem.space != ir::Space::Global || mem.bytes > 2)
    return false;
  return (mem.form == ir::AddressForm::Wrapped || mem.form == ir::AddressForm::Row) &&
         ir::is_consecutive(mem);
}

/// The operands that are packed, of a load or store the lanes' data.
std::span<const ValueId> lanes_of(const ir::Function& f, InstId i) {
  if (f[i].op == Op::Load) return {};
  return f[i].op == Op::Store ? ir::stored_by(f, i) : f.operands(i);
}

} // namespace

bool may_be_packed(const ir::Function& f, const phases::Phase& phase) {
  return std::ranges::any_of(phase.blocks, [&](ir::BlockId b) {
    return std::ranges::any_of(f[b].insts, [&](InstId i) { return is_narrow_row(f[i]); });
  });
}

PackedValues::PackedValues(const Context& context)
    : f_(context.f), context_(context), bits_(context.f.num_insts(), 0),
      absorbed_(context.f.num_insts(), false), unpacked_(context.f.num_values(), false) {
  for (const unsigned bits : {8u, 16u}) find(bits);
  note_users();
}

bool PackedValues::is_sign_extended(ValueId v, unsigned bits, unsigned depth) const {
  if (context_.limits.max(v) >> (bits - 1) == 0) return true;
  const ir::Inst* def = f_.def(v);
  if (def == nullptr || f_.type(v) != Type::V32 || depth > kMaxDepth) return false;
  const auto x = f_.operands(f_.def_id(v));
  const auto all = [&](std::span<const ValueId> values) {
    return std::ranges::all_of(values, [&](ValueId s) { return is_sign_extended(s, bits, depth + 1); });
  };
  u64 c = 0;
  switch (def->op) {
  case Op::Const: {
    const auto value = static_cast<i32>(def->imm);
    return value >> (bits - 1) == value >> 31;
  }
  case Op::Load: return def->mem.sign_extend && 8u * def->mem.bytes <= bits;
  case Op::AShr:
    return (f_.is_const(x[1], &c) && (c & 31) >= 32 - bits) || is_sign_extended(x[0], bits, depth + 1);
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::Not:
  case Op::SMin:
  case Op::SMax: return all(x);
  case Op::Select: return all(x.subspan(1));
  default: return false;
  }
}

std::optional<PackedValues::Shift> PackedValues::right_shift(InstId i, unsigned bits) const {
  const auto x = f_.operands(i);
  u64 amount = 0, up = 0;
  if (!f_.is_const(x[1], &amount)) return {};
  amount &= 31;
  const bool is_signed = f_[i].op == Op::AShr;
  const unsigned above = 32 - bits;
  if (const InstId def = f_.def_id(x[0]); def.valid() && is_here(def) && amount >= above) {
    const auto inner = static_cast<unsigned>(amount - above);
    if (f_[def].op == Op::Shl && f_.is_const(f_.operands(def)[1], &up) && (up & 31) == above)
      return Shift{f_.operands(def)[0], inner};
    if (f_[def].op == Op::BitRev && !is_signed && bits == 8) return Shift{f_.operands(def)[0], inner, true};
  }
  const bool known = is_signed ? is_sign_extended(x[0], bits) : is_zero_extended(x[0], bits);
  return known ? std::optional(Shift{x[0], static_cast<unsigned>(amount)}) : std::nullopt;
}

/// The values whose lower bits the packed instruction takes.
std::vector<ValueId> PackedValues::sources(InstId i, unsigned bits) const {
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  switch (inst.op) {
  case Op::Shl: return {x[0]};
  case Op::LShr:
  case Op::AShr:
    if (const auto shift = right_shift(i, bits)) return {shift->source};
    return {};
  default: {
    const auto all = lanes_of(f_, i);
    return {all.begin(), all.end()};
  }
  }
}

/// Above the lower `bits`, its two sources have zeros, or both have copies of the highest of these: they
/// compare as the lower bits do.
bool PackedValues::are_alike_above(InstId i, unsigned bits) const {
  const auto x = f_.operands(i);
  const auto both = [&](auto is) { return is(x[0]) && is(x[1]); };
  return both([&](ValueId v) { return is_zero_extended(v, bits); }) ||
         both([&](ValueId v) { return is_sign_extended(v, bits); });
}

/// Not only made of what is the same in all lanes, which is computed once for all gangs.
bool PackedValues::is_from_lanes(ValueId v, unsigned depth) const {
  const ir::Inst* def = f_.def(v);
  if (ir::is_uniform(f_.type(v))) return false;
  if (def == nullptr || depth > kMaxDepth || !ir::info(def->op).is(ir::kPure)) return true;
  if (def->op == Op::Const || def->op == Op::Splat) return false;
  const auto x = f_.operands(f_.def_id(v));
  return x.empty() || std::ranges::any_of(x, [&](ValueId s) { return is_from_lanes(s, depth + 1); });
}

bool PackedValues::can_be_packed(InstId i, unsigned bits) const {
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  u64 amount = 0;
  if (inst.op == Op::Load || inst.op == Op::Store) {
    const ir::MemAttr& mem = inst.mem;
    const bool fits = 8u * mem.bytes == bits || (mem.bytes == 1 && bits == 16);
    return is_narrow_row(inst) && fits && mem.retry == 0 && !mem.spread && !mem.streams && context_.is_row(i);
  }
  if (inst.num_results != 1 || !is_from_lanes(f_.result(i))) return false;
  const Type t = f_.type(f_.result(i));
  const auto is_vector = [&](ValueId v) { return f_.type(v) == Type::V32 || f_.type(v) == Type::Mask; };
  if (t != Type::V32 && t != Type::Mask) return false;
  switch (inst.op) {
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::AndNot:
  case Op::Not:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::Add16:
  case Op::Sub16:
  case Op::Mul16: return true;
  case Op::BitSelect:
  case Op::Select: return std::ranges::all_of(x, is_vector);
  case Op::Shl: return f_.is_const(x[1], &amount);
  case Op::LShr:
  case Op::AShr: return right_shift(i, bits).has_value();
  case Op::BitRev: return bits == 8; // Absorbed: what of it is packed says nothing.
  case Op::PopCount: return is_zero_extended(x[0], bits);
  case Op::ICmp:
  case Op::UMin:
  case Op::UMax:
  case Op::SMin:
  case Op::SMax: return f_.type(x[0]) == Type::V32 && are_alike_above(i, bits);
  case Op::SAdd16:
  case Op::UAdd16:
  case Op::SSub16:
  case Op::USub16:
  case Op::SMin16:
  case Op::SMax16:
  case Op::UMin16:
  case Op::UMax16: return bits == 16;
  default: return false;
  }
}

/// By how many x86 instructions it is shorter for all members together.
int PackedValues::gain(InstId i, unsigned bits) const {
  const ir::Inst& inst = f_[i];
  const bool bytes = bits == 8;
  int each = 1, packed = 1; // per member, per register
  switch (inst.op) {
  case Op::Store:
    if (!context_.avx512) each = 4;
    if (!bytes && inst.mem.bytes == 1) packed = 4;
    break;
  case Op::Mul:
  case Op::Mul16:
    each = inst.op == Op::Mul ? 2 : 1;
    if (bytes) packed = 6;
    break;
  case Op::Shl:
  case Op::LShr:
    if (bytes) packed = 2;
    break;
  case Op::AShr:
    if (bytes) packed = 4;
    break;
  case Op::PopCount:
    each = 8;
    packed = bytes ? 6 : 9;
    break;
  case Op::ICmp:
    if (!context_.avx512 && ir::is_unsigned(static_cast<ir::IntPred>(inst.imm))) each = packed = 2;
    break;
  default: break;
  }
  return each * static_cast<int>(context_.members) - packed * static_cast<int>(context_.members * bits / 32);
}

void PackedValues::find(unsigned bits) {
  constexpr unsigned kMostRegisters = 2;
  const unsigned all_bits = context_.members * bits; // of one lane of all members
  if (all_bits % 32 != 0 || all_bits > 32 * kMostRegisters) return;
  found_.clear();
  candidate_.assign(f_.num_insts(), false);
  for (const ir::BlockId b : context_.plan.phases[context_.phase].blocks)
    for (const InstId i : f_[b].insts) {
      if (bits_[i.index] != 0 || !can_be_packed(i, bits)) continue;
      candidate_[i.index] = true;
      found_.push_back(i);
    }
  while (drop_ambiguous(bits)) std::erase_if(found_, [&](InstId i) { return !candidate_[i.index]; });
  choose(bits);
}

/// Drops candidates with a result that somebody else looks at, whose lower bits do not tell the others, and
/// those that look at reversed bits, of which only shifts get the right ones.
bool PackedValues::drop_ambiguous(unsigned bits) {
  uses_.assign(f_.num_values(), 0);
  for (const InstId i : found_)
    for (const ValueId v : lanes_of(f_, i)) ++uses_[v.index];
  bool dropped = false;
  for (const InstId i : found_) {
    const auto is_reversed = [&](ValueId v) {
      const ir::Inst* def = f_.def(v);
      return def != nullptr && def->op == Op::BitRev && is_candidate(v);
    };
    bool keep = std::ranges::none_of(sources(i, bits), is_reversed);
    if (const ValueId v = f_[i].num_results != 0 ? f_.result(i) : ValueId{};
        v.valid() && f_.type(v) == Type::V32 && !is_used_packed(v))
      keep &= f_[i].op != Op::BitRev && (is_zero_extended(v, bits) || is_sign_extended(v, bits));
    candidate_[i.index] = keep;
    dropped |= !keep;
  }
  return dropped;
}

/// Decides for all candidates that hang together.
void PackedValues::choose(unsigned bits) {
  std::vector<u32> leader(f_.num_insts());
  std::iota(leader.begin(), leader.end(), 0u);
  const auto find_leader = [&](u32 i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  for (const InstId i : found_)
    for (const ValueId v : f_.operands(i))
      if (is_candidate(v)) leader[find_leader(i.index)] = find_leader(f_.def_id(v).index);
  const auto members = static_cast<int>(context_.members), conversion = 2 * members;
  std::map<u32, int> gains;
  std::set<std::pair<u32, ValueId>> converted;
  for (const InstId i : found_) {
    const u32 of = find_leader(i.index);
    gains[of] += gain(i, bits);
    for (const ValueId v : sources(i, bits))
      if (!is_candidate(v) && is_from_lanes(v) && converted.emplace(of, v).second) gains[of] -= conversion;
    if (f_[i].num_results != 0 && !is_used_packed(f_.result(i))) gains[of] -= conversion;
  }
  for (const auto& [of, gained] : gains)
    if (gained >= members) saved_ += gained;
  for (const InstId i : found_)
    if (gains[find_leader(i.index)] >= members) bits_[i.index] = static_cast<u8>(bits);
}

void PackedValues::note_users() {
  std::vector<u32> read(f_.num_values(), 0), looked_through(f_.num_values(), 0);
  const auto& blocks = context_.plan.phases[context_.phase].blocks;
  for (const ir::BlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      if (bits_[i.index] == 0) continue;
      const auto packed = sources(i, bits_[i.index]);
      for (const ValueId v : lanes_of(f_, i)) {
        if (bits(v) != bits_[i.index]) continue;
        ++(std::ranges::find(packed, v) == packed.end() ? looked_through : read)[v.index];
      }
    }
  for (const ir::BlockId b : blocks)
    for (const InstId i : f_[b].insts) {
      if (bits_[i.index] == 0 || f_[i].num_results == 0) continue;
      const u32 v = f_.result(i).index, uses = context_.use_counts[v];
      absorbed_[i.index] = uses != 0 && uses == looked_through[v];
      unpacked_[v] = uses != looked_through[v] + read[v];
    }
}

} // namespace lanewise::x86
