// From a launch's arguments to a dispatch, and from its faults to an error.
#include "lanewise/engines.hpp"
#include "lanewise/images.hpp"
#include "lanewise/launch_facts.hpp"
#include "lanewise/printf_buffer.hpp"

#include "runtime/kernel_waves.hpp"
#include "support/stop_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace lanewise {
namespace {

/// The kernarg segment in memory that the guest reads. Wide scalar loads may run past its end, hence the
/// slack.
class KernargMemory {
public:
  explicit KernargMemory(const abi::KernargSegment& segment) {
    constexpr std::size_t kSlack = 256;
    const std::size_t alignment = std::max<std::size_t>(segment.alignment, 64);
    const std::size_t bytes = align_up(segment.bytes.size() + kSlack, alignment);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
    if (!memory_) return;
    std::memset(memory_.get(), 0, bytes);
    std::copy(segment.bytes.begin(), segment.bytes.end(), memory_.get());
  }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }

private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// The service that an access to `address` asked for in vain; empty if none.
std::string_view missing_service(const Device::State& device, u64 address) {
  constexpr u64 kReach = 4096; // of a service's data from the pointer to it
  const auto belongs_to = [&](const runtime::GuardedBuffer& nothing) {
    return nothing.data() && address - reinterpret_cast<u64>(nothing.data()) < kReach;
  };
  if (belongs_to(device.no_hostcalls))
    return "calls of the host (printf, assert, malloc) in another way than the device library's";
  if (belongs_to(device.no_default_queue)) return "a queue to launch kernels from kernels";
  return {};
}

/// Recompiled code leaves where it meets bytes that are no instruction: as if it had jumped out of the code
/// to them. The report becomes what the interpreter's is, which has tried to execute them.
void name_undecodable(const Module::State& module, u64 entry, runtime::FaultReport& report) {
  if (report.kind != runtime::FaultKind::BadJump || report.address % 4 != 0) return;
  if (!module.image.text_at(report.address) || !instruction_text(module, report.address).empty()) return;
  report.kind = runtime::FaultKind::Illegal;
  report.pc = report.address;
  report.offset = report.pc - entry;
  report.address = 0;
}

/// What people are told of a fault in the kernel whose code begins at `entry`.
Fault describe(const Module::State& module, u64 entry, const runtime::FaultReport& raw) {
  runtime::FaultReport report = raw;
  name_undecodable(module, entry, report);
  report.instruction = instruction_text(module, report.pc);
  Fault fault;
  fault.message = report.line();
  if (const auto missing = missing_service(*module.device, report.address);
      report.kind == runtime::FaultKind::Memory && !missing.empty())
    fault.message += fmt::format("; the kernel asks for {}, which Lanewise does not have", missing);
  fault.kernel = report.kernel;
  fault.instruction = report.instruction;
  fault.pc = report.pc;
  fault.offset = report.offset;
  std::copy(std::begin(report.workgroup), std::end(report.workgroup), fault.workgroup.begin());
  fault.wave = report.wave;
  fault.lane = report.lane;
  fault.address = report.address;
  return fault;
}

/// Names the workgroup in place of the lane that it was. The first of the wave, if no lane is known.
void unpack(runtime::FaultReport& report, u32 workgroups_per_wave) {
  report.workgroup[0] *= workgroups_per_wave;
  if (report.lane < 0) return;
  report.workgroup[0] += static_cast<u32>(report.lane);
  report.lane = 0;
}

/// What the LDS is allotted in (docs/SEMANTICS.md, "LDS limit").
constexpr u32 kLdsGranule = 16;

abi::ArgumentValue argument_value(const Argument& argument, isa::Target target) {
  using Kind = abi::ArgumentValue::Kind;
  const auto object = [&](Kind kind) {
    abi::ArgumentValue value = abi::ArgumentValue::of(object_for(argument, target));
    value.kind = kind;
    return value;
  };
  const auto bytes = [&](Kind kind) {
    return abi::ArgumentValue{{argument.data().begin(), argument.data().end()}, {}, kind};
  };
  switch (argument.kind()) {
  case Argument::Kind::Bytes: return bytes(Kind::Any);
  case Argument::Kind::Pointer: return bytes(Kind::Buffer);
  case Argument::Kind::Lds: return abi::ArgumentValue::local(argument.lds_bytes());
  case Argument::Kind::Image: return object(Kind::Image);
  case Argument::Kind::Sampler: return object(Kind::Sampler);
  case Argument::Kind::Texture:
  case Argument::Kind::Surface: return object(Kind::Buffer); // for the kernel a pointer like others
  }
  return {};
}

std::vector<abi::ArgumentValue> argument_values(std::span<const Argument> arguments, isa::Target target) {
  std::vector<abi::ArgumentValue> values;
  for (const Argument& argument : arguments) values.push_back(argument_value(argument, target));
  return values;
}

abi::DispatchShape shape_of(const LaunchConfig& config) {
  abi::DispatchShape shape;
  shape.grid = config.grid;
  shape.workgroup = config.block;
  return shape;
}

abi::HiddenValues hidden_values(const Kernel::State& state, const LaunchConfig& config) {
  abi::HiddenValues hidden = steady_hidden_values();
  hidden.global_offset = config.offset;
  const Device::State& device = *state.module.device;
  hidden.queue_ptr = reinterpret_cast<u64>(&device.queue);
  hidden.hostcall_buffer =
      state.calls_host ? device.host_calls.buffer() : reinterpret_cast<u64>(device.no_hostcalls.data());
  hidden.heap_v1 = device.host_calls.heap();
  hidden.default_queue = reinterpret_cast<u64>(device.no_default_queue.data());
  return hidden;
}

/// LANEWISE_ASSUME_VALUES, for tests and measurements: every launch has a version for the values it passes.
bool assumes_values() {
  const char* text = std::getenv("LANEWISE_ASSUME_VALUES");
  return text != nullptr && *text == '1';
}

translator::LaunchFacts facts_of(const Kernel::State& state, const LaunchConfig& config,
                                 const abi::KernargSegment& kernarg = {},
                                 std::span<const Argument> arguments = {}) {
  const isa::Target target = state.module.object.target.isa;
  translator::LaunchFacts facts =
      launch_facts(state.kernel, target, shape_of(config), hidden_values(state, config), kernarg.bytes,
                   kernarg.dynamic_lds_bytes);
  facts.descriptors =
      descriptors_passed(state.kernel, target, descriptors_among(state.kernel, target, arguments));
  if (assumes_values())
    for (const auto& value : values_passed(state.kernel, target, kernarg.bytes))
      facts.dwords.push_back(value);
  return facts;
}

/// A launch whose sizes and arguments have been found to fit the kernel.
struct Checked {
  abi::DispatchShape shape;
  abi::KernargSegment kernarg;
};

Result<Checked> check_launch(const Kernel::State& state, const LaunchConfig& config,
                             std::span<const Argument> arguments, u64 printf_buffer) {
  const isa::Target target = state.module.object.target.isa;
  Checked checked;
  checked.shape = shape_of(config);
  auto fits = abi::check_dispatch(state.kernel, target, checked.shape, 0);
  if (!fits) return std::move(fits).error();
  abi::HiddenValues hidden = hidden_values(state, config);
  hidden.printf_buffer = printf_buffer;
  auto kernarg = abi::build_kernarg(state.kernel, argument_values(arguments, target), checked.shape, hidden);
  if (!kernarg) return std::move(kernarg).error();
  checked.kernarg = std::move(*kernarg);
  fits = abi::check_dispatch(state.kernel, target, checked.shape, checked.kernarg.dynamic_lds_bytes);
  if (!fits) return std::move(fits).error();
  return checked;
}

/// What the kernel finds through its dispatch pointer.
abi::KernelDispatchPacket make_packet(const Kernel::State& state, const Checked& checked,
                                      const std::byte* kernarg) {
  abi::KernelDispatchPacket packet = dispatch_packet(checked.shape);
  // A kernel that calls what its compiler could not see does not know how much stack it needs.
  constexpr u32 kDynamicStack = 16 << 10;
  const bool dynamic =
      state.kernel.descriptor.uses_dynamic_stack() || state.kernel.resources.uses_dynamic_stack;
  packet.private_segment_size = abi::scratch_lane_bytes(state.kernel.descriptor, dynamic ? kDynamicStack : 0);
  packet.group_segment_size = state.info.lds_bytes + checked.kernarg.dynamic_lds_bytes;
  packet.kernel_object = state.module.image.descriptor(state.kernel);
  packet.kernarg_address = reinterpret_cast<u64>(kernarg);
  return packet;
}

/// As the engine wants the workgroups: WaveEngine::workgroups_per_wave().
abi::DispatchInfo make_info(const Kernel::State& state, const Checked& checked,
                            const abi::KernelDispatchPacket& packet, u32 workgroups_per_wave) {
  abi::DispatchInfo info;
  info.shape = checked.shape;
  info.shape.workgroup[0] *= workgroups_per_wave;
  info.kernarg_ptr = packet.kernarg_address;
  info.dispatch_ptr = reinterpret_cast<u64>(&packet);
  info.queue_ptr = reinterpret_cast<u64>(&state.module.device->queue);
  info.scratch_lane_bytes = packet.private_segment_size;
  return info;
}

/// A version of a kernel, ready to be dispatched.
struct Dispatchable {
  const Prepared& version;
  const abi::DispatchInfo info;
  const runtime::KernelWaves waves;
  runtime::DispatchRequest request;

