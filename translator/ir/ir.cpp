#include "translator/ir/ir.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace lanewise::ir {

namespace {
constexpr std::size_t kUsualInsts = 16; ///< of a block
}

const char* name(Type t) {
  static constexpr const char* kNames[] = {"none", "u1",  "u32", "u64", "mask",
                                           "v32",  "v64", "g1",  "g32", "g64"};
  return kNames[static_cast<unsigned>(t)];
}

BlockId Function::add_block(u32 pc) {
  blocks.emplace_back().pc = pc;
  return BlockId{num_blocks() - 1};
}

ValueId Function::add_param(BlockId block, Type type) {
  const ValueId v{num_values()};
  auto& params = blocks[block.index].params;
  values_.push_back({type, InstId{}, block, static_cast<u32>(params.size())});
  params.push_back(v);
  return v;
}

void Function::keep_params(BlockId block, const std::vector<u8>& live) {
  auto& params = blocks[block.index].params;
  std::erase_if(params, [&](ValueId v) { return !live[v.index]; });
  for (u32 i = 0; i < params.size(); ++i) values_[params[i].index].index = i;
}

InstId Function::make(const Inst& proto, std::span<const ValueId> operands, std::span<const Type> results) {
  const InstId id{num_insts()};
  Inst inst = proto;
  inst.num_operands = static_cast<u16>(operands.size());
  inst.first_operand = static_cast<u32>(operand_pool_.size());
  inst.num_results = static_cast<u8>(results.size());
  inst.first_result = results.empty() ? ValueId{} : ValueId{num_values()};
  inst.block = BlockId{};
  add_operands(operands);
  for (u32 i = 0; i < results.size(); ++i) values_.push_back({results[i], id, BlockId{}, i});
  insts_.push_back(inst);
  return id;
}

