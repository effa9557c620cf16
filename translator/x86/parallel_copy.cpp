#include "translator/x86/parallel_copy.hpp"

#include <algorithm>

namespace lanewise::x86 {
namespace {

using Place = Transfer::Place;

class Sequencer {
public:
  Sequencer(std::vector<Transfer>& pending, const u32 (&free)[kNumClasses], std::vector<Step>& out)
      : pending_(pending), out_(out) {
    std::copy(std::begin(free), std::end(free), free_);
  }

  void run() {
    drop_identities();
    while (!pending_.empty())
      if (!emit_ready()) break_cycle();
    for (unsigned c = 0; c < kNumClasses; ++c) give_back(static_cast<RegClass>(c));
  }

private:
  void drop_identities() {
    std::erase_if(pending_, [](const Transfer& t) {
      return (t.from == Place::Reg && t.to == Place::Reg && t.from_reg == t.to_reg) ||
             (t.from == Place::Slot && t.to == Place::Slot && t.from_slot == t.to_slot);
    });
  }

  [[nodiscard]] bool is_source(const Transfer& destination) const {
    for (const Transfer& t : pending_) {
      if (&t == &destination || t.cls != destination.cls || t.from != destination.to) continue;
      if (t.from == Place::Reg ? t.from_reg == destination.to_reg : t.from_slot == destination.to_slot)
        return true;
    }
    return false;
  }

  // Emits every transfer whose destination nobody waits to read. Constants come last: they free no source.
  bool emit_ready() {
    bool progress = false, rest_remat = true;
    for (const Transfer& t : pending_) rest_remat &= t.from == Place::Remat;
    for (std::size_t i = 0; i < pending_.size();) {
      if ((pending_[i].from == Place::Remat && !rest_remat) || is_source(pending_[i])) {
        ++i;
        continue;
      }
      Transfer t = pending_[i];
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      emit(t);
      progress = true;
    }
    return progress;
  }

  void emit(const Transfer& t) {
    if (t.from == Place::Reg && t.from_reg == victim(t.cls)) give_back(t.cls);
    if (t.to == Place::Reg && t.to_reg == victim(t.cls))
      borrowed_[static_cast<unsigned>(t.cls)] = false; // nobody reads it any more
    if (t.to == Place::Slot) {
      if (t.from == Place::Reg)
        store(t.cls, t.to_slot, t.from_reg);
      else if (t.from == Place::Slot)
        copy_slot(t.cls, t.to_slot, t.from_slot);
      else
        with_temp(t.cls, [&](u8 temp) {
          remat(t.cls, temp, t.from_slot);
          store(t.cls, t.to_slot, temp);
        });
      return;
    }
    if (t.from == Place::Reg)
      out_.push_back({Step::Kind::Move, t.cls, t.to_reg, t.from_reg});
    else if (t.from == Place::Slot)
      load(t.cls, t.to_reg, t.from_slot);
    else
      remat(t.cls, t.to_reg, t.from_slot);
  }

  // Every pending destination is a pending source: pure cycles (constants apart).
  void break_cycle() {
    auto reg_to_reg = std::find_if(pending_.begin(), pending_.end(), [](const Transfer& t) {
      return t.from == Place::Reg && t.to == Place::Reg;
    });
    if (reg_to_reg != pending_.end()) {
      Transfer t = *reg_to_reg;
      pending_.erase(reg_to_reg);
      give_back(t.cls);
      if (u32 temp = free_[static_cast<unsigned>(t.cls)]; temp && t.cls != RegClass::Gpr) {
        // One move more than a swap would need, but three cheap ones instead of three dependent xors.
        u8 r = static_cast<u8>(std::countr_zero(temp));
        out_.push_back({Step::Kind::Move, t.cls, r, t.to_reg});
        redirect_reg(t.cls, t.to_reg, r);
        free_[static_cast<unsigned>(t.cls)] &= ~(1u << r);
        out_.push_back({Step::Kind::Move, t.cls, t.to_reg, t.from_reg});
      } else {
        out_.push_back({Step::Kind::Swap, t.cls, t.to_reg, t.from_reg});
        redirect_reg(t.cls, t.to_reg, t.from_reg);
      }
      drop_identities();
      return;
    }
    const Transfer t = *std::find_if(pending_.begin(), pending_.end(), [](const Transfer& p) {
      return p.to == Place::Slot && p.from != Place::Remat;
    });
    const u32 scratch = kScratchSlot + static_cast<u32>(t.cls);
    copy_slot(t.cls, scratch, t.to_slot);
    for (Transfer& p : pending_)
      if (p.cls == t.cls && p.from == Place::Slot && p.from_slot == t.to_slot) p.from_slot = scratch;
  }

  void redirect_reg(RegClass cls, u8 from, u8 to) {
    for (Transfer& p : pending_)
      if (p.cls == cls && p.from == Place::Reg && p.from_reg == from) p.from_reg = to;
  }

  // Runs `body` with a register: a free one, or one that is saved until it is looked at again.
  template <class Body>
  void with_temp(RegClass cls, Body body) {
    if (u32 free = free_[static_cast<unsigned>(cls)]) return body(static_cast<u8>(std::countr_zero(free)));
    bool& borrowed = borrowed_[static_cast<unsigned>(cls)];
    if (!borrowed) store(cls, saved_victim(cls), victim(cls));
    borrowed = true;
    body(victim(cls));
  }
  static u8 victim(RegClass cls) { return cls == RegClass::Vec ? 0 : 1; } // zmm0, rcx, k1
  static u32 saved_victim(RegClass cls) { return kScratchSlot + kNumClasses + static_cast<u32>(cls); }
  void give_back(RegClass cls) {
    bool& borrowed = borrowed_[static_cast<unsigned>(cls)];
    if (borrowed) load(cls, victim(cls), saved_victim(cls));
    borrowed = false;
  }

  void copy_slot(RegClass cls, u32 to, u32 from) {
    if (free_[static_cast<unsigned>(cls)] || cls == RegClass::Vec)
      with_temp(cls, [&](u8 temp) {
        load(cls, temp, from);
        store(cls, to, temp);
      });
    else
      out_.push_back({Step::Kind::SlotCopy, cls, 0, 0, to, from});
  }

  void load(RegClass cls, u8 r, u32 slot) { out_.push_back({Step::Kind::Load, cls, r, 0, slot}); }
  void store(RegClass cls, u32 slot, u8 r) { out_.push_back({Step::Kind::Store, cls, 0, r, slot}); }
  void remat(RegClass cls, u8 r, u32 operand) { out_.push_back({Step::Kind::Remat, cls, r, 0, operand}); }

  std::vector<Transfer>& pending_;
  std::vector<Step>& out_;
  u32 free_[kNumClasses];
  bool borrowed_[kNumClasses] = {}; ///< the victim's value is in its slot
};

} // namespace

void sequence(std::vector<Transfer>& transfers, const u32 (&free)[kNumClasses], std::vector<Step>& out) {
  Sequencer(transfers, free, out).run();
}

} // namespace lanewise::x86
