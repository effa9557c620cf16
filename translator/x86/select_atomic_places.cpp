// Atomics without result whose lanes may go to the same places, as votes do.
#include "translator/x86/select_atomic.hpp"

#include <array>

namespace lanewise::x86 {

/// Does a lock take longer than to see which lanes go to the same address?
bool Selector::combines_by_address(InstId i) {
  const ir::Inst& inst = f_[i];
  if (inst.num_results != 0 || inst.mem.space == ir::Space::Lds || in_memory(inst.mem.atomic) == 0)
    return false;
  return inst.mem.bytes == 4 ||
         (scalar_of(f_.operands(i)[1]).valid() && scalar_of(f_.operands(i)[2]).valid());
}

/// Whether a good part of the lanes in a vector's `mask`, of which `all` has the bits, have what others have;
/// sets the flags for the returned condition.
CondCode Selector::compare_repeated(VReg v, VReg mask, VReg all) {
  if (avx512()) { // One in four is the same as one below.
    const VReg below = b_->op(Inst::kIdVpandd, b_->op(Inst::kIdVpconflictd, v), splat(Type::V32, all).r[0]);
    const VReg repeated =
        mask_to_bits(mask_and(mask, compare(ir::IntPred::Ne, below, b_->splat32(0), false)));
    const VReg four = b_->op_r32_tied(Inst::kIdShl, b_->op_r32(Inst::kIdPopcnt, r32(repeated)), imm(2));
    b_->emit(Inst::kIdCmp, {r32(four), r32(b_->op_r32(Inst::kIdPopcnt, r32(all)))});
    return CondCode::kUnsignedGE;
  }
  VReg repeated; // Some are, as far as half of the pairs tell.
  for (const u32 distance : {1u, 2u}) {
    std::array<u32, 8> sources{};
    for (u32 l = 0; l < 8; ++l) sources[l] = (l + distance) % 8;
    const VReg same = compare(ir::IntPred::Eq, b_->op(Inst::kIdVpermd, table(sources.data()), v), v, false);
    repeated = repeated.valid() ? b_->op(Inst::kIdVpor, repeated, same) : same;
  }
  const VReg bits = mask_to_bits(mask_and(mask, repeated));
  b_->emit(Inst::kIdTest, {r32(bits), r32(bits)});
  return CondCode::kNotZero;
}

/// One access for all lanes that go to the same address, in turns, by registers alone: a load would wait for
/// the locked access before. In which order lanes come makes no difference to what is in memory. Who goes
/// where another one does takes longer to find out than an access, so that where few do, each has its own.
void Selector::combined_by_address(InstId i, const Access& a) {
  const ir::Inst& inst = f_[i];
  const auto operands = f_.operands(i);
  const Combination how = *combination(inst.mem.atomic);
  const bool wide = inst.mem.bytes == 8;
  VReg data = scalar_of(operands[1]);
  const bool same_data = data.valid();
  if (!same_data)
    data = reg1(operands[1]);
  else if (wide)
    data = join_gprs(data, scalar_of(operands[2]));
  const VReg all = mask_to_bits(a.mask);
  const VReg low = a.wide ? narrow(a.index, false) : a.index.r[0],
             high = a.wide ? narrow(a.index, true) : VReg{};
  const BlockId any = b_->add_block(), each = b_->add_block(), loop = b_->add_block(), done = b_->add_block();
  b_->emit(Inst::kIdTest, {r32(all), r32(all)});
  b_->branch(CondCode::kNotZero, any, done);
  VReg which, equal; // lane, in all lanes; and who goes where it does, if that is asked
  const auto element = [&](VReg v) { return b_->op(Inst::kIdVpermd, which, v); };
  const auto place_of = [&](VReg lane) {
    which = splat(Type::V32, lane).r[0];
    const auto dword = [&](VReg v) {
      const VReg first = element(v);
      if (equal.valid()) equal = mask_and(equal, compare(ir::IntPred::Eq, first, v, false));
      return b_->op_r32(Inst::kIdVmovd, xmm(first));
    };
    VReg address = dword(low);
    if (a.wide)
      address = join_gprs(address, dword(high));
    else
      address = b_->op_r64(Inst::kIdLea, mem_index(a.base, b_->op_r64(Inst::kIdMovsxd, r32(address)),
                                                   a.scale_log2, 0, View::R64));
    return mem(aligned_address(inst, address, a.disp), 0, wide ? View::R64 : View::R32);
  };
  b_->at(any);
  const CondCode repeated = compare_repeated(low, a.mask, all);
  const VReg rest = b_->add_param(loop, RegClass::Gpr), others = b_->add_param(each, RegClass::Gpr);
  b_->branch(repeated, loop, {&all, 1}, each, {&all, 1});

  b_->at(each);
  {
    const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(others));
    const Operand at = place_of(lane);
    (void)atomic_lane(inst, at, lane, same_data ? data : b_->op_r32(Inst::kIdVmovd, xmm(element(data))), {},
                      false);
    const VReg left = b_->op_r32(Inst::kIdBlsr, r32(others));
    b_->branch(CondCode::kNotZero, each, {&left, 1}, done, {});
  }

  b_->at(loop);
  equal = a.mask;
  const VReg lane = b_->op_r32(Inst::kIdTzcnt, r32(rest));
  const Operand at = place_of(lane);
  const VReg bits = mask_to_bits(equal);
  VReg sum = data;
  if (!same_data) {
    const auto combine = [&](VReg x, VReg y) {
      return b_->op(integer_instruction(how.op, false, avx512()), x, y);
    };
    const auto together = [&] {
      return combine_lanes(blend(equal, data, b_->splat32(how.neutral)), false, combine);
    };
    if (avx512()) { // A lane is mostly alone. With AVX2 the lock hides what it takes to add up.
      const BlockId several = b_->add_block(true), join = b_->add_block();
      sum = b_->add_param(join, RegClass::Gpr);
      const VReg own = b_->op_r32(Inst::kIdVmovd, xmm(element(data)));
      (void)b_->op_r32(Inst::kIdBlsr, r32(bits)); // Sets ZF if it is.
      b_->branch(CondCode::kZero, join, {&own, 1}, several, {});
      b_->at(several);
      b_->jump(join, {together()});
      b_->at(join);
    } else {
      sum = together();
    }
  } else if (how.op == Op::Add || how.op == Op::Xor) {
    VReg count = b_->op_r32(Inst::kIdPopcnt, r32(bits));
    if (how.op == Op::Xor) count = b_->op_r32_tied(Inst::kIdAnd, count, imm(1));
    u64 constant = 0;
    const bool is_one = !wide && f_.is_const(operands[1], &constant) && constant == 1;
    sum = is_one ? count
          : wide ? b_->op_r64_tied(Inst::kIdImul, count, r64(data))
                 : b_->op_r32_tied(Inst::kIdImul, count, r32(data));
  }
  (void)atomic_lane(inst, at, lane, sum, {}, false);
  const VReg left = b_->op_r32(Inst::kIdAndn, r32(bits), r32(rest)); // Sets ZF when these were the last.
  b_->branch(CondCode::kNotZero, loop, {&left, 1}, done, {});
  b_->at(done);
}

} // namespace lanewise::x86
