#include "lanewise/input_file.hpp"

#include "isa/op.hpp"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace lanewise {

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::vector<std::byte> bytes;
  std::size_t got = 0;
  if (file) {
    std::vector<std::byte> chunk(1 << 16);
    while ((got = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0)
      bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  }
  if (!file || std::ferror(file.get()))
    return Error{ErrorCode::BadInput, fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  return bytes;
}

Result<abi::CodeObject> load_code_object(std::span<const std::byte> bytes, const std::string& name,
                                         std::string_view target) {
  auto entries = abi::list_entries(bytes);
  if (!entries) return std::move(entries).error().in(name);
  auto suitable = abi::select_entries(*entries, target);
  if (!suitable) return std::move(suitable).error().in(name);
  const abi::BundleEntry& best = suitable->front();
  auto object = abi::load(best.bytes, best.id.empty() ? name : name + ":" + best.id);
  const std::string_view processor = target.substr(0, target.find(':'));
  if (object && !processor.empty() && isa::target_name(object->target.isa) != processor &&
      object->target.processor != processor)
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: is for {}, not for {}", name, object->target.processor, target)};
  return object;
}

} // namespace lanewise
