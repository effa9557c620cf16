// What the public handles share: internal to lanewise/.
#pragma once

#include "abi/hsa_packets.hpp"
#include "abi/loaded_image.hpp"
#include "lanewise/disk_cache.hpp"
#include "lanewise/host_calls.hpp"
#include "lanewise/lanewise.hpp"
#include "lanewise/shared_object.hpp"
#include "lanewise/small_launches.hpp"
#include "lanewise/steady_arguments.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/memory.hpp"

#include <deque>
#include <map>
#include <mutex>

namespace lanewise {

struct [[gnu::visibility("hidden")]] Buffer::State {
  runtime::GuardedBuffer memory;
};

struct [[gnu::visibility("hidden")]] Device::State {
  explicit State(const DeviceOptions& wanted);

  DeviceOptions options; ///< simd is never Auto
  bool any_simd = false; ///< it was Auto: other code that the host can run will do
  std::optional<DiskCache> cache;
  runtime::Dispatcher dispatcher;
  std::FILE* output; ///< of kernels
  HostCalls host_calls;
  abi::AmdQueue queue; ///< what kernels see through their queue pointer
  /// What kernels get in place of services that do not exist: memory without an accessible byte, so that who
  /// wants one is known by the address of its fault.
  runtime::GuardedBuffer no_hostcalls, no_default_queue;
};

struct [[gnu::visibility("hidden")]] Kernel::State {
  State(Module::State & owner, const abi::Kernel& declared);

  /// The version for launches with these facts, translated at the first call; one that knows less if there
  /// are too many already, or if the engine has no use for facts. With `launch`, the interpreter if that is
  /// what pays for a launch of this shape.
  Result<const Prepared*> prepare(const translator::LaunchFacts& facts,
                                  const abi::DispatchShape* launch = nullptr);
  /// The version to run in place of `usual` for a launch that passes these values: one made for them, if
  /// there is one and it is faster.
  const Prepared* prepare_for_values(const Prepared* usual, const SteadyArguments::Values& values);
  /// The version for the rest of a launch that runs in `usual` and has taken `cpu_ms` so far, if there is
  /// one. Does not wait for whoever prepares something else meanwhile.
  const Prepared* prepare_for_rest(const Prepared* usual, const SteadyArguments::Values& values,
                                   double cpu_ms);
  /// Whether launches of `usual` may run in versions made for the values they pass.
  [[nodiscard]] bool may_specialize(const Prepared* usual, const SteadyArguments::Values& values) const;
  /// Tells how long a launch of what prepare_for_values() answered took. Begins to make a version for the
  /// values when it is time, unless the usual one was made ahead of time.
  void count_launch(const Prepared* usual, const Prepared* version, const SteadyArguments::Values& values,
                    const SteadyArguments::Cost& cost);

  /// Whether workgroups may wait for others (lanewise/group_waits.hpp).
  [[nodiscard]] bool may_wait();

  Module::State& module;
  const abi::Kernel& kernel;
  KernelInfo info;
  bool calls_host;    ///< it may, by the device library's protocol
  bool stores_printf; ///< as OpenCL kernels do

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Prepared>> versions_;
  std::optional<bool> runs_straight_;
  std::once_flag asked_whether_it_waits_;
  bool may_wait_ = false;
  std::unique_ptr<Prepared> interpreter_; ///< for small launches
  SmallLaunches small_;
  std::map<const Prepared*, SteadyArguments> steady_; ///< by the usual version, one of versions_

  Result<const Prepared*> add(Result<Prepared> made);
  /// Makes versions of `usual` for the values.
  SteadyArguments::Make make_for(const Prepared* usual, const SteadyArguments::Values& values);
  /// The version for a small launch: stored, translated meanwhile, or the interpreter; null if it is to be
  /// translated for.
  Result<const Prepared*> prepare_small(const translator::LaunchFacts& facts,
                                        const abi::DispatchShape& launch);
};

struct [[gnu::visibility("hidden")]] Module::State {
  State(std::shared_ptr<Device::State> on, abi::CodeObject loaded, abi::LoadedImage mapped);

  std::shared_ptr<Device::State> device;
  abi::CodeObject object;
  abi::LoadedImage image;
  std::optional<StoredKernels> stored; ///< translations that the file brought along
  std::string stored_note;             ///< why those that it did bring are not there
  /// One per object.kernels, in that order; a deque since they do not move.
  std::deque<Kernel::State> kernels;
};

/// What Device::create() and Device::load() make; `name` is what errors call the file.
Result<std::shared_ptr<Device::State>> create_device(const DeviceOptions& options);
Result<std::shared_ptr<Module::State>> load_module(const std::shared_ptr<Device::State>& device,
                                                   std::span<const std::byte> bytes, const std::string& name,
                                                   std::string_view target, std::string_view kernel);

/// A variable of the module by the symbol's name.
Result<std::span<std::byte>> find_variable(const Module::State& module, std::string_view name);

struct PassedDescriptor;
/// Runs the kernel as a dispatch packet has it whose kernarg segment is complete, hidden arguments and all:
/// what launches of the public interface make of their arguments. Nobody changes the descriptors meanwhile.
/// `beside`, if any, is the dispatcher to run it in place of the device's, which has another kernel to run.
/// Errors: as theirs.
Result<LaunchTimes> launch(Kernel::State& kernel, const abi::KernelDispatchPacket& packet,
                           std::span<const PassedDescriptor> descriptors, Fault* fault,
                           runtime::Dispatcher* beside = nullptr);

/// Whether the kernel's code, or a function that it might call, uses what each dispatcher has one of, the GDS
/// and its counters: it must not run beside the device's dispatcher. Looks through the code.
bool may_use_gds(const Kernel::State& kernel);

} // namespace lanewise
