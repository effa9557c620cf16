// All device code of real libraries: disassembles to LLVM's text, and the text assembles to the bytes.
//
//   LANEWISE_ROCM_LIBS    the libraries, separated by colons (librocsparse.so.0, librocrand.so.1...);
//                         unset: skipped
//   LANEWISE_ROCM_STRIDE  look at every n-th code object only (default 1)
//   LANEWISE_OBJDUMP      an llvm-objdump of LLVM 15 whose text is compared; unset: that part is left out
#include "abi/bundle.hpp"
#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "support/cpu_clock.hpp"
#include "tests/isa/device_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace lanewise::isa::testing {
namespace {

/// A file mapped for reading; empty when it cannot be.
class MappedFile {
public:
  explicit MappedFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    struct stat info {};
    if (fd >= 0 && ::fstat(fd, &info) == 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) ::close(fd);
  }
  ~MappedFile() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] abi::Bytes bytes() const {
    return data_ == MAP_FAILED ? abi::Bytes{} : abi::Bytes(static_cast<const std::byte*>(data_), size_);
  }

private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// What llvm-objdump prints for a code object, by address.
std::unordered_map<u64, std::string> objdump_lines(const std::string& tool, abi::Bytes code_object) {
  std::string path = ::testing::TempDir() + "lanewise_rocm_XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return {};
  const bool written =
      ::write(fd, code_object.data(), code_object.size()) == static_cast<ssize_t>(code_object.size());
  ::close(fd);
  std::unordered_map<u64, std::string> lines;
  if (written) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((tool + " -d " + path).c_str(), "r"), ::pclose);
    char buffer[1024];
    while (pipe && std::fgets(buffer, sizeof buffer, pipe.get())) {
      std::string line = buffer;
      const auto comment = line.find("// ");
      if (line[0] != '\t' || comment == std::string::npos) continue;
      const u64 address = std::strtoull(line.c_str() + comment + 3, nullptr, 16);
      line = line.substr(1, comment - 1);
      line.erase(line.find_last_not_of(" \t") + 1);
      lines[address] = line;
    }
  }
  ::unlink(path.c_str());
  return lines;
}

struct Totals {
  std::size_t objects = 0, functions = 0, instructions = 0, compared = 0, lit = 0;
  unsigned failures = 0;
  double decode_seconds = 0, text_seconds = 0, assemble_seconds = 0;
};

/// The thread's time on the processor, in seconds.
double cpu_seconds() { return read_cpu_ms(CLOCK_THREAD_CPUTIME_ID) / 1e3; }

class Stopwatch {
public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += cpu_seconds() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

private:
  double& sum_;
  double start_ = cpu_seconds();
};

constexpr unsigned kMaxFailures = 20;

void check_function(const Function& function, Target target, const std::string& where, Totals& totals,
                    std::vector<std::string>& texts, std::vector<u64>& addresses) {
  std::vector<Inst> insts;
  Inst inst;
  for (std::span<const u32> rest = function.code; !rest.empty(); rest = rest.subspan(inst.size / 4)) {
    const DecodeStatus status = decode(target, rest, inst);
    ASSERT_EQ(status, DecodeStatus::Ok) << where << ": " << std::hex << rest[0] << ": " << reason(status);
    insts.push_back(inst);
  }
  { // Again, without the time that it takes to keep them.
    const Stopwatch watch(totals.decode_seconds);
    for (std::span<const u32> rest = function.code; !rest.empty(); rest = rest.subspan(inst.size / 4))
      decode(target, rest, inst);
  }
  texts.assign(insts.size(), {});
  {
    const Stopwatch watch(totals.text_seconds);
    for (std::size_t i = 0; i < insts.size(); ++i) append_text(texts[i], insts[i], target);
  }
  {
    const Stopwatch watch(totals.assemble_seconds);
    std::span<const u32> rest = function.code;
    for (std::size_t i = 0; i < insts.size() && totals.failures < kMaxFailures; ++i) {
      const auto words = rest.first(insts[i].size / 4);
      rest = rest.subspan(words.size());
      const auto assembled = assemble(texts[i], target);
      if (assembled && std::ranges::equal(words, assembled->words.span())) continue;
      ++totals.failures;
      ADD_FAILURE() << where << ": " << texts[i]
                    << (assembled ? ": other bytes" : ": " + assembled.error().message);
    }
  }
  // LLVM 15 knows no lit().
  for (std::size_t i = 0; i < insts.size(); ++i)
    if (texts[i].find("lit(") != std::string::npos) {
      texts[i] = text(insts[i], target, {.lit = false});
      ++totals.lit;
    }
  u64 address = function.address;
  for (const Inst& each : insts) addresses.push_back(std::exchange(address, address + each.size));
  totals.instructions += insts.size();
  ++totals.functions;
}

