#include "tests/kernels/launch.hpp"

#include <algorithm>

namespace lanewise::kernels {

LaunchConfig launch_config(const KernelCase& test) {
  return {test.global, test.local, {test.offset[0], test.offset[1], test.offset[2]}};
}

Result<CaseMemory> CaseMemory::create(const KernelCase& test) {
  CaseMemory memory(test);
  memory.buffers_.resize(test.args.size());
  for (std::size_t i = 0; i < test.args.size(); ++i) {
    const Arg& arg = test.args[i];
    switch (arg.kind) {
    case ArgKind::Buffer: {
      auto buffer = Buffer::allocate(arg.bytes.size());
      if (!buffer) return std::move(buffer).error();
      memory.buffers_[i] = std::move(*buffer);
      memory.restore(i);
      memory.arguments_.push_back(Argument::pointer(memory.buffers_[i].data()));
      break;
    }
    case ArgKind::Value: memory.arguments_.push_back(Argument::bytes(arg.bytes)); break;
    case ArgKind::Local: memory.arguments_.push_back(Argument::lds(arg.local_bytes)); break;
    }
  }
  return memory;
}

std::vector<Arg> CaseMemory::read() const {
  std::vector<Arg> after = test_->args;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (after[i].kind == ArgKind::Buffer)
      std::copy_n(buffers_[i].data(), after[i].bytes.size(), after[i].bytes.begin());
  return after;
}

void CaseMemory::restore(std::size_t argument) {
  std::ranges::copy(test_->args[argument].bytes, buffers_[argument].data());
}

} // namespace lanewise::kernels
