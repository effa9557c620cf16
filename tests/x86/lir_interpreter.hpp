// The meaning of the LIR subset that random programs are made of, one instruction at a time, without
// registers.
#pragma once

#include "translator/x86/lir.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace lanewise::x86 {

struct TestValue {
  u64 scalar = 0; ///< Gpr, Mask
  std::array<u32, 16> lanes{};
};

class LirInterpreter {
public:
  LirInterpreter(const Module& module, u8* frame_bytes)
      : module_(module), part_(*module.parts[0]), frame_(frame_bytes), lanes_(module.vec_bytes() / 4),
        values_(part_.classes.size()) {}

  void run() {
    for (u32 b = 0;;) {
      for (const LInst& inst : part_.blocks[b].insts) step(inst);
      const Terminator& t = part_.blocks[b].term;
      if (t.kind == Terminator::Kind::Return) return;
      const u32 n = t.kind == Terminator::Kind::Branch && !condition(t.cond) ? 1 : 0;
      std::vector<TestValue> args;
      for (VReg a : part_.edge_args(t, n)) args.push_back(values_[a.index]);
      b = t.target[n].index;
      for (u32 i = 0; i < args.size(); ++i) values_[part_.blocks[b].params[i].index] = args[i];
    }
  }

private:
  [[nodiscard]] bool condition(CondCode c) const {
    switch (c) {
    case CondCode::kE: return zero_;
    case CondCode::kNE: return !zero_;
    case CondCode::kB: return below_;
    case CondCode::kAE: return !below_;
    case CondCode::kS: return sign_;
    default: ADD_FAILURE() << "condition"; return false;
    }
  }

  u8* address(const Operand& m) {
    if (m.reg == kPool) return const_cast<u8*>(module_.pool.data()) + m.value;
    EXPECT_EQ(m.reg, kFrame);
    return frame_ + m.value;
  }

  TestValue read(const Operand& o) {
    if (o.kind == OperandKind::Imm) return {static_cast<u64>(o.value), {}};
    if (o.kind != OperandKind::Mem) return values_[o.reg.index];
    TestValue v;
    if (o.view == View::R64)
      std::memcpy(&v.scalar, address(o), 8);
    else if (o.view == View::R32)
      v.scalar = load_le<u32>(address(o)), v.lanes.fill(static_cast<u32>(v.scalar));
    else
      std::memcpy(v.lanes.data(), address(o), 4 * lanes_);
    return v;
  }

  template <class F>
  TestValue map(const TestValue& a, const TestValue& b, F f) {
    TestValue v;
    for (u32 i = 0; i < lanes_; ++i) v.lanes[i] = f(a.lanes[i], b.lanes[i]);
    return v;
  }

  void compare(u64 a, u64 b) {
    zero_ = a == b;
    below_ = a < b;
    sign_ = (a - b) >> 63;
  }

  TestValue pseudo(const LInst& inst, std::span<const Operand> ops) {
    TestValue v;
    if (inst.pseudo == LInst::Pseudo::Copy) return values_[ops[0].tied.index];
    if (inst.pseudo == LInst::Pseudo::Ones) v.scalar = ~u64{0}, v.lanes.fill(~0u);
    return v;
  }

  void step(const LInst& inst) {
    auto ops = part_.ops(inst);
    if (inst.pseudo != LInst::Pseudo::None) {
      values_[ops[0].reg.index] = pseudo(inst, ops);
      return;
    }
    const Operand* write_mask = nullptr;
    if (ops.back().kind == OperandKind::WriteMask) write_mask = &ops.back();
    if (ops[0].kind == OperandKind::Mem) return store(inst, ops);
    const TestValue old = ops[0].is_tied() ? values_[ops[0].tied.index] : TestValue{};
    TestValue v = compute(inst, ops, old);
    if (!ops[0].is_def()) return; // a comparison
    if (write_mask && !write_mask->is_def())
      for (u32 i = 0; i < lanes_; ++i)
        if (!(values_[write_mask->reg.index].scalar >> i & 1)) v.lanes[i] = inst.zeroing ? 0 : old.lanes[i];
    for (const Operand& o : ops)
      if (o.is_def()) values_[o.reg.index] = TestValue{};
    values_[ops[0].reg.index] = v;
  }

