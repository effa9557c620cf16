// A kernel written in assembly runs.
#include "abi/asm/assembler.hpp"
#include "lanewise/lanewise.hpp"
#include "programs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace lanewise {
namespace {

/// A kernel of what was assembled. It keeps what it needs of device and module.
Result<Kernel> load_kernel(const abi::Assembly& assembly, const std::string& name,
                           const DeviceOptions& options) {
  auto device = Device::create(options);
  if (!device) return device.error();
  auto module = device->load(assembly.code_object);
  if (!module) return module.error();
  return module->kernel(name);
}

/// Runs a kernel with 64 work-items on both engines and calls check(out) with what it leaves in the buffer of
/// `size` dwords that is its argument.
template <class Check>
void run_on_engines(const abi::Assembly& assembly, const std::string& name, std::size_t size, Check check) {
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    std::vector<std::uint32_t> out(size);
    auto kernel = load_kernel(assembly, name, {.engine = engine, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result =
        kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(out.data())});
    ASSERT_TRUE(result) << result.error().message;
    check(out);
  }
}

class AssembledKernel : public ::testing::TestWithParam<const char*> {};

TEST_P(AssembledKernel, AddsVectors) {
  const abi::Assembly assembly = abi::assemble(testing::vector_add(GetParam()));
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  constexpr std::uint32_t n = 200;
  for (Engine engine : {Engine::Interp, Engine::Jit}) {
    std::vector<float> a(n), b(n), out(n + 8, -1);
    for (std::uint32_t i = 0; i < n; ++i)
      a[i] = static_cast<float>(i), b[i] = 1000.0f * static_cast<float>(i);
    auto kernel = load_kernel(assembly, "vector_add", {.engine = engine});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result = kernel->launch({.grid = {256, 1, 1}, .block = {64, 1, 1}},
                                       {Argument::pointer(a.data()), Argument::pointer(b.data()),
                                        Argument::pointer(out.data()), Argument::value(n)});
    ASSERT_TRUE(result) << result.error().message;
    for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 1001.0f * static_cast<float>(i)) << i;
    for (std::uint32_t i = n; i < out.size(); ++i) ASSERT_EQ(out[i], -1.0f);
  }
}

/// GDS belongs to the device: its workgroups share it, and the next launch finds what the last one left.
TEST_P(AssembledKernel, SharesGds) {
  const abi::Assembly assembly = abi::assemble(testing::gds_tickets(GetParam()));
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  constexpr std::uint32_t n = 64 * 500;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    auto kernel = load_kernel(assembly, "gds_tickets", {.engine = engine, .threads = 4, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    std::vector<std::uint32_t> out(2 * n, 1);
    for (int launch = 0; launch < 2; ++launch) {
      const auto result =
          kernel->launch({.grid = {n, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(out.data())});
      ASSERT_TRUE(result) << result.error().message;
    }
    std::sort(out.begin(), out.end());
    for (std::uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 64 * 64) << i;
  }
}

/// meet(out): each work-item counts itself in out[0], waits until `items` have done so, and counts itself in
/// out[1]. With `calls`, the wait is a function.
std::string meet(std::string_view target, unsigned items, bool calls) {
  const std::string wait = fmt::format(R"(
.Lwait:
        buffer_load_dword v2, off, s[4:7], 0 glc
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s8, v2
        s_cmp_lt_u32 s8, {}
        s_cbranch_scc1 .Lwait
)",
                                       items);
  return testing::kernel_with_buffer(target, "meet") + R"(
        v_mov_b32 v1, 1
        buffer_atomic_add v1, off, s[4:7], 0
)" +
         (calls ? R"(
        s_getpc_b64 s[10:11]
        s_add_u32 s10, s10, wait_for_all - . + 4
        s_addc_u32 s11, s11, 0
        s_swappc_b64 s[12:13], s[10:11]
)"
                : wait) +
         R"(
        buffer_atomic_add v1, off, s[4:7], 0 offset:4
        s_endpgm
)" + (calls ? "wait_for_all:" + wait + "        s_setpc_b64 s[12:13]\n" : "") +
         testing::kernel_end_with(
             {.name = "meet", .kernarg_bytes = 8, .sgprs = 24, .vgprs = 6, .max_items = 64},
             {"global_buffer"});
}

/// More workgroups than threads wait for each other, in each launch, short as they are.
TEST_P(AssembledKernel, WaitsForLaterWorkgroups) {
  constexpr std::uint32_t kGroups = 7, kItems = 64 * kGroups;
  for (const bool calls : {false, true}) {
    const abi::Assembly assembly = abi::assemble(meet(GetParam(), kItems, calls));
    ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    for (const Engine engine : {Engine::Interp, Engine::Jit}) {
      auto kernel = load_kernel(assembly, "meet", {.engine = engine, .threads = 2, .no_fallback = true});
      ASSERT_TRUE(kernel) << kernel.error().message;
      for (int launch = 0; launch < 6; ++launch) {
        std::vector<std::uint32_t> out(2);
        const auto result =
            kernel->launch({.grid = {kItems, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(out.data())});
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(out, (std::vector<std::uint32_t>{kItems, kItems}));
      }
    }
  }
}

/// clocks(out): waits until 20 ms have passed by s_memrealtime; out is what s_memtime and s_memrealtime were
/// first, and what s_memrealtime and s_memtime were last.
std::string clocks(std::string_view target) {
  return testing::kernel_with_buffer(target, "clocks") + R"(
        s_memtime s[8:9]
        s_waitcnt lgkmcnt(0)
        s_memrealtime s[10:11]
        s_waitcnt lgkmcnt(0)
.Lagain:
        s_memrealtime s[12:13]
        s_waitcnt lgkmcnt(0)
        s_sub_u32 s16, s12, s10
        s_cmp_lt_u32 s16, 2000000
        s_cbranch_scc1 .Lagain
        s_memtime s[14:15]
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v1, s8
        v_mov_b32 v2, s9
        v_mov_b32 v3, s10
        v_mov_b32 v4, s11
        buffer_store_dwordx4 v[1:4], off, s[4:7], 0
        v_mov_b32 v1, s12
        v_mov_b32 v2, s13
        v_mov_b32 v3, s14
        v_mov_b32 v4, s15
        buffer_store_dwordx4 v[1:4], off, s[4:7], 0 offset:16
        s_endpgm
)" +
         testing::kernel_end_with(
             {.name = "clocks", .kernarg_bytes = 8, .sgprs = 24, .vgprs = 6, .max_items = 64},
             {"global_buffer"});
}

