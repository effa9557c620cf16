// libFuzzer target: what decodes encodes, and its text assembles to the same instruction. Build with the
// preset "fuzz".
#include "isa/asm/instruction.hpp"
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanewise::isa;
  if (size < 13) return 0;
  const auto target = static_cast<Target>(data[0] % kNumTargets);
  const lanewise::u32 words[3] = {lanewise::load_le<lanewise::u32>(data + 1),
                                  lanewise::load_le<lanewise::u32>(data + 5),
                                  lanewise::load_le<lanewise::u32>(data + 9)};
  Inst inst, back;
  if (decode(target, words, inst) != DecodeStatus::Ok) return 0;
  const auto encoded = encode(inst, target);
  if (!encoded || decode(target, encoded->span(), back) != DecodeStatus::Ok || back != inst) std::abort();
  const auto assembled = assemble(text(inst, target), target, {.permissive = true});
  if (!assembled || assembled->inst != inst) std::abort();
  return 0;
}
