// Everything here is a direct reading of Function::launch; what follows from it is left to the other passes.
#include "translator/ir/cfg.hpp"
#include "translator/passes/initial_address.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

class LaunchFactsUser {
public:
  explicit LaunchFactsUser(Function& f) : f_(f), map_(f.num_values()) {}

  void run() {
    const Cfg cfg(f_);
    const u32 values = f_.num_values();
    std::vector<InstId> old;
    for (const BlockId b : cfg.rpo) {
      old.assign(f_[b].insts.begin(), f_[b].insts.end());
      f_[b].insts.clear();
      for (const InstId i : old) {
        visit(b, i);
        f_[b].insts.push_back(i);
      }
    }
    if (f_.num_values() == values) return; // nothing has become a constant
    map_.resize(f_.num_values());
    f_.replace_values(map_);
  }

private:
  static constexpr u64 kMaxOffset = 1 << 20; ///< of a scalar load, which adds 32 bits

  Function& f_;
  std::vector<ValueId> map_;

  void visit(BlockId b, InstId i) {
    const auto& launch = f_.launch;
    switch (f_[i].op) {
    case Op::InitSgpr:
      if (launch.max_sgpr(f_[i].imm) == 0) replace(b, i, 0, 0);
      return;
    case Op::InitVgpr:
      if (launch.max_work_item(static_cast<u32>(f_[i].imm)) == 0) replace(b, i, 0, 0);
      return;
    case Op::InitExec:
      if (const auto exec = launch.exec()) replace(b, i, 0, *exec);
      return;
    case Op::ICmp:
      if (const auto known = compare_with_grid(i)) replace(b, i, 0, *known);
      return;
    case Op::ScalarLoad: return load(b, i);
    case Op::Load: return vector_load(b, i);
    case Op::Barrier:
      if (launch.one_wave()) f_[i].op = Op::Jump;
      return;
    default: return;
    }
  }

  void replace(BlockId b, InstId i, u32 result, u64 bits) {
    const ValueId old = f_.result(i, result);
    map_[old.index] = make(b, i, Op::Const, f_.type(old), {}, bits);
  }

  /// Appends an instruction at the guest address of `i`.
  ValueId make(BlockId b, InstId i, Op op, Type type, std::initializer_list<ValueId> operands, u64 imm = 0) {
    Inst proto;
    proto.op = op;
    proto.imm = imm;
    proto.pc = f_[i].pc;
    return f_.result(f_.append(b, proto, {operands.begin(), operands.size()}, {&type, 1}));
  }

  void load(BlockId b, InstId i) {
    for (u32 n = 0; n < f_[i].num_results; ++n)
      if (const auto value = known_result(f_, i, n)) replace(b, i, n, *value);
  }

  /// What does not optimise loads the dispatch packet and the kernarg segment lane by lane.
  void vector_load(BlockId b, InstId i) {
    const MemAttr mem = f_[i].mem;
    if ((mem.space != Space::Global && mem.space != Space::Flat) || mem.form != AddressForm::Lanes) return;
    const ValueId lanes = f_.operands(i).back();
    const auto common = common_address(f_, f_.operands(i)[0], lanes);
    if (!common || !common->pointer.valid()) return;
    const ValueId pointer = common->pointer;
    const auto first = initial_address(f_, pointer); // otherwise it may be that of a descriptor
    const u64 behind = common->offset + f_[i].imm, in_dword = ((first ? first->offset : 0) + behind) % 4;
    const unsigned shift = static_cast<unsigned>(in_dword * 8), bits = std::min(8u * mem.bytes, 32u);
    if (shift + bits > 32) return;
    const u32 results = f_[i].num_results;
    for (u32 n = 0; n < results; ++n) {
      ValueId v;
      if (const auto dword = known_behind(f_, pointer, behind - in_dword + 4 * u64{n})) {
        v = make(b, i, Op::Const, Type::V32, {}, extended(mem, *dword >> shift));
      } else if (first && bits == 32 && behind < kMaxOffset && starts_with(lanes)) {
        const ValueId at = make(b, i, Op::Const, Type::U32, {}, behind + 4 * u64{n});
        v = make(b, i, Op::Splat, Type::V32, {make(b, i, Op::ScalarLoad, Type::U32, {pointer, at})});
      } else {
        continue;
      }
      if (!f_.is_full(lanes))
        v = make(b, i, Op::Select, Type::V32, {lanes, v, make(b, i, Op::Const, Type::V32, {})});
      map_[f_.result(i, n).index] = v;
    }
  }

