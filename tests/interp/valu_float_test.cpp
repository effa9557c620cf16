// Single and double precision arithmetic: special values, MODE, output modifiers. Expectations are computed
// from integer and long double arithmetic, not from what the interpreter uses.
#include "tests/interp/machine.hpp"

#include <cmath>

namespace lanewise::interp::test {
namespace {

constexpr u32 kNan = 0xffc0'0000;
bool nan32(u32 x) { return (x & 0x7fff'ffff) > 0x7f80'0000; }
u32 quiet(u32 x) { return x | 0x0040'0000; }

/// Exact long double value of an f32 operation rounded to nearest by the host's conversion.
u32 rounded(long double exact) { return bits(static_cast<float>(exact)); }

TEST(ValuF32, AddMulOverSpecialValues) {
  for (u32 a : kSpecials)
    for (u32 b : kSpecials) {
      const u32 sum = evaluate(Target::gfx900, Op::v_add_f32, {a, b}),
                product = evaluate(Target::gfx900, Op::v_mul_f32, {a, b});
      if (nan32(a) || nan32(b)) {
        const u32 expected = quiet(nan32(a) ? a : b);
        EXPECT_EQ(sum, expected);
        EXPECT_EQ(product, expected);
        continue;
      }
      const long double x = f32_of(a), y = f32_of(b);
      EXPECT_EQ(sum, std::isnan(x + y) ? kNan : rounded(x + y)) << std::hex << a << " " << b;
      EXPECT_EQ(product, std::isnan(x * y) ? kNan : rounded(x * y)) << std::hex << a << " " << b;
    }
}

TEST(ValuF32, ReversedSubtractionTakesTheOperationsFirstNan) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_sub_f32, {0x7fc0'0001, 0x7fc0'0002}), 0x7fc0'0001u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_subrev_f32, {0x7fc0'0001, 0x7fc0'0002}), 0x7fc0'0002u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_subrev_f32, {bits(1.0f), bits(3.0f)}), bits(2.0f));
}

TEST(ValuF32, FmaChoosesNansInSourceOrder) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {0, 0x7f80'0000, 0x7f80'0007}), 0x7fc0'0007u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {0x7fc0'0003, 0x7fc0'0002, 0x7fc0'0001}), 0x7fc0'0003u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {bits(1.0f), 0x7fc0'0002, 0x7fc0'0001}), 0x7fc0'0002u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {0, 0x7f80'0000, bits(1.0f)}), kNan);
}

TEST(ValuF32, FmaRoundsOnceMadTwice) {
  const u32 a = bits(1.0f + 0x1p-12f), c = bits(-1.0f);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {a, a, c}), bits(0x1p-11f + 0x1p-24f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mad_f32, {a, a, c}), bits(0x1p-11f));
}

TEST(ValuF32, RoundModes) {
  const u32 third[4] = {0x3f80'0000, 0x3f80'0001, 0x3f80'0000, 0x3f80'0000}; // 1 + 2^-25
  const u32 minus[4] = {0xbf80'0000, 0xbf80'0000, 0xbf80'0001, 0xbf80'0000};
  for (u32 round = 0; round < 4; ++round) {
    const u32 mode = kModeDefault | round;
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(0x1p-25f)}, {}, mode), third[round]);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(-1.0f), bits(-0x1p-25f)}, {}, mode),
              minus[round]);
    // The f64 field leaves f32 alone.
    EXPECT_EQ(
        evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(0x1p-25f)}, {}, kModeDefault | round << 2),
        third[0]);
  }
}

TEST(ValuF32, DenormalModes) {
  const u32 tiny = 0x0000'0010, least = 0x0080'0000;
  const u32 keep = 0x330, flush_in = 0x320, flush_out = 0x310, flush = 0x300;
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {tiny, 0}, {}, keep), tiny);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {tiny | 0x8000'0000, 0x8000'0000}, {}, flush_in),
            0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f32, {least, bits(0.5f)}, {}, flush_in), 0x0040'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f32, {least, bits(-0.5f)}, {}, flush_out), 0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f32, {tiny, bits(0x1p60f)}, {}, flush_out),
            bits(f32_of(tiny) * 0x1p60f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f32, {tiny, bits(0x1p60f)}, {}, flush), 0u);
  // v_mad always flushes.
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mad_f32, {tiny, bits(0x1p60f), 0}, {}, keep), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fma_f32, {tiny, bits(0x1p60f), 0}, {}, keep),
            bits(f32_of(tiny) * 0x1p60f));
}

TEST(ValuF32, OmodWorksWithoutIeeeAndDenormalsOnly) {
  const Mods twice = {.omod = 1}, half = {.omod = 3};
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(2.0f)}, twice, 0x100), bits(6.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(2.0f)}, half, 0x100), bits(1.5f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(2.0f)}, twice, 0x300), bits(3.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(1.0f), bits(2.0f)}, twice, 0x130), bits(3.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_f32, {bits(-1.0f), 0}, half, 0x100), 0u); // -0 becomes +0
}

