// Symbols of the proof that a gang may decide a branch (decide.cpp): what values are, as expressions over the
// values that existed at the branch.
#pragma once

#include "translator/passes/mask_facts.hpp"

#include <span>

namespace lanewise::phases {

/// Equal symbols are equal values.
using Symbol = u64;
inline constexpr Symbol kTop = ~u64{0}; ///< not known yet
inline constexpr Symbol kConflict = kTop - 1;
inline constexpr Symbol kEmpty = kTop - 2, kFull = kTop - 3; ///< masks

/// The value `v` of the past.
inline Symbol past_symbol(ir::ValueId v) { return v.index; }

/// Something nobody else equals: the value `v` as computed anew in context `context` of side `side`.
inline Symbol fresh_symbol(unsigned side, u32 context, ir::ValueId v) {
  return u64{1} << 62 | u64{side} << 61 | u64{context} << 32 | v.index;
}

/// The value `v` on either side, if nobody looks at it: equal to itself, whatever it is.
inline Symbol unseen_symbol(ir::ValueId v) { return u64{1} << 60 | v.index; }

/// Expressions, numbered so that equal ones have equal numbers.
class Symbols {
public:
  Symbols(const ir::Function& f, const passes::MaskFacts& facts) : f_(f), facts_(facts), table_(1024) {}

  /// Forgets all expressions.
  void clear();
  /// Result `r` of pure instruction `i` on operands with these symbols.
  Symbol expression(ir::InstId i, unsigned r, std::span<const Symbol> x);

private:
  struct Node {
    ir::Op op{};
    u8 result = 0;
    u8 fp = 0;
    u16 count = 0;
    u32 first = 0; ///< operands
    u64 imm = 0;
    u64 hash = 0;
  };
  /// An entry of the hash table; empty unless it is of the current generation.
  struct Slot {
    u32 generation = 0, node = 0;
  };
  const ir::Function& f_;
  const passes::MaskFacts& facts_;
  std::vector<Node> nodes_;
  std::vector<Symbol> operands_;
  std::vector<Slot> table_; ///< a power of two, at most half full
  u32 generation_ = 1;

  [[nodiscard]] const Node* node(Symbol s) const;
  [[nodiscard]] Symbol operand(const Node& n, unsigned i) const { return operands_[n.first + i]; }
  [[nodiscard]] bool equal(const Node& a, const Node& b, std::span<const Symbol> x) const;
  [[nodiscard]] bool subset(Symbol a, Symbol b, unsigned depth = 0) const;
  [[nodiscard]] bool covers_rest(Symbol a, Symbol b) const;
  [[nodiscard]] Symbol conversion_back(ir::Op op, std::span<const Symbol> x) const;
  [[nodiscard]] Symbol simplify(ir::Op op, std::span<const Symbol> x) const;
  [[nodiscard]] Slot& slot_of(const Node& n, std::span<const Symbol> x);
  void grow();
};

} // namespace lanewise::phases
