// The same source through the host's OpenCL (PoCL), compiled with its default options.
#define CL_TARGET_OPENCL_VERSION 120
#include "bench/contender.hpp"
#include "tests/kernels/opencl_images.hpp"

#include <fstream>
#include <sstream>

namespace lanewise::bench {

namespace {

using kernels::Arg;
using kernels::ArgKind;

Error failed(const std::string& what, cl_int status) {
  return {ErrorCode::Unsupported, "OpenCL: " + what + " failed with status " + std::to_string(status)};
}

class OpenClContender : public Contender {
public:
  explicit OpenClContender(const kernels::KernelCase& test) : test_(test) {}
  OpenClContender(const OpenClContender&) = delete;
  OpenClContender& operator=(const OpenClContender&) = delete;
  ~OpenClContender() override {
    for (const auto& memory : {buffers_, images_})
      for (cl_mem object : memory)
        if (object != nullptr) clReleaseMemObject(object);
    for (cl_sampler sampler : samplers_) clReleaseSampler(sampler);
    if (kernel_ != nullptr) clReleaseKernel(kernel_);
    if (program_ != nullptr) clReleaseProgram(program_);
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
    if (context_ != nullptr) clReleaseContext(context_);
  }

  Result<void> open(const std::string& source) {
    cl_platform_id platform = nullptr;
    cl_int status = clGetPlatformIDs(1, &platform, nullptr);
    if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr);
    if (status != CL_SUCCESS) return failed("finding a CPU device", status);
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) return failed("clCreateContext", status);
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    if (status != CL_SUCCESS) return failed("clCreateCommandQueue", status);
    const char* text = source.c_str();
    const double start = wall_clock_ms();
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
    if (status == CL_SUCCESS)
      status = clBuildProgram(program_, 1, &device_, options_of(source).c_str(), nullptr, nullptr);
    if (status != CL_SUCCESS) return failed("building " + test_.kernel, status);
    kernel_ = clCreateKernel(program_, test_.kernel.c_str(), &status);
    if (status != CL_SUCCESS) return failed("clCreateKernel", status);
    prepare_ms_ = wall_clock_ms() - start;
    for (std::size_t d = 0; d < 3; ++d) {
      global_[d] = test_.global[d];
      local_[d] = test_.local[d];
      offset_[d] = test_.offset[d];
    }
    describe(platform);
    return set_arguments();
  }

  Result<RunTime> run() override {
    const double wall = wall_clock_ms(), cpu = process_cpu_ms();
    cl_int status = clEnqueueNDRangeKernel(queue_, kernel_, 3, offset_, global_, local_, 0, nullptr, nullptr);
    if (status == CL_SUCCESS) status = clFinish(queue_);
    if (status != CL_SUCCESS) return failed("running the kernel", status);
    return RunTime{wall_clock_ms() - wall, process_cpu_ms() - cpu};
  }
  double prepare_ms() const override { return prepare_ms_; }

  [[nodiscard]] std::string description() const override { return description_; }

