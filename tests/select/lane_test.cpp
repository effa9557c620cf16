#include "tests/select/op_case.hpp"
#include "translator/ir/lane_moves.hpp"

#include <random>

namespace lanewise::x86::test {

using ir::Op;
using ir::Type;
using ir::ValueId;

namespace {

using Row = std::array<u64, 64>;

/// Runs one function of three lane operands on random lanes and compares each lane.
struct LaneRun {
  std::array<Row, 3> in{};
  Row out{};

  explicit LaneRun(u64 seed) {
    std::mt19937_64 random(seed);
    for (Row& row : in)
      for (u64& v : row) v = random() & 0xffffffff;
  }
  template <class Build>
  void run(translator::Simd simd, bool merge_phases, Build build) {
    LaneProgram p;
    p.f.target = isa::Target::gfx900;
    p.store(build(p), 3);
    p.b.end_program();
    const phases::Plan plan = merge_phases
                                  ? phases::form_phases(p.f, simd == translator::Simd::Avx512 ? 16 : 8)
                                  : trivial_plan(p.f);
    RunInput input;
    for (const Row* row : std::initializer_list<const Row*>{&in[0], &in[1], &in[2], &out})
      input.pass(row->data());
    test::run(p.f, plan, simd, input);
  }
};

/// `source(l)` is the lane that lane l reads, or -1.
template <class Source>
void check_move(Op op, u64 control, Source source) {
  for (const translator::Simd simd : widths())
    for (const bool merged : {false, true})
      for (const bool mask : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << ir::info(op).text << std::hex << " 0x" << control << (mask ? " mask" : "")
                     << (simd == translator::Simd::Avx2 ? " AVX2" : " AVX-512") << (merged ? " merged" : ""));
        LaneRun r(control * 4 + 1);
        r.run(simd, merged, [&](LaneProgram& p) {
          const Type t = mask ? Type::Mask : Type::V32;
          ValueId v = p.operand(0, t);
          if (!mask) v = p.b.add(v, p.b.v32c(0)); // Not just a load.
          return p.b.op(op, t, {v}, control);
        });
        for (int l = 0; l < 64; ++l) {
          const int from = source(l);
          const u64 wanted = from < 0 ? 0 : r.in[0][static_cast<unsigned>(from)] & (mask ? 1 : ~u64{0});
          ASSERT_EQ(r.out[static_cast<unsigned>(l)], wanted) << "lane " << l;
        }
      }
}

} // namespace

TEST(SelectLane, Dpp) {
  for (const int n : {0x00, 0x1b, 0x4e, 0xb1, 0xff, 0xaa})
    check_move(Op::DppMove, static_cast<u64>(n), [n](int l) { return l / 4 * 4 + (n >> (l % 4 * 2) & 3); });
  for (const int n : {1, 2, 7, 8, 15}) {
    check_move(Op::DppMove, 0x100u + static_cast<u64>(n),
               [n](int l) { return l % 16 + n < 16 ? l + n : -1; });
    check_move(Op::DppMove, 0x110u + static_cast<u64>(n), [n](int l) { return l % 16 >= n ? l - n : -1; });
    check_move(Op::DppMove, 0x120u + static_cast<u64>(n),
               [n](int l) { return l / 16 * 16 + (l % 16 + 16 - n) % 16; });
  }
  check_move(Op::DppMove, 0x130, [](int l) { return l == 63 ? -1 : l + 1; });
  check_move(Op::DppMove, 0x134, [](int l) { return (l + 1) % 64; });
  check_move(Op::DppMove, 0x138, [](int l) { return l - 1; });
  check_move(Op::DppMove, 0x13c, [](int l) { return (l + 63) % 64; });
  check_move(Op::DppMove, 0x140, [](int l) { return l / 16 * 16 + 15 - l % 16; });
  check_move(Op::DppMove, 0x141, [](int l) { return l / 8 * 8 + 7 - l % 8; });
  check_move(Op::DppMove, 0x142, [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; });
  check_move(Op::DppMove, 0x143, [](int l) { return l < 32 ? -1 : 31; });
}

TEST(SelectLane, Swizzle) {
  check_move(Op::DsSwizzle, 0x80b1, [](int l) { return l ^ 1; });
  check_move(Op::DsSwizzle, 0x8090, [](int l) { return l / 4 * 4 + (0x90 >> (l % 4 * 2) & 3); });
  for (const int bit : {1, 2, 4, 8, 16})
    check_move(Op::DsSwizzle, static_cast<u64>(bit) << 10 | 0x1f, [bit](int l) { return l ^ bit; });
  check_move(Op::DsSwizzle, 0x001e, [](int l) { return l & ~1; });
  check_move(Op::DsSwizzle, 0x003c, [](int l) { return (l & 0x3c) | 1; });
  check_move(Op::DsSwizzle, 0x0078, [](int l) { return (l & 0x38) | 3; });
  check_move(Op::DsSwizzle, 0x00f0, [](int l) { return (l & 0x30) | 7; });
  check_move(Op::DsSwizzle, 0x01e0, [](int l) { return (l & 0x20) | 15; });
  check_move(Op::DsSwizzle, 0xc020, [](int l) { return (l & 0x20) | ((l + 1) & 31); });
  check_move(Op::DsSwizzle, 0xc420, [](int l) { return (l & 0x20) | ((l + 31) & 31); });
  check_move(Op::DsSwizzle, 0xe000, [](int l) {
    int r = 0;
    for (int n = 0; n < 5; ++n) r |= (l >> n & 1) << (4 - n);
    return (l & 0x20) | r;
  });
}

