// What a valid function is:
//  1. Block 0 is the entry; it has no parameters and nobody jumps to it.
//  2. Every reachable block ends in exactly one block-ending instruction, which is its last.
//  3. The number of successors is what the ending says (jump, barrier, sync 1; branch 2; others 0).
//  4. A successor's arguments match the target's parameters in number and types.
//  5. Every use is dominated by its definition.
//  6. Operand and result types are those of the op (opcodes.inc), with the per-op rules in check_types.
//  7. Block membership is recorded both ways.
#include "translator/ir/verify.hpp"

#include "translator/ir/cfg.hpp"
#include "translator/ir/lane_moves.hpp"
#include "translator/ir/wide_access.hpp"

#include <bit>
#include <cstdlib>
#include <fmt/format.h>

namespace lanewise::ir {

namespace {

class Verifier {
public:
  explicit Verifier(const Function& f) : f_(f), cfg_(f), dom_(f, cfg_), position_(f.num_insts(), 0) {}

  Result<void> run() {
    if (!f_.blocks[0].params.empty() || !cfg_.preds[0].empty())
      return error({}, "the entry block has parameters or predecessors");
    for (const BlockId b : cfg_.rpo)
      for (u32 i = 0; i < f_[b].insts.size(); ++i) position_[f_[b].insts[i].index] = i;
    for (const BlockId b : cfg_.rpo)
      if (auto result = check_block(b); !result) return result;
    return {};
  }

private:
  const Function& f_;
  Cfg cfg_;
  Dominators dom_;
  std::vector<u32> position_;

  Error error(InstId i, const std::string& what) const {
    const std::string where =
        i.valid() ? fmt::format("b{}: {}", f_[i].block.index, print(f_, i)) : std::string("entry");
    return {ErrorCode::Internal, fmt::format("{}: {}: {}", f_.name, where, what)};
  }

  Result<void> check_block(BlockId b) {
    const Block& block = f_[b];
    if (block.insts.empty())
      return Error{ErrorCode::Internal, fmt::format("{}: b{} is empty", f_.name, b.index)};
    for (u32 n = 0; n < block.insts.size(); ++n) {
      const InstId i = block.insts[n];
      const Inst& inst = f_[i];
      if (inst.block != b) return error(i, fmt::format("is listed in b{}", b.index));
      const bool last = n + 1 == block.insts.size();
      if (info(inst.op).is(kEndsBlock) != last)
        return error(i, last ? "does not end the block" : "ends the block early");
      for (const ValueId v : f_.operands(i))
        if (!available(v, b, n)) return error(i, fmt::format("v{} does not dominate this use", v.index));
      if (const char* what = check_types(i)) return error(i, what);
    }
    return check_edges(block);
  }

  Result<void> check_edges(const Block& block) {
    const InstId end = block.insts.back();
    const Op op = f_[end].op;
    const std::size_t wanted = op == Op::Branch ? 2 : op == Op::Jump || waits_for_waves(op) ? 1 : 0;
    if (block.successors.size() != wanted) return error(end, "wrong number of successors");
    for (const Successor& s : block.successors) {
      if (s.block.index >= f_.num_blocks()) return error(end, "successor out of range");
      const auto& params = f_[s.block].params;
      if (params.size() != s.args.size())
        return error(end, fmt::format("b{} takes {} arguments", s.block.index, params.size()));
      for (std::size_t i = 0; i < params.size(); ++i) {
        if (f_.type(params[i]) != f_.type(s.args[i]))
          return error(end, fmt::format("argument {} of b{} has the wrong type", i, s.block.index));
        if (!available(s.args[i], f_[end].block, ~0u))
          return error(end, fmt::format("v{} does not dominate this use", s.args[i].index));
      }
    }
    return {};
  }

