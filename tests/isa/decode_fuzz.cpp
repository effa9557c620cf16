// libFuzzer target: whatever decodes has well-formed text, encodes again, and decodes to the same instruction.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"
#include "isa/encode.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace lanewise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  const auto target = static_cast<isa::Target>(data[0] % isa::kNumTargets);
  u32 words[3] = {};
  const std::size_t count = std::min<std::size_t>((size - 1) / 4, 3);
  std::memcpy(words, data + 1, count * 4);
  isa::Inst inst;
  if (isa::decode(target, std::span<const u32>(words, count), inst) != isa::DecodeStatus::Ok) return 0;
  if (inst.size > 4 * count || isa::text(inst, target).empty()) std::abort();
  const auto encoded = isa::encode(inst, target);
  isa::Inst again;
  if (!encoded || isa::decode(target, encoded->span(), again) != isa::DecodeStatus::Ok || !(again == inst)) std::abort();
  return 0;
}
