#include "tests/robustness/items.hpp"

#include "isa/decoder.hpp"
#include "lanewise/kernel_source.hpp"
#include "tests/abi/exercise.hpp"
#include "tests/abi/mutate.hpp"
#include "tests/asm/random_words.hpp"
#include "translator/translation.hpp"

#include <filesystem>
#include <fstream>

namespace lanewise::robustness {
namespace {

constexpr std::uintmax_t kLargestSeed = 4500; // bytes
constexpr std::size_t kKernelsOfAnObject = 3; // a damaged symbol table may name the same code many times
constexpr std::size_t kStreamInstructions = 60;

/// Options that differ from item to item: both instruction sets, now and then all checks, now and then all
/// dumps.
translator::Options options_of(u64 number) {
  translator::Options options;
  options.simd = number % 2 ? translator::Simd::Avx512 : translator::Simd::Avx2;
  options.verify = number % 16 == 3;
  const bool dump = number % 16 == 10;
  options.dump = {dump, dump, dump, dump, [](const std::string&, const std::string&) {}};
  return options;
}

bool recompiles(const translator::KernelSource& source, u64 number) {
  translator::Stats stats;
  return translator::translate(source, options_of(number), &stats).ok();
}

void run_object(abi::Bytes file, u64 number, Tally& tally) {
  (void)abi::exercise(file);
  const auto object = abi::load(file, "mutant");
  if (!object) return;
  const auto image = abi::LoadedImage::create(*object, [](std::string_view) { return 0x1000; });
  if (!image) return;
  ++tally.loaded;
  for (std::size_t i = 0; i < std::min(object->kernels.size(), kKernelsOfAnObject); ++i) {
    ++tally.kernels;
    tally.recompiled += recompiles(kernel_source(*object, *image, object->kernels[i]), number);
  }
}

/// Instructions that decode, with branches made rare (most would leave so short a piece of code), and
/// s_endpgm.
std::vector<u32> random_stream(isa::Target target, std::mt19937_64& random) {
  isa::testing::RandomWords words(random());
  std::vector<u32> code;
  for (std::size_t left = 1 + random() % (random() % 2 ? kStreamInstructions : 6); left > 0;) {
    const auto next = words.next();
    isa::Inst inst;
    if (isa::decode(target, next, inst) != isa::DecodeStatus::Ok) continue;
    if (isa::row_of(inst.op).has(isa::kTerminator | isa::kScalarBranch) && random() % 4 != 0) continue;
    code.insert(code.end(), next.begin(), next.begin() + inst.size / 4);
    --left;
  }
  constexpr u32 kEndProgram = 0xbf810000;
  code.push_back(kEndProgram);
  return code;
}

void run_stream(u64 number, std::mt19937_64& random, Tally& tally) {
  translator::KernelSource source;
  source.name = "stream";
  source.target = isa::kTargets[random() % isa::kNumTargets];
  const std::vector<u32> code = random_stream(source.target, random);
  source.code = {reinterpret_cast<const u8*>(code.data()), code.size() * sizeof(u32)};
  source.entry = reinterpret_cast<u64>(code.data());
  source.initial_sgprs.resize(random() % 17);
  source.initial_vgprs = 1 + static_cast<unsigned>(random() % 3);
  source.mode = static_cast<u32>(random()) & 0x3ff;
  ++tally.streams;
  tally.streams_recompiled += recompiles(source, number);
}

std::vector<std::byte> read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

} // namespace

std::vector<SeedFile> read_seeds(const std::string& source) {
  std::vector<SeedFile> seeds;
  for (const char* folder : {"/tests/kernels/bin", "/tests/abi/data"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source + folder))
      if (entry.path().extension() == ".co" && entry.file_size() <= kLargestSeed)
        seeds.push_back({entry.path().string(), read_all(entry.path())});
  std::sort(seeds.begin(), seeds.end(), [](const SeedFile& a, const SeedFile& b) { return a.name < b.name; });
  return seeds;
}

Tally& Tally::operator+=(const Tally& other) {
  items += other.items;
  loaded += other.loaded;
  kernels += other.kernels;
  recompiled += other.recompiled;
  streams += other.streams;
  streams_recompiled += other.streams_recompiled;
  return *this;
}

void run_item(u64 number, const std::vector<SeedFile>& seeds, Tally& tally) {
  std::mt19937_64 random(number);
  ++tally.items;
  std::vector<std::byte> file = seeds[random() % seeds.size()].bytes;
  abi::mutate(file, random);
  run_object(file, number, tally);
  run_stream(number, random, tally);
}

} // namespace lanewise::robustness