/// s_memtime counts at the rate that HIP programs are told, 1 GHz, s_memrealtime at 100 MHz.
TEST_P(AssembledKernel, ReadsClocks) {
  if (GetParam() < std::string("gfx803")) GTEST_SKIP() << "there is no s_memrealtime";
  const abi::Assembly assembly = abi::assemble(clocks(GetParam()));
  auto start = std::chrono::steady_clock::now();
  run_on_engines(assembly, "clocks", 8, [&](const std::vector<std::uint32_t>& out) {
    std::uint64_t counts[4];
    std::memcpy(counts, out.data(), sizeof counts);
    const auto core = static_cast<double>(counts[3] - counts[0]),
               real = static_cast<double>(counts[2] - counts[1]);
    const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - start;
    constexpr double kExact = 1e-3; // both were measured
    EXPECT_GE(real, 2e6);
    EXPECT_GE(core * (1 + kExact), 10 * real);
    EXPECT_GE(all.count() * (1 + kExact), core);
    start = std::chrono::steady_clock::now();
  });
}

/// Kernels that were assembled, on one device.
class OneDevice {
public:
  explicit OneDevice(Engine engine)
      : device_(Device::create({.engine = engine, .threads = 4, .no_fallback = true})) {}

  Result<LaunchTimes> launch(const std::string& source, const std::string& name, std::uint32_t items,
                             std::uint32_t group, void* buffer, Fault* fault = nullptr) {
    const abi::Assembly assembly = abi::assemble(source);
    EXPECT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    auto module = device_->load(assembly.code_object);
    if (!module) return module.error();
    auto kernel = module->kernel(name);
    if (!kernel) return kernel.error();
    return kernel->launch({.grid = {items, 1, 1}, .block = {group, 1, 1}}, {Argument::pointer(buffer)},
                          fault);
  }

private:
  Result<Device> device_;
};

TEST_P(AssembledKernel, WaitsForTheWholeGrid) {
  const std::string target = GetParam();
  for (const auto& [engine, initialize] : {std::pair(Engine::Interp, true), std::pair(Engine::Jit, true),
                                           std::pair(Engine::Interp, false), std::pair(Engine::Jit, false)}) {
    OneDevice device(engine);
    std::vector<std::uint32_t> values(32 * 128);
    if (initialize) {
      ASSERT_TRUE(device.launch(testing::gws_init(target, 63), "gws_init", 1, 1, nullptr));
    }
    for (int launch = 0; launch < 2; ++launch) { // The counter is as before when all have passed.
      for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i;
      const auto result =
          device.launch(testing::grid_sums(target, 64), "grid_sums", 32 * 128, 128, values.data());
      ASSERT_TRUE(result) << result.error().message;
      for (std::uint32_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], 128 * 31 * 16 + 32 * (i % 128)) << i;
    }
  }
}

TEST_P(AssembledKernel, PassesASemaphoreOneByOne) {
  const std::string target = GetParam();
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    OneDevice device(engine);
    ASSERT_TRUE(device.launch(testing::gws_init(target, 1), "gws_init", 1, 1, nullptr));
    std::uint32_t count = 0;
    const auto result = device.launch(testing::one_by_one(target), "one_by_one", 1000 * 128, 128, &count);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(count, 2000u);
  }
}

TEST(AssembledSync, WavesThatNobodyLetsGoAreAFault) {
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    OneDevice device(engine);
    std::vector<std::uint32_t> values(32 * 128);
    ASSERT_TRUE(device.launch(testing::gws_init("gfx900", 64), "gws_init", 1, 1, nullptr));
    Fault fault;
    const auto result =
        device.launch(testing::grid_sums("gfx900", 64), "grid_sums", 32 * 128, 128, values.data(), &fault);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Fault);
    EXPECT_NE(fault.message.find("wait without end in grid_sums"), std::string::npos) << fault.message;
    EXPECT_NE(fault.message.find("ds_gws_barrier v6 gds: workgroup (0,0,0), wave 0"), std::string::npos)
        << fault.message;
  }
}

/// Bytes that are no instruction, met on the way or jumped to, are named alike by both engines.
TEST(AssembledFaults, NameBytesThatAreNoInstruction) {
  const std::string head = "        .amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"\n"
                           "        .globl  kernel\n        .p2align 8\n        .type   kernel,@function\n";
  const std::string tail = testing::kernel_end_with(
      {.name = "kernel", .kernarg_bytes = 8, .sgprs = 10, .vgprs = 1, .max_items = 64}, {"global_buffer"});
  const auto fault_of = [&](Engine engine, const std::string& code) {
    OneDevice device(engine);
    Fault fault;
    EXPECT_FALSE(device.launch(head + code + tail, "kernel", 64, 64, nullptr, &fault));
    EXPECT_EQ(fault.address, 0u);
    return std::pair(fault.message.substr(0, fault.message.find(" at pc ")), fault.offset);
  };
  const std::string on_the_way = "kernel: s_nop 0\n  .long 0xdd348800, 0\n  s_endpgm\n";
  const std::string jumped_to = R"(
kernel: s_getpc_b64 s[4:5]
.Lpc:   s_add_u32 s4, s4, .Lbytes-.Lpc
        s_addc_u32 s5, s5, 0
        s_setpc_b64 s[4:5]
.Lbytes: .long 0xdd348800, 0
)";
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    EXPECT_EQ(fault_of(engine, on_the_way),
              std::pair(std::string("instruction that cannot be executed in kernel"), u64{4}));
    EXPECT_EQ(fault_of(engine, jumped_to),
              std::pair(std::string("instruction that cannot be executed in kernel"), u64{20}));
  }
}

/// What compilers leave of a kernel that cannot be reached is a symbol where the code ends. Its module is
/// loaded, for others' sake.
TEST(AssembledFaults, KernelsWithoutCodeCannotBeLaunched) {
  const std::string text =
      "        .amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"\n        s_nop 0\n"
      "        .globl  kernel\n        .p2align 8\n        .type   kernel,@function\n"
      "kernel:\n" +
      testing::kernel_end_with(
          {.name = "kernel", .kernarg_bytes = 8, .sgprs = 10, .vgprs = 1, .max_items = 64},
          {"global_buffer"});
  const abi::Assembly assembly = abi::assemble(text);
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    auto kernel = load_kernel(assembly, "kernel", {.engine = engine});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result =
        kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(nullptr)});
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("outside the code"), std::string::npos) << result.error().message;
  }
}

TEST(AssembledCalls, AnAddressIsKeptAcrossCallsOfASharedFunction) {
  const abi::Assembly assembly = abi::assemble(testing::call_after_shared_calls());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (Engine engine : {Engine::Interp, Engine::Jit}) {
    std::uint32_t out = 0;
    auto kernel = load_kernel(assembly, "caller", {.engine = engine, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result = kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(&out)});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(out, 35u);
  }
}

