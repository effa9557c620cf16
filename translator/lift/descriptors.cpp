#include "translator/lift/descriptors.hpp"

#include "translator/passes/passes.hpp"

#include <utility>

namespace lanewise::lift {

using ir::Op;
using ir::ValueId;

void DescriptorUses::add(ir::Builder& b, std::span<const ValueId> words) {
  // A store, so that no pass removes it; its operands become what the words become.
  ir::Inst witness;
  witness.op = Op::ScalarStore;
  witness.pc = b.pc;
  std::vector<ValueId> operands = {b.constant(ir::Type::U64, 0), b.constant(ir::Type::U32, 0)};
  operands.insert(operands.end(), words.begin(), words.end());
  witnesses_.push_back(b.function().append(b.block(), witness, operands, {}));
}

bool DescriptorUses::learn(ir::Function& f, KnownDescriptors& known) const {
  if (witnesses_.empty()) return false;
  passes::use_launch_facts(f);
  passes::fold(f);
  std::map<u32, bool> seen;
  for (const ir::InstId i : witnesses_) {
    const auto words = f.operands(i).subspan(2);
    auto& of_pc = known[f[i].pc];
    const bool first = !std::exchange(seen[f[i].pc], true);
    for (std::size_t n = 0; n < words.size(); ++n) {
      u64 bits = 0;
      std::optional<u32> now;
      if (f.is_const(words[n], &bits)) now = static_cast<u32>(bits);
      if (first)
        of_pc[n] = now;
      else if (of_pc[n] != now)
        of_pc[n].reset();
    }
  }
  return true;
}

} // namespace lanewise::lift
