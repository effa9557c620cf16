// Pointers to private memory that lie in private memory.
#pragma once

#include "translator/passes/private_access.hpp"

#include <functional>

namespace lanewise::passes {

/// Makes values of what is in private memory, as far as accesses are known; extents are taken for granted.
using Promoter = std::function<void(ir::Function&, const Extents&)>;

enum class Resolution : u8 {
  Some,    ///< it is known of some accesses where they go
  None,    ///< of none
  GivenUp, ///< nobody knows: it takes too long to find out
};

/// Code that is not optimised keeps the address of every variable in another variable, and HIP programs have
/// flat pointers to them. Where they lie is a constant, but in a loop that is not seen: whatever is accessed
/// by a pointer might have been that pointer. So it is taken for granted where flat accesses go, and proved
/// of what comes of that. Those of which it is proved become accesses to private memory, the LDS or global
/// memory.
///
/// So it is with elements of arrays, whose index a loop bounds.
///
/// Takes long where there are many accesses, and does nothing if there are more than `max_accesses`.
Resolution resolve_stack_pointers(ir::Function& f, u32 private_bytes, const Promoter& promote,
                                  std::size_t max_accesses);

} // namespace lanewise::passes
