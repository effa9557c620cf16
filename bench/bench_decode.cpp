// Decoder and disassembler speed. Items per second are instructions per second.
//   code     the functions of tests/kernels/bin as they stand: what clang makes of real kernels
//   vectors  the test vectors in random order: every instruction and form alike, no pattern for the branch
//   predictor
#include "device_code.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace lanewise::isa {
namespace {

using Code = std::vector<u32>;

std::size_t count_instructions(Target target, std::span<const u32> code) {
  std::size_t count = 0;
  for (Inst inst; !code.empty() && decode(target, code, inst) == DecodeStatus::Ok; ++count)
    code = code.subspan(inst.size / 4);
  return code.empty() ? count : 0;
}

/// All functions of the kernels compiled for `target`, one after the other.
Code kernel_code(Target target) {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(LANEWISE_KERNEL_BIN) / target_name(target);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Code code;
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const testing::Function& function : testing::functions(std::as_bytes(std::span(bytes))))
      code.insert(code.end(), function.code.begin(), function.code.end());
  }
  return code;
}

Code shuffled_vectors(Target target) {
  std::vector<const testing::Vector*> chosen;
  for (const testing::Vector& vector : testing::vectors())
    if (vector.target == target) chosen.push_back(&vector);
  std::shuffle(chosen.begin(), chosen.end(), std::mt19937(1));
  Code code;
  for (const testing::Vector* vector : chosen)
    code.insert(code.end(), vector->dwords.begin(), vector->dwords.end());
  return code;
}

template <Code (*Make)(Target)>
void decode_all(benchmark::State& state) {
  const auto target = static_cast<Target>(state.range(0));
  const Code code = Make(target);
  const std::size_t count = count_instructions(target, code);
  if (count == 0) return state.SkipWithError("nothing to decode");
  Inst inst;
  for (auto _ : state)
    for (std::span<const u32> rest = code; !rest.empty(); rest = rest.subspan(inst.size / 4)) {
      decode(target, rest, inst);
      benchmark::DoNotOptimize(inst);
    }
  state.SetItemsProcessed(static_cast<i64>(state.iterations() * count));
}

template <Code (*Make)(Target)>
void disassemble_all(benchmark::State& state) {
  const auto target = static_cast<Target>(state.range(0));
  const Code code = Make(target);
  const std::size_t count = count_instructions(target, code);
  if (count == 0) return state.SkipWithError("nothing to disassemble");
  std::string out;
  Inst inst;
  for (auto _ : state) {
    out.clear();
    for (std::span<const u32> rest = code; !rest.empty(); rest = rest.subspan(inst.size / 4)) {
      decode(target, rest, inst);
      append_text(out, inst, target);
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(static_cast<i64>(state.iterations() * count));
}

void each_target(benchmark::internal::Benchmark* b) { b->ArgName("target")->DenseRange(0, kNumTargets - 1); }

BENCHMARK(decode_all<kernel_code>)->Name("decode/code")->Apply(each_target);
BENCHMARK(decode_all<shuffled_vectors>)->Name("decode/vectors")->Apply(each_target);
BENCHMARK(disassemble_all<kernel_code>)->Name("disassemble/code")->Apply(each_target);
BENCHMARK(disassemble_all<shuffled_vectors>)->Name("disassemble/vectors")->Apply(each_target);

} // namespace
} // namespace lanewise::isa

BENCHMARK_MAIN();
