// An element of an array in registers that is changed, as a counter is, is looked up by its index - chosen
// among all - and what comes of it is put back by the same comparisons. Where it is put back it is known
// which one was chosen: the change is done to each element, and nobody waits for the look-up, which takes as
// many instructions one behind the other.
#include "translator/ir/cfg.hpp"
#include "translator/passes/mask_parts.hpp"
#include "translator/passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class ElementChanger {
public:
  explicit ElementChanger(Function& f) : f_(f), uses_(f.use_counts()), users_(f.num_values()) {}

  bool run() {
    const Cfg cfg(f_);
    for (const BlockId b : cfg.rpo)
      for (const InstId i : f_[b].insts) {
        if (f_[i].op != Op::Select || f_.type(f_.operands(i)[0]) != Type::Mask) continue;
        const ValueId change = f_.operands(i)[1];
        if (f_.operands(i)[2] != change) users_[change.index].push_back(i);
      }
    bool any = false;
    for (const BlockId b : cfg.rpo) {
      const std::vector<InstId> insts = f_[b].insts;
      for (const InstId i : insts) any |= is_change(i) && change_in_place(i);
    }
    return any;
  }

private:
  Function& f_;
  std::vector<u32> uses_;
  std::vector<std::vector<InstId>> users_; ///< per value: the selects that take it where their mask is set

  /// One instruction of x86, so that it may be done once per element.
  [[nodiscard]] bool is_change(InstId i) const {
    switch (f_[i].op) {
    case Op::Add:
    case Op::Sub:
    case Op::And:
    case Op::Or:
    case Op::Xor: return f_.type(f_.result(i)) == Type::V32;
    case Op::FAdd:
    case Op::FSub:
    case Op::FMul: return f_[i].fp.kind == FloatKind::F32;
    default: return false;
    }
  }

  bool change_in_place(InstId i) {
    const auto x = f_.operands(i);
    const std::vector<InstId> selects = users_[f_.result(i).index];
    if (selects.empty() || selects.size() != uses_[f_.result(i).index]) return false;
    for (unsigned n = 0; n < x.size(); ++n)
      if (length(x[n]) != 0 && selects.size() <= length(x[n]) + 1 && uses_[x[n].index] == 1 &&
          put(i, n, selects))
        return true;
    return false;
  }

  /// How many selects choose `v`.
  [[nodiscard]] std::size_t length(ValueId v) const {
    std::size_t count = 0;
    for (InstId def = f_.def_id(v); def.valid() && f_[def].op == Op::Select; ++count)
      def = f_.def_id(f_.operands(def)[2]);
    return count;
  }

  bool put(InstId change, unsigned operand, const std::vector<InstId>& selects) {
    const ValueId looked_up = f_.operands(change)[operand];
    std::vector<ValueId> chosen;
    for (const InstId s : selects) {
      if (f_[s].block != f_[change].block) return false;
      const std::optional<ValueId> element = chosen_in(f_.operands(s)[0], looked_up);
      if (!element) return false;
      chosen.push_back(*element);
    }
    const Inst proto = f_[change];
    std::vector<ValueId> x(f_.operands(change).begin(), f_.operands(change).end());
    for (std::size_t n = 0; n < selects.size(); ++n) {
      x[operand] = chosen[n];
      const Type t = Type::V32;
      const InstId changed = f_.insert_before(selects[n], proto, x, {&t, 1});
      f_.operands(selects[n])[1] = f_.result(changed);
    }
    return true;
  }

  /// Which one of its alternatives the chain of selects `v` is in the lanes of `mask`, if each of its
  /// conditions is known there.
  [[nodiscard]] std::optional<ValueId> chosen_in(ValueId mask, ValueId v) const {
    for (InstId def = f_.def_id(v); def.valid() && f_[def].op == Op::Select; def = f_.def_id(v)) {
      const auto x = f_.operands(def);
      if (is_part_of(f_, mask, x[0])) return x[1];
      if (!excludes(mask, x[0])) return std::nullopt;
      v = x[2];
    }
    return v;
  }

  /// One value is compared with two different constants.
  [[nodiscard]] bool excludes(ValueId mask, ValueId condition) const {
    const InstId def = f_.def_id(mask), other = f_.def_id(condition);
    if (!def.valid() || !other.valid()) return false;
    if (f_[def].op == Op::And)
      return excludes(f_.operands(def)[0], condition) || excludes(f_.operands(def)[1], condition);
    const auto is_equality = [&](InstId i) {
      return f_[i].op == Op::ICmp && static_cast<IntPred>(f_[i].imm) == IntPred::Eq;
    };
    if (!is_equality(def) || !is_equality(other)) return false;
    for (const unsigned m : {0u, 1u})
      for (const unsigned n : {0u, 1u}) {
        const auto x = f_.operands(def), y = f_.operands(other);
        u64 a = 0, b = 0;
        if (x[m] == y[n] && f_.is_const(x[1 - m], &a) && f_.is_const(y[1 - n], &b) && a != b) return true;
      }
    return false;
  }
};

} // namespace

bool change_elements(Function& f) { return ElementChanger(f).run(); }

} // namespace lanewise::passes
