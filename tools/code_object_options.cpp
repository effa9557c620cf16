#include "tools/code_object_options.hpp"

#include "lanewise/input_file.hpp"
#include "lanewise/kernel_names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace lanewise::tools {
namespace {

/// The name of the kernel that the options mean, out of all that the file has.
Result<std::string> choose_name(const std::vector<std::string>& names, const CodeObjectOptions& options) {
  if (names.empty()) return Error{ErrorCode::BadInput, "holds no kernels"};
  if (!options.kernel.empty()) return match_kernel(names, options.kernel);
  if (names.size() == 1) return names[0];
  return Error{ErrorCode::Usage, fmt::format("holds {} kernels; choose one with --kernel: {}", names.size(),
                                             list_names(names))};
}

} // namespace

void CodeObjectOptions::add_to(CLI::App& sub) {
  sub.add_option("CODE_OBJECT", file, "a code object, an offload bundle or a program with a fat binary")
      ->required();
  sub.add_option("--kernel", kernel,
                 "which kernel: its name, or a part of it, mangled or as in the source, that no other has")
      ->type_name("NAME");
  sub.add_option("--target", target, "which code object of a bundle, as gfx906")->type_name("GFX");
}

Result<std::vector<abi::CodeObject>> open_code_objects(const CodeObjectOptions& options) {
  auto bytes = read_file(options.file);
  if (!bytes) return std::move(bytes).error();
  return load_code_objects(*bytes, options.file, options.target);
}

Result<ChosenKernel> open_kernel(const CodeObjectOptions& options) {
  auto objects = open_code_objects(options);
  if (!objects) return std::move(objects).error();
  std::vector<std::string> names;
  std::unordered_set<std::string_view> known; // translation units may share kernels
  for (const abi::CodeObject& object : *objects)
    for (const abi::Kernel& kernel : object.kernels)
      if (known.insert(kernel.name).second) names.push_back(kernel.name);
  auto name = choose_name(names, options);
  if (!name) return std::move(name).error().in(options.file);
  const auto found = std::find_if(objects->begin(), objects->end(),
                                  [&](const auto& object) { return object.find_kernel(*name); });
  return ChosenKernel{std::move(*found), std::move(*name)};
}

} // namespace lanewise::tools
