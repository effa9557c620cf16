#include "translator/passes/initial_address.hpp"

namespace lanewise::passes {

using namespace ir;

std::optional<InitialAddress> initial_address(const Function& f, ValueId v) {
  u64 offset = 0;
  for (const Inst* inst = f.def(v); inst != nullptr; inst = f.def(v)) {
    const auto x = f.operands(f.def_id(v));
    u64 constant = 0;
    if (inst->op == Op::Join) {
      const Inst *l = f.def(x[0]), *h = f.def(x[1]);
      if (l == nullptr || h == nullptr || l->op != Op::InitSgpr || h->op != Op::InitSgpr) break;
      if (h->imm != l->imm + 1) break;
      return InitialAddress{static_cast<u32>(l->imm), offset};
    }
    if (inst->op != Op::Add) break;
    if (f.is_const(x[1], &constant))
      v = x[0];
    else if (f.is_const(x[0], &constant))
      v = x[1];
    else
      break;
    offset += constant;
  }
  return std::nullopt;
}

std::optional<u32> known_dword(const Function& f, const InitialAddress& at) {
  for (const auto& known : f.launch.dwords)
    if (known.pointer_sgpr == at.pointer_sgpr && known.offset == at.offset) return known.value;
  return std::nullopt;
}

} // namespace lanewise::passes
