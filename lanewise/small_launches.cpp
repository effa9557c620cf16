#include "lanewise/small_launches.hpp"

#include "isa/decoder.hpp"
#include "isa/op.hpp"

#include <algorithm>
#include <chrono>

namespace lanewise {

bool runs_straight(const abi::LoadedImage& image, const abi::Kernel& kernel, isa::Target target) {
  constexpr u64 kMaxFlow = isa::kIndirectBranch | isa::kCall | isa::kFork | isa::kTrapFlow;
  const u64 entry = image.entry(kernel);
  const auto* text = image.text_at(entry);
  if (!text) return false;
  const std::span code(reinterpret_cast<const u8*>(text->bytes.data()), text->bytes.size());
  u64 reached = entry; // by the branches seen so far
  for (u64 pc = entry; pc - text->address < code.size();) {
    const auto inst = isa::decode(target, code.subspan(pc - text->address));
    if (!inst) return false;
    const isa::Row& row = isa::row_of(inst->op);
    if (row.has(kMaxFlow)) return false;
    pc += inst->size;
    if (row.has(isa::kScalarBranch)) {
      const i64 displacement = static_cast<i64>(inst->src[0].value) * 4;
      if (displacement < 0) return false;
      reached = std::max(reached, pc + static_cast<u64>(displacement));
    }
    if (row.has(isa::kEndPgm) && pc > reached) return true;
  }
  return false;
}

SmallLaunches::Kind* SmallLaunches::find(const translator::LaunchFacts& facts) {
  const auto kind =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& known) { return known.facts == facts; });
  return kind == kinds_.end() ? nullptr : &*kind;
}

void SmallLaunches::count(const translator::LaunchFacts& facts, const abi::DispatchShape& shape,
                          const Make& make) {
  Kind* kind = find(facts);
  if (!kind) kind = &kinds_.emplace_back(Kind{facts, 0, {}});
  kind->waves += shape.workgroup_count() * shape.max_waves();
  if (kind->waves >= kMaxWaves && !kind->translation.valid())
    kind->translation = std::async(std::launch::async, make);
}

std::optional<Result<Prepared>> SmallLaunches::take(const translator::LaunchFacts& facts, bool wait) {
  Kind* const kind = find(facts);
  if (!kind || !kind->translation.valid()) return std::nullopt;
  if (!wait && kind->translation.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  Result<Prepared> made = kind->translation.get();
  kinds_.erase(kinds_.begin() + (kind - kinds_.data()));
  return made;
}

} // namespace lanewise