TEST(ValuF32, Clamp) {
  const Mods clamp = {.clamp = true};
  for (Target target : {Target::gfx600, Target::gfx803, Target::gfx900}) {
    EXPECT_EQ(evaluate(target, Op::v_add_f32, {bits(1.0f), bits(2.0f)}, clamp), bits(1.0f));
    EXPECT_EQ(evaluate(target, Op::v_add_f32, {bits(-1.0f), bits(0.5f)}, clamp), 0u);
    EXPECT_EQ(evaluate(target, Op::v_mul_f32, {0x8000'0000, bits(1.0f)}, clamp), 0u);
    EXPECT_EQ(evaluate(target, Op::v_add_f32, {0x7fc0'0001, 0}, clamp), 0u);
    EXPECT_EQ(evaluate(target, Op::v_add_f32, {0x7fc0'0001, 0}, clamp, kModeDefault & ~0x100u), 0x7fc0'0001u);
  }
}

TEST(ValuF32, SourceModifiersWorkOnBits) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_f32, {bits(-3.0f), bits(5.0f)}, {.abs = 1, .neg = 2}),
            bits(-2.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_max_f32, {0x7fc0'0001, 0x7fc0'0002}, {.neg = 2}), 0xffc0'0002u);
}

TEST(ValuF32, MinMax) {
  const u32 ieee = kModeDefault, dx = kModeNoIeee;
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_min_f32, {0, 0x8000'0000}, {}, ieee), 0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_max_f32, {0x8000'0000, 0}, {}, ieee), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_min_f32, {0x7f80'0001, bits(1.0f)}, {}, ieee), 0x7fc0'0001u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_min_f32, {bits(1.0f), 0x7f80'0001}, {}, ieee), 0x7fc0'0001u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_min_f32, {0x7f80'0001, bits(1.0f)}, {}, dx), bits(1.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_max_f32, {0x7fc0'0001, bits(1.0f)}, {}, ieee), bits(1.0f));
  // Denormals: gfx9 follows MODE, earlier targets pass them.
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_max_f32, {1, 0}, {}, kModeFlush), 0u);
  EXPECT_EQ(evaluate(Target::gfx803, Op::v_max_f32, {1, 0}, {}, kModeFlush), 1u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_med3_f32, {bits(3.0f), bits(1.0f), bits(2.0f)}), bits(2.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_med3_f32, {0x7fc0'0000, bits(5.0f), bits(2.0f)}), bits(2.0f));
}

TEST(ValuF32, LegacyMultiplicationByZeroIsZero) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_legacy_f32, {0x8000'0000, 0x7f80'0000}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mul_legacy_f32, {0x7fc0'0001, 0}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mad_legacy_f32, {0, 0x7f80'0000, bits(2.0f)}), bits(2.0f));
}

TEST(ValuF32, RoundingToIntegers) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_rndne_f32, {bits(2.5f)}), bits(2.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_rndne_f32, {bits(3.5f)}, {}, kModeDefault | 1), bits(4.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_ceil_f32, {bits(-0.5f)}), 0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_floor_f32, {0x0000'0001}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_ceil_f32, {0x0000'0001}), bits(1.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_ceil_f32, {0x0000'0001}, {}, kModeFlush), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fract_f32, {bits(-0x1p-40f)}), 0x3f7f'ffffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fract_f32, {bits(2.75f)}), bits(0.75f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_fract_f32, {0x7f80'0000}), kNan);
}

TEST(ValuF32, LdexpAndFrexp) {
  for (u32 a : kSpecials)
    for (i32 n : {-400, -150, -127, -24, -1, 0, 1, 25, 127, 300}) {
      const u32 expected = nan32(a) ? quiet(a) : bits(std::ldexp(f32_of(a), n));
      EXPECT_EQ(evaluate(Target::gfx900, Op::v_ldexp_f32, {a, static_cast<u32>(n)}), expected)
          << std::hex << a << " " << n;
    }
  for (u32 a : kSpecials) {
    if (nan32(a) || std::isinf(f32_of(a))) {
      EXPECT_EQ(evaluate(Target::gfx900, Op::v_frexp_exp_i32_f32, {a}), 0u);
      continue;
    }
    int exponent = 0;
    const float mantissa = std::frexp(f32_of(a), &exponent);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_frexp_mant_f32, {a}), bits(mantissa)) << std::hex << a;
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_frexp_exp_i32_f32, {a}), static_cast<u32>(exponent))
        << std::hex << a;
  }
}

