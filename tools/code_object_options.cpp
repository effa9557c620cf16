#include "tools/code_object_options.hpp"

#include "lanewise/input_file.hpp"

#include <fmt/format.h>

namespace lanewise::tools {

void CodeObjectOptions::add_to(CLI::App& sub) {
  sub.add_option("CODE_OBJECT", file, "a code object, an offload bundle or a program with a fat binary")
      ->required();
  sub.add_option("--kernel", kernel, "only this kernel")->type_name("NAME");
  sub.add_option("--target", target, "which code object of a bundle, as gfx906")->type_name("GFX");
}

Result<abi::CodeObject> open_code_object(const CodeObjectOptions& options) {
  auto bytes = read_file(options.file);
  if (!bytes) return std::move(bytes).error();
  return load_code_object(*bytes, options.file, options.target);
}

Error no_single_kernel(const std::string& file, const std::vector<std::string>& names) {
  if (names.empty()) return {ErrorCode::BadInput, file + ": holds no kernels"};
  return {ErrorCode::Usage, fmt::format("{}: holds {} kernels; choose one with --kernel: {}", file,
                                        names.size(), fmt::join(names, ", "))};
}

Result<const abi::Kernel*> choose_kernel(const abi::CodeObject& object, const CodeObjectOptions& options) {
  std::vector<std::string> names;
  for (const abi::Kernel& kernel : object.kernels) {
    if (kernel.name == options.kernel || (options.kernel.empty() && object.kernels.size() == 1))
      return &kernel;
    names.push_back(kernel.name);
  }
  if (options.kernel.empty() || names.empty()) return no_single_kernel(options.file, names);
  return Error{ErrorCode::NotFound, fmt::format("{}: has no kernel {}; it has {}", options.file,
                                                options.kernel, fmt::join(names, ", "))};
}

} // namespace lanewise::tools
