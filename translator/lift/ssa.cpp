#include "translator/lift/ssa.hpp"

#include <cassert>

namespace lanewise::lift {

ir::InstId append_to_entry(ir::Function& f, const ir::Inst& proto, std::span<const Type> results) {
  const auto& insts = f.blocks[0].insts;
  const bool has_end = !insts.empty() && ir::info(f[insts.back()].op).is(ir::kEndsBlock);
  return has_end ? f.insert_before_end(BlockId{0}, proto, {}, results)
                 : f.append(BlockId{0}, proto, {}, results);
}

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
      phis_.push_back({at, v, value, 0});
    }
    state(at).values[v] = value;
  }
  for (; b != at; b = state(b).only_predecessor) state(b).values[v] = value;
  return value;
}

void Ssa::finish() {
  std::vector<std::pair<u32, Edge>> edges;
  for (u32 b = 0; b < f_->num_blocks(); ++b)
    for (u32 s = 0; s < f_->blocks[b].successors.size(); ++s)
      edges.emplace_back(f_->blocks[b].successors[s].block.index, Edge{BlockId{b}, s});
  predecessors_ = {f_->num_blocks(), edges};
  fill_operands();
  merge_copies();
  pass_arguments();
}

void Ssa::fill_operands() {
  // Reading a value at a predecessor's end may make new parameters there: the list grows while it is walked.
  for (std::size_t i = 0; i < phis_.size(); ++i) {
    const BlockId block = phis_[i].block;
    const Var var = phis_[i].var;
    phis_[i].first_operand = static_cast<u32>(operands_.size());
    for (const Edge& e : predecessors_[block.index]) operands_.push_back(read_at(e.from, var));
  }
}

ValueId Ssa::entry_constant(Type type, u64 bits) {
  const auto [it, inserted] = constants_.try_emplace({type, bits});
  if (inserted) {
    ir::Inst proto;
    proto.op = ir::Op::Const;
    proto.imm = bits;
    const Type results[] = {type};
    it->second = f_->result(append_to_entry(*f_, proto, results));
  }
  return it->second;
}

/// Finds parameters that are copies of one value, optimistically: every parameter is a copy of whatever
/// reaches it until two different values do. This sees through loops and through functions that are called
/// from several places.
void Ssa::merge_copies() {
  constexpr u32 kNone = ~0u;
  const u32 count = f_->num_values();
  std::vector<u32> phi_of(count, kNone); // by parameter's value
  for (u32 i = 0; i < phis_.size(); ++i) phi_of[phis_[i].value.index] = i;
  class_.assign(count, ValueId{});
  std::vector<std::pair<u32, u32>> uses;
  for (u32 i = 0; i < phis_.size(); ++i)
    for (const ValueId v : operands(phis_[i])) {
      u64 bits = 0;
      if (phi_of[v.index] != kNone)
        uses.emplace_back(phi_of[v.index], i);
      else if (!class_[v.index]) // constants of equal bits are copies of one in the entry block
        class_[v.index] = f_->is_const(v, &bits) ? entry_constant(f_->type(v), bits) : v;
    }
  const Lists<u32> users(phis_.size(), uses);

  std::vector<u32> work(phis_.size());
  std::vector<u8> queued(phis_.size(), 1);
  for (u32 i = 0; i < phis_.size(); ++i) work[i] = static_cast<u32>(phis_.size()) - 1 - i;
  while (!work.empty()) {
    const u32 i = work.back();
    work.pop_back();
    queued[i] = 0;
    const Phi& phi = phis_[i];
    if (class_[phi.value.index] == phi.value) continue; // two values have met here: that is final
    ValueId met;
    for (const ValueId operand : operands(phi)) {
      const ValueId v = class_[operand.index];
      if (!v || v == met) continue;
      met = met ? phi.value : v;
      if (met == phi.value) break;
    }
    if (met == class_[phi.value.index]) continue;
    class_[phi.value.index] = met;
    for (const u32 user : users[i]) {
      if (queued[user] == 0) work.push_back(user);
      queued[user] = 1;
    }
  }
  for (u32 v = 0; v < count; ++v)
    if (phi_of[v] == kNone) class_[v] = ValueId{}; // It stays where it is.
  // What no value reaches is never read at run time.
  for (const Phi& phi : phis_)
    if (!class_[phi.value.index]) class_[phi.value.index] = entry_constant(f_->type(phi.value), 0);
}

void Ssa::pass_arguments() {
  const auto is_copy = [&](ValueId v) { return class_[v.index] != v; };
  std::vector<std::vector<u32>> kept(f_->num_blocks());
  for (u32 i = 0; i < phis_.size(); ++i)
    if (!is_copy(phis_[i].value)) kept[phis_[i].block.index].push_back(i);
  std::vector<u8> live(f_->num_values(), 1);
  for (const Phi& phi : phis_) live[phi.value.index] = is_copy(phi.value) ? 0 : 1;
  for (u32 b = 0; b < f_->num_blocks(); ++b) {
    f_->keep_params(BlockId{b}, live);
    assert(f_->blocks[b].params.size() == kept[b].size());
    for (u32 e = 0; e < predecessors_[b].size(); ++e) {
      const Edge edge = predecessors_[b][e];
      auto& args = f_->blocks[edge.from.index].successors[edge.successor].args;
      for (const u32 i : kept[b]) args.push_back(operands(phis_[i])[e]);
    }
  }
  class_.resize(f_->num_values());
  f_->replace_values(class_);
}

} // namespace lanewise::lift
