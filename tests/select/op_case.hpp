// One IR op against a plain C++ evaluation of it.
#pragma once

#include "tests/select/harness.hpp"

#include <functional>
#include <optional>

namespace lanewise::x86::test {

/// An op on elements: U32/V32 in the low 32 bits, U1/Mask 0 or 1.
struct OpCase {
  std::string name;
  ir::Inst proto; ///< op, imm and attributes
  ir::Type result;
  std::vector<ir::Type> operands;
  std::function<u64(const u64* in)> expected;
  /// Operands that are constants of these bits instead of loaded; by position, ~0 - position of none.
  std::vector<std::pair<unsigned, u64>> constants = {};
  /// Bits that count; NaN payloads and the like can be left out.
  std::function<bool(u64 got, u64 wanted)> equal = {};
  /// Interesting values to draw operands from, beside random bits.
  std::vector<u64> pool = {};
  /// Applied to each operand that is no constant before the op, a unary op of the operand's type.
  std::optional<ir::Inst> before = {};
  bool legalize = false; ///< by the pass, first: there is no rule for the op itself
};

/// Runs the case per lane (vector types) or per wave (uniform types) on edge values and random ones, on every
/// width.
void check(const OpCase& c);

/// A function that loads its operands from tables of 8 bytes a lane, whose addresses are in s[2n:2n+1], and
/// stores likewise.
struct LaneProgram {
  ir::Function f;
  ir::Builder b;
  ir::ValueId lane_offset, all;

  LaneProgram() : b(f, ir::BlockId{}) {
    f.name = "op";
    b.set_block(f.add_block());
    lane_offset =
        b.op(ir::Op::Shl, ir::Type::V64, {b.zext(b.op(ir::Op::LaneId, ir::Type::V32, {})), b.v32c(3)});
    all = b.op(ir::Op::InitExec, ir::Type::Mask, {});
  }
  ir::ValueId address(unsigned table) {
    const ir::ValueId base = b.join(b.op(ir::Op::InitSgpr, ir::Type::U32, {}, 2 * table),
                                    b.op(ir::Op::InitSgpr, ir::Type::U32, {}, 2 * table + 1));
    return b.add(b.splat(base), lane_offset);
  }
  ir::ValueId operand(unsigned n, ir::Type t) {
    if (ir::is_uniform(t)) return uniform_operand(n, t);
    ir::Inst load{.op = ir::Op::Load};
    load.mem.bytes = 8;
    const ir::InstId i = b.inst(load, {address(n), all}, {ir::Type::V32, ir::Type::V32});
    const ir::ValueId lo = f.result(i, 0);
    if (t == ir::Type::V64) return b.join(lo, f.result(i, 1));
    return t == ir::Type::V32 ? lo : b.icmp(ir::IntPred::Ne, b.and_(lo, b.v32c(1)), b.v32c(0));
  }
  ir::ValueId uniform_operand(unsigned n, ir::Type t) { // The value itself is in the SGPRs.
    const ir::ValueId lo = b.op(ir::Op::InitSgpr, ir::Type::U32, {}, 2 * n);
    if (t == ir::Type::U64) return b.join(lo, b.op(ir::Op::InitSgpr, ir::Type::U32, {}, 2 * n + 1));
    return t == ir::Type::U32 ? lo : b.icmp(ir::IntPred::Ne, b.and_(lo, b.u32c(1)), b.u32c(0));
  }
  /// Stores a value of any type, zero-extended to 8 bytes a lane.
  void store(ir::ValueId result, unsigned table) {
    using ir::Type;
    Type t = b.type(result);
    if (t == Type::U1) result = b.zext(result), t = Type::U32;
    if (ir::is_uniform(t)) result = b.splat(result), t = b.type(result);
    if (t == Type::Mask) result = b.select(result, b.v32c(1), b.v32c(0)), t = Type::V32;
    const ir::ValueId lo = t == Type::V64 ? b.lo(result) : result,
                      hi = t == Type::V64 ? b.hi(result) : b.v32c(0);
    ir::Inst to{.op = ir::Op::Store};
    to.mem.bytes = 8;
    b.inst(to, {address(table), lo, hi, all}, {});
  }
};

/// The type's counterpart per wave.
ir::Type uniform_type(ir::Type t);

} // namespace lanewise::x86::test
