// What the interpreter works on: the state of a wave, and decoded instructions made ready to run.
#pragma once

#include "abi/initial_state.hpp"
#include "isa/row.hpp"
#include "runtime/wave.hpp"

#include <immintrin.h>

namespace lanewise::interp {

using isa::Target;

struct Wave;
struct Code;
class Program;

/// Executes one instruction and says which comes next; nullptr when the wave stops (Wave::stop says why).
using Handler = const Code* (*)(Wave&, const Code&);

/// Where scalar results go that name a read-only operand.
inline constexpr u16 kNoRegister = 128;

/// A source operand, resolved as far as it can be before running.
struct Source {
  enum Kind : u8 {
    None,
    Vgpr,     ///< index = first VGPR
    Sgpr,     ///< index = hardware code
    Constant, ///< `rows` and `value`
    Slow,     ///< modifiers, DPP, SDWA, special registers: see the isa::Operand
  };
  const u32* rows = nullptr; ///< a constant broadcast to 64 lanes, low dwords first, then high ones
  u64 value = 0;
  u16 index = 0;
  Kind kind = None;
  u8 dwords = 0;
};

/// How a vector result reaches its register.
enum class Writeback : u8 {
  Dwords,   ///< whole registers (a 16-bit result zeroes the upper half)
  KeepHigh, ///< into the low half; the high half stays
  KeepLow,  ///< into the high half; the low half stays
  Sdwa,     ///< as dst_sel and dst_unused say
};

/// A decoded instruction ready to run. Those of straight-line code lie one after the other.
struct Code {
  Handler run = nullptr;
  const Code* target = nullptr; ///< of a direct branch
  u64 pc = 0;
  const isa::Inst* inst = nullptr;
  const isa::Row* row = nullptr;
  i64 imm = 0;
  Source src[4];
  u16 dst = 0;  ///< VGPR number, or hardware code of an SGPR
  u16 dst2 = 0; ///< of the second destination
  u8 dst_dwords = 0;
  u8 size = 0; ///< bytes of the encoding
  Writeback writeback = Writeback::Dwords;
  bool vector = false;  ///< skipped under VSKIP, indexed under GPR_IDX_EN
  bool dpp = false;     ///< lanes may be disabled beyond EXEC
  bool adjusts = false; ///< clamp or omod
  bool valu = false;
  bool reads_dst = false; ///< src[2] repeats dst[0] (v_mac)
};

/// The part of MODE that arithmetic looks at, taken apart.
struct FpMode {
  bool ieee = false, dx10_clamp = false, fp16_ovfl = false;
  bool flush_in_f32 = false, flush_out_f32 = false, flush_in_f64 = false, flush_out_f64 = false;
  u8 round_f32 = 0, round_f64 = 0;
  bool min_max_flush_f32 = false, min_max_flush_f64 = false; ///< gfx9: min and max follow the denormal mode
};

/// A dword of ones per lane in `mask`, zeros for the others.
inline void expand(u64 mask, u32* row) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const __m256i eight = _mm256_set1_epi32(static_cast<int>(mask >> l & 0xff));
    _mm256_store_si256(reinterpret_cast<__m256i*>(row + l),
                       _mm256_cmpeq_epi32(_mm256_and_si256(eight, bit), bit));
  }
}

/// One wave: its registers, and what it knows about its surroundings.
struct alignas(64) Wave {
  u32 vgpr[256 + 4][kWaveSize]; ///< 4 more, so that indexing past the last one harms nothing
  union {
    u32 sgpr[132]; ///< by hardware code; writes to what is no register go to kNoRegister
    u64 sgpr64[66];
  };
  alignas(64) u32 lane_mask[kWaveSize]; ///< lane_mask_of, one dword per lane
  u64 lane_mask_of;
  bool scc;
  u32 mode;
  FpMode fp;
  u32 mxcsr; ///< what the host register holds
  u32 mxcsr_f32, mxcsr_f64, mxcsr_mad;
  u32 mxcsr_to_f32;  ///< as mxcsr_f32, but operands, being of another type, keep their denormals
  u32 mxcsr_formats; ///< nearest, denormals kept: format conversion is not arithmetic
  u32 mxcsr_atomic;  ///< the f32 round mode, denormals kept
  u32 mxcsr_keep; ///< the f64 field's round mode, denormals kept: for f16, whose denormals are flushed on the
                  ///< bits, and for comparisons that must see denormals
  Target target;
  const Program* program;

  // Position and stop.
  const Code* current; ///< the instruction that runs
  u64 resume_pc;       ///< where run() continues
  runtime::Stop stop;
  bool modal; ///< run_modal() is at work

  // Memory.
  const runtime::WorkgroupContext* group;
  u8* lds;
  u32 lds_bytes;
  u8* scratch;
  u64 scratch_lane_bytes;
  u32 wave_in_group;

  abi::WaveInit init; ///< what the next workgroup's wave starts with, but for the workgroup's id

  // The access under way, for fault reports.
  volatile int fault_lane;
  const u64* volatile fault_addresses; ///< by lane, or null: then fault_address
  volatile u64 fault_address;
  volatile bool fault_is_write;

  [[nodiscard]] u64& exec() { return sgpr64[isa::kExecLo / 2]; }
  [[nodiscard]] u64& vcc() { return sgpr64[isa::kVccLo / 2]; }
  [[nodiscard]] u32& m0() { return sgpr[isa::kM0]; }
  [[nodiscard]] bool gpr_idx_en() const { return target >= Target::gfx803 && (mode >> 27 & 1) != 0; }
  [[nodiscard]] bool vskip() const { return (mode >> 28 & 1) != 0; }

  /// Notes what is about to be accessed.
  void accessing(int lane, u64 address, bool is_write) {
    fault_lane = lane;
    fault_addresses = nullptr;
    fault_address = address;
    fault_is_write = is_write;
  }
  /// The same for many lanes at once; each lane then sets fault_lane.
  void accessing(const u64* addresses, bool is_write) {
    fault_addresses = addresses;
    fault_is_write = is_write;
  }

  /// Makes the host compute in `value`'s round and denormal mode from here on.
  void use_mxcsr(u32 value) {
    if (mxcsr == value) return;
    mxcsr = value;
    _mm_setcsr(value);
    // The compiler does not know that arithmetic depends on MXCSR: loads must not move up across this.
    asm volatile("" ::: "memory");
  }

  /// Takes over a new MODE.
  void set_mode(u32 value);

  /// Dwords of ones for the lanes in `mask`, zeros for the others.
  const u32* expanded(u64 mask) {
    if (mask != lane_mask_of) interp::expand(lane_mask_of = mask, lane_mask);
    return lane_mask;
  }
};

/// Stops the wave at `code`.
inline const Code* stop_at(Wave& w, const Code& code, runtime::StopReason reason, u32 detail = 0) {
  w.stop = {reason, detail, code.pc};
  return nullptr;
}

inline const Code* next(const Code& code) { return &code + 1; }

} // namespace lanewise::interp
