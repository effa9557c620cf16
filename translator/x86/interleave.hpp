// How many gangs run side by side.
#pragma once

#include "translator/phases/phases.hpp"
#include "translator/translator.hpp"

namespace lanewise::x86 {

/// Bytes from one time to the next by which an access may go on so that the hardware's prefetchers follow.
inline constexpr unsigned kFollowedStep = 128;

/// The phases of `f`, with all gangs of a wave side by side if that saves phases and the registers hold it.
/// `forced` is how many gangs have to run side by side, 0 if that is free.
phases::Plan form_phases(ir::Function& f, translator::Simd simd, unsigned forced);

/// Sets Phase::interleave throughout `plan`: to `forced` or the next smaller number possible, or if that is 0
/// to what is expected to run fastest.
void choose_interleave(const ir::Function& f, phases::Plan& plan, translator::Simd simd, unsigned forced);

} // namespace lanewise::x86
