// Division and root chains of compilers: what passes::replace_divisions and drop_root_corrections make of
// them gives the chain's bits, for operands from all over the range and for those at its borders.
#include "tests/select/harness.hpp"
#include "tests/source_dir.hpp"

#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace lanewise::x86::test {

namespace {

/// v1 = numerators, v2 = denominators from s0:1; quotients go to s2:3.
constexpr const char* kBegin = R"(func "division" gfx900 {
b0:
  v50:mask = init_exec
  v51:v32 = init_vgpr
  v52:u32 = init_sgpr
  v53:u32 = init_sgpr #0x1
  v54:u32 = init_sgpr #0x2
  v55:u32 = init_sgpr #0x3
  v56:u64 = join v52, v53
  v57:u64 = join v54, v55
  v58:v64 = zext v51
  v59:v32 = const #0x3
  v60:v64 = shl v58, v59
  v61:v64 = splat v56
  v62:v64 = splat v57
  v63:v64 = add v60, v61
  v64:v64 = add v60, v62
)";

constexpr const char* kF32 = R"(  v1:v32 = load v63, v50 {global 4}
  v2:v32 = load v63, v50 #0x200 {global 4}
  v4:v32, v5:mask = div_scale v2, v2, v1 {f32MODE}
  v6:v32, v7:mask = div_scale v1, v2, v1 {f32MODE}
  v8:v32 = frcp v4 {f32 flush_in flush_out}
  v9:v32 = const #0x80000000
  v10:v32 = xor v4, v9
  v11:v32 = const #0x3f800000
  v12:v32 = ffma v10, v8, v11
  v13:v32 = ffma v12, v8, v8
  v14:v32 = fmul v6, v13
  v15:v32 = ffma v10, v14, v6
  v16:v32 = ffma v15, v13, v14
  v17:v32 = ffma v10, v16, v6
  v18:v32 = div_fmas v17, v13, v16, v7 {f32MODE}
  v19:v32 = div_fixup v18, v2, v1 {f32MODE}
  store v64, v19, v50 {global 4}
  endpgm
}
)";

/// Of f64: v19 is the result.
constexpr const char* kEnd64 = R"(  v40:v32 = lo v19
  v41:v32 = hi v19
  store v64, v40, v41, v50 {global 8}
  endpgm
}
)";

constexpr const char* kF64 = R"(  v30:v32, v31:v32 = load v63, v50 {global 8}
  v32:v32, v33:v32 = load v63, v50 #0x200 {global 8}
  v1:v64 = join v30, v31
  v2:v64 = join v32, v33
  v4:v64, v5:mask = div_scale v2, v2, v1 {f64}
  v6:v64, v7:mask = div_scale v1, v2, v1 {f64}
  v8:v64 = frcp v4 {f64}
  v9:v64 = const #0x8000000000000000
  v10:v64 = xor v4, v9
  v11:v64 = const #0x3ff0000000000000
  v12:v64 = ffma v10, v8, v11 {f64}
  v13:v64 = ffma v8, v12, v8 {f64}
  v14:v64 = ffma v10, v13, v11 {f64}
  v15:v64 = ffma v13, v14, v13 {f64}
  v16:v64 = fmul v6, v15 {f64}
  v17:v64 = ffma v10, v16, v6 {f64}
  v18:v64 = div_fmas v17, v15, v16, v7 {f64}
  v19:v64 = div_fixup v18, v2, v1 {f64}
)";

/// Roots of the numerators; there are no denominators.
constexpr const char* kRoot = R"(  v30:v32, v31:v32 = load v63, v50 {global 8}
  v1:v64 = join v30, v31
  v2:v64 = const #0x3fe0000000000000
  v3:v64 = const #0x8000000000000000
