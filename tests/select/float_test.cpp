#include "runtime/math/gcn_math.hpp"
#include "tests/select/float_reference.hpp"
#include "tests/select/op_case.hpp"
#include "translator/ir/parser.hpp"
#include "translator/passes/passes.hpp"
#include "translator/x86/float_kinds.hpp"

#include <cfenv>
#include <cmath>
#include <fmt/format.h>

namespace lanewise::x86::test {

using ir::FloatKind;
using ir::FpAttr;
using ir::Op;
using ir::Round;
using ir::Type;

namespace {

constexpr FloatKind kKinds[] = {FloatKind::F16, FloatKind::F32, FloatKind::F64};
constexpr Round kRounds[] = {Round::NearestEven, Round::PlusInf, Round::MinusInf, Round::Zero};

Type type_of(FloatKind kind) { return kind == FloatKind::F64 ? Type::V64 : Type::V32; }

std::vector<u64> interesting(FloatKind kind) {
  const Format f = format_of(kind);
  const u64 one = ((u64{1} << (f.exponent_bits - 1)) - 1) << f.mantissa_bits, ulp = 1;
  std::vector<u64> v = {0,
                        1,
                        2,
                        f.quiet(),
                        (u64{1} << f.mantissa_bits) - 1,
                        u64{1} << f.mantissa_bits,
                        (u64{1} << f.mantissa_bits) + ulp,
                        one,
                        one - 1,
                        one + 1,
                        one + f.quiet(),
                        one + (u64{1} << f.mantissa_bits),
                        one - (u64{1} << f.mantissa_bits),
                        f.infinity() - 1,
                        f.infinity(),
                        f.infinity() | 1,
                        f.infinity() | f.quiet(),
                        f.infinity() | f.quiet() | 5,
                        f.infinity() | 0x33,
                        one + (u64{5} << f.mantissa_bits) + 0x2a5,
                        one - (u64{7} << f.mantissa_bits) + 0x135};
  const std::size_t n = v.size();
  for (std::size_t k = 0; k < n; ++k) v.push_back(v[k] | f.sign());
  return v;
}

u64 low_bits(FloatKind kind, u64 v) { return kind == FloatKind::F16 ? v & 0xffff : v; }

void check_float(const std::string& name, Op op, FpAttr fp, unsigned operands,
                 std::function<u64(const FpAttr&, const u64*)> f, u64 immediate = 0,
                 Type result = Type::None) {
  const Type t = type_of(fp.kind);
  OpCase c{name,
           {.op = op, .fp = fp, .imm = immediate},
           result == Type::None ? t : result,
           std::vector<Type>(operands, t),
           {}};
  c.expected = [=](const u64* in) {
    u64 v[3] = {low_bits(fp.kind, in[0]), low_bits(fp.kind, in[1]), low_bits(fp.kind, in[2])};
    return f(fp, v);
  };
  c.pool = interesting(fp.kind);
  // x86 decides on flushing before the last rounding: a result at the border to the normal numbers may be
  // either.
  const Format format = format_of(fp.kind);
  if (fp.flush_out && fp.kind != FloatKind::F16)
    c.equal = [=](u64 got, u64 wanted) {
      const u64 magnitude = wanted & ~format.sign();
      return got == wanted ||
             (magnitude == u64{1} << format.mantissa_bits && got == (wanted & format.sign()));
    };
  check(c);
}

std::vector<FpAttr> attributes(FloatKind kind) {
  std::vector<FpAttr> all;
  for (const Round r : kRounds)
    for (const unsigned flush : {0u, 3u, 1u, 2u}) {
      if (r != Round::NearestEven && flush != 0 && flush != 3) continue;
      all.push_back({.kind = kind, .round = r, .flush_in = (flush & 1) != 0, .flush_out = (flush & 2) != 0});
    }
  return all;
}

} // namespace

TEST(SelectFloat, Arithmetic) {
  struct Rule {
    Op op;
    char symbol;
    unsigned operands;
  };
  for (const FloatKind kind :
       {FloatKind::F16, FloatKind::F32}) // f64's exact products do not fit the reference.
    for (const FpAttr& fp : attributes(kind))
      for (const Rule rule : {Rule{Op::FAdd, '+', 2}, Rule{Op::FSub, '-', 2}, Rule{Op::FMul, '*', 2}})
        check_float(
            std::string("arithmetic ") + rule.symbol, rule.op, fp, rule.operands,
            [=](const FpAttr& a, const u64* in) { return arithmetic(rule.symbol, a, in[0], in[1], 0); });
}

TEST(SelectFloat, HalfFma) {
  for (const FpAttr& fp : attributes(FloatKind::F16))
    check_float("fma", Op::FFma, fp, 3,
                [](const FpAttr& a, const u64* in) { return arithmetic('f', a, in[0], in[1], in[2]); });
}

/// Products halfway between two numbers, which least numbers push to one side, whatever the signs.
TEST(SelectFloat, HalfFmaNextToTies) {
  const FpAttr fp = {.kind = FloatKind::F16};
  for (const u64 factor : {0x6401, 0xe401}) { // 1025 and -1025; times 1.5 and -1.5
    OpCase c{"fma", {.op = Op::FFma, .fp = fp}, Type::V32, {Type::V32, Type::V32, Type::V32}, {}};
    c.constants = {{0, factor}};
    c.pool = {0x3e00, 0xbe00, 0x0001, 0x8001};
    c.expected = [=](const u64* in) { return arithmetic('f', fp, in[0], in[1] & 0xffff, in[2] & 0xffff); };
    check(c);
  }
}

/// What is done before the first gang has not what is converted in it.
TEST(SelectFloat, HalvesAreConvertedWhereTheyAreUsed) {
  auto f = ir::parse(R"(func "halves" gfx906 {
b0:
  v0:u32 = init_sgpr
  v1:v32 = splat v0
  v2:v32 = init_vgpr
  v3:mask = const #0xffffffffffffffff
  v4:v32 = fadd v1, v2 {f16 ieee}
  v5:v32 = fmul v1, v1 {f16 ieee}
  v6:v32 = xor v4, v5
  store v2, v6, v3 {lds 4}
  endpgm
}
)");
  ASSERT_TRUE(f.ok());
  for (const translator::Simd simd : widths())
    EXPECT_TRUE(compile(*f, trivial_plan(*f), {.simd = simd, .verify = true}).ok());
}

