// Every address space, and what happens at its edges.
#include "tests/interp/machine.hpp"

#include <numeric>

namespace lanewise::interp::test {
namespace {

u64 address(const void* p) { return reinterpret_cast<u64>(p); }

TEST(Memory, GlobalWidthsAndExtension) {
  alignas(16) u8 bytes[64 * 16];
  for (u32 i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<u8>(i * 37 + 129);
  Machine m(Target::gfx900);
  m.exec = ~u64{2};
  for (u32 l = 0; l < 64; ++l) m.set_v64(0, l, address(bytes) + l * 16 - 8);
  m.set_v(10, 0x5555'5555);
  m.set_v(20, 0x5555'5555);
  m.flat(Op::global_load_dwordx4, 4, 0, 0, 8);
  m.flat(Op::global_load_sbyte, 9, 0, 0, 9);
  m.flat(Op::global_load_short_d16_hi, 10, 0, 0, 8);
  m.flat(Op::global_load_ubyte, 20, 0, 0, 8);
  m.run();
  for (u32 l : {0u, 5u, 63u}) {
    for (u32 d = 0; d < 4; ++d) EXPECT_EQ(m.v(4 + d, l), load_le<u32>(bytes + l * 16 + d * 4));
    EXPECT_EQ(m.v(9, l), static_cast<u32>(static_cast<i8>(bytes[l * 16 + 1])));
    EXPECT_EQ(m.v(10, l), (load_le<u16>(bytes + l * 16) << 16) + 0x5555u);
    EXPECT_EQ(m.v(20, l), bytes[l * 16]);
  }
  EXPECT_EQ(m.v(20, 1), 0x5555'5555u) << "an inactive lane was written";
}

TEST(Memory, GlobalWithScalarBase) {
  u32 data[64];
  std::iota(std::begin(data), std::end(data), 1000u);
  Machine m(Target::gfx906);
  m.set_s64(4, address(data) + 16);
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l * 4);
  m.flat(Op::global_load_dword, 1, 0, 0, -16, 4);
  m.run();
  EXPECT_EQ(m.v(1, 0), 1000u);
  EXPECT_EQ(m.v(1, 63), 1063u);
}

TEST(Memory, StoresInLaneOrder) {
  u32 cell = 0;
  Machine m(Target::gfx803);
  m.set_v(0, static_cast<u32>(address(&cell)));
  m.set_v(1, static_cast<u32>(address(&cell) >> 32));
  for (u32 l = 0; l < 64; ++l) m.set_v(2, l, l);
  m.flat(Op::flat_store_dword, 0, 0, 2);
  m.run();
  EXPECT_EQ(cell, 63u);
}

TEST(Memory, FlatApertures) {
  Machine m(Target::gfx900);
  for (u32 l = 0; l < 64; ++l) {
    m.set_v64(0, l, runtime::kSharedAperture + l * 4);
    m.set_v64(2, l, runtime::kPrivateAperture + 8);
    m.set_v(4, l, l + 7);
  }
  m.set_v64(0, 63, runtime::kSharedAperture + 4096); // beyond the allocation
  m.flat(Op::flat_store_dword, 0, 0, 4);
  m.flat(Op::flat_store_dword, 0, 2, 4);
  m.flat(Op::flat_load_dword, 5, 0);
  m.flat(Op::flat_load_dword, 6, 2);
  m.run();
  EXPECT_EQ(m.lds[5], 12u);
  EXPECT_EQ(m.scratch[2 * 64 + 5], 12u);
  EXPECT_EQ(m.v(5, 5), 12u);
  EXPECT_EQ(m.v(5, 63), 0u);
  EXPECT_EQ(m.v(6, 9), 16u);
}

TEST(Memory, ScratchIsSwizzledByDwords) {
  Machine m(Target::gfx900);
  for (u32 l = 0; l < 64; ++l) {
    m.set_v64(2, l, u64{l} << 32 | 0x1122'3344);
    m.set_v(0, l, 6);
  }
  m.flat(Op::scratch_store_dwordx2, 0, 0, 2, 2); // at 8
  m.flat(Op::scratch_load_ubyte, 5, 0, 0, 3);    // at 9
  m.flat(Op::scratch_load_dword, 6, 0, 0, 4);    // unaligned, at 10
  m.run();
  EXPECT_EQ(m.scratch[2 * 64 + 3], 0x1122'3344u);
  EXPECT_EQ(m.scratch[3 * 64 + 3], 3u);
  EXPECT_EQ(m.v(5, 3), 0x33u);
  EXPECT_EQ(m.v(6, 3), 0x0003'1122u);
}

TEST(Memory, Atomics) {
  u32 counter = 100;
  u64 wide = 5;
  Machine m(Target::gfx900);
  m.set_v(0, static_cast<u32>(address(&counter)));
  m.set_v(1, static_cast<u32>(address(&counter) >> 32));
  m.set_v(2, static_cast<u32>(address(&wide)));
  m.set_v(3, static_cast<u32>(address(&wide) >> 32));
  m.set_v(4, 2);
  m.set_v(6, 7); // new
  m.set_v(8, 5); // expected
  m.flat(Op::global_atomic_add, 10, 0, 4, 0, 0x7f, true);
  m.flat(Op::global_atomic_cmpswap_x2, 12, 2, 6, 0, 0x7f, true);
  m.run();
  EXPECT_EQ(counter, 228u);
  EXPECT_EQ(m.v(10, 0), 100u);
  EXPECT_EQ(m.v(10, 63), 226u);
  EXPECT_EQ(wide, 7u);
  EXPECT_EQ(m.v64(12, 0), 5u);
  EXPECT_EQ(m.v64(12, 1), 7u);
}

TEST(Memory, AtomicsWrapAndCount) {
  u32 cells[2] = {3, 0};
  Machine m(Target::gfx900);
  m.exec = 0xff;
  m.set_v(0, static_cast<u32>(address(cells)));
  m.set_v(1, static_cast<u32>(address(cells) >> 32));
  m.set_v(2, 5);
  m.flat(Op::global_atomic_inc, 0, 0, 2);
  m.flat(Op::global_atomic_dec, 0, 0, 2, 4);
  m.run();
  EXPECT_EQ(cells[0], (3u + 8) % 6);
  EXPECT_EQ(cells[1], 4u); // 5 4 3 2 1 0 5 4
}

TEST(Memory, LdsLimits) {
  for (Target target : {Target::gfx700, Target::gfx900}) {
    Machine m(target);
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l * 4);
    m.set_v(0, 62, 4092);
    m.set_v(0, 63, 4093);
    m.set_v(1, 9);
    m.ds(Op::ds_write_b32, 0, 0, 1);
    m.ds(Op::ds_read_b32, 2, 0);
    m.ds(Op::ds_read2_b32, 4, 0, 0, 0, 1 << 8); // offsets 0 and 1
    m.run();
    EXPECT_EQ(m.lds[1023], 9u);
    EXPECT_EQ(m.v(2, 62), 9u);
    EXPECT_EQ(m.v(2, 63), 0u);
    EXPECT_EQ(m.v(4, 62), 9u);
    EXPECT_EQ(m.v(5, 62), 0u);
  }
  Machine m(Target::gfx803); // M0 limits before gfx9
  m.set_s(kM0, 8);
  m.set_v(0, 8);
  m.lds[2] = 5;
  m.ds(Op::ds_read_b32, 2, 0);
  m.run();
  EXPECT_EQ(m.v(2), 0u);
}

TEST(Memory, LdsAtomicsAndWideAccess) {
  Machine m(Target::gfx900);
  m.lds[0] = 10;
  m.lds[4] = bits(1.5f);
  m.set_v(0, 0);
  m.set_v(1, 3);
  m.set_v(2, 10); // cmp
  m.set_v(3, 99); // new
  m.set_v(4, bits(-2.0f));
  m.set_v(5, 16);
  m.exec = 1;
  m.ds(Op::ds_cmpst_rtn_b32, 8, 0, 2, 3);
  m.ds(Op::ds_sub_rtn_u32, 9, 0, 1);
  m.ds(Op::ds_rsub_rtn_u32, 10, 0, 1);
  m.ds(Op::ds_min_f32, 0, 5, 4);
  m.ds(Op::ds_read_b128, 12, 5);
  m.ds(Op::ds_append, 20, 0, 0, 0, 0);
  m.set_s(kM0, 8); // append's base
  m.run();
  EXPECT_EQ(m.v(8), 10u);
  EXPECT_EQ(m.v(9), 99u);
  EXPECT_EQ(m.v(10), 96u);
  EXPECT_EQ(m.lds[0], 3u - 96u);
  EXPECT_EQ(m.v(12), bits(-2.0f));
  EXPECT_EQ(m.lds[2], 1u);
}

TEST(Memory, GdsIsWhatM0SaysOfIt) {
  for (const Target target : {Target::gfx600, Target::gfx803, Target::gfx906}) {
    Machine m(target);
    for (u32 i = 0; i < 256; ++i) m.gds[i] = 1000 + i;
    m.set_s(kM0, 8 << 16 | 12);
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l * 4);
    m.set_v(1, 5);
    m.set_v(5, 0);
    m.exec = 15;
    m.ds(Op::ds_read_b32, 2, 0, 0, 0, 0, true);
    m.ds(Op::ds_add_rtn_u32, 3, 0, 1, 0, 4, true);
    m.ds(Op::ds_write_b32, 0, 0, 1, 0, 8, true);
    m.ds(Op::ds_append, 4, 0, 0, 0, 400, true); // M0's size is no limit for it
    m.ds(Op::ds_read2_b32, 6, 5, 0, 0, 2 | 3 << 8, true);
    m.run();
    const std::vector<u32> read = {m.v(2, 0), m.v(2, 1), m.v(2, 2), m.v(2, 3)};
    EXPECT_EQ(read, (std::vector<u32>{1002, 1003, 1004, 0}));
    const std::vector<u32> added = {m.v(3, 0), m.v(3, 1), m.v(3, 2), m.v(3, 3)};
    EXPECT_EQ(added, (std::vector<u32>{1003, 1004, 0, 0}));
    const std::vector<u32> left(m.gds.begin() + 2, m.gds.begin() + 7);
    EXPECT_EQ(left, (std::vector<u32>{1002, 1008, 5, 1005, 1006}));
    EXPECT_EQ(m.v(4, 3), 1102u);
    EXPECT_EQ(m.gds[102], 1106u);
    EXPECT_EQ(m.v(6, 1), 5u);
    EXPECT_EQ(m.v(7, 1), 0u);
    EXPECT_EQ(m.lds[2], 0u);
  }
}

TEST(Memory, GlobalWaveSyncSaysWhatTheWaveWants) {
  using runtime::SyncRequest;
  Machine m(Target::gfx906);
  m.set_s(kM0, 62 << 16);
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, 100 + l);
  m.exec = 0xc0;
  m.ds(Op::ds_gws_barrier, 0, 0, 0, 0, 5, true);
  m.ds(Op::ds_gws_sema_p, 0, 0, 0, 0, 0, true);
  const runtime::Stop barrier = m.run();
  EXPECT_EQ(barrier.reason, runtime::StopReason::Sync);
  const SyncRequest first = SyncRequest::from(barrier.detail);
  EXPECT_EQ(first.kind, SyncRequest::Kind::Barrier);
  EXPECT_EQ(first.resource, 3u);
  EXPECT_EQ(first.value, 106u);
  const SyncRequest second = SyncRequest::from(m.resume().detail);
  EXPECT_EQ(second.kind, SyncRequest::Kind::SemaP);
  EXPECT_EQ(second.resource, 62u);
  EXPECT_EQ(m.resume().reason, runtime::StopReason::End);
}

TEST(Memory, SecondOperandsInLds) {
  for (const Target target : {Target::gfx600, Target::gfx906}) {
    Machine m(target);
    m.exec = 3;
    for (u32 i = 0; i < 32; ++i) m.lds[i] = 100 * i;
    m.set_s(kM0, ~0u);
    m.set_v(0, 0, 4);
    m.set_v(0, 1, 8);                  // what lane 0 reads is what lane 1 changes
    m.set_v(1, 0, 40 | 2u << 17);      // at 40, two dwords further
    m.set_v(1, 1, 48 | 0x7fffu << 17); // at 48, a dword before
    m.ds(Op::ds_add_src2_u32, 0, 0, 0, 0, 1);
    m.ds(Op::ds_write_src2_b32, 0, 1, 0, 0, 0x8000);
    m.ds(Op::ds_sub_src2_u64, 0, 0, 0, 0, 0x7ffe); // two dwords before that of 0 or 8
    m.run();
    EXPECT_EQ(m.lds[1], 300u);
    EXPECT_EQ(m.lds[2], 500u);
    EXPECT_EQ(m.lds[3], 0u);
    EXPECT_EQ(m.lds[10], 1200u);
    EXPECT_EQ(m.lds[12], 1100u);
  }
}

/// A V# for `records` in units the target gives them.
void set_resource(Machine& m, u32 sgpr_base, const void* base, u32 stride, u32 records,
                  u32 word3 = 0x7 << 12 | 4 << 15 | 0xfac) {
  m.set_s(sgpr_base, static_cast<u32>(address(base)));
  m.set_s(sgpr_base + 1, static_cast<u32>(address(base) >> 32 & 0xffff) | stride << 16);
  m.set_s(sgpr_base + 2, records);
  m.set_s(sgpr_base + 3, word3);
}

TEST(Memory, RawBuffersCheckBytes) {
  u32 data[64];
  std::iota(std::begin(data), std::end(data), 1u);
  for (Target target : {Target::gfx600, Target::gfx803, Target::gfx906}) {
    Machine m(target);
    set_resource(m, 8, data, 0, 40);
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l * 4);
    m.mubuf(Op::buffer_load_dwordx2, 2, 0, 8, {.offen = true});
    m.mubuf(Op::buffer_store_dword, 0, 0, 8, {.offset = 4, .offen = true});
    m.run();
    EXPECT_EQ(m.v(2, 0), 1u);
    EXPECT_EQ(m.v(3, 9), 0u); // its second dword lies beyond
    EXPECT_EQ(m.v(2, 9), 10u);
    EXPECT_EQ(m.v(2, 10), 0u);
    EXPECT_EQ(data[9], 32u); // lane 8 wrote its v0
    EXPECT_EQ(data[10], 11u);
    std::iota(std::begin(data), std::end(data), 1u);
  }
}

TEST(Memory, Addr64BasesCanBeNegative) {
  const u32 data[] = {1, 2, 3};
  Machine m(Target::gfx600);
  m.set_s(8, ~u32{3}); // s_mov_b64 s[8:9], -4
  m.set_s(9, ~u32{0});
  m.set_v64(0, 0, address(data + 2));
  m.exec = 1;
  m.mubuf(Op::buffer_load_dword, 2, 0, 8, {.addr64 = true});
  m.run();
  EXPECT_EQ(m.v(2, 0), 2u);
}

TEST(Memory, StructuredBuffersCheckRecords) {
  u32 data[64];
  std::iota(std::begin(data), std::end(data), 0u);
  for (Target target : {Target::gfx700, Target::gfx803, Target::gfx900}) {
    Machine m(target);
    const u32 records = 5;
    set_resource(m, 8, data, 12, target == Target::gfx803 ? records * 12 : records);
    for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l);
    m.mubuf(Op::buffer_load_dword, 2, 0, 8, {.offset = 4, .idxen = true});
    m.run();
    EXPECT_EQ(m.v(2, 4), 13u);
    EXPECT_EQ(m.v(2, 5), 0u);
  }
}

TEST(Memory, SwizzledScratchBuffer) {
  Machine m(Target::gfx900);
  std::vector<u32> memory(64 * 16);
  // swizzle, add_tid, index stride 64, elements of 4 bytes.
  set_resource(m, 8, memory.data(), 0, ~0u, 3u << 21 | 1u << 23);
  m.set_s(9, static_cast<u32>(address(memory.data()) >> 32) | 1u << 31);
  for (u32 l = 0; l < 64; ++l) {
    m.set_v(0, l, l + 1);
    m.set_v(1, l, 100 + l);
    m.set_v(2, l, 12);
  }
  m.mubuf(Op::buffer_store_dword, 0, 0, 8, {.offset = 8});
  m.mubuf(Op::buffer_store_dwordx2, 0, 2, 8, {.offset = 4, .offen = true}); // at 16 and 20
  m.run();
  EXPECT_EQ(memory[2 * 64 + 7], 8u);
  EXPECT_EQ(memory[4 * 64 + 7], 8u);
  EXPECT_EQ(memory[5 * 64 + 7], 107u);
}

TEST(Memory, FormattedLoads) {
  const u8 texels[8] = {255, 128, 0, 64, 127, 129, 1, 2};
  Machine m(Target::gfx900);
  // 8_8_8_8 unorm, and the same as snorm; XYZW.
  set_resource(m, 8, texels, 4, 2, 0xfac | 0u << 12 | 10u << 15);
  set_resource(m, 12, texels, 4, 2, 0xfac | 1u << 12 | 10u << 15);
  for (u32 l = 0; l < 64; ++l) m.set_v(0, l, l % 3);
  m.mubuf(Op::buffer_load_format_xyzw, 4, 0, 8, {.idxen = true});
  m.mubuf(Op::buffer_load_format_xy, 10, 0, 12, {.idxen = true});
  m.run();
  EXPECT_EQ(m.v(4, 0), bits(1.0f));
  EXPECT_EQ(m.v(5, 0), bits(128.0f / 255.0f));
  EXPECT_EQ(m.v(7, 0), bits(64.0f / 255.0f));
  EXPECT_EQ(m.v(4, 2), 0u); // beyond the records
  EXPECT_EQ(m.v(10, 1), bits(1.0f));
  EXPECT_EQ(m.v(11, 1), bits(-1.0f));
}

TEST(Memory, ScalarLoads) {
  alignas(64) u32 data[32];
  std::iota(std::begin(data), std::end(data), 50u);
  Machine m(Target::gfx900);
  m.set_s64(0, address(data));
  set_resource(m, 8, data, 0, 12);
  m.raw({0xc000'0000 | 2u << 18 | 20u << 6 | 1u << 17 | 0u, 16}); // s_load_dwordx4 s[20:23], s[0:1], 16
  m.raw(
      {0xc000'0000 | 0xau << 18 | 24u << 6 | 1u << 17 | 4u, 4}); // s_buffer_load_dwordx4 s[24:27], s[8:11], 4
  m.run();
  EXPECT_EQ(m.s(20), 54u);
  EXPECT_EQ(m.s(23), 57u);
  EXPECT_EQ(m.s(24), 51u);
  EXPECT_EQ(m.s(25), 52u);
  EXPECT_EQ(m.s(26), 0u);
}

} // namespace
} // namespace lanewise::interp::test
