// The hand-written kernels of bench/hand, on as many threads as the engines get.
#include "bench/contender.hpp"
#include "bench/hand/hand.hpp"

#include <cstdlib>
#include <cstring>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace lanewise::bench {
namespace {

using kernels::Arg;
using kernels::ArgKind;

class HandContender : public Contender {
public:
  HandContender(const kernels::KernelCase& test, hand::Function function, unsigned threads)
      : test_(test), function_(function), allowance_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {
    launch_.groups = test.groups();
    for (const Arg& arg : test.args) {
      // Whole cache lines and one more, so that full registers may be read at the end of a buffer.
      const std::size_t size = (arg.bytes.size() + kAlignment) / kAlignment * kAlignment + kAlignment;
      memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
      if (!arg.bytes.empty()) std::memcpy(memory_.back().get(), arg.bytes.data(), arg.bytes.size());
      launch_.args.push_back(memory_.back().get());
    }
  }

  Result<RunTime> run() override {
    const std::size_t total = std::size_t{launch_.groups[0]} * launch_.groups[1] * launch_.groups[2];
    const double wall = wall_clock_ms(), cpu = process_cpu_ms();
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, total),
                        [&](const auto& range) { function_(launch_, range.begin(), range.end()); });
    });
    return RunTime{wall_clock_ms() - wall, process_cpu_ms() - cpu};
  }
  [[nodiscard]] double prepare_ms() const override { return 0; }

  Result<void> restore(std::size_t argument) override {
    const auto& bytes = test_.args[argument].bytes;
    std::memcpy(memory_[argument].get(), bytes.data(), bytes.size());
    return {};
  }

  Result<std::vector<Arg>> arguments() override {
    std::vector<Arg> after = test_.args;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i].kind == ArgKind::Buffer && !after[i].bytes.empty())
        std::memcpy(after[i].bytes.data(), memory_[i].get(), after[i].bytes.size());
    return after;
  }

private:
  static constexpr std::size_t kAlignment = 4096;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const kernels::KernelCase& test_;
  hand::Function function_;
  tbb::global_control allowance_;
  tbb::task_arena arena_;
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  hand::Launch launch_;
};

} // namespace

Result<std::unique_ptr<Contender>> make_hand(const kernels::KernelCase& test, const Setup& setup) {
  const hand::Kernel* kernel = hand::find(test.name);
  if (kernel == nullptr) return Error{ErrorCode::Unsupported, "no hand-written version of " + test.name};
  if (!hand::host_runs_them())
    return Error{ErrorCode::Unsupported, "the hand-written kernels need AVX-512 (F, BW, DQ, VL)"};
  return std::unique_ptr<Contender>(std::make_unique<HandContender>(test, kernel->run, setup.threads));
}

} // namespace lanewise::bench
