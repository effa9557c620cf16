// A translated kernel as a value: it can be run at once, or stored and run by another process.
#pragma once

#include "support/byte_stream.hpp"
#include "translator/translator.hpp"
#include "translator/x86/machine_code.hpp"

namespace lanewise::translator {

/// Instructions beyond what a Simd stands for that the translator uses where the host has them, as bits.
inline constexpr u32 kVpopcnt = 1; ///< AVX512_VPOPCNTDQ
inline constexpr u32 kVbmi2 = 2;   ///< AVX512_VBMI2
/// Those of this machine that code for `simd` uses.
u32 host_extras(Simd simd);

/// One kernel in x86 code. Holds addresses of the guest's image, and nothing else of the process that made
/// it: it runs wherever the same image lies at the same place, on machines with its instructions.
struct Translation {
  Simd simd = Simd::Avx2;
  u32 extras = 0; ///< instructions that it may contain
  u32 frame_bytes = 0;
  bool has_barriers = false;
  bool packs = false;         ///< a wave is 64 workgroups of one work-item: LaunchFacts::packs
  u32 deferred_add_bytes = 0; ///< WaveEngine::deferred_add_bytes()
  u32 traffic_bytes = 0;      ///< WaveEngine::traffic_bytes()
  u32 team_lanes = kWaveSize; ///< lanes that run side by side; teams behind a wave's last lane do not run
  x86::MachineCode machine;
};

/// Makes it executable. Error Unsupported if this machine lacks its instructions; Internal: no memory.
Result<std::unique_ptr<runtime::WaveEngine>> load(Translation translation);

/// All but the machine code's bytes, for files.
void write(ByteWriter& out, const Translation& translation);

/// Reads what write() wrote and puts it together with `code`. Nothing if that is malformed. Tables that lie
/// inside the bounds of what they index are taken as they are: whoever runs foreign code trusts its maker.
std::optional<Translation> read_translation(ByteReader& in, std::span<const u8> code);

} // namespace lanewise::translator
