#include "translator/lift/ssa.hpp"

#include <cassert>

namespace lanewise::lift {

void Ssa::add_block(BlockId b, BlockId only_predecessor) {
  if (states_.size() <= b.index) states_.resize(b.index + 1);
  states_[b.index] = std::make_unique<State>();
  state(b).only_predecessor = only_predecessor;
}

ValueId Ssa::read_at(BlockId b, Var v) {
  BlockId at = b;
  while (!state(at).values[v] && state(at).only_predecessor) at = state(at).only_predecessor;
  ValueId value = state(at).values[v];
  if (!value) {
    if (at.index == 0) {
      value = initial_(v);
    } else {
      value = f_->add_param(at, type_of(v));
      state(at).params.push_back(v);
      phis_.push_back({at, v, value, {}});
    }
    state(at).values[v] = value;
  }
  for (; b != at; b = state(b).only_predecessor) state(b).values[v] = value;
  return value;
}

void Ssa::finish() {
  predecessors_.assign(f_->num_blocks(), {});
  for (u32 b = 0; b < f_->num_blocks(); ++b)
    for (u32 s = 0; s < f_->blocks[b].successors.size(); ++s)
      predecessors_[f_->blocks[b].successors[s].block.index].push_back({BlockId{b}, s});
  fill_operands();
  remove_trivial();
  pass_arguments();
  f_->replace_values(replaced_);
}

void Ssa::fill_operands() {
  // Reading a value at a predecessor's end may make new parameters there: the list grows while it is walked.
  for (std::size_t i = 0; i < phis_.size(); ++i) {
    const BlockId block = phis_[i].block;
    const Var var = phis_[i].var;
    std::vector<ValueId> operands;
    for (const Edge& e : predecessors_[block.index]) operands.push_back(read_at(e.from, var));
    phis_[i].operands = std::move(operands);
  }
}

ValueId Ssa::resolve(ValueId v) {
  ValueId root = v;
  while (replaced_[root.index]) root = replaced_[root.index];
  while (v != root) {
    const ValueId next = replaced_[v.index];
    replaced_[v.index] = root;
    v = next;
  }
  return root;
}

/// A parameter that is itself or one other value on every edge is that value. Removing one may make its users trivial.
void Ssa::remove_trivial() {
  replaced_.assign(f_->num_values(), ValueId{});
  std::vector<u32> phi_of(f_->num_values(), ~0u);
  for (u32 i = 0; i < phis_.size(); ++i) phi_of[phis_[i].value.index] = i;
  std::vector<std::vector<u32>> users(phis_.size());
  for (u32 i = 0; i < phis_.size(); ++i)
    for (const ValueId v : phis_[i].operands)
      if (phi_of[v.index] != ~0u) users[phi_of[v.index]].push_back(i);

  std::vector<u32> work(phis_.size());
  for (u32 i = 0; i < phis_.size(); ++i) work[i] = static_cast<u32>(phis_.size()) - 1 - i;
  while (!work.empty()) {
    const u32 i = work.back();
    work.pop_back();
    Phi& phi = phis_[i];
    if (replaced_[phi.value.index]) continue;
    ValueId same;
    bool trivial = true;
    for (const ValueId operand : phi.operands) {
      const ValueId v = resolve(operand);
      if (v == phi.value || v == same) continue;
      if (same) {
        trivial = false;
        break;
      }
      same = v;
    }
    if (!trivial || !same) continue;
    replaced_[phi.value.index] = same;
    work.insert(work.end(), users[i].begin(), users[i].end());
    // Whoever used this one now uses `same`, and must be looked at again when that goes.
    if (const u32 heir = phi_of[same.index]; heir != ~0u) {
      auto& theirs = users[heir];
      theirs.insert(theirs.end(), users[i].begin(), users[i].end());
    }
    users[i].clear();
  }
}

void Ssa::pass_arguments() {
  std::vector<std::vector<u32>> kept(f_->num_blocks());
  for (u32 i = 0; i < phis_.size(); ++i)
    if (!replaced_[phis_[i].value.index]) kept[phis_[i].block.index].push_back(i);
  for (u32 b = 0; b < f_->num_blocks(); ++b) {
    auto& params = f_->blocks[b].params;
    for (u32 p = static_cast<u32>(params.size()); p-- > 0;)
      if (replaced_[params[p].index]) f_->remove_param(BlockId{b}, p);
    assert(params.size() == kept[b].size());
    for (u32 e = 0; e < predecessors_[b].size(); ++e) {
      const Edge edge = predecessors_[b][e];
      auto& args = f_->blocks[edge.from.index].successors[edge.successor].args;
      for (const u32 i : kept[b]) args.push_back(resolve(phis_[i].operands[e]));
    }
  }
}

} // namespace lanewise::lift
