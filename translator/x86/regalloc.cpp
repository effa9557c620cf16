#include "translator/x86/allocator.hpp"

#include "translator/x86/spill_slots.hpp"

#include <algorithm>

namespace lanewise::x86 {

Allocator::Source Allocator::source_of(const LInst& remat) const {
  const auto ops = part_.ops(remat);
  if (remat.pseudo != LInst::Pseudo::None || ops.size() != 2 || ops[0].view != View::Full ||
      ops[1].kind != OperandKind::Mem)
    return Source::Computed;
  switch (remat.id) {
  case Inst::kIdVmovups: return Source::Memory;
  case Inst::kIdVpbroadcastd: return module_.avx512 ? Source::Broadcast32 : Source::Computed;
  case Inst::kIdVpbroadcastq: return module_.avx512 ? Source::Broadcast64 : Source::Computed;
  default: return Source::Computed;
  }
}

Allocator::Allocator(const Module& module, const Part& part, const AllocOptions& options)
    : module_(module), part_(part), options_(options), live_(part), random_(options.random_seed) {
  const std::size_t values = part.classes.size(), blocks = part.blocks.size();
  reg_.assign(values, kNone);
  hint_.assign(values, kNone);
  stored_.assign(values, 0);
  at_def_.assign(values, 0);
  has_slot_.assign(values, 0);
  remat_.assign(values, 0);
  remat_source_.assign(values, Source::Computed);
  next_.assign(values, kNever);
  stored_in_loop_.assign(values, kNever);
  merged_.resize(values);
  entry_.resize(blocks);
  exit_.resize(blocks);
  entry_through_.resize(blocks);
  raw_blocks_.resize(blocks);
  for (int n = 0; n < 2; ++n) raw_edges_[n].resize(blocks);
  out_.operands.resize(part.operands.size());
  raw_.reserve(part.operands.size() / 2);
  exits_.reserve(8 * blocks);
  entries_.reserve(8 * blocks);
  for (unsigned c = 0; c < kNumClasses; ++c) {
    u32 set = allocatable(static_cast<RegClass>(c), module.avx512);
    while (static_cast<unsigned>(std::popcount(set)) > options.max_regs[c]) set &= set - 1;
    allowed_[c] = set;
  }
}

Result<Allocation> Allocator::run() {
  for (u32 b : live_.order) {
    enter_block(b);
    raw_blocks_[b].first = static_cast<u32>(raw_.size());
    const auto& insts = part_.blocks[b].insts;
    for (u32 i = 0; i < insts.size() && error_.empty(); ++i) process(insts[i], i);
    raw_blocks_[b].count = static_cast<u32>(raw_.size()) - raw_blocks_[b].first;
    leave_block(b);
    if (!error_.empty())
      return Error{ErrorCode::Internal, "register allocation of " + part_.name + ": " + error_};
  }
  slot_owner_ = share_slots(part_, live_, has_slot_);
  for (u32 b : live_.order)
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n) resolve_edge(b, n);
  finalize();
  return std::move(out_);
}

// ----------------------------------------------------------------------------------------------------------------

/// Without values in memory the steps are already what they have to be. False if there are some.
bool Allocator::take_steps() {
  if (std::ranges::find(has_slot_, 1) != has_slot_.end()) return false;
  AllocStats stats = out_.stats;
  for (const Step& s : raw_) switch (s.kind) {
    case Step::Kind::Inst: break;
    case Step::Kind::Remat: ++stats.remats; break;
    case Step::Kind::Move:
    case Step::Kind::Swap: ++stats.moves; break;
    default: return false; // copies that go through memory
    }
  out_.stats = stats;
  out_.steps = std::move(raw_);
  out_.blocks = std::move(raw_blocks_);
  for (int n = 0; n < 2; ++n) out_.edges[n] = std::move(raw_edges_[n]);
  return true;
}

void Allocator::finalize() {
  out_.order = live_.order;
  out_.num_preds.resize(part_.blocks.size());
  for (const u32 b : live_.order) out_.num_preds[b] = static_cast<u32>(live_.preds(b).size());
  std::ranges::sort(out_.remats, {}, &LInst::first_operand);
  if (take_steps()) return;
  SlotLayout slots = assign_slots(module_, part_, live_, has_slot_, slot_owner_, raw_);
  out_.stack_bytes = slots.stack_bytes;
  auto slot = [&](u32 v) { return slots.offset_of(v >= kScratchSlot ? v : slot_owner_[v]); };
  for (Assigned& a : out_.operands)
    if (a.folded && !a.definition) a.slot = slot(a.slot);
  out_.blocks.resize(part_.blocks.size());
  out_.steps.reserve(raw_.size() + raw_.size() / 8);
  std::vector<u8> stores_at_def(part_.blocks.size(), 0);
  for (u32 v = 0; v < at_def_.size(); ++v)
    if (at_def_[v]) stores_at_def[live_.def_block[v]] = 1;
  auto store = [&](VReg v, u8 r) {
    if (!at_def_[v.index]) return;
    out_.steps.push_back({Step::Kind::Store, part_.class_of(v), 0, r, slot(v.index), 0});
    ++out_.stats.stores;
  };
  auto copy = [&](StepRange range, const Block* block, bool stores) {
    for (u32 i = range.first; i < range.first + range.count; ++i) {
      Step s = raw_[i];
      switch (s.kind) {
      case Step::Kind::Inst:
        out_.steps.push_back(s);
        if (!stores) continue;
        for (const Operand& o : part_.ops(block->insts[s.index]))
          if (o.is_def() && o.reg.is_virtual())
            store(o.reg, out_.operands[static_cast<u32>(&o - part_.operands.data())].reg);
        continue;
      case Step::Kind::Store:
        if (s.index2 == 1 && at_def_[s.index]) continue;
        ++out_.stats.stores;
        s.index = slot(s.index);
        s.index2 = 0;
        break;
      case Step::Kind::Load:
        ++out_.stats.loads;
        s.index = slot(s.index);
        break;
      case Step::Kind::SlotCopy:
        ++out_.stats.loads;
        ++out_.stats.stores;
        s.index = slot(s.index);
        s.index2 = slot(s.index2);
        break;
      case Step::Kind::Remat: ++out_.stats.remats; break;
      default: ++out_.stats.moves; break;
      }
      out_.steps.push_back(s);
    }
  };
  auto begin = [&] { return static_cast<u32>(out_.steps.size()); };
  for (int n = 0; n < 2; ++n) out_.edges[n].resize(part_.blocks.size());
  for (u32 b : live_.order) {
    const u32 first = begin();
    for (const ValueAt& param : at_entry(b).subspan(entry_through_[b]))
      if (param.reg != kNone) store(param.value, param.reg);
    copy(raw_blocks_[b], &part_.blocks[b], stores_at_def[b] != 0);
    out_.blocks[b] = {first, begin() - first};
    for (u32 n = 0; n < part_.blocks[b].term.num_targets(); ++n) {
      const u32 edge = begin();
      copy(raw_edges_[n][b], nullptr, false);
      out_.edges[n][b] = {edge, begin() - edge};
    }
  }
}

Result<Allocation> allocate(const Module& module, const Part& part, const AllocOptions& options) {
  return Allocator(module, part, options).run();
}

} // namespace lanewise::x86
