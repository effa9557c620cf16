#include "tests/kernels/hashes.hpp"

#include <bit>
#include <cmath>
#include <vector>

namespace lanewise::kernels {
namespace {

/// The first 32 bits of the fraction of the `root`-th root of p.
uint32_t root_fraction(unsigned p, int root) {
  long double r = root == 2 ? sqrtl(p) : cbrtl(p);
  return static_cast<uint32_t>((r - floorl(r)) * 0x1p32L);
}

std::vector<unsigned> first_primes(size_t count) {
  std::vector<unsigned> primes;
  for (unsigned n = 2; primes.size() < count; ++n) {
    bool prime = true;
    for (unsigned p : primes) prime = prime && n % p != 0;
    if (prime) primes.push_back(n);
  }
  return primes;
}

/// The message with its padding: 0x80, zeros, and the length in bits in the last 8 bytes.
std::vector<uint8_t> padded(std::span<const uint8_t> message, bool big_endian) {
  std::vector<uint8_t> bytes(message.begin(), message.end());
  bytes.push_back(0x80);
  while (bytes.size() % 64 != 56) bytes.push_back(0);
  uint64_t bits = message.size() * 8;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(bits >> 8 * (big_endian ? 7 - i : i)));
  return bytes;
}

void sha256_block(std::array<uint32_t, 8>& state, const uint8_t* block, std::span<const uint32_t> k) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i, block += 4)
    w[i] = uint32_t{block[0]} << 24 | uint32_t{block[1]} << 16 | uint32_t{block[2]} << 8 | block[3];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
    uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  uint32_t sum[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += sum[i];
}

void md5_block(std::array<uint32_t, 4>& state, const uint8_t* block) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t f = 0;
    int g = 0;
    switch (i / 16) {
    case 0: f = (b & c) | (~b & d), g = i; break;
    case 1: f = (d & b) | (~d & c), g = 5 * i + 1; break;
    case 2: f = b ^ c ^ d, g = 3 * i + 5; break;
    default: f = c ^ (b | ~d), g = 7 * i;
    }
    const uint8_t* word = block + g % 16 * 4;
    uint32_t m = uint32_t{word[3]} << 24 | uint32_t{word[2]} << 16 | uint32_t{word[1]} << 8 | word[0];
    auto sine = static_cast<uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 0x1p32));
    uint32_t turned = std::rotl(a + f + sine + m, kShifts[i / 16][i % 4]);
    a = d, d = c, c = b, b += turned;
  }
  uint32_t sum[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) state[i] += sum[i];
}

} // namespace

std::array<uint8_t, 32> sha256(std::span<const uint8_t> message) {
  auto primes = first_primes(64);
  std::array<uint32_t, 64> k;
  std::array<uint32_t, 8> state;
  for (int i = 0; i < 64; ++i) k[i] = root_fraction(primes[i], 3);
  for (int i = 0; i < 8; ++i) state[i] = root_fraction(primes[i], 2);
  auto bytes = padded(message, true);
  for (size_t at = 0; at < bytes.size(); at += 64) sha256_block(state, &bytes[at], k);
  std::array<uint8_t, 32> digest;
  for (int i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

std::array<uint8_t, 16> md5(std::span<const uint8_t> message) {
  std::array<uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  auto bytes = padded(message, false);
  for (size_t at = 0; at < bytes.size(); at += 64) md5_block(state, &bytes[at]);
  std::array<uint8_t, 16> digest;
  for (int i = 0; i < 16; ++i) digest[i] = static_cast<uint8_t>(state[i / 4] >> i % 4 * 8);
  return digest;
}

void keccak(std::span<uint64_t, 25> state, uint32_t rounds) {
  uint32_t lfsr = 1;
  for (uint32_t round = 0; round < rounds; ++round) {
    uint64_t parity[5] = {}, moved[5][5];
    for (int i = 0; i < 25; ++i) parity[i % 5] ^= state[i];
    for (int i = 0; i < 25; ++i) state[i] ^= parity[(i + 4) % 5] ^ std::rotl(parity[(i + 1) % 5], 1);
    // The t-th lane on the path (x, y) -> (y, 2x + 3y) turns by (t + 1)(t + 2) / 2.
    moved[0][0] = state[0];
    for (int t = 0, x = 1, y = 0; t < 24; ++t) {
      int to_x = y, to_y = (2 * x + 3 * y) % 5;
      moved[to_y][to_x] = std::rotl(state[x + 5 * y], (t + 1) * (t + 2) / 2 % 64);
      x = to_x, y = to_y;
    }
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 5; ++x)
        state[x + 5 * y] = moved[y][x] ^ (~moved[y][(x + 1) % 5] & moved[y][(x + 2) % 5]);
    for (int j = 0; j < 7; ++j) {
      state[0] ^= uint64_t{lfsr & 1} << ((1 << j) - 1);
      lfsr = lfsr & 0x80 ? lfsr << 1 ^ 0x171 : lfsr << 1;
    }
  }
}

uint32_t crc32(std::span<const uint8_t> message) {
  uint32_t crc = 0xffffffff;
  for (uint8_t byte : message) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

} // namespace lanewise::kernels
