// Random kernels for workgroups of one work-item, whose recompiled form runs 64 of them as the lanes of a
// wave: branches on scalars that differ between workgroups, loads by them, masks, the LDS. LANEWISE_DIFF_SEED
// and LANEWISE_DIFF_SECONDS as for the other campaigns.
#include "abi/asm/assembler.hpp"
#include "abi/loaded_image.hpp"
#include "lanewise/kernel_source.hpp"
#include "lanewise/lanewise.hpp"
#include "lanewise/launch_facts.hpp"
#include "tests/asm/programs.hpp"
#include "tests/differential/random.hpp"
#include "translator/translation.hpp"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise::differential {
namespace {

constexpr u32 kTableBytes = 4096, kLdsBytes = 48, kOutDwords = 32;
constexpr u32 kFirstScalar = 20, kScalars = 8, kVectors = 7; // s20 to s27, v1 to v7

/// One kernel for workgroups of 1 or 64 work-items: s2 is the workgroup, s[4:5] its output, v0 where the
/// work-item's part of that begins, s[6:7] a table that all read.
class Writer {
public:
  Writer(u64 seed, u32 items) : r_(seed), items_(items) {}

  std::string kernel() {
    text_ = R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  mixed
        .p2align 8
        .type   mixed,@function
mixed:
        s_load_dwordx4 s[4:7], s[0:1], 0
        v_lshlrev_b32 v0, 7, v0
        s_waitcnt lgkmcnt(0)
)";
    put("s_lshl_b32 s3, s2, {}", items_ == 1 ? 7 : 13);
    put("s_add_u32 s4, s4, s3");
    put("s_addc_u32 s5, s5, 0");
    for (u32 n = 0; n < kScalars; ++n)
      put("s_mul_i32 s{}, {}, {}", kFirstScalar + n, r_.one_in(3) ? "s3" : "s2", r_.below(1 << 20));
    for (u32 n = 0; n < kVectors; ++n)
      put("v_{}_b32 v{}, {}, v0", r_.of({"xor", "lshrrev", "or"}), n + 1, s());
    for (unsigned n = 4 + r_.below(5); n > 0; --n) piece(0);
    put("Lexit:");
    for (u32 n = 0; n < kScalars; ++n) {
      put("v_mov_b32 v8, s{}", kFirstScalar + n);
      put("global_store_dword v0, v8, s[4:5] offset:{}", 64 + 4 * n);
    }
    for (u32 n = 0; n < kVectors; ++n) put("global_store_dword v0, v{}, s[4:5] offset:{}", n + 1, 4 * n);
    put("s_endpgm");
    return text_ + testing::kernel_end_with({.name = "mixed",
                                             .kernarg_bytes = 16,
                                             .lds_bytes = kLdsBytes,
                                             .sgprs = 80,
                                             .vgprs = 16,
                                             .max_items = 64},
                                            {"global_buffer", "global_buffer"});
  }

private:
  Random r_;
  u32 items_;
  std::string text_;
  unsigned labels_ = 0, lines_ = 0;

  template <class... Args>
  void put(fmt::format_string<Args...> line, Args&&... args) {
    text_ += "        " + fmt::format(line, std::forward<Args>(args)...) + "\n";
    ++lines_;
  }
  std::string label() { return fmt::format("L{}", labels_++); }
  std::string s() { return fmt::format("s{}", kFirstScalar + r_.below(kScalars)); }
  std::string v() { return fmt::format("v{}", 1 + r_.below(kVectors)); }
  /// Registers of one nesting depth: a counter and pairs for masks.
  static std::string counter(unsigned depth) { return fmt::format("s{}", 40 + depth); }
  static std::string mask(unsigned depth) { return fmt::format("s[{}:{}]", 50 + 2 * depth, 51 + 2 * depth); }

  void pieces(unsigned depth) {
    for (unsigned n = 1 + r_.below(3); n > 0; --n) piece(depth);
  }