  Dispatchable(Kernel::State& state, const Prepared& prepared, const Checked& checked,
               const abi::KernelDispatchPacket& packet)
      : version(prepared), info(make_info(state, checked, packet, packed())),
        waves(*prepared.engine, state.kernel.descriptor, state.module.object.target.isa, info),
        request(make_request(*prepared.engine, waves, info,
                             align_up(packet.group_segment_size, kLdsGranule) * packed())) {
    request.kernel = state.info.name;
    request.entry = state.module.image.entry(state.kernel);
    request.may_wait = state.may_wait();
  }
  Dispatchable(const Dispatchable&) = delete;
  Dispatchable& operator=(const Dispatchable&) = delete;

  [[nodiscard]] u32 packed() const { return version.engine->workgroups_per_wave(); }
};

/// The rest of a long launch runs in a version made for the values it passes, once that pays and is there.
class Rest final : public runtime::LaterCode {
public:
  Rest(Kernel::State& state, const Prepared* usual, const SteadyArguments::Values& values,
       const Checked& checked, const abi::KernelDispatchPacket& packet)
      : state_(state), usual_(usual), values_(values), checked_(checked), packet_(packet) {}

  const runtime::DispatchRequest* find() override {
    if (const auto* const found = found_.load(std::memory_order_acquire)) return found;
    const u64 now = clock_.ns();
    u64 next = next_look_ns_.load(std::memory_order_relaxed);
    if (now < next || !next_look_ns_.compare_exchange_strong(next, now + kLookNs)) return nullptr;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || rest_) return nullptr;
    const double cpu_ms = static_cast<double>(now) * 1e-6 * state_.module.device->dispatcher.threads();
    const Prepared* const version = state_.prepare_for_rest(usual_, values_, cpu_ms);
    if (version == nullptr || version->engine->workgroups_per_wave() != usual_->engine->workgroups_per_wave())
      return nullptr;
    rest_.emplace(state_, *version, checked_, packet_);
    found_.store(&rest_->request, std::memory_order_release);
    return &rest_->request;
  }
  /// The version in which the launch ended; null if that was the usual one.
  [[nodiscard]] const Prepared* version() const { return rest_ ? &rest_->version : nullptr; }

private:
  static constexpr u64 kLookNs = 2'000'000; ///< from look to look
  Kernel::State& state_;
  const Prepared* usual_;
  const SteadyArguments::Values& values_;
  const Checked& checked_;
  const abi::KernelDispatchPacket& packet_;
  const StopClock clock_;
  std::atomic<u64> next_look_ns_ = kLookNs;
  std::mutex mutex_;
  std::optional<Dispatchable> rest_;
  std::atomic<const runtime::DispatchRequest*> found_ = nullptr;
};

