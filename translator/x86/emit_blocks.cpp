// Where blocks lie and how control goes between them.
#include "translator/x86/emitter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::x86 {

// ------------------------------------------------------------------------------------------------------

void Emitter::emit_part(u32 index) {
  part_ = module_.parts[index].get();
  alloc_ = &allocations_[index];
  if (options_.listing) a_.comment(fmt::format("; part {} {}", index, part_->name).c_str());
  lay_out_part();
  find_empty_blocks();
  a_.align(aj::AlignMode::kCode, 64); // A long part takes up to a sixth less than from other multiples of 16.
  a_.bind(part_labels_[index]);
  stubs_.clear();
  for (std::size_t i = 0; i < layout_.size(); ++i)
    emit_block(layout_[i], i + 1 < layout_.size() ? layout_[i + 1] : 0xffff'ffff);
  for (std::size_t i = 0; i < stubs_.size(); ++i) {
    a_.bind(stubs_[i].label);
    emit_steps(alloc_->edges[stubs_[i].n][stubs_[i].from], nullptr);
    a_.jmp(block_label(part_->blocks[stubs_[i].from].term.target[stubs_[i].n].index));
  }
}

// Cold blocks go behind the others.
void Emitter::lay_out_part() {
  const std::size_t n = part_->blocks.size();
  layout_ = alloc_->order;
  std::stable_partition(layout_.begin() + 1, layout_.end(), [&](u32 b) { return !part_->blocks[b].cold; });
  rank_.assign(n, 0);
  for (u32 i = 0; i < alloc_->order.size(); ++i) rank_[alloc_->order[i]] = i;
  labels_.assign(n, aj::Label());
  start_edge_.assign(n, {0, 2});
  for (u32 b : layout_)
    for (u32 e = 0; e < part_->blocks[b].term.num_targets(); ++e)
      if (edge_at_start(b, e)) start_edge_[part_->blocks[b].term.target[e].index] = {b, e};
}

// Blocks that only jump on are skipped: whoever would come here goes to their target.
void Emitter::find_empty_blocks() {
  forward_.assign(part_->blocks.size(), 0xffff'ffff);
  for (u32 b : layout_) {
    const Terminator& t = part_->blocks[b].term;
    if (b != 0 && t.kind == Terminator::Kind::Jump && alloc_->blocks[b].count == 0 &&
        alloc_->edges[0][b].count == 0 && start_edge_[b].second == 2 && t.target[0].index != b)
      forward_[b] = t.target[0].index;
  }
  // A cycle of such blocks is an endless loop of the guest's; one of them has to stay.
  for (u32 b : layout_) {
    std::size_t hops = 0;
    for (u32 f = b; forward_[f] != 0xffff'ffff; f = forward_[f])
      if (++hops > layout_.size()) {
        forward_[f] = 0xffff'ffff;
        break;
      }
  }
  std::erase_if(layout_, [&](u32 b) { return forward_[b] != 0xffff'ffff; });
}

u32 Emitter::final_block(u32 b) const {
  while (forward_[b] != 0xffff'ffff) b = forward_[b];
  return b;
}

aj::Label Emitter::block_label(u32 b) {
  b = final_block(b);
  if (!labels_[b].isValid()) labels_[b] = a_.newLabel();
  return labels_[b];
}

bool Emitter::edge_at_start(u32 b, u32 n) const {
  const Terminator& t = part_->blocks[b].term;
  return t.num_targets() == 2 && alloc_->edges[n][b].count != 0 && alloc_->num_preds[t.target[n].index] == 1;
}

bool Emitter::needs_stub(u32 b, u32 n) const {
  return alloc_->edges[n][b].count != 0 && !edge_at_start(b, n);
}

void Emitter::emit_block(u32 b, u32 next) {
  a_.bind(block_label(b));
  if (options_.listing) a_.comment(fmt::format("; block {}", b).c_str());
  if (auto [from, n] = start_edge_[b]; n != 2) emit_steps(alloc_->edges[n][from], nullptr);
  emit_steps(alloc_->blocks[b], &part_->blocks[b]);
  emit_terminator(b, next);
}

void Emitter::emit_terminator(u32 b, u32 next) {
  const Terminator& t = part_->blocks[b].term;
  switch (t.kind) {
  case Terminator::Kind::Jump:
    emit_steps(alloc_->edges[0][b], nullptr);
    if (u32 target = final_block(t.target[0].index); target != next) a_.jmp(block_label(target));
    return;
  case Terminator::Kind::Branch: return emit_branch(b, next);
  case Terminator::Kind::JumpPart: a_.jmp(part_labels_[t.part.index]); return;
  case Terminator::Kind::Dispatch: a_.jmp(dispatch_); return;
  case Terminator::Kind::Return:
    if (t.reason == runtime::StopReason::Barrier) return emit_barrier();
    a_.mov(ax::eax, set_of(t.reason));
    a_.jmp(stopped_);
    return;
  case Terminator::Kind::None: error_.text = fmt::format("block {} of {} has no terminator", b, part_->name);
  }
}

// One successor is jumped to, the other one continued with. The latter should be the next block, and the one
// with copies to do, since the other's copies need a detour; the successor in the deeper loop counts more
// (order ranks stand in for depth: a back edge goes to a lower rank).
void Emitter::emit_branch(u32 b, u32 next) {
  const Terminator& t = part_->blocks[b].term;
  unsigned cost[2];
  for (u32 jumped = 0; jumped < 2; ++jumped) {
    auto weight = [&](u32 n) {
      return rank_[t.target[n].index] <= rank_[b] ? 8u : part_->blocks[t.target[n].index].cold ? 0u : 2u;
    };
    const u32 other = 1 - jumped;
    cost[jumped] = (needs_stub(b, jumped) ? weight(jumped) + 1 : 0) +
                   (final_block(t.target[other].index) != next ? weight(other) + 1 : 0);
  }
  const u32 jumped = cost[1] < cost[0] ? 1 : 0;
  a_.j(jumped == 0 ? t.cond : ax::negateCond(t.cond), edge_label(b, jumped));
  finish_edge(b, 1 - jumped, next);
}

aj::Label Emitter::edge_label(u32 b, u32 n) {
  if (!needs_stub(b, n)) return block_label(part_->blocks[b].term.target[n].index);
  return stubs_.emplace_back(EdgeStub{a_.newLabel(), b, n}).label;
}

void Emitter::finish_edge(u32 b, u32 n, u32 next) {
  if (needs_stub(b, n)) emit_steps(alloc_->edges[n][b], nullptr);
  if (u32 target = final_block(part_->blocks[b].term.target[n].index); target != next)
    a_.jmp(block_label(target));
}

} // namespace lanewise::x86
