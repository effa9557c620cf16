// Expands isa/tables to the array of rows.
#include "isa/row_table.hpp"

namespace lanewise::isa {

constinit const std::array<Row, kNumOps> kRows = detail::kRowTable;

i16 vop3_opcode(const Row& row, Target target) { return detail::vop3_opcode(row, target); }

bool exists(Op op, Target target) {
  const Row& row = row_of(op);
  return row.opcode.on(target) != kAbsent || vop3_opcode(row, target) != kAbsent;
}

std::string_view mnemonic(Op op, Target target) {
  const Row& row = row_of(op);
  const char* all[kNumTargets] = {row.names.gfx600, row.names.gfx700, row.names.gfx803, row.names.gfx900,
                                  row.names.gfx906};
  for (int t = static_cast<int>(target); t >= 0; --t)
    if (all[t]) return all[t];
  return row.name;
}

std::string_view section(const Row& row) {
  switch (row.encoding) {
  case Encoding::Sop2: return "12.1";
  case Encoding::Sopk: return "12.2";
  case Encoding::Sop1: return "12.3";
  case Encoding::Sopc: return "12.4";
  case Encoding::Sopp: return "12.5";
  case Encoding::Smem: return "12.6";
  case Encoding::Vop2: return "12.7";
  case Encoding::Vop1: return "12.8";
  case Encoding::Vopc: return "12.9";
  case Encoding::Vop3p: return "12.10";
  case Encoding::Vintrp: return "12.11";
  case Encoding::Vop3: return "12.12";
  case Encoding::Ds: return "12.13";
  case Encoding::Mubuf: return "12.14";
  case Encoding::Mtbuf: return "12.15";
  case Encoding::Mimg: return "12.16";
  case Encoding::Exp: return "12.17";
  case Encoding::Flat:
    switch (row.memory.space) {
    case Space::Scratch: return "12.18.2";
    case Space::Global: return "12.18.3";
    default: return "12.18.1";
    }
  }
  return "12";
}

std::string_view target_name(Target target) {
  constexpr std::string_view names[kNumTargets] = {"gfx600", "gfx700", "gfx803", "gfx900", "gfx906"};
  return names[static_cast<unsigned>(target)];
}

std::optional<Target> target_named(std::string_view name) {
  for (const Target target : kTargets)
    if (target_name(target) == name) return target;
  return std::nullopt;
}

} // namespace lanewise::isa