/// A half that has just been rounded is not converted anew, unless one of the two operations flushes it.
TEST(SelectFloat, HalvesAreConvertedOnce) {
  std::vector<u64> pool = interesting(FloatKind::F16);
  pool.resize(64, 0x2e66);
  for (const unsigned flushes : {0u, 1u, 2u, 3u})
    for (const translator::Simd simd : widths()) {
      const FpAttr first = {.kind = FloatKind::F16, .flush_out = (flushes & 1) != 0};
      const FpAttr second = {.kind = FloatKind::F16, .flush_in = (flushes & 2) != 0};
      LaneProgram p;
      const auto op = [&](Op o, const FpAttr& fp, std::initializer_list<ir::ValueId> in) {
        const Type t = Type::V32;
        return p.f.result(
            p.f.append(p.b.block(), {.op = o, .fp = fp}, {in.begin(), in.size()}, std::span(&t, 1)));
      };
      const ir::ValueId a = p.operand(0, Type::V32), b = p.operand(1, Type::V32);
      const ir::ValueId product = op(Op::FMul, first, {a, b});
      p.store(op(Op::FAdd, second, {product, a}), 2);
      p.store(op(Op::FAdd, first, {product, a}), 3);
      p.b.end_program();
      std::array<std::array<u64, 64>, 4> tables{};
      for (u32 shift = 0; shift < 64; ++shift) {
        for (u32 l = 0; l < 64; ++l) tables[0][l] = pool[l], tables[1][l] = pool[(l + shift) % 64];
        RunInput input;
        for (const auto& table : tables) input.pass(reinterpret_cast<u64>(table.data()));
        run(p.f, trivial_plan(p.f), simd, input);
        for (u32 l = 0; l < 64; ++l) {
          const u64 x = tables[0][l], wanted = arithmetic('*', first, x, tables[1][l], 0);
          ASSERT_EQ(tables[2][l], arithmetic('+', second, wanted, x, 0)) << flushes << ": " << x;
          ASSERT_EQ(tables[3][l], arithmetic('+', first, wanted, x, 0)) << flushes << ": " << x;
        }
      }
    }
}

TEST(SelectFloat, NativeFma) { // Against the host's scalar fma, with the order of NaNs.
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const Round round : kRounds)
      check_float(
          "fma", Op::FFma, {.kind = kind, .round = round}, 3, [](const FpAttr& a, const u64* in) -> u64 {
            const Format f = format_of(a.kind);
            for (int n = 0; n < 3; ++n)
              if (f.is_nan(in[n])) return in[n] | f.quiet();
            static constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
            std::fesetround(kModes[static_cast<unsigned>(a.round)]);
            u64 r;
            if (a.kind == FloatKind::F64) {
              r = std::bit_cast<u64>(std::fma(std::bit_cast<double>(in[0]), std::bit_cast<double>(in[1]),
                                              std::bit_cast<double>(in[2])));
            } else {
              float x[3];
              for (int n = 0; n < 3; ++n) x[n] = std::bit_cast<float>(static_cast<u32>(in[n]));
              r = std::bit_cast<u32>(std::fmaf(x[0], x[1], x[2]));
            }
            std::fesetround(FE_TONEAREST);
            return f.is_nan(r) ? f.default_nan() : r;
          });
}

/// Roots and reciprocals that flush, in a function that otherwise does not.
TEST(SelectFloat, FlushingAmongOthers) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const bool root : {false, true}) {
      const Format f = format_of(kind);
      const bool wide = kind == FloatKind::F64;
      const u64 one = wide ? std::bit_cast<u64>(1.0) : std::bit_cast<u32>(1.0F);
      const Type t = type_of(kind);
      const FpAttr fp{.kind = kind, .flush_in = true, .flush_out = true};
      OpCase c{root ? "root" : "reciprocal", {.op = root ? Op::FSqrt : Op::FDiv, .fp = fp}, t, {}, {}};
      c.operands.assign(root ? 1 : 2, t);
      if (!root) c.constants = {{0, one}};
      c.before = ir::Inst{.op = Op::FCanonical, .fp = {.kind = kind}};
      c.pool = interesting(kind);
      const auto flushed = [f](u64 v) { return (v & f.infinity()) == 0 ? v & f.sign() : v; };
      c.expected = [=](const u64* in) -> u64 {
        const u64 x = flushed(in[root ? 0 : 1]);
        if (f.is_nan(x)) return x | f.quiet();
        u64 r;
        if (wide) {
          const auto v = std::bit_cast<double>(x);
          r = std::bit_cast<u64>(root ? std::sqrt(v) : 1 / v);
        } else {
          const auto v = std::bit_cast<float>(static_cast<u32>(x));
          r = std::bit_cast<u32>(root ? std::sqrt(v) : 1 / v);
        }
        return f.is_nan(r) ? f.default_nan() : flushed(r);
      };
      check(c);
    }
}

