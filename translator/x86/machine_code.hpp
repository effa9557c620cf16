// One kernel's machine code: as a value that can be stored, and made executable.
#pragma once

#include "translator/x86/code_memory.hpp"
#include "translator/x86/fault_table.hpp"

namespace lanewise::x86 {

/// Position-independent code, `void entry(runtime::WaveRow*)` at its start, constants behind. What it needs
/// of the host it finds through the wave's frame.
struct MachineCode {
  std::vector<u8> bytes;
  bool has_slow_accesses = false; ///< calls the stub of slow_access.hpp
  FaultTable faults;
};

/// Machine code in executable memory. Immutable; any number of threads may be in it.
class PlacedCode {
public:
  static Result<PlacedCode> create(MachineCode code);

  /// Runs the waves of the row, each from its frame's resume until it stops; resume beyond the last point
  /// gives BadJump.
  void run(runtime::WaveRow& row) const {
    reinterpret_cast<void (*)(runtime::WaveRow*)>(reinterpret_cast<std::uintptr_t>(memory_.data()))(&row);
  }

  /// Names the guest access at which a signal's ucontext_t stopped: see x86::locate().
  [[nodiscard]] runtime::FaultLocation locate(const void* ucontext, u64 host_address) const;

private:
  CodeMemory memory_;
  std::size_t bytes_ = 0;
  FaultTable faults_;
  XsaveLayout xsave_;
};

} // namespace lanewise::x86
