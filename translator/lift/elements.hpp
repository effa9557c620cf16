// Elements of formatted buffers and of images, on their way between memory, components and registers.
#pragma once

#include "translator/lift/memory.hpp"
#include "translator/lift/typed.hpp"

#include <functional>

namespace lanewise::lift {

/// The address (v64) of the byte so many bytes into what each lane accesses.
using ByteAddress = std::function<ValueId(u32)>;

/// The dwords of an element of 1, 2, 4, 8, 12 or 16 `bytes` (u32), perhaps known at run time only; 0 bytes
/// are no access.
std::array<ValueId, 4> load_element(Lifter& l, ValueId bytes, ValueId lanes, const ByteAddress& address);
void store_element(Lifter& l, ValueId bytes, ValueId lanes, const std::array<ValueId, 4>& dwords,
                   const ByteAddress& address);

/// What dst_sel `select` (u32: 0, 1, or 4 + component) makes of an element.
ValueId selected(Emit& b, ValueId select, const std::array<ValueId, 4>& components, ValueId one);
/// The components of an element to store: each the first of `data` whose dst_sel names it, else 0. A value
/// that is not valid is none.
std::array<ValueId, 4> stored(Emit& b, std::span<const ValueId> selects, std::span<const ValueId> data);

/// Writes what was loaded to dst[0], `halves` as 16-bit components, and clears the register after it with tfe
/// or lwe.
void set_results(Lifter& l, TypedElement& element, std::vector<ValueId> results, bool halves);
/// `count` 16-bit components in the registers of src[3].
std::vector<ValueId> unpack_16_bits(Lifter& l, TypedElement& element, unsigned count);

} // namespace lanewise::lift
