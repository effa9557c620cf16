#include "bench/contender.hpp"

#include "support/cpu_clock.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <sys/types.h>

namespace lanewise::bench {

double process_cpu_ms() {
  // Not CLOCK_PROCESS_CPUTIME_ID: of threads that are running elsewhere it knows what the scheduler's last
  // tick saw, milliseconds ago, and the minimum of many runs is then one that leaves such a thread out.
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(task.path().filename().string());
    const clockid_t clock =
        static_cast<clockid_t>(~static_cast<unsigned>(id) << 3 | 6); // as the kernel numbers them
    sum += read_cpu_ms(clock);
  }
  return sum;
}

double wall_clock_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<std::size_t> read_and_written(std::span<const kernels::Arg> before,
                                          std::span<const kernels::Arg> after) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].is_memory() && before[i].bytes != after[i].bytes &&
        std::ranges::any_of(before[i].bytes, [](std::byte b) { return b != kernels::kOutputPattern; }))
      found.push_back(i);
  return found;
}

#ifndef LANEWISE_HAVE_OPENCL
Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase&, const Setup&) {
  return Error{ErrorCode::Unsupported,
               "built without OpenCL: install ocl-icd-opencl-dev and pocl-opencl-icd"};
}
#endif

Result<std::unique_ptr<Contender>> make_contender(const kernels::KernelCase& test, const Setup& setup) {
  if (setup.engine == "pocl") return make_opencl(test, setup);
  if (setup.engine == "hand") return make_hand(test, setup);
  return make_lanewise(test, setup);
}

} // namespace lanewise::bench
