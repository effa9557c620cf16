// What a call through a register is seen to reach.
#include "translator/lift/function_addresses.hpp"

#include "abi/asm/assembler.hpp"
#include "isa/decoder.hpp"
#include "isa/op.hpp"
#include "tests/lift/kernel_files.hpp"

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

/// The names of what the last call of a kernel may reach, of functions f, g and h, in order. h's address is
/// in a table.
std::string callees(const std::string& body, const std::string& function_body = "") {
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
.end_amdhsa_kernel
)",
                                         body, function_body);
  const abi::Assembly assembly = abi::assemble(source);
  EXPECT_TRUE(assembly.errors.empty()) << abi::format_errors(assembly, source, "functions");
  const auto object = abi::load(assembly.code_object, "functions");
  if (!object) return object.error().message;
  const auto image = abi::LoadedImage::create(*object);
  const translator::KernelSource kernel = kernel_source(*object, *image, object->kernels.front());
  u32 call = 0;
  for (u64 offset = kernel.entry - reinterpret_cast<u64>(kernel.code.data()); offset < kernel.code.size();) {
    const auto inst = isa::decode(kernel.target, kernel.code.subspan(offset));
    if (!inst || inst->op == isa::Op::s_endpgm) break;
    if (inst->op == isa::Op::s_swappc_b64) call = static_cast<u32>(offset);
    offset += inst->size;
  }
  std::string names;
  lift::FunctionAddresses addresses(kernel);
  for (const u64 address : addresses.callees(call))
    for (const auto& s : kernel.symbols)
      if (s.address == address) names += s.name;
  return names;
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

} // namespace
} // namespace lanewise
