// The waves of a kernel dispatch: what abi/ says about initial registers, given to an engine.
#pragma once

#include "abi/initial_state.hpp"
#include "runtime/dispatch.hpp"

namespace lanewise::runtime {

/// Starts waves of one dispatch of a kernel. Refers to its arguments, which must outlive it.
class KernelWaves final : public WaveSource {
public:
  /// `info`'s scratch_base is not used: each workgroup's waves start with the place of their own scratch.
  KernelWaves(const WaveEngine& engine, const abi::KernelDescriptor& descriptor, isa::Target target,
              const abi::DispatchInfo& info)
      : engine_(engine), descriptor_(descriptor), info_(info), target_(target) {}

  [[nodiscard]] u32 waves_in(const u32 (&group)[3]) const override {
    return info_.shape.waves_of({group[0], group[1], group[2]});
  }
  void start(void* frame, const WorkgroupContext& workgroup, u32 wave) const override;

private:
  const WaveEngine& engine_;
  const abi::KernelDescriptor& descriptor_;
  const abi::DispatchInfo& info_;
  isa::Target target_;
};

/// The dispatch of a whole grid through `waves`. `lds_bytes` is the workgroup's LDS, dynamic part included.
DispatchRequest make_request(const WaveEngine& engine, const KernelWaves& waves,
                             const abi::DispatchInfo& info, u32 lds_bytes);

} // namespace lanewise::runtime
