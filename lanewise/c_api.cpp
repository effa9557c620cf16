// The C interface: every function is the C++ one, its error kept per thread.
#include "lanewise/lanewise.h"

#include "lanewise/lanewise.hpp"

#include <algorithm>
#include <exception>

using namespace lanewise;

struct lanewise_device {
  Device device;
};
struct lanewise_module {
  Module module;
  std::vector<std::string> names;
};
struct lanewise_kernel {
  Kernel kernel;
};

struct lanewise_image {
  Image image;
};
struct lanewise_sampler {
  Sampler sampler;
};
struct lanewise_texture {
  Texture texture;
};

namespace {

struct LastError {
  lanewise_status status = LANEWISE_SUCCESS;
  std::string message;
};
thread_local LastError last_error;

lanewise_status status_of(ErrorCode code) {
  switch (code) {
  case ErrorCode::Usage: return LANEWISE_USAGE;
  case ErrorCode::BadInput: return LANEWISE_BAD_INPUT;
  case ErrorCode::NotFound: return LANEWISE_NOT_FOUND;
  case ErrorCode::Unsupported: return LANEWISE_UNSUPPORTED;
  case ErrorCode::Fault: return LANEWISE_FAULT;
  case ErrorCode::Internal: return LANEWISE_INTERNAL;
  }
  return LANEWISE_INTERNAL;
}

/// Runs `call`, a Result<T>, and turns a value into make(value). Exceptions (memory) do not cross into C.
template <class Call, class Make>
auto guarded(Call call, Make make) -> decltype(make(*call())) {
  try {
    auto result = call();
    if (result) {
      last_error = {};
      return make(std::move(*result));
    }
    last_error = {status_of(result.error().code), result.error().message};
  } catch (const std::exception& error) {
    last_error.status = LANEWISE_INTERNAL;
    last_error.message.assign(error.what());
  }
  return {};
}

std::string_view text_or_empty(const char* text) { return text ? text : ""; }

DeviceOptions options_of(const lanewise_device_options& from) {
  DeviceOptions options;
  if (from.engine == LANEWISE_JIT) options.engine = Engine::Jit;
  if (from.engine == LANEWISE_INTERP) options.engine = Engine::Interp;
  if (from.simd == LANEWISE_AVX512) options.simd = Simd::Avx512;
  if (from.simd == LANEWISE_AVX2) options.simd = Simd::Avx2;
  options.threads = from.threads;
  options.no_fallback = from.no_fallback != 0;
  options.specialize = from.no_specialize == 0;
  options.disk_cache = from.disk_cache != 0;
  options.cache_folder = text_or_empty(from.cache_folder);
  return options;
}

lanewise_module* new_module(Module module) {
  auto names = module.kernel_names();
  return new lanewise_module{std::move(module), std::move(names)};
}

LaunchConfig config_of(const uint32_t grid[3], const uint32_t block[3]) {
  LaunchConfig config;
  std::copy_n(grid, 3, config.grid.begin());
  std::copy_n(block, 3, config.block.begin());
  return config;
}

// The enumerations have the same numbers; those that there are not are refused with the description.
ImageDescription description_of(const lanewise_image_description& from) {
  const auto extent = [](std::uint32_t size) { return std::max(size, 1u); };
  return {.geometry = static_cast<ImageGeometry>(from.geometry),
          .width = from.width,
          .height = extent(from.height),
          .depth = extent(from.depth),
          .layers = extent(from.layers),
          .order = static_cast<ChannelOrder>(from.order),
          .type = static_cast<ChannelType>(from.type)};
}

SamplerDescription description_of(const lanewise_sampler_description& from) {
  return {.normalized = from.normalized != 0,
          .linear = from.linear != 0,
          .addressing = static_cast<Addressing>(from.addressing)};
}

/// The status of a call that answers nothing.
template <class Call>
lanewise_status status_of_call(Call call) {
  guarded(
      [&]() -> Result<bool> {
        Result<void> done = call();
        if (!done) return std::move(done).error();
        return true;
      },
      [](bool done) { return done; });
  return last_error.status;
}

Argument argument_of(const lanewise_argument& from) {
  switch (from.kind) {
  case LANEWISE_IMAGE: return Argument::image(static_cast<const lanewise_image*>(from.data)->image);
  case LANEWISE_SURFACE: return Argument::surface(static_cast<const lanewise_image*>(from.data)->image);
  case LANEWISE_SAMPLER: return Argument::sampler(static_cast<const lanewise_sampler*>(from.data)->sampler);
  case LANEWISE_TEXTURE: return Argument::texture(static_cast<const lanewise_texture*>(from.data)->texture);
  case LANEWISE_POINTER: return Argument::pointer(from.data);
  case LANEWISE_LDS:
    return Argument::lds(from.size < 0xffff'ffffu ? static_cast<std::uint32_t>(from.size) : 0xffff'ffffu);
  case LANEWISE_VALUE: break;
  }
  return Argument::bytes({static_cast<const std::byte*>(from.data), from.size});
}

} // namespace

