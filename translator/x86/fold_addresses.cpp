#include "translator/x86/fold_addresses.hpp"

#include <limits>

namespace lanewise::x86 {
namespace {

/// How a register is used, as far as that is of interest.
struct Uses {
  const Block* block = nullptr; ///< of its definition, if that is a `lea`
  u32 lea = 0;                  ///< operand index of its address
  u32 bases = 0;                ///< memory operands that have it as their base
  u32 foldable = 0;             ///< those in that block that take the address with what they add themselves
  bool others = false;
};

class Folder {
public:
  explicit Folder(Part& part) : part_(part), uses_(part.classes.size()) {}

  void run() {
    for (Block& block : part_.blocks)
      if (find_addresses(block)) blocks_.push_back(&block);
    if (blocks_.empty()) return;
    count_uses();
    for (Block* block : blocks_) count_foldable(*block);
    for (Block* block : blocks_) {
      for (LInst& inst : block->insts) fold_into(inst);
      std::erase_if(block->insts, [&](const LInst& inst) { return is_lea(inst) && folds(result(inst)); });
    }
  }

private:
  Part& part_;
  std::vector<Uses> uses_;     ///< per VReg
  std::vector<Block*> blocks_; ///< that have addresses

  static bool is_lea(const LInst& inst) {
    return inst.pseudo == LInst::Pseudo::None && inst.id == Inst::kIdLea && !inst.remat;
  }
  VReg result(const LInst& inst) const { return part_.ops(inst)[0].reg; }

  bool find_addresses(const Block& block) {
    bool any = false;
    for (const LInst& inst : block.insts) {
      if (!is_lea(inst)) continue;
      const auto ops = part_.ops(inst);
      if (ops[0].view != View::R64 || ops[1].kind != OperandKind::Mem || !ops[1].reg.valid() ||
          ops[1].reg == kPool)
        continue;
      uses_[ops[0].reg.index] = {&block, inst.first_operand + 1};
      any = true;
    }
    return any;
  }

  void count_uses() {
    const auto other = [&](VReg v) {
      if (v.index < uses_.size()) uses_[v.index].others = true;
    };
    for (const Operand& o : part_.operands) {
      other(o.tied);
      if (o.role == Role::Use && o.kind != OperandKind::Mem)
        other(o.reg);
      else if (o.role == Role::Use && o.reg.index < uses_.size())
        ++uses_[o.reg.index].bases;
    }
    for (const VReg v : part_.args) other(v);
  }

  void count_foldable(const Block& block) {
    for (const LInst& inst : block.insts)
      if (!is_lea(inst))
        for (const Operand& o : part_.ops(inst))
          if (o.kind == OperandKind::Mem && o.reg.index < uses_.size() && fits(block, o))
            ++uses_[o.reg.index].foldable;
  }

  bool fits(const Block& block, const Operand& use) const {
    const Uses& uses = uses_[use.reg.index];
    if (uses.block != &block) return false;
    const Operand& address = part_.operands[uses.lea];
    const i64 disp = address.value + use.value;
    return (!use.tied.valid() || !address.tied.valid()) && disp >= std::numeric_limits<i32>::min() &&
           disp <= std::numeric_limits<i32>::max();
  }

  bool folds(VReg v) const {
    constexpr u32 kMaxUses = 2;
    if (v.index >= uses_.size()) return false;
    const Uses& uses = uses_[v.index];
    return uses.block != nullptr && !uses.others && uses.bases == uses.foldable && uses.bases <= kMaxUses;
  }

  void fold_into(const LInst& inst) {
    for (u32 n = 0; n < inst.num_operands; ++n) {
      Operand& o = part_.operands[inst.first_operand + n];
      if (o.kind != OperandKind::Mem || !folds(o.reg)) continue;
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
