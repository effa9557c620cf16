// Which memory a flat address means.
#pragma once

#include "translator/passes/masked_limits.hpp"
#include "translator/passes/private_access.hpp"

#include <optional>

namespace lanewise::passes {

/// Makes flat accesses global or private ones where that is seen. Returns those that are left
/// and may be private. Compilers that do not optimise have nothing but flat pointers in HIP programs.
///
/// A pointer to private memory or the LDS is made of the aperture, which is a constant, a dword that is known
/// of the launch, or in the queue. An address that none of these can have got into is a global one: whoever
/// makes up an address in an aperture without having been told where it is has a memory fault.
///
/// `granted` is taken for granted of accesses to private memory: what lies beside them is not loaded by them.
/// With `masked`, what registers hold in lanes that take no part does not count; if nothing is granted,
/// limits are those of the others, too.
std::vector<ir::InstId> resolve_flat_accesses(ir::Function& f, const Extents* granted = nullptr,
                                              const MaskedLimits* masked = nullptr);

/// Whether a flat access that goes to the LDS, with no other bits in its address than `ones`, does the same
/// as one of the LDS: atomics at odd addresses are done where the address says, in the LDS where it is
/// aligned.
bool suits_lds(const ir::Inst& access, u64 ones);

/// Makes flat access `i` one of `space`, at the low half of `address`.
void make_access_by_low_half(ir::Function& f, ir::InstId i, ir::ValueId address, ir::Space space);

/// The bits of `v` if they are known in `lanes`: registers are written in active lanes only, and most are
/// read in the same, so that what others hold does not count.
std::optional<u64> constant_in(const ir::Function& f, ir::ValueId v, ir::ValueId lanes, unsigned depth = 12);

} // namespace lanewise::passes
