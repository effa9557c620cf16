// Decoder and assembler on random words and damaged text, by the million. A chunk of inputs depends on its
// number alone.
#pragma once

#include "support/bits.hpp"

#include <functional>
#include <string>

namespace lanewise::isa::testing {

inline constexpr u64 kWordsOfAChunk = 1'000'000, kTextsOfAChunk = 100'000;

/// What became of the inputs; `wrong` counts those that did not read back.
struct StressCounts {
  u64 inputs = 0, instructions = 0, wrong = 0;
};

/// Says what did not read back, in one line.
using Complaint = std::function<void(const std::string&)>;

/// Random dwords, a quarter of them without any pattern, in buffers that end where the input ends. What
/// decodes must encode to words that decode to the same, and its text must assemble to the same.
StressCounts stress_words(u64 chunk, u64 count, const Complaint& complain);

/// Texts of random instructions, damaged. What assembles must decode to what the assembler says it is, and
/// its text must assemble again to the same; what does not must have an error of one line.
StressCounts stress_texts(u64 chunk, u64 count, const Complaint& complain);

} // namespace lanewise::isa::testing
