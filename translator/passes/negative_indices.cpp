// Elements counted from the end, as of a table by how many zeros lead a number: base - 4 * n, which GPU
// compilers make of base[31 - n]. A gather by 64 bits takes twice as long as by an index, and what is seen
// to be a small table is permuted. So where n has a limit,
//
//   base - extended(n) = (base - limit) + extended(limit - n)
//
// Differences that are rows stay as they are.
#include "translator/ir/cfg.hpp"
#include "translator/ir/splats.hpp"
#include "translator/passes/lane_shape.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace lanewise::passes {

using namespace ir;

namespace {

/// The index n if `address` is such a difference, of an access that takes any lanes' addresses.
ValueId counted_down(const Function& f, InstId access) {
  const MemAttr& mem = f[access].mem;
  const bool any_lanes = (f[access].op == Op::Load || f[access].op == Op::Store) &&
                         mem.space == Space::Global && mem.form == AddressForm::Lanes;
  const Inst* sub = any_lanes ? f.def(f.operands(access)[0]) : nullptr;
  if (sub == nullptr || sub->op != Op::Sub) return {};
  const auto x = f.operands(f.def_id(f.operands(access)[0]));
  const Inst* extend = f.def(x[1]);
  if (extend == nullptr || extend->op != Op::ZExt || !is_splat_of_uniform(f, x[0])) return {};
  const ValueId n = f.operands(f.def_id(x[1]))[0];
  return f.type(n) == Type::V32 ? n : ValueId{};
}

} // namespace

bool count_indices_up(Function& f, unsigned gang_lanes) {
  const Cfg cfg(f);
  std::optional<LaneShapes> shapes;
  std::vector<std::pair<InstId, ValueId>> found; // differences, and what is taken away
  for (const BlockId b : cfg.rpo)
    for (const InstId i : f[b].insts) {
      const ValueId n = counted_down(f, i);
      if (!n.valid()) continue;
      const ValueId address = f.operands(i)[0];
      if (!shapes) shapes.emplace(f, cfg, gang_lanes);
      const bool is_new =
          std::ranges::find(found, f.def_id(address), &std::pair<InstId, ValueId>::first) == found.end();
      if (is_new && !(*shapes)[address].strided() && shapes->limits().max(n) >> 31 == 0)
        found.emplace_back(f.def_id(address), n);
    }
  for (const auto& [sub, n] : found) {
    u64 scale = 0;
    const Inst* shl = f.def(n);
    const bool scaled =
        shl != nullptr && shl->op == Op::Shl && f.is_const(f.operands(f.def_id(n))[1], &scale);
    const ValueId steps = scaled ? f.operands(f.def_id(n))[0] : n,
                  by = scaled ? f.operands(f.def_id(n))[1] : n;
    scale &= 31;
    const u64 limit = shapes->limits().max(n) >> scale;
    Inst proto = f[sub];
    const auto make = [&](Op op, Type type, const std::vector<ValueId>& x, u64 imm = 0) {
      proto.op = op;
      proto.imm = imm;
      return f.result(f.insert_before(sub, proto, x, {&type, 1}));
    };
    ValueId left = make(Op::Sub, Type::V32, {make(Op::Const, Type::V32, {}, limit), steps});
    if (scaled) left = make(Op::Shl, Type::V32, {left, by});
    const ValueId before = make(Op::Const, Type::V64, {}, 0 - (limit << scale));
    const ValueId start = make(Op::Add, Type::V64, {f.operands(sub)[0], before});
    const ValueId index = make(Op::ZExt, Type::V64, {left});
    f[sub].op = Op::Add;
    f.set_operands(sub, std::array{start, index});
  }
  return !found.empty();
}

} // namespace lanewise::passes
