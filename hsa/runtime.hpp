// What the functions of the HSA runtime share: internal to hsa/.
//
// libhsa-runtime64.so.1 in place of ROCm's, so that HIP programs run unmodified where there is no GPU. There
// is one CPU agent and one GPU agent, whose memory is the host's: copies are memcpy, and queues are threads
// that give dispatch packets to Lanewise. Interfaces and structures are those of ROCm's headers (hsa/hsa.h,
// hsa/hsa_ext_amd.h).
#pragma once

#include "abi/image.hpp"
#include "isa/op.hpp"
#include "lanewise/launch_facts.hpp"
#include "lanewise/state.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

// What it is made of is hidden, too.
#pragma GCC visibility push(hidden)
namespace lanewise::hsa {

inline constexpr hsa_agent_t kCpuAgent = {1}, kGpuAgent = {2};
/// The CPU agent's pools, then the GPU agent's; their handles.
enum Pool : u64 {
  kFineGrained = 1,
  kKernarg,
  kCoarseGrained,
  kDeviceLocal,
  kDeviceFineGrained,
  kGroupMemory
};

/// Nanoseconds of the clock in which all times are told.
u64 now_ns();

/// Lets threads wait for what others change in memory. Kernels change signals without telling, hence the
/// time-out.
class Changes {
public:
  void announce();
  /// Returns when `condition` holds (true) or `deadline_ns` has passed. Looks again after each announcement,
  /// and now and then without one.
  bool wait(const std::function<bool()>& condition, u64 deadline_ns = ~u64{0});

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<u32> waiting_ = 0;
};

/// A signal: an amd_signal_t, which kernels know, at its start.
struct alignas(64) Signal {
  amd_signal_t shared = {};
  /// Of a doorbell: its queue alone is told, so that not all wake up; without this, all who wait.
  std::function<void()> told;
  [[nodiscard]] std::atomic_ref<i64> value() {
    return std::atomic_ref<i64>(*const_cast<i64*>(reinterpret_cast<volatile i64*>(&shared.value)));
  }
};
inline Signal& signal_of(hsa_signal_t handle) { return *reinterpret_cast<Signal*>(handle.handle); }

/// Changes a signal's value and tells who waits for it.
void set_signal(hsa_signal_t signal, i64 value);
void add_to_signal(hsa_signal_t signal, i64 value);
bool holds(hsa_signal_condition_t condition, i64 value, i64 compare);

/// Memory that programs were given, or have named.
struct Allocation {
  u64 bytes = 0;
  hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  hsa_agent_t owner = {};
  u32 global_flags = 0;
  void* user_data = nullptr;
  bool ours = false;  ///< to be freed
  u64 agent_base = 0; ///< of locked memory: its address for the agent, see AgentView
  unsigned locks = 0; ///< of locked memory
};

/// Addresses at which an agent is told that it has memory of the host, once that is locked. There is nothing:
/// HIP takes for granted that these are not the host's (hipHostUnregister forgets both, and aborts when they
/// are one), so that they are put right wherever they come back.
struct AgentView {
  u64 bytes = 0;   ///< with inaccessible pages around, so that pointers to the end belong to it
  u64 to_host = 0; ///< to be added, modulo 2^64
};

/// What a program has asked for by name: a kernel, or a variable.
struct Symbol {
  std::string name;
  Kernel::State* kernel = nullptr;
  std::span<std::byte> variable;
  u64 object = 0; ///< a kernel's descriptor
};

/// Code objects that a program has loaded together.
struct Executable {
  std::vector<std::shared_ptr<Module::State>> modules;
  std::map<std::string, std::unique_ptr<Symbol>> symbols; ///< that were asked for
};

/// Answers a question about an attribute.
template <class T>
hsa_status_t put(void* value, T x) {
  std::memcpy(value, &x, sizeof x);
  return HSA_STATUS_SUCCESS;
}

/// Things that are done once something holds, by a thread or by who has just made it hold.
class Tasks {
public:
  explicit Tasks(Changes& changes) : changes_(changes) {}
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  struct Task {
    std::function<bool()> is_due;
    std::function<bool()> run; ///< true: it is to be done again
    hsa_signal_t signal = {};  ///< it goes with this one
  };
  void add(Task task);
  void drop(hsa_signal_t signal);
  /// Does here what is due.
  void run_due();

private:
  Changes& changes_;
  std::mutex mutex_;
  std::condition_variable_any some_; ///< there are tasks
  std::vector<Task> waiting_, added_;
  std::jthread thread_; ///< from the first task on
  void serve(const std::stop_token& stop);
};

/// Runs kernels of all queues one after the other, each on all threads; of those that wait, one whose queue
/// has the highest priority. Where the one that runs takes long, it may be waiting for what another queue's
/// kernel stores: then others run beside it, with workers of their own.
class KernelTurns {
public:
  /// Calls `run`, with null when the kernel's turn on the device has come, with a dispatcher to run it in
  /// beside another. Kernels that `may_use_gds()` wait for their turn; it is asked when it matters.
  template <class MayUseGds, class Run>
  void take(const Device::State& device, hsa_amd_queue_priority_t priority, const MayUseGds& may_use_gds,
            const Run& run) {
    if (wait(priority, may_use_gds)) {
      run(nullptr);
      return give_back();
    }
    auto beside = spare(device);
    run(beside.get());
    const std::lock_guard lock(mutex_);
    spares_.push_back(std::move(beside));
  }

private:
  using Clock = std::chrono::steady_clock;
  using Priority = hsa_amd_queue_priority_t;
  std::mutex mutex_;
  bool taken_ = false;
  // Of who has the turn, or had it last:
  Clock::time_point since_;
  Priority priority_ = HSA_AMD_QUEUE_PRIORITY_NORMAL;
  /// The highest priority first, and of these who came first.
  std::multimap<Priority, std::condition_variable*, std::greater<>> waiting_;
  std::vector<std::unique_ptr<runtime::Dispatcher>> spares_;