SCALE  v5:v64 = frsq v4 {f64}
  v6:v64 = fmul v4, v5 {f64}
  v7:v64 = fmul v5, v2 {f64}
  v8:v64 = xor v3, v7
  v9:v64 = ffma v8, v6, v2 {f64}
  v10:v64 = ffma v6, v9, v6 {f64}
  v11:v64 = ffma v7, v9, v7 {f64}
  v12:v64 = xor v3, v10
  v13:v64 = ffma v12, v10, v4 {f64}
  v14:v64 = ffma v13, v11, v10 {f64}
  v15:v64 = xor v3, v14
  v16:v64 = ffma v15, v14, v4 {f64}
  v19:v64 = ffma v16, v11, v14 {f64}
)";
constexpr const char* kScaled = R"(  v20:v64 = const #0x1000000000000000
  v21:mask = fcmp v1, v20 #0x1 {f64}
  v22:v32 = const #0x4ff00000
  v23:v32 = const #0x3ff00000
  v24:v32 = select v21, v22, v23
  v25:v32 = const #0x0
  v26:v64 = join v25, v24
  v4:v64 = fmul v1, v26 {f64}
)";
constexpr const char* kUnscaled = R"(  v25:v64 = const #0x0
  v4:v64 = or v1, v25
)";

/// Of f32, where MODE keeps denormals, and where it does not. v4: the scaled operand, v19: the root.
constexpr const char* kScaled32 = R"(  v1:v32 = load v63, v50 {global 4}
  v20:v32 = const #0xf800000
  v21:mask = fcmp v1, v20 #0x1 {f32MODE}
  v22:v32 = const #0x4f800000
  v23:v32 = const #0x3f800000
  v24:v32 = select v21, v22, v23
  v4:v32 = fmul v1, v24 {f32MODE}
  v2:v32 = const #0x3f000000
  v3:v32 = const #0x80000000
)";
constexpr const char* kCorrected32 = R"(  v5:v32 = fsqrt v4 {f32 flush_in flush_out}
  v6:v32 = const #0xffffffff
  v7:v32 = const #0x1
  v8:v32 = const #0x0
  v9:v32 = add v5, v6
  v10:v32 = add v7, v5
  v11:v32 = xor v3, v9
  v12:v32 = xor v3, v10
  v13:v32 = ffma v11, v5, v4 {f32}
  v14:v32 = ffma v12, v5, v4 {f32}
  v15:mask = fcmp v8, v13 #0x6 {f32}
  v16:v32 = select v15, v9, v5
  v17:mask = fcmp v14, v8 #0x4 {f32}
  v19:v32 = select v17, v10, v16
)";
constexpr const char* kImproved32 = R"(  v5:v32 = frsq v4 {f32 flush_in flush_out}
  v6:v32 = fmul v4, v5 {f32MODE}
  v7:v32 = fmul v5, v2 {f32MODE}
  v8:v32 = xor v3, v7
  v9:v32 = ffma v8, v6, v2 {f32MODE}
  v10:v32 = ffma v6, v9, v6 {f32MODE}
  v11:v32 = ffma v7, v9, v7 {f32MODE}
  v12:v32 = xor v3, v10
  v13:v32 = ffma v12, v10, v4 {f32MODE}
  v19:v32 = ffma v13, v11, v10 {f32MODE}
)";
constexpr const char* kEnd32 = R"(  store v64, v19, v50 {global 4}
  endpgm
}
)";

std::string root_of(const char* scale) {
  std::string text = kRoot;
  return text.replace(text.find("SCALE"), 5, scale) + kEnd64;
}

std::string with_mode(std::string text, const std::string& mode) {
  for (std::size_t at; (at = text.find("MODE")) != std::string::npos;) text.replace(at, 4, mode);
  return text;
}

struct Division {
  ir::Function f;
  phases::Plan plan;
};
Division prepare(const std::string& text, bool replaced) {
  auto parsed = ir::parse(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  Division d{std::move(*parsed), {}};
  if (replaced) {
    passes::replace_divisions(d.f);
    passes::drop_root_corrections(d.f);
    passes::eliminate_dead_code(d.f);
  }
  const auto has = [&](auto what) {
    return std::ranges::any_of(d.f.blocks[0].insts, [&](ir::InstId i) { return what(d.f[i]); });
  };
  const bool divides = has([](const ir::Inst& i) { return i.op == ir::Op::FDiv || i.op == ir::Op::FSqrt; });
  const bool corrects =
      has([](const ir::Inst& i) { return i.op == ir::Op::FFma && i.fp.kind == ir::FloatKind::F32; });
  EXPECT_EQ(replaced, divides && !corrects);
  passes::legalize(d.f);
  auto valid = ir::verify(d.f);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().message);
  d.plan = phases::form_phases(d.f, 16);
  return d;
}

