// Lanewise: runs AMD GCN kernels on x86. The library's public interface.
//
//   auto device = lanewise::Device::create({});                            // all cores, best engine
//   auto module = device->load_file("saxpy.co");                           // code object, bundle or fat
//   binary auto kernel = module->kernel("saxpy"); auto result = kernel->launch({.grid = {n, 1, 1}, .block =
//   {256, 1, 1}},
//                                {Argument::pointer(x), Argument::pointer(y), Argument::value(a)});
//   if (!result) std::fputs(result.error().message.c_str(), stderr);       // bad arguments, or the kernel
//   faulted
//
// Kernels work on host memory: a pointer argument is a host pointer. Objects are cheap handles that share
// their state; calls from several threads are safe, launches on one device take turns. Errors are values
// (support/result.hpp), and no input, however malformed, ends the process.
#pragma once

#include "abi/image_format.hpp"
#include "support/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#define LANEWISE_API [[gnu::visibility("default")]]

namespace lanewise {

/// Who executes the waves.
enum class Engine : std::uint8_t {
  /// Recompiled, but small launches of kernels without loops are interpreted, for which to translate them
  /// would take longer. Once a kernel has had enough of those it is translated in the background.
  Auto,
  Jit,    ///< recompiled to x86, at the kernel's first launch
  Interp, ///< the reference interpreter
};

/// Which vector instructions recompiled code uses.
enum class Simd : std::uint8_t { Auto, Avx512, Avx2 };

/// "auto", "jit", "interp"; "auto", "avx512", "avx2".
LANEWISE_API std::string_view to_string(Engine engine);
LANEWISE_API std::string_view to_string(Simd simd);

/// Where the code that runs a kernel came from.
enum class CodeOrigin : std::uint8_t {
  None,        ///< there is none: the kernel is interpreted
  Translated,  ///< by this process
  Cache,       ///< the disk cache
  AheadOfTime, ///< the file that was loaded: see `lanewise translate -o`
};

/// "none", "new", "cache", "ahead-of-time".
LANEWISE_API std::string_view to_string(CodeOrigin origin);

/// Whether this machine can run code made for `simd`.
LANEWISE_API bool host_supports(Simd simd);

struct DeviceOptions {
  Engine engine = Engine::Auto;
  Simd simd = Simd::Auto;
  /// At most; 0: all that the process may use. Launches that are repeated come to run on fewer if they take
  /// about as long then.
  unsigned threads = 0;
  bool no_fallback = false; ///< a kernel that cannot be recompiled whole is an error; none is interpreted
  /// Recompile for the shape of a launch (workgroup, size class), not once for all launches; and once more,
  /// in the background, for the values of scalar arguments that many launches have passed.
  bool specialize = true;
  bool disk_cache = false; ///< keep translations on disk, for other processes and later ones
  /// Empty: $LANEWISE_CACHE_DIR, $XDG_CACHE_HOME/lanewise or ~/.cache/lanewise.
  std::string cache_folder = {};
  /// Where printf of kernels writes; null: stdout.
  std::FILE* output = nullptr;
};

/// A grid of work-items. `grid` need not be a multiple of `block`: the last workgroups are then smaller.
struct LaunchConfig {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};  ///< work-items per dimension
  std::array<std::uint32_t, 3> block = {1, 1, 1}; ///< work-items of a workgroup; at most 1024 in all
  std::array<std::uint64_t, 3> offset = {};       ///< OpenCL's global work offset, in work-items
};

class Image;
class Sampler;
class Texture;

/// One explicit kernel argument.
class Argument {
public:
  enum class Kind : std::uint8_t { Bytes, Pointer, Lds, Image, Sampler, Texture, Surface };

