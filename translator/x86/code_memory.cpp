#include "translator/x86/code_memory.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace lanewise::x86 {

CodeMemory::CodeMemory(CodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

CodeMemory::~CodeMemory() {
  if (data_) munmap(data_, size_);
}

Result<CodeMemory> CodeMemory::create(std::size_t bytes, const std::function<Result<void>(u8*)>& fill) {
  CodeMemory memory;
  const std::size_t size = align_up(bytes, std::size_t{4096});
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Error{ErrorCode::Internal, std::string("no memory for code: ") + std::strerror(errno)};
  memory.data_ = static_cast<u8*>(p);
  memory.size_ = size;
  if (Result<void> filled = fill(memory.data_); !filled) return std::move(filled).error();
  if (mprotect(p, size, PROT_READ | PROT_EXEC) != 0)
    return Error{ErrorCode::Internal, std::string("code cannot be made executable: ") + std::strerror(errno)};
  return memory;
}

} // namespace lanewise::x86
