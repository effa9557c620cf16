// Kernel cases through the library's public interface: their arguments in memory that kernels can reach.
#pragma once

#include "lanewise/lanewise.hpp"
#include "tests/kernels/cases.hpp"

namespace lanewise::kernels {

LaunchConfig launch_config(const KernelCase& test);

/// A case's arguments. Refers to the case, which must outlive it.
class CaseMemory {
public:
  /// Errors: not enough memory.
  static Result<CaseMemory> create(const KernelCase& test);

  /// To launch with.
  [[nodiscard]] std::span<const Argument> arguments() const { return arguments_; }
  /// The arguments with the buffers' present contents.
  [[nodiscard]] std::vector<Arg> read() const;
  /// Gives a buffer or an image the contents again that the case says.
  void restore(std::size_t argument);

private:
  explicit CaseMemory(const KernelCase& test) : test_(&test) {}

  const KernelCase* test_;
  std::vector<Buffer> buffers_;              ///< one per argument; empty handles for those that are none
  std::vector<std::optional<Image>> images_; ///< one per argument
  std::vector<Sampler> samplers_;
  std::vector<Texture> textures_;
  std::vector<Argument> arguments_;

  Result<void> add_image(const Arg& arg, const Image& image);
};

} // namespace lanewise::kernels
