// Hashes and checksums, one message per work-item.
#include "tests/kernels/builder.hpp"
#include "tests/kernels/hashes.hpp"

#include <algorithm>

namespace lanewise::kernels {
namespace {

KernelCase sha256_case(uint32_t scale) {
  Random random(40);
  uint32_t n = 200 * scale;
  return Builder("sha256")
      .grid({round_up(n, 64), 1, 1}, {64, 1, 1})
      .value("n", n)
      .buffer("messages", random.words(n * 16))
      .output<uint32_t>("digests", n * 8)
      .reference([=](std::span<Arg> args) {
        auto messages = args[1].as<uint8_t>(), digests = args[2].as<uint8_t>();
        for (size_t i = 0; i < n; ++i)
          std::ranges::copy(sha256(messages.subspan(i * 64, 64)),
                            digests.begin() + static_cast<long>(i) * 32);
      });
}

KernelCase md5_case(uint32_t scale) {
  Random random(41);
  uint32_t n = 300 * scale;
  auto lengths = random.fill(n, [](Random& r) { return r.below(56); });
  return Builder("md5")
      .grid({round_up(n, 128), 1, 1}, {128, 1, 1})
      .value("n", n)
      .buffer("messages", random.bytes(n * 64))
      .buffer("lengths", lengths)
      .output<uint32_t>("digests", n * 4)
      .reference([=](std::span<Arg> args) {
        auto messages = args[1].as<uint8_t>(), digests = args[3].as<uint8_t>();
        for (size_t i = 0; i < n; ++i)
          std::ranges::copy(md5(messages.subspan(i * 64, lengths[i])),
                            digests.begin() + static_cast<long>(i) * 16);
      });
}

KernelCase keccak_case(uint32_t scale) {
  Random random(42);
  uint32_t n = 128 * scale, rounds = 24;
  return Builder("keccak")
      .grid({n, 1, 1}, {64, 1, 1})
      .value("rounds", rounds)
      .buffer("states", random.longs(n * 25))
      .reference([=](std::span<Arg> args) {
        auto states = args[1].as<uint64_t>();
        for (size_t i = 0; i < n; ++i) keccak(states.subspan(i * 25).first<25>(), rounds);
      });
}

KernelCase crc32_case(uint32_t scale) {
  Random random(43);
  uint32_t n = 300 * scale, bytes = 37;
  return Builder("crc32")
      .grid({round_up(n, 96), 1, 1}, {96, 1, 1})
      .value("n", n)
      .value("bytes", bytes)
      .buffer("records", random.bytes(n * bytes))
      .output<uint32_t>("out", n)
      .reference([=](std::span<Arg> args) {
        for (size_t i = 0; i < n; ++i)
          args[3].as<uint32_t>()[i] = crc32(args[2].as<uint8_t>().subspan(i * bytes, bytes));
      });
}

constexpr CaseEntry kCases[] = {
    {"sha256", sha256_case}, {"md5", md5_case}, {"keccak", keccak_case}, {"crc32", crc32_case}};

} // namespace

std::span<const CaseEntry> hash_cases() { return kCases; }

} // namespace lanewise::kernels
