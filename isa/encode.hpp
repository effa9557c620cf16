// Inst to machine code: the inverse of isa/decoder.hpp.
#pragma once

#include "isa/inst.hpp"
#include "support/result.hpp"

#include <optional>
#include <span>

namespace lanewise::isa {

/// One instruction's words.
struct EncodedInst {
  std::array<u32, 3> words{};
  u8 count = 0; ///< words used: 1 to 3

  [[nodiscard]] std::span<const u32> span() const { return {words.data(), count}; }
};

/// The words of `inst` on `target`. For whatever decode() accepts, encode(decode(words)) decodes to the same
/// Inst; bits that the instruction ignores come out as LLVM writes them. An Inst that no word decodes to (an
/// operand of a wrong class, a modifier that the format lacks, two different literals...) is an error.
/// Inst::size is not looked at.
Result<EncodedInst> encode(const Inst& inst, Target target);

/// The words without the proof: what does not fit its field is cut, what has no field is left out. For
/// callers that decode the result themselves; nullopt where the target lacks the instruction in the form
/// asked for.
std::optional<EncodedInst> pack(const Inst& inst, Target target);

} // namespace lanewise::isa
