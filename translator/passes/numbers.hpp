// Recognising arithmetic on 32-bit numbers, where the same number may be a scalar, its copy in all lanes, or
// a constant.
#pragma once

#include "translator/ir/ir.hpp"

#include <optional>
#include <span>

namespace lanewise::passes {

/// A value, or the scalar that it has in all lanes; or a constant.
struct Number {
  ir::ValueId v;
  std::optional<u32> bits;
  friend bool operator==(const Number&, const Number&) = default;
};

class Numbers {
public:
  explicit Numbers(const ir::Function& f) : f_(f) {}

  /// The scalar behind `v`.
  [[nodiscard]] ir::ValueId scalar(ir::ValueId v) const {
    for (ir::InstId i = f_.def_id(v); i.valid() && f_[i].op == ir::Op::Splat; i = f_.def_id(v))
      v = f_.operands(i)[0];
    return v;
  }
  [[nodiscard]] Number number(ir::ValueId v) const {
    if (u64 bits = 0; f_.is_const(scalar(v), &bits)) return {{}, static_cast<u32>(bits)};
    return {scalar(v), {}};
  }
  [[nodiscard]] bool is_same(ir::ValueId a, ir::ValueId b) const { return number(a) == number(b); }
  [[nodiscard]] bool is_constant(ir::ValueId v, u32 bits) const { return number(v).bits == bits; }
  /// What computes it, if that is an `op`.
  [[nodiscard]] ir::InstId def(ir::ValueId v, ir::Op op) const {
    const ir::InstId i = f_.def_id(scalar(v));
    return i.valid() && f_[i].op == op ? i : ir::InstId{};
  }
  /// The operands of an `op` on f32 that rounds to nearest; nothing if `v` is none.
  [[nodiscard]] std::span<const ir::ValueId> single(ir::ValueId v, ir::Op op) const {
    const ir::InstId i = def(v, op);
    const bool fits =
        i.valid() && f_[i].fp.kind == ir::FloatKind::F32 && f_[i].fp.round == ir::Round::NearestEven;
    return fits ? f_.operands(i) : std::span<const ir::ValueId>{};
  }

protected:
  const ir::Function& f_;
};

} // namespace lanewise::passes
