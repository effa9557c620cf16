// CODE_OBJECT, --kernel and --target, as several subcommands take them.
#pragma once

#include "tools/command.hpp"

#include "abi/code_object.hpp"

namespace lanewise::tools {

struct CodeObjectOptions {
  std::string file, kernel, target;

  /// Declares the three options. The object must outlive the parsing.
  void add_to(CLI::App& sub);
};

/// The code objects for the target: several for a program made of several translation units.
Result<std::vector<abi::CodeObject>> open_code_objects(const CodeObjectOptions& options);

/// A kernel, with the code object that has it.
struct ChosenKernel {
  abi::CodeObject object;
  std::string name;
};

/// The kernel that --kernel means, or the only one. Errors: NotFound or Usage, with the names there are;
/// BadInput if there is none.
Result<ChosenKernel> open_kernel(const CodeObjectOptions& options);

} // namespace lanewise::tools
