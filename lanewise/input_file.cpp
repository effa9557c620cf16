#include "lanewise/input_file.hpp"

#include "isa/op.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>

namespace lanewise {
namespace {

/// Those for the target ID that suits best.
Result<std::vector<abi::BundleEntry>> suitable_entries(std::span<const std::byte> bytes,
                                                       const std::string& name, std::string_view target) {
  auto entries = abi::list_entries(bytes);
  if (!entries) return std::move(entries).error().in(name);
  auto suitable = abi::select_entries(*entries, target);
  if (!suitable) return std::move(suitable).error().in(name);
  std::erase_if(*suitable, [best = suitable->front().id](const auto& entry) { return entry.id != best; });
  return suitable;
}

Result<abi::CodeObject> load_entry(const abi::BundleEntry& entry, const std::string& name,
                                   std::string_view target) {
  auto object = abi::load(entry.bytes, entry.id.empty() ? name : name + ":" + entry.id);
  const std::string_view processor = target.substr(0, target.find(':'));
  if (object && !processor.empty() && isa::target_name(object->target.isa) != processor &&
      object->target.processor != processor)
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: is for {}, not for {}", name, object->target.processor, target)};
  return object;
}

/// Smaller files are read, since nothing is gained: who has a file mapped must not see it become shorter.
constexpr std::size_t kMappedFrom = 1 << 20;

/// 0 for pipes and the like.
std::size_t regular_size(std::FILE* file) {
  struct stat status = {};
  const bool regular = ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::size_t>(status.st_size) : 0;
}

/// Nothing if the file system cannot do that.
std::optional<FileBytes> map(std::FILE* file, std::size_t size) {
  void* const place = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, ::fileno(file), 0);
  if (place == MAP_FAILED) return std::nullopt;
  return FileBytes({place, [size](void* p) { ::munmap(p, size); }},
                   {static_cast<const std::byte*>(place), size});
}

} // namespace

Result<FileBytes> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  if (file) {
    const std::size_t size = regular_size(file.get());
    if (auto mapped = size < kMappedFrom ? std::nullopt : map(file.get(), size)) return *std::move(mapped);
    bytes->reserve(size);
    std::vector<std::byte> chunk(1 << 16);
    for (std::size_t got = 0; (got = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0;)
      bytes->insert(bytes->end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  }
  if (!file || std::ferror(file.get()))
    return Error{ErrorCode::BadInput, fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  const std::span<const std::byte> all = *bytes;
  return FileBytes(std::move(bytes), all);
}

Result<std::vector<abi::CodeObject>> load_code_objects(std::span<const std::byte> bytes,
                                                       const std::string& name, std::string_view target) {
  auto parts = suitable_entries(bytes, name, target);
  if (!parts) return std::move(parts).error();
  std::vector<abi::CodeObject> objects;
  for (const abi::BundleEntry& part : *parts) {
    auto object = load_entry(part, name, target);
    if (!object) return std::move(object).error();
    objects.push_back(std::move(*object));
  }
  return objects;
}

Result<abi::CodeObject> load_code_object(std::span<const std::byte> bytes, const std::string& name,
                                         std::string_view target, std::string_view kernel) {
  auto parts = suitable_entries(bytes, name, target);
  if (!parts) return std::move(parts).error();
  for (const abi::BundleEntry& part : *parts) {
    auto object = load_entry(part, name, target);
    if (!object || kernel.empty() || object->find_kernel(kernel)) return object;
  }
  return Error{ErrorCode::NotFound, fmt::format("{}: has no kernel {}", name, kernel)};
}

} // namespace lanewise
