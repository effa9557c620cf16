// Addresses in memory that a wave starts with pointers to: the kernarg segment, the dispatch packet, the
// queue.
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

/// The dword there, if the launch facts have it.
std::optional<u32> known_dword(const ir::Function& f, const InitialAddress& at);

} // namespace lanewise::passes
