#include "translator/x86/fold_addresses.hpp"

#include <limits>

namespace lanewise::x86 {
namespace {

constexpr u32 kNone = ~0u;

/// How a register is used, as far as that is of interest.
struct Uses {
  u32 lea = kNone; ///< its definition: operand index of the address, if that is a `lea`
  u32 block = 0;   ///< of the definition
  u32 bases = 0; ///< memory operands of that block that have it as their base, and no index if `lea` has one
  bool others = false;
};

class Folder {
public:
  explicit Folder(Part& part) : part_(part), uses_(part.classes.size()) {}

  void run() {
    if (!find_addresses()) return;
    count_uses();
    for (Block& block : part_.blocks) {
      for (LInst& inst : block.insts) fold_into(inst);
      std::erase_if(block.insts, [&](const LInst& inst) { return is_lea(inst) && folds(result(inst)); });
    }
  }

private:
  Part& part_;
  std::vector<Uses> uses_; ///< per VReg

  static bool is_lea(const LInst& inst) {
    return inst.pseudo == LInst::Pseudo::None && inst.id == Inst::kIdLea && !inst.remat;
  }
  VReg result(const LInst& inst) const { return part_.ops(inst)[0].reg; }

  bool find_addresses() {
    bool any = false;
    for (u32 b = 0; b < part_.blocks.size(); ++b)
      for (const LInst& inst : part_.blocks[b].insts) {
        if (!is_lea(inst)) continue;
        const auto ops = part_.ops(inst);
        if (ops[0].view != View::R64 || ops[1].kind != OperandKind::Mem || !ops[1].reg.valid() ||
            ops[1].reg == kPool)
          continue;
        uses_[ops[0].reg.index] = {inst.first_operand + 1, b, 0, false};
        any = true;
      }
    return any;
  }

  void count_uses() {
    const auto other = [&](VReg v) {
      if (v.valid() && v.index < uses_.size()) uses_[v.index].others = true;
    };
    for (u32 b = 0; b < part_.blocks.size(); ++b) {
      for (const LInst& inst : part_.blocks[b].insts)
        for (const Operand& o : part_.ops(inst)) {
          if (o.kind == OperandKind::Mem) {
            other(o.tied);
            if (!o.reg.valid() || o.reg.index >= uses_.size()) continue;
            if (is_lea(inst) || !fits(uses_[o.reg.index], b, o)) other(o.reg);
            ++uses_[o.reg.index].bases;
          } else if (o.kind != OperandKind::Imm) {
            if (o.role == Role::Use) other(o.reg);
            if (o.is_tied()) other(o.tied);
          }
        }
      const Terminator& t = part_.blocks[b].term;
      for (unsigned n = 0; n < t.num_targets(); ++n)
        for (const VReg v : part_.edge_args(t, n)) other(v);
    }
  }

  bool fits(const Uses& uses, u32 block, const Operand& use) const {
    if (uses.lea == kNone || uses.block != block) return false;
    const Operand& address = part_.operands[uses.lea];
    const i64 disp = address.value + use.value;
    return (!use.tied.valid() || !address.tied.valid()) && disp >= std::numeric_limits<i32>::min() &&
           disp <= std::numeric_limits<i32>::max();
  }

  bool folds(VReg v) const {
    constexpr u32 kMaxUses = 2;
    return v.index < uses_.size() && uses_[v.index].lea != kNone && !uses_[v.index].others &&
           uses_[v.index].bases <= kMaxUses;
  }

  void fold_into(const LInst& inst) {
    for (u32 n = 0; n < inst.num_operands; ++n) {
      Operand& o = part_.operands[inst.first_operand + n];
      if (o.kind != OperandKind::Mem || !o.reg.valid() || !folds(o.reg)) continue;
      const Operand& address = part_.operands[uses_[o.reg.index].lea];
      o.reg = address.reg;
      o.value += address.value;
      if (!address.tied.valid()) continue;
      o.tied = address.tied;
      o.scale_log2 = address.scale_log2;
      o.index_view = address.index_view;
    }
  }
};

} // namespace

void fold_addresses(Part& part) { Folder(part).run(); }

} // namespace lanewise::x86
