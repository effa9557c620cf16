#include "translator/x86/machine_code.hpp"

#include <algorithm>

namespace lanewise::x86 {

Result<PlacedCode> PlacedCode::create(MachineCode code) {
  auto memory = CodeMemory::create(code.bytes.size(), [&](u8* p) -> Result<void> {
    std::copy(code.bytes.begin(), code.bytes.end(), p);
    return {};
  });
  if (!memory) return std::move(memory).error();
  PlacedCode placed;
  placed.memory_ = std::move(*memory);
  placed.bytes_ = code.bytes.size();
  placed.faults_ = std::move(code.faults);
  placed.xsave_ = XsaveLayout::of_host();
  return placed;
}

runtime::FaultLocation PlacedCode::locate(const void* ucontext, u64 host_address) const {
  return x86::locate(faults_, {memory_.data(), bytes_}, xsave_, ucontext, host_address);
}

} // namespace lanewise::x86