  bool available(ValueId v, BlockId at, u32 index) const {
    if (v.index >= f_.num_values()) return false;
    const BlockId def = f_.def_block(v);
    if (!def.valid() || !cfg_.reachable(def)) return false;
    if (def != at) return dom_.dominates(def, at);
    const InstId i = f_.def_id(v);
    return !i.valid() || position_[i.index] < index;
  }

  const char* check_types(InstId id) const {
    const Inst& inst = f_[id];
    const auto operands = f_.operands(id);
    const auto type = [&](unsigned i) { return f_.type(operands[i]); };
    const Type result = inst.num_results != 0 ? f_.type(f_.result(id)) : Type::None;
    const std::string_view letters = info(inst.op).operands;
    const bool variable =
        inst.op == Op::Load || inst.op == Op::Store || inst.op == Op::Atomic || inst.op == Op::ScalarStore;
    if (!variable && operands.size() != letters.size()) return "wrong number of operands";
    if (!variable)
      for (unsigned i = 0; i < operands.size(); ++i)
        if (!letter_allows(letters[i], type(i), result)) return "operand has the wrong type";
    switch (inst.op) {
    case Op::Splat:
      return type(0) != result && is_scalar(type(0)) && !is_uniform(result) &&
                     bit_width(type(0)) == bit_width(result)
                 ? nullptr
                 : "splat of these types";
    case Op::GangFirst:
    case Op::GangPick:
      return is_vector(type(0)) && is_gang(result) && is_wide(type(0)) == is_wide(result)
                 ? nullptr
                 : "lane of these types";
    case Op::RowGet:
    case Op::RowSet:
      return type(0) == Type::G32 && type(static_cast<unsigned>(operands.size()) - 1) == Type::G32
                 ? nullptr
                 : "elements and their numbers are g32";
    case Op::LaneOf:
    case Op::GangMask: return type(1) == Type::G32 ? nullptr : "the gang's lanes are g32";
    case Op::Join:
      return is_wide(result) && type(0) == half_of(result) && type(1) == type(0) ? nullptr
                                                                                 : "join of these types";
    case Op::Lo:
    case Op::Hi: return is_wide(type(0)) && result == half_of(type(0)) ? nullptr : "half of these types";
    case Op::ShiftLanes: {
      const LaneShift shift = LaneShift::of(inst.imm);
      const bool is_group = std::has_single_bit(shift.width) && shift.width <= kWaveSize;
      if (type(0) != result || (result != Type::V32 && result != Type::Mask)) return "a shift of these types";
      return is_group && std::abs(shift.by) < static_cast<int>(kWaveSize) ? nullptr : "no shift of lanes";
    }
    case Op::ICmp:
      return type(0) == type(1) && (result == (is_uniform(type(0)) ? Type::U1 : Type::Mask) ||
                                    (is_gang(type(0)) && result == Type::G1))
                 ? nullptr
                 : "compare of these types";
    case Op::FCmp:
      return type(0) == type(1) && is_vector(type(0)) && (result == Type::Mask || result == Type::G1)
                 ? nullptr
                 : "compare of these types";
    case Op::Shl:
    case Op::LShr:
    case Op::AShr:
      return type(1) == Type::U32 ? is_scalar(result) ? nullptr : "the amount is 32 bits of the same kind"
             : type(1) == (is_gang(result) ? Type::G32 : Type::V32) && !is_uniform(result)
                 ? nullptr
                 : "the amount is 32 bits of the same kind";
    case Op::Select:
      return type(0) == Type::U1 || (type(0) == Type::G1 && is_gang(result)) ||
                     (type(0) == Type::Mask && is_per_lane(result))
                 ? nullptr
                 : "condition of this type";
    case Op::Load:
    case Op::Store:
    case Op::Atomic: return check_memory(id);
    default: return nullptr;
    }
  }

