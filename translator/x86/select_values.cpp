// Where values are: registers of the current phase, slots of the frame, or nowhere until wanted.
#include "translator/x86/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lanewise::x86 {

void Selector::set(ValueId v, Regs r) {
  if (type(v) == Type::V64 && !r.r[1].valid()) r.r[1] = r.r[0];
  const bool for_all = emitting_preamble_ || for_all_ || ir::is_uniform(type(v));
  (for_all ? shared_ : members_[owner(v)])[v.index] = {r, phase_, emitting_preamble_};
}

unsigned Selector::parts_to_make(InstId i) {
  if (type(f_.result(i)) != Type::V64) return 1;
  return std::ranges::all_of(f_.operands(i),
                             [&](ValueId x) { return type(x) == Type::V64 && is_in_one_register(x); })
             ? 1
             : 2;
}

bool Selector::is_same_in_lanes(ValueId v) {
  if (!same_in_lanes_) same_in_lanes_.emplace(f_);
  return same_in_lanes_->has(v);
}

unsigned Selector::owner(ValueId v) const {
  unsigned member = member_;
  if (is_same_in_row(v)) member -= member % row_size();
  if (is_same_in_column(v)) member %= row_size();
  return member;
}

const Selector::Location* Selector::location(ValueId v) const {
  if (shared_[v.index].phase == phase_) return &shared_[v.index];
  const Location& own = members_[owner(v)][v.index];
  return own.phase == phase_ ? &own : nullptr;
}

Regs Selector::regs(ValueId v) {
  if (const Location* at = location(v)) return at->regs;
  const Regs r = materialize(v);
  const ir::Inst* def = is_in_slot(v) || is_gang_recomputed(v) ? nullptr : f_.def(v);
  const bool repeated =
      def != nullptr && (def->op == Op::Splat || (def->op == Op::Const && type(v) != Type::Mask));
  const bool for_all = ir::is_uniform(type(v)) || repeated;
  (for_all ? shared_ : members_[owner(v)])[v.index] = {r, phase_, for_all};
  return r;
}

/// An argument where it lies, so that it need not be loaded before it is wanted, and not at all by what takes
/// operands from memory.
std::optional<Operand> Selector::argument(ValueId v) {
  const auto place = place_of_argument(f_, v);
  if (!place) return {};
  const View view = ir::is_wide(type(v)) ? View::R64 : View::R32;
  const auto in_header = static_cast<i64>(offsetof(runtime::WaveFrame, sgpr)) + 4 * i64{place->pointer_sgpr};
  if (!place->is_behind_pointer) return mem(kFrame, in_header, view);
  VReg& pointer = pointers_[place->pointer_sgpr];
  if (!pointer.valid())
    pointer = hoisted([&] { return b_->remat().load64(mem(kFrame, in_header, View::R64)); });
  return mem(pointer, static_cast<i64>(place->offset), view);
}

/// Whether the preamble can have `v`.
bool Selector::in_preamble(ValueId v) {
  if (const Location* at = location(v)) return at->preamble;
  if (place_of_argument(f_, v)) return true;
  if (is_gang_recomputed(v)) return false; // in the head
  const ir::Inst* def = f_.def(v);
  if (def != nullptr && def->op == Op::Const) return true;
  if (def != nullptr && def->op == Op::Splat && !frame_.has_slot(v))
    return in_preamble(f_.operands(f_.def_id(v))[0]);
  if (!ir::is_uniform(type(v))) return false;
  if (is_fused(v)) // wherever its user is
    return std::ranges::all_of(f_.operands(f_.def_id(v)), [&](ValueId x) { return in_preamble(x); });
  return is_in_slot(v);
}

bool Selector::is_in_slot(ValueId v) {
  if (!frame_.has_slot(v)) return false;
  if (frame_.slot[v.index] < runtime::kFrameSlots) return true; // In the header, always.
  const bool entry_param = f_.def(v) == nullptr && f_.def_block(v) == plan_.phases[phase_].entry;
  return entry_param || plan_.phase_of[f_.def_block(v).index].index != phase_;
}

