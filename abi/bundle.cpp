#include "abi/bundle.hpp"

#include "abi/elf.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanewise::abi {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr std::string_view kFatbinSection = ".hip_fatbin";
constexpr u64 kMaxId = 1024, kMaxEntries = 4096;

Error bad(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }
Error compressed() {
  return {ErrorCode::Unsupported, "compressed offload bundle: extract it with clang-offload-bundler "
                                  "-unbundle, or build with --no-offload-compress"};
}

/// Takes ":xnack+:sramecc-" (versions 4 and later) or "+xnack+sram-ecc" (2 and 3) apart.
void parse_features(std::string_view text, BundleEntry& entry) {
  const bool old_style = text.starts_with('+');
  while (!text.empty()) {
    text.remove_prefix(1);
    auto feature = text.substr(0, text.find_first_of(old_style ? "+" : ":"));
    text.remove_prefix(feature.size());
    auto state = Feature::On;
    if (!old_style && !feature.empty()) {
      state = feature.back() == '+' ? Feature::On : Feature::Off;
      feature.remove_suffix(1);
    }
    if (feature == "xnack") entry.xnack = state;
    if (feature == "sramecc" || feature == "sram-ecc") entry.sramecc = state;
  }
}

void parse_target(std::string_view text, BundleEntry& entry) {
  const auto end = std::min(text.find_first_of(":+"), text.size());
  entry.processor = text.substr(0, end);
  parse_features(text.substr(end), entry);
}

/// KIND-ARCH-VENDOR-OS-ENVIRONMENT[-TARGET_ID]; the environment may be empty.
BundleEntry parse_id(std::string_view id) {
  BundleEntry entry;
  entry.id = id;
  std::vector<std::string_view> fields;
  for (auto rest = id; fields.size() < 5;) {
    const auto dash = rest.find('-');
    fields.push_back(rest.substr(0, dash));
    if (dash == std::string_view::npos) break;
    rest.remove_prefix(dash + 1);
    if (fields.size() == 5) parse_target(rest, entry);
  }
  entry.kind = fields[0];
  if (fields.size() > 1) fields.erase(fields.begin());
  while (fields.size() > 1 && fields.back().empty()) fields.pop_back();
  // Some tools leave the environment out: "hip-amdgcn-amd-amdhsa-gfx803".
  if (entry.processor.empty() && fields.back().starts_with("gfx")) {
    parse_target(fields.back(), entry);
    fields.pop_back();
  }
  entry.triple = fmt::format("{}", fmt::join(fields, "-"));
  return entry;
}

/// Adds the entries of the bundle that begins at `start` of the file. Offsets inside it count from there.
Result<void> parse_bundle(Bytes file, u64 start, std::vector<BundleEntry>& entries) {
  const Bytes bundle = file.subspan(start);
  const auto count = read_at<u64>(bundle, kMagic.size());
  if (!count) return bad("the offload bundle is truncated");
  if (*count > kMaxEntries) return bad(fmt::format("the offload bundle claims to have {} entries", *count));
  u64 at = kMagic.size() + 8;
  for (u64 i = 0; i < *count; ++i) {
    const auto offset = read_at<u64>(bundle, at), size = read_at<u64>(bundle, at + 8),
               id_size = read_at<u64>(bundle, at + 16);
    if (!offset || !size || !id_size || *id_size > kMaxId)
      return bad(fmt::format("entry {} of the offload bundle is broken", i));
    const auto id = slice(bundle, at + 24, *id_size);
    const auto bytes = slice(bundle, *offset, *size);
    if (!id || !bytes)
      return bad(fmt::format("entry {} of the offload bundle ends beyond the file: it is truncated", i));
    auto entry = parse_id(as_text(*id));
    entry.offset = start + *offset;
    entry.bytes = *bytes;
    if (entries.size() < kMaxEntries) entries.push_back(std::move(entry));
    at += 24 + *id_size;
  }
  return {};
}