  Result<void> restore(std::size_t argument) override {
    const Arg& arg = test_.args[argument];
    const kernels::ImageRegion region(arg.image);
    const cl_int status = is_image(argument)
                              ? clEnqueueWriteImage(queue_, images_[argument], CL_TRUE, region.origin,
                                                    region.size, 0, 0, arg.bytes.data(), 0, nullptr, nullptr)
                              : clEnqueueWriteBuffer(queue_, buffers_[argument], CL_TRUE, 0, arg.bytes.size(),
                                                     arg.bytes.data(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return failed("writing an argument", status);
    return {};
  }

  Result<std::vector<Arg>> arguments() override {
    std::vector<Arg> after = test_.args;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (!after[i].is_memory()) continue;
      const kernels::ImageRegion region(after[i].image);
      const cl_int status = is_image(i)
                                ? clEnqueueReadImage(queue_, images_[i], CL_TRUE, region.origin, region.size,
                                                     0, 0, after[i].bytes.data(), 0, nullptr, nullptr)
                                : clEnqueueReadBuffer(queue_, buffers_[i], CL_TRUE, 0, after[i].bytes.size(),
                                                      after[i].bytes.data(), 0, nullptr, nullptr);
      if (status != CL_SUCCESS) return failed("reading an argument", status);
    }
    return after;
  }

private:
  const kernels::KernelCase& test_;
  std::string description_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_mem> buffers_, images_; ///< one per argument; of a 1D buffer image there are both
  std::vector<cl_sampler> samplers_;
  std::size_t global_[3] = {}, local_[3] = {}, offset_[3] = {};
  double prepare_ms_ = 0;

  /// Whether an argument's memory is reached as an image alone.
  [[nodiscard]] bool is_image(std::size_t argument) const {
    return images_[argument] != nullptr && buffers_[argument] == nullptr;
  }

  /// The source's own `// options:` line names language options it cannot do without.
  static std::string options_of(const std::string& source) {
    const std::string marker = "// options: ";
    const auto at = source.find(marker);
    if (at == std::string::npos) return "-cl-std=CL1.2";
    const auto start = at + marker.size();
    return source.substr(start, source.find('\n', start) - start);
  }

  void describe(cl_platform_id platform) {
    char platform_text[256] = {}, device_text[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof platform_text - 1, platform_text, nullptr);
    clGetDeviceInfo(device_, CL_DEVICE_VERSION, sizeof device_text - 1, device_text, nullptr);
    description_ = std::string(platform_text) + "; " + device_text;
  }

  Result<void> set_arguments() {
    cl_uint index = 0;
    for (const Arg& arg : test_.args) {
      cl_mem buffer = nullptr, image = nullptr;
      cl_int status = CL_SUCCESS;
      if (arg.kind == ArgKind::Buffer) {
        std::vector<std::byte> bytes = arg.bytes; // the API wants it mutable
        buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes.size(),
                                bytes.data(), &status);
        if (status == CL_SUCCESS) status = clSetKernelArg(kernel_, index, sizeof(cl_mem), &buffer);
      } else if (arg.kind == ArgKind::Image) {
        image = kernels::make_image(context_, arg, buffer, status);
        if (status == CL_SUCCESS) status = clSetKernelArg(kernel_, index, sizeof(cl_mem), &image);
      } else if (arg.kind == ArgKind::Sampler) {
        cl_sampler sampler = kernels::make_sampler(context_, arg.sampler, status);
        if (status == CL_SUCCESS) {
          samplers_.push_back(sampler);
          status = clSetKernelArg(kernel_, index, sizeof sampler, &sampler);
        }
      } else if (arg.kind == ArgKind::Local) {
        status = clSetKernelArg(kernel_, index, arg.local_bytes, nullptr);
      } else {
        status = clSetKernelArg(kernel_, index, arg.bytes.size(), arg.bytes.data());
      }
      buffers_.push_back(buffer);
      images_.push_back(image);
      if (status != CL_SUCCESS) return failed("setting argument " + std::to_string(index), status);
      ++index;
    }
    return {};
  }
};

} // namespace

Result<std::unique_ptr<Contender>> make_opencl(const kernels::KernelCase& test, const Setup& setup) {
  if (test.gcn_only) return Error{ErrorCode::Unsupported, test.kernel + " is for GCN alone"};
  for (std::size_t d = 0; d < 3; ++d)
    if (test.global[d] % test.local[d] != 0)
      return Error{ErrorCode::Unsupported, "OpenCL 1.2 has no partial workgroups"};
  std::ifstream file(setup.source + "/tests/kernels/src/" + test.kernel + ".cl");
  if (!file) return Error{ErrorCode::Unsupported, test.kernel + " has no OpenCL source"};
  std::stringstream text;
  text << file.rdbuf();
  auto contender = std::make_unique<OpenClContender>(test);
  if (auto opened = contender->open(text.str()); !opened) return std::move(opened).error();
  return std::unique_ptr<Contender>(std::move(contender));
}

} // namespace lanewise::bench
