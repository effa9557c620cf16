#include "bench/contender.hpp"
#include "lanewise/lanewise.hpp"

#include <cstring>

namespace lanewise::bench {

namespace {

using kernels::Arg;
using kernels::ArgKind;

class LanewiseContender : public Contender {
public:
  LanewiseContender(const kernels::KernelCase& test, Device device, Kernel kernel, double prepare_ms)
      : test_(test), device_(std::move(device)), kernel_(std::move(kernel)), prepare_ms_(prepare_ms) {}

  Result<void> set_arguments() {
    config_ = {test_.global, test_.local, {test_.offset[0], test_.offset[1], test_.offset[2]}};
    for (const Arg& arg : test_.args) {
      Buffer buffer;
      if (arg.kind == ArgKind::Buffer) {
        auto allocated = Buffer::allocate(arg.bytes.size());
        if (!allocated) return std::move(allocated).error();
        buffer = std::move(*allocated);
        if (!arg.bytes.empty()) std::memcpy(buffer.data(), arg.bytes.data(), arg.bytes.size());
        arguments_.push_back(Argument::pointer(buffer.data()));
      } else if (arg.kind == ArgKind::Local) {
        arguments_.push_back(Argument::lds(arg.local_bytes));
      } else {
        arguments_.push_back(Argument::bytes(arg.bytes));
      }
      buffers_.push_back(std::move(buffer));
    }
    return {};
  }

  Result<RunTime> run() override {
    auto times = kernel_.launch(config_, arguments_);
    if (!times) return std::move(times).error();
    return RunTime{times->wall_ms, times->cpu_ms};
  }
  double prepare_ms() const override { return prepare_ms_; }

  Result<void> restore(std::size_t argument) override {
    const auto& bytes = test_.args[argument].bytes;
    std::memcpy(buffers_[argument].data(), bytes.data(), bytes.size());
    return {};
  }

  Result<std::vector<Arg>> arguments() override {
    std::vector<Arg> after = test_.args;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i].kind == ArgKind::Buffer && !after[i].bytes.empty())
        std::memcpy(after[i].bytes.data(), buffers_[i].data(), after[i].bytes.size());
    return after;
  }

private:
  const kernels::KernelCase& test_;
  Device device_;
  Kernel kernel_;
  double prepare_ms_;
  LaunchConfig config_;
  std::vector<Buffer> buffers_;
  std::vector<Argument> arguments_;
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
  auto prepared =
      kernel->prepare({test.global, test.local, {test.offset[0], test.offset[1], test.offset[2]}});
  if (!prepared) return std::move(prepared).error();
  auto contender = std::make_unique<LanewiseContender>(test, *device, *kernel, prepared->translate_ms);
  if (auto set = contender->set_arguments(); !set) return std::move(set).error();
  return std::unique_ptr<Contender>(std::move(contender));
}

} // namespace lanewise::bench
