// Addresses in memory that a wave starts with pointers to: the kernarg segment, the dispatch packet, the
// queue; and those of loads per lane that are the same in all of them.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>

namespace lanewise::passes {

/// An address as an offset from the pointer in an initial SGPR pair.
struct InitialAddress {
  u32 pointer_sgpr = 0;
  u64 offset = 0;
};

/// `v`, a U64, as such a sum with constants, or nothing.
std::optional<InitialAddress> initial_address(const ir::Function& f, ir::ValueId v);

/// A V64 address that all lanes of a mask have in common: a scalar U64 `pointer`, or nothing, plus `offset`.
struct CommonAddress {
  ir::ValueId pointer;
  u64 offset = 0;
};

/// `v` as such an address in `lanes`, if it is made like that.
std::optional<CommonAddress> common_address(const ir::Function& f, ir::ValueId v, ir::ValueId lanes);

/// What a lane gets of a load whose element, up to a dword, has the lowest of these bits.
u32 extended(const ir::MemAttr& mem, u32 bits);

/// Which half `v` is of a pointer that the launch facts say is aligned: 0 for the lower. Nothing if of none.
std::optional<unsigned> half_of_aligned_pointer(const ir::Function& f, ir::ValueId v);

/// A scalar load of what nobody writes: what the kernel starts with.
bool loads_constants(const ir::Function& f, ir::InstId i);

/// Where result `n` of a scalar load comes from, if the address is such a sum.
std::optional<InitialAddress> loaded_from(const ir::Function& f, ir::InstId load, unsigned n = 0);

/// A scalar load of memory that the launch facts say can be read: it may be done on any way.
bool is_always_readable(const ir::Function& f, ir::InstId i);

/// Result `n` of a scalar load, if the launch facts have it: of memory that the kernel starts with a pointer
/// to, or of a descriptor that is an argument.
std::optional<u32> known_result(const ir::Function& f, ir::InstId load, unsigned n);
/// The dword `offset` bytes behind the pointer `base`, likewise.
std::optional<u32> known_behind(const ir::Function& f, ir::ValueId base, u64 offset);

/// The dword there, if the launch facts have it.
std::optional<u32> known_dword(const ir::Function& f, const InitialAddress& at);

} // namespace lanewise::passes
