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
      : engine_(engine), info_(info), states_(descriptor, target, info) {
    for (unsigned axis = 0; axis < 3; ++axis)
      ragged_group_[axis] = info.shape.remainder(axis) ? info.shape.workgroups(axis) - 1 : ~0u;
  }

  [[nodiscard]] u32 waves_in(const u32 (&group)[3]) const override {
    return info_.shape.waves_of({group[0], group[1], group[2]});
  }
  [[nodiscard]] u32 shape_of(const u32 (&group)[3]) const override {
    return u32{group[0] == ragged_group_[0]} | u32{group[1] == ragged_group_[1]} << 1 |
           u32{group[2] == ragged_group_[2]} << 2;
  }
  [[nodiscard]] u32 whole_from(const u32 (&group)[3]) const override {
    if (group[1] == ragged_group_[1] || group[2] == ragged_group_[2]) return 0;
    return ragged_group_[0] - group[0];
  }
  void start(void* frame, const u32 (&group)[3], const WorkgroupContext& workgroup, u32 wave) const override;

private:
  const WaveEngine& engine_;
  const abi::DispatchInfo& info_;
  abi::InitialStates states_;
  u32 ragged_group_[3]; ///< the last one of each axis, if it is smaller
};

/// The dispatch of a whole grid through `waves`. `lds_bytes` is the workgroup's LDS, dynamic part included.
DispatchRequest make_request(const WaveEngine& engine, const KernelWaves& waves,
                             const abi::DispatchInfo& info, u32 lds_bytes);

} // namespace lanewise::runtime