/// Lanes that scalars go through on their way to memory hold another one each time.
TEST(AssembledCalls, AnAddressComesBackFromMemoryThroughLanesThatHeldAnother) {
  const abi::Assembly assembly = abi::assemble(
      R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  caller
        .p2align 8
        .type   caller,@function
caller: s_load_dwordx2 s[8:9], s[0:1], 0
        v_lshlrev_b32 v0, 2, v0
        s_getpc_b64 s[4:5]
.Lpc0:  s_add_u32 s4, s4, seven-.Lpc0
        s_addc_u32 s5, s5, 0
        v_writelane_b32 v1, s4, 0
        v_writelane_b32 v1, s5, 1
        ds_write_b32 v0, v1
        s_getpc_b64 s[4:5]
.Lpc1:  s_add_u32 s4, s4, nine-.Lpc1
        s_addc_u32 s5, s5, 0
        v_writelane_b32 v2, s4, 0
        v_writelane_b32 v2, s5, 1
        ds_write_b32 v0, v2 offset:256
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v2, v0
        s_waitcnt lgkmcnt(0)
        v_readlane_b32 s4, v2, 0
        v_readlane_b32 s5, v2, 1
        s_swappc_b64 s[30:31], s[4:5]
        global_store_dword v0, v3, s[8:9]
        s_endpgm
        .type   seven,@function
seven:  v_mov_b32 v3, 7
        s_setpc_b64 s[30:31]
.Lseven: .size seven, .Lseven-seven
        .type   nine,@function
nine:   v_mov_b32 v3, 9
        s_setpc_b64 s[30:31]
.Lnine: .size nine, .Lnine-nine
)" + testing::kernel_end_with(
          {.name = "caller", .kernarg_bytes = 8, .lds_bytes = 512, .sgprs = 40, .vgprs = 4, .max_items = 64},
          {"global_buffer"}));
  run_on_engines(assembly, "caller", 64, [](const std::vector<std::uint32_t>& out) {
    EXPECT_EQ(out, std::vector<std::uint32_t>(64, 7));
  });
}

/// As kernels at -O0 call the library's functions: by addresses that come back from memory.
TEST(AssembledCalls, OneOfAHundredFunctionsIsCalledByAnAddressFromMemory) {
  std::string text = R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  caller
        .p2align 8
        .type   caller,@function
caller: s_load_dwordx2 s[8:9], s[0:1], 0
        v_mov_b32 v1, 0
        s_waitcnt lgkmcnt(0)
)";
  std::string functions;
  for (int n = 0; n < 100; ++n) {
    const std::string f = "f" + std::to_string(n), pc = ".Lpc" + std::to_string(n);
    text += "s_getpc_b64 s[4:5]\n" + pc + ": s_add_u32 s4, s4, " + f + "-" + pc +
            "\ns_addc_u32 s5, s5, 0\nv_mov_b32 v2, s4\nv_mov_b32 v3, s5\n"
            "global_store_dwordx2 v1, v[2:3], s[8:9] offset:" +
            std::to_string(8 * n) + "\n";
    functions += ".type " + f + ",@function\n" + f + ": v_mov_b32 v4, " + std::to_string(1000 + n) +
                 "\ns_setpc_b64 s[30:31]\n.L" + f + ": .size " + f + ", .L" + f + "-" + f + "\n";
  }
  text += R"(
        s_waitcnt vmcnt(0)
        global_load_dwordx2 v[2:3], v1, s[8:9] offset:616
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s4, v2
        v_readfirstlane_b32 s5, v3
        s_swappc_b64 s[30:31], s[4:5]
        global_store_dword v1, v4, s[8:9] offset:800
        s_endpgm
)" + functions +
          testing::kernel_end_with(
              {.name = "caller", .kernarg_bytes = 8, .sgprs = 40, .vgprs = 5, .max_items = 64},
              {"global_buffer"});
  const abi::Assembly assembly = abi::assemble(text);
  run_on_engines(assembly, "caller", 201,
                 [](const std::vector<std::uint32_t>& out) { EXPECT_EQ(out[200], 1077u); });
}

/// On the first path to s_setreg the lane holds 0, later 3.
TEST(AssembledModes, ModeComesFromALaneThatChanges) {
  const abi::Assembly assembly = abi::assemble(
      R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  modes
        .p2align 8
        .type   modes,@function
modes:  s_load_dwordx2 s[8:9], s[0:1], 0
        v_lshlrev_b32 v0, 2, v0
        v_mov_b32 v2, 1
        v_mov_b32 v3, 0
        s_mov_b32 s5, 0
        s_mov_b32 s2, 0
        v_writelane_b32 v1, s2, 0
.Lloop: v_readlane_b32 s4, v1, 0
        s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4
        v_add_f32 v4, v2, v2
        v_lshl_or_b32 v3, v3, 4, v4
        s_mov_b32 s2, 3
        v_writelane_b32 v1, s2, 0
        s_add_u32 s5, s5, 1
        s_cmp_lt_u32 s5, 3
        s_cbranch_scc1 .Lloop
        s_waitcnt lgkmcnt(0)
        global_store_dword v0, v3, s[8:9]
        s_endpgm
)" + testing::kernel_end_with({.name = "modes", .kernarg_bytes = 8, .sgprs = 40, .vgprs = 5, .max_items = 64},
                              {"global_buffer"}));
  run_on_engines(assembly, "modes", 64, [](const std::vector<std::uint32_t>& out) {
    EXPECT_EQ(out, std::vector<std::uint32_t>(64, 0x022)); // denormal sums: flushed, then kept
  });
}

TEST(AssembledAccesses, AScalarLoadSeesWhatLanesStoredBefore) {
  const abi::Assembly assembly = abi::assemble(testing::scalar_after_vector());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Simd simd : {Simd::Auto, Simd::Avx2})
    for (const Engine engine : {Engine::Interp, Engine::Jit}) {
      std::vector<std::uint32_t> out(128);
      auto kernel =
          load_kernel(assembly, "scalar_after_vector", {.engine = engine, .simd = simd, .no_fallback = true});
      ASSERT_TRUE(kernel) << kernel.error().message;
      const auto result =
          kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(out.data())});
      ASSERT_TRUE(result) << result.error().message;
      for (std::uint32_t lane = 0; lane < 64; ++lane) EXPECT_EQ(out[64 + lane], 132 + lane);
    }
}

TEST(AssembledAccesses, MissingServicesAreNamed) {
  const abi::Assembly assembly = abi::assemble(testing::hostcall());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    auto kernel = load_kernel(assembly, "hostcall", {.engine = engine});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result = kernel->launch({}, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Fault);
    EXPECT_NE(result.error().message.find("printf"), std::string::npos) << result.error().message;
  }
}

