// Integer vector instructions against bit-by-bit references.
#include "tests/interp/machine.hpp"

#include <random>

namespace lanewise::interp::test {
namespace {

constexpr u32 kInts[] = {0,           1,           2,           31,          32,          33,
                         0x7f,        0x80,        0xff,        0x7fff,      0x8000,      0xffff,
                         0x10000,     0x7fffff,    0x800000,    0xffffff,    0x7fff'ffff, 0x8000'0000,
                         0x8000'0001, 0xffff'fffe, 0xffff'ffff, 0x1234'5678, 0xcccc'cccc};

/// Runs one two-source instruction on all pairs of kInts and compares with `expected`.
template <class F>
void check_pairs(Op op, F expected, Target target = Target::gfx900) {
  for (u32 a : kInts)
    for (u32 b : kInts)
      ASSERT_EQ(evaluate(target, op, {a, b}), static_cast<u32>(expected(a, b)))
          << isa::row_of(op).name << std::hex << " " << a << " " << b;
}

TEST(ValuInt, Pairs) {
  check_pairs(Op::v_lshlrev_b32, [](u32 n, u32 x) { return u64{x} << n % 32; });
  check_pairs(Op::v_lshrrev_b32, [](u32 n, u32 x) { return x >> n % 32; });
  check_pairs(Op::v_ashrrev_i32, [](u32 n, u32 x) { return i64{static_cast<i32>(x)} >> n % 32; });
  check_pairs(Op::v_mul_hi_i32,
              [](u32 a, u32 b) { return i64{static_cast<i32>(a)} * static_cast<i32>(b) >> 32; });
  check_pairs(Op::v_mul_hi_u32, [](u32 a, u32 b) { return u64{a} * b >> 32; });
  check_pairs(Op::v_mul_i32_i24,
              [](u32 a, u32 b) { return sign_extend(a & 0xffffff, 24) * sign_extend(b & 0xffffff, 24); });
  check_pairs(Op::v_mul_hi_i32_i24, [](u32 a, u32 b) {
    return sign_extend(a & 0xffffff, 24) * sign_extend(b & 0xffffff, 24) >> 32;
  });
  check_pairs(Op::v_mul_hi_u32_u24, [](u32 a, u32 b) { return u64{a & 0xffffff} * (b & 0xffffff) >> 32; });
  check_pairs(Op::v_bfm_b32, [](u32 width, u32 offset) {
    u32 x = 0;
    for (u32 i = 0; i < width % 32; ++i) x |= i + offset % 32 < 32 ? 1u << (i + offset % 32) : 0;
    return x;
  });
  check_pairs(Op::v_cvt_pk_i16_i32, [](u32 a, u32 b) {
    const auto sat = [](u32 x) { return std::min(32767, std::max(-32768, static_cast<i32>(x))) & 0xffff; };
    return sat(a) | sat(b) << 16;
  });
}

TEST(ValuInt, Unary) {
  const auto count = [](u32 x, auto stop) {
    for (u32 i = 0; i < 32; ++i)
      if (stop(x, i)) return i;
    return ~0u;
  };
  for (u32 x : kInts) {
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_ffbh_u32, {x}),
              count(x, [](u32 y, u32 i) { return (y >> (31 - i) & 1) != 0; }));
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_ffbl_b32, {x}),
              count(x, [](u32 y, u32 i) { return (y >> i & 1) != 0; }));
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_ffbh_i32, {x}),
              count(x, [](u32 y, u32 i) { return i > 0 && (y >> (31 - i) & 1) != y >> 31; }));
    u32 reversed = 0;
    for (u32 i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_bfrev_b32, {x}), reversed);
  }
}