Regs Selector::materialize(ValueId v) {
  const ir::Inst* def = f_.def(v);
  const Type t = type(v);
  if (is_in_slot(v)) {
    const BlockId here = b_->current();
    b_->at(ir::is_uniform(t) ? preamble_ : head_);
    const Regs r = load_slot(v, true);
    b_->at(here);
    return r;
  }
  if (is_gang_recomputed(v)) { // Not in the preamble: it differs from gang to gang.
    const BlockId here = b_->current();
    b_->at(head_);
    const ValueId source = f_.operands(f_.def_id(v))[0];
    const Regs r = def->op == Op::Splat ? splat(t, reg1(source)) : Regs{{first_lane(), VReg{}}};
    b_->at(here);
    return r;
  }
  if (def != nullptr && def->op == Op::LaneId) return {{lane_ids(), VReg{}}};
  return hoisted([&]() -> Regs {
    if (def != nullptr && def->op == Op::Const) {
      switch (t) {
      case Type::V32: return {{b_->splat32(static_cast<u32>(def->imm)), VReg{}}};
      case Type::V64: {
        const VReg r = b_->splat64(def->imm);
        return {{r, r}};
      }
      case Type::Mask: return {{constant_mask(def->imm), VReg{}}};
      case Type::U64:
      case Type::G64: return {{b_->const64(def->imm), VReg{}}};
      default: return {{b_->const32(static_cast<u32>(def->imm)), VReg{}}};
      }
    }
    if (const auto at = argument(v)) return {{t == Type::U64 ? b_->load64(*at) : b_->load32(*at), VReg{}}};
    if (def != nullptr && def->op == Op::Splat) {
      const ValueId source = f_.operands(f_.def_id(v))[0];
      if (location(source) == nullptr && ir::is_vector(t)) { // Straight from memory, if it is there.
        const bool wide = t == Type::V64, stored = is_in_slot(source);
        const auto at =
            stored ? mem(kFrame, frame_.slot[source.index], wide ? View::R64 : View::R32) : argument(source);
        if (at) { // From the frame it can be had again for nothing.
          Builder& b = stored ? b_->remat() : *b_;
          const VReg r = b.op(wide ? Inst::kIdVpbroadcastq : Inst::kIdVpbroadcastd, *at);
          return {{r, wide ? r : VReg{}}};
        }
      }
      return splat(t, reg1(source));
    }
    if (error_.empty())
      error_ = fmt::format("internal: v{} is used where it is not available, in phase {}", v.index, phase_);
    return {{b_->const32(0), VReg{}}};
  });
}

Regs Selector::load_slot(ValueId v, bool remat) {
  const u32 slot = frame_.slot[v.index];
  const Type t = type(v);
  if (t == Type::Mask) {
    const Operand at = mask_slice(slot);
    if (avx512()) return {{b_->load_k(at, 16), VReg{}}};
    return {{mask_from_bits(b_->op_r32(Inst::kIdMovzx, at)), VReg{}}};
  }
  Regs loaded;
  for (unsigned p = 0; p < parts(t); ++p) {
    const SlotPart part{t, slot, p};
    loaded.r[p] = load_slot(part, remat);
    if (remat) loaded_from_[loaded.r[p].index] = part;
  }
  return loaded;
}

VReg Selector::load_slot(const SlotPart& at, bool remat) {
  Builder& b = remat ? b_->remat() : *b_;
  switch (at.type) {
  case Type::U1:
  case Type::U32: return b.load32(mem(kFrame, at.slot, View::R32));
  case Type::U64: return b.load64(mem(kFrame, at.slot, View::R64));
  case Type::G1:
  case Type::G32: return b.load32(slice(at.slot, 0, View::R32));
  case Type::G64: return b.load64(slice(at.slot, 0, View::R64));
  default: return b.load_vec(slice(at.slot, at.part));
  }
}

void Selector::store_slot(Type t, u32 slot, Regs value) {
  switch (t) {
  case Type::U1:
  case Type::U32:
  case Type::U64: return b_->store64(mem(kFrame, slot, View::R64), value.r[0]);
  case Type::G1:
  case Type::G32:
  case Type::G64: return b_->store64(slice(slot, 0, View::R64), value.r[0]);
  case Type::V32:
  case Type::V64:
    for (unsigned p = 0; p < parts(t); ++p) b_->store_vec(slice(slot, p), value.r[p]);
    return;
  default: {
    const Operand at = mask_slice(slot);
    if (avx512()) return b_->store_k(at, value.r[0], 16);
    b_->emit(Inst::kIdMov, {at, r8(mask_to_bits(value.r[0]))});
  }
  }
}

