#include "isa/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace lanewise::isa {
namespace {

constexpr unsigned kNumEncodings = static_cast<unsigned>(Encoding::Exp) + 1;

std::string_view class_name(OperandClass cls) {
  constexpr std::string_view names[] = {"",     "v",   "s",   "ssrc", "src", "lane",
                                        "vsrc", "off", "vcc", "imm",  "k"};
  return names[static_cast<unsigned>(cls)];
}

std::string operand_text(const OperandSpec& spec) {
  if (spec.cls == OperandClass::M) return "mask";
  if (spec.cls == OperandClass::Imm) return std::string(type_name(spec.type));
  return fmt::format("{}:{}{}", class_name(spec.cls), type_name(spec.type),
                     spec.also_read ? " (read too)" : "");
}

std::string_view space_name(Space space) {
  constexpr std::string_view names[] = {"",    "memory",      "buffer", "image",  "LDS",
                                        "GDS", "flat memory", "memory", "scratch"};
  return names[static_cast<unsigned>(space)];
}

std::string_view atomic_name(Atomic atomic) {
  constexpr std::string_view names[] = {
      "",   "swap", "cmpswap", "add", "sub",   "rsub", "smin",       "umin", "smax", "umax", "and",
      "or", "xor",  "inc",     "dec", "mskor", "wrap", "condxchg32", "fadd", "fmin", "fmax", "fcmpswap"};
  return names[static_cast<unsigned>(atomic)];
}

/// `0x03`, with the VOP3 opcode after a slash, and the name where the target has another.
std::string opcode_text(const Row& row, Target target) {
  if (!exists(row.op, target)) return "";
  std::string out;
  const i16 narrow = row.opcode.on(target),
            wide = row.encoding == Encoding::Vop3 ? kAbsent : vop3_opcode(row, target);
  if (narrow != kAbsent) out = fmt::format("{:#04x}", narrow);
  if (wide != kAbsent) out += fmt::format("{}{:#05x}", out.empty() ? "" : "/", wide);
  if (mnemonic(row.op, target) != row.name) out += fmt::format(" `{}`", mnemonic(row.op, target));
  return out;
}

/// Modifiers, hazards and the rest in one cell.
std::string properties(const Row& row) {
  auto all = flag_names(row.flags);
  for (const std::string_view name : image_names(row.image)) all.push_back(name);
  if (row.counter != Counter::None) all.push_back(counter_name(row.counter));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string implicit(const Row& row) {
  std::string out;
  if (row.reads) out = fmt::format("reads {}", fmt::join(register_names(row.reads), ", "));
  if (row.writes)
    out += fmt::format("{}writes {}", out.empty() ? "" : "; ", fmt::join(register_names(row.writes), ", "));
  return out;
}

/// The forms of a row over all targets, in the order in which they came up.
std::string all_forms(const Row& row) {
  std::vector<std::string_view> forms;
  for (const Target target : kTargets)
    for (const std::string_view form : form_names(row, target))
      if (!form.empty() && std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  return fmt::format("{}", fmt::join(forms, " "));
}

using Counts = std::array<std::array<unsigned, kNumTargets>, kNumEncodings>;

Counts count_opcodes() {
  Counts counts{};
  for (const Row& row : rows())
    for (unsigned t = 0; t < kNumTargets; ++t) {
      const auto target = static_cast<Target>(t);
      if (row.opcode.on(target) != kAbsent) ++counts[static_cast<unsigned>(row.encoding)][t];
      if (row.encoding != Encoding::Vop3 && vop3_opcode(row, target) != kAbsent)
        ++counts[static_cast<unsigned>(Encoding::Vop3)][t];
    }
  return counts;
}

constexpr std::string_view kIntroduction = R"(# The instruction set

Generated from isa/tables by `lanewise isa --markdown`; do not edit. One row per instruction meaning, under its gfx9 name.
A cell of a target holds the opcode, `32-bit/VOP3` where there are two, and the target's own spelling where it differs;
an empty cell means that the target lacks the instruction. Operands are `class:type`: v a vector register, s a scalar
register, ssrc and src scalar and vector sources, lane a lane select, off an SMEM offset, k a constant in the stream.
Sections are those of the "Vega" 7nm instruction set guide.

)";

} // namespace

std::vector<std::string_view> form_names(const Row& row, Target target) {
  std::vector<std::string_view> forms;
  const bool narrow = row.opcode.on(target) != kAbsent;
  if (!exists(row.op, target)) return forms;
  if (row.forms == kBaseForm) return {""};
  if (narrow && row.forms & kE32) forms.push_back("e32");
  if (vop3_opcode(row, target) != kAbsent) forms.push_back("e64");
  if (narrow && target >= Target::gfx803) {
    if (row.forms & (target >= Target::gfx900 ? kSdwa9 : kSdwa8)) forms.push_back("sdwa");
    if (row.forms & kDpp) forms.push_back("dpp");
  }
  return forms;
}

std::string operands(const Row& row) {
  std::string out;
  for (const OperandSpec& spec : row.dst)
    if (spec.present()) out += (out.empty() ? "" : ", ") + operand_text(spec);
  if (!row.src[0].present() && !row.src[1].present() && !row.src[2].present() && !row.src[3].present())
    return out;
  out += out.empty() ? "<- " : " <- ";
  bool first = true;
  for (const OperandSpec& spec : row.src)
    if (spec.present()) out += (std::exchange(first, false) ? "" : ", ") + operand_text(spec);
  return out;
}

std::string memory(const Row& row) {
  const MemorySpec& m = row.memory;
  if (!m.accesses()) return "";
  std::string out;
  if (m.atomic != Atomic::None)
    out = fmt::format("atomic {}", atomic_name(m.atomic));
  else
    out = m.load && m.store ? "read and write" : m.load ? "load" : m.store ? "store" : "access";
  if (m.bytes) out += fmt::format(" {} bytes", m.bytes);
  if (m.components) out += fmt::format(" {} components", m.components);
  if (m.pair) out += fmt::format(" at two addresses, offsets times {}", m.pair * m.bytes);
  if (m.src2) out += ", second address from the offset";
  if (m.sign) out += ", sign-extended";
  if (m.half == Half::Hi) out += ", high half";
  if (m.half == Half::Lo) out += ", low half";
  return fmt::format("{} in {}", out, space_name(m.space));
}

std::string describe(const Row& row, const std::vector<Target>& targets) {
  std::string out = fmt::format("{}  {}, section {}\n", row.name, encoding_name(row.encoding), section(row));
  const auto line = [&out](std::string_view title, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:<11}{}\n", title, value);
  };
  for (const Target target : targets) {
    if (!exists(row.op, target)) continue;
    std::string opcode;
    if (row.opcode.on(target) != kAbsent) opcode = fmt::format("opcode {:#x}", row.opcode.on(target));
    if (row.encoding != Encoding::Vop3 && vop3_opcode(row, target) != kAbsent)
      opcode += fmt::format("{}VOP3 opcode {:#x}", opcode.empty() ? "" : ", ", vop3_opcode(row, target));
    const std::string forms = fmt::format("{}", fmt::join(form_names(row, target), " "));
    line(target_name(target),
         fmt::format("{}  {}{}", mnemonic(row.op, target), opcode, forms.empty() ? "" : "  (" + forms + ")"));
  }
  line("operands", operands(row));
  line("implicit", implicit(row));
  line("memory", memory(row));
  line("counter", std::string(counter_name(row.counter)));
  line("image", fmt::format("{}", fmt::join(image_names(row.image), ", ")));
  line("properties", fmt::format("{}", fmt::join(flag_names(row.flags), ", ")));
  line("hazards", fmt::format("{}", fmt::join(hazard_names(row.hazards), ", ")));
  return out;
}

