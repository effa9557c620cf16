#include "tests/select/op_case.hpp"

#include "translator/ir/evaluate.hpp"

#include <algorithm>
#include <random>

namespace lanewise::x86::test {

using ir::IntPred;
using ir::Op;
using ir::Type;

namespace {

struct Binary {
  Op op;
  u64 (*narrow)(u64, u64);
  u64 (*wide)(u64, u64);
};

i64 s32(u64 v) { return static_cast<i32>(v); }
i64 s64(u64 v) { return static_cast<i64>(v); }

const Binary kBinary[] = {
    {Op::Add, [](u64 a, u64 b) { return a + b; }, [](u64 a, u64 b) { return a + b; }},
    {Op::Sub, [](u64 a, u64 b) { return a - b; }, [](u64 a, u64 b) { return a - b; }},
    {Op::Mul, [](u64 a, u64 b) { return a * b; }, [](u64 a, u64 b) { return a * b; }},
    {Op::And, [](u64 a, u64 b) { return a & b; }, [](u64 a, u64 b) { return a & b; }},
    {Op::Or, [](u64 a, u64 b) { return a | b; }, [](u64 a, u64 b) { return a | b; }},
    {Op::Xor, [](u64 a, u64 b) { return a ^ b; }, [](u64 a, u64 b) { return a ^ b; }},
    {Op::AndNot, [](u64 a, u64 b) { return a & ~b; }, [](u64 a, u64 b) { return a & ~b; }},
    {Op::UMin, [](u64 a, u64 b) { return a < b ? a : b; }, [](u64 a, u64 b) { return a < b ? a : b; }},
    {Op::UMax, [](u64 a, u64 b) { return a > b ? a : b; }, [](u64 a, u64 b) { return a > b ? a : b; }},
    {Op::SMin, [](u64 a, u64 b) { return s32(a) < s32(b) ? a : b; },
     [](u64 a, u64 b) { return s64(a) < s64(b) ? a : b; }},
    {Op::SMax, [](u64 a, u64 b) { return s32(a) > s32(b) ? a : b; },
     [](u64 a, u64 b) { return s64(a) > s64(b) ? a : b; }},
    {Op::UMulHi, [](u64 a, u64 b) { return a * b >> 32; }, nullptr},
    {Op::SMulHi, [](u64 a, u64 b) { return static_cast<u64>(s32(a) * s32(b)) >> 32; }, nullptr},
};

const Binary kShifts[] = {
    {Op::Shl, [](u64 a, u64 b) { return a << (b & 31); }, [](u64 a, u64 b) { return a << (b & 63); }},
    {Op::LShr, [](u64 a, u64 b) { return a >> (b & 31); }, [](u64 a, u64 b) { return a >> (b & 63); }},
    {Op::AShr, [](u64 a, u64 b) { return static_cast<u64>(s32(a) >> (b & 31)); },
     [](u64 a, u64 b) { return static_cast<u64>(s64(a) >> (b & 63)); }},
};

const Type kTypes[] = {Type::V32, Type::V64, Type::U32, Type::U64};
Type amount_type(Type t) { return ir::is_uniform(t) ? Type::U32 : Type::V32; }

OpCase binary(Op op, Type t, Type second, u64 (*f)(u64, u64)) {
  return {std::string(ir::info(op).text) + " " + ir::name(t), {.op = op}, t, {t, second}, [f](const u64* in) {
            return f(in[0], in[1]);
          }};
}

u64 perm(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{a} << 32 | b;
  u32 out = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const u32 s = selector >> (8 * n) & 0xff;
    static constexpr unsigned kSignByte[] = {1, 3, 5, 7};
    u32 byte = 0xff;
    if (s < 8)
      byte = bytes >> (8 * s) & 0xff;
    else if (s < 12)
      byte = (bytes >> (8 * kSignByte[s - 8] + 7) & 1) != 0 ? 0xff : 0;
    else if (s == 12)
      byte = 0;
    out |= byte << (8 * n);
  }
  return out;
}

u64 reversed(u64 v, unsigned width) {
  u64 r = 0;
  for (unsigned n = 0; n < width; ++n) r |= (v >> n & 1) << (width - 1 - n);
  return r;
}

} // namespace

TEST(SelectInteger, Binary) {
  for (const Binary& b : kBinary)
    for (const Type t : kTypes)
      if (const auto f = ir::is_wide(t) ? b.wide : b.narrow) check(binary(b.op, t, t, f));
}

