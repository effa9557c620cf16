#include "runtime/interp/interp.hpp"

#include "abi/initial_state.hpp"
#include "isa/registers.hpp"
#include "runtime/interp/control.hpp"
#include "runtime/interp/program.hpp"
#include "support/host_cpu.hpp"

#include <algorithm>

namespace lanewise::runtime {
namespace {

using interp::Code;
using interp::Program;
using interp::Wave;

class Interpreter final : public WaveEngine {
public:
  Interpreter(const InterpreterKernel& kernel, std::span<const interp::CodeRange> ranges)
      : program_(kernel.target, ranges), entry_(kernel.entry), vgprs_(std::clamp(kernel.vgprs, 3u, 256u)) {}

  [[nodiscard]] std::size_t frame_bytes() const override { return sizeof(Wave); }
  [[nodiscard]] bool has_barriers() const override { return true; } // not known before it runs

  void start(void* frame, const abi::WaveInit& init, const WorkgroupContext& group,
             u32 wave_in_group) const override {
    Wave& w = *static_cast<Wave*>(frame);
    w.init = init;
    w.target = program_.target();
    w.program = &program_;
    w.group = &group;
    w.lds = group.lds;
    w.lds_bytes = group.lds_bytes;
    w.wave_in_group = wave_in_group;
    w.scratch = group.scratch + wave_in_group * group.scratch_wave_bytes;
    w.scratch_lane_bytes = group.scratch_wave_bytes / kWaveSize;
    begin(w);
  }

  void restart(const GroupFrames& frames) const override {
    for (u32 n = 0; n < frames.groups * frames.waves; ++n) {
      Wave& w = *reinterpret_cast<Wave*>(frames.first + n * frames.stride);
      for (u32 axis = 0; axis < 3; ++axis)
        if (const i8 sgpr = w.init.group_id_sgpr[axis]; sgpr >= 0)
          w.init.sgpr[static_cast<u8>(sgpr)] = frames.group_id[axis] + (axis == 0 ? n / frames.waves : 0);
      begin(w);
    }
  }

  void run(WaveRow& row) const override {
    for (;; row.current += row.stride) {
      Wave& w = *reinterpret_cast<Wave*>(row.current);
      run(w);
      row.reasons |= set_of(w.stop.reason);
      if (w.stop.reason != StopReason::End && w.stop.reason != StopReason::Barrier) return;
      if (row.current + row.stride >= row.end) return;
    }
  }

  [[nodiscard]] Stop last_stop(const void* frame) const override {
    return static_cast<const Wave*>(frame)->stop;
  }

  FaultLocation locate_fault(void* frame, const void*, u64) const override {
    const Wave& w = *static_cast<const Wave*>(frame);
    const int lane = w.fault_lane;
    const u64* by_lane = w.fault_addresses; // in the stack frame of the handler that faulted
    const u64 address = by_lane && lane >= 0 ? by_lane[lane] : w.fault_address;
    return {w.current ? w.current->pc : 0, lane, address, w.fault_is_write};
  }

private:
  void begin(Wave& w) const {
    start_registers(w, w.init);
    w.scc = false;
    w.set_mode(w.init.mode);
    w.resume_pc = entry_;
    w.current = nullptr;
    w.modal = false;
    w.fault_lane = -1;
    w.fault_addresses = nullptr;
    w.fault_address = 0;
    w.fault_is_write = false;
  }

  static void run(Wave& w) {
    const u32 host_mxcsr = _mm_getcsr();
    w.mxcsr = host_mxcsr;
    w.modal = false;
    const Code* c = interp::jump_to(w, w.resume_pc);
    if (c) c = interp::continue_at(w, c);
    while (c) {
      w.current = c;
      c = c->run(w, *c);
    }
    w.use_mxcsr(host_mxcsr);
  }

  void start_registers(Wave& w, const abi::WaveInit& init) const {
    // Undefined in hardware; zero, so that runs are repeatable.
    std::fill_n(&w.vgpr[0][0], vgprs_ * kWaveSize, 0);
    std::fill(std::begin(w.sgpr), std::end(w.sgpr), 0);
    std::copy_n(&init.vgpr[0][0], std::min(init.vgpr_count, 3u) * kWaveSize, &w.vgpr[0][0]);
    std::copy_n(init.sgpr.begin(), std::min<u32>(init.sgpr_count, init.sgpr.size()), w.sgpr);
    if (const unsigned code = isa::flat_scratch_code(w.target)) {
      w.sgpr[code] = static_cast<u32>(init.flat_scratch);
      w.sgpr[code + 1] = static_cast<u32>(init.flat_scratch >> 32);
    }
    w.m0() = init.m0;
    w.exec() = init.exec;
    w.lane_mask_of = ~init.exec;
    w.expanded(init.exec);
  }

  Program program_;
  u64 entry_;
  u32 vgprs_;
};

} // namespace

Result<std::unique_ptr<WaveEngine>> make_interpreter(const InterpreterKernel& kernel) {
  if (!host_has_avx2())
    return Error{ErrorCode::Unsupported, "the interpreter needs a CPU with AVX2, FMA, BMI2 and F16C"};
  std::vector<interp::CodeRange> ranges;
  bool entered = false;
  for (const InterpreterCode& code : kernel.code) {
    ranges.push_back({code.address, code.bytes});
    entered |= kernel.entry - code.address < code.bytes;
  }
  if (!entered || kernel.entry % 4 != 0)
    return Error{ErrorCode::BadInput, "the kernel's entry lies outside the code of its code object"};
  return std::unique_ptr<WaveEngine>(std::make_unique<Interpreter>(kernel, ranges));
}

} // namespace lanewise::runtime
