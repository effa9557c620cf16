// Words that are likely instructions: the fixed bits of a random microcode format, everything else at random,
// sparse at times.
#pragma once

#include "isa/encoding.hpp"

#include <array>
#include <random>

namespace lanewise::isa::testing {

class RandomWords {
public:
  explicit RandomWords(u64 seed) : random_(seed) {}

  std::array<u32, 3> next() {
    static constexpr enc::Prefix kFormats[] = {
        enc::kSop2Prefix,          enc::kSopkPrefix,         enc::kSop1Prefix,   enc::kSopcPrefix,
        enc::kSoppPrefix,          enc::Smrd::kPrefix,       enc::Smem::kPrefix, enc::kVop2Prefix,
        enc::kVop1Prefix,          enc::kVopcPrefix,         enc::Vop3::kPrefix, enc::Vop3p::kPrefix,
        enc::Vintrp::kPrefixGfx6,  enc::Vintrp::kPrefixGfx8, enc::Ds::kPrefix,   enc::Buffer::kMubufPrefix,
        enc::Buffer::kMtbufPrefix, enc::Mimg::kPrefix,       enc::Flat::kPrefix, enc::Exp::kPrefixGfx6,
        enc::Exp::kPrefixGfx8};
    const enc::Prefix format = kFormats[random_() % std::size(kFormats)];
    std::array<u32, 3> words;
    for (u32& word : words) word = some_bits();
    words[0] = static_cast<u32>((words[0] & ~format.mask()) | format.word());
    // The codes that select SDWA, DPP and a literal are rare otherwise.
    static constexpr unsigned kSources[] = {enc::kSrcSdwa, enc::kSrcDpp, enc::kSrcLiteral};
    if (random_() % 4 == 0) words[0] = (words[0] & ~0x1ffu) | kSources[random_() % 3];
    return words;
  }

private:
  u32 some_bits() { // Reserved bits must be zero, so fewer bits make more instructions.
    u64 bits = random_();
    for (u64 i = random_() % 4; i > 0; --i) bits &= random_();
    return static_cast<u32>(bits);
  }

  std::mt19937_64 random_;
};

} // namespace lanewise::isa::testing