Operand Selector::mask_slice(u32 slot) {
  // From kGang, though kFrame is the same: where the test of a stored mask finds its bytes by the base
  // register they were stored by, Zen 5 foresees wrongly what it gets (tiles of a matrix with AVX2 1.2 times
  // slower).
  if (goes_once()) return mem(kGang, slot + index_in_team(), avx512() ? View::R16 : View::R8);
  return mem_index(kFrame, gang_index(), 0, slot + index_in_team(), avx512() ? View::R16 : View::R8);
}

VReg Selector::gang_index() {
  assert(!goes_once());
  if (gang_index_.valid()) return gang_index_;
  const BlockId here = b_->current();
  b_->at(head_);
  VReg r = b_->op_r64(Inst::kIdMov, r64(kGang));
  r = b_->op_r64_tied(Inst::kIdSub, r, r64(kFrame));
  gang_index_ = b_->op_r64_tied(Inst::kIdShr, r, imm(5));
  b_->at(here);
  return gang_index_;
}

VReg Selector::constant_mask(u64 bits) {
  const u64 gang = avx512() ? 0xffff : 0xff;
  bool known = true; // in every gang; behind plan_.lanes, some may run to make up a team
  if (goes_once())
    bits >>= member_ * lanes();
  else
    for (unsigned g = 1; g < gangs(); ++g) known &= ((bits >> (g * lanes())) & gang) == (bits & gang);
  if (known) return constant_mask_of_gang(bits & gang);
  const BlockId here = b_->current();
  b_->at(head_);
  const VReg whole = b_->const64(bits);
  const VReg m = mask_from_bits(b_->op_r64(Inst::kIdShrx, r64(whole), r64(first_lane())));
  b_->at(here);
  return m;
}

VReg Selector::constant_mask_of_gang(u64 bits) {
  if (avx512()) return b_->mask_const(bits);
  std::array<u32, 8> rows{};
  for (unsigned l = 0; l < 8; ++l) rows[l] = (bits >> l & 1) != 0 ? ~0u : 0;
  return table(rows.data());
}

VReg Selector::mask_from_bits(VReg gpr) {
  if (avx512()) return b_->op_k(Inst::kIdKmovw, r32(gpr));
  static constexpr u32 kBits[] = {1, 2, 4, 8, 16, 32, 64, 128};
  const VReg low = b_->def(Inst::kIdVmovd, View::Xmm, {r32(gpr)});
  const VReg all = b_->op(Inst::kIdVpbroadcastd, xmm(low));
  const VReg bits = table(kBits);
  return b_->op(Inst::kIdVpcmpeqd, vand(all, bits), bits);
}

VReg Selector::mask_to_bits(VReg mask) {
  return avx512() ? b_->op_r32(Inst::kIdKmovw, k(mask)) : b_->op_r32(Inst::kIdVmovmskps, vec(mask));
}

VReg Selector::mask_of_u1(VReg bit) {
  const VReg all = b_->op_r32_tied(Inst::kIdNeg, bit);
  if (avx512()) return b_->op_k(Inst::kIdKmovw, r32(all));
  return splat(Type::V32, all).r[0];
}

Regs Selector::splat(Type t, VReg uniform) {
  if (t == Type::Mask) return {{mask_of_u1(uniform), VReg{}}};
  if (ir::is_scalar(t)) return {{uniform, VReg{}}};
  const bool wide = t == Type::V64;
  VReg r;
  if (avx512()) {
    r = b_->op(wide ? Inst::kIdVpbroadcastq : Inst::kIdVpbroadcastd, wide ? r64(uniform) : r32(uniform));
  } else {
    const VReg low =
        b_->def(wide ? Inst::kIdVmovq : Inst::kIdVmovd, View::Xmm, {wide ? r64(uniform) : r32(uniform)});
    r = b_->op(wide ? Inst::kIdVpbroadcastq : Inst::kIdVpbroadcastd, xmm(low));
  }
  return {{r, wide ? r : VReg{}}};
}