TEST(AssembledAccesses, ManagedVariablesAreFoundByPointers) {
  const abi::Assembly assembly = abi::assemble(testing::managed());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    auto module = Device::create({.engine = engine})->load(assembly.code_object);
    ASSERT_TRUE(module) << module.error().message;
    auto kernel = module->kernel("managed");
    auto total = module->variable("total");
    ASSERT_TRUE(kernel && total);
    ASSERT_EQ(total->size(), 4u);
    for (const std::uint32_t value : {5u, 6u}) {
      std::uint32_t out = 0;
      const auto result = kernel->launch({}, {Argument::pointer(&out)});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(out, value);
      (*total)[0] = std::byte{6};
    }
  }
}

/// One call of the host, its service and what it sends in front.
struct HostCall {
  std::uint32_t service, pad;
  std::uint64_t sent[8];
};

TEST(AssembledCalls, TheHostPrintsAndAllocates) {
  const abi::Assembly assembly = abi::assemble(testing::host_call());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    std::FILE* const out = std::tmpfile();
    ASSERT_NE(out, nullptr);
    auto kernel = load_kernel(assembly, "host_call", {.engine = engine, .no_fallback = true, .output = out});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto call = [&](HostCall sent) {
      std::uint64_t back = 0;
      const auto result = kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}},
                                         {Argument::pointer(&sent), Argument::pointer(&back)});
      EXPECT_TRUE(result) << result.error().message;
      return back;
    };
    constexpr std::uint64_t kBegin = 1, kEnd = 2, kOneWord = 1 << 5;
    const std::uint64_t message = call({2, 0, {kBegin | 2 * kOneWord, 0, 0x0a7325202c6425 /* %d, %s\n */}});
    EXPECT_EQ(call({2, 0, {message | kOneWord, 42}}), message);
    EXPECT_EQ(call({2, 0, {message | kOneWord | kEnd, 0x796f7a /* zoy */}}), 8u);
    char text[16] = {};
    std::rewind(out);
    EXPECT_EQ(std::fread(text, 1, sizeof text, out), 8u);
    EXPECT_STREQ(text, "42, zoy\n");
    std::fclose(out);

    const std::uint64_t memory = call({3, 0, {0, 3 << 20}});
    ASSERT_NE(memory, 0u);
    EXPECT_EQ(memory % (2 << 20), 0u); // as the library's malloc wants it
    std::memset(reinterpret_cast<void*>(memory), 1, 3 << 20);
    EXPECT_EQ(call({3, 0, {memory}}), 0u);
  }
}

TEST(AssembledCalls, TheHeapOfMallocStartsWithZerosAndLasts) {
  const abi::Assembly assembly = abi::assemble(testing::heap());
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    auto kernel = load_kernel(assembly, "heap", {.engine = engine, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    for (std::uint32_t launch = 0; launch < 2; ++launch) {
      std::uint32_t before = ~0u;
      const auto result =
          kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(&before)});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(before, launch);
    }
  }
}

/// Workgroups of one work-item become the lanes of a wave: what is reported is still the workgroup.
TEST(AssembledAccesses, AFaultNamesTheWorkgroupThatALaneWas) {
  const abi::Assembly assembly = abi::assemble(R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  stray
        .p2align 8
        .type   stray,@function
stray:  s_load_dwordx2 s[4:5], s[0:1], 0
        s_cmp_eq_u32 s2, 70
        s_waitcnt lgkmcnt(0)
        s_cselect_b32 s4, 0, s4
        s_cselect_b32 s5, 0, s5
        s_lshl_b32 s3, s2, 2
        v_mov_b32 v0, s3
        v_mov_b32 v1, s2
        global_store_dword v0, v1, s[4:5]
        s_endpgm
)" + testing::kernel_end_with({.name = "stray", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 2, .max_items = 64},
                              {"global_buffer"}));
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    std::vector<std::uint32_t> out(100);
    auto kernel = load_kernel(assembly, "stray", {.engine = engine, .threads = 1, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    Fault fault;
    const auto result = kernel->launch({.grid = {100, 1, 1}}, {Argument::pointer(out.data())}, &fault);
    ASSERT_FALSE(result);
    EXPECT_EQ(fault.workgroup[0], 70u);
    EXPECT_EQ(fault.lane, 0);
    EXPECT_EQ(fault.address, 280u);
  }
}

/// A kernel with one argument, a pointer in s[4:5]: what `lines` do with work-item v0 (in the workgroup) and
/// v1 = 4 * v0.
abi::Assembly counting_kernel(const std::string& lines) {
  return abi::assemble(R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
        .globl  counts
        .p2align 8
        .type   counts,@function
counts: s_load_dwordx2 s[4:5], s[0:1], 0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 1
        s_waitcnt lgkmcnt(0)
)" + lines +
                       testing::kernel_end_with(
                           {.name = "counts", .kernarg_bytes = 8, .sgprs = 16, .vgprs = 8, .max_items = 64},
                           {"global_buffer"}));
}

/// The end of a loop from L0 on that lanes in VCC leave; s[6:7] has who has left.
const char* const kNextRound = R"(
        s_or_b64 s[6:7], vcc, s[6:7]
        s_andn2_b64 exec, exec, s[6:7]
        s_cbranch_execnz L0
)";

constexpr std::pair<Engine, Simd> kEngines[] = {
    {Engine::Interp, Simd::Auto}, {Engine::Jit, Simd::Auto}, {Engine::Jit, Simd::Avx2}};

/// All engines say that the kernel faults in that lane and at that address.
void expect_fault(const abi::Assembly& assembly, std::vector<std::uint64_t>& addresses, int lane,
                  std::uint64_t address) {
  for (const auto& [engine, simd] : kEngines) {
    auto kernel = load_kernel(assembly, "counts", {.engine = engine, .simd = simd, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    Fault fault;
    ASSERT_FALSE(kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}},
                                {Argument::pointer(addresses.data())}, &fault));
    EXPECT_EQ(fault.lane, lane) << fault.message;
    EXPECT_EQ(fault.address, address) << fault.message;
  }
}

