// Faults are located to the lane, and no instruction stream brings the process down.
#include "abi/initial_state.hpp"
#include "isa/decoder.hpp"
#include "tests/interp/machine.hpp"

#include <random>

namespace lanewise::interp::test {
namespace {

using runtime::HostFault;

constexpr u64 kNowhere = 0x10; // the first page is never mapped

TEST(Faults, VectorAccessNamesPcLaneAndAddress) {
  u32 data[64] = {};
  for (const bool store : {false, true}) {
    Machine m(Target::gfx900);
    for (u32 l = 0; l < 64; ++l) m.set_v64(0, l, reinterpret_cast<u64>(&data[l]));
    m.set_v64(0, 37, kNowhere);
    m.sopp(Op::s_nop);
    if (store)
      m.flat(Op::global_store_dwordx2, 0, 0, 4, 8);
    else
      m.flat(Op::flat_load_dwordx2, 2, 0, 0, 8);
    const HostFault fault = run_guarded(m);
    EXPECT_NE(fault.signal, 0);
    EXPECT_EQ(fault.where.pc, m.code_address() + 4);
    EXPECT_EQ(fault.where.lane, 37);
    EXPECT_EQ(fault.where.address, kNowhere + 8);
    EXPECT_EQ(fault.where.is_write, store);
  }
}

TEST(Faults, ScalarAccess) {
  Machine m(Target::gfx900);
  m.set_s64(0, kNowhere);
  m.raw({0xc000'0000 | 2u << 18 | 20u << 6 | 1u << 17 | 0u, 16}); // s_load_dwordx4 s[20:23], s[0:1], 16
  const HostFault fault = run_guarded(m);
  EXPECT_NE(fault.signal, 0);
  EXPECT_EQ(fault.where.lane, -1);
  EXPECT_EQ(fault.where.address, kNowhere + 16);
}

TEST(Faults, ScratchBeyondTheLanesPart) {
  Machine m(Target::gfx900);
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l == 9 ? 253 : 252);
  m.flat(Op::scratch_load_dword, 1, 0);
  const HostFault fault = run_guarded(m);
  EXPECT_NE(fault.signal, 0);
  EXPECT_EQ(fault.where.lane, 9);
  EXPECT_EQ(fault.where.address, runtime::kPrivateAperture + 253);
}

TEST(Faults, ScratchBeyondTheWavesPartAsABuffer) {
  for (const Target target : isa::kTargets) {
    Machine m(target);
    const auto v = abi::private_segment_buffer(target, reinterpret_cast<u64>(m.scratch.data())).words;
    for (u32 n = 0; n < 4; ++n) m.set_s(8 + n, v[n]);
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l == 9 ? 252 : 248);
    m.mubuf(Op::buffer_load_dword, 1, 0, 8, {.offset = 4, .offen = true});
    const HostFault fault = run_guarded(m);
    EXPECT_NE(fault.signal, 0);
    EXPECT_EQ(fault.where.lane, 9);
    EXPECT_EQ(fault.where.address, runtime::kPrivateAperture + 256);
  }
}

TEST(Faults, BufferAndAtomics) {
  {
    Machine m(Target::gfx803);
    m.set_s(8, static_cast<u32>(kNowhere));
    m.set_s(10, 1024);
    m.set_s(11, 0x7 << 12 | 4 << 15);
    m.mubuf(Op::buffer_load_dword, 1, 0, 8, {.offset = 4});
    EXPECT_EQ(run_guarded(m).where.address, kNowhere + 4);
  }
  Machine m(Target::gfx900);
  m.exec = 0x10;
  m.set_v64(0, 4, kNowhere);
  m.flat(Op::global_atomic_add, 2, 0, 3);
  const HostFault fault = run_guarded(m);
  EXPECT_EQ(fault.where.lane, 4);
  EXPECT_TRUE(fault.where.is_write);
}

/// Straight-line code only, and no stores to host memory: then every stream ends, and touches nothing of the
/// test's.
bool acceptable(const isa::Inst& inst) {
  const isa::Row& row = isa::row_of(inst.op);
  if (row.has(isa::kScalarBranch | isa::kIndirectBranch | isa::kFork | isa::kTerminator)) return false;
  const bool local = row.memory.space == isa::Space::Lds || row.memory.space == isa::Space::Gds;
  return local || !(row.memory.store || row.memory.atomic != isa::Atomic::None);
}

/// Random dwords are mostly refused: the upper bits come from the formats' prefixes.
u32 random_first_dword(std::mt19937& random) {
  constexpr u32 kPrefixes[] = {0x8000'0000, 0xbe80'0000, 0xbf00'0000, 0xbf80'0000, 0xb000'0000, 0x0000'0000,
                               0x7e00'0000, 0x7c00'0000, 0xd000'0000, 0xd100'0000, 0xd200'0000, 0xd380'0000,
                               0xd800'0000, 0xdc00'0000, 0xe000'0000, 0xe800'0000, 0xc000'0000};
  const u32 word = static_cast<u32>(random());
  const u32 prefix = kPrefixes[random() % std::size(kPrefixes)];
  return prefix |
         (word & (prefix >= 0xd000'0000 || prefix == 0xc000'0000 ? 0x03ff'ffff : 0x7fff'ffff & ~prefix) &
          0x7fff'ffff);
}

TEST(Robustness, RandomStreams) {
  std::mt19937 random(11);
  unsigned executed = 0;
  for (const Target target : isa::kTargets) {
    for (int round = 0; round < 150; ++round) {
      Machine m(target);
      m.mode = static_cast<u32>(random()) & 0x3ff;
      m.exec = u64{random()} << 32 | random();
      for (u32 reg = 0; reg < 64; ++reg)
        for (u32 l = 0; l < 64; ++l)
          m.set_v(reg, l,
                  random() % 3 ? kSpecials[random() % std::size(kSpecials)] : static_cast<u32>(random()));
      for (u32 reg = 0; reg < 100; ++reg) m.set_s(reg, static_cast<u32>(random()) & 0xff);
      for (int i = 0; i < 3000 && m.size() < 200; ++i) {
        const u32 words[4] = {random_first_dword(random), static_cast<u32>(random()),
                              static_cast<u32>(random()), 0};
        isa::Inst inst;
        if (isa::decode(target, words, inst) != isa::DecodeStatus::Ok || !acceptable(inst)) continue;
        for (unsigned d = 0; d < inst.size / 4u; ++d) m.raw({words[d]});
        ++executed;
      }
      runtime::Stop stop;
      run_guarded(m, &stop);
      EXPECT_NE(stop.reason, runtime::StopReason::BadJump);
    }
  }
  EXPECT_GT(executed, 50'000u);
}

} // namespace
} // namespace lanewise::interp::test
