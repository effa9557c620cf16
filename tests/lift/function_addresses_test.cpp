// What a call through a register is seen to reach.
#include "translator/lift/function_addresses.hpp"

#include "abi/asm/assembler.hpp"
#include "isa/decoder.hpp"
#include "isa/op.hpp"
#include "tests/lift/kernel_files.hpp"
#include "translator/lift/lift.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise {
namespace {

/// Puts a function's address into s[N:N+1].
std::string address_of(const std::string& function, unsigned n) {
  return fmt::format("s_getpc_b64 s[{0}:{1}]\ns_add_u32 s{0}, s{0}, {2}@rel32@lo+4\n"
                     "s_addc_u32 s{1}, s{1}, {2}@rel32@hi+12\n",
                     n, n + 1, function);
}

/// Calls use(kernel) for a kernel that does what `body` says, with functions f, which does what
/// `function_body` says, g and h. h's address is in a table.
template <class F>
void with_kernel(const std::string& body, const std::string& function_body, F use) {
  const std::string source = fmt::format(R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
.data
.p2align 3
table:
.quad h
.text
.p2align 8
.type f,@function
f:
{1}
s_setpc_b64 s[30:31]
.type g,@function
.p2align 8
g:
s_setpc_b64 s[30:31]
.type h,@function
.p2align 8
h:
s_setpc_b64 s[30:31]
.globl k
.p2align 8
.type k,@function
k:
{0}
s_endpgm
.rodata
.amdhsa_kernel k
.amdhsa_next_free_vgpr 48
.amdhsa_next_free_sgpr 64
.amdhsa_private_segment_fixed_size 64
.amdhsa_user_sgpr_private_segment_buffer 1
.amdhsa_system_sgpr_private_segment_wavefront_offset 1
.end_amdhsa_kernel
)",
                                         body, function_body);
  const abi::Assembly assembly = abi::assemble(source);
  EXPECT_TRUE(assembly.errors.empty()) << abi::format_errors(assembly, source, "functions");
  const auto object = abi::load(assembly.code_object, "functions");
  ASSERT_TRUE(object) << object.error().message;
  const auto image = abi::LoadedImage::create(*object);
  use(kernel_source(*object, *image, object->kernels.front()));
}

/// The names of what the last call of a kernel may reach, of functions f, g and h, in order.
std::string callees(const std::string& body, const std::string& function_body = "") {
  std::string names;
  with_kernel(body, function_body, [&](const translator::KernelSource& kernel) {
    u32 call = 0;
    for (u64 offset = kernel.entry - reinterpret_cast<u64>(kernel.code.data());
         offset < kernel.code.size();) {
      const auto inst = isa::decode(kernel.target, kernel.code.subspan(offset));
      if (!inst || inst->op == isa::Op::s_endpgm) break;
      if (inst->op == isa::Op::s_swappc_b64) call = static_cast<u32>(offset);
      offset += inst->size;
    }
    lift::FunctionAddresses addresses(kernel);
    for (const u64 address : addresses.callees(call))
      for (const auto& s : kernel.symbols)
        if (s.address == address) names += s.name;
  });
  return names;
}

/// How many instructions lifting takes, with all copies.
u32 lifted_instructions(const std::string& body, const std::string& function_body) {
  u32 count = 0;
  with_kernel(body, function_body, [&](const translator::KernelSource& kernel) {
    const auto lifted = lift::lift(kernel);
    ASSERT_TRUE(lifted.ok());
    EXPECT_TRUE(lifted->untranslated.empty());
    count = lifted->guest_instructions;
  });
  return count;
}

constexpr const char* kCall = "s_swappc_b64 s[30:31], s[8:9]\n";

TEST(FunctionAddresses, CallsReachWhatTheirFunctionHasComputed) {
  EXPECT_EQ(callees(address_of("f", 8) + kCall), "f");
  EXPECT_EQ(callees(address_of("f", 4) + "s_mov_b64 s[8:9], s[4:5]\n" + kCall), "f");
  EXPECT_EQ(callees(address_of("f", 8) + "s_cbranch_scc0 other\n" + address_of("g", 8) + "other:\n" + kCall),
            "fg");
}