/// 1 / sqrt(x) with nothing else to do, among them the root whose significand is all ones.
TEST(SelectFloat, ReciprocalOfRoot) {
  const Format f = format_of(FloatKind::F32);
  for (const bool flush : {false, true}) {
    const FpAttr fp{.flush_in = flush, .flush_out = flush};
    OpCase c{"reciprocal of root", {.op = Op::FDiv, .fp = fp}, Type::V32, {Type::V32, Type::V32}, {}};
    c.constants = {{0, std::bit_cast<u32>(1.0F)}};
    c.before = ir::Inst{.op = Op::FSqrt, .fp = fp};
    c.pool = interesting(FloatKind::F32);
    c.pool.insert(c.pool.end(), {0x407f'fffe, 0x407f'ffff, 0x007f'ffff, 0x0080'0000, 0x0080'0001});
    c.expected = [=](const u64* in) -> u64 {
      const u64 x = flush && (in[1] & f.infinity()) == 0 ? in[1] & f.sign() : in[1];
      if (f.is_nan(x)) return x | f.quiet();
      const u64 r = std::bit_cast<u32>(1 / std::sqrt(std::bit_cast<float>(static_cast<u32>(x))));
      return f.is_nan(r) ? f.default_nan() : r;
    };
    check(c);
  }
}

/// The root is of an earlier phase, and its operand not there any more.
TEST(SelectFloat, ReciprocalOfEarlierRoot) {
  for (const translator::Simd simd : widths()) {
    LaneProgram p;
    const auto op = [&](Op o, std::initializer_list<ir::ValueId> in) {
      const Type t = Type::V32;
      return p.f.result(p.f.append(p.b.block(), {.op = o}, {in.begin(), in.size()}, std::span(&t, 1)));
    };
    const ir::ValueId root = op(Op::FSqrt, {p.operand(0, Type::V32)});
    const ir::BlockId next = p.f.add_block();
    p.b.jump(next);
    p.b.set_block(next);
    p.store(op(Op::FDiv, {p.b.v32c(std::bit_cast<u32>(1.0F)), root}), 1);
    p.b.end_program();
    std::array<std::array<u64, 64>, 2> tables{};
    for (u32 l = 0; l < 64; ++l) tables[0][l] = std::bit_cast<u32>(static_cast<float>(l * l));
    RunInput input;
    for (const auto& table : tables) input.pass(table.data());
    run(p.f, trivial_plan(p.f), simd, input);
    for (u32 l = 0; l < 64; ++l) EXPECT_EQ(tables[1][l], std::bit_cast<u32>(1.0F / static_cast<float>(l)));
  }
}

/// Roots of what was scaled so that it is not denormal, or not enough for that.
TEST(SelectFloat, RootOfScaled) {
  const std::pair<u32, u32> kScalings[] = {// x below the first is multiplied by the second
                                           {0x0080'0000, 0x4b00'0000},  // least normal, 2^23: enough
                                           {0x0080'0000, 0x4a80'0000},  // 2^22
                                           {0x0070'0000, 0x4b00'0000}}; // not all that is denormal
  for (const auto& [least, scale] : kScalings)
    for (const bool swapped : {false, true}) {
      LaneProgram p;
      const auto op = [&](Op o, Type t, std::initializer_list<ir::ValueId> in, u64 imm, const FpAttr& fp) {
        return p.f.result(p.f.append(p.b.block(), {.op = o, .fp = fp, .imm = imm}, {in.begin(), in.size()},
                                     std::span(&t, 1)));
      };
      const ir::ValueId x = p.operand(0, Type::V32), limit = p.b.v32c(least), factor = p.b.v32c(scale);
      const ir::ValueId small =
          swapped ? op(Op::FCmp, Type::Mask, {limit, x}, 4, {}) : op(Op::FCmp, Type::Mask, {x, limit}, 1, {});
      const ir::ValueId product =
          swapped ? op(Op::FMul, Type::V32, {factor, x}, 0, {}) : op(Op::FMul, Type::V32, {x, factor}, 0, {});
      const ir::ValueId scaled = p.b.select(small, product, x);
      p.store(op(Op::FSqrt, Type::V32, {scaled}, 0, {.flush_in = true, .flush_out = true}), 1);
      p.store(op(Op::FAdd, Type::V32, {x, x}, 0, {}), 2); // most operations do not flush
      p.store(op(Op::FAdd, Type::V32, {x, limit}, 0, {}), 3);
      p.b.end_program();
      std::array<std::array<u64, 64>, 4> tables{};
      for (u32 l = 0; l < 64; ++l) tables[0][l] = l < 32 ? l : u32{0x0060'0000} + (l << 15);
      RunInput input;
      for (const auto& table : tables) input.pass(table.data());
      for (const translator::Simd simd : widths()) {
        run(p.f, trivial_plan(p.f), simd, input);
        for (unsigned l = 0; l < 64; ++l) {
          auto v = std::bit_cast<float>(static_cast<u32>(tables[0][l]));
          if (v < std::bit_cast<float>(least)) v *= std::bit_cast<float>(scale);
          if (!std::isnormal(v)) v = 0;
          EXPECT_EQ(tables[1][l], std::bit_cast<u32>(std::sqrt(v)))
              << "lane " << l << ", " << std::hex << least;
        }
      }
    }
}

/// What passes::unscale_roots makes of what `build(program, table)` computes of operands from the first
/// table, and stores to the other, gives the same bits. `check` is told the function then.
template <class Build, class Check>
void expect_unscaled_gives_the_same(std::vector<u64> pool, Build build, Check check) {
  pool.resize((pool.size() + 63) / 64 * 64);
  for (std::size_t first = 0; first < pool.size(); first += 64) {
    std::array<std::array<u64, 64>, 3> tables{}; // operands, results as they are and unscaled
    std::copy_n(pool.begin() + static_cast<std::ptrdiff_t>(first), 64, tables[0].begin());
    for (const translator::Simd simd : widths()) {
      for (const u32 result : {1u, 2u}) {
        LaneProgram p;
        build(p, result);
        p.b.end_program();
        if (result == 2) {
          passes::unscale_roots(p.f);
          passes::eliminate_dead_code(p.f);
          check(p.f);
        }
        RunInput input;
        for (const auto& table : tables) input.pass(table.data());
        run(p.f, trivial_plan(p.f), simd, input);
      }
      for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(tables[1][l], tables[2][l]) << std::hex << tables[0][l];
    }
  }
}

ir::ValueId append(LaneProgram& p, Op o, const FpAttr& fp, Type t, std::initializer_list<ir::ValueId> in,
                   u64 imm = 0) {
  const std::span<const ir::ValueId> operands{in.begin(), in.size()};
  return p.f.result(p.f.append(p.b.block(), {.op = o, .fp = fp, .imm = imm}, operands, std::span(&t, 1)));
}

TEST(SelectFloat, UnscaledRoots) {
  constexpr u32 kLeast = 0x0d80'0000, kScale = 0x7180'0000; // 2^-100, 2^100
  constexpr FpAttr kKeeps{}, kFlushes{.flush_in = true, .flush_out = true};
  std::vector<u64> pool = interesting(FloatKind::F32);
  pool.insert(pool.end(), {kLeast - 1, kLeast, 0x8d80'0000, 0x8000'0001, 0x0000'0001, 0x0012'3456});
  for (const bool reciprocal : {false, true}) {
    SCOPED_TRACE(reciprocal ? "reciprocal" : "root");
    const auto build = [&](LaneProgram& p, u32 result) {
      const auto product = [&](ir::ValueId v, u32 factor) {
        return append(p, Op::FMul, kKeeps, Type::V32, {v, p.b.v32c(factor)});
      };
      const ir::ValueId x = p.operand(0, Type::V32);
      const ir::ValueId small = append(p, Op::FCmp, kKeeps, Type::Mask, {x, p.b.v32c(kLeast)}, 1);
      ir::ValueId r = append(p, Op::FSqrt, kFlushes, Type::V32, {p.b.select(small, product(x, kScale), x)});
      if (reciprocal) r = append(p, Op::FDiv, kFlushes, Type::V32, {p.b.v32c(std::bit_cast<u32>(1.0F)), r});
      p.store(p.b.select(small, product(r, reciprocal ? 0x5880'0000 : 0x2680'0000), r), result);
    };
    expect_unscaled_gives_the_same(pool, build, [](const ir::Function&) {});
  }
}

/// The same for roots of f64 that are scaled below 2^-767, and keep the bits of NaNs and zeros.
TEST(SelectFloat, UnscaledWideRoots) {
  constexpr FpAttr kFp{.kind = FloatKind::F64, .ieee = true};
  constexpr u64 kTiny = u64{1023 - 767} << 52, kSign = u64{1} << 63, kInfinity = u64{0x7ff} << 52;
  std::vector<u64> pool = interesting(FloatKind::F64);
  pool.insert(pool.end(), {kTiny - 1, kTiny, kTiny + 1, kTiny | kSign, 1, 3, kSign | 1, kInfinity | kSign,
                           0x7ff0'0000'0000'0001, 0xfff8'0000'0000'1234, 0x000f'ffff'ffff'ffff});
  const auto build = [&](LaneProgram& p, u32 result) {
    const auto op = [&](Op o, Type t, std::initializer_list<ir::ValueId> in, u64 imm = 0) {
      return append(p, o, kFp, t, in, imm);
    };
    const auto f64 = [&](u64 bits) { return op(Op::Const, Type::V64, {}, bits); };
    const ir::ValueId x = p.operand(0, Type::V64);
    const ir::ValueId tiny = op(Op::FCmp, Type::Mask, {x, f64(kTiny)}, 1);
    const auto power = [&](u64 exponent) {
      return p.b.select(tiny, f64((1023 + exponent) << 52), f64(u64{1023} << 52));
    };
    const ir::ValueId y = op(Op::FMul, Type::V64, {x, power(256)});
    const ir::ValueId zero = op(Op::FCmp, Type::Mask, {y, f64(0)}, 2),
                      infinite = op(Op::FCmp, Type::Mask, {y, f64(kInfinity)}, 2);
    const ir::ValueId root = op(Op::FMul, Type::V64, {op(Op::FSqrt, Type::V64, {y}), power(u64{} - 128)});
    p.store(p.b.select(op(Op::Or, Type::Mask, {zero, infinite}), y, root), result);
  };
  expect_unscaled_gives_the_same(pool, build, [](const ir::Function& f) {
    for (const ir::InstId i : f[ir::BlockId{0}].insts) EXPECT_NE(f[i].op, Op::FMul);
  });
}

/// v_min and v_max (docs/SEMANTICS.md).
u64 extreme(bool max, const FpAttr& fp, u64 a, u64 b) {
  const Format f = format_of(fp.kind);
  const u64 x = fp.flush_in ? f.flushed(a) : a, y = fp.flush_in ? f.flushed(b) : b;
  const auto signalling = [&](u64 v) { return f.is_nan(v) && (v & f.quiet()) == 0; };
  if (fp.ieee && signalling(x)) return x | f.quiet();
  if (fp.ieee && signalling(y)) return y | f.quiet();
  if (f.is_nan(x)) return y;
  if (f.is_nan(y)) return x;
  const auto key = [&](u64 v) {
    return (v & f.sign()) != 0 ? -1 - static_cast<i64>(v & (f.sign() - 1)) : static_cast<i64>(v);
  };
  return (key(x) < key(y)) != max ? x : y;
}

TEST(SelectFloat, MinMax) {
  for (const FloatKind kind : kKinds)
    for (const bool ieee : {false, true})
      for (const bool flush : {false, true})
        for (const bool max : {false, true})
          check_float("min/max", max ? Op::FMax : Op::FMin, {.kind = kind, .flush_in = flush, .ieee = ieee},
                      2, [=](const FpAttr& fp, const u64* in) { return extreme(max, fp, in[0], in[1]); });
}

/// As compilers quiet what they compare.
TEST(SelectFloat, MinMaxOfItself) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const bool ieee : {false, true})
      for (const bool flush : {false, true})
        for (const translator::Simd simd : widths()) {
          const FpAttr fp{.kind = kind, .flush_in = flush, .flush_out = flush, .ieee = ieee};
          const std::vector<u64> pool = interesting(kind);
          std::array<std::array<u64, 64>, 2> tables{};
          for (std::size_t l = 0; l < 64; ++l) tables[0][l] = low_bits(kind, pool[l % pool.size()]);
          LaneProgram p;
          const ir::ValueId x = p.operand(0, type_of(kind));
          p.store(append(p, Op::FMax, fp, type_of(kind), {x, x}), 1);
          p.b.end_program();
          RunInput input;
          for (const auto& table : tables) input.pass(table.data());
          run(p.f, trivial_plan(p.f), simd, input);
          for (std::size_t l = 0; l < 64; ++l)
            EXPECT_EQ(tables[1][l], extreme(true, fp, tables[0][l], tables[0][l]))
                << std::hex << tables[0][l];
        }
}

/// What is quiet already takes no instruction, but is flushed.
TEST(SelectFloat, MinMaxOfItselfThatIsQuiet) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const Op op : {Op::FMin, Op::FMax, Op::FCanonical})
      for (const bool flush : {false, true})
        for (const translator::Simd simd : widths()) {
          const FpAttr keeps{.kind = kind, .ieee = true};
          const FpAttr fp{.kind = kind, .flush_in = flush, .flush_out = flush, .ieee = true};
          const std::vector<u64> pool = interesting(kind);
          std::array<std::array<u64, 64>, 2> tables{};
          for (std::size_t l = 0; l < 64; ++l) tables[0][l] = low_bits(kind, pool[l % pool.size()]);
          LaneProgram p;
          const Type t = type_of(kind);
          const ir::ValueId x = append(p, Op::FMax, keeps, t, {p.operand(0, t), p.b.constant(t, 0)});
          p.store(op == Op::FCanonical ? append(p, op, fp, t, {x}) : append(p, op, fp, t, {x, x}), 1);
          p.b.end_program();
          RunInput input;
          for (const auto& table : tables) input.pass(table.data());
          run(p.f, trivial_plan(p.f), simd, input);
          for (std::size_t l = 0; l < 64; ++l) {
            const u64 quiet = extreme(true, keeps, tables[0][l], 0);
            EXPECT_EQ(tables[1][l], extreme(true, fp, quiet, quiet)) << std::hex << tables[0][l];
          }
          if (flush || simd != translator::Simd::Avx2) continue;
          auto code = compile(p.f, trivial_plan(p.f), {.simd = simd, .verify = true, .listing = true});
          ASSERT_TRUE(code.ok()) << code.error().message;
          EXPECT_EQ(code->listing.find("vmulp"), std::string::npos) << code->listing;
        }
}

TEST(SelectFloat, MinMaxOfQuietOperands) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const bool max : {false, true}) {
      const FpAttr fp{.kind = kind, .ieee = true};
      const Type t = type_of(kind);
      OpCase c{"quiet min/max", {.op = max ? Op::FMax : Op::FMin, .fp = fp}, t, {t, t}, {}};
      c.before = ir::Inst{.op = Op::FCanonical, .fp = fp};
      c.expected = [=](const u64* in) -> u64 {
        const Format f = format_of(kind);
        const auto quieted = [&](u64 v) { return f.is_nan(v) ? v | f.quiet() : v; };
        return extreme(max, fp, quieted(in[0]), quieted(in[1]));
      };
      c.pool = interesting(kind);
      check(c);
    }
}