/// Runs a launch that has been checked, and which `packet` describes.
Result<LaunchTimes> dispatch(Kernel::State& state, const Checked& checked,
                             const abi::KernelDispatchPacket& packet, const translator::LaunchFacts& facts,
                             Fault* fault, runtime::Dispatcher* beside = nullptr) {
  auto prepared = state.prepare(facts, &checked.shape);
  if (!prepared) return std::move(prepared).error();
  const auto values = values_passed(state.kernel, state.module.object.target.isa, checked.kernarg.bytes);
  const Prepared* const version = state.prepare_for_values(*prepared, values);
  Dispatchable dispatchable(state, *version, checked, packet);
  runtime::DispatchRequest& request = dispatchable.request;
  if (!beside) request.history = (*prepared)->history.get(); // one of both versions: their times are compared
  std::optional<Rest> rest;
  if (version == *prepared && state.may_specialize(version, values))
    request.later = &rest.emplace(state, version, values, checked, packet);
  runtime::DispatchTimes times;
  auto outcome = (beside ? *beside : state.module.device->dispatcher).run(request, &times);
  if (!outcome) return std::move(outcome).error();
  if (!*outcome) {
    const Prepared* const changed = rest ? rest->version() : nullptr; // tells nothing of either version
    if (changed == nullptr && !beside)
      state.count_launch(*prepared, version, values,
                         {times.cpu_ms, times.threads, checked.shape.workgroup_count()});
    return LaunchTimes{times.wall_ms, times.cpu_ms, times.threads, &(changed ? changed : version)->how};
  }
  if (dispatchable.packed() > 1) unpack(**outcome, dispatchable.packed());
  Fault described = describe(state.module, request.entry, **outcome);
  if (fault) *fault = described;
  return Error{ErrorCode::Fault, described.message};
}

} // namespace

