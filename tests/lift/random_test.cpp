// Any bytes lift to valid IR or to an error: random code, and kernels with a few bits flipped.
#include "isa/decoder.hpp"
#include "tests/asm/random_words.hpp"
#include "tests/lift/kernel_files.hpp"
#include "translator/ir/verify.hpp"
#include "translator/lift/lift.hpp"

#include <gtest/gtest.h>
#include <random>

namespace lanewise {
namespace {

/// Instructions that decode, mixed with words that may not.
std::vector<u32> random_code(isa::Target target, isa::testing::RandomWords& words, std::mt19937& random) {
  std::vector<u32> code;
  const std::size_t length = 1 + random() % 50;
  while (code.size() < length) {
    const auto next = words.next();
    isa::Inst inst;
    const bool ok = isa::decode(target, next, inst) == isa::DecodeStatus::Ok;
    if (!ok && random() % 2000 != 0) continue;
    // Most branches would leave so short a piece of code.
    if (ok && isa::row_of(inst.op).has(isa::kTerminator | isa::kScalarBranch) && random() % 4 != 0) continue;
    code.insert(code.end(), next.begin(), next.begin() + (ok ? inst.size / 4 : 1));
  }
  return code;
}

void expect_valid(const translator::KernelSource& source) {
  const auto lifted = lift::lift(source);
  if (!lifted) return;
  const auto valid = ir::verify(lifted->function);
  ASSERT_TRUE(valid.ok()) << valid.error().message;
}

class AnyBytes : public testing::TestWithParam<isa::Target> {};

TEST_P(AnyBytes, RandomWords) {
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 1);
  isa::testing::RandomWords words(static_cast<u64>(GetParam()) + 1);
  for (unsigned round = 0; round < 2000; ++round) {
    const std::vector<u32> code = random_code(GetParam(), words, random);
    translator::KernelSource source;
    source.name = "random" + std::to_string(round);
    source.target = GetParam();
    source.code = {reinterpret_cast<const u8*>(code.data()), code.size() * 4};
    source.entry = reinterpret_cast<u64>(code.data());
    source.initial_sgprs.resize(random() % 20);
    source.initial_vgprs = 1 + static_cast<unsigned>(random() % 3);
    source.num_vgprs = 16;
    source.mode = static_cast<u32>(random()) & 0x3ff;
    expect_valid(source);
    if (HasFatalFailure()) return;
  }
}

TEST_P(AnyBytes, FlippedBits) {
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 100);
  for (const char* name :
       {"calls.O0", "barrier_loop.O2", "insertion_sort.O0", "ray_tracer.O2", "fft_lds.O2"}) {
    const LoadedKernel kernel(std::string(isa::target_name(GetParam())) + "/" + name + ".co");
    for (unsigned round = 0; round < 60; ++round) {
      translator::KernelSource source = kernel.source();
      std::vector<u8> code(source.code.begin(), source.code.end());
      const u64 old_base = reinterpret_cast<u64>(source.code.data());
      for (unsigned flips = 1 + static_cast<unsigned>(random() % 4); flips > 0; --flips)
        code[random() % code.size()] ^= static_cast<u8>(1u << random() % 8);
      source.code = code;
      source.entry = source.entry - old_base + reinterpret_cast<u64>(code.data());
      for (translator::CodeSymbol& s : source.symbols)
        s.address = s.address - old_base + reinterpret_cast<u64>(code.data());
      expect_valid(source);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AnyBytes, testing::ValuesIn(isa::kTargets),
                         [](const auto& test) { return std::string(isa::target_name(test.param)); });

} // namespace
} // namespace lanewise