  void piece(unsigned depth) {
    constexpr unsigned kMaxDepth = 3, kMaxLines = 150;
    const unsigned kinds = depth >= kMaxDepth || lines_ > kMaxLines ? 9 : 15;
    switch (r_.below(kinds)) {
    case 0: return scalars();
    case 1: return vectors();
    case 2: return crossing();
    case 3: return table_scalar();
    case 4: return table_vector();
    case 5: return lds();
    case 6: return conditions();
    case 7: return store();
    case 8: return scalars();
    case 9: return scalar_if(depth);
    case 10: return mask_if(depth);
    case 11: return mask_branch(depth);
    case 12: return counted_loop(depth);
    case 13: return mask_loop(depth);
    default:
      if (!r_.one_in(8)) return scalar_if(depth);
      compare_scalars();
      put("s_cbranch_scc1 Lexit");
    }
  }

  void scalars() {
    switch (r_.below(8)) {
    case 0: return put("s_mul_i32 {}, {}, {}", s(), s(), s());
    case 1: return put("s_lshl_b32 {}, {}, {}", s(), s(), s());
    case 2: return put("s_ashr_i32 {}, {}, {}", s(), s(), r_.below(32));
    case 3: return put("s_bfe_u32 {}, {}, {:#x}", s(), s(), r_.below(20) | r_.below(20) << 16);
    case 4: return put("s_bcnt1_i32_b32 {}, {}", s(), s());
    case 5: return put("s_lshl_b64 s[20:21], s[{}:{}], {}", 22, 23, s());
    case 6: put("s_add_u32 s24, s24, {}", s()); return put("s_addc_u32 s25, s25, {}", s());
    default: return put("s_{}_b32 {}, {}, {}", r_.of({"and", "or", "xor", "andn2", "nor"}), s(), s(), s());
    }
  }
  void vectors() {
    switch (r_.below(6)) {
    case 0: return put("v_mul_lo_u32 {}, {}, {}", v(), v(), s());
    case 1: return put("v_add_u32 {}, {}, {}", v(), s(), v());
    case 2: return put("v_lshlrev_b32 {}, {}, {}", v(), s(), v());
    case 3: return put("v_cvt_f32_u32 {}, {}", v(), v());
    case 4: return put("v_fma_f32 {}, {}, {}, {}", v(), v(), s(), v());
    default: return put("v_xor_b32 {}, {}, {}", v(), s(), v());
    }
  }
  void crossing() {
    switch (r_.below(7)) {
    case 0: return put("v_readlane_b32 {}, {}, 0", s(), v());
    case 1: return put("v_writelane_b32 {}, {}, {}", v(), s(), r_.of({0, 0, 5}));
    case 2: return put("s_bcnt1_i32_b64 {}, exec", s());
    case 3:
      put("v_mbcnt_lo_u32_b32 {}, exec_lo, {}", v(), v());
      return put("v_mbcnt_hi_u32_b32 {}, {}, {}", v(), s(), v());
    case 4: return put("v_mov_b32 {}, {}", v(), s());
    default: return put("v_readfirstlane_b32 {}, {}", s(), v());
    }
  }
  void table_scalar() {
    put("s_and_b32 s28, {}, {}", s(), kTableBytes - 64);
    switch (r_.below(4)) {
    case 0: put("s_load_dwordx4 s[24:27], s[6:7], s28"); break;
    case 1: put("s_load_dwordx8 s[20:27], s[6:7], s28"); break;
    default: put("s_load_dword {}, s[6:7], s28", s());
    }
    put("s_waitcnt lgkmcnt(0)");
  }
  void table_vector() {
    put("v_and_b32 v8, {}, {}", kTableBytes - 16, v());
    put("global_load_{} v{}, v8, s[6:7]", r_.of({"dword", "ubyte", "sshort"}), 1 + r_.below(kVectors));
    put("s_waitcnt vmcnt(0)");
  }
  /// Some of it beyond the allocation.
  void lds() {
    put("v_and_b32 v8, {}, {}", r_.of({12, 28, 60, 61}), v());
    switch (r_.below(7)) {
    case 0: put("ds_write_b32 v8, {} offset:{}", v(), r_.of({0, 4, 20})); break;
    case 1: put("ds_write_b64 v8, v[2:3] offset:8"); break;
    case 2: put("ds_write_b8 v8, {}", v()); break;
    case 3: put("ds_add_rtn_u32 {}, v8, {}", v(), v()); break;
    case 4: put("ds_read_b64 v[4:5], v8"); break;
    case 5: put("ds_read2_b32 v[6:7], v8 offset0:1 offset1:3"); break;
    default: put("ds_read_b32 {}, v8 offset:{}", v(), r_.of({0, 4, 20})); break;
    }
    put("s_waitcnt lgkmcnt(0)");
  }
  void store() { put("global_store_dword v0, {}, s[4:5] offset:{}", v(), 96 + 4 * r_.below(8)); }