TEST(ValuInt, BitFields) {
  for (u32 x : {0x1234'5678u, 0xffff'0000u, 0x8000'0001u})
    for (u32 offset = 0; offset < 34; ++offset)
      for (u32 width = 0; width < 34; ++width) {
        u64 field = 0, mask = (u64{1} << width % 32) - 1;
        field = u64{x} >> offset % 32 & mask;
        ASSERT_EQ(evaluate(Target::gfx803, Op::v_bfe_u32, {x, offset, width}), static_cast<u32>(field));
        const u32 w = width % 32, o = offset % 32;
        const i64 wide = static_cast<i32>(x);
        const u32 expected = w == 0 ? 0 : static_cast<u32>(sign_extend(static_cast<u64>(wide >> o), w));
        ASSERT_EQ(evaluate(Target::gfx803, Op::v_bfe_i32, {x, offset, width}),
                  w + o < 32 ? expected
                  : w == 0   ? 0
                             : static_cast<u32>(wide >> o));
      }
}

TEST(ValuInt, Alignment) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_alignbit_b32, {0x1122'3344, 0x5566'7788, 8}), 0x4455'6677u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_alignbyte_b32, {0x1122'3344, 0x5566'7788, 3}), 0x2233'4455u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_perm_b32, {0x0706'0584, 0x8302'0100, 0x0d0c'0804}), 0xff00'0084u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_perm_b32, {0x8006'0504, 0x0302'8100, 0x0b08'0307}), 0xffff'0380u);
}

TEST(ValuInt, SaturationNeedsClamp) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_u32, {0xffff'ffff, 2}), 1u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_u32, {0xffff'ffff, 2}, {.clamp = true}), 0xffff'ffffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_sub_u32, {1, 2}, {.clamp = true}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_add_i32, {0x7fff'ffff, 1}, {.clamp = true}), 0x7fff'ffffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_sub_i32, {0x8000'0000, 1}, {.clamp = true}), 0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_mad_u16, {0xffff, 2, 0}, {.clamp = true}), 0xffffu);
}

TEST(ValuInt, CarriesAreMasksOfActiveLanes) {
  for (Target target : isa::kTargets) {
    Machine m(target);
    m.exec = 0xff;
    m.set_s64(kVcc, ~u64{0});
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l % 2 ? 0xffff'ffff : 5);
    m.set_v(1, 1);
    m.vop3(Op::v_add_co_u32, 2, {vgpr(0), vgpr(1)}, {}, 10);
    m.vop3(Op::v_addc_co_u32, 3, {vgpr(0), inline_int(0), sgpr(10)}, {}, 12);
    m.vop3(Op::v_subrev_co_u32, 4, {vgpr(0), vgpr(1)}, {}, 14);
    m.run();
    EXPECT_EQ(m.s64(10), 0xaau);
    EXPECT_EQ(m.v(2, 0), 6u);
    EXPECT_EQ(m.v(2, 1), 0u);
    EXPECT_EQ(m.v(2, 8), 0u) << "an inactive lane was written";
    EXPECT_EQ(m.s64(12), 0xaau);
    EXPECT_EQ(m.v(3, 1), 0u);
    EXPECT_EQ(m.s64(14), 0xffu);
    EXPECT_EQ(m.v(4, 0), 1u - 5u);
  }
}

