// A kernel with an engine: internal to lanewise/.
#pragma once

#include "lanewise/lanewise.hpp"
#include "runtime/dispatch.hpp"
#include "translator/launch_facts.hpp"

#include <memory>

namespace lanewise {

/// A kernel made ready for launches of which `facts` are true: used by any number of threads.
struct Prepared {
  translator::LaunchFacts facts;
  Preparation how;
  std::unique_ptr<runtime::WaveEngine> engine;
  std::unique_ptr<runtime::DispatchHistory> history = std::make_unique<runtime::DispatchHistory>();
};

} // namespace lanewise
