#include "tools/arg_spec.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace lanewise::tools {
namespace {

Error usage(std::string message) { return {ErrorCode::Usage, std::move(message)}; }

/// Splits off the text before the next ':'; `rest` keeps what follows it.
std::string_view next_field(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  const std::string_view field = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  return field;
}

bool parse_count(std::string_view text, u64& value) { return parse_element(ElementType::U64, text, &value); }

Result<Init> parse_uniform(std::string_view rest) {
  Init init;
  init.kind = Init::Kind::Uniform;
  const std::string_view seed = next_field(rest);
  const std::string_view lo = next_field(rest);
  // A negative seed is its two's complement.
  const ElementType seed_type = seed.starts_with('-') ? ElementType::I64 : ElementType::U64;
  if (!parse_element(seed_type, seed, &init.seed))
    return usage(
        fmt::format("uniform: '{}' is no seed; write uniform:SEED:LO:HI, for example uniform:1:0:1", seed));
  if (!parse_element(ElementType::F64, lo, &init.lo) || !parse_element(ElementType::F64, rest, &init.hi))
    return usage(fmt::format(
        "uniform: '{}:{}' is no range; write uniform:SEED:LO:HI, for example uniform:1:-1:1", lo, rest));
  return init;
}

Result<Init> parse_init(std::string_view rest) {
  Init init;
  if (rest == "zero") return init;
  if (rest == "iota") {
    init.kind = Init::Kind::Iota;
    return init;
  }
  const std::string_view kind = next_field(rest);
  if (kind == "uniform") return parse_uniform(rest);
  if (kind == "file") {
    if (rest.empty()) return usage("file: needs a path, as in buf:f32:1024:file:input.bin");
    init.kind = Init::Kind::File;
    init.path = rest;
    return init;
  }
  return usage(
      fmt::format("'{}' is no way to fill a buffer; use zero, iota, uniform:SEED:LO:HI or file:PATH", kind));
}

Result<ArgSpec> parse_buffer(std::string_view rest) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Buffer;
  const std::string_view type_name = next_field(rest);
  const auto type = parse_element_type(type_name);
  if (!type) return usage(fmt::format("'{}' is no element type; use one of {}", type_name, element_names()));
  spec.type = *type;
  const std::string_view count = next_field(rest);
  if (!parse_count(count, spec.count) || spec.count > (1ull << 60) / element_bytes(*type))
    return usage(fmt::format(
        "'{}' is no element count; write buf:TYPE:COUNT:INIT, for example buf:f32:1024:zero", count));
  spec.bytes = spec.count * element_bytes(*type);
  auto init = parse_init(rest);
  if (!init) return std::move(init).error();
  spec.init = std::move(*init);
  return spec;
}

/// `GEOMETRY:SIZE:FORMAT:INIT`.
Result<ArgSpec> parse_texels(ArgSpec::Kind kind, std::string_view rest) {
  const std::string_view geometry = next_field(rest), size = next_field(rest), format = next_field(rest);
  const auto image = parse_image_spec(geometry, size, format);
  if (!image) return image.error();
  ArgSpec spec;
  spec.kind = kind;
  spec.image = image->description;
  spec.type = image->type;
  spec.count = image->count;
  spec.bytes = image->count * element_bytes(image->type);
  auto init = parse_init(rest);
  if (!init) return std::move(init).error();
  spec.init = std::move(*init);
  return spec;
}

Result<ArgSpec> parse_sampler(std::string_view text) {
  const auto sampler = parse_sampler_spec(text);
  if (!sampler) return sampler.error();
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Sampler;
  spec.sampler = *sampler;
  return spec;
}

Result<ArgSpec> parse_texture(std::string_view rest) {
  const auto sampler = parse_sampler_spec(next_field(rest));
  if (!sampler) return sampler.error();
  auto spec = parse_texels(ArgSpec::Kind::Texture, rest);
  if (spec) spec->sampler = *sampler;
  return spec;
}

Result<ArgSpec> parse_scalar(ElementType type, std::string_view rest) {
  ArgSpec spec;
  spec.type = type;
  for (std::string_view values = rest;;) {
    const std::size_t comma = values.find(',');
    const std::string_view value = values.substr(0, comma);
    u8 bytes[8];
    if (!parse_element(type, value, bytes))
      return usage(fmt::format("'{}' is no value of type {}", value, element_name(type)));
    spec.scalar.insert(spec.scalar.end(), bytes, bytes + element_bytes(type));
    if (comma == std::string_view::npos) break;
    values.remove_prefix(comma + 1);
  }
  spec.bytes = spec.scalar.size();
  return spec;
}

