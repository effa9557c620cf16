// Assembly source to a code object: what llvm-mc and ld.lld do together for one file.
#pragma once

#include "abi/target_id.hpp"
#include "isa/asm/token.hpp"

#include <optional>
#include <vector>

namespace lanewise::abi {

struct AssembleOptions {
  std::optional<TargetId> target; ///< what `.amdgcn_target` must agree with; needed if the source has none
  bool permissive = false;        ///< isa::AssemblerOptions::permissive
};

struct Assembly {
  std::vector<std::byte> code_object; ///< a linked ELF shared object; empty when there are errors
  std::vector<isa::Diagnostic>
      errors; ///< in the order of the source, at most kMaxErrors and then one that says so
  std::optional<TargetId> target;

  static constexpr std::size_t kMaxErrors = 20;
};

/// Assembles a whole source. Statements are instructions (isa/asm/instruction.hpp), labels, assignments and
/// these directives: .amdgcn_target .amdhsa_code_object_version .amdhsa_kernel .amdgpu_metadata; .text .data
/// .rodata .bss .section .pushsection .popsection .previous; .globl .weak .local .hidden .internal .protected
/// .type .size .set; .p2align .balign .align; .byte .short .long .quad .float .double .ascii .asciz .zero
/// .fill; .if .ifdef .ifndef .elseif .else .endif; .macro .rept.
Assembly assemble(std::string_view source, const AssembleOptions& options = {});

/// `FILE:3:7: error: MESSAGE` with the line of the source and a caret below, one per error.
std::string format_errors(const Assembly& assembly, std::string_view source, std::string_view file);

} // namespace lanewise::abi
