// libFuzzer target: no text ends the IR's parser or its verifier, and what parses and holds prints as what
// parses to the same. Build with the preset "fuzz" and run on tests/golden/cases as the first corpus.
#include "translator/ir/parser.hpp"
#include "translator/ir/verify.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanewise::ir;
  const auto f = parse({reinterpret_cast<const char*>(data), size});
  if (!f || !verify(*f)) return 0;
  const auto again = parse(print(*f));
  if (!again || print(*again) != print(*f)) std::abort();
  return 0;
}
