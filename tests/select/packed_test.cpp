// Bytes and half-words of gangs side by side, packed into common registers: whatever is computed of them, the
// results are those of gangs that run alone.
#include "tests/select/harness.hpp"

#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"
#include "translator/x86/packed_values.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace lanewise::x86::test {

namespace {

constexpr unsigned kInputs = 4, kOutputs = 4, kBytes = 128; ///< rows, and the bytes of each, up to half-words

/// Where a lane is, and an address.
const std::string kHead = R"(func "packed" gfx900 {
b0:
  v0:v32 = lane_id
  v1:g32 = gang_first v0
  v2:u32 = init_sgpr
  v3:u32 = init_sgpr #0x1
  v4:u64 = join v2, v3
  v5:mask = const #0xffffffffffffffff
)";

/// A program that loads rows of bytes and half-words, computes something of them, and stores such rows.
class RandomProgram {
public:
  explicit RandomProgram(u32 seed) : random_(seed) {}

  std::string text() {
    text_ = kHead + R"(  v6:mask = init_exec
  v7:u32 = init_sgpr #0x2
  v8:v32 = splat v7
)";
    next_ = 9;
    size_ = one_of({1, 2});
    const bool wrapped = one_of({0, 1}) != 0;
    std::vector<std::string> rows;
    for (unsigned n = 0; n < kInputs + kOutputs; ++n) rows.push_back(row(n, wrapped));
    values_ = {"v8"};
    masks_ = {"v5", "v6"};
    for (unsigned n = 0; n < kInputs; ++n)
      values_.push_back(
          op("v32", fmt::format("load {}, {} {}", rows[n], any(masks_), attributes(wrapped, true))));
    for (unsigned n = 0; n < 24; ++n) step();
    for (unsigned n = 0; n < kOutputs; ++n)
      text_ += fmt::format("  store {}, {}, {} {}\n", rows[kInputs + n], any(values_), any(masks_),
                           attributes(wrapped, false));
    return text_ + "  endpgm\n}\n";
  }

private:
  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> values_, masks_;
  unsigned next_ = 0;
  int size_ = 1;

  int one_of(std::initializer_list<int> choices) { return choices.begin()[random_() % choices.size()]; }
  const std::string& any(const std::vector<std::string>& of) { return of[random_() % of.size()]; }
  /// Rather something new.
  const std::string& value() {
    return values_[values_.size() - 1 - random_() % std::min<std::size_t>(values_.size(), 6)];
  }
  std::string op(const char* type, const std::string& what) {
    text_ += fmt::format("  v{}:{} = {}\n", next_, type, what);
    return fmt::format("v{}", next_++);
  }
  std::string constant(u32 bits) { return op("v32", fmt::format("const #{:#x}", bits)); }
  std::string amount(u32 bits) { return op("u32", fmt::format("const #{:#x}", bits)); }

  std::string row(unsigned n, bool wrapped) {
    const std::string start = op("u64", fmt::format("const #{:#x}", n * kBytes));
    const std::string base = op("u64", fmt::format("add v4, {}", start));
    if (wrapped) return base + ", v1";
    const std::string wide = op("g64", "zext v1"), factor = amount(size_ == 2 ? 1 : 0);
    const std::string offset = op("g64", fmt::format("shl {}, {}", wide, factor));
    const std::string first = op("g64", fmt::format("splat {}", base));
    return op("g64", fmt::format("add {}, {}", offset, first));
  }
  std::string attributes(bool wrapped, bool loads) {
    const char* sign = loads && one_of({0, 1}) != 0 ? " sext" : "";
    return wrapped ? fmt::format("{{global {}{} wrapped 1 {}}}", size_, sign, size_ - 1)
                   : fmt::format("{{global {}{} row {} wave}}", size_, sign, size_);
  }

  void step() {
    static constexpr const char* kBinary[] = {"add",    "sub",   "mul",    "and",    "or",     "xor",
                                              "andnot", "umin",  "umax",   "smin",   "smax",   "add16",
                                              "sub16",  "mul16", "umin16", "smax16", "sadd16", "usub16"};
    switch (random_() % 10) {
    case 0: { // What compilers extend with.
      const u32 up = static_cast<u32>(one_of({24, 16}));
      const std::string top = op("v32", fmt::format("shl {}, {}", value(), constant(up)));
      return values_.push_back(op("v32", fmt::format("{} {}, {}", one_of({0, 1}) != 0 ? "ashr" : "lshr", top,
                                                     constant(up + random_() % 8))));
    }
    case 1:
      return values_.push_back(
          op("v32", fmt::format("and {}, {}", value(), constant(size_ == 1 ? 0xff : 0xffff))));
    case 2: {
      static constexpr const char* kShifts[] = {"shl", "lshr", "ashr"};
      return values_.push_back(
          op("v32", fmt::format("{} {}, {}", kShifts[random_() % 3], value(), constant(random_() % 18))));
    }
    case 3: {
      const std::string reversed = op("v32", "bitrev " + value());
      return values_.push_back(op("v32", fmt::format("lshr {}, {}", reversed, constant(24 + random_() % 3))));
    }
    case 4: return values_.push_back(op("v32", (one_of({0, 1}) != 0 ? "popcount " : "not ") + value()));
    case 5:
    case 6:
      return masks_.push_back(
          op("mask", fmt::format("icmp {}, {} #{:#x}", value(), value(), random_() % 10)));
    case 7: {
      static constexpr const char* kLogic[] = {"and", "or", "xor", "andnot"};
      return masks_.push_back(
          op("mask", fmt::format("{} {}, {}", kLogic[random_() % 4], any(masks_), any(masks_))));
    }
    case 8:
      return values_.push_back(op("v32", fmt::format("select {}, {}, {}", any(masks_), value(), value())));
    default: {
      const std::string second =
          one_of({0, 1, 2}) != 0 ? value() : constant(random_() >> one_of({0, 16, 25}));
      return values_.push_back(
          op("v32", fmt::format("{} {}, {}", kBinary[random_() % std::size(kBinary)], value(), second)));
    }
    }
  }
};