  const char* check_memory(InstId id) const {
    const Inst& inst = f_[id];
    const auto operands = f_.operands(id);
    if (operands.size() < address_operands(inst.mem) + (inst.op == Op::Store ? 2u : 1u))
      return "wrong number of operands for this access";
    const bool wide = is_wide_access(f_, id);
    const Type element = wide ? Type::V64 : Type::V32;
    const unsigned elements = inst.mem.bytes <= 4 ? 1 : inst.mem.bytes / (wide ? 8u : 4u);
    const bool buffer = inst.mem.space == Space::Buffer;
    const bool rows = inst.mem.space == Space::Registers;
    if (rows && (inst.op == Op::Atomic || inst.mem.bytes != 4)) return "rows are loaded and stored whole";
    const bool wide_address = inst.mem.space == Space::Global || inst.mem.space == Space::Flat;
    if (inst.mem.spread && inst.mem.space == Space::Scratch && (inst.op == Op::Atomic || inst.mem.bytes > 4))
      return "of one lane's private memory, a dword at most";
    const unsigned address = address_operands(inst.mem);
    unsigned data = 0;
    if (inst.op == Op::Store) data = elements;
    if (inst.op == Op::Atomic) data = takes_two(inst.mem.atomic) ? 2 * elements : elements;
    if (operands.size() != address + data + 1) return "wrong number of operands for this access";
    if (f_.type(operands.back()) != Type::Mask) return "the last operand is the mask";
    if (!buffer)
      if (const char* what = check_address(inst.mem, operands, wide_address)) return what;
    for (unsigned i = 0; i < data; ++i)
      if (f_.type(operands[address + i]) != element) return "data is v32, or all of it v64";
    const bool scalar = inst.op == Op::Load && inst.mem.spread && inst.mem.bytes <= 4;
    for (unsigned r = 0; r < inst.num_results; ++r)
      if (f_.type(f_.result(id, r)) != element && !(scalar && f_.type(f_.result(id, r)) == Type::G32))
        return "results are v32, or all of them v64";
    const unsigned results = inst.op == Op::Load                         ? elements
                             : inst.op == Op::Atomic && inst.mem.returns ? elements
                                                                         : 0;
    return inst.num_results == results ? nullptr : "wrong number of results for this access";
  }

  const char* check_address(const MemAttr& mem, std::span<const ValueId> operands, bool wide) const {
    const Type t = f_.type(operands[0]);
    if (mem.space == Space::Registers) return t == Type::U32 ? nullptr : "the number of a row is u32";
    if (mem.form == AddressForm::Lanes)
      return t == (wide ? Type::V64 : Type::V32) ? nullptr : "address of the wrong type";
    if (!is_scalar(t) || bit_width(t) == 1 || is_wide(t) != wide) return "base of the wrong type";
    if (mem.form == AddressForm::Row) return nullptr;
    const Type index = f_.type(operands[1]);
    if (!wide) return "no such address form in this space";
    const bool scalar = mem.form == AddressForm::Wrapped;
    return index == Type::V32 ? (scalar ? "index of the wrong type" : nullptr)
           : scalar && (index == Type::U32 || index == Type::G32) ? nullptr
                                                                  : "index of the wrong type";
  }

  static bool letter_allows(char letter, Type t, Type result) {
    switch (letter) {
    case '1': return t == Type::U1;
    case '3': return t == Type::U32;
    case '6': return t == Type::U64;
    case 'm': return t == Type::Mask;
    case 'v': return t == Type::V32;
    case 'w': return t == Type::V64;
    case 'T': return t == result;
    default: return t != Type::None;
    }
  }
};

} // namespace

Result<void> verify(const Function& f) {
  if (f.blocks.empty()) return Error{ErrorCode::Internal, f.name + ": no blocks"};
  for (const Block& b : f.blocks) // Before the CFG is walked: successors must exist.
    for (const Successor& s : b.successors)
      if (s.block.index >= f.num_blocks())
        return Error{ErrorCode::Internal, f.name + ": successor out of range"};
  return Verifier(f).run();
}

} // namespace lanewise::ir