/// What starts as a number and takes in quiet operands stays one, whatever these are.
TEST(SelectFloat, MinMaxOfANumber) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const bool ieee : {false, true})
      for (const bool flush : {false, true})
        for (const bool max : {false, true})
          for (const bool swapped : {false, true})
            for (const translator::Simd simd : widths()) {
              const FpAttr fp{.kind = kind, .flush_in = flush, .flush_out = flush, .ieee = ieee};
              const Type t = type_of(kind);
              constexpr float kEach[] = {0.0F, -0.0F, 0x1p-149F, 1.5F, -1.5F, -INFINITY, INFINITY, NAN};
              const auto bits = [&](float v) -> u64 {
                return kind == FloatKind::F64 ? std::bit_cast<u64>(double{v}) : std::bit_cast<u32>(v);
              };
              const u64 least = bits(-INFINITY), denormal = flush ? 0 : 1;
              std::array<std::array<u64, 64>, 3> tables{};
              for (std::size_t l = 0; l < 64; ++l)
                for (const std::size_t n : {0u, 1u}) {
                  const float v = kEach[n == 0 ? l / 8 : l % 8];
                  tables[n][l] = v == 0x1p-149F ? denormal : bits(v);
                }
              LaneProgram p;
              const auto quiet = [&](unsigned n) {
                return append(p, Op::FCanonical, fp, t, {p.operand(n, t)});
              };
              const ir::ValueId number = append(p, Op::FMax, fp, t, {quiet(0), p.b.constant(t, least)});
              const ir::ValueId other = quiet(1);
              p.store(append(p, max ? Op::FMax : Op::FMin, fp, t,
                             {swapped ? other : number, swapped ? number : other}),
                      2);
              p.b.end_program();
              RunInput input;
              for (const auto& table : tables) input.pass(table.data());
              run(p.f, trivial_plan(p.f), simd, input);
              for (std::size_t l = 0; l < 64; ++l) {
                const u64 x = extreme(true, fp, tables[0][l], least), y = tables[1][l];
                EXPECT_EQ(tables[2][l], extreme(max, fp, x, y)) << std::hex << x << " and " << y;
              }
            }
}