lanewise_status lanewise_error_status(void) { return last_error.status; }
const char* lanewise_error_message(void) { return last_error.message.c_str(); }

lanewise_device* lanewise_device_create(const lanewise_device_options* options) {
  return guarded([&] { return Device::create(options ? options_of(*options) : DeviceOptions()); },
                 [](Device device) { return new lanewise_device{std::move(device)}; });
}

void lanewise_device_free(lanewise_device* device) { delete device; }

lanewise_module* lanewise_module_load_file(lanewise_device* device, const char* path, const char* target) {
  return guarded([&] { return device->device.load_file(path, text_or_empty(target)); }, new_module);
}

lanewise_module* lanewise_module_load(lanewise_device* device, const void* bytes, size_t size,
                                      const char* target) {
  return guarded(
      [&] {
        return device->device.load({static_cast<const std::byte*>(bytes), size}, text_or_empty(target));
      },
      new_module);
}

void lanewise_module_free(lanewise_module* module) { delete module; }

size_t lanewise_module_kernel_count(const lanewise_module* module) { return module->names.size(); }

const char* lanewise_module_kernel_name(const lanewise_module* module, size_t index) {
  return index < module->names.size() ? module->names[index].c_str() : nullptr;
}

lanewise_kernel* lanewise_module_kernel(lanewise_module* module, const char* name) {
  return guarded([&] { return module->module.kernel(text_or_empty(name)); },
                 [](Kernel kernel) { return new lanewise_kernel{std::move(kernel)}; });
}

void* lanewise_module_variable(lanewise_module* module, const char* name, size_t* size) {
  return guarded([&] { return module->module.variable(text_or_empty(name)); },
                 [&](std::span<std::byte> variable) -> void* {
                   if (size) *size = variable.size();
                   return variable.data();
                 });
}

lanewise_image* lanewise_image_create(const lanewise_image_description* description) {
  return guarded([&] { return Image::create(description_of(*description)); },
                 [](Image image) { return new lanewise_image{std::move(image)}; });
}

void lanewise_image_free(lanewise_image* image) { delete image; }

lanewise_status lanewise_image_write(lanewise_image* image, const void* texels, size_t size) {
  return status_of_call([&] { return image->image.write({static_cast<const std::byte*>(texels), size}); });
}

lanewise_status lanewise_image_read(const lanewise_image* image, void* texels, size_t size) {
  return status_of_call([&] { return image->image.read({static_cast<std::byte*>(texels), size}); });
}

void* lanewise_image_texels(lanewise_image* image, size_t* pitch) {
  if (pitch) *pitch = image->image.pitch();
  return image->image.row(0).data();
}

lanewise_sampler* lanewise_sampler_create(const lanewise_sampler_description* description) {
  return guarded([&] { return Sampler::create(description_of(*description)); },
                 [](Sampler sampler) { return new lanewise_sampler{std::move(sampler)}; });
}

void lanewise_sampler_free(lanewise_sampler* sampler) { delete sampler; }

lanewise_texture* lanewise_texture_create(const lanewise_image* image,
                                          const lanewise_sampler_description* sampler) {
  return guarded([&] { return Texture::create(image->image, description_of(*sampler)); },
                 [](Texture texture) { return new lanewise_texture{std::move(texture)}; });
}

void lanewise_texture_free(lanewise_texture* texture) { delete texture; }

void lanewise_kernel_free(lanewise_kernel* kernel) { delete kernel; }

lanewise_status lanewise_kernel_prepare(lanewise_kernel* kernel, const uint32_t grid[3],
                                        const uint32_t block[3]) {
  guarded(
      [&] {
        return grid && block ? kernel->kernel.prepare(config_of(grid, block)) : kernel->kernel.prepare();
      },
      [](const Preparation&) { return true; });
  return last_error.status;
}

lanewise_status lanewise_kernel_launch(lanewise_kernel* kernel, const uint32_t grid[3],
                                       const uint32_t block[3], const lanewise_argument* arguments,
                                       size_t argument_count, lanewise_times* times) {
  guarded(
      [&] {
        std::vector<Argument> list;
        for (size_t i = 0; i < argument_count; ++i) list.push_back(argument_of(arguments[i]));
        return kernel->kernel.launch(config_of(grid, block), list);
      },
      [&](const LaunchTimes& taken) {
        if (times) *times = {taken.wall_ms, taken.cpu_ms};
        return true;
      });
  return last_error.status;
}
