#include "lanewise/group_waits.hpp"

#include "isa/decoder.hpp"
#include "isa/op.hpp"

#include <algorithm>
#include <vector>

namespace lanewise {
namespace {

/// What the instructions of a piece of code tell, in the order in which they lie there.
struct Scan {
  std::vector<u64> looks; ///< addresses of loads that want to see what others store
  struct Loop {
    u64 begin, end;
  };
  std::vector<Loop> loops; ///< as branches backwards have them
  bool calls = false;
  u64 reached = 0; ///< by branches forwards

  void see(const isa::Inst& inst, u64 pc) {
    const isa::Row& row = isa::row_of(inst.op);
    const isa::MemorySpec& memory = row.memory;
    if (memory.load && memory.atomic == isa::Atomic::None && inst.mods.glc) looks.push_back(pc);
    calls |= row.has(isa::kIndirectBranch | isa::kCall);
    if (!row.has(isa::kScalarBranch) || row.has(isa::kCall)) return;
    const u64 next = pc + inst.size, to = next + static_cast<u64>(static_cast<i64>(inst.src[0].value) * 4);
    if (to <= pc)
      loops.push_back({to, pc});
    else
      reached = std::max(reached, to);
  }
  [[nodiscard]] bool looks_in_loop() const {
    return std::ranges::any_of(loops, [&](const Loop& loop) {
      return std::ranges::any_of(looks, [&](u64 pc) { return loop.begin <= pc && pc < loop.end; });
    });
  }
};

} // namespace

bool may_wait_for_workgroups(const abi::LoadedImage& image, const abi::Kernel& kernel, isa::Target target) {
  const u64 entry = image.entry(kernel);
  const auto* text = image.text_at(entry);
  if (!text) return false;
  const std::span code(reinterpret_cast<const u8*>(text->bytes.data()), text->bytes.size());
  const auto decoded = [&](u64 pc) { return isa::decode(target, code.subspan(pc - text->address)); };
  Scan scan;
  for (u64 pc = entry; pc - text->address < code.size();) {
    const auto inst = decoded(pc);
    if (!inst) break;
    scan.see(*inst, pc);
    pc += inst->size;
    if (isa::row_of(inst->op).has(isa::kEndPgm) && pc > scan.reached) break;
  }
  if (!scan.calls) return scan.looks_in_loop();
  constexpr u64 kMostCode = 256 << 10; // More is not looked through.
  if (code.size() > kMostCode) return true;
  for (u64 pc = text->address; pc - text->address < code.size();) {
    const auto inst = decoded(pc);
    if (inst) scan.see(*inst, pc);
    pc += inst ? inst->size : 4;
    if (!scan.looks.empty() && !scan.loops.empty()) return true;
  }
  return false;
}

} // namespace lanewise
