#include "hsa/runtime.hpp"

#include <dlfcn.h>
#include <string_view>

namespace lanewise::hsa {

namespace {

void announce(hsa_signal_t signal) {
  if (const auto& told = signal_of(signal).told)
    told();
  else if (Runtime* const r = current_runtime())
    r->changes.announce();
}

/// HIP 5.2 makes the doorbell for its calls of the host, as printf, again for each queue, writes its handle
/// over the one before, which earlier queues' kernels go on to ring, and waits for the last one alone: they
/// would wait for ever. So whoever in HIP writes over its handle of a signal keeps it.
struct KeptSignals {
  std::mutex mutex;
  std::map<const hsa_signal_t*, u64> handles; ///< by where they were written
} kept;

bool is_in_hip(const void* code) {
  Dl_info info = {};
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
         std::string_view(info.dli_fname).find("libamdhip64.so") != std::string_view::npos;
}

/// Whether HIP has a signal at that place.
bool keeps_signal(const hsa_signal_t* place) {
  const std::lock_guard lock(kept.mutex);
  const auto found = kept.handles.find(place);
  return found != kept.handles.end() && found->second == place->handle;
}

} // namespace

void set_signal(hsa_signal_t signal, i64 value) {
  signal_of(signal).value().store(value);
  announce(signal);
}

void add_to_signal(hsa_signal_t signal, i64 value) {
  signal_of(signal).value().fetch_add(value);
  announce(signal);
}

bool holds(hsa_signal_condition_t condition, i64 value, i64 compare) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ: return value == compare;
  case HSA_SIGNAL_CONDITION_NE: return value != compare;
  case HSA_SIGNAL_CONDITION_LT: return value < compare;
  case HSA_SIGNAL_CONDITION_GTE: return value >= compare;
  }
  return false;
}

} // namespace lanewise::hsa

using namespace lanewise;
using namespace lanewise::hsa;

extern "C" {

hsa_status_t hsa_signal_create(hsa_signal_value_t initial, u32 consumers, const hsa_agent_t*,
                               hsa_signal_t* signal) {
  HSA_RUNTIME(r);
  (void)r;
  constexpr hsa_signal_value_t kOfHipsDoorbells = 1;
  const bool may_be_kept =
      initial == kOfHipsDoorbells && consumers == 0 && is_in_hip(__builtin_return_address(0));
  if (may_be_kept && keeps_signal(signal)) return HSA_STATUS_SUCCESS;
  auto* const made = new Signal;
  made->shared.kind = AMD_SIGNAL_KIND_USER;
  made->shared.value = initial;
  signal->handle = reinterpret_cast<u64>(made);
  if (may_be_kept) {
    const std::lock_guard lock(kept.mutex);
    kept.handles[signal] = signal->handle;
  }
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial, u32 consumers, const hsa_agent_t* agents, u64,
                                   hsa_signal_t* signal) {
  return hsa_signal_create(initial, consumers, agents, signal);
}
hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  if (signal.handle == 0) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  if (Runtime* const r = current_runtime()) r->handlers.drop(signal);
  {
    const std::lock_guard lock(kept.mutex);
    std::erase_if(kept.handles, [signal](const auto& entry) { return entry.second == signal.handle; });
  }
  delete &signal_of(signal);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** pointer) {
  *pointer = &signal_of(signal).shared.value;
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) { return signal_of(signal).value().load(); }
hsa_signal_value_t hsa_signal_load_scacquire(hsa_signal_t signal) { return signal_of(signal).value().load(); }
void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { set_signal(signal, value); }
void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) { set_signal(signal, value); }
void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  signal_of(signal).value().store(value);
}
void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value) { add_to_signal(signal, value); }
void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  add_to_signal(signal, -value);
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compare, u64 timeout_hint, hsa_wait_state_t) {
  Runtime* const r = current_runtime();
  const u64 now = now_ns();
  const u64 deadline = timeout_hint > ~u64{0} - now ? ~u64{0} : now + timeout_hint;
  i64 seen = 0;
  const auto fulfilled = [&] {
    seen = signal_of(signal).value().load();
    return holds(condition, seen, compare);
  };
  if (r != nullptr) r->changes.wait(fulfilled, deadline);
  return seen;
}
hsa_signal_value_t hsa_signal_wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                           hsa_signal_value_t compare, u64 timeout_hint,
                                           hsa_wait_state_t state) {
  return hsa_signal_wait_scacquire(signal, condition, compare, timeout_hint, state);
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                          hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                          void* argument) {
  HSA_RUNTIME(r);
  const auto seen = [signal] { return signal_of(signal).value().load(); };
  r->handlers.add(
      {[=] { return holds(condition, seen(), value); }, [=] { return handler(seen(), argument); }, signal});
  return HSA_STATUS_SUCCESS;
}

} // extern "C"
