// The end-to-end kernels: what to launch, on which data, and what must come out. Knows no engine; depends on
// the standard library and the descriptions of images alone.
#pragma once

#include "abi/image_format.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::kernels {

/// Extents or ids in the dimensions x, y, z; counted in work-items.
using Dim3 = std::array<uint32_t, 3>;

/// How an argument reaches the kernel.
enum class ArgKind {
  Buffer, ///< a pointer to global or constant memory that starts as `bytes`
  Value,  ///< `bytes` themselves, a scalar, a vector or a structure in the device's layout (little endian)
  Local,  ///< a pointer to dynamic LDS of `local_bytes`; that LDS alone if the kernel has no such argument
  Image,  ///< an OpenCL image whose texels, row by row without gaps, start as `bytes`
  Sampler,
  Texture, ///< a HIP texture object: `image` seen through `sampler`
  Surface, ///< a HIP surface object
};

/// Type of the elements of a buffer, or of an image's channels, for comparing and for messages.
enum class Element { U8, U16, F16, U32, F32, U64, F64 };

/// How far a floating-point buffer may be from the reference: |got - expected| <= absolute + relative *
/// |expected|, except in a share `outliers` of the elements. All zero: bits must be equal (NaNs are all
/// alike).
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double outliers = 0;
  std::string_view reason = ""; ///< why the result is not exact
  [[nodiscard]] bool exact() const { return relative == 0 && absolute == 0 && outliers == 0; }
};

/// One kernel argument in the order of the kernel's signature, hidden arguments not counted.
struct Arg {
  ArgKind kind = ArgKind::Buffer;
  Element element = Element::U8;
  std::string name;
  std::vector<std::byte> bytes;
  uint32_t local_bytes = 0;
  ImageDescription image;
  SamplerDescription sampler;
  Tolerance tolerance;

  [[nodiscard]] bool has_texels() const {
    return kind == ArgKind::Image || kind == ArgKind::Texture || kind == ArgKind::Surface;
  }
  /// Whether the kernel may change the bytes.
  [[nodiscard]] bool is_memory() const { return kind == ArgKind::Buffer || has_texels(); }

  /// The contents as elements of T.
  template <class T>
  [[nodiscard]] std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// The one value of a Value argument.
  template <class T>
  [[nodiscard]] T value() const {
    return as<T>()[0];
  }
};

/// What buffers that the kernel only fills start with, so that what is never written shows.
inline constexpr std::byte kOutputPattern{0xa5};

/// One launch of one kernel on given data.
struct KernelCase {
  std::string name;   ///< unique: the kernel, or "kernel.variant"
  std::string kernel; ///< the kernel's name; its source is src/<kernel>.cl or .hip, its descriptor symbol
                      ///< "<kernel>.kd"
  Dim3 global{1, 1, 1};
  Dim3 local{1, 1, 1};  ///< need not divide `global`: the last workgroups are then partial
  Dim3 offset{0, 0, 0}; ///< global work offset, which kernels see through hidden arguments
  std::vector<Arg> args;
  uint32_t min_target = 600; ///< least target: 600, 700, 803, 900 or 906
  bool results_only = false; ///< one of many alike, for its results: no benchmark
  bool gcn_only = false; ///< asks for wavefronts of 64, GCN builtins or flushed subnormals: no other machine

  /// Workgroups per dimension, partial ones included.
  [[nodiscard]] Dim3 groups() const;
  /// Bytes of all buffers together.
  [[nodiscard]] std::size_t buffer_bytes() const;

  /// Computes in place what the kernel leaves in the buffers of `args`.
  std::function<void(std::span<Arg>)> reference;

  /// Compares every buffer, inputs included, with the reference's. Returns the first difference, or nothing.
  /// `after` holds the arguments in the same order, buffers with their contents after the launch.
  [[nodiscard]] std::optional<std::string> check(std::span<const Arg> after) const;

  /// `check` against arguments that `expected()` gave earlier, for benchmarks that check more than once.
  [[nodiscard]] std::optional<std::string> compare(std::span<const Arg> expected,
                                                   std::span<const Arg> after) const;
  [[nodiscard]] std::vector<Arg> expected() const;

  /// Where the kernel's code object is, relative to the repository: target "gfx900", level "O0", "O2" or
  /// "O3", with ".v3" or ".v5" appended for another code-object version.
  [[nodiscard]] std::string code_object(std::string_view target, std::string_view level) const;

  /// Whether `target` ("gfx803") can run it; only then does the code object exist.
  [[nodiscard]] bool runs_on(std::string_view target) const;
};

/// A case by name. `make(scale)` builds its data; `scale` multiplies every extent of the problem (both sides
/// of an image, all three of a matrix product, the length of a vector). 1 suits tests, larger ones
/// benchmarks.
struct CaseEntry {
  std::string_view name;
  KernelCase (*make)(uint32_t scale);
};

/// All cases, in a fixed order.
[[nodiscard]] std::vector<CaseEntry> all_cases();

/// The case called `name`, or nothing.
[[nodiscard]] std::optional<KernelCase> find_case(std::string_view name, uint32_t scale = 1);

inline constexpr std::array<std::string_view, 5> kTargets{"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"};
inline constexpr std::array<std::string_view, 3> kLevels{"O0", "O2", "O3"};

} // namespace lanewise::kernels
