// Host memory as guests see it: buffers between guard pages, and the arenas workgroups run in.
#pragma once

#include "support/bits.hpp"
#include "support/result.hpp"

#include <utility>

namespace lanewise::runtime {

/// Zeroed memory for one guest buffer. Its start is 256-byte aligned; its end lies less than 256 bytes before
/// inaccessible pages, and its first page follows inaccessible pages, so that a kernel that runs off it
/// faults.
class GuardedBuffer {
public:
  GuardedBuffer() = default;
  /// `bytes` may be 0: the buffer then has an address, but no accessible byte.
  static Result<GuardedBuffer> allocate(u64 bytes);

  GuardedBuffer(GuardedBuffer&& other) noexcept { swap(other); }
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  [[nodiscard]] u8* data() const { return data_; }
  [[nodiscard]] u64 size() const { return size_; }

private:
  void swap(GuardedBuffer& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapping_bytes_, other.mapping_bytes_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  void* mapping_ = nullptr;
  u64 mapping_bytes_ = 0;
  u8* data_ = nullptr;
  u64 size_ = 0;
};

/// Memory that is reused and only ever grows: no allocation per workgroup. 64-byte aligned, zero when first
/// grown, followed by at least 64 accessible bytes.
class Arena {
public:
  Arena() = default;
  Arena(Arena&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Makes at least `bytes` available; the old contents may be lost. False if the host has no memory for it.
  [[nodiscard]] bool reserve(u64 bytes);
  [[nodiscard]] u8* data() const { return data_; }

private:
  u8* data_ = nullptr;
  u64 bytes_ = 0; ///< of the mapping
};

} // namespace lanewise::runtime
