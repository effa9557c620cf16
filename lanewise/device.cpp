#include "lanewise/engines.hpp"

#include "lanewise/input_file.hpp"

namespace lanewise {
Result<std::shared_ptr<Module::State>> load_module(const std::shared_ptr<Device::State>& device,
                                                   std::span<const std::byte> bytes, const std::string& name,
                                                   std::string_view target, std::string_view kernel) {
  auto object = load_code_object(bytes, name, target, kernel);
  if (!object) return std::move(object).error();
  auto image = abi::LoadedImage::create(*object);
  if (!image) {
    // A symbol that nobody defines is a defect of the file, not a wrong name on the caller's side.
    Error error = std::move(image).error().in(name);
    if (error.code == ErrorCode::NotFound) error.code = ErrorCode::BadInput;
    return error;
  }
  auto module = std::make_shared<Module::State>(device, std::move(*object), std::move(*image));
  if (auto stored = read_shared_object(bytes)) {
    if (*stored)
      module->stored = std::move(**stored);
    else
      module->stored_note = "translations not used: " + stored->error().message;
  }
  return module;
}

Device::State::State(const DeviceOptions& wanted)
    : options(wanted), dispatcher(wanted.threads), output(wanted.output ? wanted.output : stdout),
      host_calls(dispatcher.threads(), output) {
  queue.group_segment_aperture_base_hi = static_cast<u32>(runtime::kSharedAperture >> 32);
  queue.private_segment_aperture_base_hi = static_cast<u32>(runtime::kPrivateAperture >> 32);
  for (runtime::GuardedBuffer* missing : {&no_hostcalls, &no_default_queue})
    if (auto nothing = runtime::GuardedBuffer::allocate(0)) *missing = std::move(*nothing);
}

Result<std::shared_ptr<Device::State>> create_device(const DeviceOptions& options) {
  DeviceOptions resolved = options;
  if (options.simd == Simd::Auto) resolved.simd = host_supports(Simd::Avx512) ? Simd::Avx512 : Simd::Avx2;
  if (!host_supports(Simd::Avx2))
    return Error{ErrorCode::Unsupported, "this CPU lacks AVX2, FMA, F16C or BMI2, which all engines need"};
  if (!host_supports(resolved.simd))
    return Error{ErrorCode::Usage, "this CPU has no AVX-512 (F, BW, DQ, VL, CD); use --simd avx2"};
  auto state = std::make_shared<Device::State>(resolved);
  state->any_simd = options.simd == Simd::Auto;
  if (options.disk_cache) state->cache.emplace(options.cache_folder);
  return state;
}

Result<Device> Device::create(const DeviceOptions& options) {
  auto state = create_device(options);
  if (!state) return std::move(state).error();
  return Device(std::move(*state));
}

Engine Device::engine() const { return state_->options.engine; }
Simd Device::simd() const { return state_->options.simd; }
unsigned Device::threads() const { return state_->dispatcher.threads(); }

Result<Module> Device::load_file(const std::string& path, std::string_view target,
                                 std::string_view kernel) const {
  auto bytes = read_file(path);
  if (!bytes) return std::move(bytes).error();
  auto module = load_module(state_, *bytes, path, target, kernel);
  if (!module) return std::move(module).error();
  return Module(std::move(*module));
}

Result<Module> Device::load(std::span<const std::byte> bytes, std::string_view target,
                            std::string_view kernel) const {
  auto module = load_module(state_, bytes, "code object in memory", target, kernel);
  if (!module) return std::move(module).error();
  return Module(std::move(*module));
}

Result<Buffer> Buffer::allocate(std::uint64_t bytes) {
  auto memory = runtime::GuardedBuffer::allocate(bytes);
  if (!memory) return std::move(memory).error();
  Buffer buffer;
  buffer.state_ = std::make_shared<State>(State{std::move(*memory)});
  return buffer;
}

std::byte* Buffer::data() const {
  return state_ ? reinterpret_cast<std::byte*>(state_->memory.data()) : nullptr;
}
std::uint64_t Buffer::size() const { return state_ ? state_->memory.size() : 0; }

} // namespace lanewise