  /// The lanes of `mask` are those of the start, of which there is at least one: what they load can be
  /// loaded.
  [[nodiscard]] bool starts_with(ValueId mask) const {
    return f_.is_full(mask) || (f_.def(mask) != nullptr && f_.def(mask)->op == Op::InitExec);
  }

  // How device libraries find the size of a workgroup that may be a smaller one at the end of the grid:
  //   min(work-items of the grid - id * size, size)            (from the dispatch packet)
  //   id < workgroups of the grid ? size : remainder           (from the implicit arguments)
  // Where no workgroup is smaller, the outcome is known.

  [[nodiscard]] std::optional<bool> compare_with_grid(InstId i) const {
    const auto x = f_.operands(i);
    const auto predicate = static_cast<IntPred>(f_[i].imm);
    u64 constant = 0;
    for (u32 axis = 0; axis < 3; ++axis) {
      if (f_.launch.ragged[axis]) continue;
      if (is_group_id(x[0], axis) && is_grid(x[1], axis, true)) {
        if (predicate == IntPred::ULt) return true;
        if (predicate == IntPred::UGe) return false;
      }
      if (f_.launch.knows_workgroup() && f_.is_const(x[1], &constant) &&
          constant <= f_.launch.workgroup[axis] && is_rest(x[0], axis)) {
        if (predicate == IntPred::UGe) return true;
        if (predicate == IntPred::ULt) return false;
      }
    }
    return std::nullopt;
  }

  /// The work-items from the first of this workgroup to the end of the grid.
  [[nodiscard]] bool is_rest(ValueId v, u32 axis) const {
    if (is_only_group(axis) && is_grid(v, axis, false)) return true;
    const Inst* sub = f_.def(v);
    if (sub == nullptr || sub->op != Op::Sub) return false;
    const auto x = f_.operands(f_.def_id(v));
    return is_grid(x[0], axis, false) && is_group_start(x[1], axis);
  }

  [[nodiscard]] bool is_only_group(u32 axis) const {
    const i32 sgpr = f_.launch.group_id_sgpr[axis];
    return sgpr >= 0 && f_.launch.max_sgpr(static_cast<u32>(sgpr)) == 0;
  }

  [[nodiscard]] bool is_group_start(ValueId v, u32 axis) const {
    const u32 size = f_.launch.workgroup[axis];
    if (size == 1 && is_group_id(v, axis)) return true;
    const Inst* inst = f_.def(v);
    if (inst == nullptr || (inst->op != Op::Mul && inst->op != Op::Shl)) return false;
    const auto x = f_.operands(f_.def_id(v));
    u64 constant = 0;
    if (inst->op == Op::Shl)
      return is_group_id(x[0], axis) && f_.is_const(x[1], &constant) && size == 1u << (constant & 31);
    return (is_group_id(x[0], axis) && f_.is_const(x[1], &constant) && constant == size) ||
           (is_group_id(x[1], axis) && f_.is_const(x[0], &constant) && constant == size);
  }

  [[nodiscard]] bool is_group_id(ValueId v, u32 axis) const {
    u64 id = 0;
    if (is_only_group(axis) && f_.is_const(v, &id)) return id == 0;
    const Inst* inst = f_.def(v);
    return inst != nullptr && inst->op == Op::InitSgpr &&
           static_cast<i64>(inst->imm) == f_.launch.group_id_sgpr[axis];
  }

  [[nodiscard]] bool is_grid(ValueId v, u32 axis, bool workgroups) const {
    const Inst* inst = f_.def(v);
    if (inst == nullptr || inst->op != Op::ScalarLoad) return false;
    const auto from = loaded_from(f_, f_.def_id(v), f_[v].index);
    if (!from) return false;
    const translator::GridDword dword{from->pointer_sgpr, static_cast<u32>(from->offset), axis, workgroups};
    const auto& grid = f_.launch.grid;
    return std::find(grid.begin(), grid.end(), dword) != grid.end();
  }
};

} // namespace

void use_launch_facts(Function& f) { LaunchFactsUser(f).run(); }

} // namespace lanewise::passes
