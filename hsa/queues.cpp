// Queues: a thread each, which takes packets in order (HSA Runtime Programmer's Reference Manual 1.2, 2.8;
// ROCm's barrier value packets). A packet begins when the one before it has ended, so that barrier bits and
// fences hold by themselves.
#include "hsa/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace lanewise;
using namespace lanewise::hsa;

namespace {

using Callback = void (*)(hsa_status_t, hsa_queue_t*, void*);

/// One of 64 bytes in a queue's ring.
union Packet {
  std::atomic<u16> header;
  hsa_kernel_dispatch_packet_t kernel;
  hsa_barrier_and_packet_t barrier;
  hsa_amd_barrier_value_packet_t value;
  u8 bytes[64];
};

class Queue {
public:
  Queue(Runtime& r, u32 size, Callback callback, void* data) : runtime_(r), callback_(callback), data_(data) {
    ring_ = static_cast<Packet*>(std::aligned_alloc(64, u64{size} * sizeof(Packet)));
    std::memset(static_cast<void*>(ring_), 0, u64{size} * sizeof(Packet));
    for (u32 n = 0; n < size; ++n) ring_[n].header = HSA_PACKET_TYPE_INVALID;
    hsa_signal_create(-1, 0, nullptr, &doorbell_);
    signal_of(doorbell_).told = [this] { rung(); };
    amd_.hsa_queue.type = HSA_QUEUE_TYPE_MULTI;
    amd_.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
    amd_.hsa_queue.base_address = ring_;
    amd_.hsa_queue.doorbell_signal = doorbell_;
    amd_.hsa_queue.size = size;
    static std::atomic<u64> next_id = 0;
    amd_.hsa_queue.id = next_id++;
    amd_.group_segment_aperture_base_hi = static_cast<u32>(runtime::kSharedAperture >> 32);
    amd_.private_segment_aperture_base_hi = static_cast<u32>(runtime::kPrivateAperture >> 32);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Queue() {
    thread_.request_stop();
    packets_.announce();
    runtime_.changes.announce();
    thread_.join();
    hsa_signal_destroy(doorbell_);
    std::free(ring_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  hsa_queue_t* handle() { return &amd_.hsa_queue; }
  std::atomic_ref<u64> written() { return id(amd_.write_dispatch_id); }
  std::atomic_ref<u64> read() { return id(amd_.read_dispatch_id); }

  void set_priority(hsa_amd_queue_priority_t priority) { priority_ = priority; }

private:
  amd_queue_t amd_ = {}; ///< first, so that handles lead to it
  Runtime& runtime_;
  Callback callback_;
  void* data_;
  Packet* ring_ = nullptr;
  hsa_signal_t doorbell_ = {};
  Changes packets_;
  std::atomic<hsa_amd_queue_priority_t> priority_ = HSA_AMD_QUEUE_PRIORITY_NORMAL;
  std::mutex serving_; ///< held by who takes a packet
  std::jthread thread_;

  static std::atomic_ref<u64> id(volatile u64& x) { return std::atomic_ref<u64>(const_cast<u64&>(x)); }
  static u32 type_of(const Packet& p) { return p.header.load(std::memory_order_acquire) & 0xff; }

  Packet& next() { return ring_[read().load() & (amd_.hsa_queue.size - 1)]; }

  void serve(const std::stop_token& stop) {
    while (true) {
      packets_.wait([&] { return stop.stop_requested() || type_of(next()) != HSA_PACKET_TYPE_INVALID; });
      if (stop.stop_requested()) return;
      const std::lock_guard lock(serving_);
      if (type_of(next()) != HSA_PACKET_TYPE_INVALID) take(next(), stop);
    }
  }

  /// Who rings the doorbell takes barriers that wait for nothing at once, instead of waking the thread up:
  /// most programs wait for these next (copies of a few bytes 10 times faster).
  void rung() {
    if (const std::unique_lock lock(serving_, std::try_to_lock); lock.owns_lock())
      while (type_of(next()) == HSA_PACKET_TYPE_BARRIER_AND && is_over(next().barrier, true))
        take(next(), {});
    if (type_of(next()) != HSA_PACKET_TYPE_INVALID) packets_.announce();
  }

  void take(Packet& packet, const std::stop_token& stop) {
    process(packet, stop);
    packet.header.store(HSA_PACKET_TYPE_INVALID, std::memory_order_release);
    read().fetch_add(1);
    runtime_.changes.announce();
  }

  void process(Packet& packet, const std::stop_token& stop) {
    u64 start = now_ns();
    hsa_signal_t done = {};
    switch (type_of(packet)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      run(packet.kernel, start);
      done = packet.kernel.completion_signal;
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
      wait_for_signals(packet.barrier, type_of(packet) == HSA_PACKET_TYPE_BARRIER_AND, stop);
      done = packet.barrier.completion_signal;
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      if (packet.value.header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) return fail(packet);
      wait_for_value(packet.value, stop);
      done = packet.value.completion_signal;
      break;
    default: return fail(packet);
    }
    if (done.handle == 0) return;
    Signal& signal = signal_of(done);
    signal.shared.start_ts = start;
    signal.shared.end_ts = now_ns();
    signal.value().fetch_sub(1);
    runtime_.copies.run_due(); // sooner than its thread wakes up
  }

  void fail(const Packet& packet) {
    const auto status = HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (callback_ != nullptr) return callback_(status, handle(), data_);
    die(fmt::format("a packet of type {} in a queue, which is none that Lanewise knows", type_of(packet)));
  }

  /// Whether what the barrier waits for has come.
  static bool is_over(const hsa_barrier_and_packet_t& packet, bool all) {
    u32 named = 0, zero = 0;
    for (const hsa_signal_t s : packet.dep_signal) {
      if (s.handle == 0) continue;
      ++named;
      if (signal_of(s).value().load() == 0) ++zero;
    }
    return named == 0 || (all ? zero == named : zero != 0);
  }

  void wait_for_signals(const hsa_barrier_and_packet_t& packet, bool all, const std::stop_token& stop) {
    runtime_.changes.wait([&] { return stop.stop_requested() || is_over(packet, all); });
  }

  void wait_for_value(const hsa_amd_barrier_value_packet_t& packet, const std::stop_token& stop) {
    runtime_.changes.wait([&] {
      return stop.stop_requested() || packet.signal.handle == 0 ||
             holds(static_cast<hsa_signal_condition_t>(packet.cond),
                   signal_of(packet.signal).value().load() & packet.mask, packet.value);
    });
  }

  /// Notes when the kernel's turn has come: the time that others take is not its own.
  void run(const hsa_kernel_dispatch_packet_t& packet, u64& start) {
    Runtime::KernelEntry entry = {};
    {
      const std::lock_guard lock(runtime_.kernels_mutex);
      const auto found = runtime_.kernels.find(packet.kernel_object);
      if (found != runtime_.kernels.end()) entry = found->second;
    }
    if (entry.kernel == nullptr) die("a dispatch of what is no kernel of a loaded code object");
    abi::KernelDispatchPacket own;
    static_assert(sizeof own == sizeof packet);
    std::memcpy(static_cast<void*>(&own), &packet, sizeof own);
    if (own.grid_size_x == 0 || own.grid_size_y == 0 || own.grid_size_z == 0) return;
    const std::span kernarg(reinterpret_cast<u64*>(own.kernarg_address),
                            abi::kernarg_segment_size(entry.kernel->kernel) / 8);
    runtime_.use_host_addresses(kernarg);
    const auto textures = textures_in(runtime_, kernarg);
    runtime_.turns.take(
        *runtime_.device, priority_, [&] { return may_use_gds(*entry.kernel); },
        [&](runtime::Dispatcher* beside) {
          start = now_ns();
          const auto times = launch(*entry.kernel, own, textures, nullptr, beside);
          if (!times) die(times.error().message);
        });
  }
};

Queue& queue_of(const hsa_queue_t* handle) {
  return *reinterpret_cast<Queue*>(const_cast<hsa_queue_t*>(handle));
}

} // namespace

bool KernelTurns::wait(Priority priority, const std::function<bool()>& may_use_gds) {
  constexpr auto kLong = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  std::condition_variable called;
  const auto me = waiting_.emplace(priority, &called);
  // Who comes when the turn is free need not wait for others of its priority to wake up.
  const auto may_go = [&] { return !taken_ && waiting_.begin()->first == priority; };
  // Of who has the turn now: of kernels that take turns all the time none is waited for twice, unless they
  // have a higher priority.
  auto deadline = since_ + kLong;
  bool asked = false;
  while (!may_go()) {
    if (asked) {
      called.wait(lock);
      continue;
    }
    if (called.wait_until(lock, deadline) == std::cv_status::no_timeout || may_go()) continue;
    if (priority_ > priority && since_ + kLong > deadline) {
      deadline = since_ + kLong;
      continue;
    }
    asked = true;
    lock.unlock();
    const bool alone = may_use_gds();
    lock.lock();
    if (alone || may_go()) continue;
    waiting_.erase(me);
    return false;
  }
  waiting_.erase(me);
  taken_ = true;
  since_ = Clock::now();
  priority_ = priority;
  return true;
}

void KernelTurns::give_back() {
  const std::lock_guard lock(mutex_);
  taken_ = false;
  if (!waiting_.empty()) waiting_.begin()->second->notify_one();
}

std::unique_ptr<runtime::Dispatcher> KernelTurns::spare(const Device::State& device) {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return std::make_unique<runtime::Dispatcher>(device.dispatcher.threads());
  auto last = std::move(spares_.back());
  spares_.pop_back();
  return last;
}

extern "C" {

hsa_status_t hsa_queue_create(hsa_agent_t agent, u32 size, hsa_queue_type32_t, Callback callback, void* data,
                              u32, u32, hsa_queue_t** queue) {
  HSA_RUNTIME(r);
  if (agent.handle != kGpuAgent.handle) return HSA_STATUS_ERROR_INVALID_AGENT;
  if (queue == nullptr || size == 0 || !std::has_single_bit(size)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto made = std::make_shared<Queue>(*r, size, callback, data);
  *queue = made->handle();
  const std::lock_guard lock(r->queues_mutex);
  r->queues[*queue] = made;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  HSA_RUNTIME(r);
  std::shared_ptr<void> ending; // outside of the lock: its thread ends first
  const std::lock_guard lock(r->queues_mutex);
  const auto found = r->queues.find(queue);
  if (found == r->queues.end()) return HSA_STATUS_ERROR_INVALID_QUEUE;
  ending = std::move(found->second);
  r->queues.erase(found);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t*, u32, const u32*) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  if (queue == nullptr) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (priority != HSA_AMD_QUEUE_PRIORITY_LOW && priority != HSA_AMD_QUEUE_PRIORITY_NORMAL &&
      priority != HSA_AMD_QUEUE_PRIORITY_HIGH)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  queue_of(queue).set_priority(priority);
  return HSA_STATUS_SUCCESS;
}

u64 hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue) { return queue_of(queue).read().load(); }
u64 hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue) { return queue_of(queue).read().load(); }
u64 hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue) { return queue_of(queue).written().load(); }
u64 hsa_queue_load_write_index_scacquire(const hsa_queue_t* queue) {
  return queue_of(queue).written().load();
}
u64 hsa_queue_add_write_index_screlease(const hsa_queue_t* queue, u64 value) {
  return queue_of(queue).written().fetch_add(value);
}
u64 hsa_queue_add_write_index_relaxed(const hsa_queue_t* queue, u64 value) {
  return queue_of(queue).written().fetch_add(value);
}

// Times: queues and copies note them in every signal.
hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_amd_profiling_async_copy_enable(bool) { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t* time) {
  const Signal& s = signal_of(signal);
  *time = {s.shared.start_ts, s.shared.end_ts};
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal,
                                                   hsa_amd_profiling_async_copy_time_t* time) {
  const Signal& s = signal_of(signal);
  *time = {s.shared.start_ts, s.shared.end_ts};
  return HSA_STATUS_SUCCESS;
}

} // extern "C"