/// Through a loop as well, and only from what is one at first.
TEST(SelectFloat, KindsOfNumbersInLoops) {
  const auto largest = [](const char* first) {
    auto f = ir::parse(fmt::format("func \"k\" gfx906 {{\n"
                                   "b0:\n  v0:v32 = init_vgpr\n  v1:v32 = const {}\n  jump -> b1(v1)\n"
                                   "b1(v2:v32):\n  v3:v32 = fcanonical v0 {{f32 ieee}}\n"
                                   "  v4:v32 = fmax v2, v3 {{f32 ieee}}\n"
                                   "  v5:mask = fcmp v4, v0 #0x4 {{f32 ieee}}\n"
                                   "  v6:v32 = select v5, v4, v2\n  v7:u1 = any v5\n"
                                   "  branch v7 -> b1(v6), b2\n"
                                   "b2:\n  endpgm\n}}\n",
                                   first));
    EXPECT_TRUE(f.ok()) << f.error().message;
    for (const ir::InstId i : f->blocks[1].insts)
      if ((*f)[i].op == Op::FMax) return FloatKinds(*f).of(f->result(i));
    return FloatKinds::Kind::Any;
  };
  EXPECT_EQ(largest("#0xff800000"), FloatKinds::Kind::Number);
  EXPECT_EQ(largest("#0x7fc00000"), FloatKinds::Kind::Quiet);
  EXPECT_EQ(largest("#0x7f800001"), FloatKinds::Kind::Quiet)
      << "a signalling NaN, of which the maximum is quiet";
}

constexpr float kLimits[] = {-INFINITY, -2147483648.0F, -1.0F,  -0.0F,         0.0F,          0x1p-149F,
                             0.5F,      1.0F,           255.0F, 2147483520.0F, 2147483648.0F, INFINITY};

TEST(SelectFloat, MinMaxOfAConstant) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const bool ieee : {false, true})
      for (const bool flush : {false, true})
        for (const bool max : {false, true})
          for (const unsigned position : {0u, 1u})
            for (const float limit : kLimits) {
              const u64 bits =
                  kind == FloatKind::F64 ? std::bit_cast<u64>(double{limit}) : std::bit_cast<u32>(limit);
              const FpAttr fp{.kind = kind, .flush_in = flush, .ieee = ieee};
              const Type t = type_of(kind);
              OpCase c{"limit", {.op = max ? Op::FMax : Op::FMin, .fp = fp}, t, {t, t}, {}};
              c.expected = [=](const u64* in) {
                const u64 x = low_bits(kind, in[1 - position]);
                return position == 0 ? extreme(max, fp, bits, x) : extreme(max, fp, x, bits);
              };
              c.constants = {{position, bits}};
              c.pool = interesting(kind);
              check(c);
            }
}

/// The guide's formula, and the minimum of all with a NaN.
u64 median(const FpAttr& fp, u64 a, u64 b, u64 c) {
  const Format f = format_of(fp.kind);
  const auto max = [&](u64 x, u64 y) { return extreme(true, fp, x, y); };
  const auto is_same = [&](u64 x, u64 y) { return value_of(fp.kind, x) == value_of(fp.kind, y); };
  if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return extreme(false, fp, extreme(false, fp, a, b), c);
  const u64 largest = max(max(a, b), c);
  if (is_same(largest, fp.flush_in ? f.flushed(a) : a)) return max(b, c);
  return is_same(largest, fp.flush_in ? f.flushed(b) : b) ? max(a, c) : max(a, b);
}

