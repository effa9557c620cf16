// The division sequence that compilers emit, run instruction by instruction, must give IEEE division's bits.
#include "tests/interp/machine.hpp"

#include <random>

namespace lanewise::interp::test {
namespace {

struct Ops {
  Op scale, rcp, fma, fmas, fixup;
};

/// v[0:1] / v[2:3] (f32: v0 / v2) into v[20:21].
void emit_division(Machine& m, const Ops& o, bool wide) {
  const u32 n = vgpr(0), d = vgpr(2), one = kOne;
  const auto v = [](u32 reg) { return vgpr(reg); };
  m.vop3(o.scale, 4, {d, d, n}, {}, 20);   // scaled denominator
  m.vop3(o.scale, 6, {n, d, n}, {}, kVcc); // scaled numerator
  m.vop3(o.rcp, 8, {v(4)});
  m.vop3(o.fma, 10, {v(4), v(8), one}, {.neg = 1});
  m.vop3(o.fma, 8, {v(8), v(10), v(8)});
  if (wide) {
    m.vop3(o.fma, 10, {v(4), v(8), one}, {.neg = 1});
    m.vop3(o.fma, 8, {v(8), v(10), v(8)});
  }
  m.vop3(wide ? Op::v_mul_f64 : Op::v_mul_f32, 12, {v(6), v(8)});
  m.vop3(o.fma, 14, {v(4), v(12), v(6)}, {.neg = 1});
  if (!wide) {
    m.vop3(o.fma, 12, {v(14), v(8), v(12)});
    m.vop3(o.fma, 14, {v(4), v(12), v(6)}, {.neg = 1});
  }
  m.vop3(o.fmas, 16, {v(14), v(8), v(12)});
  m.vop3(o.fixup, 20, {v(16), d, n});
}

constexpr Ops kF32 = {Op::v_div_scale_f32, Op::v_rcp_f32, Op::v_fma_f32, Op::v_div_fmas_f32,
                      Op::v_div_fixup_f32};
constexpr Ops kF64 = {Op::v_div_scale_f64, Op::v_rcp_f64, Op::v_fma_f64, Op::v_div_fmas_f64,
                      Op::v_div_fixup_f64};

TEST(Division, F32IsCorrectlyRounded) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Machine m(Target::gfx900);
    u32 a[64], b[64];
    for (u32 l = 0; l < 64; ++l) {
      a[l] = static_cast<u32>(random()), b[l] = static_cast<u32>(random());
      if (l % 8 == 1) a[l] &= 0x80ff'ffff; // tiny
      if (l % 8 == 2) b[l] &= 0x80ff'ffff;
      if (l % 8 == 3) a[l] |= 0x7e00'0000; // huge
      if (l % 8 == 4) b[l] |= 0x7e00'0000;
      if (l % 8 == 5)
        a[l] = kSpecials[random() % std::size(kSpecials)], b[l] = kSpecials[random() % std::size(kSpecials)];
      if (l % 8 == 6)
        a[l] = (a[l] & 0x807f'ffff) | 0x2080'0000,
        b[l] = (b[l] & 0x807f'ffff) | 0x5f00'0000; // denormal quotients
      m.set_v(0, l, a[l]);
      m.set_v(2, l, b[l]);
    }
    emit_division(m, kF32, false);
    ASSERT_EQ(m.run().reason, runtime::StopReason::End);
    for (u32 l = 0; l < 64; ++l) {
      volatile float x = f32_of(a[l]), y = f32_of(b[l]);
      const float q = x / y;
      if (q != q)
        EXPECT_NE(f32_of(m.v(20, l)), f32_of(m.v(20, l))) << std::hex << a[l] << " / " << b[l];
      else
        EXPECT_EQ(m.v(20, l), bits(q)) << std::hex << a[l] << " / " << b[l];
    }
  }
}

TEST(Division, F64IsCorrectlyRounded) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; ++round) {
    Machine m(Target::gfx906);
    u64 a[64], b[64];
    for (u32 l = 0; l < 64; ++l) {
      a[l] = random(), b[l] = random();
      if (l % 8 == 1) a[l] &= 0x801f'ffff'ffff'ffff;
      if (l % 8 == 2) b[l] &= 0x801f'ffff'ffff'ffff;
      if (l % 8 == 3) a[l] |= 0x7fc0'0000'0000'0000;
      if (l % 8 == 4) b[l] |= 0x7fc0'0000'0000'0000;
      if (l % 8 == 5)
        a[l] = (a[l] & 0x800f'ffff'ffff'ffff) | 0x1ff0'0000'0000'0000,
        b[l] = (b[l] & 0x800f'ffff'ffff'ffff) | 0x5ff0'0000'0000'0000 | (random() % 60) << 52;
      m.set_v64(0, l, a[l]);
      m.set_v64(2, l, b[l]);
    }
    emit_division(m, kF64, true);
    ASSERT_EQ(m.run().reason, runtime::StopReason::End);
    for (u32 l = 0; l < 64; ++l) {
      volatile double x = f64_of(a[l]), y = f64_of(b[l]);
      const double q = x / y;
      if (q != q)
        EXPECT_NE(f64_of(m.v64(20, l)), f64_of(m.v64(20, l)));
      else
        EXPECT_EQ(m.v64(20, l), bits(q)) << std::hex << a[l] << " / " << b[l];
    }
  }
}

TEST(Division, ScaleMaskCoversActiveLanesOnly) {
  Machine m(Target::gfx900);
  m.exec = 0x5;
  m.set_v(0, bits(0x1p120f));
  m.set_v(2, bits(1.0f));
  m.vop3(Op::v_div_scale_f32, 4, {vgpr(2), vgpr(2), vgpr(0)}, {}, 20);
  m.run();
  EXPECT_EQ(m.s64(20), 0x5u);
  EXPECT_EQ(m.v(4), bits(0x1p64f));
}

TEST(Division, FixupTakesWhatModeFlushesForZero) {
  const u32 nan = 0xffc0'0000, one = bits(1.0f), minus_tiny = 0x8000'0006; // NaN: from v_div_scale of a zero
  const auto fixup = [&](u32 d, u32 n) {
    return evaluate(Target::gfx803, Op::v_div_fixup_f32, {nan, d, n}, {}, kModeFlush);
  };
  EXPECT_EQ(fixup(one, minus_tiny), 0x8000'0000u);
  EXPECT_EQ(fixup(minus_tiny, one), 0xff80'0000u);
  EXPECT_EQ(fixup(minus_tiny, minus_tiny), nan);
}

} // namespace
} // namespace lanewise::interp::test
