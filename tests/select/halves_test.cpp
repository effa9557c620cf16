// Registers as memory has them: halves of qwords where these are at hand, and elements whose components are
// treated alike, which need no transposition.
#include "tests/select/harness.hpp"

#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"

#include <bit>
#include <string_view>

namespace lanewise::x86::test {

namespace {

/// v60, v61: where the gang's elements of 16 bytes are, from s0:1 and s2:3. v62: s4. v63: of 8 bytes, from
/// s2:3.
constexpr const char* kBegin = R"(func "elements" gfx900 {
b0:
  v50:mask = const #0xffffffffffffffff
  v51:v32 = lane_id
  v52:g32 = gang_first v51
  v53:g64 = zext v52
  v54:u32 = const #0x4
  v55:g64 = shl v53, v54
  v40:u32 = const #0x3
  v41:g64 = shl v53, v40
  v42:u32 = init_sgpr
  v43:u32 = init_sgpr #0x1
  v44:u32 = init_sgpr #0x2
  v45:u32 = init_sgpr #0x3
  v46:u64 = join v42, v43
  v47:u64 = join v44, v45
  v48:g64 = splat v46
  v49:g64 = splat v47
  v60:g64 = add v55, v48
  v61:g64 = add v55, v49
  v63:g64 = add v41, v49
  v56:u32 = init_sgpr #0x4
  v62:v32 = splat v56
)";

using Elements = std::array<std::array<u32, 4>, 64>;

Elements some_elements() {
  Elements in{};
  u32 x = 12345;
  for (auto& element : in)
    for (u32& component : element) component = x = x * 1664525 + 1013904223;
  in[0] = {0xffffffff, 0xffffffff, 0x80000000, 0};
  return in;
}

ir::Function parsed(const std::string& body) {
  auto f = ir::parse(kBegin + body + "  endpgm\n}\n");
  EXPECT_TRUE(f.ok() && ir::verify(*f).ok()) << body;
  return f.ok() ? std::move(*f) : ir::Function{};
}

constexpr u32 kScalar = 0x4321'8765;

Elements run_on(const Elements& in, const std::string& body, translator::Simd simd) {
  Elements out{};
  ir::Function f = parsed(body);
  RunInput input;
  input.pass(in.data());
  input.pass(out.data());
  input.pass(kScalar);
  run(f, trivial_plan(f), simd, input);
  return out;
}

u64 qword(const std::array<u32, 4>& element, unsigned n) {
  return element[2 * n] | u64{element[2 * n + 1]} << 32;
}

void expect_qwords(const std::string& body, u64 (*first)(u64 a, u64 b), u64 (*second)(u64 a, u64 b)) {
  const Elements in = some_elements();
  for (const translator::Simd simd : widths()) {
    const Elements out =
        run_on(in, "  v1:v64, v2:v64 = load v60, v50 {global 16 row 16 wave}\n" + body, simd);
    for (unsigned l = 0; l < 64; ++l) {
      EXPECT_EQ(qword(out[l], 0), first(qword(in[l], 0), qword(in[l], 1))) << body << "lane " << l;
      EXPECT_EQ(qword(out[l], 1), second(qword(in[l], 0), qword(in[l], 1))) << body << "lane " << l;
    }
  }
}

u64 low(u64 x) { return static_cast<u32>(x); }
u64 high(u64 x) { return x >> 32; }

u32 count(const std::string& text, std::string_view word) {
  u32 n = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++n;
  return n;
}

/// Instructions that move dwords across.
u32 shuffles(const std::string& body, translator::Simd simd) {
  ir::Function f = parsed(body);
  auto code = compile(f, trivial_plan(f), {.simd = simd, .verify = true, .listing = true});
  EXPECT_TRUE(code.ok());
  if (!code.ok()) return 0;
  u32 n = 0;
  for (const char* word : {"vpermt2", "vshuf", "vpunpck", "vperm2i128", "vpermq", "vpmovzx", "vextract"})
    n += count(code->listing, word);
  return n;
}

} // namespace

