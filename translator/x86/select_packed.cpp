// Instructions that are done for all members together, on bytes or half-words side by side
// (packed_values.hpp): kernels whose work-items have a byte or a half-word each take a quarter or half as
// many instructions. What the members have of their own is packed where it is wanted, and the other way round
// where it is made. Loads and stores of which some lanes take no part are done by the members, each for
// itself.
#include "translator/x86/selector.hpp"

#include <algorithm>

namespace lanewise::x86 {

namespace {

/// Ops that are one instruction per register.
struct PackedBinary {
  Op op;
  u32 bytes, words; ///< 0 where there is none
};
constexpr PackedBinary kBinary[] = {
    {Op::Add, Inst::kIdVpaddb, Inst::kIdVpaddw},
    {Op::Add16, Inst::kIdVpaddb, Inst::kIdVpaddw},
    {Op::Sub, Inst::kIdVpsubb, Inst::kIdVpsubw},
    {Op::Sub16, Inst::kIdVpsubb, Inst::kIdVpsubw},
    {Op::Mul, 0, Inst::kIdVpmullw},
    {Op::Mul16, 0, Inst::kIdVpmullw},
    {Op::UMin, Inst::kIdVpminub, Inst::kIdVpminuw},
    {Op::UMax, Inst::kIdVpmaxub, Inst::kIdVpmaxuw},
    {Op::SMin, Inst::kIdVpminsb, Inst::kIdVpminsw},
    {Op::SMax, Inst::kIdVpmaxsb, Inst::kIdVpmaxsw},
    {Op::UMin16, 0, Inst::kIdVpminuw},
    {Op::UMax16, 0, Inst::kIdVpmaxuw},
    {Op::SMin16, 0, Inst::kIdVpminsw},
    {Op::SMax16, 0, Inst::kIdVpmaxsw},
    {Op::SAdd16, 0, Inst::kIdVpaddsw},
    {Op::UAdd16, 0, Inst::kIdVpaddusw},
    {Op::SSub16, 0, Inst::kIdVpsubsw},
    {Op::USub16, 0, Inst::kIdVpsubusw},
};

u32 low_bits(unsigned bits) { return (u32{1} << bits) - 1; }

} // namespace

void Selector::find_packed() {
  packed_.reset();
  if (interleave_ % 2 != 0 || !may_be_packed(f_, plan_.phases[phase_])) return;
  packed_.emplace(PackedValues::Context{
      .f = f_,
      .plan = plan_,
      .phase = phase_,
      .members = interleave_,
      .avx512 = avx512(),
      .use_counts = use_counts_,
      .limits = limits(),
      .is_row = [this](InstId i) { return row_members(i) == interleave_; },
  });
  packed_regs_.clear();
}

/// A constant in each element.
VReg Selector::packed_const(unsigned bits, u32 value) {
  value &= low_bits(bits);
  return b_->splat32(bits == 8 ? value * 0x01010101u : value * 0x00010001u);
}

VReg Selector::packed_mask_const(unsigned bits, bool all) {
  if (!avx512()) return b_->splat32(all ? ~0u : 0);
  return b_->mask_const(!all ? 0 : bits == 8 ? ~u64{0} : 0xffff'ffff);
}

/// The packed form of any value, made here if it is not there yet.
Regs Selector::packed_value(ValueId v, unsigned bits) {
  if (const auto at = packed_regs_.find({v, bits}); at != packed_regs_.end()) return at->second;
  u64 constant = 0;
  const bool is_const = f_.is_const(v, &constant);
  const auto both = [](VReg r) { return Regs{{r, r}}; };
  if (is_const && type(v) == Type::V32) return both(packed_const(bits, static_cast<u32>(constant)));
  if (is_const && (constant == 0 || ~constant == 0)) return both(packed_mask_const(bits, constant != 0));
  Regs r;
  const bool same = type(v) == Type::V32 && f_.def(v) != nullptr && f_.def(v)->op == Op::Splat &&
                    !ir::is_gang(type(f_.operands(f_.def_id(v))[0]));
  if (same) {
    const auto repeat = [&] {
      std::array<u8, 16> from{};
      for (unsigned n = 0; n < from.size(); ++n) from[n] = static_cast<u8>(bits == 8 ? 0 : n % 2);
      return b_->op(Inst::kIdVpshufb, reg1(v), or_mem(byte_table(from.data())));
    };
    const bool always = in_preamble(v);
    r = both(always ? hoisted(repeat) : repeat());
    if (always) return packed_regs_[{v, bits}] = r;
  } else {
    r = type(v) == Type::Mask ? pack_masks(v, bits) : pack(v, bits);
  }
  packed_here_.emplace_back(v, bits);
  return packed_regs_[{v, bits}] = r;
}

/// What has been packed in one block may not be there in the next.
void Selector::forget_packed() {
  for (const auto& key : packed_here_) packed_regs_.erase(key);
  packed_here_.clear();
}

VReg Selector::reg_of_member(ValueId v, unsigned member) {
  const unsigned own = std::exchange(member_, member);
  const VReg r = reg1(v);
  member_ = own;
  return r;
}

Regs Selector::pack(ValueId v, unsigned bits) {
  const bool cut = !packed_->is_zero_extended(v, bits);
  const auto member = [&](unsigned m) {
    const VReg r = reg_of_member(v, m);
    return cut && !avx512() ? vand(r, b_->splat32(low_bits(bits))) : r;
  };
  const unsigned each = bits == 8 ? 4 : 2; // members in a register
  Regs out;
  for (unsigned p = 0; p < interleave_ / each; ++p) {
    const unsigned first = p * each;
    if (avx512()) {
      const View view = bits == 8 ? View::Xmm : View::Half;
      out.r[p] = b_->def(bits == 8 ? Inst::kIdVpmovdb : Inst::kIdVpmovdw, view, {vec(member(first))});
      for (unsigned n = 1; n < each; ++n) {
        const VReg low =
            b_->def(bits == 8 ? Inst::kIdVpmovdb : Inst::kIdVpmovdw, view, {vec(member(first + n))});
        out.r[p] = b_->op(bits == 8 ? Inst::kIdVinserti32x4 : Inst::kIdVinserti64x4, out.r[p], reg(low, view),
                          imm(n));
      }
      continue;
    }
    const auto two = [&](unsigned m) {
      const VReg low = member(m);
      return b_->op(Inst::kIdVpackusdw, low, member(m + 1));
    };
    out.r[p] = two(first);
    if (bits == 8) out.r[p] = b_->op(Inst::kIdVpackuswb, out.r[p], two(first + 2));
    out.r[p] = in_lane_order(out.r[p], bits);
  }
  return out;
}

/// AVX2 packs the halves of registers each for itself: words made of dwords, or bytes made of these.
VReg Selector::in_lane_order(VReg r, unsigned bits) {
  if (bits == 16) return b_->op(Inst::kIdVpermq, r, imm(0xd8));
  static constexpr u32 kOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  return b_->op(Inst::kIdVpermd, table(kOrder), r);
}

Regs Selector::pack_masks(ValueId v, unsigned bits) {
  Regs out;
  const unsigned each = bits == 8 ? 4 : 2;
  for (unsigned p = 0; p < interleave_ / each; ++p) {
    const auto two = [&](unsigned m) {
      const VReg low = reg_of_member(v, m), high = reg_of_member(v, m + 1);
      return avx512() ? b_->op_k(Inst::kIdKunpckwd, high, low) : b_->op(Inst::kIdVpackssdw, low, high);
    };
    VReg r = two(p * each);
    if (bits == 8) {
      const VReg high = two(p * each + 2);
      r = avx512() ? b_->op_k(Inst::kIdKunpckdq, high, r) : b_->op(Inst::kIdVpacksswb, r, high);
    }
    out.r[p] = avx512() ? r : in_lane_order(r, bits);
  }
  return out;
}

/// The current member's part of a packed value.
VReg Selector::unpack(Regs packed, unsigned bits, bool is_signed) {
  const unsigned each = bits == 8 ? 4 : 2, n = member_ % each;
  const VReg all = packed.r[member_ / each];
  if (bits == 16) return b_->op(is_signed ? Inst::kIdVpmovsxwd : Inst::kIdVpmovzxwd, half(half_of(all, n)));
  VReg part = all;
  if (avx512() && n != 0) part = b_->def(Inst::kIdVextracti32x4, View::Xmm, {vec(all), imm(n)});
  if (!avx512()) {
    if (n >= 2) part = b_->def(Inst::kIdVextracti128, View::Xmm, {vec(all), imm(1)});
    if (n % 2 != 0) part = b_->def(Inst::kIdVpsrldq, View::Xmm, {xmm(part), imm(8)});
  }
  return b_->op(is_signed ? Inst::kIdVpmovsxbd : Inst::kIdVpmovzxbd, xmm(part));
}

VReg Selector::unpack_mask(Regs packed, unsigned bits) {
  if (!avx512()) return unpack(packed, bits, true);
  const unsigned each = bits == 8 ? 4 : 2, n = member_ % each;
  VReg part = packed.r[member_ / each];
  if (n != 0) part = b_->op_k(Inst::kIdKshiftrq, part, imm(16 * n));
  return b_->op_k(Inst::kIdKmovw, k(part)); // without those above
}

/// Gives each member its part of what has been packed.
void Selector::set_members(ValueId v, Regs packed, unsigned bits) {
  const bool is_signed =
      type(v) == Type::V32 && !packed_->is_zero_extended(v, bits) && packed_->is_sign_extended(v, bits);
  for_each_member(
      [&] { set(v, type(v) == Type::Mask ? unpack_mask(packed, bits) : unpack(packed, bits, is_signed)); });
}

void Selector::forget_members(ValueId v) {
  for (unsigned m = 0; m < interleave_; ++m) members_[m][v.index].phase = ~0u;
}

void Selector::packed_inst(InstId i) {
  if (packed_->is_absorbed(i)) return;
  const unsigned bits = packed_->bits(i), registers = interleave_ * bits / 32;
  const ir::Inst& inst = f_[i];
  if (inst.op == Op::Store) return packed_access(i, bits);
  const ValueId v = f_.result(i);
  if (inst.op == Op::Load) {
    packed_access(i, bits);
  } else {
    Regs out;
    std::vector<Regs> in;
    if (inst.op != Op::LShr && inst.op != Op::AShr)
      for (const ValueId x : f_.operands(i))
        if (ir::is_per_lane(type(x))) in.push_back(packed_value(x, bits));
    for (unsigned p = 0; p < registers; ++p)
      out.r[p] = type(v) == Type::Mask ? packed_mask(i, bits, in, p) : packed_operation(i, bits, in, p);
    packed_regs_[{v, bits}] = out;
  }
  if (packed_->is_unpacked(v)) set_members(v, packed_regs_[{v, bits}], bits);
}

VReg Selector::packed_operation(InstId i, unsigned bits, std::span<const Regs> in, unsigned p) {
  const ir::Inst& inst = f_[i];
  const bool bytes = bits == 8;
  const auto x = [&](unsigned n) { return in[n].r[p]; };
  for (const PackedBinary& rule : kBinary) {
    if (rule.op != inst.op) continue;
    Op op = inst.op; // As numbers without a sign, if there are only zeros above.
    if ((op == Op::SMin || op == Op::SMax) && is_packed_unsigned(i, bits))
      op = op == Op::SMin ? Op::UMin : Op::UMax;
    const PackedBinary& used = *std::ranges::find(kBinary, op, &PackedBinary::op);
    const u32 id = bytes ? used.bytes : used.words;
    return id == 0 ? multiply_bytes(x(0), x(1)) : b_->op(id, x(0), or_mem(x(1)));
  }
  switch (inst.op) {
  case Op::And: return vand(x(0), x(1));
  case Op::Or: return vor(x(0), x(1));
  case Op::Xor: return vxor(x(0), x(1));
  case Op::AndNot: return vandn(x(1), x(0));
  case Op::Not: return vnot(x(0));
  case Op::BitSelect: return vor(vand(x(0), x(1)), vandn(x(0), x(2)));
  case Op::Select:
    if (!avx512()) return b_->op(Inst::kIdVpblendvb, x(2), x(1), x(0));
    b_->with_mask(x(0));
    return b_->op(bytes ? Inst::kIdVpblendmb : Inst::kIdVpblendmw, x(2), x(1));
  case Op::PopCount: return packed_popcount(x(0), bits);
  case Op::Shl: {
    u64 amount = f_.def(f_.operands(i)[1])->imm; // It is a constant.
    amount &= 31;
    if (amount >= bits) return b_->splat32(0);
    const VReg r = b_->op(Inst::kIdVpsllw, x(0), imm(static_cast<i64>(amount)));
    return bytes ? vand(r, packed_const(8, 0xffu << amount)) : r;
  }
  default: return packed_right_shift(i, bits, p);
  }
}

/// Minimum and comparison take what is above the lower bits as zeros.
bool Selector::is_packed_unsigned(InstId i, unsigned bits) const {
  return std::ranges::all_of(f_.operands(i), [&](ValueId v) { return packed_->is_zero_extended(v, bits); });
}

VReg Selector::packed_right_shift(InstId i, unsigned bits, unsigned p) {
  const auto shift = *packed_->right_shift(i, bits);
  const VReg x = packed_value(shift.source, bits).r[p];
  const bool is_signed = f_[i].op == Op::AShr;
  const unsigned n = is_signed ? std::min(shift.amount, bits - 1) : shift.amount;
  VReg r = shift.reversed ? reverse_bits_of_bytes(x) : x;
  if (n == 0) return r;
  if (n >= bits) return b_->splat32(0);
  if (bits == 16) return b_->op(is_signed ? Inst::kIdVpsraw : Inst::kIdVpsrlw, r, imm(n));
  r = vand(b_->op(Inst::kIdVpsrlw, r, imm(n)), packed_const(8, 0xffu >> n));
  if (!is_signed) return r;
  const VReg sign = packed_const(8, 0x80u >> n);
  return b_->op(Inst::kIdVpsubb, vxor(r, sign), sign);
}

/// The lower bytes of products; x86 multiplies words.
VReg Selector::multiply_bytes(VReg a, VReg b) {
  const VReg even = b_->op(Inst::kIdVpmullw, a, b), upper = b_->splat32(0xff00ff00);
  const VReg odd = b_->op(Inst::kIdVpmullw, b_->op(Inst::kIdVpsrlw, a, imm(8)), vand(b, upper));
  return vor(vandn(upper, even), odd);
}

VReg Selector::packed_popcount(VReg v, unsigned bits) {
  const VReg bytes = popcount_of_bytes(v);
  return bits == 8 ? bytes : b_->op(Inst::kIdVpmaddubsw, bytes, b_->splat32(0x01010101));
}

VReg Selector::packed_mask(InstId i, unsigned bits, std::span<const Regs> in, unsigned p) {
  const ir::Inst& inst = f_[i];
  const auto x = [&](unsigned n) { return in[n].r[p]; };
  const auto either = [&](u32 k_id, u32 vec_id, VReg a, VReg b) {
    return avx512() ? b_->op_k(k_id, a, b) : b_->op(vec_id, a, b);
  };
  switch (inst.op) {
  case Op::And: return either(Inst::kIdKandq, Inst::kIdVpand, x(0), x(1));
  case Op::Or: return either(Inst::kIdKorq, Inst::kIdVpor, x(0), x(1));
  case Op::Xor: return either(Inst::kIdKxorq, Inst::kIdVpxor, x(0), x(1));
  case Op::AndNot: return either(Inst::kIdKandnq, Inst::kIdVpandn, x(1), x(0));
  case Op::Not: return either(Inst::kIdKxorq, Inst::kIdVpxor, x(0), packed_mask_const(bits, true));
  case Op::BitSelect:
  case Op::Select: {
    const VReg some = either(Inst::kIdKandq, Inst::kIdVpand, x(0), x(1));
    return either(Inst::kIdKorq, Inst::kIdVpor, some, either(Inst::kIdKandnq, Inst::kIdVpandn, x(0), x(2)));
  }
  default: break;
  }
  return packed_compare(static_cast<ir::IntPred>(inst.imm), is_packed_unsigned(i, bits), bits, x(0), x(1));
}

VReg Selector::packed_compare(ir::IntPred pred, bool zeros_above, unsigned bits, VReg a, VReg b) {
  using ir::IntPred;
  const bool bytes = bits == 8, is_signed = pred >= IntPred::SLt && !zeros_above;
  static constexpr u8 kImmediates[] = {0, 4, 1, 2, 6, 5, 1, 2, 6, 5};
  static constexpr IntPred kUnsigned[] = {IntPred::ULt, IntPred::ULe, IntPred::UGt, IntPred::UGe};
  if (avx512()) {
    const u32 id = bytes ? (is_signed ? Inst::kIdVpcmpb : Inst::kIdVpcmpub)
                         : (is_signed ? Inst::kIdVpcmpw : Inst::kIdVpcmpuw);
    return b_->op_k(id, vec(a), or_mem(vec(b)), imm(kImmediates[static_cast<unsigned>(pred)]));
  }
  if (pred >= IntPred::SLt && !is_signed)
    pred = kUnsigned[static_cast<unsigned>(pred) - static_cast<unsigned>(IntPred::SLt)];
  const auto equal = [&](VReg x, VReg y) {
    return b_->op(bytes ? Inst::kIdVpcmpeqb : Inst::kIdVpcmpeqw, x, or_mem(y));
  };
  const auto greater = [&](VReg x, VReg y) {
    return b_->op(bytes ? Inst::kIdVpcmpgtb : Inst::kIdVpcmpgtw, x, or_mem(y));
  };
  const auto at_most = [&](VReg x, VReg y) {
    return equal(b_->op(bytes ? Inst::kIdVpminub : Inst::kIdVpminuw, x, or_mem(y)), x);
  };
  switch (pred) {
  case IntPred::Eq: return equal(a, b);
  case IntPred::Ne: return vnot(equal(a, b));
  case IntPred::ULe: return at_most(a, b);
  case IntPred::UGe: return at_most(b, a);
  case IntPred::UGt: return vnot(at_most(a, b));
  case IntPred::ULt: return vnot(at_most(b, a));
  case IntPred::SGt: return greater(a, b);
  case IntPred::SLt: return greater(b, a);
  case IntPred::SLe: return vnot(greater(a, b));
  case IntPred::SGe: return vnot(greater(b, a));
  }
  return a;
}

/// A load or store of all members' elements, if all lanes take part and the row does not wrap; else each
/// member does its own.
void Selector::packed_access(InstId i, unsigned bits) {
  const ir::Inst& inst = f_[i];
  const auto x = f_.operands(i);
  const unsigned address = ir::address_operands(inst.mem);
  const bool loads = inst.op == Op::Load, wraps = inst.mem.form == ir::AddressForm::Wrapped;
  const ValueId mask = x.back(), v = loads ? f_.result(i) : x[address];
  Regs all = loads ? Regs{} : packed_value(v, bits);
  const auto together = [&] {
    const VReg start = wraps ? start_of_wrapped(i, reg1(x[0]), reg1(x[1])) : reg1(x[0]);
    for_each_member([&] { fetch_ahead(i, start, i64{member_} * lanes() * inst.mem.bytes, inst.mem.bytes); });
    if (loads)
      all = load_packed(i, start, bits);
    else
      store_packed(i, start, all, bits);
  };
  if (f_.is_full(mask) && !wraps) {
    together();
    if (loads) packed_regs_[{v, bits}] = all;
    return;
  }

  const bool have_own = !loads && (packed_->bits(v) == 0 || packed_->is_unpacked(v));
  for (unsigned n = 0; n < address; ++n) (void)reg1(x[n]); // Both ways see them.
  for_each_member([&] {
    (void)reg1(mask);
    if (have_own) (void)reg1(v);
  });
  const unsigned registers = loads ? interleave_ * bits / 32 : 0;
  const BlockId apart = b_->add_block(true), join = b_->add_block();
  std::array<VReg, 2> params{};
  for (unsigned p = 0; p < registers; ++p) params[p] = b_->add_param(join, RegClass::Vec);
  if (!f_.is_full(mask)) {
    VReg every = reg1(mask);
    for (unsigned m = 1; m < interleave_; ++m) every = mask_and(every, reg_of_member(mask, m));
    CondCode partial{};
    test_all(every, partial);
    branch_away(partial, apart);
  }
  if (wraps) branch_away(compare_wrapped(i, interleave_, reg1(x[1])), apart);
  together();
  b_->jump(join, {all.r, registers});

  b_->at(apart);
  if (!loads && !have_own) set_members(v, all, bits);
  for_each_member([&] { (void)memory_inst(i); });
  if (loads) all = pack(v, bits);
  if (!have_own) forget_members(v);
  b_->jump(join, {all.r, registers});
  b_->at(join);
  if (loads) packed_regs_[{v, bits}] = Regs{{params[0], params[1]}};
}

Regs Selector::load_packed(InstId i, VReg start, unsigned bits) {
  const ir::MemAttr& attr = f_[i].mem;
  const unsigned elements = 8 * module_.vec_bytes() / bits;
  Regs out;
  for (unsigned p = 0; p < interleave_ * bits / 32; ++p) {
    const i64 disp = static_cast<i32>(f_[i].imm) + i64{p} * elements * attr.bytes;
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = attr.bytes,
                .lane_offset = static_cast<u8>(p * elements)});
    out.r[p] = 8u * attr.bytes == bits ? b_->load_vec(mem(start, disp))
                                       : b_->op(attr.sign_extend ? Inst::kIdVpmovsxbw : Inst::kIdVpmovzxbw,
                                                mem(start, disp, View::Half));
  }
  return out;
}