TEST(SelectInteger, Division) {
  const auto f = [](u64 a, u64 b) {
    return b != 0 ? a / b : a - (a >> 32) + (static_cast<u32>(a) == 0 ? 2 : 1);
  };
  for (const Type t : {Type::V64, Type::U64}) {
    OpCase c = binary(Op::UDiv, t, t, f);
    for (unsigned n = 0; n < 64; ++n)
      for (const u64 more : {~u64{0}, u64{0}, u64{1}}) c.pool.push_back((u64{1} << n) + more);
    check(c);
    for (const u64 d :
         {u64{0}, u64{1}, u64{2}, u64{3}, u64{10}, u64{1'000'000'007}, (u64{1} << 32) - 1, u64{1} << 32,
          (u64{1} << 32) + 1, u64{0x1234'5678'9abc'def1}, u64{1} << 63, ~u64{0} - 1, ~u64{0}}) {
      c.constants = {{1, d}};
      check(c);
    }
  }
}

TEST(SelectInteger, NarrowDivision) {
  const auto f = [](u64 a, u64 b) { return b != 0 ? a / b : std::max<u64>(a, 1) + 1; };
  for (const Type t : {Type::V32, Type::U32}) {
    OpCase c = binary(Op::UDiv, t, t, f);
    for (unsigned n = 0; n < 32; ++n)
      for (const u64 more : {~u64{0}, u64{0}, u64{1}}) c.pool.push_back((u64{1} << n) + more);
    check(c);
    for (const u64 d : {0u, 1u, 2u, 3u, 7u, 10u, 64u, 641u, 0x7fff'ffffu, 0x8000'0000u, 0x8000'0001u,
                        0xffff'fffeu, 0xffff'ffffu}) {
      c.constants = {{1, d}};
      check(c);
    }
  }
}

TEST(SelectInteger, Halfwords) {
  using Half = i32 (*)(i32 a, i32 b);
  const auto limited = [](i32 v, i32 low, i32 high) { return static_cast<u32>(std::clamp(v, low, high)); };
  struct Case {
    Op op;
    bool is_signed;
    Half f;
    i32 low, high; ///< results beyond saturate; 0 for both: they wrap
  };
  static constexpr i32 kLow = -0x8000, kHigh = 0x7fff;
  const Half add = [](i32 a, i32 b) { return a + b; }, sub = [](i32 a, i32 b) { return a - b; };
  const Half least = [](i32 a, i32 b) { return std::min(a, b); },
             most = [](i32 a, i32 b) { return std::max(a, b); };
  const Case cases[] = {{Op::Add16, false, add, 0, 0},
                        {Op::Sub16, false, sub, 0, 0},
                        {Op::Mul16, true, [](i32 a, i32 b) { return a * b; }, 0, 0},
                        {Op::SAdd16, true, add, kLow, kHigh},
                        {Op::UAdd16, false, add, 0, 0xffff},
                        {Op::SSub16, true, sub, kLow, kHigh},
                        {Op::USub16, false, sub, 0, 0xffff},
                        {Op::SMin16, true, least, 0, 0},
                        {Op::SMax16, true, most, 0, 0},
                        {Op::UMin16, false, least, 0, 0},
                        {Op::UMax16, false, most, 0, 0}};
  const auto halves = [](bool is_signed, u64 a, u64 b, auto f) {
    u64 out = 0;
    for (unsigned n = 0; n < 32; n += 16) {
      const auto part = [&](u64 v) {
        const auto bits = static_cast<u16>(v >> n);
        return is_signed ? static_cast<i16>(bits) : i32{bits};
      };
      out |= u64{static_cast<u16>(f(part(a), part(b)))} << n;
    }
    return out;
  };
  for (const Case& c : cases) {
    const auto f = [&](i32 a, i32 b) {
      const i32 v = c.f(a, b);
      return c.low == c.high ? static_cast<u32>(v) : limited(v, c.low, c.high);
    };
    check({std::string(ir::info(c.op).text),
           {.op = c.op},
           Type::V32,
           {Type::V32, Type::V32},
           [&](const u64* in) { return halves(c.is_signed, in[0], in[1], f); }});
    const u64 operands[] = {0x8000'1234, 0xffff'7fff}; // as constants are folded
    EXPECT_EQ(ir::evaluate(c.op, Type::V32, Type::V32, 0, operands),
              halves(c.is_signed, operands[0], operands[1], f));
  }
  const std::pair<Op, Half> shifts[] = {{Op::Shl16, [](i32 a, i32 n) { return a << n; }},
                                        {Op::LShr16, [](i32 a, i32 n) { return (a & 0xffff) >> n; }},
                                        {Op::AShr16, [](i32 a, i32 n) { return a >> n; }}};
  for (const auto& [op, f] : shifts)
    for (const i32 n : {0, 1, 15}) {
      const auto shifted = [shift = f, n](i32 a, i32) { return shift(a, n); };
      const auto imm = static_cast<u64>(n);
      check({std::string(ir::info(op).text),
             {.op = op, .imm = imm},
             Type::V32,
             {Type::V32},
             [&](const u64* in) { return halves(true, in[0], 0, shifted); }});
      const u64 operand[] = {0x8765'4321};
      EXPECT_EQ(ir::evaluate(op, Type::V32, Type::V32, imm, operand), halves(true, operand[0], 0, shifted));
    }
  const auto dot = [](const u64* in) {
    const auto half = [](u64 v, unsigned n) { return i64{static_cast<i16>(v >> n)}; };
    return static_cast<u64>(half(in[0], 0) * half(in[1], 0) + half(in[0], 16) * half(in[1], 16)) &
           0xffff'ffff;
  };
  check({"dot16", {.op = Op::Dot16}, Type::V32, {Type::V32, Type::V32}, dot});
  for (const u64 v : {0x8000'8000u, 0x1234'ffffu, 0xffff'0001u}) {
    const u64 operands[] = {v, 0x8000'8000};
    EXPECT_EQ(ir::evaluate(Op::Dot16, Type::V32, Type::V32, 0, operands), dot(operands));
  }
}

TEST(SelectInteger, Shifts) {
  for (const Binary& b : kShifts)
    for (const Type t : kTypes) {
      const auto f = ir::is_wide(t) ? b.wide : b.narrow;
      check(binary(b.op, t, amount_type(t), f));
      for (const u64 amount : {0, 1, 31, 33, 63}) {
        OpCase c = binary(b.op, t, amount_type(t), f);
        c.constants = {{1, amount}};
        check(c);
      }
    }
}

TEST(SelectInteger, FunnelShift) {
  const auto f = [](const u64* in) { return (in[0] << 32 | in[1]) >> (in[2] & 31); };
  for (const Type t : {Type::V32, Type::U32}) {
    check({"funnel", {.op = Op::FunnelShr}, t, {t, t, t}, f});
    for (const u64 amount : {0, 1, 31, 32})
      check({"funnel by constant", {.op = Op::FunnelShr}, t, {t, t, t}, f, {{2, amount}}});
  }
}

TEST(SelectInteger, Compare) {
  for (const Type t : kTypes)
    for (u64 pred = 0; pred <= static_cast<u64>(IntPred::SGe); ++pred) {
      const auto f = [=](const u64* in) {
        return u64{holds(static_cast<IntPred>(pred), in[0], in[1], ir::is_wide(t))};
      };
      check({"icmp", {.op = Op::ICmp, .imm = pred}, ir::is_uniform(t) ? Type::U1 : Type::Mask, {t, t}, f});
    }
}

TEST(SelectInteger, WideProducts) {
  const auto u = [](const u64* in) { return in[0] * in[1]; };
  const auto s = [](const u64* in) { return static_cast<u64>(s32(in[0]) * s32(in[1])); };
  check({"umul_wide", {.op = Op::UMulWide}, Type::V64, {Type::V32, Type::V32}, u});
  check({"smul_wide", {.op = Op::SMulWide}, Type::V64, {Type::V32, Type::V32}, s});
  check({"umul_wide", {.op = Op::UMulWide}, Type::U64, {Type::U32, Type::U32}, u});
  check({"smul_wide", {.op = Op::SMulWide}, Type::U64, {Type::U32, Type::U32}, s});
}

TEST(SelectInteger, Unary) {
  for (const Type t : kTypes) {
    const unsigned width = ir::bit_width(t);
    check({"not", {.op = Op::Not}, t, {t}, [](const u64* in) { return ~in[0]; }});
    check({"popcount", {.op = Op::PopCount}, t, {t}, [](const u64* in) {
             return static_cast<u64>(std::popcount(in[0]));
           }});
    check({"clz", {.op = Op::CountLz}, t, {t}, [=](const u64* in) {
             return static_cast<u64>(std::countl_zero(in[0])) - (64 - width);
           }});
    check({"ctz", {.op = Op::CountTz}, t, {t}, [=](const u64* in) {
             return std::min<u64>(static_cast<u64>(std::countr_zero(in[0])), width);
           }});
    check({"bitrev", {.op = Op::BitRev}, t, {t}, [=](const u64* in) { return reversed(in[0], width); }});
  }
}

/// max(x, 0 - x), in either order, where a mask chooses it, and with the negative number in use besides.
TEST(SelectInteger, Absolute) {
  std::array<u64, 64> in{}, out{};
  std::mt19937_64 random(3);
  for (u64& x : in) x = (random() & 3) == 0 ? u64{1} << (random() & 63) : random() >> (random() & 63);
  in[0] = 0x8000'0000, in[1] = u64{1} << 63, in[2] = ~u64{0};
  for (const translator::Simd simd : widths())
    for (const Type t : {Type::V32, Type::V64})
      for (unsigned kind = 0; kind < 4; ++kind) {
        LaneProgram p;
        const auto x = p.operand(0, t), zero = p.b.op(Op::Const, t, {});
        const auto minus = p.b.binary(Op::Sub, zero, x);
        auto v = kind % 2 == 0 ? p.b.binary(Op::SMax, x, minus) : p.b.binary(Op::SMax, minus, x);
        if (kind == 2) v = p.b.binary(Op::Xor, v, minus);
        if (kind == 3) v = p.b.select(p.b.icmp(IntPred::SLt, minus, x), v, zero);
        p.store(v, 1);
        p.b.end_program();
        RunInput input;
        input.pass(in.data());
        input.pass(out.data());
        run(p.f, trivial_plan(p.f), simd, input);
        for (unsigned l = 0; l < 64; ++l) {
          const bool wide = t == Type::V64;
          const u64 ones = wide ? ~u64{0} : 0xffff'ffff, neg = (0 - in[l]) & ones, pos = in[l] & ones;
          const bool negative = wide ? s64(pos) < 0 : s32(pos) < 0;
          u64 wanted = negative ? neg : pos;
          if (kind == 2) wanted ^= neg;
          if (kind == 3 && !(wide ? s64(neg) < s64(pos) : s32(neg) < s32(pos))) wanted = 0;
          ASSERT_EQ(out[l], wanted) << std::hex << in[l] << " kind " << kind << " " << ir::name(t);
        }
      }
}

TEST(SelectInteger, BytePerm) {
  const auto f = [](const u64* in) {
    return perm(static_cast<u32>(in[0]), static_cast<u32>(in[1]), static_cast<u32>(in[2]));
  };
  check({"perm",
         {.op = Op::BytePerm},
         Type::V32,
         {Type::V32, Type::V32, Type::V32},
         f,
         {},
         {},
         {0x07060504, 0x0c0d0b0a, 0x09080706, 0x00010203}});
  for (const u64 s : {0x07060504, 0x03020100, 0x0c000c04, 0x0dff0501, 0x08090a0b})
    check({"perm by constant",
           {.op = Op::BytePerm},
           Type::V32,
           {Type::V32, Type::V32, Type::V32},
           f,
           {{2, s}}});
}

TEST(SelectInteger, Choices) {
  const auto bitselect = [](const u64* in) { return (in[0] & in[1]) | (~in[0] & in[2]); };
  const auto select = [](const u64* in) { return in[0] != 0 ? in[1] : in[2]; };
  for (const Type t : kTypes) {
    check({"bitselect", {.op = Op::BitSelect}, t, {t, t, t}, bitselect});
    check({"select by u1", {.op = Op::Select}, t, {Type::U1, t, t}, select});
    if (!ir::is_uniform(t)) check({"select by mask", {.op = Op::Select}, t, {Type::Mask, t, t}, select});
  }
  check({"select of masks", {.op = Op::Select}, Type::Mask, {Type::Mask, Type::Mask, Type::Mask}, select});
}

TEST(SelectInteger, Widths) {
  for (const bool u : {false, true}) {
    const Type narrow = u ? Type::U32 : Type::V32, wide = u ? Type::U64 : Type::V64;
    check({"join", {.op = Op::Join}, wide, {narrow, narrow}, [](const u64* in) {
             return in[1] << 32 | in[0];
           }});
    check({"lo", {.op = Op::Lo}, narrow, {wide}, [](const u64* in) { return in[0]; }});
    check({"hi", {.op = Op::Hi}, narrow, {wide}, [](const u64* in) { return in[0] >> 32; }});
    check({"zext", {.op = Op::ZExt}, wide, {narrow}, [](const u64* in) { return in[0]; }});
    check({"sext", {.op = Op::SExt}, wide, {narrow}, [](const u64* in) {
             return static_cast<u64>(s32(in[0]));
           }});
  }
}

TEST(SelectInteger, Masks) {
  for (const Type t : {Type::Mask, Type::U1}) {
    check({"and", {.op = Op::And}, t, {t, t}, [](const u64* in) { return in[0] & in[1]; }});
    check({"or", {.op = Op::Or}, t, {t, t}, [](const u64* in) { return in[0] | in[1]; }});
    check({"xor", {.op = Op::Xor}, t, {t, t}, [](const u64* in) { return in[0] ^ in[1]; }});
    check({"andnot", {.op = Op::AndNot}, t, {t, t}, [](const u64* in) { return in[0] & ~in[1]; }});
    check({"not", {.op = Op::Not}, t, {t}, [](const u64* in) { return ~in[0]; }});
  }
}

} // namespace lanewise::x86::test
