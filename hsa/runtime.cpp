#include "hsa/runtime.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

namespace lanewise::hsa {
namespace {

std::mutex runtime_mutex;
unsigned references = 0;
/// Left alone by a process that ends without shutting it down: threads of the program may still wait, and
/// kernels run.
std::atomic<Runtime*> current = nullptr;

/// LANEWISE_TARGET: the GPU that programs see, by the name that compilers have for it; gfx906 without it.
std::optional<isa::Target> wanted_target() {
  const char* name = std::getenv("LANEWISE_TARGET");
  return name == nullptr || *name == 0 ? isa::Target::gfx906 : isa::target_named(name);
}

/// What people may ask of Lanewise by the environment of a program that knows nothing of it: LANEWISE_ENGINE,
/// LANEWISE_SIMD, LANEWISE_THREADS, LANEWISE_NO_CACHE. Words that mean nothing end the program with a
/// message.
DeviceOptions options_from_environment() {
  const auto word = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  DeviceOptions options;
  options.disk_cache = word("LANEWISE_NO_CACHE").empty();
  const std::string_view engine = word("LANEWISE_ENGINE"), simd = word("LANEWISE_SIMD"),
                         threads = word("LANEWISE_THREADS");
  if (engine == "jit")
    options.engine = Engine::Jit;
  else if (engine == "interp")
    options.engine = Engine::Interp;
  else if (!engine.empty() && engine != "auto")
    die("LANEWISE_ENGINE is none of auto, jit and interp");
  if (simd == "avx512")
    options.simd = Simd::Avx512;
  else if (simd == "avx2")
    options.simd = Simd::Avx2;
  else if (!simd.empty() && simd != "auto")
    die("LANEWISE_SIMD is none of auto, avx512 and avx2");
  if (!threads.empty() &&
      std::from_chars(threads.data(), threads.data() + threads.size(), options.threads).ec != std::errc())
    die("LANEWISE_THREADS is no number");
  return options;
}

} // namespace

u64 now_ns() {
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

void die(const std::string& message) {
  std::fprintf(stderr, "lanewise: %s\n", message.c_str());
  std::fflush(nullptr);
  std::abort();
}

void Changes::announce() {
  if (waiting_.load() == 0) return;
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

bool Changes::wait(const std::function<bool()>& condition, u64 deadline_ns) {
  // Most waits are for what is about to happen.
  constexpr unsigned kSpins = 2000;
  for (unsigned n = 0; n < kSpins; ++n) {
    if (condition()) return true;
    _mm_pause();
  }
  // Who has waited for long looks more rarely: idle queues would take a seventh of a core.
  std::chrono::microseconds look(200);
  constexpr std::chrono::microseconds kRarely(10'000);
  std::unique_lock lock(mutex_);
  ++waiting_;
  bool holds = condition();
  while (!holds && now_ns() < deadline_ns) {
    changed_.wait_for(lock, look);
    look = std::min(2 * look, kRarely);
    holds = condition();
  }
  --waiting_;
  return holds;
}

Runtime* current_runtime() { return current.load(std::memory_order_acquire); }

Runtime::Runtime(std::shared_ptr<Device::State> on, isa::Target gfx) : device(std::move(on)), target(gfx) {}

std::map<u64, Allocation>::iterator Runtime::find_allocation(const void* address) {
  const u64 at = reinterpret_cast<u64>(address);
  auto after = allocations.upper_bound(at);
  if (after == allocations.begin()) return allocations.end();
  --after;
  return at - after->first < std::max<u64>(after->second.bytes, 1) ? after : allocations.end();
}

Tasks::~Tasks() {
  thread_.request_stop();
  changes_.announce();
}

void Tasks::add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    added_.push_back(std::move(task));
    some_.notify_one();
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  changes_.announce();
}

void Tasks::drop(hsa_signal_t signal) {
  const std::lock_guard lock(mutex_);
  for (auto* const list : {&waiting_, &added_})
    std::erase_if(*list, [signal](const Task& task) { return task.signal.handle == signal.handle; });
}

void Tasks::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    { // without tasks no change matters
      std::unique_lock lock(mutex_);
      some_.wait(lock, stop, [&] { return !waiting_.empty() || !added_.empty(); });
    }
    const auto is_due = [](const Task& task) { return task.is_due(); };
    changes_.wait([&] {
      const std::lock_guard lock(mutex_);
      return stop.stop_requested() || !added_.empty() || std::ranges::any_of(waiting_, is_due);
    });
    run_due();
  }
}

void Tasks::run_due() {
  std::vector<Task> due;
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(added_, std::back_inserter(waiting_));
    added_.clear();
    const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(),
                                            [](const Task& task) { return !task.is_due(); });
    std::move(rest, waiting_.end(), std::back_inserter(due));
    waiting_.erase(rest, waiting_.end());
  }
  for (Task& task : due)
    if (task.run()) add(std::move(task));
}

} // namespace lanewise::hsa

