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

/// Loads the code object that the options name.
Result<abi::CodeObject> open_code_object(const CodeObjectOptions& options);

/// What is wrong where no kernel was named and the file does not hold exactly one.
Error no_single_kernel(const std::string& file, const std::vector<std::string>& names);

/// The kernel named, or the only one. Errors: NotFound or Usage, with the names there are; BadInput if there
/// is none.
Result<const abi::Kernel*> choose_kernel(const abi::CodeObject& object, const CodeObjectOptions& options);

} // namespace lanewise::tools
