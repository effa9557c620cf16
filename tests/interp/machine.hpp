// A wave to try single instructions and small programs on: registers in, machine code, registers out.
#pragma once

#include "abi/initial_state.hpp"
#include "isa/op.hpp"
#include "runtime/fault.hpp"
#include "runtime/interp/interp.hpp"
#include "runtime/interp/state.hpp"

#include <array>
#include <bit>
#include <gtest/gtest.h>
#include <initializer_list>
#include <vector>

namespace lanewise::interp::test {

using isa::Op;
using isa::Target;

/// Source codes of the 9-bit operand fields.
constexpr u32 vgpr(u32 n) { return 256 + n; }
constexpr u32 sgpr(u32 n) { return n; }
/// Inline integer constants -16..64.
constexpr u32 inline_int(int n) { return n >= 0 ? 128 + static_cast<u32>(n) : 192 + static_cast<u32>(-n); }
inline constexpr u32 kVcc = 106, kM0 = 124, kExec = 126, kOne = 242;

/// Modifiers of the 64-bit vector encoding.
struct Mods {
  u32 abs = 0, neg = 0, omod = 0, op_sel = 0;
  bool clamp = false;
};

constexpr u32 kModeDefault = 0x3c0 | 0x30; ///< nearest, all denormals kept, DX10_CLAMP and IEEE on
constexpr u32 kModeFlush = 0x300;          ///< all denormals flushed
constexpr u32 kModeNoIeee = kModeDefault & ~0x200u;

class Machine {
public:
  explicit Machine(Target target);

  [[nodiscard]] Target target() const { return target_; }

  // The program. Each call appends one instruction.
  void raw(std::initializer_list<u32> dwords) { code_.insert(code_.end(), dwords); }
  /// Any VOP1, VOP2, VOPC or VOP3 instruction in its 64-bit encoding. `sdst` is the scalar destination of the
  /// forms that have one beside vdst.
  void vop3(Op op, u32 vdst, std::initializer_list<u32> sources, const Mods& mods = {}, u32 sdst = kVcc);
  void vop3p(Op op, u32 vdst, std::initializer_list<u32> sources, u32 op_sel = 0, u32 op_sel_hi = 7,
             u32 neg = 0, u32 neg_hi = 0, bool clamp = false);
  void sop2(Op op, u32 sdst, u32 a, u32 b);
  void sop1(Op op, u32 sdst, u32 a);
  void sopc(Op op, u32 a, u32 b);
  void sopk(Op op, u32 sdst, u32 imm);
  void sopp(Op op, u32 imm = 0);
  void literal(u32 value) { code_.push_back(value); }
  /// s_cbranch_scc1 to the second instruction: closes a loop over all but the first.
  void back() { sopp(Op::s_cbranch_scc1, static_cast<u32>(-static_cast<i32>(code_.size()))); }
  void ds(Op op, u32 vdst, u32 addr, u32 data0 = 0, u32 data1 = 0, u32 offset = 0, bool to_gds = false);
  /// MUBUF with soffset 0.
  struct Buffer {
    u32 offset = 0;
    bool offen = false, idxen = false, glc = false, addr64 = false, lds = false;
    u32 soffset = 128;
  };
  void mubuf(Op op, u32 vdata, u32 vaddr, u32 srsrc, const Buffer& fields);
  void flat(Op op, u32 vdst, u32 addr, u32 data = 0, i32 offset = 0, u32 saddr = 0x7f, bool glc = false);

  struct Mimg {
    u32 dmask = 15;
    bool unorm = false, glc = false, da = false, r128 = false, a16 = false, tfe = false, lwe = false,
         d16 = false;
    u32 ssamp = 0;
  };
  void mimg(Op op, u32 vdata, u32 vaddr, u32 srsrc, const Mimg& fields);

  // The state before the program.
  u32 mode = kModeDefault;
  u64 exec = ~u64{0};
  std::vector<u32> lds = std::vector<u32>(1024);
  std::vector<u32> scratch = std::vector<u32>(64 * 64); ///< 256 bytes per lane
  std::vector<u32> gds = std::vector<u32>(256);

