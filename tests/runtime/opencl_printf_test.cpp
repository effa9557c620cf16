// OpenCL's printf: formats, the buffer, and kernels as compilers make them.
#include "lanewise/device_printf.hpp"
#include "lanewise/lanewise.hpp"
#include "lanewise/printf_buffer.hpp"
#include "tests/source_dir.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>

namespace lanewise {
namespace {

/// What kernels store: arguments one behind the other.
class Stored {
public:
  template <class T>
  Stored& add(T value) {
    return add(std::vector<T>{value}, sizeof value);
  }
  /// A vector that takes `size` bytes.
  template <class T>
  Stored& add(const std::vector<T>& values, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    sizes_.push_back(static_cast<u32>(size));
    return *this;
  }
  [[nodiscard]] std::string as(std::string_view format) const {
    return format_opencl_printf(format, sizes_, bytes_);
  }

private:
  std::vector<u32> sizes_;
  std::vector<std::byte> bytes_;
};

TEST(OpenClPrintf, FloatsAreAsWideAsTheirSize) {
  EXPECT_EQ(Stored().add(1.5f).add(-2.25).as("%5.2f|%-9.1e|"), " 1.50|-2.2e+00 |");
  EXPECT_EQ(Stored().add<u16>({0x3e00, 0x8001}, 4).as("%v2hg"), "1.5,-5.96046e-08");
  EXPECT_EQ(Stored().add<double>({1.5, 1e100}, 16).as("%v2lg"), "1.5,1e+100");
}

TEST(OpenClPrintf, VectorsApplyTheConversionToEachElement) {
  EXPECT_EQ(Stored().add<float>({1, 2, 3, 4}, 16).as("%+06.1v4hlf"), "+001.0,+002.0,+003.0,+004.0");
  EXPECT_EQ(Stored().add<u8>({1, 255, 128}, 4).as("%v3hhd"), "1,-1,-128");
  EXPECT_EQ(Stored().add<u32>({~0u, 0xfe}, 8).as("%v2hhx"), "ff,fe"); // two bytes are stored as two dwords
  EXPECT_EQ(Stored().add<u16>({1, 0xffff, 3, 4, 5, 6, 7, 8}, 16).as("%v8hu"), "1,65535,3,4,5,6,7,8");
  EXPECT_EQ(Stored().add<i32>({-1, -2, 3}, 16).add<i32>(4).as("%#v3hlx %d"), "0xffffffff,0xfffffffe,0x3 4");
  EXPECT_EQ(Stored().add<i64>({-1, 1ll << 40}, 16).as("%v2ld"), "-1,1099511627776");
}

TEST(OpenClPrintf, NumbersTextAndPointers) {
  EXPECT_EQ(Stored().add<i32>(-7).add<i64>(1ll << 40).add<u32>(0x1ff).as("%d %ld %hhu %%"),
            "-7 1099511627776 255 %");
  EXPECT_EQ(Stored().add<char>({'a', 'b', 'c'}, 4).add<u32>('x').add<u64>(0x1000).as("[%5s]%c %p"),
            "[  abc]x 0x1000");
  EXPECT_EQ(Stored().add<u32>(0xffffff00).as("[%s]"), "[]"); // an empty text
}

TEST(OpenClPrintf, WhatIsMissingOrWrongDoesNoHarm) {
  EXPECT_EQ(Stored().as("%d %s %v4f %q %"), "0  0.000000,0.000000,0.000000,0.000000 %q %");
  EXPECT_EQ(Stored().add<u32>({1, 2}, 8).as("%v999999999d"), "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
  EXPECT_EQ(Stored().add<u8>(7).as("%vd %f"), "7 0.000000");
}

TEST(OpenClPrintf, FormatsOfTheMetadata) {
  const PrintfFormat format = PrintfFormat::parse(R"(12:2:4:16:a\72b\n\ttab \x %d 3:4)");
  EXPECT_EQ(format.id, 12u);
  EXPECT_EQ(format.sizes, (std::vector<u32>{4, 16}));
  EXPECT_EQ(format.text, "a:b\n\ttab \\x %d 3:4");
  EXPECT_EQ(PrintfFormat::parse(R"(1:3:8:%f \)").sizes,
            (std::vector<u32>{8})); // arguments behind the last conversion
  EXPECT_EQ(PrintfFormat::parse(R"(1:3:8:%f \)").text, "%f \\");
  EXPECT_EQ(PrintfFormat::parse("8:0:").text, "");
  EXPECT_EQ(PrintfFormat::parse("99999999999:x").text, "99999999999:x");
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string contents(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::max(std::ftell(file), 0l)), ' ');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  return text;
}

/// What a buffer of 64 bytes prints that holds these dwords, the count of used bytes first.
std::string printed(const std::vector<u32>& dwords, std::string& error) {
  const PrintfBuffer buffer(64);
  u32* const memory = reinterpret_cast<u32*>(buffer.address());
  EXPECT_EQ(memory[0], 0u);
  EXPECT_EQ(memory[1], 64u);
  memory[0] = dwords[0];
  std::copy(dwords.begin() + 1, dwords.end(), memory + 2);
  const File out(std::tmpfile());
  ::testing::internal::CaptureStderr();
  buffer.print(std::vector<std::string>{R"(1:0:one\n)", R"(2:1:4:%x\n)"}, out.get());
  error = ::testing::internal::GetCapturedStderr();
  return contents(out.get());
}

TEST(OpenClPrintf, MessagesInTheirOrder) {
  std::string error;
  EXPECT_EQ(printed({0}, error) + error, "");
  EXPECT_EQ(printed({20, 2, 0xa, 1, 2, 0xb}, error) + error, "a\none\nb\n");
}

TEST(OpenClPrintf, WhatIsMissingIsSaid) {
  std::string error;
  EXPECT_EQ(printed({52, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, error).size(), 13 * 4u);
  EXPECT_NE(error.find("print less"), std::string::npos) << error;
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1);
  EXPECT_EQ(printed({~0u, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, error).substr(13 * 4), "0\n");
  EXPECT_NE(error.find("print less"), std::string::npos) << error;
  EXPECT_EQ(printed({12, 1, 7, 1}, error), "one\n");
  EXPECT_NE(error.find("missing"), std::string::npos) << error;
}

std::string lines_sorted(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  std::sort(lines.begin(), lines.end());
  std::string result;
  for (const std::string& line : lines) result += line;
  return result;
}

class OpenClPrintfKernel : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenClPrintfKernel, PrintsWithBothEngines) {
  const std::string path = source_dir() + "/tests/runtime/data/opencl_printf." + GetParam() + ".co";
  std::vector<float> in = {0, -1.5f, 1e30f, 3.14159f};
  for (const Engine engine : {Engine::Interp, Engine::Jit}) {
    const File out(std::tmpfile());
    auto device = Device::create({.engine = engine, .no_fallback = true, .output = out.get()});
    ASSERT_TRUE(device) << device.error().message;
    auto module = device->load_file(path);
    ASSERT_TRUE(module) << module.error().message;
    auto kernel = module->kernel("opencl_printf");
    ASSERT_TRUE(kernel);
    const std::array<i8, 4> bytes = {1, -1, 3, -128};
    const auto result = kernel->launch(
        {.grid = {4, 1, 1}, .block = {2, 1, 1}},
        {Argument::pointer(in.data()), Argument::value(bytes), Argument::value(u64{0x12'3456'789a})});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(lines_sorted(contents(out.get())), R"(0:  0.00 0.000000e+00
1,-1,3,-128|1,-2,0|0,ff|0.500000,0.000000,0.000000,-1.000000|0.000000,0.250000
1,-1,3,-128|1,-2,2|fffffffe,ff|0.500000,2.000000,1000000015047466219876688855040.000000,-1.000000|2.000000,0.250000
1: -1.50 -1.500000e+00
2: 1000000015047466219876688855040.00 1.000000e+30
3:  3.14 3.141590e+00
78187493530 22136 154 0x1000
78187493530 22136 154 0x1002
odd 0/1=100%
odd 0/3=100%
odd 2/3=100%
)");
  }
}

INSTANTIATE_TEST_SUITE_P(CodeObjects, OpenClPrintfKernel,
                         ::testing::Values("gfx600.O3", "gfx803.O0", "gfx906.O0", "gfx906.O3"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

} // namespace
} // namespace lanewise