std::string summary() {
  const Counts counts = count_opcodes();
  std::string out = fmt::format("{:<10}", "encoding");
  for (const Target target : kTargets) out += fmt::format("{:>8}", target_name(target));
  out += '\n';
  std::array<unsigned, kNumTargets> total{};
  for (unsigned e = 0; e < kNumEncodings; ++e) {
    out += fmt::format("{:<10}", encoding_name(static_cast<Encoding>(e)));
    for (unsigned t = 0; t < kNumTargets; ++t) {
      out += fmt::format("{:>8}", counts[e][t]);
      total[t] += counts[e][t];
    }
    out += '\n';
  }
  out += fmt::format("{:<10}{:>8}\n", "opcodes", fmt::join(total, ""));
  return out;
}

std::string markdown() {
  std::string out(kIntroduction);
  auto to = std::back_inserter(out);
  out += "```\n" + summary() + "```\n";
  for (unsigned e = 0; e < kNumEncodings; ++e) {
    fmt::format_to(to,
                   "\n## {}\n\n| instruction | gfx600 | gfx700 | gfx803 | gfx900 | gfx906 | forms | operands "
                   "| implicit | memory | properties |\n",
                   encoding_name(static_cast<Encoding>(e)));
    out += "|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const Row& row : rows()) {
      if (row.encoding != static_cast<Encoding>(e)) continue;
      fmt::format_to(to, "| {} |", row.name);
      for (const Target target : kTargets) fmt::format_to(to, " {} |", opcode_text(row, target));
      fmt::format_to(to, " {} | {} | {} | {} | {} |\n", all_forms(row), operands(row), implicit(row),
                     memory(row), properties(row));
    }
  }
  return out;
}

} // namespace lanewise::isa
