// How much code calls may become before functions are shared.
#include "isa/op.hpp"
#include "translator/lift/lift.hpp"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

constexpr u32 kCall = 0xbe9e'1e02u; // s_swappc_b64 s[30:31], s[2:3]

/// A kernel that does what `body` says, with the address of a function in s[2:3].
lift::Lifted lift_calls(const std::vector<u32>& body, const std::vector<u32>& function) {
  const u32 distance = 4 * (static_cast<u32>(body.size()) + 4);
  std::vector<u32> code = {0xbe82'1c00u,                          // s_getpc_b64 s[2:3]
                           0x8002'ff02u, distance, 0x8203'8003u}; // s_add_u32, s_addc_u32
  code.insert(code.end(), body.begin(), body.end());
  code.push_back(0xbf81'0000u); // s_endpgm
  code.insert(code.end(), function.begin(), function.end());
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
  std::vector<u32> function(3000, 0x6800'0081u); // v_add_u32_e32 v0, 1, v0
  function.push_back(0xbe80'1d1eu);              // s_setpc_b64 s[30:31]
  EXPECT_EQ(lift_calls(std::vector<u32>(24, kCall), function).guest_instructions, 3 + 24 + 1 + 24 * 3001u);
}

// What is behind the call is not part of the function that returns there.
TEST(LiftCalls, AReturnThroughLanesIsNoTailCall) {
  const std::vector<u32> function = {
      0xd28a'0028u, 0x0001'001eu, // v_writelane_b32 v40, s30, 0
      0xd28a'0028u, 0x0001'021fu, // v_writelane_b32 v40, s31, 1
      0x8084'8104u,               // s_sub_u32 s4, s4, 1
      0xbf85'fffeu,               // s_cbranch_scc1 to the one before
      0xd289'001eu, 0x0001'0128u, // v_readlane_b32 s30, v40, 0
      0xd289'001fu, 0x0001'0328u, // v_readlane_b32 s31, v40, 1
      0xbe80'1d1eu,               // s_setpc_b64 s[30:31]
  };
  EXPECT_EQ(lift_calls({kCall, kCall}, function).guest_instructions, 3 + 2 + 1 + 2 * 7u);
}

TEST(LiftCalls, OfAFunctionThatNeverReturnsThereIsOneCopy) {
  const std::vector<u32> body = {0xb020'0400u,         // s_movk_i32 s32, 0x400
                                 0xbf88'0001u, kCall,  // s_cbranch_execz over the call
                                 0xbf88'0001u, kCall}; // and again
  std::vector<u32> function(100, 0x6800'0081u);        // v_add_u32_e32 v0, 1, v0
  function.push_back(0xbf92'0002u);                    // s_trap 2
  function.push_back(0xbe80'1d1eu);                    // s_setpc_b64 s[30:31], which nothing gets to
  EXPECT_EQ(lift_calls(body, function).guest_instructions, 3 + 5 + 1 + 101u);
}

} // namespace
} // namespace lanewise