TEST(Halves, OfQwords) {
  expect_qwords(R"(  v3:v32 = lo v1
  v4:v32 = hi v2
  v5:v64 = umul_wide v3, v4
  v6:v64 = umul_wide v4, v4
  store v61, v5, v6, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64 b) { return low(a) * high(b); }, [](u64, u64 b) { return high(b) * high(b); });
  expect_qwords(R"(  v3:v32 = lo v1
  v4:v32 = hi v2
  v5:v64 = zext v3
  v6:v64 = zext v4
  store v61, v5, v6, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) { return low(a); }, [](u64, u64 b) { return high(b); });
  expect_qwords(
      R"(  v3:v32 = hi v1
  v4:v32 = lo v2
  v5:v64 = smul_wide v3, v4
  v6:v64 = smul_wide v4, v62
  store v61, v5, v6, v50 {global 16 row 16 wave}
)",
      [](u64 a, u64 b) { return static_cast<u64>(i64{static_cast<i32>(high(a))} * static_cast<i32>(b)); },
      [](u64, u64 b) { return static_cast<u64>(i64{static_cast<i32>(b)} * static_cast<i32>(kScalar)); });
}

TEST(Halves, ThatAreWantedAsTheyAreToo) {
  expect_qwords(R"(  v3:v32 = hi v1
  v4:v32 = const #0x89abcdef
  v5:v64 = umul_wide v3, v4
  v6:v32 = lo v2
  v7:v32 = add v3, v6
  v8:v64 = umul_wide v7, v6
  store v61, v5, v8, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) { return high(a) * 0x89abcdef; },
                [](u64 a, u64 b) { return low(high(a) + b) * low(b); });
}

TEST(Halves, ThatFactorsDoNotHave) {
  expect_qwords(R"(  v3:v32 = lo v2
  v4:v64 = zext v3
  v5:v64 = mul v1, v4
  v6:v64 = const #0x89abcdef
  v7:v64 = mul v6, v2
  store v61, v5, v7, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64 b) { return a * low(b); }, [](u64, u64 b) { return b * 0x89abcdef; });
  expect_qwords(R"(  v3:u64 = zext v56
  v4:v64 = splat v3
  v5:v64 = mul v1, v4
  v6:v64 = const #0x189abcdef
  v7:v64 = mul v4, v6
  v8:v64 = mul v2, v7
  store v61, v5, v8, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) { return a * kScalar; },
                [](u64, u64 b) { return b * (u64{kScalar} * 0x189abcdef); });
}

TEST(Halves, OfRotatedQwords) {
  expect_qwords(R"(  v3:v32 = const #0x9
  v4:v32 = const #0x37
  v5:v64 = lshr v1, v3
  v6:v64 = shl v1, v4
  v7:v64 = or v5, v6
  v8:v64 = lshr v2, v4
  v9:v64 = shl v2, v3
  v10:v64 = or v9, v8
  store v61, v7, v10, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) { return std::rotr(a, 9); }, [](u64, u64 b) { return std::rotl(b, 9); });
  // By whole bytes.
  expect_qwords(R"(  v3:v32 = const #0x18
  v4:v32 = const #0x28
  v5:v64 = lshr v1, v3
  v6:v64 = shl v1, v4
  v7:v64 = or v5, v6
  v8:v32 = const #0x20
  v9:v64 = lshr v2, v8
  v10:v64 = shl v2, v8
  v11:v64 = or v10, v9
  store v61, v7, v11, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) { return std::rotr(a, 24); }, [](u64, u64 b) { return std::rotr(b, 32); });
  // Dwords by whole bytes.
  expect_qwords(R"(  v3:v32 = lo v1
  v4:v32 = hi v1
  v5:v32 = const #0x8
  v6:v32 = const #0x10
  v7:v32 = funnel_shr v3, v3, v5
  v8:v32 = funnel_shr v4, v4, v6
  v9:v64 = join v7, v8
  store v61, v9, v2, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64) {
                  return u64{std::rotr(static_cast<u32>(a), 8)} |
                         u64{std::rotr(static_cast<u32>(a >> 32), 16)} << 32;
                },
                [](u64, u64 b) { return b; });
  // Not of two values, by other amounts, or where a shift is wanted as it is.
  expect_qwords(R"(  v3:v32 = const #0x9
  v4:v32 = const #0x37
  v5:v64 = lshr v1, v3
  v6:v64 = shl v2, v4
  v7:v64 = or v5, v6
  v8:v64 = lshr v2, v3
  v9:v64 = shl v2, v4
  v10:v64 = or v9, v8
  v11:v64 = add v10, v9
  store v61, v7, v11, v50 {global 16 row 16 wave}
)",
                [](u64 a, u64 b) { return a >> 9 | b << 55; },
                [](u64, u64 b) { return std::rotr(b, 9) + (b << 55); });
}

