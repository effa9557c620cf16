// One workgroup on one worker: internal to the dispatcher.
#pragma once

#include "runtime/dispatch.hpp"

namespace lanewise::runtime {

/// What one worker thread owns. Reused from workgroup to workgroup and from dispatch to dispatch.
struct Worker {
  Arena frames;
  Arena lds;
  Arena scratch;

  /// Makes room for one workgroup of `request`.
  [[nodiscard]] bool reserve(const DispatchRequest& request);
};

/// Runs workgroup `group` to its end. The report lacks nothing but the instruction's text.
std::optional<FaultReport> run_workgroup(const DispatchRequest& request, Worker& worker, u8* gds,
                                         const u32 (&group)[3]);

} // namespace lanewise::runtime
