// SHA-256 and MD5, one message per lane.
#include "bench/hand/hand.hpp"
#include "bench/hand/simd.hpp"

#include <algorithm>

namespace lanewise::bench::hand {
namespace {

constexpr std::uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// Round constants plus message schedule of the second block, which is the same padding for every message.
struct PaddingSchedule {
  std::uint32_t words[64];
};
constexpr PaddingSchedule padding_schedule() {
  const auto rotate = [](std::uint32_t x, int n) { return x >> n | x << (32 - n); };
  PaddingSchedule s{};
  s.words[0] = 0x80000000;
  s.words[15] = 512;
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t early = s.words[i - 15], late = s.words[i - 2];
    s.words[i] = s.words[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + s.words[i - 7] +
                 (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
  }
  for (int i = 0; i < 64; ++i) s.words[i] += kRoundConstants[i];
  return s;
}
constexpr PaddingSchedule kPadding = padding_schedule();

template <int kA, int kB, int kC>
LANEWISE_AVX512_INLINE __m512i rotations(__m512i x) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, kA), _mm512_ror_epi32(x, kB), _mm512_ror_epi32(x, kC),
                                   0x96);
}
LANEWISE_AVX512_INLINE __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }

/// Round `kRound` of sixteen. The state stays where it is and its names rotate.
template <int kRound>
LANEWISE_AVX512_INLINE void sha_round(__m512i (&s)[8], __m512i scheduled) {
  __m512i &a = s[(8 - kRound) & 7], &b = s[(9 - kRound) & 7], &c = s[(10 - kRound) & 7],
          &d = s[(11 - kRound) & 7], &e = s[(12 - kRound) & 7], &f = s[(13 - kRound) & 7],
          &g = s[(14 - kRound) & 7], &h = s[(15 - kRound) & 7];
  const __m512i choice = _mm512_ternarylogic_epi32(e, f, g, 0xca),
                majority = _mm512_ternarylogic_epi32(a, b, c, 0xe8);
  const __m512i t1 = add(add(add(h, scheduled), choice), rotations<6, 11, 25>(e));
  d = add(d, t1);
  h = add(t1, add(majority, rotations<2, 13, 22>(a)));
}

template <int kRound = 0>
LANEWISE_AVX512_INLINE void message_rounds(__m512i (&s)[8], __m512i (&w)[16], const std::uint32_t* constants,
                                           bool extend) {
  sha_round<kRound>(s, add(w[kRound], _mm512_set1_epi32(static_cast<int>(constants[kRound]))));
  if (extend) {
    const __m512i early = w[(kRound + 1) & 15], late = w[(kRound + 14) & 15];
    const __m512i x = _mm512_ternarylogic_epi32(_mm512_ror_epi32(early, 7), _mm512_ror_epi32(early, 18),
                                                _mm512_srli_epi32(early, 3), 0x96);
    const __m512i y = _mm512_ternarylogic_epi32(_mm512_ror_epi32(late, 17), _mm512_ror_epi32(late, 19),
                                                _mm512_srli_epi32(late, 10), 0x96);
    w[kRound] = add(add(w[kRound], x), add(w[(kRound + 9) & 15], y));
  }
  if constexpr (kRound < 15) message_rounds<kRound + 1>(s, w, constants, extend);
}

template <int kRound = 0>
LANEWISE_AVX512_INLINE void padding_rounds(__m512i (&s)[8], const std::uint32_t* words) {
  sha_round<kRound>(s, _mm512_set1_epi32(static_cast<int>(words[kRound])));
  if constexpr (kRound < 15) padding_rounds<kRound + 1>(s, words);
}

LANEWISE_AVX512_INLINE __m512i swap_bytes(__m512i x) {
  return _mm512_shuffle_epi8(x, _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
}

LANEWISE_AVX512_INLINE void hash_gang(const std::uint32_t* messages, std::uint32_t* digests,
                                      std::size_t count) {
  __m512i w[16], s[8], before[8];
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = i < count ? swap_bytes(_mm512_loadu_si512(messages + 16 * i)) : _mm512_setzero_si512();
  transpose(w);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) s[i] = _mm512_set1_epi32(static_cast<int>(kInitial[i]));
  for (int i = 0; i < 48; i += 16) message_rounds(s, w, kRoundConstants + i, true);
  message_rounds(s, w, kRoundConstants + 48, false);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) before[i] = s[i] = add(s[i], _mm512_set1_epi32(static_cast<int>(kInitial[i])));
  for (int i = 0; i < 64; i += 16) padding_rounds(s, kPadding.words + i);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    w[i] = swap_bytes(add(s[i], before[i]));
    w[8 + i] = _mm512_setzero_si512();
  }
  transpose(w);
  for (std::size_t i = 0; i < count; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(digests + 8 * i), _mm512_castsi512_si256(w[i]));
}

constexpr std::uint32_t kSines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr int kShifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
constexpr std::uint32_t kMd5Initial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

