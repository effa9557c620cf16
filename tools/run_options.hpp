// The command line of `lanewise run`, as text and as parsed.
#pragma once

#include "lanewise/lanewise.hpp"
#include "tools/arg_spec.hpp"
#include "tools/code_object_options.hpp"

#include <optional>

namespace lanewise::tools {

/// Exactly what was typed.
struct RunOptions : CodeObjectOptions {
  std::string grid, block;
  std::vector<std::string> args, variables, dumps, prints;
  std::string engine = "auto", simd = "auto";
  unsigned threads = 0, repeat = 0;
  bool no_fallback = false, no_specialize = false, no_cache = false, json = false;
};

/// What a variable of the module is to hold.
struct VariableSetting {
  std::string name;
  ArgSpec value; ///< a Buffer or a Scalar
};

struct DumpRequest {
  std::size_t argument = 0;
  std::string path;
};

struct PrintRequest {
  std::size_t argument = 0;
  std::optional<u64> count;
};

/// The command line understood: everything that can be wrong without looking at the code object has been
/// checked.
struct RunPlan {
  DeviceOptions device;
  LaunchConfig config;
  std::vector<ArgSpec> args;
  std::vector<VariableSetting> variables;
  std::vector<DumpRequest> dumps;
  std::vector<PrintRequest> prints;
};

/// X, X,Y or X,Y,Z, each at least 1; what is left out is 1. Errors: Usage, naming the option.
Result<std::array<std::uint32_t, 3>> parse_dimensions(const char* option, std::string_view text);

/// auto, avx512 or avx2. Errors: Usage.
Result<Simd> parse_simd(std::string_view text);

/// Errors: Usage, naming the option.
Result<RunPlan> make_plan(const RunOptions& options);

} // namespace lanewise::tools