using namespace lanewise;
using namespace lanewise::hsa;

extern "C" {

hsa_status_t hsa_init() {
  const std::lock_guard lock(runtime_mutex);
  if (references++ != 0) return HSA_STATUS_SUCCESS;
  const auto target = wanted_target();
  if (!target)
    die("LANEWISE_TARGET names no GPU that there is; use gfx600, gfx700, gfx803, gfx900 or gfx906");
  auto device = create_device(options_from_environment());
  if (!device) die(device.error().message);
  current = new Runtime(std::move(*device), *target);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_shut_down() {
  const std::lock_guard lock(runtime_mutex);
  if (references == 0) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (--references != 0) return HSA_STATUS_SUCCESS;
  delete current.exchange(nullptr);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_status_string(hsa_status_t status, const char** text) {
  if (text == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  switch (status) {
  case HSA_STATUS_SUCCESS: *text = "success"; break;
  case HSA_STATUS_INFO_BREAK: *text = "a callback ended the iteration"; break;
  case HSA_STATUS_ERROR_INVALID_ARGUMENT: *text = "an argument is not valid"; break;
  case HSA_STATUS_ERROR_OUT_OF_RESOURCES: *text = "not enough memory or other resources"; break;
  case HSA_STATUS_ERROR_NOT_INITIALIZED: *text = "hsa_init has not been called"; break;
  case HSA_STATUS_ERROR_INVALID_CODE_OBJECT:
    *text = "the code object is not valid, or not for this agent";
    break;
  case HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: *text = "there is no symbol of this name"; break;
  default: *text = "an error"; break;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  HSA_RUNTIME(r);
  (void)r;
  switch (static_cast<unsigned>(attribute)) {
  case HSA_SYSTEM_INFO_VERSION_MAJOR: *static_cast<u16*>(value) = 1; break;
  case HSA_SYSTEM_INFO_VERSION_MINOR: *static_cast<u16*>(value) = 1; break;
  case HSA_SYSTEM_INFO_TIMESTAMP: *static_cast<u64*>(value) = now_ns(); break;
  case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: *static_cast<u64*>(value) = 1'000'000'000; break;
  case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT: *static_cast<u64*>(value) = ~u64{0}; break;
  case HSA_SYSTEM_INFO_ENDIANNESS: *static_cast<hsa_endianness_t*>(value) = HSA_ENDIANNESS_LITTLE; break;
  case HSA_SYSTEM_INFO_MACHINE_MODEL:
    *static_cast<hsa_machine_model_t*>(value) = HSA_MACHINE_MODEL_LARGE;
    break;
  case HSA_SYSTEM_INFO_EXTENSIONS: {
    auto* const bits = static_cast<u8*>(value);
    std::fill_n(bits, 128, 0);
    bits[HSA_EXTENSION_IMAGES / 8] |= 1 << HSA_EXTENSION_IMAGES % 8;
    break;
  }
  case HSA_AMD_SYSTEM_INFO_BUILD_VERSION: *static_cast<const char**>(value) = "Lanewise"; break;
  case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED: *static_cast<bool*>(value) = true; break;
  // It is, but HIP would then copy from and to memory of the host's allocators when it gets to it, and
  // programs count on it being read before the call returns, as on the cards these GPUs are.
  case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT: *static_cast<bool*>(value) = false; break;
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_extension_supported(u16 extension, u16 major, u16 minor, bool* result) {
  (void)minor;
  *result = major == 1 && (extension == HSA_EXTENSION_IMAGES || extension == HSA_EXTENSION_AMD_LOADER);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_extension_supported(u16 extension, hsa_agent_t, u16 major, u16 minor, bool* result) {
  return hsa_system_extension_supported(extension, major, minor, result);
}

} // extern "C"