Result<Preparation> Kernel::prepare(const LaunchConfig& config) const {
  auto fits = abi::check_dispatch(state_->kernel, state_->module.object.target.isa, shape_of(config), 0);
  if (!fits) return std::move(fits).error();
  auto prepared = state_->prepare(facts_of(*state_, config));
  if (!prepared) return std::move(prepared).error();
  return (*prepared)->how;
}

Result<LaunchTimes> Kernel::launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                   Fault* fault) const {
  Kernel::State& state = *state_;
  std::optional<PrintfBuffer> printf_buffer;
  if (state.stores_printf) printf_buffer.emplace();
  if (printf_buffer && printf_buffer->address() == 0)
    return Error{ErrorCode::Usage, state.info.name + ": not enough memory for the text of its printf"};
  auto checked = check_launch(state, config, arguments, printf_buffer ? printf_buffer->address() : 0);
  if (!checked) return std::move(checked).error();
  const KernargMemory kernarg(checked->kernarg);
  if (!kernarg.data())
    return Error{ErrorCode::Usage, state.info.name + ": not enough memory for the kernel's arguments"};
  std::jthread host;
  if (state.calls_host)
    host = std::jthread([&](const std::stop_token& stop) { state.module.device->host_calls.serve(stop); });
  auto times = dispatch(state, *checked, make_packet(state, *checked, kernarg.data()),
                        facts_of(state, config, checked->kernarg, arguments), fault);
  if (printf_buffer) printf_buffer->print(state.module.object.printf_formats, state.module.device->output);
  return times;
}

Result<LaunchTimes> launch(Kernel::State& state, const abi::KernelDispatchPacket& packet,
                           std::span<const PassedDescriptor> descriptors, Fault* fault,
                           runtime::Dispatcher* beside) {
  const isa::Target target = state.module.object.target.isa;
  Checked checked;
  checked.shape.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  checked.shape.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  checked.kernarg.dynamic_lds_bytes =
      packet.group_segment_size - std::min(packet.group_segment_size, state.info.lds_bytes);
  auto fits = abi::check_dispatch(state.kernel, target, checked.shape, checked.kernarg.dynamic_lds_bytes);
  if (!fits) return std::move(fits).error();
  const auto* const kernarg = reinterpret_cast<const std::byte*>(packet.kernarg_address);
  if (const std::size_t bytes = abi::kernarg_segment_size(state.kernel); bytes != 0)
    checked.kernarg.bytes.assign(kernarg, kernarg + bytes);
  translator::LaunchFacts facts = launch_facts(state.kernel, target, checked.shape, steady_hidden_values(),
                                               checked.kernarg.bytes, checked.kernarg.dynamic_lds_bytes);
  facts.descriptors = descriptors_passed(state.kernel, target, descriptors);
  return dispatch(state, checked, make_packet(state, checked, kernarg), facts, fault, beside);
}

} // namespace lanewise
