// Runs the cases on the first OpenCL device (PoCL, say) and reports where it disagrees with the references.
// usage: kernel_cases_opencl SOURCE_FOLDER SCALE [CASE...]
#define CL_TARGET_OPENCL_VERSION 120
#include "tests/kernels/opencl_images.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

using lanewise::kernels::Arg;
using lanewise::kernels::ArgKind;
using lanewise::kernels::ImageRegion;
using lanewise::kernels::KernelCase;
using lanewise::kernels::make_image;
using lanewise::kernels::make_sampler;

struct Device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The options that the source names in its `// options:` line.
std::string options_of(const std::string& source) {
  size_t at = source.find("// options: ");
  if (at == std::string::npos) return "-cl-std=CL1.2";
  at += 12;
  return source.substr(at, source.find('\n', at) - at);
}

cl_kernel build(const Device& device, const std::string& source, const std::string& name,
                std::string& error) {
  const char* text = source.c_str();
  cl_program program = clCreateProgramWithSource(device.context, 1, &text, nullptr, nullptr);
  if (clBuildProgram(program, 1, &device.id, options_of(source).c_str(), nullptr, nullptr) != CL_SUCCESS) {
    std::vector<char> log(65536);
    clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(), nullptr);
    error = log.data();
    return nullptr;
  }
  return clCreateKernel(program, name.c_str(), nullptr);
}

constexpr const char* kNoFormat = "skipped: the device has no such images";

/// Empty when the results are right, else what is wrong.
std::string run(const Device& device, const KernelCase& c, const std::string& folder) {
  std::string error;
  cl_kernel kernel = build(device, read(folder + "/" + c.kernel + ".cl"), c.kernel, error);
  if (!kernel) return "does not build: " + error;
  std::vector<Arg> after = c.args;
  std::vector<cl_mem> buffers(after.size()), images(after.size());
  for (cl_uint i = 0; i < after.size(); ++i) {
    Arg& arg = after[i];
    if (arg.kind == ArgKind::Buffer) {
      buffers[i] = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, arg.bytes.size(),
                                  arg.bytes.data(), nullptr);
      clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
    } else if (arg.kind == ArgKind::Image) {
      cl_int made = CL_SUCCESS;
      images[i] = make_image(device.context, arg, buffers[i], made);
      // PoCL says "invalid operation" to formats that it does not have.
      if (made == CL_IMAGE_FORMAT_NOT_SUPPORTED || made == CL_INVALID_OPERATION) return kNoFormat;
      if (made != CL_SUCCESS) return "image '" + arg.name + "' not made: status " + std::to_string(made);
      clSetKernelArg(kernel, i, sizeof(cl_mem), &images[i]);
    } else if (arg.kind == ArgKind::Sampler) {
      cl_int made = CL_SUCCESS;
      cl_sampler sampler = make_sampler(device.context, arg.sampler, made);
      if (made != CL_SUCCESS) return "sampler not made: status " + std::to_string(made);
      clSetKernelArg(kernel, i, sizeof sampler, &sampler);
    } else {
      bool local = arg.kind == ArgKind::Local;
      clSetKernelArg(kernel, i, local ? arg.local_bytes : arg.bytes.size(),
                     local ? nullptr : arg.bytes.data());
    }
  }
  size_t global[3], block[3], offset[3];
  std::copy(c.global.begin(), c.global.end(), global);
  std::copy(c.local.begin(), c.local.end(), block);
  std::copy(c.offset.begin(), c.offset.end(), offset);
  cl_int status = clEnqueueNDRangeKernel(device.queue, kernel, 3, offset, global, block, 0, nullptr, nullptr);
  if (status != CL_SUCCESS) return "not launched: status " + std::to_string(status);
  for (size_t i = 0; i < after.size(); ++i)
    if (images[i] && !buffers[i]) {
      const ImageRegion region(after[i].image);
      clEnqueueReadImage(device.queue, images[i], CL_TRUE, region.origin, region.size, 0, 0,
                         after[i].bytes.data(), 0, nullptr, nullptr);
    } else if (buffers[i])
      clEnqueueReadBuffer(device.queue, buffers[i], CL_TRUE, 0, after[i].bytes.size(), after[i].bytes.data(),
                          0, nullptr, nullptr);
  return c.check(after).value_or("");
}

} // namespace

int main(int argc, char** argv) {
  int scale = argc > 2 ? std::atoi(argv[2]) : 0;
  if (scale < 1) return std::fputs("usage: kernel_cases_opencl SOURCE_FOLDER SCALE [CASE...]\n", stderr), 2;
  Device device;
  cl_platform_id platform = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device.id, nullptr) != CL_SUCCESS)
    return std::fputs("no OpenCL device\n", stderr), 2;
  device.context = clCreateContext(nullptr, 1, &device.id, nullptr, nullptr, nullptr);
  device.queue = clCreateCommandQueue(device.context, device.id, 0, nullptr);
  int failures = 0;
  for (const auto& entry : lanewise::kernels::all_cases()) {
    if (argc > 3 && std::find(argv + 3, argv + argc, entry.name) == argv + argc) continue;
    KernelCase c = entry.make(static_cast<uint32_t>(scale));
    if (c.gcn_only) continue;
    std::string error = run(device, c, argv[1]);
    failures += !error.empty() && error != kNoFormat;
    std::printf("%-32s %s\n", c.name.c_str(), error.empty() ? "ok" : error.c_str());
  }
  return failures != 0;
}
