#include "translator/x86/lookups.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::x86 {

using namespace ir;

bool LookUps::contains(InstId i) {
  const Inst& inst = f_[i];
  if (inst.op != Op::Load) return false;
  const auto x = f_.operands(i);
  return is_cut_out(x[inst.mem.form == AddressForm::Indexed ? 1 : 0]);
}

void LookUps::find_loaded() {
  loaded_.assign(f_.num_values(), false);
  bool changed = false;
  const auto depend = [&](ValueId v, bool depends) {
    if (!depends || loaded_[v.index]) return;
    loaded_[v.index] = changed = true;
  };
  do { // Mostly in order: two rounds, or three with loops.
    changed = false;
    for (const Block& block : f_.blocks) {
      for (const InstId i : block.insts) {
        const Inst& inst = f_[i];
        bool depends = inst.op == Op::Load;
        if (info(inst.op).is(kPure))
          depends = std::ranges::any_of(f_.operands(i), [&](ValueId x) { return loaded_[x.index]; });
        for (unsigned r = 0; r < inst.num_results; ++r) depend(f_.result(i, r), depends);
      }
      for (const Successor& s : block.successors)
        for (std::size_t a = 0; a < s.args.size(); ++a)
          depend(f_[s.block].params[a], loaded_[s.args[a].index]);
    }
  } while (changed);
}

bool LookUps::is_loaded(ValueId v) {
  if (loaded_.empty()) find_loaded();
  return loaded_[v.index];
}

/// Behind the multiplication by the element's size and the sum with the table's start.
bool LookUps::is_cut_out(ValueId v, unsigned depth) {
  constexpr unsigned kMaxDepth = 6;
  const InstId i = f_.def_id(v);
  if (!i.valid() || depth > kMaxDepth) return false;
  const auto x = f_.operands(i);
  u64 constant = 0;
  switch (f_[i].op) {
  case Op::And:
    for (const unsigned n : {0u, 1u})
      if (f_.is_const(x[n], &constant) && std::bit_width(constant & 0xffff'ffff) <= kMaxBits)
        return is_loaded(x[1 - n]);
    return false;
  case Op::LShr: return f_.is_const(x[1], &constant) && 32 - constant <= kMaxBits && is_loaded(x[0]);
  case Op::Add:
  case Op::Or: return is_cut_out(x[0], depth + 1) || is_cut_out(x[1], depth + 1);
  case Op::Shl: return f_.is_const(x[1]) && is_cut_out(x[0], depth + 1);
  case Op::ZExt:
  case Op::SExt: return is_cut_out(x[0], depth + 1);
  default: return false;
  }
}

} // namespace lanewise::x86
