// Where the numbers come from.
#pragma once

#include <string>

namespace lanewise::bench {

struct Machine {
  std::string cpu, instruction_sets, system, compiler, date;
  unsigned cores = 1; ///< that the process may use
  double memory_gb = 0;
  double cache_mb = 0; ///< of the last level
  double load = 0;     ///< processes that wanted to run in the minute before
};

Machine describe_machine();
/// Two or three lines for people.
std::string to_text(const Machine& machine);

} // namespace lanewise::bench
