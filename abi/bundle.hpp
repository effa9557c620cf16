// Containers that code objects come in: clang offload bundles, and host programs with such bundles inside.
#pragma once

#include "abi/bytes.hpp"
#include "abi/target_id.hpp"

#include <vector>

namespace lanewise::abi {

/// One entry of an offload bundle (Clang Offload Bundler, "Bundled Code Object File Layout"), or a lone code
/// object.
struct BundleEntry {
  std::string id;        ///< "hipv4-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-"; empty for a lone code object
  std::string kind;      ///< "hip", "hipv4", "host", "openmp", ...
  std::string triple;    ///< "amdgcn-amd-amdhsa"
  std::string processor; ///< "gfx906"; empty for the host
  Feature xnack = Feature::Any, sramecc = Feature::Any;
  u64 offset = 0; ///< of `bytes` in the whole file
  Bytes bytes;    ///< points into the file

  /// Whether it is code for an AMD GPU (of whichever generation).
  [[nodiscard]] bool is_device() const { return id.empty() || triple.starts_with("amdgcn"); }
};

/// The section of a shared object of translated kernels (lanewise/shared_object.hpp) that holds their code
/// object.
inline constexpr std::string_view kCodeObjectSection = ".lanewise.code_object";

/// All bundle entries of a file: of a code object (itself), of an offload bundle, of all bundles in the
/// section .hip_fatbin of a host ELF program or library, or of the code object in a kCodeObjectSection.
/// BadInput: none of these, or damaged; Unsupported: compressed bundles.
Result<std::vector<BundleEntry>> list_entries(Bytes file);

/// The device entries that suit `wanted`, a processor or target ID ("gfx906", "gfx906:xnack-"), best first:
/// exact processor before another of the same instruction set; empty `wanted` gives all entries that Lanewise
/// can run. NotFound lists what there is.
Result<std::vector<BundleEntry>> select_entries(const std::vector<BundleEntry>& entries,
                                                std::string_view wanted);

} // namespace lanewise::abi