  /// A pointer to host memory that the kernel reads or writes.
  static Argument pointer(const void* address) {
    Argument argument = value(address);
    argument.kind_ = Kind::Pointer;
    return argument;
  }
  /// A value passed by copy: a number, a vector or a struct laid out as the kernel's compiler does.
  template <class T>
  static Argument value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return bytes({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  static Argument bytes(std::span<const std::byte> bytes) {
    Argument argument;
    argument.bytes_.assign(bytes.begin(), bytes.end());
    return argument;
  }
  /// A `local` pointer argument: `bytes` of LDS per workgroup. Behind the kernel's own arguments: dynamic LDS
  /// that no argument stands for, as HIP's `extern __shared__` arrays have it.
  static Argument lds(std::uint32_t bytes) {
    Argument argument;
    argument.kind_ = Kind::Lds;
    argument.lds_bytes_ = bytes;
    return argument;
  }

  /// OpenCL's images and samplers. As with pointers, what they refer to must live as long as the launch.
  LANEWISE_API static Argument image(const Image& image);
  LANEWISE_API static Argument sampler(const Sampler& sampler);
  /// HIP's texture and surface objects.
  LANEWISE_API static Argument texture(const Texture& texture);
  LANEWISE_API static Argument surface(const Image& image);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// Of images, samplers, textures and surfaces: the address of their objects, one for each target.
  [[nodiscard]] std::span<const std::byte> data() const { return bytes_; }
  [[nodiscard]] std::uint32_t lds_bytes() const { return lds_bytes_; }

private:
  static Argument object(Kind kind, const void* objects);

  Kind kind_ = Kind::Bytes;
  std::uint32_t lds_bytes_ = 0;
  std::vector<std::byte> bytes_;
};

/// An explicit argument as the kernel declares it.
struct ArgumentInfo {
  std::string name;
  std::string type_name; ///< as in the source; may be empty
  Argument::Kind kind = Argument::Kind::Bytes;
  std::uint32_t size = 0; ///< bytes in the kernarg segment
};

struct KernelInfo {
  std::string name;
  std::string target; ///< "gfx906"
  std::vector<ArgumentInfo> arguments;
  /// False: argument sizes are not known, and arguments are laid out by their natural alignment.
  bool has_metadata = true;
  std::uint32_t lds_bytes = 0;     ///< static, per workgroup
  std::uint32_t scratch_bytes = 0; ///< per work-item
  std::uint32_t max_workgroup = 1024;
  std::array<std::uint32_t, 3> required_block = {}; ///< 0, 0, 0 if the kernel takes any
};

/// How a kernel was made ready.
struct Preparation {
  Engine engine = Engine::Jit; ///< the one that runs it: Interp after a fall-back or for a small launch
  Simd simd = Simd::Auto;      ///< of recompiled code; Auto for the interpreter
  CodeOrigin origin = CodeOrigin::None;
  std::string note; ///< why translations that the file holds are not used, or why there is none
  double translate_ms =
      0; ///< time taken to translate or to find a translation, at the first launch or prepare()
  std::uint32_t fallback_instructions = 0; ///< instructions of the kernel that cannot be recompiled
  std::string first_fallback;              ///< the first of them, disassembled
  bool for_values = false; ///< made for the values of scalar arguments that many launches have passed
};

/// Where and why a kernel faulted.
struct Fault {
  std::string message; ///< all of the below in one line
  std::string kernel;
  std::string instruction;  ///< disassembled; empty if unknown
  std::uint64_t pc = 0;     ///< address of the instruction in the loaded image, 0 if unknown
  std::uint64_t offset = 0; ///< of pc from the kernel's entry
  std::array<std::uint32_t, 3> workgroup = {};
  std::uint32_t wave = 0;    ///< within the workgroup
  int lane = -1;             ///< -1 for a scalar access, or if unknown
  std::uint64_t address = 0; ///< that was accessed or jumped to
};

struct LaunchTimes {
  double wall_ms = 0;                       ///< of the run itself, without preparation
  double cpu_ms = 0;                        ///< CPU time of all threads that ran it
  unsigned threads = 1;                     ///< that shared it: see DeviceOptions::threads
  const Preparation* preparation = nullptr; ///< of the version that ran; lives as long as the module
};

/// Zeroed memory whose ends lie at inaccessible pages, so that a kernel that runs off it faults. Any other
/// host memory serves as well.
class LANEWISE_API Buffer {
public:
  /// Error: Usage if there is not enough memory.
  static Result<Buffer> allocate(std::uint64_t bytes);
  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] std::uint64_t size() const;

private:
  struct [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

/// Texels in memory that kernels of any target reach as an image, zeroed. Rows are pitch() bytes apart: a
/// multiple of 256 but for 1D buffers. The last row ends at inaccessible pages, as a buffer does. Copies
/// share the texels.
class LANEWISE_API Image {
public:
  /// Error: Usage for extents or formats that no image has, or if there is not enough memory.
  static Result<Image> create(const ImageDescription& description);

  [[nodiscard]] const ImageDescription& description() const;
  [[nodiscard]] std::uint32_t texel_bytes() const;
  [[nodiscard]] std::uint64_t row_bytes() const; ///< that hold texels
  [[nodiscard]] std::uint64_t pitch() const;
  /// Rows of all slices or layers, one after the other: an image has height * depth * layers.
  [[nodiscard]] std::uint64_t rows() const;
  /// The texels of a row; the bytes between it and the next one belong to nobody.
  [[nodiscard]] std::span<std::byte> row(std::uint64_t index) const;
  /// All rows without what is between them: rows() * row_bytes() bytes. Error: Usage for another number of
  /// bytes.
  [[nodiscard]] Result<void> write(std::span<const std::byte> texels) const;
  [[nodiscard]] Result<void> read(std::span<std::byte> texels) const;

private:
  friend class Argument;
  friend class Texture;
  struct [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

/// How kernels look at images.
class LANEWISE_API Sampler {
public:
  /// Error: Usage for coordinates in texels that repeat.
  static Result<Sampler> create(const SamplerDescription& description);

private:
  friend class Argument;
  struct [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

/// What a hipTextureObject_t stands for: an image and a sampler. Keeps the image's texels.
class LANEWISE_API Texture {
public:
  /// Error: as for samplers.
  static Result<Texture> create(const Image& image, const SamplerDescription& sampler);

private:
  friend class Argument;
  struct [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

/// A kernel of a loaded module.
class LANEWISE_API Kernel {
public:
  [[nodiscard]] const KernelInfo& info() const;

  /// Makes the kernel ready for launches like this one: translates it, once for all launches with the same
  /// workgroup and of similar size. launch() does it by itself when needed, which for small launches is not
  /// at once (Engine::Auto). Kernels that get local memory at launch are translated once more at the first
  /// launch, which tells its sizes. Errors: Usage (sizes that do not
  /// fit the kernel), Unsupported if it cannot be recompiled and the device does not fall back.
  [[nodiscard]] Result<Preparation> prepare(const LaunchConfig& config) const;
  /// Makes the kernel ready in the version that serves all launches.
  [[nodiscard]] Result<Preparation> prepare() const;

  /// Runs the grid and waits for it. Errors: Usage (arguments or sizes do not fit the kernel), Unsupported
  /// (see prepare), Fault (the kernel faulted or trapped: the message says where, `fault` has the details;
  /// memory keeps what was written).
  [[nodiscard]] Result<LaunchTimes> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                           Fault* fault = nullptr) const;
  [[nodiscard]] Result<LaunchTimes> launch(const LaunchConfig& config,
                                           std::initializer_list<Argument> arguments,
                                           Fault* fault = nullptr) const {
    return launch(config, std::span(arguments.begin(), arguments.size()), fault);
  }

  struct [[gnu::visibility("hidden")]] State;

private:
  friend class Module;
  explicit Kernel(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// A code object, loaded: its globals live as long as any handle to it.
class LANEWISE_API Module {
public:
  /// "gfx906".
  [[nodiscard]] std::string target() const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  /// Error: NotFound, with the names there are.
  [[nodiscard]] Result<Kernel> kernel(std::string_view name) const;
  /// The memory of a variable: HIP's `__device__`, `__constant__` and `__managed__`, OpenCL's program-scope
  /// variables. It can be read and written between launches, and lives as long as the module. Errors:
  /// NotFound; Unsupported if it is constant, so that kernels may have its value built in.
  [[nodiscard]] Result<std::span<std::byte>> variable(std::string_view name) const;

  struct [[gnu::visibility("hidden")]] State;

private:
  friend class Device;
  explicit Module(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// What kernels run on: an engine and a pool of threads.
class LANEWISE_API Device {
public:
  /// Error: Usage if the host lacks the vector instructions asked for.
  static Result<Device> create(const DeviceOptions& options = {});

  [[nodiscard]] Engine engine() const;
  [[nodiscard]] Simd simd() const; ///< never Auto
  [[nodiscard]] unsigned threads() const;

  /// Loads a code object, one out of an offload bundle or a host program's fat binary, or a shared object of
  /// translated kernels (`lanewise translate -o`), which then need no translation. `target` ("gfx906")
  /// chooses among several; empty takes the first that Lanewise runs. A program has a code object for each of
  /// its translation units: `kernel` chooses the first that has a kernel of that name. Errors: BadInput,
  /// Unsupported (a target that is not one of ours), NotFound (no code object for `target`, or with
  /// `kernel`).
  [[nodiscard]] Result<Module> load_file(const std::string& path, std::string_view target = {},
                                         std::string_view kernel = {}) const;
  [[nodiscard]] Result<Module> load(std::span<const std::byte> bytes, std::string_view target = {},
                                    std::string_view kernel = {}) const;

  struct [[gnu::visibility("hidden")]] State;

private:
  explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

} // namespace lanewise
