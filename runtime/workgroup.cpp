#include "runtime/workgroup.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace lanewise::runtime {
namespace {

// Trivially destructible: a fault leaves execute() by siglongjmp.
struct Execution {
  const DispatchRequest& request;
  const WorkgroupContext& context;
  u8* frames;
  u64 frame_bytes;
  u32 waves;
  GuestPosition position = {};
  u32 wave = 0;   // the one that runs
  Stop stop = {}; // of that wave
};

// Each round runs every live wave up to its next barrier or its end: all that are still alive have then
// arrived, and those that ended no longer take part.
void execute(void* argument) {
  auto& run = *static_cast<Execution*>(argument);
  const WaveEngine& engine = *run.request.engine;
  for (u32 wave = 0; wave < run.waves; ++wave)
    run.request.waves->start(run.frames + wave * run.frame_bytes, run.context, wave);
  u32 live = run.waves == 32 ? ~0u : (1u << run.waves) - 1;
  while (live) {
    for (u32 pending = live; pending; pending &= pending - 1) {
      run.wave = static_cast<u32>(std::countr_zero(pending));
      run.position.frame = run.frames + run.wave * run.frame_bytes;
      run.position.engine = &engine;
      run.stop = engine.run(run.position.frame);
      run.position.engine = nullptr;
      if (run.stop.reason == StopReason::Barrier) continue;
      if (run.stop.reason != StopReason::End) return;
      live &= ~(1u << run.wave);
    }
  }
}

FaultKind kind_of_signal(int signal) {
  if (signal == SIGFPE) return FaultKind::Arithmetic;
  return signal == SIGILL ? FaultKind::HostCode : FaultKind::Memory;
}

void describe_stop(const Stop& stop, FaultReport& report) {
  report.pc = stop.pc;
  report.detail = stop.detail;
  report.kind = FaultKind::Illegal;
  if (stop.reason == StopReason::Trap) report.kind = FaultKind::Trap;
  if (stop.reason == StopReason::BadJump) {
    report.kind = FaultKind::BadJump;
    report.address = stop.pc;
    report.pc = 0;
  }
}

void describe_fault(const HostFault& fault, FaultReport& report) {
  report.kind = kind_of_signal(fault.signal);
  report.pc = fault.where.pc;
  report.lane = fault.where.lane;
  report.address = fault.where.address;
  report.is_write = fault.where.is_write;
}

} // namespace

bool Worker::reserve(const DispatchRequest& request) {
  return frames.reserve(request.max_waves * request.engine->frame_bytes()) &&
         lds.reserve(request.lds_bytes) && scratch.reserve(request.max_waves * request.scratch_wave_bytes);
}

std::optional<FaultReport> run_workgroup(const DispatchRequest& request, Worker& worker, u8* gds,
                                         const u32 (&group)[3]) {
  WorkgroupContext context;
  context.lds = worker.lds.data();
  context.lds_bytes = request.lds_bytes;
  context.gds = gds;
  context.gds_bytes = kGdsBytes;
  context.scratch = worker.scratch.data();
  context.scratch_wave_bytes = request.scratch_wave_bytes;
  std::copy(std::begin(group), std::end(group), context.group_id);
  if (context.lds_bytes) std::memset(context.lds, 0, context.lds_bytes);

  Execution run = {request, context, worker.frames.data(), request.engine->frame_bytes(),
                   std::min(request.waves->waves_in(group), request.max_waves)};
  const HostFault fault = run_guarded(run.position, execute, &run);
  const bool stopped = run.stop.reason != StopReason::End && run.stop.reason != StopReason::Barrier;
  if (!fault.signal && !stopped) return std::nullopt;

  FaultReport report;
  report.kernel = request.kernel;
  report.wave = run.wave;
  std::copy(std::begin(group), std::end(group), report.workgroup);
  if (fault.signal)
    describe_fault(fault, report);
  else
    describe_stop(run.stop, report);
  report.offset = report.pc - request.entry;
  return report;
}

} // namespace lanewise::runtime