VReg Selector::first_lane() {
  if (goes_once()) return b_->const32(member_ * lanes());
  const VReg index = gang_index();
  const BlockId here = b_->current();
  b_->at(head_);
  const VReg first = b_->op_r32(Inst::kIdLea, mem_index(VReg{}, index, 3, 8 * index_in_team(), View::R32));
  b_->at(here);
  return first;
}

/// Made in the head of each gang: the gang's first lane, and splats of what differs from gang to gang.
bool Selector::is_gang_recomputed(ValueId v) const {
  const ir::Inst* def = f_.def(v);
  if (def == nullptr || !is_recomputed(f_, v)) return false;
  return def->op == Op::GangFirst ||
         (def->op == Op::Splat && ir::is_gang(type(f_.operands(f_.def_id(v))[0])));
}

VReg Selector::gang_first(ValueId v) {
  const bool wide = type(v) == Type::V64;
  if (location(v) == nullptr && is_in_slot(v)) {
    const Operand at = slice(frame_.slot[v.index], 0, wide ? View::R64 : View::R32);
    return wide ? b_->load64(at) : b_->load32(at);
  }
  const Operand low = xmm(reg1(v));
  return wide ? b_->op_r64(Inst::kIdVmovq, low) : b_->op_r32(Inst::kIdVmovd, low);
}

VReg Selector::gang_pick(ValueId v, ValueId mask) {
  const VReg m = reg1(mask);
  const bool wide = type(v) == Type::V64;
  const VReg lane = avx512() && !wide ? VReg{} : b_->op_r32(Inst::kIdTzcnt, r32(mask_to_bits(m)));
  if (!wide) return element_of_first(reg1(v), m, lane);
  if (avx512()) return qword_of(regs(v), lane);
  const VReg lo = element_of_first(narrow(regs(v), false), m, lane);
  const VReg hi = element_of_first(narrow(regs(v), true), m, lane);
  return join_gprs(lo, hi);
}

/// The same in all lanes, without a way through general-purpose registers.
Regs Selector::gang_pick_for_all(ValueId v, ValueId mask) {
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(mask_to_bits(reg1(mask))));
  if (type(v) != Type::V64) return {{b_->op(Inst::kIdVpermd, splat(Type::V32, lane).r[0], reg1(v)), VReg{}}};
  const Regs from = regs(v);
  VReg r;
  if (avx512()) {
    r = b_->op_tied(Inst::kIdVpermt2q, from.r[0], splat(Type::V64, lane).r[0], from.r[1]);
  } else { // The bit that tells the halves apart becomes the sign, and of dwords the index has three bits.
    static constexpr u32 kHalves[] = {0, 1, 0, 1, 0, 1, 0, 1};
    const VReg upper = splat(Type::V64, b_->op_r64_tied(Inst::kIdShl, b_->copy(lane), imm(61))).r[0];
    const VReg half = b_->op(Inst::kIdVblendvpd, from.r[0], from.r[1], upper);
    const VReg twice = b_->op_r32(Inst::kIdLea, mem_index(lane, lane, 0, 0, View::R32));
    const VReg index = b_->op(Inst::kIdVpaddd, splat(Type::V32, twice).r[0], table(kHalves));
    r = b_->op(Inst::kIdVpermd, index, half);
  }
  return {{r, r}};
}

VReg Selector::lane_ids() {
  std::array<u32, 16> iota{};
  std::iota(iota.begin(), iota.end(), goes_once() ? member_ * lanes() : 0);
  if (goes_once()) return table(iota.data());
  const BlockId here = b_->current();
  b_->at(head_);
  const VReg ids = b_->op(Inst::kIdVpaddd, splat(Type::V32, first_lane()).r[0], table(iota.data()));
  b_->at(here);
  return ids;
}

template <class T>
VReg Selector::table(const T* values) {
  return b_->vec_const({reinterpret_cast<const u8*>(values), module_.vec_bytes()});
}
template VReg Selector::table(const u8*);
template VReg Selector::table(const u32*);
template VReg Selector::table(const u64*);

} // namespace lanewise::x86