TEST(FunctionAddresses, AddressesAreFollowedThroughLanes) {
  const std::string spilled = address_of("g", 8) +
                              "v_writelane_b32 v40, s8, 3\nv_writelane_b32 v40, s9, 4\n" +
                              address_of("f", 8) + kCall;
  const std::string reloaded = "v_readlane_b32 s8, v40, 3\nv_readlane_b32 s9, v40, 4\n";
  EXPECT_EQ(callees(spilled + reloaded + kCall), "g");
  EXPECT_EQ(callees(spilled + "loop:\n" + reloaded + kCall + "s_cbranch_scc0 loop\n"), "g");
}

TEST(FunctionAddresses, UnknownCallsReachWhatIsInDataOrTaken) {
  const std::string unknown = "s_load_dwordx2 s[8:9], s[4:5], 0x0\n" + std::string(kCall);
  EXPECT_EQ(callees(address_of("f", 8) + kCall + unknown), "h");
  EXPECT_EQ(callees(address_of("f", 8) + "v_mov_b32 v0, s8\nv_mov_b32 v1, s9\n" + unknown), "fh");
  // Half an address is what happened to be in the register.
  EXPECT_EQ(callees(address_of("f", 8) + "v_mov_b32 v1, s9\n" + unknown), "h");
  // Behind the branch, though not behind the last instruction before it.
  EXPECT_EQ(callees(address_of("f", 10) +
                    "s_cbranch_scc0 use\ns_mov_b64 s[10:11], 0\ns_branch call\n"
                    "use:\nv_mov_b32 v0, s10\nv_mov_b32 v1, s11\ncall:\n" +
                    unknown),
            "fh");
  EXPECT_EQ(callees(unknown, address_of("g", 8) + "v_mov_b32 v0, s8\nv_mov_b32 v1, s9\n"), "gh");
  // Lanes that are stored are no longer followed.
  EXPECT_EQ(callees(address_of("f", 8) +
                    "v_writelane_b32 v40, s8, 3\nv_writelane_b32 v40, s9, 4\n"
                    "buffer_store_dword v40, off, s[0:3], s32\n" +
                    unknown),
            "fh");
}

TEST(FunctionAddresses, CodeThatIsNotUnderstoodMayCallAnything) {
  EXPECT_EQ(callees("s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, s6\ns_addc_u32 s9, s9, 0\n" + std::string(kCall)),
            "fgh");
}

// Where it is not proved that a function returns to its caller, as when anything may have been stored over
// the return address, it might end by a call of what it computes the address of. Not so if it calls that
// elsewhere and does nothing else with the address.
TEST(FunctionAddresses, WhatIsOnlyCalledIsCalledByNoReturn) {
  const std::string saved = "v_writelane_b32 v40, s30, 0\nv_writelane_b32 v40, s31, 1\n"
                            "buffer_store_dword v40, off, s[0:3], s32 offset:4\n";
  const std::string lost = "buffer_store_dword v0, v1, s[0:3], 0 offen\n"
                           "buffer_load_dword v40, off, s[0:3], s32 offset:4\n"
                           "v_readlane_b32 s30, v40, 0\nv_readlane_b32 s31, v40, 1\n";
  const std::string body = "s_mov_b32 s32, 0\n" + address_of("f", 8) + kCall;
  const u32 inlined = 1 + 4 + 1 + 3 + 4 + 1 + 4 + 1; // the kernel, f and g
  EXPECT_EQ(lifted_instructions(body, saved + address_of("g", 8) + kCall + lost), inlined);
  EXPECT_EQ(lifted_instructions(body, saved + address_of("g", 8) + kCall +
                                          "v_mov_b32 v0, s8\nv_mov_b32 v1, s9\n" + lost),
            inlined + 2 + 1); // and g once more
}

} // namespace
} // namespace lanewise
