// The same source through the host's OpenCL (PoCL), compiled with its default options.
#define CL_TARGET_OPENCL_VERSION 120
#include "bench/contender.hpp"

#include <CL/cl.h>
#include <chrono>
#include <fstream>
#include <sstream>

namespace lanewise::bench {

namespace {

using kernels::Arg;
using kernels::ArgKind;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Error failed(const std::string& what, cl_int status) {
  return {ErrorCode::Unsupported, "OpenCL: " + what + " failed with status " + std::to_string(status)};
}

class OpenClContender : public Contender {
public:
  OpenClContender() = default;
  OpenClContender(const OpenClContender&) = delete;
  OpenClContender& operator=(const OpenClContender&) = delete;
  ~OpenClContender() override {
    for (cl_mem buffer : buffers_)
      if (buffer != nullptr) clReleaseMemObject(buffer);
    if (kernel_ != nullptr) clReleaseKernel(kernel_);
    if (program_ != nullptr) clReleaseProgram(program_);
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
    if (context_ != nullptr) clReleaseContext(context_);
  }

  Result<void> open(const kernels::KernelCase& test, const std::string& source) {
    cl_platform_id platform = nullptr;
    cl_int status = clGetPlatformIDs(1, &platform, nullptr);
    if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr);
    if (status != CL_SUCCESS) return failed("finding a CPU device", status);
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) return failed("clCreateContext", status);
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    if (status != CL_SUCCESS) return failed("clCreateCommandQueue", status);
    const char* text = source.c_str();
    const double start = now_ms();
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
    if (status == CL_SUCCESS)
      status = clBuildProgram(program_, 1, &device_, options_of(source).c_str(), nullptr, nullptr);
    if (status != CL_SUCCESS) return failed("building " + test.kernel, status);
    kernel_ = clCreateKernel(program_, test.kernel.c_str(), &status);
    if (status != CL_SUCCESS) return failed("clCreateKernel", status);
    prepare_ms_ = now_ms() - start;
    for (std::size_t d = 0; d < 3; ++d) {
      global_[d] = test.global[d];
      local_[d] = test.local[d];
      offset_[d] = test.offset[d];
    }
    return set_arguments(test);
  }

  Result<RunTime> run() override {
    const double wall = now_ms(), cpu = process_cpu_ms();
    cl_int status = clEnqueueNDRangeKernel(queue_, kernel_, 3, offset_, global_, local_, 0, nullptr, nullptr);
    if (status == CL_SUCCESS) status = clFinish(queue_);
    if (status != CL_SUCCESS) return failed("running the kernel", status);
    return RunTime{now_ms() - wall, process_cpu_ms() - cpu};
  }
  double prepare_ms() const override { return prepare_ms_; }

  std::string check(const kernels::KernelCase& test) override {
    std::vector<Arg> after = test.args;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (buffers_[i] != nullptr)
        clEnqueueReadBuffer(queue_, buffers_[i], CL_TRUE, 0, after[i].bytes.size(), after[i].bytes.data(), 0,
                            nullptr, nullptr);
    return test.check(after).value_or("");
  }

private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_mem> buffers_;
  std::size_t global_[3] = {}, local_[3] = {}, offset_[3] = {};
  double prepare_ms_ = 0;

  /// The source's own `// options:` line names language options it cannot do without.
  static std::string options_of(const std::string& source) {
    const std::string marker = "// options: ";
    const auto at = source.find(marker);
    if (at == std::string::npos) return "-cl-std=CL1.2";
    const auto start = at + marker.size();
    return source.substr(start, source.find('\n', start) - start);
  }

  Result<void> set_arguments(const kernels::KernelCase& test) {
    cl_uint index = 0;
    for (const Arg& arg : test.args) {
      cl_mem buffer = nullptr;
      cl_int status = CL_SUCCESS;
      if (arg.kind == ArgKind::Buffer) {
        std::vector<std::byte> bytes = arg.bytes; // the API wants it mutable
        buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes.size(),
                                bytes.data(), &status);
        if (status == CL_SUCCESS) status = clSetKernelArg(kernel_, index, sizeof(cl_mem), &buffer);
      } else if (arg.kind == ArgKind::Local) {
        status = clSetKernelArg(kernel_, index, arg.local_bytes, nullptr);
      } else {
        status = clSetKernelArg(kernel_, index, arg.bytes.size(), arg.bytes.data());
      }
      buffers_.push_back(buffer);
      if (status != CL_SUCCESS) return failed("setting argument " + std::to_string(index), status);
      ++index;
    }
    return {};
  }
};

} // namespace

Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase& test, const Setup& setup) {
  std::ifstream file(setup.source + "/tests/kernels/src/" + test.kernel + ".cl");
  if (!file) return Error{ErrorCode::Unsupported, test.kernel + " has no OpenCL source"};
  std::stringstream text;
  text << file.rdbuf();
  auto contender = std::make_unique<OpenClContender>();
  if (auto opened = contender->open(test, text.str()); !opened) return std::move(opened).error();
  return std::unique_ptr<Contender>(std::move(contender));
}

} // namespace lanewise::bench
