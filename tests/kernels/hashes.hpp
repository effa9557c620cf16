// Hashes and checksums, straight from FIPS 180-4, RFC 1321, FIPS 202 and ISO 3309.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::kernels {

std::array<uint8_t, 32> sha256(std::span<const uint8_t> message);
std::array<uint8_t, 16> md5(std::span<const uint8_t> message);

/// The first `rounds` of the 24 rounds of Keccak-f[1600]; lane (x, y) is state[x + 5 * y].
void keccak(std::span<uint64_t, 25> state, uint32_t rounds);
uint32_t crc32(std::span<const uint8_t> message);

} // namespace lanewise::kernels
