// How many threads share the dispatches of a kernel: no more than make them faster.
#pragma once

#include "support/bits.hpp"

namespace lanewise::runtime {

/// The threads for dispatches of one kernel, found out by running some of them with half as many. What waits
/// for memory, or for cache lines that others write, is often done as soon by fewer threads, which leaves the
/// others to somebody else. Starts with all; a dispatch of another size (by a factor of two) starts anew. Not
/// for several threads at a time.
class TeamSize {
public:
  /// Fewer threads are taken when they need no longer than this times what all of them need, and that much
  /// less CPU time: else more of them have only waited for the host's cores, which threads get to late when
  /// they have slept.
  static constexpr double kPatience = 1.1, kSaves = 1.3;
  static constexpr unsigned kTrials = 2;   ///< dispatches of a trial, of which the shortest counts
  static constexpr double kHopeless = 1.4; ///< this much longer, and one dispatch was enough
  static constexpr u64 kFirstWait = 4;     ///< dispatches before the first trial, and after a success
  static constexpr u64 kMostWait = 4096; ///< before half as many are tried again; doubles from trial to trial
  static constexpr u64 kWaitForAll = 64; ///< before all are tried again: it costs no time to speak of

  /// For a dispatch of `groups` workgroups, of at most `most` threads (1 or more).
  unsigned next(unsigned most, u64 groups);
  /// What a dispatch took, of all threads together.
  struct Cost {
    double wall = 0, cpu = 0; ///< in one unit
  };
  /// Takes note of what the dispatch took that next() was asked about before, with so many threads.
  void count(unsigned threads, const Cost& cost);

private:
  /// Dispatches since something was decided, with one number of threads.
  struct Record {
    u64 dispatches = 0;
    Cost least; ///< by wall time
    void add(const Cost& cost);
  };
  unsigned most_ = 0;
  int size_ = 0;                    ///< of the dispatches, as a power of two
  unsigned chosen_ = 0, tried_ = 0; ///< tried_: 0 outside trials
  Record usual_, trial_;
  bool all_next_ = false; ///< the next trial is of all threads, not of half as many
  u64 wait_ = 0;          ///< before it
  u64 wait_for_fewer_ = 0;
  double limit_ = 0; ///< of the wall time that fewer threads may take

  void start(unsigned most, int size);
  void begin_trial();
  void end_trial_of_fewer();
  void end_trial_of_all();
  /// What is tried next, and if that is fewer threads, after how many dispatches.
  void end_trial(bool all_next, u64 wait_for_fewer);
};

} // namespace lanewise::runtime
