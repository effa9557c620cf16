#include "abi/loaded_image.hpp"

#include "abi/relocate.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/mman.h>

namespace lanewise::abi {
namespace {

constexpr u64 kPage = 4096;
constexpr u64 kMaxAlignment = u64{2} << 20;
constexpr u64 kMaxImage = u64{2} << 30;

Error bad(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }

struct Extent {
  u64 first = ~u64{0}, end = 0; ///< page-rounded addresses of the file
  u64 alignment = kPage;
};

Result<Extent> extent_of(const elf::File& file) {
  Extent e;
  for (const auto& segment : file.segments) {
    if (segment.type != elf::kSegmentLoad || segment.memory_size == 0) continue;
    if (segment.alignment > kMaxAlignment || (segment.alignment & (segment.alignment - 1)) != 0)
      return bad(fmt::format("segment alignment {:#x} is not possible", segment.alignment));
    e.alignment = std::max(e.alignment, segment.alignment);
    e.first = std::min(e.first, segment.address);
    e.end = std::max(e.end, segment.address + segment.memory_size);
  }
  if (e.end == 0) return bad("nothing to load: no loadable segment");
  e.first &= ~(e.alignment - 1);
  if (e.end - e.first > kMaxImage) return bad("its segments span more than 2 GiB");
  e.end = e.first + align_up(e.end - e.first, kPage);
  return e;
}

/// Somewhere in a part of the address space where neither Linux nor a sanitizer puts anything unasked: below
/// the lowest address of a position-independent executable.
u64 preferred_address(const Hash128& contents, u64 alignment) {
  constexpr u64 kFirst = 0x5500'0000'0000, kSlots = u64{1} << 22, kSlot = u64{1} << 16;
  return align_up(kFirst + (contents.lo % kSlots) * kSlot, alignment);
}

} // namespace

/// Sets memory_ and begin_: at the preferred address, or else anywhere.
Result<void> LoadedImage::map_memory(u64 bytes, u64 alignment) {
  const auto map = [](u64 where, u64 size, int flags) {
    return mmap(reinterpret_cast<void*>(where), size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  };
  const u64 preferred = preferred_address(contents_, alignment);
  u64 mapped = bytes;
  void* memory = map(preferred, mapped, MAP_FIXED_NOREPLACE);
  if (memory != MAP_FAILED &&
      reinterpret_cast<u64>(memory) != preferred) { // a kernel that does not know the flag
    munmap(memory, mapped);
    memory = MAP_FAILED;
  }
  if (memory == MAP_FAILED) {
    mapped = bytes + alignment - kPage;
    memory = map(0, mapped, 0);
  }
  if (memory == MAP_FAILED)
    return Error{ErrorCode::Internal, fmt::format("no memory for {} bytes of code object", mapped)};
  memory_ = std::shared_ptr<void>(memory, [mapped](void* p) { munmap(p, mapped); });
  begin_ = align_up(reinterpret_cast<u64>(memory), alignment);
  preferred_ = begin_ == preferred;
  return {};
}

std::byte* LoadedImage::host(u64 address) const {
  auto* memory = static_cast<std::byte*>(memory_.get());
  return memory + (address - reinterpret_cast<u64>(memory));
}

Result<void> LoadedImage::map_segments(const elf::File& file) {
  const auto extent = extent_of(file);
  if (!extent) return extent.error();
  size_ = extent->end - extent->first;
  if (auto mapped = map_memory(size_, extent->alignment); !mapped) return mapped;
  bias_ = begin_ - extent->first;
  for (const auto& segment : file.segments) {
    if (segment.type != elf::kSegmentLoad || segment.memory_size == 0) continue;
    std::byte* place = host(segment.address + bias_);
    if (segment.file_size) std::memcpy(place, file.bytes.data() + segment.offset, segment.file_size);
    if (segment.flags & elf::kFlagExecute)
      texts_.push_back({segment.address + bias_, {place, static_cast<std::size_t>(segment.memory_size)}});
  }
  return {};
}

/// Pages that no writable segment touches become read-only: a stray store of a kernel is then a fault with an
/// address.
Result<void> LoadedImage::protect(const elf::File& file) const {
  u64 from = begin_;
  const auto seal = [&](u64 to) { return to <= from || mprotect(host(from), to - from, PROT_READ) == 0; };
  std::vector<std::pair<u64, u64>> writable;
  for (const auto& segment : file.segments)
    if (segment.type == elf::kSegmentLoad && segment.memory_size != 0 && (segment.flags & elf::kFlagWrite))
      writable.emplace_back((segment.address + bias_) & ~(kPage - 1),
                            align_up(segment.address + bias_ + segment.memory_size, kPage));
  std::sort(writable.begin(), writable.end());
  for (const auto& [first, end] : writable) {
    if (!seal(first)) return Error{ErrorCode::Internal, "cannot write-protect the code object"};
    from = std::max(from, end);
  }
  if (!seal(begin_ + size_)) return Error{ErrorCode::Internal, "cannot write-protect the code object"};
  return {};
}

Result<LoadedImage> LoadedImage::create(const CodeObject& object, const Resolver& resolver) {
  LoadedImage image;
  image.symbols_ = object.symbols;
  image.file_ = object.file;
  image.contents_ = hash128({reinterpret_cast<const u8*>(object.file->data()), object.file->size()});
  auto done = image.map_segments(object.elf);
  if (done)
    done = relocate(object.elf, image.host(image.begin_), image.file_address(image.begin_), image.size_,
                    image.bias_, resolver);
  if (done) done = image.protect(object.elf);
  if (!done) return std::move(done).error().in(object.name);
  return image;
}

const LoadedImage::Text* LoadedImage::text_at(u64 address) const {
  for (const auto& text : texts_)
    if (address - text.address < text.bytes.size()) return &text;
  return nullptr;
}

const Symbol* LoadedImage::symbol_at(u64 address) const {
  if (!contains(address)) return nullptr;
  const u64 wanted = file_address(address);
  auto it = std::partition_point(symbols_.begin(), symbols_.end(),
                                 [&](const Symbol& s) { return s.address <= wanted; });
  // Symbols may nest (an alias, a label inside a function), but not deeply: look back over a few.
  for (int tries = 0; it != symbols_.begin() && tries < 8; ++tries) {
    --it;
    const u64 offset = wanted - it->address;
    if (it->size == 0 || offset < it->size) {
      // Equal addresses are sorted by kind, functions first.
      while (it != symbols_.begin() && std::prev(it)->address == it->address &&
             (std::prev(it)->size == 0 || offset < std::prev(it)->size))
        --it;
      return &*it;
    }
  }
  return nullptr;
}

std::string LoadedImage::describe(u64 address) const {
  const auto* symbol = symbol_at(address);
  if (!symbol) return fmt::format("{:#x}", address);
  const u64 offset = file_address(address) - symbol->address;
  return offset == 0 ? std::string(symbol->name) : fmt::format("{}+{:#x}", symbol->name, offset);
}

} // namespace lanewise::abi