/// Elements of 12 and 16 bytes all over the place, of which lane 37's goes over the end. Lane 5, whose
/// address is wrong, takes no part.
TEST(AssembledAccesses, ALaneOfManyThatLoadsBeyondTheEndFaultsAsItself) {
  for (const char* load : {"global_load_dwordx4 v[4:7]", "global_load_dwordx3 v[4:6]"}) {
    const abi::Assembly assembly = counting_kernel(R"(
        v_lshlrev_b32 v1, 3, v0
        global_load_dwordx2 v[2:3], v1, s[4:5]
        v_cmp_ne_u32 vcc, 5, v0
        s_mov_b64 exec, vcc
        s_waitcnt vmcnt(0)
        )" + std::string(load) + R"(, v[2:3], off offset:16
        s_waitcnt vmcnt(0)
        v_xor_b32 v4, v4, v5
        v_xor_b32 v5, v5, v6
        global_store_dwordx2 v1, v[4:5], s[4:5]
        s_endpgm
)");
    ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    auto elements = Buffer::allocate(4096);
    ASSERT_TRUE(elements);
    const auto start = reinterpret_cast<std::uint64_t>(elements->data());
    std::vector<std::uint64_t> addresses(64);
    for (std::uint64_t l = 0; l < 64; ++l) addresses[l] = start + l * 1000 % 63 * 64;
    addresses[5] = 0;
    addresses[37] = start + 4096 - 24;
    expect_fault(assembly, addresses, 37, start + 4096 - 8);
  }
}

/// Bytes, words and dwords all over the place, by addresses and by offsets from one; lane 37's is not there.
TEST(AssembledAccesses, ALaneThatLoadsFewBytesBeyondTheEndFaultsAsItself) {
  const auto buffer = Buffer::allocate(4096);
  ASSERT_TRUE(buffer);
  const auto start = reinterpret_cast<std::uint64_t>(buffer->data());
  for (const bool by_offset : {false, true})
    for (const std::string type : {"ubyte", "sbyte", "ushort", "sshort", "dword"}) {
      const abi::Assembly assembly = counting_kernel(R"(
        v_lshlrev_b32 v1, 3, v0
        s_load_dwordx2 s[6:7], s[4:5], 0x200
        global_load_dwordx2 v[2:3], v1, s[4:5]
        s_waitcnt vmcnt(0) & lgkmcnt(0)
        global_load_)" + type + (by_offset ? " v4, v2, s[6:7] offset:4" : " v4, v[2:3], off offset:4") +
                                                     R"(
        s_waitcnt vmcnt(0)
        global_store_dword v1, v4, s[4:5]
        s_endpgm
)");
      ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
      const std::uint64_t base = by_offset ? 0 : start;
      std::vector<std::uint64_t> addresses(65);
      for (std::uint64_t l = 0; l < 64; ++l) addresses[l] = base + l * 1000 % 63 * 64;
      addresses[37] = base + 4096;
      addresses[64] = start;
      expect_fault(assembly, addresses, 37, start + 4096 + 4);
    }
}

/// Every eighth lane, or lane 43 alone, or so many that several gangs close ranks, adds to 9 counters, of
/// which lane 43's fifth is not there. Those before a lane stay for two rounds only, so that ranks are closed
/// once more.
TEST(AssembledAccesses, LanesThatHaveClosedRanksFaultAsThemselves) {
  for (const auto& [others, stay] : {std::pair(7, 0), std::pair(63, 0), std::pair(3, 0), std::pair(1, 0),
                                     std::pair(1, 42), std::pair(3, 42)}) {
    const abi::Assembly assembly =
        counting_kernel("v_mov_b32 v8, 1\nv_mov_b32 v9, 8\nv_cmp_le_u32 vcc, " + std::to_string(stay) +
                        ", v0\nv_cndmask_b32 v8, v8, v9, vcc\nv_and_b32 v4, " + std::to_string(others) +
                        ", v0\nv_mov_b32 v5, " + std::to_string(43 & others) + R"(
        v_lshlrev_b32 v1, 3, v0
        global_load_dwordx2 v[2:3], v1, s[4:5]
        v_cmp_eq_u32 vcc, v5, v4
        s_and_b64 exec, exec, vcc
        s_mov_b64 s[6:7], 0
        v_mov_b32 v4, 0
        s_waitcnt vmcnt(0)
L0:     global_atomic_add v5, v[2:3], v4, off glc
        s_waitcnt vmcnt(0)
        v_add_u32 v4, 1, v4
        v_add_co_u32 v2, vcc, 64, v2
        v_addc_co_u32 v3, vcc, 0, v3, vcc
        v_cmp_lt_u32 vcc, v8, v4
)" + std::string(kNextRound) +
                        "s_endpgm\n");
    ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    auto counters = Buffer::allocate(4096);
    ASSERT_TRUE(counters);
    const auto start = reinterpret_cast<std::uint64_t>(counters->data());
    std::vector<std::uint64_t> addresses(64);
    for (std::uint64_t l = 0; l < 64; ++l) addresses[l] = start + l * 4;
    addresses[43] = start + 4096 - 4 * 64;
    expect_fault(assembly, addresses, 43, start + 4096);
  }
}

/// Every ninth lane follows a list for 20 rounds of 40 nodes, of which lane 45's last are not there, the
/// others for two.
TEST(AssembledAccesses, LanesThatAreLeftInALoopFaultAsThemselves) {
  std::string nodes_of_round;
  for (unsigned n = 0; n < 40; ++n)
    nodes_of_round += "global_load_dwordx2 v[2:3], v[2:3], off\ns_waitcnt vmcnt(0)\n";
  const abi::Assembly assembly = counting_kernel(R"(
        v_lshlrev_b32 v1, 3, v0
        global_load_dwordx2 v[2:3], v1, s[4:5]
        v_mov_b32 v6, 20
        v_and_b32 v4, 7, v0
        v_lshrrev_b32 v5, 3, v0
        v_cmp_eq_u32 vcc, v4, v5
        v_cndmask_b32 v4, 2, v6, vcc
        s_mov_b64 s[6:7], 0
        v_mov_b32 v5, 0
        s_waitcnt vmcnt(0)
L0:
)" + nodes_of_round + R"(
        v_add_u32 v5, 1, v5
        v_cmp_ge_u32 vcc, v5, v4
)" + std::string(kNextRound) + "s_mov_b64 exec, -1\nglobal_store_dword v1, v2, s[4:5]\ns_endpgm\n");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  auto nodes = Buffer::allocate(8192);
  ASSERT_TRUE(nodes);
  auto* const next = reinterpret_cast<std::uint64_t*>(nodes->data());
  const auto start = reinterpret_cast<std::uint64_t>(next);
  for (std::uint64_t n = 0; n < 1024; ++n) next[n] = start + 8 * (n + 1);
  std::vector<std::uint64_t> addresses(64, start);
  addresses[45] = start + 8 * (1024 - 400);
  expect_fault(assembly, addresses, 45, start + 8192);
}

