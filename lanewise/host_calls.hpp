// Calls of the host that kernels make: printf, assert, malloc.
#pragma once

#include "support/bits.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

namespace lanewise {

/// The host's side of the device library's "hostcall" protocol: a wave takes a packet off a stack, fills it,
/// puts it on another stack and spins until it has been answered. Waves see buffer() and what it points to;
/// nothing that they write there harms the host.
class HostCalls {
public:
  /// For as many waves at a time as there can be lanes in the waves of `threads`. Text of kernels goes to
  /// `out`, or to stderr where they say so.
  HostCalls(unsigned threads, std::FILE* out);
  ~HostCalls();
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  /// What kernels get as their hostcall buffer.
  [[nodiscard]] u64 buffer() const { return reinterpret_cast<u64>(&shared_); }
  /// Where malloc of kernels of ABI version 5 keeps its books (older ones have a variable for them): zeros at
  /// first. What it hands out it gets by calls.
  [[nodiscard]] u64 heap() const { return reinterpret_cast<u64>(heap_.get()); }

  /// Answers calls until it is to stop and none is left. For several threads at a time.
  void serve(const std::stop_token& stop);

private:
  struct Header {
    u64 next, lanes;
    u32 service, control;
  };
  using Slot = std::array<u64, 8>;
  using Payload = std::array<Slot, 64>; ///< one per lane
  struct Signal {
    i64 kind = 1, value = 0;
    u64 mailbox = 0; ///< no interrupt is wanted
    std::array<u64, 5> rest{};
  };
  struct Shared {
    Header* headers = nullptr;
    Payload* payloads = nullptr;
    Signal* doorbell = nullptr;
    u64 free = 0, ready = 0, index_mask = 0;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  Shared shared_;
  Signal doorbell_;
  u64 index_mask_; ///< the guest may write to its own
  std::unique_ptr<Header, Free> headers_;
  std::unique_ptr<Payload, Free> payloads_;
  std::unique_ptr<std::byte, Free> heap_;
  std::FILE* out_;

  std::mutex mutex_; ///< of what follows
  std::map<u64, std::vector<u64>> messages_;
  u64 last_message_ = 0;
  std::map<u64, std::unique_ptr<std::byte, Free>> memory_; ///< of kernels, by address

  bool answer_all();
  void answer(u32 service, Slot& slot);
  void print(Slot& slot);
  void memory(Slot& slot);
};

} // namespace lanewise