  void store(const LInst& inst, std::span<const Operand> ops) {
    if (inst.id == Inst::kIdSub) {
      u32 fuel = load_le<u32>(address(ops[0])) - static_cast<u32>(ops[1].value);
      store_le(address(ops[0]), fuel);
      sign_ = fuel >> 31;
      return;
    }
    TestValue v = read(ops[1]);
    if (ops[0].view == View::R64)
      std::memcpy(address(ops[0]), &v.scalar, 8);
    else
      std::memcpy(address(ops[0]), v.lanes.data(), 4 * lanes_);
  }

  TestValue compute(const LInst& inst, std::span<const Operand> ops, const TestValue& old) {
    auto arg = [&](u32 i) { return read(ops[i]); };
    auto scalar = [](u64 x) { return TestValue{x, {}}; };
    switch (inst.id) {
    case Inst::kIdMov:
      return scalar(ops[0].view == View::R32 ? static_cast<u32>(arg(1).scalar) : arg(1).scalar);
    case Inst::kIdKmovq: return arg(1);
    case Inst::kIdVmovups: return arg(1);
    case Inst::kIdAdd: return scalar(old.scalar + arg(1).scalar);
    case Inst::kIdXor: return scalar(old.scalar ^ arg(1).scalar);
    case Inst::kIdImul: return scalar(old.scalar * arg(1).scalar);
    case Inst::kIdCmp: return compare(arg(0).scalar, arg(1).scalar), TestValue{};
    case Inst::kIdCmovb: return below_ ? arg(1) : old;
    case Inst::kIdSete: return scalar(zero_);
    case Inst::kIdMovzx: return scalar(arg(1).scalar & 0xff);
    case Inst::kIdVpaddd: return map(arg(1), arg(2), [](u32 a, u32 b) { return a + b; });
    case Inst::kIdVpsubd: return map(arg(1), arg(2), [](u32 a, u32 b) { return a - b; });
    case Inst::kIdVpmulld: return map(arg(1), arg(2), [](u32 a, u32 b) { return a * b; });
    case Inst::kIdVpand:
    case Inst::kIdVpandd: return map(arg(1), arg(2), [](u32 a, u32 b) { return a & b; });
    case Inst::kIdVpcmpgtd: return greater(inst, ops);
    case Inst::kIdVpternlogd: { // 0x96: a ^ b ^ c
      TestValue x = map(old, arg(1), [](u32 a, u32 b) { return a ^ b; });
      return map(x, arg(2), [](u32 a, u32 b) { return a ^ b; });
    }
    case Inst::kIdVpbroadcastd: {
      TestValue v;
      v.lanes.fill(static_cast<u32>(arg(1).scalar));
      return v;
    }
    case Inst::kIdKxorw: return scalar((arg(1).scalar ^ arg(2).scalar) & 0xffff);
    case Inst::kIdVpgatherdd: return gather(ops, old);
    default: ADD_FAILURE() << "no meaning for instruction " << inst.id; return {};
    }
  }

  TestValue greater(const LInst&, std::span<const Operand> ops) {
    TestValue a = read(ops[1]), b = read(ops[2]), v;
    for (u32 i = 0; i < lanes_; ++i)
      if (static_cast<i32>(a.lanes[i]) > static_cast<i32>(b.lanes[i]))
        v.lanes[i] = ~0u, v.scalar |= u64{1} << i;
    if (ops[0].view == View::K)
      v.lanes.fill(0);
    else
      v.scalar = 0;
    return v;
  }

  TestValue gather(std::span<const Operand> ops, TestValue v) {
    const TestValue& mask = values_[ops[2].tied.index];
    const TestValue& index = values_[ops[1].tied.index];
    for (u32 i = 0; i < lanes_; ++i)
      if (module_.avx512 ? mask.scalar >> i & 1 : mask.lanes[i] >> 31)
        v.lanes[i] = load_le<u32>(frame_ + ops[1].value + 4 * index.lanes[i]);
    return v;
  }

  const Module& module_;
  const Part& part_;
  u8* frame_;
  u32 lanes_;
  std::vector<TestValue> values_;
  bool zero_ = false, below_ = false, sign_ = false;
};

} // namespace lanewise::x86
