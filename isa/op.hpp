// The instructions by name, and the way from a name or an Op to its row.
#pragma once

#include "isa/row.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace lanewise::isa {

enum class Op : u16 {
#define INST(name, ...) name,
#include "isa/tables/all.inc"
#undef INST
};

/// The number of rows.
inline constexpr unsigned kNumOps = 0
#define INST(...) +1
#include "isa/tables/all.inc"
#undef INST
    ;

/// All rows, indexed by Op.
extern const std::array<Row, kNumOps> kRows;
inline std::span<const Row, kNumOps> rows() { return kRows; }

/// The row of `op`.
inline const Row& row_of(Op op) { return kRows[static_cast<u16>(op)]; }

/// The mnemonic on `target`, without an encoding suffix. Targets that lack the instruction get the row's
/// name.
std::string_view mnemonic(Op op, Target target);

/// True when some form of `op` exists on `target`.
bool exists(Op op, Target target);

/// The opcode of the 64-bit (VOP3) form of a row on `target`, derived or stated, or kAbsent. Only for rows
/// with that form.
i16 vop3_opcode(const Row& row, Target target);

/// The section of the 7nm guide that describes the row ("12.7"); rows that gfx906 lacks name the closest
/// chapter.
std::string_view section(const Row& row);

/// `gfx906` and the like.
std::string_view target_name(Target target);

/// The target of that name.
std::optional<Target> target_named(std::string_view name);

} // namespace lanewise::isa
