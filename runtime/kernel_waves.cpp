#include "runtime/kernel_waves.hpp"

namespace lanewise::runtime {

void KernelWaves::start(void* frame, const u32 (&group)[3], const WorkgroupContext& workgroup,
                        u32 wave) const {
  const abi::WaveInit init =
      states_.of({group[0], group[1], group[2]}, wave, reinterpret_cast<u64>(workgroup.scratch),
                 wave * workgroup.scratch_wave_bytes);
  engine_.start(frame, init, workgroup, wave);
}

DispatchRequest make_request(const WaveEngine& engine, const KernelWaves& waves,
                             const abi::DispatchInfo& info, u32 lds_bytes) {
  DispatchRequest request;
  request.engine = &engine;
  request.waves = &waves;
  for (unsigned axis = 0; axis < 3; ++axis) request.groups[axis] = info.shape.workgroups(axis);
  request.max_waves = info.shape.max_waves();
  request.lds_bytes = lds_bytes;
  request.scratch_wave_bytes = abi::scratch_wave_bytes(info.scratch_lane_bytes);
  return request;
}

} // namespace lanewise::runtime
