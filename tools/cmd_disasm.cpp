// `lanewise disasm`: machine code as text.
#include "tools/command.hpp"

#include "lanewise/input_file.hpp"
#include "tools/code_object_options.hpp"
#include "tools/listing.hpp"

#include <charconv>
#include <cstdio>

namespace lanewise::tools {
namespace {

constexpr const char* kName = "disasm";

constexpr const char* kFooter = R"(
Examples:
  lanewise disasm saxpy.co                            all code
  lanewise disasm kernels.co --kernel sgemm --bytes   one kernel, with its machine code
  lanewise disasm program                             all code objects of a fat binary
  lanewise disasm program --target gfx906             those for one target
  lanewise disasm --target gfx906 --raw BE802000 BF810000

The text is that of llvm-mc; lanewise asm and llvm-mc read it back. Addresses are those of the file.
A literal whose value an inline constant has too is written lit(0x1), which LLVM knows since version 22;
--no-lit writes such instructions, which are rare, as .long for older ones.)";

struct Options : CodeObjectOptions {
  std::vector<std::string> raw;
  ListingOptions listing;
};

Result<std::string> disassemble_raw(const Options& options) {
  if (options.target.empty()) return Error{ErrorCode::Usage, "--raw needs --target"};
  const auto target = abi::parse_target_id(options.target);
  if (!target) return Error{ErrorCode::Usage, target.error().message};
  std::vector<u32> words;
  for (std::string_view text : options.raw) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    u32 word = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
    if (status != std::errc() || end != text.data() + text.size() || text.empty())
      return Error{ErrorCode::Usage,
                   "--raw takes 32-bit words in hexadecimal, not '" + std::string(text) + "'"};
    words.push_back(word);
  }
  return list_words(words, target->isa, options.listing);
}

/// Every code object in the file that Lanewise knows the target of.
Result<std::string> disassemble_all(const Options& options) {
  const auto bytes = read_file(options.file);
  if (!bytes) return bytes.error();
  const auto entries = abi::list_entries(*bytes);
  if (!entries) return Error(entries.error()).in(options.file);
  const auto selected = abi::select_entries(*entries, "");
  if (!selected) return Error(selected.error()).in(options.file);
  std::string text;
  for (const abi::BundleEntry& entry : *selected) {
    const std::string name = entry.id.empty() ? options.file : options.file + " " + entry.id;
    const auto object = abi::load(entry.bytes, name);
    if (!object) return object.error();
    text += list_code(*object, nullptr, options.listing);
  }
  return text;
}

Result<std::string> disassemble(const Options& options) {
  if (!options.raw.empty()) return disassemble_raw(options);
  if (options.file.empty()) return Error{ErrorCode::Usage, "expected CODE_OBJECT or --raw"};
  if (options.kernel.empty() && options.target.empty()) return disassemble_all(options);
  if (!options.kernel.empty()) {
    const auto chosen = open_kernel(options);
    if (!chosen) return chosen.error();
    return list_code(chosen->object, chosen->object.find_kernel(chosen->name), options.listing);
  }
  const auto objects = open_code_objects(options);
  if (!objects) return objects.error();
  std::string text;
  for (const abi::CodeObject& object : *objects) text += list_code(object, nullptr, options.listing);
  return text;
}

int run(const Options& options) {
  auto text = disassemble(options);
  if (!text) return fail(kName, text.error());
  std::fputs(text->c_str(), stdout);
  return kSuccess;
}

const Subcommand registration = {
    30, [](CLI::App& app, Action& action) {
      auto options = std::make_shared<Options>();
      CLI::App* sub = app.add_subcommand(kName, "show machine code in LLVM's syntax");
      options->add_to(*sub);
      sub->get_option("CODE_OBJECT")->required(false);
      sub->add_option("--raw", options->raw, "disassemble these 32-bit words")->type_name("HEX...");
      sub->add_flag("--addresses", options->listing.addresses, "show each instruction's address");
      sub->add_flag("--bytes", options->listing.bytes, "show each instruction's machine code");
      sub->add_flag("--no-lit{false}", options->listing.lit, "no lit(), for LLVM before version 22");
      sub->footer(kFooter);
      sub->callback([=, &action] { action = [=] { return run(*options); }; });
    }};

} // namespace
} // namespace lanewise::tools
