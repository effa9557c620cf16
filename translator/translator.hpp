// The translator's public border: guest code in, a Translation out, which runs as a WaveEngine.
#pragma once

#include "isa/inst.hpp"
#include "runtime/wave.hpp"
#include "support/result.hpp"
#include "translator/launch_facts.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lanewise::translator {

/// What is known about an initial SGPR when a kernel is translated.
struct InitialSgpr {
  bool constant = false; ///< its value is the same for every wave of every launch
  u32 value = 0;
};

/// A code address with a name: callees are found through these, and dumps show them.
struct CodeSymbol {
  std::string name;
  u64 address = 0;
  u64 size = 0;
  bool is_kernel = false;
  bool in_data = false; ///< its address lies in the image, as in tables of functions
};

/// A read-only part of the loaded image whose bytes may be taken as constants (GOT, .rodata).
struct ConstantRange {
  const u8* data = nullptr;
  u64 size = 0;
};

/// One kernel to translate. Addresses are host addresses in the loaded image, as the guest sees them.
struct KernelSource {
  std::string name;
  isa::Target target{};
  std::span<const u8> code; ///< the executable segment; code.data() is its address
  u64 entry = 0;            ///< address of the first instruction
  std::vector<CodeSymbol> symbols;
  std::vector<ConstantRange> constants;
  std::vector<InitialSgpr> initial_sgprs;
  unsigned initial_vgprs = 1; ///< work-item id registers, 1 to 3
  u32 mode = 0;               ///< initial MODE register (rounding, denormals, DX10_CLAMP, IEEE)
  u32 lds_bytes = 0;          ///< static group segment size
  u32 private_bytes_per_lane = 0;
  unsigned num_vgprs = 256;

  /// `bytes` of the constants at `address`, or none if not all of them are such.
  [[nodiscard]] std::span<const u8> constant_bytes(u64 address, u64 bytes) const {
    for (const ConstantRange& r : constants) {
      const u64 begin = reinterpret_cast<u64>(r.data);
      if (address >= begin && address - begin <= r.size && r.size - (address - begin) >= bytes)
        return {r.data + (address - begin), bytes};
    }
    return {};
  }
};

enum class Simd : u8 { Avx2, Avx512 };

/// Stages that can be dumped, and the sink they go to.
struct DumpOptions {
  bool gcn = false, ir = false, phases = false, x86 = false;
  std::function<void(const std::string& stage, const std::string& text)> sink;
};

struct Options {
  Simd simd = Simd::Avx2;
  unsigned interleave = 0; ///< gangs side by side in every phase, at most as many as there are; 0: as pays
  bool verify = false;     ///< run the IR verifier after every pass and the register-allocation checker
  LaunchFacts launch;      ///< the engine serves only launches of which this is true
  DumpOptions dump;
};

struct Stats {
  u32 guest_instructions = 0;
  u32 untranslated_instructions = 0; ///< have no lifting rule; the kernel needs the interpreter
  std::string first_untranslated;    ///< text of the first of them
  u32 ir_instructions = 0, phases = 0, spills = 0, selects_before = 0, selects_after = 0;
  u64 code_bytes = 0;
  double lift_ms = 0, passes_ms = 0, emit_ms = 0;
  std::vector<std::pair<const char*, double>> ms_of_passes; ///< in order; their sum is less than `passes_ms`
};

struct Translation; // translator/translation.hpp

/// Translates one kernel. Error Unsupported when `stats->untranslated_instructions` is not zero: the caller
/// falls back.
Result<Translation> translate(const KernelSource& source, const Options& options, Stats* stats);

/// Translates one kernel for this process alone.
Result<std::unique_ptr<runtime::WaveEngine>> translate_and_load(const KernelSource& source,
                                                                const Options& options, Stats* stats);

/// Work-items that are lanes of one register.
constexpr unsigned gang_lanes(Simd simd) { return simd == Simd::Avx512 ? 16 : 8; }

/// Whether this machine can run code for `simd`.
bool host_supports(Simd simd);

} // namespace lanewise::translator
