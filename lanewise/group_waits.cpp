#include "lanewise/group_waits.hpp"

#include "isa/decoder.hpp"
#include "isa/op.hpp"
#include "translator/lift/branches.hpp"

#include <algorithm>
#include <vector>

namespace lanewise {
namespace {

/// What the instructions of a piece of code tell, in the order in which they lie there; all by offsets.
struct Scan {
  std::vector<i64> looks; ///< loads that want to see what others store
  struct Loop {
    i64 begin, end;
  };
  std::vector<Loop> loops; ///< as branches backwards have them
  bool calls = false;
  i64 reached = 0; ///< by branches forwards

  void see(const isa::Inst& inst, u32 at) {
    const isa::Row& row = isa::row_of(inst.op);
    const isa::MemorySpec& memory = row.memory;
    if (memory.load && memory.atomic == isa::Atomic::None && inst.mods.glc) looks.push_back(at);
    calls |= row.has(isa::kIndirectBranch | isa::kCall | isa::kFork);
    const auto to = lift::branch_target(inst, at);
    if (!to) return;
    if (*to <= at)
      loops.push_back({*to, at});
    else
      reached = std::max(reached, *to);
  }
  [[nodiscard]] bool looks_in_loop() const {
    return std::ranges::any_of(loops, [&](const Loop& loop) {
      return std::ranges::any_of(looks, [&](i64 at) { return loop.begin <= at && at < loop.end; });
    });
  }
};

} // namespace

bool may_wait_for_workgroups(const abi::LoadedImage& image, const abi::Kernel& kernel, isa::Target target) {
  const u64 entry = image.entry(kernel);
  const auto* text = image.text_at(entry);
  if (!text) return false;
  const std::span code(reinterpret_cast<const u8*>(text->bytes.data()), text->bytes.size());
  const auto decoded = [&](u32 at) { return isa::decode(target, code.subspan(at)); };
  Scan scan;
  for (auto at = static_cast<u32>(entry - text->address); at < code.size();) {
    const auto inst = decoded(at);
    if (!inst) break;
    scan.see(*inst, at);
    at += inst->size;
    if (isa::row_of(inst->op).has(isa::kEndPgm) && at > scan.reached) break;
  }
  if (!scan.calls) return scan.looks_in_loop();
  constexpr u64 kMostCode = 256 << 10; // More is not looked through.
  if (code.size() > kMostCode) return true;
  for (u32 at = 0; at < code.size();) {
    const auto inst = decoded(at);
    if (inst) scan.see(*inst, at);
    at += inst ? inst->size : 4;
    if (!scan.looks.empty() && !scan.loops.empty()) return true;
  }
  return false;
}

} // namespace lanewise