void check_object(abi::Bytes object, Target target, const std::string& where, const std::string& objdump,
                  Totals& totals) {
  std::unordered_map<u64, std::string> expected;
  if (!objdump.empty()) {
    expected = objdump_lines(objdump, object);
    EXPECT_FALSE(expected.empty()) << where << ": llvm-objdump printed nothing";
  }
  ++totals.objects;
  for (const Function& function : functions(object)) {
    std::vector<std::string> texts;
    std::vector<u64> addresses;
    ASSERT_NO_FATAL_FAILURE(
        check_function(function, target, where + " " + function.name, totals, texts, addresses));
    for (std::size_t i = 0; i < texts.size() && totals.failures < kMaxFailures && !expected.empty(); ++i) {
      ++totals.compared;
      if (texts[i] == expected[addresses[i]]) continue;
      ++totals.failures;
      ADD_FAILURE() << where << ' ' << function.name << "\n  llvm     " << expected[addresses[i]]
                    << "\n  lanewise " << texts[i];
    }
  }
}

TEST(RocmLibraries, DisassembleAndReassemble) {
  const char* libraries = std::getenv("LANEWISE_ROCM_LIBS");
  if (!libraries) GTEST_SKIP() << "LANEWISE_ROCM_LIBS names no libraries";
  const char* stride_text = std::getenv("LANEWISE_ROCM_STRIDE");
  const char* objdump = std::getenv("LANEWISE_OBJDUMP");
  const std::size_t stride = stride_text ? std::max(1, std::atoi(stride_text)) : 1;
  Totals totals;
  for (const std::string& path : split(libraries, ':')) {
    const MappedFile file(path);
    ASSERT_FALSE(file.bytes().empty()) << path << " cannot be read";
    const auto entries = abi::list_entries(file.bytes());
    ASSERT_TRUE(entries) << entries.error().message;
    std::size_t index = 0;
    for (const abi::BundleEntry& entry : *entries) {
      const auto target = target_named(entry.processor);
      if (!entry.is_device() || !target || entry.bytes.empty() || index++ % stride != 0) continue;
      check_object(entry.bytes, *target, path + " " + entry.id + " #" + std::to_string(index),
                   objdump ? objdump : "", totals);
      if (totals.objects % 50 == 0)
        std::fprintf(stderr, "%zu code objects, %zu instructions\n", totals.objects, totals.instructions);
      if (::testing::Test::HasFatalFailure() || totals.failures >= kMaxFailures) return;
    }
  }
  EXPECT_GT(totals.instructions, 0u);
  const auto rate = [&](double seconds) { return static_cast<double>(totals.instructions) / seconds / 1e6; };
  std::printf(
      "%zu code objects, %zu functions, %zu instructions, %zu with lit(), %zu compared with objdump;\n"
      "million per second: decode %.1f, text %.1f, assemble %.2f\n",
      totals.objects, totals.functions, totals.instructions, totals.lit, totals.compared,
      rate(totals.decode_seconds), rate(totals.text_seconds), rate(totals.assemble_seconds));
}

} // namespace
} // namespace lanewise::isa::testing
