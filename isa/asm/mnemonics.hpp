// From a mnemonic to the instructions and encodings it can mean.
#pragma once

#include "isa/op.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanewise::isa {

/// A mnemonic as written.
struct Mnemonic {
  std::span<const Op> ops;    ///< what it names on the target; empty when unknown
  std::optional<Form> forced; ///< by a suffix _e32, _e64, _sdwa, _dpp
};

Mnemonic find_mnemonic(std::string_view text, Target target);

/// The encodings of `op` on `target`, in the order in which LLVM prefers them.
struct FormChoice {
  Form form = Form::Base;
  Encoding encoding{};
};
std::vector<FormChoice> forms_of(Op op, Target target);

/// What to say of a mnemonic that the target lacks: unknown altogether, or known elsewhere.
std::string unknown_mnemonic(std::string_view text, Target target);

/// Up to three mnemonics of `targets` that somebody who wrote `text` may have meant, the likeliest first:
/// those that go on where it ends, and those that differ in a letter or two.
std::vector<std::string_view> similar_mnemonics(std::string_view text, std::span<const Target> targets);

} // namespace lanewise::isa
