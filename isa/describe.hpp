// Rows in words: what `lanewise isa` prints and docs/ISA.md holds.
#pragma once

#include "isa/op.hpp"

#include <string>
#include <vector>

namespace lanewise::isa {

/// `VOP2`, `SMEM`, `FLAT`.
std::string_view encoding_name(Encoding encoding);

/// `f32`, `b64`, `mask`.
std::string_view type_name(OperandType type);

/// The names of the set bits of Row::flags, Row::hazards, Row::image, and Row::reads or writes, in the order
/// of their bits.
std::vector<std::string_view> flag_names(u64 flags);
std::vector<std::string_view> hazard_names(u32 hazards);
std::vector<std::string_view> image_names(u16 image);
std::vector<std::string_view> register_names(u16 registers);
std::string_view counter_name(Counter counter);

/// The encoding forms of a row on a target: e32, e64, sdwa, dpp; a single empty one for formats with one
/// form; none where the target lacks the instruction.
std::vector<std::string_view> form_names(const Row& row, Target target);

/// `v:u32, mask <- src:u32, v:u32`: operands by slot, class and type.
std::string operands(const Row& row);

/// `load 4 bytes from LDS`, empty for instructions without memory.
std::string memory(const Row& row);

/// Everything about one row as a page of text, as far as it concerns `targets`.
std::string describe(const Row& row, const std::vector<Target>& targets);

/// Opcodes per encoding and target, as a table of text.
std::string summary();

/// docs/ISA.md.
std::string markdown();

} // namespace lanewise::isa
