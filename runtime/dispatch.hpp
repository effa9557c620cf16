// Runs the workgroups of a dispatch over the host's cores: per-worker arenas, waves of a workgroup
// round-robin across barriers, and at most one fault report.
#pragma once

#include "runtime/fault.hpp"
#include "runtime/memory.hpp"
#include "runtime/team_size.hpp"
#include "support/result.hpp"

#include <memory>
#include <optional>
#include <string>

namespace lanewise::runtime {

/// Says what the waves of a workgroup start with. Immutable during a dispatch, called from many threads; must
/// not allocate.
class WaveSource {
public:
  virtual ~WaveSource() = default;
  /// Waves of the workgroup (1 to 16); at the ragged edge of a grid fewer than inside.
  [[nodiscard]] virtual u32 waves_in(const u32 (&group)[3]) const = 0;
  /// A number for all that sets the waves of this workgroup apart from those of others, but its id: 0 for
  /// whole workgroups, which have the most waves, others at ragged edges.
  [[nodiscard]] virtual u32 shape_of(const u32 (&group)[3]) const = 0;
  /// How many workgroups from `group` on along x are whole ones; may go beyond the end of the grid.
  [[nodiscard]] virtual u32 whole_from(const u32 (&group)[3]) const = 0;
  /// Puts wave `wave` of workgroup `group` into `frame`, through WaveEngine::start.
  virtual void start(void* frame, const u32 (&group)[3], const WorkgroupContext& workgroup,
                     u32 wave) const = 0;
};

/// What the dispatcher learns from the dispatches of a kernel, for those to come. Only the dispatcher uses
/// it.
struct DispatchHistory {
  u64 group_ns = 0; ///< time of a workgroup when the kernel ran last, 0 unknown
  TeamSize team;
  std::size_t stand_ins = 0; ///< threads more than the dispatcher's that the next one begins with
};

struct DispatchRequest;

/// Other code for a dispatch that is under way, which comes while it runs.
class LaterCode {
public:
  virtual ~LaterCode() = default;
  /// The request to go on with for workgroups that have not begun, null before there is one. It is the same
  /// grid, and lives as long as the dispatch. Called by all threads of the dispatch, again and again.
  virtual const DispatchRequest* find() = 0;
};

/// One grid to run. Sizes are checked by whoever builds the request.
struct DispatchRequest {
  const WaveEngine* engine = nullptr;
  const WaveSource* waves = nullptr;
  std::string kernel;        ///< for reports
  u64 entry = 0;             ///< address of the kernel's first instruction, for reports
  u32 groups[3] = {1, 1, 1}; ///< workgroups per dimension, the ragged ones included
  u32 max_waves = 1;         ///< waves of a whole workgroup
  u32 lds_bytes = 0;         ///< static and dynamic group segment
  u64 scratch_wave_bytes = 0;
  DispatchHistory* history = nullptr; ///< of the kernel, for one dispatcher; may be null
  LaterCode* later = nullptr;         ///< may be null
  bool may_wait = false; ///< workgroups may go round in loops until others, also later ones, store something
};

/// What a dispatch took, without waiting for its turn.
struct DispatchTimes {
  double wall_ms = 0;
  double cpu_ms = 0;    ///< of all threads that ran it
  unsigned threads = 1; ///< that shared it, or might have
};

inline constexpr u32 kGdsBytes = 64 << 10;

/// A pool of workers with their arenas, and the device's GDS. A dispatch is shared by all threads, or by as
/// many as its history says will do; what waits for workgroups that have not begun gets more threads. Memory
/// grows with the number of workers and the largest workgroup seen, never with a grid. Any thread may call
/// run(); concurrent calls take turns.
class Dispatcher {
public:
  /// `threads` = 0 means all the host's.
  explicit Dispatcher(unsigned threads);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  [[nodiscard]] unsigned threads() const;

  /// Runs every workgroup, or, once one has faulted, none that has not begun. LDS is zero when a workgroup
  /// starts (hardware leaves it undefined; here runs are repeatable), scratch is not touched between
  /// workgroups. The report is of the lowest-numbered workgroup among those that faulted. Errors: not enough
  /// memory.
  Result<std::optional<FaultReport>> run(const DispatchRequest& request, DispatchTimes* times = nullptr);

private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

} // namespace lanewise::runtime