TEST(SelectFloat, MedianOfConstants) {
  for (const bool ieee : {false, true})
    for (const bool flush : {false, true})
      for (const unsigned position : {0u, 1u, 2u}) // of what is no constant
        for (const float low : {-INFINITY, -1.0F, -0.0F, 0.0F, 0x1p-149F, 255.0F})
          for (const float high : {0.0F, 0x1p-149F, 1.0F, 255.0F}) {
            const FpAttr fp{.kind = FloatKind::F32, .flush_in = flush, .ieee = ieee};
            OpCase c{"median", {.op = Op::FMed3, .fp = fp}, Type::V32, {Type::V32, Type::V32, Type::V32}, {}};
            const unsigned first = position == 0 ? 1 : 0, second = position == 2 ? 1 : 2;
            c.constants = {{first, std::bit_cast<u32>(low)}, {second, std::bit_cast<u32>(high)}};
            c.expected = [=](const u64* in) {
              u64 x[3] = {};
              x[position] = low_bits(FloatKind::F32, in[position]);
              x[first] = std::bit_cast<u32>(low);
              x[second] = std::bit_cast<u32>(high);
              return median(fp, x[0], x[1], x[2]);
            };
            c.pool = interesting(FloatKind::F32);
            c.legalize = true;
            check(c);
          }
}

TEST(SelectFloat, Median) {
  for (const bool ieee : {false, true})
    for (const bool flush_in : {false, true})
      for (const bool flush_out : {false, true})
        for (const FloatKind kind : {FloatKind::F32, FloatKind::F64}) {
          const FpAttr fp{.kind = kind, .flush_in = flush_in, .flush_out = flush_out, .ieee = ieee};
          const Type t = type_of(kind);
          OpCase c{"median", {.op = Op::FMed3, .fp = fp}, t, {t, t, t}, {}};
          c.expected = [=](const u64* in) {
            return median(fp, low_bits(kind, in[0]), low_bits(kind, in[1]), low_bits(kind, in[2]));
          };
          c.pool = interesting(kind);
          c.legalize = true;
          check(c);
        }
}

/// Integers of what has been limited, which may need no test of their own.
TEST(SelectFloat, IntegersOfLimitedNumbers) {
  const std::vector<u64> pool = interesting(FloatKind::F32);
  for (const bool ieee : {false, true})
    for (const bool is_signed : {false, true})
      for (const bool max_first : {false, true})
        for (const float low : kLimits)
          for (const float high : kLimits)
            for (const translator::Simd simd : widths()) {
              const FpAttr fp{.kind = FloatKind::F32, .ieee = ieee};
              const u64 bits[2] = {std::bit_cast<u32>(high), std::bit_cast<u32>(low)}; // of the minimum, ..
              std::array<std::array<u64, 64>, 2> tables{};
              for (std::size_t l = 0; l < 64; ++l) tables[0][l] = pool[l % pool.size()];
              LaneProgram p;
              ir::ValueId x = p.operand(0, Type::V32);
              for (const bool max : {max_first, !max_first})
                x = append(p, max ? Op::FMax : Op::FMin, fp, Type::V32,
                           {x, p.b.v32c(static_cast<u32>(bits[max ? 1 : 0]))});
              p.store(append(p, is_signed ? Op::FpToSI : Op::FpToUI, fp, Type::V32, {x}, 32), 1);
              p.b.end_program();
              RunInput input;
              for (const auto& table : tables) input.pass(table.data());
              run(p.f, trivial_plan(p.f), simd, input);
              for (std::size_t l = 0; l < 64; ++l) {
                u64 v = tables[0][l];
                for (const bool max : {max_first, !max_first}) v = extreme(max, fp, v, bits[max ? 1 : 0]);
                const double number = std::bit_cast<float>(static_cast<u32>(v));
                const double least = is_signed ? -2147483648.0 : 0,
                             most = is_signed ? 2147483647.0 : 4294967295.0;
                const auto wanted =
                    std::isnan(number) ? 0 : static_cast<i64>(std::trunc(std::clamp(number, least, most)));
                EXPECT_EQ(static_cast<u32>(tables[1][l]), static_cast<u32>(wanted))
                    << std::hex << tables[0][l] << " in " << low << " to " << high;
              }
            }
}

TEST(SelectFloat, Clamp) {
  for (const FloatKind kind : kKinds)
    for (const bool dx10 : {false, true})
      check_float("clamp", Op::FClamp, {.kind = kind, .dx10_clamp = dx10}, 1,
                  [=](const FpAttr& a, const u64* in) -> u64 {
                    const Format f = format_of(a.kind);
                    const u64 one = ((u64{1} << (f.exponent_bits - 1)) - 1) << f.mantissa_bits;
                    if (f.is_nan(in[0])) return dx10 ? 0 : in[0] | f.quiet();
                    if ((in[0] & f.sign()) != 0) return 0;
                    return in[0] > one ? one : in[0];
                  });
}

TEST(SelectFloat, Canonical) {
  for (const FloatKind kind : kKinds)
    for (const bool flush : {false, true})
      check_float("canonical", Op::FCanonical, {.kind = kind, .flush_in = flush, .flush_out = flush}, 1,
                  [=](const FpAttr& a, const u64* in) {
                    const Format f = format_of(a.kind);
                    return f.is_nan(in[0]) ? in[0] | f.quiet() : flush ? f.flushed(in[0]) : in[0];
                  });
}

TEST(SelectFloat, Compare) {
  for (const FloatKind kind : kKinds)
    for (const bool flush : {false, true})
      for (u64 pred = 0; pred < 16; ++pred)
        check_float(
            "fcmp", Op::FCmp, {.kind = kind, .flush_in = flush}, 2,
            [=](const FpAttr& a, const u64* in) -> u64 {
              const Format f = format_of(a.kind);
              if (f.is_nan(in[0]) || f.is_nan(in[1])) return pred >> 3 & 1;
              const Quad x = value_of(a.kind, flush ? f.flushed(in[0]) : in[0]),
                         y = value_of(a.kind, flush ? f.flushed(in[1]) : in[1]);
              return (x < y ? pred : x == y ? pred >> 1 : pred >> 2) & 1;
            },
            pred, Type::Mask);
}

TEST(SelectFloat, Integral) {
  for (const FloatKind kind : kKinds)
    for (const Op op : {Op::FFloor, Op::FCeil, Op::FTrunc, Op::FRndne})
      check_float("integral", op, {.kind = kind}, 1, [=](const FpAttr& a, const u64* in) -> u64 {
        const Format f = format_of(a.kind);
        if (f.is_nan(in[0])) return in[0] | f.quiet();
        const auto x = static_cast<double>(value_of(a.kind, in[0])); // Exact.
        const double r = op == Op::FFloor   ? std::floor(x)
                         : op == Op::FCeil  ? std::ceil(x)
                         : op == Op::FTrunc ? std::trunc(x)
                                            : std::nearbyint(x);
        return round_to(a.kind, static_cast<Quad>(r), Round::NearestEven, (in[0] & f.sign()) != 0);
      });
}