/// 64 numerators, then 64 denominators (8 bytes apart in either format).
using Operands = std::array<u64, 128>;

std::array<u64, 64> quotients(const Division& d, translator::Simd simd, const Operands& operands) {
  std::array<u64, 64> out{};
  RunInput input;
  input.vgprs.resize(1);
  for (u32 l = 0; l < 64; ++l) input.vgprs[0][l] = l;
  const auto in = reinterpret_cast<u64>(operands.data()), to = reinterpret_cast<u64>(out.data());
  input.sgprs = {static_cast<u32>(in), static_cast<u32>(in >> 32), static_cast<u32>(to),
                 static_cast<u32>(to >> 32)};
  run(d.f, d.plan, simd, input);
  return out;
}

/// Any exponent, often those at the borders of what is scaled; significands with long runs of equal bits,
/// often.
u64 operand(std::mt19937_64& random, unsigned mantissa_bits, unsigned exponent_bits, bool numerator) {
  const u64 r = random(), significand = (u64{1} << mantissa_bits) - 1, top = (u64{1} << exponent_bits) - 1;
  const u64 first_unscaled = mantissa_bits == 23 ? 24 : 54;
  u64 m = random() & significand, e = random() & top;
  switch (r & 7) {
  case 0: m = 0; break;
  case 1: m = significand - (random() & 3); break;
  case 2: m &= ~u64{0} << (random() % mantissa_bits); break;
  default: break;
  }
  switch (r >> 3 & 7) {
  case 0: e = 0; break;
  case 1: e = top - (random() & 3); break;
  case 2: e = numerator ? first_unscaled : top / 2; break;
  case 3: e = top / 2 + random() % 3; break;
  default: break;
  }
  return (r >> 63) << (mantissa_bits + exponent_bits) | e << mantissa_bits | m;
}
/// An f32 numerator whose quotient by `d` lies next to the middle between two numbers; its exponent is `e`.
u64 hard_numerator(std::mt19937_64& random, u64 d, u64 e) {
  const u32 b = (static_cast<u32>(d) & 0x7f'ffffu) | 0x80'0001u;
  u32 inverse = b;
  for (unsigned i = 0; i < 5; ++i) inverse *= 2 - b * inverse;
  const u32 j = static_cast<u32>(random() % 7) - 3;
  const u64 m = (0 - j * inverse) & 0x1ff'ffffu; // m b = -j modulo 2^25
  const u64 product = m * b + static_cast<u64>(static_cast<i64>(static_cast<i32>(j)));
  const u64 a = product >> 25;
  return e << 23 | (a << std::countl_zero(static_cast<u32>(a) | 1) >> 8 & 0x7f'ffffu);
}

/// The f64 in [1, 4) whose roots lie next to the middle m between two numbers: with m scaled to an odd
/// integer of 54 bits, m^2 is k away from a multiple of 2^54, the unit of what has so many bits when it is
/// squared.
std::vector<u64> hard_radicands(i64 furthest) {
  constexpr u64 kUnit = u64{1} << 54;
  std::vector<u64> found;
  for (i64 k = -furthest; k <= furthest; ++k) {
    if ((k & 7) != 1) continue; // Odd squares are 1 modulo 8.
    u64 root = 1;               // of k, modulo ever more bits
    for (unsigned bits = 3; bits < 54; ++bits)
      if (((root * root - static_cast<u64>(k)) >> bits & 1) != 0) root += u64{1} << (bits - 1);
    for (const u64 r : {root, 0 - root, root + kUnit / 2, kUnit / 2 - root}) {
      const u64 m = r % kUnit;
      if (m < kUnit / 2) continue;
      __extension__ using Wide = unsigned __int128;
      const Wide square = Wide{m} * m - static_cast<Wide>(k); // Negative k wraps as it should.
      const u64 significand = static_cast<u64>(square >> 54);
      if (square << 74 != 0 || (significand >> 53 != 0 && (significand & 1) != 0)) continue;
      found.push_back(std::bit_cast<u64>(std::ldexp(static_cast<double>(significand), -52)));
    }
  }
  return found;
}

/// Whether the quotient of two operands is not left to the chain, as it is for a whole gang if one of its
/// lanes is.
using IsUsual = bool (*)(u64 numerator, u64 denominator);

/// In the second half of the rounds all operands are usual ones.
void compare(
    const std::string& chain, unsigned mantissa_bits, unsigned exponent_bits, unsigned rounds,
    IsUsual is_usual = [](u64, u64) { return true; }) {
  const Division exact = prepare(kBegin + chain, false), fast = prepare(kBegin + chain, true);
  std::mt19937_64 random(7);
  for (unsigned n = 0; n < rounds; ++n) {
    Operands x{};
    for (unsigned l = 0; l < 64; ++l) do {
        x[l] = operand(random, mantissa_bits, exponent_bits, true);
        x[64 + l] = operand(random, mantissa_bits, exponent_bits, false);
        if (mantissa_bits == 23 && (n & 1) != 0) {
          x[64 + l] |= 1;
          const bool first_unscaled = (n & 2) != 0 && n < rounds / 2;
          x[l] = hard_numerator(random, x[64 + l], first_unscaled ? 24 : 100 + (random() & 63));
        }
      } while (n >= rounds / 2 && !is_usual(x[l], x[64 + l]));
    for (const translator::Simd simd : widths()) {
      const auto expected = quotients(exact, simd, x), actual = quotients(fast, simd, x);
      for (unsigned l = 0; l < 64; ++l)
        ASSERT_EQ(expected[l], actual[l]) << std::hex << x[l] << " / " << x[64 + l];
    }
  }
}

bool are_usual_f64(u64 n, u64 d) {
  const auto is_inside = [](u64 x) { return (x >> 52 & 0x7ff) - (1023 - 382) < 2 * 382 + 1; };
  return (n == 0 || is_inside(n)) && is_inside(d);
}

} // namespace

TEST(Division, F32) {
  compare(with_mode(kF32, ""), 23, 8, 200, [](u64 n, u64) { return (n >> 23 & 0xff) != 24; });
}
TEST(Division, F32Flushing) {
  compare(with_mode(kF32, " flush_in flush_out"), 23, 8, 200, [](u64 n, u64 d) {
    const auto flushed = [](u64 x) {
      return (x >> 23 & 0xff) == 0 ? 0.0f : std::bit_cast<float>(static_cast<u32>(x));
    };
    const float quotient = flushed(n) / flushed(d);
    return (n >> 23 & 0xff) != 24 && (flushed(n) == 0 || !(std::fabs(quotient) < 0x1p-125f));
  });
}
TEST(Division, F64) { compare(std::string(kF64) + kEnd64, 52, 11, 200, are_usual_f64); }
/// As compilers do it for gfx600.
TEST(Division, F64ScaledAsIsCompared) {
  std::string text = kF64;
  text.replace(text.find("  v18:v64"), std::string::npos, R"(  v20:v32 = hi v6
  v21:v32 = hi v4
  v22:mask = icmp v31, v20
  v23:mask = icmp v21, v33
  v24:mask = xor v23, v22
  v18:v64 = div_fmas v17, v15, v16, v24 {f64}
  v19:v64 = div_fixup v18, v2, v1 {f64}
)");
  compare(text + kEnd64, 52, 11, 100, are_usual_f64);
}
TEST(Division, RootF64) { compare(root_of(kUnscaled), 52, 11, 100); }
TEST(Division, RootF64Scaled) { compare(root_of(kScaled), 52, 11, 100); }

/// The function as it is, and with what `replace` makes of it.
template <class F>
std::array<Division, 2> as_is_and_replaced(const std::string& text, F replace) {
  std::array<Division, 2> both;
  for (const bool replaced : {false, true}) {
    auto parsed = ir::parse(text);
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    Division& d = both[replaced];
    d.f = std::move(*parsed);
    if (replaced) replace(d.f);
    passes::eliminate_dead_code(d.f);
    passes::legalize(d.f);
    d.plan = phases::form_phases(d.f, 16);
  }
  return both;
}

TEST(Division, Medians) {
  for (const char* mode : {"", " flush_in flush_out", " ieee"}) {
    std::string text = std::string(kBegin) + R"(  v1:v32 = load v63, v50 {global 4}
  v2:v32 = load v63, v50 #0x200 {global 4}
  v3:v32, v4:v32 = load v63, v50 #0x200 {global 8}
  v19:v32 = fmed3 v1, v2, v4 {f32MODE}
)" + kEnd32;
    const auto medians = as_is_and_replaced(with_mode(text, mode),
                                            [](ir::Function& f) { passes::replace_divisions(f, true); });
    EXPECT_GT(medians[1].f.num_blocks(), 1u);
    std::mt19937_64 random(7);
    for (unsigned round = 0; round < 60; ++round) {
      Operands x{};
      for (u64& v : x) v = operand(random, 23, 8, true) | operand(random, 23, 8, true) << 32;
      if (round % 2 == 0) // no NaNs
        for (u64& v : x) v &= 0xbfff'ffff'bfff'ffff;
      for (const translator::Simd simd : widths())
        ASSERT_EQ(quotients(medians[0], simd, x), quotients(medians[1], simd, x)) << mode;
    }
  }
}

