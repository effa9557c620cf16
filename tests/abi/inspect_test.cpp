#include "abi/inspect.hpp"

#include "data.hpp"

#include <nlohmann/json.hpp>

namespace lanewise::abi {
namespace {

TEST(Inspect, JsonHasTheFacts) {
  const auto json = to_json(load_data("kernels.gfx906.v4.co"));
  EXPECT_EQ(json["version"], 4);
  EXPECT_EQ(json["target"], "gfx906:sramecc+:xnack-");
  EXPECT_EQ(json["isa"], "gfx906");
  ASSERT_EQ(json["kernels"].size(), 3u);
  const auto& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["name"], "many_arguments");
  EXPECT_EQ(kernel["arguments"][3]["kind"], "dynamic_shared_pointer");
  EXPECT_EQ(kernel["arguments"][6]["offset"], 48);
  EXPECT_EQ(kernel["resources"]["max_flat_workgroup_size"], 256);
  EXPECT_EQ(kernel["descriptor"]["initial_sgprs"][4], "kernarg_segment_ptr_lo");
}

TEST(Inspect, TextHasTheFacts) {
  const auto text = to_text(load_data("kernels.gfx700.v5.co"));
  for (const char* part : {"code object version 5 for gfx700, 3 kernels", "kernel three_ids", "exactly 8,4,2",
                           "global int* restrict", "hidden_block_count_x", "256 bytes LDS",
                           "s[0:3]=private_segment_buffer s[4:5]=kernarg_segment_ptr s6=workgroup_id_x"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Inspect, MangledNamesAreExplained) {
  auto object = load_data("kernels.gfx700.v5.co");
  EXPECT_EQ(to_text(object).find("  source"), std::string::npos);
  object.kernels[0].name = "_Z3sumIfEvPKT_";
  EXPECT_NE(to_text(object).find("  source      void sum<float>(float const*)\n"), std::string::npos);
  EXPECT_EQ(to_json(object)["kernels"][0]["source_name"], "void sum<float>(float const*)");
}

TEST(Inspect, NamesOfDamagedFilesCanBeDumped) {
  auto object = load_data("kernels.gfx700.v5.co");
  object.kernels[0].name = "\xff\xfe";
  EXPECT_NO_THROW(to_json(object).dump());
}

TEST(Inspect, ListsBundles) {
  const auto file = read_data("kernels.bundle");
  const auto entries = *list_entries(file);
  EXPECT_EQ(to_json(entries)[2]["processor"], "gfx906");
  EXPECT_NE(to_text(entries).find("hipv4-amdgcn-amd-amdhsa--gfx803"), std::string::npos);
}

} // namespace
} // namespace lanewise::abi