/// Lanes add to places that they share, one after the other or several at once, and count who comes. `rounds`
/// says for how many rounds each lane does.
void expect_same_counts(const std::string& places, std::uint32_t (*rounds)(std::uint32_t lane)) {
  const abi::Assembly assembly = counting_kernel(R"(
        global_load_dword v3, v1, s[4:5]
        s_mov_b64 s[6:7], 0
        v_mov_b32 v4, 0
        s_waitcnt vmcnt(0)
L0:     v_add_u32 v5, v0, v4
)" + places + R"(
        v_lshlrev_b32 v5, 2, v5
        global_load_dword v6, v5, s[4:5] offset:256
        global_atomic_add v7, v5, v0, s[4:5] offset:512 glc
        s_waitcnt vmcnt(0)
        v_mad_u32_u24 v6, v6, 3, v0
        global_store_dword v5, v6, s[4:5] offset:256
        global_store_byte v5, v7, s[4:5] offset:768
        v_add_u32 v4, 1, v4
        v_cmp_ge_u32 vcc, v4, v3
)" + std::string(kNextRound) + "s_endpgm\n");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  std::vector<std::vector<std::uint32_t>> results;
  for (const auto& [engine, simd] : kEngines) {
    std::vector<std::uint32_t> memory(256);
    for (std::uint32_t l = 0; l < 64; ++l) memory[l] = rounds(l);
    auto kernel = load_kernel(assembly, "counts", {.engine = engine, .simd = simd, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    ASSERT_TRUE(
        kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(memory.data())}));
    results.push_back(std::move(memory));
    EXPECT_EQ(results.back(), results.front());
  }
}

/// Until one is left, which goes on for long.
TEST(AssembledAccesses, LastLaneOfAWaveStoresAndCounts) {
  expect_same_counts("v_and_b32 v5, 63, v5\n",
                     [](std::uint32_t l) { return l == 21 ? 90 : 1 + l % 7 * (l % 5 == 0); });
}

/// They get fewer bit by bit, and close ranks in four gangs, in two and in one.
TEST(AssembledAccesses, FewerAndFewerLanesOfAWaveStoreAndCount) {
  for (const char* places :
       {"v_and_b32 v5, 63, v5\n", "v_and_b32 v5, 7, v5\n", "v_lshrrev_b32 v5, 2, v5\n"}) {
    expect_same_counts(places, [](std::uint32_t l) { return 1 + l * 37 % 64; });
    expect_same_counts(places, [](std::uint32_t l) { return l % 2 == 0 ? 1 : 2 + l * 11 % 64 / 2; });
    expect_same_counts(places, [](std::uint32_t l) { return l % 3 != 0 ? 1 : 3 + l / 6; });
  }
}

/// Lanes close ranks three times over, in a loop that could otherwise be done by all gangs together.
TEST(AssembledAccesses, LanesCloseRanksInEachRoundOfALoop) {
  const abi::Assembly assembly = counting_kernel(R"(
        global_load_dword v3, v1, s[4:5]
        s_mov_b32 s8, 0
        s_waitcnt vmcnt(0)
L1:     s_mov_b64 s[6:7], 0
        v_mov_b32 v4, 0
L0:     v_mad_u32_u24 v5, v4, 7, v0
        v_and_b32 v5, 63, v5
        v_lshlrev_b32 v5, 2, v5
        global_load_dword v6, v5, s[4:5]
        v_add_u32 v4, 1, v4
        s_waitcnt vmcnt(0)
        v_lshlrev_b32 v6, 2, v6
        global_atomic_add v6, v4, s[4:5] offset:256
        v_cmp_ge_u32 vcc, v4, v3
)" + std::string(kNextRound) + R"(
        s_mov_b64 exec, -1
        s_add_u32 s8, s8, 1
        s_cmp_lg_u32 s8, 3
        s_cbranch_scc1 L1
        s_endpgm
)");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  std::vector<std::vector<std::uint32_t>> results;
  for (const auto& [engine, simd] : kEngines) {
    std::vector<std::uint32_t> memory(128);
    for (std::uint32_t l = 0; l < 64; ++l) memory[l] = 1 + l % 7 * (l % 5 == 0);
    auto kernel = load_kernel(assembly, "counts", {.engine = engine, .simd = simd, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto result =
        kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(memory.data())});
    ASSERT_TRUE(result) << result.error().message;
    results.push_back(std::move(memory));
    EXPECT_EQ(results.back(), results.front());
  }
}

/// Adds 1 where v1 says, by a compare-and-swap that is retried; v3 becomes what was there, from what it is.
const std::string kRetriedAddition = R"(
        s_mov_b64 s[6:7], 0
L0:     v_add_u32 v4, v3, v2
        v_mov_b32 v5, v3
        global_atomic_cmpswap v6, v1, v[4:5], s[4:5] glc
        s_waitcnt vmcnt(0)
        v_cmp_eq_u32 vcc, v6, v3
        v_mov_b32 v3, v6
)" + std::string(kNextRound) + "s_mov_b64 exec, -1\n";

/// Who adds to one of a few counters gets a number that nobody else gets, also from other threads.
TEST(AssembledCounters, HandOutNumbersByRetries) {
  constexpr std::uint32_t kGroups = 500;
  for (const std::uint32_t counters : {1u, 2u, 32u}) {
    const abi::Assembly assembly =
        counting_kernel("v_and_b32 v1, " + std::to_string(4 * (counters - 1)) +
                        ", v1\nglobal_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" + kRetriedAddition +
                        "v_mul_u32_u24 v3, " + std::to_string(4 * counters) +
                        ", v3\nv_add_u32 v3, v3, v1\nglobal_store_dword v3, v2, s[4:5] offset:128\n"
                        "s_endpgm\n");
    ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    for (const Engine engine : {Engine::Interp, Engine::Jit}) {
      std::vector<std::uint32_t> counts(32 + 64 * kGroups), expected = counts;
      std::fill_n(expected.begin(), counters, 64 * kGroups / counters);
      std::fill(expected.begin() + 32, expected.end(), 1u);
      auto kernel = load_kernel(assembly, "counts", {.engine = engine, .threads = 2, .no_fallback = true});
      ASSERT_TRUE(kernel) << kernel.error().message;
      ASSERT_TRUE(kernel->launch({.grid = {64 * kGroups, 1, 1}, .block = {64, 1, 1}},
                                 {Argument::pointer(counts.data())}));
      EXPECT_EQ(counts, expected) << counters;
    }
  }
}