TEST(Halves, NeedNotBePutTogether) {
  const std::string body = R"(  v1:v64, v2:v64 = load v60, v50 {global 16 row 16 wave}
  v3:v32 = lo v1
  v4:v32 = hi v2
  v5:v64 = umul_wide v3, v4
  v6:v64 = zext v4
)";
  const std::string store = "  store v61, v5, v6, v50 {global 16 row 16 wave}\n";
  for (const translator::Simd simd : widths()) {
    const u32 transpositions = simd == translator::Simd::Avx512 ? 8 : 16;
    EXPECT_EQ(shuffles(body + store, simd), transpositions);
    EXPECT_GT(shuffles(body + "  store v63, v3, v50 {global 4 row 4 wave}\n" + store, simd), transpositions);
  }
}

/// The four components of elements, v1 to v4; `body` makes v11 to v14 of them.
struct AlikeCase {
  const char* body;
  bool alike;
  u32 (*expected)(u32 x, unsigned component, const std::array<u32, 4>& element, unsigned lane);
};

TEST(AlikeComponents, StayAsTheyLieInMemory) {
  const Elements in = some_elements();
  const AlikeCase cases[] = {
      {R"(  v11:v32 = add v1, v62
  v12:v32 = add v62, v2
  v13:v32 = add v3, v62
  v14:v32 = add v4, v62
)",
       true, [](u32 x, unsigned, const auto&, unsigned) { return x + kScalar; }},
      {R"(  v5:v32 = const #0x12345678
  v6:mask = icmp v1, v5 #0x2
  v7:mask = icmp v2, v5 #0x2
  v8:mask = icmp v3, v5 #0x2
  v9:mask = icmp v4, v5 #0x2
  v11:v32 = select v6, v1, v62
  v12:v32 = select v7, v2, v62
  v13:v32 = select v8, v3, v62
  v14:v32 = select v9, v4, v62
)",
       true, [](u32 x, unsigned, const auto&, unsigned) { return x < 0x12345678 ? x : kScalar; }},
      {R"(  v11:v32 = mul v1, v1
  v12:v32 = mul v2, v2
  v13:v32 = mul v3, v3
  v14:v32 = mul v4, v1
)",
       false, [](u32 x, unsigned c, const auto& e, unsigned) { return c == 3 ? x * e[0] : x * x; }},
      {R"(  v11:v32 = add v1, v51
  v12:v32 = add v2, v51
  v13:v32 = add v3, v51
  v14:v32 = add v4, v51
)",
       false, [](u32 x, unsigned, const auto&, unsigned lane) { return x + lane; }},
      {R"(  v11:v32 = xor v1, v62
  v12:v32 = xor v2, v62
  v13:v32 = xor v3, v62
  v14:v32 = add v4, v62
)",
       false, [](u32 x, unsigned c, const auto&, unsigned) { return c == 3 ? x + kScalar : x ^ kScalar; }},
      {R"(  v11:v32 = sub v1, v62
  v12:v32 = sub v2, v62
  v14:v32 = sub v3, v62
  v13:v32 = sub v4, v62
)",
       false, [](u32, unsigned c, const auto& e, unsigned) { return e[c < 2 ? c : 5 - c] - kScalar; }},
      {R"(  v5:v32 = const #0x7
  v6:v32 = const #0x9
  v11:v32 = and v1, v5
  v12:v32 = and v2, v5
  v13:v32 = and v3, v6
  v14:v32 = and v4, v6
)",
       false, [](u32 x, unsigned c, const auto&, unsigned) { return x & (c < 2 ? 7u : 9u); }},
      {R"(  v5:mask = const #0x5555555555555555
  v11:v32 = select v5, v1, v62
  v12:v32 = select v5, v2, v62
  v13:v32 = select v5, v3, v62
  v14:v32 = select v5, v4, v62
)",
       false, [](u32 x, unsigned, const auto&, unsigned lane) { return lane % 2 == 0 ? x : kScalar; }},
  };
  for (const AlikeCase& c : cases) {
    const std::string body = "  v1:v32, v2:v32, v3:v32, v4:v32 = load v60, v50 {global 16 row 16 wave}\n" +
                             std::string(c.body) +
                             "  store v61, v11, v12, v13, v14, v50 {global 16 row 16 wave}\n";
    for (const translator::Simd simd : widths()) {
      const Elements out = run_on(in, body, simd);
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned n = 0; n < 4; ++n)
          EXPECT_EQ(out[l][n], c.expected(in[l][n], n, in[l], l)) << c.body << "lane " << l << ", " << n;
      EXPECT_EQ(shuffles(body, simd) == 0, c.alike) << c.body;
    }
  }
}

