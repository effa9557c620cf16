#include "bench/contender.hpp"
#include "tests/kernels/launch.hpp"

namespace lanewise::bench {

namespace {

class LanewiseContender : public Contender {
public:
  LanewiseContender(const kernels::KernelCase& test, Kernel kernel, kernels::CaseMemory memory,
                    double prepare_ms)
      : config_(kernels::launch_config(test)), kernel_(std::move(kernel)), memory_(std::move(memory)),
        prepare_ms_(prepare_ms) {}

  Result<RunTime> run() override {
    auto times = kernel_.launch(config_, memory_.arguments());
    if (!times) return std::move(times).error();
    return RunTime{times->wall_ms, times->cpu_ms, times->threads};
  }
  double prepare_ms() const override { return prepare_ms_; }
  /// A version for the values that launches pass is begun when they have taken four times what a translation
  /// takes, and then has to be made (lanewise/steady_arguments.hpp).
  double learning_ms() const override { return 6 * prepare_ms_; }

  Result<void> restore(std::size_t argument) override {
    memory_.restore(argument);
    return {};
  }
  Result<std::vector<kernels::Arg>> arguments() override { return memory_.read(); }

private:
  LaunchConfig config_;
  Kernel kernel_;
  kernels::CaseMemory memory_;
  double prepare_ms_;
};

} // namespace

Result<std::unique_ptr<Contender>> make_lanewise(const kernels::KernelCase& test, const Setup& setup) {
  DeviceOptions options;
  options.engine = setup.engine == "interp" ? Engine::Interp : Engine::Jit;
  options.simd = setup.engine == "avx512" ? Simd::Avx512 : Simd::Avx2;
  options.threads = setup.threads;
  options.no_fallback = true;
  auto device = Device::create(options);
  if (!device) return std::move(device).error();
  auto module = device->load_file(setup.source + "/" + test.code_object(setup.target, setup.level));
  if (!module) return std::move(module).error();
  auto kernel = module->kernel(test.kernel);
  if (!kernel) return std::move(kernel).error();
  auto prepared = kernel->prepare(kernels::launch_config(test));
  if (!prepared) return std::move(prepared).error();
  auto memory = kernels::CaseMemory::create(test);
  if (!memory) return std::move(memory).error();
  return std::unique_ptr<Contender>(std::make_unique<LanewiseContender>(
      test, std::move(*kernel), std::move(*memory), prepared->translate_ms));
}

} // namespace lanewise::bench
