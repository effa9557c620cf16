// A code object that a program loads: its kernel, its variables, and what goes wrong.
// usage: module CODE_OBJECT, which is hip_shared.O3.co for the device
#include "check.hpp"

#include <fstream>
#include <iterator>
#include <vector>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  hipModule_t module;
  OK(hipModuleLoadData(&module, bytes.data()));
  hipFunction_t kernel;
  OK(hipModuleGetFunction(&kernel, module, "hip_shared"));
  EXPECT(hipModuleGetFunction(&kernel, module, "of another name") == hipErrorNotFound);
  OK(hipModuleGetFunction(&kernel, module, "hip_shared"));
  hipDeviceptr_t launches;
  std::size_t size = 0;
  OK(hipModuleGetGlobal(&launches, &size, module, "launches"));
  EXPECT(size == 4);

  constexpr unsigned kThreads = 64;
  std::vector<unsigned> in(2 * kThreads), got(in.size());
  for (unsigned i = 0; i < in.size(); ++i) in[i] = 100 * i;
  unsigned *from, *to;
  OK(hipMalloc(&from, in.size() * 4));
  OK(hipMalloc(&to, in.size() * 4));
  OK(hipMemcpy(from, in.data(), in.size() * 4, hipMemcpyHostToDevice));
  void* by_address[] = {&from, &to};
  OK(hipModuleLaunchKernel(kernel, 2, 1, 1, kThreads, 1, 1, kThreads * 4, 0, by_address, nullptr));
  struct {
    unsigned *from, *to;
  } packed = {from, to};
  std::size_t packed_size = sizeof packed;
  void* as_a_block[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_size,
                        HIP_LAUNCH_PARAM_END};
  OK(hipModuleLaunchKernel(kernel, 2, 1, 1, kThreads, 1, 1, kThreads * 4, 0, nullptr, as_a_block));
  OK(hipMemcpy(got.data(), to, got.size() * 4, hipMemcpyDeviceToHost));
  const unsigned weights[] = {3, 5, 7, 11};
  for (unsigned i = 0; i < got.size(); ++i) {
    const unsigned lane = i % kThreads, other = kThreads - 1 - lane;
    EXPECT(got[i] == in[i - lane + other] * weights[other % 4] + lane % 32 + 1);
  }
  unsigned launched = 0;
  OK(hipMemcpyDtoH(&launched, launches, 4));
  EXPECT(launched == 2);
  OK(hipModuleUnload(module));
  const std::vector<char> nonsense(1000, 'x');
  EXPECT(hipModuleLoadData(&module, nonsense.data()) != hipSuccess);
  return result();
}
