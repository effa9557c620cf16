// Addresses that move into the accesses, and those that must not.
#include "lir_harness.hpp"
#include "translator/x86/fold_addresses.hpp"

namespace lanewise::x86 {
namespace {

using runtime::StopReason;

class FoldAddresses : public testing::Test {
protected:
  FoldAddresses() : b(p.module, PartId(0)) {
    b.at(b.add_block());
    base = b.load64(frame(0, View::R64));
    index = b.load64(frame(8, View::R64));
    address = b.op_r64(Inst::kIdLea, mem_index(base, index, 2, 16, View::R64));
  }
  /// The part without what the fixture began with.
  std::string fold() {
    if (!b.terminated()) b.ret(StopReason::End);
    fold_addresses(b.part());
    return print(p.module, b.part());
  }
  static bool keeps_lea(const std::string& text) { return text.find("lea") != std::string::npos; }

  Program p{true};
  Builder b;
  VReg base, index, address;
};

TEST_F(FoldAddresses, IntoTwoAccesses) {
  b.store_vec(mem(address, 64), b.load_vec(mem(address, -8)));
  EXPECT_FALSE(keeps_lea(fold()));
  const auto& insts = b.part().blocks[0].insts;
  const auto check = [&](const Operand& o, i64 disp) {
    EXPECT_TRUE(o.reg == base && o.tied == index && o.scale_log2 == 2 && o.value == disp) << o.value;
  };
  ASSERT_EQ(insts.size(), 4u);
  check(b.part().ops(insts[2])[1], 8);
  check(b.part().ops(insts[3])[0], 80);
}

TEST_F(FoldAddresses, NotIntoThree) {
  for (int i = 0; i < 3; ++i) b.store32(mem(address, 4 * i, View::R32), base);
  EXPECT_TRUE(keeps_lea(fold()));
}

TEST_F(FoldAddresses, NotWhereTheAddressIsAValueToo) {
  b.store_vec(mem(address), b.load_vec(frame(64)));
  b.store64(frame(128, View::R64), address);
  EXPECT_TRUE(keeps_lea(fold()));
}

TEST_F(FoldAddresses, NotBesideAnotherIndex) {
  b.store32(mem_index(address, base, 0, 0, View::R32), base);
  EXPECT_TRUE(keeps_lea(fold()));
}

TEST_F(FoldAddresses, NotBeyondADisplacement) {
  b.store32(mem(address, 0x7fff'ffff, View::R32), base);
  EXPECT_TRUE(keeps_lea(fold()));
}

TEST_F(FoldAddresses, NotIntoOtherBlocks) {
  const BlockId next = b.add_block();
  b.jump(next);
  b.at(next);
  b.store32(mem(address, 0, View::R32), base);
  EXPECT_TRUE(keeps_lea(fold()));
}

TEST_F(FoldAddresses, NotWhereABlockTakesIt) {
  const BlockId next = b.add_block();
  const VReg param = b.add_param(next, RegClass::Gpr);
  b.store32(mem(address, 0, View::R32), base);
  b.jump(next, {address});
  b.at(next);
  b.store32(mem(param, 0, View::R32), base);
  EXPECT_TRUE(keeps_lea(fold()));
}

} // namespace
} // namespace lanewise::x86
