#include "abi/dispatch.hpp"

#include "data.hpp"

namespace lanewise::abi {
namespace {

TEST(DispatchShape, CutsRaggedGrids) {
  const DispatchShape shape{.grid = {100, 7, 4}, .workgroup = {32, 4, 2}};
  EXPECT_EQ(shape.workgroups(0), 4u);
  EXPECT_EQ(shape.workgroups(1), 2u);
  EXPECT_EQ(shape.workgroups(2), 2u);
  EXPECT_EQ(shape.remainder(0), 4u);
  EXPECT_EQ(shape.remainder(2), 0u);
  EXPECT_EQ(shape.size_of({0, 0, 0}), (std::array<u32, 3>{32, 4, 2}));
  EXPECT_EQ(shape.size_of({3, 1, 1}), (std::array<u32, 3>{4, 3, 2}));
  EXPECT_EQ(shape.waves_of({0, 0, 0}), 4u);
  EXPECT_EQ(shape.waves_of({3, 1, 1}), 1u);
  u64 items = 0;
  for (u32 x = 0; x < 4; ++x)
    for (u32 y = 0; y < 2; ++y)
      for (u32 z = 0; z < 2; ++z) items += shape.items_of({x, y, z});
  EXPECT_EQ(items, 100u * 7 * 4);
}

TEST(DispatchShape, CountsDimensions) {
  EXPECT_EQ((DispatchShape{.grid = {64, 1, 1}, .workgroup = {64, 1, 1}}).dimensions(), 1u);
  EXPECT_EQ((DispatchShape{.grid = {64, 2, 1}, .workgroup = {64, 1, 1}}).dimensions(), 2u);
  EXPECT_EQ((DispatchShape{.grid = {64, 1, 2}, .workgroup = {64, 1, 1}}).dimensions(), 3u);
  EXPECT_EQ(
      (DispatchShape{.grid = {64, 1, 1}, .workgroup = {64, 1, 1}, .declared_dimensions = 3}).dimensions(),
      3u);
}

TEST(DispatchShape, LargeGridsDoNotOverflow) {
  const DispatchShape shape{.grid = {~0u, ~0u, 1}, .workgroup = {1024, 1, 1}};
  EXPECT_EQ(shape.workgroups(0), 1u << 22);
  EXPECT_EQ(shape.workgroup_count(), (u64{1} << 22) * ~0u);
}

TEST(CheckDispatch, NamesTheLimit) {
  const auto object = load_data("kernels.gfx600.v5.co");
  const auto& any = *object.find_kernel("many_arguments"); // compiled for 256 work-items
  const auto& fixed = *object.find_kernel("three_ids");    // reqd_work_group_size(8, 4, 2), 256 bytes of LDS
  const auto check = [&](const Kernel& kernel, std::array<u32, 3> workgroup, u32 lds = 0) {
    const auto checked =
        check_dispatch(kernel, object.target.isa, {.grid = {100, 1, 1}, .workgroup = workgroup}, lds);
    if (checked) return std::string();
    EXPECT_EQ(checked.error().code, ErrorCode::Usage);
    return checked.error().message;
  };
  EXPECT_EQ(check(any, {256, 1, 1}), "");
  EXPECT_NE(check(any, {257, 1, 1}).find("at most 256"), std::string::npos);
  EXPECT_NE(check(any, {1024, 2, 1}).find("at most 1024"), std::string::npos);
  EXPECT_NE(check(any, {~0u, ~0u, ~0u}).find("at most 1024"), std::string::npos);
  EXPECT_NE(check(any, {64, 0, 1}).find("zero"), std::string::npos);
  EXPECT_EQ(check(fixed, {8, 4, 2}), "");
  EXPECT_NE(check(fixed, {64, 1, 1}).find("exactly 8,4,2"), std::string::npos);
  EXPECT_EQ(check(fixed, {8, 4, 2}, 32768 - 256), "");
  EXPECT_NE(check(fixed, {8, 4, 2}, 32768 - 255).find("gfx600 has 32768"), std::string::npos);
}

} // namespace
} // namespace lanewise::abi
