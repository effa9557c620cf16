// Executable memory, never writable and executable at once.
#pragma once

#include "support/bits.hpp"
#include "support/result.hpp"

#include <functional>
#include <span>

namespace lanewise::x86 {

class CodeMemory {
public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();

  /// Maps `bytes`, lets `fill` write them at their final address, then makes them read-and-execute only.
  static Result<CodeMemory> create(std::size_t bytes, const std::function<Result<void>(u8*)>& fill);

  [[nodiscard]] const u8* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  u8* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace lanewise::x86
