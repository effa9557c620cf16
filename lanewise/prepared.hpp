// A kernel with an engine: internal to lanewise/.
#pragma once

#include "lanewise/lanewise.hpp"
#include "runtime/wave.hpp"
#include "translator/launch_facts.hpp"

#include <atomic>
#include <memory>

namespace lanewise {

/// A kernel made ready for launches of which `facts` are true: used by any number of threads.
struct Prepared {
  translator::LaunchFacts facts;
  Preparation how;
  std::unique_ptr<runtime::WaveEngine> engine;
  /// What the dispatcher learns: see DispatchRequest.
  std::unique_ptr<std::atomic<u64>> group_ns = std::make_unique<std::atomic<u64>>(0);
};

} // namespace lanewise
