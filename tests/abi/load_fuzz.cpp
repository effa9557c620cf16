// libFuzzer target: build with the preset "fuzz" and run on tests/abi/data as the first corpus.
#include "exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lanewise::abi::exercise(std::as_bytes(std::span(data, size)));
  return 0;
}
