// How much code calls may become before functions are shared.
#include "isa/op.hpp"
#include "translator/lift/lift.hpp"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

/// A kernel that calls one function `calls` times, which has `size` instructions and a return.
lift::Lifted lift_calls(u32 calls, u32 size) {
  std::vector<u32> code = {0xbe82'1c00u,                                 // s_getpc_b64 s[2:3]
                           0x8002'ff02u, 4 * (calls + 4), 0x8203'8003u}; // s_add_u32, s_addc_u32
  code.insert(code.end(), calls, 0xbe9e'1e02u);                          // s_swappc_b64 s[30:31], s[2:3]
  code.push_back(0xbf81'0000u);                                          // s_endpgm
  code.insert(code.end(), size, 0x6800'0081u);                           // v_add_u32_e32 v0, 1, v0
  code.push_back(0xbe80'1d1eu);                                          // s_setpc_b64 s[30:31]
  translator::KernelSource source;
  source.name = "calls";
  source.target = isa::Target::gfx900;
  source.code = {reinterpret_cast<const u8*>(code.data()), code.size() * 4};
  source.entry = reinterpret_cast<u64>(code.data());
  source.initial_sgprs.resize(16);
  auto lifted = lift::lift(source);
  EXPECT_TRUE(lifted.ok());
  EXPECT_TRUE(lifted && lifted->untranslated.empty());
  return lifted ? std::move(*lifted) : lift::Lifted{};
}

// Two dozens of calls of pow() are as much where nothing was optimised.
TEST(LiftCalls, FunctionsOfALibraryAreInlined) {
  EXPECT_EQ(lift_calls(24, 3000).guest_instructions, 3 + 24 + 1 + 24 * 3001u);
}

} // namespace
} // namespace lanewise