/// The expansion of a division of 64-bit integers, of numbers of all sizes and such whose quotients are
/// nearly whole; of zeros, too.
TEST(Division, Integers) {
  std::ifstream in(source_dir() + "/tests/golden/cases/wide_divisions.ir");
  std::stringstream text;
  text << in.rdbuf();
  const auto divisions =
      as_is_and_replaced(text.str().substr(0, text.str().find("; expect")),
                         [](ir::Function& f) { EXPECT_TRUE(passes::replace_wide_divisions(f)); });
  std::mt19937_64 random(7);
  for (unsigned round = 0; round < 60; ++round) {
    Operands x{};
    for (unsigned l = 0; l < 64; ++l) {
      u64 n = random() >> (random() & 63), d = random() >> (random() & 63);
      if ((random() & 3) == 0) d = (u64{1} << (random() & 63)) + random() % 3 - 1;
      if ((random() & 3) == 0 && d != 0) n = n / d * d + random() % 3 - 1;
      if ((random() & 15) == 0) n = ~(random() & 3);
      x[l] = n;
      x[64 + l] = d;
    }
    for (const translator::Simd simd : widths()) {
      const auto expected = quotients(divisions[0], simd, x), actual = quotients(divisions[1], simd, x);
      for (unsigned l = 0; l < 64; ++l) {
        ASSERT_EQ(expected[l], actual[l]) << std::hex << x[l] << " / " << x[64 + l];
        ASSERT_TRUE(x[64 + l] == 0 || expected[l] == x[l] / x[64 + l]);
      }
    }
  }
}

