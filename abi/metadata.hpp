// Kernel metadata: what the compiler tells the runtime about kernels and their arguments.
#pragma once

#include "abi/bytes.hpp"
#include "abi/value_kind.hpp"
#include "support/result.hpp"

#include <array>
#include <string>
#include <vector>

namespace lanewise::abi {

/// One kernel argument, explicit or hidden (AMDGPUUsage, "Kernel Argument Metadata Map").
struct Argument {
  std::string name;          ///< empty for hidden arguments
  std::string type_name;     ///< as in the source: "float*"
  std::string address_space; ///< "global", "local", ...; empty if it is no pointer
  std::string access;        ///< of images and pipes: "read_only", ...
  std::string actual_access; ///< what the kernel does with it; empty if not known
  ValueKind kind = ValueKind::ByValue;
  u32 offset = 0, size = 0; ///< bytes in the kernarg segment
  u32 pointee_align = 0;    ///< dynamic_shared_pointer only; 0 if not given
  bool is_const = false, is_restrict = false, is_volatile = false, is_pipe = false;
};

/// What the kernel needs, in the metadata's words (AMDGPUUsage, "Kernel Metadata Map").
struct Resources {
  u32 kernarg_segment_size = 0, kernarg_segment_align = 1;
  u32 group_segment_fixed_size = 0, private_segment_fixed_size = 0;
  u32 wavefront_size = 64;
  u32 sgpr_count = 0, vgpr_count = 0;
  u32 sgpr_spill_count = 0, vgpr_spill_count = 0;
  u32 max_flat_workgroup_size = 0;             ///< work-items; 0 if not given
  std::array<u32, 3> reqd_workgroup_size = {}; ///< 0, 0, 0 if not given
  std::array<u32, 3> workgroup_size_hint = {}; ///< 0, 0, 0 if not given
  bool uses_dynamic_stack = false;
  bool uniform_work_group_size = false; ///< version 5: the grid must be a multiple of the workgroup
};

struct KernelMetadata {
  std::string name;            ///< in the source
  std::string symbol;          ///< of the descriptor: "NAME.kd"; "NAME@kd" in version 2
  std::string language;        ///< "OpenCL C", ...; may be empty
  std::string kind = "normal"; ///< or "init" or "fini"
  Resources resources;
  std::vector<Argument> arguments;
};

struct Metadata {
  std::array<u32, 2> version = {};
  std::string target; ///< versions 4 and later: "amdgcn-amd-amdhsa--gfx906:xnack-"
  std::vector<std::string> printf_formats;
  std::vector<KernelMetadata> kernels;
};

/// Parses the MessagePack document of an NT_AMDGPU_METADATA note (versions 3 and later).
Result<Metadata> parse_metadata(Bytes note);

/// Parses the YAML document of an NT_AMD_HSA_METADATA note (version 2).
Result<Metadata> parse_metadata_v2(std::string_view note);

} // namespace lanewise::abi
