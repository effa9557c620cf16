// The kernarg segment: explicit arguments as the caller gives them, hidden ones as the dispatch implies them.
#pragma once

#include "abi/dispatch.hpp"

namespace lanewise::abi {

/// The value of one explicit argument.
struct ArgumentValue {
  /// What the bytes are, where it is known: an image or a sampler is neither for another kind of argument,
  /// nor is a buffer one of these.
  enum class Kind : u8 { Any, Buffer, Image, Sampler };

  /// The bytes to pass: a scalar or structure in memory order, or the 8 bytes of a pointer. Unused for local
  /// memory.
  std::vector<std::byte> bytes;
  /// For a dynamic_shared_pointer: bytes of local memory to reserve.
  std::optional<u32> local_bytes;
  Kind kind = Kind::Any;

  template <class T>
  static ArgumentValue of(const T& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    return {{raw.begin(), raw.end()}, {}, Kind::Any};
  }
  static ArgumentValue local(u32 bytes) { return {{}, bytes, Kind::Any}; }
};

/// What hidden arguments refer to. Pointers are guest addresses; 0 where a facility does not exist.
struct HiddenValues {
  std::array<u64, 3> global_offset = {}; ///< work-items
  u64 printf_buffer = 0, hostcall_buffer = 0, default_queue = 0, completion_action = 0,
      multigrid_sync_arg = 0, heap_v1 = 0;
  u64 queue_ptr = 0;                     ///< of an AmdQueue
  u32 private_base = 0, shared_base = 0; ///< high halves of the flat apertures
};

struct KernargSegment {
  std::vector<std::byte> bytes; ///< to be copied to memory aligned to 16 bytes at least
  u32 alignment = 16;           ///< that the kernel asks for, at least 16
  u32 dynamic_lds_bytes = 0;    ///< of all local values, on top of the kernel's fixed size
};

/// Builds the segment. Usage: wrong number or size of arguments, a local size, an image or a sampler where
/// another value belongs or the reverse; the message names the argument. Local values behind the kernel's
/// arguments are memory that no argument stands for, as HIP's `extern __shared__` arrays have it. A kernel
/// without metadata takes its values one after the other, each aligned to its size. `shape` must have passed
/// check_dispatch() but for the dynamic LDS size, which is only known afterwards.
Result<KernargSegment> build_kernarg(const Kernel& kernel, std::span<const ArgumentValue> values,
                                     const DispatchShape& shape, const HiddenValues& hidden);

/// Writes the hidden arguments into a segment that is long enough for them.
void place_hidden(const Kernel& kernel, const DispatchShape& shape, const HiddenValues& hidden,
                  u32 dynamic_lds_bytes, std::vector<std::byte>& segment);
/// Bytes of the segment of a kernel with metadata.
std::size_t kernarg_segment_size(const Kernel& kernel);

} // namespace lanewise::abi
