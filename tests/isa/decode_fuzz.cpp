// libFuzzer target: any bytes, cut anywhere, decode within their bounds or not at all, and what decodes has
// text. tests/asm/round_trip_fuzz.cpp takes it on from there.
#include "isa/decoder.hpp"
#include "isa/disasm.hpp"

#include <cstdlib>
#include <memory>

using namespace lanewise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto target = static_cast<isa::Target>(data[0] % isa::kNumTargets);
  const std::size_t count = (size - 1) / 4;
  const auto words = std::make_unique<u32[]>(count); // On the heap, where a read past the end is noticed.
  for (std::size_t i = 0; i < count; ++i) words[i] = load_le<u32>(data + 1 + 4 * i);
  std::span<const u32> rest(words.get(), count);
  while (!rest.empty()) {
    isa::Inst inst;
    const bool ok = isa::decode(target, rest, inst) == isa::DecodeStatus::Ok;
    if (ok && (inst.size % 4 != 0 || inst.size / 4 > rest.size() || isa::text(inst, target).empty()))
      std::abort();
    rest = rest.subspan(ok ? inst.size / 4 : 1);
  }
  return 0;
}