using Memory = std::array<u8, (kInputs + kOutputs) * kBytes>;

Memory run_with(const ir::Function& f, translator::Simd simd, unsigned interleave, u64 exec) {
  ir::Function g = f;
  phases::Plan plan = trivial_plan(g);
  for (phases::Phase& phase : plan.phases) phase.interleave = interleave;
  Memory memory{};
  std::mt19937 random(7);
  for (u8& byte : memory) byte = static_cast<u8>(random());
  RunInput input;
  input.exec = exec;
  input.pass(memory.data());
  input.sgprs.push_back(0x9c8d'73a5);
  run(g, plan, simd, input);
  return memory;
}

bool packs(ir::Function f, translator::Simd simd) {
  const phases::Plan plan = trivial_plan(f);
  const auto uses = f.use_counts();
  const passes::ValueLimits limits(f);
  const PackedValues packed({.f = f,
                             .plan = plan,
                             .phase = 0,
                             .members = 4,
                             .avx512 = simd == translator::Simd::Avx512,
                             .use_counts = uses,
                             .limits = limits,
                             .is_row = [](ir::InstId) { return true; }});
  return packed.saved() > 0;
}

TEST(Packed, AsGangsAlone) {
  constexpr u32 kPrograms = 40;
  u32 packed = 0;
  for (u32 seed = 0; seed < kPrograms; ++seed) {
    const std::string text = RandomProgram(seed).text();
    auto f = ir::parse(text);
    ASSERT_TRUE(f.ok()) << f.error().message << text;
    const auto valid = ir::verify(*f);
    ASSERT_TRUE(valid.ok()) << valid.error().message << text;
    f->launch.workgroup = {64, 1, 1};
    for (const translator::Simd simd : widths())
      for (const u64 exec : {~u64{0}, u64{0xffff'ffff'ffff}, u64{0x1234'5678'0000'00ff}}) {
        const Memory expected = run_with(*f, simd, 1, exec);
        for (const unsigned interleave : {2u, 4u})
          ASSERT_EQ(run_with(*f, simd, interleave, exec), expected)
              << "seed " << seed << ", " << interleave << text;
      }
    packed += packs(*f, translator::Simd::Avx2) ? 1 : 0;
  }
  EXPECT_GT(packed, kPrograms / 2); // Or the others say nothing.
}

/// Half of what extends a byte is in one phase, half in the next, where the byte (v13) is not at hand.
TEST(Packed, ExtendsAcrossPhases) {
  auto f = ir::parse(kHead + R"(  v6:g64 = zext v1
  v7:g64 = splat v4
  v8:g64 = add v6, v7
  v9:v32 = const #0x18
  v10:v32 = const #0x1a
  v11:v32 = load v8, v5 {global 1 row 1 wave}
  v12:v32 = load v8, v5 #0x80 {global 1 row 1 wave}
  v13:v32 = add v11, v12
  v14:v32 = shl v13, v9
  store v8, v14, v5 #0x200 {global 1 row 1 wave}
  jump -> b1
b1:
  v18:v32 = load v8, v5 #0x100 {global 1 row 1 wave}
  v19:v32 = load v8, v5 #0x180 {global 1 row 1 wave}
  v20:v32 = ashr v14, v10
  v21:v32 = xor v20, v18
  v22:v32 = add v21, v19
  v23:v32 = and v22, v20
  v24:v32 = sub v23, v18
  store v8, v22, v5 #0x280 {global 1 row 1 wave}
  store v8, v23, v5 #0x300 {global 1 row 1 wave}
  store v8, v24, v5 #0x380 {global 1 row 1 wave}
  endpgm
}
)");
  ASSERT_TRUE(f.ok()) << f.error().message;
  f->launch.workgroup = {64, 1, 1};
  for (const translator::Simd simd : widths()) // run_with() makes a phase of each block
    EXPECT_EQ(run_with(*f, simd, 4, ~u64{0}), run_with(*f, simd, 1, ~u64{0}));
}

} // namespace
} // namespace lanewise::x86::test