u64 splitmix64(u64 x) {
  u64 z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Values, no reference to a buffer's description: for all the compiler knows the buffer is written over it.
double uniform_element(u64 seed, double lo, double hi, u64 index) {
  const double u = static_cast<double>(splitmix64(seed * 0x9E3779B97F4A7C15u + index) >> 11) * 0x1p-53;
  return lo + (hi - lo) * u;
}

Result<void> read_file(const ArgSpec& spec, u8* out) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(spec.init.path.c_str(), "rb"),
                                                             std::fclose);
  if (!file)
    return Error{ErrorCode::BadInput,
                 fmt::format("{}: cannot read: {}", spec.init.path, std::strerror(errno))};
  const u64 got = std::fread(out, 1, spec.bytes, file.get());
  if (std::ferror(file.get()))
    return Error{ErrorCode::BadInput,
                 fmt::format("{}: cannot read: {}", spec.init.path, std::strerror(errno))};
  if (got < spec.bytes)
    return Error{ErrorCode::BadInput,
                 fmt::format("{}: holds {} bytes, but {} elements of {} need {}", spec.init.path, got,
                             spec.count, element_name(spec.type), spec.bytes)};
  return {};
}

} // namespace

Result<ArgSpec> parse_arg_spec(std::string_view text) {
  std::string_view rest = text;
  const std::string_view kind = next_field(rest);
  if (kind == "buf") return parse_buffer(rest);
  if (kind == "lds") {
    ArgSpec spec;
    spec.kind = ArgSpec::Kind::Lds;
    if (!parse_count(rest, spec.bytes))
      return usage(fmt::format("'{}' is no size; write lds:BYTES, for example lds:1024", rest));
    return spec;
  }
  if (kind == "image") return parse_texels(ArgSpec::Kind::Image, rest);
  if (kind == "surface") return parse_texels(ArgSpec::Kind::Surface, rest);
  if (kind == "sampler") return parse_sampler(rest);
  if (kind == "texture") return parse_texture(rest);
  if (const auto type = parse_element_type(kind)) return parse_scalar(*type, rest);
  return usage(fmt::format(
      "'{}' is no argument; write buf:TYPE:COUNT:INIT, TYPE:VALUE or lds:BYTES, TYPE one of {}; or "
      "image:..., sampler:..., texture:..., surface:..., which lanewise run --help explains",
      text, element_names()));
}

Result<void> fill_buffer(const ArgSpec& spec, u8* out) {
  const ElementType type = spec.type;
  const u64 count = spec.count;
  const u32 step = element_bytes(type);
  switch (spec.init.kind) {
  case Init::Kind::Zero:
    std::fill_n(out, spec.bytes, u8{0});
    break; // null is allowed where nothing is filled
  case Init::Kind::Iota:
    for (u64 i = 0; i < count; ++i) store_element(type, i, out + i * step);
    break;
  case Init::Kind::Uniform: {
    const u64 seed = spec.init.seed;
    const double lo = spec.init.lo, hi = spec.init.hi;
    for (u64 i = 0; i < count; ++i) store_element(type, uniform_element(seed, lo, hi, i), out + i * step);
    break;
  }
  case Init::Kind::File: return read_file(spec, out);
  }
  return {};
}

// A step waits for the one before it. Two buffers side by side take hardly longer than one.
std::vector<u64> fnv1a(std::span<const std::span<const u8>> buffers) {
  const auto step = [](u64 hash, u8 byte) { return (hash ^ byte) * 0x100000001b3u; };
  std::vector<u64> hashes(buffers.size(), 0xcbf29ce484222325u);
  for (std::size_t i = 0; i < buffers.size(); i += 2) {
    const bool pair = i + 1 < buffers.size();
    const std::span<const u8> a = buffers[i], b = pair ? buffers[i + 1] : std::span<const u8>();
    u64 hash_a = hashes[i], hash_b = hash_a;
    std::size_t n = 0;
    for (; n < std::min(a.size(), b.size()); ++n) {
      hash_a = step(hash_a, a[n]);
      hash_b = step(hash_b, b[n]);
    }
    for (std::size_t rest = n; rest < a.size(); ++rest) hash_a = step(hash_a, a[rest]);
    for (std::size_t rest = n; rest < b.size(); ++rest) hash_b = step(hash_b, b[rest]);
    hashes[i] = hash_a;
    if (pair) hashes[i + 1] = hash_b;
  }
  return hashes;
}

} // namespace lanewise::tools
