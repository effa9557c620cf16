#include "lanewise/disk_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// Files are spread over folders by hash, and each folder keeps to its part of the limit by itself: so what a
// store has to look through stays small. A part has room for many of the largest translations (megabytes).
constexpr unsigned kFolders = 16;
// Of so many stores one looks whether room is wanted.
constexpr unsigned kStoresPerLook = 8;
constexpr std::string_view kTemporary = "new-";

class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }

private:
  int fd_;
};

fs::path place_of(const fs::path& folder, const Hash128& hash) {
  return folder / fmt::format("{:02x}", hash.lo % kFolders) / fmt::format("{:016x}{:016x}", hash.hi, hash.lo);
}

Hash128 hash_of(const TranslationKey& key) {
  ByteWriter all;
  all.text(build_id());
  all.raw(key.bytes());
  return hash128(all.bytes());
}

bool write_all(int fd, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

/// A file's contents; nothing if it is not ours alone to write, since what it holds is going to be run.
std::optional<std::vector<u8>> read_own_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  std::vector<u8> bytes(static_cast<std::size_t>(status.st_size));
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

/// Removes files until the folder is well within the limit, and what a process that died has left.
void make_room(const fs::path& folder, u64 limit) {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    u64 bytes;
  };
  std::vector<Entry> entries;
  u64 total = 0;
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (auto it = fs::directory_iterator(folder, ignored); it != fs::directory_iterator();
       it.increment(ignored)) {
    if (ignored) return;
    std::error_code failed;
    const auto bytes = it->file_size(failed);
    const auto used = it->last_write_time(failed);
    if (failed) continue; // another process was quicker
    if (it->path().filename().string().starts_with(kTemporary)) {
      if (now - used > std::chrono::hours(1)) fs::remove(it->path(), failed);
      continue;
    }
    entries.push_back({it->path(), used, bytes});
    total += bytes;
  }
  if (total <= limit) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit - limit / 4) return;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

/// The index's size, the index, the code.
std::vector<u8> file_of(const TranslationKey& key, const translator::Translation& translation) {
  TableWriter table;
  table.add(key, translation);
  const TableBytes bytes = std::move(table).finish();
  ByteWriter out;
  out.blob(bytes.index);
  out.raw(bytes.code);
  return out.bytes();
}

} // namespace

fs::path DiskCache::default_folder() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return fs::path(text ? text : "");
  };
  if (auto own = variable("LANEWISE_CACHE_DIR"); !own.empty()) return own;
  if (auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "lanewise";
  if (auto home = variable("HOME"); home.is_absolute()) return home / ".cache" / "lanewise";
  return {};
}

DiskCache::DiskCache(fs::path folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {
  if (const char* text = std::getenv("LANEWISE_CACHE_MB")) limit_ = std::strtoull(text, nullptr, 10) << 20;
}

std::optional<translator::Translation> DiskCache::find(const TranslationKey& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = place_of(folder_, hash_of(key));
  const auto bytes = read_own_file(path);
  if (!bytes) return std::nullopt;
  ByteReader in(*bytes);
  const auto index = in.blob();
  const auto table = TableReader::open(index, in.rest());
  if (!table) return std::nullopt;
  auto translation = table->find(key);
  if (translation) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // used just now
  return translation;
}

void DiskCache::store(const TranslationKey& key, const translator::Translation& translation) const {
  const std::vector<u8> bytes = file_of(key, translation);
  const u64 share = limit_ / kFolders;
  if (folder_.empty() || bytes.size() > share) return;
  const Hash128 hash = hash_of(key);
  const fs::path path = place_of(folder_, hash), folder = path.parent_path();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return;
  static std::atomic<unsigned> serial = 0;
  const fs::path temporary = folder / fmt::format("{}{}-{}", kTemporary, ::getpid(), ++serial);
  const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return;
  if (!write_all(file.get(), bytes) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  if (hash.hi % kStoresPerLook == 0) make_room(folder, share);
}

} // namespace lanewise
