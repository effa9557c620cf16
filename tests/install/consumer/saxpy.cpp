#include <lanewise/lanewise.hpp>

#include <cstdio>

int main(int, char** argv) {
  using lanewise::Argument;
  lanewise::DeviceOptions options;
  options.engine = lanewise::Engine::Interp;
  auto device = lanewise::Device::create(options);
  if (!device) return 2;
  auto module = device->load_file(argv[1]);
  if (!module) return std::puts(module.error().message.c_str()), 3;
  auto kernel = module->kernel("saxpy");
  if (!kernel) return 4;
  std::vector<float> x(1000, 2.0f), y(1000, 1.0f);
  auto times = kernel->launch({.grid = {1000, 1, 1}, .block = {128, 1, 1}},
                              {Argument::value(1000u), Argument::value(3.0f), Argument::pointer(x.data()),
                               Argument::pointer(y.data())});
  if (!times) return std::puts(times.error().message.c_str()), 5;
  for (float element : y)
    if (element != 7.0f) return 1;
  std::puts("saxpy from C++: right");
}
