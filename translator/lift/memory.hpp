// Vector memory accesses, whatever the address space: a rule fills in an Access, perform() does the rest from
// the table's row.
#pragma once

#include "translator/lift/lifter.hpp"

namespace lanewise::lift {

struct Access {
  MemAttr attr;                 ///< space and flags; perform() fills in the rest
  std::vector<ValueId> address; ///< as ir::Space says
  ValueId lanes;                ///< lanes that take part
  i64 offset = 0;               ///< added to the address
};

/// Loads, stores or does the atomic of the current instruction's row; `data` names the registers that go to
/// memory. `returns`: an atomic writes its old value to dst[0].
void perform(Lifter& l, Access access, const isa::Operand& data, bool returns);

// The pieces, for instructions that access memory more than once.
std::vector<ValueId> load(Lifter& l, const Access& access);
void store(Lifter& l, const Access& access, std::span<const ValueId> data);
std::vector<ValueId> atomic(Lifter& l, const Access& access, std::span<const ValueId> data);

/// The atomic operation of a row, false if the IR has none.
bool set_atomic(MemAttr& attr, const isa::Row& row);

/// `n` registers of a VGPR operand.
std::vector<ValueId> registers(Lifter& l, const isa::Operand& o, unsigned n, unsigned first = 0);
/// A dword of LDS per lane of EXEC: at M0[15:0] + the instruction's offset + 4 * lane.
Access lds_by_lane(Lifter& l);

/// Writes loaded values to consecutive registers of dst[0] in the lanes of EXEC; with `lds` the one there is
/// to the LDS.
void set_loaded(Lifter& l, std::span<const ValueId> values, unsigned first = 0);

void add_scalar_memory_rules(Rules& rules);
void add_lds_rules(Rules& rules);
void add_buffer_rules(Rules& rules);
void add_flat_rules(Rules& rules);
void add_image_rules(Rules& rules);

} // namespace lanewise::lift
