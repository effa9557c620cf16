// Which functions a call through a register may reach. Code that was not optimised computes the addresses of
// all functions that it calls, and keeps them in lanes of vector registers; whether it only calls them, or
// hands them on so that anybody may, is seen by following them through each function of the image.
#pragma once

#include "translator/translator.hpp"

#include <map>
#include <set>

namespace lanewise::lift {

class FunctionAddresses {
public:
  explicit FunctionAddresses(const translator::KernelSource& source) : source_(source) {}

  /// Those that the call at this offset in the code may reach. If it may be through an address that its
  /// function has not computed, these are all that lie in data or are used for anything but calls.
  [[nodiscard]] std::set<u64> callees(u32 offset);

private:
  void analyze();
  friend class AddressFlow;

  const translator::KernelSource& source_;
  bool analyzed_ = false;
  std::set<u64> taken_;                 ///< may be called from anywhere
  std::map<u32, std::set<u64>> direct_; ///< by offset of a call: all it can reach, by what its function does
};

} // namespace lanewise::lift