TEST(ValuF32, ExamplesOfTheGuide) {
  const struct {
    Op op;
    u32 in, out;
  } examples[] = {
      {Op::v_exp_f32, 0xff80'0000, 0},
      {Op::v_exp_f32, 0x8000'0000, 0x3f80'0000},
      {Op::v_exp_f32, 0x7f80'0000, 0x7f80'0000},
      {Op::v_log_f32, 0xff80'0000, kNan},
      {Op::v_log_f32, 0xbf80'0000, kNan},
      {Op::v_log_f32, 0x8000'0000, 0xff80'0000},
      {Op::v_log_f32, 0, 0xff80'0000},
      {Op::v_log_f32, 0x3f80'0000, 0},
      {Op::v_log_f32, 0x7f80'0000, 0x7f80'0000},
      {Op::v_rcp_f32, 0xff80'0000, 0x8000'0000},
      {Op::v_rcp_f32, 0xc000'0000, 0xbf00'0000},
      {Op::v_rcp_f32, 0, 0x7f80'0000},
      {Op::v_rsq_f32, 0xff80'0000, kNan},
      {Op::v_rsq_f32, 0x8000'0000, 0xff80'0000},
      {Op::v_rsq_f32, 0x4080'0000, 0x3f00'0000},
      {Op::v_sqrt_f32, 0x8000'0000, 0x8000'0000},
      {Op::v_sqrt_f32, 0x4080'0000, 0x4000'0000},
      {Op::v_sin_f32, 0xff80'0000, kNan},
      {Op::v_sin_f32, 0xff7f'ffff, 0},
      {Op::v_sin_f32, 0x8000'0000, 0x8000'0000},
      {Op::v_sin_f32, 0x3e80'0000, 0x3f80'0000},
      {Op::v_cos_f32, 0xff7f'ffff, 0x3f80'0000},
      {Op::v_cos_f32, 0x3e80'0000, 0},
  };
  for (const auto& e : examples)
    EXPECT_EQ(evaluate(Target::gfx900, e.op, {e.in}), e.out)
        << isa::row_of(e.op).name << " " << std::hex << e.in;
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_rcp_f32, {0x0000'0001}), 0x7f80'0000u); // denormals are flushed
}

TEST(ValuF64, ArithmeticOverSpecialValues) {
  constexpr u64 kValues[] = {0,
                             1ull << 63,
                             1,
                             0x000f'ffff'ffff'ffff,
                             0x3ff0'0000'0000'0000,
                             0xbff8'0000'0000'0001,
                             0x7fef'ffff'ffff'ffff,
                             0x7ff0'0000'0000'0000,
                             0xfff0'0000'0000'0000,
                             0x7ff8'0000'0000'0005,
                             0x7ff0'0000'0000'0003};
  const auto nan = [](u64 x) { return (x & ~(1ull << 63)) > 0x7ff0'0000'0000'0000; };
  for (u64 a : kValues)
    for (u64 b : kValues) {
      const u64 sum = evaluate64(Target::gfx900, Op::v_add_f64, {a, b}),
                product = evaluate64(Target::gfx900, Op::v_mul_f64, {a, b});
      if (nan(a) || nan(b)) {
        EXPECT_EQ(sum, (nan(a) ? a : b) | 1ull << 51);
        EXPECT_EQ(product, (nan(a) ? a : b) | 1ull << 51);
        continue;
      }
      volatile double x = f64_of(a), y = f64_of(b);
      EXPECT_EQ(sum, bits(x + y));
      EXPECT_EQ(product, bits(x * y));
    }
}

TEST(ValuF64, FlushingAndLdexp) {
  EXPECT_EQ(evaluate64(Target::gfx900, Op::v_add_f64, {5, 0}, {}, 0x330), 0u);
  EXPECT_EQ(evaluate64(Target::gfx900, Op::v_add_f64, {5, 0}, {}, kModeDefault), 5u);
  for (int n : {-1100, -1074, -1030, -60, 0, 3, 900, 2000})
    for (double x : {1.0, -1.5, 0x1.fffffffffffffp+3, 0x1p-1074, 0x1.8p-1023}) {
      Machine m(Target::gfx900);
      m.set_v64(0, 0, bits(x));
      m.set_v(2, static_cast<u32>(n));
      m.vop3(Op::v_ldexp_f64, 8, {vgpr(0), vgpr(2)});
      m.run();
      EXPECT_EQ(m.v64(8), bits(std::ldexp(x, n))) << x << " " << n;
    }
}

TEST(ValuF64, TrigPreopGivesTheBitsOfTwoOverPi) {
  // Segments of 53 bits: the first three sum to 2/pi.
  const double s0 = f64_of(evaluate64(Target::gfx900, Op::v_trig_preop_f64, {bits(1.0), 0}));
  const double s1 = f64_of(evaluate64(Target::gfx900, Op::v_trig_preop_f64, {bits(1.0), 1}));
  EXPECT_EQ(static_cast<long double>(s0) + s1, 0xa.2f9836e4e441529fc27p-4L);
  EXPECT_EQ(bits(s0), bits(0x1.45f306dc9c882p-1));
}

} // namespace
} // namespace lanewise::interp::test
