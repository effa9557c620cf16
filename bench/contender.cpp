#include "bench/contender.hpp"

#include <ctime>

namespace lanewise::bench {

double process_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

#ifndef LANEWISE_HAVE_OPENCL
Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase&, const Setup&) {
  return Error{ErrorCode::Unsupported,
               "built without OpenCL: install ocl-icd-opencl-dev and pocl-opencl-icd"};
}
#endif

Result<std::unique_ptr<Contender>> make_contender(const kernels::KernelCase& test, const Setup& setup) {
  return setup.engine == "pocl" ? make_opencl(test, setup) : make_lanewise(test, setup);
}

} // namespace lanewise::bench
