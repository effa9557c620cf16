// When to interpret rather than to translate: launches that are over before a translation would be.
#pragma once

#include "abi/code_object.hpp"
#include "abi/dispatch.hpp"
#include "abi/loaded_image.hpp"
#include "lanewise/prepared.hpp"

#include <future>
#include <optional>

namespace lanewise {

/// Whether no wave of the kernel can execute an instruction twice: there are only forward branches from its
/// entry on, and neither calls nor computed jumps. The time that a wave takes in the interpreter is then
/// bounded by the kernel's length, as is that of a translation.
bool runs_straight(const abi::LoadedImage& image, const abi::Kernel& kernel, isa::Target target);

/// One kernel's launches that were interpreted because they were small, by the facts for which translations
/// would be made. Translations it begins refer to what `make` refers to; they are waited for at the end of
/// its life. Not for several threads at a time.
class SmallLaunches {
public:
  /// To translate a kernel without loops takes as long as to interpret it for 50 (-O0) to 500 waves (-O3):
  /// measured with `lanewise run` on saxpy, f32_math and float_bits for gfx906. Launches beyond this are
  /// worth a translation by themselves, and a kernel that has had as many waves in small ones gets one in the
  /// background.
  static constexpr u64 kMaxWaves = 64;
  static bool is_small(const abi::DispatchShape& shape) {
    return shape.workgroup_count() <= kMaxWaves && shape.workgroup_count() * shape.max_waves() <= kMaxWaves;
  }

  using Make = std::function<Result<Prepared>()>;

  /// Launches with these facts have been counted, and the translation for them has not been taken.
  [[nodiscard]] bool knows(const translator::LaunchFacts& facts) { return find(facts) != nullptr; }
  /// How many such facts there are.
  [[nodiscard]] std::size_t size() const { return kinds_.size(); }
  /// Takes note that a small launch is interpreted. Begins to `make` the translation if it is time.
  void count(const translator::LaunchFacts& facts, const abi::DispatchShape& shape, const Make& make);
  /// The translation for these facts, once: nothing if none has been begun, or if it is not there yet and the
  /// caller does not want to wait. A caller who takes none will not interpret either, or calls count().
  std::optional<Result<Prepared>> take(const translator::LaunchFacts& facts, bool wait);

private:
  struct Kind {
    translator::LaunchFacts facts;
    u64 waves = 0;                             ///< interpreted so far
    std::future<Result<Prepared>> translation; ///< valid once begun
  };
  std::vector<Kind> kinds_;

  Kind* find(const translator::LaunchFacts& facts);
};

} // namespace lanewise
