// printf of OpenCL kernels.
#pragma once

#include "runtime/memory.hpp"
#include "support/bits.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace lanewise {

/// A format of a code object's metadata: "ID:N:SIZE:...:TEXT", with a size for each argument that is stored.
struct PrintfFormat {
  u32 id = 0;
  std::vector<u32> sizes;
  std::string text;

  /// Takes any text.
  static PrintfFormat parse(std::string_view metadata);
};

/// What the printf calls of a launch are stored in: bytes used, size of the whole, then message behind
/// message, each the id of its format and its arguments. Who finds no room for a message drops it.
class PrintfBuffer {
public:
  /// The size costs only what is used of it.
  explicit PrintfBuffer(u32 bytes = 64 << 20);

  /// What kernels get; 0 if there was no memory for it.
  [[nodiscard]] u64 address() const { return reinterpret_cast<u64>(memory_.data()); }

  /// Writes the text of all messages to `out`, and to stderr if some may be missing. `formats` are the
  /// metadata's.
  void print(std::span<const std::string> formats, std::FILE* out) const;

private:
  runtime::Arena memory_;
  u32 bytes_;
};

} // namespace lanewise