void Selector::store_packed(InstId i, VReg start, Regs data, unsigned bits) {
  const ir::MemAttr& attr = f_[i].mem;
  const unsigned elements = 8 * module_.vec_bytes() / bits, registers = interleave_ * bits / 32;
  const auto at = [&](unsigned p, View view) {
    b_->faults({.kind = FaultSite::Kind::Contiguous,
                .bytes = attr.bytes,
                .lane_offset = static_cast<u8>(p * elements),
                .is_write = true});
    return mem(start, static_cast<i32>(f_[i].imm) + i64{p} * elements * attr.bytes, view);
  };
  if (8u * attr.bytes == bits) {
    for (unsigned p = 0; p < registers; ++p) b_->store_vec(at(p, View::Full), data.r[p]);
    return;
  }
  if (avx512()) {
    for (unsigned p = 0; p < registers; ++p) b_->emit(Inst::kIdVpmovwb, {at(p, View::Half), vec(data.r[p])});
    return;
  }
  for (unsigned p = 0; p < registers; ++p) data.r[p] = vand(data.r[p], b_->splat32(0x00ff00ff));
  const VReg bytes = in_lane_order(b_->op(Inst::kIdVpackuswb, data.r[0], data.r[registers - 1]), 16);
  if (registers == 2) return b_->store_vec(at(0, View::Full), bytes);
  b_->emit(Inst::kIdVmovups, {at(0, View::Xmm), xmm(bytes)});
}

} // namespace lanewise::x86