/// One step of one gang.
template <int kStep>
LANEWISE_AVX512_INLINE void md5_step(__m512i (&s)[4], const __m512i* words) {
  constexpr int kRound = kStep / 16;
  constexpr int kWord = (kRound == 0   ? kStep
                         : kRound == 1 ? 5 * kStep + 1
                         : kRound == 2 ? 3 * kStep + 5
                                       : 7 * kStep) &
                        15;
  constexpr int kShift = kShifts[kRound * 4 + (kStep & 3)];
  __m512i &a = s[(64 - kStep) & 3], b = s[(65 - kStep) & 3], c = s[(66 - kStep) & 3], d = s[(67 - kStep) & 3];
  const __m512i mixed = kRound == 0   ? _mm512_ternarylogic_epi32(b, c, d, 0xca)
                        : kRound == 1 ? _mm512_ternarylogic_epi32(d, b, c, 0xca)
                        : kRound == 2 ? _mm512_ternarylogic_epi32(b, c, d, 0x96)
                                      : _mm512_ternarylogic_epi32(b, c, d, 0x39);
  const __m512i early = add(add(a, _mm512_set1_epi32(static_cast<int>(kSines[kStep]))), words[kWord]);
  a = add(b, _mm512_rol_epi32(add(early, mixed), kShift));
}

template <int kStep = 0>
LANEWISE_AVX512_INLINE void md5_steps(__m512i (&s)[4][4], const __m512i (&words)[4][16]) {
  md5_step<kStep>(s[0], words[0]);
  md5_step<kStep>(s[1], words[1]);
  md5_step<kStep>(s[2], words[2]);
  md5_step<kStep>(s[3], words[3]);
  if constexpr (kStep < 63) md5_steps<kStep + 1>(s, words);
}

/// The padded blocks of 16 messages, word by word.
LANEWISE_AVX512_INLINE void load_messages(const std::uint8_t* messages, const std::uint32_t* lengths,
                                          std::size_t count, __m512i (&words)[16]) {
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = _mm512_setzero_si512();
    if (i >= count) continue;
    const __mmask64 end = std::uint64_t{1} << lengths[i];
    words[i] = _mm512_mask_mov_epi8(_mm512_maskz_loadu_epi8(end - 1, messages + 64 * i), end,
                                    _mm512_set1_epi8(-128));
  }
  transpose(words);
  words[14] = _mm512_slli_epi32(
      _mm512_maskz_loadu_epi32(lanes_below(static_cast<std::ptrdiff_t>(count)), lengths), 3);
}

/// Stores 4 words each of 16 work-items, work-item by work-item.
LANEWISE_AVX512_INLINE void store_digests(__m512i (&s)[4], std::uint32_t* digests, std::size_t count) {
  const __m512i a = _mm512_unpacklo_epi32(s[0], s[1]), b = _mm512_unpackhi_epi32(s[0], s[1]),
                c = _mm512_unpacklo_epi32(s[2], s[3]), d = _mm512_unpackhi_epi32(s[2], s[3]);
  const __m512i t0 = _mm512_unpacklo_epi64(a, c), t1 = _mm512_unpackhi_epi64(a, c),
                t2 = _mm512_unpacklo_epi64(b, d), t3 = _mm512_unpackhi_epi64(b, d);
  const __m512i low01 = _mm512_shuffle_i32x4(t0, t1, 0x44), high01 = _mm512_shuffle_i32x4(t0, t1, 0xee),
                low23 = _mm512_shuffle_i32x4(t2, t3, 0x44), high23 = _mm512_shuffle_i32x4(t2, t3, 0xee);
  const __m512i rows[4] = {_mm512_shuffle_i32x4(low01, low23, 0x88), _mm512_shuffle_i32x4(low01, low23, 0xdd),
                           _mm512_shuffle_i32x4(high01, high23, 0x88),
                           _mm512_shuffle_i32x4(high01, high23, 0xdd)};
  for (std::size_t i = 0; i < 4; ++i)
    _mm512_mask_storeu_epi32(
        digests + 16 * i,
        lanes_below((static_cast<std::ptrdiff_t>(count) - 4 * static_cast<std::ptrdiff_t>(i)) * 4), rows[i]);
}

/// Four gangs side by side: a step needs the one before it, and takes several cycles.
LANEWISE_AVX512_INLINE void md5_gangs(const Launch& launch, std::size_t item) {
  const std::size_t n = launch.value<std::uint32_t>(0);
  __m512i words[4][16], s[4][4];
  for (std::size_t g = 0; g < 4; ++g) {
    const std::size_t at = item + g * kGang, count = at < n ? std::min(n - at, kGang) : 0;
    load_messages(launch.buffer<std::uint8_t>(1) + at * 64, launch.buffer<std::uint32_t>(2) + at, count,
                  words[g]);
  }
#pragma GCC unroll 4
  for (auto& gang : s)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) gang[i] = _mm512_set1_epi32(static_cast<int>(kMd5Initial[i]));
  md5_steps(s, words);
  for (std::size_t g = 0; g < 4; ++g) {
    const std::size_t at = item + g * kGang;
    for (int i = 0; i < 4; ++i) s[g][i] = add(s[g][i], _mm512_set1_epi32(static_cast<int>(kMd5Initial[i])));
    if (at < n) store_digests(s[g], launch.buffer<std::uint32_t>(3) + at * 4, std::min(n - at, kGang));
  }
}

} // namespace

LANEWISE_AVX512 void sha256(const Launch& launch, std::size_t first, std::size_t last) {
  const std::size_t n = launch.value<std::uint32_t>(0);
  for (std::size_t item = first * 64; item < std::min(last * 64, n); item += kGang)
    hash_gang(launch.buffer<std::uint32_t>(1) + item * 16, launch.buffer<std::uint32_t>(2) + item * 8,
              std::min(n - item, kGang));
}

LANEWISE_AVX512 void md5(const Launch& launch, std::size_t first, std::size_t last) {
  for (std::size_t item = first * 128; item < last * 128; item += 4 * kGang) md5_gangs(launch, item);
}

} // namespace lanewise::bench::hand
