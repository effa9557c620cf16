#include "abi/metadata.hpp"

#include "abi/yaml.hpp"
#include "data.hpp"

#include <nlohmann/json.hpp>

namespace lanewise::abi {
namespace {

using nlohmann::json;

Result<Metadata> parse(const json& document) {
  const auto packed = json::to_msgpack(document);
  return parse_metadata(std::as_bytes(std::span(packed)));
}

json kernel_map() {
  return {{".name", "k"}, {".symbol", "k.kd"}, {".kernarg_segment_size", 8}, {".args", json::array()}};
}
json document(json kernel) {
  return {{"amdhsa.version", {1, 2}}, {"amdhsa.kernels", json::array({std::move(kernel)})}};
}

TEST(Metadata, ReadsWhatIsThereAndDefaultsTheRest) {
  auto kernel = kernel_map();
  kernel[".sgpr_spill_count"] = 3;
  kernel[".uses_dynamic_stack"] = true;
  kernel[".uniform_work_group_size"] = 1;
  const auto metadata = parse(document(kernel));
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ(metadata->version, (std::array<u32, 2>{1, 2}));
  ASSERT_EQ(metadata->kernels.size(), 1u);
  const auto& r = metadata->kernels[0].resources;
  EXPECT_EQ(r.sgpr_spill_count, 3u);
  EXPECT_EQ(r.wavefront_size, 64u);
  EXPECT_TRUE(r.uses_dynamic_stack && r.uniform_work_group_size);
  EXPECT_EQ(metadata->kernels[0].kind, "normal");
}

TEST(Metadata, NamesTheBrokenField) {
  auto kernel = kernel_map();
  kernel[".vgpr_count"] = "many";
  EXPECT_EQ(message_of(parse(document(kernel))), "kernel 'k': .vgpr_count is not an integer of 32 bits");
  kernel = kernel_map();
  kernel[".kernarg_segment_size"] = -1;
  EXPECT_NE(message_of(parse(document(kernel))).find(".kernarg_segment_size"), std::string::npos);
  kernel = kernel_map();
  kernel[".args"] = json::array({{{".offset", 0}, {".size", 8}}});
  EXPECT_EQ(message_of(parse(document(kernel))), "kernel 'k', argument 0: .value_kind is missing");
  kernel[".args"][0][".value_kind"] = "hidden_surprise";
  EXPECT_EQ(parse(document(kernel)).error().code, ErrorCode::Unsupported);
  kernel = kernel_map();
  kernel.erase(".symbol");
  EXPECT_NE(message_of(parse(document(kernel))).find(".symbol is missing"), std::string::npos);
  EXPECT_FALSE(parse(json::array()));
  EXPECT_FALSE(parse(document(json::array())));
}

TEST(Metadata, SurvivesDeepNesting) {
  const std::vector<std::byte> nested(10'000'000, std::byte{0x91}); // arrays of one element, without end
  EXPECT_EQ(parse_metadata(nested).error().code, ErrorCode::BadInput);
}

TEST(Metadata, Version2LaysArgumentsOut) {
  const auto metadata = parse_metadata_v2("---\n"
                                          "Version: [ 1, 0 ]\n"
                                          "Printf:\n"
                                          "  - '1:1:4:%d\\n'\n"
                                          "Kernels:\n"
                                          "  - Name: 'a: b'\n"
                                          "    SymbolName: \"x@kd\"\n"
                                          "    Attrs:\n"
                                          "      ReqdWorkGroupSize: [ 8, 4, 2 ]\n"
                                          "    Args:\n"
                                          "      - Size: 1\n"
                                          "        Align: 1\n"
                                          "        ValueKind: ByValue\n"
                                          "      - Size: 16\n"
                                          "        Align: 16\n"
                                          "        ValueKind: ByValue\n"
                                          "      - Size: 8\n"
                                          "        Align: 8\n"
                                          "        ValueKind: HiddenGlobalOffsetX\n"
                                          "    CodeProps:\n"
                                          "      KernargSegmentSize: 40\n"
                                          "...\n");
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ(metadata->printf_formats, std::vector<std::string>{"1:1:4:%d\\n"});
  const auto& kernel = metadata->kernels.at(0);
  EXPECT_EQ(kernel.name, "a: b");
  EXPECT_EQ(kernel.symbol, "x@kd");
  EXPECT_EQ(kernel.resources.reqd_workgroup_size, (std::array<u32, 3>{8, 4, 2}));
  ASSERT_EQ(kernel.arguments.size(), 3u);
  EXPECT_EQ(kernel.arguments[1].offset, 16u);
  EXPECT_EQ(kernel.arguments[2].offset, 32u);
  EXPECT_EQ(kernel.arguments[2].kind, ValueKind::HiddenGlobalOffsetX);
}

TEST(Metadata, EveryValueKindHasItsName) {
  for (auto kind = ValueKind::ByValue; kind <= ValueKind::HiddenQueuePtr;
       kind = static_cast<ValueKind>(static_cast<u8>(kind) + 1))
    EXPECT_EQ(value_kind_from_name(to_string(kind)), kind);
  EXPECT_EQ(value_kind_from_name("HiddenMultiGridSyncArg"), ValueKind::HiddenMultigridSyncArg);
  EXPECT_EQ(value_kind_from_name(""), std::nullopt);
}

TEST(Yaml, ReadsTheUsualShapes) {
  const auto value = parse_yaml("a:\n"
                                "  - x: 1\n"
                                "    y: [ one, 'two, too', 3 ]\n"
                                "  - plain text\n"
                                "b: 'it''s'\n"
                                "\n"
                                "# remark\n"
                                "c: \"tab\\tquote\\\"\"\n"
                                "d: true\n"
                                "e:\n"
                                "- 0x10\n");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, json::parse(R"({"a": [{"x": 1, "y": ["one", "two, too", 3]}, "plain text"], "b": "it's",
                                    "c": "tab\tquote\"", "d": true, "e": [16]})"));
}

TEST(Yaml, ReadsFlowStyleAndComments) {
  const auto value = parse_yaml("a: {.x: 1, 'y, z': [2, {w: [ ]}], v: \"#\"} # remark\n"
                                "b: # remark\n"
                                "  - {.name: out, .size: 8}\n"
                                "  - it's#1 # remark\n");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, json::parse(R"({"a": {".x": 1, "y, z": [2, {"w": []}], "v": "#"},
                                    "b": [{".name": "out", ".size": 8}, "it's#1"]})"));
  for (const char* wrong : {"a: {b: 1", "a: {b}", "a: {b, c: 1}", "a: {b: 1} c", "a: [1, , 2]", "a: {b: }"})
    EXPECT_FALSE(parse_yaml(wrong)) << wrong;
  EXPECT_FALSE(parse_yaml("a: " + std::string(10000, '[')));
}

TEST(Yaml, NamesTheLineItCannotRead) {
  EXPECT_NE(message_of(parse_yaml("a: 1\nb: &anchor 2\n")).find("line 2"), std::string::npos);
  EXPECT_NE(message_of(parse_yaml("a:\n  b: 1\n c: 2\n")).find("line 3"), std::string::npos);
  EXPECT_FALSE(parse_yaml("a: 'open\n"));
  EXPECT_FALSE(parse_yaml("a: [ 1, 2\n"));
  EXPECT_FALSE(parse_yaml("just words\n"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += std::string(i, ' ') + "k:\n";
  EXPECT_FALSE(parse_yaml(deep));
}

} // namespace
} // namespace lanewise::abi