  void compare_scalars() {
    if (r_.one_in(4))
      put("s_bitcmp1_b32 {}, {}", s(), r_.below(32));
    else
      put("s_cmp_{}_{} {}, {}", r_.of({"lt", "gt", "ge", "eq", "lg"}), r_.of({"u32", "i32"}), s(), s());
  }
  void compare_vectors(const std::string& to) {
    put("v_cmp_{}_u32 {}, {}, {}", r_.of({"lt", "ge", "eq", "ne"}), to, r_.one_in(2) ? s() : v(), v());
  }
  void conditions() {
    switch (r_.below(4)) {
    case 0: compare_scalars(); return put("s_cselect_b32 {}, {}, {}", s(), s(), s());
    case 1: compare_vectors("vcc"); return put("v_cndmask_b32 {}, {}, {}, vcc", v(), v(), v());
    case 2:
      compare_vectors("vcc");
      put("s_cmp_lg_u64 vcc, 0");
      return put("s_cselect_b32 {}, {}, {}", s(), s(), s());
    default: compare_scalars(); return put("s_addc_u32 {}, {}, {}", s(), s(), s());
    }
  }

  void scalar_if(unsigned depth) {
    const std::string otherwise = label(), end = label();
    compare_scalars();
    put("s_cbranch_scc{} {}", r_.below(2), otherwise);
    pieces(depth + 1);
    if (r_.one_in(2)) {
      put("s_branch {}", end);
      put("{}:", otherwise);
      pieces(depth + 1);
    } else {
      put("{}:", otherwise);
    }
    put("{}:", end);
  }
  void mask_if(unsigned depth) {
    const std::string end = label();
    compare_vectors("vcc");
    put("s_and_saveexec_b64 {}, vcc", mask(depth));
    if (!r_.one_in(3)) put("s_cbranch_execz {}", end);
    pieces(depth + 1);
    put("{}:", end);
    put("s_or_b64 exec, exec, {}", mask(depth));
  }
  /// What lies behind the branch is not under its mask.
  void mask_branch(unsigned depth) {
    const std::string end = label();
    compare_vectors("vcc");
    put("s_cbranch_vcc{} {}", r_.of({"z", "nz"}), end);
    pieces(depth + 1);
    put("{}:", end);
  }
  void counted_loop(unsigned depth) {
    const std::string loop = label();
    put("s_mov_b32 {}, {}", counter(depth), 1 + r_.below(4));
    put("{}:", loop);
    pieces(depth + 1);
    put("s_sub_u32 {0}, {0}, 1", counter(depth));
    put("s_cmp_lg_u32 {}, 0", counter(depth));
    put("s_cbranch_scc1 {}", loop);
  }
  /// Each work-item as often as its own bits say.
  void mask_loop(unsigned depth) {
    const std::string loop = label();
    put("v_and_b32 v{}, {}, {}", 9 + depth, 1 + r_.below(7), v());
    put("s_mov_b64 {}, exec", mask(depth));
    put("{}:", loop);
    pieces(depth + 1);
    put("v_subrev_u32 v{0}, 1, v{0}", 9 + depth);
    put("v_cmp_lt_i32 vcc, 0, v{}", 9 + depth);
    put("s_and_b64 exec, exec, vcc");
    put("s_cbranch_execnz {}", loop);
    put("s_mov_b64 exec, {}", mask(depth));
  }
};

