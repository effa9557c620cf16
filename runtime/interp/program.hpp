// Code made ready to run: decoded when first reached, straight-line runs in arrays of Code.
#pragma once

#include "runtime/interp/state.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lanewise::interp {

/// Executable memory: guest addresses are host addresses.
struct CodeRange {
  u64 address = 0; ///< a multiple of 4
  u64 bytes = 0;
};

/// All code that one kernel can reach. Threads run it concurrently; decoding takes a lock, running does not.
class Program {
public:
  Program(Target target, std::span<const CodeRange> ranges);
  ~Program();

  /// The instruction at `pc`, decoding what is reachable from there if nobody has yet. nullptr if `pc` is no
  /// code.
  [[nodiscard]] const Code* at(u64 pc) const;

  [[nodiscard]] Target target() const { return target_; }

private:
  struct Range;
  struct Run;
  class Builder;

  const Range* range_of(u64 pc) const;

  Target target_;
  std::vector<std::unique_ptr<Range>> ranges_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Run>> runs_;
  mutable std::map<std::pair<u64, unsigned>, std::unique_ptr<u32[]>> constants_;
};

/// Fills in everything but `target` from `inst`, which must outlive `code`. `rows_of` gives constants
/// broadcast to lanes.
void bind(const isa::Inst& inst, u64 pc, Target target, Code& code);

} // namespace lanewise::interp