TEST(SelectFloat, DivideAndRoot) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (const FloatKind kind : kKinds)
    for (const FpAttr& fp : attributes(kind))
      for (const bool root : {false, true}) {
        if (fp.flush_out != fp.flush_in || (fp.flush_in && kind == FloatKind::F64)) continue;
        check_float(root ? "sqrt" : "div", root ? Op::FSqrt : Op::FDiv, fp, root ? 1 : 2,
                    [=](const FpAttr& a, const u64* in) -> u64 {
                      const Format f = format_of(a.kind);
                      const u64 x = a.flush_in ? f.flushed(in[0]) : in[0],
                                y = a.flush_in ? f.flushed(in[1]) : in[1];
                      if (f.is_nan(x)) return x | f.quiet();
                      if (!root && f.is_nan(y)) return y | f.quiet();
                      std::fesetround(kModes[static_cast<unsigned>(a.round)]);
                      u64 r = 0;
                      if (a.kind == FloatKind::F32) {
                        const float p = std::bit_cast<float>(static_cast<u32>(x)),
                                    q = std::bit_cast<float>(static_cast<u32>(y));
                        r = std::bit_cast<u32>(root ? std::sqrt(p) : p / q);
                      } else {
                        const auto p = static_cast<double>(value_of(a.kind, x)),
                                   q = static_cast<double>(value_of(a.kind, y));
                        const double d = root ? std::sqrt(p) : p / q;
                        if (a.kind == FloatKind::F64)
                          r = std::bit_cast<u64>(d);
                        else
                          r = d != d ? f.default_nan()
                                     : round_to(a.kind, static_cast<Quad>(d), a.round, std::signbit(d));
                      }
                      std::fesetround(FE_TONEAREST);
                      if (f.is_nan(r)) return f.default_nan();
                      return a.flush_out ? f.flushed(r) : r;
                    });
      }
}

TEST(SelectFloat, Ldexp) {
  for (const FloatKind kind : {FloatKind::F32, FloatKind::F64})
    for (const Round round : kRounds) {
      const FpAttr fp{.kind = kind, .round = round};
      OpCase c{"ldexp", {.op = Op::FLdexp, .fp = fp}, type_of(kind), {type_of(kind), Type::V32}, {}};
      c.expected = [=](const u64* in) -> u64 {
        const Format f = format_of(kind);
        if (f.is_nan(in[0])) return in[0] | f.quiet();
        Quad x = value_of(kind, in[0]);
        const int n = std::clamp(static_cast<i32>(in[1]), -5000, 5000);
        for (int k = 0; k < std::abs(n) && x != 0; ++k) x *= n < 0 ? Quad{0.5} : Quad{2};
        return round_to(kind, x, round, (in[0] & f.sign()) != 0);
      };
      c.pool = interesting(kind);
      for (const i64 n : {-1,    -20,   -24,   -25,   -100, -126, -127, -149, -150, -151, -277, -1022,
                          -1050, -1074, -1075, -2098, 100,  127,  128,  255,  277,  1023, 1024, 2098})
        for (int k = 0; k < 2; ++k) c.pool.push_back(static_cast<u64>(n));
      check(c);
    }
}

TEST(SelectFloat, FormatConversions) {
  struct Pair {
    FloatKind from, to;
  };
  for (const Pair p : {Pair{FloatKind::F16, FloatKind::F32}, Pair{FloatKind::F32, FloatKind::F16},
                       Pair{FloatKind::F32, FloatKind::F64}, Pair{FloatKind::F64, FloatKind::F32},
                       Pair{FloatKind::F16, FloatKind::F64}})
    for (const FpAttr& fp : attributes(p.from)) {
      if (fp.flush_out && p.to != FloatKind::F16) continue;
      check_float(
          "convert", Op::FpToFp, fp, 1,
          [=](const FpAttr& a, const u64* in) -> u64 {
            const Format f = format_of(p.from), to = format_of(p.to);
            const u64 x = a.flush_in ? f.flushed(in[0]) : in[0];
            if (f.is_nan(x)) {
              const u64 payload = x & (f.quiet() - 1);
              const int shift = static_cast<int>(to.mantissa_bits) - static_cast<int>(f.mantissa_bits);
              return ((x & f.sign()) != 0 ? to.sign() : 0) | to.infinity() | to.quiet() |
                     (shift > 0 ? payload << shift : payload >> -shift);
            }
            const u64 r = round_to(p.to, value_of(p.from, x), a.round, (x & f.sign()) != 0);
            return a.flush_out ? to.flushed(r) : r;
          },
          static_cast<u64>(p.to), type_of(p.to));
    }
}

TEST(SelectFloat, FromIntegers) {
  for (const FloatKind kind : kKinds)
    for (const Round round : kRounds)
      for (const bool is_signed : {false, true})
        for (const u64 width : {16, 32}) {
          if (width == 32 && kind == FloatKind::F16) continue;
          OpCase c{
              "from integer",
              {.op = is_signed ? Op::SIToFp : Op::UIToFp, .fp = {.kind = kind, .round = round}, .imm = width},
              type_of(kind),
              {Type::V32},
              {}};
          c.expected = [=](const u64* in) {
            const u64 v = in[0] & (width == 16 ? 0xffff : 0xffffffff);
            const i64 x = is_signed ? sign_extend(v, static_cast<unsigned>(width)) : static_cast<i64>(v);
            return round_to(kind, static_cast<Quad>(x), round);
          };
          check(c);
        }
}

TEST(SelectFloat, ToIntegers) {
  for (const FloatKind kind : kKinds)
    for (const bool is_signed : {false, true})
      for (const u64 width : {16, 32}) {
        if (width == 16 && kind == FloatKind::F64) continue;
        const FpAttr fp{.kind = kind};
        OpCase c{"to integer",
                 {.op = is_signed ? Op::FpToSI : Op::FpToUI, .fp = fp, .imm = width},
                 Type::V32,
                 {type_of(kind)},
                 {}};
        c.expected = [=](const u64* in) -> u64 {
          const u64 bits = low_bits(kind, in[0]);
          if (format_of(kind).is_nan(bits)) return 0;
          const Quad x = value_of(kind, bits);
          const i64 low = is_signed ? -(i64{1} << (width - 1)) : 0,
                    high = is_signed ? (i64{1} << (width - 1)) - 1 : (i64{1} << width) - 1;
          const i64 r = x < static_cast<Quad>(low)    ? low
                        : x > static_cast<Quad>(high) ? high
                                                      : static_cast<i64>(x);
          return static_cast<u64>(r) & (width == 16 ? 0xffff : 0xffffffff);
        };
        c.pool = interesting(kind);
        if (kind != FloatKind::F16)
          for (const double v :
               {2147483648.0, 2147483647.0, 2147483647.5, 4294967295.0, 4294967295.5, 4294967296.0,
                -2147483648.0, -2147483649.0, -0.5, -1.0, 32768.0, 65536.0, 3e9})
            c.pool.push_back(kind == FloatKind::F64 ? std::bit_cast<u64>(v)
                                                    : std::bit_cast<u32>(static_cast<float>(v)));
        check(c);
      }
}

