// libFuzzer target: any code, for any target and launch, is recompiled or refused. Build with the preset
// "fuzz"; the code of a kernel (objcopy -O binary -j .text) behind kHeader bytes of any kind is a first
// input.
#include "isa/decoder.hpp"
#include "translator/translation.hpp"

#include <memory>

using namespace lanewise;

namespace {

constexpr std::size_t kHeader = 8, kMostWords = 512;

translator::LaunchFacts facts(u8 kind, u8 ragged, std::size_t sgprs) {
  constexpr std::array<std::array<u32, 3>, 8> kWorkgroups = {
      {{1, 1, 1}, {16, 1, 1}, {32, 1, 1}, {8, 8, 1}, {16, 16, 1}, {41, 1, 1}, {64, 1, 1}, {24, 2, 3}}};
  translator::LaunchFacts facts;
  if (kind % 3 == 0) return facts;
  if (kind % 3 == 1) {
    facts.row_multiple = kind % 2 != 0 ? kWaveSize : 16;
    facts.rows_only = kind % 2 != 0;
    facts.ragged = {};
    return facts;
  }
  facts.workgroup = kWorkgroups[kind / 3 % kWorkgroups.size()];
  facts.ragged = {(ragged & 1) != 0, (ragged & 2) != 0, (ragged & 4) != 0};
  facts.packs = facts.items() == 1 && (ragged & 8) != 0;
  facts.min_items = (ragged & 16) != 0 ? u64{1} << 24 : 0;
  if (sgprs < 6) return facts;
  facts.sgpr_max = {~0u, ~0u, ~0u, ~0u, 1000, 3};
  facts.group_id_sgpr = {4, 5, -1};
  return facts;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeader + 4) return 0;
  const std::size_t words = std::min((size - kHeader) / 4, kMostWords);
  const auto code = std::make_unique<u32[]>(words); // On the heap, where a read past the end is noticed.
  std::memcpy(code.get(), data + kHeader, words * sizeof(u32));
  translator::KernelSource source;
  source.name = "fuzz";
  source.target = isa::kTargets[data[0] % isa::kNumTargets];
  source.code = {reinterpret_cast<const u8*>(code.get()), words * sizeof(u32)};
  source.entry = reinterpret_cast<u64>(code.get());
  source.initial_sgprs.resize(data[1] % 17);
  source.initial_vgprs = 1 + data[1] / 17u % 3;
  source.mode = load_le<u16>(data + 2) & 0x3ffu;
  source.lds_bytes = 256u * data[4];
  source.private_bytes_per_lane = 16u * (data[5] % 64u);
  const translator::Options options = {.simd = data[6] % 2 != 0 ? translator::Simd::Avx512
                                                                : translator::Simd::Avx2,
                                       .verify = true,
                                       .launch = facts(data[7], data[6] / 2, source.initial_sgprs.size()),
                                       .dump = {}};
  (void)translator::translate(source, options, nullptr);
  return 0;
}