  /// True: the turn has come. False: it may last.
  bool wait(Priority priority, const std::function<bool()>& may_use_gds);
  void give_back();
  std::unique_ptr<runtime::Dispatcher> spare(const Device::State& device);
};

/// All there is while the runtime is initialised.
struct Runtime {
  Runtime(std::shared_ptr<Device::State> on, isa::Target gfx);

  std::shared_ptr<Device::State> device;
  isa::Target target;
  Changes changes;

  std::mutex memory_mutex;
  std::map<u64, Allocation> allocations; ///< by address
  /// The allocation that contains the address, or the end. With memory_mutex held.
  std::map<u64, Allocation>::iterator find_allocation(const void* address);
  std::map<u64, AgentView> agent_views; ///< by address
  std::atomic<bool> has_agent_views = false;
  /// Where the host has what a program names by this address.
  u64 host_address(u64 address);
  template <class T>
  T* host_address(T* pointer) {
    return reinterpret_cast<T*>(host_address(reinterpret_cast<u64>(pointer)));
  }
  /// Makes addresses of the host of all in a kernarg segment that are an agent's.
  void use_host_addresses(std::span<u64> kernarg);

  std::mutex kernels_mutex;
  struct KernelEntry {
    std::shared_ptr<Module::State> module; ///< keeps the kernel
    Kernel::State* kernel;
  };
  std::map<u64, KernelEntry> kernels;                     ///< by the address of the descriptor
  std::map<u64, std::unique_ptr<Executable>> executables; ///< by handle

  KernelTurns turns;

  std::mutex images_mutex;
  std::set<const abi::ImageObject*> images; ///< that there are

  // Threads; they end before the rest goes.
  Tasks handlers{changes}, copies{changes};
  std::mutex queues_mutex;
  std::map<const hsa_queue_t*, std::shared_ptr<void>> queues;
};

/// HIP's texture and surface objects behind pointers in a kernarg segment: allocations of HIP's own that
/// begin with the descriptor of an image that there is.
std::vector<PassedDescriptor> textures_in(Runtime& r, std::span<const u64> kernarg);

/// Null while the runtime is not initialised.
Runtime* current_runtime();

/// Ends a program as ROCm's runtime does when a kernel faults: it says why, and aborts.
[[noreturn]] void die(const std::string& message);

} // namespace lanewise::hsa
#pragma GCC visibility pop

/// `return` from an API function if the runtime is not initialised.
#define HSA_RUNTIME(name)                                                                                    \
  lanewise::hsa::Runtime* const name = lanewise::hsa::current_runtime();                                     \
  if (name == nullptr) return HSA_STATUS_ERROR_NOT_INITIALIZED
