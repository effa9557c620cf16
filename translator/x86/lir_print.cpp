#include "translator/x86/lir.hpp"

#include <asmjit/core/inst.h>
#include <asmjit/core/string.h>

#include <fmt/format.h>

namespace lanewise::x86 {
namespace {

const char* view_name(View v) {
  static constexpr const char* kNames[] = {"",     ".8",   ".16", ".32",   ".64", ".xmm",
                                           ".ymm", ".zmm", "",    ".half", ""};
  return kNames[static_cast<unsigned>(v)];
}

std::string name(const Part& part, VReg v) {
  static constexpr const char* kFixed[kNumFixed] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (v == kPool) return "pool";
  if (v.is_fixed()) return kFixed[v.index];
  return fmt::format("{}{}", "gvk"[static_cast<unsigned>(part.class_of(v))], v.index);
}

std::string print_mem(const Part& part, const Operand& o) {
  std::string text = fmt::format("[{}", o.reg.valid() ? name(part, o.reg) : "");
  if (o.tied.valid())
    text += fmt::format(" + {}{}*{}", name(part, o.tied), view_name(o.index_view), 1u << o.scale_log2);
  text += fmt::format(" + {}]{}", o.value, view_name(o.view));
  if (o.broadcast_log2) text += fmt::format("{{1to{}}}", 1u << o.broadcast_log2);
  return text;
}

std::string print_operand(const Part& part, const Operand& o) {
  switch (o.kind) {
  case OperandKind::None: return "-";
  case OperandKind::Imm: return fmt::format("{}", o.value);
  case OperandKind::Mem: return print_mem(part, o);
  case OperandKind::Reg:
  case OperandKind::WriteMask:
  case OperandKind::Hidden: break;
  }
  std::string text = name(part, o.reg) + view_name(o.view);
  if (o.is_tied()) text += fmt::format("={}", name(part, o.tied));
  if (o.is_early()) text += "!";
  if (o.may_be_memory) text += "/m";
  if (o.kind == OperandKind::WriteMask) return fmt::format("{{{}}}", text);
  if (o.kind == OperandKind::Hidden) return fmt::format("({})", text);
  return text;
}

std::string mnemonic(const LInst& inst) {
  static constexpr const char* kPseudos[] = {"", "copy", "zero", "ones", "call"};
  if (inst.pseudo != LInst::Pseudo::None) return kPseudos[static_cast<unsigned>(inst.pseudo)];
  asmjit::String text;
  asmjit::InstAPI::instIdToString(asmjit::Arch::kX64, inst.id, text);
  static constexpr const char* kRoundings[] = {"", " {sae}", " {rn}", " {rd}", " {ru}", " {rz}"};
  return fmt::format("{}{}{}{}{}", inst.lock ? "lock " : "", text.data(), inst.zeroing ? " {z}" : "",
                     kRoundings[static_cast<unsigned>(inst.rounding)], inst.remat ? " remat" : "");
}

std::string print_edge(const Part& part, const Terminator& t, unsigned n) {
  std::string text = fmt::format("b{}(", t.target[n].index);
  const char* separator = "";
  for (VReg a : part.edge_args(t, n)) {
    text += fmt::format("{}{}", separator, name(part, a));
    separator = ", ";
  }
  return text + ")";
}

std::string print_terminator(const Part& part, const Terminator& t) {
  static constexpr const char* kConds[16] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                             "s", "ns", "p", "np", "l", "ge", "le", "g"};
  switch (t.kind) {
  case Terminator::Kind::None: return "(none)";
  case Terminator::Kind::Jump: return fmt::format("jump {}", print_edge(part, t, 0));
  case Terminator::Kind::Branch:
    return fmt::format("j{} {} else {}", kConds[static_cast<unsigned>(t.cond) & 15], print_edge(part, t, 0),
                       print_edge(part, t, 1));
  case Terminator::Kind::JumpPart: return fmt::format("jump part {}", t.part.index);
  case Terminator::Kind::Dispatch: return "dispatch";
  case Terminator::Kind::Return: return fmt::format("return {}", static_cast<u32>(t.reason));
  }
  return {};
}

} // namespace

std::string print(const Module& module, const Part& part) {
  std::string text = fmt::format("part {} ({})\n", part.name, module.avx512 ? "avx512" : "avx2");
  for (u32 b = 0; b < part.blocks.size(); ++b) {
    const Block& block = part.blocks[b];
    text += fmt::format("b{}{}:", b, block.cold ? " cold" : "");
    for (VReg p : block.params) text += " " + name(part, p);
    text += "\n";
    for (const LInst& inst : block.insts) {
      text += fmt::format("  {:x}: {}", module.origins[inst.origin], mnemonic(inst));
      const char* separator = " ";
      for (const Operand& o : part.ops(inst)) {
        text += fmt::format("{}{}", separator, print_operand(part, o));
        separator = ", ";
      }
      text += "\n";
    }
    text += "  " + print_terminator(part, block.term) + "\n";
  }
  return text;
}

} // namespace lanewise::x86