/// Of several lanes that go where nothing is, the first: nobody has loaded from there before.
TEST(AssembledCounters, RetriesFaultWhereTheyAre) {
  const abi::Assembly assembly = counting_kernel(std::string(R"(
        v_and_b32 v1, 12, v1
        v_cmp_lt_u32 vcc, 36, v0
        v_mov_b32 v3, 0x40000000
        v_cndmask_b32 v1, v1, v3, vcc
        v_mov_b32 v3, 0
)") + kRetriedAddition + "s_endpgm\n");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    std::vector<std::uint32_t> counts(4);
    auto kernel = load_kernel(assembly, "counts", {.engine = engine, .threads = 1, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    Fault fault;
    ASSERT_FALSE(kernel->launch({.grid = {64, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(counts.data())},
                                &fault));
    EXPECT_EQ(fault.lane, 37);
    EXPECT_EQ(fault.address, reinterpret_cast<std::uint64_t>(counts.data()) + 0x40000000);
    EXPECT_NE(fault.message.find("write to"), std::string::npos) << fault.message;
  }
}

/// Each workgroup adds to one counter when it is its turn, and waits for that: were additions put off, the
/// second one would wait forever for the first, which ran before it on the same thread.
TEST(AssembledCounters, WorkgroupsTakeTurns) {
  const abi::Assembly assembly = counting_kernel(R"(
        v_mov_b32 v1, 0
L0:     global_load_dword v3, v1, s[4:5] glc
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s6, v3
        s_cmp_lg_u32 s6, s2
        s_cbranch_scc1 L0
        s_mov_b64 exec, 1
        global_atomic_add v1, v2, s[4:5]
        s_endpgm
)");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  std::uint32_t counter = 0;
  auto kernel = load_kernel(assembly, "counts", {.engine = Engine::Jit, .threads = 1, .no_fallback = true});
  ASSERT_TRUE(kernel) << kernel.error().message;
  ASSERT_TRUE(kernel->launch({.grid = {6400, 1, 1}, .block = {64, 1, 1}}, {Argument::pointer(&counter)}));
  EXPECT_EQ(counter, 100u);
}

/// So many places that no thread could remember what to add to them.
TEST(AssembledCounters, AddToManyPlaces) {
  const abi::Assembly assembly = counting_kernel(R"(
        s_lshl_b32 s6, s2, 8
        v_add_u32 v1, s6, v1
        v_mul_u32_u24 v3, 0x7004, v0
        v_and_b32 v3, 0xfffc, v3
        global_atomic_add v1, v2, s[4:5]
        global_atomic_add v3, v2, s[4:5]
        s_endpgm
)");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  constexpr std::uint32_t kGroups = 2000;
  std::vector<std::uint32_t> expected(64 * kGroups, 1);
  for (std::uint32_t i = 0; i < 64; ++i) expected[(0x7004 * i & 0xfffc) / 4] += kGroups;
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    std::vector<std::uint32_t> counts(64 * kGroups);
    auto kernel = load_kernel(assembly, "counts", {.engine = engine, .threads = 2, .no_fallback = true});
    ASSERT_TRUE(kernel) << kernel.error().message;
    ASSERT_TRUE(kernel->launch({.grid = {64 * kGroups, 1, 1}, .block = {64, 1, 1}},
                               {Argument::pointer(counts.data())}));
    EXPECT_EQ(counts, expected);
  }
}

/// Counters of several threads, and the addition that faults: its lane, its address, and what came before.
TEST(AssembledCounters, AddUpAndFaultWhereTheyAre) {
  const abi::Assembly assembly = counting_kernel(R"(
        s_cmp_lg_u32 s2, 3000
        s_cbranch_scc1 L0
        v_cmp_eq_u32 vcc, 37, v0
        v_mov_b32 v3, 0x40000000
        v_cndmask_b32 v1, v1, v3, vcc
L0:     global_atomic_add v1, v2, s[4:5]
        s_endpgm
)");
  ASSERT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
  for (const Engine engine : {Engine::Interp, Engine::Jit})
    for (const unsigned threads : {1u, 2u}) {
      std::vector<std::uint32_t> counts(64);
      auto kernel =
          load_kernel(assembly, "counts", {.engine = engine, .threads = threads, .no_fallback = true});
      ASSERT_TRUE(kernel) << kernel.error().message;
      const std::vector<Argument> arguments = {Argument::pointer(counts.data())};
      ASSERT_TRUE(kernel->launch({.grid = {64 * 3000, 1, 1}, .block = {64, 1, 1}}, arguments));
      EXPECT_EQ(counts, std::vector<std::uint32_t>(64, 3000));
      Fault fault;
      ASSERT_FALSE(kernel->launch({.grid = {64 * 3001, 1, 1}, .block = {64, 1, 1}}, arguments, &fault));
      EXPECT_EQ(fault.workgroup[0], 3000u);
      EXPECT_EQ(fault.lane, 37);
      EXPECT_EQ(fault.address, reinterpret_cast<std::uint64_t>(counts.data()) + 0x40000000);
      if (threads == 1) {
        EXPECT_EQ(counts[36], 6001u);
        EXPECT_EQ(counts[37], 6000u);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, AssembledKernel,
                         ::testing::Values("gfx600", "gfx700", "gfx803", "gfx900", "gfx906"),
                         [](const auto& instance) { return std::string(instance.param); });

/// Bytes from an index of 32 bits on, one by one, are loaded together only where none of a lane's is on
/// another page, or wraps.
class PartsOfElements : public ::testing::Test {
protected:
  static constexpr std::size_t kWrap = std::size_t{1} << 32, kEnd = 8192;

  void SetUp() override {
    // The first and the last pages of what an index reaches.
    void* all = ::mmap(nullptr, kWrap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) GTEST_SKIP() << "no address space for an array of 4 GB";
    bytes_ = static_cast<unsigned char*>(all);
    for (unsigned char* end : {bytes_, bytes_ + kWrap - kEnd}) {
      ASSERT_EQ(::mprotect(end, kEnd, PROT_READ | PROT_WRITE), 0);
      for (std::size_t n = 0; n < kEnd; ++n) end[n] = static_cast<unsigned char>(n * 7 + (n >> 8) + 3);
    }
  }
  void TearDown() override {
    if (bytes_ != nullptr) ::munmap(bytes_, kWrap);
  }

  /// What `lines` leave in v10 to v17, with such indices in v1.
  std::vector<std::uint32_t> run(const DeviceOptions& options, const std::string& lines,
                                 const std::vector<std::uint32_t>& indices, Fault* fault) const {
    const std::string text = R"(
        .amdgcn_target "amdgcn-amd-amdhsa--gfx906"
        .globl  parts
        .p2align 8
        .type   parts,@function
parts:  s_load_dwordx4 s[4:7], s[0:1], 0
        s_load_dwordx2 s[8:9], s[0:1], 16
        s_waitcnt lgkmcnt(0)
        v_lshlrev_b32 v1, 2, v0
        global_load_dword v1, v1, s[6:7]
        v_lshlrev_b32 v2, 5, v0
        s_waitcnt vmcnt(0)
)" + lines + R"(        s_waitcnt vmcnt(0)
        global_store_dwordx4 v2, v[10:13], s[8:9]
        global_store_dwordx4 v2, v[14:17], s[8:9] offset:16
        s_endpgm
)";
    const abi::Assembly assembly = abi::assemble(
        text + testing::kernel_end_with(
                   {.name = "parts", .kernarg_bytes = 24, .sgprs = 16, .vgprs = 18, .max_items = 64},
                   {"global_buffer", "global_buffer", "global_buffer"}));
    EXPECT_TRUE(assembly.errors.empty()) << assembly.errors[0].message;
    std::vector<std::uint32_t> out(std::size_t{8} * 64);
    auto kernel = load_kernel(assembly, "parts", options);
    EXPECT_TRUE(kernel);
    const auto result = kernel->launch(
        {.grid = {64, 1, 1}, .block = {64, 1, 1}},
        {Argument::pointer(bytes_), Argument::pointer(indices.data()), Argument::pointer(out.data())}, fault);
    if (!result) out.clear();
    return out;
  }
  static std::string byte_at(const std::string& index, const std::string& to) {
    return "  v_mov_b32 v4, s5\n  v_add_co_u32 v3, vcc, s4, " + index +
           "\n  v_addc_co_u32 v4, vcc, 0, v4, vcc\n  global_load_ubyte " + to + ", v[3:4], off\n";
  }
  /// Eight bytes.
  static std::string load() {
    std::string text;
    for (const int n : {0, 3, 1, 2, 7, 4, 5, 6})
      text += "  v_add_u32 v3, " + std::to_string(n) + ", v1\n" + byte_at("v3", "v" + std::to_string(10 + n));
    return text;
  }
  /// Digests bytes up to a zero, upwards or downwards.
  static std::string walk(bool up) {
    return "  s_mov_b64 s[10:11], exec\nL0:\n" + byte_at("v1", "v6") +
           "  s_waitcnt vmcnt(0)\n  v_mul_lo_u32 v10, v10, 3\n  v_add_u32 v10, v10, v6\n"
           "  v_cmp_ne_u32 vcc, 0, v6\n  s_and_b64 exec, exec, vcc\n  s_cbranch_execz L1\n  v_add_u32 v1, " +
           std::string(up ? "1" : "-1") + ", v1\n  s_branch L0\nL1:\n  s_mov_b64 exec, s[10:11]\n";
  }
  /// Indices, one lane's or several lanes' being `some`.
  static std::vector<std::uint32_t> indices_with(std::uint32_t some, bool one) {
    std::vector<std::uint32_t> indices(64);
    for (std::uint32_t lane = 0; lane < 64; ++lane)
      indices[lane] = (one ? lane == 21 : lane % 24 == 5) ? some : 300 + lane * 29 % 97;
    return indices;
  }
  static std::vector<DeviceOptions> engines() {
    std::vector<DeviceOptions> all = {{.engine = Engine::Interp, .no_fallback = true}};
    for (const Simd simd : {Simd::Avx2, Simd::Avx512})
      if (host_supports(simd)) all.push_back({.engine = Engine::Jit, .simd = simd, .no_fallback = true});
    return all;
  }

  unsigned char* bytes_ = nullptr;
};

TEST_F(PartsOfElements, MayWrapAndLieOnTwoPages) {
  for (const std::uint32_t first : {100u, 4089u, 4095u, 0xffff'fff8u, 0xffff'fffbu}) {
    const std::vector<std::uint32_t> indices = indices_with(first, false);
    for (const DeviceOptions& options : engines()) {
      const auto out = run(options, load(), indices, nullptr);
      ASSERT_FALSE(out.empty());
      for (std::uint32_t n = 0; n < out.size(); ++n)
        ASSERT_EQ(out[n], bytes_[indices[n / 8] + n % 8])
            << first << ": part " << n % 8 << " of lane " << n / 8;
    }
  }
}

TEST_F(PartsOfElements, FaultWhereThePartDoes) {
  for (const std::uint32_t first : {8192u - 3, 8192u, 8195u})
    for (const DeviceOptions& options : engines()) {
      Fault fault;
      ASSERT_TRUE(run(options, load(), indices_with(first, true), &fault).empty());
      EXPECT_EQ(fault.lane, 21) << fault.message;
      EXPECT_EQ(fault.address - reinterpret_cast<std::uint64_t>(bytes_), first < 8192 ? first + 3 : first)
          << fault.message;
    }
}

/// What follows in a loop is loaded ahead, four bytes at once.
TEST_F(PartsOfElements, AreWalkedAlong) {
  for (const bool up : {true, false})
    for (const std::uint32_t first : {100u, 4089u, 4094u, 4097u, 4098u, 1u, 2u, 0xffff'fff8u, 0xffff'fffdu}) {
      const std::vector<std::uint32_t> indices = indices_with(first, false);
      for (const DeviceOptions& options : engines()) {
        const auto out = run(options, walk(up), indices, nullptr);
        ASSERT_FALSE(out.empty());
        for (std::uint32_t lane = 0; lane < 64; ++lane) {
          std::uint32_t digest = 0;
          for (std::uint32_t at = indices[lane];; at += up ? 1 : -1) {
            digest = 3 * digest + bytes_[at];
            if (bytes_[at] == 0) break;
          }
          ASSERT_EQ(out[8 * lane], digest) << first << (up ? " up" : " down") << " in lane " << lane;
        }
      }
    }
}

TEST_F(PartsOfElements, AreWalkedAlongToAFault) {
  constexpr auto kLast = static_cast<std::uint32_t>(kWrap - kEnd);
  for (const bool up : {true, false})
    for (const std::uint32_t before : {0u, 1u, 2u, 6u})
      for (const DeviceOptions& options : engines()) {
        Fault fault;
        const std::uint32_t first = up ? kEnd - 1 - before : kLast + before;
        ASSERT_TRUE(run(options, walk(up), indices_with(first, true), &fault).empty()) << before;
        EXPECT_EQ(fault.lane, 21) << fault.message;
        // Gathers of bytes are of dwords with AVX-512, and name these.
        const std::uint64_t bytes = options.engine == Engine::Jit && options.simd == Simd::Avx512 ? 4 : 1;
        EXPECT_EQ((fault.address - reinterpret_cast<std::uint64_t>(bytes_)) / bytes,
                  (up ? kEnd : kLast - 1) / bytes)
            << fault.message;
      }
}

} // namespace
} // namespace lanewise