TEST(SelectLane, SwizzleAcrossHalves) {
  check_move(Op::DsSwizzle, 0x1001f, [](int l) { return l ^ 32; });
  check_move(Op::DsSwizzle, 0x1041f, [](int l) { return l ^ 33; });
}

TEST(SelectLane, Shift) {
  for (const int width : {8, 16, 32, 64})
    for (const int by : {1, -1, 3, -5, 8, -16, 31, -32, 40}) {
      const ir::LaneShift shift{by, static_cast<u32>(width)};
      check_move(Op::ShiftLanes, shift.imm(),
                 [&](int l) { return (l + by) >= 0 && (l + by) / width == l / width ? l + by : l; });
    }
}

TEST(SelectLane, Permutes) {
  for (const translator::Simd simd : widths())
    for (const bool push : {false, true}) {
      LaneRun r(push ? 11 : 12);
      r.run(simd, true, [&](LaneProgram& p) {
        const ValueId address = p.operand(0, Type::V32), data = p.operand(1, Type::V32),
                      mask = p.operand(2, Type::Mask);
        return p.b.op(push ? Op::Permute : Op::BPermute, Type::V32, {address, data, mask});
      });
      Row wanted{};
      for (unsigned l = 0; l < 64; ++l) {
        const unsigned other = r.in[0][l] / 4 % 64;
        if (push && (r.in[2][l] & 1) != 0) wanted[other] = r.in[1][l];
        if (!push && (r.in[2][other] & 1) != 0) wanted[l] = r.in[1][other];
      }
      EXPECT_EQ(r.out, wanted) << (push ? "push" : "pull");
    }
}

TEST(SelectLane, ReadsAndWrites) {
  for (const translator::Simd simd : widths())
    for (const bool merged : {false, true})
      for (const u32 lane : {0u, 5u, 16u, 63u, 64u + 9u})
        for (const bool constant : {false, true}) {
          LaneRun r(lane);
          r.in[2][0] = lane;
          const auto index = [&](LaneProgram& p) {
            return constant ? p.b.u32c(lane)
                            : p.b.op(Op::ReadLane, Type::U32, {p.operand(2, Type::V32), p.b.u32c(0)});
          };
          r.run(simd, merged, [&](LaneProgram& p) {
            return p.b.op(Op::ReadLane, Type::U32, {p.operand(0, Type::V32), index(p)});
          });
          for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(r.out[l], r.in[0][lane % 64]);
          r.run(simd, merged, [&](LaneProgram& p) {
            return p.b.op(Op::WriteLane, Type::V32, {p.operand(0, Type::V32), p.b.u32c(0x1234), index(p)});
          });
          for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(r.out[l], l == lane % 64 ? 0x1234u : r.in[0][l]) << l;
          for (Row& row : r.in)
            for (unsigned l = 0; l < 64; ++l) row[l] = (row[l] & ~u64{1}) | (l >= lane ? 1 : 0);
          r.in[2][0] = lane;
          r.run(simd, merged, [&](LaneProgram& p) {
            return p.b.op(Op::ReadFirst, Type::U32, {p.operand(0, Type::V32), p.operand(1, Type::Mask)});
          });
          for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(r.out[l], r.in[0][lane < 64 ? lane : 0]);
        }
}

TEST(SelectLane, MasksAsIntegers) {
  for (const translator::Simd simd : widths())
    for (const bool merged : {false, true}) {
      LaneRun r(77);
      r.run(simd, merged, [&](LaneProgram& p) { // Shifts the mask by one lane, as a number.
        const ValueId bits = p.b.mask_to_u64(p.operand(0, Type::Mask));
        return p.b.u64_to_mask(p.b.op(Op::Shl, Type::U64, {bits, p.b.u32c(1)}));
      });
      for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(r.out[l], l == 0 ? 0 : r.in[0][l - 1] & 1) << l;
      r.run(simd, merged, [&](LaneProgram& p) { return p.b.constant(Type::Mask, 0x8000'0f01'1234'5678); });
      for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(r.out[l], 0x8000'0f01'1234'5678 >> l & 1) << l;
    }
}

} // namespace lanewise::x86::test