constexpr const char* kNarrow = R"(  v1:v32 = load v63, v50 {global 4}
DIVISOR  v4:v32 = const #0x4f7ffffe
  v5:v32 = const #0x1
  v6:v32 = const #0x0
  v10:v32 = ui_to_fp v2 #0x20 {f32}
  v11:v32 = frcp v10 {f32}
  v12:v32 = fmul v11, v4 {f32}
  v13:v32 = fp_to_ui v12 #0x20 {f32}
  v14:v32 = sub v6, v2
  v15:v32 = mul v14, v13
  v16:v32 = umulhi v13, v15
  v17:v32 = add v13, v16
  v18:v32 = umulhi v1, v17
  v19:v32 = mul v18, v2
  v20:v32 = sub v1, v19
  v21:mask = icmp v20, v2 #0x5
  v22:v32 = add v18, v5
  v23:v32 = select v21, v22, v18
  v24:v32 = sub v20, v2
  v25:v32 = select v21, v24, v20
  v26:mask = icmp v25, v2 #0x5
  v27:v32 = add v23, v5
  v28:v32 = select v26, v27, v23
  v29:v32 = sub v25, v2
  v30:v32 = select v26, v29, v25
  store v64, v28, v30, v50 {global 8}
  endpgm
}
)";

/// The same of 32 bits, by lanes' own numbers, by one for all and by one that is known: the reciprocal and
/// the constant's product are roundings of their own.
TEST(Division, NarrowIntegers) {
  std::mt19937_64 random(7);
  const auto number = [&] {
    u32 x = static_cast<u32>(random()) >> (random() & 31);
    if ((random() & 3) == 0) x = (u32{1} << (random() & 31)) + static_cast<u32>(random() % 3) - 1;
    return (random() & 15) == 0 ? ~static_cast<u32>(random() & 3) : x;
  };
  for (unsigned round = 0; round < 120; ++round) {
    const u32 one = round < 4 ? round : number();
    const std::array<std::string, 3> divisors{"  v2:v32 = load v63, v50 #0x200 {global 4}\n",
                                              "  v3:u32, v7:u32 = sload v56, v8\n  v2:v32 = splat v3\n",
                                              "  v2:v32 = const #" + std::to_string(one) + "\n"};
    Operands x{};
    for (unsigned l = 0; l < 64; ++l) {
      const u32 d = x[64 + l] = number();
      x[l] = (random() & 3) == 0 && d != 0 ? number() / d * d + static_cast<u32>(random() % 3) - 1 : number();
      x[l] &= 0xffff'ffff;
    }
    for (std::size_t kind = 0; kind < divisors.size(); ++kind) {
      std::string text = std::string(kBegin) + kNarrow;
      const std::string offset = kind == 1 ? "  v8:u32 = const #0x200\n" : "";
      text.replace(text.find("DIVISOR"), 7, offset + divisors[kind]);
      if (kind != 0) std::fill(x.begin() + 64, x.end(), one);
      const auto divisions = as_is_and_replaced(text, [&](ir::Function& f) {
        EXPECT_TRUE(passes::replace_narrow_divisions(f) || kind == 2);
        passes::fold(f);
      });
      for (const translator::Simd simd : widths()) {
        const auto expected = quotients(divisions[0], simd, x), actual = quotients(divisions[1], simd, x);
        for (unsigned l = 0; l < 64; ++l) {
          ASSERT_EQ(expected[l], actual[l]) << std::hex << x[l] << " / " << x[64 + l];
          ASSERT_TRUE(x[64 + l] == 0 || static_cast<u32>(expected[l]) == x[l] / x[64 + l]);
        }
      }
    }
  }
}

