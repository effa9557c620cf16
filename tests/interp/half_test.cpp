// Half precision against a reference that rounds exact values by search over all halves.
#include "tests/interp/machine.hpp"

#include <cmath>
#include <random>

namespace lanewise::interp::test {
namespace {

long double value_of(u32 h) {
  const u32 exponent = h >> 10 & 31, mantissa = h & 0x3ff;
  const long double magnitude = exponent == 31  ? INFINITY
                                : exponent == 0 ? std::ldexp(static_cast<long double>(mantissa), -24)
                                                : std::ldexp(static_cast<long double>(mantissa | 0x400),
                                                             static_cast<int>(exponent) - 25);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}
bool is_nan16(u32 h) { return (h & 0x7fff) > 0x7c00; }

/// Nearest even; `x` is finite and not 0.
u32 nearest(long double x) {
  const long double magnitude = std::fabs(x);
  if (magnitude >= 65520) return x < 0 ? 0xfc00 : 0x7c00;
  u32 low = 0, high = 0x7bff; // largest half not above
  while (low < high) {
    const u32 middle = (low + high + 1) / 2;
    if (value_of(middle) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  const long double below = magnitude - value_of(low),
                    above = (low == 0x7bff ? 65536 : value_of(low + 1)) - magnitude;
  const u32 h = below < above || (below == above && (low & 1) == 0) ? low : low + 1;
  return x < 0 ? h | 0x8000 : h;
}

TEST(Half, ArithmeticIsCorrectlyRounded) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    Machine m(Target::gfx900);
    u32 a[64], b[64], c[64];
    for (u32 l = 0; l < 64; ++l) {
      a[l] = random() & 0xffff, b[l] = random() & 0xffff, c[l] = random() & 0xffff;
      if (round % 2)
        c[l] = (c[l] & 0x83ff) |
               ((((a[l] >> 10 & 31) + (b[l] >> 10 & 31) + 17 + l % 5 - 2) & 31) << 10); // near the product
      m.set_v(0, l, a[l] | 0xabcd'0000);
      m.set_v(1, l, b[l]);
      m.set_v(2, l, c[l]);
    }
    m.vop3(Op::v_add_f16, 8, {vgpr(0), vgpr(1)});
    m.vop3(Op::v_mul_f16, 9, {vgpr(0), vgpr(1)});
    m.vop3(Op::v_fma_f16, 10, {vgpr(0), vgpr(1), vgpr(2)});
    m.run();
    for (u32 l = 0; l < 64; ++l) {
      if (is_nan16(a[l]) || is_nan16(b[l]) || is_nan16(c[l])) continue;
      const long double x = value_of(a[l]), y = value_of(b[l]), z = value_of(c[l]);
      const auto check = [&](u32 got, long double exact) {
        if (exact == 0) return; // the sign of zero is not the reference's business
        const u32 expected = std::isnan(exact)   ? 0xfe00u
                             : std::isinf(exact) ? (exact < 0 ? 0xfc00u : 0x7c00u)
                                                 : nearest(exact);
        EXPECT_EQ(got, expected) << std::hex << a[l] << " " << b[l] << " " << c[l];
      };
      check(m.v(8, l), x + y);
      check(m.v(9, l), x * y);
      check(m.v(10, l), x * y + z);
    }
  }
}

TEST(Half, NansDenormalsOverflow) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f16, {0x7c01, 0x7e02}), 0x7e01u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f16, {0x7c00, 0xfc00}), 0xfe00u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f16, {0x0400, 0x3800}), 0x0200u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f16, {0x0400, 0x3800}, {}, 0x300), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f16, {0x7bff, 0x4000}), 0x7c00u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f16, {0x7bff, 0x4000}, {}, kModeDefault | 1u << 23), 0x7bffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f16, {0x7c00, 0x4000}, {}, kModeDefault | 1u << 23), 0x7c00u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_min_f16, {0x7c01, 0x3c00}), 0x7e01u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fract_f16, {0x8001}), 0x3bffu);
}

TEST(Half, RoundModeIsTheF64Field) {
  // 1 + 2^-12 lies a quarter of an ulp above 1.
  const u32 in = bits(1.0f + 0x1p-12f);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f16_f32, {in}), 0x3c00u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f16_f32, {in}, {}, kModeDefault | 1 << 2), 0x3c01u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f16_f32, {in}, {}, kModeDefault | 1), 0x3c00u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f16_f32, {1}, {}, kModeDefault | 1 << 2),
            0x0001u); // a denormal f32, up
}

