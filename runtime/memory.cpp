#include "runtime/memory.hpp"

#include <fmt/format.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

namespace lanewise::runtime {
namespace {

constexpr u64 kBufferAlignment = 256;
// Inaccessible address space on each side of a buffer. It costs no memory, and a generous amount catches
// strides too.
constexpr u64 kGuardBytes = 16ull << 20;
constexpr u64 kHugePage = 2ull << 20;

u64 page_bytes() {
  static const u64 bytes = static_cast<u64>(sysconf(_SC_PAGESIZE));
  return bytes;
}

} // namespace

Result<GuardedBuffer> GuardedBuffer::allocate(u64 bytes) {
  const Error no_memory = {ErrorCode::Usage,
                           fmt::format("cannot allocate a buffer of {} bytes: not enough memory", bytes)};
  if (bytes > std::numeric_limits<u64>::max() / 4) return no_memory;
  const u64 slot = align_up(bytes, kBufferAlignment);
  const u64 usable = align_up(slot, page_bytes());
  GuardedBuffer buffer;
  buffer.mapping_bytes_ = usable + 2 * kGuardBytes;
  void* mapping = mmap(nullptr, buffer.mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return no_memory;
  buffer.mapping_ = mapping;
  u8* first = static_cast<u8*>(mapping) + kGuardBytes;
  if (usable && mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) return no_memory;
  if (usable >= kHugePage) madvise(first, usable, MADV_HUGEPAGE); // gathers live or die by TLB reach
  buffer.data_ = first + (usable - slot);
  buffer.size_ = bytes;
  return buffer;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_) munmap(mapping_, mapping_bytes_);
}

bool Arena::reserve(u64 bytes) {
  constexpr u64 kTail = 64; // vector accesses may read past the end
  if (bytes_ >= kTail && bytes <= bytes_ - kTail) return true;
  if (bytes > std::numeric_limits<u64>::max() / 4) return false;
  const u64 wanted = align_up(bytes + kTail, page_bytes());
  void* memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  if (data_) munmap(data_, bytes_);
  data_ = static_cast<u8*>(memory);
  bytes_ = wanted;
  return true;
}

Arena::~Arena() {
  if (data_) munmap(data_, bytes_);
}

} // namespace lanewise::runtime
