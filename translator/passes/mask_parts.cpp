#include "translator/passes/mask_parts.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr unsigned kMaxDepth = 16; ///< of ifs

bool is_part_of(const Function& f, ValueId m, ValueId whole, unsigned depth) {
  if (m == whole) return true;
  const Inst* inst = f.def(m);
  if (inst == nullptr || depth == 0 || (inst->op != Op::And && inst->op != Op::AndNot)) return false;
  const auto x = f.operands(f.def_id(m));
  return is_part_of(f, x[0], whole, depth - 1) ||
         (inst->op == Op::And && is_part_of(f, x[1], whole, depth - 1));
}

} // namespace

bool is_part_of(const Function& f, ValueId m, ValueId whole) { return is_part_of(f, m, whole, kMaxDepth); }

} // namespace lanewise::passes