/// Somebody else looks at a component, or it goes on elsewhere.
TEST(AlikeComponents, AreTransposedForOthers) {
  const std::string load = "  v1:v64, v2:v64 = load v60, v50 {global 16 row 16 wave}\n"
                           "  v3:v64 = add v1, v1\n  v4:v64 = add v2, v2\n";
  const std::string store = "  store v61, v3, v4, v50 {global 16 row 16 wave}\n";
  const std::string other = "  store v63, v4, v50 {global 8 row 8 wave}\n";
  const Elements in = some_elements();
  for (const translator::Simd simd : widths()) {
    EXPECT_EQ(shuffles(load + store, simd), 0u);
    EXPECT_NE(shuffles(load + store + other, simd), 0u);
    Elements out = run_on(in, load + store, simd);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned n = 0; n < 2; ++n) EXPECT_EQ(qword(out[l], n), 2 * qword(in[l], n));
    out = run_on(in, load + other, simd);
    for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(qword(out[l / 2], l % 2), 2 * qword(in[l], 1));
  }
}

/// Elements of 8 bytes that become qwords each.
TEST(AlikeComponents, OfSeveralSizes) {
  const std::string body = "  v1:v32, v2:v32 = load v5, v50 {global 8 row 8 wave}\n"
                           "  v3:v64 = zext v1\n  v4:v64 = zext v2\n"
                           "  store v61, v3, v4, v50 {global 16 row 16 wave}\n";
  const Elements in = some_elements();
  const std::string address = "  v5:g64 = add v41, v48\n";
  for (const translator::Simd simd : widths()) {
    const Elements out = run_on(in, address + body, simd);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned n = 0; n < 2; ++n) EXPECT_EQ(qword(out[l], n), in[l / 2][l % 2 * 2 + n]);
  }
}

// Denormals are added as integers are.
TEST(Halves, ThatAreTheSameTakeOneRegister) {
  const std::string body = R"(  v1:u64 = zext v56
  v2:v64 = splat v1
  v3:u32 = const #0x0
  v4:u32 = const #0x1
  v5:u32 = const #0x5
  v6:v64 = const #0x0
  jump -> b1(v3, v6, v2)
b1(v10:u32, v11:v64, v12:v64):
  v13:v64 = fadd v11, v2 {f64 ieee}
  v14:mask = icmp v13, v2 #0x4
  v15:v64 = select v14, v13, v12
  v16:u32 = add v10, v4
  v17:u1 = icmp v16, v5 #0x2
  branch v17 -> b1(v16, v13, v15), b2(v13, v15)
b2(v20:v64, v21:v64):
  store v61, v20, v21, v50 {global 16 row 16 wave}
)";
  const Elements in = some_elements();
  for (const translator::Simd simd : widths()) {
    ir::Function f = parsed(body);
    phases::Plan plan;
    plan.gang_decided.assign(f.num_blocks(), false);
    plan.phase_of.assign(f.num_blocks(), phases::PhaseId{0});
    plan.phases.push_back({ir::BlockId{0}, {ir::BlockId{0}, ir::BlockId{1}, ir::BlockId{2}}, true, 1});
    Elements out{};
    RunInput input;
    input.pass(in.data());
    input.pass(out.data());
    input.pass(kScalar);
    run(f, plan, simd, input);
    for (const auto& element : out) {
      EXPECT_EQ(qword(element, 0), 5 * u64{kScalar});
      EXPECT_EQ(qword(element, 1), 5 * u64{kScalar});
    }
    auto code = compile(f, plan, {.simd = simd, .verify = true, .listing = true});
    ASSERT_TRUE(code.ok());
    EXPECT_EQ(count(code->listing, "vaddpd"), 1u);
  }
}

} // namespace lanewise::x86::test