/// The kernel's output on one engine.
std::vector<u32> run(std::span<const std::byte> object, const DeviceOptions& options, u32 groups, u32 items,
                     std::vector<u32>& table) {
  std::vector<u32> out(std::size_t{groups} * items * kOutDwords, 0xa5a5'a5a5);
  auto device = Device::create(options);
  auto module = device->load(object);
  if (!module) return ADD_FAILURE() << module.error().message, out;
  auto kernel = module->kernel("mixed");
  const auto done = kernel->launch({.grid = {groups * items, 1, 1}, .block = {items, 1, 1}},
                                   {Argument::pointer(out.data()), Argument::pointer(table.data())});
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

/// Whether its workgroups become lanes.
bool is_packed(std::span<const std::byte> bytes, u32 groups) {
  const auto object = abi::load(bytes, "mixed");
  const auto image = abi::LoadedImage::create(*object);
  const abi::Kernel& kernel = object->kernels.front();
  abi::DispatchShape shape;
  shape.grid[0] = groups;
  const auto facts = launch_facts(kernel, object->target.isa, shape, steady_hidden_values());
  const auto translation = translator::translate(
      kernel_source(*object, *image, kernel),
      {.simd = translator::Simd::Avx2, .verify = true, .launch = facts, .dump = {}}, nullptr);
  EXPECT_TRUE(translation) << translation.error().message;
  return translation && translation->packs;
}

u64 number_from(const char* variable, u64 otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Programs for workgroups of `items`, until the time is up.
void compare_engines(u32 items) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(number_from("LANEWISE_DIFF_SECONDS", 4));
  u32 programs = 0, packed = 0;
  for (u64 seed = number_from("LANEWISE_DIFF_SEED", 1); std::chrono::steady_clock::now() < end; ++seed) {
    ::setenv("LANEWISE_INTERLEAVE", std::to_string(seed % 3).c_str(), 1); // 0: as the translator likes
    const std::string source = Writer(seed, items).kernel();
    const abi::Assembly assembly = abi::assemble(source);
    ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message << "\n" << source;
    Random random(seed);
    std::vector<u32> table(kTableBytes / 4 + 16);
    for (u32& word : table) word = random.one_in(3) ? random.below(16) : static_cast<u32>(random.bits());
    const u32 groups = items == 1 ? 40 + random.below(100) : 3;
    const auto expected = run(assembly.code_object, {.engine = Engine::Interp}, groups, items, table);
    for (const Simd simd : {Simd::Avx2, Simd::Auto}) {
      const auto got = run(assembly.code_object, {.engine = Engine::Jit, .simd = simd, .no_fallback = true},
                           groups, items, table);
      for (std::size_t n = 0; n < got.size(); ++n)
        ASSERT_EQ(got[n], expected[n])
            << "seed " << seed << ", work-item " << n / kOutDwords << ", dword " << n % kOutDwords
            << (simd == Simd::Avx2 ? ", AVX2\n" : "\n") << source;
    }
    ++programs;
    packed += items == 1 && is_packed(assembly.code_object, groups);
  }
  EXPECT_TRUE(items != 1 || packed > programs / 4) << packed << " of " << programs << " programs packed";
}

TEST(ScalarConditions, EnginesAgreeOnWorkgroupsOfOneWorkItem) { compare_engines(1); }
TEST(ScalarConditions, EnginesAgreeOnWholeWaves) { compare_engines(64); }

} // namespace
} // namespace lanewise::differential
