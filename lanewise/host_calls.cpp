#include "lanewise/host_calls.hpp"

#include "lanewise/device_printf.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace lanewise {
namespace {

enum Service : u32 { kPrintf = 2, kMemory = 3 };

// A packet's first word in messages that take several packets.
constexpr u64 kBegin = 1, kEnd = 2;
constexpr unsigned kLengthBit = 5, kIdBit = 8; ///< the length has three bits

constexpr u64 kHeapBytes = 128 << 10; ///< as much as the library's __ockl_dm_init_v1 clears

template <class T>
T* zeroed(u64 count) {
  return static_cast<T*>(std::calloc(count, sizeof(T)));
}

} // namespace

HostCalls::HostCalls(unsigned threads, std::FILE* out) : out_(out) {
  const u64 packets = std::bit_ceil(u64{threads} * 64);
  index_mask_ = packets - 1;
  headers_.reset(zeroed<Header>(packets));
  payloads_.reset(zeroed<Payload>(packets));
  heap_.reset(zeroed<std::byte>(kHeapBytes));
  shared_ = {headers_.get(), payloads_.get(), &doorbell_, 0, 0, index_mask_};
  if (!headers_ || !payloads_) return;
  // Packets are named by index; 0 ends a stack, so that the packet with this index gets a bit above.
  u64 next = 0;
  for (u64 i = 0; i < packets; ++i) {
    headers_.get()[i].next = next;
    next = i == 0 ? packets : i;
  }
  shared_.free = next;
}

HostCalls::~HostCalls() = default;

void HostCalls::serve(const std::stop_token& stop) {
  using namespace std::chrono_literals;
  constexpr auto kLongest = 500us;
  auto pause = 5us;
  for (;;) {
    const bool last = stop.stop_requested();
    if (answer_all()) {
      pause = 5us; // more is likely to come: a line of text takes several calls
      continue;
    }
    if (last) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

bool HostCalls::answer_all() {
  u64 packet = std::atomic_ref(shared_.ready).exchange(0, std::memory_order_acquire);
  if (packet == 0) return false;
  const std::lock_guard lock(mutex_);
  // As many as there are at most: a stack that goes in circles is a damaged one.
  for (u64 count = 0; packet != 0 && count <= index_mask_; ++count) {
    Header& header = headers_.get()[packet & index_mask_];
    Payload& payload = payloads_.get()[packet & index_mask_];
    packet = header.next; // its wave may give it back as soon as it is answered
    for (u64 lanes = header.lanes; lanes != 0; lanes &= lanes - 1)
      answer(header.service, payload[static_cast<unsigned>(std::countr_zero(lanes))]);
    std::atomic_ref(header.control).store(0, std::memory_order_release);
  }
  return true;
}

void HostCalls::answer(u32 service, Slot& slot) {
  switch (service) {
  case kPrintf: print(slot); break;
  case kMemory: memory(slot); break;
  default: slot[0] = 0; break; // calls of host functions by their address have no meaning here
  }
}

void HostCalls::print(Slot& slot) {
  const u64 id = (slot[0] & kBegin) != 0 ? ++last_message_ : slot[0] >> kIdBit;
  std::vector<u64>& words = messages_[id];
  words.insert(words.end(), slot.begin() + 1, slot.begin() + 1 + (slot[0] >> kLengthBit & 7));
  if ((slot[0] & kEnd) == 0) {
    slot[0] = id << kIdBit;
    return;
  }
  constexpr u64 kToStderr = 1;
  const bool error = !words.empty() && words[0] == kToStderr;
  const std::string text = words.empty() ? std::string() : format_hip_printf(std::span(words).subspan(1));
  std::FILE* const out = error ? stderr : out_;
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  messages_.erase(id);
  slot[0] = text.size();
}

void HostCalls::memory(Slot& slot) {
  if (slot[0] != 0) {
    memory_.erase(slot[0]);
    slot[0] = 0;
    return;
  }
  // The library's malloc cuts up slabs of this size, which it finds again by the low bits of an address.
  constexpr u64 kSlab = 2 << 20, kPage = 4096, kLargest = u64{1} << 40;
  const u64 alignment = slot[1] < kSlab ? kPage : kSlab,
            bytes = align_up(std::min(slot[1], kLargest), alignment);
  std::unique_ptr<std::byte, Free> block(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
  slot[0] = reinterpret_cast<u64>(block.get());
  if (block) memory_[slot[0]] = std::move(block);
}

} // namespace lanewise