/// What replace_narrow_divisions() rests on: with z the reciprocal of d after Newton's step, z d <= 2^32 and
/// 2^32 - z d <= 2 d. Before that step, e = 2^32 - z d is not negative; the step leaves e^2 / 2^32 and less
/// than d. All d that are one number as f32 have one z before it, and so the first and the last tell.
TEST(Division, ReciprocalsOfNarrowIntegers) {
  constexpr u64 kTwo32 = u64{1} << 32;
  const auto check = [](float d, u64 least, u64 most) {
    const auto z = static_cast<u32>(1.0f / d * std::bit_cast<float>(0x4f7f'fffeu));
    if (z == 0) return kTwo32 <= 2 * least;
    if (z * most > kTwo32) return false;
    const u64 e = kTwo32 - z * least;
    return e < kTwo32 && e * e / least <= kTwo32;
  };
  for (u32 d = 1; d < 1u << 24; ++d) ASSERT_TRUE(check(static_cast<float>(d), d, d)) << d;
  for (unsigned k = 1; k <= 8; ++k)
    for (u64 m = u64{1} << 23; m < u64{1} << 24; ++m) {
      const u64 d = m << k, half = u64{1} << (k - 1);
      ASSERT_TRUE(check(static_cast<float>(d), d - half, d + half)) << d;
    }
  ASSERT_TRUE(check(0x1p32f, kTwo32 - 128, kTwo32 - 1));
}

/// Without signs; what differs with them comes behind.
constexpr const char* kSmall = R"(  v1:v32 = load v63, v50 {global NUMERATOR}
DIVISOR  v4:v32 = const #0x80000000
  v5:v32 = const #0x7fffffff
  v6:v32 = const #0x0
  v7:v32 = const #0x1
  v8:v32 = const #0x1e
  v10:v32 = ui_to_fp v2 #0x20 {f32}
  v11:v32 = ui_to_fp v1 #0x20 {f32}
  v12:v32 = frcp v10 {f32 flush_in flush_out}
  v13:v32 = fmul v11, v12 {f32}
  v14:v32 = ftrunc v13 {f32}
  v15:v32 = fp_to_ui v14 #0x20 {f32}
  v16:v32 = xor v14, v4
  v17:v32 = fmul v16, v10 {f32}
  v18:v32 = fadd v17, v11 {f32}
  v19:v32 = and v18, v5
)";

constexpr const char* kSmallEnd = R"(  v20:mask = fcmp v19, v10 #0x6 {f32}
  v21:v32 = select v20, v7, v6
  v22:v32 = add v15, v21
  store v64, v22, v50 {global 4}
  endpgm
}
)";