TEST(ValuInt, WideMultiplyAdd) {
  Machine m(Target::gfx906);
  m.set_v(0, 0xffff'ffff);
  m.set_v(1, 0xffff'ffff);
  m.set_v64(2, 0, 0xffff'ffff'0000'0000);
  m.vop3(Op::v_mad_u64_u32, 4, {vgpr(0), vgpr(1), vgpr(2)}, {}, 20);
  m.vop3(Op::v_mad_i64_i32, 6, {vgpr(0), vgpr(1), inline_int(-5)}, {}, 22);
  m.run();
  EXPECT_EQ(m.v64(4), 0xffff'fffe'0000'0001ull + 0xffff'ffff'0000'0000ull);
  EXPECT_EQ(m.s64(20), 1u);
  EXPECT_EQ(m.v64(6), static_cast<u64>(-4));
}

TEST(ValuInt, ComparesWriteWholeMasks) {
  Machine m(Target::gfx900);
  m.exec = 0xffff'0000'ffff'0000;
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l);
  m.set_s(4, 40);
  m.vop3(Op::v_cmp_lt_i32, 10, {vgpr(0), sgpr(4)});
  m.vop3(Op::v_cmp_t_u32, 12, {vgpr(0), sgpr(4)});
  m.vop3(Op::v_cmpx_gt_u32, 14, {vgpr(0), sgpr(4)});
  m.run();
  EXPECT_EQ(m.s64(10), 0x0000'0000'ffff'0000u);
  EXPECT_EQ(m.s64(12), 0xffff'0000'ffff'0000u);
  EXPECT_EQ(m.s64(14), 0xffff'0000'0000'0000u);
  EXPECT_EQ(m.s64(kExec), 0xffff'0000'0000'0000u);
}

TEST(ValuInt, FloatComparesSeeNansAndDenormals) {
  const auto compare = [](Op op, u32 a, u32 b, u32 mode = kModeDefault) {
    Machine m(Target::gfx900);
    m.mode = mode;
    m.set_v(0, a);
    m.set_v(1, b);
    m.vop3(op, 10, {vgpr(0), vgpr(1)});
    m.run();
    return m.s64(10) != 0;
  };
  EXPECT_TRUE(compare(Op::v_cmp_u_f32, 0x7fc0'0000, 0));
  EXPECT_FALSE(compare(Op::v_cmp_lg_f32, 0x7fc0'0000, 0));
  EXPECT_TRUE(compare(Op::v_cmp_neq_f32, 0x7fc0'0000, 0));
  EXPECT_TRUE(compare(Op::v_cmp_nlt_f32, 0x7fc0'0000, 0));
  EXPECT_TRUE(compare(Op::v_cmp_eq_f32, 0, 0x8000'0000));
  EXPECT_TRUE(compare(Op::v_cmp_gt_f32, 1, 0));
  EXPECT_FALSE(compare(Op::v_cmp_gt_f32, 1, 0, kModeFlush));
  EXPECT_TRUE(compare(Op::v_cmp_class_f32, 0x7f80'0001, 1 << 0));
  EXPECT_TRUE(compare(Op::v_cmp_class_f32, 0x8000'0001, 1 << 4, kModeFlush));
  EXPECT_FALSE(compare(Op::v_cmp_class_f32, 0x8000'0001, 1 << 7));
  EXPECT_TRUE(compare(Op::v_cmp_class_f32, 0x7f80'0000, 1 << 9));
  EXPECT_TRUE(compare(Op::v_cmp_ge_f16, 0x3c00, 0xffff'0001)); // upper halves do not count
}

TEST(ValuInt, SumsOfAbsoluteDifferences) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const u32 a = static_cast<u32>(random()), b = static_cast<u32>(random()), c = static_cast<u32>(random());
    u32 sad = c, masked = c;
    for (u32 k = 0; k < 32; k += 8) {
      const i32 d = static_cast<i32>(a >> k & 0xff) - static_cast<i32>(b >> k & 0xff);
      sad += static_cast<u32>(std::abs(d));
      if ((b >> k & 0xff) != 0) masked += static_cast<u32>(std::abs(d));
    }
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_sad_u8, {a, b, c}), sad);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_msad_u8, {a, b, c}), masked);
    EXPECT_EQ(evaluate(Target::gfx900, Op::v_sad_hi_u8, {a, b, c}), (sad - c) * 65536 + c);
  }
}

TEST(ValuInt, Conversions) {
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_i32_f32, {bits(-2147483904.0f)}), 0x8000'0000u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_i32_f32, {0x4eff'ffff}, {}, kModeDefault | 0xf), 0x7fff'ff80u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_u32_f32, {bits(-0.75f)}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_u32_f32, {0x7f80'0000}), 0xffff'ffffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_u32_f32, {0xffc0'0000}), 0u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_rpi_i32_f32, {0x3eff'ffff}),
            0u); // 0.49999997 + 0.5 would round to 1
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_rpi_i32_f32, {bits(-2.5f)}), static_cast<u32>(-2));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_flr_i32_f32, {bits(-2.5f)}), static_cast<u32>(-3));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f32_u32, {0xffff'ffff}), bits(4294967296.0f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f32_u32, {0xffff'ffff}, {}, kModeDefault | 3), 0x4f7f'ffffu);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_f32_u32, {0}, {}, kModeDefault | 2),
            0u); // +0 when rounding down
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_off_f32_i4, {0x8}), bits(-0.5f));
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_pknorm_i16_f32, {bits(-1.5f), bits(0.5f)}), 0x4000'8001u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_pk_u8_f32, {bits(300.0f), 2, 0x1111'1111}), 0x11ff'1111u);
  EXPECT_EQ(evaluate(Target::gfx900, Op::v_cvt_pkrtz_f16_f32, {0x477f'f000, bits(-0x1.fp-25f)}),
            0x8000'7bffu);
}

} // namespace
} // namespace lanewise::interp::test
