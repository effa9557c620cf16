// Everything here is a direct reading of Function::launch; what follows from it is left to the other passes.
#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// An address as an offset from the pointer in an initial SGPR pair.
struct InitialAddress {
  u32 pointer_sgpr = 0;
  u64 offset = 0;
};

class LaunchFactsUser {
public:
  explicit LaunchFactsUser(Function& f) : f_(f), map_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo) {
      std::vector<InstId> old;
      old.swap(f_[b].insts);
      for (const InstId i : old) {
        visit(b, i);
        f_[b].insts.push_back(i);
      }
    }
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  Function& f_;
  std::vector<ValueId> map_;

  void visit(BlockId b, InstId i) {
    const auto& launch = f_.launch;
    switch (f_[i].op) {
    case Op::InitSgpr:
      if (launch.max_sgpr(f_[i].imm) == 0) replace(b, i, 0, 0);
      return;
    case Op::InitVgpr:
      if (launch.max_work_item(static_cast<u32>(f_[i].imm)) == 0) replace(b, i, 0, 0);
      return;
    case Op::InitExec:
      if (launch.full_waves()) replace(b, i, 0, ~u64{0});
      return;
    case Op::ScalarLoad: return load(b, i);
    case Op::Barrier:
      if (launch.one_wave()) f_[i].op = Op::Jump;
      return;
    default: return;
    }
  }

  void replace(BlockId b, InstId i, u32 result, u64 bits) {
    const ValueId old = f_.result(i, result);
    const Type type = f_.type(old);
    Inst proto;
    proto.op = Op::Const;
    proto.imm = bits;
    proto.pc = f_[i].pc;
    map_[old.index] = f_.result(f_.append(b, proto, {}, {&type, 1}));
  }

  void load(BlockId b, InstId i) {
    const auto operands = f_.operands(i);
    u64 offset = 0;
    const auto base = address(operands[0]);
    if (!base || !f_.is_const(operands[1], &offset)) return;
    const u64 first = base->offset + offset;
    for (u32 n = 0; n < f_[i].num_results; ++n)
      if (const auto value = known_dword(base->pointer_sgpr, first + 4 * u64{n})) replace(b, i, n, *value);
  }

  [[nodiscard]] std::optional<u32> known_dword(u32 pointer_sgpr, u64 offset) const {
    for (const auto& known : f_.launch.dwords)
      if (known.pointer_sgpr == pointer_sgpr && known.offset == offset) return known.value;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<InitialAddress> address(ValueId v) const {
    u64 offset = 0;
    for (const Inst* inst = f_.def(v); inst != nullptr; inst = f_.def(v)) {
      const auto x = f_.operands(f_.def_id(v));
      u64 constant = 0;
      if (inst->op == Op::Join) return pointer(x[0], x[1], offset);
      if (inst->op != Op::Add) break;
      if (f_.is_const(x[1], &constant))
        v = x[0];
      else if (f_.is_const(x[0], &constant))
        v = x[1];
      else
        break;
      offset += constant;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<InitialAddress> pointer(ValueId lo, ValueId hi, u64 offset) const {
    const Inst *l = f_.def(lo), *h = f_.def(hi);
    if (l == nullptr || h == nullptr || l->op != Op::InitSgpr || h->op != Op::InitSgpr) return std::nullopt;
    if (h->imm != l->imm + 1) return std::nullopt;
    return InitialAddress{static_cast<u32>(l->imm), offset};
  }
};

} // namespace

void use_launch_facts(Function& f) { LaunchFactsUser(f).run(); }

} // namespace lanewise::passes