constexpr const char* kSmallSignedEnd = R"(  v23:v32 = and v10, v5
  v20:mask = fcmp v19, v23 #0x6 {f32}
  v24:v32 = xor v1, v2
  v25:v32 = ashr v24, v8
  v26:v32 = or v25, v7
  v21:v32 = select v20, v26, v6
  v22:v32 = add v15, v21
  store v64, v22, v50 {global 4}
  endpgm
}
)";

std::string small_division(bool is_signed) {
  std::string text = kSmall;
  if (is_signed)
    for (const auto& [from, to] : {std::pair{"NUMERATOR}", "NUMERATOR sext}"},
                                   {"ui_to_fp", "si_to_fp"},
                                   {"ui_to_fp", "si_to_fp"},
                                   {"fp_to_ui", "fp_to_si"}})
      text.replace(text.find(from), std::string(from).size(), to);
  return text + (is_signed ? kSmallSignedEnd : kSmallEnd);
}

/// Integers of so few bits that compilers divide them as f32: of bytes and half-words, with signs and
/// without, by lanes' own numbers (0 among them) and by one that is known.
TEST(Division, SmallIntegers) {
  std::mt19937_64 random(11);
  for (unsigned round = 0; round < 160; ++round) {
    const bool is_signed = round % 2 != 0, is_known = round % 4 >= 2;
    const bool is_odd = !is_known && !is_signed && round % 16 >= 8; // and so not 0, as is seen
    const unsigned bytes = round % 8 < 4 ? 1 : 2;
    const auto number = [&] {
      const u32 x = static_cast<u32>(random()) >> (random() & 15);
      const u32 cut = bytes == 1 ? x & 0xff : x & 0xffff;
      if (!is_signed) return cut;
      return static_cast<u32>(bytes == 1 ? i32{static_cast<std::int8_t>(cut)}
                                         : i32{static_cast<std::int16_t>(cut)});
    };
    const u32 one = std::max(number(), 1u);
    Operands x{};
    for (unsigned l = 0; l < 64; ++l) {
      x[64 + l] = is_known ? one : (random() & 15) == 0 ? 0 : number();
      if (is_odd) x[64 + l] |= 1;
      x[l] = number();
      if (!is_signed && x[64 + l] != 0 && (random() & 1) != 0) x[l] -= x[l] % static_cast<u32>(x[64 + l]);
    }
    std::string text = kBegin + small_division(is_signed);
    text.replace(text.find("NUMERATOR"), 9, std::to_string(bytes));
    text.replace(text.find("DIVISOR"), 7,
                 is_known ? "  v2:v32 = const #" + std::to_string(one) + "\n"
                          : "  v3:v32 = load v63, v50 #0x200 {global " + std::to_string(bytes) +
                                (is_signed ? " sext}\n" : "}\n") + "  v27:v32 = const #" +
                                (is_odd ? "1" : "0") + "\n  v2:v32 = or v3, v27\n");
    const auto divisions = as_is_and_replaced(text, [&](ir::Function& f) {
      passes::fold(f);
      EXPECT_TRUE(passes::replace_small_divisions(f) || one == 1) << one;
      passes::fold(f);
    });
    for (const translator::Simd simd : widths()) {
      const auto expected = quotients(divisions[0], simd, x), actual = quotients(divisions[1], simd, x);
      for (unsigned l = 0; l < 64; ++l) {
        ASSERT_EQ(expected[l], actual[l]) << std::hex << x[l] << " / " << x[64 + l];
        const auto n = static_cast<i32>(x[l]), d = static_cast<i32>(x[64 + l]);
        ASSERT_TRUE(d == 0 || static_cast<i32>(expected[l]) == n / d) << n << " / " << d;
      }
    }
  }
}

