#include "tests/select/harness.hpp"

namespace lanewise::x86::test {

using ir::BlockId;
using ir::IntPred;
using ir::Type;
using ir::ValueId;

namespace {

/// y[i] = 3 * x[i] + y[i] for i < n, pointers in s0:1, s2:3 and n in s4.
ir::Function saxpy_like() {
  ir::Function f;
  f.name = "saxpy_like";
  ir::Builder b(f, f.add_block());
  const BlockId body = f.add_block(), done = f.add_block();
  const auto sgpr = [&](u64 n) { return b.op(ir::Op::InitSgpr, Type::U32, {}, n); };
  const ValueId x = b.join(sgpr(0), sgpr(1)), y = b.join(sgpr(2), sgpr(3)), n = sgpr(4);
  const ValueId id = b.op(ir::Op::InitVgpr, Type::V32, {});
  const ValueId exec = b.op(ir::Op::InitExec, Type::Mask, {});
  const ValueId active = b.and_(exec, b.icmp(IntPred::ULt, id, b.splat(n)));
  b.branch(b.any(active), body, done);
  b.set_block(body);
  const ValueId offset = b.op(ir::Op::Shl, Type::V64, {b.zext(id), b.v32c(2)});
  const auto load = [&](ValueId base) {
    return f.result(b.inst({.op = ir::Op::Load}, {b.add(b.splat(base), offset), active}, {Type::V32}));
  };
  const ValueId sum = b.add(b.binary(ir::Op::Mul, load(x), b.v32c(3)), load(y));
  b.inst({.op = ir::Op::Store}, {b.add(b.splat(y), offset), sum, active}, {});
  b.jump(done);
  b.set_block(done);
  b.end_program();
  return f;
}

} // namespace

TEST(Saxpy, BothWidthsAllMasks) {
  for (const translator::Simd simd : widths())
    for (const u32 n : {0u, 1u, 17u, 63u, 64u}) {
      ir::Function f = saxpy_like();
      const phases::Plan plan = trivial_plan(f);
      std::array<u32, 64> x{}, y{}, expected{};
      RunInput input;
      input.vgprs.resize(1);
      for (u32 l = 0; l < 64; ++l) {
        x[l] = l * 1000003u;
        y[l] = ~l;
        expected[l] = l < n ? 3 * x[l] + y[l] : y[l];
        input.vgprs[0][l] = l;
      }
      const auto px = reinterpret_cast<u64>(x.data()), py = reinterpret_cast<u64>(y.data());
      input.sgprs = {static_cast<u32>(px), static_cast<u32>(px >> 32), static_cast<u32>(py),
                     static_cast<u32>(py >> 32), n};
      run(f, plan, simd, input);
      EXPECT_EQ(y, expected) << "n = " << n;
    }
}

} // namespace lanewise::x86::test
