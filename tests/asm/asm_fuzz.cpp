// libFuzzer target: any text assembles or has errors. Build with the preset "fuzz".
#include "abi/asm/assembler.hpp"
#include "abi/code_object.hpp"
#include "isa/op.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  using namespace lanewise::isa;
  const auto target = static_cast<Target>(data[0] % kNumTargets);
  const std::string_view source(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto assembly =
      lanewise::abi::assemble(source, {.target = lanewise::abi::target_from_name(target_name(target)),
                                       .permissive = (data[0] & 128) != 0});
  if (assembly.code_object.empty() != !assembly.errors.empty()) std::abort();
  (void)lanewise::abi::format_errors(assembly, source, "fuzz.s");
  if (assembly.errors.empty()) (void)lanewise::abi::load(assembly.code_object, "fuzz");
  return 0;
}
