// Golden tests of lifting. A file under cases/ holds a target, guest code as dwords with its text beside it,
// and the IR that must come out after dead code is removed; LANEWISE_BLESS=1 rewrites the expectation. Read
// the diffs as code.
//
//   ; target: gfx900
//   v_add_u32_e32 v0, v1, v2 // 68000501
//   s_endpgm // bf810000
//   ; expect
//   func "case" gfx900 { ... }
//
// Further header lines: `; mode: 0x1f0`, `; vgprs: 8`, `; sgprs: 4` (initial SGPRs, not constant), and
// `; descriptor: 8 4 0x1000` (the launch fact that dword 4 behind the pointer 8 bytes behind s[4:5] is
// 0x1000).
#include "isa/op.hpp"
#include "tests/source_dir.hpp"
#include "translator/ir/verify.hpp"
#include "translator/lift/lift.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iomanip>
#include <memory>
#include <sstream>
#include <sys/mman.h>

namespace lanewise {
namespace {

namespace fs = std::filesystem;

fs::path cases_folder() { return source_dir() + "/tests/lift/cases"; }

/// Memory at the same address in every run, as code addresses show in the IR.
class FixedPlace {
public:
  FixedPlace() {
    void* wanted = reinterpret_cast<void*>(0x2000'0000'0000u);
    memory_ = mmap(wanted, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                   -1, 0);
    EXPECT_EQ(memory_, wanted);
  }
  ~FixedPlace() { munmap(memory_, kBytes); }
  FixedPlace(const FixedPlace&) = delete;
  FixedPlace& operator=(const FixedPlace&) = delete;
  [[nodiscard]] u8* bytes() const { return static_cast<u8*>(memory_); }

private:
  static constexpr std::size_t kBytes = 4096;
  void* memory_ = nullptr;
};

struct Case {
  std::unique_ptr<FixedPlace> place = std::make_unique<FixedPlace>();
  std::string guest; ///< everything up to the expectation
  std::string expected;
  std::vector<u32> code;
  translator::KernelSource source;
  translator::LaunchFacts launch;
};

void read_header(Case& c, const std::string& line) {
  const auto colon = line.find(": ");
  const std::string key = line.substr(2, colon - 2),
                    value = colon == std::string::npos ? "" : line.substr(colon + 2);
  if (key == "target") c.source.target = isa::target_named(value).value();
  if (key == "mode") c.source.mode = static_cast<u32>(std::stoul(value, nullptr, 0));
  if (key == "vgprs") c.source.num_vgprs = static_cast<unsigned>(std::stoul(value));
  if (key == "sgprs") c.source.initial_sgprs.resize(std::stoul(value));
  if (key == "descriptor") {
    translator::DescriptorDword& d = c.launch.descriptors.emplace_back();
    d.pointer_sgpr = 4;
    std::istringstream(value) >> std::setbase(0) >> d.argument >> d.offset >> d.value;
  }
}

Case read_case(const fs::path& path) {
  Case c;
  c.source.name = path.stem().string();
  c.source.mode = 0x3c0; // what compilers set: f32 flushes, f64 and f16 keep denormals, IEEE, DX10_CLAMP
  c.source.initial_vgprs = 3;
  c.source.initial_sgprs.resize(16);
  std::ifstream in(path);
  bool expectation = false;
  for (std::string line; std::getline(in, line);) {
    if (expectation) {
      c.expected += line + "\n";
      continue;
    }
    expectation = line == "; expect";
    if (!expectation) c.guest += line + "\n";
    if (line.starts_with("; ")) read_header(c, line);
    if (const auto words = line.find("// "); words != std::string::npos) {
      std::istringstream hex(line.substr(words + 3));
      for (std::string word; hex >> word;) c.code.push_back(static_cast<u32>(std::stoul(word, nullptr, 16)));
    }
  }
  c.source.code = {c.place->bytes(), c.code.size() * 4};
  c.source.entry = reinterpret_cast<u64>(c.place->bytes());
  std::memcpy(c.place->bytes(), c.code.data(), c.code.size() * 4);
  return c;
}

class LiftGolden : public testing::TestWithParam<fs::path> {};

TEST_P(LiftGolden, Matches) {
  Case c = read_case(GetParam());
  ASSERT_FALSE(c.code.empty());
  auto lifted = lift::lift(c.source, c.launch);
  ASSERT_TRUE(lifted.ok()) << lifted.error().message;
  auto valid = ir::verify(lifted->function);
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  passes::eliminate_dead_code(lifted->function);
  std::string got;
  for (const lift::Untranslated& u : lifted->untranslated) got += "; untranslated: " + u.text + "\n";
  got += ir::print(lifted->function);
  if (std::getenv("LANEWISE_BLESS") != nullptr) {
    std::ofstream(GetParam()) << c.guest << "; expect\n" << got;
    return;
  }
  EXPECT_EQ(c.expected, got);
}

std::vector<fs::path> all_cases() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(cases_folder()))
    if (entry.path().extension() == ".lift") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Cases, LiftGolden, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.stem().string(); });

} // namespace
} // namespace lanewise