/// A section .hip_fatbin holds one bundle per translation unit, each aligned to a page with padding between.
Result<void> scan_fatbin(Bytes file, const elf::Section& section, std::vector<BundleEntry>& entries) {
  const auto bytes = slice(file, section.offset, section.size);
  if (!bytes) return bad("section .hip_fatbin ends beyond the file: it is truncated");
  const auto text = as_text(*bytes);
  if (text.starts_with(kCompressedMagic)) return compressed();
  unsigned bundles = 0;
  for (auto at = text.find(kMagic); at != std::string_view::npos;
       at = text.find(kMagic, at + kMagic.size())) {
    if (++bundles > kMaxEntries) break;
    if (auto parsed = parse_bundle(file.first(section.offset + section.size), section.offset + at, entries);
        !parsed)
      return parsed;
  }
  return {};
}

BundleEntry lone_code_object(Bytes file, const elf::File& parsed) {
  BundleEntry entry;
  entry.kind = "code object";
  entry.triple = "amdgcn-amd-amdhsa";
  entry.bytes = file;
  if (const auto target = target_from_flags(parsed.flags, parsed.abi_version + 2u)) {
    entry.processor = target->processor;
    entry.xnack = target->xnack;
    entry.sramecc = target->sramecc;
  }
  return entry;
}

std::string describe(const std::vector<BundleEntry>& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (!entry.is_device()) continue;
    auto name = entry.processor.empty() ? "code for an unknown processor" : entry.processor;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names.empty() ? "there is no device code" : fmt::format("the file has {}", fmt::join(names, ", "));
}

bool agree(Feature wanted, Feature offered) {
  const auto is_open = [](Feature f) { return f == Feature::Any || f == Feature::Unsupported; };
  return is_open(wanted) || is_open(offered) || wanted == offered;
}

} // namespace

Result<std::vector<BundleEntry>> list_entries(Bytes file) {
  std::vector<BundleEntry> entries;
  const auto text = as_text(file);
  if (text.starts_with(kMagic)) {
    if (auto parsed = parse_bundle(file, 0, entries); !parsed) return std::move(parsed).error();
    return entries;
  }
  if (text.starts_with(kCompressedMagic)) return compressed();
  if (!elf::is_elf(file))
    return bad("neither a code object, nor an offload bundle, nor a program with code objects inside");
  const auto parsed = elf::parse(file);
  if (!parsed) return parsed.error();
  if (parsed->machine == elf::kMachineAmdgpu) return std::vector{lone_code_object(file, *parsed)};
  if (const auto* own = parsed->find_section(kCodeObjectSection)) {
    const auto object = slice(file, own->offset, own->size);
    const auto inner =
        object ? elf::parse(*object) : bad("its code object ends beyond the file: it is truncated");
    if (!inner) return inner.error();
    return std::vector{lone_code_object(*object, *inner)};
  }
  const auto* section = parsed->find_section(kFatbinSection);
  if (!section)
    return bad("a host program without a section .hip_fatbin or .lanewise.code_object: it holds no GPU code");
  if (auto scanned = scan_fatbin(file, *section, entries); !scanned) return std::move(scanned).error();
  return entries;
}

Result<std::vector<BundleEntry>> select_entries(const std::vector<BundleEntry>& entries,
                                                std::string_view wanted) {
  BundleEntry want;
  parse_target(wanted, want);
  const auto want_id = target_from_name(want.processor);
  if (!wanted.empty() && !want_id)
    return Error{ErrorCode::Usage,
                 fmt::format("'{}' is no target of Lanewise; {}", wanted, describe(entries))};
  std::vector<BundleEntry> exact, close;
  for (const auto& entry : entries) {
    if (!entry.is_device() || entry.bytes.empty()) continue;
    const auto id = target_from_name(entry.processor);
    if (wanted.empty()) {
      // A lone code object is taken whatever it is for: load() says what is wrong with it.
      if (id || entry.id.empty()) exact.push_back(entry);
      continue;
    }
    if (!id || id->isa != want_id->isa) continue;
    if (!agree(want.xnack, entry.xnack) || !agree(want.sramecc, entry.sramecc)) continue;
    (entry.processor == want.processor ? exact : close).push_back(entry);
  }
  exact.insert(exact.end(), close.begin(), close.end());
  if (exact.empty())
    return Error{ErrorCode::NotFound,
                 fmt::format("no code for {}; {}", wanted.empty() ? "any target of Lanewise" : wanted,
                             describe(entries))};
  return exact;
}

} // namespace lanewise::abi