  void set_v(u32 reg, u32 lane, u32 value) { initial_[reg][lane] = value; }
  void set_v(u32 reg, u32 value) { initial_[reg].fill(value); }
  void set_v64(u32 reg, u32 lane, u64 value) {
    set_v(reg, lane, static_cast<u32>(value));
    set_v(reg + 1, lane, static_cast<u32>(value >> 32));
  }
  void set_s(u32 reg, u32 value) { sgprs_[reg] = value; }
  void set_s64(u32 reg, u64 value) {
    set_s(reg, static_cast<u32>(value));
    set_s(reg + 1, static_cast<u32>(value >> 32));
  }

  [[nodiscard]] std::size_t size() const { return code_.size(); }
  /// Appends s_endpgm and puts the wave in its initial state.
  void prepare();
  /// prepare(), and runs to the end.
  runtime::Stop run();
  /// Runs what is prepared, or goes on after a barrier.
  runtime::Stop resume();

  // The state afterwards.
  [[nodiscard]] u32 v(u32 reg, u32 lane = 0) const { return wave_->vgpr[reg][lane]; }
  [[nodiscard]] u64 v64(u32 reg, u32 lane = 0) const { return v(reg, lane) | u64{v(reg + 1, lane)} << 32; }
  [[nodiscard]] u32 s(u32 reg) const { return wave_->sgpr[reg]; }
  [[nodiscard]] u64 s64(u32 reg) const { return s(reg) | u64{s(reg + 1)} << 32; }
  [[nodiscard]] bool scc() const { return wave_->scc; }
  [[nodiscard]] u64 code_address() const { return reinterpret_cast<u64>(code_.data()); }
  [[nodiscard]] Wave& wave() { return *wave_; }
  [[nodiscard]] const runtime::WaveEngine& engine() const { return *engine_; }

private:
  Target target_;
  std::vector<u32> code_;
  std::array<std::array<u32, kWaveSize>, 64> initial_{};
  std::array<u32, 128> sgprs_{};
  std::unique_ptr<runtime::WaveEngine> engine_;
  std::unique_ptr<Wave> wave_ = std::make_unique<Wave>();
  runtime::WorkgroupContext group_;
};

/// Runs a machine that is not prepared yet; its memory faults come back as values.
runtime::HostFault run_guarded(Machine& m, runtime::Stop* stop = nullptr);

inline u32 bits(float x) { return std::bit_cast<u32>(x); }
inline u64 bits(double x) { return std::bit_cast<u64>(x); }
inline float f32_of(u32 x) { return std::bit_cast<float>(x); }
inline double f64_of(u64 x) { return std::bit_cast<double>(x); }

/// The result of one instruction on lane 0's sources, in every lane alike.
u32 evaluate(Target target, Op op, std::initializer_list<u32> sources, const Mods& mods = {},
             u32 mode = kModeDefault);
u64 evaluate64(Target target, Op op, std::initializer_list<u64> sources, const Mods& mods = {},
               u32 mode = kModeDefault);

/// Values that break arithmetic, as f32 bits.
inline constexpr u32 kSpecials[] = {
    0x0000'0000, 0x8000'0000, 0x0000'0001, 0x807f'ffff, 0x0080'0000, 0x8080'0000, 0x3f80'0000,
    0xbf80'0000, 0x3f00'0000, 0x4000'0000, 0x7f7f'ffff, 0xff7f'ffff, 0x7f80'0000, 0xff80'0000,
    0x7fc0'0001, 0xffc0'1234, 0x7f80'0001, 0xffa0'0000, 0x3eff'ffff, 0x4b00'0001, 0x4f00'0000,
    0xcf00'0000, 0x4f80'0000, 0x0040'0000, 0x7e80'0000, 0x7f00'0000, 0x0010'0000,
};

} // namespace lanewise::interp::test
