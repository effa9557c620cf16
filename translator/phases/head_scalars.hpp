// Scalars that a function can compute at its start, before anything that gangs do: what a test that chooses
// between two copies of the rest is made of.
#pragma once

#include "translator/ir/ir.hpp"

#include <initializer_list>
#include <map>
#include <tuple>
#include <vector>

namespace lanewise::phases {

/// The smaller or larger one of two numbers.
bool is_limit(ir::Op op);

/// The head is initial registers, and scalars made of them and of what they point to. New instructions are
/// only made, for the caller to put there.
class HeadScalars {
public:
  HeadScalars(ir::Function& f, ir::BlockId head);

  /// Computed in the head, also by what is to be put there.
  [[nodiscard]] bool has(ir::ValueId v) const { return v.index < in_head_.size() && in_head_[v.index]; }

  /// `v` in lane 0 of the wave. Nothing if it is not made of initial registers and what they point to.
  ir::ValueId first_lane(ir::ValueId v, unsigned depth = 0);

  /// A pure op, or FrameField; what is there already is not made again.
  ir::ValueId make(ir::Op op, ir::Type type, const std::vector<ir::ValueId>& x, u64 imm = 0);
  ir::ValueId constant(ir::Type type, u64 bits) { return make(ir::Op::Const, type, {}, bits); }
  ir::ValueId compare(ir::IntPred p, ir::ValueId a, ir::ValueId b) {
    return make(ir::Op::ICmp, ir::Type::U1, {a, b}, static_cast<u64>(p));
  }

  /// Of U64s, those that there are; nothing if there are none.
  ir::ValueId sum(std::initializer_list<ir::ValueId> values);

  /// Takes loads that go to the head from where they were.
  void take_loads();
  /// What is to be put there, in this order.
  [[nodiscard]] const std::vector<ir::InstId>& made() const { return made_; }

private:
  ir::Function& f_;
  const ir::BlockId head_;
  std::vector<bool> in_head_;      ///< per value
  std::vector<ir::InstId> loaded_; ///< the loads there
  std::vector<ir::InstId> made_;
  std::map<std::tuple<ir::Op, ir::Type, u64, std::vector<u32>>, ir::ValueId> known_; ///< by op, operands
  std::vector<ir::ValueId> scalar_; ///< per value: what first_lane() has made
  struct Moved {
    ir::InstId load;
    ir::ValueId pointer, offset;
  };
  std::vector<Moved> moved_; ///< loads that go there

  [[nodiscard]] bool belongs(ir::InstId i) const;
  ir::ValueId loaded(ir::ValueId v, ir::InstId i, unsigned depth);
  [[nodiscard]] u64 readable(ir::ValueId base) const;
};

} // namespace lanewise::phases