/// Class masks that are known become ranges of bits.
TEST(SelectFloat, KnownClasses) {
  for (const FloatKind kind : kKinds) {
    const Format f = format_of(kind);
    const auto class_of = [f](u64 v) -> unsigned { // bit of the class mask
      const u64 m = v & ~f.sign();
      if (f.is_nan(v)) return (v & f.quiet()) != 0 ? 1 : 0;
      const unsigned size = m == f.infinity() ? 3 : m == 0 ? 0 : f.is_denormal(v) ? 1 : 2;
      return (v & f.sign()) != 0 ? 5 - size : 6 + size;
    };
    std::vector<u64> masks = {0x3ff, 0x90,  0x207, 0x198, 0x264, 0x0fc,
                              0x3fc, 0x003, 0x1f8, 0x10f, 0x2aa, 0x155};
    for (unsigned bit = 0; bit <= 10; ++bit) masks.push_back(u64{1} << bit);
    for (const u64 mask : masks) {
      OpCase c{
          fmt::format("class {:#x}", mask), {.op = Op::FClass, .fp = {.kind = kind}}, Type::Mask, {}, {}};
      c.operands = {type_of(kind), Type::V32};
      c.constants = {{1, mask}};
      c.legalize = true;
      c.pool = interesting(kind);
      for (const u64 edge : {u64{1} << f.mantissa_bits, f.infinity(), f.infinity() | f.quiet(), f.sign()})
        for (const u64 sign : {u64{0}, f.sign()})
          for (const u64 v : {edge - 1, edge, edge + 1}) c.pool.push_back(v ^ sign);
      c.expected = [=](const u64* in) -> u64 {
        const u64 bits = kind == FloatKind::F64   ? in[0]
                         : kind == FloatKind::F32 ? in[0] & 0xffff'ffff
                                                  : in[0] & 0xffff;
        return mask >> class_of(bits) & 1;
      };
      check(c);
    }
  }
}

/// What is asked of the first lane of each gang has the answer that it has there, whoever asks.
TEST(SelectFloat, CompareOfFirstLane) {
  for (const FloatKind kind : kKinds)
    for (const bool flush : {false, true})
      for (u64 outcomes = 0; outcomes < 16; ++outcomes) {
        LaneProgram p;
        const Type t = type_of(kind);
        const std::array x{p.operand(0, t), p.operand(1, t)};
        const auto compare = [&](Type result) {
          return p.b.fop(Op::FCmp, result, {.kind = kind, .flush_in = flush}, {x[0], x[1]}, outcomes);
        };
        const auto g32 = [&](u64 n) { return p.f.entry_constant(Type::G32, n); };
        p.store(compare(Type::Mask), 2);
        p.store(p.b.op(Op::Splat, Type::V32, {p.b.select(compare(Type::G1), g32(1), g32(0))}), 3);
        const ir::ValueId two = p.b.op(Op::Xor, Type::G1, {compare(Type::G1), compare(Type::G1)});
        const ir::ValueId both = p.b.op(Op::Xor, Type::G1, {compare(Type::G1), two});
        p.store(p.b.op(Op::Splat, Type::Mask, {both}), 4);
        p.store(p.b.fop(Op::FAdd, t, {.kind = kind}, {x[0], x[1]}), 5); // in another mode
        p.b.end_program();
        const std::vector<u64> values = interesting(kind);
        std::array<std::array<u64, 64>, 6> tables{};
        RunInput input;
        for (const auto& table : tables) input.pass(table.data());
        const std::size_t pairs = values.size() * values.size();
        for (std::size_t n = 0; n < 3; ++n) {
          for (unsigned l = 0; l < 64; ++l) { // Gangs have different ones, and so have outcomes.
            const std::size_t pair = (n * 16 + outcomes) * 8 + l / 8, at = pair * 1021 % pairs;
            tables[0][l] = values[at / values.size()];
            tables[1][l] = values[pair % 3 == 0 ? at / values.size() : at % values.size()];
          }
          for (const translator::Simd simd : widths()) {
            run(p.f, trivial_plan(p.f), simd, input);
            const unsigned gang = translator::gang_lanes(simd);
            for (unsigned l = 0; l < 64; ++l)
              for (const unsigned table : {3u, 4u})
                ASSERT_EQ(tables[table][l], tables[2][l / gang * gang])
                    << static_cast<int>(kind) << ", outcomes " << outcomes << ", lane " << l;
          }
        }
      }
}

/// exp2 and log2 flush denormals; what is around them may not.
TEST(SelectFloat, ExponentialAmongOthers) {
  for (const Op op : {Op::FExp2, Op::FLog2})
    for (const bool flush : {false, true}) {
      OpCase c{
          "exponential", {.op = op, .fp = {.flush_in = true, .flush_out = true}}, Type::V32, {Type::V32}, {}};
      c.before = ir::Inst{.op = Op::FCanonical, .fp = {.flush_in = flush, .flush_out = flush}};
      c.legalize = true;
      c.pool = interesting(FloatKind::F32);
      for (const u64 bits :
           {0x0000'0001u, 0x007f'ffffu, 0x0040'0000u, 0x0080'0000u, 0x3f00'0000u, 0x42fe'0000u, 0x42ff'0001u,
            0x4300'0000u, 0x42fc'0000u, 0x42fc'0001u, 0x3f35'04f3u, 0x3f35'04f2u, 0x3f7f'ffffu})
        for (const u64 sign : {0u, 0x8000'0000u}) c.pool.push_back(bits | sign);
      c.expected = [=](const u64* in) -> u64 {
        const float x = std::bit_cast<float>(static_cast<u32>(in[0]));
        return std::bit_cast<u32>(op == Op::FExp2 ? math::exp2_f32(x) : math::log2_f32(x));
      };
      check(c);
    }
}

} // namespace lanewise::x86::test
