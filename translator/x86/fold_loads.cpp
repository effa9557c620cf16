#include "translator/x86/fold_loads.hpp"

#include <algorithm>
#include <asmjit/x86.h>

namespace lanewise::x86 {
namespace {

class Folder {
public:
  Folder(Part& part, bool avx512) : part_(part), avx512_(avx512) {}

  void run() {
    for (Block& block : part_.blocks) {
      open_.clear();
      dwords_.clear();
      gone_.clear();
      for (u32 n = 0; n < block.insts.size(); ++n) {
        if (extends(block, n)) continue;
        if (!open_.empty()) visit(block, block.insts[n]);
        if (is_load(block.insts[n])) open_.push_back(n);
        if (is_dword(block.insts[n])) dwords_.push_back(n);
      }
      remove(block);
    }
  }

private:
  Part& part_;
  const bool avx512_;
  std::vector<u8> uses_;    ///< per VReg, up to 2; made when wanted
  std::vector<u32> open_;   ///< vectors that the block loads and that may be loaded later, by instruction
  std::vector<u32> dwords_; ///< likewise, scalars
  std::vector<u32> gone_;   ///< what is not needed any more

  /// A load, perhaps with what a fault report wants to know.
  [[nodiscard]] bool loads(const LInst& inst) const {
    if (inst.pseudo != LInst::Pseudo::None || inst.remat || inst.num_operands < 2) return false;
    const auto ops = part_.ops(inst);
    const bool complete = ops.size() == 2 || (ops.size() == 3 && ops[2].kind == OperandKind::Hidden);
    return complete && ops[0].role == Role::Def && ops[0].reg.is_virtual() &&
           ops[1].kind == OperandKind::Mem && ops[1].broadcast_log2 == 0;
  }
  [[nodiscard]] bool is_load(const LInst& inst) const {
    const bool broadcasts = inst.id == Inst::kIdVpbroadcastd || inst.id == Inst::kIdVpbroadcastq;
    if (inst.id != Inst::kIdVmovups && !(broadcasts && avx512_)) return false;
    return loads(inst) && part_.ops(inst)[0].view == View::Full &&
           (broadcasts || part_.ops(inst)[1].view == View::Full);
  }
  [[nodiscard]] bool is_dword(const LInst& inst) const {
    return inst.id == Inst::kIdMov && loads(inst) && part_.ops(inst)[0].view == View::R32 &&
           part_.ops(inst)[1].view == View::R32;
  }

  /// Whether instruction `n` extends a sign that a load extends now.
  bool extends(Block& block, u32 n) {
    const LInst& inst = block.insts[n];
    if (inst.id != Inst::kIdMovsxd || inst.pseudo != LInst::Pseudo::None) return false;
    const auto ops = part_.ops(inst);
    for (const u32 d : dwords_) {
      LInst& load = block.insts[d];
      Operand& value = part_.operands[load.first_operand];
      if (ops[1].kind != OperandKind::Reg || ops[1].reg != value.reg || uses(value.reg) != 1) continue;
      load.id = Inst::kIdMovsxd;
      value = ops[0];
      gone_.push_back(n);
      return true;
    }
    return false;
  }

  void visit(const Block& block, LInst& inst) {
    for (auto at = open_.end(); at != open_.begin();) // The last one first.
      if (fold(block.insts[*--at], inst)) {
        gone_.push_back(*at);
        open_.erase(at);
        break;
      }
    const auto ops = part_.ops(inst);
    if (inst.pseudo == LInst::Pseudo::Call || (!ops.empty() && ops[0].kind == OperandKind::Mem))
      open_.clear(); // It may store.
    else if (inst.num_fault_sites != 0)
      std::erase_if(open_, [&](u32 n) { return block.insts[n].num_fault_sites != 0; });
  }
  void remove(Block& block) {
    if (gone_.empty()) return;
    std::ranges::sort(gone_);
    u32 n = 0;
    auto next = gone_.begin();
    std::erase_if(block.insts, [&](const LInst&) {
      const bool is_gone = next != gone_.end() && *next == n++;
      if (is_gone) ++next;
      return is_gone;
    });
  }

  /// Whether `inst` loads for itself now.
  bool fold(const LInst& load, LInst& inst) {
    const auto before = part_.ops(inst);
    const VReg value = part_.ops(load)[0].reg;
    const auto is_use = [&](const Operand& o) {
      return o.kind == OperandKind::Reg && o.role == Role::Use && o.reg == value;
    };
    const auto found = std::ranges::find_if(before, is_use);
    if (found == before.end() || !takes_memory(load, inst, *found) || uses(value) != 1) return false;
    const bool plain = std::ranges::none_of(before, [](const Operand& o) {
      return o.kind == OperandKind::Mem || o.kind == OperandKind::WriteMask;
    });
    if (!plain || inst.pseudo != LInst::Pseudo::None || inst.rounding != Rounding::None ||
        inst.num_fault_sites != 0)
      return false;
    std::vector<Operand> ops(before.begin(), before.end());
    auto use = ops.begin() + (found - before.begin());
    if (const auto next = use + 1; next != ops.end() && next->may_be_memory) {
      std::swap(*use, *next); // They commute.
      use = next;
    }
    *use = part_.ops(load)[1];
    if (load.id == Inst::kIdVpbroadcastd) use->broadcast_log2 = 4;
    if (load.id == Inst::kIdVpbroadcastq) use->broadcast_log2 = 3;
    if (part_.ops(load).size() == 3) ops.push_back(part_.ops(load)[2]);
    inst.first_operand = static_cast<u32>(part_.operands.size());
    inst.num_operands = static_cast<u8>(ops.size());
    part_.operands.insert(part_.operands.end(), ops.begin(), ops.end());
    if (load.num_fault_sites != 0) {
      inst.fault_site = load.fault_site;
      inst.num_fault_sites = load.num_fault_sites;
      inst.origin = load.origin;
    }
    return true;
  }
  [[nodiscard]] bool takes_memory(const LInst& load, const LInst& inst, const Operand& use) const {
    const auto& info = asmjit::x86::InstDB::infoById(inst.id);
    switch (load.id) {
    case Inst::kIdVpbroadcastd: return use.may_be_memory && is_full(use) && info.hasAvx512B32();
    case Inst::kIdVpbroadcastq: return use.may_be_memory && is_full(use) && info.hasAvx512B64();
    default: return use.may_be_memory && is_full(use);
    }
  }
  static bool is_full(const Operand& use) { return use.view == View::Full || use.view == View::Auto; }

  u8 uses(VReg v) {
    if (uses_.empty()) {
      uses_.resize(part_.classes.size());
      const auto count = [&](VReg r) {
        if (r.is_virtual() && uses_[r.index] < 2) ++uses_[r.index];
      };
      for (const Block& block : part_.blocks)
        for (const LInst& inst : block.insts)
          for (const Operand& o : part_.ops(inst)) {
            if (!o.is_def()) count(o.reg);
            count(o.tied);
          }
      for (const VReg r : part_.args) count(r);
    }
    return uses_[v.index];
  }
};

} // namespace

void fold_loads(Part& part, bool avx512) { Folder(part, avx512).run(); }

} // namespace lanewise::x86