void Function::add_operands(std::span<const ValueId> operands) {
  // They may lie in the pool itself, which moves when it grows.
  const std::size_t at = operand_pool_.size();
  const std::less<const ValueId*> before;
  const ValueId* pool = operand_pool_.data();
  if (!operands.empty() && !before(operands.data(), pool) && before(operands.data(), pool + at)) {
    const auto from = static_cast<std::size_t>(operands.data() - pool);
    operand_pool_.resize(at + operands.size());
    std::copy_n(operand_pool_.begin() + static_cast<std::ptrdiff_t>(from), operands.size(),
                operand_pool_.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    operand_pool_.insert(operand_pool_.end(), operands.begin(), operands.end());
  }
}

InstId Function::append(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                        std::span<const Type> results) {
  const InstId id = make(proto, operands, results);
  insts_[id.index].block = block;
  auto& insts = blocks[block.index].insts;
  if (insts.empty()) insts.reserve(kUsualInsts);
  insts.push_back(id);
  return id;
}

InstId Function::insert_before_end(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                                   std::span<const Type> results) {
  const InstId id = append(block, proto, operands, results);
  auto& insts = blocks[block.index].insts;
  std::swap(insts[insts.size() - 1], insts[insts.size() - 2]);
  return id;
}

InstId Function::insert_first(BlockId block, const Inst& proto, std::span<const ValueId> operands,
                              std::span<const Type> results) {
  const InstId id = make(proto, operands, results);
  insts_[id.index].block = block;
  auto& insts = blocks[block.index].insts;
  insts.insert(insts.begin(), id);
  return id;
}

InstId Function::insert_before(InstId next, const Inst& proto, std::span<const ValueId> operands,
                               std::span<const Type> results) {
  const InstId id = make(proto, operands, results);
  const BlockId block = insts_[next.index].block;
  insts_[id.index].block = block;
  auto& insts = blocks[block.index].insts;
  insts.insert(std::ranges::find(insts, next), id);
  return id;
}

ValueId Function::entry_constant(Type type, u64 bits) {
  Inst proto;
  proto.op = Op::Const;
  proto.imm = bits;
  return result(insert_first(BlockId{0}, proto, {}, {&type, 1}));
}

void Function::set_operands(InstId i, std::span<const ValueId> operands) {
  Inst& inst = insts_[i.index];
  if (operands.size() > inst.num_operands) {
    inst.first_operand = static_cast<u32>(operand_pool_.size());
    add_operands(operands);
  } else {
    std::copy(operands.begin(), operands.end(), operand_pool_.begin() + inst.first_operand);
  }
  inst.num_operands = static_cast<u16>(operands.size());
}

void Function::become_constant(InstId i, u64 bits) {
  insts_[i.index].op = Op::Const;
  insts_[i.index].imm = bits;
  set_operands(i, {});
}

void Function::become_jump(BlockId b, Successor way) {
  const InstId end = terminator(b);
  insts_[end.index].op = Op::Jump;
  insts_[end.index].imm = 0;
  set_operands(end, {});
  std::vector<Successor>& successors = blocks[b.index].successors;
  successors.clear();
  successors.push_back(std::move(way));
}

ValueId Function::tested_mask(BlockId b) const {
  const InstId branch = terminator(b);
  if (insts_[branch.index].op != Op::Branch) return {};
  const InstId any = def_id(operands(branch)[0]);
  return any.valid() && insts_[any.index].op == Op::AnyLane ? operands(any)[0] : ValueId{};
}

namespace {

bool is_empty(const std::vector<ValueId>& map) {
  return std::none_of(map.begin(), map.end(), [](ValueId v) { return v.valid(); });
}

/// What `v` is in the end. Path compression keeps long chains linear.
ValueId resolve(std::vector<ValueId>& map, ValueId v) {
  ValueId root = v;
  while (root.index < map.size() && map[root.index].valid() && map[root.index] != root)
    root = map[root.index];
  while (v != root) {
    const ValueId next = map[v.index];
    map[v.index] = root;
    v = next;
  }
  return root;
}

void replace(std::vector<ValueId>& map, std::span<ValueId> values) {
  const std::span<const ValueId> known = map;
  for (ValueId& v : values)
    if (v.index < known.size() && known[v.index].valid()) v = resolve(map, v);
}

} // namespace

void Function::replace_values(std::vector<ValueId>& map) {
  if (is_empty(map)) return;
  replace(map, operand_pool_);
  for (Block& block : blocks)
    for (Successor& s : block.successors) replace(map, s.args);
}

void Function::replace_arguments(std::vector<ValueId>& map) {
  if (is_empty(map)) return;
  for (Block& block : blocks)
    for (Successor& s : block.successors) replace(map, s.args);
}

std::vector<InstId> Function::compact() {
  std::vector<InstId> new_inst(insts_.size());
  std::vector<ValueId> new_value(values_.size());
  for (const Block& block : blocks) {
    for (const ValueId v : block.params) new_value[v.index] = v; // Any valid id marks what is kept.
    for (const InstId i : block.insts) {
      new_inst[i.index] = i;
      for (unsigned r = 0; r < insts_[i.index].num_results; ++r) new_value[result(i, r).index] = result(i, r);
    }
  }
  const auto number = [](auto& ids) {
    u32 next = 0;
    for (auto& id : ids)
      if (id.valid()) id.index = next++;
    return next;
  };
  const u32 insts = number(new_inst), values = number(new_value);
  std::vector<ValueId> pool;
  pool.reserve(operand_pool_.size());
  for (u32 old = 0; old < new_inst.size(); ++old) {
    if (!new_inst[old].valid()) continue;
    const auto first = static_cast<u32>(pool.size());
    for (const ValueId v : operands(InstId{old})) pool.push_back(new_value[v.index]);
    Inst& inst = insts_[new_inst[old].index]; // not behind the old one
    inst = insts_[old];
    inst.first_operand = first;
    if (inst.num_results != 0) inst.first_result = new_value[inst.first_result.index];
  }
  for (u32 old = 0; old < new_value.size(); ++old) {
    if (!new_value[old].valid()) continue;
    Value value = values_[old];
    if (value.inst.valid()) value.inst = new_inst[value.inst.index];
    values_[new_value[old].index] = value;
  }
  insts_.resize(insts);
  values_.resize(values);
  operand_pool_ = std::move(pool);
  for (Block& block : blocks) {
    for (ValueId& v : block.params) v = new_value[v.index];
    for (InstId& i : block.insts) i = new_inst[i.index];
    for (Successor& s : block.successors)
      for (ValueId& v : s.args) v = new_value[v.index];
  }
  return new_inst;
}

u8 Function::number_of(const LanePlaces& x) {
  auto found = std::ranges::find(places, x);
  if (found == places.end()) {
    if (places.size() == 255) return 0;
    found = places.insert(found, x);
  }
  return static_cast<u8>(found - places.begin() + 1);
}

std::vector<u32> Function::use_counts() const {
  std::vector<u32> counts(num_values(), 0);
  for (const Block& block : blocks) {
    for (const InstId i : block.insts)
      for (const ValueId v : operands(i)) ++counts[v.index];
    for (const Successor& s : block.successors)
      for (const ValueId v : s.args) ++counts[v.index];
  }
  return counts;
}

InstId Builder::inst(const Inst& proto, std::initializer_list<ValueId> operands,
                     std::initializer_list<Type> results) {
  Inst p = proto;
  p.pc = pc;
  return f_->append(block_, p, {operands.begin(), operands.size()}, {results.begin(), results.size()});
}

ValueId Builder::op(Op o, Type result, std::initializer_list<ValueId> operands, u64 imm) {
  Inst p;
  p.op = o;
  p.imm = imm;
  return f_->result(inst(p, operands, {result}));
}

ValueId Builder::fop(Op o, Type result, const FpAttr& fp, std::initializer_list<ValueId> operands, u64 imm) {
  Inst p;
  p.op = o;
  p.fp = fp;
  p.imm = imm;
  return f_->result(inst(p, operands, {result}));
}

ValueId Builder::constant(Type type, u64 bits) {
  if (bit_width(type) == 32) bits &= 0xffff'ffffu;
  if (type == Type::U1) bits &= 1;
  return op(Op::Const, type, {}, bits);
}

ValueId Builder::splat(ValueId v) {
  const Type t = type(v);
  assert(is_uniform(t));
  return op(Op::Splat, t == Type::U32 ? Type::V32 : t == Type::U64 ? Type::V64 : Type::Mask, {v});
}
ValueId Builder::join(ValueId lo, ValueId hi) { return op(Op::Join, wide_of(type(lo)), {lo, hi}); }
ValueId Builder::lo(ValueId wide) { return op(Op::Lo, half_of(type(wide)), {wide}); }
ValueId Builder::hi(ValueId wide) { return op(Op::Hi, half_of(type(wide)), {wide}); }
ValueId Builder::zext(ValueId v) {
  return op(Op::ZExt, type(v) == Type::U1 ? Type::U32 : wide_of(type(v)), {v});
}
ValueId Builder::sext(ValueId v) { return op(Op::SExt, wide_of(type(v)), {v}); }

ValueId Builder::icmp(IntPred p, ValueId a, ValueId b) {
  return op(Op::ICmp, is_uniform(type(a)) ? Type::U1 : Type::Mask, {a, b}, static_cast<u64>(p));
}
ValueId Builder::fcmp(FloatPred p, const FpAttr& fp, ValueId a, ValueId b) {
  return fop(Op::FCmp, Type::Mask, fp, {a, b}, p);
}

void Builder::jump(BlockId to, std::vector<ValueId> args) {
  inst({.op = Op::Jump}, {}, {});
  (*f_)[block_].successors = {{to, std::move(args)}};
}
void Builder::branch(ValueId cond, BlockId taken, BlockId not_taken, std::vector<ValueId> taken_args,
                     std::vector<ValueId> not_taken_args) {
  inst({.op = Op::Branch}, {cond}, {});
  (*f_)[block_].successors = {{taken, std::move(taken_args)}, {not_taken, std::move(not_taken_args)}};
}
void Builder::end_program() { inst({.op = Op::EndPgm}, {}, {}); }
void Builder::barrier(BlockId resume, std::vector<ValueId> args) {
  inst({.op = Op::Barrier}, {}, {});
  (*f_)[block_].successors = {{resume, std::move(args)}};
}
void Builder::sync(ValueId request, BlockId resume) {
  inst({.op = Op::Sync}, {request}, {});
  (*f_)[block_].successors = {{resume, {}}};
}
void Builder::trap(u32 id) { inst({.op = Op::Trap, .imm = id}, {}, {}); }
void Builder::bad_jump(ValueId target) { inst({.op = Op::BadJump}, {target}, {}); }

} // namespace lanewise::ir
