#include "tests/select/op_case.hpp"

#include "translator/passes/passes.hpp"

#include <random>

namespace lanewise::x86::test {

using ir::Op;
using ir::Type;
using ir::ValueId;

namespace {

constexpr u64 kEdges[] = {0,
                          1,
                          2,
                          3,
                          5,
                          31,
                          32,
                          33,
                          63,
                          64,
                          0x7f,
                          0x80,
                          0xff,
                          0x7fff,
                          0x8000,
                          0xffff,
                          0x7fffffff,
                          0x80000000,
                          0x80000001,
                          0xfffffffe,
                          0xffffffff,
                          0x100000000,
                          0x7fffffffffffffff,
                          0x8000000000000000,
                          0xffffffffffffffff,
                          0x7f800000,
                          0xff800000,
                          0x7fc00000,
                          0x7f800001,
                          0x3f800000,
                          0x00400000,
                          0xfffffffeffffffff,
                          0xffffffff00000000};

u64 truncate(Type t, u64 v) {
  return ir::bit_width(t) == 64 ? v : ir::bit_width(t) == 32 ? v & 0xffffffff : v & 1;
}

} // namespace

Type uniform_type(Type t) {
  return t == Type::V32 ? Type::U32 : t == Type::V64 ? Type::U64 : t == Type::Mask ? Type::U1 : t;
}

void check(const OpCase& c) {
  const bool per_wave = ir::is_uniform(c.result);
  const auto seed = std::random_device{}();
  SCOPED_TRACE(c.name + " seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  LaneProgram p;
  std::vector<ValueId> operands;
  for (unsigned n = 0; n < c.operands.size(); ++n) {
    ValueId v;
    for (const auto& [position, bits] : c.constants)
      if (position == n) v = p.b.constant(c.operands[n], bits);
    const bool constant = v.valid();
    if (!constant) v = p.operand(n, c.operands[n]);
    if (c.before && !constant)
      v = p.f.result(p.f.append(p.b.block(), *c.before, std::span(&v, 1), std::span(&c.operands[n], 1)));
    operands.push_back(v);
  }
  const ir::InstId inst = p.f.append(p.b.block(), c.proto, operands, std::span(&c.result, 1));
  p.store(p.f.result(inst), 5);
  p.b.end_program();
  if (c.legalize) passes::legalize(p.f);
  const phases::Plan plan = trivial_plan(p.f);

  const auto draw = [&](Type t) {
    const u64 which = random();
    if (!c.pool.empty() && which % 4 < 2) return truncate(t, c.pool[random() % c.pool.size()]);
    return truncate(t, which % 4 == 3   ? random()
                       : which % 4 == 2 ? random() >> (random() % 64)
                                        : kEdges[random() % std::size(kEdges)]);
  };
  for (int round = 0; round < (per_wave ? 12 : 4); ++round) {
    std::array<std::array<u64, 64>, 5> in{};
    for (unsigned n = 0; n < c.operands.size(); ++n)
      for (u64& v : in[n]) v = draw(c.operands[n]);
    for (const auto& [position, bits] : c.constants) in[position].fill(truncate(c.operands[position], bits));
    for (const translator::Simd simd : widths()) {
      std::array<u64, 64> out{};
      RunInput input;
      for (unsigned n = 0; n < 6; ++n) {
        const bool wave_operand = n < c.operands.size() && ir::is_uniform(c.operands[n]);
        const u64 word = n == 5         ? reinterpret_cast<u64>(out.data())
                         : wave_operand ? in[n][0]
                                        : reinterpret_cast<u64>(in[n].data());
        input.pass(word);
      }
      run(p.f, plan, simd, input);
      if (testing::Test::HasFatalFailure()) return;
      for (unsigned l = 0; l < (per_wave ? 1u : 64u); ++l) {
        u64 lane[5];
        for (unsigned n = 0; n < 5; ++n)
          lane[n] = n < c.operands.size() && ir::is_uniform(c.operands[n]) ? in[n][0] : in[n][l];
        const u64 wanted = truncate(c.result, c.expected(lane));
        const bool same = c.equal ? c.equal(out[l], wanted) : out[l] == wanted;
        EXPECT_TRUE(same) << (simd == translator::Simd::Avx512 ? "AVX-512" : "AVX2") << " lane " << l
                          << std::hex << " got 0x" << out[l] << " wanted 0x" << wanted << " for 0x" << lane[0]
                          << ", 0x" << lane[1] << ", 0x" << lane[2];
        if (!same) break;
      }
    }
  }
}

} // namespace lanewise::x86::test
