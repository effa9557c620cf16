// Turning what goes wrong inside guest code into data: host signals, traps and bad jumps become a
// FaultReport, the process goes on, and the next dispatch works.
#pragma once

#include "runtime/wave.hpp"

#include <string>

namespace lanewise::runtime {

enum class FaultKind : u32 {
  Memory,     ///< an access to memory that is not mapped, or not mapped for this kind of access
  Arithmetic, ///< the host raised SIGFPE
  HostCode,   ///< the host raised SIGILL: translated code uses an instruction this CPU lacks
  Trap,       ///< s_trap; detail is the trap id
  BadJump,    ///< control left the code; `address` is the target
  Illegal,    ///< an instruction that cannot be executed
  Deadlock,   ///< waves wait for each other (ds_gws_*) and none is left that could let one go
};

/// Everything known about the fault that ended a dispatch.
struct FaultReport {
  FaultKind kind = FaultKind::Memory;
  std::string kernel;
  std::string instruction; ///< disassembled; empty until a layer that owns a disassembler fills it in
  u64 pc = 0;              ///< address of the guest instruction in the loaded image, 0 if unknown
  u64 offset = 0;          ///< pc relative to the kernel's entry, modulo 2^64; meaningful if pc is not 0
  u32 workgroup[3] = {};
  u32 wave = 0;    ///< wave within its workgroup
  int lane = -1;   ///< -1 for a scalar access, or if unknown
  u64 address = 0; ///< guest address accessed, or jumped to
  bool is_write = false;
  u32 detail = 0; ///< trap id

  /// One line for people: "memory fault in saxpy at 0x.. ..".
  [[nodiscard]] std::string line() const;
};

/// How a guarded piece of guest execution ended, when it did not end by itself.
struct HostFault {
  int signal = 0; ///< 0: no fault
  FaultLocation where;
};

/// What the signal handler needs to know about the guest code that runs on this thread. Kept current by
/// whoever runs waves.
struct GuestPosition {
  const WaveEngine* engine = nullptr; ///< null: guest code does not run
  WaveRow row;
};

/// Runs body(argument) so that a host signal raised inside leaves it and is returned as a value. `position`
/// must name the engine and the row of waves whenever guest code runs. body must hold nothing that needs a
/// destructor while guest code runs: it is left by siglongjmp. MXCSR is as before on return. Not reentrant on
/// one thread.
HostFault run_guarded(GuestPosition& position, void (*body)(void*), void* argument);

} // namespace lanewise::runtime