TEST(Half, FrexpLdexp) {
  for (u32 h : {0x0001u, 0x03ffu, 0x0400u, 0x3c00u, 0xbe00u, 0x7bffu, 0x8010u}) {
    int exponent = 0;
    const long double mantissa = std::frexp(value_of(h), &exponent);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_frexp_exp_i16_f16, {h}), static_cast<u32>(exponent) & 0xffff)
        << std::hex << h;
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_frexp_mant_f16, {h}), nearest(mantissa)) << std::hex << h;
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_ldexp_f16, {h, 0xffff}),
              nearest(value_of(h) / 2 == 0 ? 1e-9L : value_of(h) / 2));
  }
}

TEST(Half, UpperHalvesPerGeneration) {
  const auto upper = [](Target target, Op op, u32 sources) {
    Machine m(target);
    m.set_v(8, 0xdead'beef);
    m.set_v(0, 0x3c00);
    if (sources == 2) m.vop3(op, 8, {vgpr(0), vgpr(0)});
    if (sources == 3) m.vop3(op, 8, {vgpr(0), vgpr(0), vgpr(0)});
    m.run();
    return m.v(8) >> 16;
  };
  EXPECT_EQ(upper(Target::gfx803, Op::v_add_f16, 2), 0u);
  EXPECT_EQ(upper(Target::gfx900, Op::v_add_f16, 2), 0u);
  EXPECT_EQ(upper(Target::gfx803, Op::v_mac_f16, 2), 0u);
  EXPECT_EQ(upper(Target::gfx900, Op::v_mac_f16, 2), 0xdeadu);
  EXPECT_EQ(upper(Target::gfx900, Op::v_mad_f16, 3), 0xdeadu);
  EXPECT_EQ(upper(Target::gfx900, Op::v_mad_legacy_f16, 3), 0u);
}

TEST(Half, OpSel) {
  Machine m(Target::gfx900);
  m.set_v(0, 0x4000'3c00); // 2, 1
  m.set_v(1, 0x4400'4200); // 4, 3
  m.set_v(8, 0x1111'2222);
  m.set_v(9, 0x1111'2222);
  m.vop3(Op::v_fma_f16, 8, {vgpr(0), vgpr(1), inline_int(0)}, {.op_sel = 1});
  m.vop3(Op::v_fma_f16, 9, {vgpr(0), vgpr(1), inline_int(0)}, {.op_sel = 2 | 8});
  m.run();
  EXPECT_EQ(m.v(8), 0x1111'4600u); // 2 * 3
  EXPECT_EQ(m.v(9), 0x4400'2222u); // 1 * 4
}

TEST(Half, Packed) {
  Machine m(Target::gfx906);
  m.set_v(0, 0x4000'3c00);
  m.set_v(1, 0x4400'4200);
  m.vop3p(Op::v_pk_add_f16, 8, {vgpr(0), vgpr(1)});
  m.vop3p(Op::v_pk_add_f16, 9, {vgpr(0), vgpr(1)}, 1, 2);        // low: hi+lo, high: lo+hi
  m.vop3p(Op::v_pk_add_f16, 10, {vgpr(0), vgpr(1)}, 0, 3, 1, 2); // low: -a+b, high: a-b
  m.vop3p(Op::v_pk_mul_lo_u16, 11, {vgpr(0), vgpr(1)});
  m.vop3p(Op::v_pk_sub_i16, 12, {inline_int(0), vgpr(1)}, 0, 3, 0, 0, true);
  m.vop3p(Op::v_fma_mix_f32, 13, {vgpr(0), vgpr(1), vgpr(2)}, 1, 3); // 2 * 3 + f32
  m.set_v(2, bits(0.5f));
  m.vop3p(Op::v_dot2_f32_f16, 14, {vgpr(0), vgpr(1), vgpr(2)});
  m.set_v(3, 0x00ff'01fe);
  m.vop3p(Op::v_dot4_i32_i8, 15, {vgpr(3), vgpr(3), inline_int(1)});
  m.vop3p(Op::v_dot8_u32_u4, 16, {vgpr(3), vgpr(3), inline_int(1)});
  m.run();
  EXPECT_EQ(m.v(8), 0x4600'4400u);
  EXPECT_EQ(m.v(9), 0x4500'4500u);
  EXPECT_EQ(m.v(10), 0xc000'4000u);
  EXPECT_EQ(m.v(11), (0x4000u * 0x4400u << 16) | (0x3c00u * 0x4200u & 0xffff));
  EXPECT_EQ(m.v(12), 0xbc00'be00u);
  EXPECT_EQ(m.v(13), bits(6.5f));
  EXPECT_EQ(m.v(14), bits(11.5f));
  EXPECT_EQ(m.v(15), 4u + 1 + 1 + 1);
  EXPECT_EQ(m.v(16), 14u * 14 + 225 + 1 + 225 + 225 + 1);
}

} // namespace
} // namespace lanewise::interp::test