/// What replace_small_divisions() rests on, at the multiples of all denominators and next to them: for the
/// compilers' sequence and a division below 2^23, for a product with the reciprocal rounded up below 2^22.
TEST(Division, SmallIntegersAsF32) {
  const auto check = [](u32 n, u32 d) {
    const auto a = static_cast<float>(n), b = static_cast<float>(d);
    float q = std::trunc(a * (1.0f / b));
    if (std::abs(-q * b + a) >= b) q += 1;
    return static_cast<u32>(q) == n / d && static_cast<u32>(a / b) == n / d;
  };
  const auto check_product = [](u32 n, u32 d) {
    float c = 1.0f / static_cast<float>(d);
    if (std::fma(c, static_cast<float>(d), -1.0f) < 0) c = std::nextafter(c, 2.0f);
    return static_cast<u32>(static_cast<float>(n) * c) == n / d;
  };
  for (u32 d = 1; d < 1u << 23; d += d < 4096 ? 1 : 97)
    for (const u32 most : {(1u << 23) - 1, (1u << 22) - 1, (1u << 21) + 12345}) {
      const u32 step = std::max(1u, most / d / 200);
      for (u32 q = most / d;; q -= std::min(q, step)) {
        for (const u32 n : {q * d, q * d + d - 1, q * d + d / 2}) {
          if (n > most) continue;
          ASSERT_TRUE(check(n, d)) << n << " / " << d;
          ASSERT_TRUE(n >= 1u << 22 || check_product(n, d)) << n << " / " << d;
        }
        if (q == 0) break;
      }
    }
}

TEST(Division, RootF32) {
  for (const char* mode : {"", " flush_in flush_out"})
    compare(with_mode(std::string(kScaled32) + kImproved32 + kEnd32, mode), 23, 8, 100);
  compare(with_mode(std::string(kScaled32) + kCorrected32 + kEnd32, ""), 23, 8, 100);
}

/// That roots of f32 are rounded before and after such steps, of all significands and scaled denormals.
TEST(Division, RootsF32AreRounded) {
  const auto next = [](float x, u32 by) { return std::bit_cast<float>(std::bit_cast<u32>(x) + by); };
  const auto check = [&](float x) {
    const float root = std::sqrt(x), y = 1.0f / root;
    if (std::fma(-next(root, ~0u), root, x) <= 0 || std::fma(-next(root, 1), root, x) > 0) return false;
    const float g = x * y, h = 0.5f * y, r = std::fma(-h, g, 0.5f);
    const float g1 = std::fma(g, r, g), h1 = std::fma(h, r, h);
    return std::fma(std::fma(-g1, g1, x), h1, g1) == root;
  };
  for (const int exponent : {-96, -95, 0, 1, 126, 127})
    for (u32 m = 0; m < 1u << 23; ++m) {
      const float x = std::ldexp(1.0f + std::ldexp(static_cast<float>(m), -23), exponent);
      ASSERT_TRUE(check(x)) << std::hexfloat << x;
    }
  for (u32 m = 1; m < 1u << 23; ++m) {
    const float x = std::ldexp(std::bit_cast<float>(m), 32);
    ASSERT_TRUE(check(x)) << std::hexfloat << x;
  }
}

TEST(Division, RootF64NextToMiddle) {
  const std::vector<u64> radicands = hard_radicands(4000);
  ASSERT_GT(radicands.size(), 500u);
  const Division exact = prepare(kBegin + root_of(kScaled), false),
                 fast = prepare(kBegin + root_of(kScaled), true);
  for (std::size_t n = 0; n < radicands.size(); n += 64) {
    Operands x{};
    for (std::size_t l = 0; l < 64; ++l) x[l] = radicands[std::min(n + l, radicands.size() - 1)];
    for (const translator::Simd simd : widths()) {
      const auto expected = quotients(exact, simd, x), actual = quotients(fast, simd, x);
      for (unsigned l = 0; l < 64; ++l) {
        ASSERT_EQ(expected[l], actual[l]) << std::hex << "root of " << x[l];
        ASSERT_EQ(std::bit_cast<double>(actual[l]), std::sqrt(std::bit_cast<double>(x[l])));
      }
    }
  }
}

} // namespace lanewise::x86::test
