// SHA-256 and MD5 of whole messages, straight from FIPS 180-4 and RFC 1321.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::kernels {

std::array<uint8_t, 32> sha256(std::span<const uint8_t> message);
std::array<uint8_t, 16> md5(std::span<const uint8_t> message);

} // namespace lanewise::kernels
